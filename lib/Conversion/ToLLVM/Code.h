// What every lowering to LLVM builds alike: loops and conditions that become its branches, and numbers of bfloat16 by
// integers.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace recur::conversion {

using LoopBody = llvm::function_ref<void(mlir::Value)>;
using CarryBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;

/// for (i = begin; i < end; i += step) body(i). The body builds with the same builder, which stands behind the loop
/// afterwards.
void buildLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value begin, mlir::Value end, mlir::Value step,
               LoopBody body);
/// The same, with numbers that go from round to round; gives the last ones.
llvm::SmallVector<mlir::Value> buildLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value begin,
                                         mlir::Value end, mlir::Value step, mlir::ValueRange initial, CarryBody body);

/// Runs one of two pieces of code; the second may be left out.
void buildChoice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> first,
                 llvm::function_ref<void()> second = {});

/// Whether a pointer, of an array that a caller may leave out, points to something.
mlir::Value buildIsPresent(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer);

/// The bits of bfloat16 numbers, i16 or a vector of it, as float32; and float32 numbers as such bits, rounded to
/// nearest even. They are for processors without instructions for it: there LLVM would call a function for each number
/// that it rounds, one that older compilers' libraries lack.
mlir::Value buildFromBF16Bits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits);
mlir::Value buildToBF16Bits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// A floating-point or integer type, or a vector of it that is shaped like another type.
mlir::Type getTypeLike(mlir::Type shaped, mlir::Type element);
/// A number in every lane of a type, floating-point or integer.
mlir::Value buildSplat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

} // namespace recur::conversion
