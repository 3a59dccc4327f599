// A state in the registers of a warpgroup, from chunk to chunk. Its value channels are rows, of which a warp has 16;
// the tokens of a chunk are columns. What a thread has of the sums of a product is what it needs of the left factor of
// the next one, rounded, so that nothing passes between threads: values stay in registers from step to step. Two warps
// bring chunks into stages of shared memory, ahead of their use, and two others take away what is left for later
// kernels. Interactions of its own a second warpgroup makes, ahead of the state.
//
// Roles meet at barriers with phases for stages, and at barriers of the CTA for stored tiles. Every thread arrives: one
// of a warp for all would be enough, but compute-sanitizer does not follow that, and it is no faster.
//
// Rows beyond the last token are zeros, which add nothing: there is no other code for a short chunk.
#include "Conversion/TileToNVVM/Chain.h"
#include "Conversion/TileToNVVM/ChainLoads.h"
#include "Conversion/TileToNVVM/ChainPreparation.h"
#include "Conversion/TileToNVVM/ChainSteps.h"
#include "Conversion/TileToNVVM/ChainStores.h"
#include "Conversion/TileToNVVM/PassedState.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;

static constexpr int64_t announcedOffset = 192; // of what is announced of multiples, behind all barriers

namespace {

class ChainCode {
public:
  ChainCode(TeamCode &team, const StateChain &chain, const ChainKernel &kernel)
      : t(team), code(team), chain(chain), kernel(kernel), arrays(kernel.arrays), values(kernel.values),
        shared(kernel.shared) {}
  void emit();

private:
  // Barriers: of stages whose copies have come, that are full, and empty again.
  Value barrier(int64_t first, Value index) { return t.add(barriers, t.add(t.multiply(index, 8), 8 * first)); }
  Value full(Value stage) { return barrier(0, stage); }
  Value empty(Value stage) { return barrier(chain.stages, stage); }
  Value come(Value stage) { return barrier(2 * chain.stages, stage); }
  /// Of the state to begin with, for which shared memory is in use.
  Value begun() { return t.add(barriers, 8 * 3 * chain.stages); }
  /// Where two numbers of 32 bits are announced with the chunk of a token: the row of a pool to which its state goes,
  /// negative for none; and where the stretch behind the chunk ends, from zero down where the copy unit takes the
  /// state. Those who read this may be as many chunks behind as there are stages, and one more.
  Value announced(Value token) {
    scf::ForOp loop = chain.loop;
    Value number = t.narrow(arith::DivUIOp::create(t.builder, t.loc, token, values.lookup(loop.getStep())));
    if (chunksBefore)
      number = t.add(number, chunksBefore);
    Value place = t.add(barriers, t.add(t.multiply(t.remainder(number, 2 * chain.stages), 8), announcedOffset));
    return code.pointerTo(place);
  }
  struct Announced {
    Value row, end;
  };
  Announced readAnnounced(Value token) {
    Value both = t.load(announced(token), VectorType::get(2, t.builder.getI32Type()));
    return {LLVM::ExtractElementOp::create(t.builder, t.loc, both, t.constant(0)),
            LLVM::ExtractElementOp::create(t.builder, t.loc, both, t.constant(1))};
  }
  /// What is made of loads has come too.
  Value ready(Value stage) { return chain.interactions.empty() ? full(stage) : barrier(3 * chain.stages + 1, stage); }
  // Of tiles that are stored (the state, and then values), made and free again: the CTA's own barriers by their
  // numbers, behind that of the warpgroup.
  static int64_t made(int64_t tile) { return 2 + 2 * tile; }
  static int64_t free(int64_t tile) { return 3 + 2 * tile; }
  int64_t meetingThreads() const { return StateChain::stateThreads + chain.storeThreads; }
  bool takesSummaries() const { return kernel.summaries && !kernel.summaries->isMade; }
  /// Those that keep states of all chunks have no pools.
  bool keepsMultiples() const { return kernel.multiples && !makesSummaries() && !chain.kept; }
  bool passesMultiples() const { return keepsMultiples() && isStatePassed(t.gpu, chain); }
  bool makesSummaries() const { return kernel.summaries && kernel.summaries->isMade; }
  Value isBefore(Value token, Value end) {
    return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::slt, token, end);
  }
  Value parity(Value number) { return arith::AndIOp::create(t.builder, t.loc, number, t.constant(1)); }

