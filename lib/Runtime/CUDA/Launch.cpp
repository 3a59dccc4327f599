// A checked call becomes the launches of a kernel.
#include "Runtime/CUDA/Launch.h"
#include "ABI/GPUImage.h"
#include "ABI/LaunchWords.h"
#include "Runtime/CUDA/HandOver.h"
#include "Runtime/CUDA/InPlace.h"
#include "Runtime/CUDA/Kept.h"
#include "Runtime/CUDA/Loaded.h"
#include "Runtime/CUDA/Phases.h"
#include "Runtime/CUDA/Pools.h"
#include "Runtime/CUDA/Segments.h"
#include "Runtime/CUDA/SideBySide.h"
#include "Runtime/CUDA/TensorMaps.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"

#include <string.h>

using namespace recur::runtime;
namespace abi = recur::abi;

static_assert(abi::mostLaunchArrays >= mostArguments);

namespace {

constexpr int contextError = 201;                       // CUDA_ERROR_INVALID_CONTEXT
constexpr int majorAttribute = 75, minorAttribute = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
constexpr int memoryTypeAttribute = 2;                  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned deviceMemory = 2;                    // CU_MEMORYTYPE_DEVICE
constexpr int multiprocessorsAttribute = 16;            // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int sharedBytesAttribute = 97;                // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
constexpr int programmaticAttribute = 6;                // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

// Of a multiprocessor, each of which has several chunks in turn, where most heads may be left alone.
constexpr int64_t ctasInTurn = 8;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

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

/// The most shared memory that a CTA of the recurrence's launches takes.
static int64_t countSharedBytes(const recur_recurrence *recurrence) {
  int64_t most = 0;
  auto count = [&](const recur_kernel_info *kernel) {
    for (int32_t i = 0; kernel && i < kernel->launch_count; ++i)
      most = larger(most, getMostSharedBytes(kernel->launches[i]));
    if (kernel && kernel->trees)
      most = larger(most, getMostSharedBytes(*kernel->trees));
  };
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    count(&recurrence->kernels[i]);
  if (const recur_gradient_info *gradient = recurrence->gradient) {
    count(gradient->states_launches);
    count(gradient->run_launches);
    count(gradient->handing_launches);
    count(gradient->taking_launches);
  }
  return most;
}

/// How much a CTA of the current context's device may have; 0 where that is not known.
static int64_t getSharedBytes(const CUDALibrary &cuda) {
  int device = 0, bytes = 0;
  if (cuda.getCurrentDevice(&device) || cuda.getDeviceAttribute(&bytes, sharedBytesAttribute, device))
    return 0;
  return bytes;
}

/// Kernels of the device's own capability have been planned for no more shared memory than it has.
static bool hasRoom(const CUDALibrary &cuda, const recur_recurrence *recurrence, uint32_t capability) {
  if (capability == (recurrence->features & ~RECUR_EXACT_CAPABILITY))
    return true;
  int64_t bytes = getSharedBytes(cuda);
  return !bytes || countSharedBytes(recurrence) <= bytes;
}

static bool canRun(const recur_recurrence *recurrence) {
  const CUDALibrary *cuda = getCUDALibrary();
  uint32_t capability = cuda ? getCapability(*cuda) : 0;
  return capability && abi::runsOn(recurrence->features, abi::isPTX(recurrence->image), capability) &&
         hasRoom(*cuda, recurrence, capability);
}

static recur_status refuse(const recur_recurrence *recurrence) {
  const CUDALibrary *cuda = getCUDALibrary();
  if (!cuda)
    return RECUR_DEVICE_ERROR;
  void *context = nullptr;
  if (CUresult error = cuda->getCurrentContext(&context); error || !context)
    return failOf(*cuda, recurrence->name, "no context is current", error ? error : contextError);
  uint32_t capability = getCapability(*cuda), wanted = recurrence->features & ~RECUR_EXACT_CAPABILITY;
  if (abi::runsOn(recurrence->features, abi::isPTX(recurrence->image), capability))
    return fail(
        RECUR_WRONG_MACHINE,
        "%s was compiled for '%s' and takes %lld bytes of shared memory, and the current context's GPU has %lld",
        recurrence->name, recurrence->target, (long long)countSharedBytes(recurrence),
        (long long)getSharedBytes(*cuda));
  return fail(RECUR_WRONG_MACHINE,
              "%s was compiled for '%s', a GPU of compute capability %u.%u, and the current context's has %u.%u",
              recurrence->name, recurrence->target, wanted / 10, wanted % 10, capability / 10, capability % 10);
}

/// Every CTA of a kernel of one launch has a workspace of its own. Behind all of them lies what the launches of other
/// kernels need.
static void plan(Call &resolved) {
  if (handsOver(resolved))
    return planHandOver(resolved);
  resolved.slots = resolved.sequences * resolved.heads;
  resolved.slotBytes = getKernelBytes(resolved.recurrence, resolved.plan, nullptr) + countForkBytes(resolved);
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
  int64_t staged = countStagedBytes(resolved);
  if (staged < 0 || __builtin_add_overflow(resolved.recordBytes, staged, &resolved.recordBytes))
    resolved.recordBytes = INT64_MAX;
}

bool recur::runtime::isOnDevice(const CUDALibrary &cuda, const void *data) {
  unsigned type = 0;
  return cuda.getPointerAttribute(&type, memoryTypeAttribute, reinterpret_cast<unsigned long long>(data)) == 0 &&
         type == deviceMemory;
}

/// The most CTAs that have a head together.
static int64_t countStateParts(const recur_recurrence &recurrence) {
  int64_t most = 1;
  for (int32_t i = 0; i < recurrence.kernel_count; ++i)
    for (int32_t j = 0; j < recurrence.kernels[i].launch_count; ++j)
      most = larger(most, recurrence.kernels[i].launches[j].state_parts);
  return most;
}

recur_status recur::runtime::checkMemory(const CUDALibrary &cuda, const Call &resolved) {
  const char *name = resolved.recurrence->name;
  if (int64_t units = resolved.sequences * resolved.heads; units > INT32_MAX / countStateParts(*resolved.recurrence))
    return fail(RECUR_BAD_SIZE, "%s: %lld heads of sequences are more than a launch takes", name, (long long)units);
  for (int32_t i = 0; i < resolved.argumentCount + resolved.keptCount; ++i) {
    const Argument &argument = resolved.arguments[i];
    if (argument.spanBytes && !isOnDevice(cuda, argument.data))
      return fail(RECUR_BAD_POINTER, "%s: the %s '%s' is not memory of a GPU", name, argument.getWord(),
                  argument.info->name);
  }
  if (countWorkspaceBytes(resolved) && !isOnDevice(cuda, resolved.call->workspace))
    return fail(RECUR_BAD_POINTER, "%s: the workspace is not memory of a GPU", name);
  const int64_t *offsets = resolved.call->device_offsets;
  if (!offsets && resolved.call->sequence_offsets)
    return fail(
        RECUR_NULL_POINTER,
        "%s: a GPU reads offsets in its own memory, as device_offsets; they are given as sequence_offsets alone", name);
  const struct {
    const char *name;
    const void *data;
  } tables[] = {{"device_offsets", offsets},
                {"handed_values", resolved.call->handed_values},
                {"state_indices", resolved.call->state_indices},
                {"final_indices", resolved.call->final_indices},
                {"token_indices", resolved.call->token_indices},
                {"accepted", resolved.call->accepted},
                {"parents", resolved.call->parents},
                {"interval_indices", resolved.call->interval_indices},
                {"positions", resolved.call->positions}};
  for (auto [table, data] : tables)
    if (data && !isOnDevice(cuda, data))
      return fail(RECUR_BAD_POINTER, "%s: %s is not memory of a GPU", name, table);
  return RECUR_OK;
}

recur_status recur::runtime::findDevice(const Call &resolved, Device &device) {
  const CUDALibrary &cuda = *getCUDALibrary(); // for the recurrence was selected
  device = {&cuda, nullptr, 0};
  if (CUresult error = cuda.getCurrentContext(&device.context))
    return failOf(cuda, resolved.recurrence->name, "no context is current", error);
  int number = 0, count = 0;
  if (cuda.getCurrentDevice(&number) == 0 && cuda.getDeviceAttribute(&count, multiprocessorsAttribute, number) == 0)
    device.multiprocessors = count;
  return RECUR_OK;
}

/// The kernel for sequences of so many tokens. What kernels say of tokens is of calls that give all multiprocessors
/// work. Where no more than half of them has a head, chunks take half as long, for CTAs share a head then, and single
/// tokens as long.
static const recur_kernel_info *findKernel(const Call &resolved, int multiprocessors, int64_t tokens) {
  if (const recur_kernel_info *keeper = findKeeper(resolved))
    return keeper;
  bool areFew = 2 * resolved.sequences * resolved.heads <= multiprocessors;
  return chooseKernel(resolved.recurrence, resolved.plan, areFew && tokens > 1 ? 2 * tokens : tokens);
}

namespace {

/// A kernel of a call, and the numbers of tokens of the sequences that it is for.
struct Share {
  const recur_kernel_info *kernel;
  int64_t from, below;
};

/// Puts the launches of a kernel of a call into its stream.
class Launcher {
public:
  Launcher(const Device &device, const Call &resolved, Share share);
  recur_status run();

private:
  /// Into how many segments sequences are cut, and the most of it.
  struct Cuts {
    int64_t most = 1;
    uint8_t ofClass[abi::cutClasses];
  };
  recur_status run(int32_t number);
  recur_status list();
  recur_status put(const recur_launch_info &launch, bool isListed, LaunchConfig &config, int64_t *words);
  int32_t findNext(int32_t number, int32_t step) const;
  SideBySide planBeside(int32_t number, int64_t chunks, bool keepsUnit) const;
  SideBySide planBeside(int32_t number);
  int64_t countSegments(int32_t number, int64_t chunks) const;
  const Cuts &planCuts(int32_t number);
  Cuts findCuts(int32_t number) const;
  bool areStatesInPlace() const;
  bool isCut();
  bool findsNothing(const recur_launch_info &launch) const;
  bool isNeeded(int32_t number);
  bool goesByList(int32_t number);
  void fill(int64_t *words, int32_t number, int64_t rows, const SideBySide &beside, bool isListed);

