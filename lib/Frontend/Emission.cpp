#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace recur::frontend {

using llvm::cast;

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
    dgps::NextOp::create(builder, getLocation(lastUpdate.lookup(state)), initialValues.lookup(state),
                         values.lookup(state));
}

void Emitter::emitBody(llvm::ArrayRef<Statement *> body) {
  for (Statement *statement : body) {
    switch (statement->kind) {
    case Statement::Declare:
      emitDeclaration(cast<Declaration>(statement));
      break;
    case Statement::Assign: {
      auto *assign = cast<AssignStatement>(statement);
      values[assign->target] = emit(assign->value);
      lastUpdate[assign->target] = assign->nameRange;
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
    values[declaration] = dgps::InputOp::create(builder, loc, getType(declaration->shape), name,
                                                declaration->shared ? builder.getUnitAttr() : nullptr);
    break;
  case DeclarationKind::Param:
    values[declaration] = dgps::ParamOp::create(builder, loc, getType(declaration->shape), name);
    break;
  case DeclarationKind::State:
    initialValues[declaration] =
        dgps::StateOp::create(builder, loc, getType(declaration->shape), name, emitStart(declaration));
    values[declaration] = kept(initialValues[declaration]);
    lastUpdate[declaration] = declaration->nameRange;
    states.push_back(declaration);
    break;
  case DeclarationKind::Let:
    values[declaration] = emit(declaration->init);
    nameAfter(values[declaration], name, loc);
    break;
  case DeclarationKind::Output:
    if (declaration->element)
      return emitElements(declaration);
    dgps::OutputOp::create(builder, loc, name, emit(declaration->init));
    break;
  }
}

/// One element or row of an output, which is given when the last one is there.
void Emitter::emitElements(const Declaration *output) {
  auto &given = elements[output];
  given.push_back({*evaluator.evaluateInteger(output->element, "a place"), emit(output->init)});
  if (int64_t(given.size()) != getValue(output->shape.getExtent(0)))
    return;
  llvm::sort(given, llvm::less_first());
  llvm::SmallVector<Value> parts = llvm::map_to_vector(given, [](auto &element) { return element.second; });
  mlir::Location loc = getLocation(output->nameRange);
  Value whole = dgps::ConcatOp::create(builder, loc, getType(output->shape), parts);
  dgps::OutputOp::create(builder, loc, builder.getStringAttr(output->name), whole);
}

/// What a state is before the first token: a number is one of every element, and a diagonal stands in a matrix of
/// zeros. None where it is zero.
Emitter::Value Emitter::emitStart(const Declaration *state) {
  if (!state->init)
    return {};
  mlir::Location loc = getLocation(state->init->range);
  Value start = emit(state->init);
  llvm::StringRef text = buffer.getText(state->init->range); // what reports print
  if (state->init->shape.isDiagonal())
    return dgps::ScaleColsOp::create(builder, mlir::NameLoc::get(builder.getStringAttr(text), loc),
                                     emitIdentity(loc, dgps::shapeOf(start)[0]), start);
  mlir::Type type = getType(state->shape);
  return start.getType() == type ? start : Value(dgps::BroadcastOp::create(builder, loc, type, start));
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
    values[state] = kept(initialValues[state]);
}

void Emitter::emitFor(ForStatement *loop) {
  int64_t lower = *evaluator.evaluateInteger(loop->lower, "a bound");
  int64_t upper = *evaluator.evaluateInteger(loop->upper, "a bound");
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
  if (expr->op == BinaryOperator::Product)
    return emitProduct(loc, expr);
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
  }
  llvm_unreachable("every operator is listed");
}

/// A diagonal is carried as the vector of its elements.
Emitter::Value Emitter::emitProduct(mlir::Location loc, const BinaryExpr *expr) {
  Value lhs = emit(expr->lhs), rhs = emit(expr->rhs);
  Shape a = expr->lhs->shape, b = expr->rhs->shape;
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
