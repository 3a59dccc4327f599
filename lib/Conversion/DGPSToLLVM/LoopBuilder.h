// Loops and float32 arithmetic in LLVM IR.
#pragma once
#include "Conversion/DGPSToLLVM/StepKernel.h"
#include "llvm/IR/IRBuilder.h"

namespace recur::conversion {

class LoopBuilder : public llvm::IRBuilder<> {
public:
  using Value = llvm::Value;
  explicit LoopBuilder(llvm::BasicBlock *block);

  /// for (i = 0; i < count; ++i) body(i)
  void loop(Value *count, llvm::function_ref<void(Value *)> body);
  void loop(int64_t count, llvm::function_ref<void(Value *)> body) { loop(getInt64(count), body); }
  /// The same, with a number that goes from round to round.
  Value *reduce(int64_t count, Value *start, llvm::function_ref<Value *(Value *i, Value *so_far)> body);
  Value *dot(int64_t count, llvm::function_ref<Value *(Value *)> a, llvm::function_ref<Value *(Value *)> b);
  void when(Value *condition, llvm::function_ref<void()> body);

  Value *number(double value) { return llvm::ConstantFP::get(getFloatTy(), value); }
  Value *at(Value *pointer, Value *index) { return CreateInBoundsGEP(getFloatTy(), pointer, index); }
  Value *loadFloat(Value *pointer, Value *index) { return CreateLoad(getFloatTy(), at(pointer, index)); }
  void storeFloat(Value *value, Value *pointer, Value *index) { CreateStore(value, at(pointer, index)); }

  /// Element `index` of an array of the storage type, widened or rounded to nearest even.
  Value *loadStored(DataType type, Value *pointer, Value *index);
  void storeRounded(DataType type, Value *value, Value *pointer, Value *index);
  llvm::Type *getStoredType(DataType type);

  // MathFunctions.cpp: as in Support/VectorMath.h, straight code that LLVM's loop vectoriser makes vectors of.
  Value *exp(Value *x);
  Value *expm1(Value *x);
  Value *log(Value *x);
  Value *sin(Value *x);
  Value *cos(Value *x);
  Value *tanh(Value *x);
  Value *sigmoid(Value *x);
  Value *softplus(Value *x);
  Value *absolute(Value *x) { return CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

private:
  llvm::BasicBlock *makeBlock(const llvm::Twine &name);
};

} // namespace recur::conversion
