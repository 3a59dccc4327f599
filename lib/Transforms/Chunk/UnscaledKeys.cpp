// Keys of inputs that are brought to some length: the numbers that scale them go to what is multiplied by them.
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"
#include "dialects/Chunk/ChunkSteps.h"
#include "llvm/ADT/SetVector.h"

namespace recur::chunk {
#define GEN_PASS_DEF_UNSCALEDKEYSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// One value of rows that are scaled by a number each, and all that follows from taking the number away.
class KeyUnscaler {
public:
  /// `scaled` is made of `rows`, which it multiplies by a number each, or divides by it.
  KeyUnscaler(MapOp scaled, Value rows, Value number) : scaled(scaled), rows(rows), number(number), builder(scaled) {}
  /// Whether all that takes the rows can do with unscaled ones.
  bool find();
  void rewrite();

private:
  bool findOfScaled(Value keys);
  bool findOfMatrix(Value matrix);
  bool findOfSolution(Value solution);
  bool isOfSolution(Value values) const { return solutions.contains(values); }
  Value scale(Value values) {
    return MapOp::create(builder, values.getLoc(), Function::Mul, ValueRange{factor, values});
  }
  void scaleOperand(OpOperand &operand) {
    builder.setInsertionPoint(operand.getOwner());
    operand.set(scale(operand.get()));
  }

  MapOp scaled;
  Value rows, number, factor;
  OpBuilder builder;
  llvm::SetVector<InteractionOp> interactions;
  llvm::SetVector<AdvanceOp> advances;
  llvm::SetVector<ApplyOp> applies; // of matrices whose columns are such keys
  llvm::SetVector<SolveOp> solves;  // the same
  llvm::SetVector<Value> matrices;  // with such columns
  llvm::SetVector<Value> solutions; // of the solves, scaled or not
};

struct UnscaledKeysPass : recur::chunk::impl::UnscaledKeysPassBase<UnscaledKeysPass> {
  void runOnOperation() override;
};

} // namespace

/// Whether the rows are there as products take them: those of an array, of one step or of all.
static bool areLoaded(Value rows) {
  auto steps = rows.getDefiningOp<InterleaveOp>();
  Value whole = steps ? findInterleaved(steps) : rows;
  return whole && areInArray(whole);
}

static bool isNumber(Value value) { return tensorOf(value).getRank() == 1; }

bool KeyUnscaler::findOfScaled(Value keys) {
  for (OpOperand &use : keys.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != scaled->getBlock())
      return false;
    if (auto interaction = dyn_cast<InteractionOp>(user)) {
      if (keys != scaled.getResult())
        return false;
      interactions.insert(interaction);
    } else if (auto advance = dyn_cast<AdvanceOp>(user)) {
      if (use.get() != advance.getKeys() || advance.getValues() == advance.getKeys())
        return false;
      advances.insert(advance);
    } else if (auto read = dyn_cast<ReadOp>(user)) {
      if (use.get() != read.getRows())
        return false;
    } else if (auto map = dyn_cast<MapOp>(user);
               map && map.getFunction() == Function::Mul && keys == scaled.getResult() &&
               map.getOperands()[0] != map.getOperands()[1] && map.getResult().getType() == keys.getType()) {
      if (!findOfScaled(map.getResult())) // once more, for nothing but reads and advances
        return false;
    } else {
      return false;
    }
  }
  return true;
}

bool KeyUnscaler::findOfMatrix(Value matrix) {
  matrices.insert(matrix);
  for (OpOperand &use : matrix.getUses()) {
    Operation *user = use.getOwner();
    bool isMatrix = use.getOperandNumber() == 0;
    if (auto apply = dyn_cast<ApplyOp>(user); apply && isMatrix && apply.getValues() != matrix) {
      applies.insert(apply);
    } else if (auto solve = dyn_cast<SolveOp>(user); solve && isMatrix && solve.getValues() != matrix) {
      solves.insert(solve);
    } else if (auto map = dyn_cast<MapOp>(user)) {
      bool scalesRows = map.getFunction() == Function::Mul && map.getOperands()[0] != map.getOperands()[1] &&
                        isNumber(map.getOperands()[1 - use.getOperandNumber()]);
      if ((!scalesRows && map.getFunction() != Function::Neg) || !findOfMatrix(map.getResult()))
        return false;
    } else {
      return false;
    }
  }
  return true;
}

/// Whether nothing but keys multiplies what was solved for.
bool KeyUnscaler::findOfSolution(Value solution) {
  solutions.insert(solution);
  return llvm::all_of(solution.getUses(), [&](OpOperand &use) {
    if (auto advance = dyn_cast<AdvanceOp>(use.getOwner()))
      return use.get() == advance.getValues() && advances.contains(advance);
    if (auto apply = dyn_cast<ApplyOp>(use.getOwner()))
      return use.get() == apply.getValues() && applies.contains(apply);
    auto map = dyn_cast<MapOp>(use.getOwner());
    return map && map.getFunction() == Function::Mul && map.getOperands()[0] != map.getOperands()[1] &&
           findOfSolution(map.getResult());
  });
}

