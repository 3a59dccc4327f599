#include "Interpreter/TileBody.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;
namespace arith = mlir::arith;
namespace math = mlir::math;

//===----------------------------------------------------------------------===//
// What the ops compute
//===----------------------------------------------------------------------===//

using Scalar = double (*)(double, double, double);

/// A function that does not give a NaN for a NaN, and so looks for holes itself.
template <auto function> static double guarded(double a, double b, double) {
  return isHole(a) ? a : isHole(b) ? b : double(function(a, b));
}

// g++ 12 takes a `>` of a lambda in template arguments for their end, unless it is in parentheses.
static Scalar compareFloats(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return guarded<[](double a, double b) { return a == b; }>;
  case arith::CmpFPredicate::OGT:
    return guarded<[](double a, double b) { return (a > b); }>;
  case arith::CmpFPredicate::OGE:
    return guarded<[](double a, double b) { return a >= b; }>;
  case arith::CmpFPredicate::OLT:
    return guarded<[](double a, double b) { return a < b; }>;
  case arith::CmpFPredicate::OLE:
    return guarded<[](double a, double b) { return a <= b; }>;
  case arith::CmpFPredicate::ONE:
    return guarded<[](double a, double b) { return (a < b || a > b); }>;
  case arith::CmpFPredicate::UNE:
    return guarded<[](double a, double b) { return a != b; }>;
  case arith::CmpFPredicate::UNO:
    return guarded<[](double a, double b) { return std::isnan(a) || std::isnan(b); }>;
  case arith::CmpFPredicate::ORD:
    return guarded<[](double a, double b) { return !std::isnan(a) && !std::isnan(b); }>;
  default:
    return nullptr;
  }
}

static Scalar compareIntegers(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return guarded<[](double a, double b) { return a == b; }>;
  case arith::CmpIPredicate::ne:
    return guarded<[](double a, double b) { return a != b; }>;
  case arith::CmpIPredicate::slt:
    return guarded<[](double a, double b) { return a < b; }>;
  case arith::CmpIPredicate::sle:
    return guarded<[](double a, double b) { return a <= b; }>;
  case arith::CmpIPredicate::sgt:
    return guarded<[](double a, double b) { return (a > b); }>;
  case arith::CmpIPredicate::sge:
    return guarded<[](double a, double b) { return a >= b; }>;
  default:
    return nullptr;
  }
}

/// Null for an op that bodies do not have.
static Scalar findFunction(mlir::Operation *op) {
  using S = Scalar;
  return TypeSwitch<mlir::Operation *, S>(op)
      .Case([](arith::AddFOp) -> S { return [](double a, double b, double) { return a + b; }; })
      .Case([](arith::SubFOp) -> S { return [](double a, double b, double) { return a - b; }; })
      .Case([](arith::MulFOp) -> S { return [](double a, double b, double) { return a * b; }; })
      .Case([](arith::DivFOp) -> S { return [](double a, double b, double) { return a / b; }; })
      .Case([](arith::NegFOp) -> S { return [](double a, double, double) { return -a; }; })
      .Case([](arith::MaximumFOp) -> S { return [](double a, double b, double) { return a != a || a > b ? a : b; }; })
      .Case([](arith::MinimumFOp) -> S { return [](double a, double b, double) { return a != a || a < b ? a : b; }; })
      .Case([](arith::MaxNumFOp) -> S { return guarded<[](double a, double b) { return std::fmax(a, b); }>; })
      .Case([](arith::MinNumFOp) -> S { return guarded<[](double a, double b) { return std::fmin(a, b); }>; })
      .Case([](arith::CmpFOp op) { return compareFloats(op.getPredicate()); })
      .Case([](arith::CmpIOp op) { return compareIntegers(op.getPredicate()); })
      .Case([](arith::SelectOp) -> S {
        return [](double c, double a, double b) { return isHole(c) ? c : c != 0 ? a : b; };
      })
      .Case([](math::FmaOp) -> S { return [](double a, double b, double c) { return a * b + c; }; })
      .Case([](math::Exp2Op) -> S { return [](double a, double, double) { return std::exp2(a); }; })
      .Case([](math::ExpOp) -> S { return [](double a, double, double) { return std::exp(a); }; })
      .Case([](math::ExpM1Op) -> S { return [](double a, double, double) { return std::expm1(a); }; })
      .Case([](math::LogOp) -> S { return [](double a, double, double) { return std::log(a); }; })
      .Case([](math::Log1pOp) -> S { return [](double a, double, double) { return std::log1p(a); }; })
      .Case([](math::SqrtOp) -> S { return [](double a, double, double) { return std::sqrt(a); }; })
      .Case([](math::SinOp) -> S { return [](double a, double, double) { return std::sin(a); }; })
      .Case([](math::CosOp) -> S { return [](double a, double, double) { return std::cos(a); }; })
      .Case([](math::TanhOp) -> S { return [](double a, double, double) { return std::tanh(a); }; })
      .Case([](math::ErfOp) -> S { return [](double a, double, double) { return std::erf(a); }; })
      .Case([](math::FloorOp) -> S { return [](double a, double, double) { return std::floor(a); }; })
      .Case([](math::RoundEvenOp) -> S { return [](double a, double, double) { return std::nearbyint(a); }; })
      .Case([](math::AbsFOp) -> S { return [](double a, double, double) { return std::fabs(a); }; })
      .Case([](arith::AddIOp) -> S { return guarded<[](double a, double b) { return int32_t(a) + int32_t(b); }>; })
      .Case([](arith::SubIOp) -> S { return guarded<[](double a, double b) { return int32_t(a) - int32_t(b); }>; })
      .Case([](arith::MulIOp) -> S { return guarded<[](double a, double b) { return int32_t(a) * int32_t(b); }>; })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [](auto) -> S { return guarded<[](double a, double b) { return b == 0 ? 0 : int32_t(a) / int32_t(b); }>; })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [](auto) -> S { return guarded<[](double a, double b) { return b == 0 ? 0 : int32_t(a) % int32_t(b); }>; })
      .Case([](arith::AndIOp) -> S { return guarded<[](double a, double b) { return int32_t(a) & int32_t(b); }>; })
      .Case([](arith::OrIOp) -> S { return guarded<[](double a, double b) { return int32_t(a) | int32_t(b); }>; })
      .Case([](arith::XOrIOp) -> S { return guarded<[](double a, double b) { return int32_t(a) ^ int32_t(b); }>; })
      .Case([](arith::SIToFPOp) -> S { return [](double a, double, double) { return a; }; })
      .Default([](mlir::Operation *) -> S { return nullptr; });
}

