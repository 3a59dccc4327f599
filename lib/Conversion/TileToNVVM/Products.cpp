// Matrix products on the matrix units, with mma.sync: each warp has blocks of the result in registers, and reads the
// factors from where they lie.
//
// Factors of f32 are split into two numbers of tf32 each, whose product lacks but the product of both lower ones: with
// 11 bits in each part that is as exact as f32. Factors of 16 bits are multiplied as they are. Sums are f32 either way.
//
// In a causal product the units on the diagonal multiply zeros by what later tokens have. That is nothing to mind but
// where these are not finite. The matrix units are given zeros instead, and a warp that has met such a number, which it
// sees as it loads them, then adds its products with the rows that see it: other rows have the same bits as ever.
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <limits>

using namespace mlir;
using namespace recur::tile;
using namespace recur::tile::nvvm;

namespace {

/// The part of the result that a warp has at once: so many units of 16 rows and of 8 columns.
struct Shape {
  int64_t rowUnits, columnUnits;
  int64_t rows() const { return 16 * rowUnits; }
  int64_t columns() const { return 8 * columnUnits; }
};

/// As large as leaves every warp something to do, and no larger than the result.
Shape chooseShape(int64_t rows, int64_t columns, int64_t warps) {
  for (Shape shape : {Shape{2, 4}, {1, 4}, {1, 2}}) {
    int64_t blocks = llvm::divideCeil(rows, shape.rows()) * llvm::divideCeil(columns, shape.columns());
    if (blocks >= warps && shape.rows() < rows + 16 && shape.columns() < columns + 8)
      return shape;
  }
  return {1, 1};
}

/// One block of a product's result.
class BlockProduct {
public:
  BlockProduct(TeamCode &t, const Product &product, Shape shape, Value row, Value column)
      : t(t), product(product), shape(shape), row(row), column(column), element(product.left.type.getElementType()),
        isWide(element.isF32()) {
    place = t.divide(t.lane, 4);
    step = t.remainder(t.lane, 4);
  }

  void emit();

private:
  using Fragment = SmallVector<Value, 4>; // registers of one factor, of one unit
  /// A factor's registers: what is multiplied, and of f32 the lower parts.
  struct Parts {
    Fragment upper, lower;
  };

  int64_t innerStep() const { return isWide ? 8 : 16; }
  Value leftElement(Value rowPlace, Value k);
  Value rightElement(Value k, Value columnPlace);
  /// The numbers of a register: one, or two neighbours.
  Value gather(llvm::function_ref<Value(Value)> elementAt, Value k, Value end);
  Parts split(const Fragment &fragment);
  Parts loadLeft(int64_t unit, Value k, Value end);
  Parts loadRight(int64_t unit, Value k, Value end);
  void multiply(ArrayRef<Value> left, ArrayRef<Value> right, MutableArrayRef<Value> sums);
  SmallVector<Value> takeStep(Value k, Value end, bool onDiagonal, ValueRange sums);
  SmallVector<Value> addNotFinite(Value k, ValueRange sums);
  Value isFinite(Value number);
  Value zero() { return arith::ConstantOp::create(t.builder, t.loc, t.builder.getFloatAttr(element, 0)); }
  Value rowOf(int64_t unit, int64_t below) { return t.add(t.add(row, place), unit * 16 + below); }
  Value columnOf(int64_t unit, int64_t i) { return t.add(t.add(column, t.multiply(step, 2)), unit * 8 + i); }
  void finish(ArrayRef<Value> sums);
  /// An index that exists, where the last units reach beyond the tile.
  Value within(Value index, int64_t size, int64_t unit) {
    return size % unit ? t.smaller(index, t.constant(size - 1)) : index;
  }

  TeamCode &t;
  const Product &product;
  Shape shape;
  Value row, column, place, step;
  Type element;
  bool isWide;
  Value areFinite; // all that was loaded of the right factor, where that is asked for
};

} // namespace

Value BlockProduct::leftElement(Value rowPlace, Value k) {
  return t.load(product.transposed ? t.address(product.left, {k, rowPlace}) : t.address(product.left, {rowPlace, k}),
                element);
}
Value BlockProduct::rightElement(Value k, Value columnPlace) {
  return t.load(product.rightTransposed ? t.address(product.right, {columnPlace, k})
                                        : t.address(product.right, {k, columnPlace}),
                element);
}

