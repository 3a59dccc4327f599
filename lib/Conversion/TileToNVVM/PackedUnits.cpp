// Which packed sequence a CTA has, and which tokens are in it. Where the launch has a list, a CTA has one of its
// chunks, or a team in each round; chains go from one head of a sequence to another, in the order that is there.
#include "ABI/LaunchWords.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "Conversion/TileToNVVM/Listing.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

void KernelLowering::findList() {
  Location loc = kernel.getLoc();
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  auto global = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  list = LLVM::AddrSpaceCastOp::create(builder, loc, global, word(abi::ListWord, generic));
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 64);
  hasList =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, word(abi::ListWord, builder.getI64Type()), none);
}

/// Heads of a chunk are neighbours, as their rows are in most arrays.
KernelLowering::Entry KernelLowering::findEntry(Value number) {
  Location loc = kernel.getLoc();
  Type narrow = builder.getI32Type();
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  Value entry = arith::DivUIOp::create(builder, loc, number, heads);
  Value isThere = team.below(entry, team.load(list, narrow));
  // Nothing was written to what is not there.
  Value place =
      team.add(team.multiply(team.select(isThere, entry, team.constant(0)), abi::listEntryBytes), abi::listHeaderBytes);
  Value pair = team.load(team.offset(list, team.widen(place), builder.getI8Type()), VectorType::get(2, narrow));
  auto at = [&](int64_t index) -> Value {
    return LLVM::ExtractElementOp::create(builder, loc, pair, team.constant(index));
  };
  return {team.select(isThere, at(0), team.constant(0)), team.select(isThere, at(1), team.constant(0)),
          arith::RemUIOp::create(builder, loc, number, heads), isThere};
}

Value KernelLowering::findUnitOfGrid() {
  Value column = NVVM::BlockIdXOp::create(builder, kernel.getLoc(), builder.getI32Type());
  return team.divide(column, analysis::getStateParts(kernel));
}

Value KernelLowering::findOwnUnit() {
  Location loc = kernel.getLoc();
  Type narrow = builder.getI32Type(), bit = builder.getI1Type();
  Value own = findUnitOfGrid();
  if (!mayHaveList)
    return own;
  auto choice = scf::IfOp::create(builder, loc, TypeRange{narrow, narrow, bit}, hasList, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard inside(builder);
  builder.setInsertionPointToEnd(choice.thenBlock());
  Entry entry = findEntry(own);
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  Value unit = team.add(arith::MulIOp::create(builder, loc, entry.sequence, heads), entry.head);
  scf::YieldOp::create(builder, loc, ValueRange{unit, entry.chunk, entry.isThere});
  builder.setInsertionPointToEnd(choice.elseBlock());
  Value row = NVVM::BlockIdYOp::create(builder, loc, narrow);
  scf::YieldOp::create(builder, loc, ValueRange{own, row, arith::ConstantIntOp::create(builder, loc, 1, 1)});
  ownChunk = choice.getResult(1);
  listsChunk = choice.getResult(2);
  return choice.getResult(0);
}

/// Packed sequences lie between offsets; others have all tokens.
KernelLowering::Tokens KernelLowering::findTokens(Value sequence) {
  Location loc = kernel.getLoc();
  Type word64 = builder.getI64Type(), bit = builder.getI1Type();
  Value offsets = word(abi::OffsetsWord, LLVM::LLVMPointerType::get(builder.getContext()));
  Value all = word(abi::TokensWord, word64);
  auto choice = scf::IfOp::create(builder, loc, TypeRange{word64, word64, bit}, isPacked, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard inside(builder);
  builder.setInsertionPointToEnd(choice.thenBlock());
  auto read = isCrowded() ? readOffsetsOrEnd : readOffsets;
  PackedTokens own = read(team, offsets, sequence, all);
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, own.count, bound);
  };
  Value isMeant =
      arith::AndIOp::create(builder, loc, compare(arith::CmpIPredicate::sge, word(abi::FromTokensWord, word64)),
                            compare(arith::CmpIPredicate::slt, word(abi::BelowTokensWord, word64)));
  scf::YieldOp::create(builder, loc, ValueRange{own.first, own.count, isMeant});
  builder.setInsertionPointToEnd(choice.elseBlock());
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  scf::YieldOp::create(builder, loc, ValueRange{zero, all, arith::ConstantIntOp::create(builder, loc, 1, 1)});
  return {choice.getResult(0), choice.getResult(1), choice.getResult(2)};
}