//===----------------------------------------------------------------------===//
// Compiling and running
//===----------------------------------------------------------------------===//

Expected<TileBody> TileBody::compile(mlir::Block &block) {
  TileBody body;
  DenseMap<mlir::Value, int64_t> places;
  for (mlir::BlockArgument argument : block.getArguments())
    places[argument] = body.slots++;
  for (mlir::Operation &op : block.without_terminator()) {
    Instruction instruction;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<mlir::FloatAttr>(constant.getValue()))
        instruction.number = number.getValueAsDouble();
      else if (auto number = dyn_cast<mlir::IntegerAttr>(constant.getValue()))
        instruction.number = number.getType().isInteger(1) ? number.getValue().getBoolValue() : number.getInt();
    } else if (auto index = dyn_cast<tile::IndexOp>(op)) {
      instruction.dim = index.getDim();
    } else {
      instruction.function = findFunction(&op);
      if (!instruction.function || op.getNumOperands() > 3)
        return createStringError(inconvertibleErrorCode(), describeOp(&op) + ": the op has no meaning in a body");
      for (auto [i, operand] : enumerate(op.getOperands())) {
        auto place = places.find(operand);
        if (place == places.end())
          return createStringError(inconvertibleErrorCode(),
                                   describeOp(&op) + ": a body uses nothing from outside of it");
        instruction.operands[i] = place->second;
      }
      for (unsigned i = op.getNumOperands(); i < 3; ++i)
        instruction.operands[i] = instruction.operands[0];
    }
    instruction.result = places[op.getResult(0)] = body.slots++;
    instruction.rounds = isa<mlir::FloatType>(op.getResult(0).getType());
    instruction.chooses = isa<arith::SelectOp>(op);
    body.instructions.push_back(instruction);
  }
  for (mlir::Value value : block.getTerminator()->getOperands())
    body.yielded.push_back(places.lookup(value));
  return body;
}

void TileBody::run(const Arithmetic &arithmetic, Values &values, ArrayRef<int64_t> at, int64_t along) const {
  for (const Instruction &instruction : instructions) {
    double *result = values.get(instruction.result);
    if (!instruction.function) {
      for (int64_t lane = 0; lane < values.lanes; ++lane)
        result[lane] =
            instruction.dim < 0 ? instruction.number : at[instruction.dim] + (instruction.dim == along ? lane : 0);
      continue;
    }
    const double *a = values.get(instruction.operands[0]), *b = values.get(instruction.operands[1]),
                 *c = values.get(instruction.operands[2]);
    for (int64_t lane = 0; lane < values.lanes; ++lane) {
      double x = instruction.function(a[lane], b[lane], c[lane]);
      if (x == x) {
        result[lane] = instruction.rounds ? arithmetic.store(x) : x;
        continue;
      }
      result[lane] = instruction.chooses ? x : keepHoles(x, {a[lane], b[lane], c[lane]});
    }
  }
}
