// Summaries of parts of sequences on a GPU. Those of states are made by launches of their own, which begin with what no
// tokens make; those of cotangents by the chain of a gradient. A launch that takes any two together
// serves all recurrences.
#include "Runtime/Common/Summaries.h"
#include "ABI/LaunchWords.h"
#include "Runtime/CUDA/ChainSummaries.h"
#include "Runtime/CUDA/GradientSpace.h"
#include "Runtime/CUDA/Phases.h"
#include "Runtime/Common/Message.h"
#include <string.h>

using namespace recur::runtime;
namespace abi = recur::abi;

static SummaryTable findSummaries(const recur_recurrence *recurrence) {
  const recur_parts_info *parts = recurrence->parts;
  return parts ? SummaryTable{parts->summaries, parts->summary_count} : SummaryTable();
}

//===----------------------------------------------------------------------===//
// Tokens that matter
//===----------------------------------------------------------------------===//

// Decays may leave nothing of what is far from a part's end: then the last tokens alone make its summary, and of
// cotangents the first ones. So few tokens are tried first, and the map of each head says whether more matter to it.
// Heads for which none do are left alone when more are tried. Nothing of that is known here, only on the GPU.

/// What is tried in vain costs no more than one in `least` of what is computed then.
static constexpr int64_t firstTried = 512, growth = 8, least = 4;

/// So many tokens come after these, which were tried: all in the end.
static int64_t findNextTried(int64_t tokens, int64_t all) {
  int64_t next = tokens ? tokens * growth : firstTried;
  return next <= all / least ? next : all;
}

/// Whether the map of a part says how much of a state remains, and few tokens can be tried: what others need of states
/// that are known before the part is not known within it.
static bool canTry(const recur_summary_info &info) { return !isExtremum(info) && info.need_count == 0; }

/// The most tokens that are tried before all are; 0: none.
static int64_t findMostTried(const SummaryCall &call) {
  int64_t all = isPacked(call.own) ? 0 : call.own.T, most = 0;
  for (int64_t tokens = findNextTried(0, all); tokens < all; tokens = findNextTried(tokens, all))
    most = tokens;
  return most;
}

//===----------------------------------------------------------------------===//
// The workspace
//===----------------------------------------------------------------------===//

/// The call as the launches of a summary have it, of so many tokens, but for its arguments.
static Call makePiece(const SummaryCall &call, const recur_kernel_info &kernel, const recur_call &own) {
  Call piece;
  piece.machine = call.resolved.machine;
  piece.recurrence = call.resolved.recurrence;
  piece.call = &own;
  piece.sequences = call.resolved.sequences;
  piece.heads = call.resolved.heads;
  piece.groups = call.resolved.groups;
  piece.plan = RECUR_PLAN_CHUNK; // not cut: what is summarised is so in place
  piece.argumentCount = piece.keptCount = 0;
  piece.slots = call.countUnits();
  piece.slotBytes = roundUp(kernel.workspace_bytes);
  return piece;
}

/// The most numbers of a head that two summaries, or a summary and a state, make.
static int64_t countLargest(const SummaryCall &call) {
  int64_t most = 0;
  for (int32_t i = 0; i < call.table.count; ++i) {
    const recur_summary_info &info = call.table.summaries[i];
    int64_t map = countMapNumbers(call.resolved.recurrence, info),
            state = countElements(getStateInfo(call.resolved.recurrence, info.state));
    most = map > most ? map : most;
    most = state > most ? state : most;
  }
  return most;
}

/// What summaries begin as, of one head.
static int64_t countStartBytes(int64_t largest) { return 2 * roundUp(largest * int64_t(sizeof(float))); }

static int64_t countFlagBytes(const SummaryCall &call) { return roundUp(call.countUnits() * int64_t(sizeof(float))); }

