#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"
#include "dialects/DGPS/WrittenOrder.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>

// Comparisons, and where(c, a, b).
//
// A branch that is not taken must not matter, whatever it holds. What no state enters is chosen by one op. A branch
// that reads a state is a sum of products with it, and stays one, so that the state keeps its class: where(c, S +
// outer(v, k), S) becomes S times what is left of it, plus the outer product of v and k where c holds, and of zeros
// elsewhere.

namespace recur::frontend {

using mlir::Value;

/// Whether it is 1 or 0 in any case, as comparisons are.
static bool isIndicator(Value value) {
  auto choice = value.getDefiningOp<dgps::SelectOp>();
  return choice && dgps::constantNumber(choice.getFirst()) == 1.0 && dgps::constantNumber(choice.getSecond()) == 0.0;
}

/// What holds where a comparison is above zero is the comparison itself.
Value Emitter::emitSelect(mlir::Location loc, Value condition, Value first, Value second) {
  if (isIndicator(condition))
    condition = condition.getDefiningOp<dgps::SelectOp>().getCondition();
  return dgps::SelectOp::create(builder, loc, condition, first, second);
}

/// 1 where the comparison holds, else 0. Comparisons with a NaN do not hold, but for '!='.
Value Emitter::emitComparison(mlir::Location loc, BinaryOperator op, Value a, Value b) {
  // Kernels take differences below the smallest normal number for none.
  constexpr double smallest = std::numeric_limits<float>::min(), largest = std::numeric_limits<float>::max();
  Value zero = emitNumber(loc, 0), one = emitNumber(loc, 1);
  bool isLessWritten = op == BinaryOperator::Less || op == BinaryOperator::AtMost;
  mlir::Location place = isLessWritten ? dgps::markLess(loc) : loc;
  auto difference = [&](Value x, Value y) -> Value { return dgps::SubOp::create(builder, place, x, y); };
  // Two infinities have a difference too, once they are numbers.
  auto bounded = [&](Value x) -> Value {
    Value below = dgps::MinOp::create(builder, loc, x, emitNumber(loc, largest));
    return dgps::MaxOp::create(builder, loc, below, emitNumber(loc, -largest));
  };
  auto isLess = [&](Value x, Value y) { return emitSelect(loc, difference(y, x), one, zero); };
  auto isAtMost = [&](Value x, Value y) {
    Value apart = difference(bounded(y), bounded(x));
    return emitSelect(loc, dgps::AddOp::create(builder, loc, apart, emitNumber(loc, smallest)), one, zero);
  };
  auto isEqual = [&] {
    Value apart = dgps::AbsOp::create(builder, loc, difference(bounded(a), bounded(b)));
    return emitSelect(loc, difference(emitNumber(loc, smallest), apart), one, zero);
  };
  switch (op) {
  case BinaryOperator::Less:
    return isLess(a, b);
  case BinaryOperator::Greater:
    return isLess(b, a);
  case BinaryOperator::AtMost:
    return isAtMost(a, b);
  case BinaryOperator::AtLeast:
    return isAtMost(b, a);
  case BinaryOperator::Equal:
    return isEqual();
  default:
    return difference(one, isEqual());
  }
}

/// Whether a state enters a value.
bool Emitter::dependsOnState(Value value) {
  llvm::SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value next = pending.back();
    if (readsState.contains(next)) {
      pending.pop_back();
      continue;
    }
    mlir::Operation *op = next.getDefiningOp();
    size_t before = pending.size();
    for (Value operand : op->getOperands())
      if (!readsState.contains(operand))
        pending.push_back(operand);
    if (pending.size() != before)
      continue;
    pending.pop_back();
    readsState[next] = mlir::isa<dgps::StateOp>(op) ||
                       llvm::any_of(op->getOperands(), [&](Value operand) { return readsState.lookup(operand); });
  }
  return readsState.lookup(value);
}

namespace {
/// Values where a condition holds and zeros elsewhere, as sums of products with states where they are that.
class Masking {
public:
  Masking(mlir::OpBuilder &builder, mlir::Location loc, Value condition, Value indicator, bool holds,
          llvm::function_ref<bool(Value)> dependsOnState)
      : builder(builder), loc(loc), condition(condition), indicator(indicator), holds(holds),
        dependsOnState(dependsOnState) {}

