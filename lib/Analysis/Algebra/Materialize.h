// Expressions back into ops.
#pragma once

#include "Analysis/Algebra/Evaluate.h"
#include "mlir/IR/Builders.h"

namespace recur::dgps {

/// Builds ops that compute expressions, at the builder's insertion point; a value that the program has already is used
/// again, so the insertion point must be dominated by the whole program.
class Materializer {
public:
  Materializer(mlir::OpBuilder &builder, mlir::Location loc, algebra::Algebra &algebra,
               const algebra::Expressions &expressions)
      : builder(builder), loc(loc), algebra(algebra), expressions(expressions) {}

  /// A value of `poly`: a scalar, or a vector of the given size if it has an index.
  mlir::Value get(const algebra::Poly *poly, int64_t size);
  /// The same, with the shape of a vector even if all elements are equal.
  mlir::Value getVector(const algebra::Poly *poly, int64_t size);

private:
  mlir::Value build(const algebra::Poly *poly, int64_t size);
  mlir::Value build(const algebra::Monomial *monomial, int64_t size);
  mlir::Value build(const algebra::Atom *atom, int64_t size);
  mlir::Value buildSum(const algebra::Atom *atom);
  /// A matrix, or a scalar where all elements are equal.
  mlir::Value getMatrix(const algebra::Poly *poly, int64_t rows, int64_t columns);
  mlir::Value buildMatrix(const algebra::Monomial *monomial, int64_t rows, int64_t columns);
  mlir::Value buildMatrix(const algebra::Atom *atom, int64_t rows, int64_t columns);
  mlir::Value applyFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Value> arguments);
  mlir::Value constant(double value) { return ConstantOp::create(builder, loc, value); }
  mlir::Value product(mlir::Value a, mlir::Value b) { return a && b ? MulOp::create(builder, loc, a, b) : a ? a : b; }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  algebra::Algebra &algebra;
  const algebra::Expressions &expressions;
  llvm::DenseMap<std::pair<const algebra::Poly *, int64_t>, mlir::Value> built;
};

} // namespace recur::dgps
