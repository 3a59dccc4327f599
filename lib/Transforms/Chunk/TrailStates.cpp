// Cotangents that a scan carries from the last token to the first, or a delay from one token to the one before, and
// that no other cotangent needs: where each chunk ends with them is found behind the rest, and what they become of is
// finished behind that.
#include "Transforms/Chunk/CarryProgram.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/StatePath.h"
#include "dialects/Chunk/ChunkPhases.h"

namespace recur::chunk {
#define GEN_PASS_DEF_TRAILSTATESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// A state that enters what another one becomes, where the chunk has so many tokens.
struct Reached {
  StateOp state;
  int64_t tokens;
};

class TrailSplitter {
public:
  explicit TrailSplitter(ProgramOp program) : program(program), block(program.getBody().front()) {
    for (TakeOp take : program.getTaken())
      firstNumber += !take.getWhole();
  }
  /// Puts what the trailing states need behind the program, which keeps the rest; gives what is last, or null if no
  /// state trails.
  ProgramOp split();

private:
  void findTrailing();
  bool findReached(StateOp state, Value rows, int64_t tokens);
  Value buildOwn(ValueBuilder &build, Value rows);
  bool isEntered(Value value) { return entered.contains(value.getDefiningOp()); }
  bool findCrossings();
  bool isMadeAgain(Value value);
  bool isMatrixOfTokens(Value value);
  Value findOnlySource(Operation *maker);
  bool isOfTokens(Value value);
  void leaveBehind();
  void buildCarry(OpBuilder &builder);
  ProgramOp buildBehind(OpBuilder &builder);

  std::string crossingName(size_t number) const;
  std::string countName(int64_t tokens) const { return (counts.lookup(tokens) + ".tokens." + Twine(tokens)).str(); }

  ProgramOp program;
  Block &block;
  size_t firstNumber = 0;                   // of what crosses: the program may be behind another itself
  llvm::SetVector<StateOp> trailing, moved; // those whose chunks are found behind; others that only need these
  llvm::DenseSet<Operation *> behind;       // ops that a trailing state enters, or that only such need
  llvm::SetVector<Value> crossing;          // what the ops behind need of the rest
  llvm::SetVector<Operation *> entered;     // by states that could trail
  llvm::DenseMap<StateOp, SmallVector<Reached>> reached; // by delays, of others
  llvm::DenseMap<int64_t, StringRef>
      counts; // of tokens, that chunks say whether they have, by the state they say it for
};

struct TrailStatesPass : recur::chunk::impl::TrailStatesPassBase<TrailStatesPass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      for (ProgramOp last = program; last && last.getBackward();)
        last = TrailSplitter(last).split();
  }
};

} // namespace

/// The scan that makes a state's next value, if it alone does.
static ReverseScanOp findScan(StateOp state) {
  auto scan = state.getNext().getValue().getDefiningOp<ReverseScanOp>();
  bool isAlone = scan && state.getNext().getValue() == scan.getFirst() && scan.getState() == state.getResult() &&
                 StatePath(state).operandsOnPath(scan) == SmallVector<unsigned, 3>{0};
  return isAlone ? scan : ReverseScanOp();
}

/// The way back through a delay that makes a state's next value, if the state itself does not enter it.
static FollowingOp findDelay(StateOp state) {
  auto delay = state.getNext().getValue().getDefiningOp<FollowingOp>();
  bool isCleared = delay && state.getNext().getValue() == delay.getFirst() &&
                   !findDependents(*state->getBlock(), state.getResult()).contains(delay);
  return isCleared ? delay : FollowingOp();
}

/// The op that carries a state so, or null.
static Operation *findCarrier(StateOp state) {
  if (ReverseScanOp scan = findScan(state))
    return scan;
  return findDelay(state);
}

