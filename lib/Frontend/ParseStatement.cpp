#include "Frontend/Habits.h"
#include "Frontend/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace recur::frontend {

template <typename S> S *Parser::finish(S *statement, uint32_t begin) {
  statement->range = {begin, lastEnd};
  statement->numNodes = numNodes + 1;
  numNodes = 0;
  return statement;
}

void Parser::parseStatement(Statements &body) {
  numNodes = 0;
  switch (token.kind) {
  case TokenKind::KwDim:
    return parseDeclarationList(DeclarationKind::Dim, body);
  case TokenKind::KwShared:
  case TokenKind::KwInput:
    return parseDeclarationList(DeclarationKind::Input, body);
  case TokenKind::KwParam:
    return parseDeclarationList(DeclarationKind::Param, body);
  case TokenKind::KwState:
    return parseDeclarationList(DeclarationKind::State, body);
  case TokenKind::KwConst:
    return parseDefinition(DeclarationKind::Const, body);
  case TokenKind::KwLet:
    return parseDefinition(DeclarationKind::Let, body);
  case TokenKind::KwOutput:
    return parseDefinition(DeclarationKind::Output, body);
  case TokenKind::KwFor:
    return parseFor(body);
  case TokenKind::KwRestart: {
    uint32_t begin = token.range.begin;
    advance();
    Expr *value = parseExpressionOrError();
    body.push_back(finish(file->make<RestartStatement>(SourceRange(), value), begin));
    return;
  }
  case TokenKind::Identifier:
    if (peek().is(TokenKind::Equals))
      return parseAssignment(body);
    if (isCompoundAssignment())
      return parseCompoundAssignment(body);
    if (isKindOfNumbers())
      return parseKindOfNumbers(body);
    break;
  default:
    break;
  }
  reportNotAStatement(body);
  // Never stay on the token that was refused.
  if (!token.is(TokenKind::EndOfFile))
    advance();
  skipToStatement();
}

/// Whether a name is that of a type of numbers in another language.
static bool isTypeOfNumbers(llvm::StringRef name) {
  return llvm::is_contained({"float", "double", "real", "number", "float16", "float32", "float64", "bfloat16", "half",
                             "f16", "f32", "f64", "bf16", "int", "integer", "bool", "int32", "int64"},
                            name);
}

