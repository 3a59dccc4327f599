// What the compiler finds out of the recurrences of a text, for an editor.
#pragma once
#include "Support/SourceBuffer.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace recur::languageserver {

/// The reports of `explain --json`, by the names of the recurrences. Empty for a text with errors.
std::map<std::string, llvm::json::Value> explainAll(const SourceBuffer &source);

/// What a person wants to know of a state at a glance, in Markdown: its class and why, its axes, and its equations.
std::string describeState(const llvm::json::Value &report, llvm::StringRef state);
/// The equations of an output over a chunk, in Markdown.
std::string describeOutput(const llvm::json::Value &report, llvm::StringRef output);
/// The states with their classes, in Markdown.
std::string describeRecurrence(const llvm::json::Value &report);

} // namespace recur::languageserver
