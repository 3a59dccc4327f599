#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
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
      if (auto *declaration = cast<Declaration>(statement); declaration->init)
        ok = checkIndices(declaration->init) && (!declaration->element || addElement(declaration));
      break;
    case Statement::Assign:
      ok = checkIndices(cast<AssignStatement>(statement)->value);
      break;
    case Statement::Restart:
      ok = checkIndices(cast<RestartStatement>(statement)->value);
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
    return !cast<CallExpr>(expr)->body || checkIndices(cast<CallExpr>(expr)->body);
  case Expr::Slice:
    return checkIndices(cast<SliceExpr>(expr)->base) && checkSliceBounds(cast<SliceExpr>(expr));
  case Expr::Index: {
    auto *index = cast<IndexExpr>(expr);
    if (!checkIndices(index->base))
      return false;
    auto value = evaluator.evaluateInteger(index->index, "an index");
    Extent extent = index->base->shape.getExtent(index->isColumn ? 1 : 0);
    auto size = getValue(extent);
    if (!value || !size)
      return false;
    if (*value >= 0 && *value < *size)
      return true;
    Diagnostic &diagnostic = diagnostics.report(
        ErrorCode::IndexOutOfBounds, index->index->range,
        "this index is " + llvm::Twine(*value) + ", and the " + (index->isColumn ? "second" : "first") +
            " dimension has " + format(extent) + (extent.isDim() ? " = " + std::to_string(*size) : std::string()) +
            " elements, counted from 0");
    noteShape(diagnostic, index->base);
    return false;
  }
  }
  llvm_unreachable("every kind is listed");
}

/// Reports a slice that is empty or goes past the end. Returns whether it is right.
bool RecurrenceChecker::checkSliceWithin(const SliceExpr *expr) {
  auto lower = evaluator.evaluateInteger(expr->lower, "the bound of a slice");
  auto upper = evaluator.evaluateInteger(expr->upper, "the bound of a slice");
  Extent extent = expr->base->shape.getExtent(0);
  auto size = getValue(extent);
  if (!lower || !upper || !size)
    return false;
  SourceRange range{expr->lower->range.begin, expr->upper->range.end};
  if (*lower < 0 || *upper > *size || *upper <= *lower) {
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::SliceBounds, range,
                           "this slice goes from " + llvm::Twine(*lower) + " to " + llvm::Twine(*upper) +
                               ", and the first dimension has " + format(extent) +
                               (extent.isDim() ? " = " + std::to_string(*size) : std::string()) + " elements");
    diagnostic.help(*upper <= *lower ? "a slice has at least one element: x[a..b] is from a up to, but not including, b"
                                     : "elements are counted from 0, and x[a..b] does not include b");
    noteShape(diagnostic, expr->base);
    return false;
  }
  return true;
}

bool RecurrenceChecker::checkSliceBounds(const SliceExpr *expr) {
  if (!checkSliceWithin(expr))
    return false;
  auto lower = evaluator.evaluateInteger(expr->lower, "the bound of a slice");
  auto upper = evaluator.evaluateInteger(expr->upper, "the bound of a slice");
  auto length = getValue(expr->shape.getExtent(0));
  if (!length || *upper - *lower == *length)
    return length.has_value();
  diagnostics
      .report(ErrorCode::SliceBounds, {expr->lower->range.begin, expr->upper->range.end},
              "the length of this slice is " + llvm::Twine(*length) + " in the first iteration, and " +
                  llvm::Twine(*upper - *lower) + " in a later one")
      .help("what a loop computes has the same shape in each iteration");
  return false;
}

/// Notes which element of the output this iteration gives.
bool RecurrenceChecker::addElement(Declaration *output) {
  auto place = evaluator.evaluateInteger(output->element, "the place of an element");
  if (place)
    elements[output].push_back(*place);
  return place.has_value();
}

/// Each element of an output is given once. Their number is the first dimension of the output.
void RecurrenceChecker::checkElements() {
  for (Declaration *output : declarations) {
    if (!output->is(DeclarationKind::Output) || !output->element)
      continue;
    llvm::SmallVector<int64_t> places = elements[output];
    llvm::sort(places);
    int64_t missing = 0;
    while (missing < int64_t(places.size()) && places[missing] == missing)
      ++missing;
    if (places.empty()) {
      diagnostics.report(ErrorCode::OutputElements, output->nameRange,
                         "the loop never runs, so the output '" + output->name + "' has no elements");
      continue;
    }
    if (missing != int64_t(places.size())) {
      bool isTwice = missing > 0 && places[missing] == places[missing - 1];
      diagnostics
          .report(ErrorCode::OutputElements, output->element->range,
                  "element " + llvm::Twine(places[missing]) + " of the output '" + output->name + "' " +
                      (isTwice ? "is given twice" : "is given, and element " + std::to_string(missing) + " is not"))
          .help("the " + llvm::Twine(places.size()) + " iterations give the elements 0 to " +
                llvm::Twine(places.size() - 1) + ", each once");
      continue;
    }
    Extent count = Extent::ofNumber(uint32_t(places.size()));
    if (output->shape.isVector())
      output->shape = makeMatrix(output->nameRange, count, output->shape.getSize());
    else
      output->shape = Shape::vector(count);
  }
}

} // namespace recur::frontend
