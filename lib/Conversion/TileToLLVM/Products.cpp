// Matrix products in register tiles, transposes, and the triangular solve.
//
// A register tile is a block of rows by a few vectors of columns. For every inner index it takes one vector of the
// right factor for each column vector and one number of the left factor, in all lanes, for each row. Panels of columns
// are the outer loop: a panel of the right factor stays in the first-level cache while the rows pass by.
#include "Conversion/TileToLLVM/Emitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// Steps of inner indices side by side in a loop that asks for cache lines evenly: one ask goes with so many.
static constexpr int64_t unrolled = 4;

/// Vectors of columns in a register tile of so many rows.
static int64_t tileVectors(const Emitter &e, int64_t rows) {
  int64_t most = e.shape.isWide() ? 16 : 8; // accumulators
  return std::clamp<int64_t>(most / rows, 1, 4);
}
static int64_t tileRows(const Emitter &e, int64_t rows) { return rowBlock(rows, e.shape.isWide() ? 8 : 4); }

namespace {

/// The inner indices of a register tile: sums[r, v] += or -= left[row + r, k] right[k, column + v]. Where the right
/// factor lies in pairs of inner indices, a step takes a pair.
struct Multiplication {
  const Place &left;
  bool transposed;
  const Place &right;
  Value row;
  Index column;
  int64_t rows, vectors;
  bool subtract = false;

  int64_t width() const { return right.type.getRank() == 3 ? 2 : 1; }

  /// The steps [begin, end).
  SmallVector<Value> emitRange(Emitter &e, Value begin, Value end, ArrayRef<Value> initial) const {
    Factors factors = locate(e);
    return e.loop(begin, end, 1, initial, [&](Value step, ValueRange sums) {
      return add(e, factors, step, sums,
                 [&](int64_t, Value factor, Value column, Value sum) { return multiply(e, factor, column, sum); });
    });
  }

  /// The steps [0, end). What `everyFew` makes goes with each few of them, which it is told the number of.
  SmallVector<Value> emit(Emitter &e, Value end, ArrayRef<Value> initial, LoopBody everyFew = nullptr) const {
    Factors factors = locate(e);
    auto addStep = [&](Index step, ValueRange sums) {
      return add(e, factors, step, sums,
                 [&](int64_t, Value factor, Value column, Value sum) { return multiply(e, factor, column, sum); });
    };
    if (!e.shape.fetchesEvenly)
      return e.loop(0, end, 1, initial, addStep);
    Value whole = e.multiply(e.divide(end, unrolled), unrolled);
    SmallVector<Value> sums = e.loop(0, whole, unrolled, initial, [&](Value first, ValueRange sums) {
      if (everyFew)
        everyFew(e.divide(first, unrolled));
      SmallVector<Value> next(sums);
      for (int64_t step = 0; step < unrolled; ++step)
        next = addStep(Index(first, step), next);
      return next;
    });
    return e.loop(whole, end, 1, sums, addStep);
  }

  /// The inner indices from step `begin` on, of which row r takes the first counts[r].
  SmallVector<Value> emitStairs(Emitter &e, Value begin, ArrayRef<int64_t> counts, ArrayRef<Value> initial) const {
    Factors factors = locate(e);
    SmallVector<Value> sums(initial);
    for (int64_t step = 0; step * width() < counts.back(); ++step)
      sums = add(e, factors, Index(begin, step), sums, [&](int64_t r, Value factor, Value column, Value sum) {
        int64_t taken = counts[r] - step * width();
        if (taken <= 0)
          return sum;
        return multiply(e, factor, taken < width() ? keepFirst(e, column) : column, sum);
      });
    return sums;
  }

