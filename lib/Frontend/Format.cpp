#include "Frontend/Format.h"

#include "Frontend/Lexer.h"
#include "Frontend/Parser.h"

// A formatter of tokens. It needs no tree: the tokens say by themselves where a statement begins. Each token and each
// comment is a piece; pieces become lines, lines that are too long are broken, and the comments behind code are
// aligned. Where the author ended a line within a statement, it ends in the result, too: what is long reads best where
// a person broke it.

namespace recur::frontend {
namespace {

using llvm::StringRef;

constexpr unsigned kIndent = 2, kContinuationIndent = 4, kMostContinuations = 4;

struct Piece {
  TokenKind kind = TokenKind::EndOfFile; // of a token
  bool isComment = false;
  bool isUnary = false;         // a minus that is one
  bool beginsStatement = false; // or closes a block
  unsigned linesBefore = 0;     // line ends between it and the piece before
  unsigned depth = 0;           // parentheses and brackets around it; a closing one is outside
  StringRef text;

  bool is(TokenKind other) const { return !isComment && kind == other; }
  bool isKeyword() const { return !isComment && kind >= TokenKind::KwRecurrence && kind <= TokenKind::KwIn; }
  bool opens() const { return is(TokenKind::LeftParen) || is(TokenKind::LeftBracket); }
  bool closes() const { return is(TokenKind::RightParen) || is(TokenKind::RightBracket); }
  bool isBinaryOperator() const {
    return !isComment && !isUnary && kind >= TokenKind::Plus && kind <= TokenKind::NotEqual;
  }
  bool endsOperand() const { return is(TokenKind::Identifier) || is(TokenKind::Number) || closes(); }
};

struct Line {
  std::vector<Piece> pieces;
  unsigned indent = 0;
  bool blankBefore = false;
};

/// The comments between two tokens, and the line ends that stand before what follows.
unsigned readGap(StringRef gap, std::vector<Piece> &pieces) {
  unsigned lines = 0;
  while (!gap.empty()) {
    if (gap.front() == '#') {
      Piece comment;
      comment.isComment = true;
      comment.linesBefore = lines;
      comment.text = gap.take_until([](char c) { return c == '\n' || c == '\r'; });
      gap = gap.drop_front(comment.text.size());
      comment.text = comment.text.rtrim(" \t");
      pieces.push_back(comment);
      lines = 0;
      continue;
    }
    bool endsLine = gap.front() == '\n' || gap.front() == '\r';
    lines += endsLine;
    gap = gap.drop_front(endsLine && gap.starts_with("\r\n") ? 2 : 1);
  }
  return lines;
}

std::vector<Piece> readPieces(const SourceBuffer &buffer) {
  DiagnosticEngine ignored; // the parser has reported what there is
  Lexer lexer(buffer, ignored);
  std::vector<Piece> pieces;
  uint32_t end = 0;
  for (;;) {
    Token token = lexer.next();
    unsigned lines = readGap(buffer.getText({end, token.range.begin}), pieces);
    if (token.is(TokenKind::EndOfFile))
      return pieces;
    Piece piece;
    piece.kind = token.kind;
    piece.text = token.text;
    piece.linesBefore = lines;
    // The two words of `at start` are spaced as keywords are.
    if (piece.is(TokenKind::Identifier) && piece.text == "start" && lines == 0 && !pieces.empty() &&
        pieces.back().is(TokenKind::Identifier) && pieces.back().text == "at")
      piece.kind = pieces.back().kind = TokenKind::KwIn;
    // `complex` or `int` before a declaration belongs to it as `shared` does.
    bool isDeclaration = piece.is(TokenKind::KwShared) || piece.is(TokenKind::KwInput) ||
                         piece.is(TokenKind::KwParam) || piece.is(TokenKind::KwState) || piece.is(TokenKind::KwOutput);
    if (isDeclaration && !pieces.empty() && pieces.back().is(TokenKind::Identifier) &&
        (pieces.back().text == "complex" || pieces.back().text == "int"))
      pieces.back().kind = TokenKind::KwShared;
    pieces.push_back(piece);
    end = token.range.end;
  }
}

/// Whether the token begins a statement, a block's end or an item of the file. `before` and `after` are null at the
/// ends of the file.
bool beginsStatement(const Piece &piece, const Piece *before, const Piece *after) {
  if (piece.is(TokenKind::LeftBrace))
    return false;
  if (!before || before->is(TokenKind::LeftBrace) || before->is(TokenKind::RightBrace) ||
      piece.is(TokenKind::RightBrace))
    return true;
  if (piece.isKeyword())
    return !piece.is(TokenKind::KwScalar) && !piece.is(TokenKind::KwIn) && !before->is(TokenKind::KwShared);
  // An assignment. After a comma or a keyword, a name with '=' belongs to a declaration.
  return piece.depth == 0 && piece.is(TokenKind::Identifier) && after && after->is(TokenKind::Equals) &&
         (!before->isKeyword() || before->is(TokenKind::KwScalar)) && !before->is(TokenKind::Comma);
}

/// Finds out of each piece what its place says.
void classify(std::vector<Piece> &pieces) {
  std::vector<Piece *> tokens;
  for (Piece &piece : pieces)
    if (!piece.isComment)
      tokens.push_back(&piece);
  unsigned depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Piece &piece = *tokens[i];
    const Piece *before = i ? tokens[i - 1] : nullptr, *after = i + 1 < tokens.size() ? tokens[i + 1] : nullptr;
    depth -= piece.closes();
    piece.depth = depth;
    depth += piece.opens();
    piece.isUnary = piece.is(TokenKind::Minus) && !(before && before->endsOperand());
    piece.beginsStatement = beginsStatement(piece, before, after);
  }
  // A comment has the place of what it stands before.
  bool beginsStatement = true;
  depth = 0;
  for (Piece &piece : llvm::reverse(pieces)) {
    if (piece.isComment) {
      piece.beginsStatement = beginsStatement;
      piece.depth = depth;
    }
    beginsStatement = piece.beginsStatement;
    depth = piece.depth;
  }
}

/// A comment that has its line for itself.
bool isAlone(const std::vector<Piece> &pieces, size_t i) {
  return pieces[i].isComment && (i == 0 || pieces[i].linesBefore > 0);
}

/// An empty line stands before a recurrence, and before what follows one; the comments right above belong to it.
void separateItems(std::vector<Piece> &pieces) {
  unsigned level = 0;
  bool afterRecurrence = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece &piece = pieces[i];
    if (afterRecurrence && (!piece.isComment || isAlone(pieces, i))) {
      piece.linesBefore = std::max(piece.linesBefore, 2u);
      afterRecurrence = false;
    }
    if (piece.is(TokenKind::KwRecurrence)) {
      size_t first = i;
      while (first && pieces[first].linesBefore <= 1 && isAlone(pieces, first - 1))
        --first;
      pieces[first].linesBefore = std::max(pieces[first].linesBefore, 2u);
    }
    level += piece.is(TokenKind::LeftBrace);
    level -= piece.is(TokenKind::RightBrace);
    afterRecurrence |= piece.is(TokenKind::RightBrace) && level == 0;
  }
}

