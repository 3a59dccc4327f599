// With Z = A + iB and P the product of the phases so far, Y = Z / P has the decay alone:
//
//     Z <- decay e^{i angle} Z + W        becomes        Y <- decay Y + W / P,   Z = P Y
//
// Numbers of modulus one: 1 / P is the conjugate, and nothing grows. P is cos(phase) + i sin(phase), where the phase is
// the sum of the angles since the chunk's start, kept within half a turn: there it loses no more digits than products
// of unit numbers would.
#include "Conversion/DGPSToChunk/Phases.h"
#include "Analysis/Algebra/Materialize.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;
using namespace recur::conversion;

namespace {

/// Cosine and sine of how far the states are turned.
struct Phase {
  Value cosine, sine;
};

class PhaseSeparator {
public:
  PhaseSeparator(const RecurrenceAnalysis &analysis, const ComplexForm &form)
      : algebra(analysis.getAlgebra()), form(form), real(analysis.getStates()[form.real].op),
        imaginary(analysis.getStates()[form.imaginary].op),
        builder(OpBuilder::atBlockEnd(&analysis.getRecurrence().getBody().front())), loc(real.getLoc()),
        materializer(builder, loc, algebra, analysis.getExpressions()) {
    ArrayRef<int64_t> shape = dgps::shapeOf(real.getResult());
    keySize = shape.empty() ? 0 : form.isMatrix && !form.transposed ? shape[1] : shape[0];
    valueSize = form.isMatrix ? shape[form.transposed ? 1 : 0] : 0;
  }

  void separate();

private:
  Value add(Value a, Value b) { return a && b ? Value(dgps::AddOp::create(builder, loc, a, b)) : a ? a : b; }
  Value sub(Value a, Value b) {
    return !b ? a : !a ? Value(dgps::NegOp::create(builder, loc, b)) : Value(dgps::SubOp::create(builder, loc, a, b));
  }
  Value mul(Value a, Value b) { return a && b ? Value(dgps::MulOp::create(builder, loc, a, b)) : Value(); }
  Phase phaseOf(Value angle);
  /// A matrix with its keys' side scaled, by numbers or by a vector.
  Value scaleKeys(Value matrix, Value factor);
  /// The real and the imaginary part of (a + ib) times the phase, or its conjugate.
  std::pair<Value, Value> turn(Value a, Value b, Phase by, bool back, bool areMatrices);
  std::pair<Value, Value> buildAdditions(Phase by);
  Value decayed(Value state);
  void replaceUses(Value ofReal, Value ofImaginary, ArrayRef<Operation *> users, Value a, Value b, Phase by);

  Algebra &algebra;
  const ComplexForm &form;
  dgps::StateOp real, imaginary;
  OpBuilder builder;
  Location loc;
  dgps::Materializer materializer;
  int64_t keySize, valueSize;
};

} // namespace

Phase PhaseSeparator::phaseOf(Value angle) {
  return {dgps::CosOp::create(builder, loc, angle), dgps::SinOp::create(builder, loc, angle)};
}

Value PhaseSeparator::scaleKeys(Value matrix, Value factor) {
  if (!form.isMatrix || dgps::shapeOf(factor).empty())
    return mul(factor, matrix);
  if (form.transposed)
    return dgps::ScaleRowsOp::create(builder, loc, matrix.getType(), factor, matrix);
  return dgps::ScaleColsOp::create(builder, loc, matrix.getType(), matrix, factor);
}

std::pair<Value, Value> PhaseSeparator::turn(Value a, Value b, Phase by, bool back, bool areMatrices) {
  auto times = [&](Value factor, Value value) -> Value {
    return !value ? value : areMatrices ? scaleKeys(value, factor) : mul(factor, value);
  };
  Value along = times(by.cosine, a), across = times(by.sine, b);
  Value first = back ? add(along, across) : sub(along, across);
  along = times(by.cosine, b), across = times(by.sine, a);
  Value second = back ? sub(along, across) : add(along, across);
  return {first, second};
}

