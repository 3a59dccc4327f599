// What the runtime calls of CUDA's driver, found in libcuda when it is first needed. The declarations are those of the
// driver's stable binary interface.
#pragma once
#include "recur/Runtime.h"
#include <stddef.h>

namespace recur::runtime {

using CUresult = int;

/// A CUlaunchAttribute.
struct LaunchAttribute {
  int32_t number;
  int32_t padding;
  int32_t value[16];
};

/// A CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchConfig, stream) == 32 && sizeof(LaunchConfig) == 56);

struct CUDALibrary {
  CUresult (*getCurrentContext)(void **context);
  CUresult (*pushContext)(void *context);
  CUresult (*popContext)(void **context);
  CUresult (*getCurrentDevice)(int *device);
  CUresult (*getDeviceAttribute)(int *value, int attribute, int device);
  CUresult (*loadModule)(void **module, const void *image);
  CUresult (*unloadModule)(void *module);
  CUresult (*getFunction)(void **function, void *module, const char *name);
  CUresult (*setAttribute)(void *function, int attribute, int value);
  CUresult (*launch)(const LaunchConfig *config, void *function, void **parameters, void **extra);
  CUresult (*getPointerAttribute)(void *data, int attribute, unsigned long long pointer);
  CUresult (*copyToHost)(void *to, unsigned long long from, size_t bytes, void *stream);
  CUresult (*synchronize)(void *stream);
  CUresult (*getErrorName)(CUresult error, const char **name);
  /// Null where the driver has none; `data` is an address of the device.
  CUresult (*encodeMap)(void *map, int type, uint32_t rank, int64_t data, const uint64_t *sizes,
                        const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides, int interleave,
                        int swizzle, int promotion, int fill);
};

/// Null where there is no driver, or one that lacks something; `fail` has been told then.
const CUDALibrary *getCUDALibrary();

/// The status and message of what the driver refused: `gdn: the kernel cannot be launched: CUDA_ERROR_…`.
recur_status failOf(const CUDALibrary &cuda, const char *name, const char *what, CUresult error);

} // namespace recur::runtime