void Parser::reportNotAStatement(Statements &body) {
  if (token.is(TokenKind::KwFn)) {
    report(ErrorCode::ExpectedStatement, token.range, "'fn' does not begin a statement")
        .help("a function stands before the recurrences, outside of their braces");
    return;
  }
  if (token.is(TokenKind::KwIn) || token.is(TokenKind::KwScalar)) {
    report(ErrorCode::ExpectedStatement, token.range, describe(token) + " does not begin a statement");
    return;
  }
  TokenKind next = token.is(TokenKind::Identifier) ? peek().kind : TokenKind::EndOfFile;
  // The first of a body may stand on the line of its brace.
  if (token.is(TokenKind::Identifier) && (token.startsLine || body.empty())) {
    if (next == TokenKind::Error && !lookahead.startsLine) { // the lexer has said what is wrong with it
      noteDamage();
      return;
    }
    if (next == TokenKind::Colon) {
      report(ErrorCode::ExpectedStatement, token.range, "what is " + describe(token) + "?")
          .help("begin a declaration with input, shared input, param or state: state " + token.text + ": ...");
      return;
    }
    if (token.text == "complex" && next == TokenKind::KwLet) {
      report(ErrorCode::ExpectedStatement, token.range, "'complex' does not begin a let")
          .help("a let is complex where its expression is: remove it", token.range, "");
      return;
    }
    if (token.text == "complex" && next == TokenKind::LeftBracket) {
      report(ErrorCode::ExpectedStatement, token.range, "'complex' stands before a declaration, and has no shape")
          .help("write the shape after the name: complex state h: [N]");
      return;
    }
    bool isBeforeInput = next == TokenKind::KwInput || next == TokenKind::KwShared;
    if (isBeforeInput && isTypeOfNumbers(token.text)) {
      Diagnostic &diagnostic =
          report(ErrorCode::ExpectedStatement, token.range, describe(token) + " does not begin a statement");
      if (token.text.starts_with("int"))
        diagnostic.help("did you mean 'int'?", token.range, "int");
      else
        diagnostic.help("the type of numbers is chosen when kernels are built (--dtype): remove it", token.range, "");
      return;
    }
    if (next == TokenKind::LeftBracket) {
      report(ErrorCode::ExpectedStatement, token.range, "an element cannot be assigned")
          .help("give the whole state its next value: " + token.text + " = ...");
      return;
    }
    if (next == TokenKind::Identifier) {
      for (llvm::StringRef keyword : {"dim", "const", "shared", "input", "param", "state", "let", "output", "for"})
        if (token.text.edit_distance(keyword, true, 2) <= (keyword.size() > 3 ? 2 : 1)) {
          report(ErrorCode::ExpectedStatement, token.range, describe(token) + " does not begin a statement")
              .help("did you mean '" + keyword + "'?", token.range, keyword);
          return;
        }
    }
    llvm::StringRef help = getHelpForStatement(token.text);
    report(ErrorCode::ExpectedStatement, token.range, describe(token) + " does not begin a statement")
        .help(help.empty() ? "a statement is a declaration, name = expression, or a for loop" : help);
    return;
  }
  if (!token.startsLine && lastEnd != 0) {
    Diagnostic &diagnostic = report(ErrorCode::ExpectedEndOfStatement, token.range,
                                    "expected the end of the statement before " + describe(token));
    auto *last = body.empty() ? nullptr : llvm::dyn_cast<Declaration>(body.back());
    bool endsList = last && !last->init && !last->is(DeclarationKind::Let) && !last->is(DeclarationKind::Output);
    llvm::StringRef help = getHelpForStatement(token.text);
    if (token.is(TokenKind::RightParen) || token.is(TokenKind::RightBracket))
      diagnostic.help("it closes nothing: remove it");
    else if (!help.empty())
      diagnostic.help(help);
    else if (endsList && token.is(TokenKind::Identifier))
      diagnostic.help("is a ',' missing before it?");
    else if (endsList && token.is(TokenKind::Colon) && last->is(DeclarationKind::Dim))
      diagnostic.help("a dim has no shape; its default value follows '=': dim " + last->name + " = ...");
    else if (token.is(TokenKind::Identifier) || token.is(TokenKind::Number) || token.is(TokenKind::LeftParen))
      diagnostic.help("is an operator missing before it?");
    // The statement before is not what it was meant to be.
    if (body.empty())
      return;
    auto *error = file->make<ErrorExpr>(body.back()->range);
    if (auto *assign = llvm::dyn_cast<AssignStatement>(body.back()))
      assign->value = error;
    else if (auto *declaration = llvm::dyn_cast<Declaration>(body.back());
             declaration && (declaration->init || declaration->is(DeclarationKind::Dim)))
      declaration->init = error;
    return;
  }
  report(ErrorCode::ExpectedStatement, token.range, describe(token) + " does not begin a statement")
      .help("a statement is a declaration, name = expression, or a for loop");
}

Declaration *Parser::makeDeclaration(DeclarationKind kind, const Token &name) {
  return file->make<Declaration>(kind, name.text, name.range);
}

/// Whether `complex` or `int` stands before a declaration. Elsewhere they are a function and ordinary names.
bool Parser::isKindOfNumbers() {
  if (!token.is(TokenKind::Identifier) || (token.text != "complex" && token.text != "int"))
    return false;
  switch (peek().kind) {
  case TokenKind::KwShared:
  case TokenKind::KwInput:
  case TokenKind::KwParam:
  case TokenKind::KwState:
  case TokenKind::KwOutput:
    return true;
  default:
    return false;
  }
}

/// complex input x: [N]     complex state h: [N]     complex output y = h     int input position
void Parser::parseKindOfNumbers(Statements &body) {
  uint32_t begin = token.range.begin;
  bool isInteger = token.text == "int";
  if (isInteger && !peek().is(TokenKind::KwInput) && !peek().is(TokenKind::KwShared))
    report(ErrorCode::IntWithoutInput, token.range, "only inputs are integers")
        .help("states, params and outputs are floating-point numbers: remove 'int'", token.range, "");
  advance();
  size_t first = body.size();
  parseStatement(body);
  for (Statement *statement : llvm::ArrayRef(body).drop_front(first))
    if (auto *declaration = llvm::dyn_cast<Declaration>(statement))
      (isInteger ? declaration->integer : declaration->complex) = true;
  if (first < body.size())
    body[first]->range.begin = begin;
}

