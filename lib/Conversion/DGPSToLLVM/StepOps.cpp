// Each op of a token: how an element of its result is computed, and whether all are computed at once.
#include "Conversion/DGPSToLLVM/StepBuilder.h"
#include "Conversion/ToLLVM/Code.h"
#include "Support/ConjugateGradients.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur;
using namespace recur::dgps;
using namespace recur::conversion;

Value StepBuilder::applyFunction(Operation *op, ArrayRef<Value> x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](NegOp) { return b.neg(x[0]); })
      .Case([&](ExpOp) { return b.functions().exp(x[0]); })
      .Case([&](Expm1Op) { return b.functions().expm1(x[0]); })
      .Case([&](LogOp) { return b.functions().log(x[0]); })
      .Case([&](SqrtOp) { return b.sqrt(x[0]); })
      .Case([&](AbsOp) { return b.abs(x[0]); })
      .Case([&](SinOp) { return b.functions().sin(x[0]); })
      .Case([&](CosOp) { return b.functions().cos(x[0]); })
      .Case([&](TanhOp) { return b.functions().tanh(x[0]); })
      .Case([&](SigmoidOp) { return b.functions().sigmoid(x[0]); })
      .Case([&](SoftplusOp) { return b.functions().softplus(x[0]); })
      .Case([&](ErfOp) { return b.functions().erf(x[0]); })
      .Case([&](FloorOp) { return b.functions().floor(x[0]); })
      .Case([&](StopOp) { return x[0]; })
      .Case([&](SelectOp) { return b.select(b.isAbove(x[0], b.number(0)), x[1], x[2]); })
      .Case([&](EluOp) { return b.select(b.isAbove(x[0], b.number(0)), x[0], b.functions().expm1(x[0])); })
      .Case([&](AddOp) { return b.add(x[0], x[1]); })
      .Case([&](SubOp) { return b.sub(x[0], x[1]); })
      .Case([&](MulOp) { return b.mul(x[0], x[1]); })
      .Case([&](DivOp) { return b.div(x[0], x[1]); })
      .Case([&](MaxOp) { return b.max(x[0], x[1]); })
      .Case([&](MinOp) { return b.min(x[0], x[1]); })
      .Default(Value());
}

Item StepBuilder::makeElementwise(Operation *op) {
  Item item = shapeOf(op->getResult(0));
  SmallVector<Item, 2> operands;
  item.cost = isa<AddOp, SubOp, MulOp, NegOp, MaxOp, MinOp, AbsOp>(op) ? 1 : 8;
  for (Value operand : op->getOperands()) {
    operands.push_back(items.at(operand));
    item.cost += operands.back().cost;
  }
  item.element = [this, op, operands](Value i, Value j) {
    SmallVector<Value, 2> numbers;
    for (auto [value, operand] : llvm::zip_equal(op->getOperands(), operands)) {
      Value known = operand.rank == 1 && j == vectorLoop.index ? vectorLoop.numbers.lookup(value) : Value();
      numbers.push_back(known ? known : operand.element(operand.rank == 2 ? i : Value(), operand.rank ? j : Value()));
    }
    return applyFunction(op, numbers);
  };
  return item;
}

/// Vectors that are computed element by element, one after the other, share a loop. Many loops in a row would be
/// slower, and what LLVM does for each of them takes longer the more there are.
Value StepBuilder::placeInVectorLoop(Value vector, Item &item) {
  Value buffer = allocateVector(item.columns);
  Block::iterator here = b.builder.getInsertionPoint();
  bool isLast = here != b.builder.getInsertionBlock()->begin() && &*std::prev(here) == vectorLoop.loop;
  if (!isLast || vectorLoop.count != item.columns)
    b.loop(item.columns, [&](Value j) {
      vectorLoop.loop = j.getParentBlock()->getParentOp();
      vectorLoop.index = j;
      vectorLoop.count = item.columns;
      vectorLoop.numbers.clear();
    });
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPoint(vectorLoop.index.getParentBlock()->getTerminator());
  Value number = item.element({}, vectorLoop.index);
  b.storeFloat(number, buffer, vectorLoop.index);
  vectorLoop.numbers[vector] = number;
  item.element = readFrom(item, buffer);
  item.cost = 0;
  return buffer;
}

