// A dense array of real numbers: what every engine reads and gives, whatever its storage type was on disk or in a
// kernel.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace recur {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values; // row-major, the last dimension fastest
};

/// The number of elements of a shape; none when a size is negative or the product does not fit in 63 bits.
inline std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (count > std::numeric_limits<int64_t>::max() / size)
      return std::nullopt;
    count *= size;
  }
  return count;
}

/// `[2, 70, 8]`, as messages print a shape.
inline std::string printShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace recur
