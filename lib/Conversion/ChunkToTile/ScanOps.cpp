// Scans over tokens, and the token loop.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

void Planner::plan(chunk::ScanOp op) {
  Elements additions = elementsOf(op.getAdditions(), op);
  Value state = get(op.getState()), rows = rowsOf(chunk::tensorOf(op.getAll()).getShape()[0]);
  SmallVector<Input> inputs = additions.inputs;
  bool hasDecay = bool(op.getDecay()), isAngle = op.getAngles(), linear = op.getLinear();
  if (hasDecay) {
    // One step a token is exponentiated once, not again in each vector of the row.
    linear |= chunk::tensorOf(op.getDecay()).getRank() == 1;
    inputs.push_back(linear ? factors(op.getDecay(), op.getLinear()) : get(op.getDecay()));
  }
  auto body = [=](Scalars &s, ValueRange x) {
    Value kept = x.back();
    if (hasDecay)
      kept = s.mul(kept, linear ? x[x.size() - 2] : s.exp(x[x.size() - 2]));
    Value added = additions.build(s, x);
    Value next = isAngle ? s.withinHalfATurn(s.add(kept, s.withinHalfATurn(added))) : s.add(kept, added);
    return std::pair(next, next);
  };
  // A CTA makes neither what nobody reads nor what one pass alone reads.
  bool isRead = !machine.isCTA() || !op.getAll().use_empty();
  Value last = machine.isCTA() && isRead && op.getLast().use_empty() ? Value() : make(op.getLast());
  bool isOfVectors = chunk::tensorOf(op.getAll()).getRank() > 1;
  bool isLastForNext = llvm::all_of(op.getLast().getUsers(), [](Operation *user) { return isa<chunk::NextOp>(user); });
  if (machine.isCTA() && isRead && isOfVectors && isLastForNext &&
      leaveToReader(op.getAll(), {inputs, {}, 0, /*reverse=*/false, body, state, last}))
    return;
  scan(inputs, state, isRead ? make(op.getAll()) : Value(), last, rows, 0, false, body);
}

void Planner::plan(chunk::TropicalScanOp op) {
  Value state = get(op.getState()), all = make(op.getAll()), last = make(op.getLast());
  scan({get(op.getShifts()), get(op.getBounds())}, state, all, last, rowsOf(all), 0, false,
       [&](Scalars &s, ValueRange x) {
         Value next = s.extremum(op.getExtremum(), s.add(x[2], x[0]), x[1]);
         return std::pair(next, next);
       });
}

void Planner::plan(chunk::MoebiusScanOp op) {
  Value state = get(op.getState()), all = make(op.getAll()), last = make(op.getLast());
  scan({get(op.getA()), get(op.getB()), get(op.getC()), get(op.getD())}, state, all, last, rowsOf(all), 0, false,
       [](Scalars &s, ValueRange x) {
         Value next = s.div(s.add(s.mul(x[0], x[4]), x[1]), s.add(s.mul(x[2], x[4]), x[3]));
         return std::pair(next, next);
       });
}

/// What the token before had is the row before, for each of the tokens: no copy of them but the first one's row, which
/// the state gives. What several ops shift by a token, of different states, has no one such row. Numbers of the tokens
/// lie side by side, where a shifted vector would be read across two cache lines.
int64_t Planner::countRowsBefore(Value all) {
  if (inTokenLoop || chunk::tensorOf(all).getRank() < 2)
    return 0;
  chunk::PreviousOp previous;
  for (OpOperand &use : all.getUses())
    if (auto reader = dyn_cast<chunk::PreviousOp>(use.getOwner()); reader && use.get() == reader.getAll()) {
      if (previous)
        return 0;
      previous = reader;
    }
  if (!previous || previous->getBlock() != all.getParentBlock() || previous.getType() != all.getType() ||
      isTransposed(previous) != isTransposed(all) || isTransposed(previous.getState()) != isTransposed(all))
    return 0;
  return 1 + countRowsBefore(previous);
}

/// The number that a state is in all its elements, under whatever shape.
static std::optional<double> findNumber(Value state) {
  while (auto reshape = state.getDefiningOp<chunk::ReshapeStateOp>())
    state = reshape.getOperand();
  return chunk::constantNumber(state);
}

