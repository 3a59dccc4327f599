// The words and expressions that both forms of the report share.
#pragma once

#include "Analysis/Algebra/Print.h"
#include "Analysis/Axes.h"
#include "Analysis/RecurrenceAnalysis.h"

namespace recur::explain {

class ExplainFacts {
public:
  ExplainFacts(dgps::RecurrenceOp recurrence, bool canonical)
      : analysis(recurrence),
        printer(analysis.getAlgebra(), analysis.getExpressions(), recurrence,
                canonical ? algebra::Printer::Style::Canonical : algebra::Printer::Style::Source) {}

  analysis::RecurrenceAnalysis analysis;
  algebra::Printer printer;

  /// Where a read stands in the token: "before the update", "after the decay", "after write 1", "after the update".
  static std::string pointName(const analysis::DeltaForm &form, analysis::Point point);
  /// "pre", "post" or "step N": the point of an erasing read as the normal form names it.
  static std::string pointKind(analysis::Point point);
  static llvm::StringRef tyingName(analysis::Tying tying);
  static llvm::StringRef preconditionerName(analysis::Preconditioner preconditioner);
  static llvm::StringRef orientationName(analysis::Orientation orientation);

  /// scale * (S @ key), on the side that the state is read from.
  std::string printRead(const analysis::DeltaForm &form, const analysis::Read &read, llvm::StringRef state,
                        bool crossed = false) const;
  /// What states decay by together: one matrix, or one for each key channel.
  static std::string printKind(const analysis::CoupledForm &form);
  /// The rows of the matrix that states decay by together, each with the state that it makes.
  std::string printMatrix(const analysis::CoupledForm &form) const;
  /// What a write of theirs adds, but for its factors.
  std::string printValue(const analysis::CoupledForm &form, const analysis::CoupledWrite &write) const;
  std::string printInteraction(const analysis::DeltaForm &form, const analysis::Interaction &interaction) const;
  /// What leaves the token by this readout: "output o", or the state or op that it feeds.
  std::string readoutTarget(const analysis::Readout &readout) const;
  std::string gainOf(const analysis::DeltaForm &form) const;
  /// The first of many, and how many there are more.
  static std::string listed(llvm::ArrayRef<std::string> items);

  /// Why a state that goes token by token has no chunkwise form, if its class does not say so, and what it would take.
  struct Lack {
    std::string why, needs; ///< empty if not known
  };
  static Lack lackOf(const analysis::StateFacts &state);
};

} // namespace recur::explain
