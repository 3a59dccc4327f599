// A checked call becomes one launch.
#include "ABI/LaunchWords.h"
#include "Runtime/CUDA/Library.h"
#include "Runtime/Call.h"
#include "Runtime/Message.h"
#include "recur/CUDA.h"
#include <pthread.h>

using namespace recur::runtime;
namespace abi = recur::abi;

namespace {

constexpr int contextError = 201;       // CUDA_ERROR_INVALID_CONTEXT
constexpr int memoryTypeAttribute = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned deviceMemory = 2;    // CU_MEMORYTYPE_DEVICE
constexpr int sharedBytesAttribute = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

/// A kernel that was loaded into a context.
struct Loaded {
  const recur_cuda_kernel *kernel;
  void *context, *function;
};
constexpr int mostLoaded = 1024;
Loaded loaded[mostLoaded];
int loadedCount;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

} // namespace

static recur_status failOf(const CUDALibrary &cuda, const char *name, const char *what, CUresult error) {
  const char *text = nullptr;
  if (cuda.getErrorName(error, &text) != 0 || !text)
    text = "an unknown error";
  return fail(RECUR_DEVICE_ERROR, "%s: %s: %s", name, what, text);
}

static recur_status load(const CUDALibrary &cuda, const recur_cuda_kernel *kernel, void *context, void **function) {
  const char *name = kernel->recurrence->name;
  for (int i = 0; i < loadedCount; ++i)
    if (loaded[i].kernel == kernel && loaded[i].context == context) {
      *function = loaded[i].function;
      return RECUR_OK;
    }
  if (loadedCount == mostLoaded)
    return fail(RECUR_DEVICE_ERROR, "%s: %d kernels are loaded, and there is room for no more", name, mostLoaded);
  void *module = nullptr;
  if (CUresult error = cuda.loadModule(&module, kernel->image))
    return failOf(cuda, name, "the kernel cannot be loaded", error);
  if (CUresult error = cuda.getFunction(function, module, kernel->symbol))
    return failOf(cuda, name, "the kernel is not in its image", error);
  if (CUresult error = cuda.setAttribute(*function, sharedBytesAttribute, kernel->shared_bytes))
    return failOf(cuda, name, "the device has too little shared memory", error);
  loaded[loadedCount++] = {kernel, context, *function};
  return RECUR_OK;
}

/// The checks that a CPU's calls go through. Every CTA has a workspace of its own.
static recur_status resolve(Call &resolved, recur_call &copy, const recur_cuda_kernel *kernel, const recur_call *call) {
  if (!kernel)
    return fail(RECUR_NULL_POINTER, "the kernel is null");
  if (!call)
    return fail(RECUR_NULL_POINTER, "the call is null");
  copy = *call;
  copy.threads = INT32_MAX;
  return resolveSizes(resolved, kernel->recurrence, &copy);
}

int64_t recur_cuda_workspace_size(const recur_cuda_kernel *kernel, const recur_call *call) {
  Call resolved;
  recur_call copy;
  return resolve(resolved, copy, kernel, call) ? -1 : countWorkspaceBytes(resolved);
}

static recur_status checkMemory(const CUDALibrary &cuda, const Call &resolved, const int64_t *offsets) {
  const char *name = resolved.recurrence->name;
  auto isOnDevice = [&](const void *data) {
    unsigned type = 0;
    return cuda.getPointerAttribute(&type, memoryTypeAttribute, reinterpret_cast<unsigned long long>(data)) == 0 &&
           type == deviceMemory;
  };
  for (int32_t i = 0; i < resolved.argumentCount; ++i) {
    const Argument &argument = resolved.arguments[i];
    if (argument.spanBytes && !isOnDevice(argument.data))
      return fail(RECUR_BAD_POINTER, "%s: the %s '%s' is not memory of a GPU", name, argument.getWord(),
                  argument.info->name);
  }
  if (countWorkspaceBytes(resolved) && !isOnDevice(resolved.call->workspace))
    return fail(RECUR_BAD_POINTER, "%s: the workspace is not memory of a GPU", name);
  if (bool(offsets) != bool(resolved.call->sequence_offsets))
    return fail(RECUR_NULL_POINTER, "%s: sequence_offsets are given twice, in memory of the host and of the GPU", name);
  if (offsets && !isOnDevice(offsets))
    return fail(RECUR_BAD_POINTER, "%s: device_offsets is not memory of a GPU", name);
  return RECUR_OK;
}

static void fillWords(int64_t *words, const Argument &argument, const Call &resolved) {
  const recur_array_info &info = *argument.info;
  bool hasTokens = info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT, isState = info.kind == RECUR_STATE;
  bool isPacked = resolved.call->sequence_offsets != nullptr;
  words[abi::DataWord] = argument.spanBytes ? reinterpret_cast<int64_t>(argument.data) : 0;
  words[abi::SequenceStrideWord] = isState || (hasTokens && !isPacked) ? argument.strides[0] : 0;
  words[abi::TokenStrideWord] = hasTokens ? argument.strides[1] : 0;
  words[abi::HeadStrideWord] = argument.strides[2];
  words[abi::GroupWord] = info.shared ? resolved.heads / resolved.groups : 1;
  words[abi::RowStrideWord] = argument.isTransposed ? 1 : info.rank == 2 ? info.shape[1] : 1;
  words[abi::ColumnStrideWord] = argument.isTransposed ? info.shape[0] : 1;
}

recur_status recur_cuda_forward(const recur_cuda_kernel *kernel, const recur_call *call, const int64_t *device_offsets,
                                void *stream) {
  Call resolved;
  recur_call copy;
  if (recur_status status = resolve(resolved, copy, kernel, call))
    return status;
  if (recur_status status = resolveArguments(resolved))
    return status;
  if (recur_status status = checkOverlaps(resolved))
    return status;
  const char *name = resolved.recurrence->name;
  int64_t units = resolved.sequences * resolved.heads;
  if (units > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: %lld heads of sequences are more than a launch takes", name, (long long)units);
  if (units == 0)
    return RECUR_OK;
  const CUDALibrary *cuda = getCUDALibrary();
  if (!cuda)
    return RECUR_DEVICE_ERROR;
  void *context = nullptr, *function = nullptr;
  if (CUresult error = cuda->getCurrentContext(&context); error || !context)
    return failOf(*cuda, name, "no context is current", error ? error : contextError);
  if (recur_status status = checkMemory(*cuda, resolved, device_offsets))
    return status;
  pthread_mutex_lock(&mutex);
  recur_status status = load(*cuda, kernel, context, &function);
  pthread_mutex_unlock(&mutex);
  if (status)
    return status;
  int64_t words[abi::countWords(mostArguments)];
  words[abi::TokensWord] = call->T;
  words[abi::HeadsWord] = resolved.heads;
  words[abi::OffsetsWord] = reinterpret_cast<int64_t>(device_offsets);
  words[abi::WorkspaceWord] = reinterpret_cast<int64_t>(call->workspace);
  words[abi::WorkspaceStrideWord] = resolved.slotBytes;
  for (int32_t i = 0; i < resolved.argumentCount; ++i)
    fillWords(words + abi::getWord(i, abi::DataWord), resolved.arguments[i], resolved);
  void *parameters[] = {words};
  if (CUresult error = cuda->launch(function, unsigned(units), 1, 1, unsigned(kernel->threads), 1, 1,
                                    unsigned(kernel->shared_bytes), stream, parameters, nullptr))
    return failOf(*cuda, name, "the kernel cannot be launched", error);
  return RECUR_OK;
}
