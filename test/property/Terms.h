// Expressions that know their shape: what random recurrences are made of.
#pragma once
#include "Reduce/SpecTree.h"

namespace recur::property {

using Term = reduce::ExprPtr;
using Shape = std::vector<std::string>; // the names of the sizes; empty is a scalar

inline bool isScalar(const Term &t) { return t->shape.empty(); }
inline bool isVector(const Term &t) { return t->shape.size() == 1; }
inline bool isMatrix(const Term &t) { return t->shape.size() == 2; }

Term name(llvm::StringRef name, Shape shape);
Term number(double value);
Term dimName(llvm::StringRef name);

Term add(Term a, Term b);
Term sub(Term a, Term b);
Term mul(Term a, Term b);
Term div(Term a, Term b);
Term neg(Term a);
/// An elementwise function.
Term applied(llvm::StringRef function, Term a);
Term applied(llvm::StringRef function, Term a, Term b);
/// `< <= > >= == !=`
Term compared(llvm::StringRef op, Term a, Term b);
/// `a` where the condition holds, `b` elsewhere.
Term where(Term condition, Term a, Term b);
Term softmax(Term a);
Term l2norm(Term a);
Term sum(Term a);
Term dot(Term a, Term b);
Term outer(Term a, Term b);
Term ones(llvm::StringRef size);
Term index(Term a, Term i);
Term column(Term matrix, Term i);

/// Matrix times vector, or vector times matrix.
Term times(Term a, Term b);
Term scaleCols(Term matrix, Term vector);
Term scaleRows(Term vector, Term matrix);

struct Labelled {
  std::string label;
  Term value;
};
/// `cg(…)` and `dgps(…)`.
Term call(llvm::StringRef function, std::vector<Term> positional, std::vector<Labelled> named, Shape shape);

// Taking terms apart.
inline bool isBinary(const Term &t, llvm::StringRef op) { return t->is(reduce::Expr::Kind::Binary, op); }
inline bool isCall(const Term &t, llvm::StringRef function) { return t->is(reduce::Expr::Kind::Call, function); }
inline bool isNegate(const Term &t) { return t->is(reduce::Expr::Kind::Negate); }
inline bool isNumber(const Term &t) { return t->is(reduce::Expr::Kind::Number); }
inline const Term &first(const Term &t) { return t->operands[0]; }
inline const Term &second(const Term &t) { return t->operands[1]; }
/// `diag(a)`, which stands only beside `@`.
inline bool isDiag(const Term &t) { return isCall(t, "diag"); }
inline bool isScaleCols(const Term &t) { return isBinary(t, "@") && isDiag(second(t)); }
inline bool isScaleRows(const Term &t) { return isBinary(t, "@") && isDiag(first(t)); }
inline bool isRightRead(const Term &t) { return isBinary(t, "@") && isVector(t) && isMatrix(first(t)); }
inline bool isLeftRead(const Term &t) { return isBinary(t, "@") && isVector(t) && isMatrix(second(t)); }
inline bool isSumOrDifference(const Term &t) { return isBinary(t, "+") || isBinary(t, "-"); }

inline bool isComparison(const Term &t) {
  return t->is(reduce::Expr::Kind::Binary) && (t->text[0] == '<' || t->text[0] == '>' || t->text[1] == '=');
}

/// Operands that are not terms of their own: sizes, indices, words, the state that a dgps(…) updates, and what would be
/// another number for the least rounding, as before a comparison.
bool isFixed(const Term &parent, unsigned operand);
/// Replaces every `old` that is a term of its own.
Term replaceTerm(const Term &inside, const Term &old, const Term &by);

} // namespace recur::property
