// States that a scan carries on and that need no other state, and those that hold what earlier tokens had: where each
// chunk begins with them is found ahead of the rest, which then takes them, or in the array that they came from.
#include "Transforms/Chunk/Delays.h"
#include "Transforms/Chunk/MoebiusMap.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/StatePath.h"
#include "dialects/Chunk/ChunkTangents.h"
#include "dialects/Chunk/ChunkWindow.h"

namespace recur::chunk {
#define GEN_PASS_DEF_LEADSTATESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// Finds the last row without the others that the same ops make, which need not be there then.
class LastRow {
public:
  /// `back`: so many rows earlier; those in front of the first one are zeros.
  LastRow(OpBuilder &builder, Location loc, size_t back)
      : builder(builder), build(builder, loc), loc(loc), back(back) {}
  Value find(Value all) {
    Value &known = found[all];
    return known ? known : found[all] = make(all);
  }

private:
  Value make(Value all);

  OpBuilder &builder;
  ValueBuilder build;
  Location loc;
  size_t back;
  llvm::DenseMap<Value, Value> found;
};

class LeadSplitter {
public:
  /// `round`: how many times states were found to lead before, which these may need.
  LeadSplitter(ProgramOp program, unsigned round) : program(program), round(round) {}
  /// Puts the programs of the leading states in front, and lets the program take those states. Gives whether others may
  /// lead now.
  bool split();

private:
  bool leads(StateOp state);
  void giveDelay(OpBuilder &inside, const IRMapping &copies, StateOp state);
  Value carryDelay(CarryProgram &carry, StateOp state);
  /// What a chunk adds to the state, and what it scales it with.
  ProgramOp buildAhead(OpBuilder &builder);
  /// From chunk to chunk.
  void buildCarry(OpBuilder &builder);
  /// Vectors and numbers of any other class that need no matrix go ahead of the matrices, chunk after chunk.
  SmallVector<StateOp> findVectors();
  void buildVectors(OpBuilder &builder, ArrayRef<StateOp> vectors);
  void takeStates();
  void takeWindow(StateOp state, InputOp input);
  /// What holds inputs' rows is found in their arrays; a program of its own says what such states become in the end.
  void buildHolding(OpBuilder &builder);

  /// The flag of chunks that have so many tokens. Delays of several rounds have flags of their own.
  std::string countName(int64_t count) const { return suffix("tokens") + "." + std::to_string(count); }
  std::string suffix(StringRef name) const { return (name + (round ? std::to_string(round + 1) : "")).str(); }

  ProgramOp program;
  unsigned round;
  SmallVector<StateOp> leading;
  llvm::MapVector<StateOp, InputOp> windows; // of inputs' last rows
  llvm::SetVector<StateOp> held;             // of the delays, those of inputs
  Delays delays;
  llvm::DenseSet<int64_t> counts;       // of tokens, that chunks say whether they have
  llvm::DenseMap<int64_t, Value> taken; // what they say, where the states are carried on
};

struct LeadStatesPass : recur::chunk::impl::LeadStatesPassBase<LeadStatesPass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (!program.getBackward() && int64_t(program.getChunk()) > 1)
        for (unsigned round = 0; LeadSplitter(program, round).split();)
          ++round;
  }
};

} // namespace

/// The scan that makes a state's next value, if it alone does.
static Operation *findScan(StateOp state) {
  Value next = state.getNext().getValue();
  Operation *scan = next.getDefiningOp();
  bool isScan = isa_and_nonnull<ScanOp, TropicalScanOp, MoebiusScanOp>(scan) && next == scan->getResult(1);
  return isScan && StatePath(state).operandsOnPath(scan) == SmallVector<unsigned, 3>{0} && scan->getOperand(0) == state
             ? scan
             : nullptr;
}

