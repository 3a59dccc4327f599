// What a segment of tokens does to each state, as programs of their own.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/SideDecay.h"
#include "dialects/Chunk/ChunkSummaryParts.h"
#include "dialects/Chunk/ChunkTangents.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SUMMARIZEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// Builds the summary of one state.
class Summarizer {
public:
  Summarizer(ProgramOp program, StateOp state, SummaryKind kind) : program(program), state(state), kind(kind) {}
  ProgramOp build(OpBuilder &builder);

private:
  RankedTensorType mapType();
  RankedTensorType scalesType();
  std::optional<SideDecay> findScales(const StatePath &path);
  Value buildMap(OpBuilder &builder, const StatePath &path, const std::optional<SideDecay> &decay, StateOp offset,
                 StateOp map);

  ProgramOp program;
  StateOp state;
  SummaryKind kind;
};

struct SummarizePass : recur::chunk::impl::SummarizePassBase<SummarizePass> {
  void runOnOperation() override;
};

} // namespace

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

RankedTensorType Summarizer::mapType() {
  RankedTensorType type = tensorOf(state.getResult());
  if (kind != SummaryKind::Right && kind != SummaryKind::Left)
    return type;
  int64_t side = kind == SummaryKind::Left ? type.getShape().front() : type.getRank() ? type.getShape().back() : 1;
  return makeTensor(program.getContext(), {side, side});
}

RankedTensorType Summarizer::scalesType() {
  ArrayRef<int64_t> shape = tensorOf(state.getResult()).getShape();
  return makeTensor(program.getContext(), kind == SummaryKind::Right ? shape.front() : shape.back());
}

/// The decay of the side that the map does not act on. Without it the map says it all.
std::optional<SideDecay> Summarizer::findScales(const StatePath &path) {
  if (kind != SummaryKind::Right && kind != SummaryKind::Left)
    return std::nullopt;
  return SideDecay::find(path, kind);
}

/// What becomes of the map: the derivative along it of what the state becomes. A running maximum is linear in an
/// algebra of its own, in which what is not bounded from below is bounded by minus infinity; so are its relatives. What
/// decays on the other side is not the map's.
Value Summarizer::buildMap(OpBuilder &builder, const StatePath &path, const std::optional<SideDecay> &decay,
                           StateOp offset, StateOp map) {
  if (std::optional<Extremum> extremum = extremumOf(kind)) {
    auto scan = cast<TropicalScanOp>(path.getOps().front());
    Value unbounded = ConstantOp::create(builder, scan.getLoc(), neutralOf(*extremum), scan.getBounds().getType());
    Value next = TropicalScanOp::create(builder, scan.getLoc(), map, scan.getShifts(), unbounded, *extremum).getLast();
    OpBuilder before(scan);
    scan.getShiftsMutable().assign(keepNeutral(before, scan));
    return next;
  }
  Tangents tangents;
  tangents.set(offset, map);
  IRMapping copies;
  for (Operation *op : decay ? decay->copyWithout(builder, path, copies) : SmallVector<Operation *>(path.getOps()))
    buildTangent(builder, op, tangents);
  Value next = tangents.of(copies.lookupOrDefault(offset.getNext().getValue()));
  if (!next)
    return ValueBuilder(builder, state.getLoc()).stateConstant(0, mapType());
  return next.getType() == map.getType() ? next : ReshapeStateOp::create(builder, state.getLoc(), mapType(), next);
}

ProgramOp Summarizer::build(OpBuilder &builder) {
  IRMapping copies;
  auto summary = cast<ProgramOp>(builder.clone(*program, copies));
  summary.setSymName((program.getSymName() + "_summary_" + state.getName()).str());
  summary.setSummaryOf(state.getName());
  summary.setSummaryKind(kind);
  // Ops that only outputs and later states need are erased.
  auto copy = cast<StateOp>(copies.lookup(state.getResult()).getDefiningOp());
  for (Operation &op : llvm::make_early_inc_range(summary.getBody().front()))
    if (isa<OutputOp, RemainsOp>(op))
      op.erase();
  llvm::SetVector<StateOp> needed = findNeededStates({state.getNext()});
  // The map comes before the offset, and both after the states that are known.
  Block &block = summary.getBody().front();
  Operation *firstOther = nullptr;
  for (Operation &op : block)
    if (!isa<InputOp, ParamOp, StateOp, ConstantOp>(op) && !firstOther)
      firstOther = &op;
  for (StateOp other : summary.getStates())
    if (firstOther && !other->isBeforeInBlock(firstOther))
      other->moveBefore(firstOther);
  if (firstOther)
    copy->moveBefore(firstOther);
  copy.setName((state.getName() + ".offset").str());
  copy.removeStoredAttr(); // whatever the caller's states are, summaries are float32
  OpBuilder inside(copy);
  StatePath path(copy);
  std::optional<SideDecay> decay = findScales(path);
  StateOp scales;
  if (decay)
    scales = StateOp::create(inside, state.getLoc(), scalesType(), nameScales(state.getName()));
  // Of a state of which the caller has the transpose, so is the map: what is from the right here is from the left
  // there.
  bool isTransposed = state.getTransposed() && mapType().getRank() == 2;
  auto map =
      StateOp::create(inside, state.getLoc(), mapType(), (state.getName() + ".map").str(), TypeAttr(), isTransposed);
  inside.setInsertionPointToEnd(&block);
  if (decay) {
    ValueBuilder build(inside, state.getLoc());
    Value total = decay->buildTotal(inside, state.getLoc());
    NextOp::create(inside, state.getLoc(), scales, build.asState(build.mul(build.asToken(scales), total)));
  }
  Value next = buildMap(inside, path, decay, copy, map);
  NextOp::create(inside, state.getLoc(), map, next);
  for (StateOp other : program.getStates()) {
    if (needed.contains(other))
      continue;
    auto dropped = cast<StateOp>(copies.lookup(other.getResult()).getDefiningOp());
    dropped.getNext().erase();
  }
  eraseUnused<StateOp>(block);
  return summary;
}

void SummarizePass::runOnOperation() {
  for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
    if (program.getSummaryOf() || program.getStates().empty() || findObstacle(program))
      continue;
    OpBuilder builder(program->getContext());
    builder.setInsertionPointAfter(program);
    for (StateOp state : orderStates(program))
      builder.setInsertionPointAfter(Summarizer(program, state, *StatePath(state).getKind()).build(builder));
  }
}
