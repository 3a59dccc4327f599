// Steps of all tokens at once: a loop over them on tiles that go from step to step.
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Chunk/ChunkAdjoints.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// The part of a kept value that a step has: of vectors so many columns, of numbers one.
Value Planner::partOfStep(Value tile, Value step, ArrayRef<int64_t> shape) {
  TileType type = tileOf(tile);
  int64_t size = shape.size() == 1 ? 1 : shape[1], steps = type.getSize(1) / size, stride = type.getStride(0);
  Value parts = view(tile, {steps, type.getSize(0), size}, {size * type.getStride(1), stride, type.getStride(1)}, 0);
  Value part = dropTokens(view(parts, {1, type.getSize(0), size}, tileOf(parts).getStrides(), 0, step));
  return shape.size() == 2 ? part : view(part, {type.getSize(0)}, {stride}, 0);
}

/// Whether the carried value is a state, whose rows are not of tokens.
static bool isState(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto advance = dyn_cast<chunk::AdvanceOp>(user);
    return isa<chunk::ReshapeStateOp>(user) || (advance && advance.getState() == argument);
  });
}

LogicalResult Planner::plan(chunk::LoopOp op) {
  Block &body = op.getBody().front();
  unsigned takes = op.getKept().size(), gives = op.getKeptResults().size();
  // What is loaded is so before the steps, and once.
  for (Value value : chunk::findCaptured(op))
    if (isa_and_nonnull<chunk::InputOp, chunk::ParamOp, chunk::TakeOp, chunk::KeptOp>(value.getDefiningOp()))
      get(value);
  SmallVector<Value> kept, given;
  for (Value value : op.getKept())
    kept.push_back(get(value));
  for (Value result : op.getKeptResults())
    given.push_back(make(result));
  for (auto [argument, start, result] :
       llvm::zip(body.getArguments().drop_front(takes), op.getCarried(), op.getCarriedResults())) {
    Value tile = make(result), all = constant(tileOf(tile).getSize(0)), rows = isState(argument) ? all : rowsOf(tile);
    if (std::optional<double> number = chunk::constantNumber(start))
      fill(tile, *number, rows);
    else
      copy(get(start), tile, rows);
    set(argument, tile);
  }
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(op.getIterations()), constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value step = loop.getInductionVar();
  if (op.getReverse())
    step = arith::SubIOp::create(builder, loc, constant(int64_t(op.getIterations()) - 1), step);
  for (auto [argument, value] : llvm::zip(body.getArguments(), kept)) {
    Value tile = make(argument);
    copy(partOfStep(value, step, tileOf(tile).getShape()), tile, rowsOf(tile));
  }
  Shared saved = shared;
  if (failed(plan(body)))
    return failure();
  OperandRange yielded = body.getTerminator()->getOperands();
  for (auto [value, tile] : llvm::zip(yielded, given)) {
    Value part = get(value);
    copy(part, partOfStep(tile, step, tileOf(part).getShape()), rowsOf(part));
  }
  // All are read before the first one is written.
  SmallVector<std::tuple<Value, Value, Value>> moves;
  for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(takes), yielded.drop_front(gives))) {
    Value from = get(value), to = tiles[argument];
    Value rows = isState(argument) ? constant(tileOf(to).getSize(0)) : rowsOf(to);
    if (from == to) // it may have been computed in place
      continue;
    if (llvm::is_contained(body.getArguments(), value)) {
      Value read = alloc(tileOf(to).getShape());
      copy(from, read, rows);
      from = read;
    }
    moves.push_back({from, to, rows});
  }
  for (auto [from, to, rows] : moves)
    copy(from, to, rows);
  shared = std::move(saved);
  return success();
}
