// The triangular factors of a square matrix, in place.
//
// The columns go by vectors: while the pivots of one vector of columns are taken, the pivot's row from there on stays
// in registers, and each row below loses its multiple of it. The multiplier goes into the row with the same store.
#include "Conversion/TileToLLVM/Emitter.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;

void conversion::emitEliminate(Emitter &e, const Place &matrix, Value rows) {
  int64_t size = matrix.type.getSize(1), lanes = e.lanes();
  Type vector = e.floats(lanes);
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(e.builder, e.loc, predicate, a, b);
  };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(e.builder, e.loc, condition, a, b);
  };
  for (int64_t panel = 0; panel < size; panel += lanes) {
    Value end = e.smaller(rows, e.constant(std::min(panel + lanes, size)));
    e.loop(panel, end, 1, [&](Value step) {
      Value lane = arith::TruncIOp::create(e.builder, e.loc, e.builder.getI32Type(), step);
      Value lanesHere = e.iota(arith::ConstantIntOp::create(e.builder, e.loc, panel, 32), lanes);
      Value pivots = e.splat(lane, lanes);
      Value isBehind = compare(arith::CmpIPredicate::sgt, lanesHere, pivots),
            isPivot = compare(arith::CmpIPredicate::eq, lanesHere, pivots);
      SmallVector<Value> pivotRow;
      for (int64_t column = panel; column < size; column += lanes)
        pivotRow.push_back(e.load(e.address(matrix, {step, column}), vector));
      pivotRow.front() = select(isBehind, pivotRow.front(), e.splat(vector, 0));
      Value pivot = e.load(e.address(matrix, {step, step}), e.floats(1));
      e.loop(Index(step, 1), rows, 1, [&](Value row) {
        Value first = e.load(e.address(matrix, {row, step}), e.floats(1));
        Value multiplier = e.splat(arith::DivFOp::create(e.builder, e.loc, first, pivot), lanes);
        Value negated = arith::NegFOp::create(e.builder, e.loc, multiplier);
        for (auto [v, above] : llvm::enumerate(pivotRow)) {
          Value pointer = e.address(matrix, {row, panel + int64_t(v) * lanes});
          Value reduced = e.fma(negated, above, e.load(pointer, vector));
          e.store(v == 0 ? select(isPivot, multiplier, reduced) : reduced, pointer);
        }
      });
    });
  }
}
