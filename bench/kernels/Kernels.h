// The kernels that recurc of this build compiled for the benchmark (CMakeLists.txt says which).
#pragma once
#include "Forms.h"
#include "recur/Runtime.h"
#include <string>
#include <vector>

namespace recur::bench {

struct Kernel {
  const recur_recurrence *recurrence;
  std::string spec; // examples/SPEC.recur
  int64_t K, V;
  std::string dtype, target;
  const bench_form *form;

  bool hasPlan(recur_plan plan) const;
};

const std::vector<Kernel> &getKernels();
/// The kernel so described. There must be one.
const Kernel &getKernel(const std::string &spec, int64_t K = 128, int64_t V = 128, const std::string &dtype = "f32",
                        const std::string &target = "host");
const std::vector<bench_form> &getForms();

/// One call's sizes, plan and threads: what a benchmark of a kernel is named after.
struct Shape {
  const Kernel *kernel;
  recur_plan plan = RECUR_PLAN_CHUNK;
  int64_t B = 1, H = 4, T = 4096;
  int32_t threads = 1;
  double decay = 0; // the mean logarithm of a token's decay; 0: as models have them

  std::string getName() const;
  /// By the fused chunk form in chunks of 64 tokens: the interactions and what is made of them, half of which a mask
  /// empties, the reads of the state and its update.
  double countFlops() const;
  /// Of the states of a call, read and written.
  double countStateBytes() const;
};
/// The name of what a kernel is compared with on the same data: `strict`, `fast` or `blas`.
std::string getPeerName(const std::string &kind, const Shape &shape);

} // namespace recur::bench
