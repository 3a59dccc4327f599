// One recurrence as a program of chunks.
#include "Conversion/DGPSToChunk/Conversion.h"
#include "Conversion/DGPSToChunk/Passes.h"

namespace recur::conversion {
#define GEN_PASS_DEF_CONVERTDGPSTOCHUNKPASS
#include "Conversion/DGPSToChunk/Passes.h.inc"
} // namespace recur::conversion

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;
using recur::analysis::StateClass;

ProgramBuilder::ProgramBuilder(OpBuilder &builder, dgps::RecurrenceOp scratch, const ChunkFormOptions &options,
                               ArrayRef<unsigned> looped, ArrayRef<TurnedPair> turned,
                               ArrayRef<SeparatedInverse> inverses)
    : builder(builder), loc(scratch.getLoc()), recurrence(scratch), options(options), chunk(options.chunk),
      analysis(scratch), plan(analysis, looped), turned(turned), inverses(inverses) {}
ProgramBuilder::~ProgramBuilder() = default;

Value ProgramBuilder::giveUp(Value matrix, ArrayRef<int64_t> shape) {
  for (unsigned state : deltaStatesIn(matrix))
    statesToLoop.insert(state);
  if (statesToLoop.empty()) // not known which: all
    for (unsigned state = 0; state < deltas.size(); ++state)
      statesToLoop.insert(state);
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

void ProgramBuilder::giveTokens(unsigned state, Value after) {
  setAfter(state, after);
  dgps::StateOp op = analysis.getStates()[state].op;
  setLifted(op, PreviousOp::create(builder, loc, states[state], after));
}

void ProgramBuilder::buildState(unsigned state) {
  dgps::StateOp op = analysis.getStates()[state].op;
  if (progress[state] == Progress::Built)
    return;
  // A value that the analysis knows to be free of the state, though its ops are not.
  if (progress[state] == Progress::Building) {
    statesToLoop.insert(state);
    return;
  }
  progress[state] = Progress::Building;
  if (const LoopGroup *group = plan.groupWith(op)) {
    for (unsigned member : group->states)
      progress[member] = Progress::Building;
    buildTokenLoop(*group);
    for (unsigned member : group->states)
      progress[member] = Progress::Built;
  } else if (CoupledStates *shared = coupledOf(state)) {
    for (dgps::StateOp member : shared->getStates())
      progress[indexOf(member)] = Progress::Building;
    shared->build();
    for (dgps::StateOp member : shared->getStates())
      progress[indexOf(member)] = Progress::Built;
  } else if (deltas[state]) {
    deltas[state]->build(state);
  } else if (isDelayed(state)) {
    buildDelayed(state);
  } else if (analysis.getStates()[state].stateClass == StateClass::Tropical) {
    buildTropicalScan(state);
  } else if (analysis.getStates()[state].stateClass == StateClass::Moebius) {
    buildMoebiusScan(state);
  } else {
    buildScan(state);
  }
  progress[state] = Progress::Built;
}

std::optional<ProgramBuilder::WholeState> ProgramBuilder::findWholeState(Value value) {
  if (auto op = value.getDefiningOp<dgps::StateOp>())
    return WholeState{indexOf(op), /*isAfter=*/false};
  if (auto after = afterOf.find(value); after != afterOf.end())
    return WholeState{after->second, /*isAfter=*/true};
  return std::nullopt;
}

DeltaState *ProgramBuilder::findDeltaState(Value value, Point &point) {
  std::optional<WholeState> whole = findWholeState(value);
  DeltaState *delta = whole ? deltas[whole->state].get() : nullptr;
  if (!delta)
    return nullptr;
  point = whole->isAfter ? Point{true, delta->countWrites()} : Point{};
  buildState(whole->state);
  return delta;
}

CoupledStates *ProgramBuilder::coupledOf(unsigned state) {
  std::optional<unsigned> form = analysis.getStates()[state].coupled;
  return form ? coupled[*form].get() : nullptr;
}

bool ProgramBuilder::hasTokenValues(unsigned state) {
  if (deltas[state])
    return deltas[state]->getValues().orientation == Orientation::Vector;
  return !coupledOf(state) || tensorOf(states[state]).getRank() < 2;
}

llvm::SetVector<unsigned> ProgramBuilder::deltaStatesIn(Value value) {
  llvm::SetVector<unsigned> states;
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!seen.insert(op).second || plan.groupWith(op))
      continue;
    if (auto state = dyn_cast<dgps::StateOp>(op)) {
      if (deltas[indexOf(state)] || coupledOf(indexOf(state)))
        states.insert(indexOf(state));
      continue;
    }
    for (Value operand : op->getOperands())
      if (dgps::shapeOf(operand).size() == dgps::shapeOf(value).size())
        work.push_back(operand);
  }
  return states;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ProgramBuilder::multiply(Value matrix, Value rows, bool left) {
  Point point;
  ArrayRef<int64_t> shape = dgps::shapeOf(matrix).slice(left ? 1 : 0, 1);
  if (DeltaState *delta = findDeltaState(matrix, point)) {
    if (!statesToLoop.empty())
      return spread(constant(0), shape);
    bool crossed = left != (delta->getValues().orientation == Orientation::Left);
    return delta->read(spreadRows(rows), point, crossed);
  }
  if (std::optional<WholeState> whole = findWholeState(matrix))
    if (CoupledStates *shared = coupledOf(whole->state)) {
      buildState(whole->state);
      if (!statesToLoop.empty())
        return spread(constant(0), shape);
      bool crossed = left != (shared->getOrientation() == Orientation::Left);
      return shared->read(analysis.getStates()[whole->state].op, whole->isAfter, spreadRows(rows), crossed);
    }
  Operation *op = matrix.getDefiningOp();
  if (auto outer = dyn_cast<dgps::OuterOp>(op); outer && !plan.groupWith(op)) {
    Value read = lift(left ? outer.getLhs() : outer.getRhs()), other = lift(left ? outer.getRhs() : outer.getLhs());
    return mul(map(Function::Dot, {read, rows}), other);
  }
  if (deltaStatesIn(matrix).empty()) {
    Value tokens = lift(matrix);
    return left ? map(Function::Vecmat, {rows, tokens}) : map(Function::Matvec, {tokens, rows});
  }
  // The product goes through what the matrix is made of.
  if (isa<dgps::AddOp, dgps::SubOp>(op)) {
    // A scalar counts for every element.
    auto part = [&](Value operand) {
      return dgps::shapeOf(operand).empty() ? spread(mul(lift(operand), map(Function::Sum, rows)), shape)
                                            : multiply(operand, rows, left);
    };
    Value a = part(op->getOperand(0)), b = part(op->getOperand(1));
    return map(isa<dgps::AddOp>(op) ? Function::Add : Function::Sub, {a, b});
  }
  if (isa<dgps::NegOp>(op))
    return map(Function::Neg, multiply(op->getOperand(0), rows, left));
  if (isa<dgps::MulOp>(op) && (dgps::shapeOf(op->getOperand(0)).empty() || dgps::shapeOf(op->getOperand(1)).empty())) {
    unsigned scalar = dgps::shapeOf(op->getOperand(0)).empty() ? 0 : 1;
    Value scale = lift(op->getOperand(scalar)), a = multiply(op->getOperand(1 - scalar), rows, left);
    return mul(scale, a);
  }
  if (isa<dgps::MulOp>(op))
    for (auto [inner, factor] :
         {std::pair(op->getOperand(0), op->getOperand(1)), std::pair(op->getOperand(1), op->getOperand(0))})
      if (auto outer = factor.getDefiningOp<dgps::OuterOp>()) {
        Value before = lift(left ? outer.getLhs() : outer.getRhs()),
              after = lift(left ? outer.getRhs() : outer.getLhs());
        return mul(after, multiply(inner, mul(before, rows), left));
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
    return giveUp(matrix, shape);
  }
  // The scale is on the side of the rows, or on that of the result.
  if (columns != left)
    return multiply(inner, mul(scale, rows), left);
  return mul(scale, multiply(inner, rows, left));
}