  /// The steps [begin, end), of which row r takes the inner indices below ends[r].
  SmallVector<Value> emitMasked(Emitter &e, Value begin, Value end, ArrayRef<Value> ends,
                                ArrayRef<Value> initial) const {
    Factors factors = locate(e);
    return e.loop(begin, end, 1, initial, [&](Value step, ValueRange sums) {
      Value index = e.multiply(step, width());
      auto takes = [&](int64_t r, int64_t inStep) {
        return arith::CmpIOp::create(e.builder, e.loc, arith::CmpIPredicate::slt, e.add(index, inStep), ends[r]);
      };
      return add(e, factors, step, sums, [&](int64_t r, Value factor, Value column, Value sum) -> Value {
        if (width() == 2)
          column = arith::SelectOp::create(e.builder, e.loc, takes(r, 1), column, keepFirst(e, column));
        return arith::SelectOp::create(e.builder, e.loc, takes(r, 0), multiply(e, factor, column, sum), sum);
      });
    });
  }

private:
  struct Factors {
    Value left, right;
    int64_t leftStep, rowStep;
  };
  Factors locate(Emitter &e) const {
    SmallVector<Index> leftPlace{row, 0}, rightPlace{0, column};
    if (transposed)
      std::swap(leftPlace[0], leftPlace[1]);
    int64_t leftStep = left.type.getStride(transposed ? 0 : 1), rowStep = left.type.getStride(transposed ? 1 : 0);
    if (width() == 2) {
      (transposed ? leftPlace : rightPlace).push_back(0);
      if (transposed)
        rightPlace.push_back(0);
      else
        leftStep = 2;
    }
    return {e.address(left, leftPlace), e.address(right, rightPlace), leftStep, rowStep};
  }

  using Add = llvm::function_ref<Value(int64_t row, Value factor, Value column, Value sum)>;
  /// One step, of which `addOne` makes each sum.
  SmallVector<Value> add(Emitter &e, const Factors &factors, Index step, ValueRange sums, Add addOne) const {
    Type element = left.type.getElementType();
    auto stepBy = [&](Value from, int64_t stride) {
      return e.offset(from, Index(e.multiply(step.value, stride), step.constant * stride), element);
    };
    Value rightRow = stepBy(factors.right, right.type.getStride(0));
    Type vector = width() == 2 ? e.vectorOf(element, 2 * e.lanes()) : e.floats(e.lanes());
    SmallVector<Value> columns, next;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(e.load(e.offset(rightRow, v * e.lanes() * width(), element), vector));
    Value leftAt = stepBy(factors.left, factors.leftStep);
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = broadcast(e, e.offset(leftAt, r * factors.rowStep, element));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(addOne(r, factor, columns[v], sums[r * vectors + v]));
    }
    return next;
  }

  Value multiply(Emitter &e, Value factor, Value column, Value sum) const {
    return width() == 2 ? e.dot(factor, column, sum) : e.fma(factor, column, sum);
  }

  /// The first number of each pair, and zero beside it.
  Value keepFirst(Emitter &e, Value pairs) const {
    Type words = e.vectorOf(e.builder.getI32Type(), e.lanes());
    Value bits = LLVM::BitcastOp::create(e.builder, e.loc, words, pairs);
    bits = arith::AndIOp::create(e.builder, e.loc, bits, e.splat(words, 0xFFFF));
    return LLVM::BitcastOp::create(e.builder, e.loc, pairs.getType(), bits);
  }

  /// A number, or a pair of them, in all lanes.
  Value broadcast(Emitter &e, Value pointer) const {
    if (width() == 2) {
      Value words = e.splat(e.load(pointer, e.builder.getI32Type()), e.lanes());
      return LLVM::BitcastOp::create(e.builder, e.loc, e.vectorOf(e.builder.getBF16Type(), 2 * e.lanes()), words);
    }
    Value number = e.load(pointer, e.floats(1));
    if (subtract)
      number = arith::NegFOp::create(e.builder, e.loc, number);
    return e.splat(number, e.lanes());
  }
};

} // namespace

