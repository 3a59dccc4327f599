/* Times calls backward beside calls forward, each shared object of `recurc build --backward --emit=so` in turn:
 * bench TOKENS ROUNDS NAME FILE.so FLOPS ... where FLOPS are the gradient's of a token, as explain says. One head on
 * one thread, in the thread's own time: the least of the rounds, and ratios of what ran in the same round, of which the
 * median is taken. Or bench --threads=N TOKENS ROUNDS NAME FILE.so FLOPS ...: so many threads beside one, by the clock.
 */
#include "PlainGradients.h"
#include <dlfcn.h>
#include <math.h>
#include <recur/Runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ARRAYS = 64, MOST_ROUNDS = 99 };

typedef struct kernel {
  const recur_recurrence *recurrence;
  int64_t (*workspace_size)(const recur_recurrence *, const recur_call *);
  int64_t (*backward_workspace_size)(const recur_recurrence *, const recur_call *);
  int64_t (*kept_rows)(const recur_recurrence *, const recur_call *);
  recur_status (*forward)(const recur_recurrence *, const recur_call *);
  recur_status (*backward)(const recur_recurrence *, const recur_call *);
  const char *(*message)(void);
} kernel;

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *allocate(int64_t bytes) {
  void *memory = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
  if (!memory) {
    fputs("there is not enough memory\n", stderr);
    exit(1);
  }
  memset(memory, 0, (size_t)bytes);
  return memory;
}

static int64_t count_elements(const recur_array_info *info) {
  int64_t count = 1;
  for (int32_t i = 0; i < info->rank; ++i)
    count *= info->shape[i];
  return count;
}

/* Keys and queries of length one, logarithms of decays down to -0.1, gains between 0 and 1. */
static void fill(const recur_array_info *info, float *numbers, int64_t count) {
  static uint32_t state = 1;
  int is_decay = strncmp(info->name, "g", 1) == 0 || strncmp(info->name, "log", 3) == 0;
  int is_gain = strncmp(info->name, "beta", 4) == 0;
  int is_key = info->rank == 1 && (info->name[0] == 'q' || info->name[0] == 'k');
  for (int64_t i = 0; i < count; ++i) {
    float uniform = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    numbers[i] = is_decay ? -0.1f * uniform : is_gain ? uniform : 2 * uniform - 1;
  }
  for (int64_t row = 0; is_key && row < count; row += info->shape[0]) {
    float sum = 0;
    for (int64_t i = row; i < row + info->shape[0]; ++i)
      sum += numbers[i] * numbers[i];
    for (int64_t i = row; i < row + info->shape[0]; ++i)
      numbers[i] /= sqrtf(sum);
  }
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *numbers, int count) {
  qsort(numbers, (size_t)count, sizeof *numbers, compare);
  return numbers[count / 2];
}
static double least(const double *numbers, int count) {
  double best = numbers[0];
  for (int i = 1; i < count; ++i)
    best = numbers[i] < best ? numbers[i] : best;
  return best;
}

static double time_call(const kernel *kernel, recur_status (*run)(const recur_recurrence *, const recur_call *),
                        const recur_call *call, clockid_t clock) {
  double begin = now(clock);
  if (run(kernel->recurrence, call) != RECUR_OK) {
    fprintf(stderr, "%s\n", kernel->message());
    exit(1);
  }
  return now(clock) - begin;
}

static void check(const char *name, const char *array, const float *got, const float *want, int64_t count) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < count; ++i) {
    difference += (double)(got[i] - want[i]) * (got[i] - want[i]);
    size += (double)want[i] * want[i];
  }
  if (!(sqrt(difference / size) < 1e-4)) {
    fprintf(stderr, "%s: the gradient of %s is off by %.1e\n", name, array, sqrt(difference / size));
    exit(1);
  }
}