  /// A chunk as a role sees it: its number from the first that the CTA goes over, and what the numbers of the loop's
  /// body are in it.
  struct Chunk {
    Value number, stage, round;
    IRMapping values;
  };
  Chunk chunkOf(Value first);
  using Role = void (ChainCode::*)();
  void run(Role role);
  /// Waits until what was stored last is on its way.
  void awaitStores();
  scf::ForOp forChunks(ValueRange carried = {});

  void load();
  Value countChunks();
  bool isAwaited(const StateChain::Load &load) const {
    StateChain::Load own = load;
    return kernel.awaited.contains(own.op.getArray());
  }
  void loadChunk(const Chunk &chunk, bool isAwaited, Value areAligned);
  Value anyOrAllOfEarlier(const Chunk &chunk, bool ofAll, Value (ChainLoads::*find)(const StateChain::Load &));
  void arriveAfterLoads(const Chunk &chunk, Value areAligned);
  void announce();
  SmallVector<Value> beginMultiples();
  SmallVector<Value> announceMultiple(ValueRange held, Value first);
  void interact();

  void keep();
  SmallVector<Value> loadState();
  SmallVector<Value> beginState();
  void storeState(ValueRange state, const CallerArray &array);
  SmallVector<Value> keepChunks(Value begin, Value end, ValueRange state);
  Value keepStretches(SmallVector<Value> &state);
  Value storeAtMultiple(ValueRange state, Value end);
  void leaveState(ValueRange state, const Chunk &chunk);
  /// The channel of one of a thread's numbers of the state.
  Value channelOf(int64_t index) { return t.add(rowOfWarp(t, t.warp, t.lane), warpSums.offsetOf(index).row); }
  /// Whether the array has a column for one of the thread's numbers; null where it has one for each thread's.
  Value hasColumn(const CallerArray &array, int64_t index) {
    if ((warpSums.columnEightOf(index) + 1) * SumsLayout::unitColumns <= array.columns())
      return {};
    return t.below(t.add(pairOfLane(t, t.lane), warpSums.offsetOf(index).column), t.constant(array.columns()));
  }
  void storeInState(const CallerArray &array, int64_t index, Value numbers, Value place);
  void forPlacesInState(const CallerArray &array, llvm::function_ref<void(int64_t index, Value place)> visit);

  void store();
  void idle() {}
  Value ownChannels(const CallerArray &array) { return countOwnChannels(t, array, kernel.part); }
  Value narrow(const Chunk &chunk, Value number) { return t.narrow(chunk.values.lookup(number)); }
  Value numbersOf(const Chunk &chunk) {
    return t.add(base, t.add(t.multiply(chunk.stage, chain.numberBytes), chain.numbersOffset));
  }
  Value stageOf(const Chunk &chunk) { return t.add(base, t.multiply(chunk.stage, chain.stageBytes)); }

  TeamCode &t;
  WarpgroupCode code;
  const StateChain &chain;
  const ChainKernel &kernel;
  const llvm::DenseMap<Value, CallerArray> &arrays;
  const IRMapping &values;
  Value shared, base, barriers;
  Value chunksBefore; // of units that the CTA has had; null where it has one
};

} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

ChainCode::Chunk ChainCode::chunkOf(Value first) {
  Chunk chunk;
  scf::ForOp loop = chain.loop;
  chunk.values = values;
  chunk.values.map(loop.getInductionVar(), first);
  for (Operation &op : loop.getBody()->without_terminator())
    if (isa<arith::ArithDialect>(op.getDialect()))
      t.builder.clone(op, chunk.values);
  // Stages and rounds count from where the CTA begins.
  Value size = values.lookup(loop.getStep());
  Value gone = arith::SubIOp::create(t.builder, t.loc, first, values.lookup(loop.getLowerBound()));
  chunk.number = t.narrow(arith::DivUIOp::create(t.builder, t.loc, gone, size));
  if (chunksBefore)
    chunk.number = t.add(chunk.number, chunksBefore);
  chunk.stage = t.remainder(chunk.number, chain.stages);
  chunk.round = t.divide(chunk.number, chain.stages);
  return chunk;
}

/// Each role has a loop of its own over the chunks.
scf::ForOp ChainCode::forChunks(ValueRange carried) {
  scf::ForOp loop = chain.loop;
  return scf::ForOp::create(t.builder, t.loc, values.lookup(loop.getLowerBound()), values.lookup(loop.getUpperBound()),
                            values.lookup(loop.getStep()), carried);
}

