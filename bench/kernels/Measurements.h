// What was measured, collected from Google Benchmark round by round.
#pragma once
#include "benchmark/benchmark.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recur::bench {

/// Core time is what the program's own thread was given: on a machine that others use too, it says of one thread what
/// the wall clock would say if they did not. Of several threads, or of another process, only the wall clock tells.
enum class Clock { Core, Wall };

class Measurements {
public:
  void add(const benchmark::BenchmarkReporter::Run &run);

  /// Seconds: the median over the rounds, and the least. None if it was not measured.
  std::optional<double> getMedian(const std::string &name, Clock clock = Clock::Core) const;
  std::optional<double> getBest(const std::string &name) const;
  /// The first's time over the second's: the median of the rounds' ratios.
  std::optional<double> getRatio(const std::string &name, const std::string &over, Clock clock = Clock::Core) const;
  /// What the benchmark counted: flops, bytes, error or difference.
  std::optional<double> getCounter(const std::string &name, const std::string &counter) const;
  /// Benchmarks that failed, and why.
  const std::map<std::string, std::string> &getFailures() const { return failures; }

private:
  struct Series {
    std::vector<double> core, wall; // one a round
    const std::vector<double> &get(Clock clock) const { return clock == Clock::Core ? core : wall; }
    std::map<std::string, double> counters;
  };
  const Series *find(const std::string &name) const;
  std::map<std::string, Series> all;
  std::map<std::string, std::string> failures;
};

/// Collects the runs. Shows how far the benchmark is, or passes everything on to one of Google Benchmark's own
/// reporters.
class Collector : public benchmark::BenchmarkReporter {
public:
  Collector(Measurements &measurements, int rounds, benchmark::BenchmarkReporter *next)
      : measurements(measurements), rounds(rounds), next(next) {}
  bool ReportContext(const Context &context) override;
  void ReportRuns(const std::vector<Run> &runs) override;
  void Finalize() override;

private:
  Measurements &measurements;
  int rounds;
  int started = 0;
  std::unique_ptr<benchmark::BenchmarkReporter> next;
  std::string first; // benchmark of each round
};

} // namespace recur::bench
