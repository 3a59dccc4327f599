/* Runs calls of a shared object of kernels on the processor that this is compiled for, under an emulator where that is
 * not this machine's: `runner kernels.so SYMBOL < calls > replies`, whose numbers are 64-bit words. Emulated.h writes
 * the one and reads the other.
 *
 * What a call writes, and its workspace, are full of NaN before. The thread's floating-point mode rounds towards zero
 * and has a flag that has stuck; afterwards it must be the same. */
#include <dlfcn.h>
#include <recur/Runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { isNull, isRead, isWritten };

static int64_t (*workspaceSize)(const recur_recurrence *, const recur_call *);
static int64_t (*backwardWorkspaceSize)(const recur_recurrence *, const recur_call *);
static recur_status (*forward)(const recur_recurrence *, const recur_call *);
static recur_status (*backward)(const recur_recurrence *, const recur_call *);
static const recur_recurrence *(*choose)(const recur_recurrence *);
static const char *(*message)(void);

static void die(const char *why) {
  fprintf(stderr, "runner: %s\n", why);
  exit(1);
}

static void take(void *bytes, size_t count) {
  if (fread(bytes, 1, count, stdin) != count)
    die("the calls end too early");
}
static int64_t takeWord(void) {
  int64_t word;
  take(&word, sizeof word);
  return word;
}
static void give(const void *bytes, size_t count) {
  if (fwrite(bytes, 1, count, stdout) != count)
    die("cannot write the replies");
}
static void giveWord(int64_t word) { give(&word, sizeof word); }
static void giveText(const char *text) {
  size_t length = strlen(text);
  giveWord((int64_t)length);
  give(text, length);
}
static size_t roundUp(size_t count) { return (count + 63) / 64 * 64; }
static void *allocate(size_t count) {
  void *bytes = aligned_alloc(64, roundUp(count + 1));
  if (!bytes)
    die("no memory");
  memset(bytes, 0xFF, roundUp(count + 1));
  return bytes;
}

static uint64_t getControl(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static uint64_t getStatus(void) {
  uint64_t flags;
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
  return flags;
}
static void setMode(uint64_t control, uint64_t status) {
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(control), "r"(status) : "memory");
}

static void runCall(const recur_recurrence *recurrence, int64_t isBackward) {
  recur_call call;
  memset(&call, 0, sizeof call);
  call.B = takeWord();
  call.T = takeWord();
  call.H = takeWord();
  call.Hq = takeWord();
  call.plan = (int32_t)takeWord();
  call.threads = (int32_t)takeWord();
  call.argument_count = takeWord();
  recur_argument *arguments = calloc((size_t)call.argument_count + 1, sizeof *arguments);
  int64_t *kinds = calloc((size_t)call.argument_count + 1, sizeof *kinds),
          *sizes = calloc((size_t)call.argument_count + 1, sizeof *sizes);
  for (int64_t i = 0; i < call.argument_count; ++i) {
    kinds[i] = takeWord();
    sizes[i] = takeWord();
    arguments[i].data = kinds[i] == isNull ? NULL : allocate((size_t)sizes[i]);
    if (kinds[i] == isRead)
      take(arguments[i].data, (size_t)sizes[i]);
  }
  call.arguments = arguments;
  int64_t bytes = (isBackward ? backwardWorkspaceSize : workspaceSize)(recurrence, &call);
  recur_status status = RECUR_OK;
  uint64_t before[2] = {0, 0}, after[2] = {0, 0};
  if (bytes >= 0) {
    call.workspace = allocate((size_t)bytes);
    call.workspace_bytes = bytes;
    const uint64_t towardsZero = (uint64_t)3 << 22, overflow = 1 << 2;
    setMode(towardsZero, overflow);
    before[0] = getControl(), before[1] = getStatus();
    status = (isBackward ? backward : forward)(recurrence, &call);
    after[0] = getControl(), after[1] = getStatus();
    setMode(0, 0);
  }
  const char *error = bytes < 0 || status != RECUR_OK        ? message()
                      : memcmp(before, after, sizeof before) ? "the call changed the floating-point mode"
                                                             : "";
  giveText(error);
  for (int64_t i = 0; i < call.argument_count; ++i) {
    if (!*error && kinds[i] == isWritten)
      give(arguments[i].data, (size_t)sizes[i]);
    free(arguments[i].data);
  }
  free(call.workspace);
  free(arguments);
  free(kinds);
  free(sizes);
}

int main(int count, char **words) {
  if (count != 3)
    die("it takes a shared object and a symbol");
  void *library = dlopen(words[1], RTLD_NOW);
  if (!library)
    die(dlerror());
  const recur_recurrence *recurrence = dlsym(library, words[2]);
  *(void **)&workspaceSize = dlsym(library, "recur_workspace_size");
  *(void **)&backwardWorkspaceSize = dlsym(library, "recur_backward_workspace_size");
  *(void **)&forward = dlsym(library, "recur_forward");
  *(void **)&backward = dlsym(library, "recur_backward");
  *(void **)&choose = dlsym(library, "recur_select");
  *(void **)&message = dlsym(library, "recur_message");
  if (!recurrence || !workspaceSize || !backwardWorkspaceSize || !forward || !backward || !choose || !message)
    die("the object lacks a function or its recurrence");
  const recur_recurrence *chosen = choose(recurrence);
  giveText(chosen ? chosen->target : "");
  int64_t isBackward;
  while (fread(&isBackward, sizeof isBackward, 1, stdin) == 1)
    runCall(recurrence, isBackward);
  return 0;
}
