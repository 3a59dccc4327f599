#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace recur::frontend {

using llvm::cast;
using llvm::dyn_cast;

void RecurrenceChecker::check() {
  collectDeclarations();
  unsigned errorsBefore = diagnostics.getNumErrors();
  checkBody(recurrence.body);
  checkOutputsAndUpdates();
  if (diagnostics.getNumErrors() == errorsBefore && !recurrence.damaged)
    if (checkUnrolled(recurrence.body, /*inLoop=*/false))
      checkElements();
}

void RecurrenceChecker::checkBody(llvm::ArrayRef<Statement *> body) {
  for (Statement *statement : body) {
    if (diagnostics.isFull())
      return;
    checkStatement(statement);
  }
}

void RecurrenceChecker::checkStatement(Statement *next) {
  statement = next;
  switch (statement->kind) {
  case Statement::Declare:
    return checkDeclaration(cast<Declaration>(statement));
  case Statement::Assign:
    return checkAssign(cast<AssignStatement>(statement));
  case Statement::For:
    return checkFor(cast<ForStatement>(statement));
  case Statement::Restart:
    return checkRestart(cast<RestartStatement>(statement));
  }
}

void RecurrenceChecker::checkRestart(RestartStatement *next) {
  Shape shape = checkValue(next->value);
  auto refuse = [&](SourceRange range, const llvm::Twine &message) -> Diagnostic & {
    return diagnostics.report(ErrorCode::BadRestart, range, message);
  };
  if (!shape.isUnknown() && !shape.isScalar())
    refuse(next->value->range, "'restart' takes a scalar that is 0 or 1, and this is " + formatWithRank(shape))
        .help("all states begin anew at once: give it one input a token");
  requireReal(next->value, "'restart' takes a scalar that is 0 or 1",
              "all states begin anew at once: give it one input a token");
  if (loop)
    refuse(next->range, "a restart cannot stand in a loop").note(loop->headRange, "the loop");
  if (restart)
    refuse(next->range, "a restart stands here already")
        .note(restart->range, "the other one")
        .help("to restart for either of two reasons write restart max(a, b)");
  restart = next;
  for (const Declaration *state : declarations)
    if (state->is(DeclarationKind::State) && (state->used || state->updated)) {
      refuse(next->range, "the state '" + state->name + "' is used before the restart")
          .note(state->nameRange, "it is declared here")
          .help("states are zero for the whole token that restarts: move it up, before all that reads or updates one");
      return;
    }
  if (recurrence.hasImplicitStates)
    refuse(next->range, "what earlier tokens had is used before the restart")
        .help("nothing is known of them in the token that restarts: move it up, before delay, conv and token");
}

void RecurrenceChecker::checkDeclaration(Declaration *declaration) {
  DeclarationKind kind = declaration->declarationKind;
  bool isOutput = kind == DeclarationKind::Output;
  if (loop && kind != DeclarationKind::Let && !declaration->element) {
    diagnostics
        .report(isOutput ? ErrorCode::OutputInLoop : ErrorCode::DeclarationInLoop, declaration->nameRange,
                describe(kind) + " cannot be declared inside a loop")
        .note(loop->headRange, "the loop")
        .help(isOutput ? "to give an element or a row in each iteration write output " + declaration->name + "[" +
                             loop->variable->name + "] = ..."
                       : std::string("declare it before the loop"));
  }
  switch (kind) {
  case DeclarationKind::Dim:
    checkDim(declaration);
    break;
  case DeclarationKind::Const:
    checkConst(declaration);
    break;
  case DeclarationKind::Input:
  case DeclarationKind::Param:
  case DeclarationKind::State:
    declaration->shape = resolveShape(declaration->shapeSyntax).ofNumbers(declaration->complex);
    if (declaration->init)
      checkStart(declaration);
    break;
  case DeclarationKind::Let:
    declaration->shape = checkValue(declaration->init);
    break;
  case DeclarationKind::Output:
    checkOutput(declaration);
    break;
  case DeclarationKind::LoopVariable: // declared by checkFor
  case DeclarationKind::Argument:     // by a call
    break;
  }
  declare(declaration);
}

