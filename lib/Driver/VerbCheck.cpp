// recurc check: every stage against the token-by-token interpreter, on random inputs.
#include "Check/CheckStages.h"
#include "Check/GradientStages.h"
#include "Check/RecurrenceCheck.h"
#include "Compile/ArrayTypes.h"
#include "Driver/Provoke.h"
#include "Driver/Specification.h"
#include "Driver/Verbs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::check;

static Expected<CheckOptions> parseCheckOptions(const opt::InputArgList &args) {
  CheckOptions options;
  options.provokeDifference = provokesDifference(args);
  if (const opt::Arg *arg = args.getLastArg(OPT_seed))
    if (StringRef(arg->getValue()).getAsInteger(10, options.seed))
      return makeError("--seed: '" + Twine(arg->getValue()) + "' is not a whole number of at least 0");
  options.compiles = args.hasArg(OPT_target);
  options.backward = args.hasArg(OPT_backward, OPT_backward_of);
  options.isHard = args.hasArg(OPT_hard);
  if (options.backward && options.isHard)
    return makeError("--backward: it takes no --hard; gradients are checked on tame and on hard data");
  if (const opt::Arg *arg = args.getLastArg(OPT_stages))
    for (StringRef name : split(arg->getValue(), ',')) {
      std::vector<StringRef> known;
      for (const CheckStage &stage : options.backward ? ArrayRef<CheckStage>() : getCheckStages())
        known.push_back(stage.name);
      for (const GradientStage &stage : options.backward ? getGradientStages() : ArrayRef<GradientStage>())
        known.push_back(stage.name);
      if (!is_contained(known, name))
        return makeUnknownValueError("--stages", name, known);
      options.only.push_back(name.str());
    }
  if (const opt::Arg *arg = args.getLastArg(OPT_tokens)) {
    options.tokens.clear();
    for (StringRef item : split(arg->getValue(), ',')) {
      int64_t count;
      if (item.getAsInteger(10, count) || count < 0 || count > kMostTokens)
        return makeError("--tokens: '" + item + "' is not a number of tokens, from 0 to " + Twine(kMostTokens));
      options.tokens.push_back(count);
    }
  }
  return options;
}

/// Sizes for the dims that have none.
static Error assumeDims(Specification &specification, frontend::InstantiationOptions &instantiation) {
  if (specification.getOptions().startFrom)
    return Error::success();
  Expected<std::vector<frontend::RecurrenceInfo>> all = specification.describe();
  if (!all)
    return all.takeError();
  if (std::string assumed = assumeDims(*all, instantiation.dims); !assumed.empty())
    note("checked with " + assumed + "; --dim gives other sizes");
  return Error::success();
}

/// Why a stage that was asked for has nothing to compare.
static const char *explainAbsence(StringRef name, const CheckOptions &check) {
  const CheckStage *stage = find_if(getCheckStages(), [&](const CheckStage &known) { return known.name == name; });
  return stage->needsTarget && !check.compiles ? "it is of compiled kernels, and no --target says for which machine"
                                               : "this recurrence has none on this target with this plan";
}

/// Whether some gradient is that of what conjugate gradients go to, which few of them do not reach.
static bool standsForSolutions(ArrayRef<dgps::RecurrenceOp> recurrences) {
  return any_of(recurrences, [](dgps::RecurrenceOp recurrence) {
    return any_of(recurrence.getBody().getOps<dgps::CgOp>(), [](dgps::CgOp cg) { return !cg.getBySteps(); });
  });
}

Expected<ExitCode> driver::runCheck(const opt::InputArgList &args) {
  Expected<SpecOptions> options = parseRecurrenceOptions(args, "check");
  if (!options)
    return options.takeError();
  Expected<PipelineOptions> pipeline = parsePipelineOptions(args);
  if (!pipeline)
    return pipeline.takeError();
  Expected<CheckOptions> check = parseCheckOptions(args);
  if (!check)
    return check.takeError();
  Expected<std::unique_ptr<Specification>> specification = Specification::open(*options);
  if (!specification)
    return specification.takeError();
  frontend::InstantiationOptions instantiation = options->instantiation;
  if (Error error = assumeDims(**specification, instantiation))
    return std::move(error);
  if (Error error = (*specification)->compile(instantiation))
    return std::move(error);
  if (Error error = compile::checkArrayTypes((*specification)->getRecurrences(), pipeline->dataTypes))
    return std::move(error);
  if (Error error = provoke(args))
    return std::move(error);

  std::vector<RecurrenceReport> reports;
  for (dgps::RecurrenceOp recurrence : (*specification)->getRecurrences()) {
    Expected<RecurrenceReport> report = checkRecurrence(recurrence, *check, *pipeline, note);
    if (!report)
      return report.takeError();
    for (StringRef stage : report->absent)
      note("stage '" + stage + "' is not compared: " + explainAbsence(stage, *check));
    reports.push_back(std::move(*report));
  }
  // A check that compares nothing must not pass.
  auto comparesNothing = [&](const RecurrenceReport &report) {
    return all_of(check->only, [&](const std::string &name) { return is_contained(report.absent, name); });
  };
  if (!check->only.empty() && all_of(reports, comparesNothing))
    return makeError(
        "--stages: none of the stages that it names can be compared here; leave it out to compare all that can");
  if (args.hasArg(OPT_json)) {
    json::Array list;
    for (RecurrenceReport &report : reports)
      list.push_back(printAsJSON(report, *check));
    // One recurrence is the object itself; several are a list in an object.
    json::Value value =
        reports.size() == 1 ? std::move(list.front()) : json::Value(json::Object{{"recurrences", std::move(list)}});
    outs() << formatv("{0:2}", value) << '\n';
  } else {
    for (RecurrenceReport &report : reports)
      outs() << printAsText(report, *check);
  }
  bool comparesNone = any_of(reports, [](const RecurrenceReport &report) {
    return !report.stages.empty() &&
           none_of(report.stages, [](const StageReport &stage) { return stage.isCompared(); });
  });
  bool passes = all_of(reports, [](const RecurrenceReport &report) { return report.passes(); });
  if (!passes && check->backward && standsForSolutions((*specification)->getRecurrences()))
    note("a stage differs from dual numbers. The gradient of 'cg' is that of the solution, and right as far as its "
         "iterations reach it: give it more, or write gradient = steps. Where that changes nothing, this is a fault in "
         "recurc");
  else if (!passes)
    note("a stage differs from the interpreter: this is a fault in recurc; the command above repeats it");
  // Values too large for every arithmetic are the fault of the recurrence and its data.
  for (const RecurrenceReport &report : reports)
    if (passes && !report.growth.empty())
      return makeError(report.growth);
  if (passes && comparesNone)
    return makeError("no stage was compared with the interpreter; give other --tokens, or another --seed");
  return passes ? ExitCode::Fine : ExitCode::CheckFailed;
}