Value ProgramBuilder::lift(Value value) {
  if (!statesToLoop.empty())
    return spread(constant(0), dgps::shapeOf(value));
  if (Value known = lifted.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (const SeparatedInverse *inverse = inverseThatReads(value)) {
    buildKnownReads(*inverse);
    return lifted[value];
  }
  Value result;
  for (auto [index, delta] : llvm::enumerate(deltas)) {
    if (!delta)
      continue;
    auto readout = delta->getValues().readouts.find(value);
    if (readout == delta->getValues().readouts.end())
      continue;
    buildState(index);
    if (!statesToLoop.empty())
      return spread(constant(0), dgps::shapeOf(value));
    return lifted[value] = delta->readout(readout->second);
  }
  auto after = afterOf.find(value);
  auto state = dyn_cast<dgps::StateOp>(op);
  const LoopGroup *group = plan.groupWith(op);
  if (state || group || (after != afterOf.end() && hasTokenValues(after->second))) {
    buildState(state ? indexOf(state) : group ? group->states[0] : after->second);
    if (Value known = lifted.lookup(value))
      return known;
    return giveUp(value, dgps::shapeOf(value));
  }
  if (auto dot = dyn_cast<dgps::DotOp>(op)) {
    Point point;
    for (auto [vector, key] : {std::pair(dot.getLhs(), dot.getRhs()), std::pair(dot.getRhs(), dot.getLhs())})
      if (DeltaState *delta = findDeltaState(vector, point))
        return lifted[value] = !statesToLoop.empty() ? spread(constant(0), {})
                                                     : delta->read(liftRows(key), point, /*crossed=*/false);
  }
  result = liftOp(
      op, [&](Value operand) { return lift(operand); },
      [&](Value matrix, Value rows, bool left) { return multiply(matrix, rows, left); });
  return lifted[value] = result;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

bool ProgramBuilder::isPhase(unsigned state) const {
  return llvm::any_of(turned, [&](const TurnedPair &pair) { return pair.getPhase() == state; });
}

bool ProgramBuilder::isOfChunk(unsigned state) const {
  return llvm::any_of(turned, [&](const TurnedPair &pair) { return llvm::is_contained(pair.ofChunk, state); });
}

/// Matrices whose keys are their rows. Both parts of a number lie alike, for they are added up.
void ProgramBuilder::chooseTransposed() {
  if (options.asDeclared)
    return;
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    CoupledStates *shared = coupledOf(index);
    bool isMatrix = dgps::shapeOf(dgps::StateOp(facts.op).getResult()).size() == 2;
    if (isMatrix && ((deltas[index] && deltas[index]->getValues().orientation == Orientation::Left) ||
                     (shared && shared->getOrientation() == Orientation::Left)))
      transposed.insert(index);
  }
  for (const TurnedPair &pair : turned)
    if (isTransposed(pair.real) != isTransposed(pair.imaginary)) {
      transposed.erase(pair.real);
      transposed.erase(pair.imaginary);
    }
}

void ProgramBuilder::turnNexts() {
  ValueBuilder build(builder, loc);
  for (const TurnedPair &pair : turned) {
    bool areRows = pair.transposed != isTransposed(pair.real); // of the program's matrices, what is turned together
    Value phase = build.asToken(nexts[pair.getPhase()]), cosine = map(Function::Cos, phase),
          sine = map(Function::Sin, phase);
    bool isVector = chunk::tensorOf(phase).getRank() > 1;
    auto times = [&](Value factor, Value state) -> Value {
      if (!pair.isMatrix || !isVector)
        return build.mul(factor, state);
      return areRows ? map(Function::ScaleRows, {factor, state}) : map(Function::ScaleCols, {state, factor});
    };
    Value a = build.asToken(nexts[pair.real]), b = build.asToken(nexts[pair.imaginary]);
    auto written = [&](unsigned part) {
      Value sum;
      for (const TurnedPair::Write &write : pair.writes) {
        if (!write.keys[part])
          continue;
        Value key = build.asToken(nexts[*write.keys[part]]);
        Value value = write.value ? build.asToken(nexts[*write.value]) : Value();
        if (value)
          key = areRows ? map(Function::Outer, {key, value}) : map(Function::Outer, {value, key});
        sum = build.add(sum, key);
      }
      return sum;
    };
    nexts[pair.real] = build.asState(build.add(build.sub(times(cosine, a), times(sine, b)), written(0)));
    nexts[pair.imaginary] = build.asState(build.add(build.add(times(sine, a), times(cosine, b)), written(1)));
  }
}

/// Not of states that are turned at the end, which is a map of two at once, nor beside those whose writes depend on
/// what they were.
void ProgramBuilder::sayWhatRemains() {
  if (!turned.empty() || !inverses.empty())
    return;
  for (auto [index, facts] : llvm::enumerate(analysis.getStates()))
    if (Value bound = deltas[index] ? deltas[index]->boundRemains() : Value())
      RemainsOp::create(builder, loc, dgps::StateOp(facts.op).getName(), bound);
}

ProgramOp ProgramBuilder::build() {
  MLIRContext *context = builder.getContext();
  const algebra::Expressions &expressions = analysis.getExpressions();
  plan.findBodies();
  // What goes token by token knows its own reads.
  for (const SeparatedInverse &inverse : inverses)
    if (plan.isLooped(inverse.state))
      statesToLoop.insert(inverse.state);
  if (!statesToLoop.empty())
    return {};
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    deltas.emplace_back();
    scans.emplace_back();
    progress.push_back(Progress::Untouched);
    if (plan.isLooped(index) || isDelayed(index))
      continue;
    for (Operation &op : recurrence.getBody().front())
      if (op.getNumResults() == 1 && !isa<dgps::StateOp>(op) &&
          expressions.of(op.getResult(0)) == expressions.after(index) &&
          dgps::shapeOf(op.getResult(0)) == dgps::shapeOf(dgps::StateOp(facts.op).getResult()))
        afterOf.try_emplace(op.getResult(0), index);
  }
  for (const analysis::CoupledForm &form : analysis.getCoupledForms()) {
    bool isLooped = llvm::any_of(form.states, [&](unsigned state) { return plan.isLooped(state); });
    if (isLooped)
      coupled.push_back(nullptr);
    else if (form.hasChannels())
      coupled.push_back(std::make_unique<CoupledByChannels>(*this, materializeChannels(analysis, form)));
    else
      coupled.push_back(std::make_unique<CoupledByNumbers>(*this, materialize(analysis, form)));
  }
  for (auto [index, facts] : llvm::enumerate(analysis.getStates())) {
    if (plan.isLooped(index) || coupledOf(index))
      continue;
    if (facts.stateClass == StateClass::Delta)
      deltas[index] = std::make_unique<DeltaState>(*this, materialize(analysis, index));
    else
      scans[index] = materializeScan(analysis, index);
  }
  plan.findBodies();
  chooseTransposed();

  auto program = ProgramOp::create(builder, loc, recurrence.getSymName(), recurrence.getDims(), chunk);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&program.getBody().front());
  for (dgps::InputOp input : recurrence.getInputs())
    if (!inverseThatReads(input))
      lifted[input] =
          InputOp::create(builder, input.getLoc(), makeTokens(context, chunk, dgps::shapeOf(input.getResult())),
                          input.getNameAttr(), input.getSharedAttr(), input.getStoredAttr());
  // What is known of data in memory is not of integers: they are numbers when a map has taken them.
  for (dgps::InputOp input : recurrence.getInputs())
    if (Value integers = lifted.lookup(input); integers && input.isInteger())
      lifted[input] = MapOp::create(builder, input.getLoc(), Function::Stop, integers);
  for (dgps::ParamOp param : recurrence.getParams())
    lifted[param] = ParamOp::create(builder, param.getLoc(), makeTokens(context, 1, dgps::shapeOf(param.getResult())),
                                    param.getNameAttr(), param.getStoredAttr());
  for (auto [index, state] : llvm::enumerate(recurrence.getStates())) {
    SmallVector<int64_t> shape(dgps::shapeOf(state.getResult()));
    if (isTransposed(index))
      std::swap(shape[0], shape[1]);
    RankedTensorType type = makeTensor(context, shape);
    states.push_back(isOfChunk(index)
                         ? ValueBuilder(builder, loc).stateConstant(0, type)
                         : StateOp::create(builder, state.getLoc(), type, state.getNameAttr(), state.getStoredAttr(),
                                           isTransposed(index) ? builder.getUnitAttr() : UnitAttr()));
  }
  nexts.resize(states.size());
  for (unsigned state = 0; state < states.size() && statesToLoop.empty(); ++state)
    buildState(state);
  SmallVector<std::pair<dgps::OutputOp, Value>> outputs;
  for (dgps::OutputOp output : recurrence.getOutputs())
    outputs.push_back({output, liftRows(output.getValue())});
  if (!statesToLoop.empty()) {
    program.erase();
    return {};
  }
  for (auto [output, value] : outputs)
    OutputOp::create(builder, output.getLoc(), output.getNameAttr(), value, output.getStoredAttr());
  turnNexts();
  for (auto [index, state] : llvm::enumerate(states))
    if (!isOfChunk(index))
      NextOp::create(builder, loc, state, nexts[index]);
  if (options.remains)
    sayWhatRemains();
  // What was made in advance and is not needed goes.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  return program;
}

