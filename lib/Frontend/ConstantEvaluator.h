#pragma once

#include "Frontend/AST.h"
#include "Support/Diagnostics.h"

#include <optional>

namespace recur::frontend {

/// Arithmetic at compile time, on expressions whose names are resolved.
class ConstantEvaluator {
public:
  explicit ConstantEvaluator(DiagnosticEngine &diagnostics) : diagnostics(diagnostics) {}

  /// The number that `expr` is; loop variables have the value of the current iteration. Nothing when an error was
  /// reported, here or earlier. A result that is not finite is an error.
  std::optional<double> evaluate(const Expr *expr);

  /// Does as `evaluate`, but reports nothing.
  static std::optional<double> tryToEvaluate(const Expr *expr);

  /// As `evaluate`, for what must be a whole number; `what` begins the message ("the index").
  std::optional<int64_t> evaluateInteger(const Expr *expr, llvm::StringRef what);

  /// True when `expr` can be evaluated. Otherwise reports what in it is known only at run time; `what` says what it is
  /// for.
  bool requireConstant(const Expr *expr, llvm::StringRef what, bool allowLoopVariables);

private:
  std::optional<double> evaluateBinary(const BinaryExpr *expr);
  std::optional<double> evaluateCall(const CallExpr *expr);

  DiagnosticEngine &diagnostics;
};

/// "3", "0.5", "1e+300": a number as messages show it.
std::string formatNumber(double value);

} // namespace recur::frontend