/// What the launches of any summary need in the workspace, for so many tokens, with the flags and what summaries begin
/// as behind that.
static __int128 countSummaryBytes(const SummaryCall &call, int64_t tokens) {
  recur_call own = call.own;
  own.T = tokens;
  __int128 most = 0;
  for (int32_t i = 0; i < call.table.count; ++i) {
    const recur_kernel_info &kernel = *call.table.summaries[i].launches;
    Call piece = makePiece(call, kernel, own);
    __int128 bytes = __int128(piece.slots) * piece.slotBytes;
    if (isInPhases(kernel)) {
      int64_t phases = arrangePhases(piece, kernel).bytes;
      bytes = phases < 0 ? INT64_MAX : bytes + phases;
    }
    most = bytes > most ? bytes : most;
  }
  return (most + alignment - 1) / alignment * alignment + countFlagBytes(call) + countStartBytes(countLargest(call));
}

/// A map and an offset of each unit, in the workspace.
static __int128 countTriedBytes(const SummaryCall &call) {
  return 2 * __int128(call.countUnits()) * roundUp(countLargest(call) * int64_t(sizeof(float)));
}

static int64_t limit(__int128 bytes) { return bytes > INT64_MAX / 2 ? INT64_MAX / 2 : roundUp(int64_t(bytes)); }