  const Device &device;
  const Call &resolved;
  Share share;
  const recur_kernel_info &kernel;
  const recur_launch_info *launches; // of the kernel
  int multiprocessors;               // 0 where not known
  PhaseSpace space;
  char *workspace, *behind;
  Cuts cuts; // of the launch of this number
  int32_t cutsOf = -1;
  bool isAwaited = false; // the launch before runs on beside this one
};

} // namespace

Launcher::Launcher(const Device &device, const Call &resolved, Share share)
    : device(device), resolved(resolved), share(share), kernel(*share.kernel),
      launches(resolved.call->parents ? kernel.trees : kernel.launches), multiprocessors(device.multiprocessors),
      workspace(static_cast<char *>(resolved.call->workspace)),
      behind(workspace + resolved.slots * resolved.slotBytes) {
  if (isInPhases(kernel))
    space = arrangePhases(resolved, kernel);
}

/// The launch that is next, or was before, where no sequence is cut; -1 where there is none.
int32_t Launcher::findNext(int32_t number, int32_t step) const {
  do
    number += step;
  while (number >= 0 && number < kernel.launch_count && launches[number].bounds);
  return number < kernel.launch_count ? number : -1;
}

/// How the launch runs beside the one behind it, if that is good, where each sequence has so many chunks.
SideBySide Launcher::planBeside(int32_t number, int64_t chunks, bool keepsUnit) const {
  const recur_launch_info &launch = launches[number];
  int32_t next = findNext(number, 1);
  if (!multiprocessors || !launch.teams || next < 0 || !launches[next].awaits || resolved.leftAlone)
    return {};
  return planSideBySide(
      {resolved.sequences * resolved.heads, chunks, launches[next].parts, launch.teams, double(launch.cost), keepsUnit},
      multiprocessors);
}

/// The same as the call is. Packed sequences are taken to be as long as each other: what runs beside what does not
/// change a bit.
SideBySide Launcher::planBeside(int32_t number) {
  int32_t next = findNext(number, 1);
  if (next < 0 || planCuts(next).most > 1)
    return {};
  bool packed = isPacked(*resolved.call);
  int64_t chunks = countChunks(resolved, kernel);
  return planBeside(number, packed ? (chunks + resolved.sequences - 1) / resolved.sequences : chunks, packed);
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

/// Into how many segments the launch cuts a sequence of so many chunks. Where they are cut no launch runs beside it.
/// The last segment's CTA may end before another of the sequence reads the initial state: states in place are not cut.
/// Neither is a sequence whose states are kept on the way: a segment may begin without knowing what was before it.
int64_t Launcher::countSegments(int32_t number, int64_t chunks) const {
  const recur_launch_info &launch = launches[number];
  if (!launch.cuts || !multiprocessors || chunks < 2 || resolved.plan == RECUR_PLAN_CHUNK || areStatesInPlace() ||
      resolved.call->interval)
    return 1;
  Cuttable cuttable{resolved.sequences * resolved.heads, chunks, launch.parts, 0, double(chunks)};
  if (launch.workspace_bytes) {
    const recur_launch_info &summaries = launches[number - 1];
    cuttable.summary = summaries.cost;
    cuttable.mapParts = summaries.parts - launch.parts;
  }
  if (resolved.plan == RECUR_PLAN_SEGMENT)
    return forceSegments(cuttable, multiprocessors);
  if (int32_t before = findNext(number, -1); before >= 0 && launch.awaits) {
    cuttable.before = launches[before].cost * double(cuttable.units) / multiprocessors * cuttable.uncut;
    cuttable.uncut = planBeside(before, chunks, /*keepsUnit=*/false).time;
  }
  return planSegments(cuttable, multiprocessors);
}

/// Packed or not, and whatever else is in the call, a sequence is cut as its own number of chunks says, of which a few
/// count as one: whoever launches need not know those of packed ones. A launch that summarises segments has those of
/// the one behind it.
const Launcher::Cuts &Launcher::planCuts(int32_t number) {
  if (launches[number].cuts && launches[number].bounds)
    return planCuts(number + 1);
  if (cutsOf != number)
    cuts = findCuts(number);
  cutsOf = number;
  return cuts;
}

Launcher::Cuts Launcher::findCuts(int32_t number) const {
  Cuts cuts;
  const recur_launch_info &launch = launches[number];
  for (uint8_t &segments : cuts.ofClass)
    segments = 1;
  // As countSegments finds where multiprocessors have no room for two segments of each.
  bool areMany = 2 * resolved.sequences * resolved.heads * launch.parts > multiprocessors;
  if (!launch.cuts || !kernel.chunk || (areMany && resolved.plan != RECUR_PLAN_SEGMENT))
    return cuts;
  int last = abi::getCutClass(countChunks(resolved, kernel));
  for (int own = isPacked(*resolved.call) ? 0 : last; own <= last; ++own) {
    int64_t segments = countSegments(number, abi::getCutChunks(own));
    cuts.ofClass[own] = uint8_t(segments < UINT8_MAX ? segments : UINT8_MAX);
    if (cuts.ofClass[own] > cuts.most)
      cuts.most = cuts.ofClass[own];
  }
  return cuts;
}

/// Whether CTAs find by a list what they have to do, of packed sequences. Where nearly all would find something anyway,
/// as of one sequence or of few chunks, it would take longer to make one.
bool Launcher::goesByList(int32_t number) {
  constexpr int64_t idle = 8; // CTAs of a multiprocessor that find nothing to do take less than a launch
  const recur_launch_info &launch = launches[number];
  if (!isPacked(*resolved.call) || !kernel.listing || !launch.listed || !multiprocessors || resolved.sequences < 2 ||
      resolved.leftAlone)
    return false;
  int64_t units = resolved.sequences * resolved.heads;
  if (space.chunks > INT32_MAX / resolved.heads) // by which CTAs count
    return false;
  if (!launch.chunks_are_apart)
    return planCuts(number).most == 1 && units * launch.parts > multiprocessors &&
           !(findNext(number, -1) >= 0 && planBeside(findNext(number, -1)).teams);
  return units * countChunks(resolved, kernel) > idle * multiprocessors && !planBeside(number).teams;
}

static recur_launch_array getArray(const recur_launch_info &launch, int32_t number) {
  return launch.arrays ? launch.arrays[number] : recur_launch_array{number, -1, 0, 0};
}

void Launcher::fill(int64_t *words, int32_t number, int64_t rows, const SideBySide &beside, bool isListed) {
  const recur_launch_info &launch = launches[number];
  words[abi::TokensWord] = resolved.call->T;
  words[abi::HeadsWord] = resolved.heads;
  words[abi::OffsetsWord] = reinterpret_cast<int64_t>(resolved.call->device_offsets);
  words[abi::WorkspaceWord] = reinterpret_cast<int64_t>(isInPhases(kernel) ? behind + space.scratchOffset : workspace);
  words[abi::WorkspaceStrideWord] = isInPhases(kernel) ? roundUp(launch.workspace_bytes) : resolved.slotBytes;
  words[abi::UnitsWord] = resolved.sequences * resolved.heads;
  words[abi::TeamsWord] = beside.teams ? beside.teams : rows * words[abi::UnitsWord];
  words[abi::LastingTeamsWord] = beside.teams ? beside.lastingTeams : rows * words[abi::UnitsWord];
  words[abi::SharedRoundsWord] = beside.sharedRounds;
  words[abi::FromTokensWord] = share.from;
  words[abi::BelowTokensWord] = share.below;
  words[abi::ListWord] = words[abi::OrderWord] = 0;
  if (isListed) {
    words[abi::ListWord] = reinterpret_cast<int64_t>(behind + space.listOffset);
    words[abi::OrderWord] = reinterpret_cast<int64_t>(behind + space.orderOffset);
    words[abi::TeamsWord] = words[abi::LastingTeamsWord] = rows;
  }
  memcpy(words + abi::CutsWord, planCuts(number).ofClass, sizeof cuts.ofClass);
  int32_t count = launch.arrays ? launch.array_count : resolved.argumentCount;
  bool hasFlags = launch.teams || launch.awaits, pools = hasPools(*resolved.call);
  words[abi::PoolsWord] = storesOnTheWay(*resolved.call) ? abi::PoolsOfTokens : pools ? abi::Pools : abi::NoPools;
  words[abi::ReplayedWord] = resolved.call->replayed;
  words[abi::AcceptedWord] = resolved.call->replayed ? reinterpret_cast<int64_t>(resolved.call->accepted) : 0;
  words[abi::LeftAloneWord] = reinterpret_cast<int64_t>(resolved.leftAlone);
  fillInterval(words, *resolved.call);
  fillTrees(words, resolved);
  for (int32_t i = 0; i < count && i < abi::mostLaunchArrays; ++i)
    fillWords(words + abi::getWord(i, abi::DataWord), getArray(launch, i), resolved, kernel, space, behind);
  for (int32_t i = 0; pools && i < count + hasFlags && i < abi::mostLaunchArrays; ++i) // flags are in none
    fillPool(words + abi::getPoolWord(count + hasFlags, i, abi::RowsWord),
             i < count ? resolved.findArgument(getArray(launch, i).number) : nullptr);
  words[abi::MapsWord] = fillMaps(words, *device.cuda, launch, count + hasFlags, resolved, kernel);
  if (!hasFlags)
    return;
  int64_t *flags = words + abi::getWord(count, abi::DataWord);
  fillFlags(flags, resolved, kernel, space, behind);
  if (!beside.teams && !isAwaited)
    flags[abi::DataWord] = 0;
}

/// Whether a launch is cut, so that those which leave bounds for any are needed. One that summarises segments is needed
/// where that behind it is cut.
bool Launcher::isCut() {
  for (int32_t i = 0; i < kernel.launch_count; ++i)
    if (planCuts(i).most > 1)
      return true;
  return false;
}

/// Whether it finds final states alone, none of which the caller wants.
bool Launcher::findsNothing(const recur_launch_info &launch) const {
  bool findsStates = false;
  for (int32_t i = 0; i < launch.array_count; ++i) {
    if (launch.arrays[i].number >= resolved.argumentCount) // what launches leave to each other
      return false;
    const Argument &argument = resolved.arguments[launch.arrays[i].number];
    if (argument.isWritten() && (argument.data || !argument.isState()))
      return false;
    findsStates |= argument.isWritten();
  }
  return findsStates;
}

bool Launcher::isNeeded(int32_t number) {
  const recur_launch_info &launch = launches[number];
  bool hasChunks = !isInPhases(kernel) || countRows(resolved, kernel, launch) > 0;
  return hasChunks && !findsNothing(launch) && (!launch.bounds || (launch.cuts ? planCuts(number).most > 1 : isCut()));
}

recur_status recur::runtime::putLaunch(const Device &device, const recur_recurrence *recurrence,
                                       const recur_launch_info &launch, bool isListed, LaunchConfig &config,
                                       int64_t *words) {
  void *parameters[] = {words}, *function = nullptr;
  if (recur_status status = findFunction(*device.cuda, recurrence, &launch, isListed, device.context, &function))
    return status;
  if (CUresult error = device.cuda->launch(&config, function, parameters, nullptr))
    return failOf(*device.cuda, recurrence->name, "the kernel cannot be launched", error);
  return RECUR_OK;
}

recur_status recur::runtime::putOverElements(const Device &device, const recur_recurrence *recurrence,
                                             const recur_launch_info &launch, int64_t elements, void *stream,
                                             int64_t *words) {
  constexpr int64_t ctasOfEach = 16; // multiprocessor: enough that memory is what they wait for
  if (elements == 0)
    return RECUR_OK;
  int64_t wanted = (elements + launch.threads - 1) / launch.threads;
  int64_t most = ctasOfEach * larger(1, device.multiprocessors);
  LaunchConfig config = {{unsigned(smaller(wanted, most)), 1, 1},
                         {unsigned(launch.threads), 1, 1},
                         unsigned(launch.shared_bytes),
                         stream,
                         nullptr,
                         0};
  return putLaunch(device, recurrence, launch, /*isListed=*/false, config, words);
}

recur_status Launcher::put(const recur_launch_info &launch, bool isListed, LaunchConfig &config, int64_t *words) {
  return putLaunch(device, resolved.recurrence, launch, isListed, config, words);
}

/// Makes the list of the chunks of packed sequences.
recur_status Launcher::list() {
  int64_t words[abi::listingWords];
  words[abi::ListedOffsetsWord] = reinterpret_cast<int64_t>(resolved.call->device_offsets);
  words[abi::ListedSequencesWord] = resolved.sequences;
  words[abi::ListedTokensWord] = resolved.call->T;
  words[abi::ListedFromWord] = share.from;
  words[abi::ListedBelowWord] = share.below;
  words[abi::ListWordOfListing] = reinterpret_cast<int64_t>(behind + space.listOffset);
  words[abi::OrderWordOfListing] = reinterpret_cast<int64_t>(behind + space.orderOffset);
  LaunchConfig config = {{1, 1, 1}, {unsigned(kernel.listing->threads), 1, 1}, 0, resolved.call->stream, nullptr, 0};
  return put(*kernel.listing, /*isListed=*/false, config, words);
}

recur_status Launcher::run() {
  for (int32_t i = 0; i < kernel.launch_count; ++i)
    if (isNeeded(i) && goesByList(i)) {
      if (recur_status status = list())
        return status;
      break;
    }
  for (int32_t i = 0; i < kernel.launch_count; ++i)
    if (recur_status status = isNeeded(i) ? run(i) : RECUR_OK)
      return status;
  return RECUR_OK;
}

recur_status Launcher::run(int32_t number) {
  const recur_launch_info &launch = launches[number];
  int64_t units = resolved.sequences * resolved.heads, parts = launch.parts ? launch.parts : 1,
          rows = isInPhases(kernel) ? countRows(resolved, kernel, launch) : 1;
  SideBySide beside = planBeside(number);
  bool isListed = goesByList(number);
  // Of a list, rows are all CTAs for a part.
  if (isListed)
    rows = !launch.chunks_are_apart ? smaller(units, larger(1, multiprocessors / parts))
           : launch.teams           ? dealAlone(1, space.chunks * resolved.heads, launch.teams, multiprocessors)
                                    : space.chunks * resolved.heads;
  else if (launch.teams && !beside.teams)
    rows = dealAlone(units, rows, launch.teams, multiprocessors);
  else if (resolved.leftAlone && launch.chunks_are_apart) // many of which may have nothing to do
    rows = smaller(rows, larger(1, (ctasInTurn * multiprocessors + units - 1) / units));
  if (rows == 0) // no sequence has tokens
    return RECUR_OK;
  alignas(abi::mapAlignment) int64_t words[abi::getMapWord(abi::mostLaunchArrays + 1, abi::mostMaps)];
  fill(words, number, rows, beside, isListed);
  // It may start once all CTAs of the launch before have begun, and not when they have ended.
  LaunchAttribute early = {programmaticAttribute, 0, {1}};
  LaunchConfig config = {{unsigned(isListed ? rows : units), unsigned(isListed ? 1 : rows), unsigned(parts)},
                         {unsigned(launch.threads), 1, 1},
                         unsigned(launch.shared_bytes),
                         resolved.call->stream,
                         &early,
                         isAwaited ? 1u : 0u};
  if (launch.state_parts) // neighbours, which read the same rows
    config.grid[0] *= unsigned(launch.state_parts);
  if (beside.teams) {
    config.grid[0] = unsigned((beside.teams + beside.teamsOfCTA - 1) / beside.teamsOfCTA);
    config.grid[1] = 1;
    config.block[1] = unsigned(beside.teamsOfCTA);
    config.sharedBytes = unsigned(getSharedBytes(launch, beside.teamsOfCTA));
  } else if (launch.cuts) {
    config.grid[1] = unsigned(planCuts(number).most - (launch.bounds ? 1 : 0)); // of the last nobody asks for a summary
  }
  if (recur_status status = put(launch, isListed, config, words))
    return status;
  isAwaited = beside.teams != 0;
  return RECUR_OK;
}

/// Whether the call may have a sequence with so many tokens as the share is for; where offsets are on the GPU alone
/// nobody knows.
static bool isWanted(const Call &resolved, Share share) {
  if (!resolved.call->sequence_offsets)
    return share.from <= resolved.call->T;
  for (int64_t i = 0; i < resolved.sequences; ++i)
    if (int64_t tokens = getSequence(resolved, i).tokens; tokens >= share.from && tokens < share.below)
      return true;
  return false;
}

/// The kernel for packed sequences from so many tokens on, and the number of tokens from which on it is another: each
/// sequence has the kernel that it has by itself.
static Share findShare(const Call &resolved, int multiprocessors, int64_t from) {
  Share share{findKernel(resolved, multiprocessors, from), from, INT64_MAX};
  auto consider = [&](int64_t tokens) {
    if (tokens > from && tokens < share.below && findKernel(resolved, multiprocessors, tokens) != share.kernel)
      share.below = tokens;
  };
  consider(2); // from which on few heads count
  for (int32_t i = 0; i < resolved.recurrence->kernel_count; ++i) {
    int64_t tokens = resolved.recurrence->kernels[i].tokens_from;
    consider(tokens);
    consider(tokens / 2 + tokens % 2);
  }
  return share;
}

recur_status recur::runtime::launchKernel(const Device &device, const Call &resolved, const recur_kernel_info &kernel) {
  return Launcher(device, resolved, {&kernel, 0, INT64_MAX}).run();
}

/// Puts the launches of a call, or of a piece of it, into its stream.
static recur_status launchAll(const Call &resolved) {
  Device device;
  if (recur_status status = findDevice(resolved, device))
    return status;
  if (!isPacked(*resolved.call))
    return launchKernel(device, resolved, *findKernel(resolved, device.multiprocessors, resolved.call->T));
  for (int64_t from = 0; from < INT64_MAX;) {
    Share share = findShare(resolved, device.multiprocessors, from);
    if (isWanted(resolved, share))
      if (recur_status status = Launcher(device, resolved, share).run())
        return status;
    from = share.below;
  }
  return RECUR_OK;
}

/// The same where states in place would be overwritten too early: these are copied first.
static recur_status launchStaged(const Call &resolved) {
  Device device;
  if (recur_status status = findDevice(resolved, device))
    return status;
  Staged staged(resolved);
  bool isNeeded = false;
  for (int64_t from = 0; from < INT64_MAX;) {
    Share share = isPacked(*resolved.call)
                      ? findShare(resolved, device.multiprocessors, from)
                      : Share{findKernel(resolved, device.multiprocessors, resolved.call->T), 0, INT64_MAX};
    isNeeded |= isWanted(resolved, share) && staged.isNeeded(*share.kernel);
    from = share.below;
  }
  if (!isNeeded)
    return launchAll(resolved);
  const Call &copies = staged.getCopies();
  const recur_kernel_info &kernel = *chooseKernel(resolved.recurrence, RECUR_PLAN_AUTO, 0);
  if (isInPhases(kernel))
    return fail(RECUR_NO_PLAN,
                "%s: the kernel writes final states before it has read all initial ones, and without one of plan step "
                "nothing copies these; give final states memory of their own, or build with plan auto",
                resolved.recurrence->name);
  if (recur_status status = launchKernel(device, copies, kernel))
    return status;
  return launchAll(staged.getCall());
}

static recur_status execute(const Call &resolved) {
  if (resolved.sequences * resolved.heads == 0)
    return RECUR_OK;
  if (recur_status status = checkMemory(*getCUDALibrary(), resolved))
    return status;
  if (handsOver(resolved)) {
    Device device;
    if (recur_status status = findDevice(resolved, device))
      return status;
    return runHandingOver(device, resolved);
  }
  if (goesByTokens(*resolved.call) && !findKeeper(resolved))
    return fail(RECUR_NO_PLAN,
                "%s: on a GPU %s, and there is no such kernel among those that the call may take; build with %s",
                resolved.recurrence->name,
                resolved.call->parents ? "a kernel of its own goes over trees of tokens"
                                       : "the plan step keeps the states after tokens in their rows",
                resolved.call->parents ? "--trees" : "plan auto");
  bool goesByRows = resolved.keptCount && !findKeeper(resolved);
  if (goesByRows && isPacked(*resolved.call) && !resolved.call->sequence_offsets)
    return fail(RECUR_NULL_POINTER,
                "%s: the plan keeps states by a launch for each, for which sequence_offsets must be given beside "
                "device_offsets",
                resolved.recurrence->name);
  for (int32_t i = 0; goesByRows && i < resolved.recurrence->array_count; ++i)
    if (const recur_array_info &info = resolved.recurrence->arrays[i];
        info.kind == RECUR_STATE && info.dtype != RECUR_F32)
      return fail(RECUR_NO_PLAN,
                  "%s: kept states are float32, and on a GPU a kernel that begins with one takes '%s' in 16 bits; keep "
                  "those before every token (kept_interval 1), by plan step, or build with the state in f32",
                  resolved.recurrence->name, info.name);
  return goesByRows ? runByRows(resolved, launchAll) : launchStaged(resolved);
}

const Machine recur::runtime::cudaDevice = {canRun, refuse, plan, execute, nullptr, checkPools};
