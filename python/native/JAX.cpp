#include "JAX.h"
#include "Errors.h"
#include "Kernel.h"

namespace nb = nanobind;
using namespace recur::python;

#ifndef RECUR_WITH_JAX
void recur::python::addJAX(nb::module_ &module) { module.attr("jax_forward") = nb::none(); }
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

/// Buffers: inputs, params, initial states (or not), the offsets of packed sequences (or not); results: outputs, then
/// final states (or not). All are dense. Sizes are B, T, H, Hq.
static ffi::Error forward(ffi::RemainingArgs buffers, ffi::RemainingRets results, std::string_view key,
                          ffi::Span<const int64_t> sizes, bool hasInitial, bool isPacked, bool transposed,
                          int32_t plan) {
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
  size_t given = size_t(kernel->count(RECUR_INPUT) + kernel->count(RECUR_PARAM));
  if (buffers.size() != given + (hasInitial ? states : 0) + (isPacked ? 1 : 0) ||
      (results.size() != outputs && results.size() != outputs + states) || sizes.size() != 4)
    return fail("recur: the call has not the buffers that its kernel takes");
  std::vector<recur_argument> arguments(given + states + outputs + states);
  // The data of an empty buffer may be null, which stands for what is not there.
  static char nothing[64] __attribute__((aligned(64)));
  auto dataOf = [](ffi::AnyBuffer buffer) { return buffer.element_count() ? buffer.untyped_data() : nothing; };
  for (size_t i = 0; i < given + (hasInitial ? states : 0); ++i)
    arguments[i].data = dataOf(*buffers.get<ffi::AnyBuffer>(i));
  for (size_t i = 0; i < results.size(); ++i)
    arguments[given + states + i].data = dataOf(**results.get<ffi::AnyBuffer>(i));
  recur_call call = {};
  call.B = sizes[0];
  call.T = sizes[1];
  call.H = sizes[2];
  call.Hq = sizes[3];
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.states_transposed = transposed;
  call.plan = plan;
  std::vector<int64_t> offsets;
  if (isPacked) {
    ffi::AnyBuffer buffer = *buffers.get<ffi::AnyBuffer>(buffers.size() - 1);
    const auto *first = static_cast<const int32_t *>(buffer.untyped_data());
    offsets.assign(first, first + buffer.element_count());
    call.sequence_offsets = offsets.data();
    call.sequence_count = int64_t(offsets.size()) - 1;
  }
  call.workspace_bytes = recur_workspace_size(&kernel->getRecurrence(), &call);
  if (call.workspace_bytes < 0)
    return fail(recur_message());
  call.workspace = getWorkspace(call.workspace_bytes);
  if (!call.workspace)
    return {ffi::ErrorCode::kResourceExhausted, "recur: there is no memory for the workspace"};
  if (recur_forward(&kernel->getRecurrence(), &call) != RECUR_OK)
    return fail(recur_message());
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(recurJAXForward, forward,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("key")
                                  .Attr<ffi::Span<const int64_t>>("sizes")
                                  .Attr<bool>("has_initial")
                                  .Attr<bool>("is_packed")
                                  .Attr<bool>("transposed")
                                  .Attr<int32_t>("plan"));

void recur::python::addJAX(nb::module_ &module) {
  module.attr("jax_forward") = nb::capsule(reinterpret_cast<void *>(recurJAXForward));
  module.def(
      "keep_for_jax",
      [](const std::string &key, const Kernel &kernel) {
        std::lock_guard<std::mutex> lock(mutex);
        getKernels().try_emplace(key, kernel);
      },
      nb::arg("key"), nb::arg("kernel"));
}
#endif
