#include "Runtime/CUDA/Library.h"
#include "Runtime/Common/Message.h"
#include <dlfcn.h>
#include <pthread.h>

using namespace recur::runtime;

static CUDALibrary library;
static const char *missing; // null where everything was found
static pthread_once_t once = PTHREAD_ONCE_INIT;

template <typename Function> static void find(void *handle, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (!function && !missing)
    missing = name;
}

static void open() {
  void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    missing = "libcuda.so.1";
    return;
  }
  CUresult (*initialize)(unsigned) = nullptr;
  find(handle, "cuInit", initialize);
  find(handle, "cuCtxGetCurrent", library.getCurrentContext);
  find(handle, "cuCtxPushCurrent_v2", library.pushContext);
  find(handle, "cuCtxPopCurrent_v2", library.popContext);
  find(handle, "cuCtxGetDevice", library.getCurrentDevice);
  find(handle, "cuDeviceGetAttribute", library.getDeviceAttribute);
  find(handle, "cuModuleLoadData", library.loadModule);
  find(handle, "cuModuleUnload", library.unloadModule);
  find(handle, "cuModuleGetFunction", library.getFunction);
  find(handle, "cuFuncSetAttribute", library.setAttribute);
  find(handle, "cuLaunchKernelEx", library.launch);
  find(handle, "cuPointerGetAttribute", library.getPointerAttribute);
  find(handle, "cuMemcpyDtoHAsync_v2", library.copyToHost);
  find(handle, "cuStreamSynchronize", library.synchronize);
  find(handle, "cuGetErrorName", library.getErrorName);
  library.encodeMap =
      reinterpret_cast<decltype(library.encodeMap)>(dlsym(handle, "cuTensorMapEncodeTiled")); // of drivers from 525 on
  if (!missing && initialize(0) != 0)
    missing = "a GPU";
}

const CUDALibrary *recur::runtime::getCUDALibrary() {
  pthread_once(&once, open);
  if (!missing)
    return &library;
  fail(RECUR_DEVICE_ERROR, "%s was not found; is NVIDIA's driver installed?", missing);
  return nullptr;
}