/// Checks an expression that must be a number at compile time. The evaluator reports what it cannot evaluate.
void RecurrenceChecker::requireNumber(Expr *expr, llvm::StringRef what) {
  Shape shape = checkValue(expr);
  if (!shape.isUnknown() && !shape.isScalar())
    diagnostics.report(ErrorCode::NotANumber, expr->range,
                       what + " must be a number, and this is " + formatWithRank(shape));
}

void RecurrenceChecker::checkDim(Declaration *dim) {
  dim->index = uint32_t(recurrence.dims.size());
  recurrence.dims.push_back(dim);
  dim->shape = Shape::scalar();
  std::optional<int64_t> value;
  llvm::StringRef origin = "";
  bool failed = false;
  if (dim->init) {
    unsigned errorsBefore = diagnostics.getNumErrors();
    requireNumber(dim->init, "the default of a dim");
    if (diagnostics.getNumErrors() == errorsBefore &&
        evaluator.requireConstant(dim->init, "the default of a dim", /*allowLoopVariables=*/false) &&
        !options.dims.count(dim->name.str()))
      value = evaluator.evaluateInteger(dim->init, "the default of a dim");
    failed = !value;
  }
  if (auto given = options.dims.find(dim->name.str()); given != options.dims.end()) {
    value = given->second;
    origin = " (given on the command line)";
  } else if (!value && !failed && options.assumedDim) {
    value = options.assumedDim;
    dim->assumed = true;
    origin = " (assumed)";
  }
  if (!value) {
    if (!failed)
      diagnostics.report(ErrorCode::DimWithoutValue, dim->nameRange, "the dim '" + dim->name + "' has no value")
          .help("pass --dim " + dim->name + "=128, or give it a default: dim " + dim->name + " = 128");
    return;
  }
  if (*value < 1 || *value > kMaxDim) {
    diagnostics
        .report(ErrorCode::DimOutOfRange, dim->nameRange,
                "the dim '" + dim->name + "' is " + llvm::Twine(*value) + origin + "; a size lies between 1 and " +
                    llvm::Twine(kMaxDim))
        .help("pass --dim " + dim->name + "=N with such an N");
    return;
  }
  dim->known = true;
  dim->number = double(*value);
}

void RecurrenceChecker::checkConst(Declaration *constant) {
  unsigned errorsBefore = diagnostics.getNumErrors();
  requireNumber(constant->init, "a const");
  constant->shape = Shape::scalar();
  if (diagnostics.getNumErrors() != errorsBefore ||
      !evaluator.requireConstant(constant->init, "a const", /*allowLoopVariables=*/false))
    return;
  std::optional<double> value;
  if (auto given = options.constants.find(constant->name.str()); given != options.constants.end()) {
    value = given->second;
    if (!std::isfinite(*value)) {
      diagnostics.report(ErrorCode::ConstNotFinite, constant->nameRange,
                         "the const '" + constant->name +
                             "' is given on the command line as a number that is not finite");
      return;
    }
  } else {
    value = evaluator.evaluate(constant->init);
  }
  if (value) {
    constant->known = true;
    constant->number = *value;
  }
}

void RecurrenceChecker::checkOutput(Declaration *output) {
  Shape value = checkValue(output->init);
  if (!output->complex)
    requireReal(output->init, "the output '" + output->name + "' is real",
                "for both parts write complex output " + output->name + " = ..., for one of them re(z) or im(z)");
  output->shape = value.ofNumbers(output->complex);
  if (output->element) {
    checkPlace(output->element, "the place of an element");
    if (!loop)
      diagnostics
          .report(ErrorCode::OutputElements, output->nameRange,
                  "the elements of an output are given in a loop, all by one statement")
          .help("elsewhere give it as a whole: output " + output->name + " = stack(a, b, ...)");
    if (value.isMatrix())
      diagnostics
          .report(ErrorCode::OutputElements, output->init->range,
                  "an element of an output is a scalar or a vector, and this is " + formatWithRank(value))
          .help("a value has at most two dimensions");
  }
  if (!output->shapeSyntax.range.isValid())
    return;
  Shape declared = resolveShape(output->shapeSyntax);
  if (!declared.isUnknown())
    output->shape = declared.ofNumbers(output->complex);
  if (agree(declared, value))
    return;
  std::string message = "the output '" + output->name.str() + "' is " + formatWithRank(declared) + ", and this is " +
                        formatWithRank(value);
  if (reportIfTransposedOuter(output->init, declared, output->init->range, message, output))
    return;
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::OutputShape, output->init->range, message)
                               .note(output->shapeSyntax.range, "the shape is declared here");
  noteEqualDims(diagnostic, declared, value);
  auto *product = dyn_cast<BinaryExpr>(output->init);
  if (product && product->op == BinaryOperator::Product && declared.isVector() && value.isVector())
    diagnostic.help("S @ x has the rows of S, x @ S has its columns");
  else if (output->element)
    diagnostic.help("the shape here is that of one element or row; the loop says how many there are");
}

