# RecurOldGlibc: what is linked with it runs with glibc 2.28 and whatever is newer, though it is built with a newer one. Where this is no
# x86-64 Linux with clang and lld it does nothing, and what is built runs on machines like this one.
if(TARGET RecurOldGlibc)
  return()
endif()
add_library(RecurOldGlibc INTERFACE)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT RECUR_SANITIZE)
  set(script ${CMAKE_CURRENT_LIST_DIR}/oldGlibc.py)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/old-glibc)
  if(NOT EXISTS ${folder}/libc.so OR ${script} IS_NEWER_THAN ${folder}/libc.so)
    find_program(RECUR_PYTHON NAMES python3 REQUIRED)
    execute_process(COMMAND ${RECUR_PYTHON} ${script} ${folder} --compiler ${CMAKE_C_COMPILER} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_library(RecurOldGlibcParts OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/oldGlibc.c)
  target_compile_options(RecurOldGlibcParts PRIVATE -fPIC -O2 -fvisibility=hidden -Wno-deprecated-declarations)
  # libpthread and libdl are parts of libc since 2.34; an older system has to load them.
  target_link_libraries(RecurOldGlibc INTERFACE $<TARGET_OBJECTS:RecurOldGlibcParts>)
  target_link_options(RecurOldGlibc INTERFACE -fuse-ld=lld -L${folder} -Wl,--push-state,--no-as-needed -lpthread -ldl -Wl,--pop-state)
endif()