/// A number or some side by side, as for states that lead. Whatever else needs such a state must trail as well.
void TrailSplitter::findTrailing() {
  llvm::SetVector<StateOp> known;
  for (StateOp state : program.getStates())
    if (tensorOf(state).getRank() <= 1 && findCarrier(state))
      known.insert(state);
  auto isNeeded = [&](StateOp state) {
    llvm::SetVector<Operation *> dependents = findDependents(block, state.getResult());
    return llvm::any_of(program.getStates(), [&](StateOp other) {
      return !known.contains(other) && dependents.contains(other.getNext()) && !isSum(other);
    });
  };
  while (known.remove_if(isNeeded))
    ;
  SmallVector<Value> values;
  for (StateOp state : known)
    values.push_back(state);
  entered = findDependents(block, values);
  for (StateOp state : known) {
    bool isLater = llvm::any_of(known, [&](StateOp other) {
      return other != state && findDependents(block, other.getResult()).contains(findCarrier(state));
    });
    FollowingOp delay = findDelay(state);
    if (!isLater || (delay && findReached(state, delay.getRows(), 1)))
      trailing.insert(state);
  }
  auto isLater = [&](StateOp state) {
    return llvm::any_of(reached.lookup(state), [&](const Reached &other) {
      return !trailing.contains(other.state) || !findDelay(other.state);
    });
  };
  while (trailing.remove_if(isLater))
    ;
}

/// Finds what states enter the first of the rows that a delay clears, where these are sums of what other delays give
/// and of what no state enters. A state is in the row of the last token, and each delay on the way moves it by one.
bool TrailSplitter::findReached(StateOp state, Value rows, int64_t tokens) {
  if (!isEntered(rows))
    return true;
  Operation *maker = rows.getDefiningOp();
  if (auto map = dyn_cast<MapOp>(maker); map && map.getFunction() == Function::Add)
    return llvm::all_of(map.getOperands(), [&](Value part) {
      return part.getType() == rows.getType() && findReached(state, part, tokens);
    });
  auto delay = dyn_cast<FollowingOp>(maker);
  if (!delay || rows != delay.getAll())
    return false;
  auto other = delay.getState().getDefiningOp<StateOp>();
  if (other)
    reached[state].push_back({other, tokens});
  return (other || !isEntered(delay.getState())) && findReached(state, delay.getRows(), tokens + 1);
}

/// The rows without the states; null where nothing is left.
Value TrailSplitter::buildOwn(ValueBuilder &build, Value rows) {
  if (!isEntered(rows))
    return constantNumber(rows) == 0.0 ? Value() : rows;
  if (auto map = rows.getDefiningOp<MapOp>())
    return build.add(buildOwn(build, map.getOperands()[0]), buildOwn(build, map.getOperands()[1]));
  auto delay = rows.getDefiningOp<FollowingOp>();
  Value own = buildOwn(build, delay.getRows());
  if (!own)
    return {};
  Value zero = build.stateConstant(0, tensorOf(delay.getState()));
  return FollowingOp::create(build.getBuilder(), delay.getLoc(), zero, own).getAll();
}

/// Whether it is a matrix of the tokens, which is made where it is applied.
bool TrailSplitter::isMatrixOfTokens(Value root) {
  SmallVector<Value> work{root};
  llvm::SmallPtrSet<Operation *, 8> seen; // many paths lead to an op whose readers are read twice
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (isa<InteractionOp, InverseOp>(maker))
      return true;
    if (isa<MapOp, InterleaveOp, DeinterleaveOp>(maker) && tensorOf(value).getRank() == 2 && seen.insert(maker).second)
      llvm::append_range(work, maker->getOperands());
  }
  return false;
}

