// Factors of products of bf16 data, where the processor multiplies pairs of bf16 numbers and adds them up in f32 faster
// than it multiplies f32. Data are bf16 as they come; what is computed, states among it, is rounded for the product and
// stays f32 where it is kept. Products that have no pairs, such as those of odd numbers of channels, are of f32.
//
// The matrix units of a GPU take factors of bf16 as they lie: there, what is said of pairs is said of rounded factors.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

bool Planner::isWorthRounding(int64_t rows) const {
  constexpr int64_t worthwhile = 8; // rounding and pairing cost as much as the products of a few
  return !inTokenLoop && rows >= worthwhile;
}

bool Planner::hasPairs(int64_t inner) const {
  return factorType && (machine.isCTA() || (machine.hasPairs && inner % 2 == 0));
}

bool Planner::mayRound(chunk::InteractionOp op) {
  bool isOfNumbers = structure.isOfNumbers(op.getRows()) && structure.isOfNumbers(op.getColumns());
  return !isOfNumbers && isWorthRounding(chunk::tensorOf(op.getResult()).getShape()[0]);
}
bool Planner::takesPairs(chunk::InteractionOp op) {
  return mayRound(op) && hasPairs(chunk::tensorOf(op.getRows()).getShape()[1]);
}
bool Planner::mayRound(chunk::ReadOp op) {
  return structure.roundsStates() && isWorthRounding(chunk::tensorOf(op.getResult()).getShape()[0]);
}
bool Planner::takesPairs(chunk::ReadOp op) {
  return mayRound(op) && hasPairs(chunk::tensorOf(op.getRows()).getShape().back());
}
/// A matrix of the tokens that was left as a factor of tf32.
bool Planner::isPrecise(Value matrix) {
  auto left = matrix.getDefiningOp<chunk::TakeOp>();
  return left && left.getPrecise() && machine.isCTA();
}
bool Planner::mayRound(chunk::ApplyOp op) {
  // An odd token's pair has the column beyond it, which nothing but a triangle promises to be zero.
  return structure.roundsStates() && !op.getDecay() && !isPrecise(op.getMatrix()) &&
         structure.findTriangle(op.getMatrix()) && isWorthRounding(chunk::tensorOf(op.getResult()).getShape()[0]);
}
bool Planner::takesPairs(chunk::ApplyOp op) { return mayRound(op) && hasPairs(); }
bool Planner::mayRound(chunk::ApplyTransposedOp op) {
  return machine.isCTA() && structure.roundsStates() && !op.getDecay() && structure.findTriangle(op.getMatrix()) &&
         isWorthRounding(chunk::tensorOf(op.getResult()).getShape()[0]);
}
bool Planner::takesPairs(chunk::ApplyTransposedOp op) { return mayRound(op) && hasPairs(); }
bool Planner::isRankOne(chunk::AdvanceOp op) const {
  return machine.isCTA() && !op.writesNothing() && chunk::tensorOf(op.getValues()).getShape()[0] == 1;
}
bool Planner::mayRound(chunk::AdvanceOp op) {
  if (isRankOne(op))
    return false;
  ArrayRef<int64_t> state = chunk::tensorOf(op.getState()).getShape();
  ArrayRef<int64_t> values = chunk::tensorOf(op.getValues()).getShape();
  bool isWhole = !machine.hasAMX || values[0] % 2 == 0; // in rows, which have whole pairs of tokens
  return structure.roundsStates() && values.size() == 2 && isWhole && isWorthRounding(std::min(state[0], state[1]));
}
bool Planner::takesPairs(chunk::AdvanceOp op) { return mayRound(op) && hasPairs(); }

/// The two operands of a product of each row with its number.
static std::optional<std::pair<Value, Value>> matchScaledRows(chunk::MapOp op) {
  if (op.getFunction() != chunk::Function::Mul || chunk::tensorOf(op.getResult()).getRank() != 2)
    return std::nullopt;
  Value a = op.getOperands()[0], b = op.getOperands()[1];
  if (chunk::tensorOf(a).getRank() == 2)
    std::swap(a, b);
  if (chunk::tensorOf(a).getRank() != 1 || chunk::constantNumber(a) || b.getType() != op.getResult().getType())
    return std::nullopt;
  return std::pair(a, b);
}

bool Planner::isPaired(chunk::MapOp op) {
  if (!op.getResult().hasOneUse() || !matchScaledRows(op))
    return false;
  auto advance = dyn_cast<chunk::AdvanceOp>(*op.getResult().user_begin());
  if (!advance || advance->getBlock() != op->getBlock() || !takesPairs(advance))
    return false;
  // What AMX has on the left lies in rows, which are made of the map's result.
  bool isLeft = (advance.getValues() == op.getResult()) != isTransposed(advance.getResult());
  return !machine.hasAMX || !isLeft;
}

static bool isState(Value value) {
  auto left = value.getDefiningOp<chunk::TakeOp>();
  return isa_and_nonnull<chunk::StateOp, chunk::KeptOp, chunk::AdvanceOp, chunk::ReshapeStateOp>(
             value.getDefiningOp()) ||
         (left && left.getWhole());
}

