// Summaries of parts of sequences as custom calls of XLA: each device makes those of its own tokens, and XLA exchanges
// them.
#include "Errors.h"
#include "JAX.h"
#include "Kernel.h"

namespace nb = nanobind;
using namespace recur::python;

#ifndef RECUR_WITH_JAX
void recur::python::addJAXSummaries(nb::module_ &module) { module.attr("jax_summary") = nb::none(); }
#else
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {
enum What : int64_t { Summarise, SummariseBackward, Apply };

/// What a call has beside its buffers.
struct Asked {
  std::string_view key; // of the kernel
  int64_t what, summary;
  bool backward; // of Apply: whether the summary is of cotangents
  bool isPacked;
  ffi::Span<const int64_t> sizes;              // B, T, H, Hq
  ffi::Span<const int64_t> states, cotangents; // that there are, by their places, the latter among outputs and states
};
} // namespace

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Asked, StructMember<std::string_view>("key"), StructMember<int64_t>("what"),
                                      StructMember<int64_t>("summary"), StructMember<bool>("backward"),
                                      StructMember<bool>("is_packed"), StructMember<ffi::Span<const int64_t>>("sizes"),
                                      StructMember<ffi::Span<const int64_t>>("states"),
                                      StructMember<ffi::Span<const int64_t>>("cotangents"));

static ffi::Error fail(const std::string &message) { return {ffi::ErrorCode::kInvalidArgument, message}; }

/// The data of an empty buffer may be null, which stands for what is not there.
static void *dataOf(const ffi::AnyBuffer &buffer) {
  static char nothing[64] __attribute__((aligned(64)));
  return buffer.element_count() ? buffer.untyped_data() : nothing;
}

static float *floatsOf(const ffi::AnyBuffer &buffer) { return static_cast<float *>(dataOf(buffer)); }

/// Of Summarise: inputs, params, `states`, and the offsets of packed sequences, int32; of SummariseBackward then
/// `cotangents`. Results are the maps and the offsets of the summary, of cotangents the offsets alone where they have
/// no maps of their own. Of Apply: maps, offsets, states; the result is the states. All are dense.
static ffi::Error perform(ffi::RemainingArgs buffers, ffi::RemainingRets results, Asked asked) {
  const Kernel *kernel = findForJAX(asked.key);
  if (!kernel)
    return fail("recur: this program was compiled in another process, whose kernel " + std::string(asked.key) +
                " is not loaded here: trace the function once more");
  const recur_recurrence &recurrence = kernel->getRecurrence();
  recur_summary_shape shape = {};
  if (recur_describe_summary(&recurrence, int32_t(asked.summary), &shape) != RECUR_OK)
    return fail(recur_message());
  bool makes = asked.what == Summarise || asked.what == SummariseBackward;
  bool backward = asked.what == SummariseBackward;
  auto inputs = size_t(kernel->count(RECUR_INPUT) + kernel->count(RECUR_PARAM));
  auto states = size_t(kernel->count(RECUR_STATE)), outputs = size_t(kernel->count(RECUR_OUTPUT));
  size_t given = inputs + asked.states.size();
  size_t wanted = asked.what == Apply ? 3 : given + asked.isPacked + asked.cotangents.size();
  size_t parts = asked.what == Apply || (backward && !shape.has_backward_map) ? 1 : 2;
  if (buffers.size() != wanted || results.size() != parts || asked.sizes.size() != 4)
    return fail(
        "recur: XLA passes other arrays than a summary takes; trace the function again with this version of recur");
  auto bufferOf = [&](size_t i) { return *buffers.get<ffi::AnyBuffer>(i); };
  auto resultOf = [&](size_t i) { return **results.get<ffi::AnyBuffer>(i); };

  recur_call call = {};
  call.B = asked.sizes[0];
  call.T = asked.sizes[1];
  call.H = asked.sizes[2];
  call.Hq = asked.sizes[3];
  std::vector<recur_argument> arguments(inputs + states + outputs + states + (backward ? inputs + states : 0));
  std::vector<int64_t> offsets;
  if (makes) {
    for (size_t i = 0; i < inputs; ++i)
      arguments[i].data = dataOf(bufferOf(i));
    for (size_t i = 0; i < asked.states.size(); ++i) {
      if (asked.states[i] < 0 || size_t(asked.states[i]) >= states)
        return fail("recur: a summary is given a state that there is not");
      arguments[inputs + size_t(asked.states[i])].data = dataOf(bufferOf(inputs + i));
    }
    for (size_t i = 0; i < asked.cotangents.size(); ++i) {
      if (asked.cotangents[i] < 0 || size_t(asked.cotangents[i]) >= outputs + states)
        return fail("recur: a summary is given a cotangent of nothing");
      arguments[inputs + states + size_t(asked.cotangents[i])].data = dataOf(bufferOf(given + asked.isPacked + i));
    }
    if (asked.isPacked) {
      ffi::AnyBuffer buffer = bufferOf(given);
      const auto *first = static_cast<const int32_t *>(buffer.untyped_data());
      offsets.assign(first, first + buffer.element_count());
      call.sequence_offsets = offsets.data();
      call.sequence_count = int64_t(offsets.size()) - 1;
    }
  }
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  std::string problem = kernel->provideSummarySpace(call, backward);
  if (!problem.empty())
    return fail(problem);

  auto number = int32_t(asked.summary);
  recur_summary result = {parts == 2 ? floatsOf(resultOf(0)) : nullptr, floatsOf(resultOf(parts - 1)), 0, 0};
  recur_status status = RECUR_OK;
  switch (asked.what) {
  case Summarise:
    status = recur_summarise(&recurrence, &call, number, result);
    break;
  case SummariseBackward:
    status = recur_summarise_backward(&recurrence, &call, number, result);
    break;
  case Apply:
    status = recur_apply_summary(&recurrence, &call, number, asked.backward,
                                 {floatsOf(bufferOf(0)), floatsOf(bufferOf(1)), 0, 0}, floatsOf(bufferOf(2)),
                                 result.offsets);
    break;
  default:
    return fail("recur: of a summary something is asked that this version of recur has not");
  }
  return status == RECUR_OK ? ffi::Error::Success() : fail(recur_message());
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(recurJAXSummary, perform,
                              ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs<Asked>());

void recur::python::addJAXSummaries(nb::module_ &module) {
  module.attr("jax_summary") = nb::capsule(reinterpret_cast<void *>(recurJAXSummary));
}
#endif
