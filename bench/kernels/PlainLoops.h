/* What one writes by hand: one head, token by token, in plain C. K and V are compile-time sizes, as in the kernels. */
#ifndef RECUR_BENCH_PLAIN_LOOPS_H
#define RECUR_BENCH_PLAIN_LOOPS_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { K = 128, V = 128 };

/* A head's first token of each array, and how many heads lie between its tokens. `g` is [K] for kda and gla, one number
 * for the others; what a recurrence does not have is not read. */
typedef struct plain_head {
  const float *q, *k, *v, *g, *beta;
  float *o;
  int64_t heads;
} plain_head;

/* Compiled twice: by -O3 -march=native, and by that and -ffast-math, which lets sums be vectorised. */
typedef void (*plain_loop)(const plain_head *head, int64_t tokens, float *S);
typedef struct plain_loops {
  plain_loop gated_delta_net, delta_net, kda, mamba2, gla;
} plain_loops;
extern const plain_loops plain_strict, plain_fast;

#ifdef __cplusplus
}
#endif
#endif
