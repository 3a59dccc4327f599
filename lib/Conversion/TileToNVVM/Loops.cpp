// Loops over chunks, and the loads that they begin with, which are under way while something else is computed.
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// How many accesses of 16 bytes a thread holds of the rows that come next.
static constexpr int64_t mostAccessesAhead = 16;

/// A loop or condition of the plan, which all threads take together.
LogicalResult KernelLowering::lowerLoop(Operation *op) {
  Operation *shell = op->cloneWithoutRegions(values);
  builder.insert(shell);
  auto chunks = isa<KernelOp>(op->getParentOp()) ? dyn_cast<scf::ForOp>(op) : scf::ForOp();
  if (chunks) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(shell);
    cast<scf::ForOp>(shell).setLowerBound(findBegin(chunks, value(chunks.getLowerBound())));
  }
  SmallVector<Access> before = pending;
  for (auto [from, to] : llvm::zip(op->getRegions(), shell->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.front().getArguments())
      values.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    SmallVector<Operation *> outputs = findOutputOps(from.front());
    for (Operation &op : from.front()) {
      if (!outputs.empty() && &op == outputs.front() && failed(lowerOutputs(outputs)))
        return failure();
      if (llvm::is_contained(outputs, &op))
        continue;
      if (op.hasTrait<OpTrait::IsTerminator>()) {
        orderAll(); // what comes next may be the first op of the block again
        if (chunks)
          keepAtMultiples(chunks);
      }
      if (failed(lower(&op)))
        return failure();
    }
    pending = before; // the block may not have run
  }
  return success();
}

/// The CTAs of a row of the grid deal the iterations out among themselves.
Dealt KernelLowering::dealToCTAs(scf::ParallelOp op) {
  Location loc = op.getLoc();
  Type narrow = builder.getI32Type();
  Value first = team.widen(ownChunk ? ownChunk : NVVM::BlockIdYOp::create(builder, loc, narrow).getResult());
  Value rows = NVVM::GridDimYOp::create(builder, loc, narrow);
  if (ownChunk) // of the list, the only one
    rows = team.select(hasList, team.constant(INT32_MAX), rows);
  Value count = team.widen(rows);
  Value step = wideNumber(op.getStep()[0]);
  Value begin = team.addWide(wideNumber(op.getLowerBound()[0]), team.multiplyWide(first, step));
  auto loop =
      scf::ForOp::create(builder, loc, begin, wideNumber(op.getUpperBound()[0]), team.multiplyWide(count, step));
  return {loop, loop.getBody(), loop.getInductionVar()};
}

