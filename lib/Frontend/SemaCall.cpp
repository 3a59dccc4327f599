#include "Frontend/Habits.h"
#include "Frontend/NearestName.h"
#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

namespace recur::frontend {

using llvm::dyn_cast;

Shape RecurrenceChecker::checkCall(CallExpr *call) {
  call->builtin = findBuiltin(call->callee);
  if (!call->builtin)
    if (const Function *function = findFunction(call->callee, call->range.begin))
      return checkFunctionCall(call, *function);
  if (!call->builtin) {
    for (const Argument &argument : call->arguments)
      check(argument.value);
    if (Declaration *value = lookup(call->callee)) {
      value->used = true;
      Diagnostic &diagnostic =
          diagnostics
              .report(ErrorCode::NotAFunction, call->calleeRange,
                      "'" + call->callee + "' is " + describe(value->declarationKind) + ", not a function")
              .note(value->nameRange, "declared here");
      if (value->shape.isVector() || value->shape.isMatrix())
        diagnostic.help("an element is written " + call->callee + "[j], a product with '*' or '@'");
      else
        diagnostic.help("a product is written with '*'");
      return Shape();
    }
    if (const Function *function = findFunction(call->callee, ~0u)) {
      bool isItself = function->range.begin <= call->range.begin && call->range.end <= function->range.end;
      diagnostics
          .report(ErrorCode::UnknownFunction, call->calleeRange,
                  "the function '" + call->callee + "' is used " + (isItself ? "in itself" : "before its declaration"))
          .note(function->nameRange, "declared here")
          .help(isItself ? "a function cannot call itself; what goes on from token to token is a state"
                         : "move the function up");
      return Shape();
    }
    if (mayBeLost(call->callee))
      return Shape();
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::UnknownFunction, call->calleeRange,
                                                "there is no function '" + call->callee + "'");
    if (std::string help = getHelpForFunction(call->callee); !help.empty()) {
      diagnostic.help(help);
      return Shape();
    }
    NearestName nearest(call->callee);
    for (const BuiltinInfo &builtin : getBuiltins())
      nearest.offer(builtin.name);
    for (const Function *function : file.functions)
      nearest.offer(function->name);
    if (!nearest.get().empty())
      diagnostic.help("did you mean '" + nearest.get() + "'?", call->calleeRange, nearest.get());
    else
      diagnostic.help("docs/language.md lists the functions; one of your own stands before the recurrences: fn " +
                      call->callee + "(a, b) = a * b");
    return Shape();
  }
  return checkArguments(call) ? checkBuiltin(call) : Shape();
}

/// What to write for a function that is given a direction, as `sum(S, axis=1)`, or another argument that it has not.
static std::string getHelpForDirection(const BuiltinInfo &builtin, llvm::StringRef keyword) {
  if (keyword == "axis" || keyword == "dim" || keyword == "keepdims" || keyword == "keepdim") {
    if (builtin.id == Builtin::Sum)
      return "sum(a) is over all elements; of each row write S @ ones(n), of each column ones(m) @ S";
    if (builtin.id == Builtin::Max || builtin.id == Builtin::Min)
      return ("there is no " + builtin.name + " over the elements; " + builtin.signature + " is elementwise").str();
    return ("'" + builtin.name + "' goes over the whole vector: write " + builtin.signature).str();
  }
  return ("write " + builtin.signature).str();
}

static std::string getHelpForArguments(const BuiltinInfo &builtin, unsigned given) {
  if (given == 1 && (builtin.id == Builtin::Max || builtin.id == Builtin::Min))
    return getHelpForDirection(builtin, "axis");
  return ("write " + builtin.signature).str();
}

