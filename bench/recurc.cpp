// How long a user waits for recurc: whole processes, from start to exit.
#include "Data/Npy.h"
#include "benchmark/benchmark.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <random>

using namespace recur;

static const std::string recurc = RECUR_TOOLS_DIR "/recurc";
static const std::string examples = RECUR_SOURCE_DIR "/examples/";

/// Runs recurc once, and reports its failure as the benchmark's.
static bool runOnce(benchmark::State &state, llvm::ArrayRef<llvm::StringRef> arguments) {
  std::vector<llvm::StringRef> command{recurc};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::string message;
  const std::optional<llvm::StringRef> quiet[] = {llvm::StringRef(), llvm::StringRef(), std::nullopt};
  if (llvm::sys::ExecuteAndWait(recurc, command, std::nullopt, quiet, /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                &message) == 0)
    return true;
  state.SkipWithError(("recurc failed " + message).c_str());
  return false;
}

static void version(benchmark::State &state) {
  for (auto _ : state)
    if (!runOnce(state, {"--version"}))
      return;
}
BENCHMARK(version)->Unit(benchmark::kMillisecond)->UseRealTime();

static void explain(benchmark::State &state, const char *name, const char *dims) {
  std::string spec = examples + name + ".recur";
  for (auto _ : state)
    if (!runOnce(state, {"explain", spec, "--dim", dims}))
      return;
}
BENCHMARK_CAPTURE(explain, gated_delta_net, "gated_delta_net", "K=128,V=128")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(explain, delta_product, "delta_product", "K=128,V=128")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(explain, pkda, "pkda", "K=128,V=128")->Unit(benchmark::kMillisecond)->UseRealTime();

/// Writes an array of random numbers with the given spread and mean.
static bool writeRandom(llvm::StringRef folder, llvm::StringRef name, std::vector<int64_t> shape, double spread,
                        double mean) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(mean, spread);
  Array array{shape, std::vector<double>(*countElements(shape))};
  for (double &value : array.values)
    value = normal(generator);
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << npy::print(array, DataType::F64);
  return !error;
}

/// The interpreter over some tokens of one head of gated_delta_net, with keys short enough for the state to stay small.
static void interpret(benchmark::State &state) {
  int64_t tokens = state.range(0), size = state.range(1);
  llvm::SmallString<128> in, out;
  if (llvm::sys::fs::createUniqueDirectory("recur-bench-in", in) ||
      llvm::sys::fs::createUniqueDirectory("recur-bench-out", out))
    return state.SkipWithError("no scratch folder");
  double unit = 1 / std::sqrt(double(size));
  if (!writeRandom(in, "input.q.npy", {1, tokens, 1, size}, unit, 0) ||
      !writeRandom(in, "input.k.npy", {1, tokens, 1, size}, unit, 0) ||
      !writeRandom(in, "input.v.npy", {1, tokens, 1, size}, 1, 0) ||
      !writeRandom(in, "input.g.npy", {1, tokens, 1}, 0.01, -0.1) ||
      !writeRandom(in, "input.beta.npy", {1, tokens, 1}, 0.1, 0.5))
    return state.SkipWithError("cannot write the inputs");
  std::string spec = examples + "gated_delta_net.recur";
  std::string dims = "K=" + std::to_string(size) + ",V=" + std::to_string(size);
  for (auto _ : state)
    if (!runOnce(state, {"run", spec, "--dim", dims, "--engine=interpreter", "--in", in, "--out", out}))
      break;
  state.counters["tokens/s"] = benchmark::Counter(double(tokens), benchmark::Counter::kIsIterationInvariantRate);
  (void)llvm::sys::fs::remove_directories(in);
  (void)llvm::sys::fs::remove_directories(out);
}
BENCHMARK(interpret)->Args({1024, 64})->Args({1024, 128})->Unit(benchmark::kMillisecond)->UseRealTime();

BENCHMARK_MAIN();
