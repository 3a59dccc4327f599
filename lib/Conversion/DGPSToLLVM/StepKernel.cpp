// Scalars are SSA values, vectors lie on the stack, matrices in the workspace. A matrix that is cheap to compute again,
// or that is used once, has no place at all: each use computes its elements. So an update such as exp(g) * S + u k^T is
// one pass over the state, in place.
#include "Conversion/DGPSToLLVM/StepKernel.h"
#include "Conversion/DGPSToLLVM/StepBuilder.h"

using namespace llvm;
using namespace recur;
using namespace recur::dgps;
using namespace recur::conversion;

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
  return b.CreateInBoundsGEP(b.getInt8Ty(), function->getArg(abi::WorkspaceParameter), b.getInt64(offset));
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
  auto offset = [&](IR *pointer, int64_t bytes) {
    return bytes ? b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), pointer, bytes) : pointer;
  };
  abi::forEachArrayOf(recurrence, [&](const abi::RoleFacts &facts, auto) {
    IR *array = offset(function->getArg(abi::ArraysParameter), index++ * abi::arrayBytes);
    arrays[int(facts.role)].push_back({b.CreateLoad(b.getPtrTy(), offset(array, abi::dataOffset)),
                                       b.CreateLoad(b.getInt64Ty(), offset(array, abi::tokenStrideOffset))});
  });
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
  ArrayRef<Place> initial = placesOf(abi::Role::Initial), final = placesOf(abi::Role::Final);
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
  ArrayRef<Place> final = placesOf(abi::Role::Final);
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
  Place to = placesOf(abi::Role::Output)[index];
  Item item = items.at(output.getValue());
  b.when(b.CreateIsNotNull(to.pointer), [&] {
    IR *start = b.CreateInBoundsGEP(b.getStoredType(storage), to.pointer, b.CreateNSWMul(token, to.stride));
    forEach(item, [&](IR *i, IR *j, IR *flat) { b.storeRounded(storage, item.element(i, j), start, flat); });
  });
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
  for (auto [op, from] : zip(recurrence.getInputs(), placesOf(abi::Role::Input)))
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
  for (auto [op, from] : zip(recurrence.getParams(), placesOf(abi::Role::Param)))
    copyFromMemory(op.getResult(), from, nullptr);
  loadInitialStates();
  Error error = Error::success();
  b.loop(function->getArg(abi::TokensParameter), [&](IR *token) {
    if (!error)
      error = buildToken(token);
  });
  storeFinalStates();
  b.CreateRetVoid();
  return error;
}

Expected<StepKernel> recur::conversion::makeStepKernel(RecurrenceOp recurrence, DataType storage, StringRef symbol,
                                                       LLVMContext &context) {
  auto module = std::make_unique<Module>(symbol, context);
  Type *pointer = PointerType::getUnqual(context);
  SmallVector<Type *> parameters;
  for (bool isPointer : abi::pointerParameters)
    parameters.push_back(isPointer ? pointer : Type::getInt64Ty(context));
  auto *type = FunctionType::get(Type::getVoidTy(context), parameters, false);
  auto *function = Function::Create(type, Function::ExternalLinkage, symbol, *module);
  function->setDoesNotThrow();
  function->addParamAttr(abi::WorkspaceParameter, Attribute::NoAlias);
  function->addParamAttr(abi::WorkspaceParameter, Attribute::getWithAlignment(context, Align(abi::workspaceAlignment)));
  StepBuilder builder(recurrence, storage, function);
  if (Error error = builder.build())
    return std::move(error);
  return StepKernel{std::move(module), builder.getWorkspaceBytes()};
}
