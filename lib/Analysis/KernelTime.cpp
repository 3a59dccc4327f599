#include "Analysis/KernelTime.h"
#include "Analysis/KernelGPU.h"
#include "Analysis/RowPass.h"
#include "Analysis/RunningSum.h"
#include "Analysis/SameColumns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using recur::analysis::KernelTime;

double KernelTime::getBound() const { return std::max({products, arithmetic, shared, global}); }

llvm::StringRef KernelTime::getBusiest() const {
  double most = getBound();
  return most == products     ? "products"
         : most == arithmetic ? "arithmetic"
         : most == shared     ? "shared memory"
                              : "device memory";
}

int64_t analysis::countInstructions(Region &body) {
  constexpr int64_t spelledOut = 16, copies = 2;
  int64_t count = copies;
  for (Operation &op : body.front().without_terminator())
    count += isa<math::MathDialect>(op.getDialect()) && !isa<math::AbsFOp>(op) ? spelledOut
             : isa<IndexOp, arith::ConstantOp>(op)                             ? 0
                                                                               : 1;
  return count;
}

namespace {

/// What one op asks for.
struct Demand {
  double products16 = 0, products32 = 0, arithmetic = 0, sharedBytes = 0, globalBytes = 0, storedBytes = 0;
  double steps = 1, stepLatency = 0; // of which each waits for the one before
};

class TimeEstimate {
public:
  TimeEstimate(const MultiprocessorRates &rates, double threads) : rates(rates), threads(threads) {}
  KernelTime run(KernelOp kernel);
  KernelTime run(ArrayRef<Operation *> ops);

private:
  void visit(Block &block, double times);
  Demand demandOf(Operation *op) const;
  void demandOf(ProductOp op, Demand &demand) const;
  void demandOf(ScanOp op, Demand &demand) const;
  void demandOfBlocks(ScanOp op, unsigned steps, Demand &demand) const;
  void demandOfRounded(ScaledDotsOp op, Demand &demand) const;
  void add(const Demand &demand, double times);

  const MultiprocessorRates &rates;
  double threads, tokens = 1; // of a CTA and of a chunk
  KernelTime time;
};

} // namespace

static double countElements(Value tile) { return tile ? double(llvm::product_of(tileOf(tile).getShape())) : 0; }
static double countTileBytes(Value tile) {
  return tile ? countElements(tile) * double(tileOf(tile).getElementBytes()) : 0;
}

/// A warp multiplies blocks of about 32 by 32, and reads the factors of each.
void TimeEstimate::demandOf(ProductOp op, Demand &demand) const {
  constexpr double block = 32, innerStep = 16;
  double rows = double(tileOf(op.getResult()).getSize(0)), columns = double(tileOf(op.getResult()).getSize(1));
  double inner = double(tileOf(op.getLeft()).getSize(op.getTransposed() ? 0 : 1));
  double part = op.getLeftTriangle() || op.getResultTriangle() ? 0.6 : 1; // blocks on the diagonal are whole
  double count = part * std::max(rows, innerStep) * columns * inner;
  if (op.getLeftExchanged() || op.getTf32()) // once of tf32, which takes twice as long as 16 bits
    demand.products16 = 2 * count;
  else
    (op.getLeft().getType().getElementType().isF32() ? demand.products32 : demand.products16) = count;
  double factors = rows * inner * std::ceil(columns / block) + inner * columns * std::ceil(rows / block);
  demand.sharedBytes = part * factors * double(op.getLeft().getType().getElementBytes()) +
                       countTileBytes(op.getResult()) + countTileBytes(op.getPlus());
  demand.arithmetic = countElements(op.getResult()) * (op.getPlus() ? 3 : 1);
  demand.steps = std::ceil(part * inner / innerStep);
  demand.stepLatency = rates.stepLatency;
}

