// Summaries of the parts of a sequence, of which each lies on another machine.
#include "Call.h"
#include "Errors.h"

namespace nb = nanobind;
using namespace recur::python;

namespace {

/// Arrays that are read for one step of a call, which may make any number of them.
class ForOneStep {
public:
  explicit ForOneStep(std::deque<View> &views) : views(views), before(views.size()) {}
  ForOneStep(const ForOneStep &) = delete;
  ~ForOneStep() {
    while (views.size() > before)
      views.pop_back();
  }

private:
  std::deque<View> &views;
  size_t before;
};

} // namespace

/// A float32 array of so many numbers for each head of each sequence: dense, or, where a stride is asked for, columns
/// of one that has more of each head.
float *Call::readFloats(nb::handle object, int64_t size, const char *what, bool isWritten, int64_t *stride) {
  View &view = views.emplace_back();
  if (!view.open(object))
    refuse(std::string("the ") + what + " are no array");
  checkPlace(view, std::string("the array of ") + what);
  bool fits = view.type == Type::F32 && view.isAligned && !(isWritten && view.isReadOnly);
  int side = view.sides;
  int64_t inHead = 1, units = 1, apart = 0, count = 1;
  for (int i = 0; i < view.sides; ++i)
    count *= view.shape[i];
  for (; side > 0 && inHead < size; inHead *= view.shape[side]) {
    --side;
    fits &= view.shape[side] == 1 || view.strides[side] == inHead;
  }
  while (side-- > 0) {
    if (view.shape[side] != 1 && apart == 0)
      apart = view.strides[side];
    fits &= view.shape[side] == 1 || view.strides[side] == apart * units;
    units *= view.shape[side];
  }
  apart = units == 1 ? size : apart;
  int64_t wanted = (isPacked() ? sequences : *batch.value) * *heads.value * size;
  if (count != wanted || (count && (!fits || inHead != size || (!stride && apart != size))))
    refuse(std::string("the ") + what + " are a dense array of " + std::to_string(wanted) +
           " numbers of float32, and not of " + std::to_string(count));
  if (stride)
    *stride = apart;
  return static_cast<float *>(view.data);
}

recur_summary Call::readSummary(nb::tuple given, const recur_summary_shape &shape, const char *what, bool isWritten,
                                bool hasMaps) {
  recur_summary summary = {};
  nb::object maps = given[0], offsets = given[1];
  if (hasMaps)
    summary.maps = readFloats(maps, shape.map_size, what, isWritten, &summary.map_stride);
  summary.offsets = readFloats(offsets, shape.offset_size, what, isWritten, &summary.offset_stride);
  return summary;
}

recur_summary_shape Call::describe(const Kernel &kernel, int32_t summary) const {
  recur_summary_shape shape = {};
  if (recur_describe_summary(&kernel.getRecurrence(), summary, &shape) != RECUR_OK)
    raiseArgument(recur_message());
  return shape;
}

recur_call Call::makeSummaryCall() const {
  recur_call call = makeCall(RECUR_PLAN_AUTO);
  if (gpu < 0)
    return call;
  call.device = RECUR_CUDA;
  call.workspace = reinterpret_cast<void *>(summarySpace.workspace);
  call.workspace_bytes = summarySpace.bytes;
  call.stream = reinterpret_cast<void *>(summarySpace.stream);
  return call;
}

int64_t Call::countSummaryBytes(const Kernel &kernel, bool backward) const {
  recur_call call = makeSummaryCall();
  call.workspace_bytes = 0;
  int64_t bytes = recur_summary_workspace_size(&kernel.getRecurrence(), &call, backward);
  if (bytes < 0)
    raiseArgument(recur_message());
  return bytes;
}

