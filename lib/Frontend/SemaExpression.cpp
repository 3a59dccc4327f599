#include "Frontend/Habits.h"
#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace recur::frontend {

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;

Shape RecurrenceChecker::check(Expr *expr) {
  expr->shape = checkUncached(expr);
  expr->shape = expr->shape.ofNumbers(!expr->shape.isUnknown() && isComplex(expr));
  return expr->shape;
}

Shape RecurrenceChecker::checkValue(Expr *expr) {
  Shape shape = check(expr);
  if (!shape.isDiagonal())
    return shape;
  diagnostics.report(ErrorCode::DiagOutsideProduct, expr->range, "'diag' stands only beside '@'")
      .help("S @ diag(a) scales the columns of S, diag(b) @ S its rows; arithmetic on a belongs inside: diag(1 - a)");
  expr->shape = Shape();
  return expr->shape;
}

Shape RecurrenceChecker::checkUncached(Expr *expr) {
  switch (expr->kind) {
  case Expr::Error:
    return Shape();
  case Expr::Number:
    return Shape::scalar();
  case Expr::Name: {
    Declaration *declaration = resolve(cast<NameExpr>(expr));
    return declaration ? declaration->shape : Shape();
  }
  case Expr::Negate:
    return checkValue(cast<NegateExpr>(expr)->operand);
  case Expr::Index:
    return checkIndex(cast<IndexExpr>(expr));
  case Expr::Slice:
    return checkSlice(cast<SliceExpr>(expr));
  case Expr::Call:
    return checkCall(cast<CallExpr>(expr));
  case Expr::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    if (binary->op == BinaryOperator::Product)
      return checkProduct(binary);
    checkValue(binary->lhs);
    checkValue(binary->rhs);
    if (binary->op == BinaryOperator::Divide)
      warnIfNormalized(binary);
    if (isComparison(binary->op))
      for (Expr *side : {binary->lhs, binary->rhs})
        requireReal(side, "complex numbers have no order", "compare abs(z), re(z) or im(z)");
    return checkElementwise(spell(binary->op), binary->operatorRange, binary->lhs, binary->rhs);
  }
  }
  llvm_unreachable("every kind is listed");
}

/// `k / l2norm(k)`: elsewhere a function of such a name gives the length of a vector, here it divides by it already.
void RecurrenceChecker::warnIfNormalized(const BinaryExpr *quotient) {
  const Expr *divisor = quotient->rhs;
  if (auto *name = dyn_cast<NameExpr>(divisor);
      name && name->declaration && name->declaration->is(DeclarationKind::Let))
    divisor = name->declaration->init;
  auto *call = dyn_cast<CallExpr>(divisor);
  bool normalizes = call && call->builtin &&
                    (call->builtin->id == Builtin::L2Norm || call->builtin->id == Builtin::RMSNorm ||
                     call->builtin->id == Builtin::LayerNorm);
  auto spell = [&](const Expr *expr) {
    llvm::StringRef text = buffer.getText(expr->range);
    return expr->parenthesized ? text.drop_front().drop_back().trim() : text;
  };
  if (!normalizes || call->arguments.empty() || spell(call->arguments[0].value) != spell(quotient->lhs))
    return;
  std::string whole = quote(divisor);
  diagnostics
      .report(ErrorCode::DividedByNormalized, quotient->range,
              "this divides by a vector: " + whole + " is " + quote(quotient->lhs) + " normalised already")
      .help("write " + whole + " alone", quotient->range, whole);
}

/// The first name in a sum or difference that nothing declares.
NameExpr *RecurrenceChecker::findUnknownName(Expr *expr) const {
  if (auto *name = dyn_cast<NameExpr>(expr)) {
    bool isKnown = lookup(name->name) || later.count(name->name) || endedLocals.count(name->name);
    return isKnown ? nullptr : name;
  }
  if (auto *binary = dyn_cast<BinaryExpr>(expr)) {
    NameExpr *found = findUnknownName(binary->lhs);
    return found ? found : findUnknownName(binary->rhs);
  }
  if (auto *negation = dyn_cast<NegateExpr>(expr))
    return findUnknownName(negation->operand);
  return nullptr;
}

