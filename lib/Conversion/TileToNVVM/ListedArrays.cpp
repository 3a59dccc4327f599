// Where arrays begin, in shared memory. It is read there whenever an array is: from token to token it takes no
// registers, and where a state may lie in a pool is spelled out once for all of them.
#include "Analysis/ListedArrays.h"
#include "Conversion/TileToNVVM/KernelLowering.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

bool KernelLowering::listsArrays() {
  return kernel->hasAttr(analysis::listsArraysAttribute) && !chain && !carry && !rowPass;
}

Value KernelLowering::placeInList(bool isOnTheWay, Value number) {
  auto bytes = int64_t(kernel.getShared().value_or(0));
  int64_t begin = analysis::beginOfLists(heldStates ? heldStates->countShared(bytes) : bytes);
  Value list = LLVM::GEPOp::create(builder, team.loc, shared.getType(), builder.getI8Type(), shared,
                                   ArrayRef<LLVM::GEPArg>{int32_t(begin)});
  return team.offset(list, isOnTheWay ? team.add(number, countArrays()) : number, builder.getI64Type());
}

/// All threads of the CTA meet behind it.
void KernelLowering::listArrays(bool isOnTheWay) {
  Value thread = team.thread, lane = team.lane, warp = team.warp;
  forgetThread();
  team.deal({team.constant(countArrays()), countArrays()},
            [&](Value number) { team.store(findAddressOf(number), placeInList(isOnTheWay, number)); });
  team.barrier();
  team.thread = thread, team.lane = lane, team.warp = warp;
}

Value KernelLowering::findListed(int number, bool isOnTheWay) {
  return team.load(placeInList(isOnTheWay, team.constant(number)), builder.getI64Type());
}

/// Before a token's first state is kept: where the rows are of those before it. Others may still read those of the
/// token before.
void KernelLowering::listBeforeToken(Value token) {
  if (!listsArrays() || lastListed == token)
    return;
  lastListed = token;
  team.when(keepsTokens(token), [&] {
    Value before = std::exchange(tokensBefore, token);
    team.barrier();
    listArrays(/*isOnTheWay=*/true);
    tokensBefore = before;
  });
}

/// The array that a kept state goes to: the call has a row for it, or all states before tokens.
CallerArray KernelLowering::chooseKept(StoreOp kept, BlockArgument final, Value &first) {
  Value isRow = keepsTokens(first);
  CallerArray array = findArray(cast<BlockArgument>(kept.getArray())), row = findArray(final, /*isState=*/true);
  auto choose = [&](Value a, Value b) { return team.select(isRow, a, b); };
  array.pointer = choose(row.pointer, array.pointer);
  array.tokenStride = choose(row.tokenStride, array.tokenStride);
  for (auto [own, other] : llvm::zip(array.innerStrides, row.innerStrides))
    own = choose(other, own);
  first = choose(arith::ConstantIntOp::create(builder, team.loc, 0, 64), first);
  return array;
}

/// The loads in front of the loop, from one on: all are under way before one is waited for.
LogicalResult KernelLowering::lowerLoadsTogether(Block::iterator first, Block::iterator &next) {
  constexpr int64_t mostAccesses = 24;
  std::vector<Ahead> ahead;
  SmallVector<SmallVector<Value>> held;
  SmallVector<Operation *> others;
  int64_t accesses = 0;
  for (next = first; isa<LoadOp, ViewOp, arith::ConstantOp>(*next); ++next) {
    auto load = dyn_cast<LoadOp>(*next);
    if (!load) {
      if (failed(lower(&*next)))
        return failure();
      continue;
    }
    team.loc = load.getLoc();
    bool isHeld = this->held && this->held->isState(load.getTile());
    if (isHeld) {
      others.push_back(load);
      continue;
    }
    Ahead one{load, AheadLoad(team, arrayOf(load.getArray()), place(load.getTile()), /*isFree=*/true), 0, 0, 0};
    if (!one.load.canStart() || accesses + one.load.countRegisters() > mostAccesses) {
      others.push_back(load);
      continue;
    }
    accesses += one.load.countRegisters();
    for (Ahead &before : ahead)
      before.later += one.load.goesToTile();
    forgetThread();
    one.load.begin(team);
    held.push_back(one.load.start(team, value(load.getFirst()), rows(load.getRows())));
    ahead.push_back(std::move(one));
  }
  for (Operation *other : others)
    if (failed(lower(other)))
      return failure();
  for (auto [one, own] : llvm::zip_equal(ahead, held))
    finishLoad(one, own);
  return success();
}
