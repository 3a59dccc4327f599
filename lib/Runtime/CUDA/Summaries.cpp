// Summaries of parts of sequences on a GPU. Those of states are made by launches of their own, which begin with what no
// tokens make; those of cotangents by the chain of a gradient. A launch that takes any two together
// serves all recurrences.
#include "Runtime/Common/Summaries.h"
#include "Runtime/CUDA/ChainSummaries.h"
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
// The workspace
//===----------------------------------------------------------------------===//

/// The call as the launches of a summary have it, but for its arguments.
static Call makePiece(const SummaryCall &call, const recur_kernel_info &kernel) {
  Call piece = call.resolved;
  piece.call = &call.own;
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

/// What launches that make a summary need, or a product that cannot be made in its place.
static void plan(SummaryCall &call) {
  Call &resolved = call.resolved;
  if (resolved.isBackward)
    return;
  int64_t largest = countLargest(call), starts = countStartBytes(largest);
  __int128 most = __int128(call.countUnits()) * largest * int64_t(sizeof(float));
  for (int32_t i = 0; i < call.table.count; ++i) {
    const recur_kernel_info &kernel = *call.table.summaries[i].launches;
    Call piece = makePiece(call, kernel);
    __int128 own = __int128(piece.slots) * piece.slotBytes;
    if (isInPhases(kernel)) {
      int64_t phases = arrangePhases(piece, kernel).bytes;
      own = phases < 0 ? INT64_MAX : own + phases;
    }
    own += starts;
    most = own > most ? own : most;
  }
  resolved.slots = resolved.records = 0;
  resolved.recordBytes = 0;
  resolved.workers = 1;
  resolved.workerBytes = most > INT64_MAX / 2 ? INT64_MAX / 2 : roundUp(int64_t(most));
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
    return putOverElements(device, call.resolved.recurrence, *call.resolved.recurrence->parts->compose, elements,
                           call.own.stream, words);
  }

private:
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

/// States through maps and offsets, of all units.
static recur_status applyParts(const Device &device, const SummaryCall &call, bool isBackward, const float *maps,
                               const float *offsets, const float *from, float *to) {
  const recur_summary_info &info = *call.info;
  int64_t size = call.stateSize, side = info.map_side;
  if (!side) {
    // The cotangent of an extremum goes to what won: where nothing of the state did, whatever it is has no part.
    abi::ComposeOperation operation = !isExtremum(info) ? abi::ScaledOperation
                                      : isBackward      ? abi::KeptOperation
                                                        : getOperation(info.extremum);
    return Composition(call, operation, to, size)
        .size(size)
        .left(maps, call.mapSize)
        .right(from, size)
        .add(offsets, size)
        .run(device, call);
  }
  // A vector is the only row or the only column of a matrix.
  int64_t rows = info.map_is_left ? side : size / side, columns = size / rows;
  int64_t mapRow = isBackward ? 1 : side, mapColumn = isBackward ? side : 1;
  auto make = [&](float *result) {
    Composition product(call, abi::ProductOperation, result, size);
    product.size(rows, columns, side).add(offsets, size);
    if (info.map_is_left)
      product.left(maps, call.mapSize, mapRow, mapColumn).right(from, size, columns, 1);
    else
      product.left(from, size, columns, 1).right(maps, call.mapSize, mapRow, mapColumn);
    if (info.scale_size)
      product.scale(maps + side * side, call.mapSize, info.map_is_left ? 0 : 1, info.map_is_left ? 1 : 0);
    return product;
  };
  return multiply(device, call, make(to), make(static_cast<float *>(call.own.workspace)), to, size, size,
                  overlaps(from, to, call.countUnits() * size));
}

static recur_status combineMaps(const Device &device, const SummaryCall &call, bool isBackward, const float *first,
                                const float *second, float *result) {
  const recur_summary_info &info = *call.info;
  int64_t side = info.map_side, unit = call.mapSize;
  if (!side) {
    bool areSums = isExtremum(info) && !isBackward;
    return Composition(call, areSums ? abi::SumOperation : abi::ScaledOperation, result, unit)
        .size(call.stateSize)
        .left(first, unit)
        .right(second, unit)
        .run(device, call);
  }
  const float *left = info.map_is_left ? second : first, *right = info.map_is_left ? first : second;
  auto make = [&](float *to, int64_t unitOfResult) {
    return Composition(call, abi::PreciseProductOperation, to, unitOfResult)
        .size(side, side, side)
        .left(left, unit, side, 1)
        .right(right, unit, side, 1);
  };
  int64_t count = call.countUnits() * unit;
  if (recur_status status =
          multiply(device, call, make(result, unit), make(static_cast<float *>(call.own.workspace), side * side),
                   result, unit, side * side, overlaps(result, first, count) || overlaps(result, second, count)))
    return status;
  int64_t scales = side * side;
  return Composition(call, abi::ScaledOperation, result + scales, unit)
      .size(info.scale_size)
      .left(first + scales, unit)
      .right(second + scales, unit)
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

/// What no tokens make of a state, of all units, or of one for all of them.
static recur_status beginSummary(const Device &device, const SummaryCall &call, recur_summary result, int64_t units) {
  const recur_summary_info &info = *call.info;
  int64_t side = info.map_side, numbers = side * side;
  Composition map(call, side ? abi::IdentityOperation : abi::FillOperation, result.maps, call.mapSize);
  map.units(units);
  side ? map.size(side, side).value(1) : map.size(call.mapSize).value(info.map_start);
  if (recur_status status = map.run(device, call))
    return status;
  if (side && info.scale_size)
    if (recur_status status = Composition(call, abi::FillOperation, result.maps + numbers, call.mapSize)
                                  .units(units)
                                  .size(info.scale_size)
                                  .value(1)
                                  .run(device, call))
      return status;
  return Composition(call, abi::FillOperation, result.offsets, call.stateSize)
      .units(units)
      .size(call.stateSize)
      .value(info.offset_start)
      .run(device, call);
}

static recur_status summarise(const SummaryCall &call, recur_summary result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status = begin(call, device, {result.maps, result.offsets}))
    return status;
  // It is not made in place: a launch may write what becomes of a state before another has read what it was. Where
  // there are no tokens, nothing is launched.
  int64_t largest = countLargest(call);
  char *room = static_cast<char *>(call.own.workspace) + call.resolved.workerBytes - countStartBytes(largest);
  recur_summary starts = {reinterpret_cast<float *>(room),
                          reinterpret_cast<float *>(room + countStartBytes(largest) / 2)};
  bool areAllThere = call.own.T > 0 && !isPacked(call.own);
  if (recur_status status = areAllThere ? RECUR_OK : beginSummary(device, call, result, call.countUnits()))
    return status;
  if (recur_status status = beginSummary(device, call, starts, 1))
    return status;
  const recur_summary_info &info = *call.info;
  const recur_array_info &state = getStateInfo(call.resolved.recurrence, info.state);
  int64_t side = info.map_side, heads = call.resolved.heads;
  recur_array_info offsets = state, scales = {"scales", RECUR_STATE, RECUR_F32, 0, 1, {info.scale_size, 0}},
                   maps = {"maps", RECUR_STATE, RECUR_F32, 0, 2, {side, side}};
  offsets.dtype = RECUR_F32;
  Call piece = makePiece(call, *info.launches);
  auto add = [&](const Argument &argument) { piece.arguments[piece.argumentCount++] = argument; };
  auto addPart = [&](const recur_array_info &part, Role role, float *data, int64_t unit) {
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
    argument.spanBytes = (isShared ? 1 : call.countUnits()) * unit * argument.elementBytes;
    add(argument);
  };
  const Argument *initial = call.resolved.arguments;
  for (; initial->role != Role::Initial; ++initial)
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
    if (info.scale_size)
      addPart(scales, role, parts.maps + side * side, call.mapSize);
    addPart(side ? maps : offsets, role, parts.maps, call.mapSize);
    addPart(offsets, role, parts.offsets, call.stateSize);
  }
  return launchKernel(device, piece, *info.launches);
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
  if (recur_status status = Composition(call, abi::FillOperation, result.offsets, call.stateSize)
                                .size(call.stateSize) // a state that no result depends on is not carried
                                .run(device, call))
    return status;
  int32_t state = call.info->state;
  bool carried = isCarried(call.resolved.recurrence, state);
  if (carried)
    if (recur_status status = runChain(device, call.resolved, {state, isKnown, nullptr, result.offsets}))
      return status;
  if (!call.hasBackwardMap())
    return RECUR_OK;
  if (recur_status status = Composition(call, abi::FillOperation, result.maps, call.mapSize)
                                .size(call.mapSize)
                                .value(carried ? 1 : 0)
                                .run(device, call))
    return status;
  return carried ? runChain(device, call.resolved, {state, nullptr, result.maps, result.maps}) : RECUR_OK;
}

static recur_status apply(const SummaryCall &call, bool isBackward, recur_summary given, const float *states,
                          float *result) {
  if (call.countUnits() == 0)
    return RECUR_OK;
  Device device;
  if (recur_status status = begin(call, device, {given.maps, given.offsets, states, result}))
    return status;
  return applyParts(device, call, isBackward, given.maps, given.offsets, states, result);
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
  if (recur_status status =
          applyParts(device, call, isBackward, outer.maps, outer.offsets, inner.offsets, result.offsets))
    return status;
  return result.maps ? combineMaps(device, call, isBackward, first.maps, second.maps, result.maps) : RECUR_OK;
}

const SummaryMachine recur::runtime::cudaSummaries = {findSummaries, plan, summarise, summariseBack, combine, apply};
