#include "Runtime/CUDA/Pools.h"
#include "Runtime/CUDA/Library.h"
#include "Runtime/Common/Message.h"
#include <stdlib.h>

using namespace recur::runtime;

/// Indices brought to this machine. Whoever asks for checks has the time for an allocation.
namespace {
template <typename Number> class HostNumbers {
public:
  HostNumbers(const CUDALibrary &cuda, const Call &resolved, const Number *indices, int64_t count) {
    if (!indices || !count)
      return;
    size_t bytes = size_t(count) * sizeof(Number);
    numbers = static_cast<Number *>(malloc(bytes));
    void *stream = resolved.call->stream;
    error =
        numbers ? cuda.copyToHost(numbers, reinterpret_cast<unsigned long long>(indices), bytes, stream) : outOfMemory;
    if (!error)
      error = cuda.synchronize(stream);
  }
  ~HostNumbers() { free(numbers); }
  HostNumbers(const HostNumbers &) = delete;

  Number *numbers = nullptr;
  CUresult error = 0;

private:
  static constexpr CUresult outOfMemory = 2; // CUDA_ERROR_OUT_OF_MEMORY
};
} // namespace

recur_status recur::runtime::checkPools(const Call &resolved) {
  if (!resolved.call->check_indices)
    return RECUR_OK;
  const CUDALibrary &cuda = *getCUDALibrary(); // for the recurrence was selected
  const recur_call &call = *resolved.call;
  int64_t sequences = resolved.sequences;
  HostNumbers<int32_t> states(cuda, resolved, call.state_indices, sequences * countStateColumns(call)),
      finals(cuda, resolved, call.final_indices, sequences),
      tokens(cuda, resolved, call.token_indices, sequences * call.token_columns),
      accepted(cuda, resolved, call.accepted, sequences),
      intervals(cuda, resolved, call.interval_indices, sequences * call.interval_columns),
      positions(cuda, resolved, call.positions, sequences),
      parents(cuda, resolved, call.parents, countParents(resolved));
  bool countsTokens = goesByTokens(call) || call.interval;
  HostNumbers<int64_t> offsets(cuda, resolved, countsTokens ? call.device_offsets : nullptr, sequences + 1);
  for (CUresult error : {states.error, finals.error, tokens.error, accepted.error, intervals.error, positions.error,
                         parents.error, offsets.error})
    if (error)
      return failOf(cuda, resolved.recurrence->name, "the indices of the call cannot be read", error);
  return checkIndices(resolved, {states.numbers, finals.numbers, tokens.numbers, accepted.numbers, intervals.numbers,
                                 positions.numbers, parents.numbers, offsets.numbers});
}
