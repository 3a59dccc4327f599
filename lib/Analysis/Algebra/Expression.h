// The canonical form of what a token computes, for deciding equality, linearity and divisibility.
//
// Every dgps value is a polynomial: a sum of terms, each a number times a product of atoms times at most one
// exponential. Two values that are equal by commuting, distributing, re-associating, naming or adding exponents have
// the SAME polynomial object, so equality is pointer equality. The one idea that makes vectors and matrices fit is that
// each atom of a product says which index it varies over:
//
//     diag(l) @ S @ diag(d)   is the product   l[row] * S[both] * d[col]
//     outer(v, k)             is               v[row] * k[col]
//     dot(k, q)               is a sum over the row index of k[row] * q[row]: an atom of its own, without an index
//     S @ (d * k)             is a sum over the column index of S[both] * d[col] * k[col]: an atom that is a vector
//
// A vector varies over `row` until it is put into the columns of a matrix. Nothing is ever divided out of a quotient:
// 1/x is an atom, so that x * (1/x) stays and a division by zero stays visible.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>
#include <optional>
#include <string>

namespace recur::algebra {

/// Which index of a value a factor varies over, as a set of two bits.
enum class Axis : uint8_t { None = 0, Row = 1, Col = 2, Both = 3 };
inline bool varies(Axis axis, Axis over) { return (uint8_t(axis) & uint8_t(over)) != 0; }
inline Axis unite(Axis a, Axis b) { return Axis(uint8_t(a) | uint8_t(b)); }
inline Axis swapped(Axis axis) { return axis == Axis::Row ? Axis::Col : axis == Axis::Col ? Axis::Row : axis; }

class Poly;
class Monomial;

/// What arithmetic cannot take apart.
class Atom : public llvm::FoldingSetNode {
public:
  enum class Kind : uint8_t {
    Leaf,     ///< an input, a param, a state as the previous token left it, or a value too large to expand
    Function, ///< a function of polynomials: sigmoid, max, inverse, extract, softmax, cg, ...; or a short name for one:
              ///< "value" of a factor, "stage" of a state
    Sum       ///< the sum of a product over one index
  };

  Kind kind;
  unsigned rank;         ///< 0, 1 or 2: how many indices it has
  mlir::Value leaf;      ///< Leaf
  unsigned order = 0;    ///< Leaf: position in the program; stage: how many are in it. Orderings depend on no names
  std::string name;      ///< Function
  int64_t parameter = 0; ///< Function: an index or a count
  llvm::SmallVector<const Poly *, 2> arguments; ///< Function
  const Monomial *product = nullptr;            ///< Sum
  Axis summed = Axis::None;                     ///< Sum: the index that is summed over
  llvm::SmallBitVector states;                  ///< the states that it depends on

  bool isFunction(llvm::StringRef wanted) const { return kind == Kind::Function && name == wanted; }
  /// A state in the midst of a token, under a short name; see Algebra::stage.
  bool isStage() const { return isFunction("stage"); }
  void Profile(llvm::FoldingSetNodeID &id) const;
};

/// An atom to a positive power, varying over an index.
struct Factor {
  const Atom *atom;
  Axis axis;
  unsigned power;
  bool operator==(const Factor &) const = default;
};

/// A product of factors and one exponential.
class Monomial : public llvm::FoldingSetNode {
public:
  llvm::SmallVector<Factor, 4> factors; ///< in canonical order
  const Poly *exponent = nullptr;       ///< of the exponential; null for none
  llvm::SmallBitVector states;
  Axis axes = Axis::None; ///< the indices that any part varies over

  bool isOne() const { return factors.empty() && !exponent; }
  /// How many atoms are multiplied; an exponential counts as one.
  unsigned degree() const;
  void Profile(llvm::FoldingSetNodeID &id) const;
};

struct Term {
  const Monomial *monomial;
  double coefficient;
};

/// A sum of terms, in canonical order. Zero has none.
class Poly : public llvm::FoldingSetNode {
public:
  llvm::SmallVector<Term, 2> terms;
  llvm::SmallBitVector states;
  Axis axes = Axis::None;

