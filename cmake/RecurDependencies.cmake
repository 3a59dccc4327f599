# Everything Recur builds on, each from a Debian package that tools/setup installs.
find_package(MLIR 22.1 REQUIRED CONFIG) # brings LLVM
find_package(fmt REQUIRED)
find_program(RECUR_CCACHE ccache)
if(RECUR_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${RECUR_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RECUR_CCACHE})
endif()

# Debian installs lit as `lit`, where LLVM's modules look for `llvm-lit`.
set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit" CACHE PATH "" FORCE)
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
