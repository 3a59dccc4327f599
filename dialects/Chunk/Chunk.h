// The chunk dialect: its enumerations, interfaces and ops.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Chunk/ChunkDialect.h.inc"
#include "dialects/Chunk/ChunkEnums.h.inc"

namespace recur::chunk {
class InputOp;
class ParamOp;
class StateOp;
class OutputOp;
class NextOp;
class Tangents;
class InitialOp;
class KeptOp;
class TakeOp;
class GiveOp;
class Adjoints;

/// Bytes of all operands and results of an op, in f32.
int64_t countBytes(mlir::Operation *op);

/// Flops of all ops of a block, for one full chunk.
int64_t countFlops(mlir::Block &block);

/// A row that looks at the state before its token's decay, among the points of a row stream.
constexpr int64_t beforeDecay = -1;
} // namespace recur::chunk

#include "dialects/Chunk/ChunkInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Chunk/ChunkOps.h.inc"

namespace recur::chunk {

inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The shape of a token value without its token dimension.
inline llvm::ArrayRef<int64_t> shapePerToken(mlir::Value value) { return tensorOf(value).getShape().drop_front(); }

/// What a row of the caller's array has of a declared value; the value may have more, which is padding.
llvm::ArrayRef<int64_t> arrayShape(InputOp input);
llvm::ArrayRef<int64_t> arrayShape(ParamOp param);
llvm::ArrayRef<int64_t> arrayShape(StateOp state);
llvm::ArrayRef<int64_t> arrayShape(OutputOp output);

mlir::RankedTensorType makeTensor(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);
/// A token dimension and then `perToken`.
mlir::RankedTensorType makeTokens(mlir::MLIRContext *context, int64_t tokens, llvm::ArrayRef<int64_t> perToken);

bool isUnary(Function function);  // elementwise, of one operand
bool isBinary(Function function); // elementwise, of two
inline bool isElementwise(Function function) {
  return isUnary(function) || isBinary(function) || function == Function::Select;
}

/// Whether a row with this point sees, of its own token, the write at this place.
inline bool seesWrite(int64_t point, int64_t step) { return step < point; }

inline bool isSoft(Extremum extremum) { return extremum == Extremum::SoftMax || extremum == Extremum::SoftMin; }
inline bool isLower(Extremum extremum) { return extremum == Extremum::Min || extremum == Extremum::SoftMin; }
/// What changes nothing: the extremum of it and x is x.
double neutralOf(Extremum extremum);
/// How a scan of this kind is summarised, and back; none for a map that is no such scan.
SummaryKind summaryKindOf(Extremum extremum);
std::optional<Extremum> extremumOf(SummaryKind kind);

/// The number that fills every element of `value`, if it is a constant.
std::optional<double> constantNumber(mlir::Value value);

} // namespace recur::chunk