void RecurrenceChecker::checkFor(ForStatement *statement) {
  for (Expr *bound : {statement->lower, statement->upper}) {
    unsigned errorsBefore = diagnostics.getNumErrors();
    requireNumber(bound, "the bound of a loop");
    if (diagnostics.getNumErrors() == errorsBefore)
      evaluator.requireConstant(bound, "the bound of a loop", /*allowLoopVariables=*/true);
  }
  std::vector<llvm::StringRef> locals;
  auto *outerLocals = loopLocals;
  auto *outerLoop = loop;
  loopLocals = &locals;
  loop = statement;
  ++loopDepth;
  statement->variable->shape = Shape::scalar();
  // The first iteration says how long slices are; that the others agree is seen when the loop is unrolled.
  if (auto first = evaluator.tryToEvaluate(statement->lower)) {
    statement->variable->known = true;
    statement->variable->number = *first;
  }
  declare(statement->variable);
  checkBody(statement->body);
  --loopDepth;
  loop = outerLoop;
  loopLocals = outerLocals;
  for (llvm::StringRef name : locals) {
    endedLocals[name] = lookup(name);
    names.erase(name);
  }
}

Shape RecurrenceChecker::resolveShape(const ShapeSyntax &syntax) {
  if (syntax.malformed)
    return Shape();
  switch (syntax.entries.size()) {
  case 0:
    return Shape::scalar();
  case 1: {
    return Shape::vector(resolveExtent(syntax.entries[0]));
  }
  default: {
    Extent rows = resolveExtent(syntax.entries[0]), columns = resolveExtent(syntax.entries[1]);
    return makeMatrix(syntax.range, rows, columns);
  }
  }
}

/// A value's name where a dim's belongs, which often differs in case only; and a dim that is not declared.
bool RecurrenceChecker::reportIfNoSize(NameExpr *name) {
  if (Declaration *declaration = lookup(name->name);
      declaration && (declaration->is(DeclarationKind::Dim) || declaration->is(DeclarationKind::Const)))
    return false;
  Declaration *value = lookup(name->name) ? lookup(name->name) : later.lookup(name->name);
  for (Declaration *dim : declarations)
    if (dim->is(DeclarationKind::Dim) && dim->name != name->name && dim->name.equals_insensitive(name->name)) {
      Diagnostic &diagnostic = diagnostics.report(ErrorCode::NotAnExtent, name->range,
                                                  value ? "a size is a dim or a const, and '" + name->name + "' is " +
                                                              describe(value->declarationKind)
                                                        : "there is no dim '" + name->name + "'");
      diagnostic.help("did you mean '" + dim->name + "'?", name->range, dim->name);
      dim->used = true;
      if (value)
        diagnostic.note(value->nameRange, "'" + name->name + "' is declared here");
      return true;
    }
  if (value && !lookup(name->name) && !value->is(DeclarationKind::Dim) && !value->is(DeclarationKind::Const)) {
    reportedNames.insert(name->name);
    diagnostics
        .report(ErrorCode::NotAnExtent, name->range,
                "'" + name->name + "' is " + describe(value->declarationKind) + ", not a size")
        .note(value->nameRange, "it is declared here")
        .help("a size is a dim, a const or a whole number");
    return true;
  }
  if (value || mayBeLost(name->name) || !reportedNames.insert(name->name).second)
    return !value && reportedNames.contains(name->name);
  diagnostics.report(ErrorCode::UnknownName, name->range, "there is no dim '" + name->name + "'")
      .help("declare it at the top of the recurrence: dim " + name->name);
  return true;
}

