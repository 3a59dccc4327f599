#include "BlasChunk.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

enum { C = 64, BLOCK = 16, SIZE = 256 };

/* A matrix of a chunk's tokens, where it lies in the caller's arrays or where it was put. */
typedef struct rows {
  const float *data;
  int stride;
} rows;

/* What a chunk needs of its keys and queries, whatever the kind of decay. */
typedef struct chunk {
  int n;                        /* tokens */
  rows q, k, write;             /* as given */
  rows read_q, read_k, decayed; /* times the decay from the chunk's start to them; write times that to its end */
  float L[C * C], A[C * C];     /* decayed interactions of keys and of queries with what is written */
  float total[SIZE];            /* the decay over the chunk; the first counts where it is one for all channels */
} chunk;

static float preconditioned[C * SIZE], read_q[C * SIZE], read_k[C * SIZE], decayed[C * SIZE], U[C * SIZE];

static void precondition(const bench_head *head, int64_t start, int K, float *sums, chunk *at) {
  for (int t = 0; t < at->n; ++t) {
    const float kept = expf(head->g_p[(start + t) * head->heads]), gain = head->beta_p[(start + t) * head->heads];
    for (int c = 0; c < K; ++c) {
      float k = at->k.data[t * (int64_t)at->k.stride + c];
      sums[c] = kept * sums[c] + gain * k * k;
      float r = logf(sums[c] + PRECONDITIONER_EPSILON) - head->mu;
      preconditioned[t * K + c] = k * expf(-logf(PRECONDITIONER_X) * r / (1 + fabsf(r)));
    }
  }
  at->write = (rows){preconditioned, K};
}

static void scale_rows(float *to, rows from, int n, int K, const float *factors) {
  for (int t = 0; t < n; ++t)
    for (int c = 0; c < K; ++c)
      to[t * K + c] = factors[t] * from.data[t * (int64_t)from.stride + c];
}

/* One decay for all channels: plain products of keys and queries, and then each pair's decay. */
static void interact(const bench_form *form, const bench_head *head, int64_t start, int K, chunk *at) {
  const int n = at->n;
  if (form->is_delta)
    sgemm(RowMajor, NoTrans, Trans, n, n, K, 1, at->k.data, at->k.stride, at->write.data, at->write.stride, 0, at->L,
          C);
  sgemm(RowMajor, NoTrans, Trans, n, n, K, 1, at->q.data, at->q.stride, at->write.data, at->write.stride, 0, at->A, C);
  for (int t = 0; t < n; ++t)
    memset(at->A + t * C + t + 1, 0, sizeof(float) * (C - t - 1));
  at->read_q = at->q, at->read_k = at->k, at->decayed = at->write, at->total[0] = 1;
  if (form->decay == NO_DECAY)
    return;

  float through[C], to_here[C], to_end[C], sum = 0;
  for (int t = 0; t < n; ++t)
    through[t] = sum += form->decay == HEAD_DECAY ? head->log_gamma : head->g[(start + t) * head->heads];
  for (int t = 0; t < n; ++t) {
    for (int s = 0; s <= t; ++s) {
      float decay = expf(through[t] - through[s]);
      at->A[t * C + s] *= decay;
      if (form->is_delta)
        at->L[t * C + s] *= decay;
    }
    to_here[t] = expf(through[t]);
    to_end[t] = expf(sum - through[t]);
  }
  scale_rows(read_q, at->q, n, K, to_here);
  if (form->is_delta)
    scale_rows(read_k, at->k, n, K, to_here);
  scale_rows(decayed, at->write, n, K, to_end);
  at->read_q = (rows){read_q, K}, at->read_k = (rows){read_k, K}, at->decayed = (rows){decayed, K};
  at->total[0] = expf(sum);
}

/* A decay for each channel: blocks of 16 rows, whose keys and queries are decayed from the block's start, and whose
 * writes to it, so that products do the rest. Right where 16 tokens decay by less than float32's range. */
