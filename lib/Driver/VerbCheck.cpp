// recurc check: every stage against the token-by-token interpreter, on random inputs.
#include "Check/CheckStages.h"
#include "Check/Comparison.h"
#include "Check/GradientStages.h"
#include "Check/RandomData.h"
#include "Driver/Provoke.h"
#include "Driver/Specification.h"
#include "Driver/Verbs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::check;
using interpreter::Results;
using interpreter::Sizes;

namespace {

struct CheckOptions {
  uint64_t seed = 0;
  std::vector<int64_t> tokens = {0, 1, 5, 64, 65, 200};
  bool compiles = false; // --target is given
  bool provokeDifference = false;
  bool backward = false; // gradients
};

struct StageReport {
  StringRef name;
  double error = 0, limit = 0;
  int64_t worstTokens = 0;
  std::vector<int64_t> notCompared = {}; // lengths whose results are beyond the stage's numbers
  std::string worstArray = {};
  bool passes() const { return error <= limit; } // false for a NaN

  /// Keeps the length at which most of the limit is taken; not a number is most of all.
  void add(const Comparison &comparison, int64_t tokens) {
    if (!worstArray.empty() && comparison.error / comparison.limit <= error / limit)
      return;
    error = comparison.error;
    limit = comparison.limit;
    worstArray = comparison.array;
    worstTokens = tokens;
  }
  void addNotCompared(int64_t tokens) {
    if (!is_contained(notCompared, tokens))
      notCompared.push_back(tokens);
  }
};

struct RecurrenceReport {
  dgps::RecurrenceOp recurrence;
  Sizes sizes;
  std::vector<StageReport> stages;
  std::string growth = {}; // of what leaves the numbers of float64 itself, token by token
  bool passes() const {
    return all_of(stages, [](const StageReport &stage) { return stage.passes(); });
  }
};

} // namespace

static Expected<CheckOptions> parseCheckOptions(const opt::InputArgList &args) {
  CheckOptions options;
  options.provokeDifference = provokesDifference(args);
  if (const opt::Arg *arg = args.getLastArg(OPT_seed))
    if (StringRef(arg->getValue()).getAsInteger(10, options.seed))
      return makeError("--seed: '" + Twine(arg->getValue()) + "' is not a whole number of at least 0");
  options.compiles = args.hasArg(OPT_target);
  options.backward = args.hasArg(OPT_backward);
  if (options.compiles && options.backward)
    return makeError("--backward: there are no kernels of gradients; leave --target out to check the chunk programs");
  if (const opt::Arg *arg = args.getLastArg(OPT_tokens)) {
    options.tokens.clear();
    for (StringRef item : split(arg->getValue(), ',')) {
      int64_t count;
      if (item.getAsInteger(10, count) || count < 0 || count > 1'000'000)
        return makeError("--tokens: '" + item + "' is not a number of tokens, from 0 to 1000000");
      options.tokens.push_back(count);
    }
  }
  return options;
}

/// Gives each dim without a size one of its own, so that no two sides are equal by chance.
static Error assumeDims(Specification &specification, frontend::InstantiationOptions &instantiation) {
  if (specification.getOptions().startFrom)
    return Error::success();
  static constexpr int64_t sizes[] = {8, 6, 5, 7, 4, 3, 9, 10, 11, 12};
  Expected<std::vector<frontend::RecurrenceInfo>> all = specification.describe();
  if (!all)
    return all.takeError();
  std::string assumed;
  size_t next = 0;
  for (const frontend::RecurrenceInfo &recurrence : *all)
    for (const frontend::DimInfo &dim : recurrence.dims)
      if (!dim.value && !instantiation.dims.count(dim.name)) {
        int64_t size = sizes[next++ % std::size(sizes)];
        instantiation.dims[dim.name] = size;
        assumed += (assumed.empty() ? "" : ", ") + dim.name + " = " + std::to_string(size);
      }
  if (!assumed.empty())
    note("checked with " + assumed + "; --dim gives other sizes");
  return Error::success();
}

