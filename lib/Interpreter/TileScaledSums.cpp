// Products under a running scale of each channel.
//
// Groups of rows and of columns belong to one index. A row meets the columns of the indices before its own, and of its
// own those whose step is below its point. Between a row and a column lies the product of the scales of the indices
// behind the column's, up to the row's own; a row whose point is -1 is not reached by the scale of its own index.
#include "Interpreter/TileExecutor.h"
#include "dialects/Tile/SteadyProducts.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

static constexpr int64_t beforeScale = -1;

namespace {
/// The scales between a row and the columns of an index, going back from the row's own index.
struct Running {
  Running(TileExecutor &e, const Contents &scales, int64_t own, int64_t point, int64_t channels)
      : arithmetic(e.machine.arithmetic), scales(scales), factors(channels, 1),
        last(point == beforeScale ? own : own + 1) {}

  /// Multiplies by the scales of the indices behind `index`.
  void goTo(int64_t index) {
    for (; last > index + 1; --last)
      for (size_t c = 0; c < factors.size(); ++c) {
        double scale = scales.values[scales.shape.size() > 1 ? (last - 1) * scales.shape[1] + c : last - 1];
        factors[c] = keepHoles(arithmetic.store(factors[c] * scale), {factors[c], scale});
      }
  }

  const Arithmetic &arithmetic;
  const Contents &scales;
  std::vector<double> factors;
  int64_t last; // the scales of the indices from here on are in
};
} // namespace

namespace {
/// What the scales between a row and a column of an earlier index make of the two.
struct Pair {
  double row, column;
};
} // namespace

/// The running products of a channel from the first index of a row's unit up to each index as far as the row's own.
/// None where they go beyond the range in a channel.
static std::optional<std::vector<std::vector<double>>> runSteadily(TileExecutor &e, const Contents &scales, int64_t own,
                                                                   int64_t unit) {
  const double most = std::exp2(double(tile::steadyBits));
  int64_t first = own / unit * unit;
  std::vector<std::vector<double>> products;
  std::vector<double> running(scales.shape[1], 1);
  for (int64_t index = first; index <= own; ++index) {
    for (size_t c = 0; c < running.size(); ++c) {
      running[c] = e.machine.arithmetic.store(running[c] * scales.at(index, int64_t(c)));
      double size = std::fabs(running[c]);
      if (!(size <= most && size >= 1 / most))
        return std::nullopt;
    }
    products.push_back(running);
  }
  return products;
}

/// Both are scaled to where the halves of the least aligned range of both indices meet, and rounded.
static Pair meetHalfWay(TileExecutor &e, tile::ScaledDotsOp op, const Contents &scales, Pair pair, int64_t own,
                        int64_t index, bool isBefore, int64_t channel) {
  const Arithmetic &arithmetic = e.machine.arithmetic;
  auto multiply = [&](double a, double b) { return keepHoles(arithmetic.store(a * b), {a, b}); };
  auto half = int64_t(bit_floor(uint64_t(own ^ index))), meeting = half ? own / half * half : own;
  double ofRow = 1, ofColumn = 1;
  for (int64_t passed = meeting; passed < (isBefore || !half ? own : own + 1); ++passed)
    ofRow = multiply(ofRow, scales.at(passed, channel));
  for (int64_t passed = meeting - 1; passed > index; --passed)
    ofColumn = multiply(ofColumn, scales.at(passed, channel));
  auto round = [&](double number, double scale) {
    double scaled = multiply(number, scale), rounded = scaled;
    if (e.machine.rounds)
      rounded = half < tile::ScaledDotsOp::unitIndices
                    ? Arithmetic(Rounding::tf32).operand(scaled)
                    : e.machine.roundTo(op.getWork().getType().getElementType(), scaled);
    return keepHoles(rounded, {scaled});
  };
  return {round(pair.row, ofRow), round(pair.column, ofColumn)};
}