Extent RecurrenceChecker::resolveExtent(Expr *entry) {
  if (auto *name = dyn_cast<NameExpr>(entry)) {
    if (reportIfNoSize(name))
      return Extent();
    Declaration *declaration = resolve(name);
    if (!declaration)
      return Extent();
    if (declaration->is(DeclarationKind::Dim))
      return Extent::ofDim(declaration->index);
    if (!declaration->is(DeclarationKind::Const)) {
      diagnostics
          .report(ErrorCode::NotAnExtent, entry->range,
                  "'" + name->name + "' is " + describe(declaration->declarationKind) + ", not a size")
          .note(declaration->nameRange, "declared here")
          .help("a size is a dim, a const or a whole number");
      return Extent();
    }
  }
  auto value = evaluator.evaluateInteger(entry, "a size");
  if (!value)
    return Extent();
  if (*value < 1 || *value > kMaxDim) {
    diagnostics.report(ErrorCode::DimOutOfRange, entry->range,
                       "this size is " + llvm::Twine(*value) + "; a size lies between 1 and " + llvm::Twine(kMaxDim));
    return Extent();
  }
  return Extent::ofNumber(uint32_t(*value));
}

void RecurrenceChecker::checkOutputsAndUpdates() {
  if (recurrence.damaged)
    return;
  checkNamesOfParts();
  bool hasOutput =
      llvm::any_of(declarations, [](auto *declaration) { return declaration->is(DeclarationKind::Output); });
  if (!hasOutput)
    diagnostics
        .report(ErrorCode::NoOutput, recurrence.nameRange, "the recurrence '" + recurrence.name + "' has no output")
        .help("say what a token gives: output o: [V] = ...");
  for (const Declaration *declaration : declarations)
    if (declaration->is(DeclarationKind::State) && !declaration->updated)
      diagnostics
          .report(ErrorCode::StateNeverUpdated, declaration->nameRange,
                  "the state '" + declaration->name + "' is never updated")
          .help("give it a next value: " + declaration->name + " = ...; what stays the same is a param");
}

void RecurrenceChecker::warnAboutUnused() {
  for (const Declaration *declaration : declarations) {
    if (declaration->is(DeclarationKind::Output)) {
      if (Declaration *other = names.lookup(declaration->name))
        diagnostics
            .report(ErrorCode::OutputSharesName, declaration->nameRange,
                    "the output '" + declaration->name + "' has the name of " + describe(other->declarationKind))
            .note(other->nameRange, "in expressions the name means this one");
      continue;
    }
    if (declaration->used)
      continue;
    auto warn = [&](ErrorCode code, llvm::StringRef help) {
      diagnostics
          .report(code, declaration->nameRange,
                  "the " + spell(declaration->declarationKind) + " '" + declaration->name + "' is never used")
          .help(help);
    };
    switch (declaration->declarationKind) {
    case DeclarationKind::Input:
      warn(ErrorCode::UnusedInput, "remove it: callers would have to pass it for nothing");
      break;
    case DeclarationKind::Param:
      warn(ErrorCode::UnusedParam, "remove it: callers would have to pass it for nothing");
      break;
    case DeclarationKind::Let:
      warn(ErrorCode::UnusedLet, "remove it, or use it");
      break;
    case DeclarationKind::Const:
      warn(ErrorCode::UnusedConst, "remove it, or use it");
      break;
    case DeclarationKind::Dim:
      warn(ErrorCode::UnusedDim, "remove it, or use it in a shape");
      break;
    case DeclarationKind::State:
      diagnostics
          .report(ErrorCode::UnreadState, declaration->nameRange,
                  "the state '" + declaration->name + "' is updated but never read")
          .help("without a reader it need not be kept from token to token; is an output or an update missing?");
      break;
    case DeclarationKind::Output:
    case DeclarationKind::LoopVariable:
    case DeclarationKind::Argument:
      break;
    }
  }
}

} // namespace recur::frontend
