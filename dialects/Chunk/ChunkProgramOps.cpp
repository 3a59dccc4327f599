// The program op, its declarations, and what leaves a chunk.
#include "dialects/Chunk/Chunk.h"
#include "dialects/Chunk/ChunkWindow.h"
#include "dialects/Interfaces/VerifyProgram.h"

using namespace mlir;
using namespace recur::chunk;

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name, DictionaryAttr dims, int64_t chunk) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.setSymName(builder.getStringAttr(name));
  properties.setDims(dims);
  properties.setChunk(builder.getI64IntegerAttr(chunk));
  state.addRegion()->emplaceBlock();
}

SmallVector<InputOp, 8> ProgramOp::getInputs() { return llvm::to_vector<8>(getBody().getOps<InputOp>()); }
SmallVector<ParamOp, 8> ProgramOp::getParams() { return llvm::to_vector<8>(getBody().getOps<ParamOp>()); }
SmallVector<StateOp, 8> ProgramOp::getStates() { return llvm::to_vector<8>(getBody().getOps<StateOp>()); }
SmallVector<OutputOp, 8> ProgramOp::getOutputs() { return llvm::to_vector<8>(getBody().getOps<OutputOp>()); }
SmallVector<InitialOp, 8> ProgramOp::getInitials() { return llvm::to_vector<8>(getBody().getOps<InitialOp>()); }
SmallVector<KeptOp, 8> ProgramOp::getKept() { return llvm::to_vector<8>(getBody().getOps<KeptOp>()); }

SmallVector<TakeOp, 8> ProgramOp::getTaken() { return llvm::to_vector<8>(getBody().getOps<TakeOp>()); }
SmallVector<GiveOp, 8> ProgramOp::getGiven() { return llvm::to_vector<8>(getBody().getOps<GiveOp>()); }

RemainsOp ProgramOp::getRemains(StringRef state) {
  for (RemainsOp remains : getBody().getOps<RemainsOp>())
    if (remains.getName() == state)
      return remains;
  return {};
}

Type ProgramOp::getShortFactors() { return hasTF32Factors() ? Type() : getFactors().value_or(Type()); }

bool ProgramOp::hasTF32Factors() { return getFactors() && isa<FloatTF32Type>(*getFactors()); }

/// `value` must have one row for each of the chunk's tokens.
static LogicalResult checkTokens(Operation *op, Value value, int64_t chunk) {
  int64_t tokens = tensorOf(value).getDimSize(0);
  if (tokens == chunk)
    return success();
  return op->emitOpError() << "has " << tokens << " tokens, but the chunk has " << chunk;
}

/// What phases leave to each other has rows of the tokens, unless it is whole.
static LogicalResult checkLeft(Operation *op, bool isWhole, Value value, int64_t chunk) {
  RankedTensorType type = tensorOf(value);
  if (isWhole || (type.getRank() > 0 && (type.getDimSize(0) == 1 || type.getDimSize(0) % chunk == 0)))
    return success();
  return op->emitOpError() << "has rows of a chunk of " << chunk << " tokens unless it is whole, but is " << type;
}