/// Warps have 16 channels each. A block of rows goes from loads over two products and a power to stores. A scan of the
/// sums of the one before it adds what it gives to that.
void TimeEstimate::demandOfBlocks(ScanOp op, unsigned steps, Demand &demand) const {
  constexpr double block = ScaledDotsOp::unitIndices, warpThreads = 32;
  // Instructions of a block, by machine code: of the sums, and of the rows that are given for each other input.
  constexpr double ofSums = 24, given = 26, ofInput = 20;
  auto before = dyn_cast_or_null<ScanOp>(op->getPrevNode());
  bool isNext = before && analysis::haveSameSums(before, op);
  TileType type = tileOf(op.getInputs()[steps]);
  double blocks = std::ceil(double(type.getSize(0)) / block), groups = double(type.getSize(1)) / block;
  double instructions = isNext ? 0 : ofSums;
  if (op.getAll())
    instructions += given + ofInput * double(op.getInputs().size() - 1);
  demand.arithmetic = warpThreads * blocks * groups * instructions;
  demand.steps = isNext ? 1 : blocks * std::ceil(groups / (threads / warpThreads));
  demand.stepLatency = rates.blockLatency;
}

void TimeEstimate::demandOf(ScanOp op, Demand &demand) const {
  if (std::optional<analysis::RunningSum> sum = analysis::matchBlockSum(op))
    return demandOfBlocks(op, sum->step, demand);
  constexpr double warp = 32, stepsOfWarp = 6;
  // The largest says how many elements a row has: some inputs have one number for all of them.
  Value all = op.getAll() ? op.getAll() : op.getLast();
  for (Value input : op.getInputs())
    if (!op.getAll() && countElements(input) > countElements(all))
      all = input;
  double elements = countElements(all), rows = double(tileOf(all).getSize(0)), columns = elements / rows;
  demand.arithmetic = elements * double(analysis::countInstructions(op.getBody()));
  demand.steps = columns == 1 ? std::ceil(rows / warp) * stepsOfWarp : rows * std::max(1.0, columns / threads);
  demand.stepLatency = rates.rowLatency;
}

/// Warps scale columns first, and then have blocks of 16 indices, those of the diagonal and those of rows of each size
/// of halves. A step of 16 channels goes from loads over two products and a power to a third product. An op with the
/// columns of the one before it adds its rows to that.
void TimeEstimate::demandOfRounded(ScaledDotsOp op, Demand &demand) const {
  constexpr double block = ScaledDotsOp::unitIndices, warpThreads = 32;
  // Instructions of a step, by machine code: a block of the diagonal, of columns and of rows.
  struct Instructions {
    double diagonal, columns, rows;
  };
  constexpr Instructions first{130, 79, 68}, next{20, 0, 36};
  constexpr double nextStep = 0.3, withoutLogarithms = 1.5;
  auto before = dyn_cast_or_null<ScaledDotsOp>(op->getPrevNode());
  bool isNext = before && analysis::haveSameColumns(before, op);
  const Instructions &each = isNext ? next : first;
  double indices = double(op.getScales().getType().getSize(0)), warps = threads / warpThreads;
  double steps = double(op.getScales().getType().getSize(1)) / block, sizes = std::log2(double(op.getBlock()) / block);
  double writes = double(op.getSteps().size()), pairs = double(op.getPoints().size()) * writes;
  double blocks = indices / block, sides = sizes * blocks / 2;
  double instructions = steps * (pairs * (blocks * each.diagonal + sides * each.rows) + sides * writes * each.columns);
  demand.arithmetic = warpThreads * instructions * (op.getLogarithms() ? 1 : withoutLogarithms);
  double often = countTileBytes(op.getLeft()), once = countTileBytes(op.getResult());
  if (!isNext) {
    often += countTileBytes(op.getRight()) + countTileBytes(op.getScales());
    once += 2 * countTileBytes(op.getWork());
  }
  demand.sharedBytes = often * (1 + sizes) + once;
  demand.stepLatency = rates.scaledLatency;
  demand.steps = steps * pairs * std::ceil((blocks + sides) / warps) * (isNext ? nextStep : 1);
  if (!isNext) // two warps share the channels of a block of columns
    demand.steps += steps * std::ceil(2 * sides * writes / warps) / 2;
}

