#pragma once

#include "Support/SourceBuffer.h"

namespace recur::frontend {

enum class TokenKind : uint8_t {
  EndOfFile,
  Error, // reported by the lexer already
  Identifier,
  Number,
  // Keywords; KwRecurrence must stay the first and KwIn the last.
  KwRecurrence,
  KwDim,
  KwConst,
  KwShared,
  KwInput,
  KwParam,
  KwState,
  KwLet,
  KwOutput,
  KwRestart,
  KwFor,
  KwScalar,
  KwFn,
  KwIn,
  // Punctuation
  LeftBrace,
  RightBrace,
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  Comma,
  Colon,
  Equals,
  Plus,
  Minus,
  Star,
  Slash,
  At,
  Less,
  AtMost,
  Greater,
  AtLeast,
  EqualEqual,
  NotEqual,
  DotDot,
};

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  bool startsLine = false; // nothing but blanks stands before it on its line
  SourceRange range;
  llvm::StringRef text;
  double number = 0; // of a Number

  bool is(TokenKind other) const { return kind == other; }
  bool isKeyword() const { return kind >= TokenKind::KwRecurrence && kind <= TokenKind::KwIn; }
  /// True for a keyword that begins a statement of a body.
  bool beginsStatement() const { return kind >= TokenKind::KwDim && kind <= TokenKind::KwFor; }
};

/// How a token is called in a message: "'{'", "the end of the file", "'beta'".
std::string describe(const Token &token);
/// The fixed spelling of a kind, quoted: "'{'".
llvm::StringRef spell(TokenKind kind);

} // namespace recur::frontend
