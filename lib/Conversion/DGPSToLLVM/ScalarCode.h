// Float32 arithmetic, loops and places in memory, one number at a time: LLVM's vectorizers make vectors of it.
#pragma once
#include "Conversion/ToLLVM/MathFunctions.h"
#include "Target/DataType.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace recur::conversion {

class ScalarCode {
public:
  using Value = mlir::Value;
  ScalarCode(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  // Numbers. Sums may be taken in another order, the same one in every run; nothing else is assumed of them.
  Value number(double value);
  Value add(Value a, Value b) { return combine<mlir::arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return combine<mlir::arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return combine<mlir::arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return combine<mlir::arith::DivFOp>(a, b); }
  Value max(Value a, Value b) { return combine<mlir::arith::MaximumFOp>(a, b); }
  Value min(Value a, Value b) { return combine<mlir::arith::MinimumFOp>(a, b); }
  Value neg(Value x);
  Value abs(Value x);
  Value sqrt(Value x);
  Value isAbove(Value a, Value b);
  Value isOther(Value a, Value b);
  /// Also where either is no number.
  Value isNotAtMost(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  MathFunctions functions() { return {builder, loc, /*hasFMA=*/false}; } // not every processor has it

  // Indices, of 64 bits. No product or sum of them is too large.
  Value index(int64_t value);
  Value addIndex(Value a, Value b);
  Value multiplyIndex(Value a, Value b);

  /// for (i = 0; i < count; ++i) body(i)
  void loop(Value count, llvm::function_ref<void(Value)> body);
  void loop(int64_t count, llvm::function_ref<void(Value)> body) { loop(index(count), body); }
  /// The same, with a number that goes from round to round.
  Value reduce(int64_t count, Value start, llvm::function_ref<Value(Value i, Value soFar)> body);
  Value dot(int64_t count, llvm::function_ref<Value(Value)> a, llvm::function_ref<Value(Value)> b);

  // Memory. Indices count elements of a type, offsets bytes.
  Value at(Value pointer, Value index, mlir::Type type);
  Value atByte(Value pointer, int64_t offset);
  Value load(Value pointer, mlir::Type type);
  Value loadFloat(Value pointer, Value index) { return load(at(pointer, index, floatType()), floatType()); }
  void storeFloat(Value value, Value pointer, Value index) { store(value, at(pointer, index, floatType())); }
  /// Copies float32 numbers; the places may be one, or, where it says so, overlap.
  void copy(Value to, Value from, int64_t count, bool mayOverlap = false);
  void clear(Value to, int64_t count);

  /// Element `index` of an array of the storage type, widened or rounded to nearest even.
  Value loadStored(DataType type, Value pointer, Value index);
  void storeRounded(DataType type, Value value, Value pointer, Value index);
  mlir::Type getStoredType(DataType type);

  mlir::Type floatType() { return builder.getF32Type(); }
  mlir::Type indexType() { return builder.getI64Type(); }
  mlir::Type pointerType() { return mlir::LLVM::LLVMPointerType::get(builder.getContext()); }

private:
  static constexpr auto flags = mlir::arith::FastMathFlags::reassoc | mlir::arith::FastMathFlags::contract;
  template <typename Op> Value combine(Value a, Value b) { return Op::create(builder, loc, a, b, flags); }
  void store(Value value, Value pointer);
};

} // namespace recur::conversion
