// What the processor has, and what the system lets a program use of it.
#include "Runtime/CPU/Features.h"
#include "TestRecurrence.h"
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace recur::test;
using recur::runtime::hasFeatures;

constexpr uint32_t amx = RECUR_FEATURE_AMX_TILE | RECUR_FEATURE_AMX_BF16;

TEST(Features, AreNoneThatTheRuntimeDoesNotKnow) {
  EXPECT_TRUE(hasFeatures(0));
  EXPECT_FALSE(hasFeatures(1u << 31));
}

#if defined(__aarch64__)

TEST(Features, OfArmAreNoneOfOthers) {
  EXPECT_TRUE(hasFeatures(RECUR_FEATURE_NEON));
  EXPECT_FALSE(hasFeatures(RECUR_FEATURE_AVX2));
  EXPECT_FALSE(hasFeatures(RECUR_FEATURE_NEON | amx));
}

#else

TEST(Features, OfArmAreNotHere) {
  EXPECT_FALSE(hasFeatures(RECUR_FEATURE_NEON));
  EXPECT_FALSE(hasFeatures(RECUR_FEATURE_ARM_BF16));
}

/// Every arch_prctl fails from here on, as in a container that forbids it.
static bool forbidPermissions() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// In a process of its own: 0 where a call is refused with the reason, and the one for lower processors is taken.
static int callWithoutPermission() {
  if (!forbidPermissions())
    return 1;
  recur_recurrence tiles = attention, both = attention;
  tiles.features = both.features = amx;
  tiles.target = "x86-64-v4-amx";
  both.next = &attention;
  Problem problem{1, 3, 1, 1};
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments);
  if (recur_forward(&tiles, &call) != RECUR_WRONG_MACHINE)
    return 2;
  if (strcmp(recur_message(),
             "attention was compiled for 'x86-64-v4-amx', and the system does not let this program use AMX (arch_prctl "
             "with ARCH_REQ_XCOMP_PERM fails); build with a --target without it, such as x86-64-v4, or with several"))
    return 3;
  if (recur_select(&both) != &attention || recur_forward(&both, &call) != RECUR_OK)
    return 4;
  return 0;
}

TEST(Features, OfAMXAreTheSystemsToGrant) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("amx-bf16")) {
    EXPECT_FALSE(hasFeatures(amx));
    GTEST_SKIP() << "this processor has no AMX";
  }
  pid_t child = fork(); // before this process asks, for what was granted is inherited
  ASSERT_GE(child, 0);
  if (child == 0)
    _exit(callWithoutPermission());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(hasFeatures(amx));
}

#endif
