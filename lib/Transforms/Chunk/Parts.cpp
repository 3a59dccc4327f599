// A program whose channels have nothing to do with each other, for a part of the channels.
#include "Transforms/Chunk/Dimensions.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"
#include "dialects/Chunk/ChunkSteps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace recur::chunk {
#define GEN_PASS_DEF_PARTSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// Which dimensions of the values of a program are the same one, and which of them are added up over.
class Channels {
public:
  explicit Channels(ProgramOp program) : program(program) {}
  /// Makes the program one for the first of the parts of so many channels of its states; nothing if they are not apart.
  /// `cutShort`: of rows of the states the last part may have fewer, and so may the only one.
  bool narrow(int64_t partSize, bool cutShort);

private:
  bool isWhole(Dim channels, int64_t partSize);
  static int64_t sizeOf(Value value, unsigned place) { return tensorOf(value).getDimSize(place); }
  void same(Value a, unsigned i, Value b, unsigned j) {
    if (!dims.unite(a, i, b, j) && sizeOf(a, i) != 1 && sizeOf(b, j) != 1) { // rows of several micro-steps
      mix(a, i);
      mix(b, j);
    }
  }
  /// All numbers along the dimension become one, or are told apart by their place.
  void mix(Value value, unsigned place) { mixed.push_back(dims.of(value, place)); }
  void mixAll(Value value) {
    for (int64_t place = 0; place < tensorOf(value).getRank(); ++place)
      mix(value, place);
  }
  void relate(Operation *op);
  bool relateState(Operation *op);

  ProgramOp program;
  Dimensions dims;
  SmallVector<Dim> mixed;
};

/// A micro-step's row of an input, which nothing takes but the rows of all steps.
bool isLoadedStep(Operation *op) {
  auto part = dyn_cast<ExtractOp>(op);
  return part && part.getOperand().getDefiningOp<InputOp>() &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return isa<InterleaveOp>(user); });
}

/// Whether nothing happens but that one matrix is read and advanced, with rows and matrices of the tokens that are
/// there, or made of rows of arrays under one decay a token.
bool isStateAlone(ProgramOp program) {
  auto states = program.getStates();
  if (program.getExact() || states.size() != 1 || tensorOf(states.front()).getRank() != 2)
    return false;
  return llvm::all_of(program.getBody().front(), [](Operation &op) {
    auto map = dyn_cast<MapOp>(op);
    auto read = dyn_cast<ReadOp>(op);
    auto advance = dyn_cast<AdvanceOp>(op);
    auto apply = dyn_cast<ApplyOp>(op);
    auto back = dyn_cast<ApplyTransposedOp>(op);
    auto interaction = dyn_cast<InteractionOp>(op);
    auto hasNumbers = [](Value decay) { return !decay || tensorOf(decay).getRank() <= 1; };
    auto rows = dyn_cast<InterleaveOp>(op);
    bool isNumber = isa<ParamOp>(op) && tensorOf(op.getResult(0)).getNumElements() == 1;
    bool isOfTokens = isa<BroadcastOp>(op) && tensorOf(op.getOperand(0)).getNumElements() == 1;
    return isNumber || (isOfTokens && hasNumbers(op.getResult(0))) ||
           isa<InputOp, InitialOp, TakeOp, StateOp, NextOp, GiveOp, OutputOp, RemainsOp, ConstantOp>(op) ||
           isLoadedStep(&op) || (rows && findInterleaved(rows) && findInterleaved(rows).getDefiningOp<InputOp>()) ||
           (isa<CumulativeDecayOp>(op) && hasNumbers(op.getOperand(0))) ||
           (interaction && hasNumbers(interaction.getDecay()) && areInArray(interaction.getRows()) &&
            areInArray(interaction.getColumns())) ||
           (map && isElementwise(map.getFunction())) || (read && !read.getLeft()) ||
           (advance && !advance.getRowDecay()) || (apply && !apply.getDecay()) || (back && !back.getDecay());
  });
}

