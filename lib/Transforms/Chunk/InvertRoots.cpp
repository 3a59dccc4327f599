// Rows that are divided by a root are multiplied by its inverse.
#include "Transforms/Chunk/Passes.h"
#include "dialects/Chunk/ChunkTangents.h"

namespace recur::chunk {
#define GEN_PASS_DEF_INVERTROOTSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct InvertRootsPass : recur::chunk::impl::InvertRootsPassBase<InvertRootsPass> {
  void runOnOperation() override {
    SmallVector<MapOp> divisions;
    getOperation().walk([&](MapOp map) {
      if (isOfRows(map))
        divisions.push_back(map);
    });
    llvm::DenseMap<Value, Value> inverses;
    for (MapOp division : divisions) {
      MapOp root = division.getOperands()[1].getDefiningOp<MapOp>();
      Value &inverse = inverses[root.getResult()];
      if (!inverse) {
        OpBuilder builder(root->getContext());
        builder.setInsertionPointAfter(root);
        inverse = MapOp::create(builder, root.getLoc(), Function::Div,
                                ValueRange{ValueBuilder(builder, root.getLoc()).number(1), root.getResult()});
      }
      OpBuilder builder(division);
      Value product =
          MapOp::create(builder, division.getLoc(), Function::Mul, ValueRange{inverse, division.getOperands()[0]});
      division.getResult().replaceAllUsesWith(product);
      division->erase();
    }
  }

private:
  /// Whether a number of each token, which is a root, divides the token's channels.
  static bool isOfRows(MapOp map) {
    if (map.getFunction() != Function::Div)
      return false;
    auto root = map.getOperands()[1].getDefiningOp<MapOp>();
    return root && root.getFunction() == Function::Sqrt && tensorOf(root).getRank() == 1 &&
           tensorOf(map.getOperands()[0]).getRank() > 1 &&
           tensorOf(map.getOperands()[0]).getDimSize(0) == tensorOf(map).getDimSize(0);
  }
};
} // namespace
