// The checks of sizes, offsets and the descriptor, and the workspace that they ask for.
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"
#include "Runtime/Common/Starts.h"
#include <cstdio>

using namespace recur::runtime;

recur_status recur::runtime::checkRecurrence(const recur_recurrence *recurrence) {
  if (!recurrence)
    return fail(RECUR_NULL_POINTER, "the recurrence is null; pass the address of NAME_recurrence");
  if (recurrence->abi_version != RECUR_ABI_VERSION)
    return fail(RECUR_WRONG_VERSION,
                "the kernel is of ABI version %u, this runtime of %u; build the kernel with the recurc that came with "
                "the runtime",
                recurrence->abi_version, unsigned(RECUR_ABI_VERSION));
  int64_t arguments = recurrence->array_count;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    arguments += recurrence->arrays[i].kind == RECUR_STATE; // initial and final
  if (recurrence->array_count < 0 || arguments > mostArguments || recurrence->kernel_count < 1)
    return fail(RECUR_WRONG_VERSION, "%s: the kernel's description is damaged; build it again", recurrence->name);
  return RECUR_OK;
}

static recur_status checkSizes(const recur_recurrence *recurrence, const recur_call *call) {
  const char *name = recurrence->name;
  struct {
    const char *name;
    int64_t value;
  } sizes[] = {{"B", call->B}, {"T", call->T}, {"H", call->H}, {"Hq", call->Hq}, {"threads", call->threads}};
  for (auto [sizeName, value] : sizes)
    if (value < 0)
      return fail(RECUR_BAD_SIZE, "%s: %s is %lld; it must be at least 0", name, sizeName, (long long)value);
  if (call->Hq && call->H % call->Hq != 0)
    return fail(RECUR_BAD_SIZE, "%s: Hq = %lld does not divide H = %lld", name, (long long)call->Hq,
                (long long)call->H);
  int64_t units, all;
  if (__builtin_mul_overflow(call->B, call->H, &units) || __builtin_mul_overflow(units, call->T, &all))
    return fail(RECUR_BAD_SIZE, "%s: B * T * H is too large: B = %lld, T = %lld, H = %lld", name, (long long)call->B,
                (long long)call->T, (long long)call->H);
  if (call->plan < RECUR_PLAN_AUTO || call->plan > RECUR_PLAN_TOKEN_LOOP)
    return fail(RECUR_NO_PLAN, "%s: there is no plan of the number %d; see recur_plan", name, int(call->plan));
  return RECUR_OK;
}

static constexpr uintptr_t handedAlignment = 16;

/// Of states that one call hands over to the other.
static recur_status checkHandedOver(const recur_recurrence *recurrence, const recur_call *call) {
  const char *name = recurrence->name;
  if (call->device == RECUR_CPU)
    return fail(RECUR_NO_PLAN,
                "%s: states are handed over on a GPU alone; a processor keeps them, every kept_interval tokens", name);
  if (!recurrence->gradient || !recurrence->gradient->handing_launches)
    return fail(RECUR_NO_PLAN,
                "%s: it has no kernel that hands states over to a gradient; recur_handed_rows says 0, and "
                "handed_states must be null",
                name);
  if (call->kept_interval)
    return fail(RECUR_NO_PLAN, "%s: states go to handed_states, or to kept_states, not to both", name);
  if (call->plan == RECUR_PLAN_STEP)
    return fail(RECUR_NO_PLAN, "%s: the plan step hands no states over", name);
  if (hasPools(*call))
    return fail(RECUR_NO_PLAN, "%s: a call on pools hands no states over", name);
  if (call->handed_values && !recurrence->gradient->handed_bytes)
    return fail(RECUR_NO_PLAN,
                "%s: it hands nothing but states over; recur_handed_bytes says 0, and handed_values must be null",
                name);
  if (reinterpret_cast<uintptr_t>(call->handed_values) % handedAlignment)
    return fail(RECUR_BAD_POINTER, "%s: handed_values is not aligned to %d bytes", name, int(handedAlignment));
  return RECUR_OK;
}

