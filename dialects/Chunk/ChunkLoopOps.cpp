// Steps of all tokens at once: checks, tangent and adjoint.
#include "dialects/Chunk/ChunkAdjoints.h"

using namespace mlir;
using namespace recur::chunk;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether a value has a part of this type for each step.
static bool holdsParts(Value value, Type part, int64_t steps) {
  auto type = dyn_cast<RankedTensorType>(part);
  if (!type || type.getRank() < 1 || type.getRank() > 2)
    return false;
  int64_t size = type.getRank() == 1 ? 1 : type.getDimSize(1);
  return tensorOf(value).getShape() == ArrayRef<int64_t>{type.getDimSize(0), steps * size};
}

LogicalResult LoopOp::verifyRegions() {
  int64_t steps = getIterations();
  if (steps < 1)
    return emitOpError("needs at least one iteration");
  Block &block = getBody().front();
  unsigned kept = getKept().size(), carried = getCarried().size();
  if (block.getNumArguments() != kept + carried)
    return emitOpError() << "has " << kept << " kept and " << carried << " carried values, but its region has "
                         << block.getNumArguments() << " arguments";
  for (auto [value, argument] : llvm::zip(getKept(), block.getArguments()))
    if (!holdsParts(value, argument.getType(), steps))
      return emitOpError() << "takes " << argument.getType() << " in each of " << steps << " steps, but keeps "
                           << value.getType();
  for (auto [value, argument] : llvm::zip(getCarried(), block.getArguments().drop_front(kept)))
    if (value.getType() != argument.getType())
      return emitOpError() << "carries " << value.getType() << ", but its region takes " << argument.getType();
  auto yield = cast<YieldOp>(block.getTerminator());
  if (getNumResults() < carried || yield.getNumOperands() != getNumResults())
    return yield.emitOpError() << "gives " << yield.getNumOperands() << " values, but the loop around it has "
                               << getNumResults() << " results, the last " << carried << " of them carried";
  unsigned given = getNumResults() - carried;
  for (auto [result, value] : llvm::zip(getKeptResults(), yield.getValues()))
    if (tensorOf(result).getRank() != 2 || !holdsParts(result, value.getType(), steps))
      return emitOpError() << "gives " << value.getType() << " in each of " << steps << " steps, but keeps "
                           << result.getType();
  for (auto [start, result, value] : llvm::zip(getCarried(), getCarriedResults(), yield.getValues().drop_front(given)))
    if (result.getType() != start.getType() || value.getType() != start.getType())
      return emitOpError() << "carries " << start.getType() << ", but makes " << value.getType() << " and gives "
                           << result.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

// A loop that carries each value with its tangent.
void LoopOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Block &block = getBody().front();
  unsigned kept = getKept().size(), given = getKeptResults().size(), carried = getCarried().size();
  Region region;
  Block &body = region.emplaceBlock();
  SmallVector<Value> parts, values, moved;
  for (auto [value, argument] : llvm::zip(getKept(), block.getArguments())) {
    parts.push_back(tangents.valueOf(value));
    tangents.getCopies().map(argument, body.addArgument(argument.getType(), getLoc()));
    if (Value tangent = tangents.of(value)) {
      parts.push_back(tangent);
      tangents.set(argument, body.addArgument(argument.getType(), getLoc()));
    }
  }
  auto arguments = block.getArguments().drop_front(kept);
  for (auto [value, argument] : llvm::zip(getCarried(), arguments)) {
    values.push_back(tangents.valueOf(value));
    tangents.getCopies().map(argument, body.addArgument(argument.getType(), getLoc()));
  }
  for (auto [value, argument] : llvm::zip(getCarried(), arguments)) {
    Value tangent = tangents.of(value);
    moved.push_back(tangent ? build.fit(tangent, value) : build.constant(0, tensorOf(value)));
    tangents.set(argument, body.addArgument(argument.getType(), getLoc()));
  }
  OpBuilder inside(getContext());
  inside.setInsertionPointToEnd(&body);
  ValueBuilder buildInside(inside, getLoc());
  for (Operation &op : block.without_terminator()) {
    inside.clone(op, tangents.getCopies());
    ::recur::chunk::buildTangent(inside, &op, tangents);
  }
  OperandRange yielded = block.getTerminator()->getOperands();
  auto tangentOf = [&](Value value) {
    Value tangent = tangents.of(value);
    return tangent ? buildInside.fit(tangent, value) : buildInside.constant(0, tensorOf(value));
  };
  SmallVector<Value> nexts;
  SmallVector<Type> types;
  for (auto [result, value] : llvm::zip(getKeptResults(), yielded)) {
    nexts.push_back(tangentOf(value));
    types.push_back(result.getType());
  }
  for (Value value : yielded.drop_front(given))
    nexts.push_back(tangents.valueOf(value));
  for (Value value : yielded.drop_front(given))
    nexts.push_back(tangentOf(value));
  YieldOp::create(inside, getLoc(), nexts);
  llvm::append_range(values, moved);
  for (Value value : values)
    types.push_back(value.getType());
  auto loop = LoopOp::create(builder, getLoc(), types, parts, values, getIterations(), getReverse());
  loop.getBody().takeBody(region);
  for (auto [result, tangent] : llvm::zip(getKeptResults(), loop.getKeptResults()))
    tangents.set(result, tangent);
  for (auto [result, tangent] : llvm::zip(getCarriedResults(), loop.getCarriedResults().drop_front(carried)))
    tangents.set(result, tangent);
}