void ChainCode::emit() {
  base = code.addressOf(shared);
  barriers = t.add(base, chain.barrierOffset);
  t.when(t.below(t.thread, t.constant(1)), [&] {
    for (int64_t stage = 0; stage < chain.stages; ++stage) {
      code.makeBarrier(come(t.constant(stage)), StateChain::loadThreads);
      code.makeBarrier(full(t.constant(stage)), StateChain::announceThreads);
      code.makeBarrier(empty(t.constant(stage)), StateChain::stateThreads);
      if (!chain.interactions.empty())
        code.makeBarrier(ready(t.constant(stage)), chain.interactionThreads());
    }
    if (takesSummaries())
      code.makeBarrier(begun(), StateChain::stateThreads);
  });
  t.barrier();
  // A role's threads count from 0.
  auto asTeam = [&](int64_t first, int64_t threads, Role role) {
    TeamCode whole = t;
    t.thread = t.add(t.thread, -first);
    t.warp = t.add(t.warp, -first / warpThreads);
    t.threads = threads;
    run(role);
    t.thread = whole.thread;
    t.warp = whole.warp;
    t.threads = whole.threads;
  };
  struct Part {
    int64_t threads;
    Role role;
  };
  SmallVector<Part> roles{
      {StateChain::stateThreads, &ChainCode::keep}, {chain.interactionThreads(), &ChainCode::interact},
      {StateChain::loadThreads, &ChainCode::load},  {StateChain::announceThreads, &ChainCode::announce},
      {chain.storeThreads, &ChainCode::store},      {chain.idleThreads(), &ChainCode::idle}};
  llvm::erase_if(roles, [](const Part &part) { return part.threads == 0; });
  std::function<void(size_t, int64_t)> choose = [&](size_t number, int64_t first) {
    Part part = roles[number];
    if (chain.dealsRegisters() && part.role == &ChainCode::load) // what is left are whole warpgroups
      code.giveRegisters(chain.otherRegisters());
    auto runIt = [&] { asTeam(first, part.threads, part.role); };
    if (number + 1 == roles.size())
      return runIt();
    t.either(t.below(t.thread, t.constant(first + part.threads)), runIt,
             [&] { choose(number + 1, first + part.threads); });
  };
  choose(0, 0);
}

