// The kernel that puts summaries of parts of sequences together: products of maps with maps and with states.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace recur::codegen {

/// Threads of its CTAs.
inline constexpr int64_t compositionThreads = 256;

/// A module with the kernel of this name, whose parameter is `abi::ComposeWord`s. Each element is made by one thread,
/// in the same order each time, so that it has the same bits in every run.
std::unique_ptr<llvm::Module> makeCompositions(llvm::LLVMContext &context, llvm::StringRef name);

} // namespace recur::codegen
