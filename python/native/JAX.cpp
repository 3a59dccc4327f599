#include "JAX.h"
#include "Errors.h"
#include "Kernel.h"

namespace nb = nanobind;
using namespace recur::python;

#ifndef RECUR_WITH_JAX
void recur::python::addJAX(nb::module_ &module) {
  module.attr("jax_call") = nb::none();
  module.attr("jax_call_on_gpu") = nb::none();
}
#else
#include "xla/ffi/api/ffi.h"
#include <mutex>
#include <optional>
#include <unordered_map>

namespace ffi = xla::ffi;

/// Kernels by the key that programs name them with: an address would be another in the next process, which may have the
/// program from a cache.
static std::mutex mutex;
static std::unordered_map<std::string, Kernel> &getKernels() {
  static auto *kernels = new std::unordered_map<std::string, Kernel>; // programs may run until the very end
  return *kernels;
}

const Kernel *recur::python::findForJAX(std::string_view key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = getKernels().find(std::string(key));
  return found == getKernels().end() ? nullptr : &found->second; // stays where it is
}

static ffi::Error fail(const std::string &message) { return {ffi::ErrorCode::kInvalidArgument, message}; }

namespace {
/// What a call has beside its buffers.
struct Asked {
  std::string_view key; // of the kernel
  ffi::Span<const int64_t> sizes;
  bool hasInitial, hasFinal, isPacked, transposed, backward;
  ffi::Span<const int64_t> cotangents, gradients; // of a call backward: places of what there is of them
  int64_t keptInterval;             // of the states that go from the call forward to its gradient; on a GPU its chunk
  ffi::Span<const int64_t> offsets; // on a GPU, where they are known here too; else empty
};

struct OnGPU {
  void *stream;
  ffi::ScratchAllocator &scratch;
};
} // namespace

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(
    Asked, StructMember<std::string_view>("key"), StructMember<ffi::Span<const int64_t>>("sizes"),
    StructMember<bool>("has_initial"), StructMember<bool>("has_final"), StructMember<bool>("is_packed"),
    StructMember<bool>("transposed"), StructMember<bool>("backward"),
    StructMember<ffi::Span<const int64_t>>("cotangents"), StructMember<ffi::Span<const int64_t>>("gradients"),
    StructMember<int64_t>("kept_interval"), StructMember<ffi::Span<const int64_t>>("offsets"));

static bool areBelow(ffi::Span<const int64_t> places, size_t count) {
  for (int64_t place : places)
    if (place < 0 || size_t(place) >= count)
      return false;
  return true;
}

static ffi::DataType getElementType(int32_t dtype) {
  return dtype == RECUR_F32 ? ffi::F32 : dtype == RECUR_BF16 ? ffi::BF16 : ffi::F16;
}

