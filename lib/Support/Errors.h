// What every layer above the dialects says in an llvm::Error: a mistake of the user's, or a fault of Recur's own.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace recur {

/// A mistake that the user can mend.
llvm::Error makeError(const llvm::Twine &message);

/// A fault in Recur itself.
class InternalError : public llvm::ErrorInfo<InternalError> {
public:
  static char ID;
  explicit InternalError(const llvm::Twine &what) : what(what.str()) {}
  void log(llvm::raw_ostream &os) const override { os << what; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string what;
};

/// The one of `candidates` that `word` is probably meant to be; empty when none is near.
llvm::StringRef findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

/// An error for a value that is not one of `known`: says what is known, or the one that was probably meant.
llvm::Error makeUnknownValueError(llvm::StringRef option, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> known);

} // namespace recur
