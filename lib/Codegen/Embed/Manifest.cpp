// The manifest: what the header says, for programs that read JSON.
#include "Codegen/Embed/SummaryHeader.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace recur;
using namespace recur::codegen;

static json::Array printArguments(const KernelInterface &interface, ArrayRef<ArgumentField> fields) {
  json::Array arguments;
  for (const ArgumentField &field : fields) {
    if (field.isLeftOut)
      continue;
    json::Array shape(field.array->shape);
    arguments.push_back(json::Object{
        {"name", field.array->name},
        {"field", field.name},
        {"role", abi::getFacts(field.role).name},
        {"dtype", getName(field.array->type)},
        {"shared", field.array->isShared},
        {"shape", std::move(shape)},
        {"full_shape", printFullShape(field)},
        {"optional", field.role != abi::Role::Input && field.role != abi::Role::Param},
    });
  }
  return arguments;
}

static json::Array printLaunches(const InterfaceKernel &kernel) {
  json::Array launches;
  for (const InterfaceLaunch &launch : kernel.launches) {
    json::Object own{{"symbol", launch.symbol}, {"threads", launch.threads}, {"shared_bytes", launch.sharedBytes}};
    if (launch.teams) {
      own["teams"] = launch.teams;
      own["cost"] = launch.cost;
    }
    if (launch.awaits)
      own["awaits"] = true;
    if (launch.cuts)
      own["cuts"] = true;
    if (launch.cuts && launch.workspaceBytes)
      own["workspace_bytes_per_summary"] = launch.workspaceBytes;
    if (launch.cuts && launch.bounds)
      own["cost"] = launch.cost;
    if (launch.bounds)
      own["bounds"] = true;
    if (!launch.listed.empty())
      own["listed"] = launch.listed; // of packed sequences
    if (launch.stateParts)
      own["state_parts"] = launch.stateParts; // CTAs of a head
    if (kernel.plan == RECUR_PLAN_STEP && !launch.arrays.empty())
      own["keeps_states"] = true; // before every token
    launches.push_back(std::move(own));
  }
  return launches;
}

static json::Array printPlans(const KernelInterface &interface) {
  json::Array kernels;
  for (const InterfaceKernel &kernel : interface.kernels) {
    json::Object object{
        {"plan", getPlanName(kernel.plan)},
        {"symbol", kernel.symbol},
        {"tokens_from", kernel.tokensFrom},
        {kernel.launches.empty() ? "workspace_bytes_per_thread" : "workspace_bytes_per_cta", kernel.workspaceBytes}};
    if (!kernel.launches.empty())
      object["launches"] = printLaunches(kernel);
    if (kernel.listing)
      object["listing"] = kernel.listing->symbol;
    if (kernel.trees)
      object["trees"] = kernel.trees->symbol;
    if (kernel.chunk)
      object["chunk"] = kernel.chunk;
    if (kernel.plan == RECUR_PLAN_SEGMENT)
      object["workspace_bytes_per_segment"] = kernel.segmentBytes;
    kernels.push_back(std::move(object));
  }
  return kernels;
}

/// What a part of a sequence makes of states: the float32 numbers of a head that each summary has.
static json::Array printSummaries(const KernelInterface &interface) {
  json::Array summaries;
  for (const InterfaceSummary &summary : findSummaries(interface)) {
    json::Array needs;
    for (int32_t need : summary.needs)
      needs.push_back(need);
    summaries.push_back(json::Object{{"state", getStateName(interface, summary)},
                                     {"map_size", countMapNumbers(interface, summary)},
                                     {"offset_size", countStateNumbers(interface, summary)},
                                     {"dtype", "f32"},
                                     {"needs", std::move(needs)}});
  }
  return summaries;
}

static json::Object printTarget(const KernelInterface &interface) {
  return json::Object{{"name", interface.target},
                      {"triple", interface.triple},
                      {"cpu", interface.cpu},
                      {"features", json::Array(interface.features)}};
}

static json::Value printRecurrence(const KernelInterface &interface) {
  json::Object dims;
  for (const auto &[name, size] : interface.dims)
    dims[name] = size;
  json::Object recurrence{{"name", interface.name},
                          {"symbol", interface.getSymbol()},
                          {"descriptor", interface.getDescriptorSymbol()},
                          {"source", interface.source},
                          {"dims", std::move(dims)},
                          {"dtype", interface.dataTypes.print()},
                          {"precision", interface.tf32 ? "tf32" : "exact"},
                          {"arguments", printArguments(interface, getArgumentFields(interface))},
                          {"plans", printPlans(interface)},
                          {"summaries", printSummaries(interface)}};
  if (!interface.gradient)
    return recurrence;
  json::Array leftOut;
  for (const ArgumentField &field : getGradientFields(interface))
    if (field.isLeftOut)
      leftOut.push_back(field.name);
  const InterfaceGradient &gradient = *interface.gradient;
  json::Object backward{{"arguments", printArguments(interface, getGradientFields(interface))},
                        {"left_out", std::move(leftOut)},
                        {"symbol", gradient.runLaunches ? gradient.runLaunches->symbol : gradient.run},
                        {"chunk", gradient.chunk}};
  if (gradient.runLaunches) {
    json::Array launches = gradient.statesLaunches ? printLaunches(*gradient.statesLaunches) : json::Array();
    for (json::Value &launch : printLaunches(*gradient.runLaunches))
      launches.push_back(std::move(launch));
    backward["launches"] = std::move(launches);
  } else {
    backward["workspace_bytes_per_thread"] = gradient.workspaceBytes;
  }
  recurrence["backward"] = std::move(backward);
  return recurrence;
}

/// What of a recurrence differs from target to target.
static json::Value printLower(ArrayRef<KernelInterface> interfaces) {
  json::Array recurrences;
  for (const KernelInterface &interface : interfaces)
    recurrences.push_back(json::Object{{"name", interface.name},
                                       {"symbol", interface.getSymbol()},
                                       {"descriptor", interface.getDescriptorSymbol()},
                                       {"plans", printPlans(interface)}});
  return json::Object{{"target", printTarget(interfaces.front())}, {"recurrences", std::move(recurrences)}};
}

std::string recur::codegen::printManifest(ArrayRef<KernelInterface> interfaces,
                                          ArrayRef<std::vector<KernelInterface>> lower) {
  const KernelInterface &first = interfaces.front();
  json::Array recurrences;
  for (const KernelInterface &interface : interfaces)
    recurrences.push_back(printRecurrence(interface));
  json::Object manifest{{"compiler", "recurc " + first.compiler},
                        {"abi_version", RECUR_ABI_VERSION},
                        {"target", printTarget(first)},
                        {"recurrences", std::move(recurrences)}};
  if (!first.lowerTargets.empty())
    manifest["lower_targets"] = json::Array(first.lowerTargets);
  json::Array others;
  for (const std::vector<KernelInterface> &target : lower)
    others.push_back(printLower(target));
  if (!others.empty())
    manifest["others"] = std::move(others);
  return formatv("{0:2}\n", json::Value(std::move(manifest)));
}