static recur_status checkKept(const recur_recurrence *recurrence, const recur_call *call, bool isBackward) {
  const char *name = recurrence->name;
  if (call->handed_states)
    if (recur_status status = checkHandedOver(recurrence, call))
      return status;
  if (call->handed_values && !call->handed_states)
    return fail(RECUR_NULL_POINTER, "%s: handed_values are handed over beside states alone, and handed_states is null",
                name);
  if (call->kept_interval < 0)
    return fail(RECUR_BAD_SIZE, "%s: kept_interval is %lld; it must be at least 0", name,
                (long long)call->kept_interval);
  if (isBackward && call->kept_interval % recurrence->gradient->chunk != 0)
    return fail(RECUR_BAD_SIZE, "%s: kept_interval is %lld; for the gradient it must be a multiple of %d", name,
                (long long)call->kept_interval, int(recurrence->gradient->chunk));
  return RECUR_OK;
}

/// Of tokens that are gone over again.
static recur_status checkReplayed(const recur_recurrence *recurrence, const recur_call *call) {
  const char *name = recurrence->name;
  auto count = (long long)call->replayed;
  if (call->replayed < 0 || call->replayed > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: replayed is %lld; it must be at least 0, and at most %d", name, count,
                int(INT32_MAX));
  if (!call->replayed)
    return RECUR_OK;
  if (!call->accepted)
    return fail(RECUR_NULL_POINTER,
                "%s: replayed is %lld, but accepted, which says how many of these were taken, is null", name, count);
  if (!call->state_indices)
    return fail(RECUR_NULL_POINTER, "%s: replayed is %lld, but state_indices is null; tokens are replayed on pools",
                name, count);
  if (call->state_columns)
    return fail(RECUR_BAD_SIZE,
                "%s: state_columns is %lld; with replayed, accepted counts tokens, and a sequence has one row", name,
                (long long)call->state_columns);
  if (call->token_indices || call->interval || call->kept_interval)
    return fail(RECUR_NO_PLAN,
                "%s: with replayed the state after the tokens that were taken is stored, and none for %s", name,
                call->token_indices ? "token_indices"
                : call->interval    ? "interval"
                                    : "kept_interval");
  if (!isPacked(*call) && call->T < call->replayed)
    return fail(RECUR_BAD_SIZE, "%s: T is %lld, and replayed, which counts the first of these tokens, is %lld", name,
                (long long)call->T, count);
  return RECUR_OK;
}

/// Of the rows of tokens that are tried, and of those of which some were taken.
static recur_status checkTokens(const recur_recurrence *recurrence, const recur_call *call) {
  const char *name = recurrence->name;
  if (!call->token_indices && call->token_columns)
    return fail(RECUR_NULL_POINTER, "%s: token_columns is %lld, but token_indices is null", name,
                (long long)call->token_columns);
  if (!call->accepted && call->state_columns)
    return fail(RECUR_NULL_POINTER, "%s: state_columns is %lld, but accepted is null", name,
                (long long)call->state_columns);
  if (call->accepted && !call->state_indices)
    return fail(RECUR_NULL_POINTER, "%s: accepted counts along the rows of state_indices, which is null", name);
  if (call->accepted && !call->replayed && (call->state_columns < 1 || call->state_columns > INT32_MAX))
    return fail(RECUR_BAD_SIZE, "%s: state_columns is %lld; accepted counts along these rows, from 1 on", name,
                (long long)call->state_columns);
  if (!call->token_indices)
    return RECUR_OK;
  if (call->final_indices)
    return fail(RECUR_BAD_INDEX,
                "%s: token_indices and final_indices are given; the row after the last token is one of token_indices",
                name);
  if (call->kept_interval)
    return fail(RECUR_NO_PLAN, "%s: states go to token_indices, or to kept_states, not to both", name);
  if (call->token_columns < 1 || call->token_columns > RECUR_MOST_KEPT_TOKENS)
    return fail(RECUR_BAD_SIZE, "%s: token_columns is %lld; the states after 1 to %d tokens are kept", name,
                (long long)call->token_columns, RECUR_MOST_KEPT_TOKENS);
  if (!isPacked(*call) && call->T > call->token_columns)
    return fail(RECUR_BAD_SIZE, "%s: T is %lld, and token_indices has rows for %lld tokens of a sequence", name,
                (long long)call->T, (long long)call->token_columns);
  return RECUR_OK;
}