/// True, and in the report, where the results leave the numbers of float64: then no stage is compared.
static bool noteGrowth(RecurrenceReport &report, const Results &want, const Sizes &sizes) {
  std::string growth = describeGrowth(want, sizes);
  if (growth.empty())
    return false;
  if (report.growth.empty())
    report.growth = formatv("the values of '{0}' grow without bound token by token, at T = {1}: {2}",
                            report.recurrence.getSymName(), sizes.tokens, growth)
                        .str();
  for (StageReport &stage : report.stages)
    stage.addNotCompared(sizes.tokens);
  return true;
}

/// Adds to the report how gradients compare with dual numbers, on tame data and on hard.
static Error checkGradients(RecurrenceReport &report, const CheckOptions &options, const PipelineOptions &pipeline) {
  std::vector<PreparedGradient> prepared;
  for (const GradientStage &stage : getGradientStages()) {
    Expected<PreparedGradient> ready = stage.prepare(report.recurrence, pipeline);
    if (!ready)
      return ready.takeError();
    report.stages.push_back({stage.name, 0, ready->limit});
    prepared.push_back(std::move(*ready));
  }
  for (int64_t tokens : options.tokens)
    for (const Difficulty &difficulty : {Difficulty(), getHardDifficulty()}) {
      Sizes sizes = report.sizes;
      sizes.tokens = tokens;
      Expected<JudgedGradient> drawn = makeJudgedGradient(report.recurrence, sizes, options.seed + tokens, difficulty);
      if (!drawn)
        return drawn.takeError();
      if (noteGrowth(report, drawn->want, sizes))
        continue;
      for (auto [stage, ready] : zip(report.stages, prepared)) {
        if (ready.largest && drawn->largest > *ready.largest) {
          stage.addNotCompared(tokens);
          continue;
        }
        Expected<interpreter::Data> gradient = ready.run(drawn->data, drawn->cotangents);
        if (!gradient)
          return gradient.takeError();
        if (options.provokeDifference && !gradient->inputs.empty() && !gradient->inputs.begin()->second.values.empty())
          gradient->inputs.begin()->second.values.back() += 1;
        Expected<Comparison> comparison = compareGradient(report.recurrence, ready, *drawn, *gradient);
        if (!comparison)
          return comparison.takeError();
        stage.add(*comparison, tokens);
      }
    }
  return Error::success();
}

static Expected<RecurrenceReport> checkRecurrence(dgps::RecurrenceOp recurrence, const CheckOptions &options,
                                                  const PipelineOptions &pipeline) {
  RecurrenceReport report{recurrence, {/*batch=*/2, /*tokens=*/0, /*heads=*/4, /*groups=*/4}, {}};
  if (any_of(recurrence.getInputs(), [](dgps::InputOp input) { return input.getShared(); }))
    report.sizes.groups = 2;
  if (options.backward) {
    if (Error error = checkGradients(report, options, pipeline))
      return std::move(error);
    return report;
  }
  std::vector<PreparedStage> prepared;
  for (const CheckStage &stage : getCheckStages()) {
    if (stage.needsTarget && !options.compiles)
      continue;
    Expected<std::optional<PreparedStage>> ready = stage.prepare(recurrence, pipeline);
    if (!ready)
      return ready.takeError();
    if (*ready) {
      report.stages.push_back({stage.name, 0, (*ready)->limit});
      prepared.push_back(std::move(**ready));
    }
  }
  for (int64_t tokens : options.tokens) {
    Sizes sizes = report.sizes;
    sizes.tokens = tokens;
    Tameness wanted;
    if (options.compiles)
      wanted.type = pipeline.dataType; // what is measured is the kernel, not the rounding of what it is given
    for (const PreparedStage &stage : prepared)
      wanted.largest = std::min(wanted.largest, stage.largest.value_or(INFINITY));
    Expected<JudgedData> drawn = makeJudgedData(recurrence, sizes, options.seed + tokens, wanted);
    if (!drawn)
      return drawn.takeError();
    if (noteGrowth(report, drawn->want, sizes))
      continue;
    std::vector<std::pair<interpreter::Disturbance, RoundingErrors>> measured;
    for (auto [stage, ready] : zip(report.stages, prepared)) {
      if (ready.largest && drawn->largest > *ready.largest) {
        note("stage '" + stage.name + "' is not compared at T = " + Twine(tokens) +
             ", where the results leave the range of its numbers");
        stage.addNotCompared(tokens);
        continue;
      }
      Expected<Results> results = ready.run(drawn->data);
      if (!results)
        return results.takeError();
      if (options.provokeDifference && !results->outputs.empty() && !results->outputs.begin()->second.values.empty())
        results->outputs.begin()->second.values.back() += 1;
      double limit = ready.limit;
      if (ready.largest && std::isfinite(drawn->condition))
        limit = std::max(limit, drawn->scaleLimit(limit));
      // Several stages round alike; what is their own program's is measured by itself.
      auto known = find_if(measured, [&, &ready = ready](const auto &one) {
        return one.first == ready.rounding && !ready.runDisturbed && !one.second.ofProgram;
      });
      if (known == measured.end()) {
        Expected<RoundingErrors> errors = measureRounding(recurrence, ready, drawn->data);
        if (!errors)
          return errors.takeError();
        measured.push_back({ready.rounding, std::move(*errors)});
        known = std::prev(measured.end());
      }
      Comparison comparison = compare(*results, drawn->want, limit, known->second);
      stage.add(comparison, tokens);
    }
  }
  return report;
}