/// Whether of a value, or of what it is some tokens later, a chunk's last token alone is read, with the same number for
/// tokens that the chunk lacks.
static bool isReadAtLast(Value all, std::optional<double> &before) {
  return llvm::all_of(all.getUses(), [&](OpOperand &use) {
    auto previous = dyn_cast<chunk::PreviousOp>(use.getOwner());
    if (!previous)
      return isa<chunk::LastOp>(use.getOwner());
    std::optional<double> number = findNumber(previous.getState());
    if (!number || before.value_or(*number) != *number)
      return false;
    before = number;
    return isReadAtLast(previous, before);
  });
}

/// The input that rows are, so many tokens later, if nothing but rows of last tokens is read of it: these alone are
/// loaded then.
Planner::LastRow Planner::findLastRow(Value all) {
  LastRow row;
  for (; auto previous = all.getDefiningOp<chunk::PreviousOp>(); ++row.back)
    all = previous.getAll();
  std::optional<double> before;
  if (all.getDefiningOp<chunk::InputOp>() && chunk::tensorOf(all).getRank() == 2 && !inTokenLoop &&
      !tiles.contains(all) && isReadAtLast(all, before))
    row.input = all;
  row.before = before.value_or(0);
  return row;
}

void Planner::plan(chunk::PreviousOp op) {
  if (findLastRow(op).input)
    return;
  if (machine.isCTA() || op.getAll().getDefiningOp<chunk::InputOp>())
    get(op.getAll());
  if (auto [whole, count] = rowsBefore.lookup(tiles.lookup(op.getAll())); count > 0) {
    TileType type = tileOf(tiles.lookup(op.getAll()));
    SmallVector<int64_t> shape(type.getShape()), first(shape);
    int64_t offset = (count - 1) * type.getStride(0);
    first[0] = 1;
    if (!isLoadedHeld(op.getState()))
      copy(withTokens(get(op.getState())), view(whole, first, type.getStrides(), offset), constant(1));
    Value result = view(whole, shape, type.getStrides(), offset);
    rowsBefore[result] = {whole, count - 1};
    return set(op, result);
  }
  Elements all = machine.isCTA() ? Elements{{Input(get(op.getAll()))}, [](Scalars &, ValueRange x) { return x[0]; }}
                                 : elementsOf(op.getAll(), op);
  Value state = get(op.getState()), result = make(op);
  scan(all.inputs, state, result, {}, rowsOf(result), 0, false,
       [&](Scalars &s, ValueRange x) { return std::pair(all.build(s, x), x.back()); });
}

void Planner::plan(chunk::LastOp op) {
  if (LastRow row = findLastRow(op.getAll()); row.input) {
    Value result = make(op);
    loadInPlace([&] {
      Value gone = arith::SubIOp::create(builder, loc, tokens, constant(row.back + 1));
      Value place =
          arith::AddIOp::create(builder, loc, firstToken, arith::MaxSIOp::create(builder, loc, gone, constant(0)));
      return LoadOp::create(builder, loc, inputArrays.lookup(row.input), place, constant(1), withTokens(result));
    });
    if (row.back == 0)
      return;
    Value lacksToken = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, tokens, constant(row.back));
    auto choice = scf::IfOp::create(builder, loc, lacksToken, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    return fill(withTokens(result), row.before, constant(1));
  }
  Value all = get(op.getAll()), result = make(op);
  SmallVector<int64_t> shape(tileOf(all).getShape());
  shape[0] = 1;
  Value lastToken = arith::SubIOp::create(builder, loc, tokens, constant(1));
  Value row = view(all, shape, tileOf(all).getStrides(), 0, lastToken);
  copy(row, shape.size() > 1 ? withTokens(result) : result, constant(1));
}

/// Whether a loop's state holds a row for each of the chunk's tokens, such as what all writes have become.
static bool isOfTokens(Value state) {
  if (auto loop = state.getDefiningOp<chunk::TokenLoopOp>()) {
    unsigned number = cast<OpResult>(state).getResultNumber(), given = loop.getStreamResults().size();
    return number < given || isOfTokens(loop.getStates()[number - given]);
  }
  auto take = state.getDefiningOp<chunk::TakeOp>();
  return isa_and_nonnull<chunk::ConstantOp, chunk::MapOp, chunk::ReadOp, chunk::ApplyOp, chunk::ApplyTransposedOp>(
             state.getDefiningOp()) ||
         (take && !take.getWhole());
}

