// A program as several, of which one alone goes from chunk to chunk.
#include "Analysis/ChunkStructure.h"
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/RangeSums.h"
#include "Transforms/Chunk/ScaledRows.h"
#include "Transforms/Chunk/StatePath.h"
#include "Transforms/Chunk/SystemStates.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "dialects/Chunk/ChunkSteps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"

namespace recur::chunk {
#define GEN_PASS_DEF_PHASESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

enum Phase { Remains, Early, Chain, Late, Sums, PhaseCount };
constexpr const char *suffixes[] = {"_remains", "_early", "_chain", "_late", "_sums"};

class PhaseSplitter {
public:
  /// `solvesApart`: systems are all that cancels, and are exact by themselves.
  /// What phases leave to each other is numbered from `firstNumber` on.
  PhaseSplitter(ProgramOp program, bool outputsInChain, bool interactionsInChain, bool solvesApart,
                bool preciseInverses, size_t firstNumber)
      : program(program), block(program.getBody().front()), structure(program), outputsInChain(outputsInChain),
        interactionsInChain(interactionsInChain), solvesApart(solvesApart), preciseInverses(preciseInverses),
        firstNumber(firstNumber) {}
  /// Puts the phases behind the program; gives whether there are any.
  bool split(OpBuilder &builder);
  size_t countNames() const { return names.size(); }

private:
  bool assign();
  void assignSums();
  bool assignAllToChain();
  bool isEpilogue();
  void assignRemains();
  void findPath(ArrayRef<Value> states);
  bool chooseChain(ArrayRef<Value> states);
  bool isApplied(Operation *op);
  bool isStep(Operation *op);
  bool isScaledForPasses(Operation *op);
  bool isLoadedByChain(Value value);
  bool areLoadedSteps(Value value);
  bool isMadeAnew(Operation *op);
  bool isMadeAgain(Operation *op);
  void need(Operation *op, Phase phase);
  bool canBeTaken(Value value);
  bool isThere(Value value);
  bool isPrecise(Value value);
  bool keepsErrors(InverseOp inverse);
  bool isRounded(Value value);
  Value take(OpBuilder &builder, Value value);
  ProgramOp build(OpBuilder &builder, Phase phase);
  std::string nameOf(Value value);

  ProgramOp program;
  Block &block;
  recur::analysis::ChunkStructure structure;
  bool outputsInChain, interactionsInChain, solvesApart, preciseInverses, isExact = false, appliesInChain = false;
  size_t firstNumber;
  llvm::SetVector<StateOp> sums;      // states that nothing but a sum over the chunks has
  llvm::DenseSet<Operation *> ofSums; // these and what leads from them to the next chunk's
  llvm::DenseSet<Operation *> path, dependents;
  llvm::DenseSet<Operation *> chainOps;            // of those that depend on states
  llvm::DenseSet<Operation *> members[PhaseCount]; // ops that a phase computes
  llvm::SetVector<Value> leaving;                  // values that cross from one phase to others
  llvm::SetVector<Value> taken[PhaseCount];
  llvm::SetVector<Value> given[PhaseCount];
  llvm::DenseMap<Value, std::string> names;
};

/// Of systems that one op solves: tokens of a chunk, and of how many rows their states have a multiple.
constexpr int64_t systemTokens = 64, systemChannels = 64;

struct PhasesPass : recur::chunk::impl::PhasesPassBase<PhasesPass> {
  using PhasesPassBase::PhasesPassBase;
  void runOnOperation() override {
    size_t numbered = 0; // a program may have become several before
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
      // It has what others leave of whole chunks alone, or has been made for the ends of sequences.
      bool isPhase = program.getInputs().empty() &&
                     llvm::none_of(program.getTaken(), [](TakeOp take) { return areInArray(take.getResult()); });
      if (isPhase || holdsLastTokens(program))
        continue;
      if (program.getBackward())
        sumRanges(program);
      OpBuilder builder(program->getContext());
      builder.setInsertionPointAfter(program);
      bool solvesApart = systemsApart && !outputsInChain && int64_t(program.getChunk()) == systemTokens &&
                         separateSystemStates(program, systemChannels);
      PhaseSplitter splitter(program, outputsInChain, interactionsInChain, solvesApart, preciseInverses, numbered);
      if (splitter.split(builder))
        program.erase();
      numbered += splitter.countNames();
    }
  }
};

} // namespace

