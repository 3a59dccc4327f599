// Values that are affine in states, taken apart: what no state enters, and one read of each state.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SEPARATESTATESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// free + the sum of `read rows, state`. Without a free part that is zero.
struct Affine {
  struct Read {
    Value rows, state;
    bool left;
  };
  Value free;
  SmallVector<Read, 1> reads;
  bool isSolved = false; // a matrix of the tokens has been multiplied or solved with
};

class Separator {
public:
  explicit Separator(ProgramOp program) : block(program.getBody().front()), builder(program.getContext()) {
    SmallVector<Value> states;
    for (StateOp state : program.getStates())
      states.push_back(state);
    dependents = findDependents(block, states);
    hasSeveral = !program.getBackward() &&
                 llvm::count_if(states, [](Value state) { return tensorOf(state).getRank() == 2; }) > 1;
  }
  void run();

private:
  bool isFree(Value value) { return !dependents.contains(value.getDefiningOp()) && !value.getDefiningOp<StateOp>(); }
  std::optional<Affine> derive(Operation *op);
  std::optional<Affine> deriveMap(MapOp op);
  /// The same op on each part.
  std::optional<Affine> mapParts(const Affine &from, llvm::function_ref<Value(Value)> apply);
  Value findUnscaled(Value value);
  void materialize(Value value, const Affine &affine);

  Block &block;
  OpBuilder builder;
  llvm::SetVector<Operation *> dependents;
  /// Matrix states, of which a chain reads each with the same rows, and then applies an inverse once.
  bool hasSeveral;
  llvm::DenseMap<Value, Affine> affines;
};

struct SeparateStatesPass : recur::chunk::impl::SeparateStatesPassBase<SeparateStatesPass> {
  using SeparateStatesPassBase::SeparateStatesPassBase;
  void runOnOperation() override { Separator(getOperation()).run(); }
};

} // namespace

std::optional<Affine> Separator::mapParts(const Affine &from, llvm::function_ref<Value(Value)> apply) {
  Affine result = from;
  if (from.free)
    result.free = apply(from.free);
  for (Affine::Read &read : result.reads)
    read.rows = apply(read.rows);
  return result;
}

/// Rows that are scaled, added and subtracted.
std::optional<Affine> Separator::deriveMap(MapOp op) {
  Location loc = op.getLoc();
  auto known = [&](Value value) { return affines.find(value); };
  OperandRange operands = op.getOperands();
  Function function = op.getFunction();
  auto none = affines.end();
  if (function == Function::Neg) {
    if (auto from = known(operands[0]); from != none)
      return mapParts(from->second,
                      [&](Value part) -> Value { return MapOp::create(builder, loc, function, ValueRange{part}); });
    return std::nullopt;
  }
  if (function == Function::Mul || function == Function::Div) {
    for (unsigned own : {0, 1}) {
      Value factor = operands[1 - own];
      auto from = known(operands[own]);
      // One number a row: then it scales rows that are read as it scales what is read.
      if (from == none || !isFree(factor) || tensorOf(factor).getRank() != 1 || (own == 1 && function == Function::Div))
        continue;
      return mapParts(from->second, [&](Value part) -> Value {
        return MapOp::create(builder, loc, function, own ? ValueRange{factor, part} : ValueRange{part, factor});
      });
    }
    return std::nullopt;
  }
  if (function != Function::Add && function != Function::Sub)
    return std::nullopt;
  std::optional<Affine> sides[2];
  for (unsigned i : {0, 1}) {
    if (operands[i].getType() != op.getResult().getType())
      return std::nullopt;
    if (auto from = known(operands[i]); from != none)
      sides[i] = from->second;
    else if (isFree(operands[i]))
      sides[i] = Affine{operands[i], {}};
    else
      return std::nullopt;
  }
  bool subtracts = function == Function::Sub;
  auto negated = [&](Value part) -> Value {
    return subtracts ? MapOp::create(builder, loc, Function::Neg, ValueRange{part}).getResult() : part;
  };
  Affine sum = *sides[0];
  sum.isSolved |= sides[1]->isSolved;
  if (Value free = sides[1]->free)
    sum.free = sum.free ? MapOp::create(builder, loc, function, ValueRange{sum.free, free}).getResult() : negated(free);
  for (const Affine::Read &read : sides[1]->reads) {
    auto *same = llvm::find_if(
        sum.reads, [&](const Affine::Read &other) { return other.state == read.state && other.left == read.left; });
    if (same != sum.reads.end())
      same->rows = MapOp::create(builder, loc, function, ValueRange{same->rows, read.rows});
    else
      sum.reads.push_back({negated(read.rows), read.state, read.left});
  }
  return sum;
}

