// One recurrence as a program of chunks.
#include "Conversion/DGPSToChunk/Conversion.h"
#include "Conversion/DGPSToChunk/Passes.h"

namespace recur {
#define GEN_PASS_DEF_CONVERTDGPSTOCHUNKPASS
#include "Conversion/DGPSToChunk/Passes.h.inc"
} // namespace recur

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;
using recur::analysis::StateClass;

ProgramBuilder::ProgramBuilder(OpBuilder &builder, dgps::RecurrenceOp scratch, int64_t chunk)
    : builder(builder), loc(scratch.getLoc()), recurrence(scratch), chunk(chunk), analysis(scratch), plan(analysis) {}
ProgramBuilder::~ProgramBuilder() = default;

/// Reports the first failure. What is built goes on with a value of the shape, so that no part has to ask whether
/// another one failed; the program is thrown away in the end.
Value ProgramBuilder::fail(Operation *op, const Twine &message, ArrayRef<int64_t> shape) {
  if (!failed)
    op->emitError() << "'" << op->getName().getStringRef() << "' " << message.str();
  failed = true;
  return spread(constant(0), shape);
}

unsigned ProgramBuilder::indexOf(dgps::StateOp state) const { return analysis.getExpressions().indexOf(state); }

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

void ProgramBuilder::setAfter(unsigned state, Value tokens) {
  for (auto [value, index] : afterOf)
    if (index == state)
      lifted[value] = tokens;
}

void ProgramBuilder::buildState(unsigned state) {
  dgps::StateOp op = analysis.getStates()[state].op;
  if (progress[state] == Progress::Built)
    return;
  if (progress[state] == Progress::Building) {
    fail(op, "depends on itself by a value that the analysis took for free of it", {});
    return;
  }
  progress[state] = Progress::Building;
  if (const LoopGroup *group = plan.groupWith(op)) {
    for (unsigned member : group->states)
      progress[member] = Progress::Building;
    buildTokenLoop(*group);
    for (unsigned member : group->states)
      progress[member] = Progress::Built;
  } else if (deltas[state]) {
    deltas[state]->build(state);
  } else if (analysis.getStates()[state].stateClass == StateClass::Tropical) {
    buildTropicalScan(state);
  } else {
    buildScan(state);
  }
  progress[state] = Progress::Built;
}

DeltaState *ProgramBuilder::findDeltaState(Value value, Point &point) {
  auto after = afterOf.find(value);
  auto op = value.getDefiningOp<dgps::StateOp>();
  if (!op && after == afterOf.end())
    return nullptr;
  unsigned state = op ? indexOf(op) : after->second;
  DeltaState *delta = deltas[state].get();
  if (!delta)
    return nullptr;
  point = op ? Point{} : Point{true, delta->countWrites()};
  buildState(state);
  return delta;
}