/// Of one unit, or of one after another: stages are full and empty in turn through all of them, so that loads of the
/// next unit are on their way while the state of this one is computed.
void ChainCode::run(Role role) {
  if (role == &ChainCode::keep && chain.dealsRegisters())
    code.takeRegisters(chain.stateRegisters());
  if (!kernel.enterUnit)
    return (this->*role)();
  Value none = t.constant(0);
  Value units = kernel.countUnits();
  SmallVector<Value> initial = kernel.findUnit(none);
  initial.push_back(none);
  Value chunks = t.loop(none, units, 1, initial, [&](Value round, ValueRange before) {
                    SmallVector<Value> next = kernel.findUnit(t.add(round, 1));
                    kernel.enterUnit(round, before.drop_back());
                    chunksBefore = before.back();
                    (this->*role)();
                    next.push_back(t.add(before.back(), countChunks()));
                    return next;
                  }).back();
  if (role == &ChainCode::keep)
    t.when(t.below(none, chunks), [&] { awaitStores(); });
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// What the chunk has of the arrays that are awaited, or of the others.
void ChainCode::loadChunk(const Chunk &chunk, bool isAwaited, Value areAligned) {
  ChainLoads loads(t, kernel, {chunk.values, stageOf(chunk), numbersOf(chunk)});
  bool hasRows = false;
  for (const StateChain::Load &load : chain.loads) {
    if (!load.isCopied() || this->isAwaited(load) != isAwaited)
      continue;
    hasRows |= load.isRows();
    if (!load.isRows())
      loads.copyNumbers(load);
  }
  if (!hasRows)
    return;
  SmallVector<StateChain::Load> rows = llvm::filter_to_vector(chain.loads, [&](const StateChain::Load &load) {
    return load.isRows() && load.isCopied() && this->isAwaited(load) == isAwaited;
  });
  auto copyAll = [&](void (ChainLoads::*copy)(const StateChain::Load &)) {
    for (const StateChain::Load &load : rows)
      (loads.*copy)(load);
  };
  auto copyByThreads = [&] {
    t.either(areAligned, [&] { copyAll(&ChainLoads::copyRows); }, [&] { copyAll(&ChainLoads::copyElements); });
  };
  auto copyByUnit = [&] {
    t.when(t.below(t.thread, t.constant(1)), [&] { loads.copyBoxes(rows, come(chunk.stage)); });
  };
  if (kernel.areMapped && !isAwaited) {
    // A box has as many rows as a chunk, also of earlier tokens.
    Value areAllThere = anyOrAllOfEarlier(chunk, /*ofAll=*/true, &ChainLoads::hasAllRows);
    Value areMapped = areAllThere ? arith::AndIOp::create(t.builder, t.loc, kernel.areMapped, areAllThere).getResult()
                                  : kernel.areMapped;
    t.either(areMapped, copyByUnit, copyByThreads);
  } else {
    copyByThreads();
  }
  for (const StateChain::Load &load : rows)
    if (load.earlier)
      loads.copyGivenRows(load);
}

/// What holds for all loads of earlier tokens, or for any; null where there are none.
Value ChainCode::anyOrAllOfEarlier(const Chunk &chunk, bool ofAll,
                                   Value (ChainLoads::*find)(const StateChain::Load &)) {
  ChainLoads loads(t, kernel, {chunk.values, stageOf(chunk), numbersOf(chunk)});
  Value found;
  for (const StateChain::Load &load : chain.loads) {
    if (!load.earlier)
      continue;
    Value own = (loads.*find)(load);
    found = !found  ? own
            : ofAll ? arith::AndIOp::create(t.builder, t.loc, found, own).getResult()
                    : arith::OrIOp::create(t.builder, t.loc, found, own).getResult();
  }
  return found;
}

void ChainCode::arriveAfterLoads(const Chunk &chunk, Value areAligned) {
  auto arriveBehind = [&] {
    code.waitForCopies();
    code.arrive(come(chunk.stage));
  };
  if (!areCopied(chain, kernel))
    return arriveBehind();
  if (Value lackRows = anyOrAllOfEarlier(chunk, /*ofAll=*/false, &ChainLoads::lacksRows)) // which threads have stored
    areAligned = t.select(lackRows, arith::ConstantIntOp::create(t.builder, t.loc, 0, 1), areAligned);
  t.either(areAligned, [&] { code.arriveWithCopies(come(chunk.stage)); }, arriveBehind);
}

/// The loop goes from the first token to the last.
Value ChainCode::countChunks() {
  scf::ForOp loop = chain.loop;
  Value step = values.lookup(loop.getStep()), one = arith::ConstantIntOp::create(t.builder, t.loc, 1, 64);
  Value tokens =
      arith::SubIOp::create(t.builder, t.loc, values.lookup(loop.getUpperBound()), values.lookup(loop.getLowerBound()));
  Value rounded = t.addWide(tokens, arith::SubIOp::create(t.builder, t.loc, step, one));
  return t.narrow(arith::DivUIOp::create(t.builder, t.loc, rounded, step));
}

void ChainCode::load() {
  if (takesSummaries())
    code.wait(begun(), t.constant(0));
  Value count; // of chunks
  SmallVector<Value> known;
  if (kernel.flags) {
    count = countChunks();
    known.push_back(kernel.flags.countAtStart(t));
  }
  scf::ForOp chunks = forChunks(known);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(chunks.getBody());
  if (!kernel.flags)
    t.builder.setInsertionPoint(chunks.getBody()->getTerminator());
  Chunk chunk = chunkOf(chunks.getInductionVar());
  t.when(t.below(t.constant(0), chunk.round), [&] { code.wait(empty(chunk.stage), parity(t.add(chunk.round, 1))); });
  Value aligned = areRowsAligned(t, chain, kernel);
  loadChunk(chunk, /*isAwaited=*/false, aligned);
  if (kernel.flags) {
    Value now = kernel.flags.await(t, chunks.getRegionIterArg(0), chunk.number, count);
    loadChunk(chunk, /*isAwaited=*/true, aligned);
    scf::YieldOp::create(t.builder, t.loc, now);
    t.builder.setInsertionPoint(chunks.getBody()->getTerminator());
  }
  arriveAfterLoads(chunk, aligned);
}

/// The next multiple, its number, and its row of a pool, which is asked for long before it is reached.
SmallVector<Value> ChainCode::beginMultiples() {
  Value none = arith::ConstantIntOp::create(t.builder, t.loc, 0, 64);
  Value areKept =
      arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, kernel.multiples->getInterval(), none);
  Value row = t.choose(areKept, [&] { return kernel.multiples->findRow(t.constant(0)); }, t.constant(-1));
  return {kernel.multiples->findNext(values.lookup(scf::ForOp(chain.loop).getLowerBound())), t.constant(0), row};
}

