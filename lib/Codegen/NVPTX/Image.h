// The code of several kernels of a GPU, which were made apart, together.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace recur::codegen {

/// One text in PTX. The kernels' texts are of one target, and no two of them have a name in common.
std::string joinPTX(llvm::ArrayRef<std::string> kernels);

/// A kernel, and the code that has it, under this name.
struct KernelCubin {
  llvm::StringRef symbol, code, function;
};

/// A table of cubins (ABI/GPUImage.h). Kernels of one name there share the code.
std::string joinCubins(llvm::ArrayRef<KernelCubin> kernels);

} // namespace recur::codegen
