// What sema accepts, and the errors that need more than one file of test/errors to pin down.

#include "FrontendTesting.h"

namespace recur::frontend::testing {
namespace {

std::string codesOf(const std::string &statements) { return Compiled(inRecurrence(statements)).codes(); }

TEST(Sema, SizesAgreeByNameOrByValue) {
  // A number and a const are the same as a dim of their value.
  EXPECT_EQ(codesOf("  input a: [4]\n  S = S @ diag(a + k)"), "");
  EXPECT_EQ(codesOf("  const n = 2 * 2\n  input a: [n]\n  S = S @ diag(a + k)"), "");
  EXPECT_EQ(codesOf("  input a: [5]\n  S = S @ diag(a + k)"), "R0301");
  // Two dims are not, whatever their values.
  EXPECT_EQ(codesOf("  dim J = 4\n  input a: [J]\n  S = S @ diag(a + k)"), "R0301");
}

TEST(Sema, ATransposedOuterProductIsFoundWhateverTheSizes) {
  for (std::string sizes : {"K = 4, V = 3", "K = 4, V = 4"}) {
    Compiled result("recurrence r {\n dim " + sizes +
                    "\n input k: [K], v: [V]\n state S: [V, K]\n S = S + outer(k, v)\n output o = S @ k\n}\n");
    EXPECT_EQ(result.codes(), "R0309");
  }
}

TEST(Sema, ScalarsBroadcast) {
  EXPECT_EQ(codesOf("  S = 1 - g * S / 2\n  let a = max(k, 0) - min(g, k)\n  S = S @ diag(a)"), "");
}

TEST(Sema, DiagonalsBesideAt) {
  EXPECT_EQ(codesOf("  S = diag(v) @ S @ diag(k)"), "");
  EXPECT_EQ(codesOf("  S = S @ (diag(k) @ diag(q))"), "");
  EXPECT_EQ(codesOf("  S = S + outer(diag(v) @ v, k @ diag(q))"), "");
  EXPECT_EQ(codesOf("  S = S @ -diag(k)"), "R0312");
  EXPECT_EQ(codesOf("  S = S @ diag(diag(k))"), "R0312");
  EXPECT_EQ(codesOf("  let a = diag(k)\n  S = S @ a"), "R0312");
  EXPECT_EQ(codesOf("  S = S @ diag(k) @ diag(v)"), "R0313");
  EXPECT_EQ(codesOf("  S = g @ diag(k) * S"), "R0306");
}

TEST(Sema, LoopsHaveScopes) {
  EXPECT_EQ(codesOf("  for j in 0..2 {\n    let a = exp(g)\n    S = a * S\n  }\n  for j in 0..3 {\n    let a = j\n    "
                    "S = a * S\n  }"),
            "");
  EXPECT_EQ(codesOf("  for j in 0..2 {\n    S = j * S\n  }\n  S = j * S"), "R0214");
  EXPECT_EQ(codesOf("  for g in 0..2 {\n  }"), "R0202");
  EXPECT_EQ(codesOf("  for j in 0..2 {\n    for j in 0..2 {\n    }\n  }"), "R0202");
}

TEST(Sema, LoopBounds) {
  EXPECT_EQ(codesOf("  for j in 0..0 {\n    S = k[j + 100] * S\n  }"), "");
  EXPECT_EQ(codesOf("  for j in 3..K {\n    S = k[j] * S\n  }"), "");
  EXPECT_EQ(codesOf("  for j in 0..K + 1 {\n    S = k[j] * S\n  }"), "R0315");
  EXPECT_EQ(codesOf("  for i in 0..K {\n    for j in 0..i {\n      S = k[j] * k[i] * S\n    }\n  }"), "");
  EXPECT_EQ(codesOf("  for j in 0..g {\n  }"), "R0405");
  EXPECT_EQ(codesOf("  for j in 0..k {\n  }"), "R0414");
  EXPECT_EQ(codesOf("  for j in 0..K / 3 {\n  }"), "R0407");
  EXPECT_EQ(codesOf("  for j in 0..100 {\n    for i in 0..100 {\n      for l in 0..100 {\n      }\n    }\n  }"),
            "R0408");
}

TEST(Sema, IndicesAreCheckedInEveryIteration) {
  EXPECT_EQ(codesOf("  S = k[3] * S"), "");
  EXPECT_EQ(codesOf("  S = k[4] * S"), "R0315");
  EXPECT_EQ(codesOf("  for j in 1..3 {\n    S = k[K / j] * S\n  }"), "R0315");
  EXPECT_EQ(codesOf("  for j in 1..4 {\n    S = k[3 / j] * S\n  }"), "R0407");
  EXPECT_EQ(codesOf("  for j in 0..2 {\n    S = k[1 / j] * S\n  }"), "R0403");
  EXPECT_EQ(codesOf("  S = S[0][1] * S"), "");
  EXPECT_EQ(codesOf("  S = S[0][4] * S"), "R0315");
  EXPECT_EQ(codesOf("  S = softmax(k)[0] * S"), "");
}

TEST(Sema, Consts) {
  EXPECT_EQ(codesOf("  const a = max(1, 2) / sqrt(K) - sigmoid(V)\n  const b = -a\n  S = b * S"), "");
  EXPECT_EQ(codesOf("  const a = 1 / 0\n  S = a * S"), "R0403");
  EXPECT_EQ(codesOf("  const a = log(0)\n  S = a * S"), "R0404");
  EXPECT_EQ(codesOf("  const a = sqrt(-1)\n  S = a * S"), "R0404");
  EXPECT_EQ(codesOf("  const a = 1e308 * 10\n  S = a * S"), "R0404");
  EXPECT_EQ(codesOf("  const a = k\n  S = a * S"), "R0414");
  EXPECT_EQ(codesOf("  const a = dot(k, k)\n  S = a * S"), "R0405");
  EXPECT_EQ(codesOf("  const a = a + 1\n  S = a * S"), "R0205");
}

TEST(Sema, OptionsOverrideDimsAndConsts) {
  std::string text =
      "recurrence r {\n  dim K = 4\n  const x = 1 / (K - 4)\n  input a: [K]\n  state s: [K]\n  s = s + x * a\n"
      "  output o = s\n}\n";
  EXPECT_EQ(Compiled(text).codes(), "R0403");
  InstantiationOptions options;
  options.constants["x"] = 2.5;
  Compiled overridden(text, options);
  EXPECT_EQ(overridden.codes(), "");
  EXPECT_NE(overridden.print().find("2.5"), std::string::npos);
  options.constants.clear();
  options.dims["K"] = 6;
  Compiled resized(text, options);
  EXPECT_EQ(resized.codes(), "");
  EXPECT_NE(resized.print().find("<6>"), std::string::npos);
  ASSERT_EQ(resized.info.size(), 1u);
  EXPECT_EQ(resized.info[0].dims[0].value, 6);
  EXPECT_EQ(resized.info[0].constants[0].value, 0.5);
  options.constants["x"] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Compiled(text, options).codes(), "R0404");
}

TEST(Sema, DimsOutOfRange) {
  for (int64_t size : {int64_t(0), int64_t(-1), int64_t(65537), int64_t(1000000000000)}) {
    InstantiationOptions options;
    options.dims["K"] = size;
    EXPECT_EQ(
        Compiled("recurrence r {\n  dim K\n  input x: [K]\n  state s: [K]\n  s = s + x\n  output o = s\n}\n", options)
            .codes(),
        "R0402");
  }
}

TEST(Sema, AssumedDimsAreReported) {
  InstantiationOptions options;
  options.assumedDim = 16;
  options.dims["V"] = 5;
  Compiled result("recurrence r {\n  dim K, V, N = 2\n  input k: [K], v: [V], w: [N]\n  state S: [V, K]\n"
                  "  S = w[0] * S + outer(v, k)\n  output o = S @ k\n}\n",
                  options);
  EXPECT_EQ(result.codes(), "");
  ASSERT_EQ(result.info.size(), 1u);
  const std::vector<DimInfo> &dims = result.info[0].dims;
  ASSERT_EQ(dims.size(), 3u);
  EXPECT_TRUE(dims[0].assumed && dims[0].value == 16);
  EXPECT_TRUE(!dims[1].assumed && dims[1].value == 5);
  EXPECT_TRUE(!dims[2].assumed && dims[2].value == 2 && dims[2].hasDefault);
}

TEST(Sema, OnlyTheChosenRecurrenceIsChecked) {
  std::string text = "recurrence good {\n  input x\n  state s\n  s = s + x\n  output o = s\n}\n"
                     "recurrence bad {\n  input x\n  output o = y + x\n}\n";
  EXPECT_EQ(Compiled(text).codes(), "R0201");
  InstantiationOptions options;
  options.onlyRecurrence = "good";
  EXPECT_EQ(Compiled(text, options).codes(), "");
  options.onlyRecurrence = "better";
  EXPECT_EQ(Compiled(text, options).codes(), "R0412");
}

TEST(Sema, DgpsNeedsNoReadKeyWhenNothingIsRead) {
  EXPECT_EQ(codesOf("  S = dgps(S, value = v, write = k, solve = offline)"), "");
  EXPECT_EQ(codesOf("  S = dgps(S, value = v, write = k, solve = online)"), "R0213");
  EXPECT_EQ(codesOf("  S = dgps(S, value = v, solve = offline)"), "R0213");
  EXPECT_EQ(codesOf("  S = dgps(S, read = k, value = v, solve = online, decay = k, gain = g, write = q, atk = q)"), "");
}

TEST(Sema, WarningsComeOnlyWithoutErrors) {
  std::string unused = "  let a = exp(g)";
  EXPECT_EQ(codesOf(unused), "R0603");
  EXPECT_EQ(codesOf(unused + "\n  let b = c\n  S = b * S"), "R0201");
}

TEST(Sema, AnOutputMayReadAStateBeforeAndAfter) { EXPECT_EQ(codesOf("  output before: [V] = S @ q"), ""); }

TEST(Frontend, DescribesDeclarations) {
  SourceBuffer buffer("test.recur",
                      "recurrence r {\n  dim K, N = 2\n  const M = 2 * N\n  shared input q: [N, K]\n  input g\n"
                      "  param mu: [M]\n  state S: [7, K]\n  output o = S\n  output p: [K] = q[0]\n}\n");
  DiagnosticEngine diagnostics;
  std::vector<RecurrenceInfo> infos = describe(buffer, {}, diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors());
  ASSERT_EQ(infos.size(), 1u);
  const RecurrenceInfo &info = infos[0];
  EXPECT_EQ(info.name, "r");
  ASSERT_EQ(info.dims.size(), 2u);
  EXPECT_FALSE(info.dims[0].value);
  EXPECT_EQ(info.dims[1].value, 2);
  ASSERT_EQ(info.inputs.size(), 2u);
  EXPECT_TRUE(info.inputs[0].shared);
  ASSERT_EQ(info.inputs[0].shape.size(), 2u);
  EXPECT_EQ(info.inputs[0].shape[0].name, "N");
  EXPECT_TRUE(info.inputs[0].shape[0].isDim);
  EXPECT_FALSE(info.inputs[0].shape[1].value);
  EXPECT_TRUE(info.inputs[1].shape.empty());
  EXPECT_EQ(info.params[0].shape[0].name, "M");
  EXPECT_FALSE(info.params[0].shape[0].isDim);
  EXPECT_EQ(info.params[0].shape[0].value, 4);
  EXPECT_EQ(info.states[0].shape[0].value, 7);
  EXPECT_FALSE(info.outputs[0].hasShape);
  EXPECT_TRUE(info.outputs[1].hasShape);
}

TEST(Frontend, ChecksWithoutMakingIR) {
  DiagnosticEngine diagnostics;
  SourceBuffer good("good.recur", inRecurrence("")), bad("bad.recur", inRecurrence("  S = T"));
  EXPECT_TRUE(check(good, {}, diagnostics));
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_FALSE(check(bad, {}, diagnostics));
  EXPECT_TRUE(diagnostics.hasErrors());
}

} // namespace
} // namespace recur::frontend::testing
