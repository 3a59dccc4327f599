// The manifest: what the header says, for programs that read JSON.
#include "Codegen/Embed/KernelInterface.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace recur;
using namespace recur::codegen;

static json::Value printRecurrence(const KernelInterface &interface) {
  json::Object dims;
  for (const auto &[name, size] : interface.dims)
    dims[name] = size;
  json::Array arguments, kernels;
  for (const ArgumentField &field : getArgumentFields(interface)) {
    json::Array shape(field.array->shape);
    arguments.push_back(json::Object{
        {"name", field.array->name},
        {"field", field.name},
        {"role", abi::getFacts(field.role).name},
        {"dtype", getName(field.isState() ? DataType::F32 : interface.dataType)},
        {"shared", field.array->isShared},
        {"shape", std::move(shape)},
        {"full_shape", printFullShape(field)},
        {"optional", field.isState() || !field.isRead()},
    });
  }
  for (const InterfaceKernel &kernel : interface.kernels) {
    json::Object object{
        {"plan", getPlanName(kernel.plan)},
        {"symbol", kernel.symbol},
        {"tokens_from", kernel.tokensFrom},
        {kernel.launches.empty() ? "workspace_bytes_per_thread" : "workspace_bytes_per_cta", kernel.workspaceBytes}};
    json::Array launches;
    for (const InterfaceLaunch &launch : kernel.launches)
      launches.push_back(
          json::Object{{"symbol", launch.symbol}, {"threads", launch.threads}, {"shared_bytes", launch.sharedBytes}});
    if (!launches.empty())
      object["launches"] = std::move(launches);
    if (kernel.chunk)
      object["chunk"] = kernel.chunk;
    if (kernel.plan == RECUR_PLAN_SEGMENT)
      object["workspace_bytes_per_segment"] = kernel.segmentBytes;
    kernels.push_back(std::move(object));
  }
  return json::Object{{"name", interface.name},
                      {"symbol", interface.getSymbol()},
                      {"descriptor", interface.getDescriptorSymbol()},
                      {"source", interface.source},
                      {"dims", std::move(dims)},
                      {"dtype", getName(interface.dataType)},
                      {"arguments", std::move(arguments)},
                      {"plans", std::move(kernels)}};
}

std::string recur::codegen::printManifest(ArrayRef<KernelInterface> interfaces) {
  const KernelInterface &first = interfaces.front();
  json::Array recurrences;
  for (const KernelInterface &interface : interfaces)
    recurrences.push_back(printRecurrence(interface));
  json::Object manifest{{"compiler", "recurc " + first.compiler},
                        {"abi_version", RECUR_ABI_VERSION},
                        {"target", json::Object{{"name", first.target},
                                                {"triple", first.triple},
                                                {"cpu", first.cpu},
                                                {"features", json::Array(first.features)}}},
                        {"recurrences", std::move(recurrences)}};
  if (!first.lowerTargets.empty())
    manifest["lower_targets"] = json::Array(first.lowerTargets);
  return formatv("{0:2}\n", json::Value(std::move(manifest)));
}
