// States after every so many tokens of a sequence, which a call may keep in rows of its pools: a chunk that ends there
// stores them where it has them, in registers or in shared memory. Other calls ask one word after each chunk.
#include "ABI/LaunchWords.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

void KernelLowering::findUnitAnew() {
  if (goesFromUnitToUnit)
    setUnitAgain();
  else
    setUnit(forget(NVVM::BlockIdXOp::create(builder, kernel.getLoc(), builder.getI32Type())));
}

Value KernelLowering::keepsIntervals() {
  Value none = arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64);
  return arith::CmpIOp::create(builder, kernel.getLoc(), arith::CmpIPredicate::ne,
                               word(abi::IntervalWord, builder.getI64Type()), none);
}

/// Numbers of tokens have 32 bits in such a call. Divisions are of these, for each chunk waits for one.
void KernelLowering::atMultiple(Value tokens, Value allTokens, llvm::function_ref<void()> store) {
  Location loc = kernel.getLoc();
  Type word64 = builder.getI64Type(), word32 = builder.getI32Type();
  Value ownSequence = sequence, ownHead = head;
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto divide = [&](Value a, Value b) -> Value { return arith::DivUIOp::create(builder, loc, a, b); };
  auto loadPosition = [&] {
    findUnitAnew();
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    Value positions = LLVM::IntToPtrOp::create(builder, loc, pointer, word(abi::PositionsWord, word64));
    return team.load(team.offset(positions, sequence, word32), word32);
  };
  auto storeInRow = [&](Value column) {
    findUnitAnew();
    Value first = team.multiplyWide(sequence, word(abi::IntervalColumnsWord, word64));
    multiple = team.addWide(first, team.widen(column));
    store();
    multiple = {};
  };
  team.when(keepsIntervals(), [&] {
    Value interval = team.narrow(word(abi::IntervalWord, word64));
    Value hasPositions = compare(arith::CmpIPredicate::ne, word(abi::PositionsWord, word64),
                                 arith::ConstantIntOp::create(builder, loc, 0, 64));
    Value before = team.choose(hasPositions, loadPosition, team.constant(0));
    Value now = team.add(before, team.narrow(tokens)), number = divide(now, interval);
    Value isMultiple = compare(arith::CmpIPredicate::eq, arith::MulIOp::create(builder, loc, number, interval), now);
    Value isWhole = compare(arith::CmpIPredicate::sle, tokens, allTokens);
    team.when(arith::AndIOp::create(builder, loc, isMultiple, isWhole), [&] {
      Value column = team.add(team.subtract(number, divide(before, interval)), -1);
      Value columns = team.narrow(word(abi::IntervalColumnsWord, word64));
      team.when(compare(arith::CmpIPredicate::ult, column, columns), [&] { storeInRow(column); });
    });
  });
  sequence = ownSequence;
  head = ownHead;
}

/// Gradients go over chunks from the last to the first, by numbers that are counted back: what they end with is no
/// state after tokens.
static bool goesBackward(KernelOp kernel) {
  Value allTokens = kernel.getBody().front().getArguments().back();
  return llvm::any_of(kernel.getBody().front().getOps<scf::ForOp>(), [&](scf::ForOp loop) {
    return llvm::any_of(loop.getInductionVar().getUsers(), [&](Operation *user) {
      auto back = dyn_cast<arith::SubIOp>(user);
      return back && back.getRhs() == loop.getInductionVar() && back.getLhs() != allTokens;
    });
  });
}

BlockArgument KernelLowering::findPooledFinal(StoreOp final) {
  auto segment = final.getArray().getDefiningOp<SegmentOp>();
  auto array = dyn_cast<BlockArgument>(segment ? segment.getFinal() : final.getArray());
  bool isState = array && matchPattern(final.getRows(), m_One()) && mayBeInPool(int(array.getArgNumber()));
  return isState && !goesBackward(kernel) ? array : BlockArgument();
}

void KernelLowering::storeChainAt(Value tokens, Value allTokens,
                                  llvm::function_ref<void(const CallerArray &array)> store) {
  if (findPooledFinal(chain->final))
    atMultiple(tokens, allTokens, [&] { store(findAtMultiple(chain->final)); });
}

SmallVector<StoreOp> KernelLowering::listPooledFinals() {
  SmallVector<StoreOp> finals(kernel.getBody().front().getOps<StoreOp>());
  llvm::erase_if(finals, [&](StoreOp store) { return !findPooledFinal(store); });
  return finals;
}

void KernelLowering::storeCarriedAt(Value tokens, Value allTokens,
                                    llvm::function_ref<void(StoreOp final, const CallerArray &array)> store) {
  SmallVector<StoreOp> finals = listPooledFinals();
  if (!finals.empty())
    atMultiple(tokens, allTokens, [&] {
      for (StoreOp final : finals)
        store(final, findAtMultiple(final));
    });
}

/// Behind a barrier, at which all that the chunk has changed is there; another one keeps the next chunk from it.
void KernelLowering::keepAtMultiples(scf::ForOp loop) {
  SmallVector<StoreOp> finals = listPooledFinals();
  if (finals.empty())
    return;
  // A view of the state may come behind the loop.
  SmallVector<ViewOp> views;
  std::function<Place(Value)> find = [&](Value tile) {
    if (auto part = tile.getDefiningOp<ViewOp>(); part && !places.contains(tile)) {
      find(part.getSource());
      view(part);
      views.push_back(part);
    }
    return place(tile);
  };
  Value next = team.addWide(value(loop.getInductionVar()), value(loop.getStep()));
  atMultiple(next, value(loop.getUpperBound()), [&] {
    Value zero = arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64);
    for (StoreOp final : finals) {
      team.loc = final.getLoc();
      forgetThread();
      emitStore(team, find(final.getTile()), team.constant(1), findAtMultiple(final), zero);
    }
    team.barrier();
  });
  for (ViewOp part : views)
    places.erase(part), extents.erase(part);
}

Value KernelLowering::findBegin(scf::ForOp loop, Value begin) {
  if (matchPattern(loop.getLowerBound(), m_Zero()) || loop.getLowerBound().getDefiningOp<SegmentOp>())
    return begin;
  return team.select(keepsIntervals(), arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64), begin);
}
