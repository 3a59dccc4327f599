// The laws that the canonical form is built on.
#include "Analysis/Algebra/Division.h"
#include "Understand.h"

using namespace recur::algebra;
using recur::test::Understood;

namespace {

/// Compiles `outputs` over scalars a, b, c and vectors x, y, and gives their expressions.
class AlgebraLaws : public testing::Test {
protected:
  const Poly *expression(const std::string &text) {
    programs.push_back(std::make_unique<Understood>(
        "dim K\ninput a: scalar, b: scalar, c: scalar, x: [K], y: [K], z: [K]\noutput o = " + text));
    auto output = *programs.back()->recurrence.getBody().getOps<recur::dgps::OutputOp>().begin();
    return programs.back()->facts->getExpressions().of(output.getValue());
  }
  /// Whether two texts have one expression: both are outputs of one program.
  static bool equal(const std::string &first, const std::string &second) {
    Understood both("dim K\ninput a: scalar, b: scalar, c: scalar, x: [K], y: [K], z: [K]\noutput o = " + first +
                    "\noutput p = " + second);
    llvm::SmallVector<recur::dgps::OutputOp, 8> outputs = both.recurrence.getOutputs();
    const Expressions &expressions = both.facts->getExpressions();
    return expressions.of(outputs[0].getValue()) == expressions.of(outputs[1].getValue());
  }
  Algebra &algebra() { return programs.back()->facts->getAlgebra(); }
  std::vector<std::unique_ptr<Understood>> programs;
};

TEST_F(AlgebraLaws, Equalities) {
  EXPECT_TRUE(equal("a * (b + c)", "c * a + a * b"));
  EXPECT_TRUE(equal("exp(a) * exp(b)", "exp(b + a)"));
  EXPECT_TRUE(equal("a - a + b", "b"));
  EXPECT_TRUE(equal("0.1 * a + 0.2 * a", "0.3 * a"));
  EXPECT_TRUE(equal("dot(a * x, y)", "a * dot(y, x)"));
  EXPECT_TRUE(equal("dot(x * y, z)", "dot(x, z * y)"));
  EXPECT_TRUE(equal("dot(x + y, z)", "dot(x, z) + dot(z, y)"));
  EXPECT_TRUE(equal("sum(x * y)", "dot(x, y)"));
  EXPECT_TRUE(equal("outer(x, y) @ z", "dot(y, z) * x"));
  EXPECT_TRUE(equal("x @ outer(x, y)", "dot(x, x) * y"));
  EXPECT_TRUE(equal("max(a, max(b, c))", "max(max(c, a), b)"));
  EXPECT_TRUE(equal("log(exp(a))", "a"));
  EXPECT_TRUE(equal("a / (b * c)", "a / b / c"));
  EXPECT_TRUE(equal("sigmoid(a + b)", "sigmoid(b + a)"));
  EXPECT_TRUE(equal("exp(outer(x, ones(K))) @ z", "exp(x) * sum(z)"));
}

TEST_F(AlgebraLaws, Differences) {
  EXPECT_FALSE(equal("a * a", "a"));
  EXPECT_FALSE(equal("x * y", "x * x"));
  EXPECT_FALSE(equal("exp(a + b)", "exp(a) + exp(b)"));
  EXPECT_FALSE(equal("outer(x, y) @ z", "outer(y, x) @ z"));
  EXPECT_FALSE(equal("max(a, b)", "min(a, b)"));
  EXPECT_FALSE(equal("x[0]", "x[1]"));
  // A quotient is never cancelled: at a = 0 they differ.
  EXPECT_FALSE(equal("a / a", "1"));
}

// Equal choices are one value, and `>=` is not `>`, though only a number that no sum keeps tells them apart.
TEST_F(AlgebraLaws, Choices) {
  EXPECT_TRUE(equal("where(a > b, c + b, a)", "where(b < a, b + c, a)"));
  EXPECT_TRUE(equal("where(a > b, x, y)", "where(a - b > 0, x, y)"));
  EXPECT_TRUE(equal("where(a + b > b, x, y)", "where(a, x, y)"));
  EXPECT_TRUE(equal("where(a >= b, a * (b + c), y)", "where(b <= a, c * a + a * b, y)"));
  EXPECT_TRUE(equal("c * (a == b)", "(b == a) * c"));
  EXPECT_TRUE(equal("where(1 * (a < b), c, 1)", "where(a < b, c, 1)"));
  EXPECT_TRUE(equal("mod(a + b, 3)", "mod(b + a, 3)"));
  EXPECT_FALSE(equal("where(a > 1, b, c)", "where(a >= 1, b, c)"));
  EXPECT_FALSE(equal("where(a > b, c, 0)", "where(b > a, c, 0)"));
  EXPECT_FALSE(equal("where(a > b, x, y)", "where(a > b, y, x)"));
  EXPECT_FALSE(equal("(a == 1) * b", "(a != 1) * b"));
  EXPECT_FALSE(equal("where(x > 0, a, b)", "where(y > 0, a, b)"));
}

TEST_F(AlgebraLaws, Quotients) {
  const Poly *product = expression("a * b * exp(a) + a * c * exp(a)");
  const Poly *common = algebra().poly(commonFactor(algebra(), product));
  const Poly *rest = quotient(algebra(), product, common);
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(algebra().multiply(common, rest), product);
  EXPECT_EQ(rest->terms.size(), 2u);
  const Poly *square = algebra().multiply(rest, rest);
  EXPECT_EQ(quotient(algebra(), square, rest), rest);
  EXPECT_EQ(quotient(algebra(), algebra().add(square, algebra().one()), rest), nullptr);
}

TEST_F(AlgebraLaws, AQuotientMakesNoNewExponential) {
  const Poly *a = expression("exp(a)");
  EXPECT_EQ(quotient(algebra(), algebra().one(), a), nullptr);
  EXPECT_EQ(quotient(algebra(), a, algebra().multiply(a, a)), nullptr);
  EXPECT_EQ(quotient(algebra(), algebra().multiply(a, a), a), a);
}

TEST_F(AlgebraLaws, TooLargeToExpandIsTakenAsItIs) {
  // Ten squarings of a sum would have a thousand factors each.
  std::string text = "dim K\ninput a: scalar, b: scalar\nstate s: scalar\nlet t0 = a + b + 1\n";
  for (int i = 1; i <= 30; ++i)
    text += "let t" + std::to_string(i) + " = t" + std::to_string(i - 1) + " * t" + std::to_string(i - 1) + "\n";
  Understood understood(text + "s = t30 * s + b\noutput o = s");
  EXPECT_EQ(understood.classOf("s"), "diagonal");
}

} // namespace
