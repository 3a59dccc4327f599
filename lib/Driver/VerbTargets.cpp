// recurc targets
#include "Driver/Verbs.h"
#include "Engine/Memory.h"
#include "Target/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

static bool runsHere(const Target &target) { return !engine::explainNoDevice(target); }

/// The GPUs that a target is for.
static std::string describeModels(const GPUProfile &gpu) {
  if (gpu.isPortable)
    return formatv("any from compute capability {0}.{1} on, as PTX", gpu.capability / 10, gpu.capability % 10);
  std::vector<std::string> names;
  for (const GPUModel &model : getGPUModels())
    if (model.capability == gpu.capability)
      names.push_back(model.name.str());
  return join(names, ", ");
}

static void printAsJSON(ArrayRef<Target> targets) {
  json::Array list;
  for (const Target &target : targets) {
    json::Object object{{"name", target.name},
                        {"kind", getName(target.kind)},
                        {"triple", target.triple},
                        {"cpu", target.cpu},
                        {"features", json::Array(target.features)},
                        {"runs_here", runsHere(target)}};
    if (target.gpu) {
      object["gpus"] = describeModels(*target.gpu);
      object["shared_bytes"] = target.gpu->sharedBytes;
    }
    if (std::optional<std::string> reason = engine::explainNoDevice(target))
      object["reason"] = *reason;
    list.push_back(std::move(object));
  }
  outs() << formatv("{0:2}", json::Value(json::Object{{"targets", std::move(list)}})) << '\n';
}

static void printAsText(ArrayRef<Target> targets) {
  for (const Target &target : targets) {
    outs() << target.name;
    outs().indent(15 - std::min<size_t>(target.name.size(), 14)) << getName(target.kind) << "  ";
    outs() << (target.isHost() ? target.cpu : runsHere(target) ? "runs here" : "does not run here");
    if (!target.features.empty())
      outs() << ": " << join(target.features, " ");
    if (target.gpu)
      outs() << ": " << describeModels(*target.gpu);
    outs() << '\n';
  }
}

Expected<ExitCode> driver::runTargets(const opt::InputArgList &args) {
  if (const opt::Arg *extra = args.getLastArg(OPT_INPUT))
    return makeError("'targets' takes no file, but '" + Twine(extra->getValue()) + "' is given");
  std::vector<Target> targets = getTargets();
  if (args.hasArg(OPT_json))
    printAsJSON(targets);
  else
    printAsText(targets);
  return ExitCode::Fine;
}