/* The plain loop, where there is one, and that it gives what the kernels did;its time, or -1. */
static double time_plain(const char *name, const recur_recurrence *recurrence, int64_t tokens,
                         const recur_argument *given, const recur_argument *cotangents,
                         const recur_argument *gradients) {
  void (*run)(const plain_gradient *) = strcmp(name, "gated_delta_net") == 0 ? plain_gated_delta_net
                                        : strcmp(name, "mamba2") == 0        ? plain_mamba2
                                                                             : 0;
  plain_gradient p = {.tokens = tokens, .d_o = cotangents[0].data};
  const struct {
    const char *name;
    const float **input;
    float **gradient;
  } fields[] = {
      {"q", &p.q, &p.d_q}, {"k", &p.k, &p.d_k}, {"v", &p.v, &p.d_v}, {"g", &p.g, &p.d_g}, {"beta", &p.beta, &p.d_beta}};
  if (!run)
    return -1;
  for (int pass = 0; pass < 2; ++pass) {
    double begin = now(CLOCK_THREAD_CPUTIME_ID);
    if (pass)
      run(&p);
    double seconds = now(CLOCK_THREAD_CPUTIME_ID) - begin;
    for (int32_t i = 0; i < recurrence->array_count && recurrence->arrays[i].kind == RECUR_INPUT; ++i)
      for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
        int64_t count = tokens * count_elements(&recurrence->arrays[i]);
        if (strcmp(recurrence->arrays[i].name, fields[f].name) != 0)
          continue;
        if (!pass) {
          *fields[f].input = given[i].data;
          *fields[f].gradient = allocate(count * 4);
        } else {
          check(name, fields[f].name, gradients[i].data, *fields[f].gradient, count);
          free(*fields[f].gradient);
        }
      }
    if (pass)
      return seconds;
  }
  return -1;
}

/* The plan that goes over a sequence as a whole. */
static int32_t find_plan(const recur_recurrence *recurrence) {
  int32_t plan = RECUR_PLAN_AUTO;
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    if (recurrence->kernels[i].plan != RECUR_PLAN_STEP && recurrence->kernels[i].plan != RECUR_PLAN_SEGMENT)
      plan = recurrence->kernels[i].plan;
  return plan;
}

/* The most float32 multiply-adds that this thread does in a second, times two: in registers alone. */
static double measure_peak(void) {
  typedef float vector __attribute__((vector_size(64)));
  enum { CHAINS = 12, STEPS = 400000 };
  vector sums[CHAINS], factor = {0}, summand = {0};
  double best = 0;
  factor += 0.5f;
  summand += 1.0f;
  for (int i = 0; i < CHAINS; ++i)
    sums[i] = summand * (float)i;
  for (int round = 0; round < 5; ++round) {
    double begin = now(CLOCK_THREAD_CPUTIME_ID);
    for (int step = 0; step < STEPS; ++step)
      for (int i = 0; i < CHAINS; ++i)
        sums[i] = sums[i] * factor + summand;
    double seconds = now(CLOCK_THREAD_CPUTIME_ID) - begin, rate = 2.0 * 16 * CHAINS * STEPS / seconds;
    best = rate > best ? rate : best;
  }
  volatile float sink = 0;
  for (int i = 0; i < CHAINS; ++i)
    sink = sink + sums[i][0];
  return best;
}

typedef struct problem {
  recur_argument forward[MOST_ARRAYS], backward[MOST_ARRAYS];
  int64_t forward_count, backward_count, given, outputs, states;
} problem;

/* Inputs, params, initial states; outputs and final states, or their cotangents, and gradients. */
static void make_problem(problem *made, const recur_recurrence *recurrence, int64_t tokens, int64_t heads) {
  *made = (problem){.forward_count = 0};
  for (int part = 0; part < 3; ++part)
    for (int32_t kind = RECUR_INPUT; kind <= RECUR_OUTPUT; ++kind) {
      int32_t wanted = part == 1 ? (kind == RECUR_INPUT ? RECUR_OUTPUT : kind == RECUR_PARAM ? RECUR_STATE : -1) : kind;
      if (part != 1 && kind == RECUR_OUTPUT)
        continue;
      for (int32_t i = 0; i < recurrence->array_count; ++i) {
        const recur_array_info *info = &recurrence->arrays[i];
        if (info->kind != wanted)
          continue;
        int has_tokens = info->kind == RECUR_INPUT || info->kind == RECUR_OUTPUT;
        int64_t count = count_elements(info) * heads * (has_tokens ? tokens : 1);
        recur_argument argument = {allocate(count * 4), {0, 0, 0}};
        if (part < 2 && info->kind != RECUR_STATE)
          fill(info, argument.data, count);
        made->backward[made->backward_count++] = argument;
        if (part == 2)
          continue;
        made->given += part == 0;
        made->outputs += wanted == RECUR_OUTPUT;
        made->states += part == 1 && wanted == RECUR_STATE;
        made->forward[made->forward_count] = argument;
        if (part == 1)
          made->forward[made->forward_count].data = allocate(count * 4);
        ++made->forward_count;
      }
    }
}

