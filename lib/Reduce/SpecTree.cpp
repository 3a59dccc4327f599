#include "Reduce/SpecTree.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace recur;
using namespace recur::reduce;

ExprPtr reduce::makeExpr(Expr::Kind kind, llvm::StringRef text, std::vector<ExprPtr> operands,
                         std::vector<std::string> shape) {
  std::vector<std::string> labels(operands.size());
  return std::make_shared<const Expr>(Expr{kind, text.str(), std::move(operands), std::move(labels), std::move(shape)});
}

ExprPtr reduce::withOperands(const ExprPtr &expr, std::vector<ExprPtr> operands) {
  assert(operands.size() == expr->operands.size() && "the labels belong to the operands");
  return std::make_shared<const Expr>(Expr{expr->kind, expr->text, std::move(operands), expr->labels, expr->shape});
}

bool reduce::equal(const ExprPtr &a, const ExprPtr &b) {
  if (a == b)
    return true;
  if (!a || !b || a->kind != b->kind || a->text != b->text || a->labels != b->labels)
    return false;
  for (size_t i = 0; i < a->operands.size(); ++i)
    if (!equal(a->operands[i], b->operands[i]))
      return false;
  return true;
}

unsigned reduce::countNodes(const ExprPtr &expr) {
  unsigned count = 1;
  for (const ExprPtr &operand : expr->operands)
    count += countNodes(operand);
  return count;
}

bool reduce::mentions(const ExprPtr &expr, llvm::StringRef name) {
  if (expr->is(Expr::Kind::Name, name))
    return true;
  for (const ExprPtr &operand : expr->operands)
    if (mentions(operand, name))
      return true;
  return false;
}

ExprPtr reduce::transform(const ExprPtr &expr, llvm::function_ref<ExprPtr(const ExprPtr &)> change) {
  bool changed = false;
  std::vector<ExprPtr> operands;
  for (const ExprPtr &operand : expr->operands) {
    operands.push_back(transform(operand, change));
    changed |= operands.back() != operand;
  }
  ExprPtr rebuilt = changed ? withOperands(expr, std::move(operands)) : expr;
  ExprPtr replacement = change(rebuilt);
  return replacement ? replacement : rebuilt;
}

ExprPtr reduce::substitute(const ExprPtr &expr, llvm::StringRef name, const ExprPtr &by) {
  return transform(expr, [&](const ExprPtr &node) { return node->is(Expr::Kind::Name, name) ? by : nullptr; });
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
/// How tightly each form binds, loosest first; language.md gives the order.
enum Binding { Comparison, Sum, Product, MatrixProduct, Minus, Primary };

Binding bindingOf(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Negate:
    return Minus;
  case Expr::Kind::Binary:
    if (llvm::StringRef("<>=!").contains(expr.text.front()))
      return Comparison;
    return expr.text == "@" ? MatrixProduct : expr.text == "*" || expr.text == "/" ? Product : Sum;
  default:
    return Primary;
  }
}

void printExpr(llvm::raw_ostream &os, const Expr &expr, Binding needed) {
  Binding binding = bindingOf(expr);
  if (binding < needed)
    os << '(';
  switch (expr.kind) {
  case Expr::Kind::Number:
  case Expr::Kind::Name:
    os << expr.text;
    break;
  case Expr::Kind::Negate:
    os << '-';
    printExpr(os, *expr.operands[0], Minus);
    break;
  case Expr::Kind::Binary:
    // All operators associate to the left, so a right operand of the same level needs its parentheses.
    printExpr(os, *expr.operands[0], binding == Comparison ? Sum : binding);
    os << ' ' << expr.text << ' ';
    printExpr(os, *expr.operands[1], Binding(binding + 1));
    break;
  case Expr::Kind::Call:
    os << expr.text << '(';
    for (size_t i = 0; i < expr.operands.size(); ++i) {
      os << (i ? ", " : "");
      if (!expr.labels[i].empty())
        os << expr.labels[i] << " = ";
      printExpr(os, *expr.operands[i], Comparison);
    }
    os << ')';
    break;
  case Expr::Kind::Index:
  case Expr::Kind::Slice:
    printExpr(os, *expr.operands[0], Primary);
    os << '[' << expr.text; // ":, " of a column
    printExpr(os, *expr.operands[1], Comparison);
    if (expr.kind == Expr::Kind::Slice) {
      os << "..";
      printExpr(os, *expr.operands[2], Comparison);
    }
    os << ']';
    break;
  }
  if (binding < needed)
    os << ')';
}

