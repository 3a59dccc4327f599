// Writes of a token that no state enters, each by itself: rows that lie in arrays are loaded as they lie.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"
#include "dialects/Chunk/ChunkSteps.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SEPARATEWRITESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

class WriteSeparator {
public:
  explicit WriteSeparator(ProgramOp program) : program(program), builder(program.getContext()) {}
  /// Nothing changes where not all interleaved rows are of such writes.
  void run();

private:
  int64_t countSteps(Value value) {
    return tensorOf(value).getRank() ? tensorOf(value).getDimSize(0) / int64_t(program.getChunk()) : 0;
  }
  bool isOfSteps(Value value) { return countSteps(value) > 1; }
  bool areFromArrays(Value rows);
  bool isTakenByWrites(Value rows);
  SmallVector<Value> findSteps(Value rows);
  void separate(AdvanceOp op);
  void separate(ApplyOp op);

  ProgramOp program;
  OpBuilder builder;
  llvm::DenseMap<Value, SmallVector<Value>> known;
};

struct SeparateWritesPass : recur::chunk::impl::SeparateWritesPassBase<SeparateWritesPass> {
  void runOnOperation() override {
    if (!getOperation().getBackward())
      WriteSeparator(getOperation()).run();
  }
};

} // namespace

/// Whether they are rows of an array, but for numbers that scale them.
bool WriteSeparator::areFromArrays(Value rows) {
  while (!areInArray(rows)) {
    auto map = rows.getDefiningOp<MapOp>();
    if (!map || !isElementwise(map.getFunction()))
      return false;
    Value whole;
    for (Value operand : map.getOperands()) {
      if (tensorOf(operand).getRank() < 2)
        continue;
      if (whole)
        return false;
      whole = operand;
    }
    if (!whole)
      return false;
    rows = whole;
  }
  return true;
}

/// Whether nothing takes the rows of all steps but advances, interactions with one row a token, and products of these
/// with values.
bool WriteSeparator::isTakenByWrites(Value rows) {
  return llvm::all_of(rows.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &program.getBody().front())
      return false;
    if (auto map = dyn_cast<MapOp>(user))
      return isElementwise(map.getFunction()) && isTakenByWrites(map);
    if (auto advance = dyn_cast<AdvanceOp>(user))
      return use.get() == advance.getValues() || use.get() == advance.getKeys();
    if (auto apply = dyn_cast<ApplyOp>(user))
      return !apply.getDecay() && apply.getMatrix().getDefiningOp<InteractionOp>();
    auto interaction = dyn_cast<InteractionOp>(user);
    return interaction && use.get() == interaction.getColumns() && use.get() != interaction.getRows() &&
           interaction.getPoints().size() == 1 && llvm::all_of(interaction->getUsers(), [](Operation *taker) {
             auto apply = dyn_cast<ApplyOp>(taker);
             return apply && !apply.getDecay();
           });
  });
}

/// The rows of each step.
SmallVector<Value> WriteSeparator::findSteps(Value rows) {
  if (auto found = known.find(rows); found != known.end())
    return found->second;
  SmallVector<Value> steps;
  if (auto interleaved = rows.getDefiningOp<InterleaveOp>()) {
    steps.assign(interleaved.getOperands().begin(), interleaved.getOperands().end());
  } else {
    auto map = rows.getDefiningOp<MapOp>();
    SmallVector<SmallVector<Value>> operands;
    for (Value operand : map.getOperands())
      operands.push_back(isOfSteps(operand) ? findSteps(operand)
                                            : SmallVector<Value>(size_t(countSteps(rows)), operand));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(map);
    for (int64_t step = 0; step < countSteps(rows); ++step)
      steps.push_back(
          MapOp::create(builder, map.getLoc(), map.getFunction(),
                        llvm::map_to_vector(operands, [&](const SmallVector<Value> &of) { return of[size_t(step)]; })));
  }
  known[rows] = steps;
  return steps;
}

void WriteSeparator::separate(AdvanceOp op) {
  builder.setInsertionPoint(op);
  Value state = op.getState(), columnDecay = op.getColumnDecay(), rowDecay = op.getRowDecay();
  for (auto [values, keys] : llvm::zip(findSteps(op.getValues()), findSteps(op.getKeys()))) {
    state = AdvanceOp::create(builder, op.getLoc(), state, values, keys, columnDecay, rowDecay, op.getPrecise());
    columnDecay = rowDecay = {}; // the decay of the chunk goes with the writes that are added first
  }
  op.getResult().replaceAllUsesWith(state);
  op.erase();
}

void WriteSeparator::separate(ApplyOp op) {
  auto interaction = op.getMatrix().getDefiningOp<InteractionOp>();
  builder.setInsertionPoint(op);
  Value sum;
  int64_t point = interaction.getPoints().front();
  for (auto [step, values, keys] : llvm::enumerate(findSteps(op.getValues()), findSteps(interaction.getColumns()))) {
    int64_t own = point < 0 ? point : point > interaction.getSteps()[step];
    Value matrix = InteractionOp::create(builder, op.getLoc(), interaction.getRows(), keys, ArrayRef<int64_t>{own},
                                         ArrayRef<int64_t>{0}, interaction.getDecay(), interaction.getLinear());
    Value part =
        ApplyOp::create(builder, op.getLoc(), matrix, values, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false);
    sum = sum ? MapOp::create(builder, op.getLoc(), Function::Add, ValueRange{sum, part}).getResult() : part;
  }
  op.getResult().replaceAllUsesWith(sum);
  op.erase();
}

void WriteSeparator::run() {
  Block &block = program.getBody().front();
  for (InterleaveOp rows : block.getOps<InterleaveOp>()) {
    bool isNumbers = tensorOf(rows).getRank() < 2;
    bool areApart = isNumbers || (!findInterleaved(rows) &&
                                  llvm::all_of(rows.getOperands(), [&](Value step) { return areFromArrays(step); }));
    if (!areApart || rows.getOperands().size() < 2 || !isTakenByWrites(rows))
      return;
  }
  SmallVector<Operation *> writes;
  for (Operation &op : block) {
    auto advance = dyn_cast<AdvanceOp>(op);
    auto apply = dyn_cast<ApplyOp>(op);
    if ((advance && isOfSteps(advance.getValues())) || (apply && isOfSteps(apply.getValues())))
      writes.push_back(&op);
  }
  // What is not made of interleaved rows stays, and so does what goes with it.
  auto isInterleaved = [&](Value rows) {
    SmallVector<Value> work{rows};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!isOfSteps(value) || value.getDefiningOp<InterleaveOp>())
        continue;
      auto map = value.getDefiningOp<MapOp>();
      if (!map || !isElementwise(map.getFunction()))
        return false;
      llvm::append_range(work, map.getOperands());
    }
    return true;
  };
  for (Operation *op : writes) {
    auto advance = dyn_cast<AdvanceOp>(op);
    auto apply = dyn_cast<ApplyOp>(op);
    auto interaction = apply ? apply.getMatrix().getDefiningOp<InteractionOp>() : InteractionOp();
    bool isKnown = advance ? isInterleaved(advance.getValues()) && isInterleaved(advance.getKeys())
                           : interaction && interaction.getPoints().size() == 1 && !apply.getDecay() &&
                                 isInterleaved(interaction.getColumns()) && isInterleaved(apply.getValues());
    if (!isKnown)
      return;
  }
  for (Operation *op : writes)
    if (auto advance = dyn_cast<AdvanceOp>(op))
      separate(advance);
    else
      separate(cast<ApplyOp>(op));
  eraseUnused(block);
}
