// What rows of several tokens are made of before a state meets them: in a phase of its own, in front of the rest.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "mlir/IR/IRMapping.h"

namespace recur::chunk {
#define GEN_PASS_DEF_PROLOGUEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

class PrologueSplitter {
public:
  explicit PrologueSplitter(ProgramOp program) : program(program), block(program.getBody().front()) {}
  /// Puts the prologue in front of the program, which takes what it leaves; nothing where nothing is made of rows of
  /// several tokens.
  void split();

private:
  bool isOfTokens(Value value) {
    return tensorOf(value).getRank() >= 1 && tensorOf(value).getDimSize(0) == int64_t(program.getChunk());
  }
  void findLocal();
  void leave(Value value);
  bool isRounded(Value value);
  void findLeft();
  void build(OpBuilder &builder);
  bool isOfOutputs(Operation *op);
  bool isSoonMade(Value rows);
  bool isTaken(OpOperand &use);
  Value take(Value value);

  ProgramOp program;
  Block &block;
  llvm::DenseSet<Operation *> local;     // what a token's inputs, and those of few tokens before it, make
  llvm::DenseSet<Operation *> ofSeveral; // of those, what rows of earlier tokens are in
  llvm::DenseSet<Operation *> ofRows;    // and what a vector of each token is in
  llvm::DenseMap<Operation *, bool> ofOutputs;
  SmallVector<Value> wanted; // by others than what makes such rows
  llvm::SetVector<Value> left;
  llvm::DenseMap<Value, Value> taken;
};

struct ProloguePass : recur::chunk::impl::ProloguePassBase<ProloguePass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (!program.getSummaryOf() && !program.getBackward() && !cancels(program))
        PrologueSplitter(program).split();
  }
};

} // namespace

/// What goes from token to token at the most by looking at rows that lie before.
static bool isOfFewTokens(Operation *op) {
  return isa<MapOp, ExtractOp, SliceOp, ConcatOp, BroadcastOp, PreviousOp, HeldOp, ReshapeStateOp>(op);
}

/// Whether it is there, whatever the program computes.
static bool isGiven(Operation *op) { return isa<InputOp, ParamOp, InitialOp, TakeOp, ConstantOp>(op); }

void PrologueSplitter::findLocal() {
  auto isIn = [&](const llvm::DenseSet<Operation *> &ops) {
    return [&](Value operand) { return ops.contains(operand.getDefiningOp()); };
  };
  for (Operation &op : block) {
    bool isKnown = isGiven(&op) || (isOfFewTokens(&op) && llvm::all_of(op.getOperands(), isIn(local)));
    if (!isKnown)
      continue;
    local.insert(&op);
    if (isa<PreviousOp>(op) || llvm::any_of(op.getOperands(), isIn(ofSeveral)))
      ofSeveral.insert(&op);
    bool isRow = tensorOf(op.getResult(0)).getRank() >= 2 && isOfTokens(op.getResult(0));
    if (isRow || llvm::any_of(op.getOperands(), isIn(ofRows)))
      ofRows.insert(&op);
  }
}

/// Whether the op takes the value as steps of a decay, which are left as they are: rounded they would be off by as much
/// for every token that they count for.
static bool isDecay(OpOperand &use) {
  if (auto advance = dyn_cast<AdvanceOp>(use.getOwner()))
    return use.get() == advance.getRowDecay() || use.get() == advance.getColumnDecay();
  auto decayed = dyn_cast<DecayedOpInterface>(use.getOwner());
  return isa<CumulativeDecayOp>(use.getOwner()) || (decayed && decayed.getDecaySteps() == use.get());
}

/// Whether the op is on the way to outputs alone, token by token.
bool PrologueSplitter::isOfOutputs(Operation *op) {
  if (isa<OutputOp>(op))
    return true;
  auto known = ofOutputs.find(op);
  if (known != ofOutputs.end())
    return known->second;
  bool is = isa<MapOp, ExtractOp, SliceOp, ConcatOp, BroadcastOp>(op) && isOfTokens(op->getResult(0)) &&
            !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) { return isOfOutputs(user); });
  ofOutputs[op] = is;
  return is;
}

/// Whether it takes fewer bytes to read what the rows are made of than to leave them as they are and to read them.
bool PrologueSplitter::isSoonMade(Value rows) {
  llvm::SetVector<Value> work;
  work.insert(rows);
  int64_t bytes = 0;
  for (size_t i = 0; i < work.size(); ++i) {
    Operation *maker = work[i].getDefiningOp();
    auto input = dyn_cast<InputOp>(maker);
    bool isShort = input && input.getStored() && input.getStored()->getIntOrFloatBitWidth() == 16;
    if (isa<InputOp, TakeOp>(maker) && isOfTokens(work[i]))
      bytes += llvm::product_of(shapePerToken(work[i])) * (isShort ? 2 : 4);
    work.insert(maker->operand_begin(), maker->operand_end());
  }
  return bytes < 2 * 4 * llvm::product_of(shapePerToken(rows));
}

/// Numbers are left as they are, also those that decays are made of. Rows that go to outputs past all products would be
/// rounded for nothing, so they are made again where they are needed, or left as they are.
bool PrologueSplitter::isTaken(OpOperand &use) {
  if (local.contains(use.getOwner()))
    return false;
  return tensorOf(use.get()).getRank() == 1 ||
         (!isDecay(use) && !(isOfOutputs(use.getOwner()) && isSoonMade(use.get())));
}