/// Beyond `end`, if there is one, the numbers are zeros: what lies there has no meaning.
Value BlockProduct::gather(llvm::function_ref<Value(Value)> elementAt, Value k, Value end) {
  auto one = [&](Value k) {
    if (!end)
      return elementAt(k);
    Value counts = t.below(k, end);
    Value last = t.add(end, -1);
    return t.select(counts, elementAt(t.smaller(k, last)), zero());
  };
  if (isWide)
    return one(k);
  Type pair = VectorType::get(2, element);
  Value both = LLVM::UndefOp::create(t.builder, t.loc, pair);
  for (int64_t i : {0, 1})
    both = LLVM::InsertElementOp::create(t.builder, t.loc, both, one(t.add(k, i)), t.constant(i));
  if (element.isBF16())
    return LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI32Type(), both);
  return both;
}

BlockProduct::Parts BlockProduct::split(const Fragment &fragment) {
  if (!isWide)
    return {fragment, {}};
  Parts parts;
  Type word = t.builder.getI32Type(), f32 = t.builder.getF32Type();
  auto round = [&](Value x) {
    return LLVM::CallIntrinsicOp::create(t.builder, t.loc, word, t.builder.getStringAttr("llvm.nvvm.f2tf32.rna"), x)
        .getResult(0);
  };
  for (Value x : fragment) {
    Value upper = round(x);
    parts.upper.push_back(upper);
    parts.lower.push_back(round(t.minus(x, LLVM::BitcastOp::create(t.builder, t.loc, f32, upper))));
  }
  return parts;
}

BlockProduct::Parts BlockProduct::loadLeft(int64_t unit, Value k, Value end) {
  int64_t rows = product.result.type.getSize(0);
  Fragment fragment;
  for (int64_t half : {0, 1})
    for (int64_t below : {0, 8}) {
      Value at = within(rowOf(unit, below), rows, shape.rows());
      Value inner = t.add(isWide ? t.add(k, step) : t.add(k, t.multiply(step, 2)), half * innerStep() / 2);
      fragment.push_back(gather([&](Value k) { return leftElement(at, k); }, inner, end));
    }
  return split(fragment);
}

BlockProduct::Parts BlockProduct::loadRight(int64_t unit, Value k, Value end) {
  Value at = within(t.add(t.add(column, place), unit * 8), product.result.type.getSize(1), shape.columns());
  Fragment fragment;
  auto load = [&](Value k) {
    Value number = rightElement(k, at);
    if (!areFinite)
      return number;
    Value counts = isFinite(number);
    areFinite = arith::AndIOp::create(t.builder, t.loc, areFinite, counts);
    return t.select(counts, number, zero());
  };
  for (int64_t half : {0, 1}) {
    Value inner = t.add(isWide ? t.add(k, step) : t.add(k, t.multiply(step, 2)), half * innerStep() / 2);
    fragment.push_back(gather(load, inner, end));
  }
  return split(fragment);
}

void BlockProduct::multiply(ArrayRef<Value> left, ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  auto type = isWide ? NVVM::MMATypes::tf32 : element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  Type f32 = t.builder.getF32Type();
  auto result = LLVM::LLVMStructType::getLiteral(t.builder.getContext(), {f32, f32, f32, f32});
  Value four = NVVM::MmaOp::create(t.builder, t.loc, result, ValueRange(left), ValueRange(right), ValueRange(sums),
                                   ArrayRef<int64_t>{16, 8, innerStep()}, std::nullopt, std::nullopt,
                                   std::array{type, type}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(t.builder, t.loc, four, i);
}

Value BlockProduct::isFinite(Value number) {
  Value size = math::AbsFOp::create(t.builder, t.loc, t.convert(number, t.builder.getF32Type()));
  Value infinity = t.number(std::numeric_limits<double>::infinity());
  return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLT, size, infinity);
}

