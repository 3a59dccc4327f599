#include "Frontend/Habits.h"
#include "Frontend/NearestName.h"
#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace recur::frontend {
namespace {

/// Only so many names are compared with a misspelt one, so that a huge file full of errors is still checked promptly.
constexpr unsigned kMaxCandidates = 5000;

/// Whether the text has the name as a word of its own.
bool mentions(llvm::StringRef text, llvm::StringRef name) {
  auto isOfName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != llvm::StringRef::npos; at = text.find(name, at + 1))
    if ((at == 0 || !isOfName(text[at - 1])) && (at + name.size() == text.size() || !isOfName(text[at + name.size()])))
      return true;
  return false;
}

} // namespace

bool RecurrenceChecker::mayBeLost(llvm::StringRef name) const {
  return llvm::any_of(recurrence.lost, [&](SourceRange range) { return mentions(buffer.getText(range), name); });
}

void RecurrenceChecker::collectDeclarations() {
  for (Statement *statement : recurrence.body)
    if (auto *declaration = llvm::dyn_cast<Declaration>(statement)) {
      auto &table = declaration->is(DeclarationKind::Output) ? outputs : later;
      table.try_emplace(declaration->name, declaration);
    }
}

void RecurrenceChecker::declare(Declaration *declaration) {
  declarations.push_back(declaration);
  declaration->loopDepth = loopDepth;
  if (const Function *function = findFunction(declaration->name, ~0u))
    diagnostics
        .report(ErrorCode::ShadowsBuiltin, declaration->nameRange,
                "'" + declaration->name + "' is the name of a function")
        .note(function->nameRange, "declared here")
        .help("choose another name, such as " + declaration->name + "_");
  if (const BuiltinInfo *builtin = findBuiltin(declaration->name); builtin && !builtin->isFreeName)
    diagnostics
        .report(ErrorCode::ShadowsBuiltin, declaration->nameRange,
                "'" + declaration->name + "' is the name of a built-in function")
        .help("choose another name, such as " + declaration->name + "_");
  if (declaration->is(DeclarationKind::Output)) {
    Declaration *first = outputs.try_emplace(declaration->name, declaration).first->second;
    if (first != declaration)
      diagnostics
          .report(ErrorCode::DuplicateName, declaration->nameRange,
                  "an output named '" + declaration->name + "' exists already")
          .note(first->nameRange, "the other one")
          .help("an output is given once; collect its parts with let first");
    return;
  }
  auto [entry, isNew] = names.try_emplace(declaration->name, declaration);
  if (!isNew) {
    Declaration *first = entry->second;
    Diagnostic &diagnostic =
        diagnostics
            .report(ErrorCode::DuplicateName, declaration->nameRange, "'" + declaration->name + "' is declared already")
            .note(first->nameRange, "it is " + describe(first->declarationKind) + ", declared here");
    if (declaration->is(DeclarationKind::Let) && first->is(DeclarationKind::State)) {
      first->updated = true; // as was meant
      diagnostic.help("to give the state its next value, leave 'let' out: " + declaration->name + " = ...");
    } else if (declaration->is(DeclarationKind::Let) && mayBeAssigned(*first))
      diagnostic.help("to give it its next value in the loop, leave 'let' out: " + declaration->name + " = ...");
    else if (declaration->is(DeclarationKind::Let))
      diagnostic.help("a name keeps its value for the whole token: choose another name");
    return;
  }
  // What a loop may not declare was reported, and counts as declared outside.
  if (loopLocals && (declaration->is(DeclarationKind::Let) || declaration->is(DeclarationKind::LoopVariable)))
    loopLocals->push_back(declaration->name);
}

template <typename Filter>
Declaration *RecurrenceChecker::suggestName(Diagnostic &diagnostic, llvm::StringRef name, SourceRange range,
                                            Filter filter) {
  NearestName nearest(name);
  unsigned candidates = 0;
  // Declaration order, so that the answer does not depend on hashing.
  for (Declaration *declaration : declarations) {
    if (++candidates > kMaxCandidates)
      break;
    if (filter(*declaration) && lookup(declaration->name) == declaration)
      nearest.offer(declaration->name);
  }
  if (nearest.get().empty())
    return nullptr;
  diagnostic.help("did you mean '" + nearest.get() + "'?", range, nearest.get());
  return lookup(nearest.get());
}

