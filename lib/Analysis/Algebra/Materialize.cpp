#include "Analysis/Algebra/Materialize.h"
#include "Analysis/Algebra/Division.h"

using namespace mlir;
using namespace recur;
using namespace recur::algebra;
using namespace recur::dgps;

/// An expression over the rows or columns of a matrix has that size; one of inner sums, the size of what is summed.
static int64_t sizeOf(const Atom *atom) {
  if (atom->kind == Atom::Kind::Leaf)
    return shapeOf(atom->leaf).empty() ? 0 : shapeOf(atom->leaf).front();
  return 0;
}

/// The number of elements that a product over `axis` has, from the leaves in it.
static int64_t sizeAlong(const Monomial *monomial, Axis axis);
static int64_t sizeAlong(const Poly *poly, Axis axis) {
  for (const Term &term : poly->terms)
    if (int64_t size = sizeAlong(term.monomial, axis))
      return size;
  return 0;
}
static int64_t sizeAlong(const Factor &factor, Axis axis) {
  if (!varies(factor.axis, axis))
    return 0;
  const Atom *atom = factor.atom;
  switch (atom->kind) {
  case Atom::Kind::Leaf:
    return factor.axis == Axis::Both && axis == Axis::Col ? shapeOf(atom->leaf)[1] : sizeOf(atom);
  case Atom::Kind::Function:
    if (atom->name == "extract")
      return sizeAlong(atom->arguments[0], Axis::Col);
    if (atom->name == "slice")
      return sliceSize(atom->parameter);
    if (atom->name == "concat")
      return atom->parameter;
    for (const Poly *argument : atom->arguments)
      if (int64_t size = sizeAlong(argument, factor.axis == Axis::Both ? axis : Axis::Row))
        return size;
    return 0;
  case Atom::Kind::Sum:
    // What is left of a matrix after the sum over one index varies over the other.
    return sizeAlong(atom->product, atom->summed == Axis::Col ? Axis::Row : Axis::Col);
  }
  llvm_unreachable("all kinds are listed");
}
static int64_t sizeAlong(const Monomial *monomial, Axis axis) {
  for (const Factor &factor : monomial->factors)
    if (int64_t size = sizeAlong(factor, axis))
      return size;
  return monomial->exponent ? sizeAlong(monomial->exponent, axis) : 0;
}

Value Materializer::get(const Poly *poly, int64_t size) {
  unsigned rank = poly->axes == Axis::None ? 0 : 1;
  if (Value known = expressions.valueOf(poly, rank))
    return known;
  auto [entry, isNew] = built.try_emplace({poly, rank ? size : 0});
  if (isNew) {
    Value value = build(poly, size);
    built[{poly, rank ? size : 0}] = value;
    return value;
  }
  return entry->second;
}

Value Materializer::getVector(const Poly *poly, int64_t size) {
  if (Value known = expressions.valueOf(poly, 1); known && shapeOf(known)[0] == size)
    return known;
  Value value = get(poly, size);
  if (!shapeOf(value).empty())
    return value;
  if (std::optional<double> number = poly->asNumber())
    return ConstantOp::create(builder, loc, *number, size);
  return BroadcastOp::create(builder, loc, RealType::get(builder.getContext(), size), value);
}

Value Materializer::build(const Poly *poly, int64_t size) {
  if (std::optional<double> number = poly->asNumber())
    return constant(*number);
  if (Value negative = expressions.valueOf(algebra.negate(poly), poly->axes == Axis::None ? 0 : 1))
    return NegOp::create(builder, loc, negative);
  if (const Term *term = poly->single()) {
    Value value = build(term->monomial, size);
    if (term->coefficient == 1)
      return value;
    if (term->coefficient == -1)
      return NegOp::create(builder, loc, value);
    return MulOp::create(builder, loc, constant(term->coefficient), value);
  }
  // What all terms share is multiplied once.
  Content content = extractContent(algebra, poly);
  if (poly->axes != Axis::None && !content.scale->isOne())
    return MulOp::create(builder, loc, get(content.scale, size), get(content.direction, size));
  if (const Monomial *common = commonFactor(algebra, poly); !common->isOne())
    return MulOp::create(builder, loc, get(algebra.poly(common), size), get(quotient(algebra, poly, common), size));
  Value sum;
  for (const Term &term : poly->terms) {
    bool subtract = sum && term.coefficient < 0;
    Value value = get(algebra.poly(term.monomial, subtract ? -term.coefficient : term.coefficient), size);
    if (!sum)
      sum = value;
    else if (subtract)
      sum = SubOp::create(builder, loc, sum, value);
    else
      sum = AddOp::create(builder, loc, sum, value);
  }
  return sum;
}