static bool isDeclared(Operation *op) { return isa<InputOp, ParamOp, StateOp, InitialOp, KeptOp, TakeOp>(op); }

/// What is made of inputs again where it is needed: loading it would take as long, or, of a matrix of the tokens,
/// forget that it is triangular.
bool PhaseSplitter::isMadeAnew(Operation *root) {
  SmallVector<Operation *> work{root};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isDeclared(op) || isa<ConstantOp>(op) || !seen.insert(op).second)
      continue;
    auto map = dyn_cast<MapOp>(op);
    bool isCheap = isa<CumulativeDecayOp, InteractionOp, BroadcastOp, ExtractOp, InterleaveOp, DeinterleaveOp>(op) ||
                   (map && isElementwise(map.getFunction()));
    if (!isCheap || dependents.contains(op))
      return false;
    for (Value operand : op->getOperands())
      work.push_back(operand.getDefiningOp());
  }
  return true;
}

/// A matrix of the tokens is not taken, but by a chain that applies it.
bool PhaseSplitter::canBeTaken(Value value) {
  if ((outputsInChain || appliesInChain) && structure.findTriangle(value))
    return true;
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Operation *, 8> seen; // many paths lead to an op whose readers are read twice
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (isa<InteractionOp, InverseOp>(op))
      return false;
    if (isa<MapOp, DeinterleaveOp, InterleaveOp>(op) && seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// Whether the late phase of a gradient makes the chain's value again, of what it has besides and of other values of
/// the chain: then these alone are left.
bool PhaseSplitter::isMadeAgain(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  if (!program.getBackward() || !map || !isElementwise(map.getFunction()) || !chainOps.contains(op))
    return false;
  return llvm::all_of(map.getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return chainOps.contains(maker) || (!dependents.contains(maker) && isMadeAnew(maker));
  });
}

/// Whether the late phase may take what no state enters, since the early one has it.
bool PhaseSplitter::isThere(Value value) {
  return leaving.contains(value) || (members[Early].contains(value.getDefiningOp()) && canBeTaken(value));
}

/// The interaction that has the pairs which a cotangent of decays of the tokens takes.
static InteractionOp findPairs(DecayCotangentOp cotangent) {
  if (cotangent.getLinear() || tensorOf(cotangent.getDecay()).getRank() > 1)
    return {};
  for (Operation *user : cotangent.getRows().getUsers())
    if (auto made = dyn_cast<InteractionOp>(user);
        made && made->getBlock() == cotangent->getBlock() && made->isBeforeInBlock(cotangent) &&
        made.getRows() == cotangent.getRows() && made.getColumns() == cotangent.getColumns() &&
        made.getDecay() == cotangent.getDecay() && !made.getLinear() && made.getPoints() == cotangent.getPoints() &&
        made.getSteps() == cotangent.getSteps())
      return made;
  return {};
}

/// Whether the chain can do this besides: numbers of the tokens, also if they are one that a head always has, and
/// interactions under one decay a token or none.
static bool isMadeBeside(Operation *op) {
  auto hasNumbers = [](Value decay) { return !decay || tensorOf(decay).getRank() <= 1; };
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return tensorOf(broadcast.getOperand()).getNumElements() == 1 && hasNumbers(broadcast.getResult());
  if (auto interaction = dyn_cast<InteractionOp>(op))
    return hasNumbers(interaction.getDecay());
  auto map = dyn_cast<MapOp>(op);
  return (isa<CumulativeDecayOp>(op) && hasNumbers(op->getOperand(0))) || (map && isElementwise(map.getFunction()));
}

/// A constant in whatever shape. It has no rows of tokens to be left in.
static bool isConstant(Operation *op) {
  while (auto reshape = dyn_cast<ReshapeStateOp>(op))
    op = reshape.getState().getDefiningOp();
  return isa<ConstantOp>(op);
}

/// A product of two vectors, which are far less to leave than their product.
static bool isOuter(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  return map && map.getFunction() == Function::Outer;
}

void PhaseSplitter::need(Operation *op, Phase phase) {
  if (!members[phase].insert(op).second)
    return;
  if (auto cotangent = dyn_cast<DecayCotangentOp>(op))
    if (InteractionOp pairs = findPairs(cotangent); pairs && !dependents.contains(pairs) && isMadeAnew(pairs))
      need(pairs, phase); // made by products, and then once
  for (Value value : findUsedValues(op)) {
    Operation *maker = value.getDefiningOp();
    if (isDeclared(maker) && !(isa<StateOp>(maker) && phase == Late) && (phase != Chain || isLoadedByChain(value)))
      continue;
    bool isOwn =
        isConstant(maker) ||
        (phase == Chain && (chainOps.contains(maker) || isa<InterleaveOp>(op) || areLoadedSteps(value) ||
                            isOuter(maker) || (interactionsInChain && isMadeBeside(maker)))) ||
        phase == Early || phase == Remains || (phase == Sums && ofSums.contains(maker)) ||
        (phase == Late &&
         (isMadeAgain(maker) || (dependents.contains(maker) && !chainOps.contains(maker) && !isa<StateOp>(maker)) ||
          (!dependents.contains(maker) && !isa<StateOp>(maker) && (isMadeAnew(maker) || !isThere(value)))));
    if (isOwn) {
      need(maker, phase);
      continue;
    }
    leaving.insert(value);
    taken[phase].insert(value);
  }
}

/// Whether it applies an inverse that no state enters.
bool PhaseSplitter::isApplied(Operation *op) {
  auto apply = dyn_cast<ApplyOp>(op);
  return apply && !program.getBackward() && !apply.getDecay() && apply.getMatrix().getDefiningOp<InverseOp>() &&
         !dependents.contains(apply.getMatrix().getDefiningOp());
}

/// Whether the chain does this with rows of values, one step behind another.
bool PhaseSplitter::isStep(Operation *op) {
  auto isFree = [&](Value value) {
    return !dependents.contains(value.getDefiningOp()) && !value.getDefiningOp<StateOp>();
  };
  auto isThere = [&](Value value) { return isFree(value) || chainOps.contains(value.getDefiningOp()); };
  if (auto read = dyn_cast<ReadOp>(op))
    return !read.getLeft() && isFree(read.getRows()) && read.getState().getDefiningOp<StateOp>();
  if (auto apply = dyn_cast<ApplyTransposedOp>(op))
    return !apply.getDecay() && isFree(apply.getMatrix()) && structure.findTriangle(apply.getMatrix()) &&
           isThere(apply.getValues());
  if (auto apply = dyn_cast<ApplyOp>(op))
    return !apply.getDecay() && isFree(apply.getMatrix()) && structure.findTriangle(apply.getMatrix()) &&
           isThere(apply.getValues());
  if (auto advance = dyn_cast<AdvanceOp>(op))
    return !advance.getRowDecay() && isFree(advance.getKeys()) && isThere(advance.getValues());
  auto map = dyn_cast<MapOp>(op);
  if (!map || !isElementwise(map.getFunction()) || tensorOf(map.getResult()).getRank() != 2)
    return false;
  return llvm::all_of(map.getOperands(), [&](Value operand) {
    bool isLoaded = !interactionsInChain || !operand.getDefiningOp<ParamOp>(); // it has what chunks bring alone
    return isLoaded && isThere(operand) &&
           (operand.getType() == map.getResult().getType() || tensorOf(operand).getRank() == 1);
  });
}

/// Rows of an input that are scaled for nothing but passes of the chain: it scales them on the way, so that they need
/// not be left rounded.
bool PhaseSplitter::isScaledForPasses(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  ScaledRows scaled = map && !dependents.contains(op) ? matchScaledRows(map.getResult()) : ScaledRows();
  return scaled && areInArray(scaled.rows) && !dependents.contains(scaled.factor.getDefiningOp()) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           bool isWritten = program.getBackward() && isa<AdvanceOp>(user) && op->getResult(0) != user->getOperand(2);
           return (isa<MapOp>(user) || isWritten) && chainOps.contains(user);
         });
}

