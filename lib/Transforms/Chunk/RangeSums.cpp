// A matrix of the tokens meets a decay of the tokens once.
//
// The cotangent of a matrix under a decay is wanted with the decay, for products, and by pairs for the decay's own
// cotangent: there each pair is what the two make without a decay, times the cotangent, times the decay. So all that
// needs the decay is made of one matrix that has it. What a step matters is the sum of the pairs whose range has the
// step: of rows at or behind it that see writes before it. Nothing is subtracted.
#include "Transforms/Chunk/RangeSums.h"
#include "Transforms/Chunk/ScaledRows.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace recur::chunk;

//===----------------------------------------------------------------------===//
// What scales rows scales results
//===----------------------------------------------------------------------===//

namespace {
/// A value without what scales it: numbers of each row or one of all, and whether it changes its sign.
struct Unscaled {
  Value rows;
  SmallVector<Value> factors;
  bool isNegated = false;
};
} // namespace

static Unscaled unscale(Value value) {
  Unscaled found{value, {}};
  while (true) {
    auto map = found.rows.getDefiningOp<MapOp>();
    if (map && map.getFunction() == Function::Neg) {
      found.isNegated = !found.isNegated;
      found.rows = map.getOperands()[0];
    } else if (ScaledRows scaled = matchScaledRows(found.rows)) {
      found.factors.push_back(scaled.factor);
      found.rows = scaled.rows;
    } else {
      return found;
    }
  }
}

static bool isOneNumber(Value factor) { return tensorOf(factor).getDimSize(0) == 1; }

/// Makes an op take rows without their scale where these are there besides.
static void scaleResult(Operation *op, unsigned operand, bool ofRows) {
  Unscaled found = unscale(op->getOperand(operand));
  auto isOther = [&](Operation *user) {
    auto map = dyn_cast<MapOp>(user);
    return !map || (map.getFunction() != Function::Neg && !matchScaledRows(map.getResult()));
  };
  bool isThere = areInArray(found.rows) || llvm::any_of(found.rows.getUsers(), isOther);
  if (found.rows == op->getOperand(operand) || !isThere || (!ofRows && !llvm::all_of(found.factors, isOneNumber)))
    return;
  op->setOperand(operand, found.rows);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value result = op->getResult(0), scaled = result;
  Operation *first = nullptr;
  auto add = [&](Function function, ValueRange operands) {
    auto map = MapOp::create(builder, op->getLoc(), function, operands);
    first = first ? first : map.getOperation();
    scaled = map;
  };
  for (Value factor : found.factors)
    add(Function::Mul, {factor, scaled});
  if (found.isNegated)
    add(Function::Neg, scaled);
  result.replaceAllUsesExcept(scaled, first);
}

static void scaleResults(Block &block) {
  auto isOfTokens = [](Value decay) { return !decay || tensorOf(decay).getRank() == 1; };
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    if (auto interaction = dyn_cast<InteractionOp>(op); interaction && isOfTokens(interaction.getDecay())) {
      scaleResult(op, 0, /*ofRows=*/true);
      scaleResult(op, 1, /*ofRows=*/false);
    } else if (auto read = dyn_cast<ReadOp>(op); read && read.getLeft()) {
      scaleResult(op, 0, /*ofRows=*/true);
    }
}

//===----------------------------------------------------------------------===//
// Decays
//===----------------------------------------------------------------------===//

namespace {
class RangeSums {
public:
  explicit RangeSums(Block &block) : block(block), builder(block.getParentOp()) {}
  void rewrite(DecayCotangentOp op);

private:
  static bool haveSameDecay(InteractionOp interaction, DecayCotangentOp op) {
    return interaction && interaction.getDecay() == op.getDecay() && !interaction.getLinear() &&
           haveSameMask(interaction, op);
  }
  static bool haveSameMask(InteractionOp interaction, DecayCotangentOp op) {
    return interaction.getPoints() == op.getPoints() && interaction.getSteps() == op.getSteps();
  }
  static MapOp findDecayed(DecayCotangentOp op);
  Value interact(Value rows, Value columns, ArrayRef<int64_t> points, ArrayRef<int64_t> steps);
  Value ones(int64_t count);
  Value sum(Value pairs, DecayCotangentOp op);
  void moveDecay(MapOp dot, Value matrix, Value decayed, DecayCotangentOp op);

  Block &block;
  OpBuilder builder;
};
} // namespace

static bool areOnes(Value value) {
  return constantNumber(value) == 1.0 && tensorOf(value).getRank() == 2 && tensorOf(value).getDimSize(1) == 1;
}

/// The product of the cotangent's matrix with the decay between writes and rows.
MapOp RangeSums::findDecayed(DecayCotangentOp op) {
  for (Operation *user : op.getMatrix().getUsers()) {
    auto map = dyn_cast<MapOp>(user);
    if (!map || map.getFunction() != Function::Mul || map->getBlock() != op->getBlock())
      continue;
    for (Value operand : map.getOperands())
      if (auto decay = operand.getDefiningOp<InteractionOp>();
          haveSameDecay(decay, op) && areOnes(decay.getRows()) && areOnes(decay.getColumns()))
        return map;
  }
  return {};
}

