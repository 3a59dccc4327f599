// Products of a warpgroup where matrix units take both factors from registers: each warp has its 16 rows, and reads the
// right factor of all of them. Sums and left factors lie in lanes as those of a warpgroup's product do.
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

static constexpr int64_t rowBytes = PanelLayout::rowBytes;

/// Where a lane's piece of the first block lies: of 16 columns by 16 inner indices, which are two right factors.
static Value findOwnPiece(TeamCode &t, RightFactor right, bool isAcross) {
  auto own = addressedPiece(t, t.lane, isAcross ? BlockOrder::LeftFirst : BlockOrder::UpperFirst);
  return t.add(right.address, PanelLayout::byteInPanel(t, own.row, PanelLayout::permute(t, own.line, own.piece)));
}

SmallVector<Value> WarpgroupCode::multiplyByWarps(const Product &product) {
  auto [left, right, places, columns, isAcross, isPrecise, sums] = product;
  Type f32 = t.builder.getF32Type();
  SmallVector<Value> all =
      sums.empty() ? SmallVector<Value>(columns / 2, t.number(0)) : llvm::to_vector_of<Value>(sums);
  constexpr PanelLayout halves{0, /*elementBytes=*/2};
  constexpr int64_t blockColumns = 2 * SumsLayout::unitColumns;
  Value own = findOwnPiece(t, right, isAcross);
  Value ofPiece[PanelLayout::pieces]; // the same of another piece of the row
  auto type = isPrecise ? NVVM::MMATypes::tf32 : NVVM::MMATypes::bf16;
  for (auto [i, place] : llvm::enumerate(places)) {
    ValueRange factor = ValueRange(left).slice(FactorLayout::leftWords * i, FactorLayout::leftWords);
    for (int64_t column = 0; column < columns; column += blockColumns) {
      int64_t piece = isAcross ? column % halves.columns() / halves.pieceColumns() : place % rowBytes / pieceBytes;
      int64_t offset = isAcross ? place + column / halves.columns() * right.panelBytes
                                : place / rowBytes * rowBytes + column * rowBytes;
      if (!ofPiece[piece])
        ofPiece[piece] = arith::XOrIOp::create(t.builder, t.loc, own, t.constant(piece * pieceBytes));
      SmallVector<Value> four = loadMatrices(t.add(ofPiece[piece], offset), isAcross);
      for (int64_t half : {0, 1}) {
        auto eight = MutableArrayRef(all).slice(
            size_t(warpSums.numberAt(0, column / SumsLayout::unitColumns + half, 0)), SumsLayout::numbersOfUnit);
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
  Value row = rowOfLane(t, t.lane), inRow = t.multiply(wordOfLane(t, t.lane), wordBytes);
  for (auto [number, pair] : llvm::enumerate(four)) {
    Value begin = t.fromLane(address, t.add(row, int64_t(number) * matrixRows));
    Value stored = isAcross ? run("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", pair, pair.getType()) : pair;
    run("st.shared.b32 [$0], $1;", "r,r", {t.add(begin, inRow), stored});
  }
}

//===----------------------------------------------------------------------===//
// Products of tf32
//===----------------------------------------------------------------------===//

static constexpr int64_t eight = FactorLayout::ofTF32().inner;
static_assert(eight == SumsLayout::unitColumns);

Value WarpgroupCode::placeInPanels32(RightFactor32 tile, Value row, Value column) {
  return t.add(tile.address, PanelLayout{tile.rows, wordBytes}.byteOf(t, row, column));
}

Value WarpgroupCode::roundToTF32(Value number) {
  return LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI32Type(), t.mul(number, t.number(centredTF32)));
}

std::pair<Value, Value> WarpgroupCode::loadTwo(Value first, Value second) {
  Type f32 = t.builder.getF32Type();
  if (!second) { // side by side
    SmallVector<Value> both = takeApart(run("ld.shared.v2.f32 {$0, $1}, [$2];", "=f,=f,r", first, structOf(f32, 2)), 2);
    return {both[0], both[1]};
  }
  auto load = [&](Value address) { return run("ld.shared.f32 $0, [$1];", "=f,r", address, f32); };
  return {load(first), load(second)};
}

SmallVector<Value> WarpgroupCode::multiply32(const Product32 &product, ValueRange given) {
  Type f32 = t.builder.getF32Type();
  auto [left, right, inner, columns, kind, isAcross, areTokens, skips] = product;
  SmallVector<Value> sums =
      given.empty() ? SmallVector<Value>(columns / 2, t.number(0)) : llvm::to_vector_of<Value>(given);
  // Of the first eight: the lane's column, and its two inner indices.
  Value group = rowOfLane(t, t.lane), pair = pairOfLane(t, t.lane);
  Value column = isAcross && !areTokens ? group : tokenOfColumn(t, group), indices[2] = {pair, t.add(pair, 1)};
  if (kind == Inner32::Tokens)
    for (Value &index : indices)
      index = tokenOfColumn(t, index);
  // Places of other eights differ by numbers that are known, but for the piece of the row, of which there are four.
  PanelLayout layout{right.rows, wordBytes};
  constexpr int64_t parts = PanelLayout::rowBytes / wordBytes / eight;
  Value places[2][parts];
  for (int64_t i : {0, 1})
    for (int64_t part = 0; part < parts; ++part) {
      Value along = t.add(isAcross ? column : indices[i], part * eight);
      places[i][part] = placeInPanels32(right, isAcross ? indices[i] : column, along);
    }
  auto placeOf = [&](int64_t i, int64_t ofColumns, int64_t ofInner) {
    int64_t along = isAcross ? ofColumns : ofInner, below = isAcross ? ofInner : ofColumns;
    int64_t offset = along / layout.columns() * layout.panelBytes() + below * rowBytes;
    return t.add(places[i][along % layout.columns() / eight], offset);
  };
  for (int64_t k = 0; k < inner; k += eight) {
    Value factor[FactorLayout::leftWords];
    for (int64_t word = 0; word < FactorLayout::leftWords; ++word)
      factor[word] = roundToTF32(left[size_t(warpSums.numberAt(0, k / eight, 0) + exchangedNumber(word))]);
    for (int64_t n = 0; n < columns; n += eight) {
      if (skips && skips(n, k))
        continue;
      bool areNeighbours = kind == Inner32::Channels && !isAcross;
      auto [first, second] = loadTwo(placeOf(0, n, k), areNeighbours ? Value() : placeOf(1, n, k));
      auto take = [&](Value number) -> Value {
        return right.isRounded ? LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI32Type(), number).getResult()
                               : roundToTF32(number);
      };
      Value two[] = {take(first), take(second)};
      auto four = MutableArrayRef(sums).slice(size_t(warpSums.numberAt(0, n / eight, 0)), SumsLayout::numbersOfUnit);
      Value made = NVVM::MmaOp::create(t.builder, t.loc, structOf(f32, 4), ValueRange(factor), ValueRange(two),
                                       ValueRange(ArrayRef<Value>(four)), ArrayRef<int64_t>{16, 8, 8}, std::nullopt,
                                       std::nullopt, std::array{NVVM::MMATypes::tf32, NVVM::MMATypes::tf32},
                                       std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
      llvm::copy(takeApart(made, 4), four.begin());
    }
  }
  return sums;
}
