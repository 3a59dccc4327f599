// Data for a recurrence: dense arrays as a model would give them.
#pragma once
#include "Kernels.h"
#include <memory>

namespace recur::bench {

/// A call of a kernel with dense arrays. Problems share their arrays: of two that have a `k` of the same width, one
/// uses the first rows of the other's. So only one problem is worked on at a time.
class Problem {
public:
  explicit Problem(const Shape &shape);

  /// Ends the program if the call is refused, which is a mistake of the benchmark.
  void run();

  /// Head `head` of the first sequence in float32, which has the same values as the kernel's data. The output is
  /// `output`, [T, H, V].
  bench_head getHead(int64_t head, int64_t tokens, float *output) const;
  /// The first tokens of the kernel's output, as float32: [tokens, H, V].
  std::vector<float> getOutput(int64_t tokens) const;

private:
  Shape shape;
  std::vector<recur_argument> arguments;
  std::unique_ptr<char, void (*)(void *)> workspace;
  const void *output = nullptr;
  recur_call call = {};
};

} // namespace recur::bench