/// An instruction of its own, since a branch that LLVM sees takes registers from there on.
void KernelLowering::endIfLeftAlone(Value unit) {
  Location loc = kernel.getLoc();
  Type word64 = builder.getI64Type();
  Value first = word(abi::LeftAloneWord, word64), bytes = arith::ConstantIntOp::create(builder, loc, 4, 64);
  Value own = team.addWide(first, arith::MulIOp::create(builder, loc, team.widen(unit), bytes));
  LLVM::InlineAsmOp::create(builder, loc, TypeRange(), ValueRange{first, own},
                            "{ .reg .pred p; .reg .b32 v; mov.b32 v, 0; setp.ne.s64 p, $0, 0; "
                            "@p ld.global.b32 v, [$1]; setp.ne.b32 p, v, 0; @p exit; }",
                            "l,l", /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

/// One that runs beside another ends with it all the same, for whoever comes next finds both done.
void KernelLowering::endUnless(Value condition) {
  Location loc = kernel.getLoc();
  Block *here = builder.getInsertionBlock();
  Block *end = builder.createBlock(here->getParent(), here->getParent()->end());
  if (kernel.getAwaits())
    NVVM::GriddepcontrolOp::create(builder, loc, NVVM::GridDepActionKind::wait);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  Block *rest = builder.createBlock(end);
  builder.setInsertionPointToEnd(here);
  LLVM::CondBrOp::create(builder, loc, condition, rest, end);
  builder.setInsertionPointToStart(rest);
}

Value KernelLowering::findTokensOfRound(Value round, Value first) {
  if (!keepsRounds())
    return unitTokens;
  auto fromKept = [&]() -> Value {
    Value place = team.offset(findKeptTurn(round), team.constant(3), builder.getI32Type());
    Value rest = LLVM::LoadOp::create(builder, team.loc, builder.getI32Type(), place, 4, /*isVolatile=*/true);
    return team.addWide(first, team.widen(rest));
  };
  if (!keepsUnit())
    return fromKept();
  return team.choose(hasList, fromKept, value(kernel.getBody().front().getArguments().back()));
}

/// As abi::getCutClass has it.
Value KernelLowering::findSegments(Value chunks) {
  Location loc = kernel.getLoc();
  Type word32 = builder.getI32Type();
  Value isExact = team.below(chunks, team.constant(abi::exactCuts));
  Value zeros = math::CountLeadingZerosOp::create(builder, loc, chunks),
        power = team.subtract(team.constant(31), zeros);
  power = team.select(isExact, team.constant(3), power);
  Value quarter = arith::ShRUIOp::create(builder, loc, chunks, team.add(power, -2));
  quarter = arith::AndIOp::create(builder, loc, quarter, team.constant(3));
  Value found = team.add(team.add(team.multiply(power, 4), quarter), abi::exactCuts - 4 * 3);
  found = team.smaller(team.select(isExact, chunks, found), team.constant(abi::cutClasses - 1));
  Value place = LLVM::GEPOp::create(builder, loc, arguments.getType(), builder.getI8Type(), arguments,
                                    ArrayRef<LLVM::GEPArg>{team.add(found, 8 * abi::CutsWord)});
  return arith::ExtUIOp::create(builder, loc, word32, team.load(place, builder.getI8Type()));
}

//===----------------------------------------------------------------------===//
// From unit to unit
//===----------------------------------------------------------------------===//

/// In every other round the CTAs have units in reverse, so that none always has the longest of a round.
static Value findNumber(TeamCode &t, Value round, Value own, Value ctas) {
  Value isOdd = t.below(t.constant(0), t.remainder(round, 2));
  Value place = t.select(isOdd, t.subtract(t.add(ctas, -1), own), own);
  return t.add(arith::MulIOp::create(t.builder, t.loc, round, ctas), place);
}

Value KernelLowering::countAllUnits() {
  Type narrow = builder.getI32Type();
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  Value sequences = team.load(team.offset(list, team.constant(1), narrow), narrow);
  return arith::MulIOp::create(builder, kernel.getLoc(), sequences, heads);
}

Value KernelLowering::countUnits() {
  Location loc = kernel.getLoc();
  Type narrow = builder.getI32Type();
  Value own = NVVM::BlockIdXOp::create(builder, loc, narrow), ctas = NVVM::GridDimXOp::create(builder, loc, narrow);
  Value units = countAllUnits(), rounds = arith::DivUIOp::create(builder, loc, units, ctas);
  Value hasAnother = team.below(findNumber(team, rounds, own, ctas), units);
  return team.add(rounds, arith::ExtUIOp::create(builder, loc, narrow, hasAnother));
}

Value KernelLowering::findUnitNumber(Value round) {
  Type narrow = builder.getI32Type();
  return findNumber(team, round, NVVM::BlockIdXOp::create(builder, kernel.getLoc(), narrow),
                    NVVM::GridDimXOp::create(builder, kernel.getLoc(), narrow));
}

Value KernelLowering::findInOrder(Value number) {
  Location loc = kernel.getLoc();
  Type narrow = builder.getI32Type();
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  auto global = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  Value order = LLVM::AddrSpaceCastOp::create(builder, loc, global, word(abi::OrderWord, generic));
  Value place = team.offset(order, team.widen(arith::DivUIOp::create(builder, loc, number, heads)), narrow);
  return team.widen(team.load(place, narrow));
}

/// The unit's sequence, and the tokens of that. Behind the last one there is none; it has the first sequence's.
SmallVector<Value> KernelLowering::findUnit(Value round) {
  Value number = findUnitNumber(round);
  Value isThere = team.below(number, countAllUnits());
  Value found = findInOrder(team.select(isThere, number, team.constant(0)));
  Value none = arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64);
  found = team.select(isThere, found, none); // there may be none at all, and then the order says nothing
  Tokens tokens = findTokens(found);
  return {found, tokens.first, tokens.count};
}

void KernelLowering::setUnitOf(Value number, Value found) {
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  sequence = found;
  head = arith::RemUIOp::create(builder, kernel.getLoc(), number, heads);
}

void KernelLowering::setUnitAgain() {
  Value number = findUnitNumber(forget(ownRound));
  setUnitOf(number, findInOrder(number));
}

void KernelLowering::enterUnit(Value round, ValueRange found) {
  ownRound = round;
  setUnitOf(findUnitNumber(round), found[0]);
  firstToken = found[1];
  setTokens(found[2]);
  findArrays();
  firstOfLane = {};
  for (Operation &op : kernel.getBody().front())
    if (isa<arith::ArithDialect>(op.getDialect()))
      builder.clone(op, values);
    else if (auto segment = dyn_cast<SegmentOp>(op)) // of one
      setWhole(segment);
}

void KernelLowering::emitFromUnitToUnit() {
  findList();
  auto findFinalOfUnit = [&](Value end) { return findFinal(end); };
  std::unique_ptr<ChainMultiples> multiples = makeMultiples();
  ChainKernel whole{arrays, values, shared, {}, part, {}, std::nullopt, findFinalOfUnit, multiples.get()};
  whole.countUnits = [&] { return countUnits(); };
  whole.findUnit = [&](Value round) { return findUnit(round); };
  whole.enterUnit = [&](Value round, ValueRange found) { enterUnit(round, found); };
  emitStateChain(team, *chain, whole);
}