/// Whether `at start` follows. Both words are ordinary names elsewhere.
bool Parser::isStart() {
  if (!token.is(TokenKind::Identifier) || token.text != "at")
    return false;
  const Token &next = peek();
  return next.is(TokenKind::Identifier) && next.text == "start" && !next.startsLine;
}

/// dim N = 2, M     shared input q: [K], k: [K]     param a     state S: [V, K] at start W
void Parser::parseDeclarationList(DeclarationKind kind, Statements &body) {
  uint32_t begin = token.range.begin;
  bool shared = token.is(TokenKind::KwShared);
  advance();
  if (shared && !consumeIf(TokenKind::KwInput)) {
    bool isOther = token.is(TokenKind::KwParam) || token.is(TokenKind::KwState);
    report(ErrorCode::SharedWithoutInput, here(), "expected 'input' after 'shared'")
        .help(isOther ? "only inputs are shared by a group of heads; there is one " + token.text +
                            " per head: remove 'shared'"
                      : "write shared input " + (token.is(TokenKind::Identifier) ? token.text : "q"));
    // A shared param or state is read on as if it were an input.
    if (isOther)
      advance();
  }
  do {
    Token name;
    if (!expectName(name, ("the name of " + describe(kind)).str()))
      return skipToStatement();
    Declaration *declaration = makeDeclaration(kind, name);
    declaration->shared = shared;
    body.push_back(declaration);
    if (kind == DeclarationKind::Dim) {
      if (consumeIf(TokenKind::Equals))
        declaration->init = parseExpressionOrError();
    } else if (consumeIf(TokenKind::Colon)) {
      if (!parseShape(declaration->shapeSyntax))
        return skipToStatement();
    } else if (!token.startsLine && (token.is(TokenKind::LeftBracket) || token.is(TokenKind::KwScalar))) {
      SourceRange gap = afterLast();
      if (!parseShape(declaration->shapeSyntax))
        return skipToStatement();
      report(ErrorCode::ExpectedColon, gap, "expected ':' before the shape")
          .help("write " + name.text + ": " + buffer.getText(declaration->shapeSyntax.range), gap, ":");
    }
    if (kind == DeclarationKind::State && isStart()) {
      advance();
      advance();
      declaration->init = parseExpressionOrError();
    }
    finish(declaration, begin);
    begin = token.range.begin;
  } while (consumeIf(TokenKind::Comma));

  if (kind != DeclarationKind::Dim && token.is(TokenKind::Equals)) {
    report(ErrorCode::ExpectedEndOfStatement, token.range, describe(kind) + " takes no value here")
        .help(kind == DeclarationKind::State
                  ? "a state is zero before the first token, or what the caller passes as the initial state; to begin "
                    "elsewhere write at start and an expression of params and numbers in place of '='"
                  : "the caller passes its value; for a local name write let, for a compile-time number const");
    skipToStatement();
  }
}

/// const x = 1 / K     let r = EXPR     output o: [V] = EXPR     output o[j]: [V] = EXPR
void Parser::parseDefinition(DeclarationKind kind, Statements &body) {
  uint32_t begin = token.range.begin;
  advance();
  Token name;
  if (!expectName(name, ("the name of " + describe(kind)).str()))
    return skipToStatement();
  Declaration *declaration = makeDeclaration(kind, name);
  body.push_back(declaration);
  declaration->init = file->make<ErrorExpr>(name.range);
  if (kind == DeclarationKind::Output && token.is(TokenKind::LeftBracket)) {
    SourceRange opening = token.range;
    advance();
    declaration->element = parseExpression();
    if (!declaration->element || !expectClosing(TokenKind::RightBracket, opening)) {
      declaration->element = file->make<ErrorExpr>(opening);
      return skipToStatement();
    }
  }
  if (kind == DeclarationKind::Output && consumeIf(TokenKind::Colon) && !parseShape(declaration->shapeSyntax))
    return skipToStatement();
  if (!consumeIf(TokenKind::Equals)) {
    Diagnostic &diagnostic = report(ErrorCode::ExpectedEquals, here(), "expected '=' before " + describe(token));
    if (token.is(TokenKind::Colon))
      diagnostic.help(describe(kind) + " takes no shape: it has that of its expression");
    else
      diagnostic.help("write " + spell(kind) + " " + name.text + " = ...");
    return skipToStatement();
  }
  declaration->init = parseExpressionOrError();
  finish(declaration, begin);
}

