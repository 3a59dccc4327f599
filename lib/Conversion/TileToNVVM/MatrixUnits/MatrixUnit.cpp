#include "Conversion/TileToNVVM/MatrixUnits/MatrixUnit.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;

static std::vector<std::unique_ptr<MatrixUnit>> &getUnits() {
  static std::vector<std::unique_ptr<MatrixUnit>> units = [] {
    std::vector<std::unique_ptr<MatrixUnit>> known;
    known.push_back(makeWarpUnit());
    known.push_back(makeWarpgroupUnit());
    return known;
  }();
  return units;
}

const MatrixUnit &nvvm::getMatrixUnit(const GPUProfile &gpu) {
  return **llvm::find_if(llvm::reverse(getUnits()), [&](const auto &unit) { return unit->isOf(gpu); });
}

void nvvm::addMatrixUnit(std::unique_ptr<MatrixUnit> unit) { getUnits().push_back(std::move(unit)); }

bool nvvm::takesProduct(const MatrixUnit &unit, const UnitProduct &product) {
  UnitShape shape = unit.getShape(product.kind);
  return product.columns % shape.columnStep == 0 && product.columns <= shape.mostColumns &&
         product.left.size() == product.places.size() * size_t(tile::FactorLayout::leftWords) &&
         (product.sums.empty() || int64_t(product.sums.size()) == product.columns / 2);
}