/// A number times a row is left as the two, where the number is of numbers alone, or the row is left anyway; but not
/// where it goes to outputs, which take it as it is.
void PrologueSplitter::leave(Value value) {
  ScaledRows scaled = matchScaledRows(value);
  bool isForOutputs =
      llvm::any_of(value.getUses(), [&](OpOperand &use) { return isTaken(use) && isOfOutputs(use.getOwner()); });
  bool isScaled = scaled && !isForOutputs && isOfTokens(scaled.rows) &&
                  ofSeveral.contains(scaled.rows.getDefiningOp()) &&
                  (!ofRows.contains(scaled.factor.getDefiningOp()) || left.contains(scaled.rows));
  if (!isScaled) {
    left.insert(value);
    return;
  }
  leave(scaled.rows);
  if (isOfTokens(scaled.factor) && !isGiven(scaled.factor.getDefiningOp()))
    leave(scaled.factor);
}

/// Rows that rows of several tokens are in, and that something else takes than what makes such rows. Where there are
/// any, the numbers that something else takes too.
void PrologueSplitter::findLeft() {
  auto find = [&](int64_t rank, const llvm::DenseSet<Operation *> &among) {
    for (Operation &op : block) {
      if (!among.contains(&op) || isGiven(&op) || op.getNumResults() != 1)
        continue;
      Value value = op.getResult(0);
      if (isOfTokens(value) && tensorOf(value).getRank() == rank &&
          llvm::any_of(value.getUses(), [&](OpOperand &use) { return isTaken(use); }))
        wanted.push_back(value);
    }
  };
  find(2, ofSeveral);
  if (!wanted.empty())
    find(1, local);
  // Those first that are no products, which may be what the others have as a factor.
  for (bool isProduct : {false, true})
    for (Value value : wanted)
      if (bool(matchScaledRows(value)) == isProduct)
        leave(value);
}

void PrologueSplitter::build(OpBuilder &builder) {
  IRMapping copies;
  auto prologue = cast<ProgramOp>(builder.clone(*program, copies));
  prologue.setSymName((program.getSymName() + "_prologue").str());
  prologue.setKeeps(false);
  for (Operation &op : llvm::reverse(block))
    if (!local.contains(&op))
      copies.lookup(&op)->erase();
  for (auto [number, value] : llvm::enumerate(left)) {
    Value copy = copies.lookup(value);
    OpBuilder inside(prologue.getContext());
    inside.setInsertionPointAfter(copy.getDefiningOp()); // at once, so that its place is free for others
    GiveOp::create(inside, value.getLoc(), "prologue." + std::to_string(number), /*whole=*/false, isRounded(value),
                   copy);
  }
  eraseUnused<InputOp, ParamOp>(prologue.getBody().front());
}

/// Rows that products take as they are, or scaled by a number each, are rounded once, here. Rows that are scaled
/// channel by channel are rounded behind that, and are left as they are, for twice would be once more than before; so
/// are those that go to outputs.
bool PrologueSplitter::isRounded(Value value) {
  if (tensorOf(value).getRank() != 2)
    return false;
  return llvm::none_of(value.getUses(), [&](OpOperand &use) {
    if (isTaken(use) && isOfOutputs(use.getOwner()))
      return true;
    if (auto interaction = dyn_cast<InteractionOp>(use.getOwner()))
      return interaction.getDecay() && tensorOf(interaction.getDecay()).getRank() > 1;
    auto map = dyn_cast<MapOp>(use.getOwner());
    return map && isTaken(use) && map.getFunction() == Function::Mul &&
           llvm::all_of(map.getOperands(), [](Value operand) { return tensorOf(operand).getRank() == 2; });
  });
}

/// What stands for a wanted value: it is taken, or it is a number times a row that is.
Value PrologueSplitter::take(Value value) {
  if (Value known = taken.lookup(value))
    return known;
  OpBuilder builder(value.getDefiningOp());
  return MapOp::create(builder, value.getLoc(), Function::Mul,
                       llvm::map_to_vector(value.getDefiningOp()->getOperands(), [&](Value operand) {
                         return left.contains(operand) || matchScaledRows(operand) ? take(operand) : operand;
                       }));
}

void PrologueSplitter::split() {
  SmallVector<StateOp> states(program.getStates());
  if (llvm::none_of(states, [](StateOp state) { return tensorOf(state).getRank() == 2; }))
    return;
  findLocal();
  findLeft();
  if (left.empty())
    return;
  OpBuilder builder(program);
  build(builder);
  builder.setInsertionPointToStart(&block);
  for (auto [number, value] : llvm::enumerate(left))
    taken[value] = TakeOp::create(builder, value.getLoc(), value.getType(), "prologue." + std::to_string(number),
                                  /*whole=*/false, isRounded(value), DenseI64ArrayAttr());
  // Decays are made of rows as they came, and so is what only they need.
  for (Value value : wanted) {
    Value own = take(value);
    value.replaceUsesWithIf(own, [&](OpOperand &use) { return isTaken(use); });
  }
  eraseUnused<InputOp, ParamOp>(block);
}
