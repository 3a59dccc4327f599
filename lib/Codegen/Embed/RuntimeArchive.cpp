// The runtime's archives, which travel inside the compiler, packed: a shared object of kernels is linked with them.
#include "Codegen/Embed/Combine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

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

Expected<RuntimeArchives> recur::codegen::getRuntimeArchives(StringRef architecture) {
  std::array<Expected<std::string>, 3> parts = {"", "", ""};
  if (architecture == Triple::getArchTypeName(Triple(sys::getProcessTriple()).getArch()))
    parts = {unpack(recur_start_begin, recur_start_end, startSize),
             unpack(recur_runtime_begin, recur_runtime_end, runtimeSize),
             unpack(recur_builtins_begin, recur_builtins_end, builtinsSize)};
#ifdef RECUR_HAS_ARM_RUNTIME
  else if (architecture == "aarch64") // it calls no functions of its compiler
    parts = {unpack(recur_arm_start_begin, recur_arm_start_end, arm_startSize),
             unpack(recur_arm_runtime_begin, recur_arm_runtime_end, arm_runtimeSize), std::string()};
#endif
  else
    return createStringError("'so' has the runtime in it, and this compiler was built without that for %s; take 'obj' "
                             "or 'lib' and link it where that is",
                             architecture.str().c_str());
  for (Expected<std::string> &part : parts)
    if (!part)
      return part.takeError();
  return RuntimeArchives{std::move(*parts[0]), std::move(*parts[1]), std::move(*parts[2])};
}
