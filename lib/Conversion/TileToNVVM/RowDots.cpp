// Sums of rows of one matrix times those of another, element by element, on the matrix units: they are the diagonal of
// a product. Of what a unit computes an eighth is wanted, and yet it takes fewer instructions by far, for numbers of 16
// bits need not be made numbers of 32 bits one by one.
#include "Conversion/TileToNVVM/RowDots.h"
#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"
#include "Conversion/TileToNVVM/Warpgroup.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// Whether the body is the product of both inputs.
static bool multiplies(ReduceOp op) {
  Block &body = op.getBody().front();
  auto product = body.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  return body.getNumArguments() == 2 && product && product.getLhs() != product.getRhs() &&
         llvm::all_of(product->getOperands(), llvm::IsaPred<BlockArgument>);
}

/// Whether its rows come as matrices of 8 rows of 16 bytes.
static bool hasMatrices(const Place &place) {
  TileType type = place.type;
  return !place.registers && type.getMemory() == Memory::Shared && type.getElementType().isBF16() &&
         type.getStride(1) == 1 && type.getStride(0) % pieceHalves == 0 && place.alignment % pieceBytes == 0;
}

bool nvvm::areRowDots(ReduceOp op, ArrayRef<Place> places, const Place &result) {
  ArrayRef<int64_t> sizes = op.getSizes();
  auto takesWhole = [&](unsigned input) {
    return places[input].type.getShape() == sizes && hasMatrices(places[input]) &&
           cast<DenseI64ArrayAttr>(op.getDims()[input]).asArrayRef() == ArrayRef<int64_t>({0, 1});
  };
  return op.getKind() == Reduction::Sum && sizes.size() == 2 && op.getOver() == ArrayRef<int64_t>(1) &&
         result.type.getRank() == 1 && places.size() == 2 && multiplies(op) && takesWhole(0) && takesWhole(1) &&
         sizes[0] % SumsLayout::unitRows == 0 && sizes[1] % FactorLayout::ofHalves().inner == 0;
}

/// A warp has 16 rows at once, the upper and the lower half of which are columns of a product each.
void nvvm::emitRowDots(TeamCode &t, ReduceOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  constexpr int64_t inner = FactorLayout::ofHalves().inner, each = SumsLayout::numbersOfUnit;
  WarpgroupCode code(t);
  BlockPiece<Value> left = addressedPiece(t, t.lane, BlockOrder::LeftFirst),
                    right = addressedPiece(t, t.lane, BlockOrder::UpperFirst);
  auto load = [&](const Place &place, const BlockPiece<Value> &piece, Value row, Value column) {
    Value at = t.add(column, t.multiply(piece.piece, pieceHalves));
    return code.loadMatrices(code.addressOf(t.address(place, {Index(t.add(row, piece.row)), Index(at)})));
  };
  t.dealToWarps(t.divide(t.add(rows, SumsLayout::unitRows - 1), SumsLayout::unitRows), [&](Value block) {
    Value row = t.multiply(block, SumsLayout::unitRows);
    SmallVector<Value> none(2 * each, t.number(0));
    SmallVector<Value> sums =
        t.loop(t.constant(0), t.constant(op.getSizes()[1]), inner, none, [&](Value column, ValueRange before) {
          SmallVector<Value> a = load(places[0], left, row, column), b = load(places[1], right, row, column);
          SmallVector<Value> after(before);
          for (size_t half : {0, 1})
            multiplyByWarp(t, a, ArrayRef(b).slice(2 * half, FactorLayout::rightWords),
                           MutableArrayRef(after).slice(each * half, each), NVVM::MMATypes::bf16);
          return after;
        });
    // A lane has a number of the diagonal if its row is one of its two columns.
    Value own = rowOfLane(t, t.lane), first = pairOfLane(t, t.lane);
    Value isOnIt =
        arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.divide(own, 2), t.divide(first, 2));
    Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, own, first);
    for (int64_t half : {0, 1}) {
      int64_t number = (each + 2) * half;
      Value to = t.add(t.add(row, own), matrixRows * half);
      Value isThere = arith::AndIOp::create(t.builder, t.loc, isOnIt, t.below(to, rows));
      t.when(isThere, [&] { t.put(t.select(isFirst, sums[number], sums[number + 1]), result, {Index(to)}); });
    }
  });
}
