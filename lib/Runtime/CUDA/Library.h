// What the runtime calls of CUDA's driver, found in libcuda when it is first needed. The declarations are those of the
// driver's stable binary interface.
#pragma once
#include <stddef.h>

namespace recur::runtime {

using CUresult = int;

struct CUDALibrary {
  CUresult (*getCurrentContext)(void **context);
  CUresult (*loadModule)(void **module, const void *image);
  CUresult (*getFunction)(void **function, void *module, const char *name);
  CUresult (*setAttribute)(void *function, int attribute, int value);
  CUresult (*launch)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                     unsigned blockZ, unsigned sharedBytes, void *stream, void **parameters, void **extra);
  CUresult (*getPointerAttribute)(void *data, int attribute, unsigned long long pointer);
  CUresult (*getErrorName)(CUresult error, const char **name);
};

/// Null where there is no driver, or one that lacks something; `fail` has been told then.
const CUDALibrary *getCUDALibrary();

} // namespace recur::runtime
