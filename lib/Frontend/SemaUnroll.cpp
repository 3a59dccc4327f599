#include "Frontend/Sema.h"

#include "llvm/Support/ErrorHandling.h"

// The loops of a recurrence unroll at compile time. This walk does so without making IR: it counts what the loops come
// to, and checks every index with the values that its loop variables have. It runs on recurrences that are right
// otherwise.

namespace recur::frontend {

using llvm::cast;

/// Returns false after an error, which ends the loop that it is in.
bool RecurrenceChecker::checkUnrolled(llvm::ArrayRef<Statement *> body, bool inLoop) {
  for (Statement *statement : body) {
    if (diagnostics.isFull())
      return false;
    if (inLoop)
      unrolledNodes += statement->numNodes;
    bool ok = true;
    switch (statement->kind) {
    case Statement::Declare:
      if (Expr *init = cast<Declaration>(statement)->init)
        ok = checkIndices(init);
      break;
    case Statement::Assign:
      ok = checkIndices(cast<AssignStatement>(statement)->value);
      break;
    case Statement::For:
      ok = checkUnrolledLoop(cast<ForStatement>(statement));
      break;
    }
    if (!ok && inLoop)
      return false;
  }
  return true;
}

bool RecurrenceChecker::checkUnrolledLoop(ForStatement *statement) {
  auto lower = evaluator.evaluateInteger(statement->lower, "the bound of a loop");
  auto upper = evaluator.evaluateInteger(statement->upper, "the bound of a loop");
  if (!lower || !upper)
    return false;
  Declaration *variable = statement->variable;
  variable->known = true;
  for (int64_t j = *lower; j < *upper; ++j) {
    ++unrolledNodes; // so that an empty body counts too
    if (unrolledNodes > kMaxUnrolledNodes) {
      diagnostics
          .report(ErrorCode::UnrollLimit, statement->headRange,
                  "the loops of this recurrence unroll to more than " + llvm::Twine(kMaxUnrolledNodes) +
                      " operations; this one runs " + llvm::Twine(*upper - *lower) + " times")
          .help("a loop is for a few steps within one token; what goes on from token to token is a state");
      return false;
    }
    variable->number = double(j);
    if (!checkUnrolled(statement->body, /*inLoop=*/true))
      return false;
  }
  return true;
}

bool RecurrenceChecker::checkIndices(const Expr *expr) {
  if (!expr->hasIndex)
    return true;
  switch (expr->kind) {
  case Expr::Error:
  case Expr::Number:
  case Expr::Name:
    return true;
  case Expr::Negate:
    return checkIndices(cast<NegateExpr>(expr)->operand);
  case Expr::Binary:
    return checkIndices(cast<BinaryExpr>(expr)->lhs) && checkIndices(cast<BinaryExpr>(expr)->rhs);
  case Expr::Call:
    for (const Argument &argument : cast<CallExpr>(expr)->arguments)
      if (!checkIndices(argument.value))
        return false;
    return true;
  case Expr::Index: {
    auto *index = cast<IndexExpr>(expr);
    if (!checkIndices(index->base))
      return false;
    auto value = evaluator.evaluateInteger(index->index, "an index");
    auto size = getValue(index->base->shape.getExtent(0));
    if (!value || !size)
      return false;
    if (*value >= 0 && *value < *size)
      return true;
    Diagnostic &diagnostic = diagnostics.report(
        ErrorCode::IndexOutOfBounds, index->index->range,
        "this index is " + llvm::Twine(*value) + ", and the first dimension has " +
            format(index->base->shape.getExtent(0)) +
            (index->base->shape.getExtent(0).isDim() ? " = " + std::to_string(*size) : std::string()) +
            " elements, counted from 0");
    noteShape(diagnostic, index->base);
    return false;
  }
  }
  llvm_unreachable("every kind is listed");
}

} // namespace recur::frontend