struct PartsPass : recur::chunk::impl::PartsPassBase<PartsPass> {
  using PartsPassBase::PartsPassBase;
  void runOnOperation() override {
    if (getOperation().getStates().empty())
      return;
    bool isAlone = alone && isStateAlone(getOperation());
    Channels(getOperation()).narrow(isAlone ? alone : size, isAlone && cutShort);
  }
};

} // namespace

void Channels::relate(Operation *op) {
  auto tokens = [&](Value value) { mix(value, 0); };
  if (auto input = dyn_cast<InputOp>(op); input && input.getBehind()) {
    for (int64_t place = 1; place < tensorOf(input).getRank(); ++place)
      same(input, unsigned(place), input.getBehind(), unsigned(place));
    tokens(input.getBehind());
  }
  if (isa<InputOp, ParamOp>(op))
    return tokens(op->getResult(0));
  if (isa<StateOp, InitialOp, ConstantOp>(op))
    return;
  if (auto take = dyn_cast<TakeOp>(op))
    return take.getWhole() ? void() : tokens(take);
  if (isa<GiveOp, OutputOp>(op))
    return;
  if (relateStates(op, [&](Value a, unsigned i, Value b, unsigned j) { same(a, i, b, j); })) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      mix(read.getRows(), 1);
      tokens(read.getRows());
      tokens(read.getResult());
    } else if (auto advance = dyn_cast<AdvanceOp>(op)) {
      tokens(advance.getValues());
      tokens(advance.getKeys());
    }
    return;
  }
  if (auto map = dyn_cast<MapOp>(op); map && isElementwise(map.getFunction())) {
    for (Value operand : map.getOperands())
      for (int64_t i = 0; i < tensorOf(operand).getRank(); ++i)
        same(operand, i, map, i);
    return;
  }
  if (relateState(op))
    return;
  auto applied = [&](auto apply) {
    mixAll(apply.getMatrix());
    same(apply.getResult(), 1, apply.getValues(), 1);
    tokens(apply.getValues());
    tokens(apply.getResult());
  };
  if (auto apply = dyn_cast<ApplyOp>(op); apply && !apply.getDecay())
    return applied(apply);
  if (auto apply = dyn_cast<ApplyTransposedOp>(op); apply && !apply.getDecay())
    return applied(apply);
  // Micro-steps have the same channels, be their rows apart or side by side.
  auto part = dyn_cast<ExtractOp>(op);
  if (part && tensorOf(part.getOperand()).getRank() == 3) {
    same(part, 1, part.getOperand(), 2);
    mix(part.getOperand(), 1);
    tokens(part.getOperand());
    return tokens(part);
  }
  if (auto rows = dyn_cast<InterleaveOp>(op); rows && tensorOf(rows).getRank() == 2) {
    for (Value step : rows.getOperands()) {
      same(rows, 1, step, 1);
      tokens(step);
    }
    return tokens(rows);
  }
  for (Value value : op->getOperands())
    mixAll(value);
  for (Value value : op->getResults())
    mixAll(value);
}

/// A state as a matrix of one token, and what scales its rows or columns or is their product.
bool Channels::relateState(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeStateOp>(op)) {
    Value from = reshape.getOperand(), to = reshape.getResult();
    ArrayRef<int64_t> before = tensorOf(from).getShape(), after = tensorOf(to).getShape();
    size_t count = std::min(before.size(), after.size());
    if (before.take_back(count) != after.take_back(count))
      return false;
    for (size_t i = 1; i <= count; ++i)
      same(from, unsigned(before.size() - i), to, unsigned(after.size() - i));
    return true;
  }
  auto map = dyn_cast<MapOp>(op);
  if (!map)
    return false;
  Value result = map.getResult(), a = map.getOperands()[0], b = map.getOperands().back();
  auto matrix = [&](Value operand) {
    for (unsigned i : {0, 1, 2})
      same(operand, i, result, i);
  };
  auto vector = [&](Value operand, unsigned place) {
    same(operand, 0, result, 0);
    same(operand, 1, result, place);
  };
  switch (map.getFunction()) {
  case Function::ScaleCols:
    matrix(a);
    vector(b, 2);
    return true;
  case Function::ScaleRows:
    vector(a, 1);
    matrix(b);
    return true;
  case Function::Outer:
    vector(a, 1);
    vector(b, 2);
    return true;
  default:
    return false;
  }
}

