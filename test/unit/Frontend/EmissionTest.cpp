// The IR that each construct becomes.

#include "FrontendTesting.h"

#include "mlir/IR/AsmState.h"
#include "gmock/gmock.h"

namespace recur::frontend::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(emit("  output a = cg(outer(k, k), q, gradient = steps, ridge = g, iterations = 3)"),
              HasSubstr("dgps.cg %0, %q ridge %g iterations 3 by_steps : <4x4>, <4>, <scalar>"));
  EXPECT_THAT(emit("  output a = cg(outer(k, k), q, gradient = solution, ridge = g, iterations = 3)"),
              HasSubstr("dgps.cg %0, %q ridge %g iterations 3 : <4x4>, <4>, <scalar>"));
}

TEST(Emission, BuiltinsOfOneOp) {
  std::string text = emit("  output a = log(sqrt(abs(tanh(softplus(elu(sigmoid(k)))))))\n"
                          "  output b = softmax(k) * min(max(k, q), sum(q))");
  for (llvm::StringRef op :
       {"log", "sqrt", "abs", "tanh", "softplus", "elu", "sigmoid", "softmax", "min", "max", "sum"})
    EXPECT_EQ(count(text, ("dgps." + op + " ").str()), 1u) << op.str();
}

TEST(Emission, PowersBySquaring) {
  EXPECT_THAT(emit("  output a = pow(k, 3)"),
              HasSubstr("%0 = dgps.mul %k, %k : <4>, <4>\n    %1 = dgps.mul %k, %0 : <4>, <4>\n    dgps.output"));
  EXPECT_THAT(emit("  output a = pow(k, -1)"), HasSubstr("%1 = dgps.div %0, %k : <scalar>, <4>"));
  EXPECT_THAT(emit("  output a = pow(g, 1.5)"), HasSubstr("%0 = dgps.sqrt %g : <scalar>\n    %1 = dgps.mul %0, %g"));
  EXPECT_THAT(emit("  output a = pow(k, 0)"), HasSubstr("%0 = dgps.constant 1.000000e+00 : <4>\n    dgps.output"));
  EXPECT_THAT(emit("  output a = pow(g, 0.3)"), HasSubstr("dgps.log %g"));
}

TEST(Emission, ADelayIsAStateForEachTokenBack) {
  std::string text = emit("  output a = delay(k, 2) - delay(k, 1)\n  output b = delay(k, 0)");
  EXPECT_THAT(text, HasSubstr("%k_back1 = dgps.state \"k_back1\" : <4>\n    %k_back2 = dgps.state \"k_back2\" : <4>\n"
                              "    %0 = dgps.sub %k_back2, %k_back1 : <4>, <4>"));
  EXPECT_THAT(text, HasSubstr("dgps.output \"b\" %k : <4>"));
  EXPECT_THAT(text, HasSubstr("dgps.next %k_back1, %k : <4>\n    dgps.next %k_back2, %k_back1 : <4>"));
  EXPECT_EQ(count(text, "dgps.state"), 3u);
}

TEST(Emission, ALongDelayIsOneState) {
  std::string text = emit("  output a = delay(k, 9) - delay(k, 2)\n  output b = delay(delay(g, 1), 10)");
  EXPECT_THAT(text, HasSubstr("%k_last9 = dgps.state \"k_last9\" : <9x4>\n    %0 = dgps.extract %k_last9[7] : <9x4>\n"
                              "    %1 = dgps.extract %k_last9[0] : <9x4>\n    %2 = dgps.sub %1, %0 : <4>, <4>"));
  EXPECT_THAT(text, HasSubstr("= dgps.slice %k_last9[1 for 8] : <9x4>"));
  EXPECT_THAT(text, HasSubstr(", %k : !dgps.real<8x4>, !dgps.real<4> to <9x4>\n    dgps.next %k_last9, "));
  EXPECT_THAT(text, HasSubstr(", %g_back1 : !dgps.real<9>, !dgps.real<scalar> to <10>\n    dgps.next %value_last10, "));
  EXPECT_EQ(count(text, "dgps.state"), 4u); // with the one that all of them have
}

TEST(Emission, AStateMayBecomeARowOfAWindow) {
  std::string text = emit("  state r\n  r = delay(g, 12)\n  output a = r + delay(delay(g, 10), 11)");
  EXPECT_THAT(text, HasSubstr("%0 = dgps.extract %g_last12[2] : <12>\n    %1 = dgps.extract %g_last12[0] : <12>"));
  EXPECT_THAT(text, HasSubstr("dgps.next %r, %1 : <scalar>"));
  EXPECT_THAT(text, HasSubstr(", %0 : !dgps.real<10>, !dgps.real<scalar> to <11>"));
}

TEST(Emission, ADelayTakesANameThatIsFree) {
  std::string text = emit("  input k_back1\n  output a = k_back1 * delay(k, 1) + delay(2 * k, 1) + delay(3 * k, 1)");
  EXPECT_THAT(text, HasSubstr("dgps.state \"k_back1_\" : <4>"));
  EXPECT_THAT(text, HasSubstr("dgps.state \"value_back1\" : <4>"));
  EXPECT_THAT(text, HasSubstr("dgps.state \"value_back1_\" : <4>"));
}

