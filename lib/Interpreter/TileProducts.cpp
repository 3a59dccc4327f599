// Matrix products, transposes, triangular solves and inverses.
#include "Interpreter/TileExecutor.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

/// The first column of the row, of so many, that lies outside of the triangle.
static int64_t findEnd(std::optional<ArrayRef<int64_t>> triangle, int64_t row, int64_t columns) {
  return triangle ? std::min(columns, (row / (*triangle)[0] + 1) * (*triangle)[1]) : columns;
}

namespace {
struct Range {
  int64_t begin, end;
};
} // namespace

/// The inner indices that a row of the result takes. Of a transposed left factor, whose triangle is that of the tile as
/// it lies, it takes those of the first token that has the row, and of the tokens behind it.
static Range findInner(tile::ProductOp op, int64_t row, int64_t inner) {
  std::optional<ArrayRef<int64_t>> triangle = op.getLeftTriangle();
  if (!triangle || !op.getTransposed())
    return {0, findEnd(triangle, row, inner)};
  return {std::min(inner, row / (*triangle)[1] * (*triangle)[0]), inner};
}

/// An error unless the left factor is zero where it promises to be. (Infinities times zero break no promise of a plan.)
/// The matrix units of a team take 16 inner indices at a time, so there the promise is kept beyond the last one that
/// counts.
static Error checkLeftTriangle(TileExecutor &e, tile::ProductOp op, const Contents &left, int64_t rows, int64_t inner) {
  auto kernel = op->getParentOfType<tile::KernelOp>();
  if (kernel && kernel.getThreads() && !op.getTransposed() && op.getLeftTriangle())
    inner = std::min<int64_t>(alignTo(inner, 16), op.getLeft().getType().getSize(1));
  int64_t columns = inner; // of the tile as it lies
  if (op.getTransposed())
    std::swap(rows, columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = findEnd(op.getLeftTriangle(), row, columns); k < columns; ++k) {
      double x = left.at(row, k);
      if (isHole(x))
        return makeTileError(op, "left_triangle promises 0 at [" + Twine(row) + ", " + Twine(k) +
                                     "] of the left factor, which has no meaning: " + e.machine.holes.describe(x));
      if (x != 0 && std::isfinite(x))
        return makeTileError(op, "left_triangle promises 0 at [" + Twine(row) + ", " + Twine(k) +
                                     "] of the left factor, which is " + std::to_string(x));
    }
  return Error::success();
}

/// Rows that lie in pairs one below the other.
static Contents unpair(const Contents &pairs) {
  int64_t columns = pairs.shape[1];
  Contents rows{{2 * pairs.shape[0], columns}, std::vector<double>(pairs.values.size())};
  for (int64_t row = 0; row < rows.shape[0]; ++row)
    for (int64_t column = 0; column < columns; ++column)
      rows.at(row, column) = pairs.values[(row / 2 * columns + column) * 2 + row % 2];
  return rows;
}
/// A factor, whose rows may lie in pairs: the first `rows` of them.
static Contents readFactor(TileExecutor &e, tile::ProductOp op, const Tile &tile, int64_t rows) {
  return tile.type.getRank() == 3 ? unpair(e.machine.read(op, tile, rows / 2)) : e.machine.read(op, tile, rows);
}

/// A factor whose columns are exchanged: where column n of each eight lies.
static int64_t findExchanged(int64_t column) { return column / 8 * 8 + column % 2 * 4 + column % 8 / 2; }

static Contents exchangeBack(const Contents &exchanged) {
  Contents rows = exchanged;
  for (int64_t row = 0; row < rows.shape[0]; ++row)
    for (int64_t column = 0; column < rows.shape[1]; ++column)
      rows.at(row, column) = exchanged.at(row, findExchanged(column));
  return rows;
}

/// Matrix units cut what they take as tf32 off behind its eleventh bit.
static double cutOff(double x) {
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent;
  std::frexp(x, &exponent);
  double spacing = std::max(std::ldexp(1.0, exponent - 11), 0x1p-136);
  return std::trunc(x / spacing) * spacing;
}

