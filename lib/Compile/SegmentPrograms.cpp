#include "Compile/SegmentPrograms.h"
#include "Pipelines/Stages.h"
#include "Support/Errors.h"
#include "Transforms/Chunk/ApplySummary.h"
#include "dialects/Chunk/ChunkSummaryParts.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using chunk::SummaryKind;

/// Moving a byte costs a core as much as this many flops.
static constexpr double flopsPerByte = 1;

static double estimateBlock(mlir::Block &block) {
  double cost = chunk::countFlops(block);
  block.walk([&](chunk::CostOpInterface op) { cost += flopsPerByte * double(op.getBytes()); });
  return cost;
}

double compile::estimateCost(chunk::ProgramOp program) {
  double cost = estimateBlock(program.getBody().front());
  for (chunk::StateOp state : program.getStates()) // an empty program is not free either
    cost += flopsPerByte * 4 * double(chunk::tensorOf(state).getNumElements());
  return cost;
}

static int64_t countKeptBytes(mlir::Value value) {
  return alignTo(chunk::tensorOf(value).getNumElements() * int64_t(sizeof(float)), 64);
}

static recur_extremum getRuntimeExtremum(chunk::Extremum extremum) {
  switch (extremum) {
  case chunk::Extremum::Max:
    return RECUR_MAX;
  case chunk::Extremum::Min:
    return RECUR_MIN;
  case chunk::Extremum::SoftMax:
    return RECUR_SOFT_MAX;
  case chunk::Extremum::SoftMin:
    return RECUR_SOFT_MIN;
  }
  llvm_unreachable("an extremum");
}

static codegen::InterfaceSummary describe(chunk::ProgramOp program, chunk::ProgramOp summary) {
  codegen::InterfaceSummary facts;
  SmallVector<StringRef> names;
  for (chunk::StateOp state : program.getStates())
    names.push_back(state.getName());
  auto placeOf = [&](StringRef name) { return int64_t(find(names, name) - names.begin()); };
  facts.state = placeOf(*summary.getSummaryOf());
  chunk::SummaryParts parts = chunk::getSummaryParts(summary);
  for (chunk::StateOp known : parts.known)
    facts.needs.push_back(int32_t(placeOf(known.getName())));
  if (parts.scales)
    facts.scaleSize = chunk::tensorOf(parts.scales).getNumElements();
  switch (*summary.getSummaryKind()) {
  case SummaryKind::Right:
  case SummaryKind::Left:
    facts.mapSide = chunk::tensorOf(parts.map).getDimSize(0);
    facts.mapIsLeft = (*summary.getSummaryKind() == SummaryKind::Left) != parts.map.getTransposed();
    break;
  case SummaryKind::Elementwise:
    facts.mapStart = 1;
    break;
  case SummaryKind::Tropical:
  case SummaryKind::TropicalMin:
  case SummaryKind::SoftMax:
  case SummaryKind::SoftMin:
    facts.offsetStart = float(chunk::neutralOf(*chunk::extremumOf(*summary.getSummaryKind())));
    facts.extremum = getRuntimeExtremum(*chunk::extremumOf(*summary.getSummaryKind()));
    break;
  }
  return facts;
}

Expected<SegmentPrograms> compile::makeSegmentPrograms(chunk::ProgramOp program) {
  SegmentPrograms result;
  result.module = mlir::ModuleOp::create(program.getLoc());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(result.module->getBody());
  builder.clone(*program);
  mlir::PassManager passes(program.getContext());
  populateSummaries(passes);
  if (mlir::failed(passes.run(*result.module)))
    return make_error<InternalError>("the passes that summarise segments failed");
  double cost = estimateCost(program);
  int64_t partBytes = 0;
  for (auto summary : to_vector(result.module->getOps<chunk::ProgramOp>())) {
    if (!summary.getSummaryOf())
      continue;
    SegmentProgram state{summary, chunk::makeApplyProgram(builder, summary), describe(program, summary)};
    state.facts.cost = float(estimateCost(summary) / cost);
    // One token's worth of work, for which its states are copied in and out.
    double copies = 0;
    for (chunk::StateOp each : state.apply.getStates())
      copies += flopsPerByte * 8 * double(chunk::tensorOf(each).getNumElements());
    state.facts.applyCost = float((estimateCost(state.apply) + copies) / cost);
    int64_t bytes = 0;
    for (chunk::StateOp part : chunk::getSummaryParts(summary).list())
      bytes += countKeptBytes(part);
    partBytes = std::max(partBytes, bytes);
    result.states.push_back(std::move(state));
  }
  if (result.states.size() != program.getStates().size())
    return make_error<InternalError>("a state without an obstacle has no summary");
  for (chunk::StateOp state : program.getStates())
    result.segmentBytes += countKeptBytes(state);
  result.segmentBytes += partBytes;
  return result;
}