/// An interaction without a decay, which may be there already.
Value RangeSums::interact(Value rows, Value columns, ArrayRef<int64_t> points, ArrayRef<int64_t> steps) {
  for (Operation *user : rows.getUsers())
    if (auto made = dyn_cast<InteractionOp>(user);
        made && made.getRows() == rows && made.getColumns() == columns && !made.getDecay() &&
        made.getPoints() == points && made.getSteps() == steps && made->getBlock() == &block &&
        (builder.getInsertionPoint() == block.end() || made->isBeforeInBlock(&*builder.getInsertionPoint())))
      return made;
  return InteractionOp::create(builder, rows.getLoc(), rows, columns, points, steps, Value(), false);
}

Value RangeSums::ones(int64_t count) {
  RankedTensorType type = makeTokens(builder.getContext(), count, {1});
  for (auto known : block.getOps<ConstantOp>())
    if (known.getType() == type && constantNumber(known.getResult()) == 1.0 &&
        known->isBeforeInBlock(&*builder.getInsertionPoint()))
      return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  return ConstantOp::create(builder, block.getParentOp()->getLoc(), 1.0, type);
}

/// A step is in the range of rows at or behind it, or behind it alone where they look before a token's decay; and of
/// writes of earlier tokens.
Value RangeSums::sum(Value pairs, DecayCotangentOp op) {
  constexpr int64_t afterDecay = 1, ofStep = 0;
  SmallVector<int64_t> points;
  for (int64_t point : op.getPoints())
    points.push_back(point == beforeDecay ? beforeDecay : afterDecay);
  int64_t tokens = tensorOf(op.getDecay()).getDimSize(0);
  SmallVector<int64_t> steps;
  for (int64_t step = 0; step < int64_t(op.getSteps().size()); ++step)
    steps.push_back(step);
  Value rows = ones(tensorOf(pairs).getDimSize(0)), own = ones(tokens), writes = ones(tensorOf(pairs).getDimSize(1));
  Value behind = interact(rows, own, points, ofStep), before = interact(own, writes, beforeDecay, steps);
  Value sums = ApplyTransposedOp::create(builder, op.getLoc(), behind, pairs, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                         Value(), false);
  return MapOp::create(builder, op.getLoc(), Function::Dot, ValueRange{before, sums});
}

/// A sum of products of the matrix with pairs that have the decay is one of the decayed matrix with pairs without it.
void RangeSums::moveDecay(MapOp dot, Value matrix, Value decayed, DecayCotangentOp op) {
  if (!dot || dot.getFunction() != Function::Dot)
    return;
  auto pairs = dot.getOperands()[dot.getOperands()[0] == matrix].getDefiningOp<InteractionOp>();
  if (!haveSameDecay(pairs, op))
    return;
  builder.setInsertionPoint(dot);
  dot->setOperands({decayed, interact(pairs.getRows(), pairs.getColumns(), op.getPoints(), op.getSteps())});
}

void RangeSums::rewrite(DecayCotangentOp op) {
  MapOp product = findDecayed(op);
  if (op.getLinear() || tensorOf(op.getDecay()).getRank() != 1 || !product)
    return;
  // The matrix may be an interaction that is scaled: then that has the decay.
  SmallVector<MapOp> scales;
  Value made = op.getMatrix();
  while (auto map = made.getDefiningOp<MapOp>()) {
    ScaledRows scaled = matchScaledRows(made);
    if (!scaled && map.getFunction() != Function::Neg)
      break;
    scales.insert(scales.begin(), map);
    made = scaled ? scaled.rows : map.getOperands()[0];
  }
  auto plain = made.getDefiningOp<InteractionOp>();
  Value decayed;
  if (plain && !plain.getDecay() && haveSameMask(plain, op) && plain->getBlock() == &block) {
    builder.setInsertionPointAfter(plain);
    IRMapping copies;
    copies.map(made, InteractionOp::create(builder, plain.getLoc(), plain.getRows(), plain.getColumns(), op.getPoints(),
                                           op.getSteps(), op.getDecay(), false));
    for (MapOp scale : scales) {
      builder.setInsertionPointAfter(scale);
      builder.clone(*scale, copies);
    }
    decayed = copies.lookup(op.getMatrix());
    // A sum of what has the decay elsewhere takes it from here.
    SmallVector<Value> matrices{made};
    for (MapOp scale : scales)
      matrices.push_back(scale);
    for (Value matrix : matrices)
      for (Operation *user : llvm::to_vector(matrix.getUsers()))
        moveDecay(dyn_cast<MapOp>(user), matrix, copies.lookup(matrix), op);
  } else if (product->isBeforeInBlock(op)) {
    decayed = product;
  } else {
    builder.setInsertionPoint(op);
    Value decay = InteractionOp::create(builder, op.getLoc(), ones(tensorOf(op.getMatrix()).getDimSize(0)),
                                        ones(tensorOf(op.getMatrix()).getDimSize(1)), op.getPoints(), op.getSteps(),
                                        op.getDecay(), false);
    decayed = MapOp::create(builder, op.getLoc(), Function::Mul, ValueRange{decay, op.getMatrix()});
  }
  if (decayed != product.getResult())
    product.getResult().replaceAllUsesWith(decayed);
  builder.setInsertionPoint(op);
  Value pairs = interact(op.getRows(), op.getColumns(), op.getPoints(), op.getSteps());
  Value all = MapOp::create(builder, op.getLoc(), Function::Mul, ValueRange{decayed, pairs});
  op.getResult().replaceAllUsesWith(sum(all, op));
  op.erase();
}

void recur::chunk::sumRanges(ProgramOp program) {
  Block &block = program.getBody().front();
  scaleResults(block);
  for (DecayCotangentOp op : llvm::make_early_inc_range(block.getOps<DecayCotangentOp>()))
    RangeSums(block).rewrite(op);
}