Demand TimeEstimate::demandOf(Operation *op) const {
  Demand demand;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<TileType>(operand.getType())) {
      if (type.getMemory() == Memory::Shared)
        demand.sharedBytes += countTileBytes(operand);
      if (type.getMemory() == Memory::Local) // which lies in device memory
        demand.globalBytes += countTileBytes(operand);
    }
  llvm::TypeSwitch<Operation *>(op)
      .Case<ProductOp, ScanOp>([&](auto op) { demandOf(op, demand); })
      .Case<LoadOp, StoreOp>([&](auto op) {
        demand.globalBytes += countElements(op.getTile()) * double(op.getArray().getType().getElementBytes());
        demand.storedBytes = isa<StoreOp>(op) ? demand.globalBytes : 0;
        demand.stepLatency = isa<LoadOp>(op) ? rates.globalLatency : 0;
      })
      .Case([&](MapOp op) {
        demand.arithmetic = countElements(op.getResult()) * double(analysis::countInstructions(op.getBody()));
      })
      .Case([&](ReduceOp op) {
        demand.arithmetic =
            double(llvm::product_of(op.getSizes())) * double(analysis::countInstructions(op.getBody()) + 1);
      })
      .Case([&](SolveOp op) {
        double size = double(tileOf(op.getMatrix()).getSize(0)), columns = double(tileOf(op.getValues()).getSize(1));
        demand.products32 = size * size * columns / 2;
        demand.arithmetic = 8 * size * columns;
        demand.steps = size;
        demand.stepLatency = 2 * rates.rowLatency;
      })
      .Case([&](InvertOp op) {
        constexpr double blockRows = 16, products = 3; // of two numbers of 16 bits each
        double size = double(tileOf(op.getMatrix()).getSize(0));
        demand.products16 = products * size * size * size / 3;
        demand.arithmetic = 8 * size * size;
        demand.steps = blockRows + 2 * size / blockRows;
        demand.stepLatency = rates.rowLatency;
      })
      .Case([&](ConjugateGradientsOp op) {
        constexpr double ofMatrix = 3, ofKeys = 2, perNumber = 20;
        double rows = double(tileOf(op.getResult()).getSize(0)), channels = double(tileOf(op.getResult()).getSize(1)),
               times = double(op.getIterations());
        demand.products16 = times * rows * channels * (ofMatrix * channels + 2 * ofKeys * rows);
        demand.arithmetic = times * rows * channels * perNumber;
        demand.sharedBytes = times * sizeof(float) * channels * (1.5 * channels + 2 * rows + 2 * rows);
        demand.globalBytes = channels * channels * double(sizeof(float)) + 2 * rows * channels * 2;
        constexpr double dependent = 3; // products of a step, one behind another
        demand.steps = times * dependent;
        demand.stepLatency = rates.unitLatency;
      })
      .Case<ScaledDotsOp, ScaledSumsOp>([&](auto op) {
        if (auto dots = dyn_cast<ScaledDotsOp>(*op); dots && dots.getRounded())
          return demandOfRounded(dots, demand);
        double terms = countElements(op.getResult()) * double(tileOf(op.getScales()).getShape().back());
        demand.arithmetic = terms;
        demand.sharedBytes = sizeof(float) * terms;
      })
      .Default([&](Operation *) { demand.arithmetic = demand.sharedBytes / sizeof(float); });
  return demand;
}

