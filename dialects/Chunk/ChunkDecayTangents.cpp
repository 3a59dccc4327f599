// Tangents of products of decay steps.
//
// The product of the steps of a range moves by the sum, over its tokens, of the step's tangent times the product of all
// other steps. That sum is no quotient where a step is zero, and no difference of two sums where steps are tiny. So it
// is carried from token to token beside the product itself, as (p, dp) -> (a p, a dp + da p).
#include "dialects/Chunk/ChunkDecayTangents.h"

using namespace mlir;
using namespace recur::chunk;

namespace {

/// The steps as factors, and their tangents.
struct Factors {
  Value steps, moved;

  Factors(ValueBuilder &build, MovedDecay decay) : steps(decay.steps), moved(decay.moved) {
    if (decay.linear)
      return;
    steps = build.map(Function::Exp, steps);
    moved = build.mul(steps, moved);
  }
};

/// Carries the writes of a chunk from token to token, each a row that decays, and how these rows move.
class WriteLoop {
public:
  WriteLoop(ValueBuilder &build, Value writes, int64_t writesPerToken, MovedDecay decay);

  unsigned stream(Value value) {
    streams.push_back(value);
    return streams.size() - 1;
  }
  /// Builds the loop. `give` makes what each token gives from its streams and from how the writes move before the
  /// token's decay and after it.
  using Give =
      llvm::function_ref<SmallVector<Value>(ValueBuilder &build, ValueRange streams, Value before, Value after)>;
  TokenLoopOp create(ArrayRef<Type> given, Give give);

private:
  Value scale(ValueBuilder &build, Value rows, Value factors);

  ValueBuilder &build;
  Value writes;
  int64_t writesPerToken;
  SmallVector<Value> streams; ///< first the factors and how they move, then each write's place and row
};

} // namespace

/// Row `step` of `steps` rows a token.
static Value takeStep(ValueBuilder &build, Value rows, int64_t step, int64_t steps) {
  if (steps == 1)
    return rows;
  return DeinterleaveOp::create(build.getBuilder(), build.getLoc(), rows, step, steps);
}

WriteLoop::WriteLoop(ValueBuilder &build, Value writes, int64_t writesPerToken, MovedDecay decay)
    : build(build), writes(writes), writesPerToken(writesPerToken) {
  OpBuilder &builder = build.getBuilder();
  Factors factors(build, decay);
  streams = {factors.steps, factors.moved};
  // The place of each write as a vector with a one there: what a row sees of itself and not of those before it.
  Value ones = build.constant(1, makeTokens(builder.getContext(), tensorOf(writes).getDimSize(0), {1}));
  auto interact = [&](int64_t point) -> Value {
    return InteractionOp::create(builder, build.getLoc(), ones, ones, ArrayRef<int64_t>{point}, ArrayRef<int64_t>{0},
                                 Value(), false);
  };
  Value through = interact(1), before = interact(0), places = build.sub(through, before);
  for (int64_t step = 0; step < writesPerToken; ++step) {
    streams.push_back(takeStep(build, places, step, writesPerToken));
    streams.push_back(takeStep(build, writes, step, writesPerToken));
  }
}

Value WriteLoop::scale(ValueBuilder &inner, Value rows, Value factors) {
  return inner.map(tensorOf(factors).getRank() == 1 ? Function::Mul : Function::ScaleCols, {rows, factors});
}

TokenLoopOp WriteLoop::create(ArrayRef<Type> given, Give give) {
  OpBuilder &builder = build.getBuilder();
  Value nothing = build.constant(0, tensorOf(writes));
  SmallVector<Type> types(given);
  types.append(2, writes.getType());
  auto loop = TokenLoopOp::create(builder, build.getLoc(), types, streams, {nothing, nothing});
  Block &block = loop.getBody().emplaceBlock();
  for (Value stream : streams)
    block.addArgument(makeTokens(builder.getContext(), 1, shapePerToken(stream)), build.getLoc());
  RankedTensorType carried = makeTokens(builder.getContext(), 1, tensorOf(writes).getShape());
  Value decayed = block.addArgument(carried, build.getLoc()), moved = block.addArgument(carried, build.getLoc());
  OpBuilder insideLoop = OpBuilder::atBlockEnd(&block);
  ValueBuilder inner(insideLoop, build.getLoc());
  ValueRange arguments = block.getArguments().drop_back(2);
  Value fromStates = scale(inner, moved, arguments[0]), fromSteps = scale(inner, decayed, arguments[1]);
  Value after = inner.add(fromStates, fromSteps);
  SmallVector<Value> yielded = give(inner, arguments, moved, after);
  Value next = scale(inner, decayed, arguments[0]);
  for (int64_t step = 0; step < writesPerToken; ++step)
    next = inner.add(next, inner.map(Function::Outer, {arguments[2 + 2 * step], arguments[3 + 2 * step]}));
  yielded.append({next, after});
  YieldOp::create(insideLoop, build.getLoc(), yielded);
  return loop;
}

