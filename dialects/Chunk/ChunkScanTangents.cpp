// Tangents of scans, of the token loop, of conjugate gradients, and of what holds or composes them.
#include "dialects/Chunk/ChunkTangents.h"

using namespace mlir;
using namespace recur::chunk;

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

// x_t = a_t x_{t-1} + b_t, so dx_t = a_t dx_{t-1} + (da_t x_{t-1} + db_t): a scan by the same decay.
void ScanOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value decay = getDecay() ? tangents.valueOf(getDecay()) : Value();
  Value state = tangents.of(getState()), additions = tangents.of(getAdditions());
  if (Value moved = getDecay() ? tangents.of(getDecay()) : Value()) {
    Value before = PreviousOp::create(builder, getLoc(), tangents.valueOf(getState()), tangents.valueOf(getAll()));
    Value factor = getLinear() ? moved : build.mul(build.map(Function::Exp, decay), moved);
    additions = build.add(additions, build.mul(factor, before));
  }
  if (!additions)
    additions = build.constant(0, tensorOf(getAdditions()));
  if (!state)
    state = build.stateConstant(0, tensorOf(getState()));
  auto scan = ScanOp::create(builder, getLoc(), state, additions, decay, getLinear());
  tangents.set(getAll(), scan.getAll());
  tangents.set(getLast(), scan.getLast());
}

/// How much of an extremum comes from the first of two values, which is so far ahead of the second.
static Value shareOf(ValueBuilder &build, Extremum extremum, Value ahead) {
  if (isLower(extremum))
    ahead = build.neg(ahead);
  return isSoft(extremum) ? build.map(Function::Sigmoid, ahead) : build.select(ahead, build.number(1), Value());
}

/// The tangent of an extremum of two values with these tangents.
static Value shared(ValueBuilder &build, Extremum extremum, Value ahead, Value first, Value second) {
  if (isLower(extremum))
    return shared(build, extremum == Extremum::Min ? Extremum::Max : Extremum::SoftMax, build.neg(ahead), first,
                  second);
  if (!isSoft(extremum))
    return build.select(ahead, first, second);
  return build.add(build.mul(build.map(Function::Sigmoid, ahead), first),
                   build.mul(build.map(Function::Sigmoid, build.neg(ahead)), second));
}

/// The tangent of a scan is one itself: what each token keeps of the one before, and what it adds.
template <typename OpType>
static void setByScan(OpType op, ValueBuilder &build, Tangents &tangents, Value additions, Value keeps) {
  Value state = tangents.of(op.getState());
  if (!state)
    state = build.stateConstant(0, tensorOf(op.getState()));
  auto scan = ScanOp::create(build.getBuilder(), op.getLoc(), state, additions, keeps, /*linear=*/true);
  tangents.set(op.getAll(), scan.getAll());
  tangents.set(op.getLast(), scan.getLast());
}

// The tangent comes from what was taken: dx_t = w_t (dx_{t-1} + da_t) + (1 - w_t) db_t with w_t one or zero, or in
// between where both count.
void TropicalScanOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value before = PreviousOp::create(builder, getLoc(), tangents.valueOf(getState()), tangents.valueOf(getAll()));
  Value shifted = build.add(before, tangents.valueOf(getShifts()));
  Value ahead = build.sub(shifted, tangents.valueOf(getBounds()));
  Value keeps = shareOf(build, getExtremum(), ahead);
  Value additions = shared(build, getExtremum(), ahead, tangents.of(getShifts()), tangents.of(getBounds()));
  keeps = build.fit(keeps, getAll());
  additions = build.fit(additions, getAll());
  if (!additions)
    additions = build.constant(0, tensorOf(getAll()));
  setByScan(*this, build, tangents, additions, keeps);
}

