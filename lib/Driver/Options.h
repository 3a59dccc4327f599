// The verbs of recurc and the options that each takes (Options.td), as llvm::opt knows them.
#pragma once
#include "Support/Errors.h"
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
  FormatVerb = 1 << 7,
  LibraryVerb = 1 << 8,
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

} // namespace recur::driver