/// Checks how many arguments there are and how they are named, and gives each its shape.
bool RecurrenceChecker::checkArguments(CallExpr *call) {
  const BuiltinInfo &builtin = *call->builtin;
  bool ok = true, hasUnknown = false;
  unsigned numPositional = 0;
  llvm::StringMap<SourceRange> given;
  for (const Argument &argument : call->arguments) {
    if (argument.keyword.empty()) {
      ++numPositional;
      if (builtin.id == Builtin::Diag || builtin.id == Builtin::Ones)
        check(argument.value);
      else
        checkValue(argument.value);
      continue;
    }
    if (!takesWord(builtin.name, argument.keyword))
      checkValue(argument.value);
    if (!llvm::is_contained(builtin.keywords, argument.keyword)) {
      Diagnostic &diagnostic =
          diagnostics.report(ErrorCode::UnknownArgument, argument.keywordRange,
                             "'" + builtin.name + "' has no argument named '" + argument.keyword + "'");
      NearestName nearest(argument.keyword);
      for (llvm::StringRef keyword : builtin.keywords)
        nearest.offer(keyword);
      if (!nearest.get().empty())
        diagnostic.help("did you mean '" + nearest.get() + "'?", argument.keywordRange, nearest.get());
      else
        diagnostic.help(getHelpForDirection(builtin, argument.keyword));
      ok = false;
      hasUnknown = true;
    }
    auto [first, isNew] = given.try_emplace(argument.keyword, argument.keywordRange);
    if (!isNew) {
      diagnostics
          .report(ErrorCode::DuplicateArgument, argument.keywordRange, "'" + argument.keyword + "' is given twice")
          .note(first->second, "the first time");
      ok = false;
    }
  }
  bool isEnough = builtin.isVariadic && numPositional >= builtin.numPositional;
  if (numPositional != builtin.numPositional && !isEnough && !hasUnknown) {
    diagnostics
        .report(ErrorCode::WrongArgumentCount, call->range,
                "'" + builtin.name + "' takes " + (builtin.isVariadic ? "at least " : "") +
                    llvm::Twine(builtin.numPositional) + (builtin.keywords.empty() ? "" : " unnamed") +
                    (builtin.numPositional == 1 ? " argument" : " arguments") + ", and " + llvm::Twine(numPositional) +
                    (numPositional == 1 ? " is given" : " are given"))
        .help(getHelpForArguments(builtin, numPositional));
    ok = false;
  }
  return ok;
}

bool RecurrenceChecker::requireVector(CallExpr *call, unsigned index) {
  Expr *argument = call->arguments[index].value;
  if (argument->shape.isVector())
    return true;
  if (argument->shape.isUnknown())
    return false;
  llvm::StringRef which = call->builtin->numPositional == 1 ? "" : index == 0 ? "first " : "second ";
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::ArgumentRank, argument->range,
                                              "the " + which + "argument of '" + call->callee +
                                                  "' must be a vector, and this is " + formatWithRank(argument->shape));
  noteShape(diagnostic, argument);
  diagnostic.help("write " + call->builtin->signature + " with " +
                  (call->builtin->numPositional == 1 ? "a vector" : "vectors a and b"));
  return false;
}

/// where(c, a, b): the condition is a scalar, or has the shape of what is chosen.
Shape RecurrenceChecker::checkCondition(CallExpr *call, Shape branches) {
  Expr *condition = call->arguments[0].value;
  Shape shape = condition->shape;
  if (shape.isUnknown() || shape.isScalar() || (shape.getKind() == branches.getKind() && agree(shape, branches)))
    return branches;
  if (branches.isScalar())
    return shape;
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::ShapesDiffer, condition->range,
                         "the condition of 'where' is " + formatWithRank(shape) +
                             ", and it chooses between values that are " + formatWithRank(branches));
  noteShape(diagnostic, condition);
  noteEqualDims(diagnostic, shape, branches);
  diagnostic.help("a condition is a scalar, or has the shape of what it chooses");
  return Shape();
}

Shape RecurrenceChecker::checkBuiltin(CallExpr *call) {
  auto argument = [&](unsigned i) { return call->arguments[i].value; };
  switch (call->builtin->id) {
  case Builtin::Max:
  case Builtin::Min:
  case Builtin::LogAddExp:
  case Builtin::Mod:
  case Builtin::Complex:
    return checkElementwise(call->callee, call->range, argument(0), argument(1));
  case Builtin::Where: {
    Shape branches = checkElementwise(call->callee, call->range, argument(1), argument(2));
    return branches.isUnknown() ? branches : checkCondition(call, branches);
  }
  case Builtin::Sum:
    return argument(0)->shape.isUnknown() ? Shape() : Shape::scalar();
  case Builtin::Softmax:
  case Builtin::L2Norm:
    return requireVector(call, 0) ? argument(0)->shape : Shape();
  case Builtin::RMSNorm:
  case Builtin::LayerNorm:
    return checkNorm(call);
  case Builtin::Pow:
    return checkPow(call);
  case Builtin::Concat:
  case Builtin::Stack:
    return checkParts(call);
  case Builtin::Delay:
    return checkDelay(call);
  case Builtin::Conv:
    return checkConv(call);
  case Builtin::Diag:
    if (argument(0)->shape.isDiagonal())
      return checkValue(argument(0));
    return requireVector(call, 0) ? Shape::diagonal(argument(0)->shape.getSize()) : Shape();
  case Builtin::Outer: {
    bool first = requireVector(call, 0), second = requireVector(call, 1);
    if (!first || !second)
      return Shape();
    return makeMatrix(call->range, argument(0)->shape.getSize(), argument(1)->shape.getSize());
  }
  case Builtin::Dot: {
    bool first = requireVector(call, 0), second = requireVector(call, 1);
    if (!first || !second)
      return Shape();
    Extent a = argument(0)->shape.getSize(), b = argument(1)->shape.getSize();
    if (agree(a, b))
      return Shape::scalar();
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::DotLengths, call->range,
                                                "'dot' takes vectors of one length, and these have " + format(a) +
                                                    " and " + format(b) + " elements");
    noteShape(diagnostic, argument(0));
    noteShape(diagnostic, argument(1));
    noteEqualDims(diagnostic, a, b);
    diagnostic.help("for the matrix of all products write outer(" + quote(argument(0), false) + ", " +
                    quote(argument(1), false) + ")");
    return Shape();
  }
  case Builtin::Ones:
    return checkOnes(call);
  case Builtin::Cg:
    return checkCg(call);
  case Builtin::Dgps:
    return checkDgps(call);
  default: // the elementwise ones of one operand
    return argument(0)->shape;
  }
}