bool ProgramBuilder::holdsDeltaState(Value value) {
  if (dgps::shapeOf(value).size() != 2 || plan.groupWith(value.getDefiningOp()))
    return false;
  if (auto state = value.getDefiningOp<dgps::StateOp>())
    return deltas[indexOf(state)] != nullptr;
  return llvm::any_of(value.getDefiningOp()->getOperands(), [&](Value operand) { return holdsDeltaState(operand); });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ProgramBuilder::multiply(Value matrix, Value rows, bool left) {
  Point point;
  ArrayRef<int64_t> shape = dgps::shapeOf(matrix).slice(left ? 1 : 0, 1);
  if (DeltaState *delta = findDeltaState(matrix, point)) {
    if (failed)
      return spread(constant(0), shape);
    bool crossed = left != (delta->getValues().orientation == Orientation::Left);
    return delta->read(spreadRows(rows), point, crossed);
  }
  Operation *op = matrix.getDefiningOp();
  if (auto outer = dyn_cast<dgps::OuterOp>(op); outer && !plan.groupWith(op)) {
    Value read = lift(left ? outer.getLhs() : outer.getRhs()), other = lift(left ? outer.getRhs() : outer.getLhs());
    return mul(map(Function::Dot, {read, rows}), other);
  }
  if (!holdsDeltaState(matrix)) {
    Value tokens = lift(matrix);
    return left ? map(Function::Vecmat, {rows, tokens}) : map(Function::Matvec, {tokens, rows});
  }
  // The product goes through what the matrix is made of.
  if (isa<dgps::AddOp, dgps::SubOp>(op)) {
    Value a = multiply(op->getOperand(0), rows, left), b = multiply(op->getOperand(1), rows, left);
    return map(isa<dgps::AddOp>(op) ? Function::Add : Function::Sub, {a, b});
  }
  if (isa<dgps::NegOp>(op))
    return map(Function::Neg, multiply(op->getOperand(0), rows, left));
  if (isa<dgps::MulOp>(op) && (dgps::shapeOf(op->getOperand(0)).empty() || dgps::shapeOf(op->getOperand(1)).empty())) {
    unsigned scalar = dgps::shapeOf(op->getOperand(0)).empty() ? 0 : 1;
    Value scale = lift(op->getOperand(scalar)), a = multiply(op->getOperand(1 - scalar), rows, left);
    return mul(scale, a);
  }
  Value inner, scale;
  bool columns = false;
  if (auto scaled = dyn_cast<dgps::ScaleColsOp>(op)) {
    inner = scaled.getMatrix();
    scale = lift(scaled.getVector());
    columns = true;
  } else if (auto scaled = dyn_cast<dgps::ScaleRowsOp>(op)) {
    inner = scaled.getMatrix();
    scale = lift(scaled.getVector());
  } else {
    return fail(op, "makes a matrix of a state that is only read by products; it has no chunkwise form", shape);
  }
  // The scale is on the side of the rows, or on that of the result.
  if (columns != left)
    return multiply(inner, mul(scale, rows), left);
  return mul(scale, multiply(inner, rows, left));
}

Value ProgramBuilder::lift(Value value) {
  if (failed)
    return spread(constant(0), dgps::shapeOf(value));
  if (Value known = lifted.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  for (auto [index, delta] : llvm::enumerate(deltas)) {
    if (!delta)
      continue;
    auto readout = delta->getValues().readouts.find(value);
    if (readout == delta->getValues().readouts.end())
      continue;
    buildState(index);
    if (failed)
      return spread(constant(0), dgps::shapeOf(value));
    return lifted[value] = delta->readout(readout->second);
  }
  auto after = afterOf.find(value);
  auto state = dyn_cast<dgps::StateOp>(op);
  const LoopGroup *group = plan.groupWith(op);
  if (state || group || (after != afterOf.end() && !deltas[after->second])) {
    buildState(state ? indexOf(state) : group ? group->states[0] : after->second);
    if (Value known = lifted.lookup(value))
      return known;
    return fail(op, "is used as a whole, but is only read by products", dgps::shapeOf(value));
  }
  if (auto dot = dyn_cast<dgps::DotOp>(op)) {
    Point point;
    for (auto [vector, key] : {std::pair(dot.getLhs(), dot.getRhs()), std::pair(dot.getRhs(), dot.getLhs())})
      if (DeltaState *delta = findDeltaState(vector, point))
        return lifted[value] = failed ? spread(constant(0), {}) : delta->read(liftRows(key), point, /*crossed=*/false);
  }
  result = liftOp(
      op, [&](Value operand) { return lift(operand); },
      [&](Value matrix, Value rows, bool left) { return multiply(matrix, rows, left); });
  return lifted[value] = result;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

FailureOr<ProgramOp> ProgramBuilder::build() {
  MLIRContext *context = builder.getContext();
  const algebra::Expressions &expressions = analysis.getExpressions();
  plan.findBodies();
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    deltas.emplace_back();
    scans.emplace_back();
    progress.push_back(Progress::Untouched);
    if (plan.isLooped(index))
      continue;
    for (Operation &op : recurrence.getBody().front())
      if (op.getNumResults() == 1 && !isa<dgps::StateOp>(op) &&
          expressions.of(op.getResult(0)) == expressions.after(index) &&
          dgps::shapeOf(op.getResult(0)) == dgps::shapeOf(dgps::StateOp(facts.op).getResult()))
        afterOf.try_emplace(op.getResult(0), index);
  }
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    if (plan.isLooped(index))
      continue;
    if (facts.stateClass == StateClass::Delta)
      deltas[index] = std::make_unique<DeltaState>(*this, materialize(analysis, index));
    else
      scans[index] = materializeScan(analysis, index);
  }
  plan.findBodies();

  auto program = ProgramOp::create(builder, loc, recurrence.getSymName(), recurrence.getDims(), chunk);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&program.getBody().front());
  for (dgps::InputOp input : recurrence.getInputs())
    lifted[input] =
        InputOp::create(builder, input.getLoc(), makeTokens(context, chunk, dgps::shapeOf(input.getResult())),
                        input.getName(), input.getShared());
  for (dgps::ParamOp param : recurrence.getParams())
    lifted[param] = ParamOp::create(builder, param.getLoc(), makeTokens(context, 1, dgps::shapeOf(param.getResult())),
                                    param.getName());
  for (dgps::StateOp state : recurrence.getStates())
    states.push_back(StateOp::create(builder, state.getLoc(), makeTensor(context, dgps::shapeOf(state.getResult())),
                                     state.getName()));
  nexts.resize(states.size());
  for (unsigned state = 0; state < states.size() && !failed; ++state)
    buildState(state);
  SmallVector<std::pair<dgps::OutputOp, Value>> outputs;
  for (dgps::OutputOp output : recurrence.getOutputs())
    outputs.push_back({output, liftRows(output.getValue())});
  if (failed) {
    program.erase();
    return failure();
  }
  for (auto [output, value] : outputs)
    OutputOp::create(builder, output.getLoc(), output.getName(), value);
  for (auto [state, next] : llvm::zip(states, nexts))
    NextOp::create(builder, loc, state, next);
  // What was made in advance and is not needed goes.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  return program;
}

FailureOr<ProgramOp> recur::convertToChunk(OpBuilder &builder, dgps::RecurrenceOp recurrence, int64_t chunk) {
  OwningOpRef<dgps::RecurrenceOp> scratch = recurrence.clone();
  return ProgramBuilder(builder, *scratch, chunk).build();
}

namespace {
struct ConvertDGPSToChunkPass : recur::impl::ConvertDGPSToChunkPassBase<ConvertDGPSToChunkPass> {
  using ConvertDGPSToChunkPassBase::ConvertDGPSToChunkPassBase;

  void runOnOperation() override {
    if (chunk < 1) {
      getOperation().emitError() << "a chunk needs at least 1 token, but the option 'chunk' is " << int64_t(chunk);
      return signalPassFailure();
    }
    for (auto recurrence : llvm::make_early_inc_range(getOperation().getOps<dgps::RecurrenceOp>())) {
      OpBuilder builder(recurrence);
      if (mlir::failed(convertToChunk(builder, recurrence, chunk)))
        return signalPassFailure();
      recurrence.erase();
    }
  }
};
} // namespace
