/* The gradient as one writes it by hand, token by token, for one head: states are kept every 64 tokens, and between
 * them computed again. */
#include "PlainGradients.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K = PLAIN_K, V = PLAIN_V, KEPT = 64 };

/* The state behind the token. */
static inline __attribute__((always_inline)) void step(const plain_gradient *p, int64_t t, const float *restrict before,
                                                       float *restrict after, int is_delta) {
  const float *k = p->k + t * K, *v = p->v + t * V, a = expf(p->g[t]);
  for (int i = 0; i < V; ++i) {
    const float *from = before + i * K;
    float *to = after + i * K, u = v[i], old = 0;
    if (is_delta) {
      for (int j = 0; j < K; ++j)
        old += from[j] * k[j];
      u = p->beta[t] * (v[i] - a * old);
    }
    for (int j = 0; j < K; ++j)
      to[j] = a * from[j] + u * k[j];
  }
}

/* From the cotangent of the state behind the token to that of the state before it. */
static inline __attribute__((always_inline)) void back(const plain_gradient *p, int64_t t, const float *restrict before,
                                                       const float *restrict after, float *restrict d_state,
                                                       float scale, int is_delta) {
  const float *q = p->q + t * K, *k = p->k + t * K, *v = p->v + t * V, *d_o = p->d_o + t * V, a = expf(p->g[t]);
  float *d_q = p->d_q + t * K, *d_k = p->d_k + t * K, d_beta = 0, d_a = 0;
  memset(d_q, 0, K * sizeof *d_q);
  memset(d_k, 0, K * sizeof *d_k);
  for (int i = 0; i < V; ++i) {
    const float *old_row = before + i * K, *new_row = after + i * K;
    float *row = d_state + i * K, from_output = scale * d_o[i], d_u = 0, old = 0, u = v[i], left = 0;
    for (int j = 0; j < K; ++j) {
      row[j] += from_output * q[j];
      d_q[j] += from_output * new_row[j];
      d_u += row[j] * k[j];
      old += old_row[j] * k[j];
    }
    if (is_delta) {
      float missing = v[i] - a * old;
      u = p->beta[t] * missing;
      d_beta += d_u * missing;
      d_u *= p->beta[t];
      left = a * d_u;
    }
    p->d_v[t * V + i] = d_u;
    for (int j = 0; j < K; ++j) {
      d_k[j] += row[j] * u;
      if (is_delta) {
        d_k[j] -= left * old_row[j];
        row[j] -= d_u * k[j];
      }
      d_a += row[j] * old_row[j];
      row[j] *= a;
    }
  }
  p->d_g[t] = a * d_a;
  if (is_delta)
    p->d_beta[t] = d_beta;
}

static inline __attribute__((always_inline)) void run(const plain_gradient *p, float scale, int is_delta) {
  const int64_t state = K * V, parts = (p->tokens + KEPT - 1) / KEPT;
  float *kept = calloc((size_t)(parts + KEPT + 2) * state, sizeof *kept), *inner = kept + parts * state,
        *d_state = inner + (KEPT + 1) * state, *ends[2] = {inner, inner + state};
  for (int64_t t = 0; t + 1 < p->tokens; ++t) { /* the states that parts begin with */
    if (t % KEPT == 0)
      memcpy(kept + t / KEPT * state, ends[t % 2], sizeof(float) * state);
    step(p, t, ends[t % 2], ends[1 - t % 2], is_delta);
  }
  if ((p->tokens - 1) % KEPT == 0)
    memcpy(kept + (parts - 1) * state, ends[(p->tokens - 1) % 2], sizeof(float) * state);
  for (int64_t part = parts; part-- > 0;) {
    int64_t first = part * KEPT, count = p->tokens - first < KEPT ? p->tokens - first : KEPT;
    memcpy(inner, kept + part * state, sizeof(float) * state);
    for (int64_t t = 0; t < count; ++t)
      step(p, first + t, inner + t * state, inner + (t + 1) * state, is_delta);
    for (int64_t t = count; t-- > 0;)
      back(p, first + t, inner + t * state, inner + (t + 1) * state, d_state, scale, is_delta);
  }
  free(kept);
}

void plain_gated_delta_net(const plain_gradient *p) { run(p, 1 / sqrtf(K), 1); }
void plain_mamba2(const plain_gradient *p) { run(p, 1, 0); }
