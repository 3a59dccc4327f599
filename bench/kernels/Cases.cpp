#include "Cases.h"
#include "Judge.h"
#include "Machine.h"
#include "benchmark/benchmark.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <fmt/format.h>
#include <functional>
#include <map>

using namespace recur::bench;

Shape Plan::getBase(const std::string &spec, const std::string &dtype, const std::string &target) const {
  Shape shape{&getKernel(spec, 128, 128, dtype, target)};
  shape.T = T;
  return shape;
}

Shape Plan::getStep(const std::string &spec, const std::string &dtype) const {
  Shape shape = getBase(spec, dtype);
  shape.plan = RECUR_PLAN_STEP;
  shape.B = stepBatch;
  shape.T = 1;
  return shape;
}

Shape Plan::getLong(const std::string &spec, recur_plan plan, int32_t threads) const {
  Shape shape = getBase(spec);
  shape.plan = plan;
  shape.H = 1;
  shape.T = 16 * T;
  shape.threads = threads;
  return shape;
}

Shape Plan::getDecayed(const std::string &spec, double decay) const {
  Shape shape = getBase(spec);
  shape.decay = decay;
  return shape;
}

Shape Plan::getSized(const std::string &spec, int64_t K, int64_t V) const {
  Shape shape{&getKernel(spec, K, V)};
  shape.T = T;
  return shape;
}

std::vector<int32_t> Plan::getThreads() const {
  std::vector<int32_t> threads;
  for (int32_t count = 2; count < recur_thread_count(); count *= 2)
    threads.push_back(count);
  if (recur_thread_count() > 1)
    threads.push_back(recur_thread_count());
  return threads;
}

std::vector<int64_t> Plan::getTokens() const {
  return isQuick ? std::vector<int64_t>{1, 64, 1024} : std::vector<int64_t>{1, 64, 256, 1024, 4096, 16384};
}

std::vector<int64_t> Plan::getHeads() const {
  return isQuick ? std::vector<int64_t>{4} : std::vector<int64_t>{1, 4, 16};
}

std::vector<std::pair<int64_t, int64_t>> Plan::getSizes() const {
  if (isQuick)
    return {{64, 64}, {128, 128}};
  return {{16, 16},   {60, 60},   {64, 64},   {96, 96},  {100, 100}, {128, 128}, {192, 192},
          {256, 256}, {128, 256}, {256, 128}, {64, 128}, {192, 96},  {100, 60}};
}

std::vector<std::string> Plan::getSizedSpecs() const { return {"gated_delta_net", "kda"}; }
std::vector<double> Plan::getDecays() const { return {-0.05, -1, -5, -20}; }
std::vector<std::string> Plan::getDecayedSpecs() const { return {"gated_delta_net", "kda", "gla"}; }
std::vector<std::string> Plan::getOtherTargets() const { return {"x86-64-v3"}; }

std::vector<std::string> Plan::getLongSpecs() const {
  std::vector<std::string> specs;
  for (const char *spec : {"gated_delta_net", "kda", "mamba2"})
    if (getKernel(spec).hasPlan(RECUR_PLAN_SEGMENT))
      specs.push_back(spec);
  return specs;
}

namespace {

struct Case {
  std::string name;
  std::function<void(benchmark::State &)> body;
};

/// Reports what a program found before it was first timed, and fails the benchmark if that is above the limit.
bool isWithin(benchmark::State &state, const std::string &name, const char *counter, double limit,
              const std::function<double()> &measure) {
  static std::map<std::string, double> found;
  if (!found.count(name))
    found[name] = measure();
  state.counters[counter] = found[name];
  if (found[name] <= limit)
    return true;
  state.SkipWithError(fmt::format("{} {:.1e} is above {:.0e}", counter, found[name], limit).c_str());
  return false;
}

Case makeKernelCase(const Shape &shape) {
  return {shape.getName(), [shape](benchmark::State &state) {
            double limit = shape.kernel->dtype == "f32" ? floatLimit : halfLimit;
            if (!isWithin(state, shape.getName(), "error", limit, [&] { return measureError(shape); }))
              return;
            Problem problem(shape);
            for (auto _ : state)
              problem.run();
            state.counters["flops"] = shape.countFlops();
            if (shape.T == 1)
              state.counters["bytes"] = shape.countStateBytes();
          }};
}

Case makePeerCase(Peer peer, const char *kind, const Shape &shape) {
  std::string name = getPeerName(kind, shape);
  return {name, [peer, shape, name](benchmark::State &state) {
            if (!isWithin(state, name, "difference", peerLimit, [&] { return measureDifference(peer, shape); }))
              return;
            Problem problem(shape);
            static std::vector<float> output;
            output.resize(size_t(shape.T * shape.H * shape.kernel->V));
            for (auto _ : state) {
              runPeer(peer, shape, problem, output);
              benchmark::DoNotOptimize(output.data());
            }
            state.counters["flops"] = shape.countFlops();
          }};
}

void multiplyAdds(benchmark::State &state) {
  double flops = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(flops = run_multiply_adds());
  state.counters["flops"] = flops;
}

void copyBytes(benchmark::State &state, int64_t count) {
  static std::vector<char> from, to;
  from.resize(size_t(count), 1);
  to.resize(size_t(count), 2);
  double bytes = 0;
  for (auto _ : state)
    bytes = run_copy(to.data(), from.data(), count);
  state.counters["bytes"] = bytes;
}

void updateBytes(benchmark::State &state, int64_t count) {
  static std::vector<float> data;
  data.resize(size_t(count) / sizeof(float), 1);
  double bytes = 0;
  for (auto _ : state)
    bytes = run_update(data.data(), int64_t(data.size()));
  state.counters["bytes"] = bytes;
}

/// A whole process, from start to exit.
void buildKernel(benchmark::State &state) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("recur-bench", folder))
    return state.SkipWithError("no scratch folder");
  const std::string recurc = RECUR_TOOLS_DIR "/recurc", spec = RECUR_SOURCE_DIR "/examples/gated_delta_net.recur";
  const std::string base = (folder + "/kernel").str();
  for (auto _ : state)
    if (llvm::sys::ExecuteAndWait(recurc, {recurc, "build", spec, "--target=host", "--dim=K=128,V=128",
                                           "--emit=obj,header,manifest", "-o", base}) != 0) {
      state.SkipWithError("recurc failed");
      break;
    }
  (void)llvm::sys::fs::remove_directories(folder);
}

