// The four axes of a delta state (decay, gain, preconditioner, solve), which of its keys are tied, and how many
// interaction matrices its chunkwise form needs.
#pragma once

#include "Analysis/RecurrenceAnalysis.h"

namespace recur::analysis {

/// How a key that reads relates to the key that writes in the same step.
enum class Tying {
  None,   ///< the step does not read
  Tied,   ///< the same key, but for a scalar
  Scaled, ///< the write key is the read key times a vector
  Free    ///< unrelated
};

/// On which side another state's running statistic scales or multiplies a key.
struct Preconditioner {
  bool onWrite = false, onQuery = false;
};

/// A matrix <row stream, column stream> that the chunkwise form needs: each read stream meets each write stream.
struct Interaction {
  const algebra::Poly *row; ///< null for the iterates of a conjugate-gradient read
  const algebra::Poly *column;
  bool crossed = false; ///< a read from the value side meets the written values instead of the keys
};

llvm::SmallVector<Tying, 1> tyingOf(algebra::Algebra &algebra, const DeltaForm &form);
Preconditioner preconditionerOf(const DeltaForm &form);
llvm::SmallVector<Interaction, 4> interactionsOf(algebra::Algebra &algebra, const DeltaForm &form);

/// "none", "scalar", "columns", "rows" or "rows and columns", in the state's own rows and columns.
llvm::StringRef decayAxis(const DeltaForm &form);

} // namespace recur::analysis
