#include "Frontend/Sema.h"

// Functions that put values one after the other, within a token or from token to token, and those that need a number of
// elements or a number that is known at compile time.

namespace recur::frontend {

/// concat(a, b, ...): along the first dimension. stack(a, b, ...): as the elements of a vector, or the rows of a
/// matrix.
Shape RecurrenceChecker::checkParts(CallExpr *call) {
  bool stacks = call->builtin->id == Builtin::Stack;
  Expr *widest = nullptr;
  for (const Argument &argument : call->arguments) {
    if (argument.value->shape.isUnknown())
      return Shape();
    if (!widest || argument.value->shape.getRank() > widest->shape.getRank())
      widest = argument.value;
  }
  unsigned rank = stacks ? widest->shape.getRank() + 1 : std::max(widest->shape.getRank(), 1u);
  if (rank > 2) {
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::PartsDiffer, widest->range,
                           "'stack' takes scalars or vectors, and this is " + formatWithRank(widest->shape));
    noteShape(diagnostic, widest);
    diagnostic.help("concat(A, B) puts the rows of B below those of A");
    return Shape();
  }
  std::optional<int64_t> total = 0;
  Extent columns;
  for (const Argument &argument : call->arguments) {
    Expr *part = argument.value;
    bool isOne = part->shape.getRank() + 1 == rank;
    Extent across = rank == 2 ? part->shape.getExtent(isOne ? 0 : 1) : Extent();
    bool hasRank = isOne || (!stacks && part->shape.getRank() == rank);
    if (!hasRank || !agree(across, columns)) {
      Diagnostic &diagnostic =
          diagnostics.report(ErrorCode::PartsDiffer, part->range,
                             "the parts of '" + call->callee + "' do not fit: this is " + formatWithRank(part->shape) +
                                 ", and another is " + formatWithRank(widest->shape));
      noteShape(diagnostic, part);
      noteShape(diagnostic, widest);
      if (hasRank)
        noteEqualDims(diagnostic, across, columns);
      diagnostic.help(stacks
                          ? "stack(a, b, ...) takes scalars, or vectors of one size, which become rows"
                          : "concat(a, b, ...) takes vectors and scalars, or matrices and vectors of as many columns");
      return Shape();
    }
    columns = columns.isUnknown() ? across : merge(columns, across);
    auto size = isOne ? std::optional<int64_t>(1) : getValue(part->shape.getExtent(0));
    total = total && size ? std::optional(*total + *size) : std::nullopt;
  }
  Extent size;
  if (call->arguments.size() == 1 && widest->shape.getRank() == rank) {
    size = widest->shape.getExtent(0);
  } else if (total && *total > kMaxDim) {
    diagnostics
        .report(ErrorCode::ValueTooLarge, call->range,
                "this has " + llvm::Twine(*total) + (rank == 1 ? " elements" : " rows") + ", and at most " +
                    llvm::Twine(kMaxDim) + " are allowed")
        .help("choose smaller dims; each head has a state of its own");
    return Shape();
  } else if (total) {
    size = Extent::ofNumber(uint32_t(*total));
  }
  return rank == 1 ? Shape::vector(size) : makeMatrix(call->range, size, columns);
}

/// How many tokens a delay line may keep.
static constexpr int64_t kMaxDelay = 256;

Shape RecurrenceChecker::checkDelay(CallExpr *call) {
  Expr *value = call->arguments[0].value, *length = call->arguments[1].value;
  recurrence.hasImplicitStates = true;
  if (checkPlace(length, "the length of a delay"))
    if (auto tokens = evaluator.tryToEvaluate(length);
        tokens && (*tokens < 0 || *tokens > double(kMaxDelay) || *tokens != double(int64_t(*tokens))))
      diagnostics
          .report(ErrorCode::DelayLength, length->range,
                  "a delay is a whole number of tokens from 0 to " + llvm::Twine(kMaxDelay) + ", and this is " +
                      formatNumber(*tokens))
          .help("delay(a, 1) is what a was a token before; what comes later is not known yet");
  if (!value->shape.isMatrix())
    return value->shape;
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::ArgumentRank, value->range,
                         "'delay' keeps scalars and vectors, and this is " + formatWithRank(value->shape));
  noteShape(diagnostic, value);
  diagnostic.help("delay what it is computed from, or its rows one by one");
  return Shape();
}

/// conv(x, w): w[W - 1] * x + w[W - 2] * delay(x, 1) + ..., with a number or a vector for each token.
Shape RecurrenceChecker::checkConv(CallExpr *call) {
  Expr *value = call->arguments[0].value, *weights = call->arguments[1].value;
  recurrence.hasImplicitStates = true;
  Shape x = value->shape, w = weights->shape;
  if (x.isUnknown() || w.isUnknown())
    return Shape();
  auto refuse = [&](Expr *operand, const llvm::Twine &message) {
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::ConvShapes, operand->range, message);
    noteShape(diagnostic, operand);
    diagnostic.help("write conv(x, w) with w: [W] or w: [W, K] for x: [K]; w[W - 1] belongs to the token itself");
    return Shape();
  };
  if (x.isMatrix())
    return refuse(value, "'conv' takes a scalar or a vector of each token, and this is " + formatWithRank(x));
  bool fits = w.isVector() || (w.isMatrix() && x.isVector() && agree(w.getColumns(), x.getSize()));
  if (!fits)
    return refuse(weights, "the weights of 'conv' are a number or a vector like its first argument, " + format(x) +
                               ", for each token, and this is " + formatWithRank(w));
  if (auto size = getValue(w.getExtent(0)); size && *size > kMaxDelay)
    return refuse(weights, "these are weights for " + llvm::Twine(*size) + " tokens, and 'conv' takes at most " +
                               llvm::Twine(kMaxDelay));
  return x;
}

Shape RecurrenceChecker::checkPow(CallExpr *call) {
  Expr *power = call->arguments[1].value;
  unsigned errorsBefore = diagnostics.getNumErrors();
  requireNumber(power, "a power");
  if (diagnostics.getNumErrors() == errorsBefore && !evaluator.tryToEvaluate(power))
    evaluator.requireConstant(power, "a power", /*allowLoopVariables=*/true);
  return call->arguments[0].value->shape;
}

/// rmsnorm(a, eps = 1e-6), layernorm(a, eps = 1e-6)
Shape RecurrenceChecker::checkNorm(CallExpr *call) {
  if (Expr *eps = call->getKeyword("eps"))
    requireNumber(eps, "eps");
  return requireVector(call, 0) ? call->arguments[0].value->shape : Shape();
}

} // namespace recur::frontend