/// The inner indices of a product whose rows take those of their own token and of tokens before. What later tokens have
/// may be no number, and zero times that is none: so it is not multiplied, not even by the zero that it would meet.
/// Blocks of rows begin at multiples of `alignment`.
static SmallVector<Value> emitCausal(Emitter &e, const Multiplication &multiplication, Value inner,
                                     std::pair<int64_t, int64_t> triangle, int64_t alignment, ArrayRef<Value> initial) {
  auto [rowsPerToken, perToken] = triangle;
  int64_t rows = multiplication.rows, width = multiplication.width();
  auto inSteps = [&](Value indices) { return e.divide(e.add(indices, width - 1), width); };
  SmallVector<Value> ends;
  for (int64_t r = 0; r < rows; ++r)
    ends.push_back(e.multiply(e.add(e.divide(e.add(multiplication.row, r), rowsPerToken), 1), perToken));
  // All rows take what the tokens before the first row's have.
  Value before = e.multiply(e.divide(multiplication.row, rowsPerToken), perToken);
  Value begin = e.divide(e.smaller(inner, before), width);
  SmallVector<Value> sums = multiplication.emit(e, begin, initial);
  auto emitMasked = [&] {
    return multiplication.emitMasked(e, begin, inSteps(e.smaller(inner, ends.back())), ends, sums);
  };
  // Does a block begin with a token, and that with a step?
  if (alignment % rowsPerToken != 0 || alignment / rowsPerToken * perToken % width != 0)
    return emitMasked();
  SmallVector<int64_t> counts;
  for (int64_t r = 0; r < rows; ++r)
    counts.push_back((r / rowsPerToken + 1) * perToken);
  Value isWhole = arith::CmpIOp::create(e.builder, e.loc, arith::CmpIPredicate::sle, ends.back(), inner);
  auto choice = scf::IfOp::create(e.builder, e.loc, TypeRange(ValueRange(sums)), isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(e.builder, e.loc, multiplication.emitStairs(e, begin, counts, sums));
  e.builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(e.builder, e.loc, emitMasked());
  return llvm::to_vector_of<Value>(choice.getResults());
}

/// The inner indices of a product whose rows take those of their own token and of tokens behind: from the first one on
/// that a row of the block takes. What the others take too many of is zero.
static SmallVector<Value> emitAnticausal(Emitter &e, const Multiplication &multiplication, Value inner,
                                         std::pair<int64_t, int64_t> triangle, ArrayRef<Value> initial) {
  auto [rowsPerToken, perToken] = triangle;
  int64_t width = multiplication.width();
  Value first = e.multiply(e.divide(multiplication.row, perToken), rowsPerToken);
  Value end = e.divide(e.add(inner, width - 1), width);
  return multiplication.emitRange(e, e.divide(first, width), end, initial);
}

/// The part of the rows ahead that one of `units` register tiles asks for, in a burst.
static void fetchPart(Emitter &e, const Ahead &ahead, Value unit, int64_t units) {
  if (ahead.rows < units) // each takes a share of a row
    return Fetches(e, ahead, units).emit(unit);
  Type element = ahead.array.type.getElementType();
  int64_t numbers = llvm::product_of(ahead.array.type.getShape().drop_front());
  int64_t line = 64 / (element.getIntOrFloatBitWidth() / 8), share = llvm::divideCeil(ahead.rows, units);
  Value first = arith::AddIOp::create(e.builder, e.loc, ahead.first, e.multiply(unit, share));
  for (int64_t row = 0; row < share; ++row) {
    Value at = arith::MulIOp::create(e.builder, e.loc, e.add(first, row), ahead.array.rowStride);
    Value begin = e.offset(ahead.array.pointer, at, element);
    for (int64_t column = 0; column < numbers; column += line)
      e.prefetch(e.offset(begin, column, element));
  }
}

void Fetches::emit(Value part) const {
  for (const Ahead &one : ahead) {
    Type element = one.array.type.getElementType();
    int64_t line = 64 / (element.getIntOrFloatBitWidth() / 8);
    int64_t inRow = llvm::divideCeil(llvm::product_of(one.array.type.getShape().drop_front()), line);
    int64_t lines = one.rows * inRow, share = llvm::divideCeil(lines, count);
    Value first = e.multiply(part, share);
    for (int64_t i = 0; i < share; ++i) {
      Value number = e.smaller(e.add(first, i), e.constant(lines - 1));
      Value row = arith::AddIOp::create(e.builder, e.loc, one.first, e.divide(number, inRow));
      Value begin = arith::MulIOp::create(e.builder, e.loc, row, one.array.rowStride);
      Value column = arith::RemUIOp::create(e.builder, e.loc, number, e.constant(inRow));
      Value at = arith::AddIOp::create(e.builder, e.loc, begin, e.multiply(column, line));
      e.prefetch(e.offset(one.array.pointer, at, element), one.forWriting);
    }
  }
}

namespace {
/// How a result is cut into register tiles: blocks of `rows` rows up to row `whole`, and one of the rows behind it.
struct RegisterTiles {
  int64_t rows, vectors, whole, rest;
  int64_t count(int64_t columns, int64_t lanes) const {
    return (whole / rows + (rest > 0)) * llvm::divideCeil(columns, vectors * lanes);
  }
};
} // namespace

static RegisterTiles chooseRegisterTiles(const Emitter &e, const Product &product) {
  int64_t size = product.result.type.getSize(0), columns = product.result.type.getSize(1);
  if (product.resultTriangle && e.shape.isWide() && size >= 16)
    return {16, 1, int64_t(llvm::alignTo(size, 16)), 0}; // square blocks fit the triangle best
  int64_t flat = e.shape.productRows;
  if (e.shape.isWide() && flat < 8 && columns > 2 * e.lanes())
    return size < flat ? RegisterTiles{size, 4, size, 0} : RegisterTiles{flat, 4, size / flat * flat, size % flat};
  int64_t rows = tileRows(e, size);
  return {rows, tileVectors(e, rows), int64_t(llvm::alignTo(size, rows)), 0};
}

SmallVector<Value> conversion::emitStart(Emitter &e, const Product &product, Value row, Index column, int64_t rows,
                                         int64_t vectors) {
  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Index at(column.value, column.constant + v * e.lanes());
      if (!product.plus) {
        sums.push_back(e.splat(e.floats(e.lanes()), 0));
        continue;
      }
      Value sum = e.load(e.address(*product.plus, {Index(row, r), at}), e.floats(e.lanes()));
      if (product.rowScale) {
        Index scale = product.rowScale->type.getSize(0) == 1 ? Index(0) : Index(row, r);
        sum = e.mul(sum, e.loadSplat(e.address(*product.rowScale, scale), e.lanes()));
      }
      if (product.columnScale) {
        bool one = product.columnScale->type.getSize(0) == 1;
        Value pointer = e.address(*product.columnScale, one ? Index(0) : at);
        sum = e.mul(sum, one ? e.loadSplat(pointer, e.lanes()) : e.load(pointer, e.floats(e.lanes())));
      }
      sums.push_back(sum);
    }
  return sums;
}

