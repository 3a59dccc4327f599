// Scalars are SSA values, vectors lie on the stack, matrices in the workspace. A matrix that is cheap to compute again,
// or that is used once, has no place at all: each use computes its elements. So an update such as exp(g) * S + u k^T is
// one pass over the state, in place.
#include "Conversion/DGPSToLLVM/StepKernel.h"
#include "Conversion/DGPSToLLVM/LoopBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
using namespace recur;
using namespace recur::dgps;
using IR = llvm::Value;

namespace {

/// An element of a value: `i` is the row of a matrix, `j` the column or the index in a vector. Unused ones are null.
using Element = std::function<IR *(IR *i, IR *j)>;

struct Item {
  int64_t rows = 1, columns = 1;
  int rank = 0;
  Element element;
  int cost = 0; // of computing an element again
  int64_t count() const { return rows * columns; }
};

struct StatePlace {
  StateOp op;
  IR *pointer;
  IR *next = nullptr; // a buffer that is copied to `pointer` at the token's end; null: updated in place
};

struct Place {
  IR *pointer;
  IR *stride;
};

class StepBuilder {
public:
  StepBuilder(RecurrenceOp recurrence, StorageType storage, Function *function)
      : recurrence(recurrence), storage(storage), function(function),
        b(BasicBlock::Create(function->getContext(), "entry", function)) {}
  Error build();
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  void readArrays();
  void loadInitialStates();
  void storeFinalStates();
  Error buildToken(IR *token);
  Error buildOp(mlir::Operation *op);
  void buildOutput(OutputOp output, IR *token);
  void finishToken();

  Item shapeOf(mlir::Value value);
  IR *allocateVector(int64_t count);
  IR *allocateMatrix(int64_t count);
  Element readFrom(const Item &item, IR *buffer);
  void forEach(const Item &item, function_ref<void(IR *i, IR *j, IR *flat)> body);
  /// Computes every element into the buffer, which the item then is.
  void place(Item &item, IR *buffer);
  IR *placeAnywhere(Item &item);
  void copyFromMemory(mlir::Value value, Place from, IR *token);

  Item makeElementwise(mlir::Operation *op);
  IR *applyFunction(mlir::Operation *op, ArrayRef<IR *> x);
  Item makeSoftmax(SoftmaxOp op);
  Item makeCg(CgOp op);
  bool isLazy(mlir::Operation *op, const Item &item);
  StatePlace *findStateToUpdateInPlace(mlir::Operation *op);

  RecurrenceOp recurrence;
  StorageType storage;
  Function *function;
  LoopBuilder b;
  int64_t workspaceBytes = 0;
  DenseMap<mlir::Value, Item> items;
  DenseMap<mlir::Value, SmallPtrSet<mlir::Operation *, 4>> lazyReads; // states whose places a value without place reads
  DenseMap<mlir::Operation *, IR *> buffers;                          // allocated once, before the loop over tokens
  SmallVector<Place> inputs, params, initial, outputs, final;
  SmallVector<StatePlace> states;
};

} // namespace

