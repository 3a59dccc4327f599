# cmake -DOUTPUT=file.inc -DNAMES=a;b -DFILES=one.a;two.a -P EmbedBytes.cmake: the bytes of files as constants of an object.
# The hash lets a compiler cache see that a file changed.
set(text "")
foreach(name path IN ZIP_LISTS NAMES FILES)
  file(SHA256 "${path}" hash)
  string(APPEND text "// ${hash}\nRECUR_EMBED(${name}, \"${path}\")\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