/// The rows of an operand that count, where as many are there and it shares no memory with the result.
static Expected<Contents> readApart(TileExecutor &e, mlir::Operation *op, const Tile &result, const Tile &operand,
                                    int64_t rows) {
  if (Error error = e.machine.checkRows(op, operand, rows))
    return std::move(error);
  if (Error error = e.machine.checkApart(op, result, operand))
    return std::move(error);
  return e.machine.read(op, operand, rows);
}

/// Two rows, or with `transposed` two columns, side by side. Beside an odd last row lie zeros.
static Error runPair(TileExecutor &e, tile::PairOp op) {
  Tile source = e.getTile(op.getSource()), result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows());
  Expected<Contents> from = readApart(e, op, result, source, rows);
  if (!from)
    return from.takeError();
  Contents scale;
  if (op.getRowScale())
    scale = e.machine.read(op, e.getTile(op.getRowScale()));
  bool transposed = op.getTransposed();
  int64_t height = transposed ? result.type.getSize(0) : (rows + 1) / 2, width = result.type.getSize(1);
  Contents to{{height, width, 2}, std::vector<double>(height * width * 2)};
  uint64_t beyond = e.machine.holes.add({HoleRecord::BeyondRows, op, result.type});
  for (int64_t element = 0; element < height * width * 2; ++element) {
    int64_t row = element / (2 * width) * 2 + element % 2, column = element / 2 % width;
    double &number = to.values[element];
    if (transposed) {
      number = column < rows ? from->at(column, row) : Holes::make(beyond, element);
      continue;
    }
    number = row < rows ? from->at(row, column) : 0;
    if (row >= rows || !op.getRowScale())
      continue;
    double factor = scale.values[row], whole = number * factor;
    number = whole == whole   ? e.machine.arithmetic.store(whole)
             : isHole(number) ? number
             : isHole(factor) ? factor
                              : whole;
  }
  e.machine.write(op, result, to);
  return Error::success();
}

static Error runProduct(TileExecutor &e, tile::ProductOp op) {
  Tile left = e.getTile(op.getLeft()), right = e.getTile(op.getRight()), result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows()), inner = e.getNumber(op.getInner());
  int64_t columns = result.type.getSize(1);
  bool transposed = op.getTransposed(), rightTransposed = op.getRightTransposed();
  int64_t rightInner = right.type.getSize(rightTransposed ? 1 : 0);
  if (Error error = e.machine.checkRows(op, result, rows))
    return error;
  bool inPairs = right.type.getRank() == 3;
  if (inPairs)
    rightInner *= 2;
  if (inner < 0 || inner > rightInner)
    return makeTileError(op, Twine(inner) + " inner indices of factors that have " + Twine(rightInner));
  if (inPairs)
    inner += inner % 2;
  for (const Tile &factor : {left, right})
    if (Error error = e.machine.checkApart(op, result, factor))
      return error;
  Contents a = readFactor(e, op, left, transposed ? inner : rows), plus;
  Contents b = readFactor(e, op, right, rightTransposed ? columns : inner);
  if (op.getLeftExchanged()) {
    a = exchangeBack(a);
    for (Contents *factor : {&a, &b})
      for (double &number : factor->values)
        number = e.machine.rounds && !isHole(number) ? cutOff(number) : number;
  }
  if (op.getTf32() && e.machine.rounds)
    for (Contents *factor : {&a, &b})
      for (double &number : factor->values)
        number = isHole(number) ? number : Arithmetic(Rounding::tf32).operand(number);
  auto rightAt = [&](int64_t k, int64_t column) { return rightTransposed ? b.at(column, k) : b.at(k, column); };
  Contents rowScale, columnScale;
  if (op.getPlus()) {
    Tile tile = e.getTile(op.getPlus());
    if (Error error = e.machine.checkInPlace(op, result, tile, {0, 1}))
      return error;
    plus = e.machine.read(op, tile, rows);
  }
  for (auto [value, scale] : {std::pair(op.getRowScale(), &rowScale), std::pair(op.getColumnScale(), &columnScale)})
    if (value) {
      if (Error error = e.machine.checkApart(op, result, e.getTile(value)))
        return error;
      *scale = e.machine.read(op, e.getTile(value));
      int64_t wanted = scale == &rowScale ? result.type.getSize(0) : columns;
      if (scale->values.size() != 1 && int64_t(scale->values.size()) != wanted)
        return makeTileError(op, "scales " + Twine(wanted) + (scale == &rowScale ? " rows" : " columns") + " by " +
                                     Twine(scale->values.size()) + " numbers");
    }
  if (Error error = checkLeftTriangle(e, op, a, rows, inner))
    return error;

  const Arithmetic &arithmetic = e.machine.arithmetic;
  Contents contents{{rows, columns}, std::vector<double>(rows * columns)};
  std::optional<uint64_t> leftOut;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t end = findEnd(op.getResultTriangle(), row, columns);
    Range taken = findInner(op, row, inner);
    for (int64_t column = 0; column < end && op.getPlus(); ++column) {
      double &sum = contents.at(row, column);
      sum = plus.at(row, column);
      for (auto [scale, index] : {std::pair(&rowScale, row), std::pair(&columnScale, column)})
        if (!scale->values.empty()) {
          double factor = scale->values[scale->values.size() == 1 ? 0 : index], whole = sum * factor;
          sum = keepHoles(arithmetic.store(whole), {sum, factor});
        }
    }
    std::vector<double> before(op.getPlus() ? &contents.at(row, 0) : nullptr,
                               op.getPlus() ? &contents.at(row, 0) + columns : nullptr);
    for (int64_t k = taken.begin; k < taken.end; ++k) {
      double factor = transposed ? a.at(k, row) : a.at(row, k);
      for (int64_t column = 0; column < end; ++column) {
        double &sum = contents.at(row, column);
        sum = arithmetic.multiplyAdd(sum, factor, rightAt(k, column));
      }
    }
    for (int64_t column = 0; column < end; ++column) {
      double &sum = contents.at(row, column);
      if (sum == sum)
        continue;
      // Not a number: is one of the addends without meaning?
      std::optional<double> hole;
      if (op.getPlus() && isHole(before[column]))
        hole = before[column];
      for (int64_t k = taken.begin; k < taken.end && !hole; ++k)
        for (double x : {transposed ? a.at(k, row) : a.at(row, k), rightAt(k, column)})
          if (isHole(x) && !hole)
            hole = x;
      sum = hole.value_or(sum);
    }
    for (int64_t column = end; column < columns; ++column) {
      if (!leftOut)
        leftOut = e.machine.holes.add({HoleRecord::LeftOut, op, result.type});
      contents.at(row, column) = Holes::make(*leftOut, row * columns + column);
    }
  }
  e.machine.write(op, result, contents);
  return Error::success();
}

