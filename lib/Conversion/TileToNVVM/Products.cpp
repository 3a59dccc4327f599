// Matrix products on the matrix units, with mma.sync: each warp has blocks of the result in registers, and reads the
// factors from where they lie.
//
// Factors of f32 are split into two numbers of tf32 each, whose product lacks but the product of both lower ones: with
// 11 bits in each part that is as exact as f32. If the product says so, factors of f32 are rounded to tf32 instead.
// Factors of 16 bits are multiplied as they are. Sums are always f32.
//
// In a causal product the units on the diagonal multiply zeros by what later tokens have. That is nothing to mind but
// where these are not finite. The matrix units are given zeros instead, and a warp that has met such a number, which it
// sees as it loads them, then adds its products with the rows that see it: other rows have the same bits as ever.
#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "Target/CodeAttributes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <limits>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {

/// The part of the result that a warp has at once: so many units of 16 rows and of 8 columns.
struct Shape {
  int64_t rowUnits, columnUnits;
  int64_t rows() const { return SumsLayout::unitRows * rowUnits; }
  int64_t columns() const { return SumsLayout::unitColumns * columnUnits; }
  int64_t numbers() const { return SumsLayout::numbersOfUnit * rowUnits * columnUnits; }
  SumsLayout sums() const { return {columnUnits}; }
};

/// The largest shape that leaves every warp something to do and is no larger than the result.
Shape chooseShape(int64_t rows, int64_t columns, int64_t warps) {
  for (Shape shape : {Shape{2, 4}, {1, 4}, {1, 2}}) {
    int64_t blocks = llvm::divideCeil(rows, shape.rows()) * llvm::divideCeil(columns, shape.columns());
    if (blocks >= warps && shape.rows() < rows + SumsLayout::unitRows &&
        shape.columns() < columns + SumsLayout::unitColumns)
      return shape;
  }
  return {1, 1};
}

/// Keeps LLVM and ptxas from spelling a loop out whose length they know.
void keepAsLoop(Operation *loop) {
  MLIRContext *context = loop->getContext();
  LLVM::LoopAnnotationAttr annotation = LLVM::LoopAnnotationAttr::get(
      context, {}, {}, {}, LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {}), {},
      {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  loop->setAttr(recur::loopAnnotationAttribute, annotation);
}

/// One block of a product's result.
class BlockProduct {
public:
  BlockProduct(TeamCode &t, const Product &product, Shape shape, Value row, Value column)
      : t(t), product(product), shape(shape), row(row), column(column), element(product.left.type.getElementType()),
        isWide(element.isF32()), layout(isWide ? FactorLayout::ofTF32() : FactorLayout::ofHalves()) {
    place = rowOfLane(t, t.lane);
    step = wordOfLane(t, t.lane);
    takesMatrices = !isWide && hasMatrices(product.left) && hasMatrices(product.right) &&
                    product.left.type.getSize(product.transposed ? 0 : 1) % innerStep() == 0 &&
                    product.result.type.getSize(0) % shape.rows() == 0 &&
                    product.result.type.getSize(1) % shape.columns() == 0;
  }

  void emit();
  /// What is given, one number for each of a lane's of the block, plus the product.
  SmallVector<Value> addTo(SmallVector<Value> sums);

private:
  using Fragment = SmallVector<Value, 4>; // registers of one factor, of one unit
  /// A factor's registers: what is multiplied, and of f32 that is not rounded the lower parts.
  struct Parts {
    Fragment upper, lower;
  };

  int64_t innerStep() const { return layout.inner; }
  Value leftElement(Value rowPlace, Value k);
  Value rightElement(Value k, Value columnPlace);
  /// The numbers of a register: one, or two neighbours.
  Value gather(llvm::function_ref<Value(Value)> elementAt, Value k, Value end);
  Parts split(const Fragment &fragment);
  Parts loadLeft(int64_t unit, Value k, Value end);
  Parts loadRight(int64_t unit, Value k, Value end);
  void multiply(ArrayRef<Value> left, ArrayRef<Value> right, MutableArrayRef<Value> sums);
  /// Whether the matrices of 8 rows of 16 bytes, which units are made of, can be read by one instruction.
  static bool hasMatrices(const Place &factor);
  Fragment loadMatrices(const Place &factor, Value row, Value column, bool isAcross, int64_t count);
  Fragment loadLeftMatrices(int64_t unit, Value k);
  SmallVector<Fragment> loadRightMatrices(Value k);
  Value areAllFinite(ArrayRef<Fragment> fragments);
  Fragment withoutNotFinite(const Fragment &fragment);
  Value doAllLanes(Value condition);
  void multiplyAll(ArrayRef<Parts> left, ArrayRef<Parts> right, MutableArrayRef<Value> sums);
  SmallVector<Value> takeMatrices(Value k, bool onDiagonal, ValueRange sums);
  /// One of two ways to the sums.
  SmallVector<Value> choose(Value condition, llvm::function_ref<SmallVector<Value>()> first,
                            llvm::function_ref<SmallVector<Value>()> second);
  SmallVector<Value> takeStep(Value k, Value end, bool onDiagonal, ValueRange sums);
  SmallVector<Value> addNotFinite(Value k, ValueRange sums);
  Value isFinite(Value number);
  Value zero() { return arith::ConstantOp::create(t.builder, t.loc, t.builder.getFloatAttr(element, 0)); }
  /// The lane's row of so many eights of rows, one of its columns of so many eights of columns, and the first inner
  /// index of its words.
  Value rowOf(int64_t eight) { return t.add(t.add(row, place), eight * matrixRows); }
  Value columnOf(int64_t eight, int64_t second) {
    return t.add(t.add(column, t.multiply(step, 2)), eight * SumsLayout::unitColumns + second);
  }
  Value innerOf(Value k) { return t.add(k, t.multiply(step, layout.perWord())); }
  void finish(ArrayRef<Value> sums);
  void finishWhole(ArrayRef<Value> sums);
  /// An index that exists, where the last units reach beyond the tile.
  Value within(Value index, int64_t size, int64_t unit) {
    return size % unit ? t.smaller(index, t.constant(size - 1)) : index;
  }

  TeamCode &t;
  const Product &product;
  Shape shape;
  Value row, column, place, step;
  Type element;
  bool isWide, takesMatrices;
  FactorLayout layout;
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
    Value upper = product.tf32 ? WarpgroupCode(t).roundToTF32(x) : round(x);
    parts.upper.push_back(upper);
    if (!product.tf32)
      parts.lower.push_back(round(t.minus(x, LLVM::BitcastOp::create(t.builder, t.loc, f32, upper))));
  }
  return parts;
}

