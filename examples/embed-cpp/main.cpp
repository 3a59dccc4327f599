// Packed sequences of different lengths, with threads of the program's own; then the same data in bfloat16, and another
// recurrence.
#include "half.h"
#include "kda.h"
#include "mamba2.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr int64_t T = 60, H = 3, K = KDA_DIM_K, V = KDA_DIM_V;
const int64_t offsets[] = {0, 7, 7, 40, T}; // the second sequence is empty

std::vector<float> draw(size_t count, float low, float high) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> between(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = between(random);
  return values;
}

struct Workspace {
  explicit Workspace(int64_t bytes) : memory(std::aligned_alloc(64, (size_t(bytes) + 63) / 64 * 64 + 64), std::free) {}
  std::unique_ptr<void, void (*)(void *)> memory;
};

void check(recur_status status) {
  if (status == RECUR_OK)
    return;
  std::fprintf(stderr, "embed-cpp: %s\n", recur_message());
  std::exit(1);
}

/// One thread for each index: a real program would use its pool.
void runOnThreads(void *, int64_t count, void (*body)(void *, int64_t), void *context) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i)
    threads.emplace_back(body, context, i);
  for (std::thread &thread : threads)
    thread.join();
}

double relativeError(const std::vector<float> &got, const std::vector<float> &want) {
  double error = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += std::pow(got[i] - want[i], 2);
    size += std::pow(want[i], 2);
  }
  return std::sqrt(error / size);
}

uint16_t toBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBFloat(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::vector<uint16_t> toBFloat(std::vector<float> &values) {
  std::vector<uint16_t> halves;
  for (float &value : values) {
    halves.push_back(toBFloat(value));
    value = fromBFloat(halves.back()); // both recurrences are given the same numbers
  }
  return halves;
}

} // namespace

int main() {
  auto q = draw(T * H * K, -1, 1), k = draw(T * H * K, -0.3f, 0.3f), v = draw(T * H * V, -1, 1);
  auto g = draw(T * H * K, -0.5f, 0), beta = draw(T * H, 0, 1);
  auto qHalf = toBFloat(q), kHalf = toBFloat(k), vHalf = toBFloat(v), gHalf = toBFloat(g), betaHalf = toBFloat(beta);

  // Packed, on three threads.
  std::vector<float> packed(T * H * V), states(4 * H * V * K);
  kda_args args = {};
  args.B = 1;
  args.T = T;
  args.H = H;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.g = g.data();
  args.beta = beta.data();
  args.o = packed.data();
  args.final_S = states.data();
  args.sequence_offsets = offsets;
  args.sequence_count = 4;
  args.threads = 3;
  args.parallel_for = runOnThreads;
  args.workspace_bytes = kda_workspace_size(&args);
  Workspace workspace(args.workspace_bytes);
  args.workspace = workspace.memory.get();
  check(kda_forward(&args));

  // The same, sequence by sequence.
  std::vector<float> alone(T * H * V);
  for (int i = 0; i < 4; ++i) {
    int64_t begin = offsets[i] * H;
    kda_args one = args;
    one.T = offsets[i + 1] - offsets[i];
    one.sequence_offsets = nullptr;
    one.sequence_count = 0;
    one.parallel_for = nullptr;
    one.q = q.data() + begin * K;
    one.k = k.data() + begin * K;
    one.v = v.data() + begin * V;
    one.g = g.data() + begin * K;
    one.beta = beta.data() + begin;
    one.o = alone.data() + begin * V;
    one.final_S = nullptr;
    check(kda_forward(&one));
  }
  bool isSame = packed == alone;
  std::printf("embed-cpp: packed sequences %s\n", isSame ? "agree bit for bit" : "differ");

  // In bfloat16, by a kernel of the same name with a prefix.
  std::vector<uint16_t> oHalf(T * H * V);
  half_kda_args half = {};
  half.B = 1;
  half.T = T;
  half.H = H;
  half.q = qHalf.data();
  half.k = kHalf.data();
  half.v = vHalf.data();
  half.g = gHalf.data();
  half.beta = betaHalf.data();
  half.o = oHalf.data();
  half.sequence_offsets = offsets;
  half.sequence_count = 4;
  half.workspace_bytes = half_kda_workspace_size(&half);
  Workspace halfWorkspace(half.workspace_bytes);
  half.workspace = halfWorkspace.memory.get();
  check(half_kda_forward(&half));
  std::vector<float> o;
  for (uint16_t value : oHalf)
    o.push_back(fromBFloat(value));
  double error = relativeError(o, packed);
  std::printf("embed-cpp: bfloat16 %s\n", error < 4e-3 ? "agrees" : "differs");

  // A recurrence that is not in this file's source at all: the descriptor says what it takes.
  for (const recur_recurrence *recurrence : {&kda_recurrence, &half_kda_recurrence, &mamba2_recurrence}) {
    std::printf("embed-cpp: %s takes", recurrence->name);
    for (int i = 0; i < recurrence->array_count; ++i)
      std::printf(" %s", recurrence->arrays[i].name);
    std::printf("\n");
  }
  return isSame && error < 4e-3 ? 0 : 1;
}