void Parser::parseAssignment(Statements &body) {
  Token name = token;
  advance();
  advance(); // '='
  Expr *value = parseExpressionOrError();
  auto *assign = file->make<AssignStatement>(SourceRange(), name.text, name.range, value);
  body.push_back(finish(assign, name.range.begin));
}

/// Whether a name and an operator with '=' behind it follow: S += ...
bool Parser::isCompoundAssignment() {
  if (!token.is(TokenKind::Identifier))
    return false;
  TokenKind next = peek().kind;
  return next >= TokenKind::Plus && next <= TokenKind::At && buffer.getText().substr(lookahead.range.end, 1) == "=";
}

/// Reads `S += x` as `S = S + x` once it is reported, so that what else is wrong with it is found too.
void Parser::parseCompoundAssignment(Statements &body) {
  Token name = token, op = peek();
  diagnostics.report(ErrorCode::CompoundAssignment, op.range, "there is no operator '" + op.text + "='")
      .help("write " + name.text + " = " + name.text + " " + op.text + " ...");
  for (unsigned i = 0; i < 3; ++i) // the name, the operator, '='
    advance();
  Expr *value = parseExpressionOrError();
  auto *before = file->make<NameExpr>(name.range, name.text);
  BinaryOperator operation = op.is(TokenKind::Plus)    ? BinaryOperator::Add
                             : op.is(TokenKind::Minus) ? BinaryOperator::Subtract
                             : op.is(TokenKind::Star)  ? BinaryOperator::Multiply
                             : op.is(TokenKind::Slash) ? BinaryOperator::Divide
                                                       : BinaryOperator::Product;
  Expr *result = combine(operation, op.range, before, value);
  auto *assign = file->make<AssignStatement>(SourceRange(), name.text, name.range, result ? result : value);
  body.push_back(finish(assign, name.range.begin));
}

/// for j in 0..N { ... }
void Parser::parseFor(Statements &body) {
  uint32_t begin = token.range.begin;
  if (nesting >= kMaxDepth) {
    isTooDeep(nesting + 1, token.range);
    advance();
    return skipToStatement();
  }
  advance();
  Token name;
  if (!expectName(name, "the name of the loop variable"))
    return skipToStatement();
  Declaration *variable = finish(makeDeclaration(DeclarationKind::LoopVariable, name), name.range.begin);
  auto malformed = [&](llvm::StringRef missing) {
    report(ErrorCode::MalformedFor, here(), "expected " + missing + " before " + describe(token))
        .help("write for " + name.text + " in 0..N { ... }");
  };
  if (consumeIf(TokenKind::Equals))
    malformed("'in'"); // and read on
  else if (!consumeIf(TokenKind::KwIn)) {
    malformed("'in'");
    return skipToStatement();
  }
  Expr *lower = parseExpressionOrError(), *upper = lower;
  if (auto *range = llvm::dyn_cast<CallExpr>(lower); range && range->callee == "range") {
    llvm::ArrayRef<Argument> bounds = range->arguments;
    report(ErrorCode::MalformedFor, range->calleeRange, "a loop runs over lower..upper, not over a function")
        .help("write for " + name.text + " in " +
              (bounds.size() == 1 ? "0.." + buffer.getText(bounds[0].value->range).str()
               : bounds.size() == 2
                   ? buffer.getText(bounds[0].value->range).str() + ".." + buffer.getText(bounds[1].value->range).str()
                   : std::string("0..N")) +
              " { ... }");
    lower = upper = file->make<ErrorExpr>(range->range);
  } else if (consumeIf(TokenKind::DotDot)) {
    upper = parseExpressionOrError();
  } else if (llvm::isa<ErrorExpr>(lower)) {
    return;
  } else {
    malformed("'..'");
    if (!token.is(TokenKind::LeftBrace))
      return skipToStatement();
  }
  SourceRange headRange = {begin, lastEnd}, opening = token.range;
  if (!consumeIf(TokenKind::LeftBrace)) {
    report(ErrorCode::ExpectedBrace, here(), "expected '{' before " + describe(token))
        .help("write for " + name.text + " in 0..N { ... }");
    return skipToStatement();
  }
  llvm::SmallVector<Statement *> inner;
  ++nesting;
  parseBody(opening, inner);
  --nesting;
  auto *loop =
      file->make<ForStatement>(SourceRange(), variable, lower, upper, file->copy<Statement *>(inner), headRange);
  numNodes = 1;
  body.push_back(finish(loop, begin));
}