bool RecurrenceChecker::reportIfDeclaredLater(llvm::StringRef name, SourceRange range) {
  Declaration *declaration = later.lookup(name);
  if (!declaration || declaration->range.end < range.begin)
    return false;
  if (declaration->range.begin < range.begin) {
    diagnostics.report(ErrorCode::UsedBeforeDeclaration, range, "'" + name + "' is used in its own definition")
        .help(declaration->is(DeclarationKind::State)
                  ? "a state has no value before its start, which is made of params, consts, dims and numbers"
                  : "only a state has a value from before: state " + name.str() + ": ...");
    return true;
  }
  diagnostics.report(ErrorCode::UsedBeforeDeclaration, range, "'" + name + "' is used before its declaration")
      .note(declaration->nameRange, "it is declared here as " + describe(declaration->declarationKind))
      .help("statements run in order: move the declaration up");
  return true;
}

void RecurrenceChecker::reportUnknown(llvm::StringRef name, SourceRange range) {
  // One report a name is enough.
  if (!reportedNames.insert(name).second || reportIfDeclaredLater(name, range))
    return;
  if (const BuiltinInfo *builtin = findBuiltin(name)) {
    diagnostics
        .report(ErrorCode::FunctionWithoutCall, range, "'" + name + "' is a function and stands here without arguments")
        .help("write " + builtin->signature);
    return;
  }
  if (Declaration *output = outputs.lookup(name)) {
    diagnostics.report(ErrorCode::OutputAsValue, range, "'" + name + "' is an output, which cannot be read")
        .note(output->nameRange, "declared here")
        .help("name the value with let, and give that to the output");
    return;
  }
  if (Declaration *local = endedLocals.lookup(name)) {
    diagnostics.report(ErrorCode::OutOfScope, range, "'" + name + "' exists only inside its loop")
        .note(local->nameRange, "it is " + describe(local->declarationKind) + ", declared here")
        .help("keep what leaves the loop in a state, or declare it before the loop");
    return;
  }
  if (auto *local = llvm::dyn_cast_or_null<Declaration>(statement); loop && local && local->name == name) {
    diagnostics.report(ErrorCode::UsedBeforeDeclaration, range, "'" + name + "' is used in its own definition")
        .help("what goes from one iteration to the next begins before the loop, with let " + name +
              " = 0, and goes on in it without let: " + name + " = " + name + " + ...");
    return;
  }
  if (mayBeLost(name))
    return;
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::UnknownName, range, "'" + name + "' is not declared");
  if (suggestName(diagnostic, name, range, [](const Declaration &) { return true; }))
    return;
  if (llvm::StringRef help = getHelpForName(name); !help.empty())
    diagnostic.help(help);
  else
    diagnostic.help(
        "declare it: as an input or param if the caller gives it, as a state if tokens keep it, with let or "
        "const otherwise");
}

/// The state that counts tokens, which is there from its first use on.
Declaration *RecurrenceChecker::getTokenCount() {
  if (!recurrence.tokenCount) {
    Declaration *count = file.make<Declaration>(DeclarationKind::State, "token", SourceRange());
    count->shape = Shape::scalar();
    count->used = count->updated = true;
    recurrence.tokenCount = count;
    recurrence.hasImplicitStates = true;
  }
  return recurrence.tokenCount;
}

/// The number pi, unless the author gives its name to something else.
Declaration *RecurrenceChecker::getPi() {
  if (!pi) {
    pi = file.make<Declaration>(DeclarationKind::Const, "pi", SourceRange());
    pi->shape = Shape::scalar();
    pi->used = pi->known = true;
    pi->number = llvm::numbers::pi;
  }
  return pi;
}

Declaration *RecurrenceChecker::resolve(NameExpr *expr) {
  if (inFunction)
    return resolveArgument(expr);
  Declaration *declaration = lookup(expr->name);
  if (!declaration && expr->name == "token" && !later.count("token"))
    return expr->declaration = getTokenCount();
  if (!declaration && expr->name == "pi" && !later.count("pi") && !endedLocals.count("pi"))
    return expr->declaration = getPi();
  if (!declaration) {
    reportUnknown(expr->name, expr->range);
    return nullptr;
  }
  declaration->used = true;
  expr->declaration = declaration;
  return declaration;
}

void RecurrenceChecker::reportUnknownState(AssignStatement *assign) {
  llvm::StringRef name = assign->name;
  if (!reportedNames.insert(name).second)
    return;
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::UnknownAssignment, assign->nameRange,
                                              "there is no state '" + name + "' to assign to");
  Declaration *meant = suggestName(diagnostic, name, assign->nameRange, [](const Declaration &declaration) {
    return declaration.is(DeclarationKind::State);
  });
  if (meant)
    meant->updated = true;
  else if (loop && mentions(buffer.getText(assign->value->range), name))
    diagnostic.help("it is read as well, so it is declared before the loop: let " + name +
                    " = 0 begins anew in each token, state " + name + " goes on from token to token");
  else if (mentions(buffer.getText(assign->value->range), name))
    diagnostic.help("it is read as well, so it is a state: declare it before, as state " + name +
                    " for a number, state " + name + ": [n] for a vector or state " + name + ": [m, n] for a matrix");
  else
    diagnostic.help("for a local name write let " + name + " = ...; a state is declared first: state " + name +
                    ": ...");
}

