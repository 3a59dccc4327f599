// Kernels of CPUs beside what the core can do, and beside what one would write without a compiler for recurrences.
// bench/README.md says how to run it and how to read it.
#include "BlasChunk.h"
#include "OtherWork.h"
#include "Report.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

using namespace recur::bench;

static const char *const help = R"(bench_kernels: times compiled kernels beside the machine's limits and beside peers
  --quick      fewer and smaller problems: seconds instead of minutes; asks for nothing
  --rounds=N   how often each benchmark is measured, in turn with all others (7; quick: 3)
Then the options of Google Benchmark, such as --benchmark_filter=REGEX, --benchmark_format=json,
--benchmark_out=FILE and --benchmark_list_tests.
Exits with 0, with 1 for a wrong option, with 2 if results differ too much or, unless --quick, a demand is missed.
)";

/// What the processor calls itself.
static std::string getProcessor() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line))
    if (line.rfind("model name", 0) == 0)
      return line.substr(line.find(':') + 2);
  return "unknown";
}

int main(int argc, char **argv) {
  Plan plan;
  int rounds = 0;
  bool isListed = false, isData = false;
  // What comes later counts: a default may be overridden.
  std::string shortest = "--benchmark_min_time=0.01";
  std::vector<char *> options = {argv[0], shortest.data()};
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "--help") {
      fmt::print("{}", help);
      return 0;
    }
    if (option == "--quick")
      plan.isQuick = true;
    else if (option.rfind("--rounds=", 0) == 0)
      rounds = std::atoi(option.c_str() + std::strlen("--rounds="));
    else
      options.push_back(argv[i]);
    isListed |= option.rfind("--benchmark_list_tests", 0) == 0;
    isData |= option.rfind("--benchmark_format", 0) == 0;
    if (option.rfind("--rounds", 0) == 0 && rounds < 1) {
      fmt::print(stderr, "bench_kernels: error: '{}': write --rounds=N with N of at least 1\n", option);
      return 1;
    }
  }
  if (rounds == 0)
    rounds = plan.isQuick ? 3 : 7;
  if (plan.isQuick) {
    plan.T = 1024;
    plan.stepBatch = 256;
  }
  auto count = int(options.size());
  benchmark::Initialize(&count, options.data());
  if (benchmark::ReportUnrecognizedArguments(count, options.data()))
    return 1;

  plan.hasBlas = blas_open();
  registerCases(plan, isListed ? 1 : rounds);
  benchmark::AddCustomContext("cpu", fmt::format("{} ({})", getProcessor(), llvm::sys::getHostCPUName().str()));
  benchmark::AddCustomContext("cores", std::to_string(recur_thread_count()));
  benchmark::AddCustomContext("rounds", std::to_string(rounds));
  benchmark::AddCustomContext("mode", plan.isQuick ? "quick" : "full");

  // Where data of another program's format is asked for, standard output is for that alone.
  std::FILE *to = isData ? stderr : stdout;
  Measurements measured;
  OtherWork others;
  Collector collector(measured, rounds, isData ? benchmark::CreateDefaultDisplayReporter() : nullptr);
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::Shutdown();
  if (isListed)
    return 0;

  std::vector<Demand> demands = judgeDemands(plan, measured);
  printDemands(demands, others.isNoticeable(), to);
  printTables(plan, measured, to);
  if (!plan.hasBlas)
    fmt::print(to, "\nOpenBLAS was not measured: there is no libopenblas.so.0 (Debian: libopenblas0)\n");
  for (const auto &[name, message] : measured.getFailures())
    fmt::print(stderr, "bench_kernels: error: {}: {}\n", name, message);
  bool isMissed = false;
  for (const Demand &demand : demands)
    isMissed |= demand.outcome == Demand::Missed && !plan.isQuick;
  return isMissed || !measured.getFailures().empty() ? 2 : 0;
}
