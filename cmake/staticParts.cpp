// What a program that is linked with LLVM's static libraries has in place of the parts of LLVM that Recur never calls,
// but that the linker inside of the compiler names: the code generators of other processors, zstd, and Polly. Also the
// functions of fmt, of which there is no static library.
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include <fmt/format-inl.h>

#define RECUR_WITHOUT(NAME)                                                                                            \
  extern "C" void LLVMInitialize##NAME##TargetInfo() {}                                                                \
  extern "C" void LLVMInitialize##NAME##Target() {}                                                                    \
  extern "C" void LLVMInitialize##NAME##TargetMC() {}                                                                  \
  extern "C" void LLVMInitialize##NAME##AsmPrinter() {}                                                                \
  extern "C" void LLVMInitialize##NAME##AsmParser() {}
// Of the two kinds of processors that kernels are made for, the one that this is not.
#if defined(__aarch64__)
RECUR_WITHOUT(X86)
#else
RECUR_WITHOUT(AArch64)
#endif
RECUR_WITHOUT(AMDGPU)
RECUR_WITHOUT(ARM)
RECUR_WITHOUT(AVR)
RECUR_WITHOUT(BPF)
RECUR_WITHOUT(Hexagon)
RECUR_WITHOUT(Lanai)
RECUR_WITHOUT(LoongArch)
RECUR_WITHOUT(M68k)
RECUR_WITHOUT(MSP430)
RECUR_WITHOUT(Mips)
RECUR_WITHOUT(PowerPC)
RECUR_WITHOUT(RISCV)
RECUR_WITHOUT(SPIRV)
RECUR_WITHOUT(Sparc)
RECUR_WITHOUT(SystemZ)
RECUR_WITHOUT(VE)
RECUR_WITHOUT(WebAssembly)
RECUR_WITHOUT(XCore)
RECUR_WITHOUT(Xtensa)

// Nothing is compressed by zstd, and what another has compressed so is refused by name.
extern "C" size_t ZSTD_compressBound(size_t) { return 0; }
extern "C" void *ZSTD_createCCtx() { return nullptr; }
extern "C" size_t ZSTD_freeCCtx(void *) { return 0; }
extern "C" size_t ZSTD_CCtx_setParameter(void *, int, int) { return 1; }
extern "C" size_t ZSTD_compress2(void *, void *, size_t, const void *, size_t) { return 1; }
extern "C" size_t ZSTD_compressStream2(void *, void *, void *, int) { return 0; }
extern "C" size_t ZSTD_decompress(void *, size_t, const void *, size_t) { return 1; }
extern "C" unsigned ZSTD_isError(size_t) { return 1; }
extern "C" const char *ZSTD_getErrorName(size_t) { return "this program was linked without zstd"; }

// No text of this processor's assembly is read either.
#if defined(__aarch64__)
extern "C" void LLVMInitializeAArch64AsmParser() {}
#else
extern "C" void LLVMInitializeX86AsmParser() {}
#endif

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "none", [](llvm::PassBuilder &) {}};
}

FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale &locale);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char *, const char *);
template void vformat_to(buffer<char> &, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
} // namespace detail
FMT_END_NAMESPACE
