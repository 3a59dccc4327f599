// No input may crash the front end, hang it, or make it allocate without bound.

#include "FrontendTesting.h"

#include "Frontend/Parser.h"

#include <ctime>
#include <random>

namespace recur::frontend::testing {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECUR_SLOW 10
#endif
#endif
#ifndef RECUR_SLOW
#define RECUR_SLOW 1
#endif

/// Seconds of processor time, which other work on the machine does not stretch.
template <typename Run> double measure(Run run) {
  clock_t begin = clock();
  run();
  return double(clock() - begin) / CLOCKS_PER_SEC / RECUR_SLOW;
}

/// 10 MB of sensible statements, each ended by `end`.
std::string makeHugeFile(const std::string &end = " # a comment\n") {
  std::string text = "recurrence huge {\n  dim K = 4 input k: [K], g state s: [K]\n";
  for (int i = 0; text.size() < 10'000'000; ++i) {
    std::string name = "x" + std::to_string(i);
    text += "  let " + name + " = exp(g) * s + max(k, " + std::to_string(i) + " * g)" + end + "  s = s + " + name + end;
  }
  return text + "  output o = s\n}\n";
}

TEST(Robustness, TenMegabytesParseInUnderASecond) {
  SourceBuffer buffer("huge.recur", makeHugeFile());
  ASSERT_GE(buffer.getText().size(), 10'000'000u);
  DiagnosticEngine diagnostics;
  std::unique_ptr<File> file;
  double seconds = measure([&] { file = Parser(buffer, diagnostics).parseFile(); });
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_GT(file->recurrences.front()->body.size(), 200'000u);
  RecordProperty("milliseconds", int(seconds * 1000));
  EXPECT_LT(seconds, 1.0);
}

TEST(Robustness, TenMegabytesAreChecked) {
  SourceBuffer buffer("huge.recur", makeHugeFile());
  DiagnosticEngine diagnostics;
  double seconds = measure([&] { EXPECT_TRUE(check(buffer, {}, diagnostics)); });
  RecordProperty("milliseconds", int(seconds * 1000));
  EXPECT_LT(seconds, 3.0);
}

TEST(Robustness, TenMegabytesOnOneLine) {
  SourceBuffer buffer("huge.recur", makeHugeFile(" "));
  DiagnosticEngine diagnostics;
  double seconds = measure([&] { EXPECT_TRUE(check(buffer, {}, diagnostics)); });
  EXPECT_LT(seconds, 3.0);
}

TEST(Robustness, TenMegabytesOfErrors) {
  std::string text = "recurrence huge {\n  input k\n";
  while (text.size() < 10'000'000)
    text += "  let a = b + unknown_name(\n";
  double seconds = measure([&] {
    Compiled result(text);
    EXPECT_EQ(result.diagnostics.getNumErrors(), 50u);
    EXPECT_LT(result.render().size(), 50'000u);
  });
  EXPECT_LT(seconds, 1.0);
}

TEST(Robustness, ManyUnknownNamesInAHugeFile) {
  std::string text = "recurrence huge {\n  dim K = 4\n  input k: [K]\n";
  for (int i = 0; i < 200'000; ++i)
    text += "  let name_" + std::to_string(i) + " = k\n";
  for (int i = 0; i < 100; ++i)
    text += "  let other_" + std::to_string(i) + " = nam_" + std::to_string(i) + "\n";
  double seconds = measure([&] { EXPECT_EQ(Compiled(text + "  output o = k\n}\n").diagnostics.getNumErrors(), 50u); });
  EXPECT_LT(seconds, 1.0);
}

TEST(Robustness, EmptyAndBlankFiles) {
  for (std::string text : {"", "\n", "   \t ", "# only a comment", "\r\n\r\n", "\xEF\xBB\xBF"})
    EXPECT_EQ(Compiled(text).codes(), "R0118");
}

TEST(Robustness, NestingOfAHundredThousand) {
  auto wrap = [](const std::string &expression) {
    return "recurrence r {\n  input x\n  state s\n  s = " + expression + "\n  output o = s\n}\n";
  };
  const size_t n = 100'000;
  auto repeat = [&](const std::string &part) {
    std::string text;
    for (size_t i = 0; i < n; ++i)
      text += part;
    return text;
  };
  EXPECT_EQ(Compiled(wrap(std::string(n, '(') + "x" + std::string(n, ')'))).codes(), "R0110");
  EXPECT_EQ(Compiled(wrap(std::string(n, '('))).codes(), "R0110");
  EXPECT_EQ(Compiled(wrap(std::string(n, '-') + "x")).codes(), "R0110");
  EXPECT_EQ(Compiled(wrap("x" + repeat(" + x"))).codes(), "R0110");
  EXPECT_EQ(Compiled(wrap("x" + repeat("[0]"))).codes(), "R0110");
  EXPECT_EQ(Compiled(wrap("x" + repeat("[x"))).codes(), "R0110");
  EXPECT_EQ(Compiled(wrap(repeat("exp("))).codes(), "R0110");
  Compiled loops("recurrence r {\n  input x\n" + repeat("for j in 0..1 {\n"));
  EXPECT_TRUE(loops.diagnostics.hasErrors());
  Compiled braces("recurrence r {\n" + std::string(n, '{'));
  EXPECT_TRUE(braces.diagnostics.hasErrors());
}

TEST(Robustness, LongChainsOfLets) {
  std::string text = "recurrence r {\n  input x\n  state s\n  let a0 = x\n";
  for (int i = 1; i < 20'000; ++i)
    text += "  let a" + std::to_string(i) + " = exp(a" + std::to_string(i - 1) + ")\n";
  Compiled result(text + "  s = s + a19999\n  output o = s\n}\n");
  EXPECT_EQ(result.codes(), "");
  EXPECT_TRUE(result.module);
}

TEST(Robustness, HugeLoopsAreRefusedPromptly) {
  double seconds = measure([&] {
    for (std::string loop : {"for j in 0..1000000000 {\n    s = s + x\n  }", "for j in 0..1000000000 {\n  }",
                             "for j in -1000000000000..1000000000000 {\n    s = s + x\n  }",
                             "for i in 0..60000 {\n    for j in 0..60000 {\n      s = s + x\n    }\n  }"})
      EXPECT_EQ(
          Compiled("recurrence r {\n  input x\n  state s\n  " + loop + "\n  s = s + x\n  output o = s\n}\n").codes(),
          "R0408");
    EXPECT_EQ(
        Compiled("recurrence r {\n  input x\n  state s\n  for j in 0..1e300 {\n  }\n  s = s + x\n  output o = s\n}\n")
            .codes(),
        "R0407");
  });
  EXPECT_LT(seconds, 1.0);
}

TEST(Robustness, UnterminatedConstructs) {
  std::string whole =
      inRecurrence("  for j in 0..2 {\n    S = k[j] * S\n  }\n  S = S @ diag(cg(outer(k, k), q, ridge = g, "
                   "iterations = 3))\n  S = dgps(S, read = k, value = v, solve = online)");
  ASSERT_EQ(Compiled(whole).codes(), "");
  // Every prefix of a file is an error, and none crashes; the last bytes are the closing brace and blanks.
  for (size_t length = 0; length + 3 < whole.size(); ++length) {
    Compiled result(whole.substr(0, length));
    EXPECT_TRUE(result.diagnostics.hasErrors()) << whole.substr(0, length);
    EXPECT_FALSE(result.render().empty());
  }
}

TEST(Robustness, AnyByteMayBeDroppedOrChanged) {
  std::string whole = inRecurrence("  S = S @ diag(exp(k)) - outer(S @ q, k)");
  std::mt19937 random(1);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string dropped = whole, changed = whole;
    dropped.erase(i, 1);
    changed[i] = char(random());
    Compiled(dropped).render();
    Compiled(changed).render();
  }
}

TEST(Robustness, BinaryJunk) {
  std::mt19937 random(7);
  std::string junk(1'000'000, '\0');
  for (char &c : junk)
    c = char(random());
  Compiled result(junk);
  EXPECT_TRUE(result.diagnostics.hasErrors());
  EXPECT_LT(result.render().size(), 100'000u);
  Compiled inside("recurrence r {\n" + junk + "}\n");
  EXPECT_TRUE(inside.diagnostics.hasErrors());
  Compiled nul(std::string(1'000'000, '\0'));
  EXPECT_EQ(nul.codes(), "R0005");
}

TEST(Robustness, LineEndsAndByteOrderMark) {
  std::string text = inRecurrence("");
  std::string windows = "\xEF\xBB\xBF";
  for (char c : text)
    windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  Compiled unixResult(text), windowsResult(windows);
  EXPECT_EQ(windowsResult.codes(), "");
  EXPECT_EQ(windowsResult.print(), unixResult.print());
}

} // namespace
} // namespace recur::frontend::testing
