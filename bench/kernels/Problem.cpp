#include "Problem.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

using namespace recur::bench;

namespace {

using Memory = std::unique_ptr<char, void (*)(void *)>;

Memory allocate(int64_t bytes) {
  return {static_cast<char *>(std::aligned_alloc(64, size_t(bytes + 127) / 64 * 64)), std::free};
}

/// Numbers that need no more precision than bfloat16 has: then data of all types hold the same.
class Numbers {
public:
  explicit Numbers(const std::string &name) {
    for (char letter : name)
      state = (state ^ uint64_t(letter)) * 0x100000001b3u;
  }
  /// From 0 to 1.
  float drawUnit() { return float(draw() >> 40) * 0x1p-24f; }
  /// Mean 0, deviation 1, in four uniform summands.
  float drawNormal() {
    uint64_t bits = draw();
    float sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += float((bits >> (16 * i)) & 0xffff) * 0x1p-16f - 0.5f;
    return sum * std::sqrt(3.0f);
  }

private:
  uint64_t draw() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  uint64_t state = 0xcbf29ce484222325u;
};

float roundToBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Draws one row of the array called `name`: keys and queries of length one, gains from 0 to 1, decays of 0.1% to 63% a
/// token, or those whose logarithms have the mean `decay`.
void drawRow(const std::string &name, Numbers &numbers, double decay, float *row, int64_t width) {
  float square = 0;
  for (int64_t i = 0; i < width; ++i) {
    if (name == "g" && decay != 0)
      row[i] = float(decay) * (0.5f + numbers.drawUnit());
    else if (name == "g" || name == "g_p")
      row[i] = -std::exp(std::log(1e-3f) * numbers.drawUnit());
    else if (name == "beta" || name == "beta_p")
      row[i] = numbers.drawUnit();
    else if (name == "mu")
      row[i] = -2;
    else if (name == "log_gamma")
      row[i] = -0.03f * numbers.drawUnit();
    else
      row[i] = numbers.drawNormal();
    square += row[i] * row[i];
  }
  float factor = name == "q" || name == "k" ? 1 / std::sqrt(square) : 1;
  for (int64_t i = 0; i < width; ++i)
    row[i] = roundToBFloat(row[i] * factor);
}

void store(float value, int32_t dtype, char *data, int64_t index) {
  uint32_t bits;
  if (dtype == RECUR_F16)
    value *= 0x1p-112f; // the exponent's bias is 15 instead of 127
  std::memcpy(&bits, &value, 4);
  if (dtype == RECUR_F32)
    reinterpret_cast<float *>(data)[index] = value;
  else
    reinterpret_cast<uint16_t *>(data)[index] =
        uint16_t(dtype == RECUR_BF16 ? bits >> 16 : (bits >> 31 << 15) | (bits >> 13 & 0x7fff));
}

float load(int32_t dtype, const void *data, int64_t index) {
  if (dtype == RECUR_F32)
    return static_cast<const float *>(data)[index];
  uint32_t half = static_cast<const uint16_t *>(data)[index];
  uint32_t bits = dtype == RECUR_BF16 ? half << 16 : half >> 15 << 31 | (half & 0x7fff) << 13;
  float value;
  std::memcpy(&value, &bits, 4);
  return dtype == RECUR_F16 ? value * 0x1p112f : value;
}

struct SharedArray {
  int64_t rows = 0;
  Memory data{nullptr, std::free};
};

/// At least `rows` rows of the array called `name`, drawn if it is an input or a parameter.
void *getArray(const std::string &name, bool isDrawn, double decay, int32_t dtype, int64_t width, int64_t rows) {
  static std::map<std::tuple<std::string, double, int32_t, int64_t>, SharedArray> arrays;
  SharedArray &array = arrays[{name, name == "g" ? decay : 0, dtype, width}];
  if (array.rows >= rows && array.data)
    return array.data.get();
  int64_t bytes = rows * width * (dtype == RECUR_F32 ? 4 : 2);
  array.data.reset();
  array.data = allocate(bytes);
  array.rows = rows;
  std::memset(array.data.get(), 0, size_t(bytes)); // so that its pages are there
  Numbers numbers(name);
  std::vector<float> row(size_t(width), 0);
  for (int64_t i = 0; isDrawn && i < rows; ++i) {
    drawRow(name, numbers, decay, row.data(), width);
    for (int64_t j = 0; j < width; ++j)
      store(row[size_t(j)], dtype, array.data.get(), i * width + j);
  }
  return array.data.get();
}

int64_t getWidth(const recur_array_info &info) {
  int64_t width = 1;
  for (int32_t side = 0; side < info.rank; ++side)
    width *= info.shape[side];
  return width;
}

} // namespace

