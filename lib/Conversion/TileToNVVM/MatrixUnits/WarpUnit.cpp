#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/TileToNVVM/MatrixUnits/MatrixUnit.h"
#include "Conversion/TileToNVVM/Warpgroup.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

void nvvm::multiplyByWarp(TeamCode &t, ValueRange left, ValueRange right, MutableArrayRef<Value> sums,
                          NVVM::MMATypes type) {
  FactorLayout layout = type == NVVM::MMATypes::tf32 ? FactorLayout::ofTF32() : FactorLayout::ofHalves();
  // NVVM's operation has words of bf16 and of tf32, but pairs of f16.
  auto asWords = [&](ValueRange words) {
    return llvm::map_to_vector(words, [&](Value word) -> Value {
      return type == NVVM::MMATypes::f16
                 ? LLVM::BitcastOp::create(t.builder, t.loc, VectorType::get(2, t.builder.getF16Type()), word)
                 : word;
    });
  };
  SmallVector<Value> leftWords = asWords(left), rightWords = asWords(right);
  Value all =
      NVVM::MmaOp::create(t.builder, t.loc, structOf(t, t.builder.getF32Type(), SumsLayout::numbersOfUnit),
                          ValueRange(leftWords), ValueRange(rightWords), ValueRange(ArrayRef<Value>(sums)),
                          ArrayRef<int64_t>{SumsLayout::unitRows, SumsLayout::unitColumns, layout.inner}, std::nullopt,
                          std::nullopt, std::array{type, type}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  llvm::copy(takeApart(t, all, SumsLayout::numbersOfUnit), sums.begin());
}

namespace {

class WarpUnit : public MatrixUnit {
public:
  bool isOf(const recur::GPUProfile &) const override { return true; }
  UnitShape getShape(FactorKind kind) const override {
    bool isShort = kind != FactorKind::TF32;
    constexpr int64_t blockColumns = 2 * SumsLayout::unitColumns; // four matrices are two right factors
    return {4 * SumsLayout::unitRows, blockColumns, INT64_MAX,
            (isShort ? FactorLayout::ofHalves() : FactorLayout::ofTF32()).inner};
  }
  FactorSource getRightSource() const override { return FactorSource::Loads; }
  SmallVector<Value> begin(TeamCode &t, const UnitProduct &product) const override;
  SmallVector<Value> settle(TeamCode &, ValueRange sums, int64_t) const override {
    return llvm::to_vector_of<Value>(sums);
  }
};

} // namespace

/// Where a lane's piece of the first block lies: of 16 columns by 16 inner indices, which are two right factors.
static Value findOwnPiece(TeamCode &t, RightFactor right, bool isAcross) {
  auto own = addressedPiece(t, t.lane, isAcross ? BlockOrder::LeftFirst : BlockOrder::UpperFirst);
  return t.add(right.address, PanelLayout::byteInPanel(t, own.row, PanelLayout::permute(t, own.line, own.piece)));
}

SmallVector<Value> WarpUnit::begin(TeamCode &t, const UnitProduct &product) const {
  auto [kind, left, right, places, columns, isAcross, sums] = product;
  SmallVector<Value> all =
      sums.empty() ? SmallVector<Value>(columns / 2, t.number(0)) : llvm::to_vector_of<Value>(sums);
  constexpr PanelLayout halves{0, /*elementBytes=*/2};
  constexpr int64_t rowBytes = PanelLayout::rowBytes;
  Value own = findOwnPiece(t, right, isAcross);
  Value ofPiece[PanelLayout::pieces]; // the same of another piece of the row
  auto type = kind == FactorKind::TF32  ? NVVM::MMATypes::tf32
              : kind == FactorKind::F16 ? NVVM::MMATypes::f16
                                        : NVVM::MMATypes::bf16;
  for (auto [i, place] : llvm::enumerate(places)) {
    ValueRange factor = ValueRange(left).slice(FactorLayout::leftWords * i, FactorLayout::leftWords);
    for (int64_t column = 0; column < columns; column += getShape(kind).columnStep) {
      int64_t piece = isAcross ? column % halves.columns() / halves.pieceColumns() : place % rowBytes / pieceBytes;
      int64_t offset = isAcross ? place + column / halves.columns() * right.panelBytes
                                : place / rowBytes * rowBytes + column * rowBytes;
      if (!ofPiece[piece])
        ofPiece[piece] = t.exclusiveOr(own, t.constant(piece * pieceBytes));
      SmallVector<Value> four = WarpgroupCode(t).loadMatrices(t.add(ofPiece[piece], offset), isAcross);
      for (int64_t eight : {0, 1}) {
        auto first = size_t(warpSums.numberAt(0, column / SumsLayout::unitColumns + eight, 0));
        multiplyByWarp(t, factor,
                       ValueRange(four).slice(size_t(eight * FactorLayout::rightWords), FactorLayout::rightWords),
                       MutableArrayRef(all).slice(first, SumsLayout::numbersOfUnit), type);
      }
    }
  }
  return all;
}

std::unique_ptr<MatrixUnit> nvvm::makeWarpUnit() { return std::make_unique<WarpUnit>(); }