/// Of the rows of states at multiples of a number of tokens.
static recur_status checkInterval(const recur_recurrence *recurrence, const recur_call *call) {
  const char *name = recurrence->name;
  if (call->interval < 0 || call->interval > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: interval is %lld; it must be at least 0, and at most %d", name,
                (long long)call->interval, int(INT32_MAX));
  if (!call->interval && (call->interval_indices || call->interval_columns || call->positions))
    return fail(RECUR_BAD_SIZE, "%s: %s is given, but interval is 0", name,
                call->interval_indices   ? "interval_indices"
                : call->interval_columns ? "interval_columns"
                                         : "positions");
  if (!call->interval)
    return RECUR_OK;
  if (!call->interval_indices)
    return fail(RECUR_NULL_POINTER, "%s: interval is %lld, but interval_indices is null", name,
                (long long)call->interval);
  if (!call->state_indices && !call->final_indices)
    return fail(
        RECUR_NULL_POINTER,
        "%s: states go to interval_indices beside the final ones, for which state_indices or final_indices must "
        "be given",
        name);
  if (call->token_indices)
    return fail(RECUR_NO_PLAN, "%s: states go to token_indices, or to interval_indices, not to both", name);
  if (call->kept_interval)
    return fail(RECUR_NO_PLAN, "%s: states go to interval_indices, or to kept_states, not to both", name);
  if (call->T > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: T is %lld; with interval it is at most %d", name, (long long)call->T,
                int(INT32_MAX));
  if (call->interval_columns < 1 || call->interval_columns > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: interval_columns is %lld; it must be at least 1, and at most %d", name,
                (long long)call->interval_columns, int(INT32_MAX));
  if (int64_t count = call->T / call->interval; !isPacked(*call) && !call->positions && count > call->interval_columns)
    return fail(RECUR_BAD_SIZE,
                "%s: sequences come to %lld multiples of %lld tokens, and interval_indices has rows for %lld", name,
                (long long)count, (long long)call->interval, (long long)call->interval_columns);
  return RECUR_OK;
}

static recur_status checkPools(const recur_recurrence *recurrence, const recur_call *call, bool isBackward) {
  const char *name = recurrence->name;
  if (recur_status status = checkReplayed(recurrence, call))
    return status;
  if (recur_status status = checkTokens(recurrence, call))
    return status;
  if (recur_status status = checkInterval(recurrence, call))
    return status;
  if (!hasPools(*call)) {
    if (call->pool_rows)
      return fail(RECUR_NULL_POINTER, "%s: pool_rows is %lld, but state_indices and final_indices are null", name,
                  (long long)call->pool_rows);
    return RECUR_OK;
  }
  if (isBackward)
    return fail(RECUR_NO_PLAN, "%s: there are pools of states for calls forward alone", name);
  if (call->pool_rows < 0 || call->pool_rows > INT32_MAX)
    return fail(RECUR_BAD_SIZE, "%s: pool_rows is %lld; it must be at least 0, and at most %d", name,
                (long long)call->pool_rows, int(INT32_MAX));
  return RECUR_OK;
}

static recur_status checkOffsets(const recur_recurrence *recurrence, const recur_call *call) {
  const char *name = recurrence->name;
  if (!isPacked(*call)) {
    if (call->sequence_count != 0)
      return fail(RECUR_NULL_POINTER, "%s: sequence_count is %lld, but sequence_offsets is null", name,
                  (long long)call->sequence_count);
    return RECUR_OK;
  }
  const char *field = call->sequence_offsets ? "sequence_offsets" : "device_offsets";
  if (call->B != 1)
    return fail(RECUR_BAD_SIZE, "%s: with %s B must be 1, but it is %lld", name, field, (long long)call->B);
  if (call->sequence_count < 0)
    return fail(RECUR_BAD_SIZE, "%s: sequence_count is %lld; it must be at least 0", name,
                (long long)call->sequence_count);
  int64_t units;
  if (__builtin_mul_overflow(call->sequence_count, call->H, &units))
    return fail(RECUR_BAD_SIZE, "%s: sequence_count * H is too large", name);
  if (!call->sequence_offsets && call->kept_interval > 1)
    return fail(RECUR_NULL_POINTER,
                "%s: states are kept every %lld tokens, for which sequence_offsets must be given beside device_offsets",
                name, (long long)call->kept_interval);
  const int64_t *offsets = call->sequence_offsets;
  for (int64_t i = 0; offsets && i <= call->sequence_count; ++i) {
    if (offsets[i] < 0 || offsets[i] > call->T)
      return fail(RECUR_BAD_OFFSETS, "%s: sequence_offsets[%lld] is %lld, outside of 0 to T = %lld", name, (long long)i,
                  (long long)offsets[i], (long long)call->T);
    if (i && offsets[i] < offsets[i - 1])
      return fail(RECUR_BAD_OFFSETS, "%s: sequence_offsets decrease: [%lld] is %lld, after %lld", name, (long long)i,
                  (long long)offsets[i], (long long)offsets[i - 1]);
  }
  return RECUR_OK;
}

