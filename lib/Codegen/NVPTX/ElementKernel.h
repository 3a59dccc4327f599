// What the kernels have in common that are written instruction by instruction: their one parameter is an array of
// 64-bit words, and each element of what they make is one thread's.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace recur::codegen {

class ElementKernel {
protected:
  explicit ElementKernel(llvm::Module &module) : module(module), builder(module.getContext()) {}

  /// Begins the kernel, whose CTAs have so many threads, with the builder at its entry.
  void begin(llvm::StringRef name, int64_t threads, int words);
  /// Threads share out so many elements, however many CTAs there are; `give` makes one of them. Then the kernel ends.
  void shareOut(llvm::Value *count, llvm::function_ref<void(llvm::Value *index)> give);

  llvm::Value *word(int index);
  llvm::Value *pointer(int index) { return builder.CreateIntToPtr(word(index), builder.getPtrTy(globalSpace)); }
  llvm::BasicBlock *block(llvm::StringRef name) {
    return llvm::BasicBlock::Create(module.getContext(), name, function);
  }

  static constexpr unsigned globalSpace = 1;
  llvm::Module &module;
  llvm::IRBuilder<> builder;

private:
  llvm::Value *special(llvm::Intrinsic::ID id) {
    return builder.CreateZExt(builder.CreateIntrinsic(id, {}), builder.getInt64Ty());
  }

  llvm::Function *function = nullptr;
};

} // namespace recur::codegen