ProgramOp recur::conversion::convertToChunk(OpBuilder &builder, dgps::RecurrenceOp recurrence,
                                            const ChunkFormOptions &options) {
  // A state that turns out to be needed in a way that its chunk form does not give goes token by token. All states in
  // one loop is always a program, so this ends.
  llvm::SetVector<unsigned> looped;
  bool separates = true;
  while (true) {
    OwningOpRef<dgps::RecurrenceOp> scratch = recurrence.clone();
    scratch->dropStarts();
    SmallVector<TurnedPair, 1> turned;
    SmallVector<SeparatedInverse, 1> inverses;
    if (separates) {
      turned = separatePhases(*scratch);
      inverses = separateInverses(*scratch);
    }
    ProgramBuilder program(builder, *scratch, options, looped.getArrayRef(), turned, inverses);
    if (ProgramOp result = program.build())
      return result;
    // What goes token by token is as well turned there, and knows its own reads.
    if (!turned.empty() || !inverses.empty()) {
      separates = false;
      continue;
    }
    size_t before = looped.size();
    if (before == recurrence.getStates().size())
      llvm::report_fatal_error("a recurrence in one token loop asks for another");
    looped.insert_range(program.getStatesToLoop());
    if (looped.size() == before)
      for (unsigned state = 0; state < recurrence.getStates().size(); ++state)
        looped.insert(state);
  }
}

namespace {
struct ConvertDGPSToChunkPass : recur::conversion::impl::ConvertDGPSToChunkPassBase<ConvertDGPSToChunkPass> {
  using ConvertDGPSToChunkPassBase::ConvertDGPSToChunkPassBase;

  void runOnOperation() override {
    if (chunk < 1) {
      getOperation().emitError() << "a chunk needs at least 1 token, but the option 'chunk' is " << int64_t(chunk);
      return signalPassFailure();
    }
    for (auto recurrence : llvm::make_early_inc_range(getOperation().getOps<dgps::RecurrenceOp>())) {
      OpBuilder builder(recurrence);
      convertToChunk(builder, recurrence, {chunk, remains, declared});
      recurrence.erase();
    }
  }
};
} // namespace
