// A checked call becomes the launches of a kernel.
#include "ABI/LaunchWords.h"
#include "Runtime/CUDA/Kept.h"
#include "Runtime/CUDA/Loaded.h"
#include "Runtime/CUDA/Phases.h"
#include "Runtime/CUDA/Segments.h"
#include "Runtime/CUDA/SideBySide.h"
#include "Runtime/CUDA/TensorMaps.h"
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
constexpr int multiprocessorsAttribute = 16;            // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int programmaticAttribute = 6;                // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

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
    if (!isInPhases(kernel) || (resolved.plan != RECUR_PLAN_AUTO && kernel.plan != resolved.plan))
      continue;
    int64_t bytes = arrangePhases(resolved, kernel).bytes;
    if (int64_t rows = resolved.call->kept_interval ? countRowBytes(resolved, kernel) : 0; bytes >= 0)
      bytes = rows < 0 || rows > bytes ? rows : bytes;
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
  for (int32_t i = 0; i < resolved.argumentCount + resolved.keptCount; ++i) {
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

/// The kernel that the call is for. What kernels say of tokens is of calls that give all multiprocessors work. Where no
/// more than half of them has a head, chunks take half as long, for CTAs share a head then, and single tokens as long.
static const recur_kernel_info &findKernel(const CUDALibrary &cuda, const Call &resolved, int64_t tokens) {
  if (const recur_kernel_info *keeper = findKeeper(resolved))
    return *keeper;
  int device = 0, multiprocessors = 0;
  bool isKnown = cuda.getCurrentDevice(&device) == 0 &&
                 cuda.getDeviceAttribute(&multiprocessors, multiprocessorsAttribute, device) == 0;
  bool areFew = isKnown && 2 * resolved.sequences * resolved.heads <= multiprocessors;
  return *chooseKernel(resolved.recurrence, resolved.plan, areFew && tokens > 1 ? 2 * tokens : tokens);
}

namespace {

/// The launches of a kernel of a call.
class Launcher {
public:
  Launcher(const CUDALibrary &cuda, const Call &resolved, const recur_kernel_info &kernel, int64_t tokens,
           void *context);
  recur_status run(int32_t number);

private:
  int32_t findNext(int32_t number, int32_t step) const;
  SideBySide planBeside(int32_t number, int64_t chunks, bool keepsUnit) const;
  int64_t countSegments(int32_t number) const;
  bool areStatesInPlace() const;
  bool isCut() const;
  void fill(int64_t *words, const recur_launch_info &launch, int64_t rows, const SideBySide &beside) const;

  const CUDALibrary &cuda;
  const Call &resolved;
  const recur_kernel_info &kernel;
  int64_t tokens; // of the longest sequence
  void *context;
  PhaseSpace space;
  char *workspace, *behind;
  int multiprocessors = 0; // 0 where not known
  bool isAwaited = false;  // the launch before runs on beside this one
};

} // namespace

Launcher::Launcher(const CUDALibrary &cuda, const Call &resolved, const recur_kernel_info &kernel, int64_t tokens,
                   void *context)
    : cuda(cuda), resolved(resolved), kernel(kernel), tokens(tokens), context(context),
      workspace(static_cast<char *>(resolved.call->workspace)),
      behind(workspace + resolved.slots * resolved.slotBytes) {
  if (isInPhases(kernel))
    space = arrangePhases(resolved, kernel);
  int device = 0;
  if (cuda.getCurrentDevice(&device) || cuda.getDeviceAttribute(&multiprocessors, multiprocessorsAttribute, device))
    multiprocessors = 0;
}

/// The launch that is next, or was before, where no sequence is cut; -1 where there is none.
int32_t Launcher::findNext(int32_t number, int32_t step) const {
  do
    number += step;
  while (number >= 0 && number < kernel.launch_count && kernel.launches[number].bounds);
  return number < kernel.launch_count ? number : -1;
}

/// How the launch runs beside the one behind it, if that is good, where each sequence has so many chunks.
SideBySide Launcher::planBeside(int32_t number, int64_t chunks, bool keepsUnit) const {
  const recur_launch_info &launch = kernel.launches[number];
  int32_t next = findNext(number, 1);
  if (!multiprocessors || !launch.teams || next < 0 || !kernel.launches[next].awaits)
    return {};
  return planSideBySide({resolved.sequences * resolved.heads, chunks, kernel.launches[next].parts, launch.teams,
                         double(launch.cost), keepsUnit},
                        multiprocessors);
}

/// Whether a final state takes the place of the initial one, which may only be written when no CTA reads it any more.
bool Launcher::areStatesInPlace() const {
  for (int32_t i = 0; i < resolved.argumentCount; ++i)
    for (int32_t j = 0; j < i; ++j) {
      const Argument &after = resolved.arguments[i], &before = resolved.arguments[j];
      if (after.isState() && after.isWritten() && after.spanBytes && after.info == before.info &&
          after.data == before.data)
        return true;
    }
  return false;
}

/// Into how many segments the launch cuts each sequence, or that behind it for which it summarises them: as many as the
/// longest one should have, packed or not, so that sequences of one length have the same bits. Where they are cut no
/// launch runs beside it. The last segment's CTA may end before another of the sequence reads the initial state: states
/// in place are not cut.
int64_t Launcher::countSegments(int32_t number) const {
  const recur_launch_info &launch = kernel.launches[number];
  int64_t chunks = (tokens + kernel.chunk - 1) / kernel.chunk;
  if (launch.cuts && launch.bounds)
    return countSegments(number + 1);
  if (!launch.cuts || !multiprocessors || chunks < 2 || resolved.plan == RECUR_PLAN_CHUNK || areStatesInPlace())
    return 1;
  Cuttable cuttable{resolved.sequences * resolved.heads, chunks, launch.parts, 0, double(chunks)};
  if (launch.workspace_bytes) {
    const recur_launch_info &summaries = kernel.launches[number - 1];
    cuttable.summary = summaries.cost;
    cuttable.mapParts = summaries.parts - launch.parts;
  }
  if (resolved.plan == RECUR_PLAN_SEGMENT)
    return forceSegments(cuttable, multiprocessors);
  if (int32_t before = findNext(number, -1); before >= 0 && launch.awaits) {
    cuttable.before = kernel.launches[before].cost * double(cuttable.units) / multiprocessors * cuttable.uncut;
    cuttable.uncut = planBeside(before, chunks, /*keepsUnit=*/false).time;
  }
  return planSegments(cuttable, multiprocessors);
}

void Launcher::fill(int64_t *words, const recur_launch_info &launch, int64_t rows, const SideBySide &beside) const {
  words[abi::TokensWord] = resolved.call->T;
  words[abi::HeadsWord] = resolved.heads;
  words[abi::OffsetsWord] = reinterpret_cast<int64_t>(resolved.call->device_offsets);
  words[abi::WorkspaceWord] = reinterpret_cast<int64_t>(isInPhases(kernel) ? behind + space.scratchOffset : workspace);
  words[abi::WorkspaceStrideWord] = isInPhases(kernel) ? roundUp(launch.workspace_bytes) : resolved.slotBytes;
  words[abi::UnitsWord] = resolved.sequences * resolved.heads;
  words[abi::TeamsWord] = beside.teams ? beside.teams : rows * words[abi::UnitsWord];
  words[abi::LastingTeamsWord] = beside.teams ? beside.lastingTeams : rows * words[abi::UnitsWord];
  words[abi::SharedRoundsWord] = beside.sharedRounds;
  int32_t count = launch.arrays ? launch.array_count : resolved.argumentCount;
  for (int32_t i = 0; i < count && i < abi::mostLaunchArrays; ++i)
    fillWords(words + abi::getWord(i, abi::DataWord),
              launch.arrays ? launch.arrays[i] : recur_launch_array{i, -1, 0, 0}, resolved, kernel, space, behind);
  bool hasFlags = launch.teams || launch.awaits;
  words[abi::MapsWord] = fillMaps(words, cuda, launch, count + hasFlags, resolved, kernel);
  if (!hasFlags)
    return;
  int64_t *flags = words + abi::getWord(count, abi::DataWord);
  fillFlags(flags, resolved, kernel, space, behind);
  if (!beside.teams && !isAwaited)
    flags[abi::DataWord] = 0;
}

/// Whether a launch is cut, so that those which leave bounds for any are needed. One that summarises segments is needed
/// where that behind it is cut.
bool Launcher::isCut() const {
  for (int32_t i = 0; i < kernel.launch_count; ++i)
    if (countSegments(i) > 1)
      return true;
  return false;
}

recur_status Launcher::run(int32_t number) {
  const recur_launch_info &launch = kernel.launches[number];
  if (launch.bounds && !(launch.cuts ? countSegments(number) > 1 : isCut()))
    return RECUR_OK;
  const char *name = resolved.recurrence->name;
  int64_t units = resolved.sequences * resolved.heads,
          rows = isInPhases(kernel) ? countRows(resolved, kernel, launch) : 1;
  if (rows == 0) // there are no tokens
    return RECUR_OK;
  SideBySide beside;
  if (int32_t next = findNext(number, 1); next >= 0 && countSegments(next) == 1)
    beside = planBeside(number, countChunks(resolved, kernel), resolved.call->sequence_offsets != nullptr);
  if (launch.teams && !beside.teams)
    rows = dealAlone(units, rows, launch.teams, multiprocessors);
  alignas(abi::mapAlignment) int64_t words[abi::getMapWord(abi::mostLaunchArrays + 1, abi::mostMaps)];
  fill(words, launch, rows, beside);
  void *parameters[] = {words}, *function = nullptr;
  if (recur_status status = findFunction(cuda, resolved.recurrence, &launch, context, &function))
    return status;
  // It may start once all CTAs of the launch before have begun, and not when they have ended.
  LaunchAttribute early = {programmaticAttribute, 0, {1}};
  LaunchConfig config = {{unsigned(units), unsigned(rows), unsigned(launch.parts ? launch.parts : 1)},
                         {unsigned(launch.threads), 1, 1},
                         unsigned(launch.shared_bytes),
                         resolved.call->stream,
                         &early,
                         isAwaited ? 1u : 0u};
  if (beside.teams) {
    config.grid[0] = unsigned((beside.teams + beside.teamsOfCTA - 1) / beside.teamsOfCTA);
    config.grid[1] = 1;
    config.block[1] = unsigned(beside.teamsOfCTA);
    config.sharedBytes = unsigned(getSharedBytes(launch, beside.teamsOfCTA));
  } else if (launch.cuts) {
    config.grid[1] = unsigned(countSegments(number) - (launch.bounds ? 1 : 0)); // of the last nobody asks for a summary
  }
  if (CUresult error = cuda.launch(&config, function, parameters, nullptr))
    return failOf(cuda, name, "the kernel cannot be launched", error);
  isAwaited = beside.teams != 0;
  return RECUR_OK;
}

/// Puts the launches of a call, or of a piece of it, into its stream.
static recur_status launchAll(const Call &resolved) {
  const recur_recurrence *recurrence = resolved.recurrence;
  const CUDALibrary &cuda = *getCUDALibrary(); // for the recurrence was selected
  void *context = nullptr;
  if (CUresult error = cuda.getCurrentContext(&context))
    return failOf(cuda, recurrence->name, "no context is current", error);
  int64_t tokens = countTokens(resolved);
  const recur_kernel_info &kernel = findKernel(cuda, resolved, tokens);
  Launcher launcher{cuda, resolved, kernel, tokens, context};
  for (int32_t i = 0; i < kernel.launch_count; ++i)
    if (recur_status status = launcher.run(i))
      return status;
  return RECUR_OK;
}

static recur_status execute(const Call &resolved) {
  int64_t units = resolved.sequences * resolved.heads;
  if (units > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: %lld heads of sequences are more than a launch takes", resolved.recurrence->name,
                (long long)units);
  if (units == 0)
    return RECUR_OK;
  if (recur_status status = checkMemory(*getCUDALibrary(), resolved))
    return status;
  return resolved.keptCount && !findKeeper(resolved) ? runByRows(resolved, launchAll) : launchAll(resolved);
}

const Machine recur::runtime::cudaDevice = {canRun, refuse, plan, execute};