void printShape(llvm::raw_ostream &os, const Item &item) {
  if (!item.hasShape)
    return;
  os << ": ";
  if (item.shape.empty()) {
    os << "scalar";
    return;
  }
  os << '[';
  for (size_t i = 0; i < item.shape.size(); ++i) {
    os << (i ? ", " : "");
    printExpr(os, *item.shape[i], Comparison);
  }
  os << ']';
}

void printItem(llvm::raw_ostream &os, const Item &item, unsigned depth) {
  os.indent(2 * depth) << (item.complex ? "complex " : item.integer ? "int " : "");
  switch (item.kind) {
  case Item::Kind::Dim:
    os << "dim ";
    break;
  case Item::Kind::Const:
    os << "const ";
    break;
  case Item::Kind::Input:
    os << (item.shared ? "shared input " : "input ");
    break;
  case Item::Kind::Param:
    os << "param ";
    break;
  case Item::Kind::State:
    os << "state ";
    break;
  case Item::Kind::Let:
    os << "let ";
    break;
  case Item::Kind::Output:
    os << "output ";
    break;
  case Item::Kind::Assign:
    break;
  case Item::Kind::Restart:
    os << "restart ";
    printExpr(os, *item.value, Comparison);
    os << '\n';
    return;
  case Item::Kind::For:
    os << "for " << item.name << " in ";
    printExpr(os, *item.begin, Comparison);
    os << "..";
    printExpr(os, *item.end, Comparison);
    os << " {\n";
    for (const Item &inner : item.body)
      printItem(os, inner, depth + 1);
    os.indent(2 * depth) << "}\n";
    return;
  }
  os << item.name;
  if (item.element) {
    os << '[';
    printExpr(os, *item.element, Comparison);
    os << ']';
  }
  printShape(os, item);
  if (item.value) {
    os << (item.kind == Item::Kind::State ? " at start " : " = ");
    printExpr(os, *item.value, Comparison);
  }
  os << '\n';
}
} // namespace

std::string reduce::print(const ExprPtr &expr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printExpr(os, *expr, Comparison);
  return text;
}

std::string reduce::print(const Item &item) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printItem(os, item, 0);
  return text;
}

std::string reduce::print(const Spec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Function &function : spec.functions) {
    os << "fn " << function.name << '(';
    for (size_t i = 0; i < function.arguments.size(); ++i)
      os << (i ? ", " : "") << function.arguments[i];
    os << ") = ";
    printExpr(os, *function.value, Comparison);
    os << '\n';
  }
  for (const Recurrence &recurrence : spec.recurrences) {
    os << (text.empty() ? "" : "\n") << "recurrence " << recurrence.name << " {\n";
    for (const Item &item : recurrence.items)
      printItem(os, item, 1);
    os << "}\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

unsigned reduce::countItems(const std::vector<Item> &items) {
  unsigned count = 0;
  for (const Item &item : items)
    count += 1 + countItems(item.body);
  return count;
}

bool reduce::mentionsAnywhere(const Item &item, llvm::StringRef name) {
  for (const ExprPtr *expr : {&item.value, &item.element, &item.begin, &item.end})
    if (*expr && mentions(*expr, name))
      return true;
  for (const ExprPtr &size : item.shape)
    if (mentions(size, name))
      return true;
  for (const Item &inner : item.body)
    if (mentionsAnywhere(inner, name))
      return true;
  return false;
}

void reduce::transformExprs(std::vector<Item> &items, llvm::function_ref<ExprPtr(const ExprPtr &)> change) {
  for (Item &item : items) {
    for (ExprPtr *expr : {&item.value, &item.element, &item.begin, &item.end})
      if (*expr)
        *expr = change(*expr);
    for (ExprPtr &size : item.shape)
      size = change(size);
    transformExprs(item.body, change);
  }
}