TEST(Emission, AConvolutionWeighsTokens) {
  std::string text = emit("  param w: [2]\n  output a = conv(k, w)");
  EXPECT_THAT(text, HasSubstr("%0 = dgps.extract %w[1] : <2>\n    %1 = dgps.mul %0, %k : <scalar>, <4>\n"
                              "    %2 = dgps.extract %w[0] : <2>\n"));
  EXPECT_THAT(text, HasSubstr("dgps.mul %2, %k_back1 : <scalar>, <4>"));
}

TEST(Emission, TheCountOfTokensIsAState) {
  std::string text = emit("  output a = token * g");
  EXPECT_THAT(text, HasSubstr("%token = dgps.state \"token\" : <scalar>\n    %0 = dgps.mul %token, %g"));
  EXPECT_THAT(text, HasSubstr("= dgps.add %token, "));
  // Whoever has the name already keeps it.
  EXPECT_THAT(emit("  input token\n  output a = token * g"), Not(HasSubstr("dgps.state \"token\"")));
}

TEST(Emission, PartsOfValuesAndValuesOfParts) {
  EXPECT_THAT(
      emit("  output a = concat(k[1..K], g)"),
      HasSubstr(
          "%0 = dgps.slice %k[1 for 3] : <4>\n    %1 = dgps.concat %0, %g : !dgps.real<3>, !dgps.real<scalar> to <4>"));
  EXPECT_THAT(emit("  output a = stack(k, q)"),
              HasSubstr("dgps.concat %k, %q : !dgps.real<4>, !dgps.real<4> to <2x4>"));
  EXPECT_THAT(emit("  output a = concat(S, k)[1..3]"),
              HasSubstr("dgps.concat %S, %k : !dgps.real<3x4>, !dgps.real<4> to <4x4>"));
}

TEST(Emission, ProductsOfMatrices) {
  // One that is outer stays outer, so that the state keeps its form.
  EXPECT_THAT(emit("  S = S - S @ (beta * outer(k, q))"),
              HasSubstr("%0 = dgps.outer %k, %q : <4>, <4>\n    %1 = dgps.mul %beta, %0 : <scalar>, <4x4>\n"
                        "    %2 = dgps.matvec %S, %k : <3x4>, <4>\n    %3 = dgps.outer %2, %q : <3>, <4>\n"
                        "    %4 = dgps.mul %beta, %3"));
  std::string text = emit("  param A: [2, V]\n  output a = A @ S");
  EXPECT_EQ(count(text, "dgps.vecmat"), 2u);
  EXPECT_THAT(text, HasSubstr(": !dgps.real<4>, !dgps.real<4> to <2x4>"));
}

TEST(Emission, ALoopCarriesALet) {
  EXPECT_THAT(
      emit("  let a = g\n  for j in 0..2 {\n    a = a * beta\n  }\n  output x = a"),
      HasSubstr("%0 = dgps.mul %g, %beta : <scalar>, <scalar>\n    %1 = dgps.mul %0, %beta : <scalar>, <scalar>\n"
                "    dgps.output \"x\" %1"));
}

TEST(Emission, ALoopGivesAnOutput) {
  EXPECT_THAT(
      emit("  for j in 0..2 {\n    output x[1 - j]: [K] = j * k\n  }"),
      HasSubstr("dgps.concat %3, %1 : !dgps.real<4>, !dgps.real<4> to <2x4>\n    dgps.output \"x\" %4 : <2x4>"));
  EXPECT_THAT(emit("  for i in 0..2 {\n    for j in 0..2 {\n      output x[2 * i + j] = k[j]\n    }\n  }"),
              HasSubstr("!dgps.real<scalar>, !dgps.real<scalar> to <4>"));
}

TEST(Emission, FunctionsOfOnesOwn) {
  auto emitWith = [](const std::string &functions, const std::string &statements) {
    Compiled result(functions + inRecurrence(statements));
    EXPECT_EQ(result.render(), "");
    return result.print();
  };
  std::string text =
      emitWith("fn twice(x) = x + x\nfn gate(x, n) = twice(x) / n + delay(x, n - 3)\n",
               "  const c = twice(1)\n  output a = gate(k * g, K)\n  output b = ones(V)[0..twice(1)] * c");
  EXPECT_THAT(text, HasSubstr("= dgps.mul %k, %g : <4>, <scalar>"));
  EXPECT_EQ(count(text, "dgps.mul %k, %g"), 1u) << "an argument is computed once";
  EXPECT_THAT(text, HasSubstr("dgps.state \"value_back1\""));
  EXPECT_THAT(text, HasSubstr("[0 for 2] : <3>"));
}

TEST(Emission, ARestartIsAFactorOfEveryState) {
  std::string text =
      emit("  input first\n  restart first\n  state n\n  n = n + 1\n  output a = n * delay(g, 1) * token");
  EXPECT_THAT(text,
              HasSubstr("%1 = dgps.sub %0, %first : <scalar>, <scalar>\n    %2 = dgps.mul %1, %S : <scalar>, <3x4>"));
  EXPECT_THAT(text, HasSubstr("dgps.mul %1, %n : <scalar>, <scalar>"));
  EXPECT_THAT(text, HasSubstr("dgps.mul %1, %g_back1 : <scalar>, <scalar>"));
  EXPECT_THAT(text, HasSubstr("dgps.mul %1, %token : <scalar>, <scalar>"));
  // What the next token finds in a delay is what came in this one, restart or not.
  EXPECT_THAT(text, HasSubstr("dgps.next %g_back1, %g : <scalar>"));
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