/// What is added to the states, turned back: in its keys where the states are matrices.
std::pair<Value, Value> PhaseSeparator::buildAdditions(Phase by) {
  if (!form.isMatrix) {
    auto get = [&](const Poly *poly) { return poly->isZero() ? Value() : materializer.get(poly, keySize); };
    return turn(get(form.additions[0]), get(form.additions[1]), by, /*back=*/true, /*areMatrices=*/false);
  }
  // By what is written: the keys of the real part and of the imaginary one.
  llvm::MapVector<const Monomial *, std::array<SmallVector<Term, 2>, 2>> keysOf;
  for (unsigned part : {0, 1})
    for (const Term &term : form.additions[part]->terms) {
      Algebra::Split parts = algebra.split(term.monomial);
      const Monomial *value = algebra.multiply(parts.scalar, form.transposed ? parts.col : parts.row);
      const Monomial *key = form.transposed ? parts.row : parts.col;
      keysOf[value][part].push_back({key, term.coefficient});
    }
  Value sums[2];
  for (auto &[monomial, terms] : keysOf) {
    auto overRows = [&](const Poly *poly, bool isColumn) { return isColumn ? algebra.transpose(poly) : poly; };
    Value value = materializer.getVector(overRows(algebra.poly(monomial), form.transposed), valueSize), keys[2];
    for (unsigned part : {0, 1})
      if (const Poly *key = algebra.poly(terms[part]); !key->isZero())
        keys[part] = materializer.getVector(overRows(key, !form.transposed), keySize);
    std::tie(keys[0], keys[1]) = turn(keys[0], keys[1], by, /*back=*/true, /*areMatrices=*/false);
    for (auto [sum, key] : llvm::zip(sums, keys))
      if (key)
        sum = add(sum, form.transposed
                           ? dgps::OuterOp::create(builder, loc, real.getResult().getType(), key, value).getResult()
                           : dgps::OuterOp::create(builder, loc, real.getResult().getType(), value, key).getResult());
  }
  return {sums[0], sums[1]};
}

Value PhaseSeparator::decayed(Value state) {
  if (form.decay->isOne())
    return state;
  Axis axes = form.decay->axes;
  if (!form.isMatrix || axes == Axis::None)
    return mul(materializer.get(form.decay, keySize), state);
  if (axes == Axis::Row)
    return dgps::ScaleRowsOp::create(builder, loc, state.getType(),
                                     materializer.getVector(form.decay, dgps::shapeOf(state)[0]), state);
  return dgps::ScaleColsOp::create(builder, loc, state.getType(), state,
                                   materializer.getVector(algebra.transpose(form.decay), dgps::shapeOf(state)[1]));
}

/// Lets the ops use (a + ib) times the phase. A product with a vector of keys turns the vector.
void PhaseSeparator::replaceUses(Value ofReal, Value ofImaginary, ArrayRef<Operation *> users, Value a, Value b,
                                 Phase by) {
  std::pair<Value, Value> whole;
  for (auto [old, isReal] : {std::pair(ofReal, true), {ofImaginary, false}})
    for (Operation *user : users) {
      if (!llvm::is_contained(user->getOperands(), old))
        continue;
      Value vector;
      if (auto read = dyn_cast<dgps::MatvecOp>(user); read && read.getMatrix() == old && !form.transposed)
        vector = read.getVector();
      if (auto read = dyn_cast<dgps::VecmatOp>(user); read && read.getMatrix() == old && form.transposed)
        vector = read.getVector();
      if (!vector) {
        if (!whole.first)
          whole = turn(a, b, by, /*back=*/false, form.isMatrix);
        user->replaceUsesOfWith(old, isReal ? whole.first : whole.second);
        continue;
      }
      auto multiply = [&](Value matrix, Value factor) -> Value {
        Value turned = mul(factor, vector);
        if (form.transposed)
          return dgps::VecmatOp::create(builder, loc, user->getResult(0).getType(), turned, matrix);
        return dgps::MatvecOp::create(builder, loc, user->getResult(0).getType(), matrix, turned);
      };
      Value result = isReal ? sub(multiply(a, by.cosine), multiply(b, by.sine))
                            : add(multiply(a, by.sine), multiply(b, by.cosine));
      user->getResult(0).replaceAllUsesWith(result);
    }
}

void PhaseSeparator::separate() {
  dgps::NextOp nextReal = real.getNext(), nextImaginary = imaginary.getNext();
  Value oldReal = nextReal.getValue(), oldImaginary = nextImaginary.getValue();
  auto usersOf = [&](Value a, Value b) {
    llvm::SetVector<Operation *> users;
    for (Value value : {a, b})
      for (Operation *user : value.getUsers())
        if (!isa<dgps::NextOp>(user))
          users.insert(user);
    return users;
  };
  llvm::SetVector<Operation *> usersBefore = usersOf(real, imaginary), usersAfter = usersOf(oldReal, oldImaginary);

  Value angle = materializer.get(form.angle, keySize);
  auto phase = dgps::StateOp::create(builder, loc, angle.getType(),
                                     builder.getStringAttr(real.getName() + "." + imaginary.getName() + ".phase"));
  Value turned = add(phase, angle);
  dgps::NextOp::create(builder, loc, phase, turned);
  Phase before = phaseOf(phase), after = phaseOf(turned);
  auto [ofReal, ofImaginary] = buildAdditions(after);
  Value newReal = add(decayed(real), ofReal), newImaginary = add(decayed(imaginary), ofImaginary);
  // A value that both were before the token and are after it has been left alone.
  replaceUses(oldReal, oldImaginary, usersAfter.getArrayRef(), newReal, newImaginary, after);
  replaceUses(real, imaginary, usersBefore.getArrayRef(), real, imaginary, before);
  nextReal.getValueMutable().assign(newReal);
  nextImaginary.getValueMutable().assign(newImaginary);
}

