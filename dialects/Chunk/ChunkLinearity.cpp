// What each op is linear in, and how a cotangent goes back through it.
#include "dialects/Chunk/Chunk.h"

using namespace mlir;
using namespace recur::chunk;

/// Whether all of `operands` are among `allowed`.
static bool among(ArrayRef<unsigned> operands, ArrayRef<unsigned> allowed) {
  return llvm::all_of(operands, [&](unsigned operand) { return llvm::is_contained(allowed, operand); });
}

//===----------------------------------------------------------------------===//
// Token arithmetic
//===----------------------------------------------------------------------===//

bool MapOp::isLinearIn(ArrayRef<unsigned> operands) {
  switch (getFunction()) {
  case Function::Neg:
  case Function::Sum:
  case Function::Add:
  case Function::Sub:
    return true;
  case Function::Div:
    return among(operands, {0});
  case Function::Mul:
  case Function::Outer:
  case Function::Dot:
  case Function::Matvec:
  case Function::Vecmat:
  case Function::ScaleCols:
  case Function::ScaleRows:
    return operands.size() <= 1;
  default:
    return operands.empty();
  }
}

StringRef MapOp::getAdjoint(unsigned operand) {
  switch (getFunction()) {
  case Function::Neg:
    return "-d";
  case Function::Sum:
    return "d in every element";
  case Function::Add:
    return "d";
  case Function::Sub:
    return operand == 0 ? "d" : "-d";
  case Function::Div:
    return operand == 0 ? "d / b" : "";
  case Function::Mul:
  case Function::Dot:
    return operand == 0 ? "d * b" : "d * a";
  case Function::Outer:
    return operand == 0 ? "matvec(d, b)" : "vecmat(a, d)";
  case Function::Matvec:
    return operand == 0 ? "outer(d, b)" : "vecmat(d, a)";
  case Function::Vecmat:
    return operand == 0 ? "matvec(b, d)" : "outer(a, d)";
  case Function::ScaleCols:
    return operand == 0 ? "scale_cols(d, b)" : "sum over rows of d * a";
  case Function::ScaleRows:
    return operand == 0 ? "sum over columns of d * b" : "scale_rows(a, d)";
  default:
    return "";
  }
}

bool ExtractOp::isLinearIn(ArrayRef<unsigned>) { return true; }
StringRef ExtractOp::getAdjoint(unsigned) { return "d at the index, zero elsewhere"; }
bool BroadcastOp::isLinearIn(ArrayRef<unsigned>) { return true; }
StringRef BroadcastOp::getAdjoint(unsigned) { return "sum of d over what was made equal"; }
bool InterleaveOp::isLinearIn(ArrayRef<unsigned>) { return true; }
StringRef InterleaveOp::getAdjoint(unsigned) { return "deinterleave(d)"; }
bool DeinterleaveOp::isLinearIn(ArrayRef<unsigned>) { return true; }
StringRef DeinterleaveOp::getAdjoint(unsigned) { return "interleave(d and zeros)"; }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

// The decay, which follows the linear operands, is in none of these lists.
bool InteractionOp::isLinearIn(ArrayRef<unsigned> operands) { return operands.size() <= 1 && among(operands, {0, 1}); }
StringRef InteractionOp::getAdjoint(unsigned operand) {
  if (operand > 1)
    return "";
  return operand == 0 ? "mask(d) columns, decayed as here" : "mask(d)^T rows, decayed as here";
}

bool ApplyOp::isLinearIn(ArrayRef<unsigned> operands) { return operands.size() <= 1 && among(operands, {0, 1}); }
StringRef ApplyOp::getAdjoint(unsigned operand) {
  if (operand > 1)
    return "";
  return operand == 0 ? "d values^T, decayed as here" : "matrix^T d, decayed as here";
}

bool SolveOp::isLinearIn(ArrayRef<unsigned> operands) { return among(operands, {1}); }
StringRef SolveOp::getAdjoint(unsigned operand) { return operand == 1 ? "(I + L)^-T d, decayed as here" : ""; }

bool ReadOp::isLinearIn(ArrayRef<unsigned> operands) { return operands.size() <= 1; }
StringRef ReadOp::getAdjoint(unsigned operand) {
  if (operand == 0)
    return getLeft() ? "d S^T" : "d S";
  return getLeft() ? "rows^T d" : "d^T rows";
}

bool ReshapeStateOp::isLinearIn(ArrayRef<unsigned>) { return true; }
StringRef ReshapeStateOp::getAdjoint(unsigned) { return "d, reshaped back"; }

bool AdvanceOp::isLinearIn(ArrayRef<unsigned> operands) { return among(operands, {0, 1}) || among(operands, {0, 2}); }
StringRef AdvanceOp::getAdjoint(unsigned operand) {
  static constexpr StringRef formulas[] = {"diag(row_decay) d diag(column_decay)", "keys d^T", "values d"};
  return operand < 3 ? formulas[operand] : StringRef();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

bool ScanOp::isLinearIn(ArrayRef<unsigned> operands) { return among(operands, {0, 1}); }
StringRef ScanOp::getAdjoint(unsigned operand) {
  if (operand == 0)
    return "the decay of token 0 * the reverse scan of d at token 0";
  return operand == 1 ? "the reverse scan of d" : "";
}

bool PreviousOp::isLinearIn(ArrayRef<unsigned>) { return true; }
StringRef PreviousOp::getAdjoint(unsigned operand) { return operand == 0 ? "d at token 0" : "d, one token earlier"; }
