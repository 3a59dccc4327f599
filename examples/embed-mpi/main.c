/* Each process has some of the tokens of every sequence. It finds the state before its own tokens from summaries that
 * the processes exchange, and the cotangent of the state behind them in the same way, and compares what it computes
 * with a call on all tokens. Run with mpirun -n 4 embed-mpi. */
#include "gdn.h"
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 1, T = 203, H = 4, K = GATED_DELTA_NET_DIM_K, V = GATED_DELTA_NET_DIM_V };
enum { MAP = B * H * GATED_DELTA_NET_MAP_SIZE_S, STATE = B * H * GATED_DELTA_NET_OFFSET_SIZE_S };

/* What a call forward and one backward are given and give. B is 1, so that a process's tokens lie one behind another.
 */
typedef struct {
  float *q, *k, *v, *g, *beta, *initial, *d_o, *d_final;         /* given */
  float *o, *final, *d_q, *d_k, *d_v, *d_g, *d_beta, *d_initial; /* made */
} arrays;

static void fail(const char *what) {
  fprintf(stderr, "embed-mpi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A workspace of so many bytes, which the next call frees. */
static void *provide(int64_t bytes) {
  static void *workspace;
  if (bytes < 0)
    fail(recur_message());
  free(workspace);
  workspace = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
  return workspace;
}

static void check(recur_status status) {
  if (status != RECUR_OK)
    fail(recur_message());
}

static float *draw(size_t count, float low, float high) {
  float *values = malloc(count * sizeof *values);
  size_t i;
  for (i = 0; values && i < count; ++i)
    values[i] = low + (high - low) * (float)rand() / (float)RAND_MAX;
  return values;
}

static float *make(size_t count) { return calloc(count, sizeof(float)); }

static void make_results(arrays *all) {
  all->o = make(T * H * V);
  all->final = make(STATE);
  all->d_q = make(T * H * K);
  all->d_k = make(T * H * K);
  all->d_v = make(T * H * V);
  all->d_g = make(T * H);
  all->d_beta = make(T * H);
  all->d_initial = make(STATE);
}

/* The call on the tokens from `begin` up to but without `end`, with the states before and the cotangents behind them.
 */
static gated_delta_net_args call_forward(const arrays *all, int begin, int end) {
  gated_delta_net_args args;
  memset(&args, 0, sizeof args);
  args.B = B;
  args.T = end - begin;
  args.H = H;
  args.q = all->q + begin * H * K;
  args.k = all->k + begin * H * K;
  args.v = all->v + begin * H * V;
  args.g = all->g + begin * H;
  args.beta = all->beta + begin * H;
  args.initial_S = all->initial;
  args.o = all->o + begin * H * V;
  args.final_S = all->final;
  args.threads = 1;
  return args;
}

static gated_delta_net_backward_args call_backward(const arrays *all, int begin, int end) {
  gated_delta_net_backward_args args;
  memset(&args, 0, sizeof args);
  args.B = B;
  args.T = end - begin;
  args.H = H;
  args.q = all->q + begin * H * K;
  args.k = all->k + begin * H * K;
  args.v = all->v + begin * H * V;
  args.g = all->g + begin * H;
  args.beta = all->beta + begin * H;
  args.initial_S = all->initial;
  args.d_o = all->d_o + begin * H * V;
  args.d_final_S = all->d_final;
  args.d_q = all->d_q + begin * H * K;
  args.d_k = all->d_k + begin * H * K;
  args.d_v = all->d_v + begin * H * V;
  args.d_g = all->d_g + begin * H;
  args.d_beta = all->d_beta + begin * H;
  args.d_initial_S = all->d_initial;
  args.threads = 1;
  return args;
}

static void run_forward(gated_delta_net_args args) {
  args.workspace_bytes = gated_delta_net_workspace_size(&args);
  args.workspace = provide(args.workspace_bytes);
  check(gated_delta_net_forward(&args));
}

static void run_backward(gated_delta_net_backward_args args) {
  args.workspace_bytes = gated_delta_net_backward_workspace_size(&args);
  args.workspace = provide(args.workspace_bytes);
  check(gated_delta_net_backward(&args));
}

/* How far the results of a process's tokens are from those of one call, over the size of these. */
static double compare(const float *own, const float *whole, int begin, int end, int size) {
  double error = 0, all = 0;
  int i;
  for (i = begin * size; i < end * size; ++i) {
    error += pow(own[i] - whole[i], 2);
    all += pow(whole[i], 2);
  }
  return all > 0 ? sqrt(error / all) : error;
}

int main(int count, char **words) {
  int rank, ranks, begin, end, other;
  double errors[8], worst = 0, worst_of_all;
  arrays whole, own;
  float *maps, *offsets, *before = make(STATE), *behind = make(STATE);
  recur_summary summary = {0}, given = {0};
  gated_delta_net_args forward;
  gated_delta_net_backward_args backward;

  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  whole.q = draw(T * H * K, -0.2f, 0.2f);
  whole.k = draw(T * H * K, -0.2f, 0.2f);
  whole.v = draw(T * H * V, -1, 1);
  whole.g = draw(T * H, -0.05f, 0);
  whole.beta = draw(T * H, 0, 1);
  whole.initial = draw(STATE, -1, 1);
  whole.d_o = draw(T * H * V, -1, 1);
  whole.d_final = draw(STATE, -1, 1);
  own = whole;
  make_results(&whole);
  make_results(&own);
  begin = T * rank / ranks;
  end = T * (rank + 1) / ranks;

  /* Forward. Summaries of all parts, and the state before the first token through those of the parts before this one.
   */
  maps = make((size_t)ranks * MAP);
  offsets = make((size_t)ranks * STATE);
  memcpy(before, whole.initial, STATE * sizeof(float));
  own.initial = before;
  forward = call_forward(&own, begin, end);
  forward.workspace_bytes = gated_delta_net_summary_workspace_size(&forward);
  forward.workspace = provide(forward.workspace_bytes);
  summary.maps = maps + rank * MAP;
  summary.offsets = offsets + rank * STATE;
  check(gated_delta_net_summary(&forward, GATED_DELTA_NET_SUMMARY_S, summary));
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, maps, MAP, MPI_FLOAT, MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, offsets, STATE, MPI_FLOAT, MPI_COMM_WORLD);
  for (other = 0; other < rank; ++other) {
    given.maps = maps + other * MAP;
    given.offsets = offsets + other * STATE;
    check(gated_delta_net_apply(&forward, GATED_DELTA_NET_SUMMARY_S, 0, given, before, before));
  }
  run_forward(call_forward(&own, begin, end));

  /* Backward. The map of a cotangent is that of the state, so that offsets alone are exchanged; parts go from the last.
   */
  memcpy(behind, whole.d_final, STATE * sizeof(float));
  own.d_final = behind;
  backward = call_backward(&own, begin, end);
  backward.workspace_bytes = gated_delta_net_backward_summary_workspace_size(&backward);
  backward.workspace = provide(backward.workspace_bytes);
  summary.maps = 0;
  check(gated_delta_net_backward_summary(&backward, GATED_DELTA_NET_SUMMARY_S, summary));
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, offsets, STATE, MPI_FLOAT, MPI_COMM_WORLD);
  forward.workspace_bytes = gated_delta_net_summary_workspace_size(&forward);
  forward.workspace = provide(forward.workspace_bytes);
  for (other = ranks - 1; other > rank; --other) {
    given.maps = maps + other * MAP;
    given.offsets = offsets + other * STATE;
    check(gated_delta_net_apply(&forward, GATED_DELTA_NET_SUMMARY_S, 1, given, behind, behind));
  }
  run_backward(call_backward(&own, begin, end));

  /* All of it at once, on each process, to compare with. */
  run_forward(call_forward(&whole, 0, T));
  run_backward(call_backward(&whole, 0, T));
  errors[0] = compare(own.o, whole.o, begin, end, H * V);
  errors[1] = compare(own.d_q, whole.d_q, begin, end, H * K);
  errors[2] = compare(own.d_k, whole.d_k, begin, end, H * K);
  errors[3] = compare(own.d_v, whole.d_v, begin, end, H * V);
  errors[4] = compare(own.d_g, whole.d_g, begin, end, H);
  errors[5] = compare(own.d_beta, whole.d_beta, begin, end, H);
  errors[6] = rank == ranks - 1 ? compare(own.final, whole.final, 0, 1, STATE) : 0; /* the last has the final state, */
  errors[7] = rank == 0 ? compare(own.d_initial, whole.d_initial, 0, 1, STATE) : 0; /* the first the initial one's */
  for (other = 0; other < 8; ++other)
    worst = errors[other] < worst ? worst : errors[other]; /* of NaN too */
  MPI_Allreduce(&worst, &worst_of_all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("embed-mpi: %d processes %s one call, forward and backward\n", ranks,
           worst_of_all < 2e-5 ? "agree with" : "differ from");
  provide(0);
  MPI_Finalize();
  return !(worst_of_all < 2e-5);
}
