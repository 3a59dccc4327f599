#include "Compile/GradientPrograms.h"
#include "Support/Errors.h"
#include "Transforms/Chunk/HandOver.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

Error compile::checkGradientNames(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  SmallVector<StringRef> known;
  for (dgps::InputOp input : recurrence.getInputs()) {
    if (!input.isInteger())
      known.push_back(input.getName());
    else if (is_contained(options.gradients, input.getName()))
      return makeError("--backward: '" + input.getName() +
                       "' is declared as integers, and nothing has a gradient with "
                       "respect to them");
  }
  for (dgps::ParamOp param : recurrence.getParams())
    known.push_back(param.getName());
  for (dgps::StateOp state : recurrence.getStates())
    known.push_back(state.getName());
  for (StringRef name : options.gradients)
    if (!is_contained(known, name))
      return makeError("--backward: '" + recurrence.getSymName() + "' has no input, param or state '" + name +
                       "'; it has " + join(known, ", "));
  return Error::success();
}

bool compile::wantsGradient(const PipelineOptions &options, StringRef name) {
  return options.gradients.empty() || is_contained(options.gradients, name);
}

Expected<GradientPrograms> compile::makeGradientPrograms(dgps::RecurrenceOp recurrence,
                                                         const PipelineOptions &options) {
  if (Error error = checkGradientNames(recurrence, options))
    return std::move(error);
  GradientPrograms result;
  result.module = mlir::ModuleOp::create(recurrence.getLoc());
  result.module->push_back(recurrence->clone());
  if (mlir::failed(runStages(*result.module, nullptr, *findStage("chunk"), options)))
    return make_error<InternalError>("the passes of stage 'chunk' failed");
  mlir::PassManager passes(recurrence.getContext());
  populateGradients(passes, options);
  std::string reason;
  mlir::ScopedDiagnosticHandler collect(recurrence.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (reason.empty())
      reason = diagnostic.str();
  });
  if (mlir::failed(passes.run(*result.module)))
    return makeError("recurrence '" + recurrence.getSymName() + "' has no gradient: " + reason);
  for (auto program : result.module->getOps<chunk::ProgramOp>())
    (program.getBackward() ? result.gradient : program.getKeeps() ? result.states : result.program) = program;
  return result;
}

Expected<GradientPrograms> compile::makeKernelGradients(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<GradientPrograms> programs = makeGradientPrograms(recurrence, options);
  if (!programs || options.target.isCPU())
    return programs;
  mlir::PassManager passes(recurrence.getContext());
  populateHeldDelays(passes);
  if (mlir::failed(passes.run(*programs->module)))
    return make_error<InternalError>("the passes that find what delays hold failed");
  return programs;
}

Expected<chunk::ProgramOp> compile::makeChainProgram(GradientPrograms &programs) {
  chunk::ProgramOp gradient = programs.gradient;
  StringRef prefix = "gradient.";
  SmallVector<StringRef> params;
  for (chunk::ParamOp param : gradient.getParams())
    params.push_back(param.getName());
  SmallVector<std::string> states;
  for (chunk::StateOp state : gradient.getStates())
    if (StringRef name = state.getName().drop_front(prefix.size()); !is_contained(params, name))
      states.push_back(name.str());
  if (states.empty() || (gradient.getOutputs().empty() && states.size() == gradient.getStates().size()))
    return chunk::ProgramOp();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(programs.module->getBody());
  auto chain = cast<chunk::ProgramOp>(builder.clone(*gradient));
  chain.setSymName((programs.program.getSymName() + "_chain").str());
  mlir::PassManager passes(gradient.getContext(), chunk::ProgramOp::getOperationName());
  populateChain(passes, states);
  if (mlir::failed(passes.run(chain)))
    return make_error<InternalError>("the passes that leave gradients out failed");
  return chain;
}

chunk::ProgramOp compile::makeHandingProgram(GradientPrograms &programs) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(programs.module->getBody());
  auto handing = cast<chunk::ProgramOp>(builder.clone(*programs.program));
  handing.setSymName((programs.program.getSymName() + "_handing").str());
  handing.setKeeps(true);
  for (auto [state, kept] : zip(handing.getStates(), programs.states.getStates()))
    state.setKeptAttr(kept.getKeptAttr());
  chunk::keepMatricesFromZero(handing);
  return handing;
}
