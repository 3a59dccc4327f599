// Layers that are read from texts: the examples, and those that `recur.fla` has in Python.
#pragma once
#include "Data/Random.h"
#include "property/RandomRecurrence.h"

namespace recur::property {

/// The recurrence of the text, which has one form, with 128 channels where the text leaves a size open. None where it
/// has something that the laws of `Rewrites.h` know no shape of: complex numbers, functions of its own, slices.
std::optional<DrawnRecurrence> readLayer(llvm::StringRef text);

/// A text of which lines are there with some options: `# with X, without Y` is behind them.
class TextWithOptions {
public:
  explicit TextWithOptions(llvm::StringRef text) : text(text) {}
  /// With some of its options.
  std::string draw(data::Random &random) const;

private:
  std::string text;
};

/// The texts of `recur.fla`, from Python's source.
std::vector<TextWithOptions> readPythonTexts(llvm::StringRef source);

} // namespace recur::property