/// Nothing of the plan is left but its rows, so tiles have no places.
void KernelLowering::lowerRowPass() {
  auto cloneNumbers = [&](Block &block) {
    for (Operation &op : block)
      if (isa<arith::ArithDialect>(op.getDialect()))
        builder.clone(op, values);
  };
  cloneNumbers(kernel.getBody().front());
  Dealt dealt = dealToCTAs(rowPass->loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(dealt.body->getTerminator());
  values.map(rowPass->loop.getInductionVars()[0],
             arith::IndexCastOp::create(builder, kernel.getLoc(), builder.getIndexType(), dealt.first));
  cloneNumbers(*rowPass->loop.getBody());
  emitRowPass(team, *rowPass, value(rowPass->first), rows(rowPass->count), [&](Value array, bool asksEveryLane) {
    auto found = firstOfLane;
    if (!asksEveryLane)
      firstOfLane = {};
    CallerArray own = findArray(cast<BlockArgument>(array));
    firstOfLane = found;
    return own;
  });
}

LogicalResult KernelLowering::lowerParallel(scf::ParallelOp op) {
  Location loc = op.getLoc();
  if (op.getInductionVars().size() != 1 || op.getNumReductions())
    return op.emitOpError("cannot be lowered: it has one induction variable and reduces nothing");
  orderAll(); // loads go to tiles at once
  llvm::DenseMap<Value, CallerArray> arraysBefore = arrays;
  Value headBefore = head, sequenceBefore = sequence, firstBefore = firstToken;
  Value tokensBefore = value(kernel.getBody().front().getArguments().back());
  bool hasTeams = kernel.getTeams().has_value(), keeps = keepsRounds();
  bool forgets = isCrowded() || (hasTeams && !keeps);
  if (keeps)
    forgetWhereArraysBegin();
  // What all arrays need would take registers from all that is computed.
  findsLate = !hasTeams && firstOfLane;
  std::vector<Ahead> ahead;
  if (!forgets && !findsLate)
    ahead = findLoadsAhead(*op.getBody(), /*areFree=*/true);
  // Three teams were measured to hide each other's loads.
  bool mayAskAhead = hasTeams && *kernel.getTeams() <= 2;
  // Copies that begin in the middle of a chunk as well.
  llvm::DenseSet<Value> written;
  op.getBody()->walk([&](StoreOp store) { written.insert(store.getArray()); });
  bool mayStartInside = !forgets && !hasTeams;
  std::deque<Ahead> inside;
  copies = 0;
  for (Ahead &one : ahead)
    if (mayStartInside && one.load.goesToTile())
      one.number = copies++;
  std::vector<Ahead> freed;
  Operation *freeing = mayAskAhead ? takeFreed(*op.getBody(), ahead, freed) : nullptr;
  Dealt dealt = hasTeams ? dealToTeams(op) : dealToCTAs(op);
  SmallVector<Access> before = pending;
  OpBuilder::InsertionGuard guard(builder);
  if (freeing) {
    builder.setInsertionPoint(dealt.loop);
    if (keeps)
      keptArrays = findKeptArrays(team.constant(0));
    startRound(freed, *op.getBody(), dealt, team.constant(0));
  }
  builder.setInsertionPoint(dealt.body->getTerminator());
  Value induction = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), dealt.first);
  values.map(op.getInductionVars()[0], induction);
  if (keeps)
    keptArrays = findKeptArrays(dealt.round);
  else if (hasTeams)
    setUnitOfRound(findTurn(dealt.round).unit);
  if (hasTeams && mayHaveList)
    setTokens(findTokensOfRound(dealt.round, dealt.first));
  if (forgets)
    forgetArrays();
  // All are on their way before the first one is waited for, and each is waited for where it is needed.
  SmallVector<Value> held = startLoads(ahead, *op.getBody(), induction);
  // Behind the barrier that ended the round before nobody asks for its arrays any more.
  auto keepNext = [&] { keepRound(team.add(dealt.round, 1)); };
  if (keeps && !keepsUnit())
    keepNext();
  else if (keeps && mayHaveList)
    team.when(hasList, keepNext);
  // The chunk before is announced while the team waits for loads.
  if (hasTeams)
    announceBefore(dealt.round);
  for (Ahead &one : freed)
    underWay.push_back({&one, {}});
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (llvm::any_of(freed, [&](Ahead &one) { return one.op.getOperation() == &inner; }))
      continue;
    auto one = llvm::find_if(ahead, [&](Ahead &candidate) { return candidate.op.getOperation() == &inner; });
    if (one != ahead.end()) {
      underWay.push_back({&*one, SmallVector<Value>(ArrayRef(held).slice(one->first, one->count))});
      continue;
    }
    if (auto load = dyn_cast<LoadOp>(inner);
        load && mayStartInside && !written.contains(load.getArray()) && startInside(load, inside))
      continue;
    finishBefore(&inner);
    if (failed(lower(&inner)))
      return failure();
    if (&inner == freeing) {
      finishBefore(op); // what is counted by those that come later
      freedIn = dealt.body;
      startWhereFree = [&] {
        Value next = team.add(dealt.round, 1), kept = keeps ? std::exchange(keptArrays, findKeptArrays(next)) : Value();
        startRound(freed, *op.getBody(), dealt, next);
        keptArrays = kept;
      };
    }
  }
  finishBefore(op);
  orderAll(); // what comes next may be the first op of the loop again
  pending = before;
  findsLate = false;
  arrays = arraysBefore; // those of the body are not there behind it
  keptArrays = {};
  head = headBefore, sequence = sequenceBefore, firstToken = firstBefore;
  setTokens(tokensBefore);
  if (hasTeams) {
    builder.setInsertionPointAfter(dealt.loop);
    forgetThread();
    announceBefore(dealt.rounds);
  }
  return success();
}