/// What launches that make a summary need, or a product that cannot be made in its place. Backward, that is what is
/// needed to find out how many of the first tokens matter, behind what the gradient takes.
static void plan(SummaryCall &call) {
  Call &resolved = call.resolved;
  if (!resolved.isBackward) {
    __int128 product = __int128(call.countUnits()) * countLargest(call) * int64_t(sizeof(float));
    __int128 launches = countSummaryBytes(call, call.own.T);
    resolved.slots = resolved.records = 0;
    resolved.recordBytes = 0;
    resolved.workers = 1;
    resolved.workerBytes = limit(launches > product ? launches : product);
    return;
  }
  int64_t most = findMostTried(call);
  if (!most)
    return;
  int64_t bytes = limit(countSummaryBytes(call, most) + countTriedBytes(call)), given = call.own.workspace_bytes;
  call.own.workspace_bytes = given > bytes ? given - bytes : given;
  planCUDAGradient(resolved);
  call.own.workspace_bytes = given;
  resolved.workers = 1;
  resolved.workerBytes = bytes;
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

namespace {

/// A launch that takes matrices together.
class Composition {
public:
  Composition(const SummaryCall &call, abi::ComposeOperation operation, float *result, int64_t resultUnit) {
    words[abi::ComposeOperationWord] = operation;
    words[abi::ComposeUnitsWord] = call.countUnits();
    words[abi::ComposeColumnsWord] = 1;
    put(abi::ComposeResultWord, result, abi::ComposeResultUnitWord, resultUnit);
  }
  Composition &units(int64_t count) {
    words[abi::ComposeUnitsWord] = count;
    return *this;
  }
  Composition &size(int64_t rows, int64_t columns = 1, int64_t inner = 0) {
    words[abi::ComposeRowsWord] = rows;
    words[abi::ComposeColumnsWord] = columns;
    words[abi::ComposeInnerWord] = inner;
    return *this;
  }
  Composition &value(float number) {
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    words[abi::ComposeValueWord] = bits;
    return *this;
  }
  Composition &left(const float *data, int64_t unit, int64_t row = 1, int64_t inner = 0) {
    words[abi::ComposeLeftRowWord] = row;
    words[abi::ComposeLeftInnerWord] = inner;
    return put(abi::ComposeLeftWord, data, abi::ComposeLeftUnitWord, unit);
  }
  /// Where each element goes by itself.
  Composition &right(const float *data, int64_t unit) {
    words[abi::ComposeRightRowWord] = 1;
    return put(abi::ComposeRightWord, data, abi::ComposeRightUnitWord, unit);
  }
  Composition &right(const float *data, int64_t unit, int64_t inner, int64_t column) {
    words[abi::ComposeRightInnerWord] = inner;
    words[abi::ComposeRightColumnWord] = column;
    return put(abi::ComposeRightWord, data, abi::ComposeRightUnitWord, unit);
  }
  Composition &scale(const float *data, int64_t unit, int64_t row, int64_t column) {
    words[abi::ComposeScaleRowWord] = row;
    words[abi::ComposeScaleColumnWord] = column;
    return put(abi::ComposeScaleWord, data, abi::ComposeScaleUnitWord, unit);
  }
  Composition &add(const float *data, int64_t unit) {
    return put(abi::ComposeAddWord, data, abi::ComposeAddUnitWord, unit);
  }

  recur_status run(const Device &device, const SummaryCall &call) {
    int64_t elements = words[abi::ComposeUnitsWord] * words[abi::ComposeRowsWord] * words[abi::ComposeColumnsWord];
    if (words[abi::ComposeOperationWord] == abi::ProductOperation && isInBlocks()) {
      words[abi::ComposeOperationWord] = abi::BlockProductOperation;
      elements /= abi::blockRows;
    }
    return putOverElements(device, call.resolved.recurrence, *call.resolved.recurrence->parts->compose, elements,
                           call.own.stream, words);
  }

private:
  /// Whether a thread can have several rows of the product, which then takes a fraction of the time.
  bool isInBlocks() const {
    bool isInnerDense = words[abi::ComposeRightInnerWord] == 1, areColumns = words[abi::ComposeRightColumnWord] == 1;
    auto areMultiples = [](int64_t a, int64_t b) { return a % abi::blockInner == 0 && b % abi::blockInner == 0; };
    auto isAligned = [](int64_t address) { return address % int64_t(abi::blockInner * sizeof(float)) == 0; };
    return words[abi::ComposeRowsWord] % abi::blockRows == 0 && words[abi::ComposeInnerWord] % abi::blockInner == 0 &&
           words[abi::ComposeLeftInnerWord] == 1 && (isInnerDense || areColumns) &&
           areMultiples(words[abi::ComposeLeftRowWord], words[abi::ComposeLeftUnitWord]) &&
           isAligned(words[abi::ComposeLeftWord]) &&
           (!isInnerDense || (areMultiples(words[abi::ComposeRightColumnWord], words[abi::ComposeRightUnitWord]) &&
                              isAligned(words[abi::ComposeRightWord])));
  }
  Composition &put(int word, const float *data, int unitWord, int64_t unit) {
    words[word] = reinterpret_cast<int64_t>(data);
    words[unitWord] = unit;
    return *this;
  }
  int64_t words[abi::composeWords] = {};
};

} // namespace

static bool overlaps(const float *a, const float *b, int64_t count) { return a && b && a < b + count && b < a + count; }

/// The product, where its result may lie where either factor does: then it is made in the workspace, and copied.
static recur_status multiply(const Device &device, const SummaryCall &call, Composition product, Composition inSpace,
                             float *result, int64_t unit, int64_t size, bool isInPlace) {
  if (!isInPlace)
    return product.run(device, call);
  if (recur_status status = inSpace.run(device, call))
    return status;
  return Composition(call, abi::ScaledOperation, result, unit)
      .size(size)
      .left(static_cast<float *>(call.own.workspace), size)
      .run(device, call);
}

static abi::ComposeOperation getOperation(int32_t extremum) {
  switch (extremum) {
  case RECUR_MAX:
    return abi::MaxOperation;
  case RECUR_MIN:
    return abi::MinOperation;
  case RECUR_SOFT_MAX:
    return abi::SoftMaxOperation;
  case RECUR_SOFT_MIN:
    return abi::SoftMinOperation;
  default:
    return abi::ScaledOperation;
  }
}

namespace {
/// States of all units.
struct States {
  float *data;
  int64_t stride;
};
} // namespace

/// States through maps and offsets, of all units.
static recur_status applyParts(const Device &device, const SummaryCall &call, bool isBackward,
                               const recur_summary &given, States from, States to) {
  const recur_summary_info &info = *call.info;
  const float *maps = given.maps, *offsets = given.offsets;
  int64_t size = call.stateSize, side = info.map_side, unitOfMap = call.getMapStride(given),
          unitOfOffset = call.getOffsetStride(given);
  if (!side) {
    // The cotangent of an extremum goes to what won: where nothing of the state did, whatever it is has no part.
    abi::ComposeOperation operation = !isExtremum(info) ? abi::ScaledOperation
                                      : isBackward      ? abi::KeptOperation
                                                        : getOperation(info.extremum);
    return Composition(call, operation, to.data, to.stride)
        .size(size)
        .left(maps, unitOfMap)
        .right(from.data, from.stride)
        .add(offsets, unitOfOffset)
        .run(device, call);
  }
  // A vector is the only row or the only column of a matrix.
  int64_t rows = info.map_is_left ? side : size / side, columns = size / rows;
  int64_t mapRow = isBackward ? 1 : side, mapColumn = isBackward ? side : 1;
  auto make = [&](States result) {
    Composition product(call, abi::ProductOperation, result.data, result.stride);
    product.size(rows, columns, side).add(offsets, unitOfOffset);
    if (info.map_is_left)
      product.left(maps, unitOfMap, mapRow, mapColumn).right(from.data, from.stride, columns, 1);
    else
      product.left(from.data, from.stride, columns, 1).right(maps, unitOfMap, mapRow, mapColumn);
    if (info.scale_size)
      product.scale(maps + side * side, unitOfMap, info.map_is_left ? 0 : 1, info.map_is_left ? 1 : 0);
    return product;
  };
  int64_t stride = from.stride > to.stride ? from.stride : to.stride;
  return multiply(device, call, make(to), make({static_cast<float *>(call.own.workspace), size}), to.data, to.stride,
                  size, overlaps(from.data, to.data, call.countUnits() * stride));
}

static recur_status combineMaps(const Device &device, const SummaryCall &call, bool isBackward,
                                const recur_summary &first, const recur_summary &second, const recur_summary &result) {
  const recur_summary_info &info = *call.info;
  int64_t side = info.map_side, unit = call.getMapStride(result);
  if (!side) {
    bool areSums = isExtremum(info) && !isBackward;
    return Composition(call, areSums ? abi::SumOperation : abi::ScaledOperation, result.maps, unit)
        .size(call.stateSize)
        .left(first.maps, call.getMapStride(first))
        .right(second.maps, call.getMapStride(second))
        .run(device, call);
  }
  const recur_summary &left = info.map_is_left ? second : first, &right = info.map_is_left ? first : second;
  auto make = [&](float *to, int64_t unitOfResult) {
    return Composition(call, abi::PreciseProductOperation, to, unitOfResult)
        .size(side, side, side)
        .left(left.maps, call.getMapStride(left), side, 1)
        .right(right.maps, call.getMapStride(right), side, 1);
  };
  bool isInPlace = false;
  for (const recur_summary *factor : {&first, &second}) {
    int64_t stride = call.getMapStride(*factor) > unit ? call.getMapStride(*factor) : unit;
    isInPlace |= overlaps(result.maps, factor->maps, call.countUnits() * stride);
  }
  if (recur_status status =
          multiply(device, call, make(result.maps, unit), make(static_cast<float *>(call.own.workspace), side * side),
                   result.maps, unit, side * side, isInPlace))
    return status;
  int64_t scales = side * side;
  return Composition(call, abi::ScaledOperation, result.maps + scales, unit)
      .size(info.scale_size)
      .left(first.maps + scales, call.getMapStride(first))
      .right(second.maps + scales, call.getMapStride(second))
      .run(device, call);
}

//===----------------------------------------------------------------------===//
// Checks of memory
//===----------------------------------------------------------------------===//

/// The device, for a call with these arrays; what is null is not looked at.
static recur_status begin(const SummaryCall &call, Device &device, std::initializer_list<const float *> arrays) {
  if (recur_status status = findDevice(call.resolved, device))
    return status;
  if (recur_status status = checkMemory(*device.cuda, call.resolved))
    return status;
  for (const float *array : arrays)
    if (array && !isOnDevice(*device.cuda, array))
      return fail(RECUR_BAD_POINTER, "%s: summaries and states are not memory of a GPU",
                  call.resolved.recurrence->name);
  return RECUR_OK;
}

//===----------------------------------------------------------------------===//
// Making summaries
//===----------------------------------------------------------------------===//

/// The map of no tokens, of all units, or of one for all of them.
static recur_status beginMaps(const Device &device, const SummaryCall &call, const recur_summary &result,
                              int64_t units) {
  const recur_summary_info &info = *call.info;
  int64_t side = info.map_side, stride = call.getMapStride(result);
  Composition map(call, side ? abi::IdentityOperation : abi::FillOperation, result.maps, stride);
  map.units(units);
  side ? map.size(side, side).value(1) : map.size(call.mapSize).value(info.map_start);
  if (recur_status status = map.run(device, call))
    return status;
  if (!side || !info.scale_size)
    return RECUR_OK;
  return Composition(call, abi::FillOperation, result.maps + side * side, stride)
      .units(units)
      .size(info.scale_size)
      .value(1)
      .run(device, call);
}

/// The same of its offset.
static recur_status beginOffsets(const Device &device, const SummaryCall &call, const recur_summary &result,
                                 int64_t units, float value) {
  return Composition(call, abi::FillOperation, result.offsets, call.getOffsetStride(result))
      .units(units)
      .size(call.stateSize)
      .value(value)
      .run(device, call);
}

namespace {

/// Launches that make the summary of a state, of any tokens of a part. It is not made in place: a launch may write
/// what becomes of a state before another has read what it was.
class Maker {
public:
  /// The workspace is for so many tokens at most.
  Maker(const Device &device, const SummaryCall &call, const recur_summary &result, char *workspace,
        int64_t mostTokens);
  /// What summaries begin as, which is the same for all units.
  recur_status begin();
  /// Of so many tokens from the first one on, but of units that are left alone.
  recur_status make(int64_t first, int64_t tokens, const int32_t *leftAlone);
  /// Finds those of which little remains, which may be left alone when more tokens are tried.
  recur_status findForgotten();
  const int32_t *getForgotten() const { return reinterpret_cast<const int32_t *>(flags); }

private:
  void add(const Argument &argument) { piece.arguments[piece.argumentCount++] = argument; }
  void addPart(const recur_array_info &part, Role role, float *data, int64_t unit);

  const Device &device;
  const SummaryCall &call;
  const recur_summary_info &info;
  recur_summary result, starts = {};
  float *flags; // zero for units of which more than little remains
  recur_array_info offsets, scales, maps;
  recur_call own;
  Call piece;
  int32_t given = 0; // inputs and params
};

} // namespace

Maker::Maker(const Device &device, const SummaryCall &call, const recur_summary &result, char *workspace,
             int64_t mostTokens)
    : device(device), call(call), info(*call.info), result(result),
      offsets(getStateInfo(call.resolved.recurrence, info.state)),
      scales{"scales", RECUR_STATE, RECUR_F32, 0, 1, {info.scale_size, 0}},
      maps{"maps", RECUR_STATE, RECUR_F32, 0, 2, {info.map_side, info.map_side}}, own(call.own),
      piece(makePiece(call, *info.launches, own)) {
  int64_t startBytes = countStartBytes(countLargest(call));
  char *behind = workspace + limit(countSummaryBytes(call, mostTokens)), *room = behind - startBytes;
  own.workspace = workspace;
  starts.maps = reinterpret_cast<float *>(room);
  starts.offsets = info.offset_start == 0 ? nullptr : reinterpret_cast<float *>(room + startBytes / 2);
  flags = reinterpret_cast<float *>(room - countFlagBytes(call));
  offsets.dtype = RECUR_F32;
  const Argument *initial = call.resolved.arguments;
  for (; initial->role != Role::Initial; ++initial, ++given)
    add(*initial);
  for (Role role : {Role::Initial, Role::Final}) {
    for (int32_t i = 0; i < info.need_count; ++i) {
      Argument needed = initial[info.needs[i]];
      needed.role = role;
      if (role == Role::Final) { // which nobody wants
        needed.data = nullptr;
        needed.spanBytes = 0;
      }
      add(needed);
    }
    const recur_summary &parts = role == Role::Initial ? starts : result;
    int64_t side = info.map_side, unit = call.getMapStride(parts);
    if (info.scale_size)
      addPart(scales, role, parts.maps + side * side, unit);
    addPart(side ? maps : offsets, role, parts.maps, unit);
    addPart(offsets, role, parts.offsets, call.getOffsetStride(parts));
  }
}

void Maker::addPart(const recur_array_info &part, Role role, float *data, int64_t unit) {
  int64_t heads = call.resolved.heads;
  Argument argument = {};
  argument.info = &part;
  argument.role = role;
  argument.data = reinterpret_cast<char *>(data);
  argument.elementBytes = sizeof(float);
  argument.elements = countElements(part);
  argument.counts[0] = call.resolved.sequences;
  argument.counts[1] = 1;
  argument.counts[2] = heads;
  bool isShared = role == Role::Initial; // by all units
  argument.strides[0] = argument.strides[1] = isShared ? 0 : unit * heads;
  argument.strides[2] = isShared ? 0 : unit;
  argument.spanBytes = data ? (isShared ? 1 : call.countUnits()) * unit * argument.elementBytes : 0;
  add(argument);
}

recur_status Maker::begin() {
  recur_status status = beginMaps(device, call, starts, 1);
  return status || !starts.offsets ? status : beginOffsets(device, call, starts, 1, info.offset_start);
}

recur_status Maker::make(int64_t first, int64_t tokens, const int32_t *leftAlone) {
  own.T = tokens;
  piece.leftAlone = leftAlone;
  for (int32_t i = 0; i < given; ++i)
    if (const Argument &whole = call.resolved.arguments[i]; whole.info->kind == RECUR_INPUT && whole.data)
      piece.arguments[i].data = whole.at(0, first, 0);
  return launchKernel(device, piece, *info.launches);
}

/// Where no number of a square matrix is above so much, what a vector becomes is not above little, of its size.
recur_status Maker::findForgotten() {
  int64_t side = info.map_side, unit = call.getMapStride(result);
  auto find = [&](const float *numbers, int64_t count, double most) {
    return Composition(call, abi::LargeOperation, flags, 1)
        .size(count)
        .value(float(most))
        .left(numbers, unit)
        .run(device, call);
  };
  if (recur_status status = Composition(call, abi::FillOperation, flags, 1).size(1).value(1).run(device, call))
    return status;
  if (!side)
    return find(result.maps, call.mapSize, abi::little);
  if (recur_status status = find(result.maps, side * side, abi::little / double(side)))
    return status;
  return find(result.maps + side * side, info.scale_size, 1);
}

static recur_status summarise(const SummaryCall &call, recur_summary result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status = begin(call, device, {result.maps, result.offsets}))
    return status;
  int64_t all = call.own.T;
  if (all == 0 || isPacked(call.own)) { // where there are no tokens, nothing is launched
    if (recur_status status = beginMaps(device, call, result, call.countUnits()))
      return status;
    if (recur_status status = beginOffsets(device, call, result, call.countUnits(), call.info->offset_start))
      return status;
  }
  Maker maker(device, call, result, static_cast<char *>(call.own.workspace), all);
  if (recur_status status = maker.begin())
    return status;
  const int32_t *leftAlone = nullptr;
  int64_t most = canTry(*call.info) ? findMostTried(call) : 0, tokens = 0;
  while (tokens < most) {
    tokens = findNextTried(tokens, all);
    if (recur_status status = maker.make(all - tokens, tokens, leftAlone))
      return status;
    if (recur_status status = maker.findForgotten())
      return status;
    leftAlone = maker.getForgotten();
  }
  return maker.make(0, all, leftAlone);
}

