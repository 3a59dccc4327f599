// Products of tf32, of factors of f32 as their panels have them, by each warp: on every GPU, for no unit of a
// warpgroup takes such a right factor across, as the advance of a state needs it. They are done when they return.
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"
#include "Conversion/TileToNVVM/Warpgroup.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

static constexpr int64_t rowBytes = PanelLayout::rowBytes;
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
    Value both = emitText(t, "ld.shared.v2.f32 {$0, $1}, [$2];", "=f,=f,r", first, structOf(t, f32, 2));
    SmallVector<Value> numbers = takeApart(t, both, 2);
    return {numbers[0], numbers[1]};
  }
  auto load = [&](Value address) { return emitText(t, "ld.shared.f32 $0, [$1];", "=f,r", address, f32); };
  return {load(first), load(second)};
}

SmallVector<Value> WarpgroupCode::multiply32(const Product32 &product, ValueRange given) {
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
      Value two[] = {roundToTF32(first), roundToTF32(second)};
      multiplyByWarp(t, factor, two,
                     MutableArrayRef(sums).slice(size_t(warpSums.numberAt(0, n / eight, 0)), SumsLayout::numbersOfUnit),
                     NVVM::MMATypes::tf32);
    }
  }
  return sums;
}
