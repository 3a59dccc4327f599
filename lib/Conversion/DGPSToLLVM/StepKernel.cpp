// Scalars are SSA values, vectors lie on the stack, matrices in the workspace. A matrix that is cheap to compute again,
// or that is used once, has no place at all: each use computes its elements. So an update such as exp(g) * S + u k^T is
// one pass over the state, in place.
#include "ABI/KernelSignature.h"
#include "Analysis/StoredTypes.h"
#include "Conversion/DGPSToLLVM/StepBuilder.h"
#include "Conversion/ToLLVM/Code.h"

using namespace mlir;
using namespace recur;
using namespace recur::dgps;
using namespace recur::conversion;

Item StepBuilder::shapeOf(Value value) {
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
Value StepBuilder::allocateVector(int64_t count) {
  if (count > 4096)
    return allocateMatrix(count);
  return placeAtStart([&] {
    auto type = LLVM::LLVMArrayType::get(b.floatType(), count);
    Value one = arith::ConstantIntOp::create(b.builder, b.loc, 1, 32);
    return LLVM::AllocaOp::create(b.builder, b.loc, b.pointerType(), type, one, /*alignment=*/64);
  });
}

Value StepBuilder::allocateMatrix(int64_t count) {
  int64_t offset = workspaceBytes;
  workspaceBytes += (count * int64_t(sizeof(float)) + 63) / 64 * 64;
  return placeAtStart([&] { return b.atByte(function.getArgument(abi::WorkspaceParameter), offset); });
}

Value StepBuilder::placeAtStart(llvm::function_ref<Value()> build) {
  OpBuilder::InsertionGuard guard(b.builder);
  if (lastPlaced)
    b.builder.setInsertionPointAfter(lastPlaced);
  else
    b.builder.setInsertionPointToStart(&function.getBody().front());
  Value placed = build();
  if (Operation *op = placed.getDefiningOp())
    lastPlaced = op;
  return placed;
}

Element StepBuilder::readFrom(const Item &item, Value buffer) {
  if (item.rank == 0)
    return [this, buffer](Value, Value) { return b.load(buffer, b.floatType()); };
  if (item.rank == 1)
    return [this, buffer](Value, Value j) { return b.loadFloat(buffer, j); };
  return [this, buffer, columns = item.columns](Value i, Value j) {
    return b.loadFloat(buffer, b.addIndex(b.multiplyIndex(i, b.index(columns)), j));
  };
}

void StepBuilder::forEach(const Item &item, llvm::function_ref<void(Value, Value, Value)> body) {
  if (item.rank == 0)
    return body({}, {}, b.index(0));
  if (item.rank == 1)
    return b.loop(item.columns, [&](Value j) { body({}, j, j); });
  b.loop(item.rows, [&](Value i) {
    Value row = b.multiplyIndex(i, b.index(item.columns));
    b.loop(item.columns, [&](Value j) { body(i, j, b.addIndex(row, j)); });
  });
}

void StepBuilder::place(Item &item, Value buffer) {
  forEach(item, [&](Value i, Value j, Value flat) { b.storeFloat(item.element(i, j), buffer, flat); });
  item.element = readFrom(item, buffer);
  item.cost = 0;
}

Value StepBuilder::placeAnywhere(Item &item) {
  Value buffer = item.rank == 2 ? allocateMatrix(item.count()) : allocateVector(item.count());
  place(item, buffer);
  return buffer;
}

//===----------------------------------------------------------------------===//
// What comes in and goes out
//===----------------------------------------------------------------------===//

void StepBuilder::readArrays() {
  int64_t index = 0;
  abi::forEachArrayOf(recurrence, [&](const abi::RoleFacts &facts, auto declaration) {
    Value array = b.atByte(function.getArgument(abi::ArraysParameter), index++ * abi::arrayBytes);
    arrays[int(facts.role)].push_back({b.load(b.atByte(array, abi::dataOffset), b.pointerType()),
                                       b.load(b.atByte(array, abi::tokenStrideOffset), b.indexType()),
                                       analysis::getStoredDataType(declaration.getStored())});
  });
}

Value StepBuilder::startOfToken(TokenArray array, Value token) {
  return b.at(array.pointer, b.multiplyIndex(token, array.stride), b.getStoredType(array.type));
}

void StepBuilder::copyFromMemory(Value value, TokenArray from, Value token) {
  Item item = shapeOf(value);
  Value start = token ? startOfToken(from, token) : from.pointer;
  if (item.rank == 0) {
    Value number = b.loadStored(from.type, start, b.index(0));
    item.element = [number](Value, Value) { return number; };
  } else {
    item.element = [this, type = from.type, start, columns = item.columns](Value i, Value j) {
      return b.loadStored(type, start, i ? b.addIndex(b.multiplyIndex(i, b.index(columns)), j) : j);
    };
    placeAnywhere(item);
  }
  items[value] = item;
}

/// A state lies where the caller wants it at the end, if anywhere, so that it is not copied.
void StepBuilder::loadInitialStates() {
  ArrayRef<TokenArray> initial = placesOf(abi::Role::Initial), final = placesOf(abi::Role::Final);
  for (auto [i, op] : llvm::enumerate(recurrence.getStates())) {
    Item item = shapeOf(op.getResult());
    Value own = item.rank == 2 ? allocateMatrix(item.count()) : allocateVector(item.count());
    Value pointer = own, from = initial[i].pointer;
    if (item.rank == 2)
      pointer = b.select(buildIsPresent(b.builder, b.loc, final[i].pointer), final[i].pointer, own);
    buildChoice(
        b.builder, b.loc, buildIsPresent(b.builder, b.loc, from),
        [&] { b.copy(pointer, from, item.count(), /*mayOverlap=*/true); }, [&] { b.clear(pointer, item.count()); });
    states.push_back({op, pointer});
  }
}

void StepBuilder::storeFinalStates() {
  ArrayRef<TokenArray> final = placesOf(abi::Role::Final);
  for (auto [state, to] : llvm::zip(states, final)) {
    Item item = shapeOf(state.op.getResult());
    if (item.rank < 2)
      buildChoice(b.builder, b.loc, buildIsPresent(b.builder, b.loc, to.pointer),
                  [&, to = to.pointer, from = state.pointer] { b.copy(to, from, item.count()); });
  }
}

void StepBuilder::buildOutput(OutputOp output, Value token) {
  size_t index = 0;
  for (OutputOp other : recurrence.getOutputs()) {
    if (other == output)
      break;
    ++index;
  }
  TokenArray to = placesOf(abi::Role::Output)[index];
  Item item = items.at(output.getValue());
  buildChoice(b.builder, b.loc, buildIsPresent(b.builder, b.loc, to.pointer), [&] {
    Value start = startOfToken(to, token);
    forEach(item, [&](Value i, Value j, Value flat) { b.storeRounded(to.type, item.element(i, j), start, flat); });
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
    Value value = state.op.getNext().getValue();
    if (value == state.op.getResult())
      continue; // stays what it is
    Item item = items.at(value);
    auto placed = value.getDefiningOp() ? buffers.find(value.getDefiningOp()) : buffers.end();
    state.next = placed != buffers.end() ? placed->second : placeAnywhere(item);
  }
  for (StatePlace &state : states)
    if (state.next && state.next != state.pointer)
      b.copy(state.pointer, state.next, shapeOf(state.op.getResult()).count());
}

LogicalResult StepBuilder::buildToken(Value token) {
  for (auto [op, from] : llvm::zip(recurrence.getInputs(), placesOf(abi::Role::Input)))
    copyFromMemory(op.getResult(), from, token);
  for (StatePlace &state : states) {
    Item item = shapeOf(state.op.getResult());
    item.element = readFrom(item, state.pointer);
    if (item.rank == 0) {
      Value number = item.element({}, {});
      item.element = [number](Value, Value) { return number; };
    }
    items[state.op.getResult()] = item;
  }
  for (Operation &op : recurrence.getBody().front()) {
    if (isa<InputOp, ParamOp, StateOp, NextOp>(op))
      continue;
    if (auto output = dyn_cast<OutputOp>(op))
      buildOutput(output, token);
    else if (failed(buildOp(&op)))
      return failure();
  }
  finishToken();
  return success();
}

LogicalResult StepBuilder::build() {
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(function.addEntryBlock(b.builder));
  readArrays();
  for (auto [op, from] : llvm::zip(recurrence.getParams(), placesOf(abi::Role::Param)))
    copyFromMemory(op.getResult(), from, {});
  loadInitialStates();
  LogicalResult built = success();
  b.loop(function.getArgument(abi::TokensParameter), [&](Value token) { built = buildToken(token); });
  storeFinalStates();
  LLVM::ReturnOp::create(b.builder, b.loc, ValueRange());
  return built;
}