LogicalResult ProgramOp::verify() {
  if (int64_t(getChunk()) < 1)
    return emitOpError() << "needs a chunk of at least 1 token, but it is " << int64_t(getChunk());
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  Block &body = getBody().front();
  for (InputOp input : body.getOps<InputOp>())
    if (failed(checkTokens(input, input, getChunk())))
      return failure();
  for (OutputOp output : body.getOps<OutputOp>())
    if (failed(checkTokens(output, output.getValue(), getChunk())))
      return failure();
  if (getKeeps() && getBackward())
    return emitOpError() << "keeps its states, which a program does that goes forward";
  llvm::StringMap<Operation *> kept;
  for (KeptOp state : body.getOps<KeptOp>()) {
    if (!getBackward())
      return state.emitOpError() << "is a state of another run, which only a program that runs backward has";
    if (failed(declareOnce(kept, state.getName(), state)))
      return failure();
  }
  llvm::StringMap<Operation *> declared;
  for (Operation &op : body) {
    auto initial = dyn_cast<InitialOp>(op);
    auto state = dyn_cast<StateOp>(op);
    if ((initial && failed(declareOnce(declared, initial.getName(), &op))) ||
        (state && failed(declareOnce(declared, state.getName(), &op))))
      return failure();
  }
  llvm::StringMap<Operation *> left;
  for (Operation &op : body) {
    auto take = dyn_cast<TakeOp>(op);
    auto give = dyn_cast<GiveOp>(op);
    if (!take && !give)
      continue;
    if (failed(declareOnce(left, take ? take.getName() : give.getName(), &op)) ||
        failed(checkLeft(&op, take ? take.getWhole() : give.getWhole(), take ? take.getResult() : give.getValue(),
                         getChunk())))
      return failure();
    if (take ? take.getRounded() && take.getPrecise() : give.getRounded() && give.getPrecise())
      return op.emitOpError() << "is rounded to the type of the data or precise, but not both";
  }
  return verifyProgram<InputOp, ParamOp, StateOp, OutputOp, NextOp>(body);
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

// A value is printed under the name it has in the source, so that the IR reads like the specification.
void InputOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void StateOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void InitialOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void KeptOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void TakeOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

static ArrayRef<int64_t> sizesOr(std::optional<ArrayRef<int64_t>> sizes, ArrayRef<int64_t> shape) {
  return sizes.value_or(shape);
}
ArrayRef<int64_t> recur::chunk::arrayShape(InputOp input) { return sizesOr(input.getSizes(), shapePerToken(input)); }
ArrayRef<int64_t> recur::chunk::arrayShape(ParamOp param) { return sizesOr(param.getSizes(), shapePerToken(param)); }
ArrayRef<int64_t> recur::chunk::arrayShape(StateOp state) {
  return sizesOr(state.getSizes(), tensorOf(state).getShape());
}
ArrayRef<int64_t> recur::chunk::arrayShape(OutputOp output) {
  return sizesOr(output.getSizes(), shapePerToken(output.getValue()));
}

/// The caller has some of the value, along each of its dimensions.
static LogicalResult checkSizes(Operation *op, ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  if (sizes.size() != shape.size())
    return op->emitOpError() << "has " << shape.size() << " dimensions, but sizes of " << sizes.size();
  for (auto [size, most] : llvm::zip(sizes, shape))
    if (size < 1 || size > most)
      return op->emitOpError() << "has " << most << " numbers along a dimension, of which the caller cannot have "
                               << size;
  return success();
}

LogicalResult InputOp::verify() {
  if (getBack().has_value() != bool(getBehind()))
    return emitOpError("has rows of earlier tokens, so it needs both how many tokens earlier and what is behind them");
  if (!getBack())
    return checkSizes(*this, arrayShape(*this), shapePerToken(getResult()));
  if (getSizes())
    return emitOpError("has rows of earlier tokens, which are as large as the caller's");
  auto back = int64_t(*getBack());
  ArrayRef<int64_t> behind = tensorOf(getBehind()).getShape();
  if (back < 1 || behind.empty() || behind.front() < back || behind.drop_front() != shapePerToken(getResult()))
    return emitOpError() << "has rows of " << back
                         << " tokens earlier, behind which are at least as many of its rows, but there is "
                         << tensorOf(getBehind());
  return success();
}
LogicalResult OutputOp::verify() { return checkSizes(*this, arrayShape(*this), shapePerToken(getValue())); }

LogicalResult ParamOp::verify() {
  if (tensorOf(getResult()).getDimSize(0) != 1)
    return emitOpError() << "is the same for every token, so its token dimension must be 1, but it is "
                         << tensorOf(getResult()).getDimSize(0);
  return checkSizes(*this, arrayShape(*this), shapePerToken(getResult()));
}

LogicalResult HeldOp::verify() {
  auto input = getInput().getDefiningOp<InputOp>();
  if (!input)
    return emitOpError("expects the result of a chunk.input as its first operand");
  int64_t back = getBack(), tokens = tensorOf(getInput()).getDimSize(0);
  if (isHeldWindow(*this)) {
    if (tensorOf(getFirst()).getDimSize(0) != back)
      return emitOpError() << "has the rows of " << back << " tokens before the chunk, but where the sequence begins "
                           << tensorOf(getFirst()).getDimSize(0);
    return success();
  }
  if (back < 1 || back > tokens)
    return emitOpError() << "is the row of 1 to " << tokens << " tokens before the chunk, but of " << back;
  if (shapePerToken(getInput()) != tensorOf(getFirst()).getShape())
    return emitOpError() << "is a row of '" << input.getName() << "', which is " << tensorOf(getInput())
                         << ", but where the sequence begins it is " << tensorOf(getFirst());
  return success();
}

LogicalResult TakeOp::verify() {
  std::optional<ArrayRef<int64_t>> triangle = getTriangle();
  if (!triangle)
    return success();
  if (tensorOf(getResult()).getRank() != 2)
    return emitOpError() << "has a triangle, as matrices have, but it is " << getResult().getType();
  if (triangle->size() != 2 || llvm::any_of(*triangle, [](int64_t number) { return number < 1; }))
    return emitOpError() << "has a triangle of rows and writes a token, which are two numbers above zero";
  return success();
}

LogicalResult RemainsOp::verify() {
  auto states = cast<ProgramOp>((*this)->getParentOp()).getStates();
  auto *state = llvm::find_if(states, [&](StateOp state) { return state.getName() == getName(); });
  if (state == states.end())
    return emitOpError() << "is about state '" << getName() << "', which the program does not have";
  RankedTensorType type = makeTensor(getContext(), arrayShape(*state)), bound = tensorOf(getBound());
  if (type.getRank() != 2)
    return emitOpError() << "is about a state that is a matrix, but '" << getName() << "' is " << type;
  bool isOne = bound.getRank() == 1,
       isOfPart = bound.getRank() == 2 && llvm::is_contained(type.getShape(), bound.getDimSize(1));
  if (bound.getDimSize(0) != 1 || (!isOne && !isOfPart))
    return emitOpError() << "bounds with one number, or one for each row or column of " << type << ", but has "
                         << bound;
  return success();
}

static SmallVector<int64_t> findCallerShape(ArrayRef<int64_t> own, bool transposed) {
  SmallVector<int64_t> shape(own);
  if (transposed)
    std::swap(shape.front(), shape.back());
  return shape;
}
SmallVector<int64_t> StateOp::getCallerShape() { return findCallerShape(arrayShape(*this), getTransposed()); }
SmallVector<int64_t> KeptOp::getCallerShape() {
  return findCallerShape(tensorOf(getResult()).getShape(), getTransposed());
}

static LogicalResult checkTransposed(Operation *op, bool transposed) {
  RankedTensorType type = tensorOf(op->getResult(0));
  if (transposed && type.getRank() != 2)
    return op->emitOpError() << "is transposed, so it must be a matrix, but it is " << type;
  return success();
}
LogicalResult StateOp::verify() {
  if (failed(checkTransposed(*this, getTransposed())))
    return failure();
  return checkSizes(*this, arrayShape(*this), tensorOf(getResult()).getShape());
}
LogicalResult KeptOp::verify() { return checkTransposed(*this, getTransposed()); }

NextOp StateOp::getNext() {
  for (Operation *user : getResult().getUsers())
    if (auto next = dyn_cast<NextOp>(user))
      if (next.getState() == getResult())
        return next;
  return {};
}

StateOp NextOp::getStateOp() { return getState().getDefiningOp<StateOp>(); }

LogicalResult NextOp::verify() {
  if (!getStateOp())
    return emitOpError("expects the result of a chunk.state as its first operand");
  return success();
}
