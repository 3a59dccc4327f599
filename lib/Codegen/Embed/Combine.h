// Several objects as one file.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace recur::codegen {

struct ObjectFile {
  std::string name; // of the member in an archive
  std::string bytes;
};

/// A static library; the same bytes for the same objects.
llvm::Expected<std::string> makeArchive(llvm::ArrayRef<ObjectFile> objects);

/// One relocatable object, by `ld -r`. An error says so where this machine has no linker.
llvm::Expected<std::string> linkRelocatable(llvm::ArrayRef<ObjectFile> objects);

} // namespace recur::codegen
