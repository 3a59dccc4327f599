#include "Analysis/RunningNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace recur::tile;
using recur::analysis::RunningNumber;

bool RunningNumber::isSum() const { return isa<arith::AddFOp>(combine); }

std::optional<RunningNumber> recur::analysis::matchRunning(ScanOp op) {
  Block &block = op.getBody().front();
  Value running = block.getArguments().back();
  Operation *yield = block.getTerminator(), *combine = yield->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp>(combine))
    return std::nullopt;
  unsigned own = combine->getOperand(0) == running ? 0 : 1;
  Value number = combine->getOperand(1 - own), given = yield->getOperand(1);
  bool isAlone = combine->getOperand(own) == running && number != running;
  for (OpOperand &use : running.getUses())
    isAlone &= use.getOwner() == combine || use.getOwner() == yield;
  if (!isAlone || (given != running && given != combine->getResult(0)))
    return std::nullopt;
  return RunningNumber{combine, number, given == running};
}
