// Who brings the next chunk into the cache.
//
// A load that fetches ahead by itself asks for a whole tile at once, and then waits: a core has room for a few dozen
// cache lines on their way, and a tile has hundreds. Products compute for long and touch memory little, so the rows of
// the next chunk are spread over them.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

static double bytesOf(LoadOp load) {
  TileType tile = load.getTile().getType();
  double bits = load.getArray().getType().getElementType().getIntOrFloatBitWidth();
  return double(llvm::product_of(tile.getShape())) * bits / 8;
}
static double multiplicationsOf(ProductOp product) {
  TileType result = product.getResult().getType();
  double all = double(result.getSize(0)) * double(result.getSize(1)) * double(product.getRight().getType().getSize(0));
  return product.getLeftTriangle() ? all / 2 : all;
}

/// Removes and gives the largest, the first of equals.
template <typename Op> static Op takeLargest(SmallVectorImpl<Op> &ops, llvm::function_ref<double(Op)> sizeOf) {
  auto largest = llvm::max_element(ops, [&](Op a, Op b) { return sizeOf(a) < sizeOf(b); });
  Op op = *largest;
  ops.erase(largest);
  return op;
}

/// The first row of the next chunk's tile, of an array with a tile of rows for each chunk.
using NextRow = llvm::function_ref<Value(OpBuilder &builder, Value first, TileType tile)>;

constexpr double worthwhile = 2048; // bytes: less than this arrives while the load itself runs

/// Rows that are stored are asked for by a product before: the largest, the latest of equals, but where there is
/// another not the very last one, whose last lines would come too late. What is stored before all products is asked for
/// a chunk ahead, by the last of the largest.
static void fetchWritten(Block &block, ArrayRef<ProductOp> products, NextRow next) {
  for (StoreOp store : block.getOps<StoreOp>()) {
    TileType tile = store.getTile().getType();
    double bits = store.getArray().getType().getElementType().getIntOrFloatBitWidth();
    if (double(llvm::product_of(tile.getShape())) * bits / 8 < worthwhile)
      continue;
    SmallVector<ProductOp> before;
    for (ProductOp product : products)
      if (product->isBeforeInBlock(store) && !product.getLeftTriangle() && !product.getWritten())
        before.push_back(product);
    if (before.size() > 1)
      before.pop_back();
    bool isFirst = before.empty();
    if (isFirst)
      llvm::copy_if(products, std::back_inserter(before), [&](ProductOp product) {
        return store->isBeforeInBlock(product) && !product.getLeftTriangle() && !product.getWritten();
      });
    ProductOp chosen;
    for (ProductOp product : before)
      if (!chosen || multiplicationsOf(product) >= multiplicationsOf(chosen))
        chosen = product;
    if (!chosen)
      continue;
    OpBuilder builder(chosen);
    chosen.getWrittenMutable().assign(store.getArray());
    chosen.getWrittenFirstMutable().assign(isFirst ? next(builder, store.getFirst(), tile) : store.getFirst());
    chosen.setWrittenRows(tile.getSize(0));
  }
}

void conversion::fetchAhead(scf::ForOp loop, bool backward) {
  Block &block = *loop.getBody();
  auto next = [&](OpBuilder &builder, Value first, TileType tile) -> Value {
    Value rows = arith::ConstantIntOp::create(builder, loop.getLoc(), tile.getSize(0), 64);
    if (backward)
      return arith::SubIOp::create(builder, loop.getLoc(), first, rows);
    return arith::AddIOp::create(builder, loop.getLoc(), first, rows);
  };
  SmallVector<LoadOp> loads;
  llvm::DenseSet<Value> arrays;
  for (LoadOp load : block.getOps<LoadOp>())
    if (!arrays.insert(load.getArray()).second)
      continue; // into another tile, in another type
    else if (bytesOf(load) >= worthwhile)
      loads.push_back(load);
    else
      load.setAhead(!backward && load.getTile().getType().getSize(0) > 1); // which loads can forward
  // A product that skips blocks does not reach all of its time.
  SmallVector<ProductOp> products;
  for (ProductOp product : block.getOps<ProductOp>())
    if (!product.getResultTriangle())
      products.push_back(product);
  fetchWritten(block, products, next);
  while (!loads.empty()) {
    LoadOp load = takeLargest<LoadOp>(loads, bytesOf);
    if (products.empty()) {
      load.setAhead(!backward);
      continue;
    }
    ProductOp product = takeLargest<ProductOp>(products, multiplicationsOf);
    OpBuilder builder(product);
    product.getAheadMutable().assign(load.getArray());
    product.getAheadFirstMutable().assign(next(builder, load.getFirst(), load.getTile().getType()));
    product.setAheadRows(load.getTile().getType().getSize(0));
  }
}
