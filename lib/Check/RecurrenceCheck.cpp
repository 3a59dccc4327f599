#include "Check/RecurrenceCheck.h"
#include "Check/CheckStages.h"
#include "Check/GradientStages.h"
#include "Check/RandomData.h"
#include "Check/Starts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace recur;
using namespace recur::check;
using data::Results;
using data::Sizes;

std::string check::assumeDims(ArrayRef<frontend::RecurrenceInfo> recurrences, std::map<std::string, int64_t> &dims) {
  static constexpr int64_t sizes[] = {8, 6, 5, 7, 4, 3, 9, 10, 11, 12};
  std::string assumed;
  size_t next = 0;
  for (const frontend::RecurrenceInfo &recurrence : recurrences)
    for (const frontend::DimInfo &dim : recurrence.dims)
      if (!dim.value && !dims.count(dim.name)) {
        int64_t size = sizes[next++ % std::size(sizes)];
        dims[dim.name] = size;
        assumed += (assumed.empty() ? "" : ", ") + dim.name + " = " + std::to_string(size);
      }
  return assumed;
}

/// True, and in the report, where the results leave the numbers of float64: then no stage is compared.
static bool noteGrowth(RecurrenceReport &report, const Results &want, const Sizes &sizes) {
  std::string growth = describeGrowth(want, sizes);
  if (growth.empty())
    return false;
  if (report.growth.empty())
    report.growth = formatv("'{0}' leaves the numbers of float64 itself, token by token, at T = {1}: {2}",
                            report.recurrence.getSymName(), sizes.tokens, growth)
                        .str();
  for (StageReport &stage : report.stages)
    stage.addNotCompared(sizes.tokens);
  return true;
}

/// Adds to the report how gradients compare with dual numbers, on tame data and on hard.
static Error checkGradients(RecurrenceReport &report, const CheckOptions &options, const PipelineOptions &pipeline,
                            function_ref<void(const Twine &)> note) {
  std::vector<PreparedGradient> prepared;
  for (const GradientStage &stage : getGradientStages()) {
    bool isNamed = is_contained(options.only, stage.name);
    if (!options.only.empty() && !isNamed)
      continue;
    if ((stage.needsTarget && !options.compiles) || !stage.concerns(pipeline.target)) {
      if (isNamed)
        report.absent.push_back(stage.name);
      continue;
    }
    Expected<PreparedGradient> ready = stage.prepare(report.recurrence, pipeline);
    if (!ready)
      return ready.takeError();
    if (!ready->run) {
      note(ready->whyNotRun);
      continue;
    }
    report.stages.push_back({stage.name, 0, ready->limit});
    prepared.push_back(std::move(*ready));
  }
  for (int64_t tokens : options.tokens)
    for (const data::Difficulty &difficulty : {data::Difficulty(), getHardDifficulty()}) {
      Sizes sizes = report.sizes;
      sizes.tokens = tokens;
      Expected<JudgedGradient> drawn =
          makeJudgedGradient(report.recurrence, sizes, options.seed + tokens, difficulty,
                             options.compiles ? std::optional(pipeline.dataTypes) : std::nullopt, pipeline.gradients);
      if (!drawn)
        return drawn.takeError();
      if (noteGrowth(report, drawn->want, sizes))
        continue;
      for (auto [stage, ready] : zip(report.stages, prepared)) {
        if (ready.largest && drawn->largest > *ready.largest) {
          stage.addNotCompared(tokens);
          continue;
        }
        for (const PreparedGradient::Run &run : {ready.run, ready.runHanded}) {
          if (!run)
            continue;
          Expected<data::Data> gradient = run(drawn->data, drawn->cotangents);
          if (!gradient)
            return gradient.takeError();
          if (options.provokeDifference && !gradient->inputs.empty() &&
              !gradient->inputs.begin()->second.values.empty())
            gradient->inputs.begin()->second.values.back() += 1;
          Expected<Comparison> comparison = compareGradient(report.recurrence, ready, *drawn, *gradient);
          if (!comparison)
            return comparison.takeError();
          stage.add(*comparison, tokens);
        }
      }
    }
  return Error::success();
}

/// Why a stage cannot compute what the interpreter does in float64; empty where it can.
static std::string explainRange(const PreparedStage &stage, const JudgedData &drawn) {
  if (stage.largest && drawn.largest > *stage.largest)
    return formatv("the results reach {0:e1}, beyond their numbers", drawn.largest).str();
  if (stage.isFloat32() && drawn.onTheWay.magnitude > largestFloat32)
    return formatv("a value on the way is {0:e1} in float64 ({1}), beyond float32", drawn.onTheWay.magnitude,
                   drawn.onTheWay.where)
        .str();
  return "";
}

/// What kernels are held to: what states start as is in the types that they have states in.
static Expected<JudgedData> roundStarts(dgps::RecurrenceOp recurrence, const JudgedData &drawn,
                                        const DataTypes &types) {
  Expected<data::Data> completed = completeStarts(recurrence, drawn.data, types);
  if (!completed)
    return completed.takeError();
  JudgedData rounded = drawn;
  if (completed->initial.size() == drawn.data.initial.size())
    return rounded;
  Expected<Results> want = interpreter::interpret(recurrence, *completed);
  if (!want)
    return want.takeError();
  rounded.data = std::move(*completed);
  rounded.want = std::move(*want);
  return rounded;
}

