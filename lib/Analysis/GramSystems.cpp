#include "Analysis/GramSystems.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;

/// The factors of rows and numbers of the tokens, in this order.
static std::optional<std::pair<Value, Value>> matchScaled(Value value) {
  auto map = value.getDefiningOp<chunk::MapOp>();
  if (!map || map.getFunction() != chunk::Function::Mul)
    return std::nullopt;
  Value rows = map.getOperands()[0], numbers = map.getOperands()[1];
  if (chunk::tensorOf(rows).getRank() != 2)
    std::swap(rows, numbers);
  if (chunk::tensorOf(rows).getRank() != 2 || chunk::tensorOf(numbers).getRank() != 1)
    return std::nullopt;
  return std::pair(rows, numbers);
}

/// The rows times the decay so far, or as they are where nothing decays; null if the value is something else.
static Value matchDecayed(Value value, Value decay) {
  if (!decay)
    return value;
  auto scaled = matchScaled(value);
  auto sofar = scaled ? scaled->second.getDefiningOp<chunk::CumulativeDecayOp>() : chunk::CumulativeDecayOp();
  bool isSame =
      sofar && sofar.getRange() == chunk::DecayRange::Through && !sofar.getLinear() && sofar.getDecay() == decay;
  return isSame ? scaled->first : Value();
}

/// What is read of the state, decayed before it is read or after; null if the value is something else.
static chunk::ReadOp matchRead(Value value, Value vectors, Value decay) {
  auto readOf = [](Value rows) { return rows ? rows.getDefiningOp<chunk::ReadOp>() : chunk::ReadOp(); };
  chunk::ReadOp before = readOf(value), after = decay ? readOf(matchDecayed(value, decay)) : chunk::ReadOp();
  if (before && !before.getLeft() && matchDecayed(before.getRows(), decay) == vectors)
    return before;
  return after && !after.getLeft() && after.getRows() == vectors ? after : chunk::ReadOp();
}

/// Whether each row sees the one write of its own token, and the earlier ones.
static bool isInclusive(chunk::InteractionOp op) {
  return op.getPoints() == ArrayRef<int64_t>{1} && op.getSteps() == ArrayRef<int64_t>{0};
}

std::optional<GramSystems> analysis::findGramSystems(chunk::CgOp op) {
  Block &body = op.getBody().front();
  Value vectors = body.getArgument(0);
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<chunk::MapOp>();
  if (!sum || sum.getFunction() != chunk::Function::Add)
    return std::nullopt;
  auto apply = sum.getOperands()[1].getDefiningOp<chunk::ApplyOp>();
  Value other = sum.getOperands()[0];
  if (!apply) {
    apply = other.getDefiningOp<chunk::ApplyOp>();
    other = sum.getOperands()[1];
  }
  auto interaction =
      apply && !apply.getDecay() ? apply.getMatrix().getDefiningOp<chunk::InteractionOp>() : chunk::InteractionOp();
  if (!interaction || interaction.getRows() != vectors || !isInclusive(interaction) || interaction.getLinear())
    return std::nullopt;
  Value decay = interaction.getDecay();
  if (decay && chunk::tensorOf(decay).getRank() != 1)
    return std::nullopt;
  chunk::ReadOp read = matchRead(other, vectors, decay);
  if (!read)
    return std::nullopt;
  GramSystems systems{read.getState(), interaction.getColumns(), {}, decay};
  if (apply.getValues() == systems.keys)
    return systems;
  auto scaled = matchScaled(apply.getValues());
  if (!scaled || scaled->first != systems.keys)
    return std::nullopt;
  systems.gains = scaled->second;
  return systems;
}

/// Whether the value has rows of the chunk's tokens as they came.
static bool isArrayOfRows(Value value) {
  auto left = value.getDefiningOp<chunk::TakeOp>();
  return value.getDefiningOp<chunk::InputOp>() || (left && left.getRounded() && !left.getWhole());
}

static bool isSolvedAlone(chunk::CgOp op) {
  std::optional<GramSystems> systems = findGramSystems(op);
  if (!systems || !isArrayOfRows(op.getVectors()) || !isArrayOfRows(systems->keys))
    return false;
  auto left = systems->state.getDefiningOp<chunk::TakeOp>();
  RankedTensorType ridge = chunk::tensorOf(op.getRidge());
  bool isThere = systems->state.getDefiningOp<chunk::StateOp>() || (left && left.getWhole() && !left.getRounded());
  return isThere && ridge.getRank() == 2 && ridge.getShape()[0] == 1;
}

bool analysis::cancelsInGramSystemsAlone(chunk::ProgramOp program) {
  bool hasSystems = false;
  WalkResult result = program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto cg = dyn_cast<chunk::CgOp>(op)) {
      hasSystems = true;
      return isSolvedAlone(cg) ? WalkResult::skip() : WalkResult::interrupt();
    }
    auto read = dyn_cast<chunk::ReadOp>(op);
    bool mayCancel = read && chunk::tensorOf(read.getRows()).getShape().back() < int64_t(program.getChunk());
    return mayCancel ? WalkResult::interrupt() : WalkResult::advance();
  });
  return hasSystems && !result.wasInterrupted();
}
