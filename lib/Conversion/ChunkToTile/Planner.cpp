// Tiles, and passes over their elements.
#include "Conversion/ChunkToTile/Planner.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using chunk::Extremum;
using chunk::Function;

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

Value Scalars::number(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(float(value)));
}
Value Scalars::integer(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
Value Scalars::below(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b); }
Value Scalars::equal(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b); }
Value Scalars::isZero(Value a) { return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, number(0)); }

Value Scalars::isPositive(Value a) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, number(0));
}

Value Scalars::isAtMost(Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE, a, b);
}

Value Scalars::extremum(Extremum kind, Value a, Value b) {
  if (kind == Extremum::Max)
    return max(a, b);
  if (kind == Extremum::Min)
    return apply(Function::Min, {a, b});
  // The larger, and what the other adds to it; of two equal infinities, which have no difference, nothing is lost.
  Value same = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  Value apart = select(same, number(0), sub(a, b));
  Value size = math::AbsFOp::create(builder, loc, apart);
  Value rest = math::Log1pOp::create(builder, loc, exp(arith::NegFOp::create(builder, loc, size)));
  return kind == Extremum::SoftMax ? add(max(a, b), rest) : sub(apply(Function::Min, {a, b}), rest);
}

Value Scalars::withinHalfATurn(Value angle) {
  // Of a turn's three parts the first has so few digits that a product with whole turns is exact.
  constexpr double turn = 2 * llvm::numbers::pi, first = 6.28125, second = 0.001934051513671875;
  Value turns = math::RoundEvenOp::create(builder, loc, mul(angle, number(1 / turn)));
  for (double part : {first, second, turn - first - second})
    angle = math::FmaOp::create(builder, loc, turns, number(-part), angle);
  return angle;
}

/// What is left of a function when its zeros between minus and plus half a turn are divided out: a polynomial of the
/// square, of which no terms cancel. The coefficients interpolate it at the nodes of Chebyshev.
static Value buildEven(Scalars &s, Value square, ArrayRef<double> coefficients) {
  Value sum = s.number(coefficients.back());
  for (double next : llvm::reverse(coefficients.drop_back()))
    sum = math::FmaOp::create(s.builder, s.loc, sum, square, s.number(next));
  return sum;
}

Value Scalars::sineWithinHalfATurn(Value angle) {
  constexpr double halfTurn = llvm::numbers::pi;
  Value square = mul(angle, angle);
  Value zeros = mul(angle, math::FmaOp::create(builder, loc, square, number(-1 / (halfTurn * halfTurn)), number(1)));
  return mul(zeros,
             buildEven(*this, square,
                       {0.999999997, -0.0653454615, 0.00171242617, -2.48939965e-05, 2.30133743e-07, -1.31165661e-09}));
}

Value Scalars::cosineWithinHalfATurn(Value angle) {
  constexpr double quarterTurn = llvm::numbers::pi / 2;
  Value square = mul(angle, angle);
  Value zeros = math::FmaOp::create(builder, loc, square, number(-1 / (quarterTurn * quarterTurn)), number(1));
  return mul(zeros,
             buildEven(*this, square,
                       {0.999999989, -0.0947151839, 0.00327991878, -5.95066363e-05, 6.59092719e-07, -4.31361528e-09}));
}

