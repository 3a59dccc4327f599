#include "Interpreter/TilePhases.h"
#include "Interpreter/ChunkRunner.h"
#include "Interpreter/TileRows.h"
#include <limits>

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;
using namespace recur::data;

namespace {

/// One part of an array: a copy of its rows.
class Part {
public:
  Part(const CallerArray &whole, ArrayRef<int64_t> shape, int dim, int64_t part) : whole(whole) {
    width = *countElements(shape);
    inner = *countElements(shape.drop_front(dim + 1));
    size = shape[dim];
    outer = width / (inner * size);
    first = part;
    values.resize(whole.rows * width);
  }
  /// All parts have so many `channels`. What the last one lacks of its own is zero.
  void read(int64_t channels) {
    forEach(channels, [&](double &own, double &all) { own = all; });
  }
  void write(int64_t channels) {
    forEach(channels, [&](double &own, double &all) { all = own; });
  }
  CallerArray get() { return {values.data(), whole.rows, width}; }

private:
  void forEach(int64_t channels, function_ref<void(double &, double &)> visit) {
    int64_t present = std::min(size, channels - first * size);
    for (int64_t row = 0; row < whole.rows; ++row)
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t c = 0; c < present; ++c)
          for (int64_t i = 0; i < inner; ++i)
            visit(values[row * width + (o * size + c) * inner + i],
                  whole.data[row * whole.stride + (o * channels + first * size + c) * inner + i]);
  }

  CallerArray whole;
  int64_t width, inner, outer, size, first;
  std::vector<double> values;
};

/// The summaries of a head's segments, and what follows from them.
class SegmentSummaries {
public:
  SegmentSummaries(tile::KernelOp kernel, ArrayRef<CallerArray> arrays, int64_t tokens, const TileOptions &options)
      : kernel(kernel), arrays(arrays), tokens(tokens), options(options) {
    auto segment = *kernel.getBody().getOps<tile::SegmentOp>().begin();
    tile::TileType type = segment.getInitial().getType();
    rows = type.getSize(1);
    columns = type.getSize(2);
    isTransposed = type.getTransposed();
  }
  /// Of each segment but the last, whose kernel has the arrays of a part.
  Error make();
  /// What the segment begins with.
  CallerArray getStart(int64_t segment) { return {given[segment].data(), 1, rows * columns}; }

private:
  using Matrix = std::vector<double>;
  Expected<Matrix> runFrom(int64_t segment, Matrix start, bool mapsState);
  Expected<Matrix> findMap(int64_t segment);
  /// A matrix of so many rows as the kernel has it from an array, or the other way round.
  Matrix swap(const Matrix &matrix, int64_t height) const;

  tile::KernelOp kernel;
  ArrayRef<CallerArray> arrays;
  int64_t tokens, rows, columns;
  bool isTransposed; // in arrays
  TileOptions options;
  std::vector<Matrix> starts, given; // as the kernel has them, and as its arrays do
};

} // namespace

SegmentSummaries::Matrix SegmentSummaries::swap(const Matrix &matrix, int64_t height) const {
  if (!isTransposed || matrix.empty())
    return matrix;
  return transpose({{height, int64_t(matrix.size()) / height}, matrix}).values;
}

Expected<SegmentSummaries::Matrix> SegmentSummaries::runFrom(int64_t segment, Matrix start, bool mapsState) {
  Matrix summary(rows * columns, std::numeric_limits<double>::quiet_NaN());
  TileOptions runs = options;
  start = swap(start, rows);
  runs.segment = segment;
  runs.start = start.empty() ? CallerArray() : CallerArray{start.data(), 1, rows * columns};
  runs.summary = {summary.data(), 1, rows * columns};
  runs.mapsState = mapsState;
  if (Error error = run(kernel, arrays, tokens, runs))
    return std::move(error);
  return swap(summary, columns);
}

/// What the segment makes of an identity, as many rows of it at a time as a part of the state has; less what it makes
/// of nothing where values enter besides.
Expected<SegmentSummaries::Matrix> SegmentSummaries::findMap(int64_t segment) {
  Expected<Matrix> nothing = runFrom(segment, Matrix(rows * columns, 0.0), true);
  if (!nothing)
    return nothing;
  Matrix map(columns * columns);
  for (int64_t first = 0; first < columns; first += rows) {
    Matrix start(rows * columns, 0.0);
    int64_t count = std::min(rows, columns - first);
    for (int64_t row = 0; row < count; ++row)
      start[row * columns + first + row] = 1;
    Expected<Matrix> after = runFrom(segment, std::move(start), true);
    if (!after)
      return after;
    for (int64_t i = 0; i < count * columns; ++i)
      map[first * columns + i] = (*after)[i] - (*nothing)[i];
  }
  return map;
}

