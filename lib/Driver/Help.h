// What `recurc --help` and `recurc VERB --help` print.
#pragma once
#include "Driver/Options.h"
#include "llvm/Support/raw_ostream.h"

namespace recur::driver {

/// Prints the options that the visibility shows, group by group.
void printOptionHelp(llvm::raw_ostream &os, OptionVisibility visibility);

} // namespace recur::driver