void conversion::emitProduct(Emitter &e, const Product &product) {
  if (isAMXProduct(e, product))
    return emitAMXProduct(e, product);
  const Place &result = product.result;
  const RegisterTiles blocks = chooseRegisterTiles(e, product);
  int64_t columns = result.type.getSize(1), units = blocks.count(columns, e.lanes());
  // Loops of a triangle differ in length: they ask for lines in bursts.
  int64_t parts = product.right.type.getSize(0) / unrolled; // of a register tile's loop
  bool evenly = e.shape.fetchesEvenly && !product.leftTriangle && parts > 0;
  auto block = [&](Index column, int64_t vectors, Value row, int64_t rows) {
    int64_t perPanel = units / llvm::divideCeil(columns, blocks.vectors * e.lanes());
    Value panelBefore = e.multiply(e.divide(e.toValue(column), blocks.vectors * e.lanes()), perPanel);
    Value unit = arith::AddIOp::create(e.builder, e.loc, panelBefore, e.divide(row, blocks.rows));
    if (!evenly)
      for (const Ahead &ahead : product.ahead)
        if (!ahead.forWriting)
          fetchPart(e, ahead, unit, units);
    SmallVector<Value> sums = emitStart(e, product, row, column, rows, vectors);
    Multiplication multiplication{product.left, product.transposed, product.right, row, column, rows, vectors};
    if (product.leftTriangle && product.transposed) {
      sums = emitAnticausal(e, multiplication, product.inner, *product.leftTriangle, sums);
    } else if (product.leftTriangle) {
      sums = emitCausal(e, multiplication, product.inner, *product.leftTriangle, /*alignment=*/blocks.rows, sums);
    } else {
      int64_t width = multiplication.width();
      Fetches fetches(e, product.ahead, units * parts);
      auto fetch = [&](Value part) {
        fetches.emit(arith::AddIOp::create(e.builder, e.loc, e.multiply(unit, parts), part));
      };
      Value steps = e.divide(e.add(product.inner, width - 1), width);
      sums = multiplication.emit(e, steps, sums, evenly ? LoopBody(fetch) : LoopBody(nullptr));
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Index at(column.value, column.constant + v * e.lanes());
        if (product.isStored)
          e.store(sums[r * vectors + v], e.address(result, {Index(row, r), at}));
        emitMapsAt(e, product.maps, Index(row, r), at, sums[r * vectors + v]);
      }
  };
  e.panels(columns, blocks.vectors, [&](Index column, int64_t vectors) {
    Index begin = 0;
    if (product.resultTriangle) { // rows above see none of these columns
      auto [r, w] = *product.resultTriangle;
      begin = e.multiply(e.divide(e.multiply(e.divide(e.toValue(column), w), r), blocks.rows), blocks.rows);
    }
    Index end = product.rows;
    if (blocks.rest > 0)
      end = e.smaller(product.rows, e.constant(blocks.whole));
    e.loop(begin, end, blocks.rows, [&](Value row) { block(column, vectors, row, blocks.rows); });
    if (blocks.rest > 0)
      e.loop(blocks.whole, product.rows, blocks.rest, [&](Value row) { block(column, vectors, row, blocks.rest); });
  });
}