BlockProduct::Parts BlockProduct::loadLeft(int64_t unit, Value k, Value end) {
  int64_t rows = product.result.type.getSize(0);
  Fragment fragment;
  for (int64_t word = 0; word < FactorLayout::leftWords; ++word) {
    KnownPosition offset = layout.offsetOfLeft(word);
    Value at = within(rowOf(2 * unit + offset.row / matrixRows), rows, shape.rows());
    fragment.push_back(gather([&](Value k) { return leftElement(at, k); }, t.add(innerOf(k), offset.column), end));
  }
  return split(fragment);
}

BlockProduct::Parts BlockProduct::loadRight(int64_t unit, Value k, Value end) {
  Value at = within(t.add(t.add(column, place), unit * SumsLayout::unitColumns), product.result.type.getSize(1),
                    shape.columns());
  Fragment fragment;
  auto load = [&](Value k) {
    Value number = rightElement(k, at);
    if (!areFinite)
      return number;
    Value counts = isFinite(number);
    areFinite = arith::AndIOp::create(t.builder, t.loc, areFinite, counts);
    return t.select(counts, number, zero());
  };
  for (int64_t word = 0; word < FactorLayout::rightWords; ++word)
    fragment.push_back(gather(load, t.add(innerOf(k), layout.offsetOfRight(word)), end));
  return split(fragment);
}

void BlockProduct::multiply(ArrayRef<Value> left, ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  multiplyByWarp(t, left, right, sums,
                 isWide             ? NVVM::MMATypes::tf32
                 : element.isBF16() ? NVVM::MMATypes::bf16
                                    : NVVM::MMATypes::f16);
}

Value BlockProduct::isFinite(Value number) {
  Value size = math::AbsFOp::create(t.builder, t.loc, t.convert(number, t.builder.getF32Type()));
  Value infinity = t.number(std::numeric_limits<double>::infinity());
  return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLT, size, infinity);
}

//===----------------------------------------------------------------------===//
// Matrices of 8 rows of 16 bytes
//===----------------------------------------------------------------------===//

