// How an expression depends on one state: by the state itself, by products of it with a vector, or in no linear way.
#pragma once

#include "Analysis/DeltaForm.h"
#include <map>

namespace recur::analysis {

/// The reads of one state, seen from its orientation: the value channels are called rows and the key channels columns,
/// whichever they are. Where the algebra gave names to the state in the midst of the token, those stages are read like
/// the state itself: "the state" below is any of them.
class StateReads {
public:
  StateReads(algebra::Algebra &algebra, const algebra::Expressions &expressions, unsigned state);

  /// The state as the previous token left it, which is stage 0, and each stage that a later one is written in.
  unsigned numStages() const { return stages.size(); }
  /// What the token makes of the stage: the next one, or the state that it leaves.
  const algebra::Poly *next(unsigned stage) const;
  const algebra::Poly *itself(unsigned stage) const { return stagePolys[stage]; }

  Orientation orientation = Orientation::Right;

  /// On which side the update reads the state; where it does not, on which side the rest of the program does. An error
  /// says which use is not linear or not on one side.
  llvm::Expected<Orientation> chooseOrientation(dgps::RecurrenceOp recurrence);

  /// Whether the value has a product of the state with a vector in which `summed` is the index that is summed over.
  bool hasRead(const algebra::Poly *value, algebra::Axis summed) const;

  /// `value`, an expression of the state's own rows and columns, with the value channels as rows; and back.
  const algebra::Poly *inRoles(const algebra::Poly *value) {
    return orientation == Orientation::Right ? value : algebra.transpose(value);
  }

  /// A product with one factor that is the state or a read of it.
  struct Linear {
    const algebra::Monomial *rest;   ///< the other factors
    const algebra::Monomial *factor; ///< the state or the read
    bool isState;
    unsigned stage = 0;                 ///< the state's, or that of the state that is read
    const algebra::Poly *key = nullptr; ///< of a read, over the row index; null for the state
  };
  /// `monomial` in roles taken apart, or the reason why it is not linear. `crossed`: reads from the value side.
  llvm::Expected<Linear> linearIn(const algebra::Monomial *monomial, bool crossed = false);

  /// matrix @ key from the key side (or, crossed, from the value side), as a vector over the row index.
  const algebra::Poly *readWith(const algebra::Poly *matrix, const algebra::Poly *key, bool crossed);
  /// outer(value, key) in the state's own rows and columns.
  const algebra::Poly *place(const algebra::Poly *value, const algebra::Poly *key);
  int64_t keySize(bool crossed = false) const;
  /// The keys that ops of the program read the stage with, at whatever point that is written in it, without their
  /// scalar factors.
  llvm::ArrayRef<const algebra::Poly *> keysInProgram(dgps::RecurrenceOp recurrence, unsigned stage, bool crossed);

  /// How a value outside of the update uses the state.
  enum class Use { Read, Crossed, Whole };
  /// Calls `found` for each largest affine read that the outputs and the other states depend on, and for each op that
  /// uses the state in any other way.
  void forEachUse(dgps::RecurrenceOp recurrence,
                  llvm::function_ref<void(mlir::Value, Use, mlir::Operation *user)> found);

private:
  /// The number of the stage that the atom is, if it is one.
  std::optional<unsigned> stageOf(const algebra::Atom *atom) const;
  std::optional<unsigned> stageReadBy(const algebra::Atom *atom, algebra::Axis summed) const;
  llvm::SmallVector<const algebra::Poly *, 4> findKeys(dgps::RecurrenceOp recurrence, unsigned stage, bool crossed);
  bool isAffineRead(mlir::Value value, bool crossed);
  bool holdsStateItself(mlir::Value value) const;
  algebra::Axis summedAxis(bool crossed) const;

  algebra::Algebra &algebra;
  const algebra::Expressions &expressions;
  unsigned state;
  llvm::SmallVector<const algebra::Atom *, 1> stages;
  llvm::SmallVector<const algebra::Poly *, 1> stagePolys;
  llvm::DenseMap<const algebra::Atom *, unsigned> numbers; ///< of the stages
  std::map<std::pair<unsigned, bool>, llvm::SmallVector<const algebra::Poly *, 4>> knownKeys;
};

} // namespace recur::analysis
