#include "Transforms/Chunk/SideDecay.h"

using namespace mlir;
using namespace recur::chunk;

namespace {

/// What a value on the path is scaled by, beyond the map from the other side.
enum class Scale {
  None,    // nothing: the state as the chunk finds it
  Through, // each row of a token: the decay from the chunk's start up to and with the token
  Total,   // the decay of the whole chunk
};

class ScaleFinder {
public:
  ScaleFinder(const StatePath &path, SummaryKind side) : path(path), right(side == SummaryKind::Right) {}
  /// Whether what the op gives has a scale.
  bool visit(Operation *op);
  std::optional<Scale> of(Value value) const {
    auto known = scales.find(value);
    return known == scales.end() ? std::nullopt : std::optional(known->second);
  }
  void set(Value value, Scale scale) { scales[value] = scale; }

  Value steps;
  bool linear = false;
  llvm::SmallPtrSet<Operation *, 4> scalings;

private:
  bool isDecay(Value candidate, bool isLinear);
  std::optional<DecayRange> rangeOf(Value factor);
  std::optional<Scale> scaleOf(Operation *op);
  std::optional<Scale> scaleOf(MapOp op);
  std::optional<Scale> scaleOf(AdvanceOp op);
  std::optional<Scale> gathered(Value matrix, Value values, Value decay, bool isLinear,
                                std::optional<llvm::ArrayRef<int64_t>> points);
  /// What all operands that are on the path have in common.
  std::optional<Scale> shared(Operation *op) const;

  const StatePath &path;
  bool right;
  llvm::DenseMap<Value, Scale> scales;
};

} // namespace

/// Whether these are the steps that scale: the first that are met are.
bool ScaleFinder::isDecay(Value candidate, bool isLinear) {
  if (tensorOf(candidate).getRank() != 2)
    return false;
  if (!steps) {
    steps = candidate;
    linear = isLinear;
  }
  return steps == candidate && linear == isLinear;
}

/// The range whose steps a factor multiplies, for each row of a token the same.
std::optional<DecayRange> ScaleFinder::rangeOf(Value factor) {
  if (auto decay = factor.getDefiningOp<CumulativeDecayOp>())
    return isDecay(decay.getDecay(), decay.getLinear()) ? std::optional(decay.getRange()) : std::nullopt;
  auto rows = factor.getDefiningOp<InterleaveOp>();
  if (!rows || !llvm::all_equal(rows->getOperands()))
    return std::nullopt;
  return rangeOf(rows->getOperand(0));
}

std::optional<Scale> ScaleFinder::shared(Operation *op) const {
  std::optional<Scale> scale;
  for (unsigned number : path.operandsOnPath(op)) {
    std::optional<Scale> own = of(op->getOperand(number));
    if (!own || (scale && scale != own))
      return std::nullopt;
    scale = own;
  }
  return scale;
}

std::optional<Scale> ScaleFinder::scaleOf(MapOp op) {
  SmallVector<unsigned, 3> own = path.operandsOnPath(op);
  if (op.getFunction() == Function::Add || op.getFunction() == Function::Sub || op.getFunction() == Function::Neg)
    return shared(op);
  bool isProduct = op.getFunction() == Function::Mul;
  if (own.size() != 1 || !(isProduct || (op.getFunction() == Function::Div && own[0] == 0)))
    return std::nullopt;
  std::optional<Scale> scale = of(op.getOperands()[own[0]]);
  Value other = op.getOperands()[1 - own[0]];
  if (!scale || tensorOf(other).getRank() == 1)
    return scale;
  std::optional<DecayRange> range = isProduct ? rangeOf(other) : std::nullopt;
  if (!range)
    return std::nullopt;
  scalings.insert(op);
  if (scale == Scale::None && range == DecayRange::Through)
    return Scale::Through;
  if (scale == Scale::Through && range == DecayRange::After)
    return Scale::Total;
  return std::nullopt;
}

/// The scale that rows see on the values which they gather from writes. Values decay on their way: a row that looks
/// after its token's decay finds values of the scale `through` with that scale at its own token.
std::optional<Scale> ScaleFinder::gathered(Value matrix, Value values, Value decay, bool isLinear,
                                           std::optional<llvm::ArrayRef<int64_t>> points) {
  if (path.contains(matrix) || !decay || !isDecay(decay, isLinear) || of(values) != Scale::Through ||
      llvm::is_contained(*points, beforeDecay))
    return std::nullopt;
  return Scale::Through;
}

std::optional<Scale> ScaleFinder::scaleOf(AdvanceOp op) {
  Value values = right ? op.getValues() : op.getKeys(), keys = right ? op.getKeys() : op.getValues();
  Value decay = right ? op.getRowDecay() : op.getColumnDecay();
  if (!path.contains(op.getState()) || of(op.getState()) != Scale::None || path.contains(keys) || !decay ||
      rangeOf(decay) != DecayRange::Total)
    return std::nullopt;
  if (path.contains(values) && of(values) != Scale::Total)
    return std::nullopt;
  return Scale::Total;
}

std::optional<Scale> ScaleFinder::scaleOf(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return scaleOf(map);
  if (auto advance = dyn_cast<AdvanceOp>(op))
    return scaleOf(advance);
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getLeft() == right || path.contains(read.getRows()) ? std::nullopt : of(read.getState());
  if (auto solve = dyn_cast<SolveOp>(op))
    return gathered(solve.getMatrix(), solve.getValues(), solve.getDecay(), solve.getLinear(), solve.getPoints());
  if (auto apply = dyn_cast<ApplyOp>(op))
    return gathered(apply.getMatrix(), apply.getValues(), apply.getDecay(), apply.getLinear(), apply.getPoints());
  if (isa<InterleaveOp, DeinterleaveOp>(op))
    return shared(op);
  return std::nullopt;
}

bool ScaleFinder::visit(Operation *op) {
  std::optional<Scale> scale = op->getNumResults() == 1 ? scaleOf(op) : std::nullopt;
  if (scale)
    set(op->getResult(0), *scale);
  return bool(scale);
}

std::optional<SideDecay> SideDecay::find(const StatePath &path, SummaryKind side) {
  ScaleFinder finder(path, side);
  finder.set(path.getState(), Scale::None);
  if (!llvm::all_of(path.getOps(), [&](Operation *op) { return finder.visit(op); }))
    return std::nullopt;
  Value next = cast<StateOp>(path.getState().getDefiningOp()).getNext().getValue();
  if (finder.of(next) != Scale::Total)
    return std::nullopt;
  SideDecay found(side);
  found.steps = finder.steps;
  found.linear = finder.linear;
  found.scalings = finder.scalings;
  return found;
}

SmallVector<Operation *> SideDecay::copyWithout(OpBuilder &builder, const StatePath &path, IRMapping &copies) const {
  SmallVector<Operation *> copied;
  for (Operation *op : path.getOps()) {
    if (scalings.contains(op)) {
      unsigned own = path.operandsOnPath(op)[0];
      copies.map(op->getResult(0), copies.lookupOrDefault(op->getOperand(own)));
      continue;
    }
    Operation *copy = builder.clone(*op, copies);
    if (auto advance = dyn_cast<AdvanceOp>(copy))
      (side == SummaryKind::Right ? advance.getRowDecayMutable() : advance.getColumnDecayMutable()).clear();
    else if (auto decayed = dyn_cast<DecayedOpInterface>(copy))
      decayed.dropDecay();
    copied.push_back(copy);
  }
  return copied;
}
