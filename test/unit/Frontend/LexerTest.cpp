#include "Frontend/Lexer.h"

#include "gtest/gtest.h"

namespace recur::frontend::testing {
namespace {

struct Lexed {
  explicit Lexed(std::string text) : buffer("test.recur", std::move(text)) {
    Lexer lexer(buffer, diagnostics);
    while (true) {
      tokens.push_back(lexer.next());
      if (tokens.back().is(TokenKind::EndOfFile))
        return;
    }
  }
  std::string codes() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.getDiagnostics())
      text += getErrorCodeText(diagnostic.code).str() + " ";
    return text;
  }
  std::string texts() const {
    std::string text;
    for (const Token &token : tokens)
      text += token.text.str() + "|";
    return text;
  }

  SourceBuffer buffer;
  DiagnosticEngine diagnostics;
  std::vector<Token> tokens;
};

TEST(Lexer, CutsAStatement) {
  Lexed lexed("S = S@diag(a) + outer(v, k[j]) # not this\nfor");
  EXPECT_EQ(lexed.texts(), "S|=|S|@|diag|(|a|)|+|outer|(|v|,|k|[|j|]|)|for||");
  EXPECT_TRUE(lexed.tokens.front().startsLine);
  EXPECT_FALSE(lexed.tokens[1].startsLine);
  const Token &keyword = lexed.tokens[lexed.tokens.size() - 2];
  EXPECT_TRUE(keyword.is(TokenKind::KwFor));
  EXPECT_TRUE(keyword.startsLine);
  EXPECT_TRUE(keyword.beginsStatement());
}

TEST(Lexer, KnowsEveryKeyword) {
  Lexed lexed("recurrence dim const shared input param state let output for scalar in");
  for (size_t i = 0; i + 1 < lexed.tokens.size(); ++i)
    EXPECT_TRUE(lexed.tokens[i].isKeyword()) << lexed.tokens[i].text.str();
  EXPECT_EQ(lexed.tokens.size(), 13u);
}

TEST(Lexer, KeywordsAreWholeWords) {
  Lexed lexed("inputs in_ Dim states");
  for (size_t i = 0; i + 1 < lexed.tokens.size(); ++i)
    EXPECT_TRUE(lexed.tokens[i].is(TokenKind::Identifier)) << lexed.tokens[i].text.str();
}

TEST(Lexer, ReadsNumbers) {
  Lexed lexed("0 12 1.5 1e-6 2.5E+3 0e999 5e-324");
  std::vector<double> expected = {0, 12, 1.5, 1e-6, 2500, 0, 5e-324};
  EXPECT_EQ(lexed.codes(), "");
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(lexed.tokens[i].number, expected[i]) << lexed.tokens[i].text.str();
}

TEST(Lexer, ARangeIsNotADecimalPoint) {
  Lexed lexed("0..N 1.5..2");
  EXPECT_EQ(lexed.texts(), "0|..|N|1.5|..|2||");
  EXPECT_EQ(lexed.codes(), "");
}

TEST(Lexer, RefusesMalformedNumbers) {
  EXPECT_EQ(Lexed("1. .5 2x 1e 0x10 1e400 1e-400 1..").codes(), "R0003 R0003 R0003 R0003 R0003 R0004 R0004 ");
}

TEST(Lexer, RefusesOperatorsThatTheLanguageLacks) {
  EXPECT_EQ(Lexed("** // ^ ! ? & | % . '").codes(), "R0007 R0007 R0007 R0007 R0007 R0007 R0007 R0007 R0007 R0007 ");
  EXPECT_EQ(Lexed("; $ ~ \\ ` \"").codes(), "R0001 R0001 R0001 R0001 R0001 R0001 ");
}

TEST(Lexer, TakesARunOfJunkAsOneMistake) {
  EXPECT_EQ(Lexed(std::string("a\0\0\0\0b", 6)).codes(), "R0005 ");
  EXPECT_EQ(Lexed("a \xFF\xFE\xFD b").codes(), "R0002 ");
  EXPECT_EQ(Lexed("\xCE\xB1\xCE\xB2").codes(), "R0002 ");
}

TEST(Lexer, CommentsHoldAnything) {
  EXPECT_EQ(Lexed("a # \xCE\xB1 \xFF \x01 $\nb").codes(), "");
  EXPECT_EQ(Lexed("a # to the end of the file").texts(), "a||");
}

TEST(Lexer, LineEnds) {
  for (std::string end : {"\n", "\r\n", "\r"}) {
    Lexed lexed("a # c" + end + "b" + end);
    EXPECT_EQ(lexed.texts(), "a|b||");
    EXPECT_TRUE(lexed.tokens[1].startsLine);
    EXPECT_EQ(lexed.buffer.getLineColumn(lexed.tokens[1].range.begin).line, 2u);
  }
}

TEST(Lexer, SkipsAByteOrderMark) {
  Lexed lexed("\xEF\xBB\xBF"
              "dim");
  EXPECT_EQ(lexed.codes(), "");
  EXPECT_TRUE(lexed.tokens[0].is(TokenKind::KwDim));
  EXPECT_EQ(lexed.buffer.getLineColumn(lexed.tokens[0].range.begin).column, 1u);
}

TEST(Lexer, BoundsNames) {
  EXPECT_EQ(Lexed(std::string(255, 'a')).codes(), "");
  EXPECT_EQ(Lexed(std::string(256, 'a')).codes(), "R0006 ");
}

} // namespace
} // namespace recur::frontend::testing