/// One number, or some side by side: a matrix of them for each token would be far more than its states at the chunks'
/// beginnings.
bool LeadSplitter::leads(StateOp state) {
  Operation *scan = findScan(state);
  if (!scan || tensorOf(state).getRank() > 1)
    return false;
  return llvm::none_of(program.getStates(), [&](StateOp other) {
    return other != state && findDependents(program.getBody().front(), other.getResult()).contains(scan);
  });
}

/// The program of this name in which nothing leaves the chunk yet.
static ProgramOp cloneEmpty(OpBuilder &builder, ProgramOp program, StringRef suffix, IRMapping &copies) {
  auto result = cast<ProgramOp>(builder.clone(*program, copies));
  result.setKeeps(false);
  result.setSymName((program.getSymName() + suffix).str());
  for (Operation &op : llvm::make_early_inc_range(result.getBody().front()))
    if (isa<OutputOp, NextOp, RemainsOp>(op))
      op.erase();
  return result;
}

ProgramOp LeadSplitter::buildAhead(OpBuilder &builder) {
  IRMapping copies;
  ProgramOp ahead = cloneEmpty(builder, program, suffix("_ahead"), copies);
  OpBuilder inside = OpBuilder::atBlockEnd(&ahead.getBody().front());
  for (StateOp state : leading) {
    if (delays.contains(state)) {
      giveDelay(inside, copies, state);
      continue;
    }
    Location loc = state.getLoc();
    ValueBuilder build(inside, loc);
    RankedTensorType type = tensorOf(state);
    auto give = [&](StringRef name, Value value) { GiveOp::create(inside, loc, name, false, false, value); };
    Operation *copy = copies.lookup(findScan(state)->getResult(0)).getDefiningOp();
    if (auto scan = dyn_cast<ScanOp>(copy)) {
      Value zero = build.stateConstant(0, type);
      auto own =
          ScanOp::create(inside, loc, zero, scan.getAdditions(), scan.getDecay(), scan.getLinear(), scan.getAngles());
      give(nameOffset(state), build.asToken(own.getLast()));
      giveFactor(build, state, scan.getDecay(), scan.getLinear());
      continue;
    }
    if (auto scan = dyn_cast<MoebiusScanOp>(copy)) {
      giveMoebiusMap(build, state, scan);
      continue;
    }
    auto scan = cast<TropicalScanOp>(copy);
    Extremum extremum = scan.getExtremum();
    Value none = build.stateConstant(neutralOf(extremum), type);
    auto own = TropicalScanOp::create(inside, loc, none, keepNeutral(inside, scan), scan.getBounds(), extremum);
    give(nameOffset(state), build.asToken(own.getLast()));
    Value zero = build.stateConstant(0, type);
    auto sum = ScanOp::create(inside, loc, zero, scan.getShifts(), Value(), false);
    give(nameFactor(state), build.asToken(sum.getLast()));
  }
  eraseUnused<InputOp, ParamOp, StateOp, TakeOp>(ahead.getBody().front());
  return ahead;
}

Value LastRow::make(Value all) {
  auto hasTokens = [&](Value part) { return tensorOf(part).getDimSize(0) == tensorOf(all).getDimSize(0); };
  Operation *maker = all.getDefiningOp();
  if (auto rows = dyn_cast_or_null<ConcatOp>(maker); rows && llvm::all_of(rows.getOperands(), hasTokens)) {
    SmallVector<Value> parts = llvm::map_to_vector(rows.getOperands(), [&](Value part) { return find(part); });
    return ConcatOp::create(builder, loc, makeTokens(builder.getContext(), 1, shapePerToken(all)), parts);
  }
  if (auto slice = dyn_cast_or_null<SliceOp>(maker))
    return SliceOp::create(builder, loc, find(slice.getOperand()), slice.getBegin(), slice.getSize());
  if (auto map = dyn_cast_or_null<MapOp>(maker); map && isElementwise(map.getFunction())) {
    auto operands =
        llvm::map_to_vector(map.getOperands(), [&](Value part) { return hasTokens(part) ? find(part) : part; });
    return MapOp::create(builder, loc, map.getFunction(), operands);
  }
  for (size_t row = 0; row < back; ++row)
    all = PreviousOp::create(builder, loc, build.stateConstant(0, makeTensor(builder.getContext(), shapePerToken(all))),
                             all);
  return build.asToken(LastOp::create(builder, loc, all));
}

