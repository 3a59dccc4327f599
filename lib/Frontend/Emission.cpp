#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace recur::frontend {

using llvm::cast;
using Parts = Emitter::Parts;

mlir::Location Emitter::getLocation(SourceRange range) {
  LineColumn at = buffer.getLineColumn(range.begin);
  return mlir::FileLineColLoc::get(builder.getContext(), buffer.getName(), at.line, at.column);
}

int64_t Emitter::getValue(Extent extent) const {
  return extent.isDim() ? int64_t(recurrence.dims[extent.getDimIndex()]->number) : extent.getNumber();
}

mlir::Type Emitter::getType(Shape shape) {
  llvm::SmallVector<int64_t, 2> sizes;
  for (unsigned i = 0; i < shape.getRank(); ++i)
    sizes.push_back(getValue(shape.getExtent(i)));
  return dgps::RealType::get(builder.getContext(), sizes);
}

void Emitter::emit() {
  llvm::SmallVector<mlir::NamedAttribute> dims;
  for (const Declaration *dim : recurrence.dims)
    dims.push_back(builder.getNamedAttr(dim->name, builder.getI64IntegerAttr(int64_t(dim->number))));
  mlir::OpBuilder::InsertionGuard guard(builder);
  auto op = dgps::RecurrenceOp::create(builder, getLocation(recurrence.nameRange), recurrence.name,
                                       builder.getDictionaryAttr(dims));
  builder.setInsertionPointToEnd(&op.getBody().front());
  emitBody(recurrence.body);
  emitDelayedStates();
  for (const Declaration *state : states)
    for (auto [initial, next] : {std::pair(initialValues.lookup(state), values.lookup(state)),
                                 {initialImaginary.lookup(state), imaginary.lookup(state)}})
      if (initial)
        dgps::NextOp::create(builder, getLocation(lastUpdate.lookup(state)), initial, next);
}

void Emitter::emitBody(llvm::ArrayRef<Statement *> body) {
  for (Statement *statement : body) {
    switch (statement->kind) {
    case Statement::Declare:
      emitDeclaration(cast<Declaration>(statement));
      break;
    case Statement::Assign: {
      auto *assignment = cast<AssignStatement>(statement);
      assign(assignment->target, assignment->value);
      lastUpdate[assignment->target] = assignment->nameRange;
      break;
    }
    case Statement::For:
      emitFor(cast<ForStatement>(statement));
      break;
    case Statement::Restart:
      emitRestart(cast<RestartStatement>(statement));
      break;
    }
  }
}

/// Remembers the name of a `let` at the op that computes it, for reports.
static void nameAfter(mlir::Value value, mlir::StringAttr name, mlir::Location loc) {
  mlir::Operation *op = value.getDefiningOp();
  if (!mlir::isa<dgps::InputOp, dgps::ParamOp, dgps::StateOp>(op) && !mlir::isa<mlir::NameLoc>(op->getLoc()))
    op->setLoc(mlir::NameLoc::get(name, loc));
}

/// What a complex number is given is complex, too.
void Emitter::assign(const Declaration *target, const Expr *value) {
  Parts parts = emitComplex(value);
  values[target] = parts.re;
  if (target->shape.isComplex())
    imaginary[target] = imaginaryOf(getLocation(value->range), parts);
}

/// A complex array is two real ones, `x_re` and `x_im`.
Parts Emitter::declare(const Declaration *declaration,
                       llvm::function_ref<Value(mlir::StringAttr name, bool isImaginary)> make) {
  std::string name = declaration->name.str();
  if (!declaration->complex)
    return {make(builder.getStringAttr(name), false), {}};
  Value re = make(builder.getStringAttr(name + "_re"), false);
  return {re, make(builder.getStringAttr(name + "_im"), true)};
}

