#include "Frontend/Lexer.h"

#include "Frontend/Habits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

#include <charconv>
#include <cmath>

namespace recur::frontend {
namespace {

bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// What to type instead of a character that editors and papers put in the place of an ASCII one.
llvm::StringRef getAsciiHelp(llvm::StringRef character) {
  return llvm::StringSwitch<llvm::StringRef>(character)
      .Cases({"\xE2\x88\x92", "\xE2\x80\x93", "\xE2\x80\x94"}, "write the ASCII minus '-'")
      .Cases({"\xC3\x97", "\xC2\xB7", "\xE2\x8B\x85", "\xE2\x88\x97"},
             "write '*' for an elementwise product, '@' for a matrix product")
      .Case("\xE2\x8A\x99", "write '*' for the elementwise product")
      .Case("\xE2\x8A\x97", "write outer(a, b) for the outer product")
      .Case("\xC3\xB7", "write '/'")
      .Case("\xC2\xA0", "this is a no-break space: write an ordinary space")
      .Case("\xE2\x8A\xA4", "there is no transpose: x @ S is S transposed times x")
      .Case("\xCE\xB1", "write alpha")
      .Case("\xCE\xB2", "write beta")
      .Case("\xCE\xB3", "write gamma")
      .Cases({"\xCE\xB4", "\xCE\x94"}, "write delta")
      .Cases({"\xCE\xB5", "\xCF\xB5"}, "write eps")
      .Case("\xCE\xB7", "write eta")
      .Case("\xCE\xB8", "write theta")
      .Cases({"\xCE\xBB", "\xCE\x9B"}, "write lambda")
      .Cases({"\xCE\xBC", "\xC2\xB5"}, "write mu")
      .Case("\xCF\x81", "write rho")
      .Cases({"\xCF\x83", "\xCE\xA3"}, "write sigma")
      .Case("\xCF\x84", "write tau")
      .Cases({"\xCF\x86", "\xCF\x95"}, "write phi")
      .Case("\xC2\xB2", "write a * a for a square")
      .Case("\xE1\xB5\x80", "there is no transpose: x @ S is S transposed times x")
      .Case("\xE2\x88\x9A", "write sqrt(a)")
      .Default("names and operators are ASCII: letters, digits and '_'");
}

} // namespace

Token Lexer::make(TokenKind kind, size_t begin) {
  Token token;
  token.kind = kind;
  token.startsLine = atLineStart;
  token.range = {uint32_t(begin), uint32_t(position)};
  token.text = text.slice(begin, position);
  isLineIgnored &= !atLineStart;
  atLineStart = false;
  return token;
}

Token Lexer::makeError(size_t begin, ErrorCode code, const llvm::Twine &message, llvm::StringRef help) {
  Token token = make(TokenKind::Error, begin);
  if (isLineIgnored)
    return token;
  Diagnostic &diagnostic = diagnostics.report(code, token.range, message);
  if (!help.empty())
    diagnostic.help(help);
  return token;
}

void Lexer::skipBlanksAndComments() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n' || c == '\r') {
      atLineStart = true;
    } else if (c == '#') {
      position = std::min(text.find_first_of("\r\n", position), text.size());
      continue;
    } else if (c != ' ' && c != '\t') {
      return;
    }
    ++position;
  }
}

Token Lexer::next() {
  skipBlanksAndComments();
  if (position >= text.size()) {
    atLineStart = true;
    return make(TokenKind::EndOfFile, position);
  }
  char c = text[position];
  if (isNameStart(c))
    return lexName();
  if (llvm::isDigit(c) || (c == '.' && llvm::isDigit(peek(1))))
    return lexNumber();
  return lexPunctuation();
}

Token Lexer::lexName() {
  size_t begin = position;
  while (isNameCharacter(peek()))
    ++position;
  if (position - begin > kMaxNameLength)
    return makeError(begin, ErrorCode::NameTooLong,
                     "this name has " + llvm::Twine(position - begin) + " characters; at most " +
                         llvm::Twine(kMaxNameLength) + " are allowed");
  TokenKind kind = llvm::StringSwitch<TokenKind>(text.slice(begin, position))
                       .Case("recurrence", TokenKind::KwRecurrence)
                       .Case("dim", TokenKind::KwDim)
                       .Case("const", TokenKind::KwConst)
                       .Case("shared", TokenKind::KwShared)
                       .Case("input", TokenKind::KwInput)
                       .Case("param", TokenKind::KwParam)
                       .Case("state", TokenKind::KwState)
                       .Case("let", TokenKind::KwLet)
                       .Case("output", TokenKind::KwOutput)
                       .Case("restart", TokenKind::KwRestart)
                       .Case("for", TokenKind::KwFor)
                       .Case("scalar", TokenKind::KwScalar)
                       .Case("fn", TokenKind::KwFn)
                       .Case("in", TokenKind::KwIn)
                       .Default(TokenKind::Identifier);
  return make(kind, begin);
}

