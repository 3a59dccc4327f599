#include "Explain/ChunkReport.h"
#include "Explain/ChunkEquations.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
using namespace recur;
using namespace recur::explain;

static double elements(mlir::Value value) { return cast<dgps::RealType>(value.getType()).getNumElements(); }

/// Floating-point operations of one token; a multiply-add counts as two.
static double flopsOf(mlir::Operation &op) {
  return mlir::TypeSwitch<mlir::Operation *, double>(&op)
      .Case<dgps::MatvecOp, dgps::VecmatOp>([](auto product) { return 2 * elements(product.getMatrix()); })
      .Case([](dgps::DotOp dot) { return 2 * elements(dot.getLhs()); })
      .Case([](dgps::SumOp sum) { return elements(sum.getOperand()); })
      .Case([](dgps::SoftmaxOp softmax) { return 4 * elements(softmax.getOperand()); })
      .Case([](dgps::CgOp cg) {
        return double(cg.getIterations()) * (2 * elements(cg.getMatrix()) + 10 * elements(cg.getVector()));
      })
      .Case([](dgps::LoopOp loop) {
        double flops = 0;
        for (mlir::Operation &inside : loop.getBody().front().without_terminator())
          flops += flopsOf(inside);
        return double(loop.getIterations()) * flops;
      })
      .Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp, dgps::ConstantOp, dgps::BroadcastOp, dgps::ExtractOp,
            dgps::SliceOp, dgps::ConcatOp>([](auto) { return 0; })
      .Default([](mlir::Operation *other) { return other->getNumResults() ? elements(other->getResult(0)) : 0; });
}

Expected<ChunkReport> explain::makeChunkReport(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(recurrence.getLoc());
  module->push_back(recurrence->clone());
  if (failed(runStages(*module, nullptr, *findStage("recurrence"), options)))
    return createStringError("the passes of stage 'recurrence' failed");
  ChunkReport report;
  constexpr double wordBytes = 4;
  double streamed = 0, states = 0;
  auto simplified = *module->getOps<dgps::RecurrenceOp>().begin();
  for (mlir::Operation &op : simplified.getBody().front())
    report.recurrent.flops += flopsOf(op);
  for (dgps::InputOp input : simplified.getInputs())
    streamed += wordBytes * elements(input);
  for (dgps::OutputOp output : simplified.getOutputs())
    streamed += wordBytes * elements(output.getValue());
  for (dgps::StateOp state : simplified.getStates())
    states += 2 * wordBytes * elements(state);

  if (failed(runStages(*module, findStage("recurrence"), *findStage("chunk"), options)))
    return createStringError("the passes of stage 'chunk' failed");
  auto program = *module->getOps<chunk::ProgramOp>().begin();
  chunk::dropRemains(program); // which is no part of what it computes
  report.chunk = program.getChunk();
  program.walk([&](chunk::InteractionOp) { ++report.interactions; });
  for (mlir::Operation &op : program.getBody().front())
    if (auto cost = dyn_cast<chunk::CostOpInterface>(op))
      report.chunkwise.flops += double(cost.getFlops()) / double(report.chunk);
  report.equations = writeEquations(program, &report.words);
  for (auto next : program.getBody().front().getOps<chunk::NextOp>())
    if (next.getValue().getDefiningOp<chunk::TokenLoopOp>())
      report.looped.push_back(next.getStateOp().getName().str());
  report.recurrent.bytes = streamed + states;
  report.chunkwise.bytes = streamed + states / double(report.chunk);
  return report;
}