/// scalar     [n]     [m, n]
bool Parser::parseShape(ShapeSyntax &shape) {
  uint32_t begin = token.range.begin;
  shape.malformed = true; // until it is read to its end
  if (consumeIf(TokenKind::KwScalar)) {
    shape.malformed = false;
    shape.range = {begin, lastEnd};
    return true;
  }
  SourceRange opening = token.range;
  if (!consumeIf(TokenKind::LeftBracket)) {
    // Looking ahead may report what the lexer finds, and so comes first.
    bool isType = token.is(TokenKind::Identifier) && peek().is(TokenKind::LeftBracket);
    Diagnostic &diagnostic = report(ErrorCode::MalformedShape, here(), "expected a shape before " + describe(token));
    bool isInteger = token.text.starts_with("int");
    if (isType && token.text.starts_with("complex"))
      diagnostic.help("'complex' stands before the declaration: complex input x: [K]");
    else if (token.is(TokenKind::Identifier) && isInteger && isTypeOfNumbers(token.text))
      diagnostic.help("'int' stands before the declaration of an input: int input position, segment");
    else if (isType)
      diagnostic.help("the type of numbers is chosen when kernels are built (--dtype): remove it", token.range, "");
    else if (isTypeOfNumbers(token.text))
      diagnostic.help("every value is a number, of a type that is chosen when kernels are built (--dtype): write "
                      "scalar, or leave the shape out",
                      token.range, "scalar");
    else if (token.is(TokenKind::LeftParen))
      diagnostic.help("the sizes of a shape stand in brackets: [n] or [m, n]");
    else if (token.is(TokenKind::Identifier) || token.is(TokenKind::Number))
      diagnostic.help("write the size in brackets: [" + token.text + "]", token.range, "[" + token.text + "]");
    else
      diagnostic.help("a shape is scalar, [n] or [m, n]");
    // A name in the place of a shape is taken for one that is not known, and the list goes on behind it.
    if (!token.is(TokenKind::Identifier) || token.startsLine)
      return false;
    advance();
    return !isType || parseShape(shape);
  }
  llvm::SmallVector<Expr *, 2> entries;
  if (!token.is(TokenKind::RightBracket)) {
    do {
      if (token.is(TokenKind::Identifier)) {
        entries.push_back(file->make<NameExpr>(token.range, token.text));
      } else if (token.is(TokenKind::Number)) {
        entries.push_back(file->make<NumberExpr>(token.range, token.number));
      } else {
        report(ErrorCode::MalformedShape, here(), "expected a size before " + describe(token))
            .help("a size is a dim, a const or a whole number; for a computed size declare a const first");
        return false;
      }
      advance();
    } while (entries.size() <= 2 && consumeIf(TokenKind::Comma));
  }
  bool isClosed = token.is(TokenKind::RightBracket);
  if (entries.empty() || entries.size() > 2) {
    report(ErrorCode::MalformedShape, {begin, isClosed ? token.range.end : lastEnd},
           entries.empty() ? "this shape is empty" : "a value has at most two dimensions")
        .help(entries.empty() ? "write scalar for a single number"
                              : "the token, head and batch dimensions are not written");
    return false;
  }
  if (!isClosed && !token.startsLine && !token.is(TokenKind::EndOfFile)) {
    report(ErrorCode::MalformedShape, token.range, "expected ',' or ']' before " + describe(token))
        .help("a size is a dim, a const or a whole number; for a computed size declare a const first");
    return false;
  }
  if (!expectClosing(TokenKind::RightBracket, opening))
    return false;
  shape.malformed = false;
  shape.range = {begin, lastEnd};
  shape.entries = file->copy<Expr *>(entries);
  return true;
}

} // namespace recur::frontend
