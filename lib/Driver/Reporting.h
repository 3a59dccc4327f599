// How a verb ends: its exit code, and the kinds of failure that are more than a message.
#pragma once
#include "Driver/Options.h"

namespace recur::driver {

enum class ExitCode { Fine = 0, UserMistake = 1, CheckFailed = 2, InternalError = 3 };

/// What was wrong is on stderr already; only the exit code is left.
class AlreadyReported : public llvm::ErrorInfo<AlreadyReported> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override { os << "already reported"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// Prints `recurc: error: …` on stderr for each error that is not reported yet; an internal one leaves a reproducer.
ExitCode report(llvm::Error error);

/// `recurc: warning: …` and `recurc: note: …` on stderr.
void warn(const llvm::Twine &message);
void note(const llvm::Twine &message);

/// Keeps what a reproducer needs: the command line, and the source once it is read. From then on a crash leaves one
/// too.
void startReproducer(llvm::ArrayRef<const char *> commandLine);
void addSourceToReproducer(llvm::StringRef path, llvm::StringRef text);

} // namespace recur::driver
