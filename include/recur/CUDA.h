/* Kernels of an NVIDIA GPU, on memory of the GPU: C99 and C++, nothing of CUDA's headers or libraries. The driver's
 * library, libcuda, is loaded when a call first needs it. */
#ifndef RECUR_CUDA_H
#define RECUR_CUDA_H

#include "recur/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled kernel: one CTA for each head of each sequence. It stays where it is once it has been called: the runtime
 * knows by its address what it has loaded. */
typedef struct recur_cuda_kernel {
  const recur_recurrence *recurrence; /* its arrays; it has one kernel, which names plan, chunk and the workspace of a
                                         CTA, and whose `run` is null */
  const void *image;                  /* a cubin, or PTX as text with a zero at its end */
  const char *symbol;
  int32_t threads;      /* of a CTA */
  int32_t shared_bytes; /* of a CTA */
} recur_cuda_kernel;

/* As recur_workspace_size; `threads` of the call has no meaning here. */
int64_t recur_cuda_workspace_size(const recur_cuda_kernel *kernel, const recur_call *call);

/* As recur_forward, but that arrays and workspace are memory of the current context's device, and that the work is put
 * into the stream (a CUstream; null is the default one) and not waited for. Packed sequences: the offsets of the call,
 * which are checked, are given once more in memory of the device, as device_offsets; else that is null. Allocates and
 * synchronises nothing; the first call of a kernel in a context loads its image, so that a graph can only capture later
 * ones. */
recur_status recur_cuda_forward(const recur_cuda_kernel *kernel, const recur_call *call, const int64_t *device_offsets,
                                void *stream);

#ifdef __cplusplus
}
#endif
#endif
