// Arithmetic that each token does by itself.
#include "Interpreter/ChunkMeaning.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;

// A NaN on either side gives a NaN.
static double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
static double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

static double evaluate(chunk::Function function, double a, double b) {
  switch (function) {
  case chunk::Function::Neg:
    return -a;
  case chunk::Function::Exp:
    return std::exp(a);
  case chunk::Function::Expm1:
    return std::expm1(a);
  case chunk::Function::Log:
    return std::log(a);
  case chunk::Function::Sqrt:
    return std::sqrt(a);
  case chunk::Function::Abs:
    return std::fabs(a);
  case chunk::Function::Sigmoid: // exp is only taken of numbers that are not positive, so it cannot overflow
    return a >= 0 ? 1 / (1 + std::exp(-a)) : std::exp(a) / (1 + std::exp(a));
  case chunk::Function::Sin:
    return std::sin(a);
  case chunk::Function::Cos:
    return std::cos(a);
  case chunk::Function::Tanh:
    return std::tanh(a);
  case chunk::Function::Erf:
    return std::erf(a);
  case chunk::Function::Floor:
    return std::floor(a);
  case chunk::Function::Softplus:
    return (a > 0 ? a : 0) + std::log1p(std::exp(-std::fabs(a)));
  case chunk::Function::Elu:
    return a > 0 ? a : std::expm1(a);
  case chunk::Function::Stop:
    return a;
  case chunk::Function::Add:
    return a + b;
  case chunk::Function::Sub:
    return a - b;
  case chunk::Function::Mul:
    return a * b;
  case chunk::Function::Div:
    return a / b;
  case chunk::Function::Max:
    return larger(a, b);
  case chunk::Function::Min:
    return smaller(a, b);
  default:
    llvm_unreachable("not an elementwise function");
  }
}

namespace {
/// One token's part of an operand.
struct Row {
  const double *values;
  ArrayRef<int64_t> shape;
  int64_t count() const { return *countElements(shape); }
  double at(int64_t i) const { return values[i]; }
  double at(int64_t i, int64_t j) const { return values[i * shape[1] + j]; }
};
} // namespace

static void softmax(const Arithmetic &arithmetic, Row a, double *result) {
  double largest = a.at(0);
  for (int64_t i = 1; i < a.count(); ++i)
    largest = larger(largest, a.at(i));
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    result[i] = arithmetic.store(std::exp(a.at(i) - largest));
    sum = arithmetic.store(sum + result[i]);
  }
  for (int64_t i = 0; i < a.count(); ++i)
    result[i] = arithmetic.store(result[i] / sum);
}

/// One token's result. `b` is `a` again for a function of one operand.
static void evaluateRow(const Arithmetic &arithmetic, chunk::Function function, Row a, Row b, double *result,
                        int64_t count) {
  if (chunk::isElementwise(function)) {
    for (int64_t i = 0; i < count; ++i)
      result[i] = arithmetic.store(evaluate(function, a.at(a.shape.empty() ? 0 : i), b.at(b.shape.empty() ? 0 : i)));
    return;
  }
  switch (function) {
  case chunk::Function::Softmax:
    return softmax(arithmetic, a, result);
  case chunk::Function::Sum:
    result[0] = 0;
    for (int64_t i = 0; i < a.count(); ++i)
      result[0] = arithmetic.store(result[0] + a.at(i));
    return;
  case chunk::Function::Dot:
    result[0] = 0;
    for (int64_t i = 0; i < a.count(); ++i)
      result[0] = arithmetic.multiplyAdd(result[0], a.at(i), b.at(i));
    return;
  case chunk::Function::Outer:
    for (int64_t i = 0; i < a.shape[0]; ++i)
      for (int64_t j = 0; j < b.shape[0]; ++j)
        result[i * b.shape[0] + j] = arithmetic.store(a.at(i) * b.at(j));
    return;
  case chunk::Function::Matvec:
    for (int64_t i = 0; i < a.shape[0]; ++i) {
      result[i] = 0;
      for (int64_t j = 0; j < a.shape[1]; ++j)
        result[i] = arithmetic.multiplyAdd(result[i], a.at(i, j), b.at(j));
    }
    return;
  case chunk::Function::Vecmat:
    for (int64_t j = 0; j < b.shape[1]; ++j) {
      result[j] = 0;
      for (int64_t i = 0; i < b.shape[0]; ++i)
        result[j] = arithmetic.multiplyAdd(result[j], a.at(i), b.at(i, j));
    }
    return;
  case chunk::Function::ScaleCols:
    for (int64_t i = 0; i < a.shape[0]; ++i)
      for (int64_t j = 0; j < a.shape[1]; ++j)
        result[i * a.shape[1] + j] = arithmetic.store(a.at(i, j) * b.at(j));
    return;
  case chunk::Function::ScaleRows:
    for (int64_t i = 0; i < b.shape[0]; ++i)
      for (int64_t j = 0; j < b.shape[1]; ++j)
        result[i * b.shape[1] + j] = arithmetic.store(a.at(i) * b.at(i, j));
    return;
  default:
    llvm_unreachable("a function of one token's values");
  }
}