static constexpr const char *planNames[] = {"auto", "step", "chunk", "segment", "scan", "token-loop"};

/// `step, chunk`: what the recurrence has.
static const char *listPlans(const recur_recurrence *recurrence, char *text, size_t size) {
  size_t length = 0;
  text[0] = 0;
  for (int32_t i = 0; i < recurrence->kernel_count && length < size; ++i) {
    int32_t plan = recurrence->kernels[i].plan;
    bool isKnown = plan >= RECUR_PLAN_STEP && plan <= RECUR_PLAN_TOKEN_LOOP;
    length += snprintf(text + length, size - length, "%s%s", i ? ", " : "", isKnown ? planNames[plan] : "?");
  }
  return text;
}

Sequence recur::runtime::getSequence(const Call &call, int64_t index) {
  if (const int64_t *offsets = call.call->sequence_offsets)
    return {0, offsets[index], offsets[index + 1] - offsets[index]};
  return {index, 0, call.call->T};
}

int64_t recur::runtime::countKeptRows(const Call &call, int64_t sequences) {
  int64_t interval = call.call->kept_interval, rows = 0;
  if (!interval)
    return 0;
  auto countOf = [&](int64_t tokens) { return tokens / interval + (tokens % interval != 0); };
  if (!isPacked(*call.call))
    return sequences * countOf(call.call->T);
  if (!call.call->sequence_offsets) // a row for each token: no other interval was let through
    return call.call->T;
  for (int64_t i = 0; i < sequences; ++i)
    rows += countOf(getSequence(call, i).tokens);
  return rows;
}

int64_t recur::runtime::countHandedRows(const Call &call) {
  int64_t chunk = call.recurrence->gradient->chunk, tokens = call.call->T;
  if (isPacked(*call.call)) // each begins in a row of its own, wherever that is
    return tokens / chunk + call.sequences;
  return call.sequences * (tokens / chunk + (tokens % chunk != 0));
}

int64_t recur_handed_rows(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  if (resolveSizes(resolved, recurrence, call) != RECUR_OK)
    return -1;
  const recur_gradient_info *gradient = resolved.recurrence->gradient;
  return gradient && gradient->handing_launches ? countHandedRows(resolved) : 0;
}

int64_t recur::runtime::countHandedBytes(const Call &call) {
  return countHandedRows(call) * call.heads * call.recurrence->gradient->handed_bytes;
}

int64_t recur_handed_bytes(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  if (resolveSizes(resolved, recurrence, call) != RECUR_OK)
    return -1;
  const recur_gradient_info *gradient = resolved.recurrence->gradient;
  return gradient && gradient->handing_launches ? countHandedBytes(resolved) : 0;
}

int64_t recur_kept_rows(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  return resolveSizes(resolved, recurrence, call) == RECUR_OK ? resolved.keptRows : -1;
}

int64_t recur::runtime::countWorkspaceBytes(const Call &resolved) {
  return resolved.slots * resolved.slotBytes + resolved.records * resolved.recordBytes +
         resolved.workers * resolved.workerBytes + resolved.startBytes;
}

const recur_kernel_info *recur::runtime::chooseKernel(const recur_recurrence *recurrence, int32_t plan,
                                                      int64_t tokens) {
  const recur_kernel_info *best = nullptr;
  for (int32_t i = 0; i < recurrence->kernel_count; ++i) {
    const recur_kernel_info *kernel = &recurrence->kernels[i];
    if (plan != RECUR_PLAN_AUTO) {
      if (kernel->plan == plan)
        best = kernel;
    } else if (kernel->plan != RECUR_PLAN_SEGMENT) { // which is chosen by more than this
      if (!best || (kernel->tokens_from <= tokens && kernel->tokens_from >= best->tokens_from))
        best = kernel;
    }
  }
  return best;
}

int64_t recur::runtime::getKernelBytes(const recur_recurrence *recurrence, int32_t plan,
                                       const recur_kernel_info *segmented) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < recurrence->kernel_count; ++i) {
    const recur_kernel_info &kernel = recurrence->kernels[i];
    bool isMeant =
        plan == RECUR_PLAN_AUTO ? kernel.plan != RECUR_PLAN_SEGMENT || &kernel == segmented : kernel.plan == plan;
    if (isMeant && kernel.workspace_bytes > bytes)
      bytes = kernel.workspace_bytes;
  }
  return roundUp(bytes);
}