Value KernelLowering::wideNumber(Value index) {
  return arith::IndexCastOp::create(builder, team.loc, builder.getI64Type(), value(index));
}

Value KernelLowering::forget(Value number) { return nvvm::forget(team, number); }

void KernelLowering::forgetThread() {
  team.thread = forget(threadOfKernel);
  team.lane = team.remainder(team.thread, warpThreads);
  team.warp = team.divide(team.thread, warpThreads);
}

bool KernelLowering::isCrowded() {
  return kernel.walk([](ConjugateGradientsOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

void KernelLowering::findPlace(Ahead &ahead) {
  Value array = ahead.op.getArray();
  if (keptArrays)
    ahead.load.begin(team, recall(array, arrays.lookup(array)));
}

void KernelLowering::finishLoad(Ahead &ahead, ValueRange held) {
  team.loc = ahead.op.getLoc();
  forgetThread();
  order(ahead.op.getOperation());
  if (!ahead.load.goesToTile())
    findPlace(ahead);
  int64_t later = ahead.number < 0 ? ahead.later : copies - ahead.number - 1; // of all that were started by now
  ahead.load.finish(team, firstLoaded(ahead.op), rows(ahead.op.getRows()), held, later);
}

/// A copy starts once nobody reads any more what lies in the tile's place. Nothing but the load writes there before it
/// is waited for.
bool KernelLowering::startInside(LoadOp load, std::deque<Ahead> &inside) {
  Value tile = load.getTile();
  auto part = tile.getDefiningOp<ViewOp>();
  if (!(part ? part.getSource() : tile).getDefiningOp<AllocOp>() || (part && (part.getRow() || part.getOffset() != 0)))
    return false;
  Ahead one{load, AheadLoad(team, arrayOf(load.getArray()), placeAhead(load), /*isFree=*/true), 0, 0, 0};
  constexpr int64_t mostHeld = 1; // accesses that a thread holds in the middle of a chunk
  if (!one.load.canStart() || (!one.load.goesToTile() && one.load.countRegisters() > mostHeld))
    return false;
  team.loc = load.getLoc();
  if (one.load.goesToTile()) {
    auto isPlaced = [&](Value operand) { return extents.contains(operand); };
    order(load.getOperation());
    pending.pop_back_n(size_t(llvm::count_if(load->getOperands(), isPlaced)));
    one.number = copies++;
  }
  forgetThread();
  one.load.begin(team);
  SmallVector<Value> held = one.load.start(team, value(load.getFirst()), rows(load.getRows()));
  inside.push_back(std::move(one));
  underWay.push_back({&inside.back(), held});
  return true;
}

void KernelLowering::finishBefore(Operation *op) {
  size_t count = 0;
  for (auto [number, one] : llvm::enumerate(underWay)) {
    Access tile = extents[one.first->op.getTile()];
    tile.isWrite = true;
    bool touches = op->getNumRegions() > 0 && !isa<TileDialect>(op->getDialect());
    for (Value operand : op->getOperands())
      if (auto found = extents.find(operand); found != extents.end())
        touches |= tile.conflictsWith(found->second);
    if (touches)
      count = number + 1;
  }
  for (; count; --count) {
    finishLoad(*underWay.front().first, underWay.front().second);
    underWay.pop_front();
  }
}

/// The loads that the body begins with, of arrays that nothing in it writes: as many as registers can hold. A copy does
/// not start before a branch in front of it whose tiles lie in the same place.
std::vector<KernelLowering::Ahead> KernelLowering::findLoadsAhead(Block &body, bool areFree) {
  llvm::DenseSet<Value> written;
  body.walk([&](StoreOp store) { written.insert(store.getArray()); });
  std::vector<Ahead> found;
  SmallVector<Operation *> branches;
  size_t accesses = 0;
  for (Operation &inner : body) {
    auto load = dyn_cast<LoadOp>(inner);
    if (!load) {
      if (isa<TileDialect>(inner.getDialect()) && !isa<ViewOp>(inner))
        break;
      if (inner.getNumRegions())
        branches.push_back(&inner);
      continue;
    }
    Value tile = load.getTile();
    auto part = tile.getDefiningOp<ViewOp>();
    if (written.contains(load.getArray()) || !(part ? part.getSource() : tile).getDefiningOp<AllocOp>() ||
        (part && (part.getRow() || part.getOffset() != 0)))
      continue;
    Ahead one{load,
              AheadLoad(team, listsArrays() ? arrayOf(load.getArray()) : arrays.lookup(load.getArray()),
                        placeAhead(load), areFree),
              accesses, 0, 0};
    one.count = one.load.countRegisters();
    bool isTaken = llvm::any_of(branches, [&](Operation *branch) { return touches(branch, load); });
    if (!one.load.canStart() || accesses + one.count > mostAccessesAhead || (one.load.goesToTile() && isTaken))
      continue;
    one.load.begin(team);
    accesses += one.count;
    for (Ahead &before : found)
      before.later += one.load.goesToTile();
    found.push_back(std::move(one));
  }
  return found;
}

bool KernelLowering::touches(Operation *op, LoadOp load) {
  Access tile = extents.lookup(load.getTile());
  tile.isWrite = true;
  auto isThere = [&](Value operand) {
    while (auto view = operand.getDefiningOp<ViewOp>())
      operand = view.getSource();
    auto found = extents.find(operand);
    return found != extents.end() && tile.conflictsWith(found->second);
  };
  auto result = op->walk([&](Operation *inner) {
    bool isOther = inner != load && !isa<ViewOp>(inner);
    return isOther && llvm::any_of(inner->getOperands(), isThere) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

Operation *KernelLowering::takeFreed(Block &body, std::vector<Ahead> &ahead, std::vector<Ahead> &freed) {
  SmallVector<Operation *> ops, loads;
  for (Operation &op : body.without_terminator())
    if (isa<LoadOp>(op) && ops.empty())
      loads.push_back(&op);
    else if (op.getNumRegions() || (isa<TileDialect>(op.getDialect()) && !isa<ViewOp>(op)))
      ops.push_back(&op);
  Operation *last = nullptr;
  auto isFreed = [&](Ahead &one) {
    auto touchesIt = [&](Operation *op) { return touches(op, one.op); };
    return one.load.goesToTile() && one.op.getTile().getDefiningOp<AllocOp>() && llvm::none_of(loads, touchesIt) &&
           !ops.empty() && !touchesIt(ops.back());
  };
  for (Ahead &one : ahead)
    if (isFreed(one))
      freed.push_back(one);
  llvm::erase_if(ahead, isFreed);
  for (Operation *op : ops)
    if (llvm::any_of(freed, [&](Ahead &one) { return touches(op, one.op); }))
      last = op;
  // Each waits until no more copies are under way than were started later.
  int64_t later = 0;
  for (std::vector<Ahead> *some : {&ahead, &freed})
    for (Ahead &one : llvm::reverse(*some)) {
      one.later = later;
      later += one.load.goesToTile();
    }
  return last;
}

void KernelLowering::startRound(std::vector<Ahead> &freed, Block &body, const Dealt &dealt, Value round) {
  auto [first, isThere] = dealt.findIteration(round);
  Value induction = arith::IndexCastOp::create(builder, team.loc, builder.getIndexType(), first);
  Value tokens = value(kernel.getBody().front().getArguments().back());
  if (mayHaveList)
    setTokens(findTokensOfRound(round, first));
  startLoads(freed, body, induction, isThere);
  setTokens(tokens);
}

Value KernelLowering::inIteration(Value number, Block &body, Value induction, IRMapping &known) {
  if (number == body.getArgument(0))
    return induction;
  Operation *maker = number.getDefiningOp();
  if (!maker || maker->getBlock() != &body)
    return value(number);
  if (Value made = known.lookupOrNull(number))
    return made;
  IRMapping operands;
  for (Value operand : maker->getOperands())
    operands.map(operand, inIteration(operand, body, induction, known));
  Operation *copy = builder.clone(*maker, operands);
  known.map(maker->getResults(), copy->getResults());
  return known.lookup(number);
}

SmallVector<Value> KernelLowering::startLoads(std::vector<Ahead> &ahead, Block &body, Value induction, Value isThere) {
  IRMapping known;
  SmallVector<Value> started;
  for (Ahead &one : ahead) {
    Value first = findLoaded(one.op.getFirst(), inIteration(one.op.getFirst(), body, induction, known));
    Value count = team.narrow(inIteration(one.op.getRows(), body, induction, known));
    if (isThere)
      count = team.select(isThere, count, team.constant(0));
    forgetThread();
    findPlace(one);
    llvm::append_range(started, one.load.start(team, first, count));
  }
  return started;
}

LogicalResult KernelLowering::lowerBody(Block &body, std::vector<Ahead> &ahead, ValueRange held,
                                        llvm::function_ref<void()> afterLoads) {
  size_t finished = 0;
  SmallVector<Operation *> outputs = findOutputOps(body);
  for (Operation &inner : body.without_terminator()) {
    if (!outputs.empty() && &inner == outputs.front() && failed(lowerOutputs(outputs)))
      return failure();
    if (llvm::is_contained(outputs, &inner))
      continue;
    Ahead *one = nullptr;
    for (Ahead &candidate : ahead)
      if (candidate.op.getOperation() == &inner)
        one = &candidate;
    if (!one) {
      if (failed(lower(&inner)))
        return failure();
      continue;
    }
    finishLoad(*one, held.slice(one->first, one->count));
    if (++finished == ahead.size())
      afterLoads();
  }
  orderAll(); // what comes next may be the first op of the loop again
  return success();
}

/// The loop over chunks. What the next chunk begins with is on its way while this one is computed.
LogicalResult KernelLowering::lowerChunks(scf::ForOp op) {
  if (heldStates && heldStates->rows.tokens)
    return lowerTokens(op);
  std::vector<Ahead> ahead;
  if (!kernel.getInTurn())
    ahead = findLoadsAhead(*op.getBody(), /*areFree=*/false);
  if (ahead.empty())
    return lowerLoop(op);
  Value begin = findBegin(op, value(op.getLowerBound())), end = value(op.getUpperBound()), step = value(op.getStep());
  auto startAt = [&](Value induction) {
    Value isThere = arith::CmpIOp::create(builder, team.loc, arith::CmpIPredicate::slt, induction, end);
    return startLoads(ahead, *op.getBody(), induction, isThere);
  };
  SmallVector<Value> held = startAt(begin), next;
  auto loop = scf::ForOp::create(builder, op.getLoc(), begin, end, step, held);
  SmallVector<Access> before = pending;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  values.map(op.getInductionVar(), loop.getInductionVar());
  auto startNext = [&] { next = startAt(team.addWide(loop.getInductionVar(), step)); };
  if (failed(lowerBody(*op.getBody(), ahead, loop.getRegionIterArgs(), startNext)))
    return failure();
  keepAtMultiples(op);
  scf::YieldOp::create(builder, op.getLoc(), next);
  pending = before;
  return success();
}