SmallVector<Value> ChainCode::announceMultiple(ValueRange held, Value first) {
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(t.builder, t.loc, predicate, a, b);
  };
  scf::ForOp loop = chain.loop;
  Value next = held[0], number = held[1], row = held[2], all = values.lookup(loop.getUpperBound());
  Value end = t.addWide(first, values.lookup(loop.getStep()));
  Value isIts = arith::AndIOp::create(t.builder, t.loc, compare(arith::CmpIPredicate::eq, end, next),
                                      compare(arith::CmpIPredicate::sle, end, all));
  Value behind = t.select(isIts, t.addWide(next, kernel.multiples->getInterval()), next);
  Value until = t.narrow(arith::MinSIOp::create(t.builder, t.loc, behind, all));
  if (passesMultiples()) {
    Value hasRow =
        arith::AndIOp::create(t.builder, t.loc, isIts, compare(arith::CmpIPredicate::sge, row, t.constant(0)));
    auto mark = [&] {
      Value isPassed = takesPassedState(t, kernel.multiples->findArray(row));
      return t.select(isPassed, t.subtract(t.constant(0), until), until);
    };
    until = t.choose(hasRow, mark, until);
  }
  t.when(t.below(t.thread, t.constant(1)), [&] {
    Value both = LLVM::UndefOp::create(t.builder, t.loc, VectorType::get(2, t.builder.getI32Type()));
    both = LLVM::InsertElementOp::create(t.builder, t.loc, both, t.select(isIts, row, t.constant(-1)), t.constant(0));
    both = LLVM::InsertElementOp::create(t.builder, t.loc, both, until, t.constant(1));
    t.store(both, announced(first));
  });
  Value numberBehind = t.add(number, 1);
  return {behind, t.select(isIts, numberBehind, number),
          t.choose(isIts, [&] { return kernel.multiples->findRow(numberBehind); }, row)};
}

void ChainCode::announce() {
  // This warp has time for numbers, and for what a segment makes of a state, where that is a factor for each column.
  ChainNumbers numbers(t, chain, arrays);
  ColumnFactors factors(t, chain);
  bool hasFactors = makesSummaries() && !kernel.summaries->hasMaps && ColumnFactors::isScaled(chain);
  SmallVector<Value> carried = numbers.ask(chunkOf(values.lookup(scf::ForOp(chain.loop).getLowerBound())).values);
  const size_t asked = carried.size();
  if (hasFactors)
    llvm::append_range(carried, factors.begin());
  if (keepsMultiples())
    llvm::append_range(carried, beginMultiples());
  scf::ForOp chunks = forChunks(carried);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(chunks.getBody());
  ValueRange held = chunks.getRegionIterArgs();
  if (carried.empty())
    t.builder.setInsertionPoint(chunks.getBody()->getTerminator());
  Chunk chunk = chunkOf(chunks.getInductionVar());
  SmallVector<Value> next = numbers.ask(chunkOf(t.addWide(chunks.getInductionVar(), chunks.getStep())).values);
  code.wait(come(chunk.stage), parity(chunk.round));
  convertHalves(t, chain, stageOf(chunk));
  numbers.make(held.take_front(asked), chunk.values, numbersOf(chunk));
  if (hasFactors)
    llvm::append_range(next, factors.take(held.drop_front(asked), numbersOf(chunk)));
  if (keepsMultiples())
    llvm::append_range(next, announceMultiple(held.drop_front(asked), chunks.getInductionVar()));
  if (!carried.empty())
    scf::YieldOp::create(t.builder, t.loc, next);
  t.builder.setInsertionPoint(chunks.getBody()->getTerminator());
  code.fence();
  code.arrive(full(chunk.stage));
  if (!hasFactors)
    return;
  t.builder.setInsertionPointAfter(chunks);
  factors.store(chunks.getResults().drop_front(asked), *kernel.summaries);
}

void ChainCode::interact() {
  scf::ForOp chunks = forChunks();
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPoint(chunks.getBody()->getTerminator());
  Chunk chunk = chunkOf(chunks.getInductionVar());
  code.wait(full(chunk.stage), parity(chunk.round));
  emitInteractions(t, chain, stageOf(chunk), numbersOf(chunk));
  code.fence();
  code.arrive(ready(chunk.stage));
}

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