Error SegmentSummaries::make() {
  starts = {Matrix(rows * columns, 0.0)}; // the first segment begins with what the caller has
  for (int64_t segment = 0; segment + 1 < options.segments; ++segment) {
    Expected<Matrix> next = runFrom(segment, {}, false);
    if (!next)
      return next.takeError();
    if (segment > 0) {
      Expected<Matrix> map = findMap(segment);
      if (!map)
        return map.takeError();
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t inner = 0; inner < columns; ++inner)
          for (int64_t column = 0; column < columns; ++column)
            (*next)[row * columns + column] +=
                starts[segment][row * columns + inner] * (*map)[inner * columns + column];
    }
    starts.push_back(std::move(*next));
  }
  for (const Matrix &start : starts)
    given.push_back(swap(start, rows));
  return Error::success();
}

Expected<Results> interpreter::interpretPhases(ArrayRef<tile::KernelOp> kernels, const chunk::Phases &phases,
                                               ArrayRef<KernelArray> arrays, int64_t chunk, const Data &data,
                                               const TileOptions &options, KeptArrays *kept) {
  const Sizes &sizes = data.sizes;
  KernelRows rows;
  if (Error error = rows.prepare(arrays, data, kept))
    return std::move(error);
  int64_t chunks = (sizes.tokens + chunk - 1) / chunk;
  for (int64_t batch = 0; batch < sizes.batch; ++batch)
    for (int64_t head = 0; head < sizes.heads; ++head) {
      SmallVector<CallerArray> all = rows.takeHead(batch, head);
      std::vector<std::vector<double>> left;
      for (const chunk::LeftArray &array : phases.left) {
        int64_t width = *countElements(array.shape), count = chunks * array.rows;
        left.emplace_back(count * width, std::numeric_limits<double>::quiet_NaN());
        if (array.isHanded)
          left.back() = kept->left.at(array.meaning)[size_t(batch * sizes.heads + head)];
        all.push_back({left.back().data(), count, width});
      }
      std::vector<std::optional<SegmentSummaries>> summaries; // of the parts
      for (auto [kernel, phase] : zip(kernels, phases.phases))
        for (int64_t part = 0; part < phase.parts; ++part) {
          std::vector<std::optional<Part>> parts;
          SmallVector<CallerArray> own;
          for (const chunk::PhaseArray &array : phase.arrays) {
            const CallerArray &whole = all[array.number];
            parts.emplace_back();
            if (array.partDim >= 0 && whole.data) {
              parts.back().emplace(whole, array.shape, array.partDim, part);
              parts.back()->read(array.channels);
            }
            own.push_back(parts.back() ? parts.back()->get() : whole);
          }
          auto found = tile::KernelOp(kernel).getBody().getOps<tile::SegmentOp>();
          tile::SegmentOp segment = found.empty() ? tile::SegmentOp() : *found.begin();
          TileOptions runs = options;
          runs.segments = segment ? options.segments : 1;
          if (segment && segment.makesSummaries()) {
            summaries.resize(phase.parts);
            summaries[part].emplace(kernel, own, sizes.tokens, runs);
            if (Error error = summaries[part]->make())
              return std::move(error);
            continue;
          }
          for (runs.segment = runs.segments - 1; runs.segment >= 0; --runs.segment) {
            if (segment && segment.takesSummaries())
              runs.start = summaries[part]->getStart(runs.segment);
            if (Error error = run(kernel, own, sizes.tokens, runs))
              return std::move(error);
          }
          for (auto [cut, array] : zip(parts, phase.arrays))
            if (cut)
              cut->write(array.channels);
        }
      for (auto [array, numbers] : zip(phases.left, left))
        if (kept && array.meaning && !array.isHanded)
          kept->left[array.meaning].push_back(std::move(numbers));
    }
  return rows.takeResults();
}

static Expected<Results> interpretPlan(const InterpretedPlan &plan, KeptArrays &kept, const Data &data,
                                       const TileOptions &options) {
  if (plan.phases)
    return interpretPhases(plan.kernels, *plan.phases, plan.arrays, kept.chunk, data, options, &kept);
  return interpret(plan.kernels.front(), plan.arrays, data, options, &kept);
}

Expected<Data> interpreter::interpretGradient(chunk::ProgramOp program, const InterpretedPlan &states,
                                              const InterpretedPlan &gradient, const Data &data,
                                              const Results &cotangents, const TileOptions &options) {
  KeptArrays kept{int64_t(program.getChunk()), {}};
  if (Expected<Results> ran = interpretPlan(states, kept, data, options); !ran)
    return ran.takeError();
  Data with = addCotangents(program, data, cotangents, data.sizes.batch);
  Expected<Results> results = interpretPlan(gradient, kept, with, options);
  if (!results)
    return results.takeError();
  return collectGradient(program, data.sizes, std::move(*results));
}
