// How much of a delta state the tokens of a chunk leave at most.
//
// A token takes the state S to S D (I - r_1 w_1^T) ... (I - r_R w_R^T) plus what does not depend on it: D is its decay,
// r what a write w erases with. The Frobenius norm of S M is at most that of S times the spectral norm of M, which is
// largest |d| for the decay. The spectral norm of a I - r w^T is that of its part in the plane of r and w: with
// x = <r, w> and n = |r| |w|, the singular values there have the product |a (a - x)| and the sum of squares
// 2 a^2 - 2 a x + n^2, so the larger is (n + sqrt((2 a - x)^2 + n^2 - x^2)) / 2. Where r is along w, n is |x|, and this
// is max(|a|, |a - x|) without a root. Where w is a vector over its length, x is the gain times at most one, and the
// norm is largest at an end: nothing of such a key needs to be known.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

/// Whether the rows are vectors over their lengths, with nothing below zero added under the root: their lengths are at
/// most one.
static bool isAtMostUnit(Value rows) {
  auto isMap = [](Value value, Function function) {
    auto map = value.getDefiningOp<MapOp>();
    return map && map.getFunction() == function ? map : MapOp();
  };
  MapOp quotient = isMap(rows, Function::Div);
  MapOp root = quotient ? isMap(quotient.getOperands()[1], Function::Sqrt) : MapOp();
  if (!root)
    return false;
  Value square = root.getOperands()[0];
  if (MapOp sum = isMap(square, Function::Add)) {
    std::optional<double> added = constantNumber(sum.getOperands()[1]);
    if (!added || !(*added >= 0))
      return false;
    square = sum.getOperands()[0];
  }
  MapOp dot = isMap(square, Function::Dot);
  Value vector = quotient.getOperands()[0];
  return dot && llvm::all_of(dot.getOperands(), [&](Value operand) { return operand == vector; });
}

/// The spectral norm of a I - r w^T for each token; a null decay is one.
Value DeltaState::boundErasure(const StepValue &step, Value decay) {
  auto map = [&](Function function, ValueRange operands) { return program.map(function, operands); };
  Value write = keyRows(step.write), a = decay ? decay : program.constant(1);
  Value distance, radius; // |2 a - x| or its like, and n
  const ReadValue &first = step.reads.front();
  if (step.reads.size() == 1 && first.key == step.write) {
    Value x = isAtMostUnit(write) ? Value() : map(Function::Dot, {write, write}); // null: one
    if (first.scale)
      x = program.mul(program.lift(first.scale), x);
    if (!x)
      x = program.constant(1);
    radius = map(Function::Abs, x);
    distance = map(Function::Abs, program.sub(program.mul(program.constant(2), a), x));
  } else {
    Value erased;
    for (const ReadValue &read : step.reads) {
      Value key = keyRows(read.key);
      erased = program.add(erased, read.scale ? program.mul(program.lift(read.scale), key) : key);
    }
    Value x = map(Function::Dot, {erased, write});
    Value squares = program.mul(map(Function::Dot, {erased, erased}), map(Function::Dot, {write, write}));
    Value along = program.sub(program.mul(program.constant(2), a), x);
    Value across = map(Function::Max, {program.sub(squares, program.mul(x, x)), program.constant(0)});
    radius = map(Function::Sqrt, squares);
    distance = map(Function::Sqrt, program.add(program.mul(along, along), across));
  }
  return program.mul(program.constant(0.5), program.add(radius, distance));
}

/// Where writes read the state: the product over all tokens of the norms of their factors.
Value DeltaState::boundOnline() {
  bool hasVectors = valueDecay || (keyDecay && tensorOf(keyDecay).getRank() != 1);
  if (hasVectors || !keyDecay) // without decay nothing is below one
    return {};
  Value growth;
  bool isDecayed = false; // the decay is in `growth`
  for (auto [before, index] : llvm::enumerate(solved.steps)) {
    const StepValue &step = values.steps[index];
    Point point = step.reads.front().point;
    size_t seen = point.decayed ? llvm::count_if(solved.steps, [&](unsigned one) { return one < point.writes; }) : 0;
    bool isAtOnce = llvm::all_of(step.reads, [&](const ReadValue &read) {
      return read.point == point && (!read.scale || dgps::shapeOf(read.scale).empty());
    });
    // Else the factors are no product.
    if (!isAtOnce || seen != before)
      return {};
    Value decay;
    if (!point.decayed) {
      isDecayed = true;
      decay = values.keyDecay.linear ? keyDecay : program.map(Function::Exp, keyDecay);
    }
    growth = program.mul(growth, boundErasure(step, decay));
  }
  bool isLinear = isDecayed || values.keyDecay.linear;
  Value steps = growth;
  if (!isDecayed && isLinear)
    steps = program.mul(program.map(Function::Abs, keyDecay), growth);
  else if (!isDecayed)
    steps = program.add(keyDecay, program.map(Function::Log, growth));
  return CumulativeDecayOp::create(program.getBuilder(), program.getLoc(), DecayRange::Total, program.spread(steps, {}),
                                   isLinear);
}

Value DeltaState::boundRemains() {
  if (values.orientation == Orientation::Vector)
    return {};
  if (!solved.isEmpty())
    return boundOnline();
  Value ofKeys = decayProduct(true, DecayRange::Total), ofValues = decayProduct(false, DecayRange::Total);
  if (ofKeys && ofValues && tensorOf(ofKeys).getRank() == 2 && tensorOf(ofValues).getRank() == 2)
    return {}; // each element has a bound of its own
  bool isPositive = !(ofKeys && values.keyDecay.linear) && !(ofValues && values.valueDecay.linear);
  Value total = program.mul(ofKeys, ofValues);
  return total && !isPositive ? program.map(Function::Abs, total) : total;
}
