#include "Runtime/CPU/Features.h"
#include "recur/Runtime.h"
#include <cerrno>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace recur::runtime;

#if defined(__aarch64__)

const char *const recur::runtime::lowerTarget = "aarch64";

bool recur::runtime::hasFeatures(uint32_t features) {
  constexpr unsigned long neon = 1ul << 1, bf16 = 1ul << 14; // HWCAP_ASIMD, HWCAP2_BF16
  uint32_t all = 0;
  if (getauxval(AT_HWCAP) & neon)
    all |= RECUR_FEATURE_NEON;
  if (getauxval(AT_HWCAP2) & bf16)
    all |= RECUR_FEATURE_ARM_BF16;
  return (features & ~all) == 0;
}

bool recur::runtime::isAMXRefused(uint32_t) { return false; }

#else

const char *const recur::runtime::lowerTarget = "x86-64-v3";

static constexpr uint32_t amxFeatures = RECUR_FEATURE_AMX_TILE | RECUR_FEATURE_AMX_BF16;

/// The bits that the processor has and the system enables, of those that this runtime knows.
static uint32_t findFeatures() {
  __builtin_cpu_init();
  struct {
    uint32_t bit;
    bool isThere;
  } known[] = {{RECUR_FEATURE_AVX2, !!__builtin_cpu_supports("avx2")},
               {RECUR_FEATURE_FMA, !!__builtin_cpu_supports("fma")},
               {RECUR_FEATURE_F16C, !!__builtin_cpu_supports("f16c")},
               {RECUR_FEATURE_AVX512F, !!__builtin_cpu_supports("avx512f")},
               {RECUR_FEATURE_AVX512BW, !!__builtin_cpu_supports("avx512bw")},
               {RECUR_FEATURE_AVX512DQ, !!__builtin_cpu_supports("avx512dq")},
               {RECUR_FEATURE_AVX512VL, !!__builtin_cpu_supports("avx512vl")},
               {RECUR_FEATURE_AVX512BF16, !!__builtin_cpu_supports("avx512bf16")},
               {RECUR_FEATURE_BMI, !!__builtin_cpu_supports("bmi")},
               {RECUR_FEATURE_BMI2, !!__builtin_cpu_supports("bmi2")},
               {RECUR_FEATURE_LZCNT, !!__builtin_cpu_supports("lzcnt")},
               {RECUR_FEATURE_MOVBE, !!__builtin_cpu_supports("movbe")},
               {RECUR_FEATURE_AVX512CD, !!__builtin_cpu_supports("avx512cd")},
               {RECUR_FEATURE_AMX_TILE, !!__builtin_cpu_supports("amx-tile")},
               {RECUR_FEATURE_AMX_BF16, !!__builtin_cpu_supports("amx-bf16")}};
  uint32_t all = 0;
  for (auto [bit, isThere] : known)
    all |= isThere ? bit : 0;
  return all;
}

/// Linux saves the tiles, which are 8 KiB a thread, for programs that have asked for it alone. To ask again changes
/// nothing, so threads may do so at the same time.
static bool isAMXGranted() {
  enum Answer { Unknown, Granted, Refused };
  static int known = Unknown;
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (answer == Unknown) {
    constexpr int requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    int callersError = errno;
    answer = syscall(SYS_arch_prctl, requestPermission, tileData) == 0 ? Granted : Refused;
    errno = callersError;
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }
  return answer == Granted;
}

bool recur::runtime::hasFeatures(uint32_t features) {
  return (features & ~findFeatures()) == 0 && (!(features & amxFeatures) || isAMXGranted());
}

bool recur::runtime::isAMXRefused(uint32_t features) {
  return (features & amxFeatures) && (features & ~findFeatures()) == 0 && !isAMXGranted();
}

#endif
