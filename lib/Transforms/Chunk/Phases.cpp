// A program as several, of which one alone goes from chunk to chunk.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/StatePath.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "mlir/IR/IRMapping.h"

namespace recur::chunk {
#define GEN_PASS_DEF_PHASESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

enum Phase { Early, Chain, Late, PhaseCount };
constexpr const char *suffixes[] = {"_early", "_chain", "_late"};

class PhaseSplitter {
public:
  explicit PhaseSplitter(ProgramOp program) : program(program), block(program.getBody().front()) {}
  /// Puts the phases behind the program; gives whether there are any.
  bool split(OpBuilder &builder);

private:
  bool assign();
  bool isMadeAnew(Operation *op);
  void need(Operation *op, Phase phase);
  bool canBeTaken(Value value);
  bool isThere(Value value);
  bool isRounded(Value value);
  ProgramOp build(OpBuilder &builder, Phase phase);
  std::string nameOf(Value value);

  ProgramOp program;
  Block &block;
  bool isExact = false;
  llvm::DenseSet<Operation *> path, dependents;
  llvm::DenseSet<Operation *> members[PhaseCount]; // ops that a phase computes
  llvm::SetVector<Value> leaving;                  // values that cross from one phase to others
  llvm::SetVector<Value> taken[PhaseCount];
  llvm::SetVector<Value> given[PhaseCount];
  llvm::DenseMap<Value, std::string> names;
};

struct PhasesPass : recur::chunk::impl::PhasesPassBase<PhasesPass> {
  using PhasesPassBase::PhasesPassBase;
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
      if (program.getSummaryOf() || program.getBackward())
        continue;
      OpBuilder builder(program->getContext());
      builder.setInsertionPointAfter(program);
      if (PhaseSplitter(program).split(builder))
        program.erase();
    }
  }
};

} // namespace

static bool isDeclared(Operation *op) { return isa<InputOp, ParamOp, StateOp, TakeOp>(op); }

/// What is made of inputs again where it is needed: loading it would take as long, or, of a matrix of the tokens,
/// forget that it is triangular.
bool PhaseSplitter::isMadeAnew(Operation *op) {
  if (isDeclared(op) || isa<ConstantOp>(op))
    return true;
  if (dependents.contains(op))
    return false;
  auto map = dyn_cast<MapOp>(op);
  bool isCheap = isa<CumulativeDecayOp, InteractionOp, BroadcastOp, ExtractOp, InterleaveOp, DeinterleaveOp>(op) ||
                 (map && isElementwise(map.getFunction()));
  return isCheap && llvm::all_of(op->getOperands(), [&](Value operand) { return isMadeAnew(operand.getDefiningOp()); });
}

/// A matrix of the tokens is not taken.
bool PhaseSplitter::canBeTaken(Value value) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (isa<InteractionOp, InverseOp>(op))
      return false;
    if (isa<MapOp, DeinterleaveOp, InterleaveOp>(op))
      llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// Whether the late phase may take what no state enters, since the early one has it.
bool PhaseSplitter::isThere(Value value) {
  return leaving.contains(value) || (members[Early].contains(value.getDefiningOp()) && canBeTaken(value));
}

void PhaseSplitter::need(Operation *op, Phase phase) {
  if (!members[phase].insert(op).second)
    return;
  for (Value value : findUsedValues(op)) {
    Operation *maker = value.getDefiningOp();
    if (isDeclared(maker) && !(isa<StateOp>(maker) && phase == Late))
      continue;
    bool isOwn = isa<ConstantOp>(maker) || (phase == Chain && path.contains(maker)) || phase == Early ||
                 (phase == Late &&
                  ((dependents.contains(maker) && !path.contains(maker) && !isa<StateOp>(maker)) ||
                   (!dependents.contains(maker) && !isa<StateOp>(maker) && (isMadeAnew(maker) || !isThere(value)))));
    if (isOwn) {
      need(maker, phase);
      continue;
    }
    leaving.insert(value);
    taken[phase].insert(value);
  }
}

