#include "Frontend/Parser.h"

#include "gtest/gtest.h"

namespace recur::frontend::testing {
namespace {

/// Writes an expression with every operation in parentheses, so that precedence shows.
std::string show(const Expr *expr) {
  using llvm::cast;
  switch (expr->kind) {
  case Expr::Error:
    return "<error>";
  case Expr::Number:
    return std::to_string(int(cast<NumberExpr>(expr)->value));
  case Expr::Name:
    return cast<NameExpr>(expr)->name.str();
  case Expr::Negate:
    return "(-" + show(cast<NegateExpr>(expr)->operand) + ")";
  case Expr::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    return "(" + show(binary->lhs) + " " + spell(binary->op).str() + " " + show(binary->rhs) + ")";
  }
  case Expr::Call: {
    auto *call = cast<CallExpr>(expr);
    std::string text = call->callee.str() + "(";
    for (const Argument &argument : call->arguments)
      text += (argument.keyword.empty() ? "" : argument.keyword.str() + "=") + show(argument.value) + ";";
    return text + ")";
  }
  case Expr::Index:
    return show(cast<IndexExpr>(expr)->base) + "[" + show(cast<IndexExpr>(expr)->index) + "]";
  case Expr::Slice: {
    auto *slice = cast<SliceExpr>(expr);
    return show(slice->base) + "[" + show(slice->lower) + ".." + show(slice->upper) + "]";
  }
  }
  return "?";
}

struct Parsed {
  explicit Parsed(std::string text) : buffer("test.recur", std::move(text)) {
    file = Parser(buffer, diagnostics).parseFile();
  }
  std::string codes() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.getDiagnostics())
      text += getErrorCodeText(diagnostic.code).str() + " ";
    return text;
  }
  llvm::ArrayRef<Statement *> body() const { return file->recurrences.front()->body; }

  SourceBuffer buffer;
  DiagnosticEngine diagnostics;
  std::unique_ptr<File> file;
};

std::string showParsed(const std::string &expression) {
  Parsed parsed("recurrence r {\n  let a = " + expression + "\n}\n");
  EXPECT_EQ(parsed.codes(), "") << expression;
  return show(llvm::cast<Declaration>(parsed.body().front())->init);
}

TEST(Parser, PrecedenceTightestFirst) {
  EXPECT_EQ(showParsed("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(showParsed("a * S @ x"), "(a * (S @ x))");
  EXPECT_EQ(showParsed("-S @ x"), "((-S) @ x)");
  EXPECT_EQ(showParsed("-k[j]"), "(-k[j])");
  EXPECT_EQ(showParsed("a * -b"), "(a * (-b))");
  EXPECT_EQ(showParsed("--a"), "(-(-a))");
  EXPECT_EQ(showParsed("(a + b) * c"), "((a + b) * c)");
}

TEST(Parser, EverythingAssociatesToTheLeft) {
  EXPECT_EQ(showParsed("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(showParsed("a / b * c"), "((a / b) * c)");
  EXPECT_EQ(showParsed("diag(b) @ S @ diag(a)"), "((diag(b;) @ S) @ diag(a;))");
}

TEST(Parser, CallsAndIndices) {
  EXPECT_EQ(showParsed("cg(G, x, ridge = r, iterations = 3)"), "cg(G;x;ridge=r;iterations=3;)");
  EXPECT_EQ(showParsed("A[i][j + 1]"), "A[i][(j + 1)]");
  EXPECT_EQ(showParsed("f()"), "f()");
}

TEST(Parser, LineBreaksAreBlanks) {
  EXPECT_EQ(showParsed("a +\n    b *\n    c"), "(a + (b * c))");
  EXPECT_EQ(showParsed("dgps(S,\n  read = k,\n  value = v)"), "dgps(S;read=k;value=v;)");
  Parsed parsed("recurrence r { input x state s s = s + x output o = s }");
  EXPECT_EQ(parsed.codes(), "");
  EXPECT_EQ(parsed.body().size(), 4u);
}

TEST(Parser, AParenthesisedRangeTakesTheParenthesesIn) {
  Parsed parsed("recurrence r {\n  let a = (b + c)\n}\n");
  const Expr *init = llvm::cast<Declaration>(parsed.body().front())->init;
  EXPECT_TRUE(init->parenthesized);
  EXPECT_EQ(parsed.buffer.getText(init->range), "(b + c)");
}

TEST(Parser, Declarations) {
  Parsed parsed("recurrence r {\n  dim K, N = 2\n  shared input q: [K], k: [N, K]\n  input g\n  param m: scalar\n}\n");
  EXPECT_EQ(parsed.codes(), "");
  ASSERT_EQ(parsed.body().size(), 6u);
  auto at = [&](size_t i) { return llvm::cast<Declaration>(parsed.body()[i]); };
  EXPECT_EQ(at(0)->init, nullptr);
  EXPECT_NE(at(1)->init, nullptr);
  EXPECT_TRUE(at(2)->shared);
  EXPECT_EQ(at(3)->shapeSyntax.entries.size(), 2u);
  EXPECT_FALSE(at(4)->shared);
  EXPECT_FALSE(at(4)->shapeSyntax.range.isValid());
  EXPECT_TRUE(at(5)->shapeSyntax.range.isValid());
}

TEST(Parser, GoesOnAfterAnError) {
  Parsed parsed("recurrence r {\n  let a = \n  let b = )\n  let c = (1\n  let d = 2\n}\n"
                "recurrence t {\n  state [K]\n  let e = 1 +\n  let f = 3\n}\n");
  EXPECT_EQ(parsed.codes(), "R0106 R0106 R0107 R0102 R0106 ");
  ASSERT_EQ(parsed.file->recurrences.size(), 2u);
  EXPECT_TRUE(parsed.file->recurrences[0]->damaged);
  EXPECT_EQ(parsed.body().size(), 4u); // the lets, with errors for values
}

TEST(Parser, NestingHasALimit) {
  auto nested = [](unsigned n) {
    return "recurrence r {\n let a = " + std::string(n, '(') + "1" + std::string(n, ')') + "\n}\n";
  };
  EXPECT_EQ(Parsed(nested(Parser::kMaxDepth - 1)).codes(), "");
  EXPECT_EQ(Parsed(nested(Parser::kMaxDepth + 1)).codes(), "R0110 ");
  std::string sum = "1";
  for (unsigned i = 0; i < Parser::kMaxDepth; ++i)
    sum += " + 1";
  EXPECT_EQ(Parsed("recurrence r {\n let a = " + sum + "\n}\n").codes(), "R0110 ");
}

TEST(Parser, StopsAtTheLimitOfErrors) {
  std::string text = "recurrence r {\n";
  for (int i = 0; i < 1000; ++i)
    text += "  let = 1\n";
  Parsed parsed(text + "}\n");
  EXPECT_EQ(parsed.diagnostics.getNumErrors(), 50u);
  EXPECT_TRUE(parsed.diagnostics.isFull());
}

} // namespace
} // namespace recur::frontend::testing
