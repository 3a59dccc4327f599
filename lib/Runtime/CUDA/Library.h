// What the runtime calls of CUDA's driver, found in libcuda when it is first needed. The declarations are those of the
// driver's stable binary interface.
#pragma once
#include "recur/Runtime.h"
#include <stddef.h>

namespace recur::runtime {

using CUresult = int;

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
  CUresult (*launch)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                     unsigned blockZ, unsigned sharedBytes, void *stream, void **parameters, void **extra);
  CUresult (*getPointerAttribute)(void *data, int attribute, unsigned long long pointer);
  CUresult (*getErrorName)(CUresult error, const char **name);
};

/// Null where there is no driver, or one that lacks something; `fail` has been told then.
const CUDALibrary *getCUDALibrary();

/// The status and message of what the driver refused: `gdn: the kernel cannot be launched: CUDA_ERROR_…`.
recur_status failOf(const CUDALibrary &cuda, const char *name, const char *what, CUresult error);

} // namespace recur::runtime
