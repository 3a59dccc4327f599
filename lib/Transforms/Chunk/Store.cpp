// The types that arrays have in the caller's memory, for a program that nothing made from a recurrence.
#include "Analysis/StoredTypes.h"
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_STOREPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur;
using namespace recur::chunk;

namespace {
struct StorePass : recur::chunk::impl::StorePassBase<StorePass> {
  using StorePassBase::StorePassBase;
  void runOnOperation() override {
    llvm::Expected<DataTypes> given = parseDataTypes(types);
    if (!given) {
      getOperation().emitError() << llvm::toString(given.takeError());
      return signalPassFailure();
    }
    // What is given or wanted as the derivative of an array has its type.
    auto typeOf = [&](StringRef name, bool isState) {
      (void)(name.consume_front("cotangent.") || name.consume_front("gradient."));
      return analysis::makeStored(given->of(name, isState), &getContext());
    };
    auto store = [&](auto op, bool isState = false) {
      if (!op.getStored())
        op.setStoredAttr(typeOf(op.getName(), isState));
    };
    for (InputOp input : getOperation().getInputs())
      store(input);
    for (ParamOp param : getOperation().getParams())
      store(param);
    for (StateOp state : getOperation().getStates())
      store(state, /*isState=*/true);
    for (OutputOp output : getOperation().getOutputs())
      store(output);
  }
};
} // namespace