Shape RecurrenceChecker::checkOnes(CallExpr *call) {
  Expr *size = call->arguments[0].value;
  if (size->shape.isUnknown())
    return Shape();
  if (!size->shape.isScalar()) {
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::NotANumber, size->range,
                           "the size of 'ones' must be a number, and this is " + formatWithRank(size->shape));
    noteShape(diagnostic, size);
    diagnostic.help("write ones(n), where n is a dim, a const or a whole number");
    return Shape();
  }
  if (!evaluator.requireConstant(size, "the size of 'ones'", /*allowLoopVariables=*/false))
    return Shape();
  if (auto *name = dyn_cast<NameExpr>(size); name && name->declaration->is(DeclarationKind::Dim))
    return Shape::vector(Extent::ofDim(name->declaration->index));
  auto value = evaluator.evaluateInteger(size, "the size of 'ones'");
  if (!value)
    return Shape();
  if (*value < 1 || *value > kMaxDim) {
    diagnostics.report(ErrorCode::DimOutOfRange, size->range,
                       "this size is " + llvm::Twine(*value) + "; a size lies between 1 and " + llvm::Twine(kMaxDim));
    return Shape();
  }
  return Shape::vector(Extent::ofNumber(uint32_t(*value)));
}

Shape RecurrenceChecker::checkCg(CallExpr *call) {
  Expr *matrix = call->arguments[0].value, *vector = call->arguments[1].value;
  Expr *ridge = call->getKeyword("ridge"), *iterations = call->getKeyword("iterations");
  for (auto [value, name] : {std::pair(ridge, "ridge"), std::pair(iterations, "iterations")})
    if (!value)
      diagnostics.report(ErrorCode::MissingArgument, call->range, "'cg' needs the argument '" + llvm::Twine(name) + "'")
          .help("write " + call->builtin->signature);
  if (iterations) {
    unsigned errorsBefore = diagnostics.getNumErrors();
    requireNumber(iterations, "the number of iterations");
    if (diagnostics.getNumErrors() == errorsBefore &&
        evaluator.requireConstant(iterations, "the number of iterations", /*allowLoopVariables=*/false))
      if (auto count = evaluator.evaluateInteger(iterations, "the number of iterations")) {
        if (*count < 1 || *count > 10000)
          diagnostics
              .report(ErrorCode::IterationCount, iterations->range,
                      "this is " + llvm::Twine(*count) + " iterations; there are at least 1 and at most 10000")
              .help("as many iterations as the matrix has rows solve it exactly; fewer are usual");
        call->count = *count;
      }
  }
  if (Expr *gradient = call->getKeyword("gradient")) {
    auto *word = dyn_cast<NameExpr>(gradient);
    if (!word || (word->name != "solution" && word->name != "steps"))
      diagnostics.report(ErrorCode::BadGradient, gradient->range, "'gradient' is solution or steps")
          .help("gradient = solution is that of what the steps go to, and is the default; gradient = steps goes back "
                "through them");
    else
      call->bySteps = word->name == "steps";
    if (call->bySteps && call->count > kMaxStepsBack)
      diagnostics
          .report(ErrorCode::IterationCount, iterations->range,
                  "this is " + llvm::Twine(call->count) + " iterations; 'gradient = steps' goes back through at most " +
                      llvm::Twine(kMaxStepsBack))
          .help("where there are enough to reach the solution, its gradient is what 'gradient = solution' gives");
  }
  Shape m = matrix->shape, x = vector->shape, r = ridge ? ridge->shape : Shape();
  auto refuse = [&](Expr *operand, const llvm::Twine &message) {
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::CgShapes, operand->range, message);
    noteShape(diagnostic, operand);
  };
  if (!m.isUnknown() && (!m.isMatrix() || !agree(m.getRows(), m.getColumns()))) {
    refuse(matrix, "the first argument of 'cg' must be a square matrix, and this is " + formatWithRank(m));
    m = Shape();
  }
  if (!x.isUnknown() && !x.isVector()) {
    refuse(vector, "the second argument of 'cg' must be a vector, and this is " + formatWithRank(x));
    x = Shape();
  }
  if (m.isMatrix() && x.isVector() && !agree(m.getColumns(), x.getSize())) {
    refuse(vector, "the matrix of 'cg' is " + format(m) + ", so its vector must be [" + format(m.getColumns()) +
                       "], and this is " + format(x));
    x = Shape();
  }
  if (r.isMatrix() || (r.isVector() && x.isVector() && !agree(r.getSize(), x.getSize())))
    refuse(ridge,
           "the ridge of 'cg' must be a scalar or a vector like its second argument, and this is " + formatWithRank(r));
  return x;
}