Value Planner::findInterleavedInput(Value value) const {
  auto rows = value.getDefiningOp<chunk::InterleaveOp>();
  Value whole = rows ? findWhole(rows) : Value();
  return whole && isShortInput(whole) && chunk::tensorOf(value).getRank() == 2 ? whole : Value();
}

/// Whether all that becomes of what a phase left are right factors of a CTA's products: then it is rounded as it is
/// loaded.
bool Planner::isReadRoundedAlone(chunk::TakeOp op) {
  return machine.isCTA() && factorType && !tiles.contains(op) &&
         llvm::all_of(op.getResult().getUses(), [&](OpOperand &use) {
           auto read = dyn_cast<chunk::ReadOp>(use.getOwner());
           return read && use.getOperandNumber() == 1 && takesPairs(read);
         });
}

bool Planner::isLoadedRounded(Value state) {
  auto left = state.getDefiningOp<chunk::TakeOp>();
  bool isLeft = isa_and_nonnull<chunk::KeptOp>(state.getDefiningOp()) || (left && left.getWhole() && left.getRounded());
  return machine.isCTA() && factorType && !inTokenLoop && isLeft && !tiles.contains(state) &&
         chunk::tensorOf(state).getRank() == 2 && llvm::all_of(state.getUses(), [&](OpOperand &use) {
           auto read = dyn_cast<chunk::ReadOp>(use.getOwner());
           return isa<chunk::ReshapeStateOp>(use.getOwner()) ||
                  (read && use.getOperandNumber() == 1 && takesPairs(read));
         });
}

Value Planner::rounded(Value value) {
  if (Value known = shared.rounded.lookup(value))
    return known;
  auto left = value.getDefiningOp<chunk::TakeOp>();
  if (Value whole = findInterleavedInput(value))
    return shared.rounded[value] = flatten(rounded(whole));
  auto kept = value.getDefiningOp<chunk::KeptOp>();
  bool isData = isShortInput(value) || (left && (left.getRounded() || isReadRoundedAlone(left))) ||
                (kept && isLoadedRounded(kept));
  ArrayRef<int64_t> shape = isData ? chunk::tensorOf(value).getShape() : tileOf(get(value)).getShape();
  Value tile = alloc(shape, factorType);
  if (isData)
    left ? take(left, tile) : kept ? load(kept, tile) : load(value, tile);
  else
    copy(get(value), tile, isState(value) ? constant(shape[0]) : rowsOf(tile));
  return shared.rounded[value] = tile;
}

/// Whether the operand is read number by number, and is not a factor of a product.
static bool isReadByElements(const OpOperand &use) {
  auto map = dyn_cast<chunk::MapOp>(use.getOwner());
  return isa<chunk::ScanOp>(use.getOwner()) ||
         (map && (chunk::isElementwise(map.getFunction()) || map.getFunction() == chunk::Function::Dot ||
                  map.getFunction() == chunk::Function::Sum));
}

bool Planner::liesAsHalf(Value value) const {
  Value whole = findInterleavedInput(value);
  auto input = (whole ? whole : value).getDefiningOp<chunk::InputOp>();
  return machine.isCTA() && factorType && !inTokenLoop && input && isShort(input) && input.getStored()->isF16() &&
         !tiles.contains(input) && !tiles.contains(value);
}

bool Planner::staysHalf(Value value) {
  if (Value whole = findInterleavedInput(value))
    return machine.readsHalves && staysHalf(whole);
  auto mayStay = [&](auto &mayStay, Value rows) -> bool {
    return llvm::all_of(rows.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (auto interaction = dyn_cast<chunk::InteractionOp>(user)) {
        bool hasChannels = interaction.getDecay() && chunk::tensorOf(interaction.getDecay()).getRank() > 1;
        return use.getOperandNumber() < 2 && !hasChannels && takesPairs(interaction) &&
               liesAsHalf(interaction.getRows()) && liesAsHalf(interaction.getColumns());
      }
      auto all = dyn_cast<chunk::InterleaveOp>(user);
      if (isa<chunk::ExtractOp>(user) || (all && findWhole(all) == value))
        return machine.readsHalves && mayStay(mayStay, user->getResult(0));
      return machine.readsHalves && isReadByElements(use);
    });
  };
  return liesAsHalf(value) && mayStay(mayStay, value);
}

Value Planner::half(Value value) {
  if (Value known = shared.halves.lookup(value))
    return known;
  if (Value whole = findInterleavedInput(value))
    return shared.halves[value] = flatten(half(whole));
  Value tile = alloc(chunk::tensorOf(value).getShape(), builder.getF16Type());
  load(value, tile);
  return shared.halves[value] = tile;
}