bool PhaseSplitter::assign() {
  SmallVector<Value> states;
  for (StateOp state : program.getStates()) {
    if (tensorOf(state).getRank() == 0)
      return false;
    states.push_back(state);
    StatePath own(state);
    path.insert(own.getOps().begin(), own.getOps().end());
  }
  if (states.empty())
    return false;
  for (Operation *op : findDependents(block, states))
    dependents.insert(op);
  for (Operation *op : path) {
    auto map = dyn_cast<MapOp>(op);
    if (!isa<ReadOp, AdvanceOp, ReshapeStateOp>(op) && !(map && isElementwise(map.getFunction())))
      return false;
  }
  // The chain first, for what it takes is there for the late phase as well.
  for (Operation &op : block) {
    if (isa<NextOp>(op))
      need(&op, Chain);
    auto output = dyn_cast<OutputOp>(op);
    if (output && path.contains(output.getValue().getDefiningOp()))
      need(&op, Chain);
  }
  for (Value value : leaving)
    if (Operation *maker = value.getDefiningOp(); !dependents.contains(maker) && !isa<StateOp>(maker))
      need(maker, Early);
  for (Operation &op : block)
    if (auto output = dyn_cast<OutputOp>(op); output && !path.contains(output.getValue().getDefiningOp()))
      need(&op, Late);
  for (Value value : leaving) {
    Operation *maker = value.getDefiningOp();
    if (!canBeTaken(value))
      return false;
    if (isa<StateOp>(maker) || path.contains(maker)) {
      given[Chain].insert(value);
    } else if (dependents.contains(maker)) {
      return false; // one state's values go through matrices of the tokens on their way to another
    } else {
      given[Early].insert(value);
      need(maker, Early);
    }
  }
  return !members[Early].empty() || !members[Late].empty();
}

std::string PhaseSplitter::nameOf(Value value) {
  std::string &name = names[value];
  if (name.empty()) {
    auto state = value.getDefiningOp<StateOp>();
    name = state ? state.getName().str() : std::to_string(names.size() - 1);
  }
  return name;
}

/// Whether below this level nothing but products take the value, or too many numbers to keep them whole.
bool PhaseSplitter::isRounded(Value value) {
  if (isExact || tensorOf(value).getRank() != 2 || tensorOf(value).getDimSize(0) == 1)
    return false;
  bool isOnlyLate = given[Early].contains(value) && !taken[Chain].contains(value);
  return !isOnlyLate || llvm::all_of(value.getUsers(), [&](Operation *user) {
    return !members[Late].contains(user) || isa<InteractionOp, ReadOp, ApplyOp>(user);
  });
}

static bool isWhole(const llvm::DenseSet<Operation *> &path, Value value) {
  Operation *maker = value.getDefiningOp();
  return isa<StateOp, AdvanceOp, ReshapeStateOp>(maker) && (isa<StateOp>(maker) || path.contains(maker));
}

/// Moves what is computed number by number for one op to that op, so that fewer values are there at the same time.
static void delayMaps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto map = dyn_cast<MapOp>(op); map && isElementwise(map.getFunction()) && op.hasOneUse())
      if (Operation *user = *op.user_begin(); user->getBlock() == &block)
        op.moveBefore(user);
}

ProgramOp PhaseSplitter::build(OpBuilder &builder, Phase phase) {
  auto result = ProgramOp::create(builder, program.getLoc(), (program.getSymName() + suffixes[phase]).str(),
                                  program.getDims(), program.getChunk());
  result.setExact(isExact);
  OpBuilder inside = OpBuilder::atBlockBegin(&result.getBody().front());
  IRMapping copies;
  llvm::SetVector<Value> used;
  for (Operation *op : members[phase])
    for (Value value : findUsedValues(op))
      used.insert(value);
  for (Value value : taken[phase])
    copies.map(value, TakeOp::create(inside, value.getLoc(), value.getType(), nameOf(value), isWhole(path, value),
                                     isRounded(value))
                          .getResult());
  for (Operation &op : block) {
    bool isDeclaredHere = isDeclared(&op) && used.contains(op.getResult(0)) && !copies.contains(op.getResult(0));
    if (!isDeclaredHere && !members[phase].contains(&op))
      continue;
    inside.clone(op, copies);
  }
  for (Value value : given[phase]) {
    if (phase == Early) // at once, so that its place is free for others
      inside.setInsertionPointAfter(copies.lookup(value).getDefiningOp());
    GiveOp::create(inside, value.getLoc(), nameOf(value), isWhole(path, value), isRounded(value), copies.lookup(value));
  }
  if (phase == Early)
    delayMaps(result.getBody().front());
  return result;
}

bool PhaseSplitter::split(OpBuilder &builder) {
  isExact = cancels(program);
  if (!assign())
    return false;
  for (Phase phase : {Early, Chain, Late}) {
    if (phase != Chain && members[phase].empty())
      continue;
    ProgramOp made = build(builder, phase);
    builder.setInsertionPointAfter(made);
  }
  return true;
}
