// Tokens that are tried as a tree, in a kernel of their own. Threads hold the state of the token before; where a token
// is behind an earlier one, they take that one's from the workspace, where each state lies that such a token begins
// with.
//
// What a tree is takes two masks of 16 bits: which of the states before its first tokens are taken up again; and of the
// tokens that are gone over again, which lie on the path that was taken. A token's number is above its parent's, so the
// tokens of a path are in the order of their numbers.
#include "ABI/KernelSignature.h"
#include "ABI/LaunchWords.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

static constexpr int64_t mostTokens = RECUR_MOST_KEPT_TOKENS, maskBits = 16;
static_assert(mostTokens <= maskBits && 2 * mostTokens <= warpThreads, "a lane has a token, and a mask a bit for each");

static Value bound(TeamCode &t, Value number, Value least, Value most) {
  return arith::MaxSIOp::create(t.builder, t.loc, arith::MinSIOp::create(t.builder, t.loc, number, most), least);
}

/// Of a token of the sequence, which may have no number; nobody reads beyond those that there are.
Value KernelLowering::findParent(Value token, Value isOfSequence) {
  Location loc = team.loc;
  Value count = team.narrow(countReplayed()), one = team.constant(1), minusOne = team.constant(-1);
  Value isReplayed = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, token, count);
  Value before = team.subtract(team.select(isReplayed, token, team.subtract(token, count)), one);
  auto load = [&] {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    Value parents = LLVM::IntToPtrOp::create(builder, loc, pointer, word(abi::ParentsWord, builder.getI64Type()));
    Value place =
        team.addWide(team.multiplyWide(sequence, word(abi::ParentStrideWord, builder.getI64Type())), team.widen(token));
    return team.load(team.offset(parents, place, builder.getI32Type()), builder.getI32Type());
  };
  Value columns = team.narrow(word(abi::ParentColumnsWord, builder.getI64Type()));
  Value isGiven = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, token, columns);
  if (isOfSequence)
    isGiven = arith::AndIOp::create(builder, loc, isGiven, isOfSequence);
  return bound(team, team.choose(isGiven, load, before), minusOne, before);
}

/// A lane has the token of its number.
Value KernelLowering::findTree(Value taken, Value tokens) {
  Location loc = team.loc;
  Value replayed = team.narrow(countReplayed()), zero = team.constant(0), one = team.constant(1);
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto both = [&](Value a, Value b) -> Value { return arith::AndIOp::create(builder, loc, a, b); };
  auto either = [&](Value a, Value b) -> Value { return arith::OrIOp::create(builder, loc, a, b); };
  auto bit = [&](Value number) -> Value { return arith::ShLIOp::create(builder, loc, one, number); };
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, team.widen(team.lane), tokens);
  Value parent = findParent(team.lane, isThere), own = team.subtract(team.lane, replayed);
  Value isTried = both(compare(arith::CmpIPredicate::sge, own, zero), team.below(own, team.constant(mostTokens)));
  Value isFork = both(isTried, compare(arith::CmpIPredicate::ne, team.add(parent, 1), own));
  // The state before the token behind the parent.
  Value forks = team.combineLanes(team.select(isFork, bit(team.add(parent, 1)), zero), either);
  Value last = team.subtract(bound(team, taken, zero, replayed), one);
  SmallVector<Value> path = team.loop(
      zero, bound(team, replayed, zero, team.constant(mostTokens)), 1, {zero, last}, [&](Value, ValueRange now) {
        Value isOn = compare(arith::CmpIPredicate::sge, now[1], zero), token = bound(team, now[1], zero, replayed);
        Value before = bound(team, team.fromLane(parent, token), team.constant(-1), team.subtract(token, one));
        return SmallVector<Value>{team.select(isOn, either(now[0], bit(token)), now[0]),
                                  team.select(isOn, before, now[1])};
      });
  return either(path[0], arith::ShLIOp::create(builder, loc, forks, team.constant(maskBits)));
}

Value KernelLowering::countTaken() {
  Value path = arith::AndIOp::create(builder, team.loc, tree, team.constant((1 << maskBits) - 1));
  return LLVM::CtPopOp::create(builder, team.loc, path.getType(), path);
}

/// The token of so many on the path that was taken.
Value KernelLowering::findTaken(Value number) {
  Location loc = team.loc;
  Value one = team.constant(1);
  SmallVector<Value> rest = team.loop(team.constant(0), number, 1, tree, [&](Value, ValueRange now) {
    return SmallVector<Value>{arith::AndIOp::create(builder, loc, now[0], team.subtract(now[0], one))};
  });
  Value token =
      LLVM::CountTrailingZerosOp::create(builder, loc, builder.getI32Type(), rest[0], /*is_zero_poison=*/false);
  return bound(team, token, team.constant(0), team.constant(mostTokens - 1));
}

