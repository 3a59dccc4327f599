#pragma once

#include "Frontend/AST.h"
#include "Frontend/Lexer.h"

namespace recur::frontend {

/// Parses a whole file by recursive descent. After an error the parser goes on at the next statement, so that one run
/// reports several; what could not be parsed is marked in the tree (ErrorExpr, Recurrence::damaged).
class Parser {
public:
  /// How deep expressions and loops may nest, so that no input overflows the stack of this or a later walk.
  static constexpr unsigned kMaxDepth = 400;

  Parser(const SourceBuffer &buffer, DiagnosticEngine &diagnostics);

  std::unique_ptr<File> parseFile();

private:
  using Statements = llvm::SmallVectorImpl<Statement *>;

  // Parser.cpp: tokens, recovery, the file and its recurrences
  void advance();
  const Token &peek();
  bool consumeIf(TokenKind kind);
  Diagnostic &report(ErrorCode code, SourceRange range, const llvm::Twine &message);
  /// The empty range right after the last token taken, where something is missing.
  SourceRange afterLast() const { return {lastEnd, lastEnd}; }
  /// Where to blame the current token: itself, or the end of the line before when it stands on a later one.
  SourceRange here() const;
  void noteDamage();
  bool expectClosing(TokenKind kind, SourceRange opening, bool endsList = false);
  bool expectName(Token &name, llvm::StringRef what);
  void skipToStatement();
  void skipToRecurrence();
  void parseRecurrence();
  void parseFunction();
  bool parseBody(SourceRange opening, Statements &body);

  // ParseStatement.cpp
  void parseStatement(Statements &body);
  void parseDeclarationList(DeclarationKind kind, Statements &body);
  void parseDefinition(DeclarationKind kind, Statements &body);
  void parseAssignment(Statements &body);
  bool isCompoundAssignment();
  void parseCompoundAssignment(Statements &body);
  void parseFor(Statements &body);
  void reportNotAStatement(Statements &body);
  bool parseShape(ShapeSyntax &shape);
  bool isStart();
  bool isKindOfNumbers();
  void parseKindOfNumbers(Statements &body);
  Declaration *makeDeclaration(DeclarationKind kind, const Token &name);
  template <typename S> S *finish(S *statement, uint32_t begin);

  // ParseExpression.cpp: null means that an error was reported
  Expr *parseExpressionOrError();
  Expr *parseExpression();
  Expr *parseSum();
  Expr *parseTerm();
  Expr *parseProduct();
  Expr *parseUnary();
  Expr *parsePostfix();
  Expr *parsePrimary();
  Expr *parseCall(const Token &callee);
  bool parseArgument(llvm::SmallVectorImpl<Argument> &arguments);
  Expr *combine(BinaryOperator op, SourceRange operatorRange, Expr *lhs, Expr *rhs);
  template <typename Node, typename... Arguments>
  Node *makeExpr(std::initializer_list<Expr *> operands, Arguments &&...arguments);
  bool isTooDeep(unsigned depth, SourceRange range);

  const SourceBuffer &buffer;
  DiagnosticEngine &diagnostics;
  Lexer lexer;
  Token token;     // the current one
  Token lookahead; // the one after it, when `hasLookahead`
  bool hasLookahead = false;
  uint32_t lastEnd = 0; // the end of the last token taken
  unsigned nesting = 0; // of parentheses, calls and loops
  uint32_t numNodes = 0;
  std::unique_ptr<File> file;
  Recurrence *recurrence = nullptr;
  bool isDamaged = false;      // the statement that is being read, but for statements in it
  bool lostStatements = false; // outside every recurrence; a name may have been declared there
};

} // namespace recur::frontend
