#include "Runtime/CUDA/Pools.h"
#include "Runtime/CUDA/Library.h"
#include "Runtime/Common/Message.h"
#include <stdlib.h>

using namespace recur::runtime;

/// Indices brought to this machine. Whoever asks for checks has the time for an allocation.
namespace {
class HostIndices {
public:
  HostIndices(const CUDALibrary &cuda, const Call &resolved, const int32_t *indices) {
    if (!indices || !resolved.sequences)
      return;
    size_t bytes = size_t(resolved.sequences) * sizeof(int32_t);
    numbers = static_cast<int32_t *>(malloc(bytes));
    void *stream = resolved.call->stream;
    error =
        numbers ? cuda.copyToHost(numbers, reinterpret_cast<unsigned long long>(indices), bytes, stream) : outOfMemory;
    if (!error)
      error = cuda.synchronize(stream);
  }
  ~HostIndices() { free(numbers); }
  HostIndices(const HostIndices &) = delete;

  int32_t *numbers = nullptr;
  CUresult error = 0;

private:
  static constexpr CUresult outOfMemory = 2; // CUDA_ERROR_OUT_OF_MEMORY
};
} // namespace

recur_status recur::runtime::checkPools(const Call &resolved) {
  if (!resolved.call->check_indices)
    return RECUR_OK;
  const CUDALibrary &cuda = *getCUDALibrary(); // for the recurrence was selected
  HostIndices states(cuda, resolved, resolved.call->state_indices),
      finals(cuda, resolved, resolved.call->final_indices);
  if (CUresult error = states.error ? states.error : finals.error)
    return failOf(cuda, resolved.recurrence->name, "the indices of a pool cannot be read", error);
  return checkIndices(resolved, states.numbers, finals.numbers);
}