/// A loop asks for the same token's of each array.
Value KernelLowering::findOnPath(Value token) {
  Block *here = builder.getInsertionBlock();
  if (lastLoaded.token == token &&
      (lastLoaded.block == here || lastLoaded.block->findAncestorOpInBlock(*here->getParentOp())))
    return lastLoaded.loaded;
  Value isReplayed = arith::CmpIOp::create(builder, team.loc, arith::CmpIPredicate::slt, team.narrow(token),
                                           team.narrow(countReplayed()));
  auto find = [&] {
    Value begin = team.subtract(team.narrow(countReplayed()), countTaken());
    return team.widen(findTaken(team.subtract(team.narrow(token), begin)));
  };
  lastLoaded = {token, team.choose(isReplayed, find, token), here};
  return lastLoaded.loaded;
}

KernelLowering::Fork KernelLowering::findFork(Value token) {
  Location loc = team.loc;
  Value narrow = team.narrow(token), own = team.subtract(narrow, team.narrow(countReplayed()));
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  Value isTried = compare(arith::CmpIPredicate::ult, own, team.constant(mostTokens));
  Value bit = team.select(isTried, team.add(own, maskBits), team.constant(0));
  Value forks = arith::ShRUIOp::create(builder, loc, tree, bit);
  Value isAny =
      compare(arith::CmpIPredicate::ne, arith::AndIOp::create(builder, loc, forks, team.constant(1)), team.constant(0));
  Value parent = findParent(narrow);
  Value isElsewhere = compare(arith::CmpIPredicate::ne, team.add(parent, 1), own);
  auto whereTried = [&](Value condition) -> Value { return arith::AndIOp::create(builder, loc, isTried, condition); };
  return {whereTried(isAny), own, whereTried(isElsewhere), team.add(parent, 1)};
}

/// The arrays of kept states are the last ones, as many as there are final ones; of each a state lies behind those
/// before it.
CallerArray KernelLowering::findForkArray(StoreOp kept, Value row) {
  Location loc = team.loc;
  Type word64 = builder.getI64Type();
  auto array = cast<BlockArgument>(kept.getArray());
  ArrayRef<BlockArgument> arrays = kernel.getBody().front().getArguments().drop_back();
  unsigned count = array.getArgNumber() - cast<BlockArgument>(findFinalOfKept(kept)).getArgNumber();
  int64_t rowBytes = 0, offset = 0;
  auto wide = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(builder, loc, number, 64); };
  for (BlockArgument state : arrays.take_back(count)) {
    if (state == array)
      offset = rowBytes;
    int64_t elements = llvm::product_of(tileOf(state).getShape().drop_front());
    rowBytes += int64_t(llvm::alignTo(uint64_t(elements) * sizeof(float), abi::workspaceAlignment));
  }
  Value unit = findUnitOfGrid();
  Value address = team.addWide(word(abi::WorkspaceWord, word64), word(abi::TreeOffsetWord, word64));
  address = team.addWide(address, team.multiplyWide(team.widen(unit), word(abi::WorkspaceStrideWord, word64)));
  address = team.addWide(address, team.addWide(team.multiplyWide(team.widen(row), wide(rowBytes)), wide(offset)));
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  TileType type = tileOf(array);
  CallerArray found{LLVM::IntToPtrOp::create(builder, loc, pointer, address), type, wide(0), {}, 0};
  if (type.getRank() == 3)
    found.innerStrides = {wide(type.getSize(2)), wide(1)};
  return found;
}

void KernelLowering::takeFork(StoreOp kept) {
  Value zero = arith::ConstantIntOp::create(builder, team.loc, 0, 64), one = team.constant(1);
  bool isHeld = held && held->isState(kept.getTile());
  Place tile = isHeld ? Place() : place(kept.getTile());
  Fork fork = findFork(value(kept.getFirst()));
  team.when(fork.isKept, [&] { store(kept.getTile(), tile, one, findForkArray(kept, fork.row), zero); });
  team.when(fork.isElsewhere, [&] {
    CallerArray array = findForkArray(kept, fork.rowElsewhere);
    if (isHeld)
      return held->load(kept.getTile(), array, zero);
    team.barrier(); // others may still read the tile, or have part of the row to store
    emitLoad(team, array, zero, one, tile);
    team.barrier();
  });
}
