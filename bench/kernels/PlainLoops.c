#include "PlainLoops.h"
#include <math.h>
#include <string.h>

/* Each row of the state is decayed, read, written and read again while it is in the first-level cache. */
static inline void run(const plain_head *head, int64_t tokens, float *restrict S, int has_scalar_decay,
                       int has_channel_decay, int is_delta, float scale) {
  memset(S, 0, sizeof(float) * K * V);
  for (int64_t t = 0; t < tokens; ++t) {
    const float *q = head->q + t * head->heads * K, *k = head->k + t * head->heads * K,
                *v = head->v + t * head->heads * V;
    float *o = head->o + t * head->heads * V;
    float a = has_scalar_decay ? expf(head->g[t * head->heads]) : 1, beta = is_delta ? head->beta[t * head->heads] : 1;
    float decay[K];
    if (has_channel_decay)
      for (int j = 0; j < K; ++j)
        decay[j] = expf(head->g[t * head->heads * K + j]);
    for (int i = 0; i < V; ++i) {
      float *row = S + i * K, u = v[i], read = 0;
      if (has_scalar_decay)
        for (int j = 0; j < K; ++j)
          row[j] *= a;
      if (has_channel_decay)
        for (int j = 0; j < K; ++j)
          row[j] *= decay[j];
      if (is_delta) {
        float old = 0;
        for (int j = 0; j < K; ++j)
          old += row[j] * k[j];
        u = beta * (v[i] - old);
      }
      for (int j = 0; j < K; ++j) {
        row[j] += u * k[j];
        read += row[j] * q[j];
      }
      o[i] = scale * read;
    }
  }
}

static void gated_delta_net(const plain_head *head, int64_t tokens, float *S) {
  run(head, tokens, S, 1, 0, 1, 1 / sqrtf(K));
}
static void delta_net(const plain_head *head, int64_t tokens, float *S) { run(head, tokens, S, 0, 0, 1, 1 / sqrtf(K)); }
static void kda(const plain_head *head, int64_t tokens, float *S) { run(head, tokens, S, 0, 1, 1, 1 / sqrtf(K)); }
static void mamba2(const plain_head *head, int64_t tokens, float *S) { run(head, tokens, S, 1, 0, 0, 1); }
static void gla(const plain_head *head, int64_t tokens, float *S) { run(head, tokens, S, 0, 1, 0, 1 / sqrtf(K)); }

const plain_loops PLAIN_NAME = {gated_delta_net, delta_net, kda, mamba2, gla};
