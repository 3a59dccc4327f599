// The functions of Support/VectorMath.h as ops on a float32 number or on a vector of them: straight code without calls,
// in which every op rounds as written.
#pragma once
#include "mlir/IR/Builders.h"

namespace recur::conversion {

class MathFunctions {
public:
  /// Without an instruction for x * y + z in one rounding it takes two, for LLVM would call a library.
  /// `scalesByPowers`: AVX-512's instruction that does so, for vectors of a multiple of 16 numbers.
  MathFunctions(mlir::OpBuilder &builder, mlir::Location loc, bool hasFMA, bool scalesByPowers = false)
      : builder(builder), loc(loc), hasFMA(hasFMA), scalesByPowers(scalesByPowers) {}

  mlir::Value exp(mlir::Value x) const;
  mlir::Value expm1(mlir::Value x) const;
  mlir::Value log(mlir::Value x) const;
  mlir::Value log1p(mlir::Value x) const;
  mlir::Value sin(mlir::Value x) const;
  mlir::Value cos(mlir::Value x) const;
  mlir::Value tanh(mlir::Value x) const;
  mlir::Value erf(mlir::Value x) const;
  mlir::Value floor(mlir::Value x) const;
  mlir::Value sigmoid(mlir::Value x) const;
  mlir::Value softplus(mlir::Value x) const;

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool hasFMA, scalesByPowers;
};

} // namespace recur::conversion
