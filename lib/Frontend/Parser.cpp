#include "Frontend/Parser.h"

#include "Frontend/Habits.h"

#include "llvm/ADT/SmallVector.h"

namespace recur::frontend {

Parser::Parser(const SourceBuffer &buffer, DiagnosticEngine &diagnostics)
    : buffer(buffer), diagnostics(diagnostics), lexer(buffer, diagnostics), file(std::make_unique<File>(buffer)) {
  token = lexer.next();
}

void Parser::advance() {
  lastEnd = token.range.end;
  if (hasLookahead) {
    token = lookahead;
    hasLookahead = false;
  } else {
    token = lexer.next();
  }
  // Nothing more would be kept: stop as if the file ended here.
  if (diagnostics.isFull())
    token = {TokenKind::EndOfFile, true, {lastEnd, lastEnd}, {}, 0};
}

const Token &Parser::peek() {
  if (!hasLookahead) {
    lookahead = lexer.next();
    hasLookahead = true;
  }
  return lookahead;
}

bool Parser::consumeIf(TokenKind kind) {
  if (!token.is(kind))
    return false;
  advance();
  return true;
}

/// Part of what is being read is not understood.
void Parser::noteDamage() {
  isDamaged = true;
  if (recurrence)
    recurrence->damaged = true;
}

Diagnostic &Parser::report(ErrorCode code, SourceRange range, const llvm::Twine &message) {
  noteDamage();
  // The lexer has said already what is wrong with an error token; a second remark about it would only confuse. So would
  // the remark that the file ends early when it was we who stopped reading.
  if (token.is(TokenKind::Error) || diagnostics.isFull()) {
    static thread_local Diagnostic ignored;
    ignored = Diagnostic();
    return ignored;
  }
  return diagnostics.report(code, range, message);
}

SourceRange Parser::here() const {
  bool onLaterLine = token.startsLine || token.is(TokenKind::EndOfFile);
  return onLaterLine && lastEnd != 0 ? afterLast() : token.range;
}

bool Parser::expectClosing(TokenKind kind, SourceRange opening, bool endsList) {
  if (consumeIf(kind))
    return true;
  Diagnostic &diagnostic =
      report(ErrorCode::UnclosedParenthesis, here(), "expected " + spell(kind) + " before " + describe(token))
          .note(opening, "it would close this one");
  if (endsList && !token.startsLine && (token.is(TokenKind::Identifier) || token.is(TokenKind::Number)))
    diagnostic.help("is a ',' missing before it?");
  return false;
}

bool Parser::expectName(Token &name, llvm::StringRef what) {
  if (token.is(TokenKind::Identifier)) {
    name = token;
    advance();
    return true;
  }
  if (token.isKeyword() && !token.startsLine)
    report(ErrorCode::KeywordAsName, token.range, describe(token) + " is a keyword and cannot be " + what)
        .help("add a letter, or a '_' at the end: " + token.text + "_", token.range, token.text + "_");
  else
    report(ErrorCode::ExpectedName, here(), "expected " + what + " before " + describe(token));
  if (recurrence) // any name may be the one that is missing here
    recurrence->lost.push_back({0, uint32_t(buffer.getText().size())});
  return false;
}

void Parser::skipToStatement() {
  lexer.ignoreRestOfLine();
  unsigned braces = 0;
  for (; !token.is(TokenKind::EndOfFile) && !token.is(TokenKind::KwRecurrence); advance()) {
    if (token.is(TokenKind::LeftBrace))
      ++braces;
    if (token.is(TokenKind::RightBrace)) {
      if (braces == 0)
        return;
      --braces;
      continue;
    }
    if (braces != 0)
      continue;
    bool isAssignment = token.startsLine && token.is(TokenKind::Identifier) && peek().is(TokenKind::Equals);
    if (token.beginsStatement() || isKindOfNumbers() || isAssignment || (token.startsLine && isCompoundAssignment()))
      return;
  }
}

void Parser::skipToRecurrence() {
  while (!token.is(TokenKind::EndOfFile) && !token.is(TokenKind::KwRecurrence) && !token.is(TokenKind::KwFn))
    advance();
}

std::unique_ptr<File> Parser::parseFile() {
  while (!token.is(TokenKind::EndOfFile)) {
    if (token.is(TokenKind::KwRecurrence)) {
      parseRecurrence();
      continue;
    }
    if (token.is(TokenKind::KwFn)) {
      parseFunction();
      continue;
    }
    bool strayBrace = token.is(TokenKind::RightBrace);
    Diagnostic &diagnostic =
        report(ErrorCode::ExpectedRecurrence, token.range, "expected 'recurrence' before " + describe(token));
    if (strayBrace)
      diagnostic.help("this '}' closes nothing: remove it");
    else if (llvm::StringRef(getHelpForStatement(token.text)).contains("fn ") || token.text == "import" ||
             token.text == "from")
      diagnostic.help(getHelpForStatement(token.text));
    else
      diagnostic.help("every statement belongs to a recurrence: recurrence name { ... }");
    lostStatements = true;
    skipToRecurrence();
  }
  if (file->recurrences.empty() && !diagnostics.hasErrors())
    diagnostics.report(ErrorCode::EmptyFile, {0, 0}, "the file holds no recurrence")
        .help("write recurrence name { ... }; docs/language.md begins with an example");
  return std::move(file);
}

/// fn name(a, b) = EXPR
void Parser::parseFunction() {
  uint32_t begin = token.range.begin;
  advance();
  Token name;
  bool isNamed = expectName(name, "the name of the function");
  llvm::SmallVector<Declaration *> arguments;
  auto malformed = [&](const llvm::Twine &missing) {
    report(ErrorCode::MalformedFunction, here(), "expected " + missing + " before " + describe(token))
        .help("write fn " + (isNamed ? name.text : "f") + "(a, b) = a * b");
    lostStatements = true; // what calls it is not understood
    skipToRecurrence();
  };
  if (!isNamed) {
    lostStatements = true;
    return skipToRecurrence();
  }
  if (!consumeIf(TokenKind::LeftParen))
    return malformed("'('");
  do {
    Token argument;
    if (!token.is(TokenKind::Identifier))
      return malformed("the name of an argument");
    expectName(argument, "the name of an argument");
    arguments.push_back(makeDeclaration(DeclarationKind::Argument, argument));
  } while (consumeIf(TokenKind::Comma));
  if (!consumeIf(TokenKind::RightParen))
    return malformed("')'");
  if (!consumeIf(TokenKind::Equals))
    return malformed("'='");
  Function *function = file->make<Function>();
  function->name = name.text;
  function->nameRange = name.range;
  function->arguments = file->copy<Declaration *>(arguments);
  function->body = parseExpression();
  if (!function->body) {
    nesting = 0;
    lostStatements = true;
    return skipToRecurrence();
  }
  function->range = {begin, lastEnd};
  file->functions.push_back(function);
}

void Parser::parseRecurrence() {
  uint32_t begin = token.range.begin;
  file->recurrences.push_back(std::make_unique<Recurrence>());
  recurrence = file->recurrences.back().get();
  if (lostStatements) {
    recurrence->damaged = true;
    recurrence->lost.push_back({0, uint32_t(buffer.getText().size())});
  }
  advance();
  Token name;
  if (expectName(name, "the name of the recurrence")) {
    recurrence->name = name.text;
    recurrence->nameRange = name.range;
  } else if (!token.is(TokenKind::LeftBrace) && !token.is(TokenKind::EndOfFile)) {
    advance();
  }
  SourceRange opening = token.range;
  bool opened = consumeIf(TokenKind::LeftBrace);
  if (!opened) {
    report(ErrorCode::ExpectedBrace, here(), "expected '{' before " + describe(token))
        .help("write recurrence " + (recurrence->name.empty() ? "name" : recurrence->name) + " {");
    // Only go on when what follows looks like the body.
    if (!token.beginsStatement() && !token.is(TokenKind::Identifier))
      skipToStatement();
    recurrence->lost.push_back({begin, lastEnd});
  }
  llvm::SmallVector<Statement *> body;
  parseBody(opened ? opening : recurrence->nameRange, body);
  recurrence->body = file->copy<Statement *>(body);
  recurrence->range = {begin, lastEnd};
  recurrence = nullptr;
}

bool Parser::parseBody(SourceRange opening, Statements &body) {
  while (true) {
    if (consumeIf(TokenKind::RightBrace))
      return true;
    if (token.is(TokenKind::EndOfFile) || token.is(TokenKind::KwRecurrence)) {
      bool atEnd = token.is(TokenKind::EndOfFile);
      report(ErrorCode::UnclosedBody, atEnd ? afterLast() : token.range,
             atEnd ? "the file ends inside a body: '}' is missing"
                   : "a recurrence begins inside a body: '}' is missing before it")
          .note(opening, "the body begins here");
      return false;
    }
    bool wasDamaged = std::exchange(isDamaged, false);
    uint32_t begin = token.range.begin;
    parseStatement(body);
    if (isDamaged)
      recurrence->lost.push_back({begin, std::max(begin, lastEnd)});
    isDamaged = wasDamaged;
  }
}

} // namespace recur::frontend
