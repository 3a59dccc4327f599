// Adjoints of scans, of the token loop and of conjugate gradients: they go from the last token to the first.
#include "dialects/Chunk/ChunkAdjoints.h"

using namespace mlir;
using namespace recur::chunk;

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

static Value orZero(ValueBuilder &build, Value cotangent, Value value) {
  return cotangent ? cotangent : build.constant(0, tensorOf(value));
}
static Value orZeroState(ValueBuilder &build, Value cotangent, Value value) {
  return cotangent ? cotangent : build.stateConstant(0, tensorOf(value));
}

LogicalResult ScanOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  auto back = ReverseScanOp::create(builder, getLoc(), orZeroState(build, adjoints.of(getLast()), getLast()),
                                    orZero(build, adjoints.of(getAll()), getAll()), getDecay(), getLinear());
  adjoints.add(build, getAdditions(), back.getAll());
  adjoints.addToState(build, getState(), back.getFirst());
  if (getDecay()) {
    Value before = PreviousOp::create(builder, getLoc(), getState(), getAll());
    Value slope = build.mul(back.getAll(), before);
    adjoints.add(build, getDecay(), getLinear() ? slope : build.mul(build.map(Function::Exp, getDecay()), slope));
  }
  return success();
}

// Each element is what the state before brings, or the bound: the cotangent goes to what won, and half to each where
// they are equal. A soft one is some of both.
LogicalResult TropicalScanOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value before = PreviousOp::create(builder, getLoc(), getState(), getAll());
  Value ahead = build.sub(build.add(before, getShifts()), getBounds());
  if (isLower(getExtremum()))
    ahead = build.neg(ahead);
  Value one = build.number(1), equal = isConstant(getBounds()) ? Value() : build.number(0.5);
  Value keeps = isSoft(getExtremum()) ? build.map(Function::Sigmoid, ahead)
                                      : build.select(ahead, one, build.select(build.neg(ahead), Value(), equal));
  keeps = build.fit(keeps, getAll());
  auto back = ReverseScanOp::create(builder, getLoc(), orZeroState(build, adjoints.of(getLast()), getLast()),
                                    orZero(build, adjoints.of(getAll()), getAll()), keeps, /*linear=*/true);
  adjoints.add(build, getShifts(), build.mul(keeps, back.getAll()));
  adjoints.add(build, getBounds(), build.mul(build.sub(one, keeps), back.getAll()));
  adjoints.addToState(build, getState(), back.getFirst());
  return success();
}

// With D the denominator: dx_t/dx_{t-1} = (a - c x_t) / D, which no difference of products comes into.
LogicalResult MoebiusScanOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value before = PreviousOp::create(builder, getLoc(), getState(), getAll());
  Value under = build.add(build.mul(getC(), before), getD());
  Value keeps = build.map(Function::Div, {build.sub(getA(), build.mul(getC(), getAll())), under});
  auto back = ReverseScanOp::create(builder, getLoc(), orZeroState(build, adjoints.of(getLast()), getLast()),
                                    orZero(build, adjoints.of(getAll()), getAll()), keeps, /*linear=*/true);
  Value over = build.map(Function::Div, {back.getAll(), under}), apart = build.neg(build.mul(over, getAll()));
  adjoints.add(build, getA(), build.mul(over, before));
  adjoints.add(build, getB(), over);
  adjoints.add(build, getC(), build.mul(apart, before));
  adjoints.add(build, getD(), apart);
  adjoints.addToState(build, getState(), back.getFirst());
  return success();
}

LogicalResult PreviousOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  auto back =
      FollowingOp::create(builder, getLoc(), build.stateConstant(0, tensorOf(getState())), adjoints.of(getResult()));
  adjoints.add(build, getAll(), back.getAll());
  adjoints.addToState(build, getState(), back.getFirst());
  return success();
}

LogicalResult LastOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  if (Value row = buildLastRow(build, getAll(), adjoints.of(getResult()))) {
    adjoints.add(build, getAll(), row);
    return success();
  }
  Value zeros = build.constant(0, tensorOf(getAll()));
  adjoints.add(build, getAll(), FollowingOp::create(builder, getLoc(), adjoints.of(getResult()), zeros).getAll());
  return success();
}

//===----------------------------------------------------------------------===//
// TokenLoopOp
//===----------------------------------------------------------------------===//

llvm::SetVector<Value> recur::chunk::findCaptured(Operation *op) {
  llvm::SetVector<Value> captured;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner != op && !op->isAncestor(operand.getParentBlock()->getParentOp()))
        captured.insert(operand);
  });
  return captured;
}

