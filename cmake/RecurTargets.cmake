# How every Recur library, tool and generated file is declared.

# Flags that all of Recur's own code is compiled with. LLVM is built without exceptions and with RTTI.
add_library(RecurFlags INTERFACE)
target_compile_options(RecurFlags INTERFACE
  -fPIC # executables too, since they share the libraries' precompiled header
  -Wall -Wextra -Werror -Wno-unused-parameter -fno-exceptions
  # What g++ 12 says of inlined library code is often wrong, and it takes the moves that Expected needs for redundant.
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-comment;-Wno-redundant-move;-Wno-restrict;-Wno-array-bounds>"
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-free-nonheap-object;-Wno-dangling-pointer>")
target_compile_definitions(RecurFlags INTERFACE ${LLVM_DEFINITIONS_LIST})
separate_arguments(RECUR_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(RecurFlags INTERFACE ${RECUR_LLVM_DEFINITIONS})
target_include_directories(RecurFlags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/lib>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
target_include_directories(RecurFlags SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
if(RECUR_SANITIZE)
  target_compile_options(RecurFlags INTERFACE -fsanitize=${RECUR_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=undefined)
  target_link_options(RecurFlags INTERFACE -fsanitize=${RECUR_SANITIZE})
  # MLIR's shared library is not sanitized: in memory that Recur and it allocate from together it may write what its own
  # allocations did not unpoison.
  add_library(RecurSanitizerOptions OBJECT ${PROJECT_SOURCE_DIR}/cmake/sanitizerOptions.cpp)
endif()
if(RECUR_FUZZ)
  target_compile_options(RecurFlags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# recur_precompiled(NAME header [OPTIONS option...] [LINK library...]): a header that is read once for every target below a folder
# whose RECUR_PRECOMPILED names it, and that is compiled with these options.
function(recur_precompiled name header)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LINK" ${ARGN})
  if(NOT RECUR_PCH)
    return()
  endif()
  add_library(${name} STATIC ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE RecurFlags fmt::fmt ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${header})
  get_property(generated GLOBAL PROPERTY RECUR_GENERATED_TARGETS)
  if(generated)
    add_dependencies(${name} ${generated})
  endif()
endfunction()

if(RECUR_PCH AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(RecurFlags INTERFACE "SHELL:-Xclang -fno-pch-timestamp") # lets ccache hit
endif()
# The headers of MLIR and LLVM; what comes above the dialects has RecurPrecompiledDialects in its place, with theirs.
recur_precompiled(RecurPrecompiled ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)
set(RECUR_PRECOMPILED RecurPrecompiled)

# recur_library(NAME source... [LINK library...] [DEPENDS target...])
function(recur_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC RecurFlags ${ARG_LINK})
  if(RECUR_PCH AND NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM ${RECUR_PRECOMPILED})
  endif()
  get_property(generated GLOBAL PROPERTY RECUR_GENERATED_TARGETS)
  if(generated OR ARG_DEPENDS)
    add_dependencies(${name} ${generated} ${ARG_DEPENDS})
  endif()
endfunction()

# recur_tool(NAME source... [LINK library...]): an executable linked against the shared MLIR and LLVM.
function(recur_tool name)
  cmake_parse_arguments(ARG "NO_PCH" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE RecurFlags ${ARG_LINK} MLIR LLVM fmt::fmt)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(RECUR_SANITIZE)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:RecurSanitizerOptions>)
  endif()
  if(RECUR_PCH AND NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM ${RECUR_PRECOMPILED})
  endif()
endfunction()

# recur_tablegen(NAME input.td output -gen-flag ...): runs mlir-tblgen for one output; NAME collects outputs into a target.
function(recur_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(outputs ${ARGN})
  while(outputs)
    list(POP_FRONT outputs file flags)
    separate_arguments(flags NATIVE_COMMAND "${flags}")
    mlir_tablegen(${file} ${flags} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
  set_property(GLOBAL APPEND PROPERTY RECUR_GENERATED_TARGETS ${target})
endfunction()
