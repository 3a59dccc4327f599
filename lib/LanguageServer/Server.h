// The language server of .recur files.
#pragma once
#include "llvm/Support/raw_ostream.h"
#include <cstdio>

namespace recur::languageserver {

/// Speaks the Language Server Protocol until the client says `exit`. Returns the exit code: 0 after a `shutdown`.
int serve(std::FILE *in, llvm::raw_ostream &out);

} // namespace recur::languageserver
