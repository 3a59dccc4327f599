// States after every so many tokens of a sequence, which a call may keep in rows of its pools: a chunk that ends there
// stores them where it has them, in registers or in shared memory. A chain goes from multiple to multiple, since code
// that is seldom run would make its loop longer. Others ask one word after each chunk.
#include "ABI/LaunchWords.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

void KernelLowering::findUnitAnew() {
  if (goesFromUnitToUnit)
    setUnitAgain();
  else
    setUnit(forget(findUnitOfGrid()));
}

Value KernelLowering::keepsIntervals() {
  Value none = arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64);
  return arith::CmpIOp::create(builder, kernel.getLoc(), arith::CmpIPredicate::ne,
                               word(abi::IntervalWord, builder.getI64Type()), none);
}

Value KernelLowering::loadPosition() {
  Location loc = kernel.getLoc();
  Value positions = word(abi::PositionsWord, builder.getI64Type());
  Value areGiven = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, positions,
                                         arith::ConstantIntOp::create(builder, loc, 0, 64));
  auto load = [&] {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    Value own = team.offset(LLVM::IntToPtrOp::create(builder, loc, pointer, positions), sequence, builder.getI32Type());
    return team.load(own, builder.getI32Type());
  };
  return team.choose(areGiven, load, team.constant(0));
}

Value KernelLowering::findRowAtMultiple(Value number) {
  Location loc = kernel.getLoc();
  Value columns = word(abi::IntervalColumnsWord, builder.getI64Type());
  auto load = [&] {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    Value rows = LLVM::IntToPtrOp::create(builder, loc, pointer, word(abi::IntervalRowsWord, builder.getI64Type()));
    Value place = team.addWide(team.multiplyWide(sequence, columns), team.widen(number));
    return team.load(team.offset(rows, place, builder.getI32Type()), builder.getI32Type());
  };
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, team.narrow(columns));
  return team.choose(isThere, load, team.constant(-1));
}

/// Numbers of tokens have 32 bits in such a call. Divisions are of these, for each chunk waits for one.
void KernelLowering::atMultiple(Value tokens, Value allTokens, llvm::function_ref<void()> store) {
  Location loc = kernel.getLoc();
  Value ownSequence = sequence, ownHead = head;
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto divide = [&](Value a, Value b) -> Value { return arith::DivUIOp::create(builder, loc, a, b); };
  team.when(keepsIntervals(), [&] {
    findUnitAnew();
    Value interval = team.narrow(word(abi::IntervalWord, builder.getI64Type())), before = loadPosition();
    Value now = team.add(before, team.narrow(tokens)), number = divide(now, interval);
    Value isMultiple = compare(arith::CmpIPredicate::eq, arith::MulIOp::create(builder, loc, number, interval), now);
    Value isWhole = compare(arith::CmpIPredicate::sle, tokens, allTokens);
    team.when(arith::AndIOp::create(builder, loc, isMultiple, isWhole), [&] {
      Value column = team.add(team.subtract(number, divide(before, interval)), -1);
      rowAtMultiple = findRowAtMultiple(column);
      Value isThere = compare(arith::CmpIPredicate::sge, rowAtMultiple, team.constant(0));
      team.when(isThere, store);
      rowAtMultiple = {};
    });
  });
  sequence = ownSequence;
  head = ownHead;
}

/// What is found of the unit here is found anew each time.
class KernelLowering::MultiplesOfChain : public ChainMultiples {
public:
  explicit MultiplesOfChain(KernelLowering &kernel) : k(kernel) {}

  Value getInterval() override { return k.word(abi::IntervalWord, k.builder.getI64Type()); }

  Value findNext(Value tokens) override {
    Value interval = k.team.narrow(getInterval());
    Value none = arith::ConstantIntOp::create(k.builder, k.team.loc, std::numeric_limits<int64_t>::max(), 64);
    auto find = [&]() -> Value {
      Value now = inUnit([&] { return k.team.add(k.loadPosition(), k.team.narrow(tokens)); });
      Value rest = arith::RemUIOp::create(k.builder, k.team.loc, now, interval);
      return k.team.addWide(tokens, k.team.widen(k.team.subtract(interval, rest)));
    };
    return k.team.choose(k.keepsIntervals(), find, none);
  }

  Value findRow(Value number) override {
    return inUnit([&] { return k.findRowAtMultiple(number); });
  }

  CallerArray findArray(Value row) override {
    k.rowAtMultiple = row;
    CallerArray array;
    inUnit([&] { return (array = k.findAtMultiple(k.chain->final)).pointer; });
    k.rowAtMultiple = {};
    return array;
  }

private:
  Value inUnit(llvm::function_ref<Value()> find) {
    Value sequence = k.sequence, head = k.head;
    k.findUnitAnew();
    Value found = find();
    k.sequence = sequence;
    k.head = head;
    return found;
  }

  KernelLowering &k;
};

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

std::unique_ptr<ChainMultiples> KernelLowering::makeMultiples() {
  return findPooledFinal(chain->final) ? std::make_unique<MultiplesOfChain>(*this) : nullptr;
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
    if (listsArrays()) {
      team.barrier(); // others may still read where states before the token went
      listArrays(/*isOnTheWay=*/true);
    }
    Value zero = arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64);
    for (StoreOp final : finals) {
      team.loc = final.getLoc();
      forgetThread();
      store(final.getTile(), find(final.getTile()), team.constant(1), findAtMultiple(final), zero);
    }
    team.barrier();
  });
  for (ViewOp part : views)
    places.erase(part), extents.erase(part);
}

Value KernelLowering::findBegin(scf::ForOp loop, Value begin) {
  if (notTaken)
    return team.addWide(begin, team.widen(notTaken));
  if (matchPattern(loop.getLowerBound(), m_Zero()) || loop.getLowerBound().getDefiningOp<SegmentOp>())
    return begin;
  return team.select(keepsIntervals(), arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 64), begin);
}
