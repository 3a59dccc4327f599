#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

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
      values[assign->state] = emit(assign->value);
      lastUpdate[assign->state] = assign->nameRange;
      break;
    }
    case Statement::For:
      emitFor(cast<ForStatement>(statement));
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
    break; // numbers are written where they are used
  case DeclarationKind::Input:
    values[declaration] = dgps::InputOp::create(builder, loc, getType(declaration->shape), name,
                                                declaration->shared ? builder.getUnitAttr() : nullptr);
    break;
  case DeclarationKind::Param:
    values[declaration] = dgps::ParamOp::create(builder, loc, getType(declaration->shape), name);
    break;
  case DeclarationKind::State:
    values[declaration] = initialValues[declaration] =
        dgps::StateOp::create(builder, loc, getType(declaration->shape), name);
    lastUpdate[declaration] = declaration->nameRange;
    states.push_back(declaration);
    break;
  case DeclarationKind::Let:
    values[declaration] = emit(declaration->init);
    nameAfter(values[declaration], name, loc);
    break;
  case DeclarationKind::Output:
    dgps::OutputOp::create(builder, loc, name, emit(declaration->init));
    break;
  }
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
  if (a.isMatrix())
    return b.isDiagonal() ? Value(dgps::ScaleColsOp::create(builder, loc, lhs, rhs))
                          : Value(dgps::MatvecOp::create(builder, loc, lhs, rhs));
  if (b.isMatrix())
    return a.isDiagonal() ? Value(dgps::ScaleRowsOp::create(builder, loc, lhs, rhs))
                          : Value(dgps::VecmatOp::create(builder, loc, lhs, rhs));
  return dgps::MulOp::create(builder, loc, lhs, rhs);
}

} // namespace recur::frontend
