// What the bodies of a dgps.recurrence and of a chunk.program have in common: named declarations and one next a state.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace recur {

/// Reports the second declaration of `name`, with a note at the first.
inline mlir::LogicalResult declareOnce(llvm::StringMap<mlir::Operation *> &declared, llvm::StringRef name,
                                       mlir::Operation *op) {
  auto [entry, isNew] = declared.try_emplace(name, op);
  if (isNew)
    return mlir::success();
  mlir::InFlightDiagnostic diagnostic = op->emitOpError() << "declares '" << name << "' a second time";
  diagnostic.attachNote(entry->second->getLoc()) << "first declared here";
  return diagnostic;
}

/// Whether the op has an input's rows of earlier tokens, beside those of the tokens themselves.
template <typename InputOp> bool isOfEarlierTokens(InputOp input) {
  if constexpr (requires { input.getBack(); })
    return input.getBack().has_value();
  return false;
}

/// Names are unique within their kind (inputs and params share one name space with states; outputs have their own), and
/// each state has exactly one next. An input may be there several times, with rows of other tokens.
template <typename InputOp, typename ParamOp, typename StateOp, typename OutputOp, typename NextOp>
mlir::LogicalResult verifyProgram(mlir::Block &body) {
  llvm::StringMap<mlir::Operation *> values, outputs;
  llvm::MapVector<mlir::Operation *, mlir::Operation *> nextOfState;
  for (mlir::Operation &op : body) {
    mlir::LogicalResult declared = mlir::success();
    if (auto input = mlir::dyn_cast<InputOp>(op)) {
      if (!isOfEarlierTokens(input))
        declared = declareOnce(values, input.getName(), &op);
    } else if (auto param = mlir::dyn_cast<ParamOp>(op)) {
      declared = declareOnce(values, param.getName(), &op);
    } else if (auto state = mlir::dyn_cast<StateOp>(op)) {
      declared = declareOnce(values, state.getName(), &op);
      nextOfState.insert({&op, nullptr});
    } else if (auto output = mlir::dyn_cast<OutputOp>(op)) {
      declared = declareOnce(outputs, output.getName(), &op);
    }
    if (mlir::failed(declared))
      return mlir::failure();
  }
  for (NextOp next : body.getOps<NextOp>()) {
    mlir::Operation *&earlier = nextOfState[next.getStateOp()];
    if (earlier) {
      mlir::InFlightDiagnostic diagnostic = next.emitOpError()
                                            << "updates state '" << next.getStateOp().getName() << "' a second time";
      diagnostic.attachNote(earlier->getLoc()) << "first updated here";
      return diagnostic;
    }
    earlier = next;
  }
  for (auto [state, next] : nextOfState)
    if (!next)
      return state->emitOpError() << "has no " << NextOp::getOperationName() << " that says what '"
                                  << mlir::cast<StateOp>(state).getName() << "' becomes";
  return mlir::success();
}

} // namespace recur