/// Whether the chain makes the map's matrices or rows element by element. What a gradient has besides of such matrices
/// would be left for each chunk.
static bool isMadeByElements(MapOp map, bool isBackward) {
  Function function = map.getFunction();
  bool isOfMatrix = function == Function::ScaleCols || function == Function::ScaleRows || function == Function::Outer;
  return isElementwise(function) || (isOfMatrix && !isBackward);
}

/// Finds what of the ops that states enter the chain does: what leads from a state to the next chunk's, or all that
/// can be done so. Not where that cannot be done in a chain.
bool PhaseSplitter::chooseChain(ArrayRef<Value> states) {
  if (!outputsInChain && !interactionsInChain) {
    chainOps = path;
    appliesInChain = llvm::any_of(path, [&](Operation *op) { return isApplied(op); });
    return llvm::all_of(path, [&](Operation *op) {
      auto map = dyn_cast<MapOp>(op);
      return isa<ReadOp, AdvanceOp, ReshapeStateOp>(op) || (map && isMadeByElements(map, program.getBackward())) ||
             isApplied(op);
    });
  }
  if (isExact || states.size() != 1 || tensorOf(states.front()).getRank() != 2)
    return false;
  for (Operation &op : block)
    if (dependents.contains(&op) && isStep(&op))
      chainOps.insert(&op);
  for (Operation &op : block)
    if (isScaledForPasses(&op))
      chainOps.insert(&op);
  return llvm::all_of(path, [&](Operation *op) { return chainOps.contains(op); });
}

