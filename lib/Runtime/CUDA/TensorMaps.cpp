#include "Runtime/CUDA/TensorMaps.h"
#include "ABI/LaunchWords.h"

using namespace recur::runtime;
namespace abi = recur::abi;

static constexpr int64_t panelRowBytes = 128;

/// Of an argument or of what launches leave: how many rows a sequence has, and the shape of each. A row of rank 2 has
/// the rows of a token's micro-steps.
namespace {
struct Rows {
  int64_t tokens, steps, columns, elementBytes;
};
} // namespace

static Rows describe(const recur_launch_array &array, const Call &resolved, const recur_kernel_info &kernel) {
  auto rowsOf = [](int64_t tokens, int32_t rank, const int64_t *shape, int64_t elementBytes) -> Rows {
    return {tokens, rank == 2 ? shape[0] : 1, rank == 2 ? shape[1] : rank == 1 ? shape[0] : 1, elementBytes};
  };
  int64_t tokens = resolved.call->T;
  if (array.number < resolved.argumentCount) {
    const recur_array_info &info = *resolved.arguments[array.number].info;
    return rowsOf(tokens, info.rank, info.shape, info.dtype == RECUR_F32 ? 4 : 2);
  }
  const recur_left_info &left = kernel.left[array.number - resolved.argumentCount];
  // Rows that are a token's end with the last token, like those of arguments.
  int64_t rows =
      left.rows % kernel.chunk == 0 ? tokens * (left.rows / kernel.chunk) : countChunks(resolved, kernel) * left.rows;
  return rowsOf(rows, left.rank, left.shape, left.element_bytes);
}

/// One map. Dimensions are columns, micro-steps, tokens, heads and sequences.
static bool fillMap(void *map, const CUDALibrary &cuda, const recur_launch_array &array, const int64_t *words,
                    const Call &resolved, const recur_kernel_info &kernel) {
  constexpr int type16 = 1;     // CU_TENSOR_MAP_DATA_TYPE_UINT16
  constexpr int type32 = 2;     // CU_TENSOR_MAP_DATA_TYPE_UINT32
  constexpr int swizzle128 = 3; // CU_TENSOR_MAP_SWIZZLE_128B
  constexpr int promotion = 2;  // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
  constexpr uint32_t rank = 5;
  constexpr int64_t strideUnit = 16;
  Rows rows = describe(array, resolved, kernel);
  bool partsAreRows = array.part_dim == 0 && rows.steps > 1;
  if (!words[abi::DataWord] || words[abi::ColumnStrideWord] != 1 || partsAreRows || array.copied_rows % rows.steps)
    return false;
  const uint64_t sizes[rank] = {uint64_t(rows.columns), uint64_t(rows.steps), uint64_t(rows.tokens),
                                uint64_t(resolved.heads / words[abi::GroupWord]), uint64_t(resolved.sequences)};
  const int64_t elements[rank - 1] = {words[abi::RowStrideWord], words[abi::TokenStrideWord],
                                      words[abi::HeadStrideWord], words[abi::SequenceStrideWord]};
  uint64_t strides[rank - 1];
  for (uint32_t i = 0; i < rank - 1; ++i) {
    bool isAlone = sizes[i + 1] == 1;
    if (!isAlone && elements[i] <= 0)
      return false;
    strides[i] = uint64_t(isAlone ? strideUnit : elements[i] * rows.elementBytes);
    if (strides[i] % strideUnit)
      return false;
  }
  if (words[abi::DataWord] % strideUnit)
    return false;
  const uint32_t box[rank] = {uint32_t(panelRowBytes / rows.elementBytes), uint32_t(rows.steps),
                              uint32_t(array.copied_rows / rows.steps), 1, 1};
  const uint32_t each[rank] = {1, 1, 1, 1, 1};
  return cuda.encodeMap(map, rows.elementBytes == 4 ? type32 : type16, rank, words[abi::DataWord], sizes, strides, box,
                        each,
                        /*interleave=*/0, swizzle128, promotion, /*fill=*/0) == 0;
}

bool recur::runtime::fillMaps(int64_t *words, const CUDALibrary &cuda, const recur_launch_info &launch, int arrays,
                              const Call &resolved, const recur_kernel_info &kernel) {
  if (!launch.arrays || !cuda.encodeMap || isPacked(*resolved.call))
    return false;
  int count = 0;
  for (int32_t i = 0; i < launch.array_count && i < abi::mostLaunchArrays; ++i) {
    if (!launch.arrays[i].copied_rows)
      continue;
    if (count == abi::mostMaps || !fillMap(words + abi::getMapWord(arrays, count), cuda, launch.arrays[i],
                                           words + abi::getWord(i, abi::DataWord), resolved, kernel))
      return false;
    ++count;
  }
  return count > 0;
}
