// Rows of a caller's array in values that have more, which is padding.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace recur::interpreter {

/// Where each element of a row of the value lies in a row of the array; none of what the array does not have.
inline llvm::SmallVector<std::optional<int64_t>> placeInArray(llvm::ArrayRef<int64_t> value,
                                                              llvm::ArrayRef<int64_t> array) {
  llvm::SmallVector<std::optional<int64_t>> places{0};
  for (size_t dim = 0; dim < value.size(); ++dim) {
    llvm::SmallVector<std::optional<int64_t>> finer;
    for (std::optional<int64_t> place : places)
      for (int64_t i = 0; i < value[dim]; ++i)
        finer.push_back(place && i < array[dim] ? std::optional(*place * array[dim] + i) : std::nullopt);
    places = std::move(finer);
  }
  return places;
}

} // namespace recur::interpreter
