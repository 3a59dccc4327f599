#include "Analysis/Algebra/Evaluate.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
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
    const Poly *poly = evaluate(&op);
    Value result = op.getResult(0);
    polys[result] = poly;
    values.try_emplace({poly, unsigned(dgps::shapeOf(result).size())}, result);
  }
}

unsigned Expressions::indexOf(dgps::StateOp state) const { return llvm::find(states, state) - states.begin(); }
const Poly *Expressions::before(unsigned state) const { return of(dgps::StateOp(states[state]).getResult()); }
const Poly *Expressions::after(unsigned state) const { return of(dgps::StateOp(states[state]).getNext().getValue()); }

/// A value that is not taken apart: all that is known of it is which states it depends on.
const Poly *Expressions::opaque(Operation *op) {
  SmallBitVector dependencies;
  if (auto state = dyn_cast<dgps::StateOp>(op)) {
    dependencies.resize(states.size());
    dependencies.set(indexOf(state));
  }
  for (Value operand : op->getOperands())
    dependencies |= of(operand)->states;
  return algebra.leaf(op->getResult(0), positions[op], dependencies);
}

/// A long vector that depends on a state, under a short name. It is what one of many steps of a token writes: a later
/// step that reads the written state would otherwise double its length.
const Poly *Expressions::shortened(const Poly *vector) {
  constexpr size_t longest = 64;
  if (vector->terms.size() <= longest || vector->states.none())
    return vector;
  Content content = extractContent(algebra, vector);
  const Poly *name = algebra.function("written", 1, content.direction);
  return algebra.multiply(content.scale, name);
}

/// log(exp(e)) = e; any other logarithm is an atom.
static const Poly *logarithm(Algebra &algebra, const Poly *a) {
  const Term *term = a->single();
  if (term && term->coefficient == 1 && term->monomial->factors.empty() && term->monomial->exponent)
    return term->monomial->exponent;
  return algebra.elementwise("log", a);
}

const Poly *Expressions::evaluate(Operation *op) {
  auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
  auto size = [&](Value value, unsigned dim) { return dgps::shapeOf(value)[dim]; };
  const Poly *result =
      llvm::TypeSwitch<Operation *, const Poly *>(op)
          .Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp>([&](auto declared) { return opaque(declared); })
          .Case([&](dgps::ConstantOp constant) { return algebra.number(constant.getNumber()); })
          .Case([&](dgps::BroadcastOp) { return operand(0); })
          .Case([&](dgps::AddOp) { return algebra.add(operand(0), operand(1)); })
          .Case([&](dgps::SubOp) { return algebra.sub(operand(0), operand(1)); })
          .Case([&](dgps::NegOp) { return algebra.negate(operand(0)); })
          .Case([&](dgps::MulOp) { return algebra.multiplyWithinLimit(operand(0), operand(1)); })
          .Case([&](dgps::DivOp) { return algebra.multiplyWithinLimit(operand(0), algebra.inverse(operand(1))); })
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
            return algebra.function("extract", dgps::shapeOf(extract.getResult()).size(), operand(0),
                                    extract.getIndex());
          })
          .Case([&](dgps::OuterOp) {
            return algebra.multiplyWithinLimit(shortened(operand(0)), algebra.transpose(shortened(operand(1))));
          })
          .Case([&](dgps::DotOp dot) -> const Poly * {
            const Poly *product = algebra.multiplyWithinLimit(operand(0), operand(1));
            return product ? algebra.sumOver(product, Axis::Row, size(dot.getLhs(), 0)) : nullptr;
          })
          .Case([&](dgps::SumOp sum) {
            const Poly *total = operand(0);
            ArrayRef<int64_t> shape = dgps::shapeOf(sum.getOperand());
            if (shape.size() > 1)
              total = algebra.sumOver(total, Axis::Col, shape[1]);
            return shape.empty() ? total : algebra.sumOver(total, Axis::Row, shape[0]);
          })
          .Case([&](dgps::SoftmaxOp) { return algebra.function("softmax", 1, operand(0)); })
          .Case([&](dgps::MatvecOp product) -> const Poly * {
            const Poly *terms = algebra.multiplyWithinLimit(operand(0), algebra.transpose(operand(1)));
            return terms ? algebra.sumOver(terms, Axis::Col, size(product.getMatrix(), 1)) : nullptr;
          })
          .Case([&](dgps::VecmatOp product) -> const Poly * {
            const Poly *terms = algebra.multiplyWithinLimit(operand(0), operand(1));
            return terms ? algebra.transpose(algebra.sumOver(terms, Axis::Row, size(product.getMatrix(), 0))) : nullptr;
          })
          .Case(
              [&](dgps::ScaleColsOp) { return algebra.multiplyWithinLimit(operand(0), algebra.transpose(operand(1))); })
          .Case([&](dgps::ScaleRowsOp) { return algebra.multiplyWithinLimit(operand(0), operand(1)); })
          .Case([&](dgps::CgOp cg) {
            return algebra.function("cg", 1, {operand(0), operand(1), operand(2)}, cg.getIterations());
          })
          .Default([&](Operation *other) { return opaque(other); });
  return result ? result : opaque(op);
}
