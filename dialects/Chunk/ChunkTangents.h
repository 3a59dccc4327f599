// Derivatives of chunk programs along directions: what knows the tangents, and what builds ops for them.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include "mlir/IR/IRMapping.h"

namespace recur::chunk {

/// The tangents of a program's values. A value without one does not move: its tangent is zero.
class Tangents {
public:
  mlir::Value of(mlir::Value value) const { return tangents.lookup(value); }
  /// Null leaves the value without a tangent.
  void set(mlir::Value value, mlir::Value tangent) {
    if (tangent)
      tangents[value] = tangent;
  }
  /// Whether any operand of the op has a tangent, or any value that its regions use.
  bool reach(mlir::Operation *op) const;

  /// What stands for a value of the program where the tangents are built: the value itself, but in copies of regions.
  mlir::Value valueOf(mlir::Value value) const { return copies.lookupOrDefault(value); }
  mlir::IRMapping &getCopies() { return copies; }

private:
  llvm::DenseMap<mlir::Value, mlir::Value> tangents;
  mlir::IRMapping copies;
};

/// Builds the tangents of what the op gives, if it depends on what has one.
void buildTangent(mlir::OpBuilder &builder, mlir::Operation *op, Tangents &tangents);

/// Builds arithmetic of the tokens, in which null is zero.
class ValueBuilder {
public:
  ValueBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value map(Function function, mlir::ValueRange operands) {
    return MapOp::create(builder, loc, function, operands);
  }
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a) { return a ? map(Function::Neg, a) : a; }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return a && b ? map(Function::Mul, {a, b}) : mlir::Value(); }
  /// `a` where the condition is above zero, `b` elsewhere; null if both are.
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// A scalar that is the same for every token.
  mlir::Value number(double value) { return constant(value, makeTensor(builder.getContext(), {1})); }
  mlir::Value constant(double value, mlir::RankedTensorType type) {
    return ConstantOp::create(builder, loc, value, type);
  }
  /// A state full of one number. It has no tokens to count, unlike a constant of its type.
  mlir::Value stateConstant(double value, mlir::RankedTensorType type);

  /// A tangent of fewer tokens or of a scalar, for a result that is more, with the tokens and elements of the result.
  mlir::Value fit(mlir::Value tangent, mlir::Value result);
  /// A number of each token as a vector of one element.
  mlir::Value column(mlir::Value numbers);
  /// A state as the value of one token, for arithmetic; and back.
  mlir::Value asToken(mlir::Value state);
  mlir::Value asState(mlir::Value token);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace recur::chunk
