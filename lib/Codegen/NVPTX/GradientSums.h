// The kernel that adds up what heads and sequences have of a gradient.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace recur::codegen {

/// Threads of its CTAs.
inline constexpr int64_t sumThreads = 256;

/// A module with the kernel of this name, whose parameter is `abi::SumWord`s. Each element's sum is made by one thread,
/// in the order of the slices, so that it has the same bits in every run.
std::unique_ptr<llvm::Module> makeGradientSums(llvm::LLVMContext &context, llvm::StringRef name);

} // namespace recur::codegen
