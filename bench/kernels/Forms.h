/* The recurrences that are measured, by what they are made of. The compiler under test sees none of this: it is for
 * what the kernels are compared with. */
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* What the state is multiplied by before a token writes: nothing, one number a head, one a token, one a key channel. */
enum { NO_DECAY, HEAD_DECAY, TOKEN_DECAY, CHANNEL_DECAY };

typedef struct bench_form {
  const char *name; /* of examples/NAME.recur */
  int decay;
  int is_delta;          /* writes what the state does not hold yet, v - S k, instead of v */
  int is_preconditioned; /* writes along B * k, where B comes from decayed sums of k * k */
  int is_scaled;         /* the output is divided by sqrt(K) */
} bench_form;

/* X(name, decay, is_delta, is_preconditioned, is_scaled) */
#define BENCH_FORMS(X)                                                                                                 \
  X(gated_delta_net, TOKEN_DECAY, 1, 0, 1)                                                                             \
  X(kda, CHANNEL_DECAY, 1, 0, 1)                                                                                       \
  X(pgdn, TOKEN_DECAY, 1, 1, 1)                                                                                        \
  X(pkda, CHANNEL_DECAY, 1, 1, 1)                                                                                      \
  X(delta_net, NO_DECAY, 1, 0, 1)                                                                                      \
  X(mamba2, TOKEN_DECAY, 0, 0, 0)                                                                                      \
  X(gla, CHANNEL_DECAY, 0, 0, 1)                                                                                       \
  X(linear_attention, NO_DECAY, 0, 0, 1)                                                                               \
  X(retnet, HEAD_DECAY, 0, 0, 1)

#define BENCH_COUNT(...) +1
enum { FORM_COUNT = 0 BENCH_FORMS(BENCH_COUNT) };

/* One head of a call: the first token of each array, and how many heads lie between its tokens. What a recurrence does
 * not have is null and is not read. */
typedef struct bench_head {
  const float *q, *k, *v;
  const float *g; /* logarithms of decays: [K] where each channel has its own */
  const float *beta, *g_p, *beta_p;
  float log_gamma, mu; /* params */
  float *o;
  int64_t heads, tokens;
} bench_head;

/* The preconditioner of pgdn and pkda. */
#define PRECONDITIONER_X 1.5f
#define PRECONDITIONER_EPSILON 1e-6f

#ifdef __cplusplus
}
#endif