bool BlockProduct::hasMatrices(const Place &factor) {
  TileType type = factor.type;
  return type.getMemory() == Memory::Shared && type.getRank() == 2 && type.getElementBytes() == 2 &&
         type.getStride(1) == 1 && type.getStride(0) % pieceHalves == 0 && factor.alignment % pieceBytes == 0;
}

/// A lane gives the place of its piece. Across, rows and columns change places in the registers.
BlockProduct::Fragment BlockProduct::loadMatrices(const Place &factor, Value row, Value column, bool isAcross,
                                                  int64_t count) {
  Type word = t.builder.getI32Type();
  Type type = LLVM::LLVMStructType::getLiteral(t.builder.getContext(), SmallVector<Type>(count, word));
  MLIRContext *context = t.builder.getContext();
  Value all = NVVM::LdMatrixOp::create(
      t.builder, t.loc, type, t.address(factor, {row, column}), t.builder.getI32IntegerAttr(int32_t(count)),
      NVVM::MMALayoutAttr::get(context, isAcross ? NVVM::MMALayout::col : NVVM::MMALayout::row),
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltTypeAttr::get(context, NVVM::LdStMatrixEltType::B16));
  Fragment fragment;
  for (int64_t i = 0; i < count; ++i) {
    Value two = LLVM::ExtractValueOp::create(t.builder, t.loc, all, i);
    if (!element.isBF16())
      two = LLVM::BitcastOp::create(t.builder, t.loc, VectorType::get(2, element), two);
    fragment.push_back(two);
  }
  return fragment;
}

BlockProduct::Fragment BlockProduct::loadLeftMatrices(int64_t unit, Value k) {
  auto own = addressedPiece(t, t.lane, product.transposed ? BlockOrder::UpperFirst : BlockOrder::LeftFirst);
  Value first = t.add(row, unit * SumsLayout::unitRows), right = t.multiply(own.piece, pieceHalves);
  if (product.transposed)
    return loadMatrices(product.left, t.add(k, own.row), t.add(first, right), true, FactorLayout::leftWords);
  return loadMatrices(product.left, t.add(first, own.row), t.add(k, right), false, FactorLayout::leftWords);
}

/// Two units at a time.
SmallVector<BlockProduct::Fragment> BlockProduct::loadRightMatrices(Value k) {
  auto own = addressedPiece(t, t.lane, product.rightTransposed ? BlockOrder::UpperFirst : BlockOrder::LeftFirst);
  Value right = t.multiply(own.piece, pieceHalves);
  SmallVector<Fragment> units;
  for (int64_t unit = 0; unit < shape.columnUnits; unit += 2) {
    bool isAlone = unit + 1 == shape.columnUnits; // then the lanes of two other matrices are not asked
    Value first = t.add(column, unit * SumsLayout::unitColumns);
    int64_t words = (isAlone ? 1 : 2) * FactorLayout::rightWords;
    Fragment both = product.rightTransposed
                        ? loadMatrices(product.right, t.add(first, own.row), t.add(k, right), false, words)
                        : loadMatrices(product.right, t.add(k, own.row), t.add(first, right), true, words);
    units.push_back({both[0], both[1]});
    if (!isAlone)
      units.push_back({both[2], both[3]});
  }
  return units;
}

/// Whether this lane's numbers are finite: then, and only then, zero times each is zero.
Value BlockProduct::areAllFinite(ArrayRef<Fragment> fragments) {
  Type word = t.builder.getI32Type(), pair = VectorType::get(2, element);
  Value zeros = LLVM::ZeroOp::create(t.builder, t.loc, pair), all[2] = {zeros, zeros}; // two sums wait less than one
  int64_t count = 0;
  for (const Fragment &fragment : fragments)
    for (Value two : fragment) {
      Value &sum = all[count++ % 2];
      Value numbers = two.getType() == word ? LLVM::BitcastOp::create(t.builder, t.loc, pair, two).getResult() : two;
      sum = LLVM::FMAOp::create(t.builder, t.loc, pair, ValueRange{numbers, zeros, sum});
    }
  auto bitsOf = [&](Value sum) -> Value { return LLVM::BitcastOp::create(t.builder, t.loc, word, sum); };
  Value bits = arith::OrIOp::create(t.builder, t.loc, bitsOf(all[0]), bitsOf(all[1]));
  Value sizes = arith::AndIOp::create(t.builder, t.loc, bits, t.constant(0x7FFF7FFF));
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, sizes, t.constant(0));
}

Value BlockProduct::doAllLanes(Value condition) {
  return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI1Type(),
                                       t.builder.getStringAttr("llvm.nvvm.vote.all.sync"),
                                       ValueRange{t.constant(-1), condition})
      .getResult(0);
}