/// Of a call forward: inputs, params, initial states (or not), the offsets of packed sequences (or not); results:
/// outputs, then final states (or not). Of a call backward there follow cotangents of outputs and of final states, and
/// results are gradients of inputs, params, and initial states: those of `cotangents` and `gradients`. Kept states are
/// the last results forward and the last buffers backward. All are dense. Sizes are B, T, H, Hq.
/// On a GPU, whose part is not null, offsets lie in their buffer as int64, and states that the gradient takes are
/// handed over.
static ffi::Error perform(ffi::RemainingArgs buffers, ffi::RemainingRets results, const Asked &asked, OnGPU *gpu) {
  const Kernel *kernel = findForJAX(asked.key);
  if (!kernel)
    return fail("recur: this program was compiled in another process, whose kernel " + std::string(asked.key) +
                " is not loaded here: trace the function once more");
  bool isPacked = asked.isPacked, backward = asked.backward;
  size_t states = size_t(kernel->count(RECUR_STATE)), outputs = size_t(kernel->count(RECUR_OUTPUT));
  size_t inputs = size_t(kernel->count(RECUR_INPUT) + kernel->count(RECUR_PARAM));
  size_t given = inputs + (asked.hasInitial ? states : 0), made = outputs + (asked.hasFinal ? states : 0);
  size_t cotangents = given + (isPacked ? 1 : 0), behindCotangents = cotangents + asked.cotangents.size();
  const recur_gradient_info *handing = gpu && asked.keptInterval ? kernel->findHanding() : nullptr;
  if (gpu && asked.keptInterval && (!handing || handing->chunk != asked.keptInterval))
    return fail("recur: the kernel hands over no states of every " + std::to_string(asked.keptInterval) + " tokens");
  size_t kept = handing ? size_t(handing->kept_count) : asked.keptInterval ? states : 0;
  // What launches leave to each other, behind the states, where it is handed over too.
  size_t present = backward ? buffers.size() : results.size(), before = backward ? behindCotangents : made;
  size_t values = handing && handing->handed_bytes && present == before + kept + 1;
  if (buffers.size() != behindCotangents + (backward ? kept + values : 0) ||
      results.size() != (backward ? asked.gradients.size() : made + kept + values) || asked.sizes.size() != 4 ||
      !areBelow(asked.cotangents, made) || !areBelow(asked.gradients, given))
    return fail(
        "recur: XLA passes other arrays than the kernel takes; trace the function again with this version of recur");
  // The data of an empty buffer may be null, which stands for what is not there.
  static char nothing[64] __attribute__((aligned(64)));
  auto dataOf = [](ffi::AnyBuffer buffer) { return buffer.element_count() ? buffer.untyped_data() : nothing; };
  std::vector<recur_argument> arguments(inputs + states + outputs + states + (backward ? inputs + states : 0));
  for (size_t i = 0; i < given; ++i)
    arguments[i].data = dataOf(*buffers.get<ffi::AnyBuffer>(i));
  size_t behindGiven = inputs + states, behindMade = behindGiven + outputs + states;
  for (size_t i = 0; !backward && i < made; ++i)
    arguments[behindGiven + i].data = dataOf(**results.get<ffi::AnyBuffer>(i));
  for (size_t i = 0; i < asked.cotangents.size(); ++i)
    arguments[behindGiven + size_t(asked.cotangents[i])].data = dataOf(*buffers.get<ffi::AnyBuffer>(cotangents + i));
  for (size_t i = 0; i < asked.gradients.size(); ++i)
    arguments[behindMade + size_t(asked.gradients[i])].data = dataOf(**results.get<ffi::AnyBuffer>(i));
  recur_call call = {};
  call.B = asked.sizes[0];
  call.T = asked.sizes[1];
  call.H = asked.sizes[2];
  call.Hq = asked.sizes[3];
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.states_transposed = asked.transposed;
  auto getKept = [&](size_t i) {
    return backward ? *buffers.get<ffi::AnyBuffer>(behindCotangents + i) : **results.get<ffi::AnyBuffer>(made + i);
  };
  std::vector<float *> keptStates(states);
  std::vector<void *> handedStates(states);
  for (size_t i = 0; i < kept; ++i) {
    void *data = dataOf(getKept(i));
    if (handing)
      handedStates[size_t(handing->kept[i])] = data;
    else
      keptStates[i] = static_cast<float *>(data);
  }
  if (handing) {
    call.device = RECUR_CUDA;
    call.handed_states = handedStates.data();
    call.handed_values = values ? dataOf(getKept(kept)) : nullptr;
  } else {
    call.kept_interval = asked.keptInterval;
    call.kept_states = keptStates.data();
  }
  std::vector<int64_t> offsets;
  if (isPacked) {
    ffi::AnyBuffer buffer = *buffers.get<ffi::AnyBuffer>(given);
    auto count = int64_t(buffer.element_count());
    if (gpu) {
      offsets.assign(asked.offsets.begin(), asked.offsets.end());
      call.device_offsets = static_cast<const int64_t *>(buffer.untyped_data());
      count /= 2; // each is two numbers of 32 bits
    } else {
      const auto *first = static_cast<const int32_t *>(buffer.untyped_data());
      offsets.assign(first, first + buffer.element_count());
    }
    call.sequence_offsets = offsets.empty() ? nullptr : offsets.data();
    call.sequence_count = count - 1;
  }
  if (kept) {
    int64_t rows =
        handing ? recur_handed_rows(&kernel->getRecurrence(), &call) : recur_kept_rows(&kernel->getRecurrence(), &call);
    if (rows < 0)
      return fail(recur_message());
    for (size_t i = 0; i < kept; ++i) {
      ffi::AnyBuffer there = getKept(i);
      bool isOfItsType = there.element_type() == (handing ? getElementType(handing->kept_dtypes[i]) : ffi::F32);
      if (there.dimensions().size() == 0 || there.dimensions()[0] < rows || !isOfItsType)
        return fail("recur: the call has no room for the states that it keeps");
    }
    if (values)
      if (ffi::AnyBuffer there = getKept(kept); there.element_type() != ffi::F32 || there.dimensions().size() != 3 ||
                                                there.dimensions()[0] < rows ||
                                                there.dimensions()[2] * int64_t(sizeof(float)) != handing->handed_bytes)
        return fail("recur: the call has no room for what it hands over beside states");
  }
  if (gpu) {
    call.device = RECUR_CUDA;
    call.stream = gpu->stream;
    call.workspace_bytes = backward ? recur_backward_workspace_size(&kernel->getRecurrence(), &call)
                                    : recur_workspace_size(&kernel->getRecurrence(), &call);
    if (call.workspace_bytes < 0)
      return fail(recur_message());
    if (call.workspace_bytes) {
      // XLA promises less of an alignment than it has, and refuses to be asked for more.
      constexpr uintptr_t alignment = 256;
      std::optional<void *> memory = gpu->scratch.Allocate(size_t(call.workspace_bytes) + alignment);
      if (!memory)
        return fail("recur: there is no memory for a workspace of " + std::to_string(call.workspace_bytes) + " bytes");
      uintptr_t address = reinterpret_cast<uintptr_t>(*memory);
      call.workspace = reinterpret_cast<void *>((address + alignment - 1) / alignment * alignment);
    }
    std::string problem = kernel->performOnGPU(call, backward);
    return problem.empty() ? ffi::Error::Success() : fail(problem);
  }
  std::string problem = kernel->perform(call, backward);
  return problem.empty() ? ffi::Error::Success() : fail(problem);
}

static ffi::Error call(ffi::RemainingArgs buffers, ffi::RemainingRets results, Asked asked) {
  return perform(buffers, results, asked, nullptr);
}

static ffi::Error callOnGPU(void *stream, ffi::ScratchAllocator scratch, ffi::RemainingArgs buffers,
                            ffi::RemainingRets results, Asked asked) {
  OnGPU gpu = {stream, scratch};
  return perform(buffers, results, asked, &gpu);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(recurJAXCall, call, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs<Asked>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(recurJAXCallOnGPU, callOnGPU,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void *>>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attrs<Asked>());

void recur::python::addJAX(nb::module_ &module) {
  module.attr("jax_call") = nb::capsule(reinterpret_cast<void *>(recurJAXCall));
  module.attr("jax_call_on_gpu") = nb::capsule(reinterpret_cast<void *>(recurJAXCallOnGPU));
  module.def(
      "keep_for_jax",
      [](const std::string &key, const Kernel &kernel) {
        std::lock_guard<std::mutex> lock(mutex);
        getKernels().try_emplace(key, kernel);
      },
      nb::arg("key"), nb::arg("kernel"));
}
#endif
