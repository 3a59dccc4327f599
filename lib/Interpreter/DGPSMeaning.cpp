#include "Interpreter/DGPSMeaning.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace recur;
using namespace recur::interpreter;
using namespace recur::dgps;

//===----------------------------------------------------------------------===//
// Functions of one or two numbers
//===----------------------------------------------------------------------===//

static double sigmoid(double x) {
  // exp is only taken of numbers that are not positive, so it cannot overflow.
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  return std::exp(x) / (1 + std::exp(x));
}

static double softplus(double x) {
  // max(x, 0) as x > 0 ? x : 0 would lose a NaN, which log1p(exp(-|x|)) keeps.
  return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}

static double elu(double x) { return x > 0 ? x : std::expm1(x); }

// A NaN on either side gives a NaN.
static double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
static double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

template <typename Function> static Action elementwise(Slot a, Slot result, Function function) {
  return [=](double *numbers) {
    for (int64_t i = 0; i < result.count(); ++i)
      numbers[result.offset + i] = function(numbers[a.offset + i]);
  };
}

/// A scalar operand stands for a constant of the other's shape.
template <typename Function> static Action elementwise(Slot a, Slot b, Slot result, Function function) {
  int64_t stepA = a.count() == 1 ? 0 : 1;
  int64_t stepB = b.count() == 1 ? 0 : 1;
  return [=](double *numbers) {
    for (int64_t i = 0; i < result.count(); ++i)
      numbers[result.offset + i] = function(numbers[a.offset + stepA * i], numbers[b.offset + stepB * i]);
  };
}

//===----------------------------------------------------------------------===//
// Functions of vectors and matrices
//===----------------------------------------------------------------------===//

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

