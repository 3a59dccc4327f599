// The integers of a plan: how many tokens are left, where a chunk begins.
#include "Interpreter/TileExecutor.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
namespace arith = mlir::arith;

static Error runConstant(TileExecutor &e, arith::ConstantOp op) {
  auto number = dyn_cast<mlir::IntegerAttr>(op.getValue());
  if (!number)
    return makeTileError(op, "a plan computes with integers only");
  e.setNumber(op, number.getType().isInteger(1) ? number.getValue().getBoolValue() : number.getValue().getSExtValue());
  return Error::success();
}

/// Arithmetic that wraps around as the machine's does.
static int64_t add(int64_t a, int64_t b) { return uint64_t(a) + uint64_t(b); }
static int64_t subtract(int64_t a, int64_t b) { return uint64_t(a) - uint64_t(b); }
static int64_t multiply(int64_t a, int64_t b) { return uint64_t(a) * uint64_t(b); }
static int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
static int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
static int64_t both(int64_t a, int64_t b) { return a & b; }
static int64_t either(int64_t a, int64_t b) { return a | b; }
static int64_t differ(int64_t a, int64_t b) { return a ^ b; }

template <typename Op, int64_t (*function)(int64_t, int64_t)> static Error runBinary(TileExecutor &e, Op op) {
  e.setNumber(op.getResult(), function(e.getNumber(op.getLhs()), e.getNumber(op.getRhs())));
  return Error::success();
}

static int64_t divide(int64_t a, int64_t b) { return a / b; }
static int64_t remainder(int64_t a, int64_t b) { return a % b; }
static int64_t divideUnsigned(int64_t a, int64_t b) { return uint64_t(a) / uint64_t(b); }
static int64_t remainderUnsigned(int64_t a, int64_t b) { return uint64_t(a) % uint64_t(b); }

template <typename Op, int64_t (*function)(int64_t, int64_t)> static Error runDivision(TileExecutor &e, Op op) {
  int64_t a = e.getNumber(op.getLhs()), b = e.getNumber(op.getRhs());
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return makeTileError(op, "cannot divide " + Twine(a) + " by " + Twine(b));
  return runBinary<Op, function>(e, op);
}

static Error runCompare(TileExecutor &e, arith::CmpIOp op) {
  unsigned width = op.getLhs().getType().isIndex() ? 64 : op.getLhs().getType().getIntOrFloatBitWidth();
  auto read = [&](mlir::Value value) { return APInt(64, e.getNumber(value), /*isSigned=*/true).trunc(width); };
  e.setNumber(op, arith::applyCmpPredicate(op.getPredicate(), read(op.getLhs()), read(op.getRhs())));
  return Error::success();
}

static Error runSelect(TileExecutor &e, arith::SelectOp op) {
  e.copy(e.getNumber(op.getCondition()) ? op.getTrueValue() : op.getFalseValue(), mlir::Value(op.getResult()));
  return Error::success();
}

template <typename Op> static Error runCast(TileExecutor &e, Op op) {
  e.setNumber(op.getResult(), e.getNumber(op.getIn()));
  return Error::success();
}

void interpreter::addScalarMeanings(TileMeanings &meanings) {
  meanings.add<arith::ConstantOp, runConstant>();
  meanings.add<arith::AddIOp, runBinary<arith::AddIOp, add>>();
  meanings.add<arith::SubIOp, runBinary<arith::SubIOp, subtract>>();
  meanings.add<arith::MulIOp, runBinary<arith::MulIOp, multiply>>();
  meanings.add<arith::MinSIOp, runBinary<arith::MinSIOp, smaller>>();
  meanings.add<arith::MaxSIOp, runBinary<arith::MaxSIOp, larger>>();
  meanings.add<arith::AndIOp, runBinary<arith::AndIOp, both>>();
  meanings.add<arith::OrIOp, runBinary<arith::OrIOp, either>>();
  meanings.add<arith::XOrIOp, runBinary<arith::XOrIOp, differ>>();
  meanings.add<arith::DivSIOp, runDivision<arith::DivSIOp, divide>>();
  meanings.add<arith::RemSIOp, runDivision<arith::RemSIOp, remainder>>();
  meanings.add<arith::DivUIOp, runDivision<arith::DivUIOp, divideUnsigned>>();
  meanings.add<arith::RemUIOp, runDivision<arith::RemUIOp, remainderUnsigned>>();
  meanings.add<arith::CmpIOp, runCompare>();
  meanings.add<arith::SelectOp, runSelect>();
  meanings.add<arith::IndexCastOp, runCast<arith::IndexCastOp>>();
  meanings.add<arith::ExtSIOp, runCast<arith::ExtSIOp>>();
}
