// Rows of the last tokens: a loop that moves them by one is no loop in a plan.
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "dialects/Chunk/ChunkWindow.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// The chunk's rows lie behind those that the state had. So a row that a token finds is one of these, and the state
/// becomes the last of them. The rows that a token finds one behind another begin one row behind those of the token
/// before, so those of all tokens are a view of these rows too.
void Planner::planWindow(chunk::TokenLoopOp op, const chunk::Window &window) {
  if (holdsWindows()) { // of which the last chunk is planned alone
    Value last = op.getStateResults()[0];
    int64_t size = chunk::tensorOf(last).getDimSize(0);
    return loadEarlier({op.getStreams()[window.stream], op.getStates()[0], size, size, 0, /*ofNext=*/true}, make(last));
  }
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
    if (found.isRow) {
      set(result, part(found.first, chunk));
      continue;
    }
    SmallVector<int64_t> sizes = {chunk, found.count}, strides = {tileOf(whole).getStride(0)};
    llvm::append_range(sizes, ArrayRef(shape).drop_front());
    llvm::append_range(strides, tileOf(whole).getStrides());
    Value ofTokens = view(whole, sizes, strides, found.first * strides.front());
    if (!found.weights) {
      set(result, ofTokens);
      continue;
    }
    auto stream = dyn_cast<BlockArgument>(found.weights);
    Value all = get(stream && stream.getOwner() == &body ? op.getStreams()[stream.getArgNumber()] : found.weights);
    SmallVector<int64_t> ofWeights(tileOf(all).getShape());
    ofWeights[1] = found.count;
    Value weights = view(all, ofWeights, tileOf(all).getStrides(), found.firstWeight * tileOf(all).getStride(1));
    Input factors = found.areOfElements ? Input(weights, {0, 1, 2}) : Input(weights, {0, 1});
    Value sum = make(result);
    reduce(Reduction::Sum, {factors, ofTokens}, sum, {1}, sizes,
           [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  }
  if (Value last = op.getStateResults()[0]; !last.use_empty())
    copy(part(0, size, tokens), make(last), constant(size));
}

/// Cotangents of rows that tokens found.
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

void Planner::planHeldWindow(chunk::HeldOp op) {
  auto size = int64_t(op.getBack());
  loadEarlier({op.getInput(), op.getFirst(), size, size, 0}, make(op));
}

/// Of the last rows of what is behind them the first token has the first.
Planner::EarlierRows Planner::rowsOfEarlierTokens(chunk::InputOp input) const {
  auto back = int64_t(*input.getBack());
  return {input, input.getBehind(), /*count=*/0, back, chunk::tensorOf(input.getBehind()).getDimSize(0) - back};
}

/// Whether the program says what windows of inputs become in the end, and nothing else.
bool Planner::holdsWindows() {
  return machine.isCTA() && chunk::holdsLastTokens(program) &&
         llvm::all_of(program.getStates(), [](chunk::StateOp state) {
           return bool(state.getNext().getValue().getDefiningOp<chunk::TokenLoopOp>());
         });
}

/// Where the sequence has fewer rows, those that it has make room for what the caller gave, row by row, for a view may
/// not go beyond its tile.
void Planner::loadEarlier(const EarlierRows &rows, Value tile) {
  auto initial = rows.given.getDefiningOp<chunk::InitialOp>();
  bool isLoadedHere = initial && !tiles.contains(initial); // by the first chunks alone
  Value given = isLoadedHere ? Value() : get(rows.given);
  Value zero, one, token, there, missing, first;
  loadInPlace([&] {
    zero = constant(0), one = constant(1);
    Value count = rows.count ? constant(rows.count) : tokens;
    token = rows.ofNext ? arith::AddIOp::create(builder, loc, firstToken, tokens).getResult() : firstToken;
    Value begin = arith::SubIOp::create(builder, loc, token, constant(rows.back));
    Value before = arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, zero, begin), zero);
    missing = arith::MinSIOp::create(builder, loc, before, count);
    there = arith::SubIOp::create(builder, loc, count, missing);
    Value from = arith::MaxSIOp::create(builder, loc, begin, zero);
    first = arith::AddIOp::create(builder, loc, token, constant(rows.place));
    return LoadOp::create(builder, loc, inputArrays.lookup(rows.input), from, there, tile);
  });
  // Once, also where a loop over tokens is the first that takes them.
  OpBuilder::InsertionGuard guard(builder);
  bool isInner = isLoadedHere && builder.getBlock() != lastLoad->getBlock();
  if (isInner)
    builder.setInsertionPointAfter(lastLoad);
  Value isMissing = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, zero, missing);
  auto choice = scf::IfOp::create(builder, loc, isMissing, /*withElseRegion=*/false);
  if (isInner)
    lastLoad = choice;
  builder.setInsertionPointToStart(choice.thenBlock());
  if (isLoadedHere) {
    given = alloc(chunk::tensorOf(initial).getShape());
    LoadOp::create(builder, loc, initialArrays.lookup(initial), zero, one, withTokens(given));
  }
  auto forRows = [&](Value number, llvm::function_ref<void(Value step)> build) {
    auto loop = scf::ForOp::create(builder, loc, zero, number, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    build(loop.getInductionVar());
  };
  forRows(there, [&](Value step) {
    Value last = arith::SubIOp::create(builder, loc, there, one),
          from = arith::SubIOp::create(builder, loc, last, step);
    copy(rowView(tile, from), rowView(tile, arith::AddIOp::create(builder, loc, from, missing)), one);
  });
  forRows(missing, [&](Value row) {
    copy(rowView(given, arith::AddIOp::create(builder, loc, row, first)), rowView(tile, row), one);
  });
}