Value Materializer::build(const Monomial *monomial, int64_t size) {
  // Scalars first: one product with the vector instead of several.
  Algebra::Split parts = algebra.split(monomial);
  const Monomial *vector = algebra.multiply(parts.row, algebra.multiply(parts.col, parts.both));
  if (!parts.scalar->isOne() && !vector->isOne())
    return MulOp::create(builder, loc, get(algebra.poly(parts.scalar), size), get(algebra.poly(vector), size));
  if (monomial->isOne())
    return constant(1);
  Value result;
  if (monomial->exponent) {
    const Poly *exponential = algebra.exponential(monomial->exponent);
    result = expressions.valueOf(exponential, exponential->axes == Axis::None ? 0 : 1);
    if (!result)
      result = ExpOp::create(builder, loc, get(monomial->exponent, size));
  }
  Value divisor;
  for (const Factor &factor : monomial->factors)
    for (unsigned i = 0; i < factor.power; ++i) {
      if (factor.atom->isFunction("inverse"))
        divisor = product(divisor, get(factor.atom->arguments[0], size));
      else
        result = product(result, build(factor.atom, size));
    }
  if (!divisor)
    return result;
  return DivOp::create(builder, loc, result ? result : constant(1), divisor);
}

Value Materializer::build(const Atom *atom, int64_t size) {
  if (atom->kind == Atom::Kind::Leaf)
    return atom->leaf;
  Axis axis = atom->rank == 0 ? Axis::None : Axis::Row;
  const Poly *self = algebra.poly(algebra.monomial(Factor{atom, axis, 1}, nullptr));
  if (Value known = expressions.valueOf(self, atom->rank))
    return known;
  if (atom->kind == Atom::Kind::Sum)
    return buildSum(atom);
  if (atom->name == "value") // a short name for what it holds
    return get(atom->arguments[0], size);
  if (atom->name == "extract") {
    // Only inputs and params are indexed, and they are leaves.
    Value base = atom->arguments[0]->terms[0].monomial->factors[0].atom->leaf;
    return ExtractOp::create(builder, loc, base, atom->parameter);
  }
  if (atom->name == "slice") {
    Value whole = getVector(atom->arguments[0], sizeAlong(atom->arguments[0], Axis::Row));
    return SliceOp::create(builder, loc, whole, sliceBegin(atom->parameter), sliceSize(atom->parameter));
  }
  if (atom->name == "concat") {
    SmallVector<Value> parts;
    for (const Poly *part : atom->arguments)
      parts.push_back(get(part, part->axes == Axis::None ? 0 : sizeAlong(part, Axis::Row)));
    return ConcatOp::create(builder, loc, RealType::get(builder.getContext(), atom->parameter), parts);
  }
  if (atom->name == "softmax")
    return SoftmaxOp::create(builder, loc, getVector(atom->arguments[0], size));
  SmallVector<Value> arguments;
  for (const Poly *argument : atom->arguments)
    arguments.push_back(get(argument, size));
  return applyFunction(atom->name, arguments);
}

/// An elementwise function.
Value Materializer::applyFunction(StringRef name, ArrayRef<Value> arguments) {
  Value result = arguments.front();
  if (name == "max" || name == "min") {
    for (Value other : arguments.drop_front())
      result = name == "max" ? Value(MaxOp::create(builder, loc, result, other))
                             : Value(MinOp::create(builder, loc, result, other));
    return result;
  }
  if (name == "inverse")
    return DivOp::create(builder, loc, constant(1), result);
  // The other functions are the unary ops of their names.
  OperationState state(loc, (DGPSDialect::getDialectNamespace() + "." + name).str());
  state.addOperands(result);
  state.addTypes(result.getType());
  return builder.create(state)->getResult(0);
}

