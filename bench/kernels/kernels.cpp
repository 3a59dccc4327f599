// Kernels of CPUs beside what the core can do, and beside a plain token loop in C. What is compared runs in turn, round
// by round in one process, so that a change of the machine's speed meets all alike; of each the median counts.
//   bench_kernels [ROUNDS [TOKENS]]
#include "BlasChunk.h"
#include "Machine.h"
#include "PlainLoops.h"
#include "recur/Runtime.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define SIZES(X) X(16) X(60) X(64) X(96) X(100) X(192) X(256)
#define RECURRENCES(X) X(gated_delta_net) X(delta_net) X(kda) X(mamba2) X(gla) X(pgdn) X(pkda) X(half_gated_delta_net)
#define DECLARE(NAME) extern "C" const recur_recurrence NAME##_recurrence;
RECURRENCES(DECLARE)
#define DECLARE_SIZE(N) extern "C" const recur_recurrence sized_##N##_gated_delta_net_recurrence;
SIZES(DECLARE_SIZE)

namespace {

constexpr int64_t H = 4;
constexpr int64_t stepBatch = 512; // states far beyond the caches
int64_t T = 4096;

/// A call of a recurrence with dense arrays of its own.
struct Problem {
  const recur_recurrence *recurrence;
  std::vector<std::unique_ptr<char, void (*)(void *)>> memory;
  std::vector<recur_argument> arguments;
  std::map<std::string, float *> named;
  recur_call call = {};

  char *allocate(int64_t bytes) {
    memory.emplace_back(static_cast<char *>(std::aligned_alloc(64, size_t(bytes + 127) / 64 * 64)), std::free);
    std::memset(memory.back().get(), 0, size_t(bytes));
    return memory.back().get();
  }

