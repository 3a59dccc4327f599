#include "Frontend/Sema.h"

namespace recur::frontend {

Shape RecurrenceChecker::checkProduct(BinaryExpr *expr) {
  Shape a = check(expr->lhs), b = check(expr->rhs);
  if (a.isUnknown() || b.isUnknown())
    return Shape();
  if (a.isScalar() || b.isScalar()) {
    Expr *scalar = a.isScalar() ? expr->lhs : expr->rhs;
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::ScalarProduct, expr->operatorRange,
                           "'@' multiplies matrices and vectors, and its " +
                               llvm::Twine(a.isScalar() ? "left" : "right") + " operand is a scalar");
    noteShape(diagnostic, scalar);
    auto *name = llvm::dyn_cast<NameExpr>(scalar);
    if (name && name->declaration->lacksShape())
      diagnostic.help("if it is a matrix or a vector, write its shape: " + name->name + ": [m, n]");
    else if (!a.isDiagonal() && !b.isDiagonal())
      diagnostic.help("write " + quote(expr->lhs) + " * " + quote(expr->rhs));
    return Shape();
  }
  if (a.isDiagonal() || b.isDiagonal()) {
    bool diagonalLeft = a.isDiagonal();
    Extent size = diagonalLeft ? a.getSize() : b.getSize();
    Shape other = diagonalLeft ? b : a;
    Extent wanted = other.isMatrix() ? (diagonalLeft ? other.getRows() : other.getColumns()) : other.getSize();
    if (!agree(size, wanted)) {
      Extent onOtherSide = diagonalLeft ? other.getColumns() : other.getRows();
      reportDiagMismatch(expr, wanted, other.isMatrix() && agree(size, onOtherSide));
      return Shape();
    }
    if (other.isMatrix())
      return diagonalLeft ? Shape::matrix(merge(other.getRows(), size), other.getColumns())
                          : Shape::matrix(other.getRows(), merge(other.getColumns(), size));
    return other.isVector() ? Shape::vector(merge(wanted, size)) : Shape::diagonal(merge(wanted, size));
  }
  if (a.isMatrix() && b.isVector()) {
    if (agree(a.getColumns(), b.getSize()))
      return Shape::vector(a.getRows());
    reportMatrixVector(expr, expr->lhs, expr->rhs);
    return Shape();
  }
  if (a.isVector() && b.isMatrix()) {
    if (agree(b.getRows(), a.getSize()))
      return Shape::vector(b.getColumns());
    reportMatrixVector(expr, expr->rhs, expr->lhs);
    return Shape();
  }
  if (a.isMatrix())
    return checkMatrixProduct(expr);

  Diagnostic &diagnostic = diagnostics.report(ErrorCode::VectorProduct, expr->operatorRange,
                                              "'@' needs a matrix, and both operands are vectors");
  noteShape(diagnostic, expr->lhs);
  noteShape(diagnostic, expr->rhs);
  std::string arguments = "(" + quote(expr->lhs, false) + ", " + quote(expr->rhs, false) + ")";
  if (agree(a.getSize(), b.getSize()))
    diagnostic.help("for the inner product write dot" + arguments);
  else
    diagnostic.help("for the outer product write outer" + arguments);
  return Shape();
}

void RecurrenceChecker::reportMatrixVector(BinaryExpr *expr, Expr *matrix, Expr *vector) {
  bool matrixLeft = matrix == expr->lhs;
  Extent wanted = matrixLeft ? matrix->shape.getColumns() : matrix->shape.getRows();
  Extent other = matrixLeft ? matrix->shape.getRows() : matrix->shape.getColumns();
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::MatrixVectorMismatch, expr->operatorRange,
                                              "the matrix is " + format(matrix->shape) + " and has " + format(wanted) +
                                                  (matrixLeft ? " columns" : " rows") + ", but the vector has " +
                                                  format(vector->shape.getSize()) + " elements");
  noteShape(diagnostic, matrix);
  noteShape(diagnostic, vector);
  noteEqualDims(diagnostic, wanted, vector->shape.getSize());
  if (!agree(other, vector->shape.getSize()))
    return;
  if (matrixLeft)
    diagnostic.help("for the transposed product write " + quote(vector) + " @ " + quote(matrix) +
                    "; to scale the rows write diag(" + quote(vector, false) + ") @ " + quote(matrix));
  else
    diagnostic.help("for the product with the matrix itself write " + quote(matrix) + " @ " + quote(vector) +
                    "; to scale the columns write " + quote(matrix) + " @ diag(" + quote(vector, false) + ")");
}

void RecurrenceChecker::reportDiagMismatch(BinaryExpr *expr, Extent wanted, bool alsoFitsOtherSide) {
  bool diagonalLeft = expr->lhs->shape.isDiagonal();
  Expr *diagonal = diagonalLeft ? expr->lhs : expr->rhs, *other = diagonalLeft ? expr->rhs : expr->lhs;
  std::string size = format(diagonal->shape.getSize());
  std::string fit = !other->shape.isMatrix() ? "has " + format(wanted) + " elements"
                    : diagonalLeft           ? "has " + format(wanted) + " rows"
                                             : "has " + format(wanted) + " columns";
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::DiagMismatch, expr->operatorRange,
                         "the diagonal has " + size + " elements, but " + formatWithRank(other->shape) + " " + fit);
  noteShape(diagnostic, other);
  noteEqualDims(diagnostic, diagonal->shape.getSize(), wanted);
  if (!alsoFitsOtherSide)
    return;
  if (diagonalLeft)
    diagnostic.help("to scale the columns write " + quote(other) + " @ " + quote(diagonal));
  else
    diagnostic.help("to scale the rows write " + quote(diagonal) + " @ " + quote(other));
}

/// A product of two matrices is made row by row, or column and row where one side is an outer product.
Shape RecurrenceChecker::checkMatrixProduct(BinaryExpr *expr) {
  constexpr int64_t mostRows = 256;
  Shape a = expr->lhs->shape, b = expr->rhs->shape;
  auto report = [&](const llvm::Twine &message) -> Diagnostic & {
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::MatrixProduct, expr->operatorRange, message);
    noteShape(diagnostic, expr->lhs);
    noteShape(diagnostic, expr->rhs);
    return diagnostic;
  };
  if (!agree(a.getColumns(), b.getRows())) {
    Diagnostic &diagnostic = report("a product of two matrices, " + format(a) + " @ " + format(b) + ": the left has " +
                                    format(a.getColumns()) + " columns, the right " + format(b.getRows()) + " rows");
    noteEqualDims(diagnostic, a.getColumns(), b.getRows());
    if (const CallExpr *outer = findOuter(expr->rhs); outer && agree(a.getColumns(), b.getColumns()))
      diagnostic.help("outer(a, b) has the rows of a and the columns of b: write outer(" +
                      quote(outer->arguments[1].value, false) + ", " + quote(outer->arguments[0].value, false) + ")");
    return Shape();
  }
  auto rows = getValue(a.getRows());
  if (rows && *rows > mostRows && !findOuter(expr->lhs) && !findOuter(expr->rhs)) {
    report("a product of two matrices, whose left side has " + llvm::Twine(*rows) + " rows; there are at most " +
           llvm::Twine(mostRows))
        .help("for A @ (B @ x) keep the parentheses round the vector side");
    return Shape();
  }
  return makeMatrix(expr->range, a.getRows(), b.getColumns());
}

} // namespace recur::frontend
