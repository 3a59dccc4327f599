// Diagonal, tropical and Moebius states: scans over the chunk's tokens. And states that keep a value for the next
// token.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

bool ProgramBuilder::isDelayed(unsigned state) const {
  const analysis::StateFacts &facts = analysis.getStates()[state];
  return !plan.isLooped(state) && facts.linear && facts.linear->factor->isZero() &&
         facts.stateClass == analysis::StateClass::Diagonal;
}

/// Whether the ops that compute the value use the state.
static bool computesFrom(Value value, dgps::StateOp state) {
  llvm::SetVector<Operation *> ops;
  ops.insert(value.getDefiningOp());
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      ops.insert(operand.getDefiningOp());
  return ops.contains(state);
}

void ProgramBuilder::buildDelayed(unsigned state) {
  ArrayRef<int64_t> shape = tensorOf(states[state]).getShape();
  dgps::StateOp op = analysis.getStates()[state].op;
  // Where the ops only seem to use the state, the analysis' form does not.
  Value next = op.getNext().getValue();
  if (computesFrom(next, op))
    next = scans[state].addition;
  Value all = spread(next ? lift(next) : constant(0), shape);
  setNext(state, LastOp::create(builder, loc, all));
  setLifted(op, PreviousOp::create(builder, loc, states[state], all));
}

void ProgramBuilder::buildScan(unsigned state) {
  const ScanValues &values = scans[state];
  ArrayRef<int64_t> shape = tensorOf(states[state]).getShape();
  Value additions = spread(values.addition ? lift(values.addition) : constant(0), shape);
  Value decay = liftRows(values.decay.steps);
  auto scan =
      ScanOp::create(builder, loc, states[state], additions, decay, decay && values.decay.linear, isPhase(state));
  setNext(state, scan.getLast());
  giveTokens(state, scan.getAll());
}

void ProgramBuilder::buildTropicalScan(unsigned state) {
  const ScanValues &values = scans[state];
  ArrayRef<int64_t> shape = tensorOf(states[state]).getShape();
  Value bounds = values.bound ? lift(values.bound) : constant(neutralOf(values.extremum));
  auto scan = TropicalScanOp::create(builder, loc, states[state], spread(lift(values.shift), shape),
                                     spread(bounds, shape), values.extremum);
  setNext(state, scan.getLast());
  giveTokens(state, scan.getAll());
}

void ProgramBuilder::buildMoebiusScan(unsigned state) {
  ArrayRef<int64_t> shape = tensorOf(states[state]).getShape();
  SmallVector<Value, 4> factors;
  for (Value factor : scans[state].quotient)
    factors.push_back(spread(factor ? lift(factor) : constant(0), shape));
  auto scan = MoebiusScanOp::create(builder, loc, states[state], factors[0], factors[1], factors[2], factors[3]);
  setNext(state, scan.getLast());
  giveTokens(state, scan.getAll());
}
