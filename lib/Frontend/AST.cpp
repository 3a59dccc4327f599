#include "Frontend/AST.h"

#include "llvm/Support/ErrorHandling.h"

namespace recur::frontend {

llvm::StringRef spell(BinaryOperator op) {
  switch (op) {
  case BinaryOperator::Add:
    return "+";
  case BinaryOperator::Subtract:
    return "-";
  case BinaryOperator::Multiply:
    return "*";
  case BinaryOperator::Divide:
    return "/";
  case BinaryOperator::Product:
    return "@";
  case BinaryOperator::Less:
    return "<";
  case BinaryOperator::AtMost:
    return "<=";
  case BinaryOperator::Greater:
    return ">";
  case BinaryOperator::AtLeast:
    return ">=";
  case BinaryOperator::Equal:
    return "==";
  case BinaryOperator::NotEqual:
    return "!=";
  }
  llvm_unreachable("every operator is listed");
}

llvm::StringRef spell(DeclarationKind kind) { return describe(kind).split(' ').second; }

llvm::StringRef describe(DeclarationKind kind) {
  switch (kind) {
  case DeclarationKind::Dim:
    return "a dim";
  case DeclarationKind::Const:
    return "a const";
  case DeclarationKind::Input:
    return "an input";
  case DeclarationKind::Param:
    return "a param";
  case DeclarationKind::State:
    return "a state";
  case DeclarationKind::Let:
    return "a let";
  case DeclarationKind::Output:
    return "an output";
  case DeclarationKind::LoopVariable:
    return "a loop variable";
  case DeclarationKind::Argument:
    return "an argument";
  }
  llvm_unreachable("every kind is listed");
}

Expr *CallExpr::getKeyword(llvm::StringRef keyword) const {
  for (const Argument &argument : arguments)
    if (argument.keyword == keyword)
      return argument.value;
  return nullptr;
}

} // namespace recur::frontend