std::optional<Affine> Separator::derive(Operation *op) {
  builder.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  if (auto read = dyn_cast<ReadOp>(op)) {
    if (!isFree(read.getRows()) || !read.getState().getDefiningOp<StateOp>())
      return std::nullopt;
    return Affine{{}, {{read.getRows(), read.getState(), read.getLeft()}}};
  }
  if (auto map = dyn_cast<MapOp>(op))
    return deriveMap(map);
  auto known = [&](Value value) { return affines.find(value); };
  auto none = affines.end();
  std::optional<Affine> result;
  if (auto solve = dyn_cast<SolveOp>(op)) {
    auto from = known(solve.getValues());
    if (solve.getDecay() || from == none || !isFree(solve.getMatrix()))
      return std::nullopt;
    result = mapParts(from->second, [&](Value part) -> Value {
      return SolveOp::create(builder, loc, solve.getMatrix(), part, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(),
                             false);
    });
  } else if (auto apply = dyn_cast<ApplyOp>(op)) {
    auto from = known(apply.getValues());
    bool staysApplied = hasSeveral && apply.getMatrix().getDefiningOp<InverseOp>();
    if (apply.getDecay() || from == none || !isFree(apply.getMatrix()) || staysApplied)
      return std::nullopt;
    result = mapParts(from->second, [&](Value part) -> Value {
      return ApplyOp::create(builder, loc, apply.getMatrix(), part, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(),
                             false);
    });
  } else if (auto apply = dyn_cast<ApplyTransposedOp>(op)) {
    auto from = known(apply.getValues());
    if (apply.getDecay() || from == none || !isFree(apply.getMatrix()))
      return std::nullopt;
    result = mapParts(from->second, [&](Value part) -> Value {
      return ApplyTransposedOp::create(builder, loc, apply.getMatrix(), part, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                       Value(), false);
    });
  } else if (auto solve = dyn_cast<SolveTransposedOp>(op)) {
    auto from = known(solve.getValues());
    if (solve.getDecay() || from == none || !isFree(solve.getMatrix()))
      return std::nullopt;
    result = mapParts(from->second, [&](Value part) -> Value {
      return SolveTransposedOp::create(builder, loc, solve.getMatrix(), part, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                       Value(), false);
    });
  } else if (auto rows = dyn_cast<DeinterleaveOp>(op)) {
    auto from = known(rows.getOperand());
    if (from == none)
      return std::nullopt;
    return mapParts(from->second, [&](Value part) -> Value {
      return DeinterleaveOp::create(builder, loc, part, rows.getStep(), rows.getSteps());
    });
  } else if (auto rows = dyn_cast<InterleaveOp>(op)) {
    // All rows read the same states, and have the same parts.
    SmallVector<Affine> parts;
    for (Value operand : rows.getOperands()) {
      auto from = known(operand);
      if (from == none)
        return std::nullopt;
      parts.push_back(from->second);
      const Affine &first = parts.front(), &part = parts.back();
      if (bool(part.free) != bool(first.free) || part.reads.size() != first.reads.size())
        return std::nullopt;
      for (auto [a, b] : llvm::zip(part.reads, first.reads))
        if (a.state != b.state || a.left != b.left)
          return std::nullopt;
    }
    auto gather = [&](llvm::function_ref<Value(const Affine &)> part) -> Value {
      return InterleaveOp::create(builder, loc, llvm::map_to_vector(parts, part));
    };
    result = parts.front();
    for (const Affine &part : parts)
      result->isSolved |= part.isSolved;
    if (result->free)
      result->free = gather([](const Affine &part) { return part.free; });
    for (auto [i, read] : llvm::enumerate(result->reads))
      read.rows = gather([i = i](const Affine &part) { return part.reads[i].rows; });
    return result;
  }
  if (result)
    result->isSolved = true;
  return result;
}

void Separator::materialize(Value value, const Affine &affine) {
  // The parts stand right behind the value, before whatever takes it.
  Operation *last = value.getDefiningOp();
  auto follow = [&](Value part) {
    if (part && last->isBeforeInBlock(part.getDefiningOp()))
      last = part.getDefiningOp();
  };
  follow(affine.free);
  for (const Affine::Read &read : affine.reads)
    follow(read.rows);
  builder.setInsertionPointAfter(last);
  Value sum = affine.free;
  for (const Affine::Read &read : affine.reads) {
    Value part = ReadOp::create(builder, value.getLoc(), read.rows, read.state, read.left);
    sum = sum ? MapOp::create(builder, value.getLoc(), Function::Add, ValueRange{sum, part}).getResult() : part;
  }
  value.replaceAllUsesWith(sum);
}

/// What the value is but for a number or a sign of each row.
Value Separator::findUnscaled(Value value) {
  while (auto map = value.getDefiningOp<MapOp>()) {
    Function function = map.getFunction();
    if (function != Function::Neg && function != Function::Mul && function != Function::Div)
      break;
    auto own = llvm::find_if(map.getOperands(), [&](Value operand) {
      auto found = affines.find(operand);
      return found != affines.end() && found->second.isSolved;
    });
    if (own == map.getOperands().end())
      break;
    value = *own;
  }
  return value;
}

void Separator::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  // Only what an advance takes goes from chunk to chunk.
  SmallVector<Value> wanted;
  for (Operation *op : ops) {
    if (dependents.contains(op) && op->getNumResults() == 1)
      if (std::optional<Affine> affine = derive(op))
        affines[op->getResult(0)] = *affine;
    if (auto advance = dyn_cast<AdvanceOp>(op))
      for (Value operand : {advance.getValues(), advance.getKeys()})
        if (auto found = affines.find(operand); found != affines.end() && found->second.isSolved)
          wanted.push_back(operand);
  }
  // States that are written the same values, each scaled for itself, read once: the chain scales what was read.
  llvm::MapVector<Value, llvm::SetVector<Value>> scaled;
  for (Value value : wanted)
    scaled[findUnscaled(value)].insert(value);
  for (auto &[unscaled, values] : scaled) {
    Value value = values.size() == 1 ? values.front() : unscaled;
    materialize(value, affines.find(value)->second);
  }
  eraseUnused(block);
}
