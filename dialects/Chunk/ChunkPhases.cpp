#include "dialects/Chunk/ChunkPhases.h"
#include "dialects/Chunk/ChunkWindow.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace recur::chunk;

namespace {

/// Arrays by kind and name.
class Numbers {
public:
  explicit Numbers(ProgramOp program) {
    for (InputOp input : program.getInputs())
      add("input", input.getName(), arrayShape(input));
    for (ParamOp param : program.getParams())
      add("param", param.getName(), arrayShape(param));
    for (StateOp state : program.getStates())
      add("initial", state.getName(), state.getCallerShape());
    for (InitialOp initial : program.getInitials())
      add("initial", initial.getName(), tensorOf(initial).getShape());
    for (OutputOp output : program.getOutputs())
      add("output", output.getName(), arrayShape(output));
    for (StateOp state : program.getStates())
      add("final", state.getName(), state.getCallerShape());
    for (KeptOp kept : program.getKept())
      add("kept", kept.getName(), kept.getCallerShape());
    if (program.getKeeps())
      for (StateOp state : program.getStates())
        add("kept", state.getName(), state.getCallerShape());
  }
  void add(StringRef kind, StringRef name, ArrayRef<int64_t> shape) {
    arrays.try_emplace((kind + "." + name).str(), PhaseArray{count++, SmallVector<int64_t>(shape)});
  }
  bool has(StringRef kind, StringRef name) const { return arrays.contains((kind + "." + name).str()); }
  /// The array, as a phase has it that gives it this shape.
  PhaseArray find(StringRef kind, StringRef name, ArrayRef<int64_t> shape, Phase &phase) const {
    PhaseArray array = arrays.find((kind + "." + name).str())->second;
    for (auto [dim, sizes] : llvm::enumerate(llvm::zip(array.shape, shape)))
      if (auto [whole, part] = sizes; whole != part) {
        array.partDim = int(dim);
        array.channels = whole;
        phase.parts = llvm::divideCeil(whole, part);
      }
    array.shape.assign(shape.begin(), shape.end());
    return array;
  }

private:
  llvm::StringMap<PhaseArray> arrays;
  unsigned count = 0;
};

/// A value that one phase leaves to another, as the phase has it that takes or gives it.
struct Crossing {
  StringRef name;
  bool isWhole, isRounded;
  Value value;
  int64_t chunk; // of the phase: one may take fewer tokens at a time than the plan
  ArrayRef<int64_t> shape() const { return isWhole ? tensorOf(value).getShape() : shapePerToken(value); }
};

} // namespace

static SmallVector<Crossing> listCrossings(ProgramOp phase) {
  SmallVector<Crossing> crossings;
  for (TakeOp op : phase.getTaken())
    crossings.push_back({op.getName(), op.getWhole(), op.getRounded(), op, int64_t(phase.getChunk())});
  for (GiveOp op : phase.getGiven())
    crossings.push_back({op.getName(), op.getWhole(), op.getRounded(), op.getValue(), int64_t(phase.getChunk())});
  return crossings;
}

/// Whether nothing but `chunk.remains` takes what the phase leaves.
static bool givesBoundsAlone(ProgramOp phase, ArrayRef<ProgramOp> phases) {
  SmallVector<GiveOp> given = llvm::to_vector(phase.getGiven());
  auto isBound = [&](GiveOp give) {
    return llvm::all_of(phases, [&](ProgramOp other) {
      return llvm::all_of(other.getTaken(), [&](TakeOp take) {
        return take.getName() != give.getName() ||
               llvm::all_of(take->getUsers(), [](Operation *user) { return isa<RemainsOp>(user); });
      });
    });
  };
  return !given.empty() && phase.getOutputs().empty() && phase.getStates().empty() && llvm::all_of(given, isBound);
}

