// What each op costs for one full chunk.
#include "dialects/Chunk/Chunk.h"

using namespace mlir;
using namespace recur::chunk;

int64_t recur::chunk::countBytes(Operation *op) {
  int64_t elements = 0;
  for (Value operand : op->getOperands())
    elements += tensorOf(operand).getNumElements();
  for (Value result : op->getResults())
    elements += tensorOf(result).getNumElements();
  return 4 * elements;
}

int64_t recur::chunk::countFlops(Block &block) {
  int64_t flops = 0;
  for (Operation &op : block)
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops += cost.getFlops();
  return flops;
}

static int64_t elements(Value value) { return tensorOf(value).getNumElements(); }

/// How many elements of an interaction are not masked.
static int64_t countVisible(InteractionOp op) {
  int64_t rows = op.getPoints().size(), columns = op.getSteps().size();
  int64_t tokens = tensorOf(op.getRows()).getDimSize(0) / rows, own = 0;
  for (int64_t point : op.getPoints())
    for (int64_t step : op.getSteps())
      own += seesWrite(point, step);
  return tokens * (tokens - 1) / 2 * rows * columns + tokens * own;
}

/// How many elements of a matrix can be other than zero.
static int64_t countVisible(Value matrix) {
  if (auto interaction = matrix.getDefiningOp<InteractionOp>())
    return countVisible(interaction);
  if (auto map = matrix.getDefiningOp<MapOp>(); map && map.getFunction() == Function::Mul)
    return std::min(countVisible(map.getOperands()[0]), countVisible(map.getOperands()[1]));
  if (matrix.getDefiningOp<InverseOp>())
    return (elements(matrix) + tensorOf(matrix).getDimSize(0)) / 2;
  // A scalar of each token scales whole rows: it masks nothing.
  return tensorOf(matrix).getRank() == 1 ? std::numeric_limits<int64_t>::max() : elements(matrix);
}

int64_t MapOp::getFlops() {
  switch (getFunction()) {
  case Function::Dot:
    return 2 * std::max(elements(getOperands()[0]), elements(getOperands()[1]));
  case Function::Matvec:
  case Function::Vecmat: {
    // Each token has a product, also where all have one matrix.
    RankedTensorType matrix = tensorOf(getOperands()[getFunction() == Function::Matvec ? 0 : 1]);
    return 2 * tensorOf(getResult()).getDimSize(0) * (matrix.getNumElements() / matrix.getDimSize(0));
  }
  case Function::Sum:
    return elements(getOperands()[0]);
  case Function::Softmax:
    return 4 * elements(getResult());
  default:
    return elements(getResult());
  }
}

// Moving numbers about is counted in bytes alone.
int64_t ExtractOp::getFlops() { return 0; }
int64_t SliceOp::getFlops() { return 0; }
int64_t ConcatOp::getFlops() { return 0; }
int64_t BroadcastOp::getFlops() { return 0; }
int64_t InterleaveOp::getFlops() { return 0; }
int64_t DeinterleaveOp::getFlops() { return 0; }
int64_t PreviousOp::getFlops() { return 0; }
int64_t LastOp::getFlops() { return 0; }
int64_t ReshapeStateOp::getFlops() { return 0; }

int64_t CumulativeDecayOp::getFlops() { return (getLinear() ? 1 : 2) * elements(getDecay()); }

int64_t InteractionOp::getFlops() {
  int64_t visible = countVisible(*this), channels = tensorOf(getRows()).getDimSize(1);
  int64_t flops = 2 * visible * channels;
  if (getDecay() && tensorOf(getDecay()).getRank() == 1)
    flops += 2 * visible;
  // Factors of rows and writes for whole blocks; pairs of rows and writes, each channel, within the diagonal blocks.
  if (getDecay() && tensorOf(getDecay()).getRank() == 2) {
    int64_t tokens = tensorOf(getDecay()).getDimSize(0), block = std::min<int64_t>(tokens, 16);
    flops += 2 * (elements(getRows()) + elements(getColumns()));
    flops += tokens * (block - 1) / 2 * int64_t(getPoints().size() * getSteps().size()) * channels * 2;
  }
  return flops;
}

int64_t ApplyOp::getFlops() {
  return (getDecay() ? 3 : 2) * countVisible(getMatrix()) * tensorOf(getValues()).getDimSize(1);
}

int64_t SolveOp::getFlops() {
  int64_t rows = tensorOf(getMatrix()).getDimSize(0);
  return (getDecay() ? 3 : 2) * (rows * (rows - 1) / 2) * tensorOf(getValues()).getDimSize(1);
}

int64_t ScaledSolveOp::getFlops() {
  int64_t rows = tensorOf(getMatrix()).getDimSize(0);
  return 2 * (rows * (rows - 1) / 2) * tensorOf(getValues()).getDimSize(1) + 2 * elements(getValues());
}

int64_t EliminateOp::getFlops() {
  int64_t rows = tensorOf(getLower()).getDimSize(0);
  return 2 * rows * rows * rows / 3 + rows * rows;
}

int64_t InverseOp::getFlops() {
  int64_t rows = tensorOf(getMatrix()).getDimSize(0);
  return rows * rows * rows / 3 + (getGain() ? rows * (rows + 1) / 2 : 0);
}

int64_t ReadOp::getFlops() { return 2 * elements(getRows()) * tensorOf(getResult()).getDimSize(1); }

int64_t AdvanceOp::getFlops() {
  int64_t decays = (getColumnDecay() ? 1 : 0) + (getRowDecay() ? 1 : 0);
  int64_t writes = writesNothing() ? 0 : 2 * elements(getValues()) * tensorOf(getKeys()).getDimSize(1);
  return writes + decays * elements(getState());
}

int64_t ScanOp::getFlops() { return (getDecay() ? 2 : 1) * elements(getAdditions()); }
int64_t MoebiusScanOp::getFlops() { return 5 * elements(getAll()); }
int64_t TropicalScanOp::getFlops() { return (isSoft(getExtremum()) ? 6 : 2) * elements(getShifts()); }

int64_t TokenLoopOp::getFlops() {
  int64_t tokens = 1;
  for (Value value : getStreams())
    tokens = std::max(tokens, tensorOf(value).getDimSize(0));
  for (Value value : getStreamResults())
    tokens = std::max(tokens, tensorOf(value).getDimSize(0));
  return tokens * countFlops(getBody().front());
}

int64_t CgOp::getFlops() {
  // Each step applies the matrix once and takes two inner products and three sums of scaled vectors.
  return int64_t(getIterations()) * (countFlops(getBody().front()) + 12 * elements(getVectors()));
}

int64_t LoopOp::getFlops() { return int64_t(getIterations()) * countFlops(getBody().front()); }

int64_t ComposeOp::getFlops() {
  if (getKind() == SummaryKind::Elementwise || extremumOf(getKind()))
    return 3 * elements(getOffset());
  int64_t results = elements(getOffset()) + (getMap().use_empty() ? 0 : elements(getMap()));
  return 2 * results * tensorOf(getMap()).getDimSize(0);
}
