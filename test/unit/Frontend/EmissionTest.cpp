// The IR that each construct becomes.

#include "FrontendTesting.h"

#include "mlir/IR/AsmState.h"
#include "gmock/gmock.h"

namespace recur::frontend::testing {
namespace {

using ::testing::HasSubstr;

/// The ops of the recurrence without the declarations that inRecurrence makes, one a line.
std::string emit(const std::string &statements) {
  Compiled result(inRecurrence(statements));
  EXPECT_EQ(result.render(), "");
  return result.print();
}

unsigned count(llvm::StringRef text, llvm::StringRef part) { return text.count(part); }

TEST(Emission, PlainRecurrence) {
  EXPECT_EQ(emit(""), R"(module {
  dgps.recurrence @r {K = 4 : i64, V = 3 : i64} {
    %k = dgps.input "k" : <4>
    %q = dgps.input "q" : <4>
    %v = dgps.input "v" : <3>
    %g = dgps.input "g" : <scalar>
    %beta = dgps.input "beta" : <scalar>
    %S = dgps.state "S" : <3x4>
    %0 = dgps.exp %g : <scalar>
    %1 = dgps.mul %0, %S : <scalar>, <3x4>
    %2 = dgps.outer %v, %k : <3>, <4>
    %3 = dgps.mul %beta, %2 : <scalar>, <3x4>
    %4 = dgps.add %1, %3 : <3x4>, <3x4>
    %5 = dgps.matvec %4, %q : <3x4>, <4>
    dgps.output "o" %5 : <3>
    dgps.next %S, %4 : <3x4>
  }
}
)");
}

TEST(Emission, AnOutputBeforeAnUpdateReadsTheStateAsItWas) {
  EXPECT_THAT(emit("  output before = S @ k"),
              HasSubstr("dgps.matvec %S, %k : <3x4>, <4>\n    dgps.output \"before\""));
}

TEST(Emission, Products) {
  std::string text = emit("  S = diag(v) @ S @ diag(k)\n  output a = v @ S\n  output b = diag(k) @ q\n"
                          "  output c = S @ (diag(k) @ diag(q))");
  EXPECT_EQ(count(text, "dgps.scale_rows"), 1u);
  EXPECT_EQ(count(text, "dgps.scale_cols"), 2u);
  EXPECT_EQ(count(text, "dgps.vecmat"), 1u);
  EXPECT_THAT(text, HasSubstr("dgps.mul %k, %q : <4>, <4>"));
}

TEST(Emission, BuiltinsOfSeveralOps) {
  EXPECT_THAT(emit("  output a = silu(k)"), HasSubstr("%0 = dgps.sigmoid %k : <4>\n    %1 = dgps.mul %k, %0"));
  EXPECT_THAT(emit("  output a = relu(k)"),
              HasSubstr("%0 = dgps.constant 0.000000e+00 : <scalar>\n    %1 = dgps.max %k, %0"));
  EXPECT_THAT(emit("  output a = logsigmoid(g)"),
              HasSubstr("%0 = dgps.neg %g : <scalar>\n    %1 = dgps.softplus %0 : <scalar>\n    %2 = dgps.neg %1"));
  EXPECT_THAT(emit("  output a = l2norm(k)"),
              HasSubstr("%0 = dgps.dot %k, %k : <4>\n    %1 = dgps.constant 9.9999999999999995E-7 : <scalar>\n"
                        "    %2 = dgps.add %0, %1 : <scalar>, <scalar>\n    %3 = dgps.sqrt %2 : <scalar>\n"
                        "    %4 = dgps.div %k, %3 : <4>, <scalar>"));
  EXPECT_THAT(emit("  output a = ones(V) + v"), HasSubstr("dgps.constant 1.000000e+00 : <3>"));
  EXPECT_THAT(emit("  output a = cg(outer(k, k), q, ridge = g, iterations = 2 + 1)"),
              HasSubstr("dgps.cg %0, %q ridge %g iterations 3 : <4x4>, <4>, <scalar>"));
}

TEST(Emission, BuiltinsOfOneOp) {
  std::string text = emit("  output a = log(sqrt(abs(tanh(softplus(elu(sigmoid(k)))))))\n"
                          "  output b = softmax(k) * min(max(k, q), sum(q))");
  for (llvm::StringRef op :
       {"log", "sqrt", "abs", "tanh", "softplus", "elu", "sigmoid", "softmax", "min", "max", "sum"})
    EXPECT_EQ(count(text, ("dgps." + op + " ").str()), 1u) << op.str();
}

TEST(Emission, NumbersAreWrittenWhereTheyAreUsed) {
  EXPECT_THAT(emit("  const c = 1 / (K + V + 1)\n  output a = c * K * v"),
              HasSubstr("%0 = dgps.constant 1.250000e-01 : <scalar>\n    %1 = dgps.constant 4.000000e+00 : <scalar>"));
}

TEST(Emission, LoopsUnroll) {
  std::string text = emit("  for j in 1..3 {\n    let a = k[j - 1] * j\n    S = a * S\n  }");
  EXPECT_EQ(count(text, "dgps.extract"), 2u);
  EXPECT_THAT(text, HasSubstr("dgps.extract %k[0] : <4>\n    %1 = dgps.constant 1.0"));
  EXPECT_THAT(text, HasSubstr("dgps.extract %k[1] : <4>\n    %5 = dgps.constant 2.0"));
}

TEST(Emission, RowsOfAMatrix) { EXPECT_THAT(emit("  output a = S[2]"), HasSubstr("dgps.extract %S[2] : <3x4>")); }

TEST(Emission, DgpsIsItsWrittenOutForm) {
  auto body = [](const std::string &statement) { return emit("  S = " + statement); };
  EXPECT_EQ(body("dgps(S, read = k, value = v, solve = online)"), body("S + outer(v - S @ k, k)"));
  EXPECT_EQ(body("dgps(S, read = k, value = v, solve = offline)"), body("S + outer(v, k)"));
  EXPECT_EQ(body("dgps(S, read = k, value = v, solve = offline, write = q, gain = beta)"),
            body("S + beta * outer(v, q)"));
  // With a decay the decayed state is named once.
  EXPECT_EQ(emit("  S = dgps(S, read = k, value = v, decay = exp(g), gain = beta, atk = q, solve = online)"),
            emit("  S = exp(g) * S\n  S = S + beta * outer(v - S @ k, q * k)"));
  EXPECT_EQ(emit("  S = dgps(S, read = k, value = v, decay = exp(q), solve = online)").find("dgps.mul %S"),
            std::string::npos);
  EXPECT_THAT(emit("  S = dgps(S, read = k, value = v, decay = q, solve = offline)"),
              HasSubstr("dgps.scale_cols %S, %q : <3x4>, <4>"));
}

TEST(Emission, SharedInputsAndParams) {
  Compiled result(
      "recurrence r {\n  shared input x\n  param p: [2, 3]\n  state s\n  s = x * s + sum(p)\n  output o = s\n}\n");
  EXPECT_EQ(result.codes(), "");
  EXPECT_THAT(result.print(), HasSubstr("%x = dgps.input \"x\" shared : <scalar>\n    %p = dgps.param \"p\" : <2x3>"));
}

TEST(Emission, StatesAreNextInTheOrderOfTheirDeclaration) {
  Compiled result(
      "recurrence r {\n  input x\n  state a\n  state b\n  b = b + a\n  a = a + x\n  b = b + a\n  output o = b\n}\n");
  EXPECT_THAT(result.print(), HasSubstr("    dgps.next %a, %1 : <scalar>\n    dgps.next %b, %2 : <scalar>\n"));
}

TEST(Emission, SeveralRecurrencesInOneModule) {
  std::string one = inRecurrence(""), two = one;
  two.replace(two.find("recurrence r"), 12, "recurrence t");
  Compiled result(one + two);
  EXPECT_EQ(count(result.print(), "dgps.recurrence @"), 2u);
}

TEST(Emission, LocationsAreThoseOfTheText) {
  Compiled result(inRecurrence("  S = S @ diag(k)"), {}, "dir/name.recur");
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  result.module->print(os, flags);
  EXPECT_THAT(text, HasSubstr("dgps.input \"k\" : <4> dir/name.recur:3:9\n"));
  EXPECT_THAT(text, HasSubstr("dgps.state \"S\" : <3x4> dir/name.recur:4:9\n"));
  EXPECT_THAT(text, HasSubstr("dgps.scale_cols %S, %k : <3x4>, <4> dir/name.recur:5:9\n"));
  EXPECT_THAT(text, HasSubstr("dgps.next %S"));
  EXPECT_THAT(text, HasSubstr(": <3x4> dir/name.recur:6:3\n")); // the last update
}

} // namespace
} // namespace recur::frontend::testing