/// The benchmarks of one round. What is divided by one another lies close together.
class Round {
public:
  explicit Round(const Plan &plan) : plan(plan) {
    cases.push_back({buildName, buildKernel});
    addPeak();
    addRecurrences();
    addPeak();
    addSweeps();
    addPeak();
    addPeers();
    addPeak();
    addSteps();
  }
  std::vector<Case> cases;

private:
  /// Several times a round: what else runs on the machine may take from a peak, and never adds to it.
  void addPeak() { cases.push_back({peakName, multiplyAdds}); }

  void add(const Shape &shape) {
    for (const Case &known : cases) // sweeps meet in the sizes that they start from
      if (known.name == shape.getName())
        return;
    cases.push_back(makeKernelCase(shape));
  }

  void addRecurrences() {
    for (const bench_form &form : getForms())
      add(plan.getBase(form.name));
    for (const bench_form &form : getForms()) {
      Shape shape = plan.getBase(form.name);
      for (int32_t threads : plan.getThreads()) {
        shape.threads = threads;
        add(shape);
      }
      add(plan.getBase(form.name, "bf16"));
      if (plan.isQuick)
        continue;
      add(plan.getBase(form.name, "f16"));
      for (const std::string &target : plan.getOtherTargets())
        add(plan.getBase(form.name, "f32", target));
    }
  }

  void addSweeps() {
    for (const std::string &spec : plan.getSizedSpecs())
      for (auto [K, V] : plan.getSizes())
        add(plan.getSized(spec, K, V));
    for (const bench_form &form : getForms())
      for (int64_t heads : plan.getHeads())
        for (int64_t tokens : plan.getTokens()) {
          Shape shape = plan.getBase(form.name);
          shape.H = heads;
          shape.T = tokens;
          shape.plan = tokens == 1 ? RECUR_PLAN_STEP : RECUR_PLAN_CHUNK;
          if (heads == plan.getBase(form.name).H || shape.kernel->spec == "gated_delta_net")
            add(shape);
        }
    for (int64_t heads : plan.getHeads()) {
      Shape shape = plan.getBase("gated_delta_net");
      shape.H = heads;
      for (int32_t threads : plan.getThreads()) {
        shape.threads = threads;
        add(shape);
      }
    }
    for (const std::string &spec : plan.getDecayedSpecs())
      for (double decay : plan.getDecays())
        add(plan.getDecayed(spec, decay));
    for (const std::string &spec : plan.getLongSpecs()) {
      add(plan.getLong(spec, RECUR_PLAN_CHUNK, 1));
      add(plan.getLong(spec, RECUR_PLAN_SEGMENT, 1));
      for (int32_t threads : plan.getThreads())
        add(plan.getLong(spec, RECUR_PLAN_SEGMENT, threads));
    }
    for (int64_t tokens : {2, 4, 8, 16, 32, 64})
      for (recur_plan which : {RECUR_PLAN_STEP, RECUR_PLAN_CHUNK}) {
        Shape shape = plan.getBase("gated_delta_net");
        shape.T = tokens;
        shape.plan = which;
        if (!plan.isQuick)
          add(shape);
      }
  }

  void addPeer(Peer peer, const Shape &shape) {
    static const char *kinds[] = {"strict", "fast", "blas"};
    const char *kind = kinds[size_t(peer)];
    if (peer == Peer::Blas && !plan.hasBlas)
      return;
    for (const Case &known : cases)
      if (known.name == getPeerName(kind, shape))
        return;
    cases.push_back(makePeerCase(peer, kind, shape));
  }

  void addPeers() {
    for (Peer peer : {Peer::Blas, Peer::Fast, Peer::Strict})
      for (const bench_form &form : getForms())
        addPeer(peer, plan.getBase(form.name));
    for (auto [K, V] : plan.getSizes())
      addPeer(Peer::Blas, plan.getSized("gated_delta_net", K, V));
    for (Peer peer : {Peer::Blas, Peer::Fast})
      for (int64_t tokens : plan.getTokens()) {
        Shape shape = plan.getBase("gated_delta_net");
        shape.T = tokens;
        if (tokens > 1)
          addPeer(peer, shape);
      }
  }

  void addSteps() {
    int64_t bytes = (plan.isQuick ? int64_t(64) : int64_t(256)) << 20;
    cases.push_back({copyName, [bytes](benchmark::State &state) { copyBytes(state, bytes); }});
    cases.push_back({updateName, [bytes](benchmark::State &state) { updateBytes(state, bytes); }});
    for (const bench_form &form : getForms())
      add(plan.getStep(form.name));
    add(plan.getStep("gated_delta_net", "bf16"));
  }

  const Plan &plan;
};

} // namespace

void recur::bench::registerCases(const Plan &plan, int rounds) {
  const Round round(plan);
  for (int i = 0; i < rounds; ++i)
    for (const Case &each : round.cases)
      benchmark::RegisterBenchmark(each.name.c_str(), each.body)->UseRealTime()->Unit(benchmark::kMicrosecond);
}