/// Calls with where in the caller's array each of the thread's numbers is, in their order. Each place is made from the
/// one before, since places that do not depend on each other may all be made first, and take registers of the state. A
/// channel that the part lacks has the place of the last one.
void ChainCode::forPlacesInState(const CallerArray &array, llvm::function_ref<void(int64_t index, Value place)> visit) {
  Type element = array.type.getElementType();
  Value row = channelOf(0), lowerRow = t.add(row, matrixRows), column = pairOfLane(t, t.lane);
  if (array.channels) {
    Value last = t.add(ownChannels(array), -1);
    row = t.smaller(row, last);
    lowerRow = t.smaller(lowerRow, last);
  }
  Value offset = t.addWide(t.multiplyWide(t.widen(row), array.innerStrides[0]),
                           t.multiplyWide(t.widen(column), array.innerStrides[1]));
  Value upper = t.offset(array.pointer, offset, element);
  Value toLower = t.multiplyWide(array.innerStrides[0], t.widen(t.subtract(lowerRow, row)));
  Value toNext = t.multiplyWide(array.innerStrides[1], t.widen(t.constant(SumsLayout::unitColumns)));
  for (int64_t first = 0; first < chain.keys / 2; first += SumsLayout::numbersOfUnit) {
    Value lower = t.offset(upper, toLower, element);
    visit(first, upper);
    visit(first + 1, t.offset(upper, array.innerStrides[1], element));
    visit(first + 2, lower);
    visit(first + 3, t.offset(lower, array.innerStrides[1], element));
    upper = t.offset(upper, toNext, element);
  }
}

/// Stores one or two of the thread's numbers of the state, the first of which has this index, if the array has them.
void ChainCode::storeInState(const CallerArray &array, int64_t index, Value numbers, Value place) {
  Value isThere = array.channels ? t.below(channelOf(index), ownChannels(array)) : Value();
  if (Value isColumn = hasColumn(array, index))
    isThere = isThere ? arith::AndIOp::create(t.builder, t.loc, isThere, isColumn).getResult() : isColumn;
  auto store = [&] { t.store(numbers, place); };
  isThere ? t.when(isThere, store) : store();
}

SmallVector<Value> ChainCode::loadState() {
  LoadOp initial = chain.initial;
  CallerArray array = arrays.lookup(initial.getArray());
  int64_t count = chain.keys / 2;
  Type f32 = t.builder.getF32Type();
  auto choice = scf::IfOp::create(t.builder, t.loc, SmallVector<Type>(count, f32), isPresent(t, array),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  SmallVector<Value> numbers;
  forPlacesInState(array, [&](int64_t index, Value place) {
    auto load = [&] { return t.convert(t.load(place, array.type.getElementType()), f32); };
    Value isColumn = hasColumn(array, index);
    numbers.push_back(isColumn ? t.choose(isColumn, load, t.number(0)) : load());
  });
  scf::YieldOp::create(t.builder, t.loc, numbers);
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, SmallVector<Value>(count, t.number(0)));
  return llvm::to_vector_of<Value>(choice.getResults());
}

/// Two numbers at a time, if columns lie side by side. Places are found anew each time: registers are for the state.
void ChainCode::storeState(ValueRange state, const CallerArray &array) {
  Type element = array.type.getElementType();
  Value lane = std::exchange(t.lane, code.forget(t.lane)), warp = std::exchange(t.warp, code.forget(t.warp));
  auto inPairs = [&] {
    CallerArray sideBySide = array;
    sideBySide.innerStrides[1] = arith::ConstantIntOp::create(t.builder, t.loc, 1, 64);
    forPlacesInState(sideBySide, [&](int64_t index, Value place) {
      if (index % 2)
        return;
      Value both = LLVM::UndefOp::create(t.builder, t.loc, VectorType::get(2, element));
      for (int64_t i : {0, 1})
        both = LLVM::InsertElementOp::create(t.builder, t.loc, both, t.convert(state[size_t(index + i)], element),
                                             t.constant(i));
      storeInState(array, index, both, place);
    });
  };
  auto oneByOne = [&] {
    forPlacesInState(array, [&](int64_t index, Value place) {
      storeInState(array, index, t.convert(state[size_t(index)], element), place);
    });
  };
  if (array.columns() % 2) // the last pair would have a number that the array lacks
    oneByOne();
  else
    t.either(isAligned(t, array, 2 * array.type.getElementBytes()), inPairs, oneByOne);
  t.lane = lane;
  t.warp = warp;
}

