// The loop over tokens of a kernel that holds its states. Rows of several tokens come to shared memory at once, and
// what is made of these alone is made there for all of them. So from token to token a warp waits for no other one: what
// it reads of shared memory stays as it is, and what it writes are outputs.
#include "Conversion/TileToNVVM/KernelLowering.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;
using recur::analysis::TokenRows;

static constexpr int64_t recordAlignment = 16;

/// Tokens that are replayed have rows before those of new ones: of these another block begins.
KernelLowering::TokenBlock KernelLowering::findTokenBlock(Value first) {
  Location loc = team.loc;
  Value end = value(heldStates->loop.getUpperBound()), stop = end;
  if (notTaken) {
    Value replayed = countReplayed();
    Value isReplayed = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, first, replayed);
    stop = team.select(isReplayed, arith::MinSIOp::create(builder, loc, replayed, end), end);
  }
  Value tokens = arith::ConstantIntOp::create(builder, loc, heldStates->rows.tokens, 64);
  return {first, arith::MinSIOp::create(builder, loc, stop, team.addWide(first, tokens))};
}

/// In the records from the first one on, or in the one of a token.
Place KernelLowering::findRow(const TokenRows::Row &row, Value record) {
  Value pointer = LLVM::GEPOp::create(builder, team.loc, shared.getType(), builder.getI8Type(), shared,
                                      ArrayRef<LLVM::GEPArg>{int32_t(row.offset)});
  TileType type = row.all;
  if (record) {
    pointer = team.offset(pointer, team.multiply(record, type.getStride(0)), type.getElementType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = 1;
    type = TileType::get(type.getContext(), shape, type.getElementType(), type.getMemory(), type.getStrides(), 0);
  }
  return {pointer, type, recordAlignment};
}

Place KernelLowering::findCome(const TokenRows::Row &row) {
  if (!row.came)
    return findRow(row, {});
  Value pointer = LLVM::GEPOp::create(builder, team.loc, shared.getType(), builder.getI8Type(), shared,
                                      ArrayRef<LLVM::GEPArg>{int32_t(row.cameTo)});
  return {pointer, row.came, recordAlignment};
}

/// A conversion is an instruction for each number, which all threads that multiply by it would do at each token.
void KernelLowering::convertRows(Value rows) {
  constexpr int64_t inPiece = 4;
  bool isAny = false;
  for (const TokenRows::Row &row : heldStates->rows.loads) {
    if (row.isAnother || !row.came)
      continue;
    isAny = true;
    forgetThread();
    Place from = findCome(row), to = findRow(row, {});
    int64_t pieces = row.came.getSize(1) / inPiece;
    team.deal({team.multiply(rows, pieces), row.came.getSize(0) * pieces}, [&](Value index) {
      SmallVector<Index> at{team.divide(index, pieces), team.multiply(team.remainder(index, pieces), inPiece)};
      team.putNeighbours(team.getWords(from, at, inPiece), to, at);
    });
  }
  if (isAny)
    team.barrier();
}

void KernelLowering::placeRow(const TokenRows::Row &row, Value record) { places[row.tile] = findRow(row, record); }

void KernelLowering::sumRows(Value rows) {
  const TokenRows &all = heldStates->rows;
  forgetThread();
  Value group = team.divide(team.thread, analysis::heldLanesAcross);
  Value isFirst = arith::CmpIOp::create(builder, team.loc, arith::CmpIPredicate::eq,
                                        team.remainder(team.thread, analysis::heldLanesAcross), team.constant(0));
  int64_t groups = team.threads / analysis::heldLanesAcross;
  for (int64_t begin = 0; begin < all.tokens; begin += groups) {
    Value token = team.add(group, begin), record = team.smaller(token, team.constant(all.tokens - 1));
    for (const std::vector<TokenRows::Row> *some : {&all.loads, &all.made})
      for (const TokenRows::Row &row : *some)
        placeRow(row, record);
    Value isThere = arith::AndIOp::create(builder, team.loc, isFirst, team.below(token, rows));
    for (const TokenRows::Row &row : all.sums)
      withPlaces([&](const HeldKernel &known) {
        Value sum = held->sum(row.op, known);
        team.when(isThere, [&] { team.put(sum, findRow(row, record), {Index(0)}); });
      });
  }
  team.barrier();
  pending.clear();
}

void KernelLowering::startTokenRows() {
  if (firstBlock || !heldStates->rows.tokens)
    return;
  // They lie behind all tiles of the plan.
  auto begin = int64_t(kernel.getShared().value_or(0));
  llvm::DenseMap<int64_t, Access> ofRows;
  for (const std::vector<TokenRows::Row> *some : {&heldStates->rows.loads, &heldStates->rows.made})
    for (const TokenRows::Row &row : *some) {
      int64_t end = begin + tileOf(row.tile).getExtent() * tileOf(row.tile).getElementBytes();
      extents[row.tile] = ofRows.try_emplace(row.offset, Access{Memory::Shared, begin, end, false}).first->second;
      begin = end;
    }
  Value zero = arith::ConstantIntOp::create(builder, team.loc, 0, 64);
  firstBlock = findTokenBlock(findBegin(heldStates->loop, zero));
  startTokenRows(*firstBlock);
}

/// All are under way before one is waited for.
void KernelLowering::startTokenRows(const TokenBlock &block) {
  startedRows.clear();
  for (const TokenRows::Row &row : heldStates->rows.loads) {
    placeRow(row, {});
    if (row.isAnother)
      continue;
    Place place = findCome(row);
    CallerArray array = arrayOf(cast<LoadOp>(row.op).getArray());
    startedRows.push_back({array, place, AheadLoad(team, array, place, /*isFree=*/true), {}});
  }
  Value from = findLoaded(heldStates->loop.getInductionVar(), block.first);
  Value rows = team.narrow(arith::SubIOp::create(builder, team.loc, block.stop, block.first));
  for (StartedRow &one : startedRows)
    if (one.load.canStart()) {
      forgetThread();
      one.load.begin(team);
      one.held = one.load.start(team, from, rows);
    }
}

LogicalResult KernelLowering::finishTokenRows(const TokenBlock &block) {
  Value from = findLoaded(heldStates->loop.getInductionVar(), block.first);
  Value rows = team.narrow(arith::SubIOp::create(builder, team.loc, block.stop, block.first));
  for (StartedRow &one : startedRows) {
    forgetThread();
    if (one.load.canStart())
      one.load.finish(team, from, rows, one.held, /*later=*/0);
    else
      emitLoad(team, one.array, from, rows, one.place);
  }
  team.barrier();
  pending.clear();
  convertRows(rows);
  for (const TokenRows::Row &row : heldStates->rows.made)
    placeRow(row, {});
  for (const TokenRows::Row &row : heldStates->rows.made) {
    if (row.isAnother)
      continue;
    auto op = cast<MapOp>(row.op);
    order(row.op);
    forgetThread();
    emitMap(team, op, placesOf(op.getInputs()), place(row.tile), rows);
  }
  orderAll();
  if (!heldStates->rows.sums.empty())
    sumRows(rows);
  return success();
}

void KernelLowering::endToken() {
  auto begin = int64_t(kernel.getShared().value_or(0));
  bool isQuiet = heldStates->rows.areAll && llvm::none_of(pending, [&](const Access &access) {
                   return access.memory == Memory::Shared && (access.isWrite || access.begin < begin);
                 });
  if (isQuiet)
    pending.clear(); // outputs of several tokens are apart
  else
    orderAll();
}

LogicalResult KernelLowering::lowerToken(scf::ForOp loop, Value row) {
  llvm::DenseSet<Operation *> isDone;
  for (const std::vector<TokenRows::Row> *some : {&heldStates->rows.loads, &heldStates->rows.made})
    for (const TokenRows::Row &own : *some) {
      placeRow(own, row);
      isDone.insert(own.op);
    }
  for (const TokenRows::Row &own : heldStates->rows.sums)
    sumsOfRow[own.op] = team.get(findRow(own, row), {Index(0)});
  SmallVector<Operation *> outputs = findOutputOps(*loop.getBody());
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!outputs.empty() && &op == outputs.front() && failed(lowerOutputs(outputs)))
      return failure();
    if (!isDone.contains(&op) && !llvm::is_contained(outputs, &op) && failed(lower(&op)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::lowerTokens(scf::ForOp op) {
  Location loc = op.getLoc();
  Type word64 = builder.getI64Type();
  auto isBelow = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
  };
  startTokenRows();
  if (failed(finishTokenRows(*firstBlock)))
    return failure();
  Value end = value(op.getUpperBound());
  SmallVector<Value> initial{firstBlock->first, firstBlock->stop};
  SmallVector<Type> types{word64, word64};
  SmallVector<Location> locations{loc, loc};
  auto blocks = scf::WhileOp::create(builder, loc, types, initial);
  OpBuilder::InsertionGuard guard(builder);
  Block *before = builder.createBlock(&blocks.getBefore(), {}, types, locations);
  scf::ConditionOp::create(builder, loc, isBelow(before->getArgument(0), end), before->getArguments());
  Block *after = builder.createBlock(&blocks.getAfter(), {}, types, locations);
  Value first = after->getArgument(0), stop = after->getArgument(1);
  auto tokens = scf::ForOp::create(builder, loc, first, stop, arith::ConstantIntOp::create(builder, loc, 1, 64));
  {
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPoint(tokens.getBody()->getTerminator());
    Value token = tokens.getInductionVar();
    values.map(op.getInductionVar(), token);
    if (failed(lowerToken(op, team.narrow(arith::SubIOp::create(builder, loc, token, first)))))
      return failure();
    endToken();
    keepAtMultiples(op);
  }
  forgetThread();
  TokenBlock next = findTokenBlock(stop);
  LogicalResult done = success();
  team.when(isBelow(stop, end), [&] {
    team.barrier(); // the next tokens' rows come where these lie
    // Where arrays begin is found anew, and not kept in registers from token to token.
    llvm::DenseMap<Value, CallerArray> arraysBefore = arrays;
    Value headBefore = head, sequenceBefore = sequence;
    auto firstBefore = std::exchange(firstOfLane, std::nullopt);
    head = forget(head), sequence = team.widen(forget(team.narrow(sequence)));
    for (const TokenRows::Row &row : heldStates->rows.loads)
      if (auto array = cast<BlockArgument>(cast<LoadOp>(row.op).getArray()); !listsArrays())
        arrays[array] = findArray(array);
    startTokenRows(next);
    done = finishTokenRows(next);
    arrays = arraysBefore, head = headBefore, sequence = sequenceBefore, firstOfLane = firstBefore;
  });
  scf::YieldOp::create(builder, loc, ValueRange{next.first, next.stop});
  return done;
}