/// States are kept between chunks, of whichever kernel a sequence has.
static recur_status checkChunks(const recur_recurrence *recurrence, int32_t plan, int64_t interval) {
  for (int32_t i = 0; interval && i < recurrence->kernel_count; ++i) {
    const recur_kernel_info &kernel = recurrence->kernels[i];
    if ((plan == RECUR_PLAN_AUTO || plan == kernel.plan) && kernel.chunk > 1 && interval % kernel.chunk)
      return fail(RECUR_BAD_SIZE,
                  "%s: interval is %lld; it must be a multiple of %d, the tokens in a chunk of plan '%s'",
                  recurrence->name, (long long)interval, int(kernel.chunk), planNames[kernel.plan]);
  }
  return RECUR_OK;
}

recur_status recur::runtime::resolveSizes(Call &resolved, const recur_recurrence *recurrence, const recur_call *call) {
  if (recur_status status = checkRecurrence(recurrence))
    return status;
  if (!call)
    return fail(RECUR_NULL_POINTER, "%s: the call is null", recurrence->name);
  if (recur_status status = checkDevice(recurrence, call->device))
    return status;
  recurrence = recur_select_for(recurrence, call->device);
  char plans[64];
  if (recur_status status = checkSizes(recurrence, call))
    return status;
  if (recur_status status = checkOffsets(recurrence, call))
    return status;
  if (recur_status status = checkPools(recurrence, call, resolved.isBackward))
    return status;
  if (recur_status status = checkTreeSizes(recurrence, call, resolved.isBackward))
    return status;
  if (resolved.isBackward && !recurrence->gradient)
    return fail(RECUR_NO_PLAN, "%s was compiled without the kernels of its gradient; build it with --backward",
                recurrence->name);
  bool hasGradientPlan =
      call->plan == RECUR_PLAN_AUTO || call->plan == RECUR_PLAN_CHUNK || call->plan == RECUR_PLAN_SEGMENT;
  if (resolved.isBackward && !hasGradientPlan)
    return fail(RECUR_NO_PLAN, "%s: the gradient has no plan '%s', only chunk and segment", recurrence->name,
                planNames[call->plan]);
  if (recur_status status = checkKept(recurrence, call, resolved.isBackward))
    return status;
  // Where there is one kernel, nothing is chosen.
  bool isOnly = !resolved.isBackward && call->plan == RECUR_PLAN_AUTO && recurrence->kernel_count == 1;
  resolved.plan = isOnly ? recurrence->kernels[0].plan : call->plan;
  if (!resolved.isBackward && !chooseKernel(recurrence, resolved.plan, 0))
    return fail(RECUR_NO_PLAN, "%s has no kernel of plan '%s', only of %s", recurrence->name, planNames[call->plan],
                listPlans(recurrence, plans, sizeof plans));
  if (recur_status status = checkChunks(recurrence, resolved.plan, call->interval))
    return status;
  resolved.recurrence = recurrence;
  resolved.call = call;
  resolved.sequences = isPacked(*call) ? call->sequence_count : call->B;
  resolved.heads = call->H;
  resolved.groups = call->Hq ? call->Hq : call->H;
  resolved.segmented = nullptr;
  resolved.cut = {};
  resolved.records = resolved.recordBytes = resolved.workers = resolved.workerBytes = 0;
  resolved.keptRows = countKeptRows(resolved, resolved.sequences);
  resolved.machine = findMachine(call->device, resolved.isBackward);
  if (recur_status status = planStarts(resolved))
    return status;
  resolved.machine->plan(resolved);
  int64_t bytes, records, workers;
  if (__builtin_mul_overflow(resolved.slots, resolved.slotBytes, &bytes) ||
      __builtin_mul_overflow(resolved.records, resolved.recordBytes, &records) ||
      __builtin_mul_overflow(resolved.workers, resolved.workerBytes, &workers) ||
      __builtin_add_overflow(bytes, records, &bytes) || __builtin_add_overflow(bytes, workers, &bytes) ||
      __builtin_add_overflow(bytes, resolved.startBytes, &bytes))
    return fail(RECUR_BAD_SIZE, "%s: the workspace for %lld heads at the same time is too large", recurrence->name,
                (long long)resolved.slots);
  return RECUR_OK;
}
