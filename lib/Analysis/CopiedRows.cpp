#include "Analysis/CopiedRows.h"
#include <map>

using namespace recur;
using namespace recur::analysis;

static constexpr int64_t mostBoxRows = 256; // along a dimension of a tensor map

llvm::SmallVector<CopiedRows> analysis::findCopiedRows(const StateChain &chain, tile::KernelOp kernel) {
  if (!chain.gpu->hasCopyUnit)
    return {};
  llvm::ArrayRef<int64_t> awaited = kernel.getAwaits().value_or(llvm::ArrayRef<int64_t>());
  std::map<unsigned, int64_t> rowsOf;
  for (const StateChain::Load &load : chain.loads) {
    if (!load.isRows() || !load.isCopied())
      continue;
    auto array = mlir::dyn_cast<mlir::BlockArgument>(tile::LoadOp(load.op).getArray());
    if (!array)
      return {};
    if (llvm::is_contained(awaited, array.getArgNumber()))
      continue;
    auto type = mlir::cast<tile::TileType>(array.getType());
    if (type.getElementBytes() != load.type().getElementBytes() || (type.getElementBytes() != 2 && !chain.tf32))
      return {};
    int64_t rows = load.type().getSize(0), steps = type.getRank() > 2 ? type.getShape()[type.getRank() - 2] : 1;
    auto [known, isNew] = rowsOf.try_emplace(array.getArgNumber(), rows);
    if (known->second != rows || steps != load.steps || rows / steps > mostBoxRows || steps > mostBoxRows)
      return {};
  }
  if (rowsOf.size() > mostCopiedArrays)
    return {};
  return llvm::map_to_vector(rowsOf, [](const auto &known) { return CopiedRows{known.first, known.second}; });
}
