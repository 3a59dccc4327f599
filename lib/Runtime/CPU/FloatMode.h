// The floating-point mode that kernels compute in, whatever mode their caller has.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace recur::runtime {

#if defined(__x86_64__)

/// How a thread rounds, traps and flushes, and its sticky flags.
using FloatMode = unsigned;
inline FloatMode getFloatMode() { return _mm_getcsr(); }
inline void setFloatMode(FloatMode mode) { _mm_setcsr(mode); }

/// Every exception is masked, numbers are rounded to nearest, and subnormal numbers are taken for zero and made zero:
/// the factors of a strong decay become subnormal, which mean nothing and take a processor ten times as long.
constexpr FloatMode kernelFloatMode = 0x1F80 | 0x8000 | 0x0040;

#elif defined(__aarch64__)

/// How a thread rounds, traps and flushes (FPCR), and its sticky flags (FPSR).
struct FloatMode {
  uint64_t control, status;
  bool operator==(const FloatMode &other) const = default;
};
inline FloatMode getFloatMode() {
  FloatMode mode;
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(mode.control), "=r"(mode.status)::"memory");
  return mode;
}
inline void setFloatMode(FloatMode mode) {
  asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(mode.control), "r"(mode.status) : "memory");
}

/// The same as on x86-64: no traps, rounding to nearest, and the bit FZ, which takes subnormal numbers for zero and
/// makes them zero.
constexpr FloatMode kernelFloatMode = {uint64_t(1) << 24, 0};

#else
#error "kernels run on x86-64 and on aarch64"
#endif

/// Sets that mode for this thread, and gives the thread's own back, its sticky flags too.
class KernelFloatMode {
public:
  KernelFloatMode() : before(getFloatMode()) { setFloatMode(kernelFloatMode); }
  ~KernelFloatMode() { setFloatMode(before); }
  KernelFloatMode(const KernelFloatMode &) = delete;
  KernelFloatMode &operator=(const KernelFloatMode &) = delete;

private:
  FloatMode before;
};

} // namespace recur::runtime
