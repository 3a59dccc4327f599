// The runtime's archives, which travel inside the compiler, packed: a shared object of kernels is linked with them.
#include "Codegen/Embed/Combine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"

#define RECUR_EMBED(NAME, PATH, SIZE)                                                                                  \
  asm(".pushsection .rodata\n.balign 16\n.hidden recur_" #NAME "_begin\n.hidden recur_" #NAME "_end\n"                 \
      ".globl recur_" #NAME "_begin\nrecur_" #NAME "_begin:\n.incbin \"" PATH "\"\n"                                   \
      ".globl recur_" #NAME "_end\nrecur_" #NAME "_end:\n.byte 0\n.popsection\n");                                     \
  extern "C" const char recur_##NAME##_begin[], recur_##NAME##_end[];                                                  \
  static constexpr size_t NAME##Size = SIZE;
#include "Codegen/Embed/RuntimeArchive.inc"

using namespace llvm;
using recur::codegen::RuntimeArchives;

static Expected<std::string> unpack(const char *begin, const char *end, size_t size) {
  SmallVector<uint8_t> bytes;
  if (!compression::zlib::isAvailable())
    return createStringError("'so' needs an LLVM that was built with zlib: the runtime is packed by it");
  if (Error error = compression::zlib::decompress(arrayRefFromStringRef(StringRef(begin, end - begin)), bytes, size))
    return std::move(error);
  return toStringRef(bytes).str();
}

Expected<RuntimeArchives> recur::codegen::getRuntimeArchives() {
  Expected<std::string> start = unpack(recur_start_begin, recur_start_end, startSize);
  if (!start)
    return start.takeError();
  Expected<std::string> runtime = unpack(recur_runtime_begin, recur_runtime_end, runtimeSize);
  if (!runtime)
    return runtime.takeError();
  Expected<std::string> builtins = unpack(recur_builtins_begin, recur_builtins_end, builtinsSize);
  if (!builtins)
    return builtins.takeError();
  return RuntimeArchives{std::move(*start), std::move(*runtime), std::move(*builtins)};
}