static void measure(const char *name, const kernel *kernel, int64_t tokens, int rounds, double flops, double peak) {
  const recur_recurrence *recurrence = kernel->recurrence;
  problem made;
  make_problem(&made, recurrence, tokens, 1);
  float *kept[MOST_ARRAYS];
  /* The plan of one thread, also where the machine has more. */
  int32_t plan = find_plan(recurrence);
  recur_call calls[4] = {{.B = 1,
                          .T = tokens,
                          .H = 1,
                          .plan = plan,
                          .threads = 1,
                          .arguments = made.forward,
                          .argument_count = made.forward_count},
                         {.B = 1,
                          .T = tokens,
                          .H = 1,
                          .plan = RECUR_PLAN_CHUNK,
                          .threads = 1,
                          .arguments = made.backward,
                          .argument_count = made.backward_count}};
  calls[2] = calls[0]; /* the same, with the states at the chunks' starts handed over */
  calls[3] = calls[1];
  int64_t state = 0;
  calls[2].kept_interval = calls[3].kept_interval = recurrence->gradient->chunk;
  calls[2].kept_states = calls[3].kept_states = kept;
  int64_t rows = kernel->kept_rows(recurrence, &calls[2]), kept_bytes = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (recurrence->arrays[i].kind == RECUR_STATE) {
      kept[state++] = allocate(rows * count_elements(&recurrence->arrays[i]) * 4);
      kept_bytes += rows * count_elements(&recurrence->arrays[i]) * 4;
    }
  recur_status (*run[4])(const recur_recurrence *, const recur_call *) = {kernel->forward, kernel->backward,
                                                                          kernel->forward, kernel->backward};
  for (int i = 0; i < 4; ++i) {
    calls[i].workspace_bytes =
        (i % 2 ? kernel->backward_workspace_size : kernel->workspace_size)(recurrence, &calls[i]);
    calls[i].workspace = allocate(calls[i].workspace_bytes);
  }
  double times[4][MOST_ROUNDS], ratio[MOST_ROUNDS], kept_ratio[MOST_ROUNDS], both[MOST_ROUNDS];
  for (int round = -1; round < rounds; ++round)
    for (int i = 0; i < 4; ++i) {
      double seconds = time_call(kernel, run[i], &calls[i], CLOCK_THREAD_CPUTIME_ID);
      if (round >= 0)
        times[i][round] = seconds;
    }
  for (int round = 0; round < rounds; ++round) {
    ratio[round] = times[1][round] / times[0][round];
    kept_ratio[round] = times[3][round] / times[0][round];
    both[round] = (times[2][round] + times[3][round]) / (times[0][round] + times[1][round]);
  }
  double plain = time_plain(name, recurrence, tokens, made.backward, made.backward + made.given,
                            made.backward + made.given + made.outputs + made.states);
  printf("%-18s %8.2f %8.2f %6.2f %5.0f%% %8.2f %6.2f %6.2f %7.1f %7.1f", name, 1e3 * least(times[0], rounds),
         1e3 * least(times[1], rounds), median(ratio, rounds),
         100 * flops * (double)tokens / least(times[1], rounds) / peak, 1e3 * least(times[3], rounds),
         median(kept_ratio, rounds), median(both, rounds), 1e-6 * (double)calls[1].workspace_bytes,
         1e-6 * (double)kept_bytes);
  if (plain >= 0)
    printf(" %8.1f %6.1f", 1e3 * plain, plain / least(times[1], rounds));
  printf("\n");
  fflush(stdout);
}

/* The call backward on several threads beside one: a head of four times as many tokens, by segments, and eight heads.
 */