Item StepBuilder::makeSoftmax(SoftmaxOp op) {
  Item item = shapeOf(op.getResult()), from = items.at(op.getOperand());
  Value largest = b.reduce(item.columns, from.element({}, b.index(0)),
                           [&](Value j, Value soFar) { return b.max(soFar, from.element({}, j)); });
  Value powers = allocateVector(item.columns);
  b.loop(item.columns,
         [&](Value j) { b.storeFloat(b.functions().exp(b.sub(from.element({}, j), largest)), powers, j); });
  Value sum =
      b.reduce(item.columns, b.number(0), [&](Value j, Value soFar) { return b.add(soFar, b.loadFloat(powers, j)); });
  item.element = [this, powers, sum](Value, Value j) { return b.div(b.loadFloat(powers, j), sum); };
  return item;
}

/// The textbook method from zero; a step whose residual is as good as zero, or whose curvature is zero, changes
/// nothing, nor does any after it.
Item StepBuilder::makeCg(CgOp op) {
  Item matrix = items.at(op.getMatrix()), x = items.at(op.getVector()), ridge = items.at(op.getRidge());
  int64_t n = x.columns;
  if (matrix.cost)
    placeAnywhere(matrix);
  Value y = allocateVector(n), residual = allocateVector(n), direction = allocateVector(n), image = allocateVector(n);
  b.loop(n, [&](Value j) {
    Value start = x.element({}, j);
    b.storeFloat(b.number(0), y, j);
    b.storeFloat(start, residual, j);
    b.storeFloat(start, direction, j);
  });
  auto in = [&](Value vector) { return [this, vector](Value j) { return b.loadFloat(vector, j); }; };
  Value norm = allocateVector(1), zero = b.index(0);
  Value first = b.dot(n, in(residual), in(residual)), least = b.mul(first, b.number(solvedInFloat32));
  b.storeFloat(first, norm, zero);
  b.loop(int64_t(op.getIterations()), [&](Value) {
    b.loop(n, [&](Value i) {
      Value product = b.dot(n, [&](Value j) { return matrix.element(i, j); }, in(direction));
      Value own = ridge.element({}, ridge.rank ? i : Value());
      b.storeFloat(b.add(product, b.mul(own, b.loadFloat(direction, i))), image, i);
    });
    Value curvature = b.dot(n, in(direction), in(image)), oldNorm = b.loadFloat(norm, zero);
    Value goesOn =
        arith::AndIOp::create(b.builder, b.loc, b.isNotAtMost(oldNorm, least), b.isOther(curvature, b.number(0)));
    buildChoice(b.builder, b.loc, goesOn, [&] {
      Value length = b.div(oldNorm, curvature);
      b.loop(n, [&](Value j) {
        b.storeFloat(b.add(b.loadFloat(y, j), b.mul(length, b.loadFloat(direction, j))), y, j);
        b.storeFloat(b.sub(b.loadFloat(residual, j), b.mul(length, b.loadFloat(image, j))), residual, j);
      });
      Value nextNorm = b.dot(n, in(residual), in(residual)), turn = b.div(nextNorm, oldNorm);
      b.loop(n, [&](Value j) {
        b.storeFloat(b.add(b.loadFloat(residual, j), b.mul(turn, b.loadFloat(direction, j))), direction, j);
      });
      b.storeFloat(nextNorm, norm, zero);
    });
  });
  Item item = shapeOf(op.getResult());
  item.element = readFrom(item, y);
  return item;
}