static void interact_by_channel(const bench_form *form, const bench_head *head, int64_t start, int K, chunk *at) {
  static float from_q[BLOCK * SIZE], from_k[BLOCK * SIZE];
  float total[SIZE], last[SIZE], through[SIZE];
  for (int c = 0; c < K; ++c)
    total[c] = last[c] = 1;
  for (int first = 0; first < at->n; first += BLOCK) {
    const int rows_here = at->n - first < BLOCK ? at->n - first : BLOCK, end = first + rows_here;
    for (int s = 0; s < first; ++s) /* what was decayed to the last block's start, to this one's */
      for (int c = 0; c < K; ++c)
        decayed[s * K + c] *= last[c];
    memset(through, 0, sizeof through);
    for (int i = 0; i < rows_here; ++i) {
      const int t = first + i;
      const float *g = head->g + (start + t) * head->heads * K;
      const float *q = at->q.data + t * (int64_t)at->q.stride, *k = at->k.data + t * (int64_t)at->k.stride,
                  *write = at->write.data + t * (int64_t)at->write.stride;
      for (int c = 0; c < K; ++c) {
        through[c] += g[c];
        last[c] = expf(through[c]);
        from_q[i * K + c] = last[c] * q[c];
        read_q[t * K + c] = total[c] * from_q[i * K + c];
        decayed[t * K + c] = write[c] / last[c];
        if (form->is_delta) {
          from_k[i * K + c] = last[c] * k[c];
          read_k[t * K + c] = total[c] * from_k[i * K + c];
        }
      }
    }
    sgemm(RowMajor, NoTrans, Trans, rows_here, end, K, 1, from_q, K, decayed, K, 0, at->A + first * C, C);
    if (form->is_delta)
      sgemm(RowMajor, NoTrans, Trans, rows_here, end, K, 1, from_k, K, decayed, K, 0, at->L + first * C, C);
    for (int c = 0; c < K; ++c)
      total[c] *= last[c];
  }
  for (int t = 0; t < at->n; ++t) {
    memset(at->A + t * C + t + 1, 0, sizeof(float) * (C - t - 1));
    for (int c = 0; c < K; ++c)
      decayed[t * K + c] *= last[c];
  }
  memcpy(at->total, total, sizeof(float) * K);
  at->read_q = (rows){read_q, K}, at->read_k = (rows){read_k, K}, at->decayed = (rows){decayed, K};
}

void blas_chunk(const bench_form *form, const bench_head *head, int K, int V, float *S) {
  static chunk at;
  const int64_t heads = head->heads;
  const int ldk = (int)(heads * K), ldv = (int)(heads * V);
  const float scale = form->is_scaled ? 1 / sqrtf(K) : 1;
  float sums[SIZE] = {0};
  memset(S, 0, sizeof(float) * V * K);
  for (int64_t start = 0; start < head->tokens; start += C) {
    const int n = at.n = (int)(head->tokens - start < C ? head->tokens - start : C);
    at.q = (rows){head->q + start * ldk, ldk};
    at.write = at.k = (rows){head->k + start * ldk, ldk};
    if (form->is_preconditioned)
      precondition(head, start, K, sums, &at);
    if (form->decay == CHANNEL_DECAY)
      interact_by_channel(form, head, start, K, &at);
    else
      interact(form, head, start, K, &at);

    const float *v = head->v + start * ldv, *u = v;
    int ldu = ldv;
    if (form->is_delta) {
      sgemm(RowMajor, NoTrans, Trans, n, V, K, 1, at.read_k.data, at.read_k.stride, S, K, 0, U, V);
      for (int t = 0; t < n; ++t) {
        const float beta = head->beta[(start + t) * heads];
        for (int s = 0; s < t; ++s)
          at.L[t * C + s] *= beta;
        for (int c = 0; c < V; ++c)
          U[t * V + c] = beta * (v[t * (int64_t)ldv + c] - U[t * V + c]);
      }
      strsm(RowMajor, Left, Lower, NoTrans, Unit, n, V, 1, at.L, C, U, V);
      u = U, ldu = V;
    }
    float *o = head->o + start * ldv, kept = form->decay == CHANNEL_DECAY ? 1 : at.total[0];
    sgemm(RowMajor, NoTrans, Trans, n, V, K, scale, at.read_q.data, at.read_q.stride, S, K, 0, o, ldv);
    sgemm(RowMajor, NoTrans, NoTrans, n, V, n, scale, at.A, C, u, ldu, 1, o, ldv);
    for (int i = 0; form->decay == CHANNEL_DECAY && i < V; ++i)
      for (int c = 0; c < K; ++c)
        S[i * K + c] *= at.total[c];
    sgemm(RowMajor, Trans, NoTrans, V, K, n, 1, u, ldu, at.decayed.data, at.decayed.stride, kept, S, K);
  }
}
