// The program of a program's gradient, from the adjoints of its ops.
#include "Analysis/FactorType.h"
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "dialects/Chunk/ChunkAdjoints.h"

namespace recur::chunk {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// Turns a copy of a program into the program of its gradient.
class Differentiator {
public:
  explicit Differentiator(ProgramOp gradient)
      : gradient(gradient), block(gradient.getBody().front()), builder(OpBuilder::atBlockEnd(&block)) {}
  LogicalResult run();

private:
  void keepScalesFromZero();
  void turnOutputs();
  void turnStates();
  void giveInputs();
  void giveParams();
  void giveStates();

  ProgramOp gradient;
  Block &block;
  OpBuilder builder;
  Adjoints adjoints;
  SmallVector<std::pair<Value, StateOp>> states; ///< each state as it was, and its cotangent
};

struct DifferentiatePass : recur::chunk::impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
      if (program.getSummaryOf() || program.getBackward() || program.getKeeps())
        continue;
      OpBuilder builder(program);
      builder.setInsertionPointAfter(program);
      auto gradient = cast<ProgramOp>(builder.clone(*program));
      gradient.setSymName((program.getSymName() + "_gradient").str());
      gradient.setBackward(true);
      for (RemainsOp remains : llvm::to_vector(gradient.getBody().getOps<RemainsOp>()))
        remains.erase(); // it is about the way forward
      if (failed(Differentiator(gradient).run()))
        return signalPassFailure();
      // Cotangents are factors too.
      if (gradient.getShortFactors() && !recur::analysis::findFactorType(gradient, /*takesF16=*/true))
        gradient.removeFactorsAttr();
    }
  }
};

} // namespace

/// What scales a system's rows is found to matter by dividing by it.
void Differentiator::keepScalesFromZero() {
  llvm::DenseMap<Value, Value> kept;
  for (SolveOp solve : block.getOps<SolveOp>()) {
    Value scale = findCommonScale(solve).scale;
    if (!scale || isConstant(scale))
      continue;
    Value &known = kept[scale];
    if (!known) {
      OpBuilder behind(builder.getContext());
      behind.setInsertionPointAfterValue(scale);
      ValueBuilder build(behind, solve.getLoc());
      known = keepFromZero(build, scale);
    }
    for (Value scaled : {solve.getMatrix(), solve.getValues()})
      scaled.getDefiningOp()->replaceUsesOfWith(scale, known);
  }
}

/// Each output's cotangent comes in.
void Differentiator::turnOutputs() {
  for (OutputOp output : llvm::to_vector(block.getOps<OutputOp>())) {
    OpBuilder before(output);
    ValueBuilder build(builder, output.getLoc());
    auto cotangent =
        InputOp::create(before, output.getLoc(), output.getValue().getType(),
                        builder.getStringAttr("cotangent." + output.getName()), UnitAttr(), output.getStoredAttr());
    adjoints.add(build, output.getValue(), cotangent);
    output.erase();
  }
}

/// Each state is one that was kept, and its cotangent goes the other way. What a state becomes may be another state, so
/// cotangents come in when all states are known.
void Differentiator::turnStates() {
  SmallVector<std::pair<Value, Value>> ends;
  for (StateOp state : gradient.getStates()) {
    OpBuilder before(state);
    auto kept = KeptOp::create(before, state.getLoc(), state.getType(), state.getNameAttr(), TypeAttr(),
                               state.getTransposedAttr());
    auto cotangent =
        StateOp::create(before, state.getLoc(), state.getType(), builder.getStringAttr("gradient." + state.getName()),
                        TypeAttr(), state.getTransposedAttr());
    NextOp next = state.getNext();
    Value end = next.getValue() == state.getResult() ? kept.getResult() : next.getValue();
    next.erase();
    state.getResult().replaceAllUsesWith(kept);
    for (auto &[value, ignored] : ends)
      if (value == state.getResult())
        value = kept;
    ends.push_back({end, cotangent});
    states.push_back({kept, cotangent});
    state.erase();
  }
  ValueBuilder build(builder, gradient.getLoc());
  for (auto [end, cotangent] : ends)
    adjoints.addToState(build, end, cotangent);
}

void Differentiator::giveInputs() {
  for (InputOp input : gradient.getInputs()) {
    if (input.isCotangent() || input.isInteger())
      continue;
    ValueBuilder build(builder, input.getLoc());
    Value cotangent = adjoints.of(input);
    OutputOp::create(builder, input.getLoc(), builder.getStringAttr("gradient." + input.getName()),
                     cotangent ? cotangent : build.constant(0, tensorOf(input)), input.getStoredAttr());
  }
}

/// What a param matters is added up over the chunks, in a state that starts from zero.
void Differentiator::giveParams() {
  for (ParamOp param : gradient.getParams()) {
    ValueBuilder build(builder, param.getLoc());
    auto before = OpBuilder::atBlockBegin(&block);
    before.setInsertionPointAfter(param);
    auto sum = StateOp::create(before, param.getLoc(), makeTensor(builder.getContext(), shapePerToken(param)),
                               builder.getStringAttr("gradient." + param.getName()));
    Value cotangent = adjoints.of(param);
    Value next = cotangent ? build.asState(build.add(build.asToken(sum), cotangent)) : sum.getResult();
    NextOp::create(builder, param.getLoc(), sum, next);
  }
}

void Differentiator::giveStates() {
  for (auto [value, state] : states) {
    ValueBuilder build(builder, state.getLoc());
    Value cotangent = adjoints.of(value);
    NextOp::create(builder, state.getLoc(), state,
                   cotangent ? cotangent : build.stateConstant(0, tensorOf(state.getResult())));
  }
}

LogicalResult Differentiator::run() {
  keepScalesFromZero();
  turnOutputs();
  turnStates();
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  if (failed(buildAdjoints(builder, ops, adjoints)))
    return failure();
  giveInputs();
  giveParams();
  giveStates();
  eraseUnused(block);
  return success();
}
