# Run as a script: writes the pages of PAGES (a folder) as rows of a C++ table to OUTPUT, so that the compiler carries them.
file(GLOB pages ${PAGES}/R*.md)
list(SORT pages)
set(rows "")
foreach(page ${pages})
  get_filename_component(code ${page} NAME_WE)
  file(READ ${page} text)
  string(REGEX REPLACE "<!--[^\n]*-->\n" "" text "${text}") # marks for the tests
  string(APPEND rows "{\"${code}\", R\"recurpage(${text})recurpage\"},\n")
endforeach()
if(rows STREQUAL "")
  message(FATAL_ERROR "no error pages in ${PAGES}")
endif()
file(WRITE ${OUTPUT} "${rows}")
