#include "FakeCUDA.h"
#include <cstring>

FakeCUDA fakeCUDA;

extern "C" {
int cuInit(unsigned) { return 0; }
int cuCtxGetCurrent(void **context) {
  *context = fakeCUDA.context;
  return 0;
}
int cuCtxPushCurrent_v2(void *context) {
  fakeCUDA.context = context;
  return 0;
}
int cuCtxPopCurrent_v2(void **context) {
  *context = fakeCUDA.context;
  return 0;
}
int cuCtxGetDevice(int *device) {
  *device = 3;
  return fakeCUDA.context ? 0 : 201;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 16   ? fakeCUDA.multiprocessors
           : attribute == 75 ? fakeCUDA.capability / 10
           : attribute == 97 ? fakeCUDA.mostSharedBytes
                             : fakeCUDA.capability % 10;
  return device == 3 ? 0 : 101;
}
int cuModuleUnload(void *) {
  ++fakeCUDA.unloads;
  return 0;
}
int cuModuleLoadData(void **module, const void *image) {
  ++fakeCUDA.loads;
  fakeCUDA.loaded.push_back(image);
  *module = const_cast<void *>(image);
  return fakeCUDA.errorOfLoad;
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  *function = const_cast<char *>(name);
  return 0;
}
int cuFuncSetAttribute(void *, int attribute, int value) {
  fakeCUDA.sharedBytes = value;
  return attribute == 8 ? 0 : 1;
}
struct Attribute { // of a launch, as NVIDIA's header has it
  int number;
  char padding[4];
  union {
    int isAllowed;
    char bytes[64];
  } value;
};
struct Config {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  void *stream;
  Attribute *attributes;
  unsigned attributeCount;
};
int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **) {
  ++fakeCUDA.launches;
  fakeCUDA.grid = config->gridX;
  fakeCUDA.threads = config->blockX;
  fakeCUDA.launchShared = config->shared;
  fakeCUDA.stream = config->stream;
  auto *words = static_cast<const int64_t *>(parameters[0]);
  fakeCUDA.words.assign(words, words + fakeCUDA.wordCount);
  constexpr int programmatic = 6; // may start when the launch before it says so
  bool isEarly = config->attributeCount == 1 && config->attributes[0].number == programmatic &&
                 config->attributes[0].value.isAllowed == 1;
  fakeCUDA.all.push_back({static_cast<const char *>(function),
                          {config->gridX, config->gridY, config->gridZ},
                          {config->blockX, config->blockY, config->blockZ},
                          config->shared,
                          isEarly,
                          fakeCUDA.words});
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, std::size_t bytes, void *stream) {
  fakeCUDA.stream = stream;
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return 0;
}
int cuStreamSynchronize(void *stream) {
  ++fakeCUDA.synchronized;
  return stream == fakeCUDA.stream ? 0 : 1;
}
int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer) {
  *static_cast<unsigned *>(data) = reinterpret_cast<const void *>(pointer) == fakeCUDA.hostMemory ? 1 : 2;
  return attribute == 2 ? 0 : 1;
}
int cuTensorMapEncodeTiled(void *map, int, uint32_t rank, void *data, const uint64_t *sizes, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *, int, int, int, int) {
  *static_cast<int64_t *>(map) = FakeMap::mark;
  fakeCUDA.maps.push_back({map, data, {sizes, sizes + rank}, {strides, strides + rank - 1}, {box, box + rank}});
  return fakeCUDA.errorOfMap;
}
int cuGetErrorName(int error, const char **name) {
  *name = error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : error == 201 ? "CUDA_ERROR_INVALID_CONTEXT" : "CUDA_ERROR";
  return 0;
}
}
