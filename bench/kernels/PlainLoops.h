/* What one writes by hand: one head, token by token, in plain C. K and V are compile-time sizes, as in the kernels. */
#pragma once
#include "Forms.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { PLAIN_K = 128, PLAIN_V = 128 };

/* In the order of BENCH_FORMS, compiled twice: by -O3 -march=native, and by that and -ffast-math, which lets sums be
 * vectorised. The state, [V, K], starts as zeros. */
typedef void (*plain_loop)(const bench_head *head, float *state);
extern const plain_loop plain_strict[FORM_COUNT], plain_fast[FORM_COUNT];

#ifdef __cplusplus
}
#endif
