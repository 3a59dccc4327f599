#include "Support/Diagnostics.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace recur {

Diagnostic &Diagnostic::note(SourceRange where, const llvm::Twine &text) {
  notes.push_back({where, text.str()});
  return *this;
}

Diagnostic &Diagnostic::help(const llvm::Twine &text) { return help(text, SourceRange(), ""); }

Diagnostic &Diagnostic::help(const llvm::Twine &text, SourceRange where, const llvm::Twine &replacement) {
  suggestions.push_back({text.str(), where, replacement.str()});
  return *this;
}

Diagnostic &DiagnosticEngine::add(Diagnostic diagnostic) {
  bool isError = diagnostic.severity == Severity::Error;
  unsigned &count = isError ? numErrors : numWarnings;
  if (count >= (isError ? maxErrors : maxWarnings)) {
    ++numDropped;
    overflow = Diagnostic();
    return overflow;
  }
  ++count;
  diagnostics.push_back(std::move(diagnostic));
  return diagnostics.back();
}

Diagnostic &DiagnosticEngine::report(ErrorCode code, SourceRange range, const llvm::Twine &message) {
  return add({code, isWarning(code) ? Severity::Warning : Severity::Error, range, message.str(), {}, {}});
}

Diagnostic &DiagnosticEngine::error(const llvm::Twine &message) {
  return add({ErrorCode::None, Severity::Error, SourceRange(), message.str(), {}, {}});
}

std::vector<Diagnostic> DiagnosticEngine::getDiagnostics() const {
  std::vector<size_t> order(diagnostics.size());
  std::iota(order.begin(), order.end(), 0);
  // Adding one turns "nowhere" into zero; the index keeps those of one place in the order of their report.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(diagnostics[a].range.begin + 1, a) < std::pair(diagnostics[b].range.begin + 1, b);
  });
  std::vector<Diagnostic> sorted;
  for (size_t i : order)
    sorted.push_back(diagnostics[i]);
  return sorted;
}

} // namespace recur
