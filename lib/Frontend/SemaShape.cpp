#include "Frontend/Sema.h"

namespace recur::frontend {

std::optional<int64_t> RecurrenceChecker::getValue(Extent extent) const {
  if (extent.isUnknown())
    return std::nullopt;
  if (!extent.isDim())
    return extent.getNumber();
  const Declaration *dim = recurrence.dims[extent.getDimIndex()];
  if (!dim->known)
    return std::nullopt;
  return int64_t(dim->number);
}

bool RecurrenceChecker::agree(Extent a, Extent b) const {
  if (a == b || a.isUnknown() || b.isUnknown())
    return true;
  if (a.isDim() && b.isDim())
    return false;
  auto first = getValue(a), second = getValue(b);
  return !first || !second || *first == *second;
}

bool RecurrenceChecker::agree(Shape a, Shape b) const {
  if (a.isUnknown() || b.isUnknown())
    return true;
  return a.getKind() == b.getKind() && agree(a.getExtent(0), b.getExtent(0)) && agree(a.getExtent(1), b.getExtent(1));
}

Shape RecurrenceChecker::makeMatrix(SourceRange range, Extent rows, Extent columns) {
  auto height = getValue(rows), width = getValue(columns);
  if (height && width && *height * *width > kMaxElements) {
    diagnostics
        .report(ErrorCode::ValueTooLarge, range,
                "a matrix of " + llvm::Twine(*height) + " by " + llvm::Twine(*width) + " has more than " +
                    llvm::Twine(kMaxElements) + " elements")
        .help("choose smaller dims; each head has a state of its own");
    return Shape();
  }
  return Shape::matrix(rows, columns);
}

std::string RecurrenceChecker::format(Extent extent) const {
  if (extent.isUnknown())
    return "?";
  return extent.isDim() ? recurrence.dims[extent.getDimIndex()]->name.str() : std::to_string(extent.getNumber());
}

std::string RecurrenceChecker::format(Shape shape) const {
  switch (shape.getKind()) {
  case Shape::Unknown:
    return "?";
  case Shape::Scalar:
    return "scalar";
  case Shape::Vector:
    return "[" + format(shape.getSize()) + "]";
  case Shape::Matrix:
  case Shape::Diagonal:
    return "[" + format(shape.getRows()) + ", " + format(shape.getColumns()) + "]";
  }
  return "?";
}

std::string RecurrenceChecker::formatWithRank(Shape shape) const {
  std::string numbers = shape.isComplex() ? "a complex " : "a ";
  if (shape.isScalar())
    return numbers + (shape.isComplex() ? "number" : "scalar");
  return numbers + (shape.isVector() ? "vector " : shape.isDiagonal() ? "diagonal " : "matrix ") + format(shape);
}

std::string RecurrenceChecker::quote(const Expr *expr, bool asOperand) const {
  llvm::StringRef text = buffer.getText(expr->range);
  if (text.size() > 60 || text.find_first_of("\r\n#\t") != llvm::StringRef::npos)
    return "...";
  bool needsParentheses = asOperand && expr->kind == Expr::Binary && !expr->parenthesized;
  return needsParentheses ? "(" + text.str() + ")" : text.str();
}

void RecurrenceChecker::noteShape(Diagnostic &diagnostic, const Expr *expr) const {
  auto *name = llvm::dyn_cast<NameExpr>(expr);
  if (!name || !name->declaration || expr->shape.isUnknown())
    return;
  const Declaration &declaration = *name->declaration;
  diagnostic.note(declaration.nameRange, "'" + name->name + "' is declared here" +
                                             (declaration.lacksShape() ? " without a shape, so it is " : "; it is ") +
                                             formatWithRank(expr->shape));
}

void RecurrenceChecker::noteEqualDims(Diagnostic &diagnostic, Extent a, Extent b) const {
  if (!a.isDim() || !b.isDim() || a == b)
    return;
  auto first = getValue(a), second = getValue(b);
  if (first && first == second)
    diagnostic.note(format(a) + " and " + format(b) + " are both " + llvm::Twine(*first) +
                    " here, but they are different dims and may differ elsewhere");
}

void RecurrenceChecker::noteEqualDims(Diagnostic &diagnostic, Shape a, Shape b) const {
  if (a.getKind() != b.getKind())
    return;
  for (unsigned i : {0, 1})
    if (!agree(a.getExtent(i), b.getExtent(i)))
      return noteEqualDims(diagnostic, a.getExtent(i), b.getExtent(i));
}

const CallExpr *RecurrenceChecker::findOuter(const Expr *expr) {
  while (true) {
    if (auto *negate = llvm::dyn_cast<NegateExpr>(expr)) {
      expr = negate->operand;
    } else if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr)) {
      bool scales = binary->op == BinaryOperator::Multiply || binary->op == BinaryOperator::Divide;
      if (scales && binary->rhs->shape.isScalar())
        expr = binary->lhs;
      else if (binary->op == BinaryOperator::Multiply && binary->lhs->shape.isScalar())
        expr = binary->rhs;
      else
        return nullptr;
    } else {
      auto *call = llvm::dyn_cast<CallExpr>(expr);
      bool isOuter = call && call->builtin && call->builtin->id == Builtin::Outer && call->arguments.size() == 2;
      return isOuter ? call : nullptr;
    }
  }
}

} // namespace recur::frontend
