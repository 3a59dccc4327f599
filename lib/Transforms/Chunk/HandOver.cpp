#include "Transforms/Chunk/HandOver.h"
#include "Analysis/ChunkStructure.h"
#include "Transforms/Chunk/Dependence.h"
#include "dialects/Chunk/ChunkAdjoints.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace recur::chunk;

void recur::chunk::keepMatricesFromZero(ProgramOp program) {
  llvm::DenseMap<Value, Value> kept;
  for (SolveOp solve : program.getBody().getOps<SolveOp>()) {
    Value scale = findCommonScale(solve).scale;
    if (!scale || isConstant(scale))
      continue;
    Value &known = kept[scale];
    if (!known) {
      OpBuilder behind(program.getContext());
      behind.setInsertionPointAfterValue(scale);
      ValueBuilder build(behind, solve.getLoc());
      known = keepFromZero(build, scale);
    }
    solve.getMatrix().getDefiningOp()->replaceUsesOfWith(scale, known);
  }
}

namespace {

/// Numbers that say what values are, whatever they are called and whichever phase makes them. Rounding on the way from
/// phase to phase does not count.
class Meanings {
public:
  explicit Meanings(ArrayRef<ProgramOp> phases) {
    for (ProgramOp phase : phases)
      for (GiveOp give : phase.getGiven())
        given[give.getName()] = give.getValue();
  }
  /// 0: nobody else's.
  uint64_t of(Value value) {
    auto [found, isNew] = known.try_emplace(value, 0);
    if (!isNew)
      return found->second;
    uint64_t meaning = find(value);
    return known[value] = meaning;
  }

private:
  uint64_t find(Value value);

  llvm::StringMap<Value> given;
  llvm::DenseMap<Value, uint64_t> known;
};

} // namespace

static bool isCommutative(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  return map && llvm::is_contained({Function::Add, Function::Mul, Function::Max, Function::Min, Function::Dot},
                                   map.getFunction());
}

static uint64_t digest(StringRef text) { return llvm::xxh3_64bits(text); }

uint64_t Meanings::find(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() > 0)
    return 0;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto take = dyn_cast<TakeOp>(op)) {
    Value left = given.lookup(take.getName());
    return left && left.getType() == value.getType() ? of(left) : 0;
  }
  // A gradient has as kept what the call forward has as a state.
  auto state = dyn_cast<StateOp>(op);
  auto kept = dyn_cast<KeptOp>(op);
  if (state || kept) {
    os << "state " << (state ? state.getName() : kept.getName()) << ' ' << value.getType();
    return digest(text);
  }
  SmallVector<uint64_t> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(of(operand));
    if (!operands.back())
      return 0;
  }
  if (isCommutative(op))
    llvm::sort(operands);
  os << op->getName() << ' ' << op->getAttrDictionary() << ' ' << cast<OpResult>(value).getResultNumber() << ' '
     << value.getType();
  for (uint64_t operand : operands)
    os << ' ' << operand;
  return digest(text);
}

void recur::chunk::findMeanings(Phases &described, ArrayRef<ProgramOp> phases) {
  Meanings meanings(phases);
  for (auto [phase, one] : llvm::zip(phases, described.phases)) {
    if (!one.isParallel || one.bounds)
      continue;
    // Columns of what is precise have another order.
    for (GiveOp give : ProgramOp(phase).getGiven())
      for (LeftArray &left : described.left)
        if (left.name == give.getName() && !give.getWhole() && !give.getPrecise())
          left.meaning = meanings.of(give.getValue());
  }
}

/// Whether the value is nothing but a matrix that is applied, which products with factors of 16 bits round.
static bool isFactorAlone(Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    auto apply = dyn_cast<ApplyOp>(use.getOwner());
    auto transposed = dyn_cast<ApplyTransposedOp>(use.getOwner());
    return use.getOperandNumber() == 0 && ((apply && !apply.getDecay()) || (transposed && !transposed.getDecay()));
  });
}

/// Whether products lead to it, which take longer than loading what they give.
static bool isOfProducts(Operation *op) {
  llvm::SetVector<Operation *> makers;
  BackwardSliceOptions inBlock;
  inBlock.omitBlockArguments = inBlock.inclusive = true;
  (void)getBackwardSlice(op, &makers, inBlock);
  return llvm::any_of(makers, llvm::IsaPred<InteractionOp, InverseOp, ApplyOp, ApplyTransposedOp, ReadOp>);
}

namespace {

class Taker {
public:
  Taker(ArrayRef<ProgramOp> phases, ArrayRef<LeftArray> offered, bool roundsFactors)
      : phases(phases), offered(offered), roundsFactors(roundsFactors), meanings(phases), taken(offered.size()) {}
  void takeLeft(ProgramOp phase);
  void takeValues(ProgramOp phase);

private:
  /// The place of what was offered and is the same; none, where that is less than nothing.
  int64_t findOffered(Value value, llvm::function_ref<bool(const LeftArray &)> isWanted);

