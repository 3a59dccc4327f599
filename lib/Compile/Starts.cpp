#include "Compile/Starts.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using mlir::Operation;

/// The ops that the starts of these states are made by.
static SetVector<Operation *> findMakers(ArrayRef<dgps::StateOp> states) {
  SetVector<Operation *> makers;
  for (dgps::StateOp state : states)
    if (mlir::Value start = state.getStart())
      makers.insert(start.getDefiningOp());
  for (size_t i = 0; i < makers.size(); ++i)
    for (mlir::Value operand : makers[i]->getOperands())
      makers.insert(operand.getDefiningOp());
  return makers;
}

mlir::OwningOpRef<mlir::ModuleOp> compile::makeStarts(dgps::RecurrenceOp recurrence) {
  SmallVector<dgps::StateOp, 8> states = recurrence.getStates();
  erase_if(states, [](dgps::StateOp state) { return !state.getStart(); });
  if (states.empty())
    return nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(recurrence.getLoc());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
  // No recurrence that a file declares has such a name.
  auto starts = dgps::RecurrenceOp::create(builder, recurrence.getLoc(), (recurrence.getSymName() + "$start").str(),
                                           recurrence.getDims());
  builder.setInsertionPointToEnd(&starts.getBody().front());
  SetVector<Operation *> makers = findMakers(states);
  mlir::IRMapping mapping;
  for (Operation &op : recurrence.getBody().front())
    if (isa<dgps::ParamOp>(op) || makers.contains(&op))
      builder.clone(op, mapping);
  for (dgps::StateOp state : states) {
    auto own = dgps::StateOp::create(builder, state.getLoc(), state.getType(), state.getNameAttr());
    dgps::NextOp::create(builder, state.getLoc(), own, mapping.lookup(state.getStart()));
  }
  return module;
}

dgps::RecurrenceOp compile::getStarts(mlir::ModuleOp module) { return *module.getOps<dgps::RecurrenceOp>().begin(); }

PipelineOptions compile::completeGradients(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  PipelineOptions completed = pipeline;
  for (dgps::StateOp state : recurrence.getStates()) {
    bool isNeeded = any_of(findMakers(state), [&](Operation *maker) {
      auto param = dyn_cast<dgps::ParamOp>(maker);
      return param && is_contained(pipeline.gradients, param.getName());
    });
    if (isNeeded && !is_contained(pipeline.gradients, state.getName()))
      completed.gradients.push_back(state.getName().str());
  }
  return completed;
}

PipelineOptions compile::restrictGradients(dgps::RecurrenceOp starts, const PipelineOptions &pipeline) {
  PipelineOptions restricted = pipeline;
  SmallVector<StringRef> params;
  for (dgps::ParamOp param : starts.getParams())
    params.push_back(param.getName());
  erase_if(restricted.gradients, [&](const std::string &name) { return !is_contained(params, name); });
  return restricted;
}
