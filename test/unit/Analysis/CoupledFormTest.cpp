// States that go on from one another: which ones, their matrix, their writes, and why there is none.
#include "Understand.h"

using namespace recur;
using namespace recur::analysis;
using recur::test::Understood;

namespace {

const std::string head = "dim K, V\ninput k: [K], q: [K], v: [V], x: [K], a: scalar, b: scalar, c: scalar\n"
                         "state S: [V, K], Z: [V, K]\n";

/// The matrix row by row, then each write: its value, key and factors.
std::string formOf(const std::string &body) {
  Understood understood(head + body + "\noutput o = S @ q");
  if (understood.facts->getCoupledForms().size() != 1)
    return understood.state("S").stateClass == StateClass::General ? understood.state("S").needs : "none";
  const CoupledForm &form = understood.facts->getCoupledForms()[0];
  algebra::Printer printer(understood.facts->getAlgebra(), understood.facts->getExpressions(), understood.recurrence,
                           algebra::Printer::Style::Source);
  std::string text;
  for (const auto &row : form.matrix) {
    for (const Decay &factor : row)
      text += printer.print(factor.linear) + (&factor == &row.back() ? "; " : ", ");
  }
  for (const CoupledWrite &write : form.writes) {
    text += printer.print(write.free);
    if (!write.gain->isOne())
      text += " + " + printer.print(write.gain) + " of";
    for (const CoupledRead &read : write.reads) {
      text += " +";
      for (const algebra::Poly *factor : read.factors)
        text += " " + printer.print(factor);
      if (read.key)
        text += " @ " + printer.print(read.key);
    }
    text += " to " + (write.write ? printer.print(write.write) : "vectors") + " by";
    for (const algebra::Poly *factor : write.factors)
      text += " " + printer.print(factor);
    text += "; ";
  }
  return text;
}

TEST(CoupledForm, MomentumInAnyOrderAndDisguise) {
  std::string expected = "sigmoid(a), sigmoid(b); 0, sigmoid(b); v + -1 0 @ k to k by c c; ";
  EXPECT_EQ(formOf("Z = sigmoid(b) * Z + c * outer(v - S @ k, k)\nS = sigmoid(a) * S + Z"), expected);
  EXPECT_EQ(formOf("let e = S @ k\nS = sigmoid(a) * S\nlet m = sigmoid(b) * Z\nS = S + m - c * outer(e - v, k)\n"
                   "Z = m + c * outer(v, k) - outer(c * e, k)"),
            expected);
  EXPECT_EQ(formOf("let old = S\nS = sigmoid(a) * old + sigmoid(b) * Z\nlet g = outer(v - old @ k, c * k)\nS = S + g\n"
                   "Z = sigmoid(b) * Z + g"),
            expected);
}

TEST(CoupledForm, WhatReadsNothing) {
  EXPECT_EQ(formOf("S = sigmoid(a) * S + c * Z\nZ = sigmoid(b) * Z + outer(v, k)"),
            "sigmoid(a), c; 0, sigmoid(b); v to k by 0 1; ");
}

TEST(CoupledForm, StatesThatTurnIntoEachOther) {
  EXPECT_EQ(formOf("let old = S\nS = cos(a) * S - sin(a) * Z + outer(v, k)\nZ = sin(a) * old + cos(a) * Z"),
            "cos(a), -sin(a); sin(a), cos(a); v to k by 1 0; ");
}

TEST(CoupledForm, ReadsOfBothAndTwoKeys) {
  EXPECT_EQ(formOf("let u = v - S @ k\nlet w = Z @ x\nS = a * S + outer(u - w, k)\nZ = b * Z + outer(u, x)"),
            "a, 0; 0, b; v + -1 0 @ k + 0 -1 @ x to k by 1 0; v + -1 0 @ k to x by 0 1; ");
}

TEST(CoupledForm, GainsOfTheValueChannels) {
  EXPECT_EQ(formOf("Z = b * Z + outer(sigmoid(v) * (v - S @ k), k)\nS = a * S + Z"),
            "a, b; 0, b; v * sigmoid(v) + sigmoid(v) of + -1 0 @ k to k by 1 1; ");
  // Reads with different gains are writes of their own, and so is what decays by one.
  EXPECT_EQ(formOf("let u = v - S @ k\nS = a * S + outer(sigmoid(v) * u - Z @ x, k)\nZ = b * Z + outer(u, x)"),
            "a, 0; 0, b; -v * sigmoid(v) + 0 1 @ x to k by -1 0; 0 + sigmoid(v) of + 1 0 @ k to k by -1 0; "
            "v + -1 0 @ k to x by 0 1; ");
  EXPECT_EQ(formOf("state e: [V]\nlet u = v - S @ k\nS = a * S + outer(u + e, k)\ne = sigmoid(v) * e + u\n"
                   "Z = outer(v, k)"),
            "a, 0; 0, 0; v + -1 0 @ k + 0 1 to k by 1 0; v + -1 0 @ k to vectors by 0 1; "
            "0 + sigmoid(v) of + 0 1 to vectors by 0 1; ");
}

TEST(CoupledForm, AMatrixForEachKeyChannel) {
  std::string expected = "sigmoid(k), sigmoid(x); 0, sigmoid(x); v + -1 0 @ k to k by c c; ";
  EXPECT_EQ(formOf("Z = Z @ diag(sigmoid(x)) + c * outer(v - S @ k, k)\nS = S @ diag(sigmoid(k)) + Z"), expected);
  EXPECT_EQ(formOf("let e = S @ (c * k)\nS = S @ diag(sigmoid(k))\nlet m = Z @ diag(sigmoid(x))\n"
                   "S = S + m - outer(e - c * v, k)\nZ = m + c * outer(v, k) - outer(e, k)"),
            expected);
  EXPECT_EQ(formOf("let g = outer(v - S @ k, c * k)\nS = outer(1 + 0 * v, sigmoid(k)) * S + Z @ diag(sigmoid(x)) + g\n"
                   "Z = outer(1 + 0 * v, sigmoid(x)) * Z + g"),
            expected);
  // What a state gets of the other by channels, it also gets of what that was just written.
  EXPECT_EQ(formOf("Z = b * Z + outer(v - S @ k, k)\nS = a * S + Z @ diag(x)"),
            "a, x * b; 0, b; v + -1 0 @ k to k * x by 1 0; v + -1 0 @ k to k by 0 1; ");
  // Some channels oscillate.
  EXPECT_EQ(formOf("let old = S\nS = S + 0.1 * Z\nZ = Z @ diag(1 - sigmoid(x)) - old @ diag(x) + outer(v, k)"),
            "1, 0.1; -x, 1 - sigmoid(x); v to k by 0 1; ");
}

TEST(CoupledForm, WhatOneNeeds) {
  auto needs = [](const std::string &body) { return formOf(body); };
  std::string start = "one of the two updates without the other state, or ";
  EXPECT_EQ(needs("Z = diag(sigmoid(v)) @ Z + outer(v - S @ k, k)\nS = a * S + Z"),
            start + "factors that are scalars or go by the key channel");
  EXPECT_EQ(needs("state e: [V]\nlet u = v - S @ k\nS = S @ diag(x) + outer(u + e, k)\ne = u\nZ = outer(v, k)"),
            start + "factors that are scalars");
  EXPECT_EQ(needs("state e: [V]\nlet u = v - S @ k\nS = S + outer(u + tanh(e), k)\ne = u\nZ = outer(v, k)"),
            start + "sums and multiples of vectors that are kept");
  EXPECT_EQ(needs("state e: [V]\nlet u = v - S @ k\nS = S + exp(sum(e)) * outer(u, k)\ne = u\nZ = outer(v, k)"),
            start + "an update that is linear in the state");
  EXPECT_EQ(
      needs("state e: [K]\nlet u = v - S @ k\nS = S + outer(u, k + e)\ne = x + e * dot(v, S @ k)\nZ = outer(v, k)"),
      start + "sums and multiples of vectors that are kept");
  EXPECT_EQ(needs("Z = b * Z + outer(v - S @ k, k) - outer(v, v @ S)\nS = a * S + Z"),
            start + "reads from one side alone");
  EXPECT_EQ(needs("Z = b * Z + outer(tanh(S @ k), k)\nS = a * S + Z"), start + "an update that is linear in the state");
  EXPECT_EQ(needs("Z = b * Z + exp(outer(S @ k, k))\nS = a * S + Z"), start + "an update that is linear in the state");
}

TEST(CoupledForm, VectorsOfEarlierErrors) {
  std::string lastError = "1, 0; 0, 0; v + -1 0 @ k + 0 0.5 to k by c 0; v + -1 0 @ k to vectors by 0 1; ";
  EXPECT_EQ(formOf("let u = v - S @ k\nS = S + outer(u + 0.5 * delay(u, 1), c * k)\nZ = outer(v, k)"), lastError);
  EXPECT_EQ(formOf("state e: [V]\nlet old = e / 2\ne = v - S @ k\nS = S + c * outer(old, k)\n"
                   "S = S + outer(c * e, k)\nZ = outer(v, k)"),
            lastError);
  // What a matrix is written too is written once, whatever it is multiplied with.
  EXPECT_EQ(formOf("state e: [V]\nlet u = v - S @ k\nS = a * S + c * outer(u, k) + 0.1 * outer(e, x)\n"
                   "e = b * e + 2 * u\nZ = outer(v, k)"),
            "a, 0; 0, b; 0 + 0 1 to x by 0.1 0; v + -1 0 @ k to k by c 2; ");
  // A vector along the keys is one along the values of the transpose.
  EXPECT_EQ(formOf("state e: [K]\nS = S + outer(v, x + e)\ne = v @ S\nZ = outer(v, k)"),
            "1, 0; 0, dot(v, v); x + 0 1 to v by 1 0; x * dot(v, v) + 1 0 @ v to vectors by 0 1; ");
}

TEST(CoupledForm, NotWithAStateBetween) {
  Understood understood("dim K, V\ninput k: [K], q: [K], v: [V]\nstate S: [V, K], Z: [V, K], n: [V]\n"
                        "n = 0.5 * n + Z @ k\nZ = 0.9 * Z + outer(v, k)\nS = sum(n) * S + Z\noutput o = S @ q");
  EXPECT_TRUE(understood.facts->getCoupledForms().empty());
  EXPECT_EQ(understood.classOf("S"), "elementwise");
}

} // namespace