/// The rows become columns: those that do not count are the last of the result's.
static Error runTranspose(TileExecutor &e, tile::TransposeOp op) {
  Tile source = e.getTile(op.getSource()), result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows());
  Expected<Contents> from = readApart(e, op, result, source, rows);
  if (!from)
    return from.takeError();
  int64_t height = result.type.getSize(0), width = result.type.getSize(1);
  Contents to{{height, width}, std::vector<double>(height * width)};
  int64_t filled = rows + (result.type.getElementType().isBF16() ? rows % 2 : 0);
  uint64_t beyond = filled < width ? e.machine.holes.add({HoleRecord::BeyondRows, op, result.type}) : 0;
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = 0; j < width; ++j)
      to.at(i, j) = j < rows ? from->at(j, i) : j < filled ? 0 : Holes::make(beyond, i * width + j);
  e.machine.write(op, result, to);
  return Error::success();
}

static Error runSolve(TileExecutor &e, tile::SolveOp op) {
  Tile matrix = e.getTile(op.getMatrix()), values = e.getTile(op.getValues());
  int64_t rows = e.getNumber(op.getRows());
  if (Error error = e.machine.checkRows(op, values, rows))
    return error;
  if (Error error = e.machine.checkApart(op, values, matrix))
    return error;
  Contents lower = e.machine.read(op, matrix, rows), x = e.machine.read(op, values, rows);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < x.shape[1]; ++column) {
      double &sum = x.at(row, column);
      for (int64_t k = 0; k < row; ++k) {
        double next = e.machine.arithmetic.multiplyAdd(sum, -lower.at(row, k), x.at(k, column));
        sum = keepHoles(next, {sum, lower.at(row, k), x.at(k, column)});
      }
    }
  e.machine.write(op, values, x);
  return Error::success();
}

