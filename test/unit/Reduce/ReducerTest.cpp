// What recur-reduce leaves of a specification, and that it always ends.
#include "Reduce/Reducer.h"
#include "../Examples.h"
#include "Frontend/Frontend.h"
#include "Reduce/Candidates.h"
#include "Reduce/SpecParser.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>

using namespace recur;
using namespace recur::reduce;

static const char *const kTwentyLines = R"(
# A specification of twenty lines; one of them is of interest.
recurrence twenty_lines {
  dim K = 8, V = 4, N = 3
  const scale = 1 / sqrt(K)
  shared input q: [K]
  input k: [N, K], v: [N, V], beta: [N], g: scalar, x: [V]
  param mu: [V]
  state S: [V, K]
  state hidden: [V]
  state total: scalar
  let keep = exp(g)
  S = keep * S
  for j in 0..N {
    let residual = v[j] - S @ k[j]
    S = S + beta[j] * outer(residual, k[j])
  }
  hidden = tanh(0.5 * hidden + mu * x)
  total = keep * total + dot(hidden, hidden)
  output o: [V] = scale * (S @ q)
  output h: [V] = hidden * total
}
)";

static mlir::OwningOpRef<mlir::ModuleOp> compile(llvm::StringRef text, mlir::MLIRContext &context) {
  SourceBuffer buffer("candidate.recur", text.str());
  DiagnosticEngine diagnostics;
  frontend::InstantiationOptions options;
  options.assumedDim = 4;
  return frontend::compile(buffer, options, context, diagnostics);
}

class Reduce : public testing::Test {
protected:
  Reduce() : context(mlir::MLIRContext::Threading::DISABLED) { context.loadDialect<dgps::DGPSDialect>(); }

  /// Whether the text compiles to a program with such an op.
  template <typename Op> bool has(llvm::StringRef text) {
    auto module = compile(text, context);
    return module && module->walk([](Op) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
  }

  mlir::MLIRContext context;
};

TEST_F(Reduce, TwentyLinesToTheOneOfInterest) {
  Reduction result = reduceText(kTwentyLines, [&](llvm::StringRef text) { return has<dgps::TanhOp>(text); });
  EXPECT_TRUE(result.wasInteresting);
  EXPECT_EQ(result.text, R"(recurrence t {
  state h
  h = tanh(0)
  output o = 0
}
)");
}

TEST_F(Reduce, KeepsTheStateThatMatters) {
  // A state that is read, scaled and written back.
  auto isInteresting = [&](llvm::StringRef text) {
    auto module = compile(text, context);
    if (!module)
      return false;
    bool found = false;
    module->walk([&](dgps::OuterOp outer) {
      for (mlir::Operation *user : outer->getUsers())
        found |= !mlir::isa<dgps::OutputOp>(user);
    });
    return found && has<dgps::MatvecOp>(text);
  };
  Reduction result = reduceText(kTwentyLines, isInteresting);
  EXPECT_TRUE(result.wasInteresting);
  EXPECT_TRUE(isInteresting(result.text));
  EXPECT_LE(llvm::StringRef(result.text).count('\n'), 8u) << result.text;
  EXPECT_EQ(llvm::StringRef(result.text).count("for "), 0u) << result.text;
}

TEST_F(Reduce, OneRecurrenceOfMany) {
  std::string text =
      "recurrence first {\n  input a\n  output o = exp(a)\n}\nrecurrence second {\n  input a\n  output o = "
      "log(a)\n}\n";
  Reduction result = reduceText(text, [&](llvm::StringRef candidate) { return has<dgps::LogOp>(candidate); });
  EXPECT_EQ(result.text, "recurrence s {\n  output o = log(0)\n}\n");
}

TEST_F(Reduce, LeavesAloneWhatIsNotInteresting) {
  Reduction result = reduceText(kTwentyLines, [](llvm::StringRef) { return false; });
  EXPECT_FALSE(result.wasInteresting);
  EXPECT_EQ(result.text, kTwentyLines);
  EXPECT_EQ(result.tests, 1u);
}

TEST_F(Reduce, ReducesTextWithSyntaxErrorsByCharacters) {
  Reduction result = reduceText("recurrence a {\n  state S\n  S = exp(S\n  output o = S\n}\n",
                                [](llvm::StringRef text) { return text.contains("exp(") && text.contains("o ="); });
  EXPECT_EQ(result.text, "exp(o =");
}

TEST_F(Reduce, EndsWhateverTheTestSays) {
  // Everything is interesting.
  EXPECT_EQ(reduceText(kTwentyLines, [](llvm::StringRef) { return true; }).text, "recurrence t {\n}\n");
  // A test without sense.
  for (uint64_t salt : {1, 2, 3}) {
    bool first = true;
    Reduction result = reduceText(kTwentyLines, [&](llvm::StringRef text) {
      return std::exchange(first, false) || (llvm::hash_value(text) ^ salt * 0x9E3779B97F4A7C15u) % 3 == 0;
    });
    EXPECT_TRUE(result.wasInteresting);
    EXPECT_LT(result.text.size(), llvm::StringRef(kTwentyLines).size());
  }
}

TEST_F(Reduce, EachStepIsSmaller) {
  uint64_t before = measure(*parseSpec(kTwentyLines));
  unsigned steps = 0;
  auto progress = [&](llvm::StringRef what, llvm::StringRef text) {
    ++steps;
    std::optional<Spec> spec = parseSpec(text);
    ASSERT_TRUE(spec) << text.str();
    EXPECT_LT(measure(*spec), before) << what.str() << "\n" << text.str();
    before = measure(*spec);
  };
  reduceText(kTwentyLines, [&](llvm::StringRef text) { return has<dgps::DotOp>(text); }, {UINT64_MAX, progress});
  EXPECT_GT(steps, 5u);
}

TEST_F(Reduce, StopsAfterTheTestsThatAreAllowed) {
  uint64_t tests = 0;
  auto isInteresting = [&](llvm::StringRef text) {
    ++tests;
    return has<dgps::TanhOp>(text);
  };
  Reduction result = reduceText(kTwentyLines, isInteresting, {.maxTests = 7});
  EXPECT_EQ(tests, 7u);
  EXPECT_EQ(result.tests, 7u);
  EXPECT_TRUE(has<dgps::TanhOp>(result.text));
}

TEST_F(Reduce, PrintingKeepsWhatEveryExampleMeans) {
  unsigned count = 0;
  for (const std::string &path : test::listExamples()) {
    std::string text = test::readExample(path);
    std::optional<Spec> spec = parseSpec(text);
    ASSERT_TRUE(spec) << path;
    std::string printed = print(*spec);
    std::optional<Spec> again = parseSpec(printed);
    ASSERT_TRUE(again) << printed;
    EXPECT_EQ(print(*again), printed);
    auto given = compile(text, context), reprinted = compile(printed, context);
    ASSERT_TRUE(given && reprinted) << printed;
    std::string wanted, got;
    llvm::raw_string_ostream(wanted) << **given;
    llvm::raw_string_ostream(got) << **reprinted;
    EXPECT_EQ(got, wanted) << path;
    ++count;
  }
  EXPECT_GE(count, 40u);
}