/// Emits the delayed row; and for each length of a short chunk whose delayed row comes from an earlier chunk, a flag
/// that says whether the chunk has that length.
void LeadSplitter::giveDelay(OpBuilder &inside, const IRMapping &copies, StateOp state) {
  const Delay &delay = delays.find(state)->second;
  Location loc = state.getLoc();
  ValueBuilder build(inside, loc);
  auto give = [&](StringRef name, Value value) { GiveOp::create(inside, loc, name, false, false, value); };
  give(nameOffset(state), LastRow(inside, loc, delay.earlier.size()).find(copies.lookup(delay.rows)));
  for (int64_t count = 1; count <= int64_t(delay.earlier.size()); ++count) {
    if (!counts.insert(count).second)
      continue;
    give(countName(count), buildHasTokens(build, int64_t(program.getChunk()), count));
  }
}

/// What the state becomes.
Value LeadSplitter::carryDelay(CarryProgram &carry, StateOp state) {
  ValueBuilder build(carry.getInside(), state.getLoc());
  Value next = carry.takeOffset(state);
  for (auto [index, earlier] : llvm::enumerate(delays.find(state)->second.earlier)) {
    Value &hasSoMany = taken[int64_t(index) + 1];
    if (!hasSoMany)
      hasSoMany = carry.take(countName(int64_t(index) + 1), {});
    next = build.select(hasSoMany, build.asToken(carry.getStates().lookup(earlier)), next);
  }
  return build.asState(next);
}

void LeadSplitter::buildCarry(OpBuilder &builder) {
  CarryProgram carry(builder, program, leading, suffix("_carry"));
  for (StateOp state : leading) {
    if (delays.contains(state)) {
      carry.leave(state, carryDelay(carry, state));
    } else if (auto linear = dyn_cast<ScanOp>(findScan(state))) {
      carry.leave(state, carry.scan(state, linear.getDecay(), linear.getAngles()));
    } else if (isa<MoebiusScanOp>(findScan(state))) {
      carry.leave(state, applyMoebiusMap(carry, state));
    } else {
      Value offset = carry.takeOffset(state), shift = carry.take(nameFactor(state), tensorOf(state).getShape());
      auto scan = TropicalScanOp::create(carry.getInside(), state.getLoc(), carry.getStates().lookup(state), shift,
                                         offset, cast<TropicalScanOp>(findScan(state)).getExtremum());
      carry.leave(state, scan.getLast());
    }
  }
}

/// Whether what tokens find in the window are rows by themselves, and not so many that less would be loaded of the
/// whole window.
static bool areRowsApart(ProgramOp program, const Window &window, int64_t size) {
  auto chunk = int64_t(program.getChunk());
  bool areFew = int64_t(window.results.size()) * chunk <= 2 * (chunk + size);
  return areFew && llvm::all_of(window.results, [](const Window::Result &result) { return result.isRow; });
}

