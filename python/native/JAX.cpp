#include "JAX.h"
#include "Errors.h"
#include "Kernel.h"

namespace nb = nanobind;
using namespace recur::python;

#ifndef RECUR_WITH_JAX
void recur::python::addJAX(nb::module_ &module) { module.attr("jax_call") = nb::none(); }
#else
#include "xla/ffi/api/ffi.h"
#include <mutex>
#include <unordered_map>

namespace ffi = xla::ffi;

/// Kernels by the key that programs name them with: an address would be another in the next process, which may have the
/// program from a cache.
static std::mutex mutex;
static std::unordered_map<std::string, Kernel> &getKernels() {
  static auto *kernels = new std::unordered_map<std::string, Kernel>; // programs may run until the very end
  return *kernels;
}

static ffi::Error fail(const std::string &message) { return {ffi::ErrorCode::kInvalidArgument, message}; }

/// Of a call forward: inputs, params, initial states (or not), the offsets of packed sequences (or not); results:
/// outputs, then final states (or not). Of a call backward there follow cotangents of outputs and of final states (or
/// not), and results are gradients of inputs, params, and initial states (or not). All are dense. Sizes are B, T, H,
/// Hq.
static ffi::Error call(ffi::RemainingArgs buffers, ffi::RemainingRets results, std::string_view key,
                       ffi::Span<const int64_t> sizes, bool hasInitial, bool hasFinal, bool isPacked, bool transposed,
                       bool backward) {
  const Kernel *kernel = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = getKernels().find(std::string(key));
    if (found != getKernels().end())
      kernel = &found->second; // stays where it is
  }
  if (!kernel)
    return fail("recur: this program was compiled in another process, whose kernel " + std::string(key) +
                " is not loaded here: trace the function once more");
  size_t states = size_t(kernel->count(RECUR_STATE)), outputs = size_t(kernel->count(RECUR_OUTPUT));
  size_t inputs = size_t(kernel->count(RECUR_INPUT) + kernel->count(RECUR_PARAM));
  size_t given = inputs + (hasInitial ? states : 0), made = outputs + (hasFinal ? states : 0);
  if (buffers.size() != given + (isPacked ? 1 : 0) + (backward ? made : 0) ||
      results.size() != (backward ? given : made) || sizes.size() != 4)
    return fail("recur: the call has not the buffers that its kernel takes");
  // The data of an empty buffer may be null, which stands for what is not there.
  static char nothing[64] __attribute__((aligned(64)));
  auto dataOf = [](ffi::AnyBuffer buffer) { return buffer.element_count() ? buffer.untyped_data() : nothing; };
  std::vector<recur_argument> arguments(inputs + states + outputs + states + (backward ? inputs + states : 0));
  size_t cotangents = given + (isPacked ? 1 : 0);
  for (size_t i = 0; i < given; ++i)
    arguments[i].data = dataOf(*buffers.get<ffi::AnyBuffer>(i));
  for (size_t i = 0; i < made; ++i)
    arguments[inputs + states + i].data =
        backward ? dataOf(*buffers.get<ffi::AnyBuffer>(cotangents + i)) : dataOf(**results.get<ffi::AnyBuffer>(i));
  for (size_t i = 0; backward && i < given; ++i)
    arguments[inputs + states + outputs + states + i].data = dataOf(**results.get<ffi::AnyBuffer>(i));
  recur_call call = {};
  call.B = sizes[0];
  call.T = sizes[1];
  call.H = sizes[2];
  call.Hq = sizes[3];
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.states_transposed = transposed;
  std::vector<int64_t> offsets;
  if (isPacked) {
    ffi::AnyBuffer buffer = *buffers.get<ffi::AnyBuffer>(given);
    const auto *first = static_cast<const int32_t *>(buffer.untyped_data());
    offsets.assign(first, first + buffer.element_count());
    call.sequence_offsets = offsets.data();
    call.sequence_count = int64_t(offsets.size()) - 1;
  }
  std::string problem = kernel->perform(call, backward);
  return problem.empty() ? ffi::Error::Success() : fail(problem);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(recurJAXCall, call,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("key")
                                  .Attr<ffi::Span<const int64_t>>("sizes")
                                  .Attr<bool>("has_initial")
                                  .Attr<bool>("has_final")
                                  .Attr<bool>("is_packed")
                                  .Attr<bool>("transposed")
                                  .Attr<bool>("backward"));

void recur::python::addJAX(nb::module_ &module) {
  module.attr("jax_call") = nb::capsule(reinterpret_cast<void *>(recurJAXCall));
  module.def(
      "keep_for_jax",
      [](const std::string &key, const Kernel &kernel) {
        std::lock_guard<std::mutex> lock(mutex);
        getKernels().try_emplace(key, kernel);
      },
      nb::arg("key"), nb::arg("kernel"));
}
#endif
