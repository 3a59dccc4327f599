// The runtime's archives, which travel inside the compiler, packed: a shared object of kernels is linked with them.
#include "Codegen/Embed/Combine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <optional>

#define RECUR_EMBED(NAME, PATH, SIZE)                                                                                  \
  asm(".pushsection .rodata\n.balign 16\n.hidden recur_" #NAME "_begin\n.hidden recur_" #NAME "_end\n"                 \
      ".globl recur_" #NAME "_begin\nrecur_" #NAME "_begin:\n.incbin \"" PATH "\"\n"                                   \
      ".globl recur_" #NAME "_end\nrecur_" #NAME "_end:\n.byte 0\n.popsection\n");                                     \
  extern "C" const char recur_##NAME##_begin[], recur_##NAME##_end[];                                                  \
  static constexpr size_t NAME##Size = SIZE;
#include "Codegen/Embed/RuntimeArchive.inc"

using namespace llvm;
using recur::codegen::RuntimeArchives;

namespace {
struct Packed {
  const char *begin, *end;
  size_t size; // of what it was
};
} // namespace

static Expected<std::string> unpack(Packed packed) {
  SmallVector<uint8_t> bytes;
  if (!compression::zlib::isAvailable())
    return createStringError("'so' needs an LLVM that was built with zlib: the runtime is packed by it");
  ArrayRef<uint8_t> from = arrayRefFromStringRef(StringRef(packed.begin, packed.end - packed.begin));
  if (Error error = compression::zlib::decompress(from, bytes, packed.size))
    return std::move(error);
  return toStringRef(bytes).str();
}

static Expected<RuntimeArchives> unpack(Packed packedStart, Packed packedRuntime,
                                        std::optional<Packed> packedBuiltins) {
  Expected<std::string> start = unpack(packedStart);
  if (!start)
    return start.takeError();
  Expected<std::string> runtime = unpack(packedRuntime);
  if (!runtime)
    return runtime.takeError();
  Expected<std::string> builtins = packedBuiltins ? unpack(*packedBuiltins) : std::string();
  if (!builtins)
    return builtins.takeError();
  return RuntimeArchives{std::move(*start), std::move(*runtime), std::move(*builtins)};
}

Expected<RuntimeArchives> recur::codegen::getRuntimeArchives(StringRef architecture) {
  if (architecture == Triple::getArchTypeName(Triple(sys::getProcessTriple()).getArch()))
    return unpack({recur_start_begin, recur_start_end, startSize},
                  {recur_runtime_begin, recur_runtime_end, runtimeSize},
                  Packed{recur_builtins_begin, recur_builtins_end, builtinsSize});
#ifdef RECUR_HAS_ARM_RUNTIME
  if (architecture == "aarch64") // this one calls no functions of its compiler
    return unpack({recur_arm_start_begin, recur_arm_start_end, arm_startSize},
                  {recur_arm_runtime_begin, recur_arm_runtime_end, arm_runtimeSize}, std::nullopt);
#endif
  return createStringError("'so' has the runtime in it, and this compiler was built without that for %s; take 'obj' or "
                           "'lib' and link it where that is",
                           architecture.str().c_str());
}