// With D the denominator: dx_t = ((a - c x_t) dx_{t-1} + da x_{t-1} + db - x_t (dc x_{t-1} + dd)) / D.
void MoebiusScanOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  auto valueOf = [&](Value value) { return tangents.valueOf(value); };
  Value after = valueOf(getAll());
  Value before = PreviousOp::create(builder, getLoc(), valueOf(getState()), after);
  Value under = build.add(build.mul(valueOf(getC()), before), valueOf(getD()));
  Value keeps = build.map(Function::Div, {build.sub(valueOf(getA()), build.mul(valueOf(getC()), after)), under});
  auto moved = [&](Value factor, Value rest) {
    return build.add(build.mul(tangents.of(factor), before), tangents.of(rest));
  };
  Value additions = build.sub(moved(getA(), getB()), build.mul(after, moved(getC(), getD())));
  additions = additions ? build.fit(build.map(Function::Div, {additions, under}), getAll())
                        : build.constant(0, tensorOf(getAll()));
  setByScan(*this, build, tangents, additions, keeps);
}

void PreviousOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value state = tangents.of(getState()), all = tangents.of(getAll());
  if (!state)
    state = build.stateConstant(0, tensorOf(getState()));
  if (!all)
    all = build.constant(0, tensorOf(getAll()));
  tangents.set(getResult(), PreviousOp::create(builder, getLoc(), state, all));
}

void LastOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  tangents.set(getResult(), LastOp::create(builder, getLoc(), tangents.of(getAll())));
}

//===----------------------------------------------------------------------===//
// TokenLoopOp
//===----------------------------------------------------------------------===//

namespace {

/// The loop that carries the tangents of a loop's states, and of the states themselves those that the tangents need.
class LoopTangent {
public:
  LoopTangent(TokenLoopOp loop, OpBuilder &builder, Tangents &tangents)
      : loop(loop), builder(builder), tangents(tangents), body(loop.getBody().front()) {}
  void build();

private:
  void findMovedStates();
  void addArguments(Block &block);
  void addBody(Block &block);
  void dropUnneeded(Block &block);

  unsigned countStates() { return loop.getStates().size(); }
  RankedTensorType inBody(Value state) { return makeTokens(loop.getContext(), 1, tensorOf(state).getShape()); }

  TokenLoopOp loop;
  OpBuilder &builder;
  Tangents &tangents;
  Block &body;
  SmallVector<bool> moves;                          ///< by state: whether it has a tangent in the loop
  SmallVector<Value> streams, states, given, nexts; ///< what the new loop takes, and what its body yields
  SmallVector<Value> ofGiven, ofStates;             ///< the old loop's results whose tangents it gives; null for others
};

} // namespace

/// A state moves where its value before the first token does, or what it becomes depends on something that moves.
void LoopTangent::findMovedStates() {
  for (Value state : loop.getStates())
    moves.push_back(bool(tangents.of(state)));
  bool changed = true;
  while (changed) {
    changed = false;
    llvm::DenseSet<Value> moved;
    for (auto [stream, argument] : llvm::zip(loop.getStreams(), body.getArguments()))
      if (tangents.of(stream))
        moved.insert(argument);
    for (auto [argument, moving] : llvm::zip(body.getArguments().take_back(countStates()), moves))
      if (moving)
        moved.insert(argument);
    for (Operation &op : body.without_terminator()) {
      bool depends = tangents.reach(&op);
      op.walk([&](Operation *inner) {
        depends |= llvm::any_of(inner->getOperands(), [&](Value operand) { return moved.contains(operand); });
      });
      if (depends)
        moved.insert(op.result_begin(), op.result_end());
    }
    for (auto [moving, value] : llvm::zip(moves, body.getTerminator()->getOperands().take_back(countStates())))
      if (!moving && (moved.contains(value) || tangents.of(value)))
        moving = changed = true;
  }
}