/// The loop with one more stream of results for each state: what it was before each token.
static TokenLoopOp keepStates(TokenLoopOp loop) {
  OpBuilder builder(loop);
  int64_t tokens = 1;
  for (Value value : loop.getStreams())
    tokens = std::max(tokens, tensorOf(value).getDimSize(0));
  for (Value value : loop.getStreamResults())
    tokens = std::max(tokens, tensorOf(value).getDimSize(0));
  SmallVector<Type> types(loop.getStreamResults().getTypes());
  for (Value state : loop.getStates())
    types.push_back(makeTokens(loop.getContext(), tokens, tensorOf(state).getShape()));
  llvm::append_range(types, loop.getStateResults().getTypes());
  auto kept =
      TokenLoopOp::create(builder, loop.getLoc(), types, loop.getStreams(), loop.getStates(), loop.getReverse());
  IRMapping copies;
  loop.getBody().cloneInto(&kept.getBody(), copies);
  Block &body = kept.getBody().front();
  SmallVector<Value> yielded(body.getTerminator()->getOperands());
  Block::BlockArgListType arguments = body.getArguments().take_back(loop.getStates().size());
  yielded.insert(yielded.begin() + loop.getStreamResults().size(), arguments.begin(), arguments.end());
  body.getTerminator()->setOperands(yielded);
  return kept;
}

// A loop over the tokens from the last to the first, over the states that were kept before each: its body computes the
// token again and goes back through it.
LogicalResult TokenLoopOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  unsigned streams = getStreams().size(), given = getStreamResults().size(), states = getStates().size();
  TokenLoopOp kept = keepStates(*this);
  llvm::SetVector<Value> captured = findCaptured(kept);
  captured.remove_if([](Value value) { return isConstant(value); });
  // In: the streams, the states before each token, the cotangents of what the loop gives.
  SmallVector<Value> ins(getStreams()), carried;
  llvm::append_range(ins, kept.getStreamResults().take_back(states));
  SmallVector<unsigned> seeded;
  for (auto [i, result] : llvm::enumerate(getStreamResults()))
    if (Value d = adjoints.of(result)) {
      seeded.push_back(i);
      ins.push_back(d);
    }
  for (auto [state, result] : llvm::zip(getStates(), getStateResults())) {
    Value d = adjoints.of(result);
    // What starts as a constant of the tokens has as many rows as they are, and so has its cotangent.
    bool countsTokens = state.getDefiningOp<ConstantOp>() != nullptr;
    carried.push_back(!d && countsTokens ? build.constant(0, tensorOf(result)) : orZeroState(build, d, result));
  }
  // Out: the cotangents of the streams and of what is captured, token by token.
  int64_t tokens = ins.empty() ? 1 : tensorOf(ins.front()).getDimSize(0);
  SmallVector<Type> types(getStreams().getTypes());
  for (Value value : captured)
    types.push_back(makeTokens(getContext(), tokens, shapePerToken(value)));
  llvm::append_range(types, getStates().getTypes());
  auto back = TokenLoopOp::create(builder, getLoc(), types, ins, carried, !getReverse());
  Block &body = back.getBody().emplaceBlock();
  auto addArgument = [&](Value value, bool isState) {
    ArrayRef<int64_t> shape = isState ? tensorOf(value).getShape() : shapePerToken(value);
    return body.addArgument(makeTokens(getContext(), 1, shape), getLoc());
  };
  for (Value value : ins)
    addArgument(value, false);
  for (Value value : carried)
    addArgument(value, true);
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  ValueBuilder buildInside(inside, getLoc());
  // The token again.
  Block &token = getBody().front();
  IRMapping copies;
  copies.map(token.getArguments(), body.getArguments().take_front(streams + states));
  SmallVector<Operation *> ops;
  for (Operation &op : token.without_terminator())
    ops.push_back(inside.clone(op, copies));
  // Then the ops are gone through backwards. Several results may be one value.
  Adjoints own;
  auto yielded = llvm::map_to_vector(token.getTerminator()->getOperands(),
                                     [&](Value value) { return copies.lookupOrDefault(value); });
  for (auto [i, result] : llvm::enumerate(seeded))
    own.add(buildInside, yielded[result], body.getArgument(streams + states + i));
  for (unsigned i = 0; i < states; ++i)
    own.add(buildInside, yielded[given + i], body.getArguments().take_back(states)[i]);
  if (failed(buildAdjoints(inside, ops, own)))
    return failure();
  SmallVector<Value> outs;
  auto give = [&](Value value, Type type) {
    Value d = own.of(value);
    outs.push_back(d ? d : buildInside.constant(0, cast<RankedTensorType>(type)));
  };
  for (Value argument : body.getArguments().take_front(streams))
    give(argument, argument.getType());
  for (Value value : captured)
    give(value, makeTokens(getContext(), 1, shapePerToken(value)));
  for (Value argument : body.getArguments().slice(streams, states))
    give(argument, argument.getType());
  YieldOp::create(inside, getLoc(), outs);
  for (auto [stream, d] : llvm::zip(getStreams(), back.getStreamResults()))
    adjoints.add(build, stream, d);
  for (auto [value, d] : llvm::zip(captured, back.getStreamResults().drop_front(streams)))
    adjoints.add(build, value, d);
  for (auto [state, d] : llvm::zip(getStates(), back.getStateResults()))
    adjoints.addToState(build, state, d);
  // The loop that keeps the states gives all that this one did.
  for (auto [i, result] : llvm::enumerate(getResults()))
    result.replaceAllUsesWith(kept->getResult(i < given ? i : i + states));
  return success();
}

