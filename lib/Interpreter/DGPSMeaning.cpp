#include "Interpreter/DGPSMeaning.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace recur;
using namespace recur::interpreter;
using namespace recur::dgps;

//===----------------------------------------------------------------------===//
// Functions of one or two numbers
//===----------------------------------------------------------------------===//

template <typename Number, typename Function>
static Action<Number> elementwise(Slot a, Slot result, Function function) {
  return [=](Number *numbers) {
    for (int64_t i = 0; i < result.count(); ++i)
      numbers[result.offset + i] = function(numbers[a.offset + i]);
  };
}

/// A scalar operand stands for a constant of the other's shape.
template <typename Number, typename Function>
static Action<Number> elementwise(Slot a, Slot b, Slot result, Function function) {
  int64_t stepA = a.count() == 1 ? 0 : 1;
  int64_t stepB = b.count() == 1 ? 0 : 1;
  return [=](Number *numbers) {
    for (int64_t i = 0; i < result.count(); ++i)
      numbers[result.offset + i] = function(numbers[a.offset + stepA * i], numbers[b.offset + stepB * i]);
  };
}

//===----------------------------------------------------------------------===//
// Functions of vectors and matrices
//===----------------------------------------------------------------------===//

template <typename Number> static Number dot(const Number *a, const Number *b, int64_t count) {
  Number sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

template <typename Number> static void softmax(const Number *a, Number *result, int64_t count) {
  using std::exp;
  // The largest is subtracted, which changes nothing but keeps every exp at or below one.
  double largest = valueOf(a[0]);
  for (int64_t i = 1; i < count; ++i)
    largest = larger(largest, valueOf(a[i]));
  Number sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += result[i] = exp(a[i] - largest);
  for (int64_t i = 0; i < count; ++i)
    result[i] /= sum;
}

/// The textbook method of conjugate gradients on (matrix + diag(ridge)) y = x, from y = 0.
template <typename Number>
static void takeSteps(const Number *matrix, const Number *x, const Number *ridge, int64_t ridgeStep, int64_t iterations,
                      int64_t n, Number *y) {
  std::vector<Number> residual(x, x + n), direction(x, x + n), image(n);
  std::fill_n(y, n, Number(0.0));
  Number norm = dot(residual.data(), residual.data(), n);
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    for (int64_t i = 0; i < n; ++i)
      image[i] = dot(matrix + i * n, direction.data(), n) + ridge[i * ridgeStep] * direction[i];
    Number curvature = dot(direction.data(), image.data(), n);
    // Nothing changes in this step, and so in none of those that follow.
    if (valueOf(norm) == 0 || valueOf(curvature) == 0)
      return;
    Number length = norm / curvature;
    for (int64_t i = 0; i < n; ++i) {
      y[i] += length * direction[i];
      residual[i] -= length * image[i];
    }
    Number nextNorm = dot(residual.data(), residual.data(), n);
    for (int64_t i = 0; i < n; ++i)
      direction[i] = residual[i] + nextNorm / norm * direction[i];
    norm = nextNorm;
  }
}

static void conjugateGradients(const double *matrix, const double *x, const double *ridge, int64_t ridgeStep,
                               int64_t iterations, bool /*bySteps*/, int64_t n, double *y) {
  takeSteps(matrix, x, ridge, ridgeStep, iterations, n, y);
}

/// Solves matrix y = x, a square system, by elimination. A column in which nothing is left gives zero.
static std::vector<double> solveDensely(std::vector<double> matrix, std::vector<double> x) {
  int64_t n = x.size();
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row)
      if (std::fabs(matrix[row * n + column]) > std::fabs(matrix[pivot * n + column]))
        pivot = row;
    std::swap_ranges(matrix.begin() + column * n, matrix.begin() + (column + 1) * n, matrix.begin() + pivot * n);
    std::swap(x[column], x[pivot]);
    for (int64_t row = column + 1; row < n && matrix[column * n + column] != 0; ++row) {
      double factor = matrix[row * n + column] / matrix[column * n + column];
      for (int64_t k = column; k < n; ++k)
        matrix[row * n + k] -= factor * matrix[column * n + k];
      x[row] -= factor * x[column];
    }
  }
  for (int64_t row = n - 1; row >= 0; --row) {
    for (int64_t k = row + 1; k < n; ++k)
      x[row] -= matrix[row * n + k] * x[k];
    x[row] = matrix[row * n + row] == 0 ? 0 : x[row] / matrix[row * n + row];
  }
  return x;
}