/// Whether it follows from arrays without a product: loading it would take about as long.
bool TrailSplitter::isMadeAgain(Value root) {
  SmallVector<Value> work{root};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Operation *maker = work.pop_back_val().getDefiningOp();
    if (isa<ConstantOp, InputOp, ParamOp, InitialOp, KeptOp, TakeOp>(maker) || !seen.insert(maker).second)
      continue;
    auto map = dyn_cast<MapOp>(maker);
    bool isCheap = isa<CumulativeDecayOp, ScanOp, PreviousOp, HeldOp, BroadcastOp, ExtractOp, SliceOp, ConcatOp,
                       InterleaveOp, DeinterleaveOp, ReshapeStateOp>(maker) ||
                   (map && isElementwise(map.getFunction()));
    if (!isCheap)
      return false;
    llvm::append_range(work, maker->getOperands());
  }
  return true;
}

/// The operand that the op needs besides what is made again, if that is one of as many numbers and no product is made
/// of it: taken behind, it stands for all rows that the weights of a convolution make of it.
Value TrailSplitter::findOnlySource(Operation *maker) {
  auto map = dyn_cast<MapOp>(maker);
  if (!isa<FollowingOp>(maker) && (!map || !isElementwise(map.getFunction())))
    return {};
  llvm::SetVector<Value> sources;
  for (Value operand : maker->getOperands())
    if (!isMadeAgain(operand))
      sources.insert(operand);
  return sources.size() == 1 && sources.front().getType() == maker->getResult(0).getType() ? sources.front() : Value();
}

/// Whether it has rows for the tokens, or one for the chunk.
bool TrailSplitter::isOfTokens(Value value) {
  ArrayRef<int64_t> shape = tensorOf(value).getShape();
  return !shape.empty() && (shape.front() == 1 || shape.front() % int64_t(program.getChunk()) == 0);
}

/// Finds what is behind; false where that needs a state of the rest.
bool TrailSplitter::findCrossings() {
  bool hasDelays = llvm::any_of(trailing, findDelay);
  SmallVector<Value> states;
  for (StateOp state : trailing)
    states.push_back(state);
  for (Operation *op : findDependents(block, states))
    if (auto next = dyn_cast<NextOp>(op))
      if (auto state = cast<StateOp>(next.getState().getDefiningOp()); !trailing.contains(state)) {
        moved.insert(state);
        states.push_back(state);
      }
  llvm::SetVector<Operation *> dependents = findDependents(block, states);
  SmallVector<Operation *> work;
  for (Operation *op : dependents)
    if (auto next = dyn_cast<NextOp>(op);
        next ? moved.contains(next.getState().getDefiningOp<StateOp>()) : isa<OutputOp>(op))
      work.push_back(op);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!behind.insert(op).second)
      continue;
    for (Value value : findUsedValues(op)) {
      Operation *maker = value.getDefiningOp();
      if (isa<StateOp>(maker)) {
        if (!llvm::is_contained(states, value))
          return false;
      } else if (dependents.contains(maker) || isMadeAgain(value) || isMatrixOfTokens(value) ||
                 (hasDelays && findOnlySource(maker))) {
        work.push_back(maker);
      } else if (isOfTokens(value)) {
        crossing.insert(value);
      } else {
        return false;
      }
    }
  }
  return true;
}

std::string TrailSplitter::crossingName(size_t number) const { return "trail." + std::to_string(firstNumber + number); }

/// What a chunk adds to the states, and scales them with; and what else is needed behind. That is not rounded: a
/// normaliser's share of a gradient and the rest's may nearly cancel.
void TrailSplitter::leaveBehind() {
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  for (StateOp state : trailing) {
    Location loc = state.getLoc();
    ValueBuilder build(inside, loc);
    ReverseScanOp scan = findScan(state);
    Value zero = build.stateConstant(0, tensorOf(state));
    if (FollowingOp delay = findDelay(state)) { // of which nothing is left a chunk later
      Value first = delay.getFirst();
      if (!reached.lookup(state).empty()) {
        Value own = buildOwn(build, delay.getRows());
        first = own ? FollowingOp::create(inside, loc, zero, own).getFirst() : zero;
      }
      GiveOp::create(inside, loc, nameOffset(state), false, false, build.asToken(first));
      for (const Reached &other : reached.lookup(state))
        if (counts.try_emplace(other.tokens, state.getName()).second)
          GiveOp::create(inside, loc, countName(other.tokens), false, false,
                         buildHasTokens(build, int64_t(program.getChunk()), other.tokens));
      continue;
    }
    auto own = ReverseScanOp::create(inside, loc, zero, scan.getAdditions(), scan.getDecay(), scan.getLinear());
    GiveOp::create(inside, loc, nameOffset(state), false, false, build.asToken(own.getFirst()));
    giveFactor(build, state, scan.getDecay(), scan.getLinear());
  }
  for (auto [number, value] : llvm::enumerate(crossing))
    GiveOp::create(inside, value.getLoc(), crossingName(number), false, /*rounded=*/false, value);
}

