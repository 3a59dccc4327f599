// The normal form of a delta state: one decay, then rank-one writes whose values may read the state.
//
//     Sb  = diag(l) S diag(d)                               l over the value channels, d over the key channels
//     u_n = gain_n * value_n - sum over its reads of  erase * (X key)
//     S  <- S + outer(u_n, write_n)        for n = 1 .. R
//
// X is the state at a point of the token: as the previous token left it, or decayed and with the first p writes done.
// There is ONE decay a token: a decay between two writes is moved in front of the first, and its factor stays with the
// write that it came after. All parts are expressions over the row index, whichever side of the matrix they belong to.
#pragma once

#include "Analysis/Algebra/Evaluate.h"
#include "Analysis/Decay.h"
#include "llvm/Support/Error.h"

namespace recur::analysis {

/// On which side of the state its reads stand.
enum class Orientation {
  Right, ///< S @ key: rows are value channels, columns are key channels
  Left,  ///< key @ S: the transposed problem
  Vector ///< dot(key, S): a state of one value channel
};

/// A moment of the token at which the state is read.
struct Point {
  bool decayed = false; ///< false: as the previous token left it
  unsigned writes = 0;  ///< how many of this token's writes have been done; zero unless decayed
  bool operator==(const Point &) const = default;
};

/// scale * (X key); the scale is a scalar, or a vector over the value channels.
struct Read {
  const algebra::Poly *scale;
  const algebra::Poly *key;
  Point point;
};

/// free + the sum of the reads: a vector over the value channels that is affine in the state.
struct AffineValue {
  const algebra::Poly *free;
  llvm::SmallVector<Read, 1> reads;
};

struct MicroStep {
  const algebra::Poly *gain;  ///< a scalar
  const algebra::Poly *value; ///< a vector over the value channels; zero if the step only erases
  /// Erasing reads: the value written is gain * value MINUS these.
  llvm::SmallVector<Read, 1> reads;
  const algebra::Poly *write; ///< the write key
};

/// A value outside of the state's own update that reads the state.
struct Readout {
  mlir::Value value;
  AffineValue form;
  /// The read stands on the side of the value channels: its key is one over them, and the result is over the key
  /// channels.
  bool crossed = false;
};

struct DeltaForm {
  unsigned state = 0;
  Orientation orientation = Orientation::Right;
  Decay keyDecay, valueDecay; ///< a scalar decay is the key side's
  llvm::SmallVector<MicroStep, 1> steps;
  llvm::SmallVector<Readout, 1> readouts;
  /// Ops that use the whole matrix other than by multiplying it with a vector: cg, tanh of the state, ...
  llvm::SmallVector<mlir::Operation *, 1> wholeUses;

  bool isOnline() const {
    return llvm::any_of(steps, [](const MicroStep &step) { return !step.reads.empty(); });
  }
};

/// Why an update has no normal form, and what would give it one: both complete a sentence.
class NoForm : public llvm::ErrorInfo<NoForm> {
public:
  static char ID;
  NoForm(const llvm::Twine &reason, const llvm::Twine &needs) : reason(reason.str()), needs(needs.str()) {}
  void log(llvm::raw_ostream &os) const override { os << reason; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string reason, needs;
};
inline llvm::Error noForm(const llvm::Twine &reason, const llvm::Twine &needs) {
  return llvm::make_error<NoForm>(reason, needs);
}

/// If all of `scaled` is divided by the length of `key` (up to a constant below the root), the key is meant to have
/// unit length: moves the division there, so that the key stays as well scaled as the author made it.
void absorbUnitNorm(algebra::Algebra &algebra, int64_t keySize, const algebra::Poly *&scaled,
                    const algebra::Poly *&key);

/// The normal form of the state's update, or a NoForm.
llvm::Expected<DeltaForm> buildDeltaForm(algebra::Algebra &algebra, const algebra::Expressions &expressions,
                                         dgps::RecurrenceOp recurrence, unsigned state);

} // namespace recur::analysis
