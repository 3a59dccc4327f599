#include "Driver/RandomData.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <random>

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::dgps;
using interpreter::Data;
using interpreter::Role;
using interpreter::Sizes;

//===----------------------------------------------------------------------===//
// What the equations want
//===----------------------------------------------------------------------===//

namespace {

/// Walks the equations backwards from each op that wants a sign of its operand.
class DemandFinder {
public:
  explicit DemandFinder(RecurrenceOp recurrence) : recurrence(recurrence) {}

  std::map<std::string, SignDemand> find() {
    recurrence.walk([&](mlir::Operation *op) {
      TypeSwitch<mlir::Operation *>(op)
          .Case([&](ExpOp op) { demand(op.getOperand(), SignDemand::Negative); })
          .Case([&](LogOp op) { demand(op.getOperand(), SignDemand::Positive); })
          .Case([&](SqrtOp op) { demand(op.getOperand(), SignDemand::Positive); })
          .Case([&](DivOp op) { demand(op.getRhs(), SignDemand::Positive); })
          .Case([&](CgOp op) {
            demand(op.getRidge(), SignDemand::Positive);
            demandPositiveDefinite(op.getMatrix());
          });
    });
    return demands;
  }

private:
  static SignDemand opposite(SignDemand sign) {
    return sign == SignDemand::Positive ? SignDemand::Negative : SignDemand::Positive;
  }

  /// The sign that a value has whatever is drawn, as far as a glance tells.
  static SignDemand signOf(mlir::Value value, unsigned depth = 0) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || depth > 8)
      return SignDemand::None;
    return TypeSwitch<mlir::Operation *, SignDemand>(op)
        .Case<ExpOp, SigmoidOp, SoftplusOp, SqrtOp, AbsOp, SoftmaxOp>([](auto) { return SignDemand::Positive; })
        .Case(
            [](ConstantOp constant) { return constant.getNumber() < 0 ? SignDemand::Negative : SignDemand::Positive; })
        .Case([&](NegOp neg) {
          SignDemand sign = signOf(neg.getOperand(), depth + 1);
          return sign == SignDemand::None ? sign : opposite(sign);
        })
        .Case<BroadcastOp, ExtractOp>([&](auto same) { return signOf(same.getOperand(), depth + 1); })
        .Case<MulOp, OuterOp>([&](auto product) {
          SignDemand lhs = signOf(product.getLhs(), depth + 1), rhs = signOf(product.getRhs(), depth + 1);
          if (isa<MulOp>(product) && product.getLhs() == product.getRhs())
            return SignDemand::Positive;
          if (lhs == SignDemand::None || rhs == SignDemand::None)
            return SignDemand::None;
          return lhs == rhs ? SignDemand::Positive : SignDemand::Negative;
        })
        .Default([](mlir::Operation *) { return SignDemand::None; });
  }

  void demandOfProduct(mlir::Value lhs, mlir::Value rhs, SignDemand sign) {
    if (lhs == rhs)
      return;
    SignDemand left = signOf(lhs), right = signOf(rhs);
    if (left == SignDemand::None)
      demand(lhs, right == SignDemand::Negative ? opposite(sign) : sign);
    if (right == SignDemand::None)
      demand(rhs, left == SignDemand::None       ? SignDemand::Positive
                  : left == SignDemand::Negative ? opposite(sign)
                                                 : sign);
  }

  void demand(mlir::Value value, SignDemand sign) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !seen.insert({value, sign}))
      return;
    TypeSwitch<mlir::Operation *>(op)
        .Case<InputOp, ParamOp>([&](auto declared) { demands.insert({declared.getName().str(), sign}); })
        .Case([&](StateOp state) {
          demands.insert({state.getName().str(), sign});
          demand(state.getNext().getValue(), sign);
        })
        .Case([&](NegOp neg) { demand(neg.getOperand(), opposite(sign)); })
        .Case<BroadcastOp, ExtractOp, SumOp>([&](auto same) { demand(same.getOperand(), sign); })
        .Case<AddOp, MaxOp, MinOp>([&](auto both) {
          demand(both.getLhs(), sign);
          demand(both.getRhs(), sign);
        })
        .Case([&](SubOp sub) {
          demand(sub.getLhs(), sign);
          demand(sub.getRhs(), opposite(sign));
        })
        .Case<MulOp, OuterOp>([&](auto product) { demandOfProduct(product.getLhs(), product.getRhs(), sign); })
        .Case([&](DivOp div) { demand(div.getLhs(), sign); })
        .Case<ScaleColsOp, ScaleRowsOp>(
            [&](auto scale) { demandOfProduct(scale.getMatrix(), scale.getVector(), sign); });
  }

  /// `outer(a, a)`, where a scalar may stand before either side.
  void demandOfOuter(mlir::Value lhs, mlir::Value rhs) {
    for (mlir::Value side : {lhs, rhs})
      while (auto product = side.getDefiningOp<MulOp>()) {
        bool scalarFirst = shapeOf(product.getLhs()).empty();
        if (!scalarFirst && !shapeOf(product.getRhs()).empty())
          break;
        demand(scalarFirst ? product.getLhs() : product.getRhs(), SignDemand::Positive);
        side = scalarFirst ? product.getRhs() : product.getLhs();
      }
  }

  void demandPositiveDefinite(mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !seen.insert({value, SignDemand::PositiveDefinite}))
      return;
    TypeSwitch<mlir::Operation *>(op)
        .Case<InputOp, ParamOp>(
            [&](auto declared) { demands[declared.getName().str()] = SignDemand::PositiveDefinite; })
        .Case([&](StateOp state) {
          demands[state.getName().str()] = SignDemand::PositiveDefinite;
          demandPositiveDefinite(state.getNext().getValue());
        })
        .Case([&](AddOp sum) {
          demandPositiveDefinite(sum.getLhs());
          demandPositiveDefinite(sum.getRhs());
        })
        .Case([&](MulOp product) {
          for (mlir::Value side : {product.getLhs(), product.getRhs()}) {
            if (shapeOf(side).empty())
              demand(side, SignDemand::Positive);
            else
              demandPositiveDefinite(side);
          }
        })
        .Case([&](OuterOp outer) { demandOfOuter(outer.getLhs(), outer.getRhs()); });
  }

  RecurrenceOp recurrence;
  std::map<std::string, SignDemand> demands; // where two ops disagree, the first in the program wins
  SetVector<std::pair<mlir::Value, SignDemand>> seen;
};

} // namespace