Item StepBuilder::shapeOf(mlir::Value value) {
  auto shape = cast<RealType>(value.getType()).getShape();
  Item item;
  item.rank = int(shape.size());
  if (item.rank)
    item.columns = shape.back();
  if (item.rank == 2)
    item.rows = shape.front();
  return item;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// At the function's start, wherever the builder stands, so that a loop does not grow the stack.
IR *StepBuilder::allocateVector(int64_t count) {
  if (count > 4096)
    return allocateMatrix(count);
  IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPointPastAllocas(function);
  AllocaInst *place = b.CreateAlloca(ArrayType::get(b.getFloatTy(), count));
  place->setAlignment(Align(64));
  return place;
}

IR *StepBuilder::allocateMatrix(int64_t count) {
  int64_t offset = workspaceBytes;
  workspaceBytes += (count * int64_t(sizeof(float)) + 63) / 64 * 64;
  IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPointPastAllocas(function);
  return b.CreateInBoundsGEP(b.getInt8Ty(), function->getArg(2), b.getInt64(offset));
}

Element StepBuilder::readFrom(const Item &item, IR *buffer) {
  if (item.rank == 0)
    return [this, buffer](IR *, IR *) { return b.CreateLoad(b.getFloatTy(), buffer); };
  if (item.rank == 1)
    return [this, buffer](IR *, IR *j) { return b.loadFloat(buffer, j); };
  return [this, buffer, columns = item.columns](IR *i, IR *j) {
    return b.loadFloat(buffer, b.CreateNSWAdd(b.CreateNSWMul(i, b.getInt64(columns)), j));
  };
}

void StepBuilder::forEach(const Item &item, function_ref<void(IR *, IR *, IR *)> body) {
  if (item.rank == 0)
    return body(nullptr, nullptr, b.getInt64(0));
  if (item.rank == 1)
    return b.loop(item.columns, [&](IR *j) { body(nullptr, j, j); });
  b.loop(item.rows, [&](IR *i) {
    IR *row = b.CreateNSWMul(i, b.getInt64(item.columns));
    b.loop(item.columns, [&](IR *j) { body(i, j, b.CreateNSWAdd(row, j)); });
  });
}

void StepBuilder::place(Item &item, IR *buffer) {
  forEach(item, [&](IR *i, IR *j, IR *flat) { b.storeFloat(item.element(i, j), buffer, flat); });
  item.element = readFrom(item, buffer);
  item.cost = 0;
}

IR *StepBuilder::placeAnywhere(Item &item) {
  IR *buffer = item.rank == 2 ? allocateMatrix(item.count()) : allocateVector(item.count());
  place(item, buffer);
  return buffer;
}

//===----------------------------------------------------------------------===//
// What comes in and goes out
//===----------------------------------------------------------------------===//

void StepBuilder::readArrays() {
  int64_t index = 0;
  auto read = [&](size_t count, SmallVector<Place> &places) {
    for (size_t i = 0; i < count; ++i, ++index) {
      IR *pair = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), function->getArg(0), index * 16);
      places.push_back({b.CreateLoad(b.getPtrTy(), pair),
                        b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), pair, 8))});
    }
  };
  read(recurrence.getInputs().size(), inputs);
  read(recurrence.getParams().size(), params);
  read(recurrence.getStates().size(), initial);
  read(recurrence.getOutputs().size(), outputs);
  read(recurrence.getStates().size(), final);
}

void StepBuilder::copyFromMemory(mlir::Value value, Place from, IR *token) {
  Item item = shapeOf(value);
  Type *stored = b.getStoredType(storage);
  IR *start = token ? b.CreateInBoundsGEP(stored, from.pointer, b.CreateNSWMul(token, from.stride)) : from.pointer;
  if (item.rank == 0) {
    IR *number = b.loadStored(storage, start, b.getInt64(0));
    item.element = [number](IR *, IR *) { return number; };
  } else {
    item.element = [this, start, columns = item.columns](IR *i, IR *j) {
      return b.loadStored(storage, start, i ? b.CreateNSWAdd(b.CreateNSWMul(i, b.getInt64(columns)), j) : j);
    };
    placeAnywhere(item);
  }
  items[value] = item;
}

/// A state lies where the caller wants it at the end, if anywhere, so that it is not copied.
void StepBuilder::loadInitialStates() {
  for (auto [i, op] : enumerate(recurrence.getStates())) {
    Item item = shapeOf(op.getResult());
    IR *own = item.rank == 2 ? allocateMatrix(item.count()) : allocateVector(item.count());
    IR *pointer = item.rank == 2 ? b.CreateSelect(b.CreateIsNull(final[i].pointer), own, final[i].pointer) : own;
    uint64_t bytes = item.count() * sizeof(float);
    IR *isZero = b.CreateIsNull(initial[i].pointer);
    b.when(isZero, [&] { b.CreateMemSet(pointer, b.getInt8(0), bytes, Align(4)); });
    b.when(b.CreateNot(isZero), [&] { b.CreateMemMove(pointer, Align(4), initial[i].pointer, Align(4), bytes); });
    states.push_back({op, pointer});
  }
}

void StepBuilder::storeFinalStates() {
  for (auto [i, state] : enumerate(states)) {
    Item item = shapeOf(state.op.getResult());
    if (item.rank < 2)
      b.when(b.CreateIsNotNull(final[i].pointer), [&, i = i, pointer = state.pointer] {
        b.CreateMemCpy(final[i].pointer, Align(4), pointer, Align(4), item.count() * sizeof(float));
      });
  }
}