Value Materializer::getMatrix(const Poly *poly, int64_t rows, int64_t columns) {
  if (Value known = expressions.valueOf(poly, 2))
    return known;
  if (poly->axes == Axis::None)
    return get(poly, 0);
  Value sum;
  for (const Term &term : poly->terms) {
    Value value = buildMatrix(term.monomial, rows, columns);
    if (term.coefficient != 1)
      value = MulOp::create(builder, loc, constant(term.coefficient), value);
    sum = sum ? AddOp::create(builder, loc, sum, value).getResult() : value;
  }
  return sum;
}

Value Materializer::buildMatrix(const Monomial *monomial, int64_t rows, int64_t columns) {
  Algebra::Split parts = algebra.split(monomial);
  Value result, divisor;
  if (parts.both->exponent)
    result = ExpOp::create(builder, loc, getMatrix(parts.both->exponent, rows, columns));
  for (const Factor &factor : parts.both->factors)
    for (unsigned i = 0; i < factor.power; ++i) {
      if (factor.atom->isFunction("inverse"))
        divisor = product(divisor, getMatrix(factor.atom->arguments[0], rows, columns));
      else
        result = product(result, buildMatrix(factor.atom, rows, columns));
    }
  if (divisor)
    result = DivOp::create(builder, loc, result ? result : constant(1), divisor);
  bool isRow = !parts.row->isOne(), isColumn = !parts.col->isOne();
  if (isRow || isColumn) {
    Value row = getVector(algebra.poly(parts.row), rows),
          column = getVector(algebra.transpose(algebra.poly(parts.col)), columns);
    RealType type = RealType::get(builder.getContext(), {rows, columns});
    if (!result)
      result = OuterOp::create(builder, loc, type, row, column);
    else if (isRow)
      result = ScaleRowsOp::create(builder, loc, type, row, result);
    if (!parts.both->isOne() && isColumn)
      result = ScaleColsOp::create(builder, loc, type, result, column);
  }
  return parts.scalar->isOne() && result ? result : product(get(algebra.poly(parts.scalar), 0), result);
}

Value Materializer::buildMatrix(const Atom *atom, int64_t rows, int64_t columns) {
  if (atom->kind == Atom::Kind::Leaf)
    return atom->leaf;
  const Poly *self = algebra.poly(algebra.monomial(Factor{atom, Axis::Both, 1}, nullptr));
  if (Value known = expressions.valueOf(self, 2))
    return known;
  if (atom->name == "value") // a short name for what it holds
    return getMatrix(atom->arguments[0], rows, columns);
  SmallVector<Value> arguments;
  for (const Poly *argument : atom->arguments)
    arguments.push_back(getMatrix(argument, rows, columns));
  return applyFunction(atom->name, arguments);
}

/// A product with a matrix, an inner product, or a plain sum.
Value Materializer::buildSum(const Atom *atom) {
  const Monomial *product = atom->product;
  if (Algebra::Split parts = algebra.split(product); !parts.both->isOne()) {
    int64_t rows = sizeAlong(product, Axis::Row), columns = sizeAlong(product, Axis::Col);
    Value matrix = buildMatrix(parts.both, rows, columns), scale;
    auto times = [&](const Monomial *factor, bool isColumn, int64_t size) {
      const Poly *poly = algebra.poly(factor);
      if (!factor->isOne())
        scale = this->product(scale, get(isColumn ? algebra.transpose(poly) : poly, size));
    };
    times(parts.scalar, false, 0);
    Value result;
    if (atom->summed == Axis::Col) {
      times(parts.row, false, rows);
      result = MatvecOp::create(builder, loc, matrix, getVector(algebra.transpose(algebra.poly(parts.col)), columns));
    } else {
      times(parts.col, true, columns);
      result = VecmatOp::create(builder, loc, getVector(algebra.poly(parts.row), rows), matrix);
    }
    return this->product(scale, result);
  }
  const Poly *summands = algebra.poly(product);
  if (atom->summed == Axis::Col)
    summands = algebra.transpose(summands);
  int64_t size = sizeAlong(summands, Axis::Row);
  const Monomial *monomial = summands->terms[0].monomial;
  if (monomial->factors.empty() || monomial->degree() == 1)
    return SumOp::create(builder, loc, getVector(summands, size));
  Factor first = monomial->factors.front();
  first.power = 1;
  const Monomial *head = algebra.monomial(first, nullptr);
  const Monomial *tail = quotient(algebra, monomial, head);
  return DotOp::create(builder, loc, getVector(algebra.poly(head), size), getVector(algebra.poly(tail), size));
}