/// `k[t-1]`, and `k[-1]`, which may mean the token before or the last element.
bool RecurrenceChecker::reportIfIndexOfToken(IndexExpr *expr) {
  auto *base = dyn_cast<NameExpr>(expr->base);
  bool isState = base && base->declaration && base->declaration->is(DeclarationKind::State);
  std::string help = isState ? "until it is assigned, " + base->name.str() + " is what it was after the token before"
                             : getHelpForDelay(quote(expr->base, false));
  if (NameExpr *unknown = findUnknownName(expr->index); unknown && !mayBeLost(unknown->name)) {
    static constexpr llvm::StringLiteral tokens[] = {"t", "n", "i", "s", "step", "time", "token", "pos", "idx"};
    if (!llvm::is_contained(tokens, unknown->name))
      return false;
    diagnostics
        .report(ErrorCode::UnknownName, expr->index->range,
                "an index is the place of an element, and there is no '" + unknown->name + "' that counts tokens")
        .help(help);
    return true;
  }
  auto *negation = dyn_cast<NegateExpr>(expr->index);
  if (!negation || !isa<NumberExpr>(negation->operand))
    return false;
  Shape shape = expr->base->shape;
  bool hasElements = shape.isVector() || shape.isMatrix();
  diagnostics
      .report(ErrorCode::IndexOutOfBounds, expr->index->range,
              "an index counts elements from 0, and cannot be negative")
      .help((hasElements ? "the last element is " + quote(expr->base) + "[" + format(shape.getExtent(0)) + " - 1]; "
                         : std::string()) +
            help);
  return true;
}

/// A number that says where: known at compile time, in each iteration of a loop.
bool RecurrenceChecker::checkPlace(Expr *expr, llvm::StringRef what) {
  unsigned errorsBefore = diagnostics.getNumErrors();
  requireNumber(expr, what);
  return diagnostics.getNumErrors() == errorsBefore &&
         evaluator.requireConstant(expr, what, /*allowLoopVariables=*/true);
}

/// How long a slice is: a dim where the source says so, as in x[0..K] and x[n..n + K], and else a number.
Extent RecurrenceChecker::findSizeOfSlice(const SliceExpr *expr) {
  auto dimOf = [](const Expr *size) -> const Declaration * {
    auto *name = dyn_cast<NameExpr>(size);
    while (name && name->declaration && name->declaration->is(DeclarationKind::Argument))
      name = dyn_cast<NameExpr>(name->declaration->init);
    return name && name->declaration && name->declaration->is(DeclarationKind::Dim) ? name->declaration : nullptr;
  };
  auto *first = dyn_cast<NumberExpr>(expr->lower);
  if (const Declaration *dim = dimOf(expr->upper); dim && first && first->value == 0)
    return Extent::ofDim(dim->index);
  if (auto *sum = dyn_cast<BinaryExpr>(expr->upper); sum && sum->op == BinaryOperator::Add)
    if (const Declaration *dim = dimOf(sum->rhs);
        dim && buffer.getText(sum->lhs->range) == buffer.getText(expr->lower->range))
      return Extent::ofDim(dim->index);
  auto lower = evaluator.tryToEvaluate(expr->lower), upper = evaluator.tryToEvaluate(expr->upper);
  double length = lower && upper ? *upper - *lower : 0;
  // What is out of bounds in a loop is reported when the loop is unrolled.
  return length >= 1 && length <= kMaxDim ? Extent::ofNumber(uint32_t(length)) : Extent();
}

Shape RecurrenceChecker::checkSlice(SliceExpr *expr) {
  Shape base = checkValue(expr->base);
  bool lower = checkPlace(expr->lower, "the bound of a slice"), upper = checkPlace(expr->upper, "the bound of a slice");
  if (base.isScalar()) {
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::IndexedScalar, expr->range, "a scalar has no elements to slice");
    noteShape(diagnostic, expr->base);
  }
  if (!lower || !upper || base.isUnknown() || base.isScalar())
    return Shape();
  // What stands beside a wrong slice is not judged by its shape. A loop may never come to it.
  if (!loop && evaluator.tryToEvaluate(expr->lower) && evaluator.tryToEvaluate(expr->upper) &&
      getValue(base.getExtent(0)) && !checkSliceWithin(expr))
    return Shape();
  // Without the values of dims there is no length yet.
  bool isKnown = evaluator.tryToEvaluate(expr->lower) && evaluator.tryToEvaluate(expr->upper);
  Extent size = isKnown ? findSizeOfSlice(expr) : Extent();
  return base.isVector() ? Shape::vector(size) : Shape::matrix(size, base.getColumns());
}

Shape RecurrenceChecker::checkIndex(IndexExpr *expr) {
  Shape base = checkValue(expr->base);
  if (reportIfIndexOfToken(expr))
    return Shape();
  checkPlace(expr->index, "an index");
  if (expr->isColumn) {
    if (base.isMatrix())
      return Shape::vector(base.getRows());
    if (!base.isUnknown()) {
      Diagnostic &diagnostic = diagnostics.report(ErrorCode::IndexedScalar, expr->range,
                                                  "a column is one of a matrix, and this is " + formatWithRank(base));
      noteShape(diagnostic, expr->base);
    }
    return Shape();
  }
  if (base.isVector())
    return Shape::scalar();
  if (base.isMatrix())
    return Shape::vector(base.getColumns());
  if (base.isScalar()) {
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::IndexedScalar, expr->range, "a scalar has no elements to index");
    noteShape(diagnostic, expr->base);
  }
  return Shape();
}