/// Rows of an input come to the chain as they are, also those of all micro-steps, and what earlier phases left. An
/// input's numbers of the tokens lie far apart, and are left to it side by side.
bool PhaseSplitter::isLoadedByChain(Value value) {
  auto take = value.getDefiningOp<TakeOp>();
  return !outputsInChain || value.getDefiningOp<StateOp>() || (take && !take.getWhole()) ||
         (value.getDefiningOp<InputOp>() && tensorOf(value).getRank() >= 2);
}

/// Whether it is the rows of all micro-steps of an input, token by token, as they lie there. No step's rows are wanted
/// alone.
bool PhaseSplitter::areLoadedSteps(Value value) {
  auto rows = outputsInChain ? value.getDefiningOp<InterleaveOp>() : InterleaveOp();
  Value whole = rows ? findInterleaved(rows) : Value();
  if (!whole || !whole.getDefiningOp<InputOp>() || tensorOf(whole).getRank() != 3)
    return false;
  return llvm::none_of(rows.getOperands(), [&](Value step) {
    return llvm::any_of(step.getUsers(), [&](Operation *user) { return chainOps.contains(user); });
  });
}

/// The whole program, if nothing happens in it but what a chain does with one state and what it can make besides.
bool PhaseSplitter::assignAllToChain() {
  SmallVector<StateOp> states(program.getStates());
  if (isExact || states.size() != 1 || tensorOf(states.front()).getRank() != 2 || block.getOps<InteractionOp>().empty())
    return false;
  for (Operation &op : block) {
    auto read = dyn_cast<ReadOp>(op);
    auto apply = dyn_cast<ApplyOp>(op);
    auto advance = dyn_cast<AdvanceOp>(op);
    bool isKnown = isDeclared(&op) || isa<ConstantOp, NextOp, OutputOp, RemainsOp>(op) || isMadeBeside(&op) ||
                   (read && !read.getLeft()) || (apply && !apply.getDecay()) || (advance && !advance.getRowDecay());
    auto take = dyn_cast<TakeOp>(op);
    if (!isKnown || (take && take.getWhole()))
      return false;
  }
  for (Operation &op : block)
    if (!isDeclared(&op))
      members[Chain].insert(&op);
  assignRemains();
  return true;
}

/// What leads from any of the states to what one of them becomes: states may feed one another.
void PhaseSplitter::findPath(ArrayRef<Value> states) {
  SmallVector<Operation *> work;
  for (Value state : states)
    work.push_back(state.getDefiningOp<StateOp>().getNext().getValue().getDefiningOp());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!dependents.contains(op) || !path.insert(op).second)
      continue;
    for (Value value : findUsedValues(op))
      work.push_back(value.getDefiningOp());
  }
}

