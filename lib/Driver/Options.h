// The verbs of recurc and the options that each takes (Options.td), as llvm::opt knows them.
#pragma once
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Option/Option.h"
#include "llvm/Support/Error.h"

namespace recur::driver {

enum OptionID {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Driver/Options.inc"
#undef OPTION
};

enum OptionVisibility : unsigned {
  TopLevel = 1 << 1, // bit 0 is llvm's own
  BuildVerb = 1 << 2,
  ExplainVerb = 1 << 3,
  CheckVerb = 1 << 4,
  RunVerb = 1 << 5,
  TargetsVerb = 1 << 6,
};

const llvm::opt::OptTable &getOptTable();

/// What the command line may name after an option or instead of one, in the words of messages.
struct VerbOptions {
  llvm::StringRef verb; // empty before a verb
  OptionVisibility visibility;
};

/// Splits the words of a command line into options and the rest. An error says which word is wrong, and what is near
/// it.
llvm::Expected<llvm::opt::InputArgList> parseOptions(VerbOptions verb, llvm::ArrayRef<const char *> words);

/// The one of `candidates` that `word` is probably meant to be; empty when none is near.
llvm::StringRef findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

/// An error for a value that is not one of `known`: says what is known, or the one that was probably meant.
llvm::Error makeUnknownValueError(llvm::StringRef option, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> known);

llvm::Error makeError(const llvm::Twine &message);

} // namespace recur::driver