SmallVector<Value> BlockProduct::choose(Value condition, llvm::function_ref<SmallVector<Value>()> first,
                                        llvm::function_ref<SmallVector<Value>()> second) {
  SmallVector<Type> types(size_t(shape.numbers()), t.builder.getF32Type());
  auto choice = scf::IfOp::create(t.builder, t.loc, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(t.builder, t.loc, first());
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, second());
  return llvm::to_vector_of<Value>(choice.getResults());
}

void BlockProduct::multiplyAll(ArrayRef<Parts> left, ArrayRef<Parts> right, MutableArrayRef<Value> sums) {
  for (auto [r, l] : llvm::enumerate(left))
    for (auto [c, m] : llvm::enumerate(right)) {
      MutableArrayRef<Value> unit =
          sums.slice(size_t(shape.sums().numberAt(2 * int64_t(r), int64_t(c), 0)), size_t(SumsLayout::numbersOfUnit));
      if (!l.lower.empty()) {
        multiply(l.lower, m.upper, unit);
        multiply(l.upper, m.lower, unit);
      }
      multiply(l.upper, m.upper, unit);
    }
}

/// With zeros for numbers that are not finite: of 16 bits, those whose exponent is all ones.
BlockProduct::Fragment BlockProduct::withoutNotFinite(const Fragment &fragment) {
  Type word = t.builder.getI32Type();
  int64_t exponent = element.isBF16() ? 0x7F80 : 0x7C00;
  Fragment finite;
  for (Value two : fragment) {
    Type type = two.getType();
    Value bits = type == word ? two : LLVM::BitcastOp::create(t.builder, t.loc, word, two).getResult(), kept;
    for (int64_t shift : {0, 16}) {
      Value own = arith::AndIOp::create(t.builder, t.loc, bits, t.constant(exponent << shift));
      Value counts =
          arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, own, t.constant(exponent << shift));
      Value half = t.select(counts, t.constant(int64_t(0xFFFF) << shift), t.constant(0));
      kept = kept ? arith::OrIOp::create(t.builder, t.loc, kept, half).getResult() : half;
    }
    bits = arith::AndIOp::create(t.builder, t.loc, bits, kept);
    finite.push_back(type == word ? bits : LLVM::BitcastOp::create(t.builder, t.loc, type, bits).getResult());
  }
  return finite;
}

/// On the diagonal that may be a step not all of whose inner indices count: the left factor has zeros for the others.
SmallVector<Value> BlockProduct::takeMatrices(Value k, bool onDiagonal, ValueRange given) {
  SmallVector<Fragment> numbers = loadRightMatrices(k);
  SmallVector<Parts> left, right;
  for (int64_t r = 0; r < shape.rowUnits; ++r)
    left.push_back({loadLeftMatrices(r, k), {}});
  for (Fragment &unit : numbers)
    right.push_back({unit, {}});
  auto multiplied = [&] {
    SmallVector<Value> sums = llvm::to_vector_of<Value>(given);
    multiplyAll(left, right, sums);
    return sums;
  };
  if (!onDiagonal)
    return multiplied();
  return choose(doAllLanes(areAllFinite(numbers)), multiplied, [&] {
    for (auto [unit, number] : llvm::zip(right, numbers))
      unit.upper = withoutNotFinite(number);
    return addNotFinite(k, multiplied());
  });
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

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
  multiplyAll(left, right, sums);
  if (!onDiagonal)
    return sums;
  return choose(
      doAllLanes(std::exchange(areFinite, Value())), [&] { return sums; }, [&] { return addNotFinite(k, sums); });
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
    for (int64_t eight = 0; eight < 2 * shape.rowUnits; ++eight) {
      Value at = within(rowOf(eight), rows, shape.rows());
      weights.push_back(t.convert(leftElement(at, k), f32));
      sees.push_back(t.below(k, t.multiply(t.add(t.divide(at, rowsPerToken), 1), columnsPerToken)));
    }
    for (int64_t unit = 0; unit < shape.columnUnits; ++unit)
      for (int64_t i : {0, 1}) {
        numbers.push_back(t.convert(rightElement(k, within(columnOf(unit, i), columns, shape.columns())), f32));
        counts.push_back(isFinite(numbers.back()));
      }
    for (auto [place, sum] : llvm::enumerate(next)) {
      auto number = int64_t(place);
      int64_t row = shape.sums().rowEightOf(number),
              column = 2 * shape.sums().columnEightOf(number) + SumsLayout::secondOf(number);
      Value added = t.select(sees[row], t.fma(weights[row], numbers[column], sum), sum);
      sum = t.select(counts[column], sum, added);
    }
    return next;
  });
}

