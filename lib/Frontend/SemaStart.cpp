#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

// What states start as: values that are known before the first token.

namespace recur::frontend {

using llvm::cast;
using llvm::dyn_cast;

/// The first part of an expression that a token brings or that tokens change; null where there is none.
const Expr *RecurrenceChecker::findTokenwise(const Expr *expr) const {
  switch (expr->kind) {
  case Expr::Error:
  case Expr::Number:
    return nullptr;
  case Expr::Name: {
    const Declaration *declaration = cast<NameExpr>(expr)->declaration;
    if (!declaration)
      return nullptr;
    switch (declaration->declarationKind) {
    case DeclarationKind::Input:
    case DeclarationKind::State:
      return expr;
    case DeclarationKind::Let:
      return declaration->updated || findTokenwise(declaration->init) ? expr : nullptr;
    case DeclarationKind::Argument:
      return findTokenwise(declaration->init);
    default:
      return nullptr;
    }
  }
  case Expr::Negate:
    return findTokenwise(cast<NegateExpr>(expr)->operand);
  case Expr::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    const Expr *found = findTokenwise(binary->lhs);
    return found ? found : findTokenwise(binary->rhs);
  }
  case Expr::Index:
    return findTokenwise(cast<IndexExpr>(expr)->base);
  case Expr::Slice:
    return findTokenwise(cast<SliceExpr>(expr)->base);
  case Expr::Call: {
    auto *call = cast<CallExpr>(expr);
    if (call->builtin && (call->builtin->id == Builtin::Delay || call->builtin->id == Builtin::Conv))
      return expr;
    if (call->body)
      return findTokenwise(call->body);
    for (const Argument &argument : call->arguments)
      if (const Expr *found = findTokenwise(argument.value))
        return found;
    return nullptr;
  }
  }
  llvm_unreachable("every kind is listed");
}

/// `state S: [V, K] at start EXPR`: a value of the state's shape, a number for every element, or a diagonal.
void RecurrenceChecker::checkStart(Declaration *state) {
  Shape shape = state->shape, start = check(state->init);
  if (start.isUnknown())
    return;
  if (const Expr *tokenwise = findTokenwise(state->init)) {
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::BadStart, tokenwise->range,
                                                "'" + state->name + "' starts before the first token, and " +
                                                    quote(tokenwise, false) + " is of a token");
    if (auto *name = dyn_cast<NameExpr>(tokenwise))
      diagnostic.note(name->declaration->nameRange,
                      "it is " + describe(name->declaration->declarationKind) + ", declared here");
    diagnostic.help("a start is made of params, consts, dims and numbers; to begin anew in the midst of a sequence "
                    "write restart");
    return;
  }
  if (!shape.isUnknown() && !shape.isComplex() &&
      !requireReal(state->init, "the state '" + state->name + "' is real",
                   "declare it with complex state " + state->name + ", or take a part with re(z) or im(z)"))
    return;
  if (shape.isUnknown() || start.isScalar())
    return;
  bool isSquare = shape.isMatrix() && agree(shape.getRows(), shape.getColumns());
  if (start.isDiagonal() ? isSquare && agree(shape.getRows(), start.getSize()) : agree(shape, start))
    return;
  std::string message =
      "the state '" + state->name.str() + "' is " + formatWithRank(shape) + ", and this is " +
      (start.isDiagonal() ? "a diagonal of " + format(start.getSize()) + " elements" : formatWithRank(start));
  if (reportIfTransposedOuter(state->init, shape, state->init->range, message, state))
    return;
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::BadStart, state->init->range, message)
                               .note(state->nameRange, "the state is declared here");
  if (!start.isDiagonal())
    noteEqualDims(diagnostic, shape, start);
  diagnostic.help("a start has the shape of its state, or is a number for every element, or diag(a) of a square state");
}

} // namespace recur::frontend
