#include "Analysis/ChunkStructure.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;

/// A chunk with more tokens than a state has keys may replace all of it, and then what is read of the old state and
/// what the chunk's writes add to it are large numbers that cancel: those are not rounded. Nor are states that systems
/// are solved with.
ChunkStructure::ChunkStructure(chunk::ProgramOp program) : allowsRounding(!program.getExact()) {
  chooseLayouts(program);
  program.walk([&](Operation *op) {
    findTriangles(op);
    if (auto read = dyn_cast<chunk::ReadOp>(op))
      allowsRounding &= chunk::tensorOf(read.getRows()).getShape().back() >= int64_t(program.getChunk());
    allowsRounding &= !isa<chunk::CgOp>(op);
  });
}

/// A matrix that is read by rows of tokens lies transposed if reads and advances are all that is done with it: then the
/// products need no transpose.
void ChunkStructure::chooseLayouts(chunk::ProgramOp program) {
  SmallVector<Value> matrices;
  program.walk([&](Operation *op) {
    if (auto state = dyn_cast<chunk::StateOp>(op); state && chunk::tensorOf(state).getRank() == 2)
      matrices.push_back(state);
    else if (auto kept = dyn_cast<chunk::KeptOp>(op); kept && chunk::tensorOf(kept).getRank() == 2)
      matrices.push_back(kept);
    else if (auto advance = dyn_cast<chunk::AdvanceOp>(op))
      matrices.push_back(advance);
  });
  for (Value matrix : matrices) {
    bool left = false, right = false, other = false;
    for (OpOperand &use : matrix.getUses()) {
      if (auto read = dyn_cast<chunk::ReadOp>(use.getOwner()); read && use.getOperandNumber() == 1)
        (read.getLeft() ? left : right) = true;
      else if (auto advance = dyn_cast<chunk::AdvanceOp>(use.getOwner()); !advance || use.getOperandNumber() != 0)
        other |= !isa<chunk::NextOp>(use.getOwner());
    }
    if (!other && (right || !left))
      transposed.insert(matrix);
  }
  // A matrix lies as the one does that it was made of.
  auto agree = [&](Value a, Value b) {
    if (transposed.contains(a) == transposed.contains(b))
      return false;
    transposed.erase(a);
    transposed.erase(b);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    program.walk([&](Operation *op) {
      if (auto advance = dyn_cast<chunk::AdvanceOp>(op))
        changed |= agree(advance.getState(), advance.getResult());
      else if (auto next = dyn_cast<chunk::NextOp>(op))
        changed |= agree(next.getState(), next.getValue());
    });
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
