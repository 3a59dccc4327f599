#include "Analysis/ChunkStructure.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;

/// A chunk with more tokens than a state has keys may replace all of it, and then what is read of the old state and
/// what the chunk's writes add to it are large numbers that cancel: those are not rounded. Nor are states that systems
/// are solved with, or that are corrected by what they give, nor what steps read again and again.
ChunkStructure::ChunkStructure(chunk::ProgramOp program, bool solvesApart) : allowsRounding(!program.getExact()) {
  chooseLayouts(program);
  program.walk([&](Operation *op) {
    findTriangles(op);
    findOfNumbers(op);
    if (auto advance = dyn_cast<chunk::AdvanceOp>(op); advance && advance.getPrecise())
      findPrecise(advance.getValues());
    if (program.getBackward())
      findPreciseOfGradient(op);
    if (auto read = dyn_cast<chunk::ReadOp>(op))
      allowsRounding &= chunk::tensorOf(read.getRows()).getShape().back() >= int64_t(program.getChunk());
    allowsRounding &= !isa<chunk::EliminateOp>(op) && (solvesApart || !isa<chunk::CgOp>(op)) && !isa<chunk::LoopOp>(op);
  });
}

void ChunkStructure::findOfNumbers(Operation *op) {
  bool isNumber = isa<chunk::InputOp, chunk::ParamOp>(op) && chunk::tensorOf(op->getResult(0)).getRank() == 1;
  bool isMade = op->getNumOperands() != 0 && op->getNumRegions() == 0 &&
                llvm::all_of(op->getOperands(), [&](Value operand) { return isOfNumbers(operand); });
  if (isNumber || isMade || isa<chunk::ConstantOp>(op))
    ofNumbers.insert_range(op->getResults());
}

/// From what is written, which may be scaled, back to what a matrix of the tokens gave, and what that was applied to.
void ChunkStructure::findPrecise(Value rows) {
  Operation *maker = rows.getDefiningOp();
  if (auto map = dyn_cast_or_null<chunk::MapOp>(maker); map && map.getFunction() == chunk::Function::Mul)
    for (Value operand : map.getOperands())
      if (operand.getType() == rows.getType())
        findPrecise(operand);
  if (!isa_and_nonnull<chunk::ApplyOp, chunk::SolveOp>(maker))
    return;
  auto apply = dyn_cast<chunk::ApplyOp>(maker);
  auto left = apply ? apply.getMatrix().getDefiningOp<chunk::TakeOp>() : chunk::TakeOp();
  if (left && left.getPrecise()) // a product of tf32, which is enough
    return;
  precise.insert(rows);
  if (apply && !isa_and_nonnull<chunk::InputOp, chunk::TakeOp>(apply.getValues().getDefiningOp()))
    precise.insert(apply.getValues());
}

/// Whether the rows are those of an array, each perhaps multiplied by a number.
static bool areData(Value rows) {
  while (auto map = rows.getDefiningOp<chunk::MapOp>()) {
    bool isNegated = map.getFunction() == chunk::Function::Neg, isScaled = map.getFunction() == chunk::Function::Mul;
    if (!isNegated && !isScaled)
      return false;
    Value first = map.getOperands()[0];
    bool isFirst = isNegated || chunk::tensorOf(first).getRank() == 2;
    if (isFirst && isScaled && chunk::tensorOf(map.getOperands()[1]).getRank() == 2)
      return false;
    rows = isFirst ? first : map.getOperands()[1];
  }
  return isa_and_nonnull<chunk::InputOp, chunk::TakeOp, chunk::InterleaveOp>(rows.getDefiningOp());
}

/// What a gradient has of cotangents and of values is sums of terms that cancel: what a system is solved for, and how
/// much that matters. Numbers of the tokens, which matrices of ones sum up, stay as they are: both parts of them would
/// take the room of a second CTA.
void ChunkStructure::findPreciseOfGradient(Operation *op) {
  auto apply = dyn_cast<chunk::ApplyOp>(op);
  auto transposed = dyn_cast<chunk::ApplyTransposedOp>(op);
  if ((!apply || apply.getDecay()) && (!transposed || transposed.getDecay()))
    return;
  Value matrix = op->getOperand(0), values = op->getOperand(1);
  if (!isOfNumbers(matrix) && !areData(values))
    precise.insert(values);
}

bool analysis::isOneMatrix(Value value) {
  ArrayRef<int64_t> shape = chunk::tensorOf(value).getShape();
  return shape.size() == 2 || (shape.size() == 3 && shape[0] == 1);
}

bool analysis::makesOneMatrix(chunk::MapOp map) {
  switch (map.getFunction()) {
  case chunk::Function::Outer:
  case chunk::Function::ScaleCols:
  case chunk::Function::ScaleRows:
    break;
  default:
    if (!chunk::isElementwise(map.getFunction()))
      return false;
  }
  return chunk::tensorOf(map).getRank() == 3 && isOneMatrix(map);
}

