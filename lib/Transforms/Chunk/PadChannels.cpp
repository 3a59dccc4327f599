// Channels of states, padded with zeros to a multiple of what products have.
//
// Dimensions of values that hold the same channels are found first. Then it is found what their padding holds, from op
// to op, as a range of numbers: zero in what enters, and so zero or some finite number in what is computed from it.
// Channels can be padded where nothing else enters what is added up over them, or a state. So padding acts as channels
// do whose data are all zeros, and no recurrence tells these from channels that are not there.
#include "Transforms/Chunk/Dimensions.h"
#include "Transforms/Chunk/Passes.h"
#include "dialects/Chunk/ChunkPhases.h"
#include <cmath>
#include <limits>

namespace recur::chunk {
#define GEN_PASS_DEF_PADCHANNELSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Where numbers lie, and whether they are finite as long as the data are and what is computed of these alone.
struct Interval {
  double low = -infinity, high = infinity;
  bool isFinite = true;
  static Interval of(double number) { return {number, number, std::isfinite(number)}; }
  static Interval unknown() { return {-infinity, infinity, false}; }
  bool isZero() const { return low == 0 && high == 0 && isFinite; }
};

/// Which dimensions of the values of a program hold the same channels.
class Channels {
public:
  explicit Channels(ProgramOp program) : program(program) {
    for (Operation &op : program.getBody().front())
      relate(&op);
  }
  /// Those of states that are matrices and have no multiple of `size`, if they can be padded.
  SmallVector<Dim> listPadded(int64_t size);
  /// The values' dimensions that hold the channels.
  SmallVector<std::pair<Value, unsigned>> placesOf(Dim channels) const { return dims.placesOf(channels); }

private:
  bool has(Value value, Dim channels) { return dims.has(value, channels); }
  void same(Value a, unsigned i, Value b, unsigned j) {
    if (!dims.unite(a, i, b, j))
      keep(a), keep(b);
  }
  /// All dimensions of the value stay as they are.
  void keep(Value value) {
    for (int64_t place = 0; place < tensorOf(value).getRank(); ++place)
      kept.push_back(dims.of(value, unsigned(place)));
  }
  void relate(Operation *op);
  bool relateTokens(Operation *op);
  bool relateProducts(Operation *op);

  // What the padding of one dimension's channels holds; of a value without them, all of its numbers.
  Interval get(Value value);
  Interval evaluate(MapOp op, Dim channels);
  Interval evaluate(Operation *op, Dim channels);
  bool isHarmless(Dim channels);
  /// Whether what is added up over channels that both have, if they do, adds nothing.
  bool addsNothing(Value a, Value b) {
    Interval x = get(a), y = get(b);
    return (x.isZero() && y.isFinite) || (y.isZero() && x.isFinite);
  }
  bool addsNothing(Operation *op, Dim channels);

  ProgramOp program;
  Dimensions dims;
  SmallVector<Dim> kept;
  llvm::DenseMap<Value, Interval> ranges;
};

struct PadChannelsPass : recur::chunk::impl::PadChannelsPassBase<PadChannelsPass> {
  using PadChannelsPassBase::PadChannelsPassBase;
  void runOnOperation() override;
};

} // namespace

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// What each token does by itself.
bool Channels::relateTokens(Operation *op) {
  auto sameRows = [&](Value from, Value to) {
    if (tensorOf(from).getRank() == tensorOf(to).getRank())
      for (int64_t place = 1; place < tensorOf(from).getRank(); ++place)
        same(from, unsigned(place), to, unsigned(place));
    else if (tensorOf(from).getRank() > 1) // no number of the token
      keep(from), keep(to);
  };
  auto map = dyn_cast<MapOp>(op);
  bool isElementOfEach = map && isElementwise(map.getFunction());
  if (isElementOfEach || isa<InterleaveOp, DeinterleaveOp, CumulativeDecayOp, BroadcastOp>(op)) {
    for (Value operand : op->getOperands())
      sameRows(operand, op->getResult(0));
    return true;
  }
  if (map && map.getFunction() == Function::Dot) {
    sameRows(map.getOperands()[0], map.getOperands()[1]);
    return true;
  }
  if (map && map.getFunction() == Function::Sum)
    return true;
  auto part = dyn_cast<ExtractOp>(op);
  if (!part || tensorOf(part.getOperand()).getRank() < 3)
    return false;
  kept.push_back(dims.of(part.getOperand(), 1));
  for (int64_t place = 1; place < tensorOf(part).getRank(); ++place)
    same(part, unsigned(place), part.getOperand(), unsigned(place) + 1);
  return true;
}