/// The state as the loop begins with it. In the body all rows count, also those of tokens that a short chunk lacks.
void Planner::startCarried(Value state, Value tile) {
  Value all = constant(tileOf(tile).getSize(0));
  if (std::optional<double> number = chunk::constantNumber(state))
    return fill(tile, *number, all);
  if (!isOfTokens(state) || program.getChunk() == 1)
    return copy(get(state), tile, all);
  fill(tile, 0, all);
  Value from = get(state), one = constant(1);
  auto loop = scf::ForOp::create(builder, loc, constant(0), rowsOf(tile), one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value row = loop.getInductionVar();
  copy(rowView(from, row), rowView(tile, row), one);
}

/// One row of a tile, as a tile with one row.
Value Planner::rowView(Value tile, Value row) {
  SmallVector<int64_t> shape(tileOf(tile).getShape());
  shape[0] = 1;
  return view(tile, shape, tileOf(tile).getStrides(), 0, row);
}

/// So many rows of a tile from the first on, or from so many behind `row`.
Value Planner::partOf(Value tile, int64_t first, int64_t count, Value row) {
  TileType type = tileOf(tile);
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = count;
  return view(tile, shape, type.getStrides(), first * type.getStride(0), row);
}

/// The last rows that a stream had, and what each result is of them, as a token finds them.
struct Planner::Window {
  struct Result {
    int64_t first, count;       // of the rows
    Value weights;              // that they are added up with; null where the result is the one row
    int64_t firstWeight = 0;    // among those
    bool areOfElements = false; // one for each element of each row
  };
  unsigned stream = 0;
  SmallVector<Result, 2> results;
};

/// Which rows of a loop's state the value is: all, or some that lie one behind another.
static std::optional<std::pair<int64_t, int64_t>> findRows(Value value, Value state) {
  auto part = value.getDefiningOp<chunk::SliceOp>();
  if (value != state && (!part || part.getOperand() != state))
    return std::nullopt;
  return std::pair(part ? int64_t(part.getBegin()) : 0, chunk::tensorOf(value).getDimSize(1));
}

/// A sum of such rows, each times a weight that the loop does not compute.
template <typename Result> static std::optional<Result> findSumOfRows(Value value, Value state) {
  auto sum = value.getDefiningOp<chunk::MapOp>();
  if (!sum || sum.getFunction() != chunk::Function::Vecmat)
    return std::nullopt;
  auto weigh = [&](Value rows, Value weights, bool areOfElements) -> std::optional<Result> {
    auto found = findRows(rows, state);
    auto part = weights.getDefiningOp<chunk::SliceOp>();
    Value whole = part ? part.getOperand() : weights;
    bool isKnown = isa<BlockArgument>(whole) || whole.getParentBlock() != state.getParentBlock();
    if (!found || !isKnown || whole == state)
      return std::nullopt;
    return Result{found->first, found->second, whole, part ? int64_t(part.getBegin()) : 0, areOfElements};
  };
  Value weights = sum.getOperands()[0], matrix = sum.getOperands()[1];
  if (auto found = weigh(matrix, weights, false))
    return found;
  auto scaled = matrix.getDefiningOp<chunk::MapOp>();
  if (!scaled || scaled.getFunction() != chunk::Function::Mul || chunk::constantNumber(weights) != 1)
    return std::nullopt;
  for (unsigned side : {0u, 1u})
    if (chunk::tensorOf(scaled.getOperands()[1 - side]).getRank() == 3)
      if (auto found = weigh(scaled.getOperands()[side], scaled.getOperands()[1 - side], true))
        return found;
  return std::nullopt;
}

std::optional<Planner::Window> Planner::findWindow(chunk::TokenLoopOp op) {
  if (op.getReverse() || op.getStates().size() != 1)
    return std::nullopt;
  Block &body = op.getBody().front();
  Value state = body.getArguments().back();
  Operation *yield = body.getTerminator();
  auto moved = yield->getOperands().back().getDefiningOp<chunk::ConcatOp>();
  auto kept = moved && moved.getOperands().size() == 2 ? moved.getOperands()[0].getDefiningOp<chunk::SliceOp>()
                                                       : chunk::SliceOp();
  auto row = kept ? dyn_cast<BlockArgument>(moved.getOperands()[1]) : BlockArgument();
  if (!row || row.getOwner() != &body || row == state || kept.getOperand() != state || kept.getBegin() != 1 ||
      int64_t(kept.getSize()) + 1 != chunk::tensorOf(op.getStates()[0]).getDimSize(0))
    return std::nullopt;
  Window window{row.getArgNumber(), {}};
  for (Value given : yield->getOperands().drop_back()) {
    auto found = given.getDefiningOp<chunk::ExtractOp>();
    if (found && found.getOperand() == state)
      window.results.push_back({int64_t(found.getIndex()), 1, {}});
    else if (auto sum = findSumOfRows<Window::Result>(given, state))
      window.results.push_back(*sum);
    else
      return std::nullopt;
  }
  return window;
}

/// The chunk's rows lie behind those that the state had. So a row that a token finds is one of these, and the state
/// becomes the last of them. The rows that a token finds one behind another begin one row behind those of the token
/// before, so those of all tokens are a view of these rows too.
void Planner::planWindow(chunk::TokenLoopOp op, const Window &window) {
  Value state = get(op.getStates()[0]), rows = get(op.getStreams()[window.stream]);
  SmallVector<int64_t> shape(tileOf(state).getShape());
  int64_t size = shape[0], chunk = tileOf(rows).getSize(0);
  shape[0] = size + chunk;
  Value whole = alloc(shape);
  auto part = [&](int64_t first, int64_t count, Value row = {}) { return partOf(whole, first, count, row); };
  copy(state, part(0, size), constant(size));
  copy(rows, part(size, chunk), rowsOf(rows));
  Block &body = op.getBody().front();
  for (auto [result, found] : llvm::zip(op.getStreamResults(), window.results)) {
    if (!found.weights) {
      set(result, part(found.first, chunk));
      continue;
    }
    auto stream = dyn_cast<BlockArgument>(found.weights);
    Value all = get(stream && stream.getOwner() == &body ? op.getStreams()[stream.getArgNumber()] : found.weights);
    SmallVector<int64_t> sizes(tileOf(all).getShape());
    sizes[1] = found.count;
    Value weights = view(all, sizes, tileOf(all).getStrides(), found.firstWeight * tileOf(all).getStride(1));
    int64_t columns = shape[1], stride = tileOf(whole).getStride(0);
    Value ofTokens = view(whole, {chunk, found.count, columns}, {stride, stride, 1}, found.first * stride);
    Input factors = found.areOfElements ? Input(weights, {0, 1, 2}) : Input(weights, {0, 1});
    Value sum = make(result);
    reduce(Reduction::Sum, {factors, ofTokens}, sum, {1}, {chunk, found.count, columns},
           [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  }
  copy(part(0, size, tokens), make(op.getStateResults()[0]), constant(size));
}

/// Cotangents of rows that tokens found. `places`: the stream, and which row of the state each token found.
struct Planner::WindowBack {
  SmallVector<std::pair<unsigned, int64_t>, 2> places;
};

std::optional<Planner::WindowBack> Planner::findWindowBack(chunk::TokenLoopOp op) {
  if (!op.getReverse() || op.getStates().size() != 1)
    return std::nullopt;
  Block &body = op.getBody().front();
  Value state = body.getArguments().back();
  Operation *yield = body.getTerminator();
  int64_t size = chunk::tensorOf(op.getStates()[0]).getDimSize(0);
  for (Value given : yield->getOperands().drop_back()) {
    auto newest = given.getDefiningOp<chunk::ExtractOp>();
    if (!newest || newest.getOperand() != state || int64_t(newest.getIndex()) + 1 != size)
      return std::nullopt;
  }
  WindowBack window;
  bool isMoved = false;
  SmallVector<Value> terms = {yield->getOperands().back()};
  while (!terms.empty()) {
    Value term = terms.pop_back_val();
    if (auto sum = term.getDefiningOp<chunk::MapOp>(); sum && sum.getFunction() == chunk::Function::Add) {
      llvm::append_range(terms, sum.getOperands());
      continue;
    }
    if (auto found = term.getDefiningOp<chunk::InsertOp>()) {
      auto row = dyn_cast<BlockArgument>(found.getOperand());
      if (!row || row.getOwner() != &body || row == state)
        return std::nullopt;
      window.places.push_back({row.getArgNumber(), int64_t(found.getIndex())});
      continue;
    }
    auto moved = term.getDefiningOp<chunk::ConcatOp>();
    auto kept = moved && moved.getOperands().size() == 2 ? moved.getOperands()[1].getDefiningOp<chunk::SliceOp>()
                                                         : chunk::SliceOp();
    if (isMoved || !kept || kept.getOperand() != state || kept.getBegin() != 0 || int64_t(kept.getSize()) + 1 != size ||
        chunk::constantNumber(moved.getOperands()[0]) != 0)
      return std::nullopt;
    isMoved = true;
  }
  return isMoved ? std::optional(window) : std::nullopt;
}

/// Each row of the window and of the chunk behind it gets what the tokens that found it have.
void Planner::planWindowBack(chunk::TokenLoopOp op, const WindowBack &window) {
  Value state = get(op.getStates()[0]);
  SmallVector<int64_t> shape(tileOf(state).getShape());
  int64_t size = shape[0], chunk = program.getChunk();
  shape[0] = size + chunk;
  Value whole = alloc(shape);
  auto part = [&](int64_t first, int64_t count, Value row = {}) { return partOf(whole, first, count, row); };
  fill(whole, 0, constant(size + chunk));
  copy(state, part(0, size, tokens), constant(size));
  for (auto [stream, place] : window.places) {
    // Row by row: a pass over a short chunk's rows would leave those behind them without a meaning.
    Value rows = get(op.getStreams()[stream]), found = part(place, chunk);
    auto loop = scf::ForOp::create(builder, loc, constant(0), rowsOf(rows), constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value sum = rowView(found, loop.getInductionVar());
    map({sum, rowView(rows, loop.getInductionVar())}, sum, constant(1),
        [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
  }
  for (Value result : op.getStreamResults())
    set(result, part(size, chunk));
  copy(part(0, size), make(op.getStateResults()[0]), constant(size));
}

LogicalResult Planner::plan(chunk::TokenLoopOp op) {
  if (std::optional<Window> window = findWindow(op)) {
    planWindow(op, *window);
    return success();
  }
  if (std::optional<WindowBack> window = findWindowBack(op)) {
    planWindowBack(op, *window);
    return success();
  }
  Block &body = op.getBody().front();
  SmallVector<Value> streams, given, carried;
  for (Value stream : op.getStreams())
    streams.push_back(get(stream));
  for (Value result : op.getStreamResults())
    given.push_back(make(result));
  for (auto [state, result] : llvm::zip(op.getStates(), op.getStateResults())) {
    carried.push_back(make(result));
    startCarried(state, carried.back());
  }
  // In the body a state has a token dimension of 1; a lone number has the one dimension of size 1 already.
  auto inBody = [&](Value tile, Value argument) {
    return tileOf(tile).getRank() == chunk::tensorOf(argument).getRank() ? tile : withTokens(tile);
  };
  auto loop = scf::ForOp::create(builder, loc, constant(0), tokens, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value token = loop.getInductionVar();
  if (op.getReverse()) {
    Value last = arith::SubIOp::create(builder, loc, tokens, constant(1));
    token = arith::SubIOp::create(builder, loc, last, token);
  }
  for (auto [argument, stream] : llvm::zip(body.getArguments(), streams))
    set(argument, rowView(stream, token));
  for (auto [argument, tile] : llvm::zip(body.getArguments().drop_front(streams.size()), carried))
    set(argument, inBody(tile, argument));
  Shared saved = shared;
  bool outside = std::exchange(inTokenLoop, true);
  if (failed(plan(body)))
    return failure();
  Operation *yield = body.getTerminator();
  Value one = constant(1);
  for (auto [value, tile] : llvm::zip(yield->getOperands(), given))
    copy(get(value), rowView(tile, token), one);
  // All states are read before the first one is written.
  SmallVector<std::pair<Value, Value>> moves;
  for (auto [argument, value] :
       llvm::zip(body.getArguments().drop_front(streams.size()), yield->getOperands().drop_front(given.size()))) {
    Value from = get(value), to = tiles[argument];
    if (llvm::is_contained(body.getArguments(), value)) {
      if (value == argument)
        continue;
      Value kept = alloc(tileOf(to).getShape());
      copy(from, kept, one);
      from = kept;
    }
    if (from != to) // it may have been computed in place
      moves.push_back({from, to});
  }
  for (auto [from, to] : moves)
    copy(from, to, one);
  shared = std::move(saved);
  inTokenLoop = outside;
  return success();
}
