#include "dialects/Chunk/ChunkWindow.h"

using namespace mlir;
using namespace recur::chunk;

/// Which rows of a loop's state the value is: all, or some that lie one behind another.
static std::optional<std::pair<int64_t, int64_t>> findRows(Value value, Value state) {
  auto part = value.getDefiningOp<SliceOp>();
  if (value != state && (!part || part.getOperand() != state))
    return std::nullopt;
  return std::pair(part ? int64_t(part.getBegin()) : 0, tensorOf(value).getDimSize(1));
}

/// A sum of such rows, each times a weight that the loop does not compute.
static std::optional<Window::Result> findSumOfRows(Value value, Value state) {
  auto sum = value.getDefiningOp<MapOp>();
  if (!sum || sum.getFunction() != Function::Vecmat)
    return std::nullopt;
  auto weigh = [&](Value rows, Value weights, bool areOfElements) -> std::optional<Window::Result> {
    auto found = findRows(rows, state);
    auto part = weights.getDefiningOp<SliceOp>();
    Value whole = part ? part.getOperand() : weights;
    bool isKnown = isa<BlockArgument>(whole) || whole.getParentBlock() != state.getParentBlock();
    if (!found || !isKnown || whole == state)
      return std::nullopt;
    return Window::Result{found->first, found->second, false, whole, part ? int64_t(part.getBegin()) : 0,
                          areOfElements};
  };
  Value weights = sum.getOperands()[0], matrix = sum.getOperands()[1];
  if (auto found = weigh(matrix, weights, false))
    return found;
  auto scaled = matrix.getDefiningOp<MapOp>();
  if (!scaled || scaled.getFunction() != Function::Mul || constantNumber(weights) != 1)
    return std::nullopt;
  for (unsigned side : {0u, 1u})
    if (tensorOf(scaled.getOperands()[1 - side]).getRank() == 3)
      if (auto found = weigh(scaled.getOperands()[side], scaled.getOperands()[1 - side], true))
        return found;
  return std::nullopt;
}

std::optional<Window> recur::chunk::findWindow(TokenLoopOp op) {
  if (op.getReverse() || op.getStates().size() != 1)
    return std::nullopt;
  Block &body = op.getBody().front();
  Value state = body.getArguments().back();
  Operation *yield = body.getTerminator();
  auto moved = yield->getOperands().back().getDefiningOp<ConcatOp>();
  auto kept = moved && moved.getOperands().size() == 2 ? moved.getOperands()[0].getDefiningOp<SliceOp>() : SliceOp();
  auto row = kept ? dyn_cast<BlockArgument>(moved.getOperands()[1]) : BlockArgument();
  if (!row || row.getOwner() != &body || row == state || kept.getOperand() != state || kept.getBegin() != 1 ||
      int64_t(kept.getSize()) + 1 != tensorOf(op.getStates()[0]).getDimSize(0))
    return std::nullopt;
  Window window{row.getArgNumber(), {}};
  for (Value given : yield->getOperands().drop_back()) {
    auto found = given.getDefiningOp<ExtractOp>();
    if (found && found.getOperand() == state)
      window.results.push_back({int64_t(found.getIndex()), 1, /*isRow=*/true, {}});
    else if (auto rows = findRows(given, state))
      window.results.push_back({rows->first, rows->second, /*isRow=*/false, {}});
    else if (auto sum = findSumOfRows(given, state))
      window.results.push_back(*sum);
    else
      return std::nullopt;
  }
  return window;
}

Value recur::chunk::buildMovedWindow(OpBuilder &builder, Location loc, Value state, Value rows) {
  auto loop = TokenLoopOp::create(builder, loc, state.getType(), rows, state, /*reverse=*/false);
  Block &body = loop.getBody().emplaceBlock();
  auto inBody = [&](ArrayRef<int64_t> shape) { return makeTokens(builder.getContext(), 1, shape); };
  ArrayRef<int64_t> shape = tensorOf(state).getShape();
  Value row = body.addArgument(inBody(shapePerToken(rows)), loc), window = body.addArgument(inBody(shape), loc);
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  Value kept = SliceOp::create(inside, loc, window, 1, shape.front() - 1);
  YieldOp::create(inside, loc, Value(ConcatOp::create(inside, loc, inBody(shape), ValueRange{kept, row})));
  return loop.getStateResults().front();
}

bool recur::chunk::isHeldWindow(HeldOp op) {
  ArrayRef<int64_t> rows = tensorOf(op.getFirst()).getShape();
  return !rows.empty() && rows.drop_front() == shapePerToken(op.getInput());
}
