#include "Reduce/SpecParser.h"
#include "Frontend/Parser.h"
#include "Support/Diagnostics.h"
#include <fmt/format.h>

using namespace recur;
using namespace recur::reduce;
namespace ast = recur::frontend;

static ExprPtr convert(const ast::Expr *expr) {
  switch (expr->kind) {
  case ast::Expr::Error:
    return nullptr; // does not occur in a file without errors
  case ast::Expr::Number:
    return makeExpr(Expr::Kind::Number, fmt::format("{}", llvm::cast<ast::NumberExpr>(expr)->value));
  case ast::Expr::Name:
    return makeExpr(Expr::Kind::Name, llvm::cast<ast::NameExpr>(expr)->name);
  case ast::Expr::Negate:
    return makeExpr(Expr::Kind::Negate, "", {convert(llvm::cast<ast::NegateExpr>(expr)->operand)});
  case ast::Expr::Binary: {
    auto *binary = llvm::cast<ast::BinaryExpr>(expr);
    return makeExpr(Expr::Kind::Binary, spell(binary->op), {convert(binary->lhs), convert(binary->rhs)});
  }
  case ast::Expr::Index: {
    auto *index = llvm::cast<ast::IndexExpr>(expr);
    return makeExpr(Expr::Kind::Index, index->isColumn ? ":, " : "", {convert(index->base), convert(index->index)});
  }
  case ast::Expr::Slice: {
    auto *slice = llvm::cast<ast::SliceExpr>(expr);
    return makeExpr(Expr::Kind::Slice, "", {convert(slice->base), convert(slice->lower), convert(slice->upper)});
  }
  case ast::Expr::Call: {
    auto *call = llvm::cast<ast::CallExpr>(expr);
    Expr result{Expr::Kind::Call, call->callee.str(), {}, {}, {}};
    for (const ast::Argument &argument : call->arguments) {
      result.operands.push_back(convert(argument.value));
      result.labels.push_back(argument.keyword.str());
    }
    return std::make_shared<const Expr>(std::move(result));
  }
  }
  return nullptr;
}

static Item::Kind convert(ast::DeclarationKind kind) {
  switch (kind) {
  case ast::DeclarationKind::Dim:
    return Item::Kind::Dim;
  case ast::DeclarationKind::Const:
    return Item::Kind::Const;
  case ast::DeclarationKind::Input:
    return Item::Kind::Input;
  case ast::DeclarationKind::Param:
    return Item::Kind::Param;
  case ast::DeclarationKind::State:
    return Item::Kind::State;
  case ast::DeclarationKind::Output:
    return Item::Kind::Output;
  case ast::DeclarationKind::Let:
  case ast::DeclarationKind::LoopVariable: // stands only in a loop's head, which is converted by itself
  case ast::DeclarationKind::Argument:     // and this in a function's
    return Item::Kind::Let;
  }
  return Item::Kind::Let;
}

static Item convert(const ast::Statement *statement) {
  Item item{};
  if (auto *loop = llvm::dyn_cast<ast::ForStatement>(statement)) {
    item.kind = Item::Kind::For;
    item.name = loop->variable->name.str();
    item.begin = convert(loop->lower);
    item.end = convert(loop->upper);
    for (const ast::Statement *inner : loop->body)
      item.body.push_back(convert(inner));
    return item;
  }
  if (auto *assign = llvm::dyn_cast<ast::AssignStatement>(statement)) {
    item.kind = Item::Kind::Assign;
    item.name = assign->name.str();
    item.value = convert(assign->value);
    return item;
  }
  if (auto *restart = llvm::dyn_cast<ast::RestartStatement>(statement)) {
    item.kind = Item::Kind::Restart;
    item.value = convert(restart->value);
    return item;
  }
  auto *declaration = llvm::cast<ast::Declaration>(statement);
  item.kind = convert(declaration->declarationKind);
  item.name = declaration->name.str();
  item.shared = declaration->shared;
  item.complex = declaration->complex;
  item.integer = declaration->integer;
  item.hasShape = declaration->shapeSyntax.range.isValid();
  for (const ast::Expr *size : declaration->shapeSyntax.entries)
    item.shape.push_back(convert(size));
  if (declaration->init)
    item.value = convert(declaration->init);
  if (declaration->element)
    item.element = convert(declaration->element);
  return item;
}

std::optional<Spec> reduce::parseSpec(llvm::StringRef text) {
  SourceBuffer buffer("", text.str());
  DiagnosticEngine diagnostics;
  std::unique_ptr<ast::File> file = ast::Parser(buffer, diagnostics).parseFile();
  if (!file || diagnostics.hasErrors())
    return std::nullopt;
  Spec spec;
  for (const ast::Function *function : file->functions) {
    Function &out = spec.functions.emplace_back();
    out.name = function->name.str();
    for (const ast::Declaration *argument : function->arguments)
      out.arguments.push_back(argument->name.str());
    out.value = convert(function->body);
  }
  for (const auto &recurrence : file->recurrences) {
    Recurrence &out = spec.recurrences.emplace_back();
    out.name = recurrence->name.str();
    for (const ast::Statement *statement : recurrence->body)
      out.items.push_back(convert(statement));
  }
  return spec;
}
