// The update of a delta state by one micro-step, in every form that an author might write it in.
#pragma once
#include "property/RandomRecurrence.h"

namespace recur::property {

/// What a decay does to the state, on the side of its keys and on the side of its values.
struct Decay {
  Term all, keys, values; // scalar, vector, vector; null is none
  bool isNone() const { return !all && !keys && !values; }
};

/// One rank-one term: value and erased read come in along the write key. Null gains are one.
struct RankOne {
  Term read;  // null: nothing is erased
  Term value; // null: nothing is written
  Term write;
  Term preconditioner;       // null, or what multiplies the write key elementwise
  Term writeGain, eraseGain; // the same term where the two are tied
};

/// S [values, keys], or S [keys, values] when `transposed`: then reads come from the left.
struct MatrixState {
  Term state;
  bool transposed = false;

  Term decay(const Term &s, const Decay &by) const;
  Term read(const Term &s, const Term &key) const { return transposed ? times(key, s) : times(s, key); }
  Term write(const Term &value, const Term &key) const { return transposed ? outer(key, value) : outer(value, key); }
};

/// `decayed + rank-one terms`, each reading `seen`.
Term advance(const MatrixState &state, const Term &decayed, const Term &seen, const std::vector<RankOne> &terms);

/// Reads that see the decayed state: one term.
Stage makePostUpdate(const MatrixState &state, const Decay &decay, const RankOne &term, llvm::StringRef freshName);
/// Reads that see the state as it was: any number of terms.
Stage makePreUpdate(const MatrixState &state, const Decay &decay, const std::vector<RankOne> &terms,
                    llvm::StringRef freshName);

} // namespace recur::property