/// The steps, on a place that each of them reads and then writes.
LogicalResult StepBuilder::makeLoop(LoopOp op, Item &item) {
  Block &step = op.getBody().front();
  Item initial = items.at(op.getInitial());
  Value place = allocateVector(item.columns);
  for (auto [argument, value] : llvm::zip(step.getArguments().drop_front(), op.getCaptured())) {
    Item captured = items.at(value);
    if (captured.cost)
      placeAnywhere(captured);
    items[argument] = captured;
  }
  auto store = [&](const Item &from) {
    forEach(item, [&](Value i, Value j, Value flat) { b.storeFloat(from.element(i, j), place, flat); });
  };
  store(initial);
  LogicalResult built = success();
  b.loop(int64_t(op.getIterations()), [&](Value) {
    Item found = item;
    found.element = readFrom(item, place);
    if (item.rank == 0) {
      Value number = found.element({}, {});
      found.element = [number](Value, Value) { return number; };
    }
    items[step.getArgument(0)] = found;
    for (Operation &inside : step.without_terminator())
      if (failed(buildOp(&inside)))
        built = failure();
    if (succeeded(built))
      store(items.at(cast<YieldOp>(step.getTerminator()).getValue()));
  });
  item.element = readFrom(item, place);
  buffers[op] = place;
  return built;
}

/// The parts, one after the other in a place of their own.
void StepBuilder::makeConcat(ConcatOp op, Item &item) {
  Value place = item.rank == 2 ? allocateMatrix(item.count()) : allocateVector(item.count());
  int64_t offset = 0;
  for (Value operand : op.getOperands()) {
    const Item &part = items.at(operand);
    Value first = b.index(offset);
    forEach(part,
            [&](Value i, Value j, Value flat) { b.storeFloat(part.element(i, j), place, b.addIndex(first, flat)); });
    offset += part.count();
  }
  item.element = readFrom(item, place);
  buffers[op] = place;
}

/// Whether a matrix needs no place. Scalars and vectors always get one: they are small, and computed once.
bool StepBuilder::isLazy(Operation *op, const Item &item) {
  if (item.rank < 2 ||
      !isa<ElementwiseOpInterface, SelectOp, OuterOp, ScaleColsOp, ScaleRowsOp, BroadcastOp, ConstantOp>(op))
    return false;
  for (Operation *user : op->getUsers())
    if (isa<NextOp>(user))
      return false;
  return item.cost <= 2 || op->hasOneUse();
}