bool Channels::relateProducts(Operation *op) {
  auto sameChannels = [&](ArrayRef<Value> streams) {
    for (Value stream : streams.drop_front())
      if (stream && tensorOf(stream).getRank() == 2)
        same(streams[0], 1, stream, 1);
  };
  if (auto interaction = dyn_cast<InteractionOp>(op))
    sameChannels({interaction.getRows(), interaction.getColumns(), interaction.getDecay()});
  else if (auto apply = dyn_cast<ApplyOp>(op))
    sameChannels({apply.getResult(), apply.getValues(), apply.getDecay()});
  else if (auto solve = dyn_cast<SolveOp>(op))
    sameChannels({solve.getResult(), solve.getValues(), solve.getDecay()});
  else if (auto solve = dyn_cast<ScaledSolveOp>(op))
    sameChannels({solve.getResult(), solve.getValues(), solve.getScales()});
  else
    return isa<InverseOp, EliminateOp>(op);
  return true;
}

void Channels::relate(Operation *op) {
  auto areSame = [&](Value a, unsigned i, Value b, unsigned j) { same(a, i, b, j); };
  if (isa<InputOp, ParamOp, StateOp, OutputOp, ConstantOp, RemainsOp>(op) || relateStates(op, areSame) ||
      relateTokens(op) || relateProducts(op))
    return;
  if (auto reshape = dyn_cast<ReshapeStateOp>(op)) {
    Value from = reshape.getState(), to = reshape.getResult();
    if (tensorOf(from).getRank() > tensorOf(to).getRank())
      std::swap(from, to);
    if (tensorOf(from).getRank() == 1 && tensorOf(to).getRank() == 2 && tensorOf(to).getDimSize(0) == 1)
      return same(from, 0, to, 1);
  }
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      keep(value);
    for (Value value : inner->getResults())
      keep(value);
  });
}

//===----------------------------------------------------------------------===//
// What padding holds
//===----------------------------------------------------------------------===//

Interval Channels::get(Value value) {
  if (std::optional<double> number = constantNumber(value))
    return Interval::of(*number);
  auto found = ranges.find(value);
  return found != ranges.end() ? found->second : Interval();
}

static Interval multiply(Interval a, Interval b) {
  if ((a.isZero() && b.isFinite) || (b.isZero() && a.isFinite))
    return Interval::of(0);
  Interval product{infinity, -infinity, a.isFinite && b.isFinite};
  for (double x : {a.low, a.high})
    for (double y : {b.low, b.high}) {
      double corner = x == 0 || y == 0 ? 0 : x * y;
      product.low = std::min(product.low, corner);
      product.high = std::max(product.high, corner);
    }
  return product;
}

/// Of a function that grows.
static Interval grow(Interval x, double (*function)(double), bool isFinite) {
  return {function(x.low), function(x.high), x.isFinite && isFinite};
}

static Interval exponential(Interval x) {
  constexpr double most = 80; // float32 ends behind it
  return grow(x, [](double number) { return std::exp(number); }, x.high <= most);
}