static json::Value printNumber(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); // JSON has no infinity
}

static json::Object printAsJSON(RecurrenceReport &report, const CheckOptions &options) {
  json::Object dims;
  for (mlir::NamedAttribute dim : report.recurrence.getDims())
    if (auto size = dyn_cast<mlir::IntegerAttr>(dim.getValue()))
      dims[dim.getName().str()] = size.getInt();
  json::Array stages;
  for (const StageReport &stage : report.stages)
    stages.push_back(json::Object{{"name", stage.name},
                                  {"error", printNumber(stage.error)},
                                  {"limit", stage.limit},
                                  {"worst", stage.worstArray},
                                  {"not_compared", json::Array(stage.notCompared)},
                                  {"pass", stage.passes()}});
  return json::Object{{"recurrence", report.recurrence.getSymName()},
                      {"growth", report.growth},
                      {"dims", std::move(dims)},
                      {"batch", report.sizes.batch},
                      {"heads", report.sizes.heads},
                      {"groups", report.sizes.groups},
                      {"tokens", json::Array(options.tokens)},
                      {"seed", int64_t(options.seed)},
                      {"stages", std::move(stages)},
                      {"pass", report.passes()}};
}

static void printAsText(RecurrenceReport &report, const CheckOptions &options) {
  std::string dims = printDims(report.recurrence);
  outs() << report.recurrence.getSymName() << ": " << dims << (dims.empty() ? "" : ", ") << "B = " << report.sizes.batch
         << ", H = " << report.sizes.heads << ", Hq = " << report.sizes.groups << ", T = ";
  interleave(options.tokens, outs(), ", ");
  outs() << ", seed " << options.seed << '\n';
  outs() << formatv("  {0,-20}{1,10}{2,10}\n", "stage", "error", "limit");
  for (const StageReport &stage : report.stages) {
    outs() << formatv("  {0,-20}{1,10}{2,10}  ", stage.name, formatv("{0:e1}", stage.error).str(),
                      formatv("{0:e1}", stage.limit).str());
    if (stage.passes())
      outs() << "pass";
    else
      outs() << "FAIL at T = " << stage.worstTokens << " in " << stage.worstArray;
    if (!stage.notCompared.empty()) {
      outs() << "; not compared at T = ";
      interleave(stage.notCompared, outs(), ", ");
    }
    outs() << '\n';
  }
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
  if (Error error = provoke(args))
    return std::move(error);

  std::vector<RecurrenceReport> reports;
  for (dgps::RecurrenceOp recurrence : (*specification)->getRecurrences()) {
    Expected<RecurrenceReport> report = checkRecurrence(recurrence, *check, *pipeline);
    if (!report)
      return report.takeError();
    reports.push_back(std::move(*report));
  }
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
      printAsText(report, *check);
  }
  bool passes = all_of(reports, [](const RecurrenceReport &report) { return report.passes(); });
  if (!passes)
    note("a stage differs from the interpreter: this is a fault in recurc; the command above repeats it");
  // What no arithmetic holds is a matter of the recurrence and its data.
  for (const RecurrenceReport &report : reports)
    if (passes && !report.growth.empty())
      return makeError(report.growth);
  return passes ? ExitCode::Fine : ExitCode::CheckFailed;
}
