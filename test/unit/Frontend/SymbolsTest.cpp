// What editors are told of the words of the language and of the names of a file.

#include "Frontend/Symbols.h"
#include "Frontend/Builtins.h"
#include "Frontend/Glossary.h"
#include "Frontend/Lexer.h"

#include "gtest/gtest.h"

namespace recur::frontend::testing {
namespace {

TEST(Glossary, HasEveryFunctionAsItIsCalled) {
  for (const BuiltinInfo &builtin : getBuiltins()) {
    const GlossaryEntry *entry = findInGlossary(builtin.name);
    ASSERT_TRUE(entry) << builtin.name.str();
    EXPECT_EQ(entry->form, builtin.signature);
  }
}

TEST(Glossary, HoldsOnlyWordsOfTheLanguage) {
  unsigned keywords = 0;
  for (const GlossaryEntry &entry : getGlossary()) {
    SourceBuffer buffer("word", entry.word.str());
    DiagnosticEngine diagnostics;
    Token token = Lexer(buffer, diagnostics).next();
    keywords += token.isKeyword();
    EXPECT_TRUE(token.isKeyword() || findBuiltin(entry.word) || entry.word == "token" || entry.word == "pi" ||
                entry.word == "int")
        << entry.word.str();
    EXPECT_TRUE(entry.meaning.ends_with(".")) << entry.word.str();
  }
  EXPECT_EQ(keywords, unsigned(TokenKind::KwIn) - unsigned(TokenKind::KwRecurrence) + 1);
}

/// "kind name: shape @recurrence, uses" of each symbol.
std::vector<std::string> list(const std::string &text) {
  SourceBuffer buffer("test.recur", text);
  InstantiationOptions options;
  options.assumedDim = 4;
  DiagnosticEngine diagnostics;
  std::vector<std::string> lines;
  for (const Symbol &symbol : listSymbols(buffer, options, diagnostics)) {
    EXPECT_EQ(buffer.getText(symbol.declared), symbol.name);
    for (SourceRange use : symbol.uses)
      EXPECT_EQ(buffer.getText(use), symbol.name);
    lines.push_back((spell(symbol.kind) + " " + symbol.name + ": " + symbol.shape + " @" + symbol.recurrence + ", " +
                     llvm::Twine(symbol.uses.size()))
                        .str());
  }
  return lines;
}

TEST(Symbols, LoopsAndOutputsHaveNamesOfTheirOwn) {
  EXPECT_EQ(
      list("fn f(a) = a * a\n"
           "recurrence r { dim N = 2 input x: [N] state s for i in 0..N { let a = f(x[i]) s = s + a }\n"
           "for i in 0..1 { let a = i s = s + a } output s = s }"),
      (std::vector<std::string>{"fn f:  @, 1", "argument a:  @, 2", "recurrence r:  @r, 0", "dim N:  @r, 2",
                                "input x: [N] @r, 1", "state s: scalar @r, 5", "for i:  @r, 1", "let a: scalar @r, 1",
                                "for i:  @r, 1", "let a: scalar @r, 1", "output s: scalar @r, 0"}));
}

TEST(Symbols, RecurrencesKeepTheirNamesApart) {
  EXPECT_EQ(list("recurrence p { input x state s s = s + x output o = s } recurrence q { input x state t t = t * x "
                 "output o = t }"),
            (std::vector<std::string>{"recurrence p:  @p, 0", "input x: scalar @p, 1", "state s: scalar @p, 3",
                                      "output o: scalar @p, 0", "recurrence q:  @q, 0", "input x: scalar @q, 1",
                                      "state t: scalar @q, 3", "output o: scalar @q, 0"}));
}

TEST(Symbols, AFileWithMistakesHasNames) {
  EXPECT_EQ(list("recurrence p { dim K input x: [K] let y = x + nothing let z = ( output o = y"),
            (std::vector<std::string>{"recurrence p:  @p, 0", "dim K:  @p, 1", "input x: [K] @p, 1", "let y:  @p, 1",
                                      "let z:  @p, 0", "output o:  @p, 0"}));
}

} // namespace
} // namespace recur::frontend::testing