void Emitter::emitDeclaration(Declaration *declaration) {
  mlir::Location loc = getLocation(declaration->nameRange);
  mlir::StringAttr name = builder.getStringAttr(declaration->name);
  switch (declaration->declarationKind) {
  case DeclarationKind::Dim:
  case DeclarationKind::Const:
  case DeclarationKind::LoopVariable:
  case DeclarationKind::Argument:
    break; // numbers are written where they are used
  case DeclarationKind::Input:
  case DeclarationKind::Param: {
    auto [re, im] = declare(declaration, [&](mlir::StringAttr name, bool) -> Value {
      mlir::Type type = getType(declaration->shape);
      if (declaration->is(DeclarationKind::Param))
        return dgps::ParamOp::create(builder, loc, type, name, mlir::TypeAttr());
      return dgps::InputOp::create(builder, loc, type, name, declaration->shared ? builder.getUnitAttr() : nullptr,
                                   declaration->integer ? mlir::TypeAttr::get(builder.getI32Type()) : mlir::TypeAttr());
    });
    values[declaration] = re;
    imaginary[declaration] = im;
    break;
  }
  case DeclarationKind::State: {
    Parts start = emitStart(declaration);
    auto [re, im] = declare(declaration, [&](mlir::StringAttr name, bool isImaginary) -> Value {
      return dgps::StateOp::create(builder, loc, getType(declaration->shape), name, isImaginary ? start.im : start.re,
                                   mlir::TypeAttr());
    });
    initialValues[declaration] = re;
    initialImaginary[declaration] = im;
    values[declaration] = kept(re);
    imaginary[declaration] = im ? kept(im) : Value();
    lastUpdate[declaration] = declaration->nameRange;
    states.push_back(declaration);
    break;
  }
  case DeclarationKind::Let:
    assign(declaration, declaration->init);
    if (!declaration->shape.isComplex()) {
      nameAfter(values[declaration], name, loc);
      break;
    }
    nameAfter(values[declaration], builder.getStringAttr("re(" + declaration->name + ")"), loc);
    nameAfter(imaginary[declaration], builder.getStringAttr("im(" + declaration->name + ")"), loc);
    break;
  case DeclarationKind::Output:
    if (declaration->element)
      return emitElements(declaration);
    giveOutput(declaration, emitComplex(declaration->init));
    break;
  }
}

/// One element or row of an output, which is given when the last one is there.
void Emitter::emitElements(const Declaration *output) {
  auto &given = elements[output];
  given.push_back({*evaluator.evaluateInteger(output->element, "a place"), emitComplex(output->init)});
  if (int64_t(given.size()) != getValue(output->shape.getExtent(0)))
    return;
  llvm::sort(given, llvm::less_first());
  mlir::Location loc = getLocation(output->nameRange);
  llvm::SmallVector<Value> re, im;
  for (auto &[place, parts] : given) {
    re.push_back(parts.re);
    if (output->complex)
      im.push_back(imaginaryOf(loc, parts));
  }
  mlir::Type type = getType(output->shape);
  Parts whole{dgps::ConcatOp::create(builder, loc, type, re), {}};
  if (output->complex)
    whole.im = dgps::ConcatOp::create(builder, loc, type, im);
  giveOutput(output, whole);
}

void Emitter::giveOutput(const Declaration *output, Parts value) {
  mlir::Location loc = getLocation(output->nameRange);
  declare(output, [&](mlir::StringAttr name, bool isImaginary) {
    Value part = isImaginary ? imaginaryOf(loc, value) : value.re;
    dgps::OutputOp::create(builder, loc, name, part, mlir::TypeAttr());
    return part;
  });
}

/// What a state is before the first token: a number is one of every element, and a diagonal stands in a matrix of
/// zeros. None where it is zero.
Parts Emitter::emitStart(const Declaration *state) {
  if (!state->init)
    return {};
  mlir::Location loc = getLocation(state->init->range);
  llvm::StringRef text = buffer.getText(state->init->range); // what reports print
  mlir::Type type = getType(state->shape);
  auto complete = [&](Value start) -> Value {
    if (!start)
      return start;
    if (state->init->shape.isDiagonal())
      return dgps::ScaleColsOp::create(builder, mlir::NameLoc::get(builder.getStringAttr(text), loc),
                                       emitIdentity(loc, dgps::shapeOf(start)[0]), start);
    return start.getType() == type ? start : Value(dgps::BroadcastOp::create(builder, loc, type, start));
  };
  Parts start = emitComplex(state->init);
  return {complete(start.re), complete(start.im)};
}