static Error runScaledSolve(TileExecutor &e, tile::ScaledSolveOp op) {
  Tile matrix = e.getTile(op.getMatrix()), values = e.getTile(op.getValues()), scaleTile = e.getTile(op.getScales()),
       result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows());
  if (Error error = e.machine.checkRows(op, values, rows))
    return error;
  for (const Tile &operand : {matrix, values, scaleTile})
    if (Error error = e.machine.checkApart(op, result, operand))
      return error;
  Contents lower = e.machine.read(op, matrix, rows), x = e.machine.read(op, values, rows),
           scales = e.machine.read(op, scaleTile, rows);
  const Arithmetic &arithmetic = e.machine.arithmetic;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < x.shape[1]; ++column) {
      double sum = 0, scale = scales.at(row, column);
      for (int64_t k = 0; k < row; ++k) {
        double next = arithmetic.multiplyAdd(sum, -lower.at(row, k), x.at(k, column));
        sum = keepHoles(next, {sum, lower.at(row, k), x.at(k, column)});
      }
      double &value = x.at(row, column);
      value = keepHoles(arithmetic.multiplyAdd(value, scale, sum), {value, scale, sum});
    }
  e.machine.write(op, result, x);
  return Error::success();
}

static Error runEliminate(TileExecutor &e, tile::EliminateOp op) {
  Tile matrix = e.getTile(op.getMatrix());
  int64_t rows = e.getNumber(op.getRows());
  if (Error error = e.machine.checkRows(op, matrix, rows))
    return error;
  Contents factors = e.machine.read(op, matrix, rows);
  const Arithmetic &arithmetic = e.machine.arithmetic;
  for (int64_t step = 0; step < rows; ++step)
    for (int64_t row = step + 1; row < rows; ++row) {
      double &multiplier = factors.at(row, step), pivot = factors.at(step, step);
      multiplier = keepHoles(arithmetic.store(multiplier / pivot), {multiplier, pivot});
      for (int64_t column = step + 1; column < factors.shape[1]; ++column) {
        double &element = factors.at(row, column), above = factors.at(step, column);
        element = keepHoles(arithmetic.multiplyAdd(element, -multiplier, above), {element, multiplier, above});
      }
    }
  e.machine.write(op, matrix, factors);
  return Error::success();
}

static Error runInvert(TileExecutor &e, tile::InvertOp op) {
  Tile matrix = e.getTile(op.getMatrix()), result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows()), columns = result.type.getSize(1);
  if (Error error = e.machine.checkRows(op, result, rows))
    return error;
  if (Error error = e.machine.checkApart(op, result, matrix))
    return error;
  Contents lower = e.machine.read(op, matrix, rows), scale;
  if (op.getColumnScale())
    scale = e.machine.read(op, e.getTile(op.getColumnScale()), rows);
  Contents inverse{{rows, columns}, std::vector<double>(rows * columns)};
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column <= row; ++column) {
      double &sum = inverse.at(row, column);
      sum = row == column;
      for (int64_t k = column; k < row; ++k) {
        double next = e.machine.arithmetic.multiplyAdd(sum, -lower.at(row, k), inverse.at(k, column));
        sum = keepHoles(next, {sum, lower.at(row, k), inverse.at(k, column)});
      }
    }
  if (op.getColumnScale())
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column <= row; ++column) {
        double &number = inverse.at(row, column);
        number = keepHoles(e.machine.arithmetic.store(number * scale.values[column]), {number, scale.values[column]});
      }
  if (op.getExchanged()) {
    Contents exchanged = inverse;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double number = inverse.at(row, column);
        exchanged.at(row, findExchanged(column)) =
            e.machine.rounds && !isHole(number) ? Arithmetic(Rounding::tf32).operand(number) : number;
      }
    inverse = std::move(exchanged);
  }
  e.machine.write(op, result, inverse);
  return Error::success();
}

void interpreter::addProductMeanings(TileMeanings &meanings) {
  meanings.add<tile::ProductOp, runProduct>();
  meanings.add<tile::PairOp, runPair>();
  meanings.add<tile::TransposeOp, runTranspose>();
  meanings.add<tile::SolveOp, runSolve>();
  meanings.add<tile::ScaledSolveOp, runScaledSolve>();
  meanings.add<tile::EliminateOp, runEliminate>();
  meanings.add<tile::InvertOp, runInvert>();
}