/// Whether other programs find in what the op leaves what a state was when each chunk began.
static bool leavesState(Operation &op) {
  auto give = dyn_cast<GiveOp>(op);
  return give && give.getValue().getDefiningOp<StateOp>();
}

bool PhaseSplitter::assign() {
  if (interactionsInChain && (assignAllToChain() || block.getOps<InteractionOp>().empty()))
    return !members[Chain].empty();
  SmallVector<Value> states;
  for (StateOp state : program.getStates())
    if (program.getBackward() && isSum(state))
      sums.insert(state);
  for (StateOp state : program.getStates()) {
    if (sums.contains(state))
      continue;
    if (tensorOf(state).getRank() == 0)
      return false;
    states.push_back(state);
  }
  if (states.empty() && sums.empty())
    return false;
  for (Operation *op : findDependents(block, states))
    dependents.insert(op);
  findPath(states);
  if (!states.empty() && !chooseChain(states))
    return false;
  // The chain first, for what it takes is there for the late phase as well.
  auto ofChain = [&](Operation &op) {
    auto next = dyn_cast<NextOp>(op);
    return next && !sums.contains(cast<StateOp>(next.getState().getDefiningOp()));
  };
  for (Operation &op : block) {
    if (ofChain(op))
      need(&op, Chain);
    auto output = dyn_cast<OutputOp>(op);
    if ((output && chainOps.contains(output.getValue().getDefiningOp())) || leavesState(op))
      need(&op, Chain);
  }
  for (Value value : leaving)
    if (Operation *maker = value.getDefiningOp(); !dependents.contains(maker) && !isa<StateOp>(maker))
      need(maker, Early);
  for (Operation &op : block)
    if (auto output = dyn_cast<OutputOp>(op);
        (isa<GiveOp>(op) && !leavesState(op)) || (output && !chainOps.contains(output.getValue().getDefiningOp())))
      need(&op, Late);
  assignSums();
  for (size_t i = 0; i < leaving.size(); ++i) { // the chain may need more for what is wanted late
    Value value = leaving[i];
    Operation *maker = value.getDefiningOp();
    if (taken[Sums].contains(value) && given[Late].contains(value))
      continue;                                           // which is made late
    if (!canBeTaken(value) || isa<TakeOp, KeptOp>(maker)) // what an earlier phase left is left once
      return false;
    if (isa<StateOp>(maker) || chainOps.contains(maker)) {
      given[Chain].insert(value);
      if (!isa<StateOp>(maker))
        need(maker, Chain);
    } else if (dependents.contains(maker)) {
      return false; // one state's values go through matrices of the tokens on their way to another
    } else {
      given[Early].insert(value);
      need(maker, Early);
    }
  }
  if (states.size() == 1)
    assignRemains();
  if (interactionsInChain)
    return members[Early].empty() && isEpilogue();
  // A chain alone gains something where it does less than the program: it leaves states and no outputs.
  return program.getKeeps() || !members[Early].empty() || !members[Late].empty();
}

/// What is added is made late, and added up one chunk behind another when all have it.
void PhaseSplitter::assignSums() {
  for (StateOp state : sums)
    for (Operation *op : findDependents(block, state.getResult()))
      ofSums.insert(op);
  for (StateOp state : sums)
    need(state.getNext(), Sums);
  for (Value value : taken[Sums]) {
    need(value.getDefiningOp(), Late);
    given[Late].insert(value);
  }
}

/// Whether what is late are functions of each token's rows alone, behind a chain that makes interactions.
bool PhaseSplitter::isEpilogue() {
  return !members[Late].empty() && llvm::any_of(members[Chain], llvm::IsaPred<InteractionOp>) &&
         llvm::all_of(members[Late], llvm::IsaPred<MapOp, ExtractOp, SliceOp, ConcatOp, BroadcastOp, PreviousOp, HeldOp,
                                                   ReshapeStateOp, ConstantOp, OutputOp>);
}