  bool isZero() const { return terms.empty(); }
  std::optional<double> asNumber() const;
  bool isOne() const { return asNumber() == 1.0; }
  /// The only term, if there is just one.
  const Term *single() const { return terms.size() == 1 ? &terms.front() : nullptr; }
  /// The coefficient of largest magnitude, the first of several: dividing by it never makes another one large.
  double leadingCoefficient() const;
  bool dependsOn(unsigned state) const { return state < states.size() && states.test(state); }
  void Profile(llvm::FoldingSetNodeID &id) const;
};

/// The elements [begin, begin + size) that the function "slice" takes, as its parameter.
inline int64_t sliceParameter(int64_t begin, int64_t size) { return begin << 24 | size; }
inline int64_t sliceBegin(int64_t parameter) { return parameter >> 24; }
inline int64_t sliceSize(int64_t parameter) { return parameter & 0xFFFFFF; }

inline bool dependsOn(const llvm::SmallBitVector &states, unsigned state) {
  return state < states.size() && states.test(state);
}

/// An order that depends on structure alone: negative, zero or positive.
int compare(const Atom *a, const Atom *b);
int compare(const Monomial *a, const Monomial *b);
int compare(const Poly *a, const Poly *b);

/// Owns and unifies expressions, and does the arithmetic on them.
class Algebra {
public:
  /// A product that may have more terms than this is not expanded where the program decides how large it gets.
  static constexpr size_t maxTerms = 4096;

  Algebra();

  const Poly *zero() const { return zeroPoly; }
  const Poly *one() const { return onePoly; }
  const Poly *number(double value);
  /// A value that is taken as it is. `states`: the states it depends on.
  const Poly *leaf(mlir::Value value, unsigned order, const llvm::SmallBitVector &states);

  const Poly *add(const Poly *a, const Poly *b);
  const Poly *sub(const Poly *a, const Poly *b) { return add(a, negate(b)); }
  const Poly *negate(const Poly *a) { return scale(a, -1); }
  const Poly *scale(const Poly *a, double factor);
  const Poly *multiply(const Poly *a, const Poly *b);
  /// The same, or null when it may have more than `maxTerms` terms.
  const Poly *multiplyWithinLimit(const Poly *a, const Poly *b);
  const Poly *inverse(const Poly *a);
  const Poly *exponential(const Poly *a);
  /// An elementwise function: it varies over whatever its arguments vary over.
  const Poly *elementwise(llvm::StringRef name, llvm::ArrayRef<const Poly *> arguments);
  /// The largest of any number of arguments, in any order, nested or not. The smallest is -max of the negatives.
  const Poly *maximum(llvm::ArrayRef<const Poly *> arguments);
  /// A function with a result of the given rank whose elements are not functions of the arguments' elements.
  const Poly *function(llvm::StringRef name, unsigned rank, llvm::ArrayRef<const Poly *> arguments,
                       int64_t parameter = 0);
  /// A short name for a state after some of a token's writes, as an atom whose argument is that value. What follows is
  /// then written by the name, so that each of many writes is as short as the first. `depth`: how many such names the
  /// value is built on.
  const Poly *stage(const Poly *value, unsigned rank, unsigned depth);
  /// The sum over one index, of which there are `size` values.
  const Poly *sumOver(const Poly *a, Axis axis, int64_t size);

  /// The same expression with rows and columns exchanged: a vector put into columns, or brought back from there.
  const Poly *transpose(const Poly *a);

  const Monomial *monomial(llvm::ArrayRef<Factor> factors, const Poly *exponent);
  const Monomial *multiply(const Monomial *a, const Monomial *b);
  const Poly *poly(llvm::ArrayRef<Term> terms);
  const Poly *poly(const Monomial *monomial, double coefficient = 1);
  const Monomial *oneMonomial() const { return unit; }

  /// A product taken apart by the index that its parts vary over. `both` holds what varies over both at once.
  struct Split {
    const Monomial *scalar, *row, *col, *both;
  };
  Split split(const Monomial *m);

private:
  const Poly *atomPoly(Atom &&atom);
  std::deque<Atom> atomStore;
  std::deque<Monomial> monomialStore;
  std::deque<Poly> polyStore;
  llvm::FoldingSet<Atom> atoms;
  llvm::FoldingSet<Monomial> monomials;
  llvm::FoldingSet<Poly> polys;
  const Monomial *unit;
  const Poly *zeroPoly, *onePoly;
};

} // namespace recur::algebra
