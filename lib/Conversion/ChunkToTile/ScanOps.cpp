// Scans over tokens, and the token loop.
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Chunk/ChunkWindow.h"

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
  SmallVector<Elements, 4> numbers;
  SmallVector<Input> inputs;
  for (Value number : {op.getA(), op.getB(), op.getC(), op.getD()}) {
    numbers.push_back(elementsOf(number, op));
    llvm::append_range(inputs, numbers.back().inputs);
  }
  Value state = get(op.getState()), all = make(op.getAll()), last = make(op.getLast());
  scan(inputs, state, all, last, rowsOf(all), 0, false, [&](Scalars &s, ValueRange x) {
    Value before = x.back();
    SmallVector<Value, 4> of;
    for (const Elements &number : numbers) {
      of.push_back(number.build(s, x.take_front(number.inputs.size())));
      x = x.drop_front(number.inputs.size());
    }
    Value next = s.div(s.add(s.mul(of[0], before), of[1]), s.add(s.mul(of[2], before), of[3]));
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
  auto input = all.getDefiningOp<chunk::InputOp>();
  if (input && !input.getBack() && chunk::tensorOf(all).getRank() == 2 && !inTokenLoop && !tiles.contains(all) &&
      isReadAtLast(all, before))
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

LogicalResult Planner::plan(chunk::TokenLoopOp op) {
  if (std::optional<chunk::Window> window = chunk::findWindow(op)) {
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
