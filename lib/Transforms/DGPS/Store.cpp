// The types that arrays have in the caller's memory, array by array.
#include "Analysis/StoredTypes.h"
#include "Transforms/DGPS/Passes.h"

namespace recur::dgps {
#define GEN_PASS_DEF_STOREPASS
#include "Transforms/DGPS/Passes.h.inc"
} // namespace recur::dgps

using namespace mlir;
using namespace recur;
using namespace recur::dgps;

namespace {
struct StorePass : recur::dgps::impl::StorePassBase<StorePass> {
  using StorePassBase::StorePassBase;
  void runOnOperation() override {
    llvm::Expected<DataTypes> given = parseDataTypes(types);
    if (!given) {
      getOperation().emitError() << llvm::toString(given.takeError());
      return signalPassFailure();
    }
    auto store = [&](auto op, bool isState = false) {
      if (!op.getStored())
        op.setStoredAttr(analysis::makeStored(given->of(op.getName(), isState), &getContext()));
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
