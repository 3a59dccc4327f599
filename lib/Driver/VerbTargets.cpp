// recurc targets
#include "Driver/Targets.h"
#include "Driver/Verbs.h"
#include "Pipelines/Stages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

static std::string whyNotBuilt() {
  return ("this version has no stage below '" + getLastStage().name + "', so it builds for no target").str();
}

static void printAsJSON(ArrayRef<Target> targets) {
  json::Array list;
  for (const Target &target : targets)
    list.push_back(json::Object{{"name", target.name},
                                {"kind", target.kind},
                                {"triple", target.triple},
                                {"cpu", target.cpu},
                                {"features", json::Array(target.features)},
                                {"runs_here", target.runsHere},
                                {"can_build", false},
                                {"reason", whyNotBuilt()}});
  outs() << formatv("{0:2}", json::Value(json::Object{{"targets", std::move(list)}})) << '\n';
}

static void printAsText(ArrayRef<Target> targets) {
  for (const Target &target : targets) {
    outs() << target.name;
    outs().indent(12 - std::min<size_t>(target.name.size(), 11)) << target.kind << "  ";
    outs() << (target.kind == "gpu"    ? "a GPU of this kind is looked for when a kernel is launched"
               : target.name == "host" ? target.cpu
               : target.runsHere       ? "runs here"
                                       : "does not run here");
    if (!target.features.empty())
      outs() << ": " << join(target.features, " ");
    outs() << '\n';
  }
  outs() << '\n' << whyNotBuilt() << '\n';
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