/// The inner indices from `k` on that one instruction takes.
SmallVector<Value> BlockProduct::takeStep(Value k, Value end, bool onDiagonal, ValueRange given) {
  SmallVector<Value> sums = llvm::to_vector_of<Value>(given);
  SmallVector<Parts> left, right;
  for (int64_t r = 0; r < shape.rowUnits; ++r)
    left.push_back(loadLeft(r, k, end));
  if (onDiagonal)
    areFinite = arith::ConstantIntOp::create(t.builder, t.loc, 1, 1);
  for (int64_t c = 0; c < shape.columnUnits; ++c)
    right.push_back(loadRight(c, k, end));
  for (auto [r, l] : llvm::enumerate(left))
    for (auto [c, m] : llvm::enumerate(right)) {
      MutableArrayRef<Value> unit = MutableArrayRef(sums).slice(4 * (r * shape.columnUnits + c), 4);
      if (isWide) {
        multiply(l.lower, m.upper, unit);
        multiply(l.upper, m.lower, unit);
      }
      multiply(l.upper, m.upper, unit);
    }
  if (!onDiagonal)
    return sums;
  Value everyLane = t.constant(-1);
  Value all = LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI1Type(),
                                            t.builder.getStringAttr("llvm.nvvm.vote.all.sync"),
                                            ValueRange{everyLane, std::exchange(areFinite, Value())})
                  .getResult(0);
  SmallVector<Type> types(sums.size(), t.builder.getF32Type());
  auto choice = scf::IfOp::create(t.builder, t.loc, types, all, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(t.builder, t.loc, sums);
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, addNotFinite(k, sums));
  return llvm::to_vector_of<Value>(choice.getResults());
}

/// What numbers of the right factor that are not finite give to the rows that see them.
SmallVector<Value> BlockProduct::addNotFinite(Value k, ValueRange given) {
  auto [r, w] = *product.leftTriangle;
  int64_t rowsPerToken = r, columnsPerToken = w;
  int64_t rows = product.result.type.getSize(0), columns = product.result.type.getSize(1);
  Type f32 = t.builder.getF32Type();
  Value end = t.smaller(product.inner, t.add(k, innerStep()));
  return t.loop(k, end, 1, given, [&](Value k, ValueRange sums) {
    SmallVector<Value> next = llvm::to_vector_of<Value>(sums), weights, numbers, sees, counts;
    for (int64_t unit = 0; unit < shape.rowUnits; ++unit)
      for (int64_t below : {0, 8}) {
        Value at = within(rowOf(unit, below), rows, shape.rows());
        weights.push_back(t.convert(leftElement(at, k), f32));
        sees.push_back(t.below(k, t.multiply(t.add(t.divide(at, rowsPerToken), 1), columnsPerToken)));
      }
    for (int64_t unit = 0; unit < shape.columnUnits; ++unit)
      for (int64_t i : {0, 1}) {
        numbers.push_back(t.convert(rightElement(k, within(columnOf(unit, i), columns, shape.columns())), f32));
        counts.push_back(isFinite(numbers.back()));
      }
    for (auto [place, sum] : llvm::enumerate(next)) {
      int64_t unit = place / 4, row = 2 * (unit / shape.columnUnits) + place % 4 / 2,
              column = 2 * (unit % shape.columnUnits) + place % 2;
      Value added = t.select(sees[row], t.fma(weights[row], numbers[column], sum), sum);
      sum = t.select(counts[column], sum, added);
    }
    return next;
  });
}

void BlockProduct::emit() {
  int64_t each = innerStep();
  Value zero = t.constant(0), end = product.inner;
  SmallVector<Value> sums(4 * shape.rowUnits * shape.columnUnits, t.number(0));
  auto steps = [&](Value from, Value to, bool isMasked, bool onDiagonal) {
    sums = t.loop(from, to, each, sums,
                  [&](Value k, ValueRange sums) { return takeStep(k, isMasked ? to : Value(), onDiagonal, sums); });
  };
  bool isWhole = product.innerMultiple % each == 0;
  if (product.leftTriangle) { // what all rows see, and then what some do
    auto [r, w] = *product.leftTriangle;
    Value all = t.smaller(end, t.multiply(t.add(t.divide(row, r), 1), w));
    Value some = t.smaller(end, t.multiply(t.add(t.divide(t.add(row, shape.rows() - 1), r), 1), w));
    all = t.multiply(t.divide(all, each), each);
    steps(zero, all, false, false);
    steps(all, some, true, true);
  } else if (isWhole) {
    steps(zero, end, false, false);
  } else {
    Value full = t.multiply(t.divide(end, each), each);
    steps(zero, full, false, false);
    steps(full, end, true, false); // at most once
  }
  finish(sums);
}

