// Functions that the hardware has no instruction for, as Support/VectorMath.h spells them out.
#include "Conversion/TileToNVVM/Team.h"
#include "Conversion/ToLLVM/MathFunctions.h"

using namespace mlir;
using namespace recur::conversion::nvvm;

static recur::conversion::MathFunctions functionsOf(TeamCode &t) { return {t.builder, t.loc, /*hasFMA=*/true}; }

/// The hardware's power of two is off by 2^-22.
Value TeamCode::exp(Value x) {
  if (!isRounded)
    return functionsOf(*this).exp(x);
  constexpr double log2OfE = 1.4426950408889634;
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(),
                                       builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"), mul(x, number(log2OfE)))
      .getResult(0);
}
Value TeamCode::expm1(Value x) { return functionsOf(*this).expm1(x); }
Value TeamCode::log(Value x) { return functionsOf(*this).log(x); }
Value TeamCode::log1p(Value x) { return functionsOf(*this).log1p(x); }
Value TeamCode::sin(Value x) { return functionsOf(*this).sin(x); }
Value TeamCode::cos(Value x) { return functionsOf(*this).cos(x); }
Value TeamCode::tanh(Value x) { return functionsOf(*this).tanh(x); }
