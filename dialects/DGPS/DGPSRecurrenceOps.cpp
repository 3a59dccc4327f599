// The recurrence op, its declarations, and what leaves a token.
#include "dialects/DGPS/DGPS.h"
#include "dialects/Interfaces/VerifyProgram.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace recur;
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

LogicalResult RecurrenceOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (op.getDialect() != getOperation()->getDialect())
      return op.emitOpError("does not belong in a dgps.recurrence, which holds dgps ops only");
  return verifyProgram<InputOp, ParamOp, StateOp, OutputOp, NextOp>(getBody().front());
}

void RecurrenceOp::dropStarts() {
  for (StateOp state : getStates())
    state.getStartMutable().clear();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
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

LogicalResult StateOp::verify() {
  if (!getStart())
    return success();
  llvm::SetVector<Value> needed;
  needed.insert(getStart());
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i].getDefiningOp();
    if (isa_and_nonnull<InputOp, StateOp>(op)) {
      InFlightDiagnostic diagnostic = emitOpError("starts before the first token, which no input or state does");
      diagnostic.attachNote(op->getLoc()) << "this is needed for the start";
      return diagnostic;
    }
    if (op)
      needed.insert_range(op->getOperands());
  }
  return success();
}

StateOp NextOp::getStateOp() { return getState().getDefiningOp<StateOp>(); }

LogicalResult NextOp::verify() {
  if (!getStateOp())
    return emitOpError("expects the result of a dgps.state as its first operand");
  return success();
}