/// Behind a stretch, if its end is a multiple: gives where the next stretch ends, or the same end where there is none.
/// A stage that may have to take the state is not empty yet.
Value ChainCode::storeAtMultiple(ValueRange state, Value end) {
  Value one = arith::ConstantIntOp::create(t.builder, t.loc, 1, 64);
  Value last = arith::SubIOp::create(t.builder, t.loc, end, one);
  auto [row, next] = readAnnounced(last);
  auto storeByThreads = [&] {
    Value isThere = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::sge, row, t.constant(0));
    t.when(isThere, [&] {
      CallerArray array = kernel.multiples->findArray(row);
      t.when(isPresent(t, array), [&] { storeState(state, array); });
    });
  };
  if (passesMultiples()) {
    scf::ForOp loop = chain.loop;
    Value size = values.lookup(loop.getStep());
    Value gone = arith::SubIOp::create(t.builder, t.loc, last, values.lookup(loop.getLowerBound()));
    Value number = t.narrow(arith::DivUIOp::create(t.builder, t.loc, gone, size));
    if (chunksBefore)
      number = t.add(number, chunksBefore);
    Value stage = t.remainder(number, chain.stages);
    auto passIt = [&] {
      passState(t, chain, state, t.add(base, t.multiply(stage, chain.stageBytes)));
      code.fence();
      code.arriveAndGoOn(made(0), meetingThreads());
    };
    auto storeAndRelease = [&] {
      storeByThreads();
      code.arrive(empty(stage));
    };
    Value isPassed = t.below(next, t.constant(0));
    t.either(isPassed, passIt, storeAndRelease);
    next = t.select(isPassed, t.subtract(t.constant(0), next), next);
  } else {
    storeByThreads();
  }
  return t.widen(next);
}

/// To where the chunk has its state at the beginning.
void ChainCode::leaveState(ValueRange state, const Chunk &chunk) {
  StoreOp kept = chain.kept;
  CallerArray array = arrays.lookup(kept.getArray());
  Value first = t.multiplyWide(chunk.values.lookup(kept.getFirst()), array.tokenStride);
  Value isThere = isPresent(t, array);
  if (chain.segment) // of a chunk that is another CTA's, nothing
    isThere = arith::AndIOp::create(t.builder, t.loc, isThere, t.below(t.constant(0), narrow(chunk, kept.getRows())));
  array.pointer = t.offset(array.pointer, first, array.type.getElementType());
  t.when(isThere, [&] { storeState(state, array); });
}

SmallVector<Value> ChainCode::beginState() {
  auto load = [&] { return loadState(); };
  if (makesSummaries())
    return emitOwnStart(t, chain, *kernel.summaries, load);
  if (!takesSummaries())
    return load();
  SmallVector<Value> state = emitStart(t, chain, *kernel.summaries, base, load);
  code.arrive(begun());
  return state;
}

/// Those who store do not know whether another unit has chunks, and say of each tile that it is free.
void ChainCode::awaitStores() {
  if (chain.keepsRounded())
    code.meet(free(0), meetingThreads());
  for (size_t number = 0; number < chain.stored.size(); ++number)
    code.meet(free(int64_t(number) + 1), meetingThreads());
}

/// The chunks that begin from one token on and before another.
SmallVector<Value> ChainCode::keepChunks(Value begin, Value end, ValueRange carried) {
  Value step = values.lookup(scf::ForOp(chain.loop).getStep());
  auto chunks = scf::ForOp::create(t.builder, t.loc, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(chunks.getBody());
  Chunk chunk = chunkOf(chunks.getInductionVar());
  if (chain.kept && !chain.keepsRounded())
    leaveState(chunks.getRegionIterArgs(), chunk);
  auto waitForLoads = [&] { code.wait(ready(chunk.stage), parity(chunk.round)); };
  auto narrowed = [&](Value number) { return narrow(chunk, number); };
  auto leave = [&](int64_t tile, llvm::function_ref<void()> fill) {
    t.when(t.below(t.constant(0), chunk.number), [&] { code.meet(free(tile), meetingThreads()); });
    fill();
    code.arriveAndGoOn(made(tile), meetingThreads());
  };
  SmallVector<Value> state = emitChainSteps(
      t, chain, {base, stageOf(chunk), numbersOf(chunk), waitForLoads, narrowed, leave}, chunks.getRegionIterArgs());
  auto release = [&] { code.arrive(empty(chunk.stage)); };
  if (passesMultiples()) // the last one's stage may have to take the state
    t.when(isBefore(t.addWide(chunks.getInductionVar(), step), end), release);
  else
    release();
  scf::YieldOp::create(t.builder, t.loc, state);
  return llvm::to_vector_of<Value>(chunks.getResults());
}

/// Up to the next multiple, and so on. What is done there stands behind the loop over chunks: within it, it would make
/// the chunks of other calls longer. Where a stretch ends is announced, for all registers are the chunks'. Changes the
/// state to the last one, and gives where the chunks end.
Value ChainCode::keepStretches(SmallVector<Value> &state) {
  scf::ForOp loop = chain.loop;
  Value begin = values.lookup(loop.getLowerBound()), all = values.lookup(loop.getUpperBound());
  Value first = arith::MinSIOp::create(t.builder, t.loc, kernel.multiples->findNext(begin), all);
  SmallVector<Value> carried{begin, first};
  llvm::append_range(carried, state);
  auto types = llvm::to_vector_of<Type>(ValueRange(carried).getTypes());
  auto stretches = scf::WhileOp::create(t.builder, t.loc, types, carried);
  SmallVector<Location> places(types.size(), t.loc);
  OpBuilder::InsertionGuard guard(t.builder);
  Block *before = t.builder.createBlock(&stretches.getBefore(), {}, types, places);
  Value isLeft = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::slt, before->getArgument(0),
                                       before->getArgument(1));
  scf::ConditionOp::create(t.builder, t.loc, isLeft, before->getArguments());
  Block *body = t.builder.createBlock(&stretches.getAfter(), {}, types, places);
  Value end = body->getArgument(1);
  SmallVector<Value> now = keepChunks(body->getArgument(0), end, body->getArguments().drop_front(2));
  Value next = storeAtMultiple(now, end);
  now.insert(now.begin(), {end, next});
  scf::YieldOp::create(t.builder, t.loc, now);
  state = llvm::to_vector_of<Value>(stretches.getResults().drop_front(2));
  return stretches.getResult(0);
}