std::map<std::string, SignDemand> driver::findSignDemands(RecurrenceOp recurrence) {
  return DemandFinder(recurrence).find();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// The standard's distributions differ from library to library; its generators do not.
class Random {
public:
  explicit Random(uint64_t seed) : generator(seed) {}

  /// In (0, 1].
  double uniform() { return (double(generator() >> 11) + 1) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

private:
  std::mt19937_64 generator;
};

} // namespace

static double draw(Random &random, SignDemand demand, bool isScalar, int64_t rowLength) {
  switch (demand) {
  case SignDemand::Positive:
    return 0.1 + 0.9 * random.uniform();
  case SignDemand::Negative:
    return -0.5 * std::fabs(random.normal());
  case SignDemand::PositiveDefinite: // the B of B B^T
  case SignDemand::None:
    return isScalar ? random.normal() : random.normal() / std::sqrt(double(rowLength));
  }
  llvm_unreachable("a demand");
}

/// Replaces each square matrix B by B B^T.
static void multiplyByTransposed(Array &array) {
  int64_t n = array.shape.back();
  std::vector<double> square(n * n);
  for (size_t start = 0; start + n * n <= array.values.size(); start += n * n) {
    double *matrix = array.values.data() + start;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        square[i * n + j] = 0;
        for (int64_t k = 0; k < n; ++k)
          square[i * n + j] += matrix[i * n + k] * matrix[j * n + k];
      }
    llvm::copy(square, matrix);
  }
}

Data driver::makeRandomData(RecurrenceOp recurrence, const Sizes &sizes, uint64_t seed) {
  Random random(seed);
  std::map<std::string, SignDemand> demands = findSignDemands(recurrence);
  auto make = [&](Role role, StringRef name, mlir::Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    auto full = getFullShape(role, sizes, shape);
    Array array{std::vector<int64_t>(full.begin(), full.end()), {}};
    auto demand = demands.find(name.str());
    SignDemand sign = demand == demands.end() ? SignDemand::None : demand->second;
    array.values.resize(countElements(full).value_or(0));
    for (double &number : array.values)
      number = draw(random, sign, shape.empty(), shape.empty() ? 1 : shape.back());
    if (sign == SignDemand::PositiveDefinite && shape.size() == 2 && shape[0] == shape[1])
      multiplyByTransposed(array);
    return array;
  };
  Data data;
  data.sizes = sizes;
  for (InputOp input : recurrence.getInputs())
    data.inputs[input.getName().str()] =
        make(input.getShared() ? Role::SharedInput : Role::Input, input.getName(), input);
  for (ParamOp param : recurrence.getParams())
    data.params[param.getName().str()] = make(Role::Param, param.getName(), param);
  for (StateOp state : recurrence.getStates())
    data.initial[state.getName().str()] = make(Role::Initial, state.getName(), state);
  return data;
}