void LeadSplitter::takeWindow(StateOp state, InputOp input) {
  auto loop = cast<TokenLoopOp>(state.getNext().getValue().getDefiningOp());
  std::optional<Window> window = findWindow(loop);
  state.getNext().erase();
  input->moveBefore(&program.getBody().front().front());
  OpBuilder builder(state);
  Location loc = state.getLoc();
  Value initial = InitialOp::create(builder, loc, state.getType(), state.getNameAttr(), state.getStoredAttr());
  int64_t size = tensorOf(state).getDimSize(0);
  if (!areRowsApart(program, *window, size)) {
    state.getResult().replaceAllUsesWith(HeldOp::create(builder, loc, state.getType(), input, size, initial));
    state.erase();
    return;
  }
  for (auto [rows, found] : llvm::zip(loop.getStreamResults(), window->results))
    rows.replaceAllUsesWith(InputOp::create(builder, loc, rows.getType(), input.getNameAttr(), input.getSharedAttr(),
                                            input.getStoredAttr(), DenseI64ArrayAttr(),
                                            builder.getI64IntegerAttr(size - found.first), initial));
  loop.erase();
  state.erase();
}

void LeadSplitter::takeStates() {
  for (auto [state, input] : windows)
    takeWindow(state, input);
  for (StateOp state : held) {
    state.getNext().erase();
    OpBuilder builder(state);
    for (InputOp input : delays[state].getInputs()) // which may be declared behind the state
      input->moveBefore(&program.getBody().front().front());
    const Delay &delay = delays[state];
    state.getResult().replaceAllUsesWith(buildHeld(builder, state, delay, delay.getInputs()));
    state.erase();
  }
  for (StateOp state : leading) {
    state.getNext().erase();
    OpBuilder builder(state);
    Value taken =
        TakeOp::create(builder, state.getLoc(), state.getType(), state.getName(), true, false, DenseI64ArrayAttr());
    state.getResult().replaceAllUsesWith(taken);
    state.erase();
  }
  eraseUnused<InputOp, ParamOp, StateOp>(program.getBody().front());
  if (program.getSummaryOf() && program.getStates().size() < 2) { // the parts that lead are not there any more
    program.removeSummaryOfAttr();
    program.removeSummaryKindAttr();
  }
}

/// Its chunk has as many tokens as the oldest row is old. So the last two chunks have all rows, however few tokens the
/// last one has.
void LeadSplitter::buildHolding(OpBuilder &builder) {
  size_t oldest = 0;
  for (StateOp state : held)
    oldest = std::max(oldest, delays[state].earlier.size() + 1);
  for (auto [state, input] : windows)
    oldest = std::max<size_t>(oldest, tensorOf(state).getDimSize(0));
  auto chunk = int64_t(llvm::PowerOf2Ceil(oldest));
  auto holding =
      ProgramOp::create(builder, program.getLoc(), (program.getSymName() + "_held").str(), program.getDims(), chunk);
  holding.setFactorsAttr(program.getFactorsAttr());
  OpBuilder inside = OpBuilder::atBlockBegin(&holding.getBody().front());
  llvm::DenseMap<Value, Value> inputs;
  llvm::DenseMap<StateOp, Value> states;
  auto typeOf = [&](Value rows) { return makeTokens(program.getContext(), chunk, shapePerToken(rows)); };
  auto declare = [&](InputOp input) {
    if (Value &own = inputs[input]; !own)
      own = InputOp::create(inside, input.getLoc(), typeOf(input), input.getNameAttr(), input.getSharedAttr(),
                            input.getStoredAttr());
  };
  for (StateOp state : held)
    llvm::for_each(delays[state].getInputs(), declare);
  for (auto [state, input] : windows)
    declare(input);
  SmallVector<StateOp> all(held.begin(), held.end());
  for (auto [state, input] : windows)
    all.push_back(state);
  for (StateOp state : all)
    states[state] = StateOp::create(inside, state.getLoc(), state.getType(), state.getName(), state.getStoredAttr());
  for (StateOp state : held) {
    const Delay &delay = delays[state];
    Location loc = state.getLoc();
    SmallVector<Value> parts;
    for (InputOp input : delay.getInputs())
      parts.push_back(inputs[input]);
    Value rows = parts.size() == 1 ? parts[0] : ConcatOp::create(inside, loc, typeOf(delay.rows), parts).getResult();
    for (StateOp earlier : llvm::reverse(delay.earlier))
      rows = PreviousOp::create(inside, loc, states[earlier], rows);
    NextOp::create(inside, loc, states[state], LastOp::create(inside, loc, rows));
  }
  for (auto [state, input] : windows)
    NextOp::create(inside, state.getLoc(), states[state],
                   buildMovedWindow(inside, state.getLoc(), states[state], inputs[input]));
}

