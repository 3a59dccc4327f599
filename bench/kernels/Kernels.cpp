#include "Kernels.h"
#include "llvm/Support/ErrorHandling.h"
#include <fmt/format.h>

using namespace recur::bench;

// KERNEL(symbol, spec, K, V, dtype, target)
#define KERNEL(SYMBOL, SPEC, K, V, DTYPE, TARGET) extern "C" const recur_recurrence SYMBOL;
#include "KernelTable.inc"
#undef KERNEL

const std::vector<bench_form> &recur::bench::getForms() {
#define FORM(NAME, ...) {#NAME, __VA_ARGS__},
  static const std::vector<bench_form> forms = {BENCH_FORMS(FORM)};
#undef FORM
  return forms;
}

static const bench_form *findForm(const std::string &spec) {
  for (const bench_form &form : getForms())
    if (spec == form.name)
      return &form;
  llvm_unreachable("each compiled recurrence has a row in BENCH_FORMS");
}

const std::vector<Kernel> &recur::bench::getKernels() {
#define KERNEL(SYMBOL, SPEC, K, V, DTYPE, TARGET) {&(SYMBOL), SPEC, K, V, DTYPE, TARGET, findForm(SPEC)},
  static const std::vector<Kernel> kernels = {
#include "KernelTable.inc"
  };
#undef KERNEL
  return kernels;
}

bool Kernel::hasPlan(recur_plan plan) const {
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    if (recurrence->kernels[i].plan == plan)
      return true;
  return false;
}

const Kernel &recur::bench::getKernel(const std::string &spec, int64_t K, int64_t V, const std::string &dtype,
                                      const std::string &target) {
  for (const Kernel &kernel : getKernels())
    if (kernel.spec == spec && kernel.K == K && kernel.V == V && kernel.dtype == dtype && kernel.target == target)
      return kernel;
  llvm::report_fatal_error(
      fmt::format("no kernel of {} for K={},V={}, {}, {} was compiled", spec, K, V, dtype, target).c_str());
}

std::string Shape::getName() const {
  static const char *plans[] = {"auto", "step", "chunk", "segment", "scan", "token-loop"};
  std::string name = fmt::format("kernel/{}/{}/K:{}/V:{}/{}/{}/B:{}/H:{}/T:{}/threads:{}", kernel->spec, kernel->dtype,
                                 kernel->K, kernel->V, kernel->target, plans[plan], B, H, T, threads);
  return decay != 0 ? fmt::format("{}/decay:{}", name, decay) : name;
}

double Shape::countFlops() const {
  double K = double(kernel->K), V = double(kernel->V), chunk = 64;
  double each = kernel->form->is_delta ? 2 * chunk * (K + V) + 6 * K * V : chunk * (K + V) + 4 * K * V;
  return double(B) * double(H) * double(T) * each;
}

double Shape::countStateBytes() const {
  return 2.0 * sizeof(float) * double(B) * double(H) * double(kernel->K) * double(kernel->V);
}

std::string recur::bench::getPeerName(const std::string &kind, const Shape &shape) {
  return fmt::format("{}/{}/K:{}/V:{}/H:{}/T:{}", kind, shape.kernel->spec, shape.kernel->K, shape.kernel->V, shape.H,
                     shape.T);
}
