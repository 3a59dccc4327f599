#pragma once

#include "Frontend/Token.h"
#include "Support/Diagnostics.h"

namespace recur::frontend {

/// Cuts a source buffer into tokens, one at a time. Blanks, line ends and comments only separate tokens.
class Lexer {
public:
  static constexpr size_t kMaxNameLength = 255;

  Lexer(const SourceBuffer &buffer, DiagnosticEngine &diagnostics) : text(buffer.getText()), diagnostics(diagnostics) {}

  Token next();
  /// What is wrong in the rest of this line is not reported: something before it was.
  void ignoreRestOfLine() { isLineIgnored = true; }

private:
  Token lexName();
  Token lexNumber();
  Token lexPunctuation();
  Token lexString(char quote);
  void skipBlanksAndComments();
  /// Makes a token of [begin, position).
  Token make(TokenKind kind, size_t begin);
  Token makeError(size_t begin, ErrorCode code, const llvm::Twine &message, llvm::StringRef help = "");
  char peek(size_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : '\0'; }

  llvm::StringRef text;
  DiagnosticEngine &diagnostics;
  size_t position = 0;
  bool atLineStart = true, isLineIgnored = false;
};

} // namespace recur::frontend
