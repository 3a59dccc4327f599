/* The chunkwise form of gated_delta_net as one writes it with a library of matrix products. */
#ifndef RECUR_BENCH_BLAS_CHUNK_H
#define RECUR_BENCH_BLAS_CHUNK_H
#include "PlainLoops.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Loads OpenBLAS, with one thread and the products for this processor. Returns 0 where there is none. */
int blas_open(void);
void blas_gated_delta_net(const plain_head *head, int64_t tokens, float *S);

#ifdef __cplusplus
}
#endif
#endif
