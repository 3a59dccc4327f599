#include "Analysis/Algebra/Evaluate.h"
#include "Analysis/Algebra/Division.h"
#include "Analysis/Spelling.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur;
using namespace recur::algebra;

Expressions::Expressions(Algebra &algebra, dgps::RecurrenceOp recurrence) : algebra(algebra) {
  states = recurrence.getStates();
  unsigned position = 0;
  for (Operation &op : recurrence.getBody().front()) {
    positions[&op] = position++;
    if (op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0);
    const Poly *poly = evaluate(&op);
    numTerms += poly->terms.size();
    polys[result] = poly;
    values.try_emplace({poly, unsigned(dgps::shapeOf(result).size())}, result);
  }
}

unsigned Expressions::indexOf(dgps::StateOp state) const { return llvm::find(states, state) - states.begin(); }
const Poly *Expressions::before(unsigned state) const { return of(dgps::StateOp(states[state]).getResult()); }
const Poly *Expressions::after(unsigned state) const { return of(dgps::StateOp(states[state]).getNext().getValue()); }

/// A value that is not taken apart: all that is known of it is which states it depends on.
const Poly *Expressions::opaque(Operation *op) {
  llvm::SmallBitVector dependencies;
  if (auto state = dyn_cast<dgps::StateOp>(op)) {
    dependencies.resize(states.size());
    dependencies.set(indexOf(state));
  }
  for (Value operand : op->getOperands())
    dependencies |= of(operand)->states;
  return algebra.leaf(op->getResult(0), positions[op], dependencies);
}

/// A choice is not taken apart, and equal ones are one. They are equal by what is compared: the sum in which float32's
/// least number tells `>=` from `>` is no polynomial's.
const Poly *Expressions::choice(dgps::SelectOp op) {
  using Spelling = analysis::Spelling;
  Spelling spelling = *analysis::findSpelling(op.getResult());
  auto polyOf = [&](const Spelling::Operand &operand) {
    return operand.value ? of(operand.value) : algebra.number(operand.number);
  };
  const Poly *a = polyOf(spelling.operands[0]), *b = polyOf(spelling.operands[1]);
  bool isOrder = spelling.word != "==" && spelling.word != "!=";
  if (isOrder ? spelling.word.starts_with("<") : compare(a, b) > 0)
    std::swap(a, b);
  Choice key{isOrder ? spelling.word.ends_with("=") ? ">=" : ">" : spelling.word.str(), {a, b}};
  if (key.first == ">") {
    const Poly *difference = algebra.sub(a, b);
    auto known = comparisons.find(difference); // what holds where a comparison is above zero is the comparison
    key = known != comparisons.end() ? known->second : Choice{">", {difference}};
  }
  bool isComparison = spelling.kind == Spelling::Kind::Comparison;
  Choice whole = key;
  whole.second.push_back(isComparison ? algebra.one() : polyOf(spelling.operands[2]));
  whole.second.push_back(isComparison ? algebra.zero() : polyOf(spelling.operands[3]));
  for (int64_t size : dgps::shapeOf(op.getResult()))
    whole.first += " " + std::to_string(size);
  const Poly *&known = choices[whole];
  if (!known)
    known = opaque(op);
  if (isComparison)
    comparisons[known] = std::move(key);
  return known;
}

/// Whether a factor is a state, or a stage of one, in the rows and columns that it has by itself.
static bool isStateItself(const Factor &factor) {
  const Atom *atom = factor.atom;
  bool isState = atom->kind == Atom::Kind::Leaf && isa_and_nonnull<dgps::StateOp>(atom->leaf.getDefiningOp());
  return (isState || atom->isStage()) && factor.power == 1 && factor.axis == (atom->rank == 2 ? Axis::Both : Axis::Row);
}

