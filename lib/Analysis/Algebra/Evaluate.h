// The expressions of all values of a recurrence.
#pragma once

#include "Analysis/Algebra/Expression.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/DenseMap.h"

namespace recur::algebra {

/// Maps each value of a recurrence to its expression, and an expression back to a value that computes it.
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
  const Poly *opaque(mlir::Operation *op);
  const Poly *shortened(const Poly *vector);

  Algebra &algebra;
  llvm::SmallVector<dgps::StateOp> states;
  llvm::DenseMap<mlir::Value, const Poly *> polys;
  llvm::DenseMap<std::pair<const Poly *, unsigned>, mlir::Value> values;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace recur::algebra