/// A state, and within a loop a let that stands before it: the next iteration finds what this one assigns.
bool RecurrenceChecker::mayBeAssigned(const Declaration &declaration) const {
  return declaration.is(DeclarationKind::State) ||
         (declaration.is(DeclarationKind::Let) && declaration.loopDepth < loopDepth);
}

void RecurrenceChecker::checkAssign(AssignStatement *assign) {
  Declaration *target = lookup(assign->name);
  // What is missing is the declaration, which the value then needs as well.
  if (!target && !later.count(assign->name) && !outputs.count(assign->name) && !mayBeLost(assign->name))
    reportUnknownState(assign);
  Shape value = checkValue(assign->value);
  if (!target) {
    if (Declaration *output = outputs.lookup(assign->name); output && !later.count(assign->name)) {
      diagnostics
          .report(ErrorCode::NotAssignable, assign->nameRange, "'" + assign->name + "' is an output, not a state")
          .note(output->nameRange, "declared here")
          .help("an output is given once, where it is declared");
      return;
    }
    if (Declaration *declaredLater = later.lookup(assign->name))
      declaredLater->updated = true;
    if (reportedNames.insert(assign->name).second)
      reportIfDeclaredLater(assign->name, assign->nameRange);
    return;
  }
  if (!mayBeAssigned(*target)) {
    Diagnostic &diagnostic =
        diagnostics
            .report(ErrorCode::NotAssignable, assign->nameRange,
                    "'" + assign->name + "' is " + describe(target->declarationKind) + ", not a state")
            .note(target->nameRange, "declared here");
    if (target->is(DeclarationKind::Let) && loop)
      diagnostic.help("within an iteration a name keeps its value: declare it before the loop if it is to go from one "
                      "iteration to the next");
    else if (target->is(DeclarationKind::Let))
      diagnostic.help("a name keeps its value for the whole token: give the new value a name of its own with let");
    else
      diagnostic.help("only states are assigned; for a new value write let with a name of its own");
    return;
  }
  assign->target = target;
  target->updated = true;
  if (!target->shape.isComplex() && !value.isUnknown() && !target->shape.isUnknown()) {
    bool isState = target->is(DeclarationKind::State);
    requireReal(assign->value, "'" + target->name + "' is real",
                isState ? "declare it with complex state " + target->name + ", or take a part with re(z) or im(z)"
                        : "begin with a complex number, such as complex(0, 0), or take a part with re(z) or im(z)");
  }
  if (value.isUnknown() || target->shape.isUnknown() || agree(value, target->shape))
    return;
  std::string message =
      "'" + assign->name.str() + "' is " + formatWithRank(target->shape) + ", and this is " + formatWithRank(value);
  if (reportIfTransposedOuter(assign->value, target->shape, assign->value->range, message, target))
    return;
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::StateShape, assign->value->range, message)
                               .note(target->nameRange, (target->is(DeclarationKind::State) ? "the state" : "the let") +
                                                            llvm::Twine(" is declared here"));
  noteEqualDims(diagnostic, value, target->shape);
  auto *product = llvm::dyn_cast<BinaryExpr>(assign->value);
  if (target->shape.isMatrix() && product && product->op == BinaryOperator::Product && product->lhs->shape.isMatrix())
    diagnostic.help("'@' with a vector reads the matrix; to scale its columns write " + quote(product->lhs) +
                    " @ diag(" + quote(product->rhs, false) + ")");
  else if (value.isScalar() && target->shape.isVector())
    diagnostic.help("a scalar is spread over a vector only in arithmetic: write " + quote(assign->value) + " * ones(" +
                    format(target->shape.getSize()) + ")");
  else if (target->is(DeclarationKind::Let) && target->shape.isScalar())
    diagnostic.help("a let keeps the shape that it begins with: let " + target->name + " = 0 * " +
                    (value.isVector()
                         ? "ones(" + format(value.getSize()) + ")"
                         : "outer(ones(" + format(value.getRows()) + "), ones(" + format(value.getColumns()) + "))"));
  else if (target->lacksShape())
    diagnostic.help("without a shape a state is a scalar; declare state " + target->name + ": " + format(value));
  else if (value.isVector() && target->shape.isMatrix())
    diagnostic.help("outer(a, b) makes a matrix of two vectors");
}

} // namespace recur::frontend