void StepBuilder::buildOutput(OutputOp output, IR *token) {
  size_t index = 0;
  for (OutputOp other : recurrence.getOutputs()) {
    if (other == output)
      break;
    ++index;
  }
  Place to = outputs[index];
  Item item = items.at(output.getValue());
  b.when(b.CreateIsNotNull(to.pointer), [&] {
    IR *start = b.CreateInBoundsGEP(b.getStoredType(storage), to.pointer, b.CreateNSWMul(token, to.stride));
    forEach(item, [&](IR *i, IR *j, IR *flat) { b.storeRounded(storage, item.element(i, j), start, flat); });
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

IR *StepBuilder::applyFunction(mlir::Operation *op, ArrayRef<IR *> x) {
  IR *zero = b.number(0), *one = b.number(1);
  return TypeSwitch<mlir::Operation *, IR *>(op)
      .Case([&](NegOp) { return b.CreateFNeg(x[0]); })
      .Case([&](ExpOp) { return b.exp(x[0]); })
      .Case([&](Expm1Op) { return b.callMath("expm1f", x[0]); })
      .Case([&](LogOp) { return b.callMath("logf", x[0]); })
      .Case([&](SqrtOp) { return b.CreateUnaryIntrinsic(Intrinsic::sqrt, x[0]); })
      .Case([&](AbsOp) { return b.absolute(x[0]); })
      .Case([&](TanhOp) { return b.callMath("tanhf", x[0]); })
      .Case([&](SigmoidOp) {
        IR *small = b.exp(b.CreateFNeg(b.absolute(x[0]))); // at most 1
        return b.CreateFDiv(b.CreateSelect(b.CreateFCmpOGE(x[0], zero), one, small), b.CreateFAdd(one, small));
      })
      .Case([&](SoftplusOp) {
        IR *rest = b.callMath("log1pf", b.exp(b.CreateFNeg(b.absolute(x[0]))));
        return b.CreateFAdd(b.CreateSelect(b.CreateFCmpOGT(x[0], zero), x[0], zero), rest);
      })
      .Case([&](EluOp) { return b.CreateSelect(b.CreateFCmpOGT(x[0], zero), x[0], b.callMath("expm1f", x[0])); })
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
        SmallPtrSet<mlir::Operation *, 4> copy = read->second;
        lazyReads[result].insert(copy.begin(), copy.end());
      }
    }
  } else if (StatePlace *state = findStateToUpdateInPlace(op)) {
    place(item, state->pointer);
    state->next = state->pointer;
  } else {
    buffers[op] = placeAnywhere(item);
  }
  items[result] = item;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// All new states are known before any is written.
void StepBuilder::finishToken() {
  for (StatePlace &state : states) {
    if (state.next)
      continue;
    mlir::Value value = state.op.getNext().getValue();
    if (value == state.op.getResult())
      continue; // stays what it is
    Item item = items.at(value);
    auto placed = value.getDefiningOp() ? buffers.find(value.getDefiningOp()) : buffers.end();
    state.next = placed != buffers.end() ? placed->second : placeAnywhere(item);
  }
  for (StatePlace &state : states)
    if (state.next && state.next != state.pointer)
      b.CreateMemCpy(state.pointer, Align(4), state.next, Align(4),
                     shapeOf(state.op.getResult()).count() * sizeof(float));
}

Error StepBuilder::buildToken(IR *token) {
  for (auto [op, from] : zip(recurrence.getInputs(), inputs))
    copyFromMemory(op.getResult(), from, token);
  for (StatePlace &state : states) {
    Item item = shapeOf(state.op.getResult());
    item.element = readFrom(item, state.pointer);
    if (item.rank == 0) {
      IR *number = item.element(nullptr, nullptr);
      item.element = [number](IR *, IR *) { return number; };
    }
    items[state.op.getResult()] = item;
  }
  for (mlir::Operation &op : recurrence.getBody().front()) {
    if (isa<InputOp, ParamOp, StateOp, NextOp>(op))
      continue;
    if (auto output = dyn_cast<OutputOp>(op))
      buildOutput(output, token);
    else if (Error error = buildOp(&op))
      return error;
  }
  finishToken();
  return Error::success();
}

Error StepBuilder::build() {
  readArrays();
  for (auto [op, from] : zip(recurrence.getParams(), params))
    copyFromMemory(op.getResult(), from, nullptr);
  loadInitialStates();
  Error error = Error::success();
  b.loop(function->getArg(1), [&](IR *token) {
    if (!error)
      error = buildToken(token);
  });
  storeFinalStates();
  b.CreateRetVoid();
  return error;
}

Expected<StepKernel> recur::makeStepKernel(RecurrenceOp recurrence, StorageType storage, StringRef symbol,
                                           LLVMContext &context) {
  auto module = std::make_unique<Module>(symbol, context);
  Type *pointer = PointerType::getUnqual(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, Type::getInt64Ty(context), pointer}, false);
  auto *function = Function::Create(type, Function::ExternalLinkage, symbol, *module);
  function->setDoesNotThrow();
  function->addParamAttr(2, Attribute::NoAlias);
  function->addParamAttr(2, Attribute::getWithAlignment(context, Align(64)));
  StepBuilder builder(recurrence, storage, function);
  if (Error error = builder.build())
    return std::move(error);
  return StepKernel{std::move(module), builder.getWorkspaceBytes()};
}
