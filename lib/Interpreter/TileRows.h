// A call's data as the rows that a kernel has for each head of each batch entry.
#pragma once
#include "Interpreter/TileInterpreter.h"

namespace recur::interpreter {

class KernelRows {
public:
  /// An error where the data lack an array, or it has another shape.
  llvm::Error prepare(llvm::ArrayRef<KernelArray> arrays, const data::Data &data, KeptArrays *kept = nullptr);
  llvm::SmallVector<CallerArray> takeHead(int64_t batch, int64_t head);
  /// What was written.
  data::Results takeResults() { return std::move(results); }

private:
  data::Sizes sizes;
  data::Data given;
  data::Results results;
  std::vector<KernelArray> arrays;
  std::vector<Array *> places; // null: absent
  KeptArrays *kept = nullptr;  // what is written for each chunk, and read
  int64_t chunks = 0;
};

} // namespace recur::interpreter