/// The cotangent of the state before the first so many tokens, but of units that are left alone.
static recur_status runFirst(const Device &device, const SummaryCall &call, const ChainCall &chain, int64_t tokens,
                             const int32_t *leftAlone) {
  recur_call own = call.own;
  own.T = tokens;
  Call resolved = call.resolved;
  resolved.call = &own;
  resolved.leftAlone = leftAlone;
  return runChain(device, resolved, chain);
}

/// The same before all of them, where it may be that the first ones alone matter. What remains behind these says their
/// map.
static recur_status runForgetting(const Device &device, const SummaryCall &call, const ChainCall &chain) {
  int64_t all = call.own.T, most = findMostTried(call), tokens = 0;
  char *workspace =
      static_cast<char *>(call.own.workspace) + countWorkspaceBytes(call.resolved) - call.resolved.workerBytes;
  auto *tried = reinterpret_cast<float *>(workspace + limit(countSummaryBytes(call, most)));
  recur_summary ofFirst = {tried, tried + call.countUnits() * call.mapSize, 0, 0};
  Maker maker(device, call, ofFirst, workspace, most);
  if (recur_status status = maker.begin())
    return status;
  const int32_t *leftAlone = nullptr;
  while (tokens < most) {
    tokens = findNextTried(tokens, all);
    if (recur_status status = maker.make(0, tokens, leftAlone))
      return status;
    if (recur_status status = runFirst(device, call, chain, tokens, leftAlone))
      return status;
    if (recur_status status = maker.findForgotten())
      return status;
    leftAlone = maker.getForgotten();
  }
  return runFirst(device, call, chain, all, leftAlone);
}

