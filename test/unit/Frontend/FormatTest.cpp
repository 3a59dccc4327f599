// Formatting keeps the tokens and the comments, is its own fixed point, and leaves the library of recurrences as it is.

#include "Frontend/Format.h"
#include "../Examples.h"
#include "FrontendTesting.h"

#include "Frontend/Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <random>

namespace recur::frontend::testing {
namespace {

std::string formatText(const std::string &text) {
  SourceBuffer buffer("test.recur", text);
  DiagnosticEngine diagnostics;
  std::optional<std::string> result = format(buffer, diagnostics);
  return result.value_or("refused");
}

/// The tokens and the comments, each on a line.
std::vector<std::string> listWords(const std::string &text) {
  SourceBuffer buffer("test.recur", text);
  DiagnosticEngine diagnostics;
  Lexer lexer(buffer, diagnostics);
  std::vector<std::string> words;
  uint32_t end = 0;
  for (;;) {
    Token token = lexer.next();
    llvm::StringRef gap = buffer.getText({end, token.range.begin});
    for (size_t at = gap.find('#'); at != llvm::StringRef::npos; at = gap.find('#')) {
      llvm::StringRef comment = gap.drop_front(at).take_until([](char c) { return c == '\n' || c == '\r'; });
      words.push_back(comment.rtrim(" \t").str());
      gap = gap.drop_front(at + comment.size());
    }
    if (token.is(TokenKind::EndOfFile))
      return words;
    words.push_back(token.text.str());
    end = token.range.end;
  }
}

void expectKeepsItsWords(const std::string &text) {
  std::string once = formatText(text);
  EXPECT_EQ(listWords(once), listWords(text)) << text;
  EXPECT_EQ(formatText(once), once) << text;
}

std::vector<std::string> readExamples() {
  std::vector<std::string> texts;
  for (const std::string &path : test::listExamples())
    texts.push_back(test::readExample(path));
  return texts;
}

TEST(Format, ExamplesAreFormatted) {
  std::vector<std::string> texts = readExamples();
  EXPECT_GT(texts.size(), 40u);
  for (const std::string &text : texts)
    EXPECT_EQ(formatText(text), text);
}

TEST(Format, SpacesAndLines) {
  EXPECT_EQ(formatText("recurrence f{dim K=2,N input x:[K],g:scalar state S:[K]\n\n\n\nS=exp( -g )*S+x   # more\n"
                       "for j in 0 .. N{S=S-- x}output o=S[0 ..K]}"),
            "recurrence f {\n  dim K = 2, N\n  input x: [K], g: scalar\n  state S: [K]\n\n"
            "  S = exp(-g) * S + x  # more\n  for j in 0..N {\n    S = S - -x\n  }\n  output o = S[0..K]\n}\n");
}

TEST(Format, AnAssignmentAfterAScalarHasItsLine) {
  EXPECT_EQ(formatText("recurrence f { input g: scalar state s s = s + g output o = s }"),
            "recurrence f {\n  input g: scalar\n  state s\n  s = s + g\n  output o = s\n}\n");
  EXPECT_EQ(formatText("recurrence f { state s: scalar s = s + 1 output o: scalar = s }"),
            "recurrence f {\n  state s: scalar\n  s = s + 1\n  output o: scalar = s\n}\n");
}

TEST(Format, NamedArgumentsAreNoStatements) {
  EXPECT_EQ(formatText("recurrence f { dim K input x: [K] state s: [K] s = rmsnorm(x,\neps=1e-5) output o = s }"),
            "recurrence f {\n  dim K\n  input x: [K]\n  state s: [K]\n  s = rmsnorm(x,\n      eps = 1e-5)\n"
            "  output o = s\n}\n");
}

TEST(Format, CommentsStayWhereTheyAre) {
  std::string text = "# a file\n\n# of one function\nfn f(a) = a  # which is nothing\n\n# and a recurrence\n"
                     "recurrence r {  # here\n  # with an input\n  input x    # of x\n  state s: scalar  # and s\n\n"
                     "  s = s\n      # plus\n      + f(x)\n  output o = s\n  # the end\n}\n# after it\n";
  EXPECT_EQ(formatText(text),
            "# a file\n\n# of one function\nfn f(a) = a  # which is nothing\n\n# and a recurrence\n"
            "recurrence r {  # here\n  # with an input\n  input x          # of x\n  state s: scalar  # and s\n\n"
            "  s = s\n      # plus\n      + f(x)\n  output o = s\n  # the end\n}\n\n# after it\n");
}

TEST(Format, CommentsBeforeABrace) {
  expectKeepsItsWords(
      "recurrence r # name\n { # open\n input x # one\n , # two\n y state s # three\n s = # four\n s + x\n"
      "for j # five\n in 0 # six\n .. 2 # seven\n { # eight\n s = s # nine\n } # ten\n output o = s\n}");
}

TEST(Format, LongLinesAreBroken) {
  std::string sum = "x";
  for (int i = 0; i < 40; ++i)
    sum += " + exp(x, x)";
  std::string text = formatText("recurrence r { input x state s s = " + sum + " output o = s }");
  for (llvm::StringRef line : llvm::split(text, '\n'))
    EXPECT_LE(line.size(), kFormatColumns);
  EXPECT_NE(text.find("\n      + exp(x, x)"), std::string::npos);
  EXPECT_EQ(formatText(text), text);
}

TEST(Format, EmptyFilesAndByteOrderMarks) {
  EXPECT_EQ(formatText(""), "");
  EXPECT_EQ(formatText("\n \n"), "");
  EXPECT_EQ(formatText("\n# only this \r\n"), "# only this\n");
  EXPECT_EQ(formatText("\xEF\xBB\xBF"
                       "fn f(a)=a\r\nfn g(a)=-a\r\n"),
            "fn f(a) = a\nfn g(a) = -a\n");
}

TEST(Format, RefusesWhatIsNoProgram) {
  EXPECT_EQ(formatText("recurrence r { input x"), "refused");
  EXPECT_EQ(formatText("recurrence r { s ** 2 }"), "refused");
}

TEST(Format, ManyNamesOfOneLine) {
  std::string text = "recurrence r { input x";
  for (int i = 0; i < 200000; ++i)
    text += ", x" + std::to_string(i);
  text = formatText(text + " }");
  EXPECT_GT(text.size(), 1000000u);
  EXPECT_EQ(formatText(text), text);
}

/// The examples with other blanks, line ends and comments between their tokens.
TEST(Format, RandomSpacing) {
  std::mt19937 random(7);
  const char *gaps[] = {" ", " ", "  ", "\n", "\n\n\n", "\t", " # note\n", "\n# note \n\n", "\r\n", " #\n#\n"};
  for (const std::string &example : readExamples())
    for (int draw = 0; draw < 10; ++draw) {
      std::string text;
      SourceBuffer buffer("test.recur", example);
      DiagnosticEngine diagnostics;
      Lexer lexer(buffer, diagnostics);
      for (Token token = lexer.next(); !token.is(TokenKind::EndOfFile); token = lexer.next())
        text += token.text.str() + gaps[random() % std::size(gaps)];
      expectKeepsItsWords(text);
    }
}

/// The examples with a few bytes lost, doubled or changed: refused, or formatted like any other text.
TEST(Format, RandomMistakes) {
  std::mt19937 random(11);
  const char bytes[] = "#\n\r \t(){}[],:=+-*/@.09aK_";
  unsigned accepted = 0;
  for (const std::string &example : readExamples())
    for (int draw = 0; draw < 40; ++draw) {
      std::string text = example;
      for (unsigned change = random() % 4 + 1; change > 0; --change) {
        size_t at = random() % text.size(), kind = random() % 3;
        if (kind == 0)
          text.erase(at, 1);
        else if (kind == 1)
          text.insert(at, 1, bytes[random() % (sizeof(bytes) - 1)]);
        else
          text[at] = bytes[random() % (sizeof(bytes) - 1)];
      }
      SourceBuffer buffer("test.recur", text);
      DiagnosticEngine diagnostics;
      if (!format(buffer, diagnostics))
        continue;
      ++accepted;
      expectKeepsItsWords(text);
    }
  EXPECT_GT(accepted, 100u);
}

} // namespace
} // namespace recur::frontend::testing