/// The shape of one token's result.
static std::vector<int64_t> shapeOfResult(chunk::Function function, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  switch (function) {
  case chunk::Function::Sum:
  case chunk::Function::Dot:
    return {};
  case chunk::Function::Outer:
    return {a[0], b[0]};
  case chunk::Function::Matvec:
    return {a[0]};
  case chunk::Function::Vecmat:
    return {b[1]};
  case chunk::Function::ScaleRows:
    return b.vec();
  default:
    return a.empty() ? b.vec() : a.vec();
  }
}

/// The second operand where the first is above zero, the third elsewhere.
static Array evaluateSelect(ArrayRef<const Array *> operands) {
  // A token dimension of 1 goes with any, and a scalar with any shape.
  Array result{{1}, {}};
  for (const Array *operand : operands) {
    int64_t tokens = result.shape[0] == 1 ? operand->shape[0] : result.shape[0];
    if (operand->shape.size() > result.shape.size())
      result.shape = operand->shape;
    result.shape[0] = tokens;
  }
  int64_t count = *countElements(ArrayRef(result.shape).drop_front());
  auto at = [&](const Array &operand, int64_t t, int64_t i) {
    int64_t width = operand.shape.size() == 1 ? 1 : count;
    return operand.values[(operand.shape[0] == 1 ? 0 : t * width) + (width == 1 ? 0 : i)];
  };
  for (int64_t t = 0; t < result.shape[0]; ++t)
    for (int64_t i = 0; i < count; ++i)
      result.values.push_back(at(*operands[at(*operands[0], t, i) > 0 ? 1 : 2], t, i));
  return result;
}

Array interpreter::evaluateMap(const Arithmetic &arithmetic, chunk::Function function,
                               ArrayRef<const Array *> operands) {
  if (function == chunk::Function::Select)
    return evaluateSelect(operands);
  const Array &a = *operands.front(), &b = *operands.back();
  ArrayRef<int64_t> shapeA = ArrayRef(a.shape).drop_front(), shapeB = ArrayRef(b.shape).drop_front();
  // A token dimension of 1 goes with any; with none at all the chunk is empty.
  int64_t tokens = a.shape[0] == 1 ? b.shape[0] : a.shape[0];
  Array result;
  result.shape = shapeOfResult(function, shapeA, shapeB);
  int64_t count = *countElements(result.shape);
  result.shape.insert(result.shape.begin(), tokens);
  result.values.resize(tokens * count);
  int64_t countA = *countElements(shapeA), countB = *countElements(shapeB);
  for (int64_t t = 0; t < tokens; ++t) {
    Row rowA{a.values.data() + (a.shape[0] == 1 ? 0 : t * countA), shapeA};
    Row rowB{b.values.data() + (b.shape[0] == 1 ? 0 : t * countB), shapeB};
    evaluateRow(arithmetic, function, rowA, rowB, result.values.data() + t * count, count);
  }
  return result;
}