/// Of one row a chunk the scan is one forward: the chunk's offset and factor are those of the way back already.
void TrailSplitter::buildCarry(OpBuilder &builder) {
  CarryProgram carry(builder, program, trailing.getArrayRef());
  llvm::DenseMap<int64_t, Value> has;
  auto becomes = [&](StateOp state) -> Value {
    if (!findDelay(state))
      return carry.scan(state, findScan(state).getDecay());
    ValueBuilder build(carry.getInside(), state.getLoc());
    Value next = carry.takeOffset(state);
    for (const Reached &other : reached.lookup(state)) {
      Value &hasSoMany = has[other.tokens];
      if (!hasSoMany)
        hasSoMany = carry.take(countName(other.tokens), {});
      Value with = build.add(next, build.asToken(carry.getStates().lookup(other.state)));
      next = build.select(hasSoMany, with, next);
    }
    return build.asState(next);
  };
  for (StateOp state : trailing)
    carry.leave(state, becomes(state));
}

/// The outputs, and the sums, that trailing states enter.
ProgramOp TrailSplitter::buildBehind(OpBuilder &builder) {
  auto result = ProgramOp::create(builder, program.getLoc(), (program.getSymName() + "_behind").str(),
                                  program.getDims(), program.getChunk());
  result.setFactorsAttr(program.getFactorsAttr());
  result.setBackward(true);
  result.setExact(cancels(program));
  OpBuilder inside = OpBuilder::atBlockBegin(&result.getBody().front());
  IRMapping copies;
  for (auto [number, value] : llvm::enumerate(crossing))
    copies.map(value, TakeOp::create(inside, value.getLoc(), value.getType(), crossingName(number), false,
                                     /*rounded=*/false, DenseI64ArrayAttr())
                          .getResult());
  for (StateOp state : trailing)
    copies.map(state.getResult(), TakeOp::create(inside, state.getLoc(), state.getType(), state.getName(), true, false,
                                                 DenseI64ArrayAttr())
                                      .getResult());
  for (Operation &op : block) {
    auto state = dyn_cast<StateOp>(op);
    if (behind.contains(&op) || (state && moved.contains(state)))
      inside.clone(op, copies);
  }
  return result;
}

ProgramOp TrailSplitter::split() {
  SmallVector<Value> vectors; // of the states whose cotangents trail, and others
  for (KeptOp kept : program.getKept())
    if (tensorOf(kept).getRank() <= 1)
      vectors.push_back(kept);
  if (losesDigits(program, vectors))
    return {};
  findTrailing();
  if (trailing.empty() || !findCrossings())
    return {};
  OpBuilder builder(program->getContext());
  builder.setInsertionPointAfter(program);
  ProgramOp last = buildBehind(builder);
  leaveBehind();
  builder.setInsertionPointAfter(program);
  buildCarry(builder);
  for (Operation *op : behind)
    if (isa<OutputOp, NextOp>(op))
      op->erase();
  for (StateOp state : trailing)
    state.getNext().erase();
  eraseUnused<InputOp, ParamOp, StateOp, KeptOp>(block);
  return last;
}
