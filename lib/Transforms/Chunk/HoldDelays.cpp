// What delays of inputs hold, found in the arrays of a gradient's inputs and not among the states that were kept.
#include "Transforms/Chunk/Delays.h"
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_HOLDDELAYSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct HoldDelaysPass : recur::chunk::impl::HoldDelaysPassBase<HoldDelaysPass> {
  void runOnOperation() override;
};
} // namespace

template <typename Op> static Op findNamed(ArrayRef<Op> ops, StringRef name) {
  const auto *found = llvm::find_if(ops, [&](Op op) { return op.getName() == name; });
  return found == ops.end() ? Op() : *found;
}

/// The gradient's inputs of these names; none where it lacks one.
static SmallVector<InputOp> findOwn(ArrayRef<InputOp> inputs, ArrayRef<InputOp> own) {
  SmallVector<InputOp> found;
  for (InputOp input : inputs) {
    found.push_back(findNamed(own, input.getName()));
    if (!found.back())
      return {};
  }
  return found;
}

static void hold(ProgramOp program, ProgramOp gradient) {
  SmallVector<InputOp> own(gradient.getInputs());
  for (InputOp input : llvm::reverse(own)) // their order is that of the arrays
    input->moveBefore(&gradient.getBody().front(), gradient.getBody().front().begin());
  Delays delays = findDelays(program);
  for (StateOp state : findHeld(program, delays)) {
    KeptOp kept = findNamed<KeptOp>(gradient.getKept(), state.getName());
    const Delay &delay = delays[state];
    SmallVector<InputOp> inputs = findOwn(delay.getInputs(), own);
    if (!kept || inputs.empty())
      continue;
    OpBuilder builder(kept);
    kept.replaceAllUsesWith(buildHeld(builder, state, delay, inputs));
    kept.erase();
  }
  for (auto [state, input] : findInputWindows(program)) {
    KeptOp kept = findNamed<KeptOp>(gradient.getKept(), state.getName());
    InputOp rows = findNamed<InputOp>(own, input.getName());
    if (!kept || !rows)
      continue;
    OpBuilder builder(kept);
    Location loc = kept.getLoc();
    Value initial = InitialOp::create(builder, loc, kept.getType(), state.getNameAttr(), state.getStoredAttr());
    kept.replaceAllUsesWith(
        HeldOp::create(builder, loc, kept.getType(), rows, tensorOf(kept.getResult()).getDimSize(0), initial)
            .getResult());
    kept.erase();
  }
}

void HoldDelaysPass::runOnOperation() {
  for (auto program : getOperation().getOps<ProgramOp>()) {
    auto gradient = getOperation().lookupSymbol<ProgramOp>((program.getSymName() + "_gradient").str());
    if (gradient)
      hold(program, gradient);
  }
}