static Error runScaledDots(TileExecutor &e, tile::ScaledDotsOp op) {
  Tile left = e.getTile(op.getLeft()), right = e.getTile(op.getRight()), scaleTile = e.getTile(op.getScales()),
       result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows()), rowsPerIndex = op.getPoints().size(),
          columnsPerIndex = op.getSteps().size(), block = op.getBlock();
  if (Error error = e.machine.checkRows(op, result, rows))
    return error;
  if (block < 1)
    return makeTileError(op, "a block of " + Twine(block) + " indices");
  for (const Tile &operand : {left, right, scaleTile})
    if (Error error = e.machine.checkApart(op, result, operand))
      return error;
  if (op.getWork())
    for (const Tile &operand : {left, right, scaleTile, result})
      if (Error error = e.machine.checkApart(op, e.getTile(op.getWork()), operand))
        return error;
  int64_t indices = (rows + rowsPerIndex - 1) / rowsPerIndex;
  Contents a = e.machine.read(op, left, rows), b = e.machine.read(op, right, indices * columnsPerIndex),
           scales = e.machine.read(op, scaleTile, indices), contents = e.machine.read(op, result, rows);
  const Arithmetic &arithmetic = e.machine.arithmetic;
  if (op.getLogarithms())
    for (double &scale : scales.values)
      scale = keepHoles(arithmetic.store(std::exp(scale)), {scale});
  for (int64_t row = 0; row < rows; ++row) {
    int64_t own = row / rowsPerIndex, point = op.getPoints()[row % rowsPerIndex];
    Running running(e, scales, own, point, a.shape[1]);
    int64_t unit = op.getLogarithms() ? tile::ScaledDotsOp::unitIndices / 2 : tile::ScaledDotsOp::unitIndices;
    auto steady = op.getRounded() && e.machine.rounds ? runSteadily(e, scales, own, unit) : std::nullopt;
    auto meetAtStart = [&](Pair pair, int64_t index, int64_t channel) -> Pair {
      int64_t first = own / unit * unit, rowEnd = point == beforeScale ? own - 1 : own;
      double ofRow = rowEnd < first ? 1 : (*steady)[rowEnd - first][channel],
             ofColumn = 1 / (*steady)[index - first][channel];
      auto round = [&](double number, double scale) {
        return keepHoles(Arithmetic(Rounding::tf32).operand(arithmetic.store(number * scale)), {number});
      };
      return {round(pair.row, ofRow), round(pair.column, ofColumn)};
    };
    for (int64_t index = own; index >= own / block * block; --index) {
      running.goTo(index);
      for (int64_t j = 0; j < columnsPerIndex; ++j) {
        if (index == own && op.getSteps()[j] >= point)
          continue;
        double sum = 0;
        int64_t column = index * columnsPerIndex + j;
        for (int64_t c = 0; c < a.shape[1]; ++c) {
          double factor = running.factors[c];
          Pair pair{keepHoles(arithmetic.store(a.at(row, c) * factor), {a.at(row, c), factor}), b.at(column, c)};
          if (steady && index / unit == own / unit)
            pair = meetAtStart({a.at(row, c), b.at(column, c)}, index, c);
          else if (op.getRounded())
            pair = meetHalfWay(e, op, scales, {a.at(row, c), b.at(column, c)}, own, index, point == beforeScale, c);
          sum = keepHoles(arithmetic.multiplyAdd(sum, pair.row, pair.column), {sum, pair.row, pair.column});
        }
        contents.at(row, column) = sum;
      }
    }
  }
  e.machine.write(op, result, contents);
  if (op.getWork())
    e.machine.write(op, e.getTile(op.getWork()), {{0, scales.shape[1]}, {}});
  return Error::success();
}

static Error runScaledSums(TileExecutor &e, tile::ScaledSumsOp op) {
  Tile matrix = e.getTile(op.getMatrix()), values = e.getTile(op.getValues()), scaleTile = e.getTile(op.getScales()),
       result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows()), rowsPerIndex = op.getPoints().size(),
          columnsPerIndex = op.getSteps().size();
  bool solve = op.getSolve();
  int64_t indices = (rows + rowsPerIndex - 1) / rowsPerIndex;
  if (Error error = e.machine.checkRows(op, result, rows))
    return error;
  for (auto [tile, wanted] : {std::pair(values, indices * columnsPerIndex), std::pair(scaleTile, indices)})
    if (Error error = e.machine.checkRows(op, tile, wanted))
      return error;
  int64_t columns = result.type.getSize(1);
  if (values.type.getSize(1) != columns || (scaleTile.type.getRank() > 1 && scaleTile.type.getSize(1) != columns))
    return makeTileError(op, "values, scales and the result have other channels");
  for (const Tile &operand : {matrix, scaleTile})
    if (Error error = e.machine.checkApart(op, result, operand))
      return error;
  if (solve && (result.type != values.type || result.begin != values.begin))
    return makeTileError(op, "the values of a solve are its result");
  if (!solve)
    if (Error error = e.machine.checkApart(op, result, values))
      return error;
  Contents weights = e.machine.read(op, matrix, rows), from = e.machine.read(op, values, indices * columnsPerIndex),
           scales = e.machine.read(op, scaleTile, indices);
  Contents contents{{rows, columns}, std::vector<double>(rows * columns)};
  const Arithmetic &arithmetic = e.machine.arithmetic;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t own = row / rowsPerIndex, slot = row % rowsPerIndex, point = op.getPoints()[slot];
    Running running(e, scales, own, point, columns);
    std::vector<double> sums(columns, 0);
    for (int64_t index = own; index >= 0; --index) {
      running.goTo(index);
      for (int64_t j = 0; j < columnsPerIndex; ++j) {
        if (index == own && (op.getSteps()[j] >= point || (solve && j >= slot)))
          continue;
        int64_t i = index * columnsPerIndex + j;
        double weight = weights.at(row, i);
        for (int64_t c = 0; c < columns; ++c) {
          double x = from.at(i, c), factor = running.factors[c], scaled = arithmetic.store(x * factor);
          sums[c] = keepHoles(arithmetic.multiplyAdd(sums[c], weight, scaled), {sums[c], weight, x, factor});
        }
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      double sum = sums[c], held = solve ? from.at(row, c) : 0;
      contents.at(row, c) = solve ? keepHoles(arithmetic.store(held - sum), {held, sum}) : sum;
      if (solve)
        from.at(row, c) = contents.at(row, c);
    }
  }
  e.machine.write(op, result, contents);
  return Error::success();
}