/// A square of vectors, in steps that exchange blocks of 1, 2, 4, ... lanes between rows.
static void transposeSquare(Emitter &e, SmallVectorImpl<Value> &rows) {
  int64_t lanes = e.lanes();
  for (int64_t size = 1; size < lanes; size *= 2)
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & size)
        continue;
      Value a = rows[i], b = rows[i + size];
      SmallVector<int64_t> upper, lower;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        upper.push_back(lane & size ? lanes + lane - size : lane);
        lower.push_back(lane & size ? lanes + lane : lane + size);
      }
      rows[i] = vector::ShuffleOp::create(e.builder, e.loc, a, b, upper);
      rows[i + size] = vector::ShuffleOp::create(e.builder, e.loc, a, b, lower);
    }
}

/// Of rows `row` and the next, a vector of columns each: in bf16, side by side. Instead of a row behind the last there
/// are zeros.
static Value loadPair(Emitter &e, const Place &source, std::optional<Place> rowScale, Value row, Value rows,
                      Index column) {
  int64_t lanes = e.lanes();
  Type element = source.type.getElementType(), bf16 = e.builder.getBF16Type();
  SmallVector<int64_t> order; // of two vectors' numbers, side by side
  for (int64_t lane = 0; lane < lanes; ++lane)
    llvm::append_range(order, ArrayRef{lane, lanes + lane});
  Value next = e.add(row, 1);
  Value hasNext = arith::CmpIOp::create(e.builder, e.loc, arith::CmpIPredicate::slt, next, rows);
  Value second = arith::SelectOp::create(e.builder, e.loc, hasNext, next, row);
  auto rowAt = [&](Value row) {
    Value numbers = e.load(e.address(source, {row, column}), e.vectorOf(element, lanes));
    if (rowScale)
      numbers = e.mul(e.convert(numbers, e.builder.getF32Type()), e.loadSplat(e.address(*rowScale, {row}), lanes));
    return e.convert(numbers, bf16);
  };
  Value below = arith::SelectOp::create(e.builder, e.loc, hasNext, rowAt(second), e.splat(e.vectorOf(bf16, lanes), 0));
  return vector::ShuffleOp::create(e.builder, e.loc, rowAt(row), below, order);
}

void conversion::emitTranspose(Emitter &e, const Place &source, Value rows, const Place &result) {
  int64_t lanes = e.lanes(), columns = source.type.getSize(1), full = columns / lanes * lanes;
  bool inPairs = result.type.getElementType().isBF16(); // of which each is as large as an f32 number
  e.loop(0, rows, inPairs ? 2 * lanes : lanes, [&](Value row) {
    auto square = [&](Index column, int64_t count) {
      SmallVector<Value> vectors;
      for (int64_t r = 0; r < lanes; ++r) {
        if (!inPairs) {
          vectors.push_back(e.load(e.address(source, {Index(row, r), column}), e.floats(lanes)));
          continue;
        }
        // Rows behind the last are read no further than there: what they give is not looked at.
        Value first = e.smaller(e.add(row, 2 * r), e.multiply(e.divide(e.add(rows, -1), 2), 2));
        Value both = loadPair(e, source, {}, first, rows, column);
        vectors.push_back(LLVM::BitcastOp::create(e.builder, e.loc, e.floats(lanes), both));
      }
      transposeSquare(e, vectors);
      for (int64_t c = 0; c < count; ++c)
        e.store(vectors[c], e.address(result, {Index(column.value, column.constant + c), row}));
    };
    e.loop(0, full, lanes, [&](Value column) { square(column, lanes); });
    if (full < columns)
      square(full, columns - full);
  });
}