/// Where row and column have the same number, less than one apart.
Emitter::Value Emitter::emitIdentity(mlir::Location loc, int64_t size) {
  auto type = dgps::RealType::get(builder.getContext(), {size});
  llvm::SmallVector<Value> all;
  for (int64_t i = 0; i < size; ++i)
    all.push_back(emitNumber(loc, double(i)));
  Value numbers = dgps::ConcatOp::create(builder, loc, type, all), one = emitNumber(loc, 1);
  Value ones = dgps::BroadcastOp::create(builder, loc, type, one);
  Value rows = dgps::OuterOp::create(builder, loc, numbers, ones);
  Value columns = dgps::OuterOp::create(builder, loc, ones, numbers);
  Value apart = dgps::AbsOp::create(builder, loc, dgps::SubOp::create(builder, loc, rows, columns));
  return dgps::SubOp::create(builder, loc, one, dgps::MinOp::create(builder, loc, apart, one));
}

/// What the token finds of a state: where it restarts, what the state starts as.
Emitter::Value Emitter::kept(Value state) {
  if (!keep)
    return state;
  mlir::Location loc = state.getLoc();
  Value left = dgps::MulOp::create(builder, loc, keep, state), start;
  if (auto declared = state.getDefiningOp<dgps::StateOp>())
    start = declared.getStart();
  if (!start)
    return left;
  return dgps::AddOp::create(builder, loc, left, dgps::MulOp::create(builder, loc, restarts, start));
}

/// The states that are declared so far; those that follow see it when they are.
void Emitter::emitRestart(const RestartStatement *restart) {
  mlir::Location loc = getLocation(restart->range);
  Value one = emitNumber(loc, 1);
  restarts = emit(restart->value);
  keep = dgps::SubOp::create(builder, loc, one, restarts);
  for (const Declaration *state : states)
    for (auto [initial, now] : {std::pair(&initialValues, &values), {&initialImaginary, &imaginary}})
      if (Value found = initial->lookup(state))
        (*now)[state] = kept(found);
}

void Emitter::emitFor(ForStatement *loop) {
  int64_t lower = *evaluator.evaluateInteger(loop->lower, "a bound");
  int64_t upper = *evaluator.evaluateInteger(loop->upper, "a bound");
  loop->variable->number = double(lower);
  if (lower < upper && emitKeptLoop(loop, upper - lower))
    return;
  for (int64_t j = lower; j < upper; ++j) {
    loop->variable->number = double(j);
    emitBody(loop->body);
  }
}

Emitter::Value Emitter::emitNumber(mlir::Location loc, double value) {
  return dgps::ConstantOp::create(builder, loc, value);
}

Emitter::Value Emitter::emit(const Expr *expr) {
  switch (expr->kind) {
  case Expr::Error:
    break;
  case Expr::Number:
    return emitNumber(getLocation(expr->range), cast<NumberExpr>(expr)->value);
  case Expr::Name:
    return emitName(cast<NameExpr>(expr));
  case Expr::Negate: {
    Value operand = emit(cast<NegateExpr>(expr)->operand);
    return dgps::NegOp::create(builder, getLocation(expr->range), operand);
  }
  case Expr::Binary:
    return emitBinary(cast<BinaryExpr>(expr));
  case Expr::Call:
    return emitCall(cast<CallExpr>(expr));
  case Expr::Slice: {
    auto *slice = cast<SliceExpr>(expr);
    Value base = emit(slice->base);
    int64_t begin = *evaluator.evaluateInteger(slice->lower, "a bound");
    int64_t end = *evaluator.evaluateInteger(slice->upper, "a bound");
    return dgps::SliceOp::create(builder, getLocation(expr->range), base, begin, end - begin);
  }
  case Expr::Index: {
    auto *index = cast<IndexExpr>(expr);
    Value base = emit(index->base);
    int64_t element = *evaluator.evaluateInteger(index->index, "an index");
    if (index->isColumn)
      return emitColumn(getLocation(expr->range), base, element);
    return dgps::ExtractOp::create(builder, getLocation(expr->range), base, element);
  }
  }
  llvm_unreachable("recurrences with errors are not emitted");
}

