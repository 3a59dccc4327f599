// Gradients on a GPU. Of the sequences that go together: forward over all parts but the last, for the states at the
// start of each; then from the last part to the first, where the states at the start of each of its chunks are found,
// and the gradient's launches go back over them. What came out for each head and each sequence is summed behind that.
#include "Runtime/CUDA/ChainSummaries.h"
#include "Runtime/CUDA/GradientSpace.h"
#include "Runtime/CUDA/Launch.h"
#include "Runtime/CUDA/Sums.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;

namespace {

/// A call backward of sequences that go together.
class Backward {
public:
  /// With a chain what is wanted is that, and no gradient.
  Backward(const Device &device, const Call &resolved, const ChainCall *chain = nullptr);
  recur_status run();

private:
  recur_status runTogether(int64_t first, int64_t count);
  recur_status runStates(int64_t part, bool keeps);
  recur_status runGradient(int64_t part);
  recur_status addHeads();
  recur_status addParams();
  recur_status fillZeros();

  void beginPart(int64_t part, const recur_kernel_info &kernel);
  void add(const Argument &argument) { piece.arguments[piece.argumentCount++] = argument; }
  Argument ofTokens(const Argument &given) const;
  Argument ofSequences(const Argument &given) const;
  Argument inWorkspace(const recur_array_info &info, Role role, int64_t place, int64_t sequence) const;
  Argument getStart(int32_t state, int64_t part, Role role) const;
  Argument getKept(int32_t index, Role role) const;
  recur_status roundKept();
  Argument getCarried(int32_t index, int64_t part, bool isBehind) const;
  Argument getChained(int32_t state, bool isBehind) const;
  bool hasParams() const { return &kernel != gradient.chain_launches; }
  Argument getInputGradient(int32_t input) const;
  Argument getCotangent(int32_t output) const;
  int64_t getKeptRow(int64_t token) const { return firstRow + token / resolved.call->kept_interval; }

  const Device &device;
  const Call &resolved;
  const recur_gradient_info &gradient;
  const ChainCall *chain;          // null: of all gradients
  const recur_kernel_info &kernel; // that goes back
  const int32_t *kept;             // states that it takes
  int32_t keptCount;
  const int32_t *starts; // states that it takes as they are before the tokens
  int32_t startCount;
  GradientArguments arguments;
  GradientSpace space;
  char *workspace;
  bool arePacked;                          // and go together
  recur_array_info perHead[mostArguments]; // shared inputs, as if they were not
  recur_array_info sums[mostArguments];    // params, as float32 of each sequence

  int64_t first = 0, count = 0, parts = 1; // of the sequences that go together
  Sequence sequence = {};                  // each of them; all tokens where they are packed
  int64_t firstRow = 0, rowsOfSequence = 0;
  int64_t begin = 0, tokens = 0; // of the part
  recur_call call;
  Call piece; // whose arguments are numbered as a kernel's
};

} // namespace

