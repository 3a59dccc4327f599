// With Z = A + iB, P the product of the phases so far and W what the token writes,
//
//     Z <- decay e^{i angle} Z + W        becomes        Y <- decay (Y + V),   Z = P Y + W,   V <- W / P
//
// where V is what the token before wrote. Numbers of modulus one: 1 / P is the conjugate, and nothing grows. P is
// cos(phase) + i sin(phase), where the phase is the sum of the angles since the chunk's start, kept within half a turn:
// there it loses no more digits than products of unit numbers would.
//
// A write comes into the frame one token late because there it is turned back by all that turned the state, and turned
// again where it is read. For the token that wrote it this should change nothing, but it mixes the digits of the parts:
// of a part that is much smaller than the other, as after a strong decay, few would be left.
#include "Conversion/DGPSToChunk/Phases.h"
#include "Analysis/Algebra/Materialize.h"
#include "Conversion/DGPSToChunk/Inverses.h"
#include "llvm/ADT/MapVector.h"
#include <numbers>

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

/// A value and the keys under which it goes into the two parts; null for none. Of vectors: what is added to each.
struct Write {
  Value value; ///< null: the states are vectors
  std::array<Value, 2> keys;
};

class PhaseSeparator {
public:
  PhaseSeparator(const RecurrenceAnalysis &analysis, const ComplexForm &form)
      : algebra(analysis.getAlgebra()), form(form), real(analysis.getStates()[form.real].op),
        imaginary(analysis.getStates()[form.imaginary].op),
        builder(OpBuilder::atBlockEnd(&analysis.getRecurrence().getBody().front())), loc(real.getLoc()),
        materializer(builder, loc, algebra, analysis.getExpressions()),
        pair{form.real, form.imaginary, form.isMatrix, form.transposed}, firstOfChunk(analysis.getStates().size()) {
    ArrayRef<int64_t> shape = dgps::shapeOf(real.getResult());
    keySize = shape.empty() ? 0 : form.isMatrix && !form.transposed ? shape[1] : shape[0];
    valueSize = form.isMatrix ? shape[form.transposed ? 1 : 0] : 0;
  }

  TurnedPair separate();

private:
  Value add(Value a, Value b) { return a && b ? Value(dgps::AddOp::create(builder, loc, a, b)) : a ? a : b; }
  Value sub(Value a, Value b) {
    return !b ? a : !a ? Value(dgps::NegOp::create(builder, loc, b)) : Value(dgps::SubOp::create(builder, loc, a, b));
  }
  Value mul(Value a, Value b) { return a && b ? Value(dgps::MulOp::create(builder, loc, a, b)) : Value(); }
  Value number(double value) { return dgps::ConstantOp::create(builder, loc, value); }
  Phase phaseOf(Value angle);
  /// Finds by what the states are turned, and where no angle is written, how they decay.
  Value findAngle();
  /// A matrix with its keys' side scaled, by numbers or by a vector.
  Value scaleKeys(Value matrix, Value factor);
  /// The real and the imaginary part of (a + ib) times the phase, or its conjugate.
  std::pair<Value, Value> turn(Value a, Value b, Phase by, bool back, bool areMatrices);
  SmallVector<Write, 1> collectWrites();
  /// What the writes add to one of the parts, as a whole or by its product with a vector over the keys.
  Value sumWrites(ArrayRef<Write> writes, unsigned part);
  Value readWrites(ArrayRef<Write> writes, unsigned part, Value vector);
  /// A state that holds what the value was one token before, in the chunk.
  Value delay(Value value);
  Write delay(const Write &write);
  Value decayed(Value state);
  void replaceUses(Value ofReal, Value ofImaginary, ArrayRef<Operation *> users, Value a, Value b, Phase by,
                   ArrayRef<Write> writes);
  Value makeState(Type type, const Twine &name);