Emitter::Value Emitter::emitName(const NameExpr *expr) {
  if (expr->declaration->isNumber())
    return emitNumber(getLocation(expr->range), expr->declaration->number);
  if (expr->declaration == recurrence.tokenCount)
    return emitTokenCount(expr->declaration);
  return values.lookup(expr->declaration);
}

Emitter::Value Emitter::emitBinary(const BinaryExpr *expr) {
  mlir::Location loc = getLocation(expr->operatorRange);
  if (expr->op == BinaryOperator::Product) {
    Value lhs = emit(expr->lhs), rhs = emit(expr->rhs);
    return emitProduct(loc, expr->lhs->shape, lhs, expr->rhs->shape, rhs);
  }
  Value lhs = emit(expr->lhs), rhs = emit(expr->rhs);
  switch (expr->op) {
  case BinaryOperator::Add:
    return dgps::AddOp::create(builder, loc, lhs, rhs);
  case BinaryOperator::Subtract:
    return dgps::SubOp::create(builder, loc, lhs, rhs);
  case BinaryOperator::Multiply:
    return dgps::MulOp::create(builder, loc, lhs, rhs);
  case BinaryOperator::Divide:
    return dgps::DivOp::create(builder, loc, lhs, rhs);
  case BinaryOperator::Product:
    break;
  case BinaryOperator::Less:
  case BinaryOperator::AtMost:
  case BinaryOperator::Greater:
  case BinaryOperator::AtLeast:
  case BinaryOperator::Equal:
  case BinaryOperator::NotEqual:
    return emitComparison(loc, expr->op, lhs, rhs);
  }
  llvm_unreachable("every operator is listed");
}

/// A diagonal is carried as the vector of its elements.
Emitter::Value Emitter::emitProduct(mlir::Location loc, Shape a, Value lhs, Shape b, Value rhs) {
  if (a.isMatrix() && b.isMatrix())
    return emitMatrixProduct(loc, lhs, rhs);
  if (a.isMatrix())
    return b.isDiagonal() ? Value(dgps::ScaleColsOp::create(builder, loc, lhs, rhs))
                          : Value(dgps::MatvecOp::create(builder, loc, lhs, rhs));
  if (b.isMatrix())
    return a.isDiagonal() ? Value(dgps::ScaleRowsOp::create(builder, loc, lhs, rhs))
                          : Value(dgps::VecmatOp::create(builder, loc, lhs, rhs));
  return dgps::MulOp::create(builder, loc, lhs, rhs);
}

/// An outer product times a matrix is an outer product, so that a state keeps its form, and scalar factors stay
/// outside. Any other product is made row by row.
Emitter::Value Emitter::emitMatrixProduct(mlir::Location loc, Value lhs, Value rhs) {
  for (bool left : {true, false}) {
    auto scaled = (left ? lhs : rhs).getDefiningOp<dgps::MulOp>();
    for (unsigned i = 0; scaled && i < 2; ++i)
      if (Value scale = scaled->getOperand(i); dgps::shapeOf(scale).empty()) {
        Value matrix = scaled->getOperand(1 - i);
        Value product = emitMatrixProduct(loc, left ? matrix : lhs, left ? rhs : matrix);
        return dgps::MulOp::create(builder, loc, scale, product);
      }
  }
  if (auto outer = rhs.getDefiningOp<dgps::OuterOp>()) {
    Value read = dgps::MatvecOp::create(builder, loc, lhs, outer.getLhs());
    return dgps::OuterOp::create(builder, loc, read, outer.getRhs());
  }
  if (auto outer = lhs.getDefiningOp<dgps::OuterOp>()) {
    Value read = dgps::VecmatOp::create(builder, loc, outer.getRhs(), rhs);
    return dgps::OuterOp::create(builder, loc, outer.getLhs(), read);
  }
  llvm::SmallVector<Value> rows;
  for (int64_t i = 0; i < dgps::shapeOf(lhs)[0]; ++i) {
    Value row = dgps::ExtractOp::create(builder, loc, lhs, i);
    rows.push_back(dgps::VecmatOp::create(builder, loc, row, rhs));
  }
  auto type = dgps::RealType::get(builder.getContext(), {dgps::shapeOf(lhs)[0], dgps::shapeOf(rhs)[1]});
  return dgps::ConcatOp::create(builder, loc, type, rows);
}

} // namespace recur::frontend
