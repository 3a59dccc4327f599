#include "Runtime/CUDA/Sums.h"
#include "ABI/LaunchWords.h"

using namespace recur::runtime;
namespace abi = recur::abi;

static recur_status put(const Device &device, const Call &resolved, int64_t *words) {
  int64_t elements =
      words[abi::SumSequencesWord] * words[abi::SumTokensWord] * words[abi::SumHeadsWord] * words[abi::SumElementsWord];
  return putOverElements(device, resolved.recurrence, *resolved.recurrence->gradient->sum, elements,
                         resolved.call->stream, words);
}

recur_status recur::runtime::putSum(const Device &device, const Call &resolved, const Argument &sum,
                                    const Slices &slices, bool adds, const int64_t *offsets) {
  int64_t words[abi::sumWords];
  words[abi::SumFromWord] = reinterpret_cast<int64_t>(slices.data);
  words[abi::SumToWord] = reinterpret_cast<int64_t>(sum.data);
  words[abi::SumFromTypeWord] = slices.dtype;
  words[abi::SumToTypeWord] = sum.info->dtype;
  words[abi::SumSlicesWord] = slices.count;
  words[abi::SumSliceStrideWord] = slices.stride;
  words[abi::SumAddsWord] = adds;
  words[abi::SumElementsWord] = sum.elements;
  for (int i = 0; i < 3; ++i) {
    words[abi::SumSequencesWord + i] = sum.counts[i];
    words[abi::SumFromStridesWord + i] = slices.strides[i];
    words[abi::SumToStridesWord + i] = sum.strides[i];
  }
  words[abi::SumOffsetsWord] = reinterpret_cast<int64_t>(offsets);
  words[abi::SumLastOffsetWord] = offsets ? resolved.sequences : 0;
  return put(device, resolved, words);
}

recur_status recur::runtime::putZeros(const Device &device, const Call &resolved, char *data, int64_t count) {
  int64_t words[abi::sumWords] = {}; // no slices
  words[abi::SumToWord] = words[abi::SumFromWord] = reinterpret_cast<int64_t>(data);
  words[abi::SumFromTypeWord] = words[abi::SumToTypeWord] = RECUR_F32;
  words[abi::SumSequencesWord] = words[abi::SumTokensWord] = words[abi::SumHeadsWord] = 1;
  words[abi::SumElementsWord] = count;
  return put(device, resolved, words);
}
