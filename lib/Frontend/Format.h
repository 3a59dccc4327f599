#pragma once

#include "Support/Diagnostics.h"

#include <optional>
#include <string>

namespace recur::frontend {

/// How wide a line may be; a longer one is broken where that is possible.
constexpr unsigned kFormatColumns = 120;

/// Writes a file in the one style of the language: a statement a line, two spaces a level, one space around operators.
/// The tokens, their order and the comments stay, and so do line ends within a statement, so that formatting twice is
/// formatting once. Returns nothing when the file has a syntax error, which is then among `diagnostics`.
std::optional<std::string> format(const SourceBuffer &buffer, DiagnosticEngine &diagnostics);

} // namespace recur::frontend