Token Lexer::lexNumber() {
  size_t begin = position;
  bool beginsWithPoint = peek() == '.';
  auto skipDigits = [&] {
    while (llvm::isDigit(peek()))
      ++position;
  };
  skipDigits();
  // "0..N" is a range: the point belongs to a number only when a digit follows it.
  bool endsWithPoint = false;
  if (peek() == '.' && peek(1) != '.') {
    ++position;
    endsWithPoint = !llvm::isDigit(peek());
    skipDigits();
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-';
    if (llvm::isDigit(peek(1 + sign))) {
      position += 1 + sign;
      skipDigits();
    }
  }
  size_t end = position;
  while (isNameCharacter(peek()))
    ++position;
  if (position != end) {
    llvm::StringRef letters = text.slice(end, position);
    if (letters == "j" || letters == "i")
      return makeError(begin, ErrorCode::MalformedNumber, "a number cannot be followed by letters",
                       ("an imaginary number is complex(0, " + text.slice(begin, end) + ")").str());
    return makeError(begin, ErrorCode::MalformedNumber, "a number cannot be followed by letters",
                     "write '*' between a number and a name; exponents are written 1e-6");
  }
  if (beginsWithPoint)
    return makeError(begin, ErrorCode::MalformedNumber, "a number needs a digit before its point", "write 0.5, not .5");
  if (endsWithPoint)
    return makeError(begin, ErrorCode::MalformedNumber, "a number needs a digit after its point",
                     "write 1.0 or 1, not 1.");

  Token token = make(TokenKind::Number, begin);
  auto [rest, error] = std::from_chars(token.text.begin(), token.text.end(), token.number);
  // from_chars reports both overflow and underflow as out of range, and leaves the value as it was.
  bool isZero = token.text.find_first_of("123456789") > token.text.find_first_of("eE");
  if (error == std::errc::result_out_of_range && !isZero) {
    diagnostics.report(ErrorCode::NumberOutOfRange, token.range,
                       "this number is too large or too small for float64, which holds 1e-308 to 1e308");
    token.kind = TokenKind::Error;
  }
  return token;
}

/// What to write instead of the name before a point, the point and the name after it.
static std::string getHelpForPoint(llvm::StringRef text, size_t point) {
  size_t begin = point;
  while (begin > 0 && isNameCharacter(text[begin - 1]))
    --begin;
  return getHelpForMember(text.slice(begin, point), text.drop_front(point + 1).take_while(isNameCharacter));
}

/// Reads on to the closing quote, or to the end of the line, as one mistake.
Token Lexer::lexString(char quote) {
  size_t begin = position - 1;
  const char ends[] = {quote, '\r', '\n'};
  size_t end = std::min(text.find_first_of(llvm::StringRef(ends, 3), position), text.size());
  llvm::StringRef content = text.slice(position, end);
  position = end + (end < text.size() && text[end] == quote);
  std::string help = getHelpForSubscripts(content, text.drop_front(position));
  return makeError(begin, ErrorCode::UnexpectedCharacter, "there are no strings",
                   help.empty() ? "write names without quotes" : help);
}

