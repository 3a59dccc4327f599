// Products of one row, such as a token's query with a state: sums that a warp's lanes share, for the matrix units would
// multiply fifteen rows of nothing besides, each step waiting for the one before.
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {
class RowProduct {
public:
  RowProduct(TeamCode &t, const Product &product) : t(t), product(product), inner(product.inner) {
    if (product.leftTriangle && !product.transposed) // of a transposed one all see the only row
      inner = t.smaller(inner, t.constant(product.leftTriangle->second));
    columns = product.result.type.getSize(1);
    if (product.resultTriangle)
      columns = std::min(columns, product.resultTriangle->second);
  }
  void emit() { product.rightTransposed ? emitDots() : emitSums(); }

private:
  static constexpr int64_t atOnce = 8;

  Value left(Value k) {
    return product.transposed ? t.get(product.left, {k, Index(0)}) : t.get(product.left, {Index(0), k});
  }
  Value right(Value k, Value column) {
    return product.rightTransposed ? t.get(product.right, {column, k}) : t.get(product.right, {k, column});
  }

  /// Whether a lane can read four inner indices at once.
  bool takesFours() const {
    auto isSideBySide = [](const Place &place) {
      return place.type.getElementType().isF32() && place.type.getStride(1) == 1 && place.type.getStride(0) % 4 == 0 &&
             place.alignment % 16 == 0;
    };
    return product.innerMultiple % 4 == 0 && !product.transposed && isSideBySide(product.left) &&
           isSideBySide(product.right) && !product.leftTriangle;
  }

  /// Rows of the right factor, some at once, so that a warp waits once for all of them.
  void emitDots() {
    int64_t neighbours = takesFours() ? 4 : 1, each = warpThreads * neighbours;
    t.dealToWarps(t.constant(llvm::divideCeil(columns, atOnce)), [&](Value group) {
      Value first = t.multiply(group, atOnce);
      SmallVector<Value> places, sums(atOnce, t.number(0));
      for (int64_t i = 0; i < atOnce; ++i) {
        Value column = t.add(first, i);
        places.push_back(columns % atOnce ? t.smaller(column, t.constant(columns - 1)) : column);
      }
      sums = t.loop(t.constant(0), inner, each, sums, [&](Value begin, ValueRange sums) {
        Value k = t.add(begin, t.multiply(t.lane, neighbours)), counts;
        if (product.innerMultiple % each) {
          counts = t.below(k, inner);
          k = t.select(counts, k, t.constant(0));
        }
        SmallVector<Value> next, numbers = neighbours == 1 ? SmallVector<Value>{left(k)}
                                                           : t.getNeighbours(product.left, {Index(0), k}, neighbours);
        for (auto [place, sum] : llvm::zip(places, sums)) {
          SmallVector<Value> others = neighbours == 1 ? SmallVector<Value>{right(k, place)}
                                                      : t.getNeighbours(product.right, {place, k}, neighbours);
          Value added = sum;
          for (auto [a, b] : llvm::zip(numbers, others))
            added = t.fma(a, b, added);
          next.push_back(counts ? t.select(counts, added, sum) : added);
        }
        return next;
      });
      storeShared(sums, first);
    });
  }

  /// Adds up what lanes have. Where two lanes meet each keeps half of the sums, until each group of lanes has one.
  void storeShared(SmallVector<Value> sums, Value first) {
    Value everyLane = t.constant(-1), clamp = t.constant(warpThreads - 1), place = t.constant(0);
    int64_t distance = warpThreads / 2;
    for (; distance > 0; distance /= 2) {
      auto fromOther = [&](Value value) {
        return NVVM::ShflOp::create(t.builder, t.loc, value.getType(), everyLane, value, t.constant(distance), clamp,
                                    NVVM::ShflKind::bfly, UnitAttr())
            .getResult();
      };
      if (sums.size() == 1) {
        sums[0] = t.plus(sums[0], fromOther(sums[0]));
        continue;
      }
      Value bit = arith::AndIOp::create(t.builder, t.loc, t.lane, t.constant(distance));
      Value isUpper = t.below(t.constant(0), bit);
      auto half = int64_t(sums.size() / 2);
      SmallVector<Value> kept;
      for (int64_t i = 0; i < half; ++i) {
        Value own = t.select(isUpper, sums[i + half], sums[i]), given = t.select(isUpper, sums[i], sums[i + half]);
        kept.push_back(t.plus(own, fromOther(given)));
      }
      place = t.add(place, t.select(isUpper, t.constant(half), t.constant(0)));
      sums = std::move(kept);
    }
    constexpr int64_t lanesOfSum = warpThreads / atOnce;
    Value column = t.add(first, place), rest = t.remainder(t.lane, lanesOfSum);
    Value isIts = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, rest, t.constant(0));
    if (columns % atOnce)
      isIts = arith::AndIOp::create(t.builder, t.loc, isIts, t.below(column, t.constant(columns)));
    t.when(isIts, [&] { store(sums[0], column); });
  }

  /// Columns of the right factor, one of each thread.
  void emitSums() {
    constexpr int64_t inStep = 8;
    t.deal(t.constant(columns), [&](Value column) {
      auto take = [&](Value begin, Value end, int64_t count, Value sum) {
        return t.loop(begin, end, count, sum, [&](Value k, ValueRange sums) {
          SmallVector<Value> lefts, rights;
          for (int64_t i = 0; i < count; ++i) {
            lefts.push_back(left(t.add(k, i)));
            rights.push_back(right(t.add(k, i), column));
          }
          Value next = sums[0];
          for (auto [a, b] : llvm::zip(lefts, rights))
            next = t.fma(a, b, next);
          return SmallVector<Value>{next};
        })[0];
      };
      Value whole = t.multiply(t.divide(inner, inStep), inStep);
      store(take(whole, inner, 1, take(t.constant(0), whole, inStep, t.number(0))), column);
    });
  }

  void store(Value sum, Value column) {
    auto scale = [&](Value before, const std::optional<Place> &scales, Index at) {
      return scales ? t.mul(before, t.get(*scales, {scales->type.getSize(0) == 1 ? Index(0) : at})) : before;
    };
    if (product.plus) {
      Value before = t.get(*product.plus, {Index(0), column});
      before = scale(scale(before, product.rowScale, Index(0)), product.columnScale, Index(column));
      sum = product.subtract ? t.minus(before, sum) : t.plus(before, sum);
    }
    t.put(sum, product.result, {Index(0), column});
  }

  TeamCode &t;
  const Product &product;
  Value inner;
  int64_t columns;
};
} // namespace

void nvvm::emitRowProduct(TeamCode &t, const Product &product) {
  t.when(t.below(t.constant(0), product.rows), [&] { RowProduct(t, product).emit(); });
}
