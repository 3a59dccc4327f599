// A checked call becomes the launches of a kernel.
#include "ABI/LaunchWords.h"
#include "Runtime/CUDA/Loaded.h"
#include "Runtime/CUDA/Phases.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;
namespace abi = recur::abi;

static_assert(abi::mostLaunchArrays >= mostArguments);

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

/// The capability of the current context's device, 90 for 9.0; 0 where there is no context.
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

/// Every CTA of a kernel of one launch has a workspace of its own. Behind all of them lies what the launches of other
/// kernels need.
static void plan(Call &resolved) {
  resolved.slots = resolved.sequences * resolved.heads;
  resolved.slotBytes = getKernelBytes(resolved.recurrence, resolved.plan, nullptr);
  resolved.records = 0;
  resolved.recordBytes = 0;
  for (int32_t i = 0; i < resolved.recurrence->kernel_count; ++i) {
    const recur_kernel_info &kernel = resolved.recurrence->kernels[i];
    if (!kernel.left || (resolved.plan != RECUR_PLAN_AUTO && kernel.plan != resolved.plan))
      continue;
    int64_t bytes = arrangePhases(resolved, kernel).bytes;
    resolved.records = 1;
    if (bytes < 0)
      resolved.recordBytes = INT64_MAX; // which is refused
    else if (bytes > resolved.recordBytes)
      resolved.recordBytes = bytes;
  }
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

/// The tokens of the longest sequence.
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
  const recur_kernel_info &kernel = *chooseKernel(recurrence, resolved.plan, countTokens(resolved));
  PhaseSpace space;
  char *workspace = static_cast<char *>(call->workspace), *behind = workspace + resolved.slots * resolved.slotBytes;
  if (kernel.left)
    space = arrangePhases(resolved, kernel);
  for (int32_t i = 0; i < kernel.launch_count; ++i) {
    const recur_launch_info &launch = kernel.launches[i];
    int64_t rows = kernel.left ? countRows(resolved, kernel, launch) : 1;
    if (rows == 0) // there are no tokens
      continue;
    int64_t words[abi::countWords(abi::mostLaunchArrays)];
    words[abi::TokensWord] = call->T;
    words[abi::HeadsWord] = resolved.heads;
    words[abi::OffsetsWord] = reinterpret_cast<int64_t>(call->device_offsets);
    words[abi::WorkspaceWord] = reinterpret_cast<int64_t>(kernel.left ? behind + space.scratchOffset : workspace);
    words[abi::WorkspaceStrideWord] = kernel.left ? roundUp(launch.workspace_bytes) : resolved.slotBytes;
    int32_t count = launch.arrays ? launch.array_count : resolved.argumentCount;
    for (int32_t j = 0; j < count && j < abi::mostLaunchArrays; ++j)
      fillWords(words + abi::getWord(j, abi::DataWord), launch.arrays ? launch.arrays[j] : recur_launch_array{j, -1, 0},
                resolved, kernel, space, behind);
    void *parameters[] = {words};
    if (recur_status status = findFunction(cuda, recurrence, &launch, context, &function))
      return status;
    if (CUresult error = cuda.launch(function, unsigned(units), unsigned(rows),
                                     unsigned(launch.parts ? launch.parts : 1), unsigned(launch.threads), 1, 1,
                                     unsigned(launch.shared_bytes), call->stream, parameters, nullptr))
      return failOf(cuda, recurrence->name, "the kernel cannot be launched", error);
  }
  return RECUR_OK;
}

const Machine recur::runtime::cudaDevice = {canRun, refuse, plan, execute};
