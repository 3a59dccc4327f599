#include "Frontend/ConstantEvaluator.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace recur::frontend {

using llvm::cast;

std::string formatNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value);
  return text;
}

std::optional<double> ConstantEvaluator::evaluateBinary(const BinaryExpr *expr) {
  auto lhs = evaluate(expr->lhs);
  auto rhs = evaluate(expr->rhs);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (expr->op) {
  case BinaryOperator::Add:
    return *lhs + *rhs;
  case BinaryOperator::Subtract:
    return *lhs - *rhs;
  case BinaryOperator::Multiply:
    return *lhs * *rhs;
  case BinaryOperator::Divide:
    if (*rhs == 0) {
      diagnostics.report(ErrorCode::ConstDivisionByZero, expr->range, "this divides by zero")
          .note(expr->rhs->range, "this is 0");
      return std::nullopt;
    }
    return *lhs / *rhs;
  case BinaryOperator::Product:
    return std::nullopt; // sema has refused '@' between scalars
  case BinaryOperator::Less:
    return *lhs < *rhs;
  case BinaryOperator::AtMost:
    return *lhs <= *rhs;
  case BinaryOperator::Greater:
    return *lhs > *rhs;
  case BinaryOperator::AtLeast:
    return *lhs >= *rhs;
  case BinaryOperator::Equal:
    return *lhs == *rhs;
  case BinaryOperator::NotEqual:
    return *lhs != *rhs;
  }
  llvm_unreachable("every operator is listed");
}

std::optional<double> ConstantEvaluator::evaluateCall(const CallExpr *expr) {
  if (expr->body)
    return evaluate(expr->body);
  if (expr->builtin && expr->builtin->id == Builtin::Where) {
    auto condition = evaluate(expr->arguments[0].value);
    return condition ? evaluate(expr->arguments[*condition > 0 ? 1 : 2].value) : std::nullopt;
  }
  if (!expr->builtin || !expr->builtin->isElementwise())
    return std::nullopt;
  double values[2] = {};
  for (auto [value, argument] : llvm::zip(values, expr->arguments)) {
    auto number = evaluate(argument.value);
    if (!number)
      return std::nullopt;
    value = *number;
  }
  return expr->builtin->unary ? expr->builtin->unary(values[0]) : expr->builtin->binary(values[0], values[1]);
}

std::optional<double> ConstantEvaluator::evaluate(const Expr *expr) {
  std::optional<double> value;
  switch (expr->kind) {
  case Expr::Number:
    value = cast<NumberExpr>(expr)->value;
    break;
  case Expr::Name: {
    const Declaration *declaration = cast<NameExpr>(expr)->declaration;
    if (declaration && declaration->is(DeclarationKind::Argument))
      return evaluate(declaration->init);
    if (declaration && declaration->isNumber() && declaration->known)
      value = declaration->number;
    break;
  }
  case Expr::Negate:
    if ((value = evaluate(cast<NegateExpr>(expr)->operand)))
      value = -*value;
    break;
  case Expr::Binary:
    value = evaluateBinary(cast<BinaryExpr>(expr));
    break;
  case Expr::Call:
    value = evaluateCall(cast<CallExpr>(expr));
    break;
  case Expr::Error:
  case Expr::Index:
  case Expr::Slice:
    break;
  }
  if (value && !std::isfinite(*value)) {
    diagnostics.report(ErrorCode::ConstNotFinite, expr->range,
                       std::isnan(*value) ? "this is not a number (NaN)" : "this is infinite");
    return std::nullopt;
  }
  return value;
}

std::optional<double> ConstantEvaluator::tryToEvaluate(const Expr *expr) {
  DiagnosticEngine ignored;
  return ConstantEvaluator(ignored).evaluate(expr);
}

std::optional<int64_t> ConstantEvaluator::evaluateInteger(const Expr *expr, llvm::StringRef what) {
  auto value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (*value == std::floor(*value) && std::abs(*value) > 0x1p53) {
    diagnostics.report(ErrorCode::NotAnInteger, expr->range,
                       what + " is at most 2^53, and this is " + formatNumber(*value));
    return std::nullopt;
  }
  if (*value != std::floor(*value)) {
    diagnostics.report(ErrorCode::NotAnInteger, expr->range,
                       what + " must be a whole number, and this is " + formatNumber(*value));
    return std::nullopt;
  }
  return int64_t(*value);
}

bool ConstantEvaluator::requireConstant(const Expr *expr, llvm::StringRef what, bool allowLoopVariables) {
  auto refuse = [&](const llvm::Twine &message) -> Diagnostic & {
    return diagnostics.report(ErrorCode::NotConstant, expr->range, message);
  };
  switch (expr->kind) {
  case Expr::Error:
    return false;
  case Expr::Number:
    return true;
  case Expr::Name: {
    const Declaration *declaration = cast<NameExpr>(expr)->declaration;
    if (!declaration)
      return false;
    if (declaration->is(DeclarationKind::LoopVariable) && !allowLoopVariables) {
      refuse(what + " must not depend on the loop variable '" + declaration->name + "'")
          .note(declaration->nameRange, "the loop variable");
      return false;
    }
    if (declaration->isNumber())
      return true;
    if (declaration->is(DeclarationKind::Argument))
      return requireConstant(declaration->init, what, allowLoopVariables);
    Diagnostic &diagnostic = refuse(what + " must be known at compile time, and '" + declaration->name + "' is " +
                                    describe(declaration->declarationKind));
    diagnostic.note(declaration->nameRange, "declared here");
    if (declaration->is(DeclarationKind::Let))
      diagnostic.help("if its value does not depend on the token, declare it with const");
    return false;
  }
  case Expr::Negate:
    return requireConstant(cast<NegateExpr>(expr)->operand, what, allowLoopVariables);
  case Expr::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    return requireConstant(binary->lhs, what, allowLoopVariables) &&
           requireConstant(binary->rhs, what, allowLoopVariables);
  }
  case Expr::Call: {
    auto *call = cast<CallExpr>(expr);
    if (call->body)
      return requireConstant(call->body, what, allowLoopVariables);
    if (!call->builtin)
      return false;
    if (!call->builtin->isElementwise() && call->builtin->id != Builtin::Where) {
      refuse(what + " must be known at compile time, and '" + call->callee + "' is computed at run time");
      return false;
    }
    for (const Argument &argument : call->arguments)
      if (!requireConstant(argument.value, what, allowLoopVariables))
        return false;
    return true;
  }
  case Expr::Index:
  case Expr::Slice:
    refuse(what + " must be known at compile time, and an element is known at run time");
    return false;
  }
  llvm_unreachable("every kind is listed");
}

} // namespace recur::frontend