  Problem(const recur_recurrence *recurrence, int32_t plan, int32_t threads, int64_t B = 1, int64_t tokens = T)
      : recurrence(recurrence) {
    const int32_t kinds[] = {RECUR_INPUT, RECUR_PARAM, RECUR_STATE, RECUR_OUTPUT, RECUR_STATE};
    uint32_t random = 1;
    for (int role = 0; role < 5; ++role)
      for (int32_t i = 0; i < recurrence->array_count; ++i) {
        const recur_array_info &info = recurrence->arrays[i];
        if (info.kind != kinds[role])
          continue;
        int64_t count = H;
        for (int32_t side = 0; side < info.rank; ++side)
          count *= info.shape[side];
        if (info.kind != RECUR_PARAM)
          count *= B;
        if (info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT)
          count *= tokens;
        char *data = allocate(count * 4);
        bool isDecay = info.name[0] == 'g', isGain = std::strncmp(info.name, "beta", 4) == 0;
        for (int64_t j = 0; role < 2 && j < count; ++j) {
          random = random * 1664525u + 1013904223u;
          float unit = float(random >> 8) / float(1 << 24);
          float value = isDecay ? -0.2f * unit : isGain ? unit : (2 * unit - 1) * 0.15f; // keys of about unit length
          uint32_t bits;
          std::memcpy(&bits, &value, 4);
          if (info.dtype == RECUR_F32)
            reinterpret_cast<float *>(data)[j] = value;
          else
            reinterpret_cast<uint16_t *>(data)[j] = uint16_t(bits >> 16);
        }
        named[role == 4 ? "final" : info.name] = reinterpret_cast<float *>(data);
        arguments.push_back({role == 2 ? nullptr : data, {0, 0, 0}});
        if (role == 4) // in place, as a decoder does
          for (size_t j = 0; tokens == 1 && j < arguments.size(); ++j)
            if (!arguments[j].data)
              arguments[j].data = data;
      }
    call.B = B;
    call.T = tokens;
    call.H = H;
    call.arguments = arguments.data();
    call.argument_count = int64_t(arguments.size());
    call.plan = plan;
    call.threads = threads;
    call.workspace_bytes = recur_workspace_size(recurrence, &call);
    call.workspace = allocate(call.workspace_bytes);
  }
  void run() {
    if (recur_forward(recurrence, &call) != RECUR_OK) {
      std::fprintf(stderr, "%s\n", recur_message());
      std::exit(1);
    }
  }
};

struct Measured {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;
  double median() {
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    return seconds[seconds.size() / 2];
  }
};

std::vector<Measured> all;
double seconds(const std::string &name) {
  for (Measured &measured : all)
    if (measured.name == name)
      return measured.median();
  std::fprintf(stderr, "nothing called '%s' was measured\n", name.c_str());
  std::exit(1);
}

void addPlain(const std::string &name, plain_loop loop, Problem &problem) {
  all.push_back({name,
                 [&problem, loop] {
                   static float state[K * V];
                   for (int64_t head = 0; head < H; ++head) {
                     auto &named = problem.named;
                     auto at = [&](const char *array, int64_t size) {
                       auto found = named.find(array);
                       return found == named.end() ? nullptr : found->second + head * size;
                     };
                     bool isVector =
                         std::strstr(problem.recurrence->name, "kda") || std::strstr(problem.recurrence->name, "gla");
                     plain_head plain = {at("q", K),    at("k", K), at("v", V), at("g", isVector ? K : 1),
                                         at("beta", 1), at("o", V), H};
                     loop(&plain, T, state);
                   }
                   benchmark::DoNotOptimize(state);
                 },
                 {}});
}

double compare(Problem &kernel, const std::string &plain) {
  kernel.run(); // the plain loop writes to the same array
  std::vector<float> got(kernel.named["o"], kernel.named["o"] + T * H * V);
  for (Measured &measured : all)
    if (measured.name == plain)
      measured.run();
  double error = 0, size = 0;
  for (int64_t i = 0; i < T * H * V; ++i) {
    error += std::pow(got[i] - kernel.named["o"][i], 2);
    size += std::pow(got[i], 2);
  }
  return std::sqrt(error / size);
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  T = argc > 2 ? std::atoi(argv[2]) : T;
  std::map<std::string, std::unique_ptr<Problem>> problems;
  auto add = [&](const std::string &name, const recur_recurrence *recurrence, int32_t plan, int32_t threads,
                 int64_t B = 1, int64_t tokens = T) {
    Problem *problem = (problems[name] = std::make_unique<Problem>(recurrence, plan, threads, B, tokens)).get();
    all.push_back({name, [problem] { problem->run(); }, {}});
  };
  double operations = 0;
  all.push_back({"peak", [&] { operations = run_multiply_adds(); }, {}});
  constexpr size_t copied = size_t(256) << 20;
  std::vector<char> from(copied, 1), to(copied);
  all.push_back({"copy",
                 [&] {
                   std::memcpy(to.data(), from.data(), copied);
                   benchmark::DoNotOptimize(to.data());
                 },
                 {}});
#define ADD(NAME) add(#NAME, &NAME##_recurrence, RECUR_PLAN_CHUNK, 1);
  RECURRENCES(ADD)
#define ADD_SIZE(N) add("size " #N, &sized_##N##_gated_delta_net_recurrence, RECUR_PLAN_CHUNK, 1);
  SIZES(ADD_SIZE)
  add("two threads", &gated_delta_net_recurrence, RECUR_PLAN_CHUNK, 2);
  add("step", &gated_delta_net_recurrence, RECUR_PLAN_STEP, 1, stepBatch, 1);
  for (int64_t tokens : {1, 2, 4, 8, 16, 32})
    for (auto [plan, word] : {std::pair(RECUR_PLAN_STEP, "step "), {RECUR_PLAN_CHUNK, "chunk "}})
      add(word + std::to_string(tokens), &gated_delta_net_recurrence, plan, 1, 16, tokens);
  auto addBoth = [&](const std::string &name, plain_loop strict, plain_loop fast) {
    addPlain("strict " + name, strict, *problems[name]);
    addPlain("fast " + name, fast, *problems[name]);
  };
  addBoth("gated_delta_net", plain_strict.gated_delta_net, plain_fast.gated_delta_net);
  addBoth("delta_net", plain_strict.delta_net, plain_fast.delta_net);
  addBoth("kda", plain_strict.kda, plain_fast.kda);
  addBoth("mamba2", plain_strict.mamba2, plain_fast.mamba2);
  addBoth("gla", plain_strict.gla, plain_fast.gla);
  bool hasBlas = blas_open();
  if (hasBlas)
    addPlain("blas", blas_gated_delta_net, *problems["gated_delta_net"]);

  for (int round = -1; round < rounds; ++round) // the first one only warms up
    for (Measured &measured : all) {
      auto start = std::chrono::steady_clock::now();
      measured.run();
      std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (round >= 0)
        measured.seconds.push_back(took.count());
    }

  // A bound is what was reached once; the rest are medians.
  seconds("peak");
  double peak = operations / *std::min_element(all[0].seconds.begin(), all[0].seconds.end()),
         bandwidth = 2 * double(copied) / seconds("copy");
  std::printf("one core: %.0f Gflop/s of multiply-adds, %.1f GB/s of copying; B 1, H %d, T %d, K %d, V %d; medians of "
              "%d rounds\n\n",
              peak * 1e-9, bandwidth * 1e-9, int(H), int(T), int(K), int(V), rounds);
  // In chunks of C tokens: two interactions, the solve, the apply, two reads of the state, its update.
  auto flopsOf = [](double k, double v) { return double(H) * double(T) * (2 * 64 * (k + v) + 6 * k * v); };
  double flops = flopsOf(K, V);
  std::printf("gated_delta_net over the peak               %5.1f %%\n",
              100 * flops / seconds("gated_delta_net") / peak);
  if (hasBlas)
    std::printf("the chunk form with OpenBLAS, time over it  %5.2f (difference %.1e)\n",
                seconds("blas") / seconds("gated_delta_net"), compare(*problems["gated_delta_net"], "blas"));
  else
    std::printf("the chunk form with OpenBLAS                no libopenblas.so.0 (Debian: libopenblas0)\n");
  std::printf("bf16 data, time over float32                %5.2f\n",
              seconds("half_gated_delta_net") / seconds("gated_delta_net"));
  std::printf("pgdn, time over gated_delta_net             %5.2f\n", seconds("pgdn") / seconds("gated_delta_net"));
  std::printf("pkda, time over kda                         %5.2f\n", seconds("pkda") / seconds("kda"));
  std::printf("2 threads over 1                            %5.2f\n",
              seconds("gated_delta_net") / seconds("two threads"));
  double state = double(stepBatch * H * K * V) * 4 * 2; // read and written
  std::printf("step at 2048 heads, bytes over the bandwidth %5.1f %%\n\n", 100 * state / seconds("step") / bandwidth);
  std::printf("%-18s %8s %22s %22s %12s\n", "", "ms", "plain -O3 over it", "-ffast-math over it", "difference");
  for (const char *name : {"gated_delta_net", "delta_net", "kda", "mamba2", "gla"}) {
    double own = seconds(name);
    std::printf("%-18s %8.2f %22.2f %22.2f %12.1e\n", name, own * 1e3, seconds(std::string("strict ") + name) / own,
                seconds(std::string("fast ") + name) / own, compare(*problems[name], std::string("fast ") + name));
  }
  std::printf("\nK = V   time a flop, over that of 128\n");
  for (int size : {16, 60, 64, 96, 100, 192, 256})
    std::printf("%5d %28.2f\n", size,
                seconds("size " + std::to_string(size)) / flopsOf(size, size) / (seconds("gated_delta_net") / flops));
  std::printf("\ntokens   chunk over step\n");
  for (int64_t tokens : {1, 2, 4, 8, 16, 32})
    std::printf("%6d %17.2f\n", int(tokens),
                seconds("chunk " + std::to_string(tokens)) / seconds("step " + std::to_string(tokens)));
  return 0;
}
