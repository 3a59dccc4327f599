// The expressions of all values of a recurrence.
#pragma once

#include "Analysis/Algebra/Expression.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <string>
#include <vector>

namespace recur::algebra {

/// Maps each value of a recurrence to its expression, and an expression back to a value that computes it.
///
/// The time that this takes is linear in the ops, whatever they compute: a product that would be too large is written
/// with a factor as it is, a state that a token writes to many times gets a name between the writes, and when all
/// values together have become too large, later ones are taken as they are.
class Expressions {
public:
  Expressions(Algebra &algebra, dgps::RecurrenceOp recurrence);

  const Poly *of(mlir::Value value) const { return polys.lookup(value); }
  /// The first value of the program with this expression and rank, or null.
  mlir::Value valueOf(const Poly *poly, unsigned rank) const { return values.lookup({poly, rank}); }

  unsigned numStates() const { return states.size(); }
  dgps::StateOp state(unsigned index) const { return states[index]; }
  unsigned indexOf(dgps::StateOp state) const;
  /// The state as the previous token left it, and as this token leaves it.
  const Poly *before(unsigned state) const;
  const Poly *after(unsigned state) const;
  /// The atom that stands for the state as the previous token left it.
  const Atom *atomOf(unsigned state) const { return before(state)->terms[0].monomial->factors[0].atom; }

private:
  const Poly *evaluate(mlir::Operation *op);
  const Poly *expand(mlir::Operation *op);
  const Poly *product(mlir::Operation *op, llvm::function_ref<const Poly *(const Poly *)> asFactor);
  const Poly *opaque(mlir::Operation *op);
  const Poly *choice(dgps::SelectOp op);
  const Poly *stageOf(const Poly *value, mlir::Value result);

  Algebra &algebra;
  llvm::SmallVector<dgps::StateOp> states;
  llvm::DenseMap<mlir::Value, const Poly *> polys;
  llvm::DenseMap<std::pair<const Poly *, unsigned>, mlir::Value> values;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  /// What is compared and how, and what is taken.
  using Choice = std::pair<std::string, std::vector<const Poly *>>;
  std::map<Choice, const Poly *> choices;
  llvm::DenseMap<const Poly *, Choice> comparisons; ///< values that are 1 or 0
  size_t numTerms = 0;                              ///< of all values so far
};

} // namespace recur::algebra
