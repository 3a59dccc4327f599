#pragma once

#include "Support/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

namespace recur {

struct RenderOptions {
  bool color = false;
};

/// Writes every diagnostic for a person:
///
///     file:line:column: error: message [R0107]
///       S = exp(g * S
///              ^
///     file:line:column: note: the other declaration
///     help: what to write instead
///
/// Tabs are widened, bytes that are not text are shown as <XX>, and of a long line only the part around the caret
/// appears.
void renderDiagnostics(llvm::raw_ostream &os, const SourceBuffer &buffer, const DiagnosticEngine &engine,
                       RenderOptions options = {});

/// As above, in colour when the stream is a terminal that has colours.
void renderDiagnosticsForStream(llvm::raw_ostream &os, const SourceBuffer &buffer, const DiagnosticEngine &engine);

/// Writes every diagnostic as one JSON array, for a program.
void renderDiagnosticsAsJSON(llvm::raw_ostream &os, const SourceBuffer &buffer, const DiagnosticEngine &engine);

} // namespace recur