  Algebra &algebra;
  const ComplexForm &form;
  dgps::StateOp real, imaginary;
  OpBuilder builder;
  Location loc;
  dgps::Materializer materializer;
  int64_t keySize, valueSize;
  TurnedPair pair;
  Value modulus;         ///< of what the states are multiplied by, where no angle is written
  unsigned firstOfChunk; ///< the index of the first state that is added
};

} // namespace

Phase PhaseSeparator::phaseOf(Value angle) {
  return {dgps::CosOp::create(builder, loc, angle), dgps::SinOp::create(builder, loc, angle)};
}

/// The angle of the number that the states are multiplied by, and its modulus, of which no function tells: a polynomial
/// of the tangent of half the angle, off by 2e-5, and one step of Newton's method for the sine of what is left, which
/// leaves 1e-15. All derivatives go through the step; they are off by 2e-10 of themselves.
///
/// A modulus of zero has no angle. The number is moved by less than any rounding, so that its derivatives are numbers
/// and right. Where a part is compared with zero it is moved too, so that nothing is divided by zero.
Value PhaseSeparator::findAngle() {
  if (form.angle)
    return materializer.get(form.angle, keySize);
  auto get = [&](const Poly *poly) { return poly->isZero() ? number(0) : materializer.get(poly, keySize); };
  auto div = [&](Value a, Value b) -> Value { return dgps::DivOp::create(builder, loc, a, b); };
  auto signOf = [&](Value a) { return div(a, dgps::AbsOp::create(builder, loc, a)); };
  Value re = add(get(form.along), number(1.0471e-18)), im = get(form.across);
  // As an exponential, which is known to be positive.
  Value square = add(mul(re, re), mul(im, im));
  modulus = dgps::ExpOp::create(builder, loc, mul(number(0.5), dgps::LogOp::create(builder, loc, square)));
  Value cosine = div(re, modulus), sine = div(im, modulus);
  Value tangent = div(sine, add(number(1), dgps::AbsOp::create(builder, loc, cosine)));
  Value power = mul(tangent, tangent), series = number(0.0208351);
  for (double coefficient : {-0.0851330, 0.1801410, -0.3302995, 0.9998660}) // Abramowitz and Stegun, 4.4.47
    series = add(mul(series, power), number(coefficient));
  Value acute = mul(number(2), mul(tangent, series)); // to the nearer half of the real axis
  Value right = signOf(re), left = mul(number(0.5), sub(number(1), right));
  Value halfTurn = mul(number(std::numbers::pi), signOf(add(im, number(1.2345e-30))));
  Value coarse = dgps::StopOp::create(builder, loc, add(mul(right, acute), mul(left, halfTurn)));
  Phase at = phaseOf(coarse);
  return add(coarse, sub(mul(sine, at.cosine), mul(cosine, at.sine)));
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

SmallVector<Write, 1> PhaseSeparator::collectWrites() {
  if (!form.isMatrix) {
    auto get = [&](const Poly *poly) { return poly->isZero() ? Value() : materializer.get(poly, keySize); };
    Write write{{}, {get(form.additions[0]), get(form.additions[1])}};
    return write.keys[0] || write.keys[1] ? SmallVector<Write, 1>{write} : SmallVector<Write, 1>();
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
  SmallVector<Write, 1> writes;
  for (auto &[monomial, terms] : keysOf) {
    auto overRows = [&](const Poly *poly, bool isColumn) { return isColumn ? algebra.transpose(poly) : poly; };
    Write write{materializer.getVector(overRows(algebra.poly(monomial), form.transposed), valueSize), {}};
    for (unsigned part : {0, 1})
      if (const Poly *key = algebra.poly(terms[part]); !key->isZero())
        write.keys[part] = materializer.getVector(overRows(key, !form.transposed), keySize);
    writes.push_back(write);
  }
  return writes;
}

Value PhaseSeparator::sumWrites(ArrayRef<Write> writes, unsigned part) {
  Value sum;
  for (const Write &write : writes) {
    Value key = write.keys[part];
    if (!key || !form.isMatrix)
      sum = add(sum, key);
    else
      sum = add(sum, dgps::OuterOp::create(builder, loc, real.getResult().getType(),
                                           form.transposed ? key : write.value, form.transposed ? write.value : key));
  }
  return sum;
}

Value PhaseSeparator::readWrites(ArrayRef<Write> writes, unsigned part, Value vector) {
  Value sum;
  for (const Write &write : writes)
    if (Value key = write.keys[part])
      sum = add(sum, mul(dgps::DotOp::create(builder, loc, key, vector), write.value));
  return sum;
}

Value PhaseSeparator::makeState(Type type, const Twine &name) {
  pair.ofChunk.push_back(firstOfChunk + pair.ofChunk.size());
  return dgps::StateOp::create(builder, loc, type,
                               builder.getStringAttr(real.getName() + "." + imaginary.getName() + "." + name));
}

Value PhaseSeparator::delay(Value value) {
  if (!value)
    return value;
  Value state = makeState(value.getType(), "delayed" + Twine(pair.ofChunk.size()));
  dgps::NextOp::create(builder, loc, state, value);
  return state;
}

Write PhaseSeparator::delay(const Write &write) {
  return {delay(write.value), {delay(write.keys[0]), delay(write.keys[1])}};
}

Value PhaseSeparator::decayed(Value state) {
  if (modulus)
    return scaleKeys(state, modulus);
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

/// Lets the ops use (a + ib) times the phase, and the writes. A product with a vector of keys turns the vector.
void PhaseSeparator::replaceUses(Value ofReal, Value ofImaginary, ArrayRef<Operation *> users, Value a, Value b,
                                 Phase by, ArrayRef<Write> writes) {
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
        if (!whole.first) {
          whole = turn(a, b, by, /*back=*/false, form.isMatrix);
          whole = {add(whole.first, sumWrites(writes, 0)), add(whole.second, sumWrites(writes, 1))};
        }
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
      result = add(result, readWrites(writes, isReal ? 0 : 1, vector));
      user->getResult(0).replaceAllUsesWith(result);
    }
}

TurnedPair PhaseSeparator::separate() {
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

  Value angle = findAngle();
  Value phase = makeState(angle.getType(), "phase");
  Value turned = add(phase, angle);
  dgps::NextOp::create(builder, loc, phase, turned);
  Phase before = phaseOf(phase), after = phaseOf(turned);

  SmallVector<Write, 1> writes = collectWrites(), earlier, inFrame;
  for (const Write &write : writes) {
    earlier.push_back(delay(write));
    auto [ofReal, ofImaginary] = turn(write.keys[0], write.keys[1], after, /*back=*/true, /*areMatrices=*/false);
    inFrame.push_back({earlier.back().value, {delay(ofReal), delay(ofImaginary)}});
    // Behind the last token of the chunk, what it wrote is still to come.
    auto indexOf = [&](Value state) -> std::optional<unsigned> {
      if (!state)
        return std::nullopt;
      auto states = real->getParentOfType<dgps::RecurrenceOp>().getStates();
      return std::distance(states.begin(), llvm::find(states, state.getDefiningOp<dgps::StateOp>()));
    };
    pair.writes.push_back(
        {indexOf(earlier.back().value), {indexOf(earlier.back().keys[0]), indexOf(earlier.back().keys[1])}});
  }
  Value newReal = decayed(add(real, sumWrites(inFrame, 0)));
  Value newImaginary = decayed(add(imaginary, sumWrites(inFrame, 1)));
  // A value that both were before the token and are after it has been left alone.
  replaceUses(oldReal, oldImaginary, usersAfter.getArrayRef(), newReal, newImaginary, after, writes);
  replaceUses(real, imaginary, usersBefore.getArrayRef(), real, imaginary, before, earlier);
  nextReal.getValueMutable().assign(newReal);
  nextImaginary.getValueMutable().assign(newImaginary);
  return pair;
}

//===----------------------------------------------------------------------===//
// Reads of one state together
//===----------------------------------------------------------------------===//

static bool isSum(Operation *op) { return op && isa<dgps::AddOp, dgps::SubOp>(op); }

/// The operand that the scalar of a product multiplies, and the scalar; none if the op is another.
static std::optional<std::pair<Value, Value>> asScaled(Operation *op) {
  if (auto product = dyn_cast_or_null<dgps::MulOp>(op))
    for (auto [value, scale] :
         {std::pair(op->getOperand(0), op->getOperand(1)), {op->getOperand(1), op->getOperand(0)}})
      if (dgps::shapeOf(scale).empty() && !dgps::shapeOf(value).empty())
        return std::pair(value, scale);
  return std::nullopt;
}

namespace {
/// The summands of a sum of products with matrices, as keys by matrix: M @ x + M @ y is M @ (x + y). The sum is then
/// nested so that a state's read stands beside the sum of all others, as whose value the analysis finds it again.
class ReadMerger {
public:
  explicit ReadMerger(Operation *root)
      : root(root), builder(OpBuilder::atBlockEnd(root->getBlock())), loc(root->getLoc()) {}
  void merge();

private:
  void collect(Value value, Value scale, bool negative, bool isRoot);
  Value combine(Value sum, Value value, bool negative) {
    if (!sum)
      return negative ? Value(dgps::NegOp::create(builder, loc, value)) : value;
    return negative ? Value(dgps::SubOp::create(builder, loc, sum, value))
                    : Value(dgps::AddOp::create(builder, loc, sum, value));
  }
  Value mul(Value scale, Value value) { return scale ? Value(dgps::MulOp::create(builder, loc, scale, value)) : value; }

  Operation *root;
  OpBuilder builder;
  Location loc;
  llvm::MapVector<std::pair<Value, unsigned>, Value> keyOf; // 1: from the left
  Value others;
};
} // namespace

void ReadMerger::collect(Value value, Value scale, bool negative, bool isRoot) {
  Operation *op = value.getDefiningOp();
  std::optional<std::pair<Value, Value>> scaled = asScaled(op);
  auto read = [&](Value matrix, Value vector, bool left) {
    Value &key = keyOf[{matrix, unsigned(left)}];
    key = combine(key, mul(scale, vector), negative);
  };
  if (isSum(op) && (isRoot || op->hasOneUse())) {
    collect(op->getOperand(0), scale, negative, false);
    collect(op->getOperand(1), scale, negative != isa<dgps::SubOp>(op), false);
  } else if (scaled && isSum(scaled->first.getDefiningOp()) && (isRoot || op->hasOneUse())) {
    collect(scaled->first, scale ? mul(scale, scaled->second) : scaled->second, negative, false);
  } else if (auto product = dyn_cast<dgps::MatvecOp>(op)) {
    read(product.getMatrix(), product.getVector(), /*left=*/false);
  } else if (auto product = dyn_cast<dgps::VecmatOp>(op)) {
    read(product.getMatrix(), product.getVector(), /*left=*/true);
  } else {
    others = combine(others, mul(scale, value), negative);
  }
}

void ReadMerger::merge() {
  auto isPartOfSum = [](Operation *user) { return isSum(user) || asScaled(user); };
  if (!isPartOfSum(root) || llvm::any_of(root->getUsers(), isPartOfSum))
    return;
  collect(root->getResult(0), {}, false, true);
  if (keyOf.size() < 2)
    return;
  Value sum = others;
  Type type = root->getResult(0).getType();
  for (auto &[read, key] : llvm::reverse(keyOf)) {
    auto [matrix, isLeft] = read;
    Value product = isLeft ? dgps::VecmatOp::create(builder, loc, type, key, matrix).getResult()
                           : dgps::MatvecOp::create(builder, loc, type, matrix, key).getResult();
    sum = sum ? dgps::AddOp::create(builder, loc, product, sum).getResult() : product;
  }
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
    pairs.push_back(PhaseSeparator(analysis, form).separate());
    SmallVector<Operation *> roots;
    for (Operation &op : body)
      roots.push_back(&op);
    for (Operation *root : roots)
      ReadMerger(root).merge();
    tidy(recurrence);
  }
}
