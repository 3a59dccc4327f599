// A warp has 16 channels and goes over blocks of 16 rows: a block's sums are products with a triangle of ones
// (StepSums.h), from where the blocks before it ended. What they are scaled to comes and goes in the registers where
// the sums lie.
//
// A triangle's zeros meet steps of other rows, so steps are bounded. Channels that have met one beyond the bound, or
// what is no number, are summed anew row by row, and the rows from that one on are given so. A row before it keeps what
// it had, whatever rows behind it hold.
#include "Conversion/TileToNVVM/RunningSums.h"
#include "Analysis/RunningSum.h"
#include "Conversion/TileToNVVM/StepSums.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {
class RunningSumCode : public StepSums {
public:
  RunningSumCode(TeamCode &t, ArrayRef<PlacedScan> scans, const analysis::RunningSum &sum, Value rows)
      : StepSums(t, scans[0].inputs[sum.step], Base::Natural), scans(scans), isBefore(sum.isBefore),
        isReverse(ScanOp(scans[0].op).getReverse()), rows(rows) {
    for (const PlacedScan &scan : scans)
      sums.push_back(*analysis::matchRunningSum(scan.op));
  }

  void emit(Value channel);

private:
  /// What a scan gives of a row whose sum is known, of these elements of its inputs.
  Value give(size_t scan, Value sum, ArrayRef<Value> elements, Value row, Value column);
  /// The elements of an input that a lane takes of a block.
  Numbers loadElements(size_t scan, size_t input, Value block, Value channel);
  Value element(const PlacedScan &scan, size_t input, Value row, Value column);
  void giveBlock(size_t scan, const Numbers &sumsOfBlock, Value block, Value channel);
  void giveRowByRow(Value channel);

  ArrayRef<PlacedScan> scans;
  SmallVector<analysis::RunningSum> sums; // of each scan
  bool isBefore, isReverse;
  Value rows;
};
} // namespace

static ArrayRef<int64_t> dimsOf(ScanOp op, size_t input) {
  return cast<DenseI64ArrayAttr>(op.getDims()[input]).asArrayRef();
}

Value RunningSumCode::element(const PlacedScan &scan, size_t input, Value row, Value column) {
  const Place &place = scan.inputs[input];
  SmallVector<Index> at;
  for (auto [d, dim] : llvm::enumerate(dimsOf(scan.op, input)))
    at.push_back(place.type.getSize(d) == 1 ? Index(0) : Index(dim == 0 ? row : column));
  return t.get(place, at);
}

Value RunningSumCode::give(size_t scan, Value sum, ArrayRef<Value> elements, Value row, Value column) {
  ScanOp op = scans[scan].op;
  SmallVector<Value> arguments(elements);
  arguments.push_back(sum);
  IRMapping known;
  if (!isBefore)
    known.map(sums[scan].sum->getResult(0), sum);
  t.bodyInto(known, op.getBody(), arguments, {Index(row), Index(column)});
  return known.lookup(op.getBody().front().getTerminator()->getOperand(1));
}

Numbers RunningSumCode::loadElements(size_t scan, size_t input, Value block, Value channel) {
  const PlacedScan &own = scans[scan];
  ScanOp op = own.op;
  if (op.getBody().getArgument(unsigned(input)).hasOneUse() && input == sums[scan].step)
    return Numbers(8, t.number(0)); // which the sum alone takes
  const Place &place = own.inputs[input];
  if (dimsOf(op, input) == ArrayRef<int64_t>({0, 1}) && !llvm::is_contained(place.type.getShape(), 1))
    return loadRows(place, block, 1, 0, channel);
  Value row = t.add(t.multiply(block, blockIndices), group), column = t.add(channel, pair);
  Numbers numbers;
  for (int64_t eight : {0, 8})
    for (int64_t later : {0, 8})
      for (int64_t odd : {0, 1})
        numbers.push_back(element(own, input, t.add(row, later), t.add(column, eight + odd)));
  return numbers;
}

void RunningSumCode::giveBlock(size_t scan, const Numbers &sumsOfBlock, Value block, Value channel) {
  const Place &all = *scans[scan].all;
  SmallVector<Numbers> elements;
  for (size_t input = 0; input < scans[scan].inputs.size(); ++input)
    elements.push_back(loadElements(scan, input, block, channel));
  Value row = t.add(t.multiply(block, blockIndices), group), column = t.add(channel, pair);
  for (size_t two = 0; two < 8; two += 2) {
    KnownPosition offset = warpSums.offsetOf(int64_t(two));
    Value ownRow = t.add(row, offset.row), ownColumn = t.add(column, offset.column);
    SmallVector<Value, 2> given;
    for (size_t odd : {0, 1}) {
      SmallVector<Value> own = llvm::map_to_vector(elements, [&](const Numbers &of) { return of[two + odd]; });
      given.push_back(give(scan, sumsOfBlock[two + odd], own, ownRow, t.add(ownColumn, int64_t(odd))));
    }
    if (all.type.getElementType().isBF16() && all.type.getStride(1) == 1 && all.type.getStride(0) % 2 == 0 &&
        all.alignment % 4 == 0)
      t.store(pack(given[0], given[1]), t.address(all, {Index(ownRow), Index(ownColumn)}));
    else
      t.putNeighbours(given, all, {Index(ownRow), Index(ownColumn)});
  }
}