/// The name of a state with so many writes that read it that a further one would be too long, else null. Each read of
/// such a state would have as many terms as the state, and each write as many as the read.
const Poly *Expressions::stageOf(const Poly *value, Value result) {
  constexpr size_t mostTerms = 64;
  unsigned rank = dgps::shapeOf(result).size();
  if (rank == 0 || value->terms.size() <= mostTerms || value->states.none())
    return nullptr;
  size_t reads = 0;
  std::optional<unsigned> depth;
  for (const Term &term : value->terms) {
    const Factor *state = llvm::find_if(term.monomial->factors, isStateItself);
    if (state != term.monomial->factors.end() && state->atom->rank == rank)
      depth = std::max(depth.value_or(0), state->atom->isStage() ? state->atom->order + 1 : 1);
    else if (term.monomial->states.any())
      ++reads;
  }
  return depth && reads > mostTerms ? algebra.stage(value, rank, *depth) : nullptr;
}

/// A factor under a short name, but for what all of its terms share.
static const Poly *named(Algebra &algebra, const Poly *factor) {
  const Monomial *shared = commonFactor(algebra, factor);
  const Poly *rest = quotient(algebra, factor, shared);
  double leading = rest->leadingCoefficient();
  const Poly *name = algebra.function("value", rest->axes == Axis::None ? 0 : 1, algebra.scale(rest, 1 / leading));
  return algebra.multiply(algebra.poly(shared, leading), name);
}

/// The product of an op's operands, the second as `asFactor` makes it. Where that is too long, factors that nothing is
/// to be found in get names: those that no state is in, so that what reads a state stays a sum of reads; and both where
/// they depend on the same states, for then their product is linear in none.
const Poly *Expressions::product(Operation *op, llvm::function_ref<const Poly *(const Poly *)> asFactor) {
  constexpr size_t mostTermsOfSquare = 64, shortFactor = 8;
  const Poly *factors[] = {of(op->getOperand(0)), of(op->getOperand(1))};
  const llvm::SmallBitVector &first = factors[0]->states, &second = factors[1]->states;
  bool isSquare = first.any() && !first.test(second) && !second.test(first);
  if (factors[0]->terms.size() * factors[1]->terms.size() > (isSquare ? mostTermsOfSquare : Algebra::maxTerms))
    for (const Poly *&factor : factors)
      if (factor->terms.size() > shortFactor && factor->axes != Axis::Both && (isSquare || factor->states.none()))
        factor = named(algebra, factor);
  return algebra.multiplyWithinLimit(factors[0], asFactor(factors[1]));
}

const Poly *Expressions::evaluate(Operation *op) {
  const Poly *result = expand(op);
  if (!result)
    return opaque(op);
  // A long value after long values is taken as it is.
  constexpr size_t mostOfAll = 1 << 17, mostOfOne = 8;
  if (numTerms > mostOfAll && result->terms.size() > mostOfOne)
    return opaque(op);
  const Poly *stage = stageOf(result, op->getResult(0));
  return stage ? stage : result;
}

/// log(exp(e)) = e; any other logarithm is an atom.
static const Poly *logarithm(Algebra &algebra, const Poly *a) {
  const Term *term = a->single();
  if (term && term->coefficient == 1 && term->monomial->factors.empty() && term->monomial->exponent)
    return term->monomial->exponent;
  return algebra.elementwise("log", a);
}

