#include "Frontend/NearestName.h"
#include "Frontend/Parser.h"
#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

// Functions of the file's own. A call is a copy of the function's expression, with the arguments of the call in the
// places of the function's: so a function needs no shapes of its own, and is checked with those of each call. It knows
// its arguments, the built-in functions and the functions above it, so that none calls itself.

namespace recur::frontend {

using llvm::cast;

const Function *RecurrenceChecker::findFunction(llvm::StringRef name, uint32_t before) const {
  for (const Function *function : file.functions)
    if (function->name == name && function->range.end <= before)
      return function;
  return nullptr;
}

Expr *RecurrenceChecker::cloneExpr(const Expr *expr) {
  ++functionNodes;
  auto copied = [](auto *copy, const Expr *original) {
    copy->parenthesized = original->parenthesized;
    copy->hasIndex = original->hasIndex;
    copy->depth = original->depth;
    copy->range = original->range;
    return copy;
  };
  switch (expr->kind) {
  case Expr::Error:
    return copied(file.make<ErrorExpr>(expr->range), expr);
  case Expr::Number:
    return copied(file.make<NumberExpr>(expr->range, cast<NumberExpr>(expr)->value), expr);
  case Expr::Name:
    return copied(file.make<NameExpr>(expr->range, cast<NameExpr>(expr)->name), expr);
  case Expr::Negate:
    return copied(file.make<NegateExpr>(expr->range, cloneExpr(cast<NegateExpr>(expr)->operand)), expr);
  case Expr::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    Expr *lhs = cloneExpr(binary->lhs), *rhs = cloneExpr(binary->rhs);
    return copied(file.make<BinaryExpr>(binary->op, binary->operatorRange, lhs, rhs), expr);
  }
  case Expr::Index: {
    auto *index = cast<IndexExpr>(expr);
    Expr *base = cloneExpr(index->base), *place = cloneExpr(index->index);
    IndexExpr *copy = file.make<IndexExpr>(expr->range, base, place);
    copy->isColumn = index->isColumn;
    return copied(copy, expr);
  }
  case Expr::Slice: {
    auto *slice = cast<SliceExpr>(expr);
    Expr *base = cloneExpr(slice->base), *lower = cloneExpr(slice->lower), *upper = cloneExpr(slice->upper);
    return copied(file.make<SliceExpr>(expr->range, base, lower, upper), expr);
  }
  case Expr::Call: {
    auto *call = cast<CallExpr>(expr);
    llvm::SmallVector<Argument, 4> arguments(call->arguments);
    for (Argument &argument : arguments)
      if (!takesWord(call->callee, argument.keyword))
        argument.value = cloneExpr(argument.value);
    return copied(file.make<CallExpr>(expr->range, call->callee, call->calleeRange, file.copy<Argument>(arguments)),
                  expr);
  }
  }
  llvm_unreachable("every kind is listed");
}

/// A name in the expression of a function: one of its arguments, and nothing else.
Declaration *RecurrenceChecker::resolveArgument(NameExpr *expr) {
  for (Declaration *argument : functionArguments)
    if (argument->name == expr->name) {
      argument->used = true;
      return expr->declaration = argument;
    }
  if (expr->name == "pi")
    return expr->declaration = getPi();
  if (const BuiltinInfo *builtin = findBuiltin(expr->name)) {
    diagnostics
        .report(ErrorCode::FunctionWithoutCall, expr->range,
                "'" + expr->name + "' is a function and stands here without arguments")
        .help("write " + builtin->signature);
    return nullptr;
  }
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::UnknownName, expr->range, "'" + expr->name + "' is no argument of this function");
  NearestName nearest(expr->name);
  for (const Declaration *argument : functionArguments)
    nearest.offer(argument->name);
  if (!nearest.get().empty())
    diagnostic.help("did you mean '" + nearest.get() + "'?", expr->range, nearest.get());
  else
    diagnostic.help("a function knows its arguments alone: give it " + expr->name + " as one more");
  return nullptr;
}

Shape RecurrenceChecker::checkFunctionCall(CallExpr *call, const Function &function) {
  bool ok = true;
  for (const Argument &argument : call->arguments) {
    ok &= !checkValue(argument.value).isUnknown();
    if (!argument.keyword.empty()) {
      diagnostics
          .report(ErrorCode::UnknownArgument, argument.keywordRange,
                  "'" + function.name + "' has no argument that is given by name")
          .help("the arguments of a function of one's own stand in its order: leave '" + argument.keyword + " =' out");
      ok = false;
    }
  }
  if (call->arguments.size() != function.arguments.size()) {
    size_t given = call->arguments.size(), wanted = function.arguments.size();
    diagnostics
        .report(ErrorCode::WrongArgumentCount, call->range,
                "'" + function.name + "' takes " + llvm::Twine(wanted) + (wanted == 1 ? " argument" : " arguments") +
                    ", and " + llvm::Twine(given) + (given == 1 ? " is given" : " are given"))
        .note(function.nameRange, "declared here");
    return Shape();
  }
  if (!ok)
    return Shape();
  if (functionDepth + function.body->depth > Parser::kMaxDepth || functionNodes > kMaxUnrolledNodes) {
    bool tooDeep = functionNodes <= kMaxUnrolledNodes;
    diagnostics
        .report(tooDeep ? ErrorCode::NestingTooDeep : ErrorCode::UnrollLimit, call->range,
                tooDeep ? "functions of functions are nested here more than " + llvm::Twine(Parser::kMaxDepth) +
                              " levels deep"
                        : "the functions of this recurrence come to more than " + llvm::Twine(kMaxUnrolledNodes) +
                              " operations")
        .help("name what several calls share with let, and give it to them as an argument");
    return Shape();
  }
  llvm::SmallVector<Declaration *, 4> bound;
  for (auto [named, argument] : llvm::zip(function.arguments, call->arguments)) {
    Declaration *declaration = file.make<Declaration>(DeclarationKind::Argument, named->name, named->nameRange);
    declaration->init = argument.value;
    declaration->shape = argument.value->shape;
    bound.push_back(declaration);
  }
  call->boundArguments = file.copy<Declaration *>(bound);

  uint64_t nodesBefore = functionNodes;
  unsigned errorsBefore = diagnostics.getNumErrors();
  call->body = cloneExpr(function.body);
  statement->numNodes += uint32_t(functionNodes - nodesBefore);
  auto outerArguments = std::exchange(functionArguments, call->boundArguments);
  bool wasInFunction = std::exchange(inFunction, true);
  functionDepth += function.body->depth;
  Shape shape = checkValue(call->body);
  functionDepth -= function.body->depth;
  inFunction = wasInFunction;
  functionArguments = outerArguments;
  if (diagnostics.getNumErrors() != errorsBefore && !inFunction) {
    std::string arguments;
    for (const Declaration *argument : call->boundArguments)
      arguments += (arguments.empty() ? "" : ", ") + argument->name.str() + " is " + formatWithRank(argument->shape);
    diagnostics.getLast().note(call->range, "in this call of '" + function.name + "', where " + arguments);
  }
  return shape;
}

} // namespace recur::frontend