/// Of the rows that have met a step beyond the bound, a channel a lane.
void RunningSumCode::giveRowByRow(Value firstChannel) {
  t.when(t.below(t.lane, t.constant(stepChannels)), [&] {
    Value column = t.add(firstChannel, t.lane), never = t.below(t.constant(1), t.constant(0));
    SmallVector<Value> end = t.loop(t.constant(0), rows, 1, {t.number(0), never}, [&](Value count, ValueRange carried) {
      Value row = isReverse ? t.subtract(t.add(rows, -1), count) : count;
      Value step = t.get(steps, {row, column}), size = math::AbsFOp::create(t.builder, t.loc, step);
      Value isBeyond = arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::UGT, size, t.number(mostStep));
      Value met = arith::OrIOp::create(t.builder, t.loc, carried[1], isBeyond), next = t.plus(carried[0], step);
      // A row that takes the sum before it has not met its own step.
      t.when(isBefore ? carried[1] : met, [&] {
        for (size_t scan = 0; scan < scans.size(); ++scan)
          if (scans[scan].all) {
            SmallVector<Value> elements;
            for (size_t input = 0; input < scans[scan].inputs.size(); ++input)
              elements.push_back(element(scans[scan], input, row, column));
            t.put(give(scan, isBefore ? carried[0] : next, elements, row, column), *scans[scan].all, {row, column});
          }
      });
      return SmallVector<Value>{next, met};
    });
    for (const PlacedScan &scan : scans)
      if (scan.last)
        t.when(end[1], [&] { t.put(end[0], *scan.last, {column}); });
  });
}

void RunningSumCode::emit(Value channel) {
  Reach reach =
      isReverse ? (isBefore ? Reach::BehindOwn : Reach::FromOwn) : (isBefore ? Reach::BeforeOwn : Reach::UpToOwn);
  bool givesRows = llvm::any_of(scans, [](const PlacedScan &scan) { return scan.all.has_value(); });
  SmallVector<Words> inBlock = givesRows ? triangle(reach) : SmallVector<Words>(), all = ones();
  // Rows beyond the last one count where sums go on from them.
  bool goesOn = llvm::any_of(scans, [](const PlacedScan &scan) { return scan.last.has_value(); });
  Value indices = isReverse || goesOn ? rows : Value();
  Value blocks = t.divide(t.add(rows, blockIndices - 1), blockIndices);
  SmallVector<Value> carried(8, t.number(0));
  carried.push_back(t.constant(0));
  carried = t.loop(t.constant(0), blocks, 1, carried, [&](Value count, ValueRange values) {
    Value block = isReverse ? t.subtract(t.add(blocks, -1), count) : count, beyond = values.back();
    SmallVector<Words> steps = loadShortSteps(block, channel, indices, &beyond);
    Numbers sofar = llvm::to_vector<8>(values.drop_back()), own = sofar;
    if (givesRows)
      addSums(inBlock, steps, own);
    addSums(all, steps, sofar);
    for (size_t scan = 0; scan < scans.size(); ++scan)
      if (scans[scan].all)
        giveBlock(scan, own, block, channel);
    SmallVector<Value> next(sofar.begin(), sofar.end());
    next.push_back(beyond);
    return next;
  });
  for (const PlacedScan &scan : scans)
    if (scan.last) // all rows of ones have the same sum
      t.when(t.below(group, t.constant(1)), [&] {
        for (int64_t eight : {0, 1})
          for (int64_t odd : {0, 1}) {
            int64_t number = warpSums.numberAt(0, eight, odd);
            t.put(carried[size_t(number)], *scan.last, {Index(t.add(channel, pair), warpSums.offsetOf(number).column)});
          }
      });
  Value isBeyond = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, carried.back(), t.constant(0));
  Value met = NVVM::VoteSyncOp::create(t.builder, t.loc, t.builder.getI1Type(), t.constant(-1), isBeyond,
                                       NVVM::VoteSyncKind::any);
  t.when(met, [&] {
    NVVM::SyncWarpOp::create(t.builder, t.loc, t.constant(-1)); // other lanes' rows are stored over
    giveRowByRow(channel);
  });
}

bool nvvm::areRunningSums(const PlacedScan &scan) {
  std::optional<analysis::RunningSum> sum = analysis::matchBlockSum(scan.op);
  return sum && StepSums::hasMatrices(scan.inputs[sum->step]);
}

void nvvm::emitRunningSums(TeamCode &t, ArrayRef<PlacedScan> scans, Value rows) {
  ScanOp op = scans[0].op;
  analysis::RunningSum sum = *analysis::matchBlockSum(op);
  int64_t groups = tileOf(op.getInputs()[sum.step]).getSize(1) / stepChannels;
  RunningSumCode code(t, scans, sum, rows);
  t.dealToWarps(t.constant(groups), [&](Value group) { code.emit(t.multiply(group, stepChannels)); });
}