/// The expression of an op's result, or null where it would be too long.
const Poly *Expressions::expand(Operation *op) {
  auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
  auto size = [&](Value value, unsigned dim) { return dgps::shapeOf(value)[dim]; };
  auto same = [](const Poly *factor) { return factor; };
  auto transposed = [&](const Poly *factor) { return algebra.transpose(factor); };
  auto inverse = [&](const Poly *factor) { return algebra.inverse(factor); };
  return llvm::TypeSwitch<Operation *, const Poly *>(op)
      .Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp>([&](auto declared) { return opaque(declared); })
      .Case([&](dgps::ConstantOp constant) { return algebra.number(constant.getNumber()); })
      .Case([&](dgps::BroadcastOp) { return operand(0); })
      .Case([&](dgps::AddOp) { return algebra.add(operand(0), operand(1)); })
      .Case([&](dgps::SubOp) { return algebra.sub(operand(0), operand(1)); })
      .Case([&](dgps::NegOp) { return algebra.negate(operand(0)); })
      .Case([&](dgps::MulOp) { return product(op, same); })
      .Case([&](dgps::DivOp) { return product(op, inverse); })
      .Case([&](dgps::ExpOp) { return algebra.exponential(operand(0)); })
      .Case([&](dgps::LogOp) { return logarithm(algebra, operand(0)); })
      .Case([&](dgps::MaxOp) { return algebra.maximum({operand(0), operand(1)}); })
      .Case([&](dgps::MinOp) {
        return algebra.negate(algebra.maximum({algebra.negate(operand(0)), algebra.negate(operand(1))}));
      })
      .Case([&](dgps::ElementwiseOpInterface function) {
        return algebra.elementwise(function->getName().stripDialect(), operand(0));
      })
      .Case([&](dgps::ExtractOp extract) -> const Poly * {
        if (operand(0)->axes == Axis::None)
          return operand(0);
        return algebra.function("extract", dgps::shapeOf(extract.getResult()).size(), operand(0), extract.getIndex());
      })
      .Case([&](dgps::SliceOp slice) -> const Poly * {
        bool isVector = dgps::shapeOf(slice.getResult()).size() == 1;
        if (isVector && operand(0)->axes == Axis::None)
          return operand(0);
        return isVector ? algebra.function("slice", 1, operand(0), sliceParameter(slice.getBegin(), slice.getSize()))
                        : opaque(op);
      })
      .Case([&](dgps::ConcatOp concat) -> const Poly * {
        // A vector of equal elements does not say how many they are.
        SmallVector<const Poly *, 4> parts;
        for (auto [index, part] : llvm::enumerate(op->getOperands())) {
          parts.push_back(operand(index));
          if (dgps::shapeOf(part).size() != (parts.back()->axes == Axis::None ? 0 : 1))
            return opaque(op);
        }
        ArrayRef<int64_t> shape = dgps::shapeOf(concat.getResult());
        return shape.size() == 1 ? algebra.function("concat", 1, parts, shape[0]) : opaque(op);
      })
      .Case([&](dgps::OuterOp) { return product(op, transposed); })
      .Case([&](dgps::DotOp dot) -> const Poly * {
        const Poly *terms = product(op, same);
        return terms ? algebra.sumOver(terms, Axis::Row, size(dot.getLhs(), 0)) : nullptr;
      })
      .Case([&](dgps::SumOp sum) {
        const Poly *total = operand(0);
        ArrayRef<int64_t> shape = dgps::shapeOf(sum.getOperand());
        if (shape.size() > 1)
          total = algebra.sumOver(total, Axis::Col, shape[1]);
        return shape.empty() ? total : algebra.sumOver(total, Axis::Row, shape[0]);
      })
      .Case([&](dgps::SoftmaxOp) { return algebra.function("softmax", 1, operand(0)); })
      .Case([&](dgps::MatvecOp read) -> const Poly * {
        const Poly *terms = product(op, transposed);
        return terms ? algebra.sumOver(terms, Axis::Col, size(read.getMatrix(), 1)) : nullptr;
      })
      .Case([&](dgps::VecmatOp read) -> const Poly * {
        // The vector is the first operand; the order of the factors does not matter.
        const Poly *terms = product(op, same);
        return terms ? algebra.transpose(algebra.sumOver(terms, Axis::Row, size(read.getMatrix(), 0))) : nullptr;
      })
      .Case([&](dgps::ScaleColsOp) { return product(op, transposed); })
      .Case([&](dgps::ScaleRowsOp) { return product(op, same); })
      .Case([&](dgps::SelectOp op) { return choice(op); })
      .Case([&](dgps::CgOp cg) {
        return algebra.function(cg.getBySteps() ? "cg by steps" : "cg", 1, {operand(0), operand(1), operand(2)},
                                cg.getIterations());
      })
      .Default([&](Operation *other) { return opaque(other); });
}
