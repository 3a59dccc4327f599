// What a recurrence computes, and its gradients, in float64 on drawn data: for whoever holds a kernel that Recur did
// not make against it.
#pragma once
#include "Check/RandomData.h"

namespace recur::check {

struct ReferenceOptions {
  data::Sizes sizes = {2, 0, 4, 4};
  /// Where there are several, sequences of these lengths are packed along T, and the batch is 1.
  std::vector<int64_t> lengths = {65};
  uint64_t seed = 0;
  DataTypes types; // to which the data are rounded
  bool isHard = false;
  bool startsAnew = false;   // no initial states are given
  bool forgetsFinal = false; // the cotangents of final states are zero
  bool backward = false;
};

/// An array of a reference: data that a kernel is given, or what it is to give.
struct ReferenceArray {
  llvm::StringRef role; // input, param, initial, output, final, cotangent, final cotangent, gradient, initial gradient
  std::string name;
  Array array;
  /// Of a result: by how much more than the data it changes where each number of these changes by one rounding to
  /// float32.
  double condition = 0;
};

llvm::Expected<std::vector<ReferenceArray>> makeReference(dgps::RecurrenceOp recurrence,
                                                          const ReferenceOptions &options);

} // namespace recur::check
