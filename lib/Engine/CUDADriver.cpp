#include "Engine/CUDADriver.h"
#include "ABI/GPUImage.h"
#include "Codegen/NVPTX/Assembler.h"
#include "Support/Errors.h"
#include "llvm/ADT/STLExtras.h"
#include <dlfcn.h>

using namespace llvm;
using namespace recur;
using namespace recur::engine;

CUDADriver::CUDADriver() {
  void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    missing = "NVIDIA's driver, libcuda.so.1, was not found";
    return;
  }
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function && missing.empty())
      missing = std::string("NVIDIA's driver has no ") + name;
  };
  int (*initialize)(unsigned) = nullptr;
  int (*countDevices)(int *count) = nullptr;
  int (*getAttribute)(int *value, int attribute, int device) = nullptr;
  find("cuInit", initialize);
  find("cuDeviceGetCount", countDevices);
  find("cuDeviceGetAttribute", getAttribute);
  find("cuGetErrorName", getErrorName);
  find("cuDevicePrimaryCtxRetain", retainContext);
  find("cuCtxSetCurrent", setContext);
  find("cuCtxSynchronize", synchronize);
  find("cuMemAlloc_v2", allocate);
  find("cuMemFree_v2", free);
  find("cuMemcpyHtoD_v2", copyToDevice);
  find("cuMemcpyDtoH_v2", copyToHost);
  int count = 0;
  if (missing.empty() && (initialize(0) != 0 || countDevices(&count) != 0))
    missing = "NVIDIA's driver finds no GPU";
  for (int device = 0; device < count; ++device) {
    constexpr int majorAttribute = 75, minorAttribute = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
    int major = 0, minor = 0;
    if (getAttribute(&major, majorAttribute, device) == 0 && getAttribute(&minor, minorAttribute, device) == 0)
      capabilities.push_back(10 * major + minor);
  }
}

const CUDADriver &CUDADriver::get() {
  static const CUDADriver driver;
  return driver;
}

std::optional<int> CUDADriver::findDevice(const Target &target) const {
  auto found = llvm::find_if(capabilities, [&](int64_t capability) {
    return abi::runsOn(target.gpu->getFeatures(), keepsPTX(*target.gpu), uint32_t(capability));
  });
  return found == capabilities.end() ? std::nullopt : std::optional(int(found - capabilities.begin()));
}

std::optional<std::string> CUDADriver::explainNoDevice(const Target &target) const {
  if (!missing.empty())
    return missing;
  if (findDevice(target))
    return std::nullopt;
  int64_t wanted = target.gpu->capability;
  return "there is no GPU of compute capability " + std::to_string(wanted / 10) + "." + std::to_string(wanted % 10);
}

Error CUDADriver::makeCurrent(const Target &target) const {
  void *context = nullptr;
  if (Error error = check(retainContext(&context, *findDevice(target)), "the GPU's context"))
    return error;
  return check(setContext(context), "the GPU's context");
}

Error CUDADriver::check(int result, StringRef what) const {
  if (result == 0)
    return Error::success();
  const char *name = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    name = "an unknown error";
  return makeError("the GPU's driver fails at " + what + ": " + name);
}