/// What rows gather from the movement of the writes: `product` is that of one token's row with all writes.
static Value moveProducts(ValueBuilder &build, Value rows, ArrayRef<int64_t> points, Value writes, int64_t steps,
                          MovedDecay decay, int64_t width,
                          llvm::function_ref<Value(ValueBuilder &, Value row, Value writes)> product) {
  OpBuilder &builder = build.getBuilder();
  WriteLoop loop(build, writes, steps, decay);
  SmallVector<unsigned> rowStreams;
  for (size_t i = 0; i < points.size(); ++i)
    rowStreams.push_back(loop.stream(takeStep(build, rows, i, points.size())));
  int64_t tokens = tensorOf(decay.steps).getDimSize(0);
  SmallVector<Type> types(points.size(), makeTokens(builder.getContext(), tokens, {width}));
  // A token's own writes have not decayed where its rows look, and do not move.
  TokenLoopOp made = loop.create(types, [&](ValueBuilder &inner, ValueRange streams, Value before, Value after) {
    SmallVector<Value> given;
    for (auto [point, stream] : llvm::zip(points, rowStreams))
      given.push_back(product(inner, streams[stream], point == beforeDecay ? before : after));
    return given;
  });
  SmallVector<Value> results(made.getStreamResults());
  if (results.size() == 1)
    return results[0];
  return InterleaveOp::create(builder, build.getLoc(), results);
}

Value recur::chunk::moveInteraction(ValueBuilder &build, Value rows, Value columns, ArrayRef<int64_t> points,
                                    ArrayRef<int64_t> steps, MovedDecay decay) {
  return moveProducts(
      build, rows, points, columns, steps.size(), decay, tensorOf(columns).getDimSize(0),
      [](ValueBuilder &inner, Value row, Value writes) { return inner.map(Function::Matvec, {writes, row}); });
}

Value recur::chunk::moveApply(ValueBuilder &build, Value matrix, Value values, ArrayRef<int64_t> points,
                              ArrayRef<int64_t> steps, MovedDecay decay) {
  return moveProducts(
      build, matrix, points, values, steps.size(), decay, tensorOf(values).getDimSize(1),
      [](ValueBuilder &inner, Value row, Value writes) { return inner.map(Function::Vecmat, {row, writes}); });
}

void CumulativeDecayOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  MovedDecay decay{tangents.valueOf(getDecay()), tangents.of(getDecay()), getLinear()};
  RankedTensorType type = tensorOf(getDecay());
  if (getRange() == DecayRange::After) {
    // Each token as a write of ones, as the last token finds it.
    Value ones = build.constant(1, type.getRank() == 1 ? makeTokens(getContext(), type.getDimSize(0), {1}) : type);
    WriteLoop loop(build, ones, /*writesPerToken=*/1, decay);
    Value moved = loop.create({}, [](ValueBuilder &, ValueRange, Value, Value) { return SmallVector<Value>(); })
                      .getStateResults()[1];
    tangents.set(getResult(), type.getRank() == 1 ? ExtractOp::create(builder, getLoc(), moved, 0).getResult() : moved);
    return;
  }
  Factors factors(build, decay);
  Value before = CumulativeDecayOp::create(builder, getLoc(), DecayRange::Before, decay.steps, decay.linear);
  RankedTensorType state = makeTensor(getContext(), type.getShape().drop_front());
  Value none = build.stateConstant(0, state);
  auto scan = ScanOp::create(builder, getLoc(), none, build.mul(factors.moved, before), factors.steps, /*linear=*/true);
  if (getRange() == DecayRange::Through)
    tangents.set(getResult(), scan.getAll());
  else if (getRange() == DecayRange::Before)
    tangents.set(getResult(), PreviousOp::create(builder, getLoc(), none, scan.getAll()));
  else
    tangents.set(getResult(), build.asToken(scan.getLast()));
}