static void measure_threads(const char *name, const kernel *kernel, int64_t tokens, int rounds, int32_t threads) {
  const recur_recurrence *recurrence = kernel->recurrence;
  printf("%-18s", name);
  for (int shape = 0; shape < 3; ++shape) {
    int64_t heads = shape < 2 ? 1 : 8, length = shape < 2 ? 4 * tokens : tokens;
    int is_handed = shape == 1;
    problem made;
    make_problem(&made, recurrence, length, heads);
    recur_call calls[2] = {{.B = 1,
                            .T = length,
                            .H = heads,
                            .plan = RECUR_PLAN_CHUNK,
                            .threads = 1,
                            .arguments = made.backward,
                            .argument_count = made.backward_count}};
    float *kept[MOST_ARRAYS];
    calls[0].kept_interval = is_handed ? recurrence->gradient->chunk : 0;
    calls[0].kept_states = kept;
    int64_t state = 0, rows = kernel->kept_rows(recurrence, &calls[0]);
    for (int32_t i = 0; i < recurrence->array_count; ++i)
      if (recurrence->arrays[i].kind == RECUR_STATE)
        kept[state++] = allocate(rows * heads * count_elements(&recurrence->arrays[i]) * 4);
    calls[1] = calls[0];
    calls[1].plan = RECUR_PLAN_AUTO;
    calls[1].threads = threads;
    double times[2][MOST_ROUNDS], ratio[MOST_ROUNDS];
    for (int i = 0; i < 2; ++i) {
      calls[i].workspace_bytes = kernel->backward_workspace_size(recurrence, &calls[i]);
      calls[i].workspace = allocate(calls[i].workspace_bytes);
    }
    for (int round = -1; round < rounds; ++round)
      for (int i = 0; i < 2; ++i) {
        double seconds = time_call(kernel, kernel->backward, &calls[i], CLOCK_MONOTONIC);
        if (round >= 0)
          times[i][round] = seconds;
      }
    for (int round = 0; round < rounds; ++round)
      ratio[round] = times[0][round] / times[1][round];
    printf(" %9.2f %9.2f %6.2f", 1e3 * least(times[0], rounds), 1e3 * least(times[1], rounds), median(ratio, rounds));
    for (int i = 0; i < 2; ++i)
      free(calls[i].workspace);
    while (state > 0)
      free(kept[--state]);
    for (int64_t i = 0; i < made.backward_count; ++i)
      free(made.backward[i].data);
    for (int64_t i = made.given; i < made.forward_count; ++i)
      free(made.forward[i].data);
  }
  printf("\n");
  fflush(stdout);
}

static int load(const char *name, const char *path, kernel *kernel) {
  void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  char symbol[256];
  snprintf(symbol, sizeof symbol, "%s_recurrence", name);
  if (file && (kernel->recurrence = dlsym(file, symbol))) {
    *(void **)&kernel->workspace_size = dlsym(file, "recur_workspace_size");
    *(void **)&kernel->backward_workspace_size = dlsym(file, "recur_backward_workspace_size");
    *(void **)&kernel->kept_rows = dlsym(file, "recur_kept_rows");
    *(void **)&kernel->forward = dlsym(file, "recur_forward");
    *(void **)&kernel->backward = dlsym(file, "recur_backward");
    *(void **)&kernel->message = dlsym(file, "recur_message");
  }
  return kernel->backward && kernel->recurrence->gradient;
}

int main(int count, char **words) {
  int32_t threads = count > 1 && strncmp(words[1], "--threads=", 10) == 0 ? atoi(words[1] + 10) : 1;
  count -= threads > 1;
  words += threads > 1;
  int64_t tokens = count > 1 ? atoll(words[1]) : 0;
  int rounds = count > 2 ? atoi(words[2]) : 0;
  if (tokens < 1 || rounds < 1 || rounds > MOST_ROUNDS || count % 3 != 0) {
    fputs("usage: bench [--threads=N] TOKENS ROUNDS NAME FILE.so FLOPS ...\n", stderr);
    return 1;
  }
  double peak = threads > 1 ? 0 : measure_peak();
  if (threads > 1) {
    printf("%d threads beside one, K = V = 128, float32; ms by the clock, and medians of ratios.\n", threads);
    printf("%-18s %26s %26s %26s\n", "", "one head, 4 times as long", "the same, states handed", "eight heads");
    printf("%-18s", "");
    for (int shape = 0; shape < 3; ++shape)
      printf(" %9s %9s %6s", "one", "all", "ratio");
    printf("\n");
  } else {
    printf("One head, one thread, %lld tokens, K = V = 128, float32; ms, ratios to the call forward, MB; peak %.0f "
           "Gflop/s.\n",
           (long long)tokens, 1e-9 * peak);
    printf("%-18s %8s %8s %6s %6s %8s %6s %6s %7s %7s %8s %6s\n", "", "forward", "backward", "ratio", "peak", "handed",
           "ratio", "both", "space", "kept", "by hand", "ratio");
  }
  for (int i = 3; i + 2 < count; i += 3) {
    kernel kernel = {0};
    if (!load(words[i], words[i + 1], &kernel)) {
      fprintf(stderr, "%s: no gradient of %s in it\n", words[i + 1], words[i]);
      return 1;
    }
    if (threads > 1)
      measure_threads(words[i], &kernel, tokens, rounds, threads);
    else
      measure(words[i], &kernel, tokens, rounds, atof(words[i + 2]), peak);
  }
  return 0;
}