  ArrayRef<ProgramOp> phases;
  ArrayRef<LeftArray> offered;
  bool roundsFactors;
  Meanings meanings;
  std::vector<bool> taken;
  llvm::DenseSet<Operation *> sparing; // phases of whose work others take some
};

} // namespace

static std::string nameHanded(int64_t place) { return "handed." + std::to_string(place); }

int64_t Taker::findOffered(Value value, llvm::function_ref<bool(const LeftArray &)> isWanted) {
  uint64_t meaning = meanings.of(value);
  for (auto [place, array] : llvm::enumerate(offered))
    if (meaning && array.meaning == meaning && array.rows == tensorOf(value).getDimSize(0) &&
        ArrayRef(array.shape) == ArrayRef(shapePerToken(value)) && isWanted(array))
      return int64_t(place);
  return -1;
}

static TakeOp findTaken(ProgramOp phase, StringRef name) {
  for (TakeOp take : phase.getTaken())
    if (take.getName() == name)
      return take;
  return {};
}

/// Two names may stand for the same.
static void rename(ProgramOp phase, TakeOp take, StringRef name) {
  if (TakeOp known = findTaken(phase, name)) {
    known->moveBefore(&phase.getBody().front(), phase.getBody().front().begin());
    take.replaceAllUsesWith(known.getResult());
    take.erase();
    return;
  }
  take.setName(name);
}

/// What a phase would leave to others they take from where it is.
void Taker::takeLeft(ProgramOp phase) {
  for (GiveOp give : llvm::to_vector(phase.getGiven())) {
    bool isRounded = give.getRounded() && roundsFactors;
    int64_t place =
        give.getWhole() || give.getPrecise()
            ? -1
            : findOffered(give.getValue(), [&](const LeftArray &array) { return array.isRounded == isRounded; });
    if (place < 0)
      continue;
    for (ProgramOp other : phases)
      for (TakeOp take : other.getTaken())
        if (take.getName() == give.getName())
          rename(other, take, nameHanded(place));
    give.erase();
    taken[size_t(place)] = true;
    sparing.insert(phase);
  }
}

/// What a phase makes by products for itself, it takes; and what others take of what it would have left. Phases behind
/// the chain make running sums in an order of their own.
void Taker::takeValues(ProgramOp phase) {
  recur::analysis::ChunkStructure structure(phase);
  Block &block = phase.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.getNumResults() != 1 || op.use_empty() || isa<InputOp, ParamOp, StateOp, KeptOp, InitialOp, TakeOp>(op))
      continue;
    Value value = op.getResult(0);
    int64_t place = findOffered(value, [&](const LeftArray &array) {
      return !array.isRounded || (roundsFactors && !phase.getExact() && isFactorAlone(value));
    });
    bool isTaken = place >= 0 && taken[size_t(place)] && sparing.contains(phase);
    if (place < 0 || (!isTaken && !isOfProducts(&op)))
      continue;
    TakeOp take = findTaken(phase, nameHanded(place));
    if (!take) {
      OpBuilder builder = OpBuilder::atBlockBegin(&block);
      DenseI64ArrayAttr triangle;
      if (std::optional<recur::analysis::Triangle> known = structure.findTriangle(value))
        triangle = builder.getDenseI64ArrayAttr({known->rowsPerToken, known->columnsPerToken});
      take = TakeOp::create(builder, value.getLoc(), value.getType(), nameHanded(place), /*whole=*/false,
                            offered[size_t(place)].isRounded, triangle, /*precise=*/false);
    }
    value.replaceAllUsesWith(take);
    taken[size_t(place)] = true;
  }
}

std::vector<LeftArray> recur::chunk::takeHanded(SmallVectorImpl<ProgramOp> &phases, ArrayRef<LeftArray> offered,
                                                bool roundsFactors) {
  SmallVector<ProgramOp> apart;
  for (ProgramOp phase : phases)
    if (phase.getStates().empty())
      apart.push_back(phase);
  Taker taker(phases, offered, roundsFactors);
  for (ProgramOp phase : apart)
    taker.takeLeft(phase);
  for (ProgramOp phase : apart)
    taker.takeValues(phase);
  for (ProgramOp phase : apart) {
    eraseUnused<InputOp, ParamOp, KeptOp, InitialOp, TakeOp>(phase.getBody().front());
    if (phase.getGiven().empty() && phase.getOutputs().empty()) {
      llvm::erase(phases, phase);
      phase.erase();
    }
  }
  std::vector<LeftArray> handed;
  for (auto [place, array] : llvm::enumerate(offered))
    if (llvm::any_of(phases, [&](ProgramOp phase) { return bool(findTaken(phase, nameHanded(int64_t(place)))); })) {
      handed.push_back(array);
      handed.back().name = nameHanded(int64_t(place));
      handed.back().isHanded = true;
    }
  return handed;
}