void BlockProduct::emit() { finish(addTo(SmallVector<Value>(size_t(shape.numbers()), t.number(0)))); }

SmallVector<Value> BlockProduct::addTo(SmallVector<Value> sums) {
  int64_t each = innerStep();
  Value zero = t.constant(0), end = product.inner;
  auto steps = [&](Value from, Value to, bool isMasked, bool onDiagonal) {
    sums = t.loop(from, to, each, sums, [&](Value k, ValueRange sums) {
      return takesMatrices && (!isMasked || onDiagonal) ? takeMatrices(k, onDiagonal, sums)
                                                        : takeStep(k, isMasked ? to : Value(), onDiagonal, sums);
    });
    if (t.keepsLoops)
      keepAsLoop(sums.front().getDefiningOp());
  };
  bool isWhole = product.innerMultiple % each == 0;
  if (product.leftTriangle && !product.transposed) { // what all rows see, and then what some do
    auto [r, w] = *product.leftTriangle;
    Value all = t.smaller(end, t.multiply(t.add(t.divide(row, r), 1), w));
    Value some = t.smaller(end, t.multiply(t.add(t.divide(t.add(row, shape.rows() - 1), r), 1), w));
    all = t.multiply(t.divide(all, each), each);
    steps(zero, all, false, false);
    steps(all, some, true, true);
    return sums;
  }
  Value begin = zero;
  if (product.leftTriangle) { // the first inner index that sees any of the rows, and zeros before it
    auto [r, w] = *product.leftTriangle;
    begin = t.multiply(t.divide(t.multiply(t.divide(row, w), r), each), each);
  }
  if (isWhole) {
    steps(begin, end, false, false);
  } else {
    Value full = t.multiply(t.divide(end, each), each);
    steps(begin, full, false, false);
    steps(full, end, true, false); // at most once
  }
  return sums;
}

/// Ends a block that lies within the result: all is read before anything is written, so that a lane waits once.
void BlockProduct::finishWhole(ArrayRef<Value> sums) {
  auto loadScale = [&](const Place &scale, Value at) {
    return t.get(scale, {scale.type.getSize(0) == 1 ? Index(0) : Index(at)});
  };
  SmallVector<Value> columnScales, rowScales;
  SmallVector<SmallVector<Value>> before;
  SmallVector<SmallVector<Index>> places;
  if (product.plus && product.columnScale)
    for (int64_t c = 0; c < shape.columnUnits; ++c)
      for (int64_t i : {0, 1})
        columnScales.push_back(product.columnScale->type.getSize(0) == 1 && !columnScales.empty()
                                   ? columnScales.front()
                                   : loadScale(*product.columnScale, columnOf(c, i)));
  for (int64_t eight = 0; eight < 2 * shape.rowUnits; ++eight) {
    Value at = rowOf(eight);
    if (product.plus && product.rowScale)
      rowScales.push_back(product.rowScale->type.getSize(0) == 1 && !rowScales.empty()
                              ? rowScales.front()
                              : loadScale(*product.rowScale, at));
    for (int64_t c = 0; c < shape.columnUnits; ++c) {
      places.push_back({Index(at), Index(columnOf(c, 0))});
      if (product.plus)
        before.push_back(t.getNeighbours(*product.plus, places.back(), 2));
    }
  }
  for (auto [n, place] : llvm::enumerate(places)) {
    int64_t c = int64_t(n) % shape.columnUnits, row = int64_t(n) / shape.columnUnits;
    SmallVector<Value> numbers;
    for (int64_t i : {0, 1}) {
      Value sum = sums[size_t(shape.sums().numberAt(row, c, i))];
      if (product.plus) {
        Value other = before[n][i];
        if (product.rowScale)
          other = t.mul(other, rowScales[row]);
        if (product.columnScale)
          other = t.mul(other, columnScales[2 * c + i]);
        sum = product.subtract ? t.minus(other, sum) : t.plus(other, sum);
      }
      numbers.push_back(sum);
    }
    t.putNeighbours(numbers, product.result, place);
  }
}

