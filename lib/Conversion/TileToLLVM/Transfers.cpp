// Copies between the caller's arrays and tiles. A row of an array is dense; nothing beyond it is touched.
#include "Conversion/TileToLLVM/Emitter.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// Calls `move(place in the array, place in the tile, lanes)` for all elements of the rows.
static void overRows(Emitter &e, const Place &array, Value first, Value rows, const Place &tile,
                     llvm::function_ref<void(Value, Value, int64_t)> move) {
  ArrayRef<int64_t> sizes = tile.type.getShape();
  Type element = array.type.getElementType();
  int64_t last = sizes.size() - 1;
  e.loop(0, rows, 1, [&](Value row) {
    Value token = arith::AddIOp::create(e.builder, e.loc, first, row);
    Value begin =
        e.offset(array.pointer, Value(arith::MulIOp::create(e.builder, e.loc, token, array.rowStride)), element);
    if (last == 0)
      return move(begin, e.address(tile, Index(row)), 1);
    // The sizes between the row and its last dimension are one loop each.
    std::function<void(int64_t, Value, SmallVector<Index>)> inner = [&](int64_t dim, Value from,
                                                                        SmallVector<Index> at) {
      int64_t size = sizes[dim];
      if (dim < last) {
        int64_t stride = 1;
        for (int64_t other : sizes.drop_front(dim + 1))
          stride *= other;
        return e.loop(0, size, 1, [&](Value index) {
          SmallVector<Index> next = at;
          next.push_back(index);
          inner(dim + 1, e.offset(from, e.multiply(index, stride), element), next);
        });
      }
      int64_t full = size / e.lanes() * e.lanes();
      auto moveAt = [&](Index column, int64_t lanes) {
        SmallVector<Index> next = at;
        next.push_back(column);
        move(e.offset(from, column, element), e.address(tile, next), lanes);
      };
      e.loop(0, full, e.lanes(), [&](Value column) { moveAt(column, e.lanes()); });
      // The rest in halves of a vector: LLVM has conversions and copies of those, and not of every number of lanes.
      for (int64_t column = full, lanes = e.lanes() / 2; column < size; lanes /= 2)
        if (column + lanes <= size) {
          moveAt(column, lanes);
          column += lanes;
        }
    };
    inner(1, begin, {Index(row)});
  });
}

void conversion::emitLoad(Emitter &e, const Place &array, Value first, Value rows, const Place &tile, bool ahead) {
  Type element = array.type.getElementType();
  auto choice =
      scf::IfOp::create(e.builder, e.loc, buildIsPresent(e.builder, e.loc, array.pointer), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(choice.thenBlock()->getTerminator());
  Value next = ahead ? e.multiply(array.rowStride, tile.type.getSize(0)) : Value();
  overRows(e, array, first, rows, tile, [&](Value from, Value to, int64_t lanes) {
    Value value = e.load(from, e.vectorOf(element, lanes));
    if (ahead)
      e.prefetch(e.offset(from, next, element));
    e.store(e.convert(value, tile.type.getElementType()), to);
  });
  e.builder.setInsertionPoint(choice.elseBlock()->getTerminator());
  overRows(e, array, first, rows, tile, [&](Value, Value to, int64_t lanes) {
    e.store(e.splat(e.vectorOf(tile.type.getElementType(), lanes), 0), to);
  });
}

void conversion::emitStore(Emitter &e, const Place &tile, Value rows, const Place &array, Value first) {
  Type element = array.type.getElementType();
  auto choice =
      scf::IfOp::create(e.builder, e.loc, buildIsPresent(e.builder, e.loc, array.pointer), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(choice.thenBlock()->getTerminator());
  overRows(e, array, first, rows, tile, [&](Value to, Value from, int64_t lanes) {
    Value value = e.load(from, e.floats(lanes));
    e.store(e.convert(value, element), to);
  });
}