/// Pair by pair of a row and a column, each with the product of its own scales.
static Error runScaledCotangents(TileExecutor &e, tile::ScaledCotangentsOp op) {
  Tile matrixTile = e.getTile(op.getMatrix()), leftTile = e.getTile(op.getLeft()), rightTile = e.getTile(op.getRight()),
       scaleTile = e.getTile(op.getScales()), leftResult = e.getTile(op.getLeftResult()),
       rightResult = e.getTile(op.getRightResult()), scalesResult = e.getTile(op.getScalesResult()),
       work = e.getTile(op.getWork());
  int64_t rows = e.getNumber(op.getRows()), rowsPerIndex = op.getPoints().size(),
          columnsPerIndex = op.getSteps().size(), block = int64_t(op.getBlock());
  int64_t indices = (rows + rowsPerIndex - 1) / rowsPerIndex, channels = scaleTile.type.getSize(1);
  if (Error error = e.machine.checkRows(op, leftResult, rows))
    return error;
  const Tile written[] = {leftResult, rightResult, scalesResult, work};
  for (auto [i, result] : enumerate(written)) {
    for (const Tile &operand : {matrixTile, leftTile, rightTile, scaleTile})
      if (Error error = e.machine.checkApart(op, result, operand))
        return error;
    for (const Tile &other : ArrayRef(written).take_front(i))
      if (Error error = e.machine.checkApart(op, result, other))
        return error;
  }
  Contents matters = e.machine.read(op, matrixTile, rows), left = e.machine.read(op, leftTile, rows),
           right = e.machine.read(op, rightTile, indices * columnsPerIndex),
           scales = e.machine.read(op, scaleTile, indices);
  auto zeros = [&](int64_t count) { return Contents{{count, channels}, std::vector<double>(count * channels)}; };
  Contents toLeft = zeros(rows), toRight = zeros(indices * columnsPerIndex), toScales = zeros(indices);
  const Arithmetic &arithmetic = e.machine.arithmetic;
  auto addProduct = [&](double &sum, double a, double b) {
    sum = keepHoles(arithmetic.multiplyAdd(sum, a, b), {sum, a, b});
  };
  auto multiply = [&](double a, double b) { return keepHoles(arithmetic.store(a * b), {a, b}); };
  for (int64_t row = 0; row < rows; ++row) {
    int64_t own = row / rowsPerIndex, point = op.getPoints()[row % rowsPerIndex];
    int64_t last = point == beforeScale ? own : own + 1; // the scales from here on are not passed
    for (int64_t index = own / block * block; index <= own; ++index)
      for (int64_t j = 0; j < columnsPerIndex; ++j) {
        if (index == own && op.getSteps()[j] >= point)
          continue;
        int64_t column = index * columnsPerIndex + j;
        for (int64_t c = 0; c < channels; ++c) {
          double weight = matters.at(row, column), factor = 1;
          for (int64_t passed = index + 1; passed < last; ++passed)
            factor = multiply(factor, scales.at(passed, c));
          double weighed = multiply(weight, factor);
          addProduct(toLeft.at(row, c), weighed, right.at(column, c));
          addProduct(toRight.at(column, c), weighed, left.at(row, c));
          double pair = multiply(left.at(row, c), right.at(column, c));
          for (int64_t passed = index + 1; passed < last; ++passed) {
            double others = weighed;
            if (op.getLinear()) {
              others = weight;
              for (int64_t other = index + 1; other < last; ++other)
                if (other != passed)
                  others = multiply(others, scales.at(other, c));
            }
            addProduct(toScales.at(passed, c), others, pair);
          }
        }
      }
  }
  e.machine.write(op, leftResult, toLeft);
  e.machine.write(op, rightResult, toRight);
  e.machine.write(op, scalesResult, toScales);
  e.machine.write(op, work, zeros(0));
  return Error::success();
}

void interpreter::addScaledSumMeanings(TileMeanings &meanings) {
  meanings.add<tile::ScaledDotsOp, runScaledDots>();
  meanings.add<tile::ScaledSumsOp, runScaledSums>();
  meanings.add<tile::ScaledCotangentsOp, runScaledCotangents>();
}
