// What a header has of summaries: names of their numbers, and calls that take its struct of arguments.
#include "Codegen/Embed/SummaryHeader.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace recur;
using namespace recur::codegen;

ArrayRef<InterfaceSummary> recur::codegen::findSummaries(const KernelInterface &interface) {
  for (const InterfaceKernel &kernel : interface.kernels)
    if (kernel.plan == RECUR_PLAN_SEGMENT && !kernel.summaries.empty())
      return kernel.summaries;
  return interface.parts ? ArrayRef(interface.parts->summaries) : ArrayRef<InterfaceSummary>();
}

int64_t recur::codegen::countMapNumbers(const KernelInterface &interface, const InterfaceSummary &summary) {
  return summary.mapSide ? summary.mapSide * summary.mapSide + summary.scaleSize
                         : countStateNumbers(interface, summary);
}

static const InterfaceArray &getState(const KernelInterface &interface, const InterfaceSummary &summary) {
  int64_t place = summary.state;
  for (const InterfaceArray &array : interface.arrays)
    if (array.kind == RECUR_STATE && place-- == 0)
      return array;
  llvm_unreachable("a summary is of a state of the recurrence");
}

int64_t recur::codegen::countStateNumbers(const KernelInterface &interface, const InterfaceSummary &summary) {
  int64_t count = 1;
  for (int64_t side : getState(interface, summary).shape)
    count *= side;
  return count;
}

StringRef recur::codegen::getStateName(const KernelInterface &interface, const InterfaceSummary &summary) {
  return getState(interface, summary).name;
}

static constexpr StringLiteral calls = R"(
/* The bytes of workspace that the calls of summaries below need; less than 0 when sizes are not valid. */
static inline int64_t {0}_summary_workspace_size(const {0}_args *args) {{
  recur_argument arguments[{1}_ARGUMENTS];
  recur_call call;
  if (!args)
    return recur_summary_workspace_size(&{2}, 0, {3});
  call = {0}_call(args, arguments);
  return recur_summary_workspace_size(&{2}, &call, {3});
}

/* Makes the part's summary: see {4}. */
static inline recur_status {0}_summary(const {0}_args *args, int32_t summary, recur_summary result) {{
  recur_argument arguments[{1}_ARGUMENTS];
  recur_call call;
  if (!args)
    return {4}(&{2}, 0, summary, result);
  call = {0}_call(args, arguments);
  return {4}(&{2}, &call, summary, result);
}
)";

static constexpr StringLiteral combinations = R"(
/* One summary of two parts, and a state through a summary: see recur_combine_summaries and recur_apply_summary. Of the
 * arguments the sizes, the threads and the workspace are used; backward is not 0 for cotangents. */
static inline recur_status {0}_combine(const {0}_args *args, int32_t summary, int32_t backward, recur_summary first,
                                       recur_summary second, recur_summary result) {{
  recur_argument arguments[{1}_ARGUMENTS];
  recur_call call;
  if (!args)
    return recur_combine_summaries(&{2}, 0, summary, backward, first, second, result);
  call = {0}_call(args, arguments);
  return recur_combine_summaries(&{2}, &call, summary, backward, first, second, result);
}
static inline recur_status {0}_apply(const {0}_args *args, int32_t summary, int32_t backward, recur_summary given,
                                     const float *states, float *result) {{
  recur_argument arguments[{1}_ARGUMENTS];
  recur_call call;
  if (!args)
    return recur_apply_summary(&{2}, 0, summary, backward, given, states, result);
  call = {0}_call(args, arguments);
  return recur_apply_summary(&{2}, &call, summary, backward, given, states, result);
}
)";

void recur::codegen::printSummaryCalls(raw_ostream &os, const KernelInterface &interface, StringRef name,
                                       bool isBackward) {
  ArrayRef<InterfaceSummary> summaries = findSummaries(interface);
  if (summaries.empty())
    return;
  std::string upper = name.upper();
  if (!isBackward) {
    os << "\n/* What a part of a sequence makes of the states, for parts that lie on several machines: see "
          "recur_summary.\n"
          " * The number of each state's summary, and how many floats of a head its map and its offset have. */\n"
       << "#define " << upper << "_SUMMARIES " << summaries.size() << "\n";
    for (auto [i, summary] : enumerate(summaries)) {
      StringRef state = getStateName(interface, summary);
      os << "#define " << upper << "_SUMMARY_" << state << " " << i << "\n"
         << "#define " << upper << "_MAP_SIZE_" << state << " " << countMapNumbers(interface, summary) << "\n"
         << "#define " << upper << "_OFFSET_SIZE_" << state << " " << countStateNumbers(interface, summary) << "\n";
    }
  }
  os << formatv(calls.data(), name, upper, interface.getDescriptorSymbol(), isBackward ? 1 : 0,
                isBackward ? "recur_summarise_backward" : "recur_summarise");
  if (!isBackward)
    os << formatv(combinations.data(), name, upper, interface.getDescriptorSymbol());
}
