// The normal form of delta states, as IR.
#include "Analysis/Algebra/Materialize.h"
#include "Analysis/RecurrenceAnalysis.h"
#include "Transforms/DGPS/Passes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"

namespace recur::dgps {
#define GEN_PASS_DEF_NORMALIZEPASS
#include "Transforms/DGPS/Passes.h.inc"
} // namespace recur::dgps

using namespace mlir;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;
using namespace recur::dgps;

namespace {

/// Emits one delta state's update and readouts.
class DeltaEmitter {
public:
  DeltaEmitter(OpBuilder &builder, Materializer &materializer, StateOp state, const DeltaForm &form)
      : builder(builder), loc(state.getNext().getLoc()), materializer(materializer), state(state), form(form) {
    ArrayRef<int64_t> shape = shapeOf(state.getResult());
    keySize = form.orientation == Orientation::Right ? shape[1] : shape[0];
    valueSize = form.orientation == Orientation::Vector  ? 0
                : form.orientation == Orientation::Right ? shape[0]
                                                         : shape[1];
  }

  /// The state at each point of the token: undecayed, decayed, and after each write.
  void emitUpdate();
  Value emitReadout(const Readout &readout);
  Value after() const { return points.back(); }

private:
  Value decayed(Value matrix, const Decay &decay, bool keySide);
  Value read(const Read &read, bool crossed);
  Value scaled(const Poly *scale, Value vector, int64_t size);
  Value pointOf(Point point) const { return points[point.decayed ? 1 + point.writes : 0]; }

  OpBuilder &builder;
  Location loc;
  Materializer &materializer;
  StateOp state;
  const DeltaForm &form;
  int64_t keySize, valueSize;
  SmallVector<Value, 4> points;
};

struct NormalizePass : dgps::impl::NormalizePassBase<NormalizePass> {
  void runOnOperation() override;
};

} // namespace

Value DeltaEmitter::decayed(Value matrix, const Decay &decay, bool keySide) {
  if (decay.isAbsent())
    return matrix;
  int64_t size = keySide ? keySize : valueSize;
  Value factor = decay.log ? Value(ExpOp::create(builder, loc, materializer.get(decay.log, size)))
                           : materializer.get(decay.linear, size);
  if (shapeOf(factor).empty() || form.orientation == Orientation::Vector)
    return MulOp::create(builder, loc, factor, matrix);
  if (keySide == (form.orientation == Orientation::Right))
    return ScaleColsOp::create(builder, loc, matrix, factor);
  return ScaleRowsOp::create(builder, loc, factor, matrix);
}

Value DeltaEmitter::scaled(const Poly *scale, Value vector, int64_t size) {
  if (scale->isOne())
    return vector;
  return MulOp::create(builder, loc, materializer.get(scale, size), vector);
}

Value DeltaEmitter::read(const Read &read, bool crossed) {
  Value matrix = pointOf(read.point);
  Value key = materializer.getVector(read.key, crossed ? valueSize : keySize);
  Value product;
  if (form.orientation == Orientation::Vector)
    product = DotOp::create(builder, loc, key, matrix);
  else if ((form.orientation == Orientation::Right) != crossed)
    product = MatvecOp::create(builder, loc, matrix, key);
  else
    product = VecmatOp::create(builder, loc, key, matrix);
  return scaled(read.scale, product, crossed ? keySize : valueSize);
}

void DeltaEmitter::emitUpdate() {
  points.push_back(state.getResult());
  Value current = decayed(state.getResult(), form.keyDecay, /*keySide=*/true);
  current = decayed(current, form.valueDecay, /*keySide=*/false);
  points.push_back(current);
  for (const MicroStep &step : form.steps) {
    Value value;
    if (!step.value->isZero())
      value = scaled(step.gain,
                     form.orientation == Orientation::Vector ? materializer.get(step.value, 0)
                                                             : materializer.getVector(step.value, valueSize),
                     valueSize);
    for (const Read &erase : step.reads) {
      Value erased = read(erase, /*crossed=*/false);
      value = value ? Value(SubOp::create(builder, loc, value, erased)) : Value(NegOp::create(builder, loc, erased));
    }
    Value key = materializer.getVector(step.write, keySize);
    Value write;
    switch (form.orientation) {
    case Orientation::Right:
      write = OuterOp::create(builder, loc, value, key);
      break;
    case Orientation::Left:
      write = OuterOp::create(builder, loc, key, value);
      break;
    case Orientation::Vector:
      write = MulOp::create(builder, loc, value, key);
      break;
    }
    current = AddOp::create(builder, loc, current, write);
    points.push_back(current);
  }
}

Value DeltaEmitter::emitReadout(const Readout &readout) {
  int64_t size = readout.crossed ? keySize : valueSize;
  Value result;
  for (const Read &one : readout.form.reads) {
    Value term = read(one, readout.crossed);
    result = result ? Value(AddOp::create(builder, loc, result, term)) : term;
  }
  if (!readout.form.free->isZero())
    result = AddOp::create(builder, loc, result, materializer.get(readout.form.free, size));
  return result;
}

void NormalizePass::runOnOperation() {
  auto &analysis = getAnalysis<RecurrenceAnalysis>();
  RecurrenceOp recurrence = getOperation();
  Block &body = recurrence.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  const Expressions &expressions = analysis.getExpressions();

  // All is built from the program as it stands, then exchanged at once.
  SmallVector<std::pair<Value, Value>> replacements;
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    if (!facts.delta)
      continue;
    StateOp state = facts.op;
    Materializer materializer(builder, state.getNext().getLoc(), analysis.getAlgebra(), expressions);
    DeltaEmitter emitter(builder, materializer, state, *facts.delta);
    emitter.emitUpdate();
    for (const Readout &readout : facts.delta->readouts)
      replacements.push_back({readout.value, emitter.emitReadout(readout)});
    // Ops that use the whole state after the token get the normal form's, under whichever name they had it.
    const Poly *after = expressions.after(index);
    if (after != expressions.before(index))
      for (Operation &op : body)
        if (op.getNumResults() == 1 && expressions.of(op.getResult(0)) == after && op.getResult(0) != emitter.after())
          replacements.push_back({op.getResult(0), emitter.after()});
  }
  for (auto [before, now] : replacements)
    before.replaceAllUsesWith(now);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  sortTopologically(&body);
}