Shape RecurrenceChecker::checkElementwise(llvm::StringRef what, SourceRange range, Expr *lhs, Expr *rhs) {
  Shape a = lhs->shape, b = rhs->shape;
  if (a.isUnknown() || b.isUnknown())
    return Shape();
  if (a.isScalar())
    return b;
  if (b.isScalar())
    return a;
  if (a.getKind() != b.getKind()) {
    reportRanksDiffer(what, range, lhs, rhs);
    return Shape();
  }
  if (!agree(a, b)) {
    reportShapesDiffer(what, range, lhs, rhs);
    return Shape();
  }
  if (a.isVector())
    return Shape::vector(merge(a.getSize(), b.getSize()));
  return Shape::matrix(merge(a.getRows(), b.getRows()), merge(a.getColumns(), b.getColumns()));
}

void RecurrenceChecker::reportShapesDiffer(llvm::StringRef what, SourceRange range, Expr *lhs, Expr *rhs) {
  Shape a = lhs->shape, b = rhs->shape;
  std::string message = "the operands of '" + what.str() + "' differ: the left is " + formatWithRank(a) +
                        ", the right is " + formatWithRank(b);
  if (reportIfTransposedOuter(rhs, a, range, message, nullptr) ||
      reportIfTransposedOuter(lhs, b, range, message, nullptr))
    return;
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::ShapesDiffer, range, message);
  noteShape(diagnostic, lhs);
  noteShape(diagnostic, rhs);
  noteEqualDims(diagnostic, a, b);
  if (a.isVector() && what == "*")
    diagnostic.help("for the matrix of all products write outer(" + quote(lhs, false) + ", " + quote(rhs, false) + ")");
}

bool RecurrenceChecker::reportIfTransposedOuter(Expr *value, Shape expected, SourceRange range,
                                                const llvm::Twine &message, Declaration *other) {
  Shape shape = value->shape;
  const CallExpr *outer = shape.isMatrix() && expected.isMatrix() ? findOuter(value) : nullptr;
  if (!outer || !agree(shape.getRows(), expected.getColumns()) || !agree(shape.getColumns(), expected.getRows()))
    return false;
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::TransposedOuter, outer->range, message + ": this outer product is transposed");
  if (other)
    diagnostic.note(other->nameRange, "'" + other->name + "' is declared here");
  noteEqualDims(diagnostic, shape.getRows(), shape.getColumns());
  std::string swapped =
      "outer(" + quote(outer->arguments[1].value, false) + ", " + quote(outer->arguments[0].value, false) + ")";
  diagnostic.help("outer(a, b) has the rows of a and the columns of b: write " + swapped, outer->range, swapped);
  return true;
}

void RecurrenceChecker::reportRanksDiffer(llvm::StringRef what, SourceRange range, Expr *lhs, Expr *rhs) {
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::RanksDiffer, range,
                         "the operands of '" + what + "' differ: the left is " + formatWithRank(lhs->shape) +
                             ", the right is " + formatWithRank(rhs->shape));
  noteShape(diagnostic, lhs);
  noteShape(diagnostic, rhs);
  Expr *matrix = lhs->shape.isMatrix() ? lhs : rhs, *vector = matrix == lhs ? rhs : lhs;
  bool fitsColumns = agree(matrix->shape.getColumns(), vector->shape.getSize());
  bool fitsRows = agree(matrix->shape.getRows(), vector->shape.getSize());
  std::string m = quote(matrix), v = quote(vector), inner = quote(vector, false);

  if (what == "*" || (what == "/" && matrix == lhs)) {
    bool divides = what == "/";
    if (divides)
      inner = "1 / " + v;
    if (fitsColumns)
      diagnostic.help("to scale the columns write " + m + " @ diag(" + inner + ")" +
                      (divides ? "" : "; for matrix times vector write " + m + " @ " + v));
    if (fitsRows)
      diagnostic.help("to scale the rows write diag(" + inner + ") @ " + m +
                      (divides ? "" : "; for vector times matrix write " + v + " @ " + m));
    return;
  }
  // S @ a + outer(v, k): the author took S @ a for a scaled S.
  auto *product = dyn_cast<BinaryExpr>(vector);
  if (product && product->op == BinaryOperator::Product && product->lhs->shape.isMatrix())
    diagnostic.help("'@' with a vector reads the matrix; to scale its columns write " + quote(product->lhs) +
                    " @ diag(" + quote(product->rhs, false) + ")");
  else if (what == "+" || what == "-")
    diagnostic.help("outer(a, b) makes a matrix of two vectors");
}

} // namespace recur::frontend