/// Whether these two stay on one line, whatever the author did.
bool isJoined(const Piece &before, const Piece &piece) {
  switch (piece.kind) {
  case TokenKind::Comma:
  case TokenKind::Colon:
  case TokenKind::Equals:
  case TokenKind::DotDot:
  case TokenKind::LeftBrace:
    return true;
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
    if (before.endsOperand())
      return true;
    break;
  default:
    break;
  }
  return before.isUnary || before.isKeyword() || before.is(TokenKind::Colon) || before.is(TokenKind::DotDot);
}

bool isSpaced(const Piece &before, const Piece &piece) {
  if (before.opens() || piece.closes() || before.isUnary || before.is(TokenKind::DotDot))
    return false;
  switch (piece.kind) {
  case TokenKind::Comma:
  case TokenKind::Colon:
  case TokenKind::DotDot:
    return false;
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
    return !before.endsOperand();
  default:
    return true;
  }
}

/// How bad it is to end a line before this piece; nothing where a line cannot end.
std::optional<unsigned> getBreakCost(const Piece &before, const Piece &piece) {
  unsigned cost;
  if (before.is(TokenKind::Comma))
    cost = 0;
  else if (piece.kind >= TokenKind::Less && piece.kind <= TokenKind::NotEqual && !piece.isComment)
    cost = 1;
  else if (piece.is(TokenKind::Plus) || (piece.is(TokenKind::Minus) && !piece.isUnary))
    cost = 1;
  else if (piece.is(TokenKind::Star) || piece.is(TokenKind::Slash))
    cost = 2;
  else if (before.is(TokenKind::Equals) && before.depth == 0)
    cost = 3;
  else if (piece.is(TokenKind::At))
    cost = 4;
  else
    return std::nullopt;
  return piece.depth * 5 + cost;
}

std::string print(llvm::ArrayRef<Piece> pieces) {
  std::string text;
  for (size_t i = 0; i < pieces.size() && !pieces[i].isComment; ++i) {
    if (i && isSpaced(pieces[i - 1], pieces[i]))
      text += ' ';
    text += pieces[i].text;
  }
  return text;
}

unsigned getContinuationIndent(const Piece &first) {
  unsigned deepest = std::min(first.depth, kMostContinuations);
  return kContinuationIndent * (first.closes() ? deepest : std::max(deepest, 1u));
}

/// Whether all of it stands on one line that begins at this column.
bool fits(llvm::ArrayRef<Piece> pieces, size_t column) {
  for (size_t i = 0; i < pieces.size() && !pieces[i].isComment && column <= kFormatColumns; ++i)
    column += pieces[i].text.size() + (i && isSpaced(pieces[i - 1], pieces[i]));
  return column <= kFormatColumns;
}

