// A checked call becomes the launches of a kernel.
#include "ABI/LaunchWords.h"
#include "Runtime/CUDA/Loaded.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;
namespace abi = recur::abi;

namespace {

constexpr int contextError = 201;                       // CUDA_ERROR_INVALID_CONTEXT
constexpr int majorAttribute = 75, minorAttribute = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
constexpr int memoryTypeAttribute = 2;                  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned deviceMemory = 2;                    // CU_MEMORYTYPE_DEVICE

} // namespace

recur_status recur::runtime::failOf(const CUDALibrary &cuda, const char *name, const char *what, CUresult error) {
  const char *text = nullptr;
  if (cuda.getErrorName(error, &text) != 0 || !text)
    text = "an unknown error";
  return fail(RECUR_DEVICE_ERROR, "%s: %s: %s", name, what, text);
}

/// Of the current context's device, 90 for 9.0; 0 where there is none.
static uint32_t getCapability(const CUDALibrary &cuda) {
  int device = 0, major = 0, minor = 0;
  if (cuda.getCurrentDevice(&device) || cuda.getDeviceAttribute(&major, majorAttribute, device) ||
      cuda.getDeviceAttribute(&minor, minorAttribute, device))
    return 0;
  return uint32_t(10 * major + minor);
}

static bool canRun(const recur_recurrence *recurrence) {
  const CUDALibrary *cuda = getCUDALibrary();
  return cuda && getCapability(*cuda) == recurrence->features;
}

static recur_status refuse(const recur_recurrence *recurrence) {
  const CUDALibrary *cuda = getCUDALibrary();
  if (!cuda)
    return RECUR_DEVICE_ERROR;
  void *context = nullptr;
  if (CUresult error = cuda->getCurrentContext(&context); error || !context)
    return failOf(*cuda, recurrence->name, "no context is current", error ? error : contextError);
  uint32_t capability = getCapability(*cuda), wanted = recurrence->features;
  return fail(RECUR_WRONG_MACHINE,
              "%s was compiled for '%s', a GPU of compute capability %u.%u, and the current context's has %u.%u",
              recurrence->name, recurrence->target, wanted / 10, wanted % 10, capability / 10, capability % 10);
}

/// Every CTA has a workspace of its own.
static void plan(Call &resolved) {
  resolved.slots = resolved.sequences * resolved.heads;
  resolved.slotBytes = getKernelBytes(resolved.recurrence, resolved.plan, nullptr);
}

static recur_status checkMemory(const CUDALibrary &cuda, const Call &resolved) {
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
  const int64_t *offsets = resolved.call->device_offsets;
  if (bool(offsets) != bool(resolved.call->sequence_offsets))
    return fail(
        RECUR_NULL_POINTER,
        "%s: offsets are given twice, as sequence_offsets in memory of the host and as device_offsets in memory "
        "of the GPU; one of them is null",
        name);
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

/// Of the longest sequence.
static int64_t countTokens(const Call &resolved) {
  int64_t most = 0;
  for (int64_t i = 0; i < resolved.sequences; ++i) {
    int64_t tokens = getSequence(resolved, i).tokens;
    most = tokens > most ? tokens : most;
  }
  return most;
}

static recur_status execute(const Call &resolved) {
  const recur_recurrence *recurrence = resolved.recurrence;
  const recur_call *call = resolved.call;
  const CUDALibrary &cuda = *getCUDALibrary(); // for the recurrence was selected
  int64_t units = resolved.sequences * resolved.heads;
  if (units > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: %lld heads of sequences are more than a launch takes", recurrence->name,
                (long long)units);
  if (units == 0)
    return RECUR_OK;
  if (recur_status status = checkMemory(cuda, resolved))
    return status;
  void *context = nullptr, *function = nullptr;
  if (CUresult error = cuda.getCurrentContext(&context))
    return failOf(cuda, recurrence->name, "no context is current", error);
  int64_t words[abi::countWords(mostArguments)];
  words[abi::TokensWord] = call->T;
  words[abi::HeadsWord] = resolved.heads;
  words[abi::OffsetsWord] = reinterpret_cast<int64_t>(call->device_offsets);
  words[abi::WorkspaceWord] = reinterpret_cast<int64_t>(call->workspace);
  words[abi::WorkspaceStrideWord] = resolved.slotBytes;
  for (int32_t i = 0; i < resolved.argumentCount; ++i)
    fillWords(words + abi::getWord(i, abi::DataWord), resolved.arguments[i], resolved);
  void *parameters[] = {words};
  const recur_kernel_info &kernel = *chooseKernel(recurrence, resolved.plan, countTokens(resolved));
  for (int32_t i = 0; i < kernel.launch_count; ++i) {
    const recur_launch_info &launch = kernel.launches[i];
    if (recur_status status = findFunction(cuda, recurrence, &launch, context, &function))
      return status;
    if (CUresult error = cuda.launch(function, unsigned(units), 1, 1, unsigned(launch.threads), 1, 1,
                                     unsigned(launch.shared_bytes), call->stream, parameters, nullptr))
      return failOf(cuda, recurrence->name, "the kernel cannot be launched", error);
  }
  return RECUR_OK;
}

const Machine recur::runtime::cudaDevice = {canRun, refuse, plan, execute};
