# Everything Recur builds on, each from a Debian package that tools/setup installs.
find_package(MLIR REQUIRED CONFIG) # brings LLVM
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Recur builds on LLVM and MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}; run tools/setup "
                      "and configure with -DMLIR_DIR=/usr/lib/llvm-22/lib/cmake/mlir")
endif()
find_package(fmt REQUIRED)
# The linker as a library. Its CMake package would link LLVM a second time, as static libraries.
foreach(part ELF Common)
  find_library(RECUR_LLD_${part} lld${part} PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
  if(NOT RECUR_LLD_${part})
    message(FATAL_ERROR "Recur links with lld's libraries, and there is no liblld${part} in ${LLVM_LIBRARY_DIRS}; run "
                        "tools/setup")
  endif()
endforeach()
set(RECUR_LLD_LIBRARIES ${RECUR_LLD_ELF} ${RECUR_LLD_Common} z zstd)
find_program(RECUR_CCACHE ccache)
if(RECUR_CCACHE)
  # Without the sloppiness ccache refuses to store what was compiled with a precompiled header.
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${RECUR_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Debian installs lit as `lit`, where LLVM's modules look for `llvm-lit`.
set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit" CACHE PATH "" FORCE)
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