/// The steps stand for the solution y of (matrix + diag(ridge)) y = x, and have its derivative, unless that of the
/// steps is asked for: it says as much about where they stop as about y.
static void conjugateGradients(const Dual *matrix, const Dual *x, const Dual *ridge, int64_t ridgeStep,
                               int64_t iterations, bool bySteps, int64_t n, Dual *y) {
  if (bySteps)
    return takeSteps(matrix, x, ridge, ridgeStep, iterations, n, y);
  auto values = [](const Dual *numbers, int64_t count) {
    std::vector<double> result(count);
    for (int64_t i = 0; i < count; ++i)
      result[i] = numbers[i].value;
    return result;
  };
  std::vector<double> system = values(matrix, n * n), solution(n);
  takeSteps(system.data(), values(x, n).data(), values(ridge, ridgeStep ? n : 1).data(), ridgeStep, iterations, n,
            solution.data());
  std::vector<double> slopes(n);
  for (int64_t i = 0; i < n; ++i) {
    system[i * n + i] += ridge[i * ridgeStep].value;
    slopes[i] = x[i].slope - ridge[i * ridgeStep].slope * solution[i];
    for (int64_t k = 0; k < n; ++k)
      slopes[i] -= matrix[i * n + k].slope * solution[k];
  }
  slopes = solveDensely(std::move(system), std::move(slopes));
  for (int64_t i = 0; i < n; ++i)
    y[i] = {solution[i], slopes[i]};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

template <typename Number> static Action<Number> makeUnaryAction(mlir::Operation *op, Slot a, Slot result) {
  using std::exp, std::expm1, std::log, std::sqrt, std::fabs, std::tanh, std::sin, std::cos, std::erf, std::floor;
  return llvm::TypeSwitch<mlir::Operation *, Action<Number>>(op)
      .Case([&](NegOp) { return elementwise<Number>(a, result, [](Number x) { return Number(-x); }); })
      .Case([&](ExpOp) { return elementwise<Number>(a, result, [](Number x) { return Number(exp(x)); }); })
      .Case([&](Expm1Op) { return elementwise<Number>(a, result, [](Number x) { return Number(expm1(x)); }); })
      .Case([&](LogOp) { return elementwise<Number>(a, result, [](Number x) { return Number(log(x)); }); })
      .Case([&](SqrtOp) { return elementwise<Number>(a, result, [](Number x) { return Number(sqrt(x)); }); })
      .Case([&](AbsOp) { return elementwise<Number>(a, result, [](Number x) { return Number(fabs(x)); }); })
      .Case([&](SinOp) { return elementwise<Number>(a, result, [](Number x) { return Number(sin(x)); }); })
      .Case([&](CosOp) { return elementwise<Number>(a, result, [](Number x) { return Number(cos(x)); }); })
      .Case([&](TanhOp) { return elementwise<Number>(a, result, [](Number x) { return Number(tanh(x)); }); })
      .Case([&](SigmoidOp) { return elementwise<Number>(a, result, [](Number x) { return Number(sigmoid(x)); }); })
      .Case([&](SoftplusOp) { return elementwise<Number>(a, result, [](Number x) { return Number(softplus(x)); }); })
      .Case([&](EluOp) { return elementwise<Number>(a, result, [](Number x) { return Number(elu(x)); }); })
      .Case([&](ErfOp) { return elementwise<Number>(a, result, [](Number x) { return Number(erf(x)); }); })
      .Case([&](FloorOp) { return elementwise<Number>(a, result, [](Number x) { return Number(floor(x)); }); })
      .Case([&](StopOp) { return elementwise<Number>(a, result, [](Number x) { return Number(valueOf(x)); }); })
      .Default([](mlir::Operation *) { return Action<Number>(); });
}

/// Whether the value is computed from constants alone.
static bool isConstant(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && !llvm::isa<InputOp, ParamOp, StateOp>(op) && llvm::all_of(op->getOperands(), isConstant);
}

/// Of equal operands a constant gets all of the slope, so that relu's is zero at zero, and else both get half.
static double shareOfFirst(mlir::Operation *op) {
  return isConstant(op->getOperand(0)) ? 1 : isConstant(op->getOperand(1)) ? 0 : 0.5;
}

template <typename Number> static Action<Number> makeBinaryAction(mlir::Operation *op, Slot a, Slot b, Slot result) {
  return llvm::TypeSwitch<mlir::Operation *, Action<Number>>(op)
      .Case([&](AddOp) { return elementwise<Number>(a, b, result, [](Number x, Number y) { return Number(x + y); }); })
      .Case([&](SubOp) { return elementwise<Number>(a, b, result, [](Number x, Number y) { return Number(x - y); }); })
      .Case([&](MulOp) { return elementwise<Number>(a, b, result, [](Number x, Number y) { return Number(x * y); }); })
      .Case([&](DivOp) { return elementwise<Number>(a, b, result, [](Number x, Number y) { return Number(x / y); }); })
      .Case([&](MaxOp) {
        return elementwise<Number>(a, b, result,
                                   [share = shareOfFirst(op)](Number x, Number y) { return larger(x, y, share); });
      })
      .Case([&](MinOp) {
        return elementwise<Number>(a, b, result,
                                   [share = shareOfFirst(op)](Number x, Number y) { return smaller(x, y, share); });
      })
      .Default([](mlir::Operation *) { return Action<Number>(); });
}

template <typename Number>
Action<Number> interpreter::makeAction(mlir::Operation *op, llvm::function_ref<Slot(mlir::Value)> slotOf) {
  if (op->getNumResults() != 1)
    return Action<Number>();
  Slot result = slotOf(op->getResult(0));
  return llvm::TypeSwitch<mlir::Operation *, Action<Number>>(op)
      .Case([&](ConstantOp constant) {
        return [result, number = constant.getNumber()](Number *numbers) {
          std::fill_n(numbers + result.offset, result.count(), Number(number));
        };
      })
      .Case([&](BroadcastOp broadcast) {
        return [result, from = slotOf(broadcast.getOperand())](Number *numbers) {
          std::fill_n(numbers + result.offset, result.count(), numbers[from.offset]);
        };
      })
      .Case([&](ExtractOp extract) {
        // An element of a vector or a row of a matrix: `result.count()` numbers that lie together.
        int64_t from = slotOf(extract.getOperand()).offset + int64_t(extract.getIndex()) * result.count();
        return
            [result, from](Number *numbers) { std::copy_n(numbers + from, result.count(), numbers + result.offset); };
      })
      .Case([&](SliceOp slice) {
        Slot a = slotOf(slice.getOperand());
        int64_t width = a.count() / llvm::cast<RealType>(slice.getOperand().getType()).getShape()[0];
        int64_t from = a.offset + int64_t(slice.getBegin()) * width;
        return
            [result, from](Number *numbers) { std::copy_n(numbers + from, result.count(), numbers + result.offset); };
      })
      .Case([&](ConcatOp concat) {
        auto parts = llvm::map_to_vector(concat.getOperands(), [&](mlir::Value value) { return slotOf(value); });
        return [result, parts](Number *numbers) {
          Number *to = numbers + result.offset;
          for (Slot part : parts)
            to = std::copy_n(numbers + part.offset, part.count(), to);
        };
      })
      .Case([&](SelectOp op) {
        Slot condition = slotOf(op.getCondition()), first = slotOf(op.getFirst()), second = slotOf(op.getSecond());
        auto place = [](Slot slot, int64_t i) { return slot.offset + (slot.count() == 1 ? 0 : i); };
        return [=](Number *numbers) {
          for (int64_t i = 0; i < result.count(); ++i)
            numbers[result.offset + i] =
                numbers[valueOf(numbers[place(condition, i)]) > 0 ? place(first, i) : place(second, i)];
        };
      })
      .Case([&](OuterOp outer) {
        return [result, a = slotOf(outer.getLhs()), b = slotOf(outer.getRhs())](Number *numbers) {
          for (int64_t i = 0; i < result.rows; ++i)
            for (int64_t j = 0; j < result.cols; ++j)
              numbers[result.offset + i * result.cols + j] = numbers[a.offset + i] * numbers[b.offset + j];
        };
      })
      .Case([&](DotOp op) {
        return [result, a = slotOf(op.getLhs()), b = slotOf(op.getRhs())](Number *numbers) {
          numbers[result.offset] = dot(numbers + a.offset, numbers + b.offset, a.count());
        };
      })
      .Case([&](SumOp sum) {
        return [result, a = slotOf(sum.getOperand())](Number *numbers) {
          Number total = 0;
          for (int64_t i = 0; i < a.count(); ++i)
            total += numbers[a.offset + i];
          numbers[result.offset] = total;
        };
      })
      .Case([&](SoftmaxOp op) {
        return [result, a = slotOf(op.getOperand())](Number *numbers) {
          softmax(numbers + a.offset, numbers + result.offset, a.count());
        };
      })
      .Case([&](MatvecOp matvec) {
        return [result, m = slotOf(matvec.getMatrix()), x = slotOf(matvec.getVector())](Number *numbers) {
          for (int64_t i = 0; i < m.rows; ++i)
            numbers[result.offset + i] = dot(numbers + m.offset + i * m.cols, numbers + x.offset, m.cols);
        };
      })
      .Case([&](VecmatOp vecmat) {
        return [result, x = slotOf(vecmat.getVector()), m = slotOf(vecmat.getMatrix())](Number *numbers) {
          std::fill_n(numbers + result.offset, m.cols, Number(0));
          for (int64_t i = 0; i < m.rows; ++i)
            for (int64_t j = 0; j < m.cols; ++j)
              numbers[result.offset + j] += numbers[x.offset + i] * numbers[m.offset + i * m.cols + j];
        };
      })
      .Case([&](ScaleColsOp scale) {
        return [result, m = slotOf(scale.getMatrix()), a = slotOf(scale.getVector())](Number *numbers) {
          for (int64_t i = 0; i < m.rows; ++i)
            for (int64_t j = 0; j < m.cols; ++j)
              numbers[result.offset + i * m.cols + j] = numbers[m.offset + i * m.cols + j] * numbers[a.offset + j];
        };
      })
      .Case([&](ScaleRowsOp scale) {
        return [result, a = slotOf(scale.getVector()), m = slotOf(scale.getMatrix())](Number *numbers) {
          for (int64_t i = 0; i < m.rows; ++i)
            for (int64_t j = 0; j < m.cols; ++j)
              numbers[result.offset + i * m.cols + j] = numbers[a.offset + i] * numbers[m.offset + i * m.cols + j];
        };
      })
      .Case([&](CgOp cg) {
        Slot ridge = slotOf(cg.getRidge());
        bool scalarRidge = llvm::cast<RealType>(cg.getRidge().getType()).isScalar();
        return [=, m = slotOf(cg.getMatrix()), x = slotOf(cg.getVector()), steps = int64_t(cg.getIterations()),
                bySteps = cg.getBySteps()](Number *numbers) {
          conjugateGradients(numbers + m.offset, numbers + x.offset, numbers + ridge.offset, scalarRidge ? 0 : 1, steps,
                             bySteps, x.count(), numbers + result.offset);
        };
      })
      .Default([&](mlir::Operation *other) {
        if (other->getNumOperands() == 1)
          return makeUnaryAction<Number>(other, slotOf(other->getOperand(0)), result);
        if (other->getNumOperands() == 2)
          return makeBinaryAction<Number>(other, slotOf(other->getOperand(0)), slotOf(other->getOperand(1)), result);
        return Action<Number>();
      });
}

template Action<double> interpreter::makeAction(mlir::Operation *, llvm::function_ref<Slot(mlir::Value)>);
template Action<Dual> interpreter::makeAction(mlir::Operation *, llvm::function_ref<Slot(mlir::Value)>);
