// Conjugate gradients on matrices that are a decayed sum of squares of keys: each token's matrix is made, and then its
// steps are taken.
#include "Interpreter/TileExecutor.h"
#include "Support/ConjugateGradients.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;

namespace {

/// The operands of one op.
struct Systems {
  int64_t channels, rows;
  std::vector<double> vectors, keys, state, ridge, gains, decays;
};

} // namespace

/// Rows of an array that has to have them.
static Expected<std::vector<double>> readRows(TileExecutor &e, mlir::Operation *op, mlir::Value operand, int64_t first,
                                              int64_t rows, int64_t width) {
  CallerArray array = e.machine.arrays.lookup(operand);
  std::vector<double> numbers(size_t(rows * width));
  if (!array.data)
    return numbers;
  if (first < 0 || first + rows > array.rows)
    return makeTileError(op, "rows " + Twine(first) + " to " + Twine(first + rows - 1) + " of an array that has " +
                                 Twine(array.rows));
  mlir::Type element = tile::tileOf(operand).getElementType();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      numbers[size_t(row * width + i)] = e.machine.roundTo(element, array.data[(first + row) * array.stride + i]);
  return numbers;
}

static Expected<Systems> readSystems(TileExecutor &e, tile::ConjugateGradientsOp op) {
  Systems systems{tile::tileOf(op.getResult()).getSize(1), e.getNumber(op.getRows()), {}, {}, {}, {}, {}, {}};
  int64_t first = e.getNumber(op.getFirst()), channels = systems.channels, rows = systems.rows;
  for (auto [numbers, array] : {std::pair(&systems.vectors, op.getVectors()), {&systems.keys, op.getKeys()}}) {
    Expected<std::vector<double>> read = readRows(e, op, array, first, rows, channels);
    if (!read)
      return read.takeError();
    *numbers = std::move(*read);
  }
  Expected<std::vector<double>> state =
      readRows(e, op, op.getState(), e.getNumber(op.getStateRow()), 1, channels * channels);
  if (!state)
    return state.takeError();
  systems.state = std::move(*state);
  systems.ridge = e.machine.read(op, e.getTile(op.getRidge()), 1).values;
  systems.gains.assign(size_t(rows), 1);
  systems.decays.assign(size_t(rows), 0);
  if (op.getGains())
    systems.gains = e.machine.read(op, e.getTile(op.getGains()), rows).values;
  if (op.getDecays())
    systems.decays = e.machine.read(op, e.getTile(op.getDecays()), rows).values;
  return systems;
}

/// The matrix of one token, without its ridge.
static std::vector<double> makeMatrix(const Systems &systems, int64_t row) {
  int64_t channels = systems.channels;
  double own = systems.decays[size_t(row)];
  std::vector<double> matrix = systems.state;
  for (double &number : matrix)
    number = keepHoles(number * std::exp2(own), {number, own});
  for (int64_t token = 0; token <= row; ++token) {
    double decay = systems.decays[size_t(token)], gain = systems.gains[size_t(token)];
    double weight = keepHoles(gain * std::exp2(own - decay), {own, decay, gain});
    const double *key = &systems.keys[size_t(token * channels)];
    for (int64_t i = 0; i < channels; ++i)
      for (int64_t j = 0; j < channels; ++j) {
        double &number = matrix[size_t(i * channels + j)];
        number = keepHoles(number + weight * key[i] * key[j], {number, weight});
      }
  }
  return matrix;
}

static std::vector<double> solve(const Systems &systems, const std::vector<double> &matrix, int64_t row,
                                 int64_t iterations, const Arithmetic &arithmetic) {
  auto channels = size_t(systems.channels);
  const double *vector = &systems.vectors[size_t(row) * channels];
  std::vector<double> solution(channels), residual(vector, vector + channels), direction = residual, image(channels);
  auto dot = [&](const std::vector<double> &a, const std::vector<double> &b) {
    double sum = 0;
    for (size_t i = 0; i < channels; ++i)
      sum = arithmetic.multiplyAdd(sum, a[i], b[i]);
    return sum;
  };
  double squares = dot(residual, residual), least = arithmetic.isExact() ? 0 : squares * solvedInPairs;
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    for (size_t i = 0; i < channels; ++i) {
      double ridge = systems.ridge[i];
      image[i] = keepHoles(ridge * direction[i], {ridge});
      for (size_t j = 0; j < channels; ++j) {
        double element = matrix[i * channels + j];
        image[i] = keepHoles(arithmetic.multiplyAdd(image[i], element, direction[j]), {image[i], element});
      }
    }
    double curvature = dot(direction, image);
    if (curvature == 0 || squares <= least)
      break;
    double step = arithmetic.store(squares / curvature);
    for (size_t i = 0; i < channels; ++i) {
      solution[i] = arithmetic.multiplyAdd(solution[i], step, direction[i]);
      residual[i] = arithmetic.multiplyAdd(residual[i], -step, image[i]);
    }
    double next = dot(residual, residual), keep = arithmetic.store(next / squares);
    for (size_t i = 0; i < channels; ++i)
      direction[i] = arithmetic.multiplyAdd(residual[i], keep, direction[i]);
    squares = next;
  }
  return solution;
}

static Error runConjugateGradients(TileExecutor &e, tile::ConjugateGradientsOp op) {
  Tile result = e.getTile(op.getResult()), work = e.getTile(op.getWork());
  if (Error error = e.machine.checkRows(op, result, e.getNumber(op.getRows())))
    return error;
  Expected<Systems> systems = readSystems(e, op);
  if (!systems)
    return systems.takeError();
  Contents solutions{{systems->rows, systems->channels}, {}};
  for (int64_t row = 0; row < systems->rows; ++row) {
    std::vector<double> solution =
        solve(*systems, makeMatrix(*systems, row), row, int64_t(op.getIterations()), e.machine.arithmetic);
    solutions.values.insert(solutions.values.end(), solution.begin(), solution.end());
  }
  // Whatever lay where the matrix units' factors are is gone.
  e.machine.write(op, work, {{work.type.getSize(0)}, std::vector<double>(size_t(work.type.getSize(0)))});
  e.machine.forget(work);
  e.machine.write(op, result, solutions);
  return Error::success();
}

void interpreter::addConjugateGradientsMeanings(TileMeanings &meanings) {
  meanings.add<tile::ConjugateGradientsOp, runConjugateGradients>();
}
