// Products of a warpgroup where matrix units take both factors from registers: each warp has its 16 rows, and reads the
// right factor of all of them. Sums and left factors lie in lanes as those of a warpgroup's product do.
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace recur::conversion::nvvm;

static constexpr int64_t rowBytes = 128, pieceBytes = 16, matrixRows = 8, blockColumns = 16, panelColumns = 64;

/// Where a lane's row of the first four 8 by 8 matrices lies: a block of 16 columns by 16 inner indices, the inner ones
/// of the first eight columns first. In its panel a row's piece lies at its number xor the row's.
static Value findOwnRow(TeamCode &t, RightFactor right, bool isAcross) {
  Value inMatrix = t.remainder(t.lane, matrixRows), matrix = t.divide(t.lane, matrixRows);
  Value inner = t.remainder(matrix, 2), outer = t.divide(matrix, 2);
  Value row = t.add(inMatrix, t.multiply(isAcross ? inner : outer, matrixRows));
  Value piece = arith::XOrIOp::create(t.builder, t.loc, inMatrix, isAcross ? outer : inner);
  return t.add(right.address, t.add(t.multiply(row, rowBytes), t.multiply(piece, pieceBytes)));
}

SmallVector<Value> WarpgroupCode::multiplyByWarps(const Product &product) {
  auto [left, right, places, columns, isAcross, isPrecise, sums] = product;
  Type f32 = t.builder.getF32Type();
  SmallVector<Value> all =
      sums.empty() ? SmallVector<Value>(columns / 2, t.number(0)) : llvm::to_vector_of<Value>(sums);
  Value own = findOwnRow(t, right, isAcross);
  Value ofPiece[rowBytes / pieceBytes]; // the same of another piece of the row
  auto type = isPrecise ? NVVM::MMATypes::tf32 : NVVM::MMATypes::bf16;
  for (auto [i, place] : llvm::enumerate(places)) {
    ValueRange factor = ValueRange(left).slice(4 * i, 4);
    for (int64_t column = 0; column < columns; column += blockColumns) {
      int64_t piece = isAcross ? column % panelColumns * 2 / pieceBytes : place % rowBytes / pieceBytes;
      int64_t offset =
          isAcross ? place + column / panelColumns * right.panelBytes : place / rowBytes * rowBytes + column * rowBytes;
      if (!ofPiece[piece])
        ofPiece[piece] = arith::XOrIOp::create(t.builder, t.loc, own, t.constant(piece * pieceBytes));
      SmallVector<Value> four = loadMatrices(t.add(ofPiece[piece], offset), isAcross);
      for (int64_t half : {0, 1}) {
        auto eight = MutableArrayRef(all).slice(size_t(column / 2 + 4 * half), 4);
        Value made = NVVM::MmaOp::create(
            t.builder, t.loc, structOf(f32, 4), factor, ValueRange(four).slice(size_t(2 * half), 2),
            ValueRange(ArrayRef<Value>(eight)), ArrayRef<int64_t>{16, 8, isPrecise ? 8 : 16}, std::nullopt,
            std::nullopt, std::array{type, type}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
        llvm::copy(takeApart(made, 4), eight.begin());
      }
    }
  }
  return all;
}

/// A lane has two neighbours of a row of each matrix. Where their row begins, another lane was told.
void WarpgroupCode::storeMatricesByLanes(Value address, ArrayRef<Value> four, bool isAcross) {
  constexpr int64_t lanesOfRow = 4, pairBytes = 4;
  Value row = t.divide(t.lane, lanesOfRow), inRow = t.multiply(t.remainder(t.lane, lanesOfRow), pairBytes);
  for (auto [number, pair] : llvm::enumerate(four)) {
    Value begin = t.fromLane(address, t.add(row, int64_t(number) * matrixRows));
    Value stored = isAcross ? run("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", pair, pair.getType()) : pair;
    run("st.shared.b32 [$0], $1;", "r,r", {t.add(begin, inRow), stored});
  }
}