static void softmax(const double *a, double *result, int64_t count) {
  // The largest is subtracted, which changes nothing but keeps every exp at or below one.
  double largest = a[0];
  for (int64_t i = 1; i < count; ++i)
    largest = larger(largest, a[i]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += result[i] = std::exp(a[i] - largest);
  for (int64_t i = 0; i < count; ++i)
    result[i] /= sum;
}

/// The textbook method of conjugate gradients on (matrix + diag(ridge)) y = x, from y = 0.
static void conjugateGradients(const double *matrix, const double *x, const double *ridge, int64_t ridgeStep,
                               int64_t iterations, int64_t n, double *y) {
  std::vector<double> residual(x, x + n), direction(x, x + n), image(n);
  std::fill_n(y, n, 0.0);
  double norm = dot(residual.data(), residual.data(), n);
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    for (int64_t i = 0; i < n; ++i)
      image[i] = dot(matrix + i * n, direction.data(), n) + ridge[i * ridgeStep] * direction[i];
    double curvature = dot(direction.data(), image.data(), n);
    // Nothing changes in this step, and so in none of those that follow.
    if (norm == 0 || curvature == 0)
      return;
    double length = norm / curvature;
    for (int64_t i = 0; i < n; ++i) {
      y[i] += length * direction[i];
      residual[i] -= length * image[i];
    }
    double nextNorm = dot(residual.data(), residual.data(), n);
    for (int64_t i = 0; i < n; ++i)
      direction[i] = residual[i] + nextNorm / norm * direction[i];
    norm = nextNorm;
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Action makeUnaryAction(mlir::Operation *op, Slot a, Slot result) {
  return llvm::TypeSwitch<mlir::Operation *, Action>(op)
      .Case([&](NegOp) { return elementwise(a, result, [](double x) { return -x; }); })
      .Case([&](ExpOp) { return elementwise(a, result, [](double x) { return std::exp(x); }); })
      .Case([&](Expm1Op) { return elementwise(a, result, [](double x) { return std::expm1(x); }); })
      .Case([&](LogOp) { return elementwise(a, result, [](double x) { return std::log(x); }); })
      .Case([&](SqrtOp) { return elementwise(a, result, [](double x) { return std::sqrt(x); }); })
      .Case([&](AbsOp) { return elementwise(a, result, [](double x) { return std::fabs(x); }); })
      .Case([&](TanhOp) { return elementwise(a, result, [](double x) { return std::tanh(x); }); })
      .Case([&](SigmoidOp) { return elementwise(a, result, sigmoid); })
      .Case([&](SoftplusOp) { return elementwise(a, result, softplus); })
      .Case([&](EluOp) { return elementwise(a, result, elu); })
      .Default([](mlir::Operation *) { return Action(); });
}

static Action makeBinaryAction(mlir::Operation *op, Slot a, Slot b, Slot result) {
  return llvm::TypeSwitch<mlir::Operation *, Action>(op)
      .Case([&](AddOp) { return elementwise(a, b, result, [](double x, double y) { return x + y; }); })
      .Case([&](SubOp) { return elementwise(a, b, result, [](double x, double y) { return x - y; }); })
      .Case([&](MulOp) { return elementwise(a, b, result, [](double x, double y) { return x * y; }); })
      .Case([&](DivOp) { return elementwise(a, b, result, [](double x, double y) { return x / y; }); })
      .Case([&](MaxOp) { return elementwise(a, b, result, larger); })
      .Case([&](MinOp) { return elementwise(a, b, result, smaller); })
      .Default([](mlir::Operation *) { return Action(); });
}

Action interpreter::makeAction(mlir::Operation *op, llvm::function_ref<Slot(mlir::Value)> slotOf) {
  if (op->getNumResults() != 1)
    return Action();
  Slot result = slotOf(op->getResult(0));
  return llvm::TypeSwitch<mlir::Operation *, Action>(op)
      .Case([&](ConstantOp constant) {
        return [result, number = constant.getNumber()](double *numbers) {
          std::fill_n(numbers + result.offset, result.count(), number);
        };
      })
      .Case([&](BroadcastOp broadcast) {
        return [result, from = slotOf(broadcast.getOperand())](double *numbers) {
          std::fill_n(numbers + result.offset, result.count(), numbers[from.offset]);
        };
      })
      .Case([&](ExtractOp extract) {
        // An element of a vector or a row of a matrix: `result.count()` numbers that lie together.
        int64_t from = slotOf(extract.getOperand()).offset + int64_t(extract.getIndex()) * result.count();
        return
            [result, from](double *numbers) { std::copy_n(numbers + from, result.count(), numbers + result.offset); };
      })
      .Case([&](OuterOp outer) {
        return [result, a = slotOf(outer.getLhs()), b = slotOf(outer.getRhs())](double *numbers) {
          for (int64_t i = 0; i < result.rows; ++i)
            for (int64_t j = 0; j < result.cols; ++j)
              numbers[result.offset + i * result.cols + j] = numbers[a.offset + i] * numbers[b.offset + j];
        };
      })
      .Case([&](DotOp op) {
        return [result, a = slotOf(op.getLhs()), b = slotOf(op.getRhs())](double *numbers) {
          numbers[result.offset] = dot(numbers + a.offset, numbers + b.offset, a.count());
        };
      })
      .Case([&](SumOp sum) {
        return [result, a = slotOf(sum.getOperand())](double *numbers) {
          double total = 0;
          for (int64_t i = 0; i < a.count(); ++i)
            total += numbers[a.offset + i];
          numbers[result.offset] = total;
        };
      })
      .Case([&](SoftmaxOp op) {
        return [result, a = slotOf(op.getOperand())](double *numbers) {
          softmax(numbers + a.offset, numbers + result.offset, a.count());
        };
      })
      .Case([&](MatvecOp matvec) {
        return [result, m = slotOf(matvec.getMatrix()), x = slotOf(matvec.getVector())](double *numbers) {
          for (int64_t i = 0; i < m.rows; ++i)
            numbers[result.offset + i] = dot(numbers + m.offset + i * m.cols, numbers + x.offset, m.cols);
        };
      })
      .Case([&](VecmatOp vecmat) {
        return [result, x = slotOf(vecmat.getVector()), m = slotOf(vecmat.getMatrix())](double *numbers) {
          std::fill_n(numbers + result.offset, m.cols, 0.0);
          for (int64_t i = 0; i < m.rows; ++i)
            for (int64_t j = 0; j < m.cols; ++j)
              numbers[result.offset + j] += numbers[x.offset + i] * numbers[m.offset + i * m.cols + j];
        };
      })
      .Case([&](ScaleColsOp scale) {
        return [result, m = slotOf(scale.getMatrix()), a = slotOf(scale.getVector())](double *numbers) {
          for (int64_t i = 0; i < m.rows; ++i)
            for (int64_t j = 0; j < m.cols; ++j)
              numbers[result.offset + i * m.cols + j] = numbers[m.offset + i * m.cols + j] * numbers[a.offset + j];
        };
      })
      .Case([&](ScaleRowsOp scale) {
        return [result, a = slotOf(scale.getVector()), m = slotOf(scale.getMatrix())](double *numbers) {
          for (int64_t i = 0; i < m.rows; ++i)
            for (int64_t j = 0; j < m.cols; ++j)
              numbers[result.offset + i * m.cols + j] = numbers[a.offset + i] * numbers[m.offset + i * m.cols + j];
        };
      })
      .Case([&](CgOp cg) {
        Slot ridge = slotOf(cg.getRidge());
        bool scalarRidge = llvm::cast<RealType>(cg.getRidge().getType()).isScalar();
        return [=, m = slotOf(cg.getMatrix()), x = slotOf(cg.getVector()),
                steps = int64_t(cg.getIterations())](double *numbers) {
          conjugateGradients(numbers + m.offset, numbers + x.offset, numbers + ridge.offset, scalarRidge ? 0 : 1, steps,
                             x.count(), numbers + result.offset);
        };
      })
      .Default([&](mlir::Operation *other) {
        if (other->getNumOperands() == 1)
          return makeUnaryAction(other, slotOf(other->getOperand(0)), result);
        if (other->getNumOperands() == 2)
          return makeBinaryAction(other, slotOf(other->getOperand(0)), slotOf(other->getOperand(1)), result);
        return Action();
      });
}
