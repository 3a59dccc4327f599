#include "BlasChunk.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

/* As cblas.h declares them. */
enum { RowMajor = 101, NoTrans = 111, Trans = 112, Lower = 122, Unit = 132, Left = 141 };
static void (*sgemm)(int order, int transA, int transB, int m, int n, int k, float alpha, const float *A, int lda,
                     const float *B, int ldb, float beta, float *out, int ldc);
static void (*strsm)(int order, int side, int uplo, int trans, int diag, int m, int n, float alpha, const float *A,
                     int lda, float *B, int ldb);

int blas_open(void) {
  /* OpenBLAS 0.3.21 takes newer processors with AVX-512 for ones with SSE3. It reads both when it is loaded. */
#if defined(__AVX512F__)
  setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return 0;
  *(void **)&sgemm = dlsym(library, "cblas_sgemm");
  *(void **)&strsm = dlsym(library, "cblas_strsm");
  return sgemm && strsm;
}

enum { C = 64 };

void blas_gated_delta_net(const plain_head *head, int64_t tokens, float *S) {
  static float through[C], scaled[C * K], L[C * C], A[C * C], U[C * V], decayed[C * K];
  const int ldk = (int)(head->heads * K), ldv = (int)(head->heads * V);
  for (int i = 0; i < V * K; ++i)
    S[i] = 0;
  for (int64_t start = 0; start < tokens; start += C) {
    const int n = (int)(tokens - start < C ? tokens - start : C);
    const float *q = head->q + start * ldk, *k = head->k + start * ldk, *v = head->v + start * ldv;
    const float *g = head->g + start * head->heads, *beta = head->beta + start * head->heads;
    float *o = head->o + start * ldv;
    float sum = 0;
    for (int t = 0; t < n; ++t)
      through[t] = sum += g[t * head->heads];

    sgemm(RowMajor, NoTrans, Trans, n, n, K, 1, k, ldk, k, ldk, 0, L, C);
    sgemm(RowMajor, NoTrans, Trans, n, n, K, 1, q, ldk, k, ldk, 0, A, C);
    for (int t = 0; t < n; ++t) {
      for (int s = 0; s <= t; ++s) {
        float decay = expf(through[t] - through[s]);
        L[t * C + s] *= decay * beta[t * head->heads];
        A[t * C + s] *= decay;
      }
      for (int s = t + 1; s < n; ++s)
        A[t * C + s] = 0;
    }
    for (int t = 0; t < n; ++t) {
      float decay = expf(through[t]), rest = expf(through[n - 1] - through[t]);
      for (int c = 0; c < K; ++c) {
        scaled[t * K + c] = decay * k[t * (int64_t)ldk + c];
        decayed[t * K + c] = rest * k[t * (int64_t)ldk + c];
      }
    }
    sgemm(RowMajor, NoTrans, Trans, n, V, K, 1, scaled, K, S, K, 0, U, V);
    for (int t = 0; t < n; ++t)
      for (int c = 0; c < V; ++c)
        U[t * V + c] = beta[t * head->heads] * (v[t * (int64_t)ldv + c] - U[t * V + c]);
    strsm(RowMajor, Left, Lower, NoTrans, Unit, n, V, 1, L, C, U, V);

    const float scale = 1 / sqrtf(K);
    for (int t = 0; t < n; ++t) {
      float decay = expf(through[t]);
      for (int c = 0; c < K; ++c)
        scaled[t * K + c] = decay * q[t * (int64_t)ldk + c];
    }
    sgemm(RowMajor, NoTrans, Trans, n, V, K, scale, scaled, K, S, K, 0, o, ldv);
    sgemm(RowMajor, NoTrans, NoTrans, n, V, n, scale, A, C, U, V, 1, o, ldv);
    sgemm(RowMajor, Trans, NoTrans, V, K, n, 1, U, V, decayed, K, expf(sum), S, K);
  }
}