/// Only CTAs that begin in the middle of a sequence need the bounds of remains. If no other phase computes them, they
/// get a phase of their own, and CTAs that begin at the first chunk do not wait for it.
void PhaseSplitter::assignRemains() {
  for (RemainsOp remains : block.getOps<RemainsOp>()) {
    Value bound = remains.getBound();
    Operation *maker = bound.getDefiningOp();
    if (dependents.contains(maker) || isDeclared(maker))
      continue;
    members[Chain].insert(remains);
    taken[Chain].insert(bound);
    if (!leaving.insert(bound))
      continue;
    given[Remains].insert(bound);
    need(maker, Remains);
  }
}

std::string PhaseSplitter::nameOf(Value value) {
  std::string &name = names[value];
  if (name.empty()) {
    auto state = value.getDefiningOp<StateOp>();
    name = state ? state.getName().str() : std::to_string(firstNumber + names.size() - 1);
  }
  return name;
}

/// Whether errors of what the inverse is applied to last: nothing decays between writes that follow each other, or a
/// token has several of them. Products of tf32 take longer, and where a state decays errors do with it.
bool PhaseSplitter::keepsErrors(InverseOp inverse) {
  bool hasSteps = tensorOf(inverse.getResult()).getDimSize(0) > int64_t(program.getChunk());
  llvm::SetVector<Operation *> makers;
  BackwardSliceOptions inBlock;
  inBlock.omitBlockArguments = true;
  inBlock.inclusive = true;
  (void)getBackwardSlice(inverse.getMatrix(), &makers, inBlock);
  return hasSteps || llvm::none_of(makers, [](Operation *maker) {
           auto interaction = dyn_cast<InteractionOp>(maker);
           return interaction && interaction.getDecay();
         });
}

/// Whether the value is an inverse that the chain applies and nobody else takes: of several blocks of rows, without
/// gains, which would have to be in it before it is rounded, and with errors that last.
bool PhaseSplitter::isPrecise(Value value) {
  constexpr int64_t fewestRows = 32;
  auto inverse = value.getDefiningOp<InverseOp>();
  return preciseInverses && inverse && !inverse.getGain() && tensorOf(value).getDimSize(0) >= fewestRows &&
         keepsErrors(inverse) && given[Early].contains(value) && taken[Chain].contains(value) &&
         !taken[Late].contains(value) && llvm::all_of(value.getUses(), [&](OpOperand &use) {
           auto apply = dyn_cast<ApplyOp>(use.getOwner());
           return apply && use.getOperandNumber() == 0 && members[Chain].contains(apply);
         });
}

/// Whether below this level nothing but products take the value, or too many numbers to keep them whole.
bool PhaseSplitter::isRounded(Value value) {
  if (isPrecise(value))
    return false;
  if (isExact || tensorOf(value).getRank() != 2 || llvm::is_contained(tensorOf(value).getShape(), 1))
    return false;
  if (value.getDefiningOp<StateOp>() && isSystemState(value))
    return false;
  bool isOnlyLate = given[Early].contains(value) && !taken[Chain].contains(value);
  return !isOnlyLate || llvm::all_of(value.getUsers(), [&](Operation *user) {
    return !members[Late].contains(user) || isa<InteractionOp, ReadOp, ApplyOp>(user);
  });
}

/// Whether it has the shape of a state, and no rows of tokens.
static bool isWhole(const llvm::DenseSet<Operation *> &path, Value value) {
  if (tensorOf(value).getRank() > 2) // the state as a matrix of one token
    return false;
  Operation *maker = value.getDefiningOp();
  if (llvm::any_of(value.getUsers(), llvm::IsaPred<NextOp>)) // whatever the state was before
    return true;
  return isa<StateOp, AdvanceOp, ReshapeStateOp>(maker) && (isa<StateOp>(maker) || path.contains(maker));
}

/// Moves what is computed number by number for one op to that op, so that fewer values are there at the same time.
static void delayMaps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto map = dyn_cast<MapOp>(op); map && isElementwise(map.getFunction()) && op.hasOneUse())
      if (Operation *user = *op.user_begin(); user->getBlock() == &block)
        op.moveBefore(user);
}