Interval Channels::evaluate(MapOp op, Dim channels) {
  SmallVector<Interval> x;
  for (Value operand : op.getOperands())
    x.push_back(get(operand));
  switch (op.getFunction()) {
  case Function::Neg:
    return {-x[0].high, -x[0].low, x[0].isFinite};
  case Function::Exp:
    return exponential(x[0]);
  case Function::Expm1:
    return grow(x[0], [](double number) { return std::expm1(number); }, exponential(x[0]).isFinite);
  case Function::Log:
    return x[0].low > 0 ? grow(x[0], [](double number) { return std::log(number); }, true) : Interval::unknown();
  case Function::Sqrt:
    return x[0].low >= 0 ? grow(x[0], [](double number) { return std::sqrt(number); }, true) : Interval::unknown();
  case Function::Abs:
    return {x[0].low > 0 ? x[0].low : x[0].high < 0 ? -x[0].high : 0, std::max(-x[0].low, x[0].high), x[0].isFinite};
  case Function::Sigmoid:
    return grow(x[0], [](double number) { return 1 / (1 + std::exp(-number)); }, true);
  case Function::Tanh:
    return grow(x[0], [](double number) { return std::tanh(number); }, true);
  case Function::Softplus:
    return grow(
        x[0], [](double number) { return std::max(number, 0.0) + std::log1p(std::exp(-std::abs(number))); }, true);
  case Function::Elu:
    return grow(x[0], [](double number) { return number > 0 ? number : std::expm1(number); }, true);
  case Function::Sin:
    return x[0].isZero() ? x[0] : Interval{-1, 1, x[0].isFinite};
  case Function::Cos:
    return x[0].isZero() ? Interval::of(1) : Interval{-1, 1, x[0].isFinite};
  case Function::Stop:
    return x[0];
  case Function::Add:
    return {x[0].low + x[1].low, x[0].high + x[1].high, x[0].isFinite && x[1].isFinite};
  case Function::Sub:
    return {x[0].low - x[1].high, x[0].high - x[1].low, x[0].isFinite && x[1].isFinite};
  case Function::Mul:
    return multiply(x[0], x[1]);
  case Function::Div: {
    bool isApartFromZero = x[1].low > 0 || x[1].high < 0;
    // A number of the token that is zero leaves no channel a number.
    if (x[0].isZero() && (!has(op.getOperands()[1], channels) || (isApartFromZero && x[1].isFinite)))
      return x[0];
    return isApartFromZero ? Interval{-infinity, infinity, x[0].isFinite && x[1].isFinite} : Interval::unknown();
  }
  case Function::Max:
    return {std::max(x[0].low, x[1].low), std::max(x[0].high, x[1].high), x[0].isFinite && x[1].isFinite};
  case Function::Min:
    return {std::min(x[0].low, x[1].low), std::min(x[0].high, x[1].high), x[0].isFinite && x[1].isFinite};
  case Function::Select:
    if (x[0].low > 0)
      return x[1];
    if (x[0].high <= 0)
      return x[2];
    return {std::min(x[1].low, x[2].low), std::max(x[1].high, x[2].high), x[1].isFinite && x[2].isFinite};
  default: // of what has no padding, it is a number as the data are
    return Interval::unknown();
  }
}

/// Of products of decay steps.
static Interval multiplySteps(Interval steps, bool linear) {
  Interval one = linear ? steps : exponential(steps);
  return one.low >= -1 && one.high <= 1 && one.isFinite ? Interval{one.low < 0    ? -1.0
                                                                   : one.low == 1 ? 1.0
                                                                                  : 0.0,
                                                                   1, true}
                                                        : Interval::unknown();
}

/// Of sums of numbers that are scaled.
static Interval addUp(Interval summands, Interval scale) {
  if (!summands.isFinite || !scale.isFinite)
    return Interval::unknown();
  return summands.isZero() ? summands : Interval();
}

Interval Channels::evaluate(Operation *op, Dim channels) {
  auto decayOf = [&](Value decay, bool linear) {
    return decay && has(decay, channels) ? multiplySteps(get(decay), linear) : Interval::of(1);
  };
  if (auto map = dyn_cast<MapOp>(op))
    return evaluate(map, channels);
  if (isa<ExtractOp, BroadcastOp, DeinterleaveOp, ReshapeStateOp>(op))
    return get(op->getOperand(0));
  if (auto decay = dyn_cast<CumulativeDecayOp>(op))
    return multiplySteps(get(decay.getDecay()), decay.getLinear());
  if (auto rows = dyn_cast<InterleaveOp>(op)) {
    Interval all = get(rows.getOperands()[0]);
    for (Value step : rows.getOperands().drop_front()) {
      Interval own = get(step);
      all = {std::min(all.low, own.low), std::max(all.high, own.high), all.isFinite && own.isFinite};
    }
    return all;
  }
  if (auto apply = dyn_cast<ApplyOp>(op))
    return addUp(get(apply.getValues()), decayOf(apply.getDecay(), apply.getLinear()));
  if (auto solve = dyn_cast<SolveOp>(op))
    return addUp(get(solve.getValues()), decayOf(solve.getDecay(), solve.getLinear()));
  if (auto solve = dyn_cast<ScaledSolveOp>(op))
    return addUp(get(solve.getValues()), get(solve.getScales()));
  if (auto read = dyn_cast<ReadOp>(op))
    return addUp(get(read.getState()), Interval());
  auto advance = dyn_cast<AdvanceOp>(op);
  if (!advance)
    return {};
  Interval state = get(advance.getState());
  for (Value decay : {advance.getRowDecay(), advance.getColumnDecay()})
    if (decay)
      state = multiply(state, has(decay, channels) ? get(decay) : Interval());
  for (Value writes : {advance.getValues(), advance.getKeys()})
    if (has(writes, channels) && !get(writes).isZero())
      return {};
  return state;
}

