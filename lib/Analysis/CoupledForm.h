// The normal form of matrix states that go on from one another: together one delta state whose decay is a small matrix.
//
//     u_n = free_n + gain_n * sum over its reads of (sum_b factor_b X_b) key      X as the previous token left it
//     X_a <- sum_b M_ab X_b + sum_n factor_na outer(u_n, write_n)                the factors are scalars
//
// M_ab is a scalar, or a number for each key channel: then each channel has a small matrix of its own.
//
// A momentum that another state adds up, levels that are merged into each other and states that turn into each other
// are of this kind. All reads are of the states before the token: what the token does to them first is in the factors.
//
// A member may be a vector over the value channels, such as the error of the token before, or the sum of all errors. It
// is like a matrix with one column, whose keys are the number one.
#pragma once

#include "Analysis/DeltaForm.h"

namespace recur::analysis {

struct CoupledRead {
  const algebra::Poly *key;                            ///< null: of the vectors among the members, as they are
  llvm::SmallVector<const algebra::Poly *, 2> factors; ///< by member
};

struct CoupledWrite {
  const algebra::Poly *free; ///< what does not read the states: a vector over the value channels
  const algebra::Poly *gain; ///< of what is read: one, or a number for each value channel
  llvm::SmallVector<CoupledRead, 1> reads;
  const algebra::Poly *write;                          ///< the write key; null where only vectors are written to
  llvm::SmallVector<const algebra::Poly *, 2> factors; ///< by member
};

struct CoupledForm {
  llvm::SmallVector<unsigned, 2> states; ///< the members
  llvm::SmallBitVector vectors;          ///< by member: it is a vector, and no matrix
  Orientation orientation = Orientation::Right;
  /// By the member that goes on, and the one that it goes on from. A factor may be zero, and may be a vector over the
  /// key channels.
  llvm::SmallVector<llvm::SmallVector<Decay, 2>, 2> matrix;
  llvm::SmallVector<CoupledWrite, 1> writes;

  bool isOnline() const {
    return llvm::any_of(writes, [](const CoupledWrite &write) { return !write.reads.empty(); });
  }
  /// Whether key channels have matrices of their own.
  bool hasChannels() const;
  /// The members in an order in which each comes after those that it goes on from; empty where there is none.
  llvm::SmallVector<unsigned, 2> orderMembers() const;
  /// The member, if there is one, to whose value after the token `member` adds its own decayed one, and nothing else.
  std::optional<unsigned> findAdded(unsigned member) const;
};

/// The normal form of the states' updates, which are matrices of one shape and vectors, or a NoForm.
llvm::Expected<CoupledForm> buildCoupledForm(algebra::Algebra &algebra, const algebra::Expressions &expressions,
                                             dgps::RecurrenceOp recurrence, llvm::ArrayRef<unsigned> states);

/// For each state, the states that it reaches by "its update reads".
llvm::SmallVector<llvm::SmallBitVector> reachableStates(const algebra::Expressions &expressions);

/// States that have no form by themselves, each with those that it goes on from, as far as their shapes allow that. No
/// state is in two of the groups.
llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1> findCoupledStates(const algebra::Expressions &expressions,
                                                                       const llvm::SmallBitVector &formless);

} // namespace recur::analysis
