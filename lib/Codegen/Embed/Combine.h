// Several objects as one file. The linker is lld's library, in this process: no toolchain need be there.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <shared_mutex>
#include <string>
#include <vector>

namespace recur::codegen {

struct ObjectFile {
  std::string name; // of the member in an archive
  std::string bytes;
};

/// A static library; the same bytes for the same objects.
llvm::Expected<std::string> makeArchive(llvm::ArrayRef<ObjectFile> objects);

/// One relocatable object.
llvm::Expected<std::string> linkRelocatable(llvm::ArrayRef<ObjectFile> objects);

/// A shared object with the runtime in it, which needs nothing but the C library: the one that this process has, or of
/// other processors the one for them that is installed here. It shows these symbols, the descriptors, and what
/// recur/Runtime.h declares.
llvm::Expected<std::string> linkShared(llvm::ArrayRef<ObjectFile> objects, llvm::ArrayRef<std::string> symbols);

/// Held by the linker alone, and shared by whoever else uses LLVM at the same time: lld has globals, and sets LLVM's
/// options back to what they were at first.
std::shared_mutex &getLinkerMutex();

/// What every shared object is linked with.
struct RuntimeArchives {
  std::string start;    // what the C library's own files would bring into each shared object
  std::string runtime;  // all that recur/Runtime.h declares
  std::string builtins; // functions of the compiler that compiled the runtime, as far as they are called
};
/// Those for an architecture, by LLVM's name.
llvm::Expected<RuntimeArchives> getRuntimeArchives(llvm::StringRef architecture);

} // namespace recur::codegen
