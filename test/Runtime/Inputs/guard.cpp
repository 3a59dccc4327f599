// Runs a compiled recurrence with every array against a page that may not be touched, by every plan, for several
// lengths. The results must be the same bits whatever the number of threads, and when run again.
#include "GuardedPages.h"
#include "recur/Runtime.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

extern "C" const recur_recurrence RECURRENCE;

using recur::test::GuardedPages;

namespace {

constexpr int64_t B = 2, H = 4, Hq = 2;

void fill(GuardedPages &memory, int32_t dtype, uint32_t random) {
  size_t step = dtype == RECUR_F32 ? 4 : 2;
  for (size_t i = 0; i + step <= memory.bytes; i += step) {
    random = random * 1664525u + 1013904223u;
    float value = float(int32_t(random) >> 8) / float(1 << 23) * 0.3f - 0.31f; // below zero, as log decays are
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (dtype == RECUR_F32)
      memcpy(memory.data + i, &value, 4);
    else
      memcpy(memory.data + i, reinterpret_cast<char *>(&bits) + 2, 2);
  }
}

struct Run {
  std::vector<std::unique_ptr<GuardedPages>> arrays;
  std::vector<std::vector<char>> results;

  Run(int64_t T, int32_t plan, int32_t threads, bool upper, bool transposed) {
    std::vector<recur_argument> arguments;
    const int32_t kinds[] = {RECUR_INPUT, RECUR_PARAM, RECUR_STATE, RECUR_OUTPUT, RECUR_STATE};
    std::vector<GuardedPages *> written;
    for (int role = 0; role < 5; ++role)
      for (int32_t i = 0; i < RECURRENCE.array_count; ++i) {
        const recur_array_info &info = RECURRENCE.arrays[i];
        if (info.kind != kinds[role])
          continue;
        int64_t count = info.shared ? Hq : H;
        for (int32_t side = 0; side < info.rank; ++side)
          count *= info.shape[side];
        if (info.kind != RECUR_PARAM)
          count *= B;
        if (info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT)
          count *= T;
        arrays.push_back(std::make_unique<GuardedPages>(size_t(count) * (info.dtype == RECUR_F32 ? 4 : 2), upper));
        fill(*arrays.back(), info.dtype, uint32_t(arrays.size())); // the same in every run
        arguments.push_back({arrays.back()->data, {0, 0, 0}});
        if (role >= 3)
          written.push_back(arrays.back().get());
      }
    recur_call call = {};
    call.B = B;
    call.T = T;
    call.H = H;
    call.Hq = Hq;
    call.arguments = arguments.data();
    call.argument_count = int64_t(arguments.size());
    call.states_transposed = transposed;
    call.plan = plan;
    call.threads = threads;
    call.workspace_bytes = recur_workspace_size(&RECURRENCE, &call);
    GuardedPages workspace(size_t(call.workspace_bytes), upper);
    memset(workspace.data, upper ? 0xff : 0, workspace.bytes); // NaNs: nothing may be read that was not written
    call.workspace = workspace.data;
    if (recur_forward(&RECURRENCE, &call) != RECUR_OK) {
      printf("%s\n", recur_message());
      exit(1);
    }
    for (GuardedPages *memory : written)
      results.emplace_back(memory->data, memory->data + memory->bytes);
  }
};

} // namespace

int main() {
  int runs = 0;
  for (int32_t kernel = 0; kernel < RECURRENCE.kernel_count; ++kernel)
    for (int64_t T : {0, 1, 5, 64, 65, 130, 300})
      for (bool transposed : {false, true}) {
        int32_t plan = RECURRENCE.kernels[kernel].plan;
        std::vector<std::vector<std::vector<char>>> all;
        for (auto [threads, upper] : {std::pair<int32_t, bool>{1, true}, {1, false}, {3, true}, {8, false}}) {
          Run run(T, plan, threads, upper, transposed);
          all.push_back(run.results);
          ++runs;
        }
        for (auto &results : all)
          if (results != all.front()) {
            printf("plan %d, T = %d: other results in another run\n", plan, int(T));
            return 1;
          }
      }
  printf("%d plans, %d runs, nothing outside of the arrays\n", RECURRENCE.kernel_count, runs);
  return 0;
}
