/* Decodes token by token with a state that is updated in place, and compares with one call for all tokens. */
#include "gdn.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 2, T = 50, H = 4, Hq = 2, K = GATED_DELTA_NET_DIM_K, V = GATED_DELTA_NET_DIM_V };

static float *draw(size_t count, float low, float high) {
  float *values = malloc(count * sizeof *values);
  size_t i;
  for (i = 0; values && i < count; ++i)
    values[i] = low + (high - low) * (float)rand() / (float)RAND_MAX;
  return values;
}

static int run(gated_delta_net_args *args) {
  if (gated_delta_net_forward(args) == RECUR_OK)
    return 1;
  fprintf(stderr, "embed-c: %s\n", recur_message());
  return 0;
}

int main(void) {
  float *q = draw(B * T * Hq * K, -0.2f, 0.2f), *k = draw(B * T * Hq * K, -0.2f, 0.2f);
  float *v = draw(B * T * H * V, -1, 1), *g = draw(B * T * H, -0.5f, 0), *beta = draw(B * T * H, 0, 1);
  float *together = calloc(B * T * H * V, sizeof(float)), *apart = calloc(B * T * H * V, sizeof(float));
  float *state = calloc(B * H * V * K, sizeof(float));
  double error = 0, size = 0;
  int64_t t, i;

  gated_delta_net_args args;
  memset(&args, 0, sizeof args);
  args.B = B;
  args.T = T;
  args.H = H;
  args.Hq = Hq;
  args.q = q;
  args.k = k;
  args.v = v;
  args.g = g;
  args.beta = beta;
  args.o = together;
  args.workspace_bytes = gated_delta_net_workspace_size(&args);
  if (args.workspace_bytes < 0) {
    fprintf(stderr, "embed-c: %s\n", recur_message());
    return 1;
  }
  args.workspace = aligned_alloc(64, (size_t)args.workspace_bytes + 64);
  if (!run(&args))
    return 1;

  /* The arrays are still [B, T, ...], of which each call sees one token: only the strides over B must be told. */
  args.T = 1;
  args.q_strides.b = args.k_strides.b = T * Hq * K;
  args.v_strides.b = args.o_strides.b = T * H * V;
  args.g_strides.b = args.beta_strides.b = T * H;
  args.initial_S = args.final_S = state;
  for (t = 0; t < T; ++t) {
    args.q = q + t * Hq * K;
    args.k = k + t * Hq * K;
    args.v = v + t * H * V;
    args.g = g + t * H;
    args.beta = beta + t * H;
    args.o = apart + t * H * V;
    if (!run(&args))
      return 1;
  }
  for (i = 0; i < B * T * H * V; ++i) {
    error += pow(together[i] - apart[i], 2);
    size += pow(together[i], 2);
  }
  error = sqrt(error / size);
  printf("embed-c: one call and %d calls %s\n", (int)T, size > 0 && error < 1e-5 ? "agree" : "differ");

  /* A mistake is told, not crashed on. */
  args.Hq = 3;
  if (gated_delta_net_forward(&args) != RECUR_OK)
    printf("embed-c: %s\n", recur_message());
  free(q);
  free(k);
  free(v);
  free(g);
  free(beta);
  free(together);
  free(apart);
  free(state);
  free(args.workspace);
  return !(size > 0 && error < 1e-5);
}