void ChainCode::keep() {
  scf::ForOp loop = chain.loop;
  SmallVector<Value> state = beginState();
  Value end = values.lookup(loop.getUpperBound());
  if (keepsMultiples())
    end = keepStretches(state);
  else
    state = keepChunks(values.lookup(loop.getLowerBound()), end, state);
  if (makesSummaries())
    return emitSummary(t, chain, *kernel.summaries, state);
  CallerArray array = kernel.findFinal(end);
  t.when(isPresent(t, array), [&] { storeState(state, array); });
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void ChainCode::store() {
  scf::ForOp chunks = forChunks();
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPoint(chunks.getBody()->getTerminator());
  Chunk chunk = chunkOf(chunks.getInductionVar());
  ChainStores stores(t, chain, shared, kernel.part);
  // Behind the CTA's last chunk nobody waits for free tiles.
  Value isAnother = isBefore(t.addWide(chunks.getInductionVar(), chunks.getStep()), chunks.getUpperBound());
  Announced multiple;
  Value isPassed; // the state behind the chunk
  auto take = [&](int64_t number, StoreOp op, llvm::function_ref<void(const CallerArray &, Value, Value)> store) {
    code.meet(made(number), meetingThreads());
    store(arrays.lookup(op.getArray()), chunk.values.lookup(op.getFirst()), narrow(chunk, op.getRows()));
    // As long as the chunk's last tile is not free, those that have the state come to no other multiple, and no later
    // chunk is announced in this one's place.
    if (passesMultiples() && number == int64_t(chain.stored.size())) {
      multiple = readAnnounced(chunks.getInductionVar());
      isPassed = t.below(multiple.end, t.constant(0));
      t.when(isPassed, [&] { code.meet(made(0), meetingThreads()); });
    }
    auto release = [&] { code.arriveAndGoOn(free(number), meetingThreads()); };
    kernel.enterUnit ? release() : t.when(isAnother, release);
  };
  if (chain.keepsRounded())
    take(0, chain.kept,
         [&](const CallerArray &array, Value first, Value rows) { stores.storeState(array, first, rows); });
  for (auto [number, one] : llvm::enumerate(chain.stored))
    take(int64_t(number) + 1, one.op, [&, &one = one](const CallerArray &array, Value first, Value rows) {
      stores.storeValue(one, array, first, rows);
    });
  if (isPassed)
    t.when(isPassed, [&] {
      CallerArray array = kernel.multiples->findArray(multiple.row);
      takePassedState(t, chain, array, kernel.part, stageOf(chunk));
      code.arrive(empty(chunk.stage), StateChain::stateThreads / chain.storeThreads);
    });
  if (!kernel.flags)
    return;
  t.builder.setInsertionPointAfter(chunks);
  kernel.flags.awaitEnd(t);
}

void nvvm::emitStateChain(TeamCode &team, const StateChain &chain, const ChainKernel &kernel) {
  ChainCode(team, chain, kernel).emit();
}
