#include "Runtime/CUDA/Phases.h"
#include "Runtime/CUDA/Kept.h"
#include "Runtime/CUDA/Segments.h"

using namespace recur::runtime;
namespace abi = recur::abi;

static constexpr int64_t mostRows = 65535; // of a launch's grid
static constexpr int64_t flagBytes = 4;
// How many CTAs of a launch with local tiles work at once: more of them only need more memory.
static constexpr int64_t workingCTAs = 264;

static int64_t countElements(const recur_left_info &left) {
  return (left.rank > 0 ? left.shape[0] : 1) * (left.rank > 1 ? left.shape[1] : 1);
}
/// Whether it lies in the caller's memory.
static bool isHanded(const recur_left_info &left, const Call &resolved) {
  return left.is_handed && resolved.call->handed_values;
}

int64_t recur::runtime::countChunks(const Call &resolved, const recur_kernel_info &kernel) {
  return (resolved.call->T + kernel.chunk - 1) / kernel.chunk;
}

int64_t recur::runtime::countRows(const Call &resolved, const recur_kernel_info &kernel,
                                  const recur_launch_info &launch) {
  if (!launch.chunks_are_apart)
    return 1;
  int64_t chunks = countChunks(resolved, kernel), rows = chunks < mostRows ? chunks : mostRows;
  int64_t units = resolved.sequences * resolved.heads;
  if (launch.workspace_bytes && units && rows > (workingCTAs + units - 1) / units)
    rows = (workingCTAs + units - 1) / units;
  return rows;
}

PhaseSpace recur::runtime::arrangePhases(const Call &resolved, const recur_kernel_info &kernel) {
  PhaseSpace space;
  int64_t tokens = resolved.call->T, units = resolved.sequences * resolved.heads;
  space.chunks = isPacked(*resolved.call) ? tokens / kernel.chunk + resolved.sequences
                                          : countChunks(resolved, kernel) * resolved.sequences;
  __int128 bytes = 0;
  for (int i = 0; i < kernel.left_count && i < abi::mostLeft; ++i) {
    const recur_left_info &left = kernel.left[i];
    space.leftOffsets[i] = int64_t(bytes);
    if (isHanded(left, resolved))
      continue;
    __int128 own = __int128(space.chunks) * resolved.heads * left.rows * countElements(left) * left.element_bytes;
    bytes += (own + 255) / 256 * 256;
  }
  if (isPacked(*resolved.call) && kernel.listing) {
    space.listOffset = int64_t(bytes);
    bytes += (__int128(space.chunks) * abi::listEntryBytes + abi::listHeaderBytes + 255) / 256 * 256;
    space.orderOffset = int64_t(bytes);
    bytes += (__int128(resolved.sequences) * abi::orderEntryBytes + 255) / 256 * 256;
  }
  space.flagsOffset = int64_t(bytes);
  for (int i = 0; i < kernel.launch_count; ++i)
    if (kernel.launches[i].teams) {
      bytes += (__int128(space.chunks) * resolved.heads * flagBytes + 255) / 256 * 256;
      break;
    }
  space.scratchOffset = int64_t(bytes);
  __int128 scratch = 0;
  for (int i = 0; i < kernel.launch_count; ++i) {
    const recur_launch_info &launch = kernel.launches[i];
    // Launches that are cut have a summary of each segment there, and no tiles.
    int64_t slots = launch.cuts ? limitSummaries(units, launch.parts, resolved.plan == RECUR_PLAN_SEGMENT)
                                : countRows(resolved, kernel, launch) * launch.parts;
    __int128 own = __int128(slots) * units * roundUp(launch.workspace_bytes);
    scratch = own > scratch ? own : scratch;
  }
  bytes += scratch;
  space.bytes = bytes > INT64_MAX / 2 || kernel.left_count > abi::mostLeft ? -1 : int64_t(bytes);
  return space;
}

/// How far parts of a row are apart.
static int64_t getPartStride(const recur_launch_array &array, int32_t rank, int64_t rowStride, int64_t columnStride) {
  if (array.part_dim < 0)
    return 0;
  return array.part_size * (rank < 2 ? 1 : array.part_dim == 0 ? rowStride : columnStride);
}

