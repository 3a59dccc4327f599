#include "PlainLoops.h"
#include <math.h>
#include <string.h>

enum { K = PLAIN_K, V = PLAIN_V };

/* Each row of the state is decayed, read, written and read again while it is in the first-level cache. The flags are
 * constants of the functions below, into which this is inlined. */
static inline __attribute__((always_inline)) void run(const bench_head *head, float *restrict S, int decay_kind,
                                                      int is_delta, int is_preconditioned, int is_scaled) {
  const int64_t heads = head->heads;
  const float scale = is_scaled ? 1 / sqrtf(K) : 1;
  float sums[K];
  memset(S, 0, sizeof(float) * K * V);
  memset(sums, 0, sizeof sums);
  for (int64_t t = 0; t < head->tokens; ++t) {
    const float *q = head->q + t * heads * K, *k = head->k + t * heads * K, *v = head->v + t * heads * V;
    const float beta = is_delta ? head->beta[t * heads] : 1;
    float *o = head->o + t * heads * V;
    float a = 1, decay[K], preconditioned[K];
    if (decay_kind == HEAD_DECAY)
      a = expf(head->log_gamma);
    if (decay_kind == TOKEN_DECAY)
      a = expf(head->g[t * heads]);
    if (decay_kind == CHANNEL_DECAY)
      for (int j = 0; j < K; ++j)
        decay[j] = expf(head->g[t * heads * K + j]);
    if (is_preconditioned) {
      const float kept = expf(head->g_p[t * heads]), gain = head->beta_p[t * heads];
      for (int j = 0; j < K; ++j) {
        sums[j] = kept * sums[j] + gain * k[j] * k[j];
        float r = logf(sums[j] + PRECONDITIONER_EPSILON) - head->mu;
        preconditioned[j] = k[j] * expf(-logf(PRECONDITIONER_X) * r / (1 + fabsf(r)));
      }
    }
    const float *write = is_preconditioned ? preconditioned : k;
    for (int i = 0; i < V; ++i) {
      float *row = S + i * K, u = v[i], read = 0;
      if (decay_kind == HEAD_DECAY || decay_kind == TOKEN_DECAY)
        for (int j = 0; j < K; ++j)
          row[j] *= a;
      if (decay_kind == CHANNEL_DECAY)
        for (int j = 0; j < K; ++j)
          row[j] *= decay[j];
      if (is_delta) {
        float old = 0;
        for (int j = 0; j < K; ++j)
          old += row[j] * k[j];
        u = beta * (v[i] - old);
      }
      for (int j = 0; j < K; ++j) {
        row[j] += u * write[j];
        read += row[j] * q[j];
      }
      o[i] = scale * read;
    }
  }
}

#define LOOP(name, decay, is_delta, is_preconditioned, is_scaled)                                                      \
  static void name(const bench_head *head, float *S) { run(head, S, decay, is_delta, is_preconditioned, is_scaled); }
BENCH_FORMS(LOOP)

#define ENTRY(name, ...) name,
const plain_loop PLAIN_NAME[FORM_COUNT] = {BENCH_FORMS(ENTRY)};