Value Planner::roundedOff(Value rows) {
  Value &known = shared.roundedOff[rows];
  if (!known) {
    Value whole = get(rows), upper = rounded(rows);
    bool isSpent = program.getBackward() && rows.hasOneUse(); // the product with the upper part was the only one
    Value lower = isSpent ? upper : alloc(tileOf(whole).getShape(), factorType);
    map({whole, upper}, lower, rowsOf(lower), [](Scalars &s, ValueRange x) { return s.sub(x[0], x[1]); });
    known = lower;
  }
  return known;
}

bool Planner::isFactorOnly(Value value) {
  if (!machine.isCTA() || !factorType || inTokenLoop || chunk::tensorOf(value).getRank() != 2 || value.use_empty() ||
      isInTwoParts(value))
    return false;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != value.getParentBlock())
      return false;
    unsigned number = use.getOperandNumber();
    if (auto rows = dyn_cast<chunk::InterleaveOp>(user)) // whose rows are these
      return !findWhole(rows) && isFactorOnly(rows);
    if (auto negative = dyn_cast<chunk::MapOp>(user); negative && negative.getFunction() == chunk::Function::Neg)
      return isFactorOnly(negative.getResult());
    if (auto read = dyn_cast<chunk::ReadOp>(user))
      return number == 0 && takesPairs(read);
    if (auto apply = dyn_cast<chunk::ApplyOp>(user))
      return number < 2 && takesPairs(apply);
    if (auto apply = dyn_cast<chunk::ApplyTransposedOp>(user))
      return number < 2 && takesPairs(apply);
    if (auto advance = dyn_cast<chunk::AdvanceOp>(user))
      return (number == 1 || number == 2) && takesPairs(advance);
    if (auto interaction = dyn_cast<chunk::InteractionOp>(user)) {
      bool hasChannels = interaction.getDecay() && chunk::tensorOf(interaction.getDecay()).getRank() > 1;
      return number < 2 && !hasChannels && takesPairs(interaction);
    }
    auto give = dyn_cast<chunk::GiveOp>(user);
    auto output = dyn_cast<chunk::OutputOp>(user);
    return (output && isStoredAsFactor(output)) || (give && give.getRounded());
  });
}

Value Planner::makeRounded(Value value) {
  Value tile = alloc(chunk::tensorOf(value).getShape(), factorType);
  set(value, tile);
  return shared.rounded[value] = tile;
}

Value Planner::getElements(Value value) {
  // In phases whose chunks are apart, a second tile would take the room of other chunks.
  bool isOwn = machine.readsHalves && liesAsHalf(value) && chunk::tensorOf(value).getRank() == 2 &&
               (!program.getStates().empty() || staysHalf(value));
  return isOwn ? half(value) : getFactorElements(value);
}

Value Planner::getFactorElements(Value value) {
  auto left = value.getDefiningOp<chunk::TakeOp>();
  bool isData =
      machine.isCTA() && factorType && !inTokenLoop && !tiles.contains(value) &&
      (isShortInput(value) || findInterleavedInput(value) || (left && left.getRounded() && !left.getWhole())) &&
      chunk::tensorOf(value).getRank() == 2;
  return isData ? rounded(value) : get(value);
}

Value Planner::paired(Value value, Value count) {
  if (Value known = shared.paired.lookup(value))
    return known;
  Value scale, rows = value;
  if (auto map = value.getDefiningOp<chunk::MapOp>(); map && isPaired(map))
    std::tie(scale, rows) = *matchScaledRows(map);
  if (machine.isCTA()) {
    if (!scale)
      return shared.paired[value] = rounded(value);
    Value tile = alloc(chunk::tensorOf(value).getShape(), factorType);
    map({getElements(rows), get(scale)}, tile, rowsOf(tile),
        [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
    return shared.paired[value] = tile;
  }
  bool isData = isShortInput(rows) && !tiles.contains(rows);
  Value source = isData ? rounded(rows) : get(rows), scales = scale ? get(scale) : Value();
  TileType type = tileOf(source);
  Value tile = alloc({int64_t(llvm::divideCeil(type.getSize(0), 2)), type.getSize(1), 2}, factorType);
  PairOp::create(builder, loc, false, source, scales, count, tile);
  return shared.paired[value] = tile;
}

Value Planner::pairedColumns(Value value) {
  if (Value known = shared.pairedColumns.lookup(value))
    return known;
  Value source = rounded(value);
  TileType type = tileOf(source);
  Value tile = alloc({type.getSize(1) / 2, type.getSize(0), 2}, factorType);
  PairOp::create(builder, loc, true, source, Value(), rowsOf(source), tile);
  return shared.pairedColumns[value] = tile;
}

Value Planner::roundedTransposed(Value value, Value count) {
  Value &known = shared.roundedTransposed[value];
  if (known)
    return known;
  bool isData = isShortInput(value) && !tiles.contains(value);
  Value source = isData ? rounded(value) : get(value);
  Value tile = alloc({tileOf(source).getSize(1), tileOf(source).getSize(0)}, factorType);
  TransposeOp::create(builder, loc, source, count, tile);
  return known = tile;
}
