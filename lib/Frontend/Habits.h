// What people write who come from Python, PyTorch or NumPy, and what says the same here.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace recur::frontend {

/// What to write instead of a function of another language or library; empty for one that is not known.
std::string getHelpForFunction(llvm::StringRef name);

/// The same for a word that begins a statement, such as `return` or `if`.
llvm::StringRef getHelpForStatement(llvm::StringRef word);

/// The same for the name of a value, such as `None` or `pi`.
llvm::StringRef getHelpForName(llvm::StringRef name);

/// The same for `value.member` and `module.function`.
std::string getHelpForMember(llvm::StringRef value, llvm::StringRef member);

/// The product that einsum's subscripts mean, such as 'k,v->kv', of the operands in `rest`, the text behind the string;
/// empty where they are no subscripts of vectors and matrices.
std::string getHelpForSubscripts(llvm::StringRef subscripts, llvm::StringRef rest);

/// How to have what a value was a token before: `k[t-1]`.
std::string getHelpForDelay(llvm::StringRef value);

} // namespace recur::frontend
