// Each op of a token: how an element of its result is computed, and whether all are computed at once.
#include "Conversion/DGPSToLLVM/StepBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
using namespace recur;
using namespace recur::dgps;
using namespace recur::conversion;

IR *StepBuilder::applyFunction(mlir::Operation *op, ArrayRef<IR *> x) {
  return TypeSwitch<mlir::Operation *, IR *>(op)
      .Case([&](NegOp) { return b.CreateFNeg(x[0]); })
      .Case([&](ExpOp) { return b.exp(x[0]); })
      .Case([&](Expm1Op) { return b.expm1(x[0]); })
      .Case([&](LogOp) { return b.log(x[0]); })
      .Case([&](SqrtOp) { return b.CreateUnaryIntrinsic(Intrinsic::sqrt, x[0]); })
      .Case([&](AbsOp) { return b.absolute(x[0]); })
      .Case([&](SinOp) { return b.sin(x[0]); })
      .Case([&](CosOp) { return b.cos(x[0]); })
      .Case([&](TanhOp) { return b.tanh(x[0]); })
      .Case([&](SigmoidOp) { return b.sigmoid(x[0]); })
      .Case([&](SoftplusOp) { return b.softplus(x[0]); })
      .Case([&](StopOp) { return x[0]; })
      .Case([&](EluOp) { return b.CreateSelect(b.CreateFCmpOGT(x[0], b.number(0)), x[0], b.expm1(x[0])); })
      .Case([&](AddOp) { return b.CreateFAdd(x[0], x[1]); })
      .Case([&](SubOp) { return b.CreateFSub(x[0], x[1]); })
      .Case([&](MulOp) { return b.CreateFMul(x[0], x[1]); })
      .Case([&](DivOp) { return b.CreateFDiv(x[0], x[1]); })
      .Case([&](MaxOp) { return b.CreateBinaryIntrinsic(Intrinsic::maximum, x[0], x[1]); })
      .Case([&](MinOp) { return b.CreateBinaryIntrinsic(Intrinsic::minimum, x[0], x[1]); })
      .Default(static_cast<IR *>(nullptr));
}

Item StepBuilder::makeElementwise(mlir::Operation *op) {
  Item item = shapeOf(op->getResult(0));
  SmallVector<Item, 2> operands;
  item.cost = isa<AddOp, SubOp, MulOp, NegOp, MaxOp, MinOp, AbsOp>(op) ? 1 : 8;
  for (mlir::Value operand : op->getOperands()) {
    operands.push_back(items.at(operand));
    item.cost += operands.back().cost;
  }
  item.element = [this, op, operands](IR *i, IR *j) {
    SmallVector<IR *, 2> numbers;
    for (const Item &operand : operands)
      numbers.push_back(operand.element(operand.rank == 2 ? i : nullptr, operand.rank ? j : nullptr));
    return applyFunction(op, numbers);
  };
  return item;
}

Item StepBuilder::makeSoftmax(SoftmaxOp op) {
  Item item = shapeOf(op.getResult()), from = items.at(op.getOperand());
  IR *largest = b.reduce(item.columns, from.element(nullptr, b.getInt64(0)), [&](IR *j, IR *soFar) {
    return b.CreateBinaryIntrinsic(Intrinsic::maximum, soFar, from.element(nullptr, j));
  });
  IR *powers = allocateVector(item.columns);
  b.loop(item.columns, [&](IR *j) { b.storeFloat(b.exp(b.CreateFSub(from.element(nullptr, j), largest)), powers, j); });
  IR *sum = b.reduce(item.columns, b.number(0),
                     [&](IR *j, IR *soFar) { return b.CreateFAdd(soFar, b.loadFloat(powers, j)); });
  item.element = [this, powers, sum](IR *, IR *j) { return b.CreateFDiv(b.loadFloat(powers, j), sum); };
  return item;
}

