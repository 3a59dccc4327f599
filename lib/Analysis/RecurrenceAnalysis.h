// What Recur understands of a recurrence: the class of each state and why, and the form that its class computes by.
#pragma once

#include "Analysis/ComplexForm.h"
#include "Analysis/CoupledForm.h"
#include "Analysis/DeltaForm.h"
#include "Analysis/InverseForm.h"
#include "Analysis/MoebiusForm.h"
#include "Analysis/TropicalForm.h"
#include <memory>

namespace recur::analysis {

/// The classes from strongest to weakest; each admits the schedules of its row in the language reference.
enum class StateClass {
  Diagonal,    ///< A' = a * A + b, elementwise
  Tropical,    ///< A' = max(A + a, b) + c, or with min, or log(exp(A + a) + exp(b))
  Moebius,     ///< A' = (a * A + b) / (c * A + d), elementwise
  Delta,       ///< a decay of each side and rank-one writes that may read the state
  Inverse,     ///< an inverse that corrections of rank one keep up to date
  Elementwise, ///< S' = A * S + B, with full-rank A or B
  General      ///< anything else: token by token
};
llvm::StringRef nameOf(StateClass stateClass);

/// A' = factor * A + offset. For a diagonal or elementwise state.
struct LinearForm {
  const algebra::Poly *factor;
  const algebra::Poly *offset;
  Decay decay; ///< of the factor
};

struct StateFacts {
  dgps::StateOp op;
  StateClass stateClass;
  std::string reason;
  std::string needs; ///< of a state that goes token by token: what would give it a chunkwise form
  std::optional<LinearForm> linear;
  std::optional<TropicalForm> tropical;
  std::optional<MoebiusForm> moebius;
  std::optional<DeltaForm> delta;
  std::optional<InverseForm> inverse;
  /// The form that it shares with other states, whether or not it has one of its own.
  std::optional<unsigned> coupled;
  /// The form in which it is the real or the imaginary part; then it has none of its own.
  std::optional<unsigned> complex;
  /// The delta state that this diagonal state normalises: it is one more value channel of it.
  std::optional<unsigned> normalizerOf;
  llvm::SmallBitVector feedsOn; ///< the other states that its update reads
};

/// The analysis of one dgps.recurrence, for use by getAnalysis.
class RecurrenceAnalysis {
public:
  explicit RecurrenceAnalysis(mlir::Operation *op);

  algebra::Algebra &getAlgebra() const { return *algebra; }
  const algebra::Expressions &getExpressions() const { return *expressions; }
  llvm::ArrayRef<StateFacts> getStates() const { return states; }
  llvm::ArrayRef<CoupledForm> getCoupledForms() const { return coupled; }
  llvm::ArrayRef<ComplexForm> getComplexForms() const { return complexForms; }
  dgps::RecurrenceOp getRecurrence() const { return recurrence; }

private:
  StateFacts classify(unsigned state);
  void findCoupled(bool ofChannels);
  void findComplex(llvm::ArrayRef<llvm::SmallBitVector> reach);
  void findNormalizers();

  dgps::RecurrenceOp recurrence;
  std::unique_ptr<algebra::Algebra> algebra;
  std::unique_ptr<algebra::Expressions> expressions;
  llvm::SmallVector<StateFacts, 2> states;
  llvm::SmallVector<CoupledForm, 1> coupled;
  llvm::SmallVector<ComplexForm, 1> complexForms;
};

} // namespace recur::analysis
