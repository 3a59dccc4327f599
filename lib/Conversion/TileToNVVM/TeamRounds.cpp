// How the chunks of all units, which are heads of sequences, are dealt out to teams, round by round, and how a team
// goes from one unit to the next.
//
// In a round each team has the next chunk: the first ones of all units, then the second ones and so on, so that
// whoever awaits them has those of every unit at about the same time. There may be any number of teams. Where it is no
// multiple of that of units a team has another unit in each round, and its arrays begin elsewhere. To find out where
// takes a few hundred instructions one behind another, so one warp does it for the next round while the team waits for
// loads.
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// The team's first unit. Where a CTA is one team, rows of the grid deal out each unit's chunks.
Value KernelLowering::findUnit() {
  Location loc = kernel.getLoc();
  Type word32 = builder.getI32Type(), word64 = builder.getI64Type();
  auto wordOf = [&](abi::LaunchWord index) { return team.narrow(word(index, word64)); };
  Value column = NVVM::BlockIdXOp::create(builder, loc, word32), row = NVVM::BlockIdYOp::create(builder, loc, word32);
  Value teams = NVVM::BlockDimYOp::create(builder, loc, word32);
  deal.units = wordOf(abi::UnitsWord);
  deal.teams = wordOf(abi::TeamsWord);
  deal.lasting = wordOf(abi::LastingTeamsWord);
  deal.sharedRounds = wordOf(abi::SharedRoundsWord);
  Value inRow = team.add(arith::MulIOp::create(builder, loc, column, teams), team.ownTeam);
  deal.own = team.add(inRow, arith::MulIOp::create(builder, loc, row, deal.units));
  if (keepsUnit()) {
    auto inUnits = [&](Value teams) { return arith::DivUIOp::create(builder, loc, teams, deal.units).getResult(); };
    deal.chunk = inUnits(deal.own);
    deal.rows = inUnits(deal.teams);
    deal.lastingRows = inUnits(deal.lasting);
  }
  return arith::RemUIOp::create(builder, loc, deal.own, deal.units);
}