//===----------------------------------------------------------------------===//
// CgOp and ComposeOp
//===----------------------------------------------------------------------===//

/// The steps one by one, as ops that each have an adjoint: gives where they stop.
static Value buildSteps(ValueBuilder &build, CgOp op) {
  Block &body = op.getBody().front();
  auto apply = [&](Value direction) {
    IRMapping copies;
    copies.map(body.getArgument(0), direction);
    for (Operation &inside : body.without_terminator())
      build.getBuilder().clone(inside, copies);
    return copies.lookupOrDefault(body.getTerminator()->getOperand(0));
  };
  auto dot = [&](Value a, Value b) { return build.map(Function::Dot, {a, b}); };
  Value one = build.number(1), residual = op.getVectors(), direction = residual, solution;
  Value square = dot(residual, residual);
  for (int64_t step = 0, steps = op.getIterations(); step < steps; ++step) {
    Value image = build.add(apply(direction), build.mul(op.getRidge(), direction)), curvature = dot(direction, image);
    // A step without a residual or a curvature changes nothing: what is divided by is one then, and not zero.
    Value moves = build.map(Function::Abs, curvature), divisor = build.select(moves, curvature, one);
    Value length = build.select(moves, build.map(Function::Div, {square, divisor}), Value());
    solution = build.add(solution, build.mul(length, direction));
    if (step + 1 == steps)
      break;
    residual = build.sub(residual, build.mul(length, image));
    Value next = dot(residual, residual);
    Value keep = build.map(Function::Div, {next, build.select(square, square, one)});
    direction = build.select(moves, build.add(residual, build.mul(keep, direction)), direction);
    square = next;
  }
  return solution;
}

// y = A^-1 x with a symmetric A, so dx = A^-1 dy, by as many steps, and A matters as -dx y^T does: through one
// application of the region to y, whose result matters as -dx.
LogicalResult CgOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  if (getBySteps()) {
    struct Recorder : OpBuilder::Listener {
      void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { ops.push_back(op); }
      SmallVector<Operation *> ops;
    } recorder;
    OpBuilder recorded(builder);
    recorded.setListener(&recorder);
    ValueBuilder steps(recorded, getLoc());
    adjoints.add(build, buildSteps(steps, *this), adjoints.of(getResult()));
    return buildAdjoints(builder, recorder.ops, adjoints);
  }
  auto solved = CgOp::create(builder, getLoc(), getType(), adjoints.of(getResult()), getRidge(), getIterations(),
                             /*by_steps=*/false);
  IRMapping region;
  getBody().cloneInto(&solved.getBody(), region);
  adjoints.add(build, getVectors(), solved.getResult());
  Value negated = build.neg(solved.getResult()), product = build.mul(negated, getResult());
  adjoints.add(build, getRidge(), product);
  IRMapping copies;
  Block &body = getBody().front();
  copies.map(body.getArgument(0), getResult());
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(builder.clone(op, copies));
  Value applied = copies.lookupOrDefault(body.getTerminator()->getOperand(0));
  Value before = adjoints.of(getResult());
  adjoints.add(build, applied, negated);
  if (failed(buildAdjoints(builder, ops, adjoints)))
    return failure();
  adjoints.set(getResult(), before); // the solution has been accounted for
  return success();
}

LogicalResult ComposeOp::buildAdjoint(OpBuilder &, Adjoints &) {
  return emitOpError("has no adjoint: the maps of segments are composed outside of a program that is differentiated");
}
