# cmake -DOUTPUT=file.inc -DPYTHON=python3 -DNAMES=a;b -DFILES=one.a;two.a -P EmbedBytes.cmake: the bytes of files, packed
# by zlib beside the output, as constants of an object. The hash lets a compiler cache see that a file changed.
set(text "")
foreach(name path IN ZIP_LISTS NAMES FILES)
  file(SHA256 "${path}" hash)
  file(SIZE "${path}" size)
  set(packed "${OUTPUT}.${name}.z")
  execute_process(COMMAND ${PYTHON} -c "import sys, zlib; open(sys.argv[2], 'wb').write(zlib.compress(open(sys.argv[1], 'rb').read(), 9))"
                  "${path}" "${packed}" COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND text "// ${hash}\nRECUR_EMBED(${name}, \"${packed}\", ${size})\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
