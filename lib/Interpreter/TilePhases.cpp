#include "Interpreter/TilePhases.h"
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
  /// `parts` of them make up the array.
  void read(int64_t parts) {
    forEach(parts, [&](double &own, double &all) { own = all; });
  }
  void write(int64_t parts) {
    forEach(parts, [&](double &own, double &all) { all = own; });
  }
  CallerArray get() { return {values.data(), whole.rows, width}; }

private:
  void forEach(int64_t parts, function_ref<void(double &, double &)> visit) {
    for (int64_t row = 0; row < whole.rows; ++row)
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t c = 0; c < size; ++c)
          for (int64_t i = 0; i < inner; ++i)
            visit(values[row * width + (o * size + c) * inner + i],
                  whole.data[row * whole.stride + ((o * parts + first) * size + c) * inner + i]);
  }

  CallerArray whole;
  int64_t width, inner, outer, size, first;
  std::vector<double> values;
};

} // namespace

Expected<Results> interpreter::interpretPhases(ArrayRef<tile::KernelOp> kernels, const chunk::Phases &phases,
                                               ArrayRef<KernelArray> arrays, int64_t chunk, const Data &data,
                                               const TileOptions &options) {
  const Sizes &sizes = data.sizes;
  KernelRows rows;
  if (Error error = rows.prepare(arrays, data))
    return std::move(error);
  int64_t chunks = (sizes.tokens + chunk - 1) / chunk;
  for (int64_t batch = 0; batch < sizes.batch; ++batch)
    for (int64_t head = 0; head < sizes.heads; ++head) {
      SmallVector<CallerArray> all = rows.takeHead(batch, head);
      std::vector<std::vector<double>> left;
      for (const chunk::LeftArray &array : phases.left) {
        int64_t width = *countElements(array.shape), count = chunks * array.rows;
        left.emplace_back(count * width, std::numeric_limits<double>::quiet_NaN());
        all.push_back({left.back().data(), count, width});
      }
      for (auto [kernel, phase] : zip(kernels, phases.phases))
        for (int64_t part = 0; part < phase.parts; ++part) {
          std::vector<std::optional<Part>> parts;
          SmallVector<CallerArray> own;
          for (const chunk::PhaseArray &array : phase.arrays) {
            const CallerArray &whole = all[array.number];
            parts.emplace_back();
            if (array.partDim >= 0 && whole.data) {
              parts.back().emplace(whole, array.shape, array.partDim, part);
              parts.back()->read(phase.parts);
            }
            own.push_back(parts.back() ? parts.back()->get() : whole);
          }
          bool isCut = !tile::KernelOp(kernel).getBody().getOps<tile::SegmentOp>().empty();
          TileOptions runs = options;
          runs.segments = isCut ? options.segments : 1;
          for (runs.segment = runs.segments - 1; runs.segment >= 0; --runs.segment)
            if (Error error = run(kernel, own, sizes.tokens, runs))
              return std::move(error);
          for (std::optional<Part> &cut : parts)
            if (cut)
              cut->write(phase.parts);
        }
    }
  return rows.takeResults();
}