/// What the caller has of each dimension of an input, a param, a state or an output, where that is less than the value
/// has.
static DenseI64ArrayAttr sizesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, DenseI64ArrayAttr>(op)
      .Case<InputOp, ParamOp, StateOp, OutputOp>([](auto declared) { return declared.getSizesAttr(); })
      .Default(DenseI64ArrayAttr());
}

static void setSizes(Operation *op, ArrayRef<int64_t> sizes) {
  llvm::TypeSwitch<Operation *>(op).Case<InputOp, ParamOp, StateOp, OutputOp>(
      [&](auto declared) { declared.setSizes(sizes); });
}

/// The value that an op declares or gives, and how many of its dimensions are the tokens'.
static std::pair<Value, unsigned> declaredBy(Operation *op) {
  if (auto output = dyn_cast<OutputOp>(op))
    return {output.getValue(), 1};
  return {op->getResult(0), isa<StateOp>(op) ? 0 : 1};
}

/// Whether all parts have as many channels, of those that the caller has too.
bool Channels::isWhole(Dim channels, int64_t partSize) {
  return llvm::all_of(program.getBody().front(), [&](Operation &op) {
    DenseI64ArrayAttr sizes = sizesOf(&op);
    if (!sizes)
      return true;
    auto [value, tokens] = declaredBy(&op);
    for (auto [i, size] : llvm::enumerate(sizes.asArrayRef()))
      if (dims.classOf(value, unsigned(i) + tokens) == channels && size % partSize != 0)
        return false;
    return true;
  });
}

bool Channels::narrow(int64_t partSize, bool cutShort) {
  for (Operation &op : program.getBody().front())
    relate(&op);
  llvm::DenseSet<Dim> whole;
  for (Dim dim : mixed)
    whole.insert(dims.classOf(dim));
  // The channels that every state has, and everything that leaves the chunk.
  std::optional<Dim> chosen;
  StateOp first = program.getStates().front();
  for (int64_t i = 0; i < tensorOf(first).getRank() && !chosen; ++i) {
    Dim leader = dims.classOf(first, unsigned(i));
    int64_t channels = sizeOf(first, i);
    bool areAlike = channels % partSize == 0 && isWhole(leader, partSize);
    bool mayBeShort = cutShort && i == 0; // what has the state in registers counts its rows
    if (whole.contains(leader) || (areAlike ? channels == partSize : !mayBeShort))
      continue;
    auto has = [&](Value value) { return dims.has(value, leader); };
    bool everywhere = llvm::all_of(program.getStates(), has);
    for (GiveOp give : program.getGiven())
      everywhere &= has(give.getValue());
    for (OutputOp output : program.getOutputs())
      everywhere &= has(output.getValue());
    if (everywhere)
      chosen = leader;
  }
  if (!chosen)
    return false;
  for (Operation &op : program.getBody().front())
    if (DenseI64ArrayAttr sizes = sizesOf(&op)) { // of a part, whatever the last one has
      auto [value, tokens] = declaredBy(&op);
      SmallVector<int64_t> own(sizes.asArrayRef());
      for (auto [i, size] : llvm::enumerate(own))
        if (dims.classOf(value, unsigned(i) + tokens) == *chosen)
          size = partSize;
      setSizes(&op, own);
    }
  for (auto [value, place] : dims.placesOf(*chosen)) {
    SmallVector<int64_t> shape(tensorOf(value).getShape());
    shape[place] = partSize;
    value.setType(makeTensor(program.getContext(), shape));
  }
  return true;
}