void TimeEstimate::add(const Demand &demand, double times) {
  double products = demand.products16 / rates.products16 + demand.products32 / rates.products32;
  double arithmetic = demand.arithmetic / rates.arithmetic, shared = demand.sharedBytes / rates.sharedBytes,
         global = demand.globalBytes / rates.globalBytes;
  time.products += times * products;
  time.arithmetic += times * arithmetic;
  time.shared += times * shared;
  time.global += times * global;
  time.stored += times * demand.storedBytes / rates.globalBytes;
  double busy = std::max({products, arithmetic, shared, global});
  time.critical += times * (rates.latency + std::max(busy, demand.steps * demand.stepLatency));
}

void TimeEstimate::visit(Block &block, double times) {
  for (Operation &op : block) {
    if (isa<TileDialect>(op.getDialect())) {
      if (!isa<AllocOp, ViewOp, YieldOp>(op))
        add(demandOf(&op), times);
      continue;
    }
    // What only a sequence's first chunks do row by row does not count.
    if (isa<scf::IfOp>(op) && !op.getRegion(0).getOps<scf::ForOp>().empty())
      continue;
    // A loop of a plan runs as often as is known, or else for each of a chunk's tokens.
    double inside = times;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      IntegerAttr begin, end, step;
      bool isKnown = matchPattern(loop.getLowerBound(), m_Constant(&begin)) &&
                     matchPattern(loop.getUpperBound(), m_Constant(&end)) &&
                     matchPattern(loop.getStep(), m_Constant(&step));
      inside *= isKnown ? double(end.getInt() - begin.getInt()) / double(step.getInt()) : tokens;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        visit(inner, inside);
  }
}

/// What is around the loop over chunks runs once in a sequence.
KernelTime TimeEstimate::run(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    auto inTurn = dyn_cast<scf::ForOp>(op);
    auto atOnce = dyn_cast<scf::ParallelOp>(op);
    if (!inTurn && !atOnce)
      continue;
    Value step = inTurn ? inTurn.getStep() : atOnce.getStep()[0];
    if (auto cast = step.getDefiningOp<arith::IndexCastOp>())
      step = cast.getIn();
    IntegerAttr size;
    if (matchPattern(step, m_Constant(&size)))
      tokens = double(size.getInt());
    visit(op.getRegion(0).front(), 1);
  }
  if (analysis::takesRowsApart(kernel)) { // no op waits for another one's barrier, and rows stay in registers
    time.shared = 0;
    time.critical = rates.globalLatency + std::max(time.arithmetic, time.global);
  }
  return time;
}

KernelTime TimeEstimate::run(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    add(demandOf(op), 1);
  return time;
}

KernelTime recur::analysis::estimateTime(KernelOp kernel) {
  MultiprocessorRates rates = gpuOf(kernel).getRates();
  return TimeEstimate(rates, double(kernel.getThreads().value_or(32))).run(kernel);
}

double recur::analysis::estimateChunk(const KernelTime &time, int64_t neighbours) {
  return std::max(time.getBound(), time.critical / double(neighbours) + time.global - time.stored / 2);
}

double recur::analysis::estimateChain(const StateChain &chain, const KernelTime &time) {
  MultiprocessorRates rates = chain.gpu->getRates();
  constexpr int64_t enoughStages = 3;
  double waits = double(
      llvm::count_if(chain.steps, [](const StateChain::Step &step) { return step.isProduct() && step.isCritical; }));
  SmallVector<Operation *> beside(chain.numbers); // by other warps, ahead of the state
  for (const StateChain::Interaction &interaction : chain.interactions) {
    beside.push_back(interaction.product);
    llvm::append_range(beside, interaction.maps);
  }
  KernelTime prepared = TimeEstimate(rates, double(chain.interactionThreads())).run(beside);
  double computed = time.products - prepared.products + time.arithmetic - prepared.arithmetic +
                    waits * rates.unitLatency + rates.chainOverhead;
  double loaded = rates.globalLatency + double(chain.stageBytes + chain.numberBytes) / rates.chainBytes;
  return chain.stages < enoughStages ? std::max(computed, loaded) : computed;
}
