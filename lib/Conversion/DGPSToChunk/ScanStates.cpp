// Diagonal and tropical states: scans over the chunk's tokens.
#include "Conversion/DGPSToChunk/Conversion.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

void ProgramBuilder::buildScan(unsigned state) {
  const ScanValues &values = scans[state];
  ArrayRef<int64_t> shape = tensorOf(states[state]).getShape();
  Value additions = spread(values.addition ? lift(values.addition) : constant(0), shape);
  Value decay = liftRows(values.decay.steps);
  auto scan = ScanOp::create(builder, loc, states[state], additions, decay, decay && values.decay.linear);
  setNext(state, scan.getLast());
  setAfter(state, scan.getAll());
  dgps::StateOp op = analysis.getStates()[state].op;
  setLifted(op, PreviousOp::create(builder, loc, states[state], scan.getAll()));
}

void ProgramBuilder::buildTropicalScan(unsigned state) {
  const ScanValues &values = scans[state];
  ArrayRef<int64_t> shape = tensorOf(states[state]).getShape();
  Value bounds = values.bound ? lift(values.bound) : constant(-std::numeric_limits<double>::infinity());
  auto scan =
      TropicalScanOp::create(builder, loc, states[state], spread(lift(values.shift), shape), spread(bounds, shape));
  setNext(state, scan.getLast());
  setAfter(state, scan.getAll());
  dgps::StateOp op = analysis.getStates()[state].op;
  setLifted(op, PreviousOp::create(builder, loc, states[state], scan.getAll()));
}