static recur_status summariseBack(const SummaryCall &call, recur_summary result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status = begin(call, device, {result.maps, result.offsets}))
    return status;
  bool isKnown[mostArguments] = {};
  const recur_summary_info *end = call.table.summaries + call.table.count;
  for (const recur_summary_info *later = call.info + 1; later < end; ++later)
    isKnown[later->state] = true;
  int32_t state = call.info->state;
  bool carried = isCarried(call.resolved.recurrence, state);
  if (!carried || call.own.T == 0 || isPacked(call.own)) // a state that no result depends on is not carried
    if (recur_status status = beginOffsets(device, call, result, call.countUnits(), 0))
      return status;
  ChainCall chain = {state, isKnown, nullptr, result.offsets, call.getOffsetStride(result)};
  bool mayForget = canTry(*call.info) && call.info + 1 == end && findMostTried(call);
  if (carried)
    if (recur_status status = mayForget ? runForgetting(device, call, chain) : runChain(device, call.resolved, chain))
      return status;
  if (!call.hasBackwardMap())
    return RECUR_OK;
  int64_t stride = call.getMapStride(result);
  if (recur_status status = Composition(call, abi::FillOperation, result.maps, stride)
                                .size(call.mapSize)
                                .value(carried ? 1 : 0)
                                .run(device, call))
    return status;
  return carried ? runChain(device, call.resolved, {state, nullptr, result.maps, result.maps, stride}) : RECUR_OK;
}

