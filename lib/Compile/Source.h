// From the text of a specification to a module of recurrences. Nothing is printed: what is wrong with the text goes to
// diagnostics.
#pragma once
#include "Frontend/Frontend.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

/// The diagnostics have errors, which say what is wrong.
class SourceError : public llvm::ErrorInfo<SourceError> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override { os << "the source has errors"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// A context that knows every dialect on the way down, for one compilation at a time.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// An error for a recurrence that a file does not have.
llvm::Error makeNoSuchRecurrenceError(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

/// What the source declares: the recurrence that the options name, or all.
llvm::Expected<std::vector<frontend::RecurrenceInfo>> describeSource(const SourceBuffer &source,
                                                                     const frontend::InstantiationOptions &options,
                                                                     DiagnosticEngine &diagnostics);

/// The module of these recurrences. `info`, when given, receives what was compiled.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
compileSource(const SourceBuffer &source, const frontend::InstantiationOptions &options, mlir::MLIRContext &context,
              DiagnosticEngine &diagnostics, std::vector<frontend::RecurrenceInfo> *info = nullptr);

} // namespace recur::compile
