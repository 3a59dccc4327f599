#include "Transforms/Chunk/MoebiusMap.h"

using namespace mlir;
using namespace recur::chunk;

/// The number that a chunk's map multiplies the state with in its denominator is left under this name.
static std::string nameCurve(StateOp state) { return (state.getName() + ".curve").str(); }

/// B is what zero becomes. With `w = c B + d`, where B is what zero became by the tokens before, a token multiplies p
/// by
/// `(a d - b c) / w^2` and adds `c p / w` to C. Nothing cancels where the four numbers and the determinant are
/// positive.
void recur::chunk::giveMoebiusMap(ValueBuilder &build, StateOp state, MoebiusScanOp scan) {
  OpBuilder &builder = build.getBuilder();
  Location loc = build.getLoc();
  Value zero = build.stateConstant(0, tensorOf(state));
  Value a = scan.getA(), b = scan.getB(), c = scan.getC(), d = scan.getD();
  auto ofZero = MoebiusScanOp::create(builder, loc, zero, a, b, c, d);
  Value before = PreviousOp::create(builder, loc, zero, ofZero.getAll());
  Value w = build.add(build.mul(c, before), d);
  Value determinant = build.sub(build.mul(a, d), build.mul(b, c));
  Value slope = build.map(Function::Div, {build.map(Function::Div, {determinant, w}), w});
  Value slopeBefore = CumulativeDecayOp::create(builder, loc, DecayRange::Before, slope, /*linear=*/true);
  Value curve = build.mul(build.map(Function::Div, {c, w}), slopeBefore);
  auto curves = ScanOp::create(builder, loc, zero, curve, Value(), /*linear=*/false, /*angles=*/false);
  auto give = [&](StringRef name, Value value) {
    GiveOp::create(builder, loc, name, /*whole=*/false, /*rounded=*/false, build.asToken(value));
  };
  give(nameOffset(state), ofZero.getLast());
  giveFactor(build, state, slope, /*linear=*/true);
  give(nameCurve(state), curves.getLast());
}

Value recur::chunk::applyMoebiusMap(CarryProgram &carry, StateOp state) {
  ValueBuilder build(carry.getInside(), state.getLoc());
  ArrayRef<int64_t> shape = tensorOf(state).getShape();
  Value x = build.asToken(carry.getStates().lookup(state));
  Value under = build.add(build.number(1), build.mul(carry.take(nameCurve(state), shape), x));
  Value moved = build.map(Function::Div, {build.mul(carry.take(nameFactor(state), shape), x), under});
  return build.asState(build.add(carry.takeOffset(state), moved));
}
