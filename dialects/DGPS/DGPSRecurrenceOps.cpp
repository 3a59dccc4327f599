// The recurrence op, its declarations, and what leaves a token.
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace recur::dgps;

//===----------------------------------------------------------------------===//
// RecurrenceOp
//===----------------------------------------------------------------------===//

void RecurrenceOp::build(OpBuilder &builder, OperationState &state, StringRef name, DictionaryAttr dims) {
  state.getOrAddProperties<Properties>().setSymName(builder.getStringAttr(name));
  state.getOrAddProperties<Properties>().setDims(dims);
  state.addRegion()->emplaceBlock();
}

SmallVector<InputOp, 8> RecurrenceOp::getInputs() { return llvm::to_vector<8>(getBody().getOps<InputOp>()); }
SmallVector<ParamOp, 8> RecurrenceOp::getParams() { return llvm::to_vector<8>(getBody().getOps<ParamOp>()); }
SmallVector<StateOp, 8> RecurrenceOp::getStates() { return llvm::to_vector<8>(getBody().getOps<StateOp>()); }
SmallVector<OutputOp, 8> RecurrenceOp::getOutputs() { return llvm::to_vector<8>(getBody().getOps<OutputOp>()); }

/// Reports the second declaration of `name`, with a note at the first.
static LogicalResult declareOnce(llvm::StringMap<Operation *> &declared, StringRef name, Operation *op) {
  auto [entry, isNew] = declared.try_emplace(name, op);
  if (isNew)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << "declares '" << name << "' a second time";
  diagnostic.attachNote(entry->second->getLoc()) << "first declared here";
  return diagnostic;
}

LogicalResult RecurrenceOp::verifyRegions() {
  llvm::StringMap<Operation *> values, outputs;
  llvm::MapVector<Operation *, Operation *> nextOfState;
  for (Operation &op : getBody().front()) {
    if (op.getDialect() != getOperation()->getDialect())
      return op.emitOpError("does not belong in a dgps.recurrence, which holds dgps ops only");
    LogicalResult declared = success();
    if (auto input = dyn_cast<InputOp>(op))
      declared = declareOnce(values, input.getName(), &op);
    else if (auto param = dyn_cast<ParamOp>(op))
      declared = declareOnce(values, param.getName(), &op);
    else if (auto state = dyn_cast<StateOp>(op)) {
      declared = declareOnce(values, state.getName(), &op);
      nextOfState.insert({&op, nullptr});
    } else if (auto output = dyn_cast<OutputOp>(op))
      declared = declareOnce(outputs, output.getName(), &op);
    if (failed(declared))
      return failure();
  }
  for (NextOp next : getBody().getOps<NextOp>()) {
    Operation *&earlier = nextOfState[next.getStateOp()];
    if (earlier) {
      InFlightDiagnostic diagnostic = next.emitOpError()
                                      << "updates state '" << next.getStateOp().getName() << "' a second time";
      diagnostic.attachNote(earlier->getLoc()) << "first updated here";
      return diagnostic;
    }
    earlier = next;
  }
  for (auto [state, next] : nextOfState)
    if (!next)
      return state->emitOpError() << "has no dgps.next that says what '" << cast<StateOp>(state).getName()
                                  << "' becomes";
  return success();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

// A value is printed under the name it has in the source, so that the IR reads like the specification.
void InputOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void StateOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

NextOp StateOp::getNext() {
  for (Operation *user : getResult().getUsers())
    if (auto next = dyn_cast<NextOp>(user))
      if (next.getState() == getResult())
        return next;
  return {};
}

StateOp NextOp::getStateOp() { return getState().getDefiningOp<StateOp>(); }

LogicalResult NextOp::verify() {
  if (!getStateOp())
    return emitOpError("expects the result of a dgps.state as its first operand");
  return success();
}