/// The state that becomes this matrix, if nothing later reads what it was.
StatePlace *StepBuilder::findStateToUpdateInPlace(Operation *op) {
  for (StatePlace &state : states) {
    NextOp next = state.op.getNext();
    if (next.getValue() != op->getResult(0) || shapeOf(state.op.getResult()).rank < 2)
      continue;
    bool isReadLater = false;
    auto look = [&](Value value) {
      for (Operation *user : value.getUsers())
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

LogicalResult StepBuilder::buildOp(Operation *op) {
  b.loc = op->getLoc();
  Item item = shapeOf(op->getResult(0));
  auto at = [&](Value value) { return items.at(value); };
  bool isBuilt = true;
  bool isKnown =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](ConstantOp constant) {
            item.element = [this, number = constant.getNumber()](Value, Value) { return b.number(number); };
            return true;
          })
          .Case([&](BroadcastOp broadcast) {
            item.element = [from = at(broadcast.getOperand())](Value, Value) { return from.element({}, {}); };
            return true;
          })
          .Case([&](ExtractOp extract) {
            item.element = [this, from = at(extract.getOperand()), row = int64_t(extract.getIndex())](Value, Value j) {
              return from.rank == 2 ? from.element(b.index(row), j) : from.element({}, b.index(row));
            };
            return true;
          })
          .Case([&](SliceOp slice) {
            item.element = [this, from = at(slice.getOperand()), begin = int64_t(slice.getBegin())](Value i, Value j) {
              Value first = b.index(begin);
              return from.rank == 2 ? from.element(b.addIndex(i, first), j) : from.element({}, b.addIndex(j, first));
            };
            return true;
          })
          .Case([&](ConcatOp concat) {
            makeConcat(concat, item);
            return true;
          })
          .Case([&](OuterOp outer) {
            item.cost = 1;
            item.element = [this, x = at(outer.getLhs()), y = at(outer.getRhs())](Value i, Value j) {
              return b.mul(x.element({}, i), y.element({}, j));
            };
            return true;
          })
          .Case([&](ScaleColsOp scale) {
            item.element = [this, m = at(scale.getMatrix()), x = at(scale.getVector())](Value i, Value j) {
              return b.mul(m.element(i, j), x.element({}, j));
            };
            item.cost = at(scale.getMatrix()).cost + 1;
            return true;
          })
          .Case([&](ScaleRowsOp scale) {
            item.element = [this, m = at(scale.getMatrix()), x = at(scale.getVector())](Value i, Value j) {
              return b.mul(x.element({}, i), m.element(i, j));
            };
            item.cost = at(scale.getMatrix()).cost + 1;
            return true;
          })
          .Case([&](DotOp op) {
            Item x = at(op.getLhs()), y = at(op.getRhs());
            Value sum =
                b.dot(x.columns, [&](Value j) { return x.element({}, j); }, [&](Value j) { return y.element({}, j); });
            item.element = [sum](Value, Value) { return sum; };
            return true;
          })
          .Case([&](SumOp op) {
            Item x = at(op.getOperand());
            Value sum = b.reduce(x.rows, b.number(0), [&](Value i, Value before) {
              return b.reduce(x.columns, before, [&](Value j, Value soFar) {
                return b.add(soFar, x.element(x.rank == 2 ? i : Value(), x.rank ? j : Value()));
              });
            });
            item.element = [sum](Value, Value) { return sum; };
            return true;
          })
          .Case([&](MatvecOp op) {
            Item m = at(op.getMatrix()), x = at(op.getVector());
            item.element = [this, m, x](Value, Value row) {
              return b.dot(
                  m.columns, [&](Value j) { return m.element(row, j); }, [&](Value j) { return x.element({}, j); });
            };
            return true;
          })
          .Case([&](VecmatOp op) {
            Item m = at(op.getMatrix()), x = at(op.getVector());
            Value sums = allocateVector(m.columns);
            b.loop(m.columns, [&](Value j) { b.storeFloat(b.number(0), sums, j); });
            b.loop(m.rows, [&](Value i) {
              Value factor = x.element({}, i);
              b.loop(m.columns, [&](Value j) {
                Value product = b.mul(factor, m.element(i, j));
                b.storeFloat(b.add(b.loadFloat(sums, j), product), sums, j);
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
          .Case([&](LoopOp loop) {
            isBuilt = succeeded(makeLoop(loop, item));
            return true;
          })
          .Case<ElementwiseOpInterface, SelectOp>([&](auto) {
            item = makeElementwise(op);
            return true;
          })
          .Default(false);
  if (!isBuilt)
    return failure(); // which an op of a loop has said
  if (!isKnown)
    return op->emitOpError("has no meaning in a kernel that goes token by token");

  Value result = op->getResult(0);
  if (item.rank == 0) {
    Value number = item.element({}, {});
    item.element = [number](Value, Value) { return number; };
    item.cost = 0;
  } else if (isLazy(op, item)) {
    for (Value operand : op->getOperands()) {
      if (auto state = operand.getDefiningOp<StateOp>())
        lazyReads[result].insert(state);
      auto read = lazyReads.find(operand);
      if (read != lazyReads.end()) {
        StateSet copy = read->second;
        lazyReads[result].insert(copy.begin(), copy.end());
      }
    }
  } else if (isa<ConcatOp, LoopOp>(op)) { // has a place
  } else if (StatePlace *state = findStateToUpdateInPlace(op)) {
    place(item, state->pointer);
    state->next = state->pointer;
  } else if (item.rank == 1 && isa<ElementwiseOpInterface, SelectOp, BroadcastOp, ConstantOp>(op)) {
    buffers[op] = placeInVectorLoop(result, item);
  } else {
    buffers[op] = placeAnywhere(item);
  }
  items[result] = item;
  return success();
}