void BlockProduct::finish(ArrayRef<Value> sums) {
  int64_t rows = product.result.type.getSize(0), columns = product.result.type.getSize(1);
  if (rows % shape.rows() == 0 && columns % shape.columns() == 0)
    return finishWhole(sums);
  for (int64_t eight = 0; eight < 2 * shape.rowUnits; ++eight) {
    Value at = rowOf(eight);
    auto storeRow = [&] {
      for (int64_t c = 0; c < shape.columnUnits; ++c) {
        auto sumOf = [&](int64_t i) { return sums[size_t(shape.sums().numberAt(eight, c, i))]; };
        auto finishOne = [&](Value sum, Value before, Value to) -> Value {
          if (!product.plus)
            return sum;
          if (const auto &scale = product.rowScale)
            before = t.mul(before, t.get(*scale, {scale->type.getSize(0) == 1 ? Index(0) : Index(at)}));
          if (const auto &scale = product.columnScale)
            before = t.mul(before, t.get(*scale, {scale->type.getSize(0) == 1 ? Index(0) : Index(to)}));
          return product.subtract ? t.minus(before, sum) : t.plus(before, sum);
        };
        for (int64_t i : {0, 1}) {
          Value to = columnOf(c, i);
          auto storeElement = [&] {
            Value before = product.plus ? t.get(*product.plus, {at, to}) : Value();
            t.put(finishOne(sumOf(i), before, to), product.result, {at, to});
          };
          if (columns % shape.columns())
            t.when(t.below(to, t.constant(columns)), storeElement);
          else
            storeElement();
        }
      }
    };
    if (rows % shape.rows())
      t.when(t.below(at, t.constant(rows)), storeRow);
    else
      storeRow();
  }
}

/// Whether anything of the block is looked at.
static Value matters(TeamCode &t, const Product &product, Shape shape, Value row, Value column) {
  Value matters = t.below(row, product.rows);
  if (!product.resultTriangle)
    return matters;
  auto [r, w] = *product.resultTriangle;
  Value end = t.multiply(t.add(t.divide(t.add(row, shape.rows() - 1), r), 1), w);
  return arith::AndIOp::create(t.builder, t.loc, matters, t.below(column, end));
}

/// Each warp has a block, which stays where it is.
static void emitInRegisters(TeamCode &t, const Product &product) {
  Registers &result = *product.result.registers;
  Shape shape{result.block.rowUnits, result.block.columnUnits};
  Value row = t.multiply(t.divide(t.warp, result.block.across), shape.rows());
  Value column = t.multiply(t.remainder(t.warp, result.block.across), shape.columns());
  SmallVector<Value> initial = result.numbers;
  if (!product.plus || initial.empty())
    initial.assign(result.block.numbersPerThread(), t.number(0));
  if (const auto &scale = product.rowScale; product.plus && scale)
    for (int64_t eight = 0; eight < 2 * shape.rowUnits; ++eight) {
      Value at = t.add(t.add(row, rowOfLane(t, t.lane)), eight * matrixRows);
      Value factor = t.get(*scale, {scale->type.getSize(0) == 1 ? Index(0) : Index(at)});
      for (int64_t c = 0; c < shape.columnUnits; ++c)
        for (int64_t i : {0, 1}) {
          Value &number = initial[size_t(shape.sums().numberAt(eight, c, i))];
          number = t.mul(number, factor);
        }
    }
  auto choice = scf::IfOp::create(t.builder, t.loc, ValueRange(initial).getTypes(),
                                  matters(t, product, shape, row, column), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(t.builder, t.loc, BlockProduct(t, product, shape, row, column).addTo(initial));
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, initial);
  result.numbers = llvm::to_vector_of<Value>(choice.getResults());
}

void nvvm::emitProduct(TeamCode &t, const Product &product) {
  if (product.result.registers)
    return emitInRegisters(t, product);
  int64_t rows = product.result.type.getSize(0), columns = product.result.type.getSize(1);
  if (rows == 1)
    return emitRowProduct(t, product);
  Shape shape = chooseShape(rows, columns, t.warps());
  int64_t across = llvm::divideCeil(columns, shape.columns()), down = llvm::divideCeil(rows, shape.rows());
  t.dealToWarps(t.constant(across * down), [&](Value block) {
    Value row = t.multiply(t.divide(block, across), shape.rows());
    Value column = t.multiply(t.remainder(block, across), shape.columns());
    t.when(matters(t, product, shape, row, column), [&] { BlockProduct(t, product, shape, row, column).emit(); });
  });
}