bool RecurrenceChecker::requireAxis(CallExpr *call, llvm::StringRef keyword, Extent wanted, bool allowScalar,
                                    bool allowVector) {
  Expr *axis = call->getKeyword(keyword);
  if (!axis || axis->shape.isUnknown())
    return false;
  if (allowScalar && axis->shape.isScalar())
    return true;
  if (allowVector && axis->shape.isVector() && agree(axis->shape.getSize(), wanted))
    return true;
  std::string expected = allowScalar ? "a scalar" : "";
  if (allowVector)
    expected += (allowScalar ? " or a vector [" : "a vector [") + format(wanted) + "]";
  Diagnostic &diagnostic = diagnostics.report(ErrorCode::AxisShape, axis->range,
                                              "the axis '" + keyword + "' must be " + expected + ", and this is " +
                                                  formatWithRank(axis->shape));
  noteShape(diagnostic, axis);
  noteShape(diagnostic, call->arguments[0].value);
  if (axis->shape.isVector())
    noteEqualDims(diagnostic, axis->shape.getSize(), wanted);
  return false;
}

bool RecurrenceChecker::checkSolve(CallExpr *call) {
  Expr *solve = call->getKeyword("solve");
  if (!solve) {
    diagnostics.report(ErrorCode::MissingArgument, call->range, "'dgps' needs the argument 'solve'")
        .help("solve = online subtracts what the state holds for the key (delta rule); solve = offline only adds");
    return false;
  }
  auto *word = dyn_cast<NameExpr>(solve);
  if (!word || (word->name != "online" && word->name != "offline")) {
    diagnostics.report(ErrorCode::BadSolve, solve->range, "'solve' is online or offline")
        .help("solve = online subtracts what the state holds for the key (delta rule); solve = offline only adds");
    return false;
  }
  return word->name == "online";
}

Shape RecurrenceChecker::checkDgps(CallExpr *call) {
  Expr *state = call->arguments[0].value;
  bool isOnline = checkSolve(call);
  if (!call->getKeyword("value"))
    diagnostics.report(ErrorCode::MissingArgument, call->range, "'dgps' needs the argument 'value'")
        .help("write " + call->builtin->signature);
  // Offline, the read key serves only as the write key.
  if (!call->getKeyword("read") && (isOnline || !call->getKeyword("write")))
    diagnostics.report(ErrorCode::MissingArgument, call->range, "'dgps' needs the argument 'read'")
        .help("write " + call->builtin->signature);
  Shape shape = state->shape;
  if (shape.isUnknown())
    return Shape();
  if (!shape.isMatrix()) {
    Diagnostic &diagnostic =
        diagnostics.report(ErrorCode::AxisShape, state->range,
                           "the first argument of 'dgps' must be a matrix, and this is " + formatWithRank(shape));
    noteShape(diagnostic, state);
    return Shape();
  }
  requireAxis(call, "read", shape.getColumns(), false, true);
  requireAxis(call, "write", shape.getColumns(), false, true);
  requireAxis(call, "value", shape.getRows(), false, true);
  requireAxis(call, "decay", shape.getColumns(), true, true);
  requireAxis(call, "gain", shape.getColumns(), true, false);
  requireAxis(call, "atk", shape.getColumns(), true, true);
  return shape;
}

} // namespace recur::frontend