/// Gives the body the streams and states of the old loop, and the tangents of those that move.
void LoopTangent::addArguments(Block &block) {
  ValueBuilder outside(builder, loop.getLoc());
  auto row = [&](Value stream) { return makeTokens(loop.getContext(), 1, shapePerToken(stream)); };
  for (auto [stream, argument] : llvm::zip(loop.getStreams(), body.getArguments())) {
    streams.push_back(tangents.valueOf(stream));
    tangents.getCopies().map(argument, block.addArgument(row(stream), loop.getLoc()));
    if (Value moved = tangents.of(stream)) {
      streams.push_back(moved);
      tangents.set(argument, block.addArgument(row(moved), loop.getLoc()));
    }
  }
  auto arguments = body.getArguments().take_back(countStates());
  for (auto [state, argument] : llvm::zip(loop.getStates(), arguments)) {
    states.push_back(tangents.valueOf(state));
    tangents.getCopies().map(argument, block.addArgument(inBody(state), loop.getLoc()));
  }
  for (auto [state, argument, moving] : llvm::zip(loop.getStates(), arguments, moves)) {
    if (!moving)
      continue;
    Value moved = tangents.of(state);
    if (!moved)
      moved = outside.stateConstant(0, tensorOf(state));
    states.push_back(moved);
    tangents.set(argument, block.addArgument(inBody(moved), loop.getLoc()));
  }
}

/// One token of the old loop, and its tangent op by op.
void LoopTangent::addBody(Block &block) {
  OpBuilder inside(loop.getContext());
  inside.setInsertionPointToEnd(&block);
  for (Operation &op : body.without_terminator()) {
    inside.clone(op, tangents.getCopies());
    ::recur::chunk::buildTangent(inside, &op, tangents);
  }
  OperandRange yielded = body.getTerminator()->getOperands();
  for (auto [result, value] : llvm::zip(loop.getStreamResults(), yielded))
    if (Value moved = tangents.of(value)) {
      given.push_back(moved);
      ofGiven.push_back(result);
    }
  for (Value value : yielded.take_back(countStates())) {
    nexts.push_back(tangents.valueOf(value));
    ofStates.push_back({});
  }
  ValueBuilder build(inside, loop.getLoc());
  for (auto [result, value, moving, argument] : llvm::zip(loop.getStateResults(), yielded.take_back(countStates()),
                                                          moves, body.getArguments().take_back(countStates()))) {
    if (!moving)
      continue;
    Value moved = tangents.of(value);
    nexts.push_back(moved ? moved : build.constant(0, tensorOf(tangents.of(argument))));
    ofStates.push_back(result);
  }
}

/// Drops streams, states and ops that no tangent needs.
void LoopTangent::dropUnneeded(Block &block) {
  llvm::DenseSet<Value> needed;
  SmallVector<Value> work(given);
  for (auto [i, result] : llvm::enumerate(ofStates))
    if (result)
      work.push_back(block.getArgument(streams.size() + i));
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!needed.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &block)
      op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == &block && argument.getArgNumber() >= streams.size())
      work.push_back(nexts[argument.getArgNumber() - streams.size()]);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (llvm::none_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
      op.erase();
  llvm::BitVector dropped(block.getNumArguments());
  for (BlockArgument argument : block.getArguments())
    if (!needed.contains(argument))
      dropped.set(argument.getArgNumber());
  auto keep = [&](SmallVector<Value> &values, unsigned first) {
    SmallVector<Value> kept;
    for (auto [i, value] : llvm::enumerate(values))
      if (!dropped.test(first + i))
        kept.push_back(value);
    values = kept;
  };
  unsigned firstState = streams.size();
  keep(nexts, firstState);
  keep(ofStates, firstState);
  keep(states, firstState);
  keep(streams, 0);
  block.eraseArguments(dropped);
}

void LoopTangent::build() {
  findMovedStates();
  Region region;
  Block &block = region.emplaceBlock();
  addArguments(block);
  addBody(block);
  dropUnneeded(block);
  if (given.empty() && nexts.empty())
    return;
  SmallVector<Type> types;
  for (auto [result, value] : llvm::zip(ofGiven, given))
    types.push_back(makeTokens(loop.getContext(), tensorOf(result).getDimSize(0), shapePerToken(value)));
  for (Value state : states)
    types.push_back(state.getType());
  OpBuilder inside(loop.getContext());
  inside.setInsertionPointToEnd(&block);
  SmallVector<Value> yielded(given);
  llvm::append_range(yielded, nexts);
  YieldOp::create(inside, loop.getLoc(), yielded);
  auto moved = TokenLoopOp::create(builder, loop.getLoc(), types, streams, states);
  moved.getBody().takeBody(region);
  for (auto [result, tangent] : llvm::zip(ofGiven, moved.getStreamResults()))
    tangents.set(result, tangent);
  for (auto [result, tangent] : llvm::zip(ofStates, moved.getStateResults()))
    if (result)
      tangents.set(result, tangent);
}

void TokenLoopOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  LoopTangent(*this, builder, tangents).build();
}

//===----------------------------------------------------------------------===//
// Conjugate gradients
//===----------------------------------------------------------------------===//

/// Copies the ops of a region to the builder's place, with their tangents.
static void copyWithTangents(OpBuilder &builder, Block &block, Tangents &tangents) {
  for (Operation &op : block.without_terminator()) {
    builder.clone(op, tangents.getCopies());
    buildTangent(builder, &op, tangents);
  }
}

// The steps stand for the y with (G + ridge) y = x, so (G + ridge) dy = dx - dG y - dridge y: solved in as many steps.
void CgOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Block &block = getBody().front();
  Value solution = tangents.valueOf(getResult());
  IRMapping copies = tangents.getCopies();
  tangents.getCopies().map(block.getArgument(0), solution);
  copyWithTangents(builder, block, tangents);
  Value right = build.sub(tangents.of(getVectors()), tangents.of(block.getTerminator()->getOperand(0)));
  right = build.sub(right, build.mul(tangents.of(getRidge()), solution));
  if (!right)
    return;
  right = build.fit(right, getResult());
  auto solve = CgOp::create(builder, getLoc(), right.getType(), right, tangents.valueOf(getRidge()), getIterations(),
                            getBySteps());
  getBody().cloneInto(&solve.getBody(), copies);
  tangents.set(getResult(), solve.getResult());
}

//===----------------------------------------------------------------------===//
// ComposeOp
//===----------------------------------------------------------------------===//

void ComposeOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  SummaryKind kind = getKind();
  // States as values of one token, which arithmetic takes.
  auto valueOf = [&](Value state) { return build.asToken(tangents.valueOf(state)); };
  auto movedOf = [&](Value state) {
    Value moved = tangents.of(state);
    return moved ? build.asToken(moved) : moved;
  };
  Value firstMap = movedOf(getFirstMap()), firstOffset = movedOf(getFirstOffset());
  Value secondMap = movedOf(getSecondMap()), secondOffset = movedOf(getSecondOffset());
  auto give = [&](Value result, Value moved) { tangents.set(result, moved ? build.asState(moved) : moved); };
  if (std::optional<Extremum> extremum = extremumOf(kind)) {
    // The offset is the extremum of the first, moved by the second map, and of the second.
    Value shifted = build.add(valueOf(getFirstOffset()), valueOf(getSecondMap()));
    Value ahead = build.sub(shifted, valueOf(getSecondOffset()));
    give(getMap(), build.add(firstMap, secondMap));
    give(getOffset(), shared(build, *extremum, ahead, build.add(firstOffset, secondMap), secondOffset));
    return;
  }
  // The product of a state with a map, from the map's side.
  auto product = [&](Value state, Value map) -> Value {
    if (!state || !map)
      return {};
    if (kind == SummaryKind::Elementwise)
      return build.mul(state, map);
    Value matrix = build.asState(state), side = build.asState(map);
    Value none = build.stateConstant(0, tensorOf(matrix));
    return build.asToken(ComposeOp::create(builder, getLoc(), kind, side, matrix, side, none).getOffset());
  };
  give(getMap(), build.add(product(firstMap, valueOf(getSecondMap())), product(valueOf(getFirstMap()), secondMap)));
  Value offset =
      build.add(product(firstOffset, valueOf(getSecondMap())), product(valueOf(getFirstOffset()), secondMap));
  give(getOffset(), build.add(offset, secondOffset));
}
