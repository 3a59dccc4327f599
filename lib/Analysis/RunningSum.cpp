#include "Analysis/RunningSum.h"
#include "Analysis/WholeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using analysis::RunningSum;

std::optional<RunningSum> analysis::matchRunningSum(ScanOp scan) {
  Block &body = scan.getBody().front();
  Operation *yield = body.getTerminator();
  BlockArgument running = body.getArguments().back();
  auto sum = yield->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || scan.getInitial() || !scan.getStart().isZero())
    return std::nullopt;
  unsigned own = sum.getLhs() == running ? 0 : 1;
  auto step = dyn_cast<BlockArgument>(sum->getOperand(1 - own));
  if (sum->getOperand(own) != running || !step || step == running)
    return std::nullopt;
  // What is given is made of one of the two.
  bool takesRunning = !running.hasOneUse();
  bool takesSum = !sum->hasOneUse();
  if (takesRunning && takesSum)
    return std::nullopt;
  return RunningSum{step.getArgNumber(), sum, takesRunning};
}

/// Whether the caller's data have 16 bits.
static bool isRounded(ScanOp scan) {
  auto kernel = scan->getParentOfType<KernelOp>();
  return kernel && llvm::any_of(kernel.getBody().getArgumentTypes(), [](Type type) {
           auto array = dyn_cast<TileType>(type);
           return array && array.getElementType().getIntOrFloatBitWidth() == 16;
         });
}

std::optional<RunningSum> analysis::matchBlockSum(ScanOp scan) {
  constexpr int64_t block = ScaledDotsOp::unitIndices;
  std::optional<RunningSum> match = matchRunningSum(scan);
  if (!match || !isRounded(scan))
    return std::nullopt;
  Value steps = scan.getInputs()[match->step];
  TileType type = tileOf(steps);
  auto dims = cast<DenseI64ArrayAttr>(scan.getDims()[match->step]).asArrayRef();
  if (type.getRank() != 2 || dims != ArrayRef<int64_t>({0, 1}) || type.getSize(0) % block || type.getSize(1) % block ||
      type.getMemory() != Memory::Shared || !type.getElementType().isBF16())
    return std::nullopt;
  // Sums of rows that have met what is no number are made anew, of inputs that are still there.
  for (Value given : {Value(scan.getAll()), Value(scan.getLast())}) {
    auto isGiven = [&](Value input) { return getWholeTile(input) == getWholeTile(given); };
    if (given && (tileOf(given).getShape().back() != type.getSize(1) || llvm::any_of(scan.getInputs(), isGiven)))
      return std::nullopt;
  }
  if (Value all = scan.getAll(); all && tileOf(all).getShape() != type.getShape())
    return std::nullopt;
  if (Value last = scan.getLast(); last && tileOf(last).getRank() != 1)
    return std::nullopt;
  return match;
}

bool analysis::haveSameSums(ScanOp one, ScanOp other) {
  std::optional<RunningSum> first = matchBlockSum(one), second = matchBlockSum(other);
  return first && second && one.getInputs()[first->step] == other.getInputs()[second->step] &&
         first->isBefore == second->isBefore && one.getReverse() == other.getReverse() &&
         one.getRows() == other.getRows();
}