Backward::Backward(const Device &device, const Call &resolved, const ChainCall *chain)
    : device(device), resolved(resolved), gradient(*resolved.recurrence->gradient), chain(chain),
      kernel(chain && gradient.chain_launches ? *gradient.chain_launches : getRunLaunches(resolved)),
      kept(hasParams() ? gradient.kept : gradient.chain_kept),
      keptCount(hasParams() ? gradient.kept_count : gradient.chain_kept_count),
      starts(hasParams() ? gradient.starts : gradient.chain_starts),
      startCount(hasParams() ? gradient.start_count : gradient.chain_start_count), arguments(resolved),
      space(arrangeGradient(resolved, resolved.keptChunks)), workspace(static_cast<char *>(resolved.call->workspace)),
      arePacked(isPacked(*resolved.call) && !goOneByOne(resolved)), call(*resolved.call) {
  for (int32_t i = 0; i < arguments.inputs; ++i) {
    perHead[i] = *arguments.input[i].info;
    perHead[i].shared = 0;
  }
  for (int32_t i = 0; i < arguments.params; ++i) {
    sums[i] = *arguments.param[i].info;
    sums[i].kind = RECUR_STATE;
    sums[i].dtype = RECUR_F32;
  }
  piece.machine = resolved.machine;
  piece.recurrence = resolved.recurrence;
  piece.call = &call;
  piece.heads = resolved.heads;
  piece.groups = resolved.groups;
  piece.keptCount = 0;
  piece.leftAlone = resolved.leftAlone;
  call.kept_interval = 0;
  if (!arePacked) {
    call.sequence_offsets = call.device_offsets = nullptr;
    call.sequence_count = 0;
  }
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Those of the part's tokens.
Argument Backward::ofTokens(const Argument &given) const {
  Argument argument = given;
  if (given.data && given.spanBytes)
    argument.data = given.at(sequence.entry, sequence.begin + begin, 0);
  return argument;
}

Argument Backward::ofSequences(const Argument &given) const {
  Argument argument = given;
  if (given.data && given.spanBytes)
    argument.data = given.at(first, 0, 0);
  return argument;
}

/// Float32 of each head of each sequence, of which the first is `sequence` behind the place.
Argument Backward::inWorkspace(const recur_array_info &info, Role role, int64_t place, int64_t sequence) const {
  Argument argument = {};
  argument.info = &info;
  argument.role = role;
  argument.elements = countElements(info);
  argument.elementBytes = sizeof(float);
  argument.counts[0] = count;
  argument.counts[1] = 1;
  argument.counts[2] = resolved.heads;
  argument.strides[2] = argument.elements;
  argument.strides[0] = argument.strides[1] = argument.elements * resolved.heads;
  argument.data = workspace + place + sequence * argument.strides[0] * argument.elementBytes;
  argument.spanBytes = count * argument.strides[0] * argument.elementBytes;
  return argument;
}

/// A state before the part.
Argument Backward::getStart(int32_t state, int64_t part, Role role) const {
  const Argument &initial = arguments.initial[state];
  if (resolved.call->kept_interval) {
    Argument argument = resolved.arguments[resolved.argumentCount + state];
    argument.role = role;
    argument.data = resolved.getKept(state, getKeptRow(part * space.partTokens), 0);
    argument.strides[0] *= rowsOfSequence;
    return argument;
  }
  if (part == 0)
    return ofSequences(initial);
  return inWorkspace(*initial.info, role, space.starts[state], (part - 1) * count);
}

/// A state at the start of each chunk of the part.
Argument Backward::getKept(int32_t index, Role role) const {
  int32_t state = kept[index], place = findKeptPlace(gradient, state);
  Argument argument = inWorkspace(*arguments.initial[state].info, role, space.kept[place], 0);
  argument.elementBytes = getTypeBytes(getKeptType(gradient, place));
  int64_t row = argument.strides[1], chunks = countPartChunks(resolved, tokens), rows = chunks;
  if (hasAllKept(resolved) && !isRounded(resolved, place)) {
    argument.data = resolved.arguments[resolved.argumentCount + state].data;
    if (!handsOver(resolved))
      argument.data += getKeptRow(begin) * row * argument.elementBytes;
    rows = rowsOfSequence;
  }
  argument.strides[0] = arePacked ? row : rows * row;
  argument.spanBytes = chunks * row * argument.elementBytes; // none of no tokens
  return argument;
}

/// Launches may take in 16 bits what the caller kept in float32.
recur_status Backward::roundKept() {
  for (int32_t place = 0; place < gradient.kept_count; ++place) {
    if (!hasAllKept(resolved) || !isRounded(resolved, place))
      continue;
    recur_array_info info = *arguments.initial[gradient.kept[place]].info;
    info.dtype = getKeptType(gradient, place);
    Argument rounded = inWorkspace(info, Role::KeptOut, space.kept[place], 0);
    rounded.counts[0] = 1;
    rounded.counts[1] = count * rowsOfSequence;
    const char *given = resolved.getKept(gradient.kept[place], firstRow, 0);
    Slices slices = {given, RECUR_F32, 1, 0, {0, rounded.strides[1], rounded.strides[2]}};
    if (recur_status status = putSum(device, resolved, rounded, slices, /*adds=*/false))
      return status;
  }
  return RECUR_OK;
}

/// The cotangent of a state from behind all tokens or before them, where a chain is wanted.
Argument Backward::getChained(int32_t state, bool isBehind) const {
  const float *data = state != chain->state ? nullptr : isBehind ? chain->behind : chain->before;
  if (isBehind && chain->isKnown && chain->isKnown[state])
    return ofSequences(arguments.finalCotangent[state]);
  Argument argument = inWorkspace(*arguments.initial[state].info, Role::Initial, 0, first);
  argument.data = nullptr;
  if (int64_t stride = data ? chain->stride : 0) {
    argument.strides[2] = stride;
    argument.strides[0] = argument.strides[1] = stride * resolved.heads;
  }
  if (data)
    argument.data = reinterpret_cast<char *>(const_cast<float *>(data)) + // which is only read behind the tokens
                    first * argument.strides[0] * argument.elementBytes;
  return argument;
}

/// What is carried, from behind the part or before it.
Argument Backward::getCarried(int32_t index, int64_t part, bool isBehind) const {
  int32_t what = gradient.carried[index];
  Role role = isBehind ? Role::Initial : Role::Final;
  Argument argument;
  if (what < 0) {
    argument = inWorkspace(sums[-1 - what], role, space.carried[index], first);
    if (isBehind && part + 1 == parts)
      argument.data = nullptr;
  } else if (isBehind ? part + 1 == parts : part == 0) {
    argument = chain ? getChained(what, isBehind)
                     : ofSequences(isBehind ? arguments.finalCotangent[what] : arguments.initialGradient[what]);
    argument.role = role;
  } else {
    argument = inWorkspace(*arguments.initial[what].info, role, space.carried[index], 0);
  }
  if (!argument.data)
    argument.spanBytes = 0;
  return argument;
}

/// The caller's; or of each head, where the caller's is a sum.
Argument Backward::getInputGradient(int32_t input) const {
  const Argument &given = arguments.inputGradient[input];
  if (!isSummed(resolved, *given.info) || !given.data)
    return ofTokens(given);
  Argument argument = given;
  argument.info = &perHead[input];
  argument.data = workspace + space.perHead[input];
  argument.counts[2] = resolved.heads;
  argument.strides[2] = given.elements;
  argument.strides[1] = given.elements * resolved.heads;
  argument.strides[0] = argument.strides[1] * tokens;
  return argument;
}

/// The caller's, or a token's zeros for all tokens.
Argument Backward::getCotangent(int32_t output) const {
  Argument argument = ofTokens(arguments.outputCotangent[output]);
  if (argument.data && (!chain || chain->isKnown))
    return argument;
  argument.data = workspace + space.zeros;
  argument.strides[0] = argument.strides[1] = argument.strides[2] = 0;
  argument.spanBytes = argument.elements * argument.elementBytes;
  return argument;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Into how many segments a sequence is cut follows from its length, and whether there are several parts from the
/// workspace: they are not cut then, so that its numbers depend on their own length alone.
void Backward::beginPart(int64_t part, const recur_kernel_info &kernel) {
  begin = part * space.partTokens;
  int64_t rest = sequence.tokens - begin;
  tokens = parts > 1 && rest > space.partTokens ? space.partTokens : rest;
  call.T = tokens;
  call.B = arePacked ? 1 : count;
  call.workspace = workspace + space.launches;
  piece.sequences = count;
  piece.plan = parts > 1 ? int32_t(RECUR_PLAN_CHUNK) : resolved.plan;
  piece.slots = count * resolved.heads;
  piece.slotBytes = roundUp(kernel.workspace_bytes);
  piece.argumentCount = 0;
}

/// Goes forward over the part: for the states at the start of its chunks, or for those behind it.
recur_status Backward::runStates(int64_t part, bool keeps) {
  beginPart(part, *gradient.states_launches);
  for (int32_t i = 0; i < arguments.inputs; ++i)
    add(ofTokens(arguments.input[i]));
  for (int32_t i = 0; i < arguments.params; ++i)
    add(arguments.param[i]);
  for (int32_t i = 0; i < arguments.states; ++i)
    add(getStart(i, part, Role::Initial));
  for (int32_t i = 0; i < arguments.states; ++i) {
    if (keeps)
      add({arguments.initial[i].info, Role::Final, nullptr, sizeof(float), 0, {}, {}, 0});
    else
      add(inWorkspace(*arguments.initial[i].info, Role::Final, space.starts[i], part * count));
  }
  for (int32_t i = 0; i < arguments.states; ++i) {
    Argument kept = {arguments.initial[i].info, Role::KeptOut, nullptr, sizeof(float), 0, {}, {}, 0};
    for (int32_t j = 0; keeps && j < keptCount; ++j)
      if (this->kept[j] == i)
        kept = getKept(j, Role::KeptOut);
    add(kept);
  }
  return launchKernel(device, piece, *gradient.states_launches);
}

recur_status Backward::runGradient(int64_t part) {
  beginPart(part, kernel);
  for (int32_t i = 0; i < arguments.inputs; ++i)
    add(ofTokens(arguments.input[i]));
  for (int32_t i = 0; i < arguments.outputs; ++i)
    add(getCotangent(i));
  for (int32_t i = 0; i < arguments.params; ++i)
    add(arguments.param[i]);
  auto addCarried = [&](bool isBehind) {
    for (int32_t i = 0; i < gradient.carried_count; ++i)
      if (gradient.carried[i] >= 0 || hasParams())
        add(getCarried(i, part, isBehind));
  };
  addCarried(/*isBehind=*/true);
  for (int32_t i = 0; i < startCount; ++i)
    add(getStart(starts[i], part, Role::Initial));
  for (int32_t i = 0; i < arguments.inputs && hasParams(); ++i)
    if (!isLeftOut(resolved.recurrence, arguments.input[i].info))
      add(getInputGradient(i));
  addCarried(/*isBehind=*/false);
  for (int32_t i = 0; i < keptCount; ++i)
    add(getKept(i, Role::KeptIn));
  return launchKernel(device, piece, kernel);
}

/// The gradients of shared inputs, which came out for each head.
recur_status Backward::addHeads() {
  int64_t perGroup = resolved.groups ? resolved.heads / resolved.groups : 1;
  for (int32_t i = 0; i < arguments.inputs; ++i) {
    const Argument &given = arguments.inputGradient[i];
    if (!given.data || !given.spanBytes || !isSummed(resolved, *given.info))
      continue;
    Argument sum = ofTokens(given), heads = getInputGradient(i);
    sum.counts[0] = call.B;
    sum.counts[1] = tokens;
    Slices slices = {heads.data,
                     given.info->dtype,
                     perGroup,
                     heads.strides[2],
                     {heads.strides[0], heads.strides[1], perGroup * heads.strides[2]}};
    if (recur_status status =
            putSum(device, resolved, sum, slices, /*adds=*/false, arePacked ? resolved.call->device_offsets : nullptr))
      return status;
  }
  return RECUR_OK;
}

recur_status Backward::runTogether(int64_t firstSequence, int64_t sequences) {
  first = firstSequence;
  count = sequences;
  sequence = arePacked ? Sequence{0, 0, resolved.call->T} : getSequence(resolved, first);
  parts = space.partTokens ? (sequence.tokens + space.partTokens - 1) / space.partTokens : 1;
  parts = parts < 1 ? 1 : parts;
  if (handsOver(resolved)) {
    rowsOfSequence = arePacked ? 0 : countHandedRows(resolved) / resolved.sequences;
  } else if (int64_t interval = resolved.call->kept_interval) {
    firstRow = arePacked ? 0 : countKeptRows(resolved, first);
    rowsOfSequence = (sequence.tokens + interval - 1) / interval;
  }
  if (recur_status status = roundKept())
    return status;
  bool takesStates = keptCount && !hasAllKept(resolved) && sequence.tokens;
  for (int64_t part = 0; takesStates && needsStates(resolved) && part + 1 < parts; ++part)
    if (recur_status status = runStates(part, /*keeps=*/false))
      return status;
  for (int64_t part = parts; part-- > 0;) {
    if (takesStates)
      if (recur_status status = runStates(part, /*keeps=*/true))
        return status;
    if (recur_status status = runGradient(part))
      return status;
    if (recur_status status = addHeads())
      return status;
  }
  return RECUR_OK;
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

/// The gradients of params, which came out for each sequence.
recur_status Backward::addParams() {
  for (int32_t i = 0; i < gradient.carried_count; ++i) {
    if (gradient.carried[i] >= 0)
      continue;
    const Argument &sum = arguments.paramGradient[-1 - gradient.carried[i]];
    if (!sum.data || !sum.spanBytes)
      continue;
    Slices slices = {workspace + space.carried[i],
                     RECUR_F32,
                     resolved.sequences,
                     resolved.heads * sum.elements,
                     {0, 0, sum.elements}};
    if (recur_status status = putSum(device, resolved, sum, slices, /*adds=*/false))
      return status;
  }
  return RECUR_OK;
}

recur_status Backward::fillZeros() {
  int64_t bytes = 0;
  for (int32_t i = 0; i < arguments.outputs; ++i)
    if (const Argument &argument = arguments.outputCotangent[i]; !argument.data || (chain && !chain->isKnown))
      bytes = argument.elements * argument.elementBytes > bytes ? argument.elements * argument.elementBytes : bytes;
  return putZeros(device, resolved, workspace + space.zeros, (bytes + 3) / 4);
}

recur_status Backward::run() {
  if (recur_status status = fillZeros())
    return status;
  if (resolved.sequences && resolved.heads) {
    if (!goOneByOne(resolved)) {
      if (recur_status status = runTogether(0, resolved.sequences))
        return status;
    } else {
      for (int64_t i = 0; i < resolved.sequences; ++i)
        if (recur_status status = runTogether(i, 1))
          return status;
    }
  }
  return chain ? RECUR_OK : addParams();
}

bool recur::runtime::isCarried(const recur_recurrence *recurrence, int32_t state) {
  const recur_gradient_info &gradient = *recurrence->gradient;
  for (int32_t i = 0; i < gradient.carried_count; ++i)
    if (gradient.carried[i] == state)
      return true;
  return false;
}

static bool canRun(const recur_recurrence *recurrence) { return cudaDevice.canRun(recurrence); }
static recur_status refuse(const recur_recurrence *recurrence) { return cudaDevice.refuse(recurrence); }

/// Parts of sequences begin and end with float32, as launches of other parts leave it.
static recur_status checkStates(const recur_recurrence *recurrence) {
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (const recur_array_info &info = recurrence->arrays[i]; info.kind == RECUR_STATE && info.dtype != RECUR_F32)
      return fail(RECUR_NO_PLAN,
                  "%s: the state '%s' is of 16 bits, with which there are no gradients on a GPU; build with it in f32",
                  recurrence->name, info.name);
  return RECUR_OK;
}

static recur_status execute(const Call &resolved) {
  if (recur_status status = checkStates(resolved.recurrence))
    return status;
  Device device;
  if (recur_status status = findDevice(resolved, device))
    return status;
  if (recur_status status = checkMemory(*device.cuda, resolved))
    return status;
  return Backward(device, resolved).run();
}

recur_status recur::runtime::runChain(const Device &device, const Call &resolved, const ChainCall &chain) {
  if (recur_status status = checkStates(resolved.recurrence))
    return status;
  return Backward(device, resolved, &chain).run();
}

static recur_status addTo(const Call &resolved, const Argument &gradient, const char *more) {
  Device device;
  if (recur_status status = findDevice(resolved, device))
    return status;
  return putSum(device, resolved, gradient, {more, gradient.info->dtype, 1, 0, {0, 0, gradient.elements}},
                /*adds=*/true);
}

const Machine recur::runtime::cudaBackward = {canRun, refuse, planCUDAGradient, execute, addTo, nullptr};