Token Lexer::lexPunctuation() {
  size_t begin = position;
  char c = text[position++];
  switch (c) {
  case '{':
    return make(TokenKind::LeftBrace, begin);
  case '}':
    return make(TokenKind::RightBrace, begin);
  case '(':
    return make(TokenKind::LeftParen, begin);
  case ')':
    return make(TokenKind::RightParen, begin);
  case '[':
    return make(TokenKind::LeftBracket, begin);
  case ']':
    return make(TokenKind::RightBracket, begin);
  case ',':
    return make(TokenKind::Comma, begin);
  case ':':
    if (peek() == '=')
      return ++position, makeError(begin, ErrorCode::CompoundAssignment, "there is no operator ':='",
                                   "'=' gives a state its next value, and let gives a value a name");
    return make(TokenKind::Colon, begin);
  case '+':
    return make(TokenKind::Plus, begin);
  case '-':
    return make(TokenKind::Minus, begin);
  case '/':
    if (peek() == '/')
      return ++position, makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '//'",
                                   "a comment begins with '#'; a quotient is written a / b");
    if (peek() == '*') {
      position = std::min({text.find("*/", begin + 2), text.find_first_of("\r\n", begin)});
      position = position == llvm::StringRef::npos ? text.size() : position + (text[position] == '*' ? 2 : 0);
      return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '/*'", "a comment begins with '#'");
    }
    return make(TokenKind::Slash, begin);
  case '@':
    return make(TokenKind::At, begin);
  case '*':
    if (peek() == '*')
      return ++position, makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '**'",
                                   "write a * a for a square, pow(a, p) for a power");
    return make(TokenKind::Star, begin);
  case '=':
    if (peek() == '=')
      return ++position, make(TokenKind::EqualEqual, begin);
    return make(TokenKind::Equals, begin);
  case '.':
    if (peek() == '.')
      return ++position, make(TokenKind::DotDot, begin);
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '.'", getHelpForPoint(text, begin));
  case '\'': {
    // Behind a value it is MATLAB's transpose, elsewhere one of two quotes.
    bool followsValue =
        begin > 0 && (isNameCharacter(text[begin - 1]) || llvm::is_contained({')', ']'}, text[begin - 1]));
    llvm::StringRef line = text.drop_front(position).take_until([](char c) { return c == '\n' || c == '\r'; });
    if (followsValue || !line.contains(c))
      return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '''",
                       "there is no transpose: x @ S is S transposed times x");
    return lexString(c);
  }
  case '^':
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '^'",
                     "write a * a for a square, pow(a, p) for a power");
  case '<':
    if (peek() == '=')
      return ++position, make(TokenKind::AtMost, begin);
    return make(TokenKind::Less, begin);
  case '>':
    if (peek() == '=')
      return ++position, make(TokenKind::AtLeast, begin);
    return make(TokenKind::Greater, begin);
  case '!':
    if (peek() == '=')
      return ++position, make(TokenKind::NotEqual, begin);
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '!'",
                     "where a comparison does not hold, 1 - (a < b) is 1; unequal is a != b");
  case '?':
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '?'", "write where(c, a, b)");
  case '&':
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '&'",
                     "both comparisons hold where (a < b) * (b < c) is 1");
  case '|':
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '|'",
                     "the magnitude of a is abs(a); one of two comparisons holds where max(a < b, b < c) is 1");
  case '%':
    return makeError(begin, ErrorCode::UnsupportedOperator, "there is no operator '%'",
                     "what is left of a after whole numbers of b is mod(a, b)");
  case ';':
    return makeError(begin, ErrorCode::UnexpectedCharacter, "statements are not ended by ';'", "remove it");
  case '"':
    return lexString(c);
  default:
    break;
  }
  unsigned char byte = c;
  if (byte < 0x20 || byte == 0x7F) {
    while (position < text.size() && text[position] == c) // a run of them is one mistake
      ++position;
    return makeError(begin, ErrorCode::ControlCharacter,
                     "the text holds a control character (byte 0x" + llvm::Twine(llvm::utohexstr(byte, false, 2)) + ")",
                     "a specification is plain text; is this the right file, and is it UTF-8?");
  }
  if (byte < 0x80)
    return makeError(begin, ErrorCode::UnexpectedCharacter,
                     "the character '" + llvm::Twine(c) + "' has no meaning here");
  // Take the run of such bytes as one mistake, and look for help at its first character.
  auto *first = reinterpret_cast<const llvm::UTF8 *>(text.data() + begin);
  auto *last = reinterpret_cast<const llvm::UTF8 *>(text.data() + text.size());
  bool legal = llvm::isLegalUTF8Sequence(first, last);
  llvm::StringRef help = legal ? getAsciiHelp(text.substr(begin, llvm::getNumBytesForUTF8(byte)))
                               : "a specification is plain text; is this the right file, and is it UTF-8?";
  while (position < text.size() && (unsigned char)text[position] >= 0x80)
    ++position;
  return makeError(
      begin, ErrorCode::NonAsciiCharacter,
      legal ? "only comments may hold characters that are not ASCII" : "the text holds bytes that are not UTF-8", help);
}

std::string describe(const Token &token) {
  if (token.is(TokenKind::EndOfFile))
    return "the end of the file";
  if (token.text.size() > 40)
    return "'" + token.text.take_front(40).str() + "...'";
  return "'" + token.text.str() + "'";
}

llvm::StringRef spell(TokenKind kind) {
  switch (kind) {
  case TokenKind::LeftBrace:
    return "'{'";
  case TokenKind::RightBrace:
    return "'}'";
  case TokenKind::LeftParen:
    return "'('";
  case TokenKind::RightParen:
    return "')'";
  case TokenKind::LeftBracket:
    return "'['";
  case TokenKind::RightBracket:
    return "']'";
  case TokenKind::Comma:
    return "','";
  case TokenKind::Colon:
    return "':'";
  case TokenKind::Equals:
    return "'='";
  case TokenKind::DotDot:
    return "'..'";
  default:
    return "a token";
  }
}

} // namespace recur::frontend