bool KeyUnscaler::find() {
  if (!findOfScaled(scaled.getResult()) || interactions.empty())
    return false;
  for (InteractionOp interaction : interactions)
    if (interaction.getColumns() == scaled.getResult() && !findOfMatrix(interaction.getResult()))
      return false;
  return llvm::all_of(solves, [&](SolveOp solve) { return findOfSolution(solve.getResult()); });
}

/// With numbers n of the keys, (I + L diag(n)) U = B says of n U that (I + diag(n) L) (n U) = diag(n) B.
void KeyUnscaler::rewrite() {
  builder.setInsertionPoint(scaled);
  Location loc = scaled.getLoc();
  factor = number;
  if (scaled.getFunction() == Function::Div) {
    auto one = ConstantOp::create(builder, loc, 1, makeTensor(builder.getContext(), {1}));
    factor = MapOp::create(builder, loc, Function::Div, ValueRange{one, number});
  }
  for (SolveOp solve : solves) {
    scaleOperand(solve.getMatrixMutable());
    scaleOperand(solve.getValuesMutable());
  }
  for (ApplyOp apply : applies)
    if (!isOfSolution(apply.getValues()))
      scaleOperand(apply.getValuesMutable());
  for (AdvanceOp advance : advances) {
    if (!isOfSolution(advance.getValues()))
      scaleOperand(advance.getValuesMutable());
    Value keys = rows;
    if (auto more = advance.getKeys().getDefiningOp<MapOp>(); more != scaled) {
      builder.setInsertionPoint(advance);
      keys = MapOp::create(builder, more.getLoc(), Function::Mul,
                           llvm::map_to_vector(more.getOperands(), [&](Value operand) {
                             return operand == scaled.getResult() ? rows : operand;
                           }));
    }
    advance.getKeysMutable().assign(keys);
  }
  for (InteractionOp interaction : interactions) {
    if (interaction.getColumns() == scaled.getResult())
      interaction.getColumnsMutable().assign(rows);
    if (interaction.getRows() != scaled.getResult())
      continue;
    interaction.getRowsMutable().assign(rows);
    builder.setInsertionPointAfter(interaction);
    Value matrix = scale(interaction.getResult());
    interaction.getResult().replaceAllUsesExcept(matrix, matrix.getDefiningOp());
  }
  // What is left of it reads.
  builder.setInsertionPoint(scaled);
  scaled.getResult().replaceAllUsesWith(scale(rows));
  scaled.erase();
}

/// Numbers that scale rows one behind another become one.
static void mergeScales(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    ScaledRows outer = op.getNumResults() == 1 ? matchScaledRows(op.getResult(0)) : ScaledRows();
    ScaledRows inner = outer ? matchScaledRows(outer.rows) : ScaledRows();
    if (!inner || !isNumber(outer.factor) || !isNumber(inner.factor))
      continue;
    OpBuilder builder(&op);
    Value factors[] = {outer.factor, inner.factor}; // in one order, so that equal products are seen to be equal
    if (factors[1].getDefiningOp()->isBeforeInBlock(factors[0].getDefiningOp()))
      std::swap(factors[0], factors[1]);
    Value factor = MapOp::create(builder, op.getLoc(), Function::Mul, factors);
    Value merged = MapOp::create(builder, op.getLoc(), Function::Mul, ValueRange{factor, inner.rows});
    op.getResult(0).replaceAllUsesWith(merged);
    Operation *before = outer.rows.getDefiningOp();
    op.erase();
    if (before->use_empty())
      before->erase();
  }
}

void UnscaledKeysPass::runOnOperation() {
  Block &block = getOperation().getBody().front();
  bool isChanged = false;
  SmallVector<MapOp> maps(block.getOps<MapOp>());
  for (MapOp map : maps) {
    bool divides = map.getFunction() == Function::Div;
    if (map->getNumOperands() != 2 || tensorOf(map.getResult()).getRank() != 2)
      continue;
    ScaledRows scaled = divides ? ScaledRows{map.getOperands()[1], map.getOperands()[0]} : matchScaledRows(map);
    bool isOfTokens = scaled && isNumber(scaled.factor) && scaled.rows.getType() == map.getResult().getType() &&
                      tensorOf(scaled.factor).getDimSize(0) == tensorOf(map.getResult()).getDimSize(0);
    if (!isOfTokens || !areLoaded(scaled.rows))
      continue;
    KeyUnscaler unscaler(map, scaled.rows, scaled.factor);
    if (!unscaler.find())
      continue;
    unscaler.rewrite();
    isChanged = true;
  }
  if (isChanged)
    mergeScales(block);
}