bool Channels::addsNothing(Operation *op, Dim channels) {
  if (auto map = dyn_cast<MapOp>(op)) {
    if (!has(map.getOperands()[0], channels) || has(map.getResult(), channels))
      return true;
    return map.getFunction() == Function::Dot ? addsNothing(map.getOperands()[0], map.getOperands()[1])
                                              : get(map.getOperands()[0]).isZero();
  }
  if (auto interaction = dyn_cast<InteractionOp>(op)) {
    if (!has(interaction.getRows(), channels))
      return true;
    Value decay = interaction.getDecay();
    bool isDecayed = decay && has(decay, channels);
    return addsNothing(interaction.getRows(), interaction.getColumns()) &&
           (!isDecayed || multiplySteps(get(decay), interaction.getLinear()).isFinite);
  }
  if (auto read = dyn_cast<ReadOp>(op))
    return !has(read.getRows(), channels) || addsNothing(read.getRows(), read.getState());
  if (auto next = dyn_cast<NextOp>(op))
    return !has(next.getValue(), channels) || get(next.getValue()).isZero();
  return true;
}

bool Channels::isHarmless(Dim channels) {
  ranges.clear();
  for (Operation &op : program.getBody().front()) {
    if (!addsNothing(&op, channels))
      return false;
    for (Value result : op.getResults()) {
      bool isPadded = has(result, channels);
      Interval range =
          isa<InputOp, ParamOp, StateOp>(op) ? (isPadded ? Interval::of(0) : Interval()) : evaluate(&op, channels);
      range.isFinite |= !isPadded; // else the data's own channels have no numbers either
      if (std::isnan(range.low) || std::isnan(range.high))
        range = Interval::unknown();
      ranges[result] = range;
    }
  }
  return true;
}

SmallVector<Dim> Channels::listPadded(int64_t size) {
  llvm::DenseSet<Dim> whole;
  for (Dim dim : kept)
    whole.insert(dims.classOf(dim));
  SmallVector<Dim> padded;
  for (StateOp state : program.getStates()) {
    if (tensorOf(state).getRank() != 2)
      continue;
    for (unsigned place : {0u, 1u}) {
      Dim channels = dims.classOf(state, place);
      bool isWanted = tensorOf(state).getDimSize(place) % size != 0 && !whole.contains(channels);
      if (isWanted && !llvm::is_contained(padded, channels) && isHarmless(channels))
        padded.push_back(channels);
    }
  }
  return padded;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void PadChannelsPass::runOnOperation() {
  ProgramOp program = getOperation();
  if (program.hasTF32Factors()) // which have no pieces of 16 bits
    return;
  if (cancels(program)) // nothing there is rounded, and no product needs whole pieces
    return;
  Channels all(program);
  SmallVector<std::pair<Value, unsigned>> places;
  for (Dim channels : all.listPadded(size))
    llvm::append_range(places, all.placesOf(channels));
  if (places.empty())
    return;
  Builder builder(program.getContext());
  llvm::DenseMap<Value, SmallVector<int64_t>> shapes;
  for (auto [value, place] : places) {
    SmallVector<int64_t> &shape = shapes.try_emplace(value, tensorOf(value).getShape()).first->second;
    shape[place] = int64_t(llvm::alignTo(uint64_t(shape[place]), uint64_t(size)));
  }
  // Declarations say what the caller has; what bounds a state is of its own channels alone.
  auto isPadded = [&](Value value) { return shapes.contains(value); };
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
    if (auto input = dyn_cast<InputOp>(op); input && isPadded(input))
      input.setSizes(arrayShape(input));
    if (auto param = dyn_cast<ParamOp>(op); param && isPadded(param))
      param.setSizes(arrayShape(param));
    if (auto state = dyn_cast<StateOp>(op); state && isPadded(state))
      state.setSizes(arrayShape(state));
    if (auto output = dyn_cast<OutputOp>(op); output && isPadded(output.getValue()))
      output.setSizes(arrayShape(output));
    if (auto remains = dyn_cast<RemainsOp>(op); remains && isPadded(remains.getBound())) {
      OpBuilder before(remains);
      int64_t own = tensorOf(remains.getBound()).getDimSize(1);
      remains.getBoundMutable().assign(
          SliceOp::create(before, remains.getLoc(), remains.getBound(), 0, own).getResult());
    }
  }
  for (auto &[value, shape] : shapes)
    value.setType(makeTensor(program.getContext(), shape));
}