//===----------------------------------------------------------------------===//
// Reads of one state together
//===----------------------------------------------------------------------===//

/// The summands of a sum of products with matrices, as keys by matrix: M @ x + M @ y is M @ (x + y).
static void mergeReads(Operation *root, OpBuilder &builder) {
  auto isSum = [](Operation *op) { return op && isa<dgps::AddOp, dgps::SubOp>(op); };
  if (!isSum(root) || llvm::any_of(root->getUsers(), isSum))
    return;
  Location loc = root->getLoc();
  llvm::MapVector<std::pair<Value, unsigned>, Value> keyOf; // 1: from the left
  SmallVector<std::pair<Value, bool>> others;
  unsigned reads = 0;
  auto combine = [&](Value sum, Value value, bool negative) -> Value {
    if (!sum)
      return negative ? Value(dgps::NegOp::create(builder, loc, value)) : value;
    return negative ? Value(dgps::SubOp::create(builder, loc, sum, value))
                    : Value(dgps::AddOp::create(builder, loc, sum, value));
  };
  auto collect = [&](auto &self, Value value, bool negative, bool isRoot) -> void {
    Operation *op = value.getDefiningOp();
    if (isSum(op) && (isRoot || op->hasOneUse())) {
      self(self, op->getOperand(0), negative, false);
      self(self, op->getOperand(1), negative != isa<dgps::SubOp>(op), false);
    } else if (auto read = dyn_cast<dgps::MatvecOp>(op)) {
      Value &key = keyOf[{read.getMatrix(), 0}];
      key = combine(key, read.getVector(), negative);
      ++reads;
    } else if (auto read = dyn_cast<dgps::VecmatOp>(op)) {
      Value &key = keyOf[{read.getMatrix(), 1}];
      key = combine(key, read.getVector(), negative);
      ++reads;
    } else {
      others.push_back({value, negative});
    }
  };
  builder.setInsertionPointToEnd(root->getBlock());
  collect(collect, root->getResult(0), false, true);
  if (reads == keyOf.size())
    return;
  Value sum;
  Type type = root->getResult(0).getType();
  for (auto &[read, key] : keyOf) {
    auto [matrix, isLeft] = read;
    sum = combine(sum,
                  isLeft ? dgps::VecmatOp::create(builder, loc, type, key, matrix).getResult()
                         : dgps::MatvecOp::create(builder, loc, type, matrix, key).getResult(),
                  false);
  }
  for (auto [value, negative] : others)
    sum = combine(sum, value, negative);
  root->getResult(0).replaceAllUsesWith(sum);
}

SmallVector<TurnedPair, 1> conversion::separatePhases(dgps::RecurrenceOp recurrence) {
  SmallVector<TurnedPair, 1> pairs;
  Block &body = recurrence.getBody().front();
  while (true) {
    RecurrenceAnalysis analysis(recurrence);
    if (analysis.getComplexForms().empty())
      return pairs;
    // One at a time: what is known of the others' values changes.
    const ComplexForm &form = analysis.getComplexForms().front();
    unsigned phase = analysis.getStates().size();
    PhaseSeparator(analysis, form).separate();
    pairs.push_back({form.real, form.imaginary, phase, form.isMatrix, form.transposed});
    OpBuilder builder(recurrence.getContext());
    SmallVector<Operation *> roots;
    for (Operation &op : body)
      roots.push_back(&op);
    for (Operation *root : roots)
      mergeReads(root, builder);
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation &op : llvm::make_early_inc_range(body))
        if (isOpTriviallyDead(&op)) {
          op.erase();
          changed = true;
        }
    }
    // Outputs stay in the order in which callers give them.
    SmallVector<dgps::OutputOp> outputs(recurrence.getOutputs());
    sortTopologically(&body);
    for (dgps::OutputOp output : outputs)
      output->moveBefore(&body, body.end());
  }
}
