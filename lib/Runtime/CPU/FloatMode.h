// The floating-point mode that kernels compute in, whatever mode their caller has.
#pragma once
#include <xmmintrin.h>

namespace recur::runtime {

/// Every exception is masked, numbers are rounded to nearest, and subnormal numbers are taken for zero and made zero:
/// the factors of a strong decay become subnormal, which mean nothing and take a processor ten times as long.
constexpr unsigned kernelFloatMode = 0x1F80 | 0x8000 | 0x0040;

/// Sets that mode for this thread, and gives the thread's own back, its sticky flags too.
class KernelFloatMode {
public:
  KernelFloatMode() : before(_mm_getcsr()) { _mm_setcsr(kernelFloatMode); }
  ~KernelFloatMode() { _mm_setcsr(before); }
  KernelFloatMode(const KernelFloatMode &) = delete;
  KernelFloatMode &operator=(const KernelFloatMode &) = delete;

private:
  unsigned before;
};

} // namespace recur::runtime