/// The textbook method from zero; a step whose residual or curvature is zero changes nothing, nor does any after it.
Item StepBuilder::makeCg(CgOp op) {
  Item matrix = items.at(op.getMatrix()), x = items.at(op.getVector()), ridge = items.at(op.getRidge());
  int64_t n = x.columns;
  if (matrix.cost)
    placeAnywhere(matrix);
  IR *y = allocateVector(n), *residual = allocateVector(n), *direction = allocateVector(n), *image = allocateVector(n);
  b.loop(n, [&](IR *j) {
    IR *start = x.element(nullptr, j);
    b.storeFloat(b.number(0), y, j);
    b.storeFloat(start, residual, j);
    b.storeFloat(start, direction, j);
  });
  auto in = [&](IR *vector) { return [this, vector](IR *j) { return b.loadFloat(vector, j); }; };
  IR *norm = allocateVector(1), *zero = b.getInt64(0);
  b.storeFloat(b.dot(n, in(residual), in(residual)), norm, zero);
  b.loop(int64_t(op.getIterations()), [&](IR *) {
    b.loop(n, [&](IR *i) {
      IR *product = b.dot(n, [&](IR *j) { return matrix.element(i, j); }, in(direction));
      IR *own = ridge.element(nullptr, ridge.rank ? i : nullptr);
      b.storeFloat(b.CreateFAdd(product, b.CreateFMul(own, b.loadFloat(direction, i))), image, i);
    });
    IR *curvature = b.dot(n, in(direction), in(image)), *oldNorm = b.loadFloat(norm, zero);
    IR *goesOn = b.CreateAnd(b.CreateFCmpUNE(oldNorm, b.number(0)), b.CreateFCmpUNE(curvature, b.number(0)));
    b.when(goesOn, [&] {
      IR *length = b.CreateFDiv(oldNorm, curvature);
      b.loop(n, [&](IR *j) {
        b.storeFloat(b.CreateFAdd(b.loadFloat(y, j), b.CreateFMul(length, b.loadFloat(direction, j))), y, j);
        b.storeFloat(b.CreateFSub(b.loadFloat(residual, j), b.CreateFMul(length, b.loadFloat(image, j))), residual, j);
      });
      IR *nextNorm = b.dot(n, in(residual), in(residual)), *turn = b.CreateFDiv(nextNorm, oldNorm);
      b.loop(n, [&](IR *j) {
        b.storeFloat(b.CreateFAdd(b.loadFloat(residual, j), b.CreateFMul(turn, b.loadFloat(direction, j))), direction,
                     j);
      });
      b.storeFloat(nextNorm, norm, zero);
    });
  });
  Item item = shapeOf(op.getResult());
  item.element = readFrom(item, y);
  return item;
}

/// The parts, one after the other in a place of their own.
void StepBuilder::makeConcat(ConcatOp op, Item &item) {
  IR *place = item.rank == 2 ? allocateMatrix(item.count()) : allocateVector(item.count());
  int64_t offset = 0;
  for (mlir::Value operand : op.getOperands()) {
    const Item &part = items.at(operand);
    IR *first = b.getInt64(offset);
    forEach(part, [&](IR *i, IR *j, IR *flat) { b.storeFloat(part.element(i, j), place, b.CreateAdd(first, flat)); });
    offset += part.count();
  }
  item.element = readFrom(item, place);
  buffers[op] = place;
}

/// Whether a matrix needs no place. Scalars and vectors always get one: they are small, and computed once.
bool StepBuilder::isLazy(mlir::Operation *op, const Item &item) {
  if (item.rank < 2 || !isa<ElementwiseOpInterface, OuterOp, ScaleColsOp, ScaleRowsOp, BroadcastOp, ConstantOp>(op))
    return false;
  for (mlir::Operation *user : op->getUsers())
    if (isa<NextOp>(user))
      return false;
  return item.cost <= 2 || op->hasOneUse();
}

/// The state that becomes this matrix, if nothing later reads what it was.
StatePlace *StepBuilder::findStateToUpdateInPlace(mlir::Operation *op) {
  for (StatePlace &state : states) {
    NextOp next = state.op.getNext();
    if (next.getValue() != op->getResult(0) || shapeOf(state.op.getResult()).rank < 2)
      continue;
    bool isReadLater = false;
    auto look = [&](mlir::Value value) {
      for (mlir::Operation *user : value.getUsers())
        isReadLater |= user != op && op->isBeforeInBlock(user) && !(user == next && next.getValue() != value);
    };
    look(state.op.getResult());
    for (auto &[value, read] : lazyReads)
      if (read.contains(state.op))
        look(value);
    // Another state that becomes what this one was.
    for (StatePlace &other : states)
      isReadLater |= other.op.getNext().getValue() == state.op.getResult();
    if (!isReadLater)
      return &state;
  }
  return nullptr;
}