/// States at the start of chunks lie one behind another, like what launches leave.
static void fillArgument(int64_t *words, const recur_launch_array &array, const Call &resolved,
                         const recur_kernel_info &kernel) {
  const Argument &argument = resolved.arguments[array.number];
  const recur_array_info &info = *argument.info;
  bool hasTokens = info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT, isState = info.kind == RECUR_STATE;
  bool packed = isPacked(*resolved.call);
  words[abi::DataWord] = argument.spanBytes ? reinterpret_cast<int64_t>(argument.data) : 0;
  words[abi::SequenceStrideWord] = isState || (hasTokens && !packed) ? argument.strides[0] : 0;
  words[abi::TokenStrideWord] = hasTokens || argument.isKept() ? argument.strides[1] : 0;
  if (info.kind == RECUR_OUTPUT && !packed && words[abi::DataWord]) // those of replayed tokens are not there
    words[abi::DataWord] -= resolved.call->replayed * argument.strides[1] * argument.elementBytes;
  words[abi::HeadStrideWord] = argument.strides[2];
  words[abi::GroupWord] = info.shared ? resolved.heads / resolved.groups : 1;
  words[abi::RowStrideWord] = argument.isTransposed ? 1 : info.rank == 2 ? info.shape[1] : 1;
  words[abi::ColumnStrideWord] = argument.isTransposed ? info.shape[0] : 1;
  words[abi::PartStrideWord] = getPartStride(array, info.rank, words[abi::RowStrideWord], words[abi::ColumnStrideWord]);
  words[abi::FirstTokensWord] = argument.isKept() ? kernel.chunk : 1;
  words[abi::FirstStrideWord] = words[abi::TokenStrideWord];
}

/// The chunks of all sequences lie one behind another. A packed sequence begins as many chunks in as whole ones fit
/// into the tokens before it, and one more for each sequence before it.
static void fillLeft(int64_t *words, const recur_launch_array &array, const Call &resolved,
                     const recur_kernel_info &kernel, const PhaseSpace &space, const recur_left_info &left,
                     char *first) {
  int64_t row = countElements(left), chunkElements = left.rows * row;
  bool packed = isPacked(*resolved.call);
  words[abi::DataWord] = reinterpret_cast<int64_t>(first);
  words[abi::SequenceStrideWord] = chunkElements * (packed ? 1 : countChunks(resolved, kernel));
  words[abi::TokenStrideWord] = row;
  words[abi::HeadStrideWord] = space.chunks * chunkElements;
  words[abi::GroupWord] = 1;
  words[abi::RowStrideWord] = left.rank == 2 ? left.shape[1] : 1;
  words[abi::ColumnStrideWord] = 1;
  words[abi::PartStrideWord] = getPartStride(array, left.rank, words[abi::RowStrideWord], 1);
  words[abi::FirstTokensWord] = kernel.chunk;
  words[abi::FirstStrideWord] = chunkElements;
}

/// Where it begins, if it is in the workspace or not.
static char *findLeft(const recur_left_info &left, const Call &resolved, const PhaseSpace &space, char *inWorkspace) {
  if (!isHanded(left, resolved))
    return inWorkspace;
  return static_cast<char *>(resolved.call->handed_values) + space.chunks * resolved.heads * left.handed_offset;
}

void recur::runtime::fillWords(int64_t *words, const recur_launch_array &array, const Call &resolved,
                               const recur_kernel_info &kernel, const PhaseSpace &space, char *workspace) {
  int32_t left = array.number - resolved.argumentCount;
  if (left < 0)
    fillArgument(words, array, resolved, kernel);
  else if (!isInPhases(kernel))
    fillKept(words, resolved, left);
  else
    fillLeft(words, array, resolved, kernel, space, kernel.left[left],
             findLeft(kernel.left[left], resolved, space, workspace + space.leftOffsets[left]));
}

void recur::runtime::fillInterval(int64_t *words, const recur_call &call) {
  words[abi::IntervalWord] = call.interval;
  words[abi::IntervalRowsWord] = reinterpret_cast<int64_t>(call.interval_indices);
  words[abi::IntervalColumnsWord] = call.interval_columns;
  words[abi::PositionsWord] = reinterpret_cast<int64_t>(call.positions);
}

void recur::runtime::fillPool(int64_t *words, const Argument *state) {
  bool isInPool = state && state->rows;
  words[abi::RowsWord] = isInPool ? reinterpret_cast<int64_t>(state->rows) : 0;
  words[abi::RowCountWord] = isInPool ? state->counts[0] : 0;
  words[abi::AbsentWord] = isInPool ? reinterpret_cast<int64_t>(state->absent) : 0;
  words[abi::AbsentHeadStrideWord] = isInPool ? state->elements : 0;
  words[abi::ColumnsWord] = isInPool ? state->rowColumns : 0;
  words[abi::CountsWord] = isInPool ? reinterpret_cast<int64_t>(state->accepted) : 0;
}

void recur::runtime::fillFlags(int64_t *words, const Call &resolved, const recur_kernel_info &kernel,
                               const PhaseSpace &space, char *workspace) {
  constexpr recur_left_info flag = {1, flagBytes, 0, {0, 0}, 0, 0};
  fillLeft(words, {0, -1, 0, 0}, resolved, kernel, space, flag, workspace + space.flagsOffset);
}
