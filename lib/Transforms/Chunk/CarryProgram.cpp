#include "Transforms/Chunk/CarryProgram.h"

using namespace mlir;
using namespace recur::chunk;

void recur::chunk::giveFactor(ValueBuilder &build, StateOp state, Value decay, bool linear) {
  if (!decay)
    return;
  OpBuilder &builder = build.getBuilder();
  Value total = CumulativeDecayOp::create(builder, build.getLoc(), DecayRange::Total, decay, linear);
  GiveOp::create(builder, build.getLoc(), nameFactor(state), /*whole=*/false, /*rounded=*/false, total);
}

/// The last row is the chunk's first one so many tokens before.
Value recur::chunk::buildHasTokens(ValueBuilder &build, int64_t chunk, int64_t tokens) {
  OpBuilder &builder = build.getBuilder();
  RankedTensorType number = makeTensor(builder.getContext(), {});
  Value all = build.constant(0, makeTensor(builder.getContext(), {chunk}));
  for (int64_t back = 0; back < tokens; ++back)
    all = PreviousOp::create(builder, build.getLoc(), build.stateConstant(back == 0, number), all);
  return build.asToken(LastOp::create(builder, build.getLoc(), all));
}

CarryProgram::CarryProgram(OpBuilder &builder, ProgramOp of, ArrayRef<StateOp> others, StringRef suffix)
    : program(ProgramOp::create(builder, of.getLoc(), (of.getSymName() + suffix).str(), of.getDims(), of.getChunk())),
      inside(OpBuilder::atBlockBegin(&program.getBody().front())) {
  program.setFactorsAttr(of.getFactorsAttr());
  program.setKeeps(of.getKeeps());
  program.setBackward(of.getBackward());
  for (StateOp state : others)
    states[state] = inside.clone(*state)->getResult(0);
}

Value CarryProgram::take(StringRef name, ArrayRef<int64_t> shape) {
  return TakeOp::create(inside, program.getLoc(), makeTokens(program.getContext(), 1, shape), name, /*whole=*/false,
                        /*rounded=*/false, DenseI64ArrayAttr());
}

Value CarryProgram::scan(StateOp state, Value decay, bool angles) {
  Value offset = takeOffset(state), factor;
  if (decay)
    factor = take(nameFactor(state), shapePerToken(decay));
  return ScanOp::create(inside, state.getLoc(), states.lookup(state), offset, factor, /*linear=*/bool(factor), angles)
      .getLast();
}

void CarryProgram::leave(StateOp state, Value next) {
  Value own = states.lookup(state);
  NextOp::create(inside, state.getLoc(), own, next);
  GiveOp::create(inside, state.getLoc(), state.getName(), /*whole=*/true, /*rounded=*/false, own);
}
