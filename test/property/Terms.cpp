#include "property/Terms.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace recur;
using namespace recur::property;
using reduce::makeExpr;
using Kind = reduce::Expr::Kind;

Term property::name(llvm::StringRef name, Shape shape) { return makeExpr(Kind::Name, name, {}, std::move(shape)); }
Term property::dimName(llvm::StringRef name) { return makeExpr(Kind::Name, name); }

Term property::number(double value) {
  assert(value >= 0 && "a negative number is the negative of one");
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return makeExpr(Kind::Number, text);
}

static Term elementwise(llvm::StringRef op, Term a, Term b) {
  assert((isScalar(a) || isScalar(b) || a->shape == b->shape) && "shapes differ");
  Shape shape = isScalar(a) ? b->shape : a->shape;
  return makeExpr(Kind::Binary, op, {std::move(a), std::move(b)}, std::move(shape));
}
Term property::add(Term a, Term b) { return elementwise("+", std::move(a), std::move(b)); }
Term property::sub(Term a, Term b) { return elementwise("-", std::move(a), std::move(b)); }
Term property::mul(Term a, Term b) { return elementwise("*", std::move(a), std::move(b)); }
Term property::div(Term a, Term b) { return elementwise("/", std::move(a), std::move(b)); }

Term property::neg(Term a) {
  Shape shape = a->shape;
  return makeExpr(Kind::Negate, "", {std::move(a)}, std::move(shape));
}
Term property::applied(llvm::StringRef function, Term a) {
  Shape shape = a->shape;
  return makeExpr(Kind::Call, function, {std::move(a)}, std::move(shape));
}
Term property::applied(llvm::StringRef function, Term a, Term b) {
  Shape shape = isScalar(a) ? b->shape : a->shape;
  return makeExpr(Kind::Call, function, {std::move(a), std::move(b)}, std::move(shape));
}
Term property::compared(llvm::StringRef op, Term a, Term b) { return elementwise(op, std::move(a), std::move(b)); }
Term property::where(Term condition, Term a, Term b) {
  Shape shape = !isScalar(a) ? a->shape : !isScalar(b) ? b->shape : condition->shape;
  return makeExpr(Kind::Call, "where", {std::move(condition), std::move(a), std::move(b)}, std::move(shape));
}
Term property::softmax(Term a) { return applied("softmax", std::move(a)); }
Term property::l2norm(Term a) { return applied("l2norm", std::move(a)); }
Term property::sum(Term a) { return makeExpr(Kind::Call, "sum", {std::move(a)}); }

Term property::dot(Term a, Term b) {
  assert(isVector(a) && a->shape == b->shape);
  return makeExpr(Kind::Call, "dot", {std::move(a), std::move(b)});
}
Term property::outer(Term a, Term b) {
  assert(isVector(a) && isVector(b));
  Shape shape = {a->shape[0], b->shape[0]};
  return makeExpr(Kind::Call, "outer", {std::move(a), std::move(b)}, std::move(shape));
}
Term property::ones(llvm::StringRef size) { return makeExpr(Kind::Call, "ones", {dimName(size)}, {size.str()}); }

Term property::index(Term a, Term i) {
  Shape shape(a->shape.begin() + 1, a->shape.end());
  return makeExpr(Kind::Index, "", {std::move(a), std::move(i)}, std::move(shape));
}

Term property::column(Term matrix, Term i) {
  assert(isMatrix(matrix));
  Shape shape = {matrix->shape[0]};
  return makeExpr(Kind::Index, ":, ", {std::move(matrix), std::move(i)}, std::move(shape));
}

Term property::times(Term a, Term b) {
  if (isDiag(a))
    return scaleRows(first(a), std::move(b));
  if (isDiag(b))
    return scaleCols(std::move(a), first(b));
  if (isMatrix(a)) {
    assert(isVector(b) && a->shape[1] == b->shape[0]);
    Shape shape = {a->shape[0]};
    return makeExpr(Kind::Binary, "@", {std::move(a), std::move(b)}, std::move(shape));
  }
  assert(isVector(a) && isMatrix(b) && b->shape[0] == a->shape[0]);
  Shape shape = {b->shape[1]};
  return makeExpr(Kind::Binary, "@", {std::move(a), std::move(b)}, std::move(shape));
}
Term property::scaleCols(Term matrix, Term vector) {
  assert(isMatrix(matrix) && isVector(vector) && matrix->shape[1] == vector->shape[0]);
  Shape shape = matrix->shape;
  return makeExpr(Kind::Binary, "@", {std::move(matrix), applied("diag", std::move(vector))}, std::move(shape));
}
Term property::scaleRows(Term vector, Term matrix) {
  assert(isMatrix(matrix) && isVector(vector) && matrix->shape[0] == vector->shape[0]);
  Shape shape = matrix->shape;
  return makeExpr(Kind::Binary, "@", {applied("diag", std::move(vector)), std::move(matrix)}, std::move(shape));
}

Term property::call(llvm::StringRef function, std::vector<Term> positional, std::vector<Labelled> named, Shape shape) {
  std::vector<std::string> labels(positional.size());
  for (Labelled &argument : named) {
    positional.push_back(std::move(argument.value));
    labels.push_back(std::move(argument.label));
  }
  return std::make_shared<const reduce::Expr>(
      reduce::Expr{Kind::Call, function.str(), std::move(positional), std::move(labels), std::move(shape)});
}

bool property::isFixed(const Term &parent, unsigned operand) {
  if (isCall(parent, "ones") || parent->is(Kind::Index) || (isCall(parent, "dgps") && operand == 0))
    return true;
  if (isComparison(parent) || isCall(parent, "mod") || isCall(parent, "floor") || isCall(parent, "sign"))
    return true;
  const std::string &label = parent->labels[operand];
  return label == "solve" || label == "iterations" || label == "gradient";
}

Term property::replaceTerm(const Term &inside, const Term &old, const Term &by) {
  if (reduce::equal(inside, old))
    return by;
  std::vector<Term> operands = inside->operands;
  for (unsigned i = 0; i < operands.size(); ++i)
    if (!isFixed(inside, i))
      operands[i] = replaceTerm(operands[i], old, by);
  return operands == inside->operands ? inside : reduce::withOperands(inside, std::move(operands));
}