Expected<RecurrenceReport> check::checkRecurrence(dgps::RecurrenceOp recurrence, const CheckOptions &options,
                                                  const PipelineOptions &pipeline,
                                                  function_ref<void(const Twine &)> note) {
  RecurrenceReport report{recurrence, {/*batch=*/2, /*tokens=*/0, /*heads=*/4, /*groups=*/4}, {}};
  if (any_of(recurrence.getInputs(), [](dgps::InputOp input) { return input.getShared(); }))
    report.sizes.groups = 2;
  if (options.backward) {
    if (Error error = checkGradients(report, options, pipeline, note))
      return std::move(error);
    return report;
  }
  std::vector<PreparedStage> prepared;
  StringSet<> told; // several stages may not run for one reason
  for (const CheckStage &stage : getCheckStages()) {
    bool isNamed = is_contained(options.only, stage.name);
    if (!options.only.empty() && !isNamed)
      continue;
    if (stage.needsTarget && !options.compiles) {
      if (isNamed)
        report.absent.push_back(stage.name);
      continue;
    }
    Expected<std::optional<PreparedStage>> ready = stage.prepare(recurrence, pipeline);
    if (!ready)
      return ready.takeError();
    if (!*ready) {
      if (isNamed)
        report.absent.push_back(stage.name);
    } else if (!(*ready)->whyNotRun.empty()) {
      if (told.insert((*ready)->whyNotRun).second)
        note((*ready)->whyNotRun);
    } else {
      report.stages.push_back({stage.name, 0, (*ready)->limit});
      prepared.push_back(std::move(**ready));
    }
  }
  std::set<std::string> reasons; // why some stages are not compared
  for (int64_t tokens : options.tokens) {
    Sizes sizes = report.sizes;
    sizes.tokens = tokens;
    Tameness wanted;
    if (options.compiles)
      wanted.types = pipeline.dataTypes; // what is measured is the kernel, not the rounding of what it is given
    for (const PreparedStage &stage : prepared) {
      wanted.largest = std::min(wanted.largest, stage.largest.value_or(INFINITY));
      if (stage.isFloat32())
        wanted.onTheWay = largestFloat32;
    }
    Expected<JudgedData> drawn = makeJudgedData(recurrence, sizes, options.seed + tokens, wanted,
                                                options.isHard ? getHardDifficulty() : data::Difficulty());
    if (!drawn)
      return drawn.takeError();
    if (noteGrowth(report, drawn->want, sizes))
      continue;
    Expected<JudgedData> rounded = roundStarts(recurrence, *drawn, pipeline.dataTypes);
    if (!rounded)
      return rounded.takeError();
    std::vector<std::pair<interpreter::Disturbance, RoundingErrors>> measured;
    for (auto [stage, ready] : zip(report.stages, prepared)) {
      if (std::string reason = explainRange(ready, *drawn); !reason.empty()) {
        reasons.insert("at T = " + std::to_string(tokens) + " " + reason);
        stage.addNotCompared(tokens);
        continue;
      }
      const JudgedData &judged = ready.stored ? *rounded : *drawn;
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
        return one.first == ready.rounding && one.second.timesTokenwise == ready.timesTokenwise &&
               one.second.leftOut == ready.leftOut && one.second.stored == ready.stored && !ready.runDisturbed &&
               !one.second.ofProgram;
      });
      if (known == measured.end()) {
        Expected<RoundingErrors> errors = measureRounding(recurrence, ready, judged.data);
        if (!errors)
          return errors.takeError();
        measured.push_back({ready.rounding, std::move(*errors)});
        known = std::prev(measured.end());
      }
      Comparison comparison = compare(*results, judged.want, limit, known->second);
      stage.add(comparison, tokens);
    }
  }
  for (StringRef reason : reasons)
    note("some stages are not compared: " + reason);
  return report;
}

static json::Value printNumber(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); // JSON has no infinity
}

json::Object check::printAsJSON(RecurrenceReport &report, const CheckOptions &options) {
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
                                  {"compared", stage.isCompared()},
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

/// `K = 128, V = 64`: the dims that the recurrence was instantiated with.
static std::string printDims(dgps::RecurrenceOp recurrence) {
  std::string text;
  for (mlir::NamedAttribute dim : recurrence.getDims())
    if (auto size = dyn_cast<mlir::IntegerAttr>(dim.getValue()))
      text += (text.empty() ? "" : ", ") + dim.getName().str() + " = " + std::to_string(size.getInt());
  return text;
}

std::string check::printAsText(RecurrenceReport &report, const CheckOptions &options) {
  std::string text;
  raw_string_ostream os(text);
  std::string dims = printDims(report.recurrence);
  os << report.recurrence.getSymName() << ": " << dims << (dims.empty() ? "" : ", ") << "B = " << report.sizes.batch
     << ", H = " << report.sizes.heads << ", Hq = " << report.sizes.groups << ", T = ";
  interleave(options.tokens, os, ", ");
  os << ", seed " << options.seed << '\n';
  os << formatv("  {0,-24}{1,10}{2,10}\n", "stage", "error", "limit");
  for (const StageReport &stage : report.stages) {
    if (!stage.isCompared()) {
      os << formatv("  {0,-24}{1,10}{2,10}  not compared\n", stage.name, "-", "-");
      continue;
    }
    os << formatv("  {0,-24}{1,10}{2,10}  ", stage.name, formatv("{0:e1}", stage.error).str(),
                  formatv("{0:e1}", stage.limit).str());
    if (stage.passes())
      os << "pass";
    else
      os << "FAIL at T = " << stage.worstTokens << " in " << stage.worstArray;
    if (!stage.notCompared.empty()) {
      os << "; not compared at T = ";
      interleave(stage.notCompared, os, ", ");
    }
    os << '\n';
  }
  return text;
}