Error StepBuilder::buildOp(mlir::Operation *op) {
  Item item = shapeOf(op->getResult(0));
  auto at = [&](mlir::Value value) { return items.at(value); };
  bool isKnown =
      TypeSwitch<mlir::Operation *, bool>(op)
          .Case([&](ConstantOp constant) {
            item.element = [this, number = constant.getNumber()](IR *, IR *) { return b.number(number); };
            return true;
          })
          .Case([&](BroadcastOp broadcast) {
            item.element = [from = at(broadcast.getOperand())](IR *, IR *) { return from.element(nullptr, nullptr); };
            return true;
          })
          .Case([&](ExtractOp extract) {
            item.element = [this, from = at(extract.getOperand()), row = int64_t(extract.getIndex())](IR *, IR *j) {
              return from.rank == 2 ? from.element(b.getInt64(row), j) : from.element(nullptr, b.getInt64(row));
            };
            return true;
          })
          .Case([&](SliceOp slice) {
            item.element = [this, from = at(slice.getOperand()), begin = int64_t(slice.getBegin())](IR *i, IR *j) {
              IR *first = b.getInt64(begin);
              return from.rank == 2 ? from.element(b.CreateAdd(i, first), j)
                                    : from.element(nullptr, b.CreateAdd(j, first));
            };
            return true;
          })
          .Case([&](ConcatOp concat) {
            makeConcat(concat, item);
            return true;
          })
          .Case([&](OuterOp outer) {
            item.cost = 1;
            item.element = [this, x = at(outer.getLhs()), y = at(outer.getRhs())](IR *i, IR *j) {
              return b.CreateFMul(x.element(nullptr, i), y.element(nullptr, j));
            };
            return true;
          })
          .Case([&](ScaleColsOp scale) {
            item.element = [this, m = at(scale.getMatrix()), x = at(scale.getVector())](IR *i, IR *j) {
              return b.CreateFMul(m.element(i, j), x.element(nullptr, j));
            };
            item.cost = at(scale.getMatrix()).cost + 1;
            return true;
          })
          .Case([&](ScaleRowsOp scale) {
            item.element = [this, m = at(scale.getMatrix()), x = at(scale.getVector())](IR *i, IR *j) {
              return b.CreateFMul(x.element(nullptr, i), m.element(i, j));
            };
            item.cost = at(scale.getMatrix()).cost + 1;
            return true;
          })
          .Case([&](DotOp op) {
            Item x = at(op.getLhs()), y = at(op.getRhs());
            IR *sum = b.dot(
                x.columns, [&](IR *j) { return x.element(nullptr, j); }, [&](IR *j) { return y.element(nullptr, j); });
            item.element = [sum](IR *, IR *) { return sum; };
            return true;
          })
          .Case([&](SumOp op) {
            Item x = at(op.getOperand());
            IR *sum = b.reduce(x.rows, b.number(0), [&](IR *i, IR *before) {
              return b.reduce(x.columns, before, [&](IR *j, IR *soFar) {
                return b.CreateFAdd(soFar, x.element(x.rank == 2 ? i : nullptr, x.rank ? j : nullptr));
              });
            });
            item.element = [sum](IR *, IR *) { return sum; };
            return true;
          })
          .Case([&](MatvecOp op) {
            Item m = at(op.getMatrix()), x = at(op.getVector());
            item.element = [this, m, x](IR *, IR *row) {
              return b.dot(
                  m.columns, [&](IR *j) { return m.element(row, j); }, [&](IR *j) { return x.element(nullptr, j); });
            };
            return true;
          })
          .Case([&](VecmatOp op) {
            Item m = at(op.getMatrix()), x = at(op.getVector());
            IR *sums = allocateVector(m.columns);
            b.loop(m.columns, [&](IR *j) { b.storeFloat(b.number(0), sums, j); });
            b.loop(m.rows, [&](IR *i) {
              IR *factor = x.element(nullptr, i);
              b.loop(m.columns, [&](IR *j) {
                IR *product = b.CreateFMul(factor, m.element(i, j));
                b.storeFloat(b.CreateFAdd(b.loadFloat(sums, j), product), sums, j);
              });
            });
            item.element = readFrom(item, sums);
            return true;
          })
          .Case([&](SoftmaxOp softmax) {
            item = makeSoftmax(softmax);
            return true;
          })
          .Case([&](CgOp cg) {
            item = makeCg(cg);
            return true;
          })
          .Case([&](ElementwiseOpInterface) {
            item = makeElementwise(op);
            return true;
          })
          .Default(false);
  if (!isKnown)
    return createStringError("the op '%s' has no step form", op->getName().getStringRef().str().c_str());

  mlir::Value result = op->getResult(0);
  if (item.rank == 0) {
    IR *number = item.element(nullptr, nullptr);
    item.element = [number](IR *, IR *) { return number; };
    item.cost = 0;
  } else if (isLazy(op, item)) {
    for (mlir::Value operand : op->getOperands()) {
      if (auto state = operand.getDefiningOp<StateOp>())
        lazyReads[result].insert(state);
      auto read = lazyReads.find(operand);
      if (read != lazyReads.end()) {
        StateSet copy = read->second;
        lazyReads[result].insert(copy.begin(), copy.end());
      }
    }
  } else if (isa<ConcatOp>(op)) { // has a place
  } else if (StatePlace *state = findStateToUpdateInPlace(op)) {
    place(item, state->pointer);
    state->next = state->pointer;
  } else {
    buffers[op] = placeAnywhere(item);
  }
  items[result] = item;
  return Error::success();
}
