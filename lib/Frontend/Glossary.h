#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace recur::frontend {

/// What a word of the language is, in one line each: for editors.
struct GlossaryEntry {
  llvm::StringRef word, form, meaning;
};

/// The functions of the language, its keywords, and `token`.
llvm::ArrayRef<GlossaryEntry> getGlossary();
/// Null for a word that the language does not have.
const GlossaryEntry *findInGlossary(llvm::StringRef word);

} // namespace recur::frontend
