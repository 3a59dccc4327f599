#include "Frontend/Parser.h"

#include "llvm/ADT/SmallVector.h"

namespace recur::frontend {

bool Parser::isTooDeep(unsigned depth, SourceRange range) {
  if (depth <= kMaxDepth)
    return false;
  report(ErrorCode::NestingTooDeep, range, "this is nested more than " + llvm::Twine(kMaxDepth) + " levels deep")
      .help("name a part of it with let; a long sum or product counts a level for each operator");
  return true;
}

/// Makes a node over `operands`, or reports that it would be nested too deeply.
template <typename Node, typename... Arguments>
Node *Parser::makeExpr(std::initializer_list<Expr *> operands, Arguments &&...arguments) {
  unsigned depth = 0;
  bool hasIndex = false;
  for (Expr *operand : operands) {
    depth = std::max<unsigned>(depth, operand->depth);
    hasIndex |= operand->hasIndex;
  }
  if (isTooDeep(depth + 1, token.range))
    return nullptr;
  ++numNodes;
  Node *node = file->make<Node>(std::forward<Arguments>(arguments)...);
  node->depth = uint16_t(depth + 1);
  node->hasIndex |= hasIndex;
  return node;
}

/// Parses an expression; after an error goes to the next statement and returns an ErrorExpr.
Expr *Parser::parseExpressionOrError() {
  uint32_t begin = token.range.begin;
  unsigned outerNesting = nesting;
  if (Expr *expr = parseExpression())
    return expr;
  nesting = outerNesting;
  skipToStatement();
  return file->make<ErrorExpr>(SourceRange{begin, std::max(begin, lastEnd)});
}

Expr *Parser::combine(BinaryOperator op, SourceRange operatorRange, Expr *lhs, Expr *rhs) {
  return makeExpr<BinaryExpr>({lhs, rhs}, op, operatorRange, lhs, rhs);
}

static std::optional<BinaryOperator> findComparison(TokenKind kind) {
  switch (kind) {
  case TokenKind::Less:
    return BinaryOperator::Less;
  case TokenKind::AtMost:
    return BinaryOperator::AtMost;
  case TokenKind::Greater:
    return BinaryOperator::Greater;
  case TokenKind::AtLeast:
    return BinaryOperator::AtLeast;
  case TokenKind::EqualEqual:
    return BinaryOperator::Equal;
  case TokenKind::NotEqual:
    return BinaryOperator::NotEqual;
  default:
    return std::nullopt;
  }
}

/// A comparison of two sums; a third one needs parentheses, for a < b < c means something else to everybody.
Expr *Parser::parseExpression() {
  Expr *lhs = parseSum();
  std::optional<BinaryOperator> op = findComparison(token.kind);
  if (!lhs || !op)
    return lhs;
  SourceRange range = token.range;
  advance();
  Expr *rhs = parseSum();
  if (!rhs)
    return nullptr;
  if (findComparison(token.kind)) {
    report(ErrorCode::ComparisonsInARow, token.range, "comparisons do not follow each other")
        .note(range, "the first one")
        .help("both hold where (a < b) * (b < c) is 1; to compare a comparison put it in parentheses");
    return nullptr;
  }
  return combine(*op, range, lhs, rhs);
}

Expr *Parser::parseSum() {
  Expr *lhs = parseTerm();
  while (lhs && (token.is(TokenKind::Plus) || token.is(TokenKind::Minus))) {
    Token op = token;
    advance();
    Expr *rhs = parseTerm();
    if (!rhs)
      return nullptr;
    lhs = combine(op.is(TokenKind::Plus) ? BinaryOperator::Add : BinaryOperator::Subtract, op.range, lhs, rhs);
  }
  return lhs;
}

Expr *Parser::parseTerm() {
  Expr *lhs = parseProduct();
  while (lhs && (token.is(TokenKind::Star) || token.is(TokenKind::Slash))) {
    Token op = token;
    advance();
    Expr *rhs = parseProduct();
    if (!rhs)
      return nullptr;
    lhs = combine(op.is(TokenKind::Star) ? BinaryOperator::Multiply : BinaryOperator::Divide, op.range, lhs, rhs);
  }
  return lhs;
}

Expr *Parser::parseProduct() {
  Expr *lhs = parseUnary();
  while (lhs && token.is(TokenKind::At)) {
    SourceRange op = token.range;
    advance();
    Expr *rhs = parseUnary();
    if (!rhs)
      return nullptr;
    lhs = combine(BinaryOperator::Product, op, lhs, rhs);
  }
  return lhs;
}

Expr *Parser::parseUnary() {
  // A loop, for a file may hold a hundred thousand signs in a row.
  llvm::SmallVector<SourceRange, 4> signs;
  while (token.is(TokenKind::Minus)) {
    if (isTooDeep(signs.size() + 1, token.range))
      return nullptr;
    signs.push_back(token.range);
    advance();
  }
  Expr *expr = parsePostfix();
  while (expr && !signs.empty()) {
    SourceRange range = {signs.pop_back_val().begin, expr->range.end};
    expr = makeExpr<NegateExpr>({expr}, range, expr);
  }
  return expr;
}

Expr *Parser::parsePostfix() {
  Expr *expr = parsePrimary();
  while (expr && token.is(TokenKind::LeftBracket)) {
    SourceRange opening = token.range;
    if (isTooDeep(++nesting, opening))
      return nullptr;
    advance();
    bool isColumn = token.is(TokenKind::Colon) && peek().is(TokenKind::Comma);
    if (isColumn) {
      advance();
      advance();
    }
    Expr *index = parseExpression();
    if (!index)
      return nullptr;
    if (token.is(TokenKind::Comma)) {
      report(ErrorCode::UnclosedParenthesis, token.range, "expected ']' before ','")
          .note(opening, "it would close this one")
          .help("index one dimension at a time: A[i][j]; column j is A[:, j]");
      return nullptr;
    }
    if (token.is(TokenKind::Colon)) {
      report(ErrorCode::UnclosedParenthesis, token.range, "expected ']' before ':'")
          .note(opening, "it would close this one")
          .help("a slice is written with two points: " + buffer.getText(expr->range) + "[0..n]", token.range, "..");
      return nullptr;
    }
    Expr *upper = nullptr;
    if (isColumn && token.is(TokenKind::DotDot)) {
      report(ErrorCode::UnclosedParenthesis, token.range, "expected ']' before '..'")
          .note(opening, "it would close this one")
          .help("one column at a time: A[:, j]; several rows are A[a..b]");
      return nullptr;
    }
    if (consumeIf(TokenKind::DotDot) && !(upper = parseExpression()))
      return nullptr;
    if (!expectClosing(TokenKind::RightBracket, opening))
      return nullptr;
    --nesting;
    SourceRange range{expr->range.begin, lastEnd};
    if (upper) {
      expr = makeExpr<SliceExpr>({expr, index, upper}, range, expr, index, upper);
      continue;
    }
    IndexExpr *element = makeExpr<IndexExpr>({expr, index}, range, expr, index);
    if (element)
      element->isColumn = isColumn;
    expr = element;
  }
  return expr;
}

Expr *Parser::parsePrimary() {
  Token first = token;
  switch (first.kind) {
  case TokenKind::Number:
    advance();
    return makeExpr<NumberExpr>({}, first.range, first.number);
  case TokenKind::Identifier:
    advance();
    if (token.is(TokenKind::LeftParen))
      return parseCall(first);
    return makeExpr<NameExpr>({}, first.range, first.text);
  case TokenKind::LeftParen: {
    if (isTooDeep(++nesting, first.range))
      return nullptr;
    advance();
    Expr *inner = parseExpression();
    if (!inner || !expectClosing(TokenKind::RightParen, first.range))
      return nullptr;
    --nesting;
    inner->range = {first.range.begin, lastEnd};
    inner->parenthesized = true;
    return inner;
  }
  case TokenKind::Plus:
    report(ErrorCode::ExpectedExpression, first.range, "expected an expression before '+'")
        .help("there is no unary plus: remove it");
    return nullptr;
  case TokenKind::LeftBracket:
    report(ErrorCode::ExpectedExpression, first.range, "expected an expression before '['")
        .help("there are no lists: parts stand as arguments, as in concat(a, b) and stack(a, b)");
    return nullptr;
  default:
    break;
  }
  if (first.isKeyword() && !first.startsLine)
    report(ErrorCode::KeywordAsName, first.range, describe(first) + " is a keyword and cannot stand in an expression");
  else
    report(ErrorCode::ExpectedExpression, here(), "expected an expression before " + describe(first));
  return nullptr;
}

Expr *Parser::parseCall(const Token &callee) {
  SourceRange opening = token.range;
  if (isTooDeep(++nesting, opening))
    return nullptr;
  advance();
  llvm::SmallVector<Argument, 4> arguments;
  if (!token.is(TokenKind::RightParen)) {
    do
      if (!parseArgument(arguments))
        return nullptr;
    while (consumeIf(TokenKind::Comma));
  }
  if (!expectClosing(TokenKind::RightParen, opening, /*endsList=*/true))
    return nullptr;
  --nesting;
  unsigned depth = 0;
  bool hasIndex = false;
  for (const Argument &argument : arguments) {
    depth = std::max<unsigned>(depth, argument.value->depth);
    hasIndex |= argument.value->hasIndex;
  }
  CallExpr *call = makeExpr<CallExpr>({}, SourceRange{callee.range.begin, lastEnd}, callee.text, callee.range,
                                      file->copy<Argument>(arguments));
  if (!call || isTooDeep(depth + 1, callee.range))
    return nullptr;
  call->depth = uint16_t(depth + 1);
  call->hasIndex = hasIndex || !findBuiltin(callee.text);
  return call;
}

bool Parser::parseArgument(llvm::SmallVectorImpl<Argument> &arguments) {
  Argument argument;
  SourceRange first = token.range;
  // `dim=-1` names an argument too, as others write it: sema says that there is none.
  bool isName = token.is(TokenKind::Identifier) || (token.isKeyword() && !token.startsLine);
  if (isName && peek().is(TokenKind::Equals)) {
    argument.keyword = token.text;
    argument.keywordRange = token.range;
    advance();
    advance();
  }
  argument.value = parseExpression();
  if (!argument.value)
    return false;
  if (argument.keyword.empty() && !arguments.empty() && !arguments.back().keyword.empty()) {
    report(ErrorCode::PositionalAfterKeyword, {first.begin, lastEnd}, "an unnamed argument follows a named one")
        .note(arguments.back().keywordRange, "the named argument")
        .help("move it to the front, or write its name: name = value");
    return false;
  }
  arguments.push_back(argument);
  return true;
}

} // namespace recur::frontend