SmallVector<StateOp> LeadSplitter::findVectors() {
  auto isVector = [](StateOp state) { return tensorOf(state).getRank() < 2; };
  Block &block = program.getBody().front();
  SmallVector<StateOp> vectors = llvm::filter_to_vector(program.getStates(), isVector);
  auto needsOther = [&](StateOp state) {
    return llvm::any_of(program.getStates(), [&](StateOp other) {
      return !llvm::is_contained(vectors, other) && findDependents(block, other.getResult()).contains(state.getNext());
    });
  };
  for (size_t before = 0; before != vectors.size();) {
    before = vectors.size();
    llvm::erase_if(vectors, needsOther);
  }
  // Without a matrix that they lead, they are the program's own.
  SmallVector<Value> values(vectors.begin(), vectors.end());
  llvm::SetVector<Operation *> dependents = findDependents(block, values);
  bool leadsMatrix = llvm::any_of(
      program.getStates(), [&](StateOp state) { return !isVector(state) && dependents.contains(state.getNext()); });
  return leadsMatrix && !losesDigits(program, values) ? vectors : SmallVector<StateOp>();
}

void LeadSplitter::buildVectors(OpBuilder &builder, ArrayRef<StateOp> vectors) {
  IRMapping copies;
  auto result = cast<ProgramOp>(builder.clone(*program, copies));
  result.setSymName((program.getSymName() + suffix("_vectors")).str());
  for (Operation &op : llvm::make_early_inc_range(result.getBody().front())) {
    auto next = dyn_cast<NextOp>(op);
    bool isOwn = next && llvm::any_of(vectors, [&](StateOp state) {
                   return copies.lookup(state.getResult()) == next.getState();
                 });
    if (isa<OutputOp, NextOp, RemainsOp>(op) && !isOwn)
      op.erase();
  }
  OpBuilder inside = OpBuilder::atBlockEnd(&result.getBody().front());
  for (StateOp state : vectors)
    GiveOp::create(inside, state.getLoc(), state.getName(), /*whole=*/true, /*rounded=*/false,
                   copies.lookup(state.getResult()));
  eraseUnused<InputOp, ParamOp, StateOp, TakeOp>(result.getBody().front());
}

bool LeadSplitter::split() {
  for (StateOp state : program.getStates())
    if (leads(state))
      leading.push_back(state);
  SmallVector<Value> values(leading.begin(), leading.end());
  if (losesDigits(program, values))
    leading.clear();
  bool carriesScans = !leading.empty();
  delays = findDelays(program);
  held = findHeld(program, delays); // a gradient finds them in arrays too, so nobody keeps them
  windows = findInputWindows(program);
  for (StateOp state : program.getStates())
    if (delays.contains(state) && !held.contains(state))
      leading.push_back(state);
  OpBuilder builder(program);
  SmallVector<StateOp> vectors;
  if (leading.empty() && held.empty() && windows.empty())
    vectors = findVectors();
  if (!held.empty() || !windows.empty())
    buildHolding(builder);
  if (!leading.empty()) {
    buildAhead(builder);
    buildCarry(builder);
  } else if (!vectors.empty()) {
    buildVectors(builder, vectors);
    leading = vectors;
  }
  if (!leading.empty() || !held.empty() || !windows.empty())
    takeStates();
  if (program.getKeeps() && program.getStates().empty() && program.getOutputs().empty()) { // and leaves nothing else
    program.erase();
    return false;
  }
  // Delays that were found in their arrays may have kept vectors from leading.
  return carriesScans || !findVectors().empty();
}
