#include "Transforms/Chunk/SystemStates.h"
#include "Analysis/GramSystems.h"
#include "Transforms/Chunk/ScaledRows.h"

using namespace mlir;
using namespace recur::chunk;

/// What carries the state on: one product, which scales it as it came. Null if it is something else.
static AdvanceOp findAdvance(ProgramOp program, Value state) {
  for (NextOp next : program.getBody().getOps<NextOp>()) {
    if (next.getState() != state)
      continue;
    auto advance = next.getValue().getDefiningOp<AdvanceOp>();
    bool isPlain = advance && advance.getState() == state && !advance.getRowDecay() && advance->hasOneUse();
    return isPlain ? advance : AdvanceOp();
  }
  return {};
}

/// The rows that a product adds as they came, with what scales them moved to the other factor; null where they did not
/// come so.
static ScaledRows matchWritten(AdvanceOp advance) {
  if (advance.getValues().getDefiningOp<InputOp>())
    return {{}, advance.getValues()};
  ScaledRows scaled = matchScaledRows(advance.getValues());
  return scaled && scaled.rows.getDefiningOp<InputOp>() ? scaled : ScaledRows();
}

bool recur::chunk::isSystemState(Value state) {
  return llvm::any_of(state.getUsers(), [](Operation *user) { return user->getParentOfType<CgOp>() != nullptr; });
}

/// The numbers as those that bf16 has and what is left of them: times 2^16 + 1 only the upper 8 bits of a number of
/// float32 remain, when it is taken away from that again.
static std::pair<Value, Value> takeApart(OpBuilder &builder, Location loc, Value rows) {
  constexpr double below = 65537;
  auto map = [&](Function function, Value a, Value b) -> Value {
    return MapOp::create(builder, loc, function, ValueRange{a, b});
  };
  Value factor = ConstantOp::create(builder, loc, below, makeTensor(builder.getContext(), {1}));
  Value wide = map(Function::Mul, factor, rows);
  Value upper = map(Function::Sub, wide, map(Function::Sub, wide, rows));
  return {upper, map(Function::Sub, rows, upper)};
}

static void separate(AdvanceOp advance) {
  OpBuilder builder(advance);
  Location loc = advance.getLoc();
  ScaledRows written = matchWritten(advance);
  Value keys = advance.getKeys();
  if (written.factor)
    keys = MapOp::create(builder, loc, Function::Mul, ValueRange{written.factor, keys});
  auto [upper, lower] = takeApart(builder, loc, keys);
  Value first =
      AdvanceOp::create(builder, loc, advance.getState(), written.rows, upper, advance.getColumnDecay(), Value(),
                        /*precise=*/false);
  Value both = AdvanceOp::create(builder, loc, first, written.rows, lower, Value(), Value(), /*precise=*/false);
  advance.replaceAllUsesWith(both);
  advance.erase();
}

bool recur::chunk::separateSystemStates(ProgramOp program, int64_t channels) {
  SmallVector<AdvanceOp> advances;
  for (StateOp state : program.getStates()) {
    auto type = tensorOf(state);
    if (type.getRank() != 2 || type.getDimSize(0) % channels != 0 || type.getDimSize(1) > 2 * channels)
      return false;
    if (!isSystemState(state))
      continue;
    AdvanceOp advance = findAdvance(program, state);
    if (!advance || !matchWritten(advance).rows)
      return false;
    advances.push_back(advance);
  }
  if (!recur::analysis::cancelsInGramSystemsAlone(program))
    return false;
  llvm::for_each(advances, separate);
  return true;
}

/// Erases what only states other than this one need.
static void keepOnly(ProgramOp program, StringRef name) {
  auto isOther = [&](Value value) {
    auto state = value.getDefiningOp<StateOp>();
    return state && state.getName() != name;
  };
  Block &block = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    bool isOthers = (isa<NextOp>(op) && isOther(cast<NextOp>(op).getState())) ||
                    (isa<GiveOp>(op) && isOther(cast<GiveOp>(op).getValue()));
    if (isOthers || (op.use_empty() && op.getNumResults() && !op.hasTrait<OpTrait::IsTerminator>()))
      op.erase();
  }
}

void recur::chunk::separateChains(ProgramOp program) {
  SmallVector<std::string> names;
  for (StateOp state : program.getStates())
    names.push_back(state.getName().str());
  OpBuilder builder(program);
  SmallVector<ProgramOp> parts;
  for (StringRef name : names) {
    auto part = cast<ProgramOp>(builder.clone(*program));
    part.setSymName((program.getSymName() + "_" + name).str());
    keepOnly(part, name);
    parts.push_back(part);
  }
  bool areApart = llvm::all_of(parts, [](ProgramOp part) { return llvm::hasSingleElement(part.getStates()); });
  if (areApart)
    program.erase();
  else
    for (ProgramOp part : parts)
      part.erase();
}
