// Names that C and C++ leave to a header made from names of a specification.
#pragma once
#include "Codegen/Embed/KernelInterface.h"
#include "llvm/Support/Error.h"

namespace recur::codegen {

/// The name itself, or one near it where no field of a struct may be called so: keywords, macros of the standard
/// headers that say how large numbers are, names that the languages keep for compilers, and what belongs to
/// recur/Runtime.h and to the headers made here.
std::string makeFieldName(llvm::StringRef name);

/// An error where two of these recurrences, or one of them and recur/Runtime.h, would declare the same name: in a
/// header, or as a symbol of an object.
llvm::Error checkNames(llvm::ArrayRef<KernelInterface> interfaces);

} // namespace recur::codegen
