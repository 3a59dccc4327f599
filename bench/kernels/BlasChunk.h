/* The chunkwise form as one writes it with a library of matrix products, float32, any K and V up to 256. */
#pragma once
#include "Forms.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Loads OpenBLAS, with one thread and the products for this processor. Returns 0 where there is none. */
int blas_open(void);
/* The state, [V, K], starts as zeros. */
void blas_chunk(const bench_form *form, const bench_head *head, int K, int V, float *state);

#ifdef __cplusplus
}
#endif
