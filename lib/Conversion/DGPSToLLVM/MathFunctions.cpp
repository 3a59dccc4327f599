// What Support/VectorMath.h asks for, as LLVM instructions.
#include "Conversion/DGPSToLLVM/LoopBuilder.h"
#include "Support/VectorMath.h"

using namespace llvm;
using namespace recur;
using namespace recur::conversion;

namespace {

class LoopCode {
public:
  using Real = Value *;
  using Integer = Value *;
  using Mask = Value *;

  explicit LoopCode(LoopBuilder &b) : b(b) {}

  Value *real(double value) { return b.number(value); }
  Value *integer(int32_t value) { return b.getInt32(uint32_t(value)); }

  // Not `fma`, which is a call where the processor has no such instruction.
  Value *fma(Value *x, Value *y, Value *z) { return b.CreateIntrinsic(b.getFloatTy(), Intrinsic::fmuladd, {x, y, z}); }
  Value *mul(Value *x, Value *y) { return b.CreateFMul(x, y); }
  Value *div(Value *x, Value *y) { return b.CreateFDiv(x, y); }
  Value *neg(Value *x) { return b.CreateFNeg(x); }
  Value *abs(Value *x) { return b.absolute(x); }
  Value *add(Value *x, Value *y) { return isReal(x) ? b.CreateFAdd(x, y) : b.CreateAdd(x, y); }
  Value *sub(Value *x, Value *y) { return isReal(x) ? b.CreateFSub(x, y) : b.CreateSub(x, y); }

  Value *shiftLeft(Value *x, int32_t by) { return b.CreateShl(x, by); }
  Value *shiftRight(Value *x, int32_t by) { return b.CreateAShr(x, by); }
  Value *bitAnd(Value *x, Value *y) { return b.CreateAnd(x, y); }
  Value *bitOr(Value *x, Value *y) { return b.CreateOr(x, y); }
  Value *bits(Value *x) { return b.CreateBitCast(x, b.getInt32Ty()); }
  Value *fromBits(Value *x) { return b.CreateBitCast(x, b.getFloatTy()); }
  Value *toReal(Value *x) { return b.CreateSIToFP(x, b.getFloatTy()); }

  Value *less(Value *x, Value *y) { return b.CreateFCmpOLT(x, y); }
  Value *equal(Value *x, Value *y) { return b.CreateFCmpOEQ(x, y); }
  Value *isNaN(Value *x) { return b.CreateFCmpUNO(x, x); }
  Value *select(Value *mask, Value *x, Value *y) { return b.CreateSelect(mask, x, y); }

private:
  static bool isReal(Value *x) { return x->getType()->isFloatTy(); }
  LoopBuilder &b;
};

} // namespace

/// Every instruction of a function rounds as written.
static Value *build(LoopBuilder &b, Value *x, Value *(VectorMath<LoopCode>::*function)(Value *)) {
  IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  VectorMath<LoopCode> math{LoopCode(b)};
  return (math.*function)(x);
}

Value *LoopBuilder::exp(Value *x) { return build(*this, x, &VectorMath<LoopCode>::exp); }
Value *LoopBuilder::expm1(Value *x) { return build(*this, x, &VectorMath<LoopCode>::expm1); }
Value *LoopBuilder::log(Value *x) { return build(*this, x, &VectorMath<LoopCode>::log); }
Value *LoopBuilder::sin(Value *x) { return build(*this, x, &VectorMath<LoopCode>::sin); }
Value *LoopBuilder::cos(Value *x) { return build(*this, x, &VectorMath<LoopCode>::cos); }
Value *LoopBuilder::tanh(Value *x) { return build(*this, x, &VectorMath<LoopCode>::tanh); }
Value *LoopBuilder::sigmoid(Value *x) { return build(*this, x, &VectorMath<LoopCode>::sigmoid); }
Value *LoopBuilder::softplus(Value *x) { return build(*this, x, &VectorMath<LoopCode>::softplus); }