/// Runs `compute`, on a processor with the thread's own workspace.
template <typename Compute>
static void perform(const Kernel &kernel, recur_call &call, bool backward, Compute compute) {
  std::string problem;
  {
    nb::gil_scoped_release released;
    if (call.device == RECUR_CPU)
      problem = kernel.provideSummarySpace(call, backward);
    if (problem.empty() && compute() != RECUR_OK)
      problem = recur_message();
  }
  if (!problem.empty())
    raiseArgument(problem);
}

void Call::summarise(const Kernel &kernel, int32_t summary, nb::object maps, nb::object offsetArray) {
  ForOneStep step(views);
  recur_summary_shape shape = describe(kernel, summary);
  std::vector<recur_argument> arguments;
  listGiven(kernel, arguments);
  arguments.resize(arguments.size() + size_t(kernel.count(RECUR_OUTPUT) + kernel.count(RECUR_STATE)));
  recur_call call = makeSummaryCall();
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  recur_summary result = readSummary(nb::make_tuple(maps, offsetArray), shape, "parts of the summary", true);
  ::perform(kernel, call, false, [&] { return recur_summarise(&kernel.getRecurrence(), &call, summary, result); });
}

void Call::summariseBackward(const Kernel &kernel, int32_t summary, nb::list outputs, nb::list finals, nb::object maps,
                             nb::object offsetArray) {
  ForOneStep step(views);
  recur_summary_shape shape = describe(kernel, summary);
  std::vector<recur_argument> arguments = listCotangents(kernel, outputs, finals);
  arguments.resize(arguments.size() +
                   size_t(kernel.count(RECUR_INPUT) + kernel.count(RECUR_PARAM) + kernel.count(RECUR_STATE)));
  recur_call call = makeSummaryCall();
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  recur_summary result =
      readSummary(nb::make_tuple(maps, offsetArray), shape, "parts of the summary", true, shape.has_backward_map != 0);
  ::perform(kernel, call, true,
            [&] { return recur_summarise_backward(&kernel.getRecurrence(), &call, summary, result); });
}

void Call::combineSummaries(const Kernel &kernel, int32_t summary, bool backward, nb::tuple first, nb::tuple second,
                            nb::tuple result) {
  ForOneStep step(views);
  recur_summary_shape shape = describe(kernel, summary);
  recur_call call = makeSummaryCall();
  recur_summary one = readSummary(first, shape, "parts of the first summary", false),
                other = readSummary(second, shape, "parts of the second summary", false),
                both = readSummary(result, shape, "parts of the result", true,
                                   !backward || shape.has_backward_map || !result[0].is_none());
  ::perform(kernel, call, false, [&] {
    return recur_combine_summaries(&kernel.getRecurrence(), &call, summary, backward, one, other, both);
  });
}

void Call::applySummary(const Kernel &kernel, int32_t summary, bool backward, nb::tuple given, nb::object states,
                        nb::object result) {
  ForOneStep step(views);
  recur_summary_shape shape = describe(kernel, summary);
  recur_call call = makeSummaryCall();
  recur_summary applied = readSummary(given, shape, "parts of the summary", false);
  float *from = readFloats(states, shape.offset_size, "states", false),
        *to = readFloats(result, shape.offset_size, "states of the result", true);
  ::perform(kernel, call, false,
            [&] { return recur_apply_summary(&kernel.getRecurrence(), &call, summary, backward, applied, from, to); });
}

void Call::applySummaries(const Kernel &kernel, int32_t summary, bool backward, nb::list parts, nb::object result) {
  ForOneStep step(views);
  recur_summary_shape shape = describe(kernel, summary);
  recur_call call = makeSummaryCall();
  std::vector<recur_summary> given;
  for (nb::handle part : parts)
    given.push_back(readSummary(nb::cast<nb::tuple>(part), shape, "parts of a summary", false,
                                /*hasMaps=*/!given.empty()));
  float *to = readFloats(result, shape.offset_size, "states of the result", true);
  ::perform(kernel, call, false, [&] {
    return recur_apply_summaries(&kernel.getRecurrence(), &call, summary, backward, given.data(), int32_t(given.size()),
                                 to);
  });
}