/// Matrices without tokens that products read or write: states and what becomes of them, also where they are scaled
/// and added up element by element, under a shape with one token; and the products of two vectors that are added.
static SetVector<Value> findMatrices(chunk::ProgramOp program) {
  SetVector<Value> matrices;
  auto isFactor = [](chunk::MapOp map, Value value) {
    return chunk::tensorOf(value).getNumElements() == 1 || !chunk::isElementwise(map.getFunction());
  };
  program.walk([&](Operation *op) {
    bool isFirst = isa<chunk::StateOp, chunk::KeptOp>(op) && chunk::tensorOf(op->getResult(0)).getRank() == 2;
    if (isFirst || isa<chunk::AdvanceOp>(op))
      matrices.insert(op->getResult(0));
    else if (auto reshape = dyn_cast<chunk::ReshapeStateOp>(op)) {
      if (isOneMatrix(reshape) && matrices.contains(reshape.getState()))
        matrices.insert(reshape);
    } else if (auto map = dyn_cast<chunk::MapOp>(op); map && map->getParentOp() == program && makesOneMatrix(map)) {
      auto isMatrix = [&](Value value) { return matrices.contains(value); };
      bool isOuter = map.getFunction() == chunk::Function::Outer;
      if (isOuter || (llvm::any_of(map.getOperands(), isMatrix) && llvm::all_of(map.getOperands(), [&](Value value) {
                        return isMatrix(value) || isFactor(map, value);
                      })))
        matrices.insert(map);
    }
  });
  return matrices;
}

/// A matrix that is read by rows of tokens lies transposed if reads and advances are all that is done with it, and sums
/// of its likes: then the products need no transpose.
void ChunkStructure::chooseLayouts(chunk::ProgramOp program) {
  SetVector<Value> matrices = findMatrices(program);
  for (Value matrix : matrices) {
    bool left = false, right = false;
    // What the steps of a loop add up lies as declared.
    auto writes = matrix.getDefiningOp<chunk::AdvanceOp>();
    bool other = writes && (isa<BlockArgument>(writes.getState()) || writes.getState().getDefiningOp<chunk::LoopOp>());
    for (OpOperand &use : matrix.getUses()) {
      Operation *user = use.getOwner();
      if (auto read = dyn_cast<chunk::ReadOp>(user); read && use.getOperandNumber() == 1)
        (read.getLeft() ? left : right) = true;
      else if (auto advance = dyn_cast<chunk::AdvanceOp>(user); !advance || use.getOperandNumber() != 0)
        other |= !isa<chunk::NextOp>(user) && (user->getNumResults() != 1 || !matrices.contains(user->getResult(0)));
    }
    if (!other && (right || !left))
      transposed.insert(matrix);
  }
  // A matrix lies as those do that it was made of.
  auto agree = [&](Value a, Value b) {
    if (transposed.contains(a) == transposed.contains(b))
      return false;
    transposed.erase(a);
    transposed.erase(b);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Value matrix : matrices)
      for (Value operand : matrix.getDefiningOp()->getOperands())
        if (matrices.contains(operand))
          changed |= agree(operand, matrix);
    program.walk([&](chunk::NextOp next) { changed |= agree(next.getState(), next.getValue()); });
  }
}

/// A matrix of the tokens stays zero above its tokens when it is scaled, or combined with another such.
void ChunkStructure::findTriangles(Operation *op) {
  auto record = [&](Value value, std::optional<Triangle> triangle) {
    if (triangle)
      triangles[value] = *triangle;
  };
  if (auto interaction = dyn_cast<chunk::InteractionOp>(op)) {
    record(interaction, Triangle{int64_t(interaction.getPoints().size()), int64_t(interaction.getSteps().size())});
  } else if (isa<chunk::InverseOp>(op)) {
    record(op->getResult(0), Triangle{1, 1});
  } else if (auto take = dyn_cast<chunk::TakeOp>(op)) {
    if (std::optional<ArrayRef<int64_t>> numbers = take.getTriangle())
      record(take, Triangle{(*numbers)[0], (*numbers)[1]});
  } else if (auto map = dyn_cast<chunk::MapOp>(op)) {
    Value first = map.getOperands().front(), last = map.getOperands().back();
    std::optional<Triangle> ofFirst = findTriangle(first), ofLast = findTriangle(last);
    chunk::Function function = map.getFunction();
    if (function == chunk::Function::Neg)
      record(map, ofFirst);
    else if (function == chunk::Function::Select && map.getResult().getType() == first.getType() &&
             chunk::constantNumber(last) == 0.0)
      record(map, ofFirst);
    else if (function == chunk::Function::Mul && map.getResult().getType() == first.getType() && ofFirst)
      record(map, ofFirst);
    else if (function == chunk::Function::Mul && map.getResult().getType() == last.getType())
      record(map, ofLast);
    else if ((function == chunk::Function::Add || function == chunk::Function::Sub) && ofFirst == ofLast)
      record(map, ofFirst);
  } else if (auto rows = dyn_cast<chunk::DeinterleaveOp>(op)) {
    if (auto from = findTriangle(rows.getOperand()); from && from->rowsPerToken == int64_t(rows.getSteps()))
      record(rows, Triangle{1, from->columnsPerToken});
  }
}

std::optional<Triangle> ChunkStructure::findTriangle(Value matrix) const {
  auto found = triangles.find(matrix);
  return found == triangles.end() ? std::nullopt : std::optional(found->second);
}
