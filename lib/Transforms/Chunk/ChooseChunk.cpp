// How many tokens a chunk has.
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_CHOOSECHUNKPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct ChooseChunkPass : recur::chunk::impl::ChooseChunkPassBase<ChooseChunkPass> {
  using ChooseChunkPassBase::ChooseChunkPassBase;
  void runOnOperation() override;
};
} // namespace

/// Gives the ops of a block the types that they have in chunks of another size, operands before results.
static void resizeBlock(Block &block, int64_t from, int64_t to) {
  auto resized = [&](Type type) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getDimSize(0) == 1)
      return type;
    return makeTokens(type.getContext(), tensor.getDimSize(0) / from * to, tensor.getShape().drop_front());
  };
  for (Operation &op : block) {
    if (isa<InputOp, ConstantOp, BroadcastOp>(op)) {
      op.getResult(0).setType(resized(op.getResult(0).getType()));
    } else if (auto cg = dyn_cast<CgOp>(op)) {
      cg.getBody().getArgument(0).setType(cg.getVectors().getType());
      cg.getResult().setType(cast<RankedTensorType>(cg.getVectors().getType()));
      resizeBlock(cg.getBody().front(), from, to);
    } else if (auto free = dyn_cast<StateFreeOp>(op)) {
      resizeBlock(free.getBody().front(), from, to);
      for (auto [result, value] : llvm::zip(free.getResults(), free.getBody().front().getTerminator()->getOperands()))
        result.setType(value.getType());
    } else if (auto loop = dyn_cast<TokenLoopOp>(op)) {
      for (OpResult result : loop.getStreamResults())
        result.setType(resized(result.getType()));
    } else if (auto infer = dyn_cast<InferTypeOpInterface>(op)) {
      SmallVector<Type> types;
      if (failed(infer.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(), op.getAttrDictionary(),
                                        op.getPropertiesStorage(), op.getRegions(), types)))
        continue; // reported, and refused by the verifier
      for (auto [result, type] : llvm::zip(op.getResults(), types))
        result.setType(type);
    }
  }
}

static void resize(ProgramOp program, int64_t chunk) {
  resizeBlock(program.getBody().front(), program.getChunk(), chunk);
  program.setChunk(chunk);
}

/// Flops and bytes of all ops, those in regions included.
static std::pair<double, double> countCost(Block &block) {
  double bytes = 0;
  for (Operation &op : block) {
    if (auto cost = dyn_cast<CostOpInterface>(op))
      bytes += cost.getBytes();
    for (Region &region : op.getRegions())
      bytes += countCost(region.front()).second;
  }
  return {countFlops(block), bytes};
}

void ChooseChunkPass::runOnOperation() {
  ProgramOp program = getOperation();
  if (chunk < 0) {
    program.emitError() << "a chunk needs at least 1 token, but the option 'chunk' is " << int64_t(chunk);
    return signalPassFailure();
  }
  if (program.getChunk() == 1)
    return;
  if (chunk > 0)
    return resize(program, chunk);
  int64_t best = program.getChunk();
  double least = std::numeric_limits<double>::infinity();
  for (int64_t candidate : {16, 32, 64, 128}) {
    OwningOpRef<ProgramOp> copy = program.clone();
    resize(*copy, candidate);
    auto [flops, bytes] = countCost(copy->getBody().front());
    double cost = (flops + flopsPerByte * bytes) / candidate;
    if (cost < least) {
      least = cost;
      best = candidate;
    }
  }
  resize(program, best);
}