static recur_status apply(const SummaryCall &call, bool isBackward, recur_summary given, const float *states,
                          float *result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status = begin(call, device, {given.maps, given.offsets, states, result}))
    return status;
  auto *from = const_cast<float *>(states); // only read
  return applyParts(device, call, isBackward, given, {from, call.stateSize}, {result, call.stateSize});
}

/// The result and the workspace take turns, so that nothing is made in its place.
static recur_status applyAll(const SummaryCall &call, bool isBackward, const recur_summary *parts, int32_t count,
                             float *result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status = begin(call, device, {result}))
    return status;
  for (int32_t i = 0; i < count; ++i)
    if (recur_status status = begin(call, device, {i ? parts[i].maps : nullptr, parts[i].offsets}))
      return status;
  States state = {parts[0].offsets, call.getOffsetStride(parts[0])};
  if (count == 1)
    return Composition(call, abi::ScaledOperation, result, call.stateSize)
        .size(call.stateSize)
        .left(state.data, state.stride)
        .run(device, call);
  for (int32_t i = 1; i < count; ++i) {
    bool isLast = (count - 1 - i) % 2 == 0;
    States next = {isLast ? result : static_cast<float *>(call.own.workspace), call.stateSize};
    if (recur_status status = applyParts(device, call, isBackward, parts[i], state, next))
      return status;
    state = next;
  }
  return RECUR_OK;
}

static recur_status combine(const SummaryCall &call, bool isBackward, recur_summary first, recur_summary second,
                            recur_summary result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status =
          begin(call, device, {first.maps, first.offsets, second.maps, second.offsets, result.maps, result.offsets}))
    return status;
  // States go through the first part and then the second, cotangents the other way.
  const recur_summary &inner = isBackward ? second : first, &outer = isBackward ? first : second;
  if (recur_status status = applyParts(device, call, isBackward, outer, {inner.offsets, call.getOffsetStride(inner)},
                                       {result.offsets, call.getOffsetStride(result)}))
    return status;
  return result.maps ? combineMaps(device, call, isBackward, first, second, result) : RECUR_OK;
}

const SummaryMachine recur::runtime::cudaSummaries = {findSummaries, plan,  summarise, summariseBack,
                                                      combine,       apply, applyAll};
