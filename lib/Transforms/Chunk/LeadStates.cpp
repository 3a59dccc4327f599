// States that a scan carries on and that need no other state: where each chunk begins with them is found ahead of the
// rest, which then takes them.
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/StatePath.h"
#include "dialects/Chunk/ChunkTangents.h"

namespace recur::chunk {
#define GEN_PASS_DEF_LEADSTATESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

class LeadSplitter {
public:
  explicit LeadSplitter(ProgramOp program) : program(program) {}
  /// Puts the programs of the leading states in front, and lets the program take those states; nothing if none leads.
  void split();

private:
  bool leads(StateOp state);
  bool losesDigits();
  /// What a chunk adds to the state, and what it scales it with.
  ProgramOp buildAhead(OpBuilder &builder);
  /// From chunk to chunk.
  ProgramOp buildCarry(OpBuilder &builder);
  void takeStates();

  ProgramOp program;
  SmallVector<StateOp> leading;
};

struct LeadStatesPass : recur::chunk::impl::LeadStatesPassBase<LeadStatesPass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (!program.getSummaryOf() && !program.getBackward() && !program.getKeeps())
        LeadSplitter(program).split();
  }
};

} // namespace

static std::string offsetName(StateOp state) { return (state.getName() + ".offset").str(); }
static std::string mapName(StateOp state) { return (state.getName() + ".map").str(); }

/// The scan that makes a state's next value, if it alone does.
static Operation *findScan(StateOp state) {
  Value next = state.getNext().getValue();
  Operation *scan = next.getDefiningOp();
  bool isScan = isa_and_nonnull<ScanOp, TropicalScanOp>(scan) && next == scan->getResult(1);
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

/// Whether leading states enter a system whose solutions add up in a state without decay. Solved apart from the state,
/// in parts that are rounded, they are further off than data of 16 bits allow.
bool LeadSplitter::losesDigits() {
  Block &block = program.getBody().front();
  SmallVector<Value> states;
  for (StateOp state : leading)
    states.push_back(state);
  llvm::SetVector<Operation *> dependents = findDependents(block, states);
  bool hasSystem = llvm::any_of(dependents, [&](Operation *op) {
    return isa<SolveOp, ScaledSolveOp, InverseOp>(op) && dependents.contains(op->getOperand(0).getDefiningOp());
  });
  return hasSystem && llvm::any_of(block.getOps<AdvanceOp>(), [](AdvanceOp advance) {
           return !advance.getRowDecay() && !advance.getColumnDecay();
         });
}

/// Drops what nobody needs, declarations as well.
static void eraseUnused(ProgramOp program) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op) || (isa<InputOp, ParamOp, StateOp>(op) && op.use_empty()))
      op.erase();
}

/// The program of this name in which nothing leaves the chunk yet.
static ProgramOp cloneEmpty(OpBuilder &builder, ProgramOp program, StringRef suffix, IRMapping &copies) {
  auto result = cast<ProgramOp>(builder.clone(*program, copies));
  result.setSymName((program.getSymName() + suffix).str());
  for (Operation &op : llvm::make_early_inc_range(result.getBody().front()))
    if (isa<OutputOp, NextOp>(op))
      op.erase();
  return result;
}

ProgramOp LeadSplitter::buildAhead(OpBuilder &builder) {
  IRMapping copies;
  ProgramOp ahead = cloneEmpty(builder, program, "_ahead", copies);
  OpBuilder inside = OpBuilder::atBlockEnd(&ahead.getBody().front());
  for (StateOp state : leading) {
    Location loc = state.getLoc();
    ValueBuilder build(inside, loc);
    RankedTensorType type = tensorOf(state);
    auto give = [&](StringRef name, Value value) { GiveOp::create(inside, loc, name, false, false, value); };
    Operation *copy = copies.lookup(findScan(state)->getResult(0)).getDefiningOp();
    if (auto scan = dyn_cast<ScanOp>(copy)) {
      Value zero = build.stateConstant(0, type);
      auto own =
          ScanOp::create(inside, loc, zero, scan.getAdditions(), scan.getDecay(), scan.getLinear(), scan.getAngles());
      give(offsetName(state), build.asToken(own.getLast()));
      if (Value decay = scan.getDecay())
        give(mapName(state), CumulativeDecayOp::create(inside, loc, DecayRange::Total, decay, scan.getLinear()));
      continue;
    }
    auto scan = cast<TropicalScanOp>(copy);
    Extremum extremum = scan.getExtremum();
    Value none = build.stateConstant(neutralOf(extremum), type);
    auto own = TropicalScanOp::create(inside, loc, none, keepNeutral(inside, scan), scan.getBounds(), extremum);
    give(offsetName(state), build.asToken(own.getLast()));
    Value zero = build.stateConstant(0, type);
    auto sum = ScanOp::create(inside, loc, zero, scan.getShifts(), Value(), false);
    give(mapName(state), build.asToken(sum.getLast()));
  }
  eraseUnused(ahead);
  return ahead;
}

ProgramOp LeadSplitter::buildCarry(OpBuilder &builder) {
  auto carry = ProgramOp::create(builder, program.getLoc(), (program.getSymName() + "_carry").str(), program.getDims(),
                                 program.getChunk());
  OpBuilder inside = OpBuilder::atBlockBegin(&carry.getBody().front());
  SmallVector<Value> states;
  for (StateOp state : leading)
    states.push_back(StateOp::create(inside, state.getLoc(), state.getType(), state.getName()));
  for (auto [state, own] : llvm::zip(leading, states)) {
    Location loc = state.getLoc();
    RankedTensorType rowType = makeTokens(program.getContext(), 1, tensorOf(state).getShape());
    auto take = [&](StringRef name, Type type) -> Value {
      return TakeOp::create(inside, loc, type, name, false, false, DenseI64ArrayAttr());
    };
    Operation *scan = findScan(state);
    Value offset = take(offsetName(state), rowType), next;
    if (auto linear = dyn_cast<ScanOp>(scan)) {
      Value factor;
      if (Value decay = linear.getDecay())
        factor = take(mapName(state), makeTokens(program.getContext(), 1, shapePerToken(decay)));
      next = ScanOp::create(inside, loc, own, offset, factor, /*linear=*/bool(factor), linear.getAngles()).getLast();
    } else {
      next = TropicalScanOp::create(inside, loc, own, take(mapName(state), rowType), offset,
                                    cast<TropicalScanOp>(scan).getExtremum())
                 .getLast();
    }
    NextOp::create(inside, loc, own, next);
    GiveOp::create(inside, loc, state.getName(), /*whole=*/true, /*rounded=*/false, own);
  }
  return carry;
}

void LeadSplitter::takeStates() {
  for (StateOp state : leading) {
    state.getNext().erase();
    OpBuilder builder(state);
    Value taken =
        TakeOp::create(builder, state.getLoc(), state.getType(), state.getName(), true, false, DenseI64ArrayAttr());
    state.getResult().replaceAllUsesWith(taken);
    state.erase();
  }
  eraseUnused(program);
}

void LeadSplitter::split() {
  for (StateOp state : program.getStates())
    if (leads(state))
      leading.push_back(state);
  if (leading.empty() || losesDigits())
    return;
  OpBuilder builder(program);
  buildAhead(builder);
  buildCarry(builder);
  takeStates();
}