KernelLowering::Turn KernelLowering::findTurn(Value round) {
  Location loc = kernel.getLoc();
  Value shared = team.smaller(round, deal.sharedRounds), alone = team.subtract(round, shared);
  auto countBefore = [&](Value inShared, Value inAlone) {
    return team.add(arith::MulIOp::create(builder, loc, shared, inShared),
                    arith::MulIOp::create(builder, loc, alone, inAlone));
  };
  Value lasts = team.below(deal.own, deal.lasting), exists = team.below(deal.own, deal.teams);
  Value isMine = arith::OrIOp::create(builder, loc, lasts, team.below(round, deal.sharedRounds));
  isMine = arith::AndIOp::create(builder, loc, exists, isMine);
  auto number = [&] { return team.add(countBefore(deal.teams, deal.lasting), deal.own); };
  auto fromUnits = [&]() -> Turn {
    if (keepsUnit())
      return {team.add(countBefore(deal.rows, deal.lastingRows), deal.chunk),
              arith::RemUIOp::create(builder, loc, deal.own, deal.units), isMine};
    Value of = number();
    return {arith::DivUIOp::create(builder, loc, of, deal.units), arith::RemUIOp::create(builder, loc, of, deal.units),
            isMine};
  };
  if (!mayHaveList)
    return fromUnits();
  Type word32 = builder.getI32Type(), bit = builder.getI1Type();
  auto choice = scf::IfOp::create(builder, loc, TypeRange{word32, word32, bit}, hasList, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(choice.thenBlock());
  Entry entry = findEntry(number());
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  Value unit = team.add(arith::MulIOp::create(builder, loc, entry.sequence, heads), entry.head);
  Value isThere = arith::AndIOp::create(builder, loc, isMine, entry.isThere);
  scf::YieldOp::create(builder, loc, ValueRange{entry.chunk, unit, isThere});
  builder.setInsertionPointToEnd(choice.elseBlock());
  Turn other = fromUnits();
  scf::YieldOp::create(builder, loc, ValueRange{other.chunk, other.unit, other.isMine});
  return {choice.getResult(0), choice.getResult(1), choice.getResult(2)};
}

void KernelLowering::setUnit(Value unit) {
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  sequence = team.widen(arith::DivUIOp::create(builder, kernel.getLoc(), unit, heads));
  head = arith::RemUIOp::create(builder, kernel.getLoc(), unit, heads);
}

/// Only units of a list have other tokens than the team's first one.
void KernelLowering::setUnitOfRound(Value unit) {
  setUnit(unit);
  if (!mayHaveList)
    return;
  Location loc = kernel.getLoc();
  Type word64 = builder.getI64Type();
  auto choice = scf::IfOp::create(builder, loc, TypeRange{word64, word64}, hasList, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(choice.thenBlock());
  Tokens tokens = findTokens(sequence);
  scf::YieldOp::create(builder, loc, ValueRange{tokens.first, tokens.count});
  builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(builder, loc, ValueRange{deal.firstToken, deal.tokens});
  firstToken = choice.getResult(0);
  unitTokens = choice.getResult(1);
}

/// The loop carries the round.
Dealt KernelLowering::dealToTeams(scf::ParallelOp op) {
  Location loc = op.getLoc();
  Value begin = wideNumber(op.getLowerBound()[0]), end = wideNumber(op.getUpperBound()[0]),
        step = wideNumber(op.getStep()[0]), one = arith::ConstantIntOp::create(builder, loc, 1, 64);
  Value rounded = arith::SubIOp::create(builder, loc, team.addWide(end, step), one);
  Value distance = arith::SubIOp::create(builder, loc, rounded, begin);
  chunksOfUnit = team.narrow(arith::DivUIOp::create(builder, loc, distance, step));
  if (mayHaveList) // which has no others
    chunksOfUnit = team.select(hasList, team.constant(INT32_MAX), chunksOfUnit);
  deal.begin = begin, deal.step = step;
  deal.firstToken = firstToken, deal.tokens = value(kernel.getBody().front().getArguments().back());
  bool keeps = keepsRounds();
  if (keeps)
    keepRounds();
  auto isThere = [=, this](const Turn &turn) -> Value {
    return arith::AndIOp::create(builder, loc, turn.isMine, team.below(turn.chunk, chunksOfUnit));
  };
  // A round has a chunk of each team that lasts at least.
  // There are no flags of a list.
  Value most =
      arith::DivUIOp::create(builder, loc, arith::MulIOp::create(builder, loc, chunksOfUnit, deal.units), deal.lasting);
  flags.clear(team, team.add(most, 1), [&](Value round) {
    Turn turn = findTurn(round);
    team.when(isThere(turn), [&] { ChunkFlags::clearAt(team, findFlag(turn)); });
  });
  auto findChunk = [=, this](Value round) -> std::pair<Value, Value> {
    if (keeps && !keepsUnit())
      return recallChunk(round);
    auto find = [&]() -> std::pair<Value, Value> {
      Turn turn = findTurn(round);
      return {turn.chunk, isThere(turn)};
    };
    if (!keeps || !mayHaveList)
      return find();
    Type types[] = {builder.getI32Type(), builder.getI1Type()};
    auto choice = scf::IfOp::create(builder, loc, types, hasList, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(choice.thenBlock());
    auto [kept, isKept] = recallChunk(round);
    scf::YieldOp::create(builder, loc, ValueRange{kept, isKept});
    builder.setInsertionPointToEnd(choice.elseBlock());
    auto [found, isFound] = find();
    scf::YieldOp::create(builder, loc, ValueRange{found, isFound});
    return {choice.getResult(0), choice.getResult(1)};
  };
  auto findFirst = [=, this](Value chunk) { return team.addWide(begin, team.multiplyWide(team.widen(chunk), step)); };
  Type narrow = builder.getI32Type();
  auto loop = scf::WhileOp::create(builder, loc, TypeRange{narrow, narrow}, ValueRange{team.constant(0)});
  OpBuilder::InsertionGuard guard(builder);
  Block *before = builder.createBlock(&loop.getBefore(), {}, TypeRange{narrow}, {loc});
  Value round = before->getArgument(0);
  auto [chunk, isMine] = findChunk(round);
  scf::ConditionOp::create(builder, loc, isMine, ValueRange{round, chunk});
  Block *body = builder.createBlock(&loop.getAfter(), {}, TypeRange{narrow, narrow}, {loc, loc});
  round = body->getArgument(0);
  // What waits for chunks gets the multiprocessors that are left behind the shared rounds. Before, a few of its CTAs
  // would have room here and there, and slow down the teams beside them.
  flags.letOthersStart(team, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, round, deal.sharedRounds));
  Value first = findFirst(body->getArgument(1));
  scf::YieldOp::create(builder, loc, ValueRange{team.add(round, 1)});
  return {loop, body, first, round, loop.getResult(0), [=](Value other) {
            auto [own, isThere] = findChunk(other);
            return std::pair<Value, Value>(findFirst(own), isThere);
          }};
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

static constexpr int64_t flagBytes = 4;

Value KernelLowering::findFlag(const Turn &turn) {
  Value headBefore = head, sequenceBefore = sequence;
  setUnit(turn.unit);
  auto array = [&](abi::ArrayWord index) { return word(abi::getWord(countArrays() - 1, index), builder.getI64Type()); };
  Value bytes = arith::ConstantIntOp::create(builder, kernel.getLoc(), flagBytes, 64);
  Value first = findAddress(array, {}, bytes, /*isState=*/false);
  head = headBefore, sequence = sequenceBefore;
  return team.addWide(first, team.widen(team.multiply(turn.chunk, flagBytes)));
}

void KernelLowering::announceBefore(Value round) {
  flags.announce(team, team.below(team.constant(0), round), [&]() -> Value {
    Value before = team.add(round, -1);
    if (!keepsRounds())
      return findFlag(findTurn(before));
    Value kept = findKeptTurn(keepsUnit() ? team.constant(0) : before);
    Value place = LLVM::LoadOp::create(builder, team.loc, builder.getI64Type(), kept, 8, /*isVolatile=*/true);
    if (!keepsUnit())
      return place;
    return team.addWide(place, team.widen(team.multiply(findTurn(before).chunk, flagBytes)));
  });
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

static int64_t countArguments(KernelOp kernel) { return int64_t(kernel.getBody().getNumArguments()) - 1; }

bool KernelLowering::keepsRounds() {
  int64_t end = 0;
  kernel.walk([&](AllocOp tile) {
    TileType type = tile.getType();
    if (type.getMemory() == Memory::Shared)
      end = std::max(end, int64_t(tile.getOffset().value_or(0)) + type.getExtent() * type.getElementBytes());
  });
  int64_t kept = recur::abi::countTeamBytes(int(countArguments(kernel)));
  return kernel.getTeams() && !isCrowded() && int64_t(*kernel.getShared()) - kept >= end;
}

Value KernelLowering::findKeptTurn(Value round) {
  int64_t first = int64_t(*kernel.getShared()) - abi::turnBytes * abi::keptTurns;
  Value number = arith::AndIOp::create(builder, team.loc, round, team.constant(abi::keptTurns - 1));
  return team.offset(shared, team.add(team.multiply(number, abi::turnBytes), first), builder.getI8Type());
}

Value KernelLowering::findKeptArrays(Value round) {
  auto count = int(countArguments(kernel));
  int64_t first = int64_t(*kernel.getShared()) - abi::countTeamBytes(count);
  if (keepsUnit() && !mayHaveList)
    return team.offset(shared, team.constant(first), builder.getI8Type());
  Value isOdd = arith::AndIOp::create(builder, team.loc, round, team.constant(1));
  if (keepsUnit())
    isOdd = team.select(hasList, isOdd, team.constant(0));
  Value place = team.add(team.multiply(isOdd, abi::arrayPlaceBytes * count), first);
  return team.offset(shared, place, builder.getI8Type());
}

std::pair<Value, Value> KernelLowering::recallChunk(Value round) {
  Value place = team.offset(findKeptTurn(round), team.constant(1), builder.getI64Type());
  Value chunk = LLVM::LoadOp::create(builder, team.loc, builder.getI32Type(), place, 4, /*isVolatile=*/true);
  return {chunk, team.below(team.constant(-1), chunk)};
}

/// A lane of the last warp finds an array, or the flag: of the chunk, or of the unit's first one where that is kept.
void KernelLowering::keepRound(Value round) {
  int64_t count = countArguments(kernel);
  Value isLast =
      arith::CmpIOp::create(builder, team.loc, arith::CmpIPredicate::eq, team.warp, team.constant(team.warps() - 1));
  team.when(isLast, [&] {
    Value headBefore = head, sequenceBefore = sequence, firstBefore = firstToken;
    Turn turn = findTurn(round);
    setUnitOfRound(turn.unit);
    Value isThere = arith::AndIOp::create(builder, team.loc, turn.isMine, team.below(turn.chunk, chunksOfUnit));
    Value own = team.select(isThere, turn.chunk, team.constant(-1)), chunk = team.widen(own);
    Value none = arith::ConstantIntOp::create(builder, team.loc, 0, 64);
    Value toFlag = keepsUnit() ? none : team.widen(team.multiply(own, flagBytes));
    if (mayHaveList)
      chunk = withTokens(own);
    Value arrays = findKeptArrays(round), kept = findKeptTurn(round);
    for (int64_t from = 0; from <= count; from += warpThreads) {
      ArrayOfLane array = findArrayOfLane(from, count + 1);
      Value isFlag =
          arith::CmpIOp::create(builder, team.loc, arith::CmpIPredicate::eq, array.number, team.constant(count));
      Value place = team.offset(arrays, team.multiply(array.number, abi::arrayPlaceBytes), builder.getI8Type());
      place = team.select(isFlag, kept, place);
      Value distance = team.select(isFlag, toFlag, none);
      team.store(team.addWide(array.address, distance), place);
      team.store(team.select(isFlag, chunk, array.tokenStride),
                 team.offset(place, team.constant(1), builder.getI64Type()));
    }
    head = headBefore, sequence = sequenceBefore, firstToken = firstBefore;
  });
}

/// The chunk in the lower half; in the upper one how many tokens the unit has from there on, or as many as it can hold.
Value KernelLowering::withTokens(Value chunk) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, team.loc, value, 64); };
  Value first = team.addWide(deal.begin, team.multiplyWide(team.widen(chunk), deal.step));
  Value rest = arith::SubIOp::create(builder, team.loc, unitTokens, first);
  rest = arith::MinSIOp::create(builder, team.loc, rest, constant(INT32_MAX));
  Value upper = arith::ShLIOp::create(builder, team.loc, rest, constant(32));
  return arith::OrIOp::create(builder, team.loc, upper,
                              arith::ExtUIOp::create(builder, team.loc, builder.getI64Type(), chunk));
}

void KernelLowering::keepRounds() {
  keepRound(team.constant(0));
  team.barrier();
}

CallerArray KernelLowering::recall(Value array, CallerArray known) {
  if (!keptArrays)
    return known;
  int64_t number = cast<BlockArgument>(array).getArgNumber();
  Value place = team.offset(keptArrays, team.constant(number * abi::arrayPlaceBytes), builder.getI8Type());
  auto load = [&](Value from) -> Value {
    return LLVM::LoadOp::create(builder, team.loc, builder.getI64Type(), from, 8, /*isVolatile=*/true);
  };
  known.pointer = LLVM::IntToPtrOp::create(builder, team.loc, known.pointer.getType(), load(place));
  known.tokenStride = load(team.offset(place, team.constant(1), builder.getI64Type()));
  return known;
}

/// What is known of arrays but where they begin.
void KernelLowering::forgetWhereArraysBegin() {
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  Value nowhere = LLVM::ZeroOp::create(builder, loc, pointer), none = arith::ConstantIntOp::create(builder, loc, 0, 64);
  for (BlockArgument array : kernel.getBody().getArguments().drop_back()) {
    arrays[array] = {nowhere, cast<TileType>(array.getType()), none, findInnerStrides(array)};
  }
}
