// Values that several matrices gather into one sum are gathered by the sum of the matrices.
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_GATHERONCEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
/// A term of a sum that a matrix gathers from values.
struct Term {
  ApplyOp apply;
  bool isNegative;
};

struct GatherOncePass : recur::chunk::impl::GatherOncePassBase<GatherOncePass> {
  void runOnOperation() override {
    SmallVector<MapOp> roots;
    getOperation().walk([&](MapOp map) {
      if (isSum(map) && !isTerm(map))
        roots.push_back(map);
    });
    for (MapOp root : roots)
      while (root && isSum(root) && gatherPair(root))
        ;
  }

private:
  static bool isSum(MapOp map) { return map.getFunction() == Function::Add || map.getFunction() == Function::Sub; }
  static bool isTerm(MapOp map);
  static void collect(MapOp sum, bool isNegative, SmallVectorImpl<Term> &terms);
  static bool gatherPair(MapOp &root);
  static Value drop(ApplyOp apply);
};
} // namespace

/// Whether the sum is read by another sum of its block and by nothing else.
bool GatherOncePass::isTerm(MapOp map) {
  auto reader = map->hasOneUse() ? dyn_cast<MapOp>(*map->user_begin()) : MapOp();
  return reader && isSum(reader) && reader->getBlock() == map->getBlock() &&
         reader.getResult().getType() == map.getResult().getType();
}

void GatherOncePass::collect(MapOp sum, bool isNegative, SmallVectorImpl<Term> &terms) {
  for (OpOperand &operand : sum->getOpOperands()) {
    bool isTaken = isNegative != (sum.getFunction() == Function::Sub && operand.getOperandNumber() == 1);
    if (auto apply = operand.get().getDefiningOp<ApplyOp>()) {
      if (apply->hasOneUse() && apply->getBlock() == sum->getBlock() && !apply.getDecay() &&
          apply.getType() == sum.getResult().getType())
        terms.push_back({apply, isTaken});
    } else if (auto inner = operand.get().getDefiningOp<MapOp>(); inner && isSum(inner) && isTerm(inner)) {
      collect(inner, isTaken, terms);
    }
  }
}

/// Takes the term, which its sum alone reads, out of the sum. Gives what is left of it.
Value GatherOncePass::drop(ApplyOp apply) {
  auto sum = cast<MapOp>(*apply->user_begin());
  bool isFirst = sum.getOperands()[0] == apply.getResult();
  Value rest = sum.getOperands()[isFirst ? 1 : 0];
  if (isFirst && sum.getFunction() == Function::Sub) {
    OpBuilder builder(sum);
    rest = MapOp::create(builder, sum.getLoc(), Function::Neg, rest);
  }
  sum.getResult().replaceAllUsesWith(rest);
  sum->erase();
  apply->erase();
  return rest;
}

/// Makes one term of two. False if no two of the sum's gather the same values. The root may become another op, or none.
bool GatherOncePass::gatherPair(MapOp &root) {
  SmallVector<Term> terms;
  collect(root, false, terms);
  llvm::sort(terms, [](Term a, Term b) { return a.apply->isBeforeInBlock(b.apply); });
  for (auto [index, other] : llvm::enumerate(terms))
    for (Term kept : ArrayRef(terms).drop_front(index + 1)) { // which has both matrices before it
      if (kept.apply.getValues() != other.apply.getValues() ||
          kept.apply.getMatrix().getType() != other.apply.getMatrix().getType())
        continue;
      OpBuilder builder(kept.apply);
      Function function = kept.isNegative == other.isNegative ? Function::Add : Function::Sub;
      Value matrix = MapOp::create(builder, kept.apply.getLoc(), function,
                                   ValueRange{kept.apply.getMatrix(), other.apply.getMatrix()});
      kept.apply.getMatrixMutable().assign(matrix);
      bool isRoot = *other.apply->user_begin() == root.getOperation();
      Value rest = drop(other.apply);
      if (isRoot)
        root = rest.getDefiningOp<MapOp>();
      return true;
    }
  return false;
}
