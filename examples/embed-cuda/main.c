/* The same call on this machine's processors and on its GPU, from one library. Programs that use CUDA's toolkit have
 * cuda.h for what is declared here; this one needs the driver alone, and says so where there is none. */
#include "gdn.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 2, T = 100, H = 4, Hq = 2, K = GATED_DELTA_NET_DIM_K, V = GATED_DELTA_NET_DIM_V };

typedef unsigned long long device_pointer;
static struct {
  int (*initialize)(unsigned);
  int (*retain_context)(void **context, int device);
  int (*set_context)(void *context);
  int (*allocate)(device_pointer *pointer, size_t bytes);
  int (*upload)(device_pointer to, const void *from, size_t bytes);
  int (*download)(void *to, device_pointer from, size_t bytes);
} cuda;

static int find_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
  if (!library)
    return 0;
  *(void **)&cuda.initialize = dlsym(library, "cuInit");
  *(void **)&cuda.retain_context = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void **)&cuda.set_context = dlsym(library, "cuCtxSetCurrent");
  *(void **)&cuda.allocate = dlsym(library, "cuMemAlloc_v2");
  *(void **)&cuda.upload = dlsym(library, "cuMemcpyHtoD_v2");
  *(void **)&cuda.download = dlsym(library, "cuMemcpyDtoH_v2");
  return cuda.initialize(0) == 0 && cuda.retain_context(&context, 0) == 0 && cuda.set_context(context) == 0;
}

/* Memory of the GPU with a copy of the numbers; null leaves it as it is. */
static void *on_device(const void *numbers, size_t bytes) {
  device_pointer pointer = 0;
  if (cuda.allocate(&pointer, bytes) != 0 || (numbers && cuda.upload(pointer, numbers, bytes) != 0)) {
    fprintf(stderr, "embed-cuda: the GPU has no memory\n");
    exit(1);
  }
  return (void *)pointer;
}

static float *draw(size_t count, float low, float high) {
  float *values = malloc(count * sizeof *values);
  size_t i;
  for (i = 0; i < count; ++i)
    values[i] = low + (high - low) * (float)rand() / (float)RAND_MAX;
  return values;
}

static void run(gated_delta_net_args *args) {
  args->workspace_bytes = gated_delta_net_workspace_size(args);
  if (args->workspace_bytes >= 0) {
    size_t bytes = (size_t)args->workspace_bytes + 64;
    args->workspace = args->device == RECUR_CUDA ? on_device(NULL, bytes) : aligned_alloc(64, bytes / 64 * 64);
  }
  if (args->workspace_bytes < 0 || gated_delta_net_forward(args) != RECUR_OK) {
    fprintf(stderr, "embed-cuda: %s\n", recur_message());
    exit(1);
  }
}

int main(void) {
  enum { qBytes = 4 * B * T * Hq * K, vBytes = 4 * B * T * H * V, gBytes = 4 * B * T * H };
  float *q = draw(qBytes / 4, -0.2f, 0.2f), *k = draw(qBytes / 4, -0.2f, 0.2f), *v = draw(vBytes / 4, -1, 1);
  float *g = draw(gBytes / 4, -0.5f, 0), *beta = draw(gBytes / 4, 0, 1);
  float *here = calloc(1, vBytes), *there = calloc(1, vBytes);
  double error = 0, size = 0;
  int64_t i;
  gated_delta_net_args args;
  memset(&args, 0, sizeof args);
  args.B = B;
  args.T = T;
  args.H = H;
  args.Hq = Hq;
  args.q = q;
  args.k = k;
  args.v = v;
  args.g = g;
  args.beta = beta;
  args.o = here;
  run(&args);

  if (!find_driver() || !recur_select_for(&gated_delta_net_recurrence, RECUR_CUDA)) {
    printf("embed-cuda: this machine has no GPU that the library has kernels for\n");
    return 0;
  }
  args.device = RECUR_CUDA; /* and arrays and workspace in its memory; a stream, if any, in args.stream */
  args.q = on_device(q, qBytes);
  args.k = on_device(k, qBytes);
  args.v = on_device(v, vBytes);
  args.g = on_device(g, gBytes);
  args.beta = on_device(beta, gBytes);
  args.o = on_device(NULL, vBytes);
  run(&args);
  if (cuda.download(there, (device_pointer)args.o, vBytes) != 0) /* waits for the default stream */
    return 1;
  for (i = 0; i < vBytes / 4; ++i) {
    error += pow(here[i] - there[i], 2);
    size += pow(here[i], 2);
  }
  printf("embed-cuda: processor and GPU %s\n", sqrt(error / size) < 1e-5 ? "agree" : "differ");
  return 0;
}