/// The loop with one more kept result for each carried value: what it was before each step.
static LoopOp keepCarried(LoopOp loop) {
  OpBuilder builder(loop);
  SmallVector<Type> types(loop.getKeptResults().getTypes());
  for (Value value : loop.getCarried()) {
    ArrayRef<int64_t> shape = tensorOf(value).getShape();
    int64_t size = shape.size() == 1 ? 1 : shape[1];
    types.push_back(makeTokens(loop.getContext(), shape[0], {int64_t(loop.getIterations()) * size}));
  }
  llvm::append_range(types, loop.getCarriedResults().getTypes());
  auto kept = LoopOp::create(builder, loop.getLoc(), types, loop.getKept(), loop.getCarried(), loop.getIterations(),
                             loop.getReverse());
  IRMapping copies;
  loop.getBody().cloneInto(&kept.getBody(), copies);
  Block &body = kept.getBody().front();
  SmallVector<Value> yielded(body.getTerminator()->getOperands());
  Block::BlockArgListType arguments = body.getArguments().take_back(loop.getCarried().size());
  yielded.insert(yielded.begin() + loop.getKeptResults().size(), arguments.begin(), arguments.end());
  body.getTerminator()->setOperands(yielded);
  return kept;
}

/// Whether ops of the region read the value as a state that all tokens share.
static bool isStateIn(Region &region, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto read = dyn_cast<ReadOp>(user);
    return read && read.getState() == value && region.isAncestor(read->getParentRegion());
  });
}

// A loop over the steps from the last to the first, over the values that were kept before each: its region computes the
// step again and goes back through it. What the steps share gathers its cotangent from step to step.
LogicalResult LoopOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  if (getReverse())
    return emitOpError("has no adjoint: it is one");
  unsigned keptIn = getKept().size(), given = getKeptResults().size(), carried = getCarried().size();
  LoopOp kept = keepCarried(*this);
  llvm::SetVector<Value> captured = findCaptured(kept);
  captured.remove_if([](Value value) { return isConstant(value); });
  // In: the kept values, the carried ones before each step, the cotangents of what the loop keeps.
  SmallVector<Value> parts(getKept()), values;
  llvm::append_range(parts, kept.getKeptResults().take_back(carried));
  SmallVector<Type> partTypes(getBody().getArgumentTypes());
  SmallVector<unsigned> seeded;
  Block &step = getBody().front();
  for (auto [i, result] : llvm::enumerate(getKeptResults()))
    if (Value d = adjoints.of(result)) {
      seeded.push_back(i);
      parts.push_back(d);
      partTypes.push_back(step.getTerminator()->getOperand(i).getType());
    }
  for (Value result : getCarriedResults()) {
    Value d = adjoints.of(result);
    values.push_back(d ? d : build.constant(0, tensorOf(result)));
  }
  for (Value value : captured)
    values.push_back(isStateIn(kept.getBody(), value) ? build.stateConstant(0, tensorOf(value))
                                                      : build.constant(0, tensorOf(value)));
  // Out: the cotangents of the kept values, step by step, and of the carried and the captured ones.
  SmallVector<Type> types(getKept().getTypes());
  for (Value value : values)
    types.push_back(value.getType());
  auto back = LoopOp::create(builder, getLoc(), types, parts, values, getIterations(), /*reverse=*/true);
  Block &body = back.getBody().emplaceBlock();
  for (Type type : partTypes)
    body.addArgument(type, getLoc());
  for (Value value : values)
    body.addArgument(value.getType(), getLoc());
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  ValueBuilder buildInside(inside, getLoc());
  // The step again.
  IRMapping copies;
  copies.map(step.getArguments(), body.getArguments().take_front(keptIn + carried));
  SmallVector<Operation *> ops;
  for (Operation &op : step.without_terminator())
    ops.push_back(inside.clone(op, copies));
  // Then the ops are gone through backwards. Several results may be one value.
  Adjoints own;
  auto sums = body.getArguments().take_back(captured.size());
  for (auto [value, sum] : llvm::zip(captured, sums))
    own.set(value, sum);
  auto yielded = llvm::map_to_vector(step.getTerminator()->getOperands(),
                                     [&](Value value) { return copies.lookupOrDefault(value); });
  for (auto [i, result] : llvm::enumerate(seeded))
    own.add(buildInside, yielded[result], body.getArgument(keptIn + carried + i));
  auto cotangents = body.getArguments().slice(parts.size(), carried);
  for (unsigned i = 0; i < carried; ++i)
    own.add(buildInside, yielded[given + i], cotangents[i]);
  if (failed(buildAdjoints(inside, ops, own)))
    return failure();
  SmallVector<Value> outs;
  for (Value argument : body.getArguments().take_front(keptIn + carried)) {
    Value d = own.of(argument);
    outs.push_back(d ? d : buildInside.constant(0, tensorOf(argument)));
  }
  for (Value value : captured)
    outs.push_back(own.of(value));
  YieldOp::create(inside, getLoc(), outs);
  for (auto [value, d] : llvm::zip(getKept(), back.getKeptResults()))
    adjoints.add(build, value, d);
  for (auto [value, d] : llvm::zip(getCarried(), back.getCarriedResults()))
    adjoints.add(build, value, d);
  for (auto [value, d] : llvm::zip(captured, back.getCarriedResults().drop_front(carried))) {
    if (isStateIn(kept.getBody(), value))
      adjoints.addToState(build, value, d);
    else
      adjoints.add(build, value, d);
  }
  // The loop that keeps its values gives all that this one did.
  for (auto [i, result] : llvm::enumerate(getResults()))
    result.replaceAllUsesWith(kept->getResult(i < given ? i : i + carried));
  return success();
}
