#include "Measurements.h"
#include "Cases.h"
#include <algorithm>
#include <fmt/format.h>

using namespace recur::bench;

static double getMiddle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void Measurements::add(const benchmark::BenchmarkReporter::Run &run) {
  if (run.run_type != benchmark::BenchmarkReporter::Run::RT_Iteration)
    return;
  const std::string &name = run.run_name.function_name;
  if (run.error_occurred) {
    failures[name] = run.error_message;
    return;
  }
  Series &series = all[name];
  double unit = benchmark::GetTimeUnitMultiplier(run.time_unit);
  series.core.push_back(run.GetAdjustedCPUTime() / unit);
  series.wall.push_back(run.GetAdjustedRealTime() / unit);
  for (const auto &[counter, value] : run.counters)
    series.counters[counter] = value.value;
}

const Measurements::Series *Measurements::find(const std::string &name) const {
  auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

std::optional<double> Measurements::getMedian(const std::string &name, Clock clock) const {
  if (const Series *series = find(name))
    return getMiddle(series->get(clock));
  return std::nullopt;
}

std::optional<double> Measurements::getBest(const std::string &name) const {
  if (const Series *series = find(name))
    return *std::min_element(series->core.begin(), series->core.end());
  return std::nullopt;
}

std::optional<double> Measurements::getRatio(const std::string &name, const std::string &over, Clock clock) const {
  const Series *first = find(name), *second = find(over);
  if (!first || !second)
    return std::nullopt;
  std::vector<double> ratios;
  const std::vector<double> &times = first->get(clock), &others = second->get(clock);
  for (size_t i = 0; i < std::min(times.size(), others.size()); ++i)
    ratios.push_back(times[i] / others[i]);
  return getMiddle(ratios);
}

std::optional<double> Measurements::getCounter(const std::string &name, const std::string &counter) const {
  const Series *series = find(name);
  if (!series || !series->counters.count(counter))
    return std::nullopt;
  return series->counters.at(counter);
}

bool Collector::ReportContext(const Context &context) { return !next || next->ReportContext(context); }

/// A run is shown when it is done, so the first of a round tells of the round's beginning.
void Collector::ReportRuns(const std::vector<Run> &runs) {
  if (next)
    next->ReportRuns(runs);
  for (const Run &run : runs) {
    measurements.add(run);
    if (first.empty() && run.run_name.function_name != peakName) // which is several times in a round
      first = run.run_name.function_name;
    if (first == run.run_name.function_name)
      fmt::print(stderr, "round {} of {}\n", ++started, rounds);
  }
}

void Collector::Finalize() {
  if (next)
    next->Finalize();
}