std::optional<Phases> recur::chunk::describePhases(ProgramOp program, ArrayRef<ProgramOp> phases,
                                                   ArrayRef<LeftArray> handed) {
  Phases result;
  Numbers numbers(program);
  for (const LeftArray &array : handed) {
    numbers.add("left", array.name, array.shape);
    result.left.push_back(array);
  }
  auto leave = [&](const Crossing &crossing) {
    if (numbers.has("left", crossing.name))
      return false;
    numbers.add("left", crossing.name, crossing.shape());
    int64_t rows = crossing.isWhole ? 1 : tensorOf(crossing.value).getDimSize(0);
    if (!crossing.isWhole && rows % crossing.chunk == 0)
      rows = rows / crossing.chunk * int64_t(program.getChunk());
    result.left.push_back(
        {crossing.name.str(), rows, SmallVector<int64_t>(crossing.shape()), crossing.isRounded, 0, false});
    return true;
  };
  // Phases whose chunks go in any order have no parts, so they have the whole of what they take and give.
  for (ProgramOp phase : phases)
    if (phase.getStates().empty())
      for (const Crossing &crossing : listCrossings(phase))
        leave(crossing);
  for (ProgramOp phase : phases) {
    bool leavesToChains = false;
    for (const Crossing &crossing : listCrossings(phase))
      leavesToChains |= leave(crossing);
    Phase described{phase.getSymName().str(), phase.getStates().empty(), givesBoundsAlone(phase, phases), 1, {}};
    auto add = [&](StringRef kind, StringRef name, ArrayRef<int64_t> shape) {
      described.arrays.push_back(numbers.find(kind, name, shape, described));
    };
    for (InputOp input : phase.getInputs())
      add("input", input.getName(), arrayShape(input));
    for (ParamOp param : phase.getParams())
      add("param", param.getName(), arrayShape(param));
    for (StateOp state : phase.getStates())
      add("initial", state.getName(), state.getCallerShape());
    for (InitialOp initial : phase.getInitials())
      add("initial", initial.getName(), tensorOf(initial).getShape());
    for (OutputOp output : phase.getOutputs())
      add("output", output.getName(), arrayShape(output));
    for (StateOp state : phase.getStates())
      add("final", state.getName(), state.getCallerShape());
    for (const Crossing &crossing : listCrossings(phase))
      add("left", crossing.name, crossing.shape());
    for (KeptOp kept : phase.getKept())
      add("kept", kept.getName(), kept.getCallerShape());
    if (phase.getKeeps())
      for (StateOp state : phase.getStates())
        add("kept", state.getName(), state.getCallerShape());
    if (leavesToChains && described.parts > 1)
      return std::nullopt;
    result.phases.push_back(std::move(described));
  }
  return result;
}

void recur::chunk::dropRemains(ProgramOp program) {
  SmallVector<RemainsOp> all(program.getBody().getOps<RemainsOp>());
  for (RemainsOp remains : all)
    if (!remains.getBound().getDefiningOp<TakeOp>())
      remains.erase();
  if (all.empty())
    return;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op) && !isa<TakeOp>(op))
      op.erase();
}

bool recur::chunk::holdsLastTokens(ProgramOp program) {
  SmallVector<StateOp> states(program.getStates());
  bool leavesRows = !program.getOutputs().empty() || !program.getGiven().empty() || program.getKeeps();
  return !states.empty() && !leavesRows && !program.getBackward() && llvm::all_of(states, [&](StateOp state) {
    if (auto loop = state.getNext().getValue().getDefiningOp<TokenLoopOp>()) {
      std::optional<Window> window = findWindow(loop);
      return window && loop.getStates().front() == state &&
             tensorOf(state).getDimSize(0) <= int64_t(program.getChunk()) &&
             bool(loop.getStreams()[window->stream].getDefiningOp<InputOp>());
    }
    auto last = state.getNext().getValue().getDefiningOp<LastOp>();
    Value rows = last ? last.getAll() : Value();
    uint64_t back = 0;
    for (; rows && rows.getDefiningOp<PreviousOp>(); ++back)
      rows = rows.getDefiningOp<PreviousOp>().getAll();
    if (auto parts = rows ? rows.getDefiningOp<ConcatOp>() : ConcatOp())
      return back < program.getChunk() &&
             llvm::all_of(parts.getOperands(), [](Value part) { return bool(part.getDefiningOp<InputOp>()); });
    return rows && rows.getDefiningOp<InputOp>() && back < program.getChunk();
  });
}

bool recur::chunk::cancels(ProgramOp program) {
  return program
      .walk([&](Operation *op) {
        auto read = dyn_cast<ReadOp>(op);
        bool mayCancel = read && tensorOf(read.getRows()).getShape().back() < int64_t(program.getChunk());
        return isa<CgOp, LoopOp>(op) || mayCancel ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