void conversion::emitPair(Emitter &e, const Place &source, std::optional<Place> rowScale, bool transposed, Value rows,
                          const Place &result) {
  int64_t lanes = e.lanes();
  if (transposed) { // of pairs, which are as large as f32 numbers and are not touched
    auto asWords = [&](const Place &place, int64_t rows, int64_t columns) {
      SmallVector<int64_t> strides{place.type.getStride(0) / 2, 1};
      auto type =
          TileType::get(e.builder.getContext(), {rows, columns}, e.builder.getF32Type(), Memory::Local, strides, 0);
      return Place{place.pointer, type, {}};
    };
    int64_t pairs = source.type.getSize(1) / 2, columns = source.type.getSize(0);
    return emitTranspose(e, asWords(source, columns, pairs), rows, asWords(result, pairs, columns));
  }
  e.loop(0, rows, 2, [&](Value first) {
    e.loop(0, source.type.getSize(1), lanes, [&](Value column) {
      Value both = loadPair(e, source, rowScale, first, rows, column);
      e.store(both, e.address(result, {e.divide(first, 2), column, 0}));
    });
  });
}

/// (I + L) X = B, or with scales X = B - scales * (L X). Then what the rows above a block contribute waits in the
/// result until it is scaled; otherwise it goes to what the result holds, which is B.
static void solve(Emitter &e, const Place &matrix, const Place &values, const Place *scales, const Place &result,
                  Value rows) {
  int64_t size = result.type.getSize(0), block = rowBlock(size, e.lanes()), tile = tileRows(e, size);
  auto panel = [&](Index column, int64_t vectors) {
    auto at = [&](int64_t v) { return Index(column.value, column.constant + v * e.lanes()); };
    e.loop(0, rows, block, [&](Value begin) {
      // What the rows above the block contribute.
      for (int64_t part = 0; part < block; part += tile) {
        Value row = e.add(begin, part);
        SmallVector<Value> sums;
        for (int64_t r = 0; r < tile; ++r)
          for (int64_t v = 0; v < vectors; ++v)
            sums.push_back(scales ? e.splat(e.floats(e.lanes()), 0)
                                  : e.load(e.address(result, {Index(row, r), at(v)}), e.floats(e.lanes())));
        sums =
            Multiplication{matrix, false, result, row, column, tile, vectors, /*subtract=*/true}.emit(e, begin, sums);
        for (int64_t r = 0; r < tile; ++r)
          for (int64_t v = 0; v < vectors; ++v)
            e.store(sums[r * vectors + v], e.address(result, {Index(row, r), at(v)}));
      }
      // The block itself, one column vector after another in registers.
      for (int64_t v = 0; v < vectors; ++v) {
        SmallVector<Value> solved;
        auto load = [&](const Place &place, int64_t r) {
          return e.load(e.address(place, {Index(begin, r), at(v)}), e.floats(e.lanes()));
        };
        for (int64_t r = 0; r < block; ++r) {
          Value sum = load(result, r);
          for (int64_t s = 0; s < r; ++s) {
            Value number = e.load(e.address(matrix, {Index(begin, r), Index(begin, s)}), e.floats(1));
            number = arith::NegFOp::create(e.builder, e.loc, number);
            sum = e.fma(e.splat(number, e.lanes()), solved[s], sum);
          }
          solved.push_back(scales ? e.fma(load(*scales, r), sum, load(values, r)) : sum);
        }
        for (int64_t r = 0; r < block; ++r)
          e.store(solved[r], e.address(result, {Index(begin, r), at(v)}));
      }
    });
  };
  e.panels(result.type.getSize(1), tileVectors(e, tile), panel);
}

void conversion::emitSolve(Emitter &e, const Place &matrix, const Place &values, Value rows) {
  solve(e, matrix, values, nullptr, values, rows);
}

void conversion::emitScaledSolve(Emitter &e, const Place &matrix, const Place &values, const Place &scales,
                                 const Place &result, Value rows) {
  solve(e, matrix, values, &scales, result, rows);
}
