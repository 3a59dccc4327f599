#pragma once

#include "Support/ErrorCodes.h"
#include "Support/SourceBuffer.h"

#include "llvm/ADT/Twine.h"

#include <string>
#include <vector>

namespace recur {

enum class Severity { Error, Warning };

/// A remark beside a diagnostic, usually at the other declaration where two disagree.
struct DiagnosticNote {
  SourceRange range;
  std::string message;
};

/// What the author may write instead. `replacement`, where given, is the text for `range`, for editors.
struct Suggestion {
  std::string message;
  SourceRange range;
  std::string replacement;
};

struct Diagnostic {
  ErrorCode code = ErrorCode::None;
  Severity severity = Severity::Error;
  SourceRange range;
  std::string message;
  std::vector<DiagnosticNote> notes;
  std::vector<Suggestion> suggestions;

  Diagnostic &note(SourceRange where, const llvm::Twine &text);
  Diagnostic &note(const llvm::Twine &text) { return note(SourceRange(), text); }
  Diagnostic &help(const llvm::Twine &text);
  /// The same, with a replacement that an editor can apply.
  Diagnostic &help(const llvm::Twine &text, SourceRange where, const llvm::Twine &replacement);
};

/// Collects the diagnostics of one source buffer. It keeps a bounded number, so that no input makes it grow without
/// end, and tells its callers when to give up.
class DiagnosticEngine {
public:
  explicit DiagnosticEngine(unsigned maxErrors = 50, unsigned maxWarnings = 50)
      : maxErrors(maxErrors), maxWarnings(maxWarnings) {}

  /// Adds a diagnostic; its severity is the one that the table of codes gives. The reference holds until the next
  /// report.
  Diagnostic &report(ErrorCode code, SourceRange range, const llvm::Twine &message);
  /// An error without a code, for what is not the author's mistake (a file that cannot be read).
  Diagnostic &error(const llvm::Twine &message);

  /// What was reported last, for further notes.
  Diagnostic &getLast() { return diagnostics.empty() ? overflow : diagnostics.back(); }

  unsigned getNumErrors() const { return numErrors; }
  bool hasErrors() const { return numErrors != 0; }
  /// True once as many errors were reported as are kept: the rest of the input need not be looked at.
  bool isFull() const { return numErrors >= maxErrors; }
  /// All that was reported, in the order of the source; diagnostics without a place come first.
  std::vector<Diagnostic> getDiagnostics() const;
  unsigned getNumDropped() const { return numDropped; }

private:
  Diagnostic &add(Diagnostic diagnostic);

  unsigned maxErrors, maxWarnings;
  unsigned numErrors = 0, numWarnings = 0, numDropped = 0;
  std::vector<Diagnostic> diagnostics;
  Diagnostic overflow; // takes the notes of what is not kept
};

} // namespace recur