Value Scalars::apply(Function function, ValueRange operands) {
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : Value();
  switch (function) {
  case Function::Neg:
    return arith::NegFOp::create(builder, loc, a);
  case Function::Exp:
    return exp(a);
  case Function::Expm1:
    return math::ExpM1Op::create(builder, loc, a);
  case Function::Log:
    return math::LogOp::create(builder, loc, a);
  case Function::Sqrt:
    return math::SqrtOp::create(builder, loc, a);
  case Function::Abs:
    return math::AbsFOp::create(builder, loc, a);
  case Function::Sigmoid: // 1 / (1 + infinity) is the 0 that it should be
    return div(number(1), add(number(1), exp(arith::NegFOp::create(builder, loc, a))));
  case Function::Sin:
    return math::SinOp::create(builder, loc, a);
  case Function::Cos:
    return math::CosOp::create(builder, loc, a);
  case Function::Tanh:
    return math::TanhOp::create(builder, loc, a);
  case Function::Erf:
    return math::ErfOp::create(builder, loc, a);
  case Function::Floor:
    return math::FloorOp::create(builder, loc, a);
  case Function::Softplus: {
    Value size = math::AbsFOp::create(builder, loc, a);
    Value tail = math::Log1pOp::create(builder, loc, exp(arith::NegFOp::create(builder, loc, size)));
    return add(max(a, number(0)), tail);
  }
  case Function::Elu: {
    Value positive = isPositive(a);
    return select(positive, a, math::ExpM1Op::create(builder, loc, a));
  }
  case Function::Select: {
    Value positive = isPositive(a);
    return select(positive, b, operands[2]);
  }
  case Function::Stop:
    return a;
  case Function::Add:
    return add(a, b);
  case Function::Sub:
    return sub(a, b);
  case Function::Mul:
    return mul(a, b);
  case Function::Div:
    return div(a, b);
  case Function::Max:
    return max(a, b);
  case Function::Min:
    return arith::MinimumFOp::create(builder, loc, a, b);
  default:
    llvm_unreachable("not an elementwise function");
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value Planner::constant(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }

Value Planner::alloc(Numbers shape, Type element) {
  if (!element)
    element = builder.getF32Type();
  SmallVector<int64_t> strides(shape.size(), 1);
  if (machine.isCTA()) {
    // Rows are 4 banks apart, so that what a product reads of 8 rows side by side lies in different banks.
    int64_t line = 128 / (element.getIntOrFloatBitWidth() / 8), stride = 1;
    for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim) {
      stride = dim + 2 == int64_t(shape.size()) && shape.back() >= 8
                   ? llvm::alignTo(shape.back() - line / 8, line) + line / 8
                   : stride * shape[dim + 1];
      strides[dim] = stride;
    }
  } else if (shape.size() > 1) {
    int64_t line = 64 / (element.getIntOrFloatBitWidth() / 8),
            pair = shape.size() == 3 && shape.back() == 2 && element.isBF16() ? 2 : 1;
    int64_t last = shape.size() - 1;
    if (pair == 2) // as long as the row of pairs is
      strides[--last] = 2;
    int64_t stride = llvm::alignTo(shape[last] * pair, line);
    if (stride >= 8 * line && stride % (4 * line) == 0)
      stride += line; // columns of a power of two apart would share few cache sets
    for (int64_t dim = last - 1; dim >= 0; --dim) {
      strides[dim] = stride;
      stride *= shape[dim];
    }
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(firstOp);
  Memory memory = machine.isCTA() ? Memory::Shared : Memory::Local;
  auto type = TileType::get(builder.getContext(), shape, element, memory, strides, 0);
  return AllocOp::create(builder, loc, type, nullptr);
}

Value Planner::view(Value tile, Numbers shape, Numbers strides, int64_t offset, Value row) {
  TileType type = tileOf(tile);
  auto result = TileType::get(builder.getContext(), shape, type.getElementType(), type.getMemory(), strides, 0);
  if (offset == 0 && !row) {
    if (result == type)
      return tile;
    auto whole = tile.getDefiningOp<ViewOp>(); // the other way round
    if (whole && !whole.getRow() && whole.getOffset() == 0 && whole.getSource().getType() == result)
      return whole.getSource();
  }
  return ViewOp::create(builder, loc, result, tile, row, builder.getI64IntegerAttr(offset));
}

Value Planner::slot(Value tile, int64_t step, int64_t steps) {
  TileType type = tileOf(tile);
  SmallVector<int64_t> shape(type.getShape()), strides(type.getStrides());
  int64_t offset = step * strides[0];
  shape[0] /= steps;
  strides[0] *= steps;
  return view(tile, shape, strides, offset);
}

Value Planner::block(Value tile, int64_t first, int64_t count, int64_t columns) {
  TileType type = tileOf(tile);
  return view(tile, {count, columns}, type.getStrides(), first * type.getStride(0));
}

Value Planner::dropTokens(Value tile) {
  TileType type = tileOf(tile);
  if (type.getRank() == 1)
    return tile;
  return view(tile, type.getShape().drop_front(), type.getStrides().drop_front(), 0);
}

Value Planner::withTokens(Value tile) {
  TileType type = tileOf(tile);
  SmallVector<int64_t> shape{1}, strides{type.getSize(0) * type.getStride(0)};
  llvm::append_range(shape, type.getShape());
  llvm::append_range(strides, type.getStrides());
  return view(tile, shape, strides, 0);
}

Value Planner::rowsOf(int64_t rows) {
  int64_t size = program.getChunk();
  if (inTokenLoop || rows == 1 || size == 1 || rows % size != 0)
    return constant(rows);
  if (rows == size)
    return tokens;
  return arith::MulIOp::create(builder, loc, tokens, constant(rows / size));
}

//===----------------------------------------------------------------------===//
// Passes over elements
//===----------------------------------------------------------------------===//

ArrayAttr Planner::dimsOf(ArrayRef<Input> inputs) {
  SmallVector<Attribute> dims;
  for (const Input &input : inputs)
    dims.push_back(builder.getDenseI64ArrayAttr(input.dims));
  return builder.getArrayAttr(dims);
}

static SmallVector<Value> tilesOf(ArrayRef<Input> inputs) {
  return llvm::map_to_vector(inputs, [](const Input &input) { return input.tile; });
}

/// Fills the body of a nest with `inputs` elements and what is carried as arguments.
static void fillBody(OpBuilder &builder, Location loc, Region &region, size_t arguments,
                     llvm::function_ref<SmallVector<Value>(Scalars &, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region);
  for (size_t i = 0; i < arguments; ++i)
    block->addArgument(builder.getF32Type(), loc);
  Scalars scalars{builder, loc};
  SmallVector<Value> values = body(scalars, block->getArguments());
  YieldOp::create(builder, loc, values);
}

void Planner::map(ArrayRef<Input> inputs, Value result, Value rows, Body body) {
  auto op = MapOp::create(builder, loc, tilesOf(inputs), result, rows, dimsOf(inputs));
  fillBody(builder, loc, op.getBody(), inputs.size(),
           [&](Scalars &scalars, ValueRange arguments) { return SmallVector<Value>{body(scalars, arguments)}; });
}

void Planner::scan(ArrayRef<Input> inputs, Value initial, Value all, Value last, Value rows, double start, bool reverse,
                   ScanBody body) {
  auto op = ScanOp::create(builder, loc, tilesOf(inputs), initial, all, last, rows, dimsOf(inputs),
                           builder.getF64FloatAttr(start), reverse ? builder.getUnitAttr() : nullptr);
  fillBody(builder, loc, op.getBody(), inputs.size() + 1, [&](Scalars &scalars, ValueRange arguments) {
    auto [next, given] = body(scalars, arguments);
    return SmallVector<Value>{next, given};
  });
}

void Planner::reduce(Reduction kind, ArrayRef<Input> inputs, Value result, Numbers over, Numbers sizes, Body body) {
  auto op =
      ReduceOp::create(builder, loc, kind, tilesOf(inputs), result, rowsOf(sizes[0]), over, sizes, dimsOf(inputs));
  fillBody(builder, loc, op.getBody(), inputs.size(),
           [&](Scalars &scalars, ValueRange arguments) { return SmallVector<Value>{body(scalars, arguments)}; });
}

void Planner::copy(Value from, Value to, Value rows) {
  if (from != to)
    map({from}, to, rows, [](Scalars &, ValueRange x) { return x[0]; });
}

void Planner::fill(Value tile, double number, Value rows) {
  map({}, tile, rows, [&](Scalars &scalars, ValueRange) { return scalars.number(number); });
}

Value Planner::transpose(Value tile, Value rows) {
  TileType type = tileOf(tile);
  Value result = alloc({type.getSize(1), type.getSize(0)});
  TransposeOp::create(builder, loc, tile, rows, result);
  return result;
}