void BlockProduct::finish(ArrayRef<Value> sums) {
  int64_t rows = product.result.type.getSize(0), columns = product.result.type.getSize(1);
  for (int64_t r = 0; r < shape.rowUnits; ++r)
    for (int64_t below : {0, 8}) {
      Value at = rowOf(r, below);
      auto storeRow = [&] {
        for (int64_t c = 0; c < shape.columnUnits; ++c)
          for (int64_t i : {0, 1}) {
            Value sum = sums[4 * (r * shape.columnUnits + c) + (below ? 2 : 0) + i];
            Value to = columnOf(c, i);
            auto storeElement = [&] {
              Value value = sum;
              if (product.plus) {
                Value before = t.get(*product.plus, {at, to});
                if (const auto &scale = product.rowScale)
                  before = t.mul(before, t.get(*scale, {scale->type.getSize(0) == 1 ? Index(0) : Index(at)}));
                if (const auto &scale = product.columnScale)
                  before = t.mul(before, t.get(*scale, {scale->type.getSize(0) == 1 ? Index(0) : Index(to)}));
                value = product.subtract ? t.minus(before, sum) : t.plus(before, sum);
              }
              t.put(value, product.result, {at, to});
            };
            if (columns % shape.columns())
              t.when(t.below(to, t.constant(columns)), storeElement);
            else
              storeElement();
          }
      };
      if (rows % shape.rows())
        t.when(t.below(at, t.constant(rows)), storeRow);
      else
        storeRow();
    }
}

void nvvm::emitProduct(TeamCode &t, const Product &product) {
  int64_t rows = product.result.type.getSize(0), columns = product.result.type.getSize(1);
  Shape shape = chooseShape(rows, columns, t.warps());
  int64_t across = llvm::divideCeil(columns, shape.columns()), down = llvm::divideCeil(rows, shape.rows());
  t.dealToWarps(t.constant(across * down), [&](Value block) {
    Value row = t.multiply(t.divide(block, across), shape.rows());
    Value column = t.multiply(t.remainder(block, across), shape.columns());
    Value matters = t.below(row, product.rows);
    if (product.resultTriangle) {
      auto [r, w] = *product.resultTriangle;
      Value end = t.multiply(t.add(t.divide(t.add(row, shape.rows() - 1), r), 1), w);
      matters = arith::AndIOp::create(t.builder, t.loc, matters, t.below(column, end));
    }
    t.when(matters, [&] { BlockProduct(t, product, shape, row, column).emit(); });
  });
}

//===----------------------------------------------------------------------===//
// The triangular solve
//===----------------------------------------------------------------------===//

/// The part of a matrix from a row on.
static Place partOf(TeamCode &t, const Place &place, Value row, int64_t rows) {
  SmallVector<int64_t> shape{rows, place.type.getSize(1)};
  TileType type = TileType::get(t.builder.getContext(), shape, place.type.getElementType(), place.type.getMemory(),
                                place.type.getStrides(), 0);
  return {t.address(place, {Index(row), 0}), type};
}

/// Blocks of rows: what the rows above contribute is a product, and the block itself is solved in registers, a column
/// by each thread.
void nvvm::emitSolve(TeamCode &t, const Place &matrix, const Place &values, Value rows) {
  constexpr int64_t blockRows = 16;
  int64_t size = values.type.getSize(0), columns = values.type.getSize(1);
  auto solveBlock = [&](Value begin, int64_t count, bool hasRowsAbove) {
    Place left = partOf(t, matrix, begin, count), right = partOf(t, values, begin, count);
    if (hasRowsAbove) {
      Product above{left, values, right, t.constant(count), begin};
      above.plus = right;
      above.subtract = true;
      above.innerMultiple = blockRows;
      emitProduct(t, above);
      t.barrier();
    }
    t.deal(t.constant(columns), [&](Value column) {
      SmallVector<Value> solved;
      for (int64_t r = 0; r < count; ++r) {
        Value sum = t.get(right, {Index(r), column});
        for (int64_t s = 0; s < r; ++s) {
          Value negative = arith::NegFOp::create(t.builder, t.loc, t.get(left, {Index(r), Index(begin, s)}));
          sum = t.fma(negative, solved[s], sum);
        }
        solved.push_back(sum);
      }
      for (int64_t r = 0; r < count; ++r)
        t.put(solved[r], right, {Index(r), column});
    });
    t.barrier();
  };
  int64_t first = std::min(blockRows, size), whole = size / blockRows * blockRows;
  solveBlock(t.constant(0), first, false);
  if (whole > blockRows)
    t.loop(t.constant(blockRows), t.smaller(rows, t.constant(whole)), blockRows,
           [&](Value begin) { solveBlock(begin, blockRows, true); });
  if (whole && whole < size)
    t.when(t.below(t.constant(whole), rows), [&] { solveBlock(t.constant(whole), size - whole, true); });
}
