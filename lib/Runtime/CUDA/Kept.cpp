#include "Runtime/CUDA/Kept.h"
#include "Runtime/CUDA/Phases.h"

using namespace recur::runtime;

/// Its only launch has more arrays than arguments, and is no phase.
static bool keepsStates(const Call &resolved, const recur_kernel_info &kernel) {
  return kernel.launch_count == 1 && !isInPhases(kernel) && kernel.launches->array_count > resolved.argumentCount &&
         (kernel.trees || !resolved.call->parents);
}

const recur_kernel_info *recur::runtime::findKeeper(const Call &resolved) {
  if (!goesByTokens(*resolved.call) && (!resolved.keptCount || resolved.call->kept_interval != 1))
    return nullptr;
  for (int32_t i = 0; i < resolved.recurrence->kernel_count; ++i) {
    const recur_kernel_info &kernel = resolved.recurrence->kernels[i];
    bool isMeant = resolved.plan == RECUR_PLAN_AUTO || resolved.plan == kernel.plan;
    if (isMeant && kernel.chunk <= 1 && keepsStates(resolved, kernel))
      return &kernel;
  }
  return nullptr;
}

/// The rows of a sequence lie behind those of the sequences before it, a row for each of their tokens. Kernels count
/// from the first of all tokens, which may be before the first sequence.
void recur::runtime::fillKept(int64_t *words, const Call &resolved, int32_t state) {
  for (int i = 0; i < abi::arrayWords; ++i)
    words[i] = 0;
  words[abi::GroupWord] = words[abi::FirstTokensWord] = 1; // by which the kernel divides
  if (state >= resolved.keptCount)
    return;
  const Argument &argument = resolved.arguments[resolved.argumentCount + state];
  words[abi::DataWord] = argument.spanBytes ? reinterpret_cast<int64_t>(argument.data) : 0;
  if (const int64_t *offsets = resolved.call->sequence_offsets; offsets && argument.spanBytes)
    words[abi::DataWord] -= offsets[0] * argument.strides[0] * argument.elementBytes;
  words[abi::SequenceStrideWord] = isPacked(*resolved.call) ? 0 : resolved.call->T * argument.strides[0];
  words[abi::TokenStrideWord] = words[abi::FirstStrideWord] = argument.strides[0];
  words[abi::HeadStrideWord] = argument.strides[2];
  words[abi::RowStrideWord] = argument.info->rank == 2 ? argument.info->shape[1] : 1;
  words[abi::ColumnStrideWord] = 1;
}

int64_t recur::runtime::countForkBytes(const Call &resolved) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < resolved.recurrence->array_count; ++i)
    if (const recur_array_info &info = resolved.recurrence->arrays[i]; info.kind == RECUR_STATE)
      bytes += countFloatBytes(info);
  return bytes * countForks(*resolved.call);
}

void recur::runtime::fillTrees(int64_t *words, const Call &resolved) {
  const recur_call &call = *resolved.call;
  words[abi::ParentsWord] = reinterpret_cast<int64_t>(call.parents);
  words[abi::ParentColumnsWord] = call.parent_columns;
  words[abi::ParentStrideWord] = call.parent_stride;
  words[abi::TreeOffsetWord] = resolved.slotBytes - countForkBytes(resolved);
}

/// Of fewer sequences at once, launches may have more CTAs for each.
int64_t recur::runtime::countRowBytes(const Call &resolved, const recur_kernel_info &kernel) {
  recur_call call = *resolved.call;
  call.T = call.kept_interval < call.T ? call.kept_interval : call.T;
  call.sequence_offsets = call.device_offsets = nullptr;
  Call piece;
  piece.call = &call;
  piece.sequences = isPacked(*resolved.call) ? 1 : resolved.sequences;
  piece.heads = resolved.heads;
  piece.plan = resolved.plan;
  return arrangePhases(piece, kernel).bytes;
}

namespace {

/// The sequences that go from row to row together, all of so many tokens.
class Rows {
public:
  Rows(const Call &resolved, int64_t firstSequence, int64_t sequences, int64_t firstRow);
  recur_status run(recur_status (*run)(const Call &piece));

private:
  void setTokens(int64_t begin, int64_t count);
  void setStates(Role role, int64_t row);

  const Call &whole;
  int64_t firstSequence, firstRow, rowsOfSequence;
  Sequence first;
  recur_call call;
  Call piece;
};

} // namespace

static int64_t countRows(int64_t tokens, int64_t interval) { return tokens / interval + (tokens % interval != 0); }

Rows::Rows(const Call &resolved, int64_t firstSequence, int64_t sequences, int64_t firstRow)
    : whole(resolved), firstSequence(firstSequence), firstRow(firstRow), first(getSequence(resolved, firstSequence)),
      call(*resolved.call), piece(resolved) {
  rowsOfSequence = countRows(first.tokens, whole.call->kept_interval);
  call.kept_interval = 0;
  call.kept_states = nullptr;
  call.B = sequences;
  call.sequence_offsets = call.device_offsets = nullptr;
  call.sequence_count = 0;
  piece.call = &call;
  piece.sequences = sequences;
  piece.keptCount = 0;
  piece.keptRows = 0;
}

/// Of inputs and outputs; and states as the caller has them.
void Rows::setTokens(int64_t begin, int64_t count) {
  call.T = count;
  for (int32_t i = 0; i < piece.argumentCount; ++i) {
    const Argument &given = whole.arguments[i];
    Argument &argument = piece.arguments[i];
    bool isState = given.info->kind == RECUR_STATE, isParam = given.info->kind == RECUR_PARAM;
    if (isState)
      argument = given.from(firstSequence);
    else if (given.data && !isParam)
      argument.data = given.at(first.entry, first.begin + begin, 0);
  }
}

/// States before a piece, or behind it, are a row's.
void Rows::setStates(Role role, int64_t row) {
  int32_t state = 0;
  for (int32_t i = 0; i < piece.argumentCount; ++i) {
    if (piece.arguments[i].role != role)
      continue;
    Argument &argument = piece.arguments[i];
    argument = whole.arguments[whole.argumentCount + state];
    argument.role = role;
    argument.data = whole.getKept(state++, firstRow + row, 0);
    argument.strides[0] *= rowsOfSequence;
  }
}

recur_status Rows::run(recur_status (*run)(const Call &piece)) {
  int64_t interval = whole.call->kept_interval;
  setTokens(0, 0);
  if (rowsOfSequence > 0) // no tokens take the states to the first row
    setStates(Role::Final, 0);
  if (recur_status status = run(piece))
    return status;
  for (int64_t row = 0; row < rowsOfSequence; ++row) {
    int64_t begin = row * interval, rest = first.tokens - begin;
    setTokens(begin, rest < interval ? rest : interval);
    setStates(Role::Initial, row);
    if (row + 1 < rowsOfSequence)
      setStates(Role::Final, row + 1);
    if (recur_status status = run(piece))
      return status;
  }
  return RECUR_OK;
}

recur_status recur::runtime::runByRows(const Call &resolved, recur_status (*run)(const Call &piece)) {
  if (!isPacked(*resolved.call))
    return Rows(resolved, 0, resolved.sequences, 0).run(run);
  for (int64_t i = 0; i < resolved.sequences; ++i)
    if (recur_status status = Rows(resolved, i, 1, countKeptRows(resolved, i)).run(run))
      return status;
  return RECUR_OK;
}