Problem::Problem(const Shape &shape) : shape(shape), workspace(nullptr, std::free) {
  const recur_recurrence *recurrence = shape.kernel->recurrence;
  const struct {
    int32_t kind;
    bool isFinal;
  } roles[] = {
      {RECUR_INPUT, false}, {RECUR_PARAM, false}, {RECUR_STATE, false}, {RECUR_OUTPUT, false}, {RECUR_STATE, true}};
  for (auto [kind, isFinal] : roles)
    for (int32_t i = 0; i < recurrence->array_count; ++i) {
      const recur_array_info &info = recurrence->arrays[i];
      if (info.kind != kind)
        continue;
      bool perToken = kind == RECUR_INPUT || kind == RECUR_OUTPUT;
      int64_t rows = kind == RECUR_PARAM ? shape.H : shape.B * shape.H * (perToken ? shape.T : 1);
      // A decoder updates its states in place; a longer call starts from zeros.
      bool isWanted = kind != RECUR_STATE || isFinal || shape.T == 1;
      bool isDrawn = kind == RECUR_INPUT || kind == RECUR_PARAM;
      void *data = isWanted ? getArray(info.name, isDrawn, shape.decay, info.dtype, getWidth(info), rows) : nullptr;
      arguments.push_back({data, {0, 0, 0}});
      if (kind == RECUR_STATE && data && !isFinal)
        std::memset(data, 0, size_t(rows * getWidth(info)) * sizeof(float));
      if (kind == RECUR_OUTPUT)
        output = data;
    }
  call.B = shape.B;
  call.T = shape.T;
  call.H = shape.H;
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.plan = shape.plan;
  call.threads = shape.threads;
  call.workspace_bytes = recur_workspace_size(recurrence, &call);
  if (call.workspace_bytes > 0) {
    workspace = allocate(call.workspace_bytes);
    call.workspace = workspace.get();
  }
}

void Problem::run() {
  if (recur_forward(shape.kernel->recurrence, &call) == RECUR_OK)
    return;
  std::fprintf(stderr, "bench_kernels: error: %s: %s\n", shape.getName().c_str(), recur_message());
  std::exit(3);
}

bench_head Problem::getHead(int64_t head, int64_t tokens, float *output) const {
  bench_head found = {};
  found.heads = shape.H;
  found.tokens = tokens;
  found.o = output + head * shape.kernel->V;
  const recur_recurrence *recurrence = shape.kernel->recurrence;
  for (int32_t i = 0; i < recurrence->array_count; ++i) {
    const recur_array_info &info = recurrence->arrays[i];
    if (info.kind != RECUR_INPUT && info.kind != RECUR_PARAM)
      continue;
    int64_t rows = info.kind == RECUR_PARAM ? shape.H : tokens * shape.H, width = getWidth(info);
    const auto *data =
        static_cast<const float *>(getArray(info.name, true, shape.decay, RECUR_F32, width, rows)) + head * width;
    const std::pair<const char *, const float **> arrays[] = {
        {"q", &found.q},       {"k", &found.k},     {"v", &found.v},          {"g", &found.g},
        {"beta", &found.beta}, {"g_p", &found.g_p}, {"beta_p", &found.beta_p}};
    for (auto [name, place] : arrays)
      if (std::strcmp(info.name, name) == 0)
        *place = data;
    if (std::strcmp(info.name, "mu") == 0)
      found.mu = *data;
    if (std::strcmp(info.name, "log_gamma") == 0)
      found.log_gamma = *data;
  }
  return found;
}

std::vector<float> Problem::getOutput(int64_t tokens) const {
  const recur_recurrence *recurrence = shape.kernel->recurrence;
  int32_t dtype = RECUR_F32;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (recurrence->arrays[i].kind == RECUR_OUTPUT)
      dtype = recurrence->arrays[i].dtype;
  std::vector<float> values(size_t(tokens * shape.H * shape.kernel->V));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = load(dtype, output, int64_t(i));
  return values;
}