  Value mask(Value value, unsigned depth = 0);

private:
  Value choose(Value value, double otherwise = 0) {
    Value other = dgps::ConstantOp::create(builder, loc, otherwise);
    return dgps::SelectOp::create(builder, loc, condition, holds ? value : other, holds ? other : value);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Value condition, indicator; // the indicator is 1 where the condition has the outcome that is meant, else 0
  bool holds;
  llvm::function_ref<bool(Value)> dependsOnState;
  llvm::DenseMap<Value, Value> masked;
};
} // namespace

Value Masking::mask(Value value, unsigned depth) {
  constexpr unsigned deepest = 200;
  if (Value known = masked.lookup(value))
    return known;
  mlir::Operation *op = value.getDefiningOp();
  auto part = [&](unsigned i) { return mask(op->getOperand(i), depth + 1); };
  bool isScalar = dgps::shapeOf(condition).empty();
  // Of a product with an unknown matrix only the vector is masked: the matrix is a state, or made of some.
  auto isState = [&](Value matrix) { return mlir::isa<dgps::StateOp>(matrix.getDefiningOp()); };
  auto maskMatrix = [&](Value matrix) { return isState(matrix) ? matrix : mask(matrix, depth + 1); };
  // A factor of zero is enough beside a state.
  bool isSquare = op->getNumOperands() == 2 && llvm::all_of(op->getOperands(), isState);
  auto maskFactor = [&](Value factor) { return isState(factor) && !isSquare ? factor : mask(factor, depth + 1); };
  Value result;
  bool isMatrix = dgps::shapeOf(value).size() == 2; // of which an outer product stays one
  if (depth > deepest || (!dependsOnState(value) && !isMatrix))
    result = choose(value);
  else if (mlir::isa<dgps::StateOp>(op))
    result = dgps::MulOp::create(builder, loc, indicator, value);
  else if (mlir::isa<dgps::AddOp>(op))
    result = dgps::AddOp::create(builder, loc, part(0), part(1));
  else if (mlir::isa<dgps::SubOp>(op))
    result = dgps::SubOp::create(builder, loc, part(0), part(1));
  else if (mlir::isa<dgps::NegOp>(op))
    result = dgps::NegOp::create(builder, loc, part(0));
  else if (mlir::isa<dgps::MulOp>(op))
    result = dgps::MulOp::create(builder, loc, maskFactor(op->getOperand(0)), maskFactor(op->getOperand(1)));
  else if (mlir::isa<dgps::DivOp>(op) && !dependsOnState(op->getOperand(1)))
    result = dgps::DivOp::create(builder, loc, part(0), choose(op->getOperand(1), 1));
  else if (mlir::isa<dgps::OuterOp>(op) && isScalar)
    result = dgps::OuterOp::create(builder, loc, part(0), part(1));
  else if (mlir::isa<dgps::MatvecOp>(op) && isScalar)
    result = dgps::MatvecOp::create(builder, loc, maskMatrix(op->getOperand(0)), part(1));
  else if (mlir::isa<dgps::VecmatOp>(op) && isScalar)
    result = dgps::VecmatOp::create(builder, loc, part(0), maskMatrix(op->getOperand(1)));
  else if (mlir::isa<dgps::ScaleColsOp>(op) && isScalar)
    result = dgps::ScaleColsOp::create(builder, loc, maskMatrix(op->getOperand(0)), part(1));
  else if (mlir::isa<dgps::ScaleRowsOp>(op) && isScalar)
    result = dgps::ScaleRowsOp::create(builder, loc, part(0), maskMatrix(op->getOperand(1)));
  else
    result = choose(value);
  return masked[value] = result;
}

/// A value as `factor * state + rest`; a factor or a rest that is not there is null.
struct Emitter::StateTerm {
  Value state, factor, rest;
};

std::optional<Emitter::StateTerm> Emitter::findStateTerm(Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (mlir::isa<dgps::StateOp>(op))
    return StateTerm{value, {}, {}};
  bool isSum = mlir::isa<dgps::AddOp>(op), isProduct = mlir::isa<dgps::MulOp>(op);
  for (unsigned i = 0; (isSum || isProduct) && i < 2; ++i) {
    Value one = op->getOperand(i), other = op->getOperand(1 - i);
    if (dependsOnState(other))
      continue;
    if (isProduct && mlir::isa<dgps::StateOp>(one.getDefiningOp()))
      return StateTerm{one, other, {}};
    std::optional<StateTerm> inner = isSum ? findStateTerm(one) : std::nullopt;
    if (inner && !inner->rest)
      return StateTerm{inner->state, inner->factor, other};
  }
  return std::nullopt;
}

/// where(c, f S + a, g S + b) is where(c, f, g) S and what is added: a decay stays one whose logarithm is known.
Value Emitter::emitChosenState(mlir::Location loc, Value condition, const StateTerm &first, const StateTerm &second) {
  auto exponentOf = [&](Value factor) {
    auto power = factor ? factor.getDefiningOp<dgps::ExpOp>() : dgps::ExpOp();
    return power ? power.getOperand() : factor ? Value() : emitNumber(loc, 0);
  };
  Value result = first.state;
  if (first.factor != second.factor) {
    Value a = exponentOf(first.factor), b = exponentOf(second.factor), factor;
    if (a && b)
      factor = dgps::ExpOp::create(builder, loc, emitSelect(loc, condition, a, b));
    else
      factor = emitSelect(loc, condition, first.factor ? first.factor : emitNumber(loc, 1),
                          second.factor ? second.factor : emitNumber(loc, 1));
    result = dgps::MulOp::create(builder, loc, factor, result);
  } else if (first.factor) {
    result = dgps::MulOp::create(builder, loc, first.factor, result);
  }
  auto depends = [&](Value value) { return dependsOnState(value); };
  for (auto [rest, holds] : {std::pair(first.rest, true), {second.rest, false}})
    if (rest)
      result =
          dgps::AddOp::create(builder, loc, result, Masking(builder, loc, condition, {}, holds, depends).mask(rest));
  return result;
}

/// where(c, a, b): a where c is above zero, else b.
Value Emitter::emitWhere(mlir::Location loc, Value condition, Value first, Value second) {
  if (first == second || (!dependsOnState(first) && !dependsOnState(second)))
    return emitSelect(loc, condition, first, second);
  Value indicator = isIndicator(condition) ? condition : Value();
  if (indicator)
    condition = indicator.getDefiningOp<dgps::SelectOp>().getCondition();
  std::optional<StateTerm> ofFirst = findStateTerm(first), ofSecond = findStateTerm(second);
  if (ofFirst && ofSecond && ofFirst->state == ofSecond->state)
    return emitChosenState(loc, condition, *ofFirst, *ofSecond);
  Value one = emitNumber(loc, 1), zero = emitNumber(loc, 0);
  if (!indicator)
    indicator = emitSelect(loc, condition, one, zero);
  Value other = dgps::SubOp::create(builder, loc, one, indicator);
  auto depends = [&](Value value) { return dependsOnState(value); };
  Value taken = Masking(builder, loc, condition, indicator, true, depends).mask(first);
  Value left = Masking(builder, loc, condition, other, false, depends).mask(second);
  return dgps::AddOp::create(builder, loc, taken, left);
}

/// a - b floor(a / b), which has the sign of b; a quotient that was rounded to the next whole number is put right.
Value Emitter::emitMod(mlir::Location loc, Value a, Value b) {
  Value zero = emitNumber(loc, 0);
  Value times = dgps::FloorOp::create(builder, loc, dgps::DivOp::create(builder, loc, a, b).getResult());
  Value rest = dgps::SubOp::create(builder, loc, a, dgps::MulOp::create(builder, loc, b, times).getResult());
  Value isOpposite = dgps::NegOp::create(builder, loc, dgps::MulOp::create(builder, loc, rest, b).getResult());
  rest = dgps::AddOp::create(builder, loc, rest, emitSelect(loc, isOpposite, b, zero));
  Value isWhole = emitComparison(loc, BinaryOperator::AtLeast, dgps::AbsOp::create(builder, loc, rest),
                                 dgps::AbsOp::create(builder, loc, b));
  // A sum, for a difference that is subtracted is turned around, and a report would not find the function again.
  Value minus = dgps::NegOp::create(builder, loc, b);
  return dgps::AddOp::create(builder, loc, rest, emitSelect(loc, isWhole, minus, zero));
}

/// Column j of a matrix: its product with a vector of zeros and one one.
Value Emitter::emitColumn(mlir::Location loc, Value matrix, int64_t column) {
  int64_t columns = dgps::shapeOf(matrix)[1];
  Value zero = emitNumber(loc, 0), one = emitNumber(loc, 1);
  llvm::SmallVector<Value> elements(columns, zero);
  elements[column] = one;
  auto type = dgps::RealType::get(builder.getContext(), {columns});
  Value picked = dgps::ConcatOp::create(builder, loc, type, elements);
  return dgps::MatvecOp::create(builder, loc, matrix, picked);
}

} // namespace recur::frontend