/// Where to end a line, when it is too long and can be. A line never ends after '=' unless what follows then fits.
std::optional<size_t> findBreak(llvm::ArrayRef<Piece> pieces, unsigned indent, unsigned base) {
  std::optional<size_t> best;
  unsigned bestCost = 0;
  size_t column = indent;
  for (size_t i = 0; i < pieces.size() && !pieces[i].isComment; ++i) {
    std::optional<unsigned> cost = i ? getBreakCost(pieces[i - 1], pieces[i]) : std::nullopt;
    if (best && column > kFormatColumns)
      return best;
    if (cost && pieces[i - 1].is(TokenKind::Equals) &&
        !fits(pieces.drop_front(i), base + getContinuationIndent(pieces[i])))
      cost = std::nullopt;
    if (cost && (!best || *cost <= bestCost)) {
      best = i;
      bestCost = *cost;
    }
    column += pieces[i].text.size() + (i && isSpaced(pieces[i - 1], pieces[i]));
  }
  return column > kFormatColumns ? best : std::nullopt;
}

class Layout {
public:
  std::vector<Line> run(const std::vector<Piece> &pieces) {
    for (size_t i = 0; i < pieces.size(); ++i)
      place(pieces, i);
    return std::move(lines);
  }

private:
  void place(const std::vector<Piece> &pieces, size_t i) {
    const Piece &piece = pieces[i];
    const Piece *before = i ? &pieces[i - 1] : nullptr;
    level -= piece.is(TokenKind::RightBrace);
    if (!before || endsLine(*before, piece))
      begin(piece, before);
    lines.back().pieces.push_back(piece);
    level += piece.is(TokenKind::LeftBrace);
  }

  static bool endsLine(const Piece &before, const Piece &piece) {
    if (before.isComment)
      return true;
    if (piece.isComment)
      return piece.linesBefore > 0;
    if (piece.beginsStatement || before.is(TokenKind::LeftBrace))
      return true;
    return piece.linesBefore > 0 && !isJoined(before, piece);
  }

  void begin(const Piece &piece, const Piece *before) {
    bool isOutside = piece.beginsStatement || piece.is(TokenKind::LeftBrace);
    Line line;
    line.indent = level * kIndent + (isOutside ? 0 : getContinuationIndent(piece));
    line.blankBefore = before && piece.linesBefore > 1 && isOutside && !before->is(TokenKind::LeftBrace) &&
                       !piece.is(TokenKind::LeftBrace) && !piece.is(TokenKind::RightBrace);
    lines.push_back(std::move(line));
  }

  unsigned level = 0;
  std::vector<Line> lines;
};

/// Breaks what is too long.
std::vector<Line> wrap(std::vector<Line> lines) {
  std::vector<Line> result;
  for (Line &line : lines) {
    unsigned base = line.indent;
    if (const Piece &first = line.pieces.front(); !first.beginsStatement && !first.is(TokenKind::LeftBrace))
      base -= getContinuationIndent(first);
    llvm::ArrayRef<Piece> rest = line.pieces;
    unsigned indent = line.indent;
    bool blankBefore = line.blankBefore;
    while (!rest.empty()) {
      size_t size = findBreak(rest, indent, base).value_or(rest.size());
      result.push_back({rest.take_front(size).vec(), indent, blankBefore});
      rest = rest.drop_front(size);
      blankBefore = false;
      if (!rest.empty())
        indent = base + getContinuationIndent(rest.front());
    }
  }
  return result;
}

} // namespace

std::optional<std::string> format(const SourceBuffer &buffer, DiagnosticEngine &diagnostics) {
  Parser(buffer, diagnostics).parseFile();
  bool isEmpty = diagnostics.hasErrors() && diagnostics.getLast().code == ErrorCode::EmptyFile; // the only error then
  if (diagnostics.hasErrors() && !isEmpty)
    return std::nullopt;
  std::vector<Piece> pieces = readPieces(buffer);
  classify(pieces);
  separateItems(pieces);
  std::vector<Line> lines = wrap(Layout().run(pieces));

  // The comments behind neighbouring lines of code begin in one column.
  std::vector<std::string> code;
  for (const Line &line : lines)
    code.push_back(print(line.pieces));
  auto hasTrailingComment = [&](size_t i) { return !code[i].empty() && lines[i].pieces.back().isComment; };
  std::string text;
  size_t column = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line &line = lines[i];
    if (hasTrailingComment(i) && (i == 0 || line.blankBefore || !hasTrailingComment(i - 1))) {
      column = 0;
      for (size_t j = i; j < lines.size() && hasTrailingComment(j) && (j == i || !lines[j].blankBefore); ++j)
        column = std::max(column, lines[j].indent + code[j].size() + 2);
    }
    if (line.blankBefore)
      text += '\n';
    text.append(line.indent, ' ').append(code[i]);
    if (hasTrailingComment(i))
      text.append(column - line.indent - code[i].size(), ' ');
    if (line.pieces.back().isComment)
      text += line.pieces.back().text;
    text += '\n';
  }
  return text;
}

} // namespace recur::frontend