/// Moves what is computed number by number for a later phase alone to the last of what it is computed from, so that
/// this need not be there any longer.
static void hastenGiven(Block &block) {
  for (GiveOp give : llvm::make_early_inc_range(block.getOps<GiveOp>())) {
    auto map = give.getValue().getDefiningOp<MapOp>();
    if (!map || !isElementwise(map.getFunction()) || !map->hasOneUse())
      continue;
    Operation *last = nullptr;
    for (Value operand : map.getOperands())
      if (Operation *maker = operand.getDefiningOp(); !last || last->isBeforeInBlock(maker))
        last = maker;
    // Others that were moved behind the same op come first.
    while (isa_and_nonnull<MapOp, GiveOp>(last->getNextNode()) && last->getNextNode() != map)
      last = last->getNextNode();
    if (last->isBeforeInBlock(map)) {
      map->moveAfter(last);
      give->moveAfter(map);
    }
  }
}

Value PhaseSplitter::take(OpBuilder &builder, Value value) {
  DenseI64ArrayAttr triangle;
  if (std::optional<recur::analysis::Triangle> known = structure.findTriangle(value))
    triangle = builder.getDenseI64ArrayAttr({known->rowsPerToken, known->columnsPerToken});
  return TakeOp::create(builder, value.getLoc(), value.getType(), nameOf(value), isWhole(path, value), isRounded(value),
                        triangle, isPrecise(value));
}

ProgramOp PhaseSplitter::build(OpBuilder &builder, Phase phase) {
  auto result = ProgramOp::create(builder, program.getLoc(), (program.getSymName() + suffixes[phase]).str(),
                                  program.getDims(), program.getChunk());
  result.setFactorsAttr(program.getFactorsAttr());
  result.setBackward(program.getBackward());
  result.setKeeps(program.getKeeps() && phase == Chain);
  result.setExact(isExact || program.getExact() ||
                  (solvesApart && phase == Late)); // what solves the systems says whether it need not be
  OpBuilder inside = OpBuilder::atBlockBegin(&result.getBody().front());
  IRMapping copies;
  llvm::SetVector<Value> used;
  for (Operation *op : members[phase])
    for (Value value : findUsedValues(op))
      used.insert(value);
  for (size_t i = 0; i < used.size(); ++i) // what an input has behind its rows
    if (auto input = used[i].getDefiningOp<InputOp>(); input && input.getBehind())
      used.insert(input.getBehind());
  llvm::DenseMap<Value, Value> takes;
  for (Value value : taken[phase]) {
    takes[value] = take(inside, value);
    copies.map(value, takes[value]);
  }
  for (Operation &op : block) {
    bool isDeclaredHere = isDeclared(&op) && used.contains(op.getResult(0)) && !copies.contains(op.getResult(0));
    if (!isDeclaredHere && !members[phase].contains(&op))
      continue;
    Operation *copy = inside.clone(op, copies);
    // What bounds the state is taken, also where the phase makes the same for itself.
    if (auto remains = dyn_cast<RemainsOp>(op); remains && taken[phase].contains(remains.getBound()))
      copy->setOperand(0, takes.lookup(remains.getBound()));
  }
  for (Value value : given[phase]) {
    if (phase == Early) // at once, so that its place is free for others
      inside.setInsertionPointAfter(copies.lookup(value).getDefiningOp());
    GiveOp::create(inside, value.getLoc(), nameOf(value), isWhole(path, value), isRounded(value), copies.lookup(value),
                   isPrecise(value));
  }
  if (phase == Early) {
    delayMaps(result.getBody().front());
    hastenGiven(result.getBody().front());
  }
  return result;
}

bool PhaseSplitter::split(OpBuilder &builder) {
  isExact = !solvesApart && cancels(program);
  if (!assign())
    return false;
  for (Phase phase : {Remains, Early, Chain, Late, Sums}) {
    if (members[phase].empty() && (phase != Chain || sums.size() == program.getStates().size()))
      continue;
    ProgramOp made = build(builder, phase);
    builder.setInsertionPointAfter(made);
    if ((solvesApart || program.getSummaryOf()) && phase == Chain)
      separateChains(made);
  }
  return true;
}
