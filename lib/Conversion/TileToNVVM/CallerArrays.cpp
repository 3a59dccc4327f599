// Where the arrays of a kernel begin for a CTA.
#include "ABI/LaunchWords.h"
#include "Analysis/WholeTile.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// Which of all rows of sequences the state has; less than 0: none.
Value KernelLowering::findRowNumber(WordOf<abi::PoolWord> pool) {
  Location loc = kernel.getLoc();
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 64), columns = pool(abi::ColumnsWord);
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto findCounted = [&]() -> Value {
    Value counts = pool(abi::CountsWord);
    auto load = [&] {
      auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
      Type word32 = builder.getI32Type();
      Value own = team.offset(LLVM::IntToPtrOp::create(builder, loc, pointer, counts), sequence, word32);
      return team.widen(team.load(own, word32));
    };
    Value count =
        team.choose(compare(arith::CmpIPredicate::ne, counts, none), load, tokensBefore ? tokensBefore : none);
    Value one = arith::ConstantIntOp::create(builder, loc, 1, 64);
    Value first = notTaken ? arith::MaxSIOp::create(builder, loc, countReplayed(), one).getResult() : one;
    Value before = arith::SubIOp::create(builder, loc, count, first);
    Value isThere = compare(arith::CmpIPredicate::ult, before, columns); // none is large then
    return team.select(isThere, team.addWide(team.multiplyWide(sequence, columns), before),
                       arith::ConstantIntOp::create(builder, loc, -1, 64));
  };
  return team.choose(compare(arith::CmpIPredicate::ne, columns, none), findCounted, sequence);
}

/// The array that has a sequence's state, where in it, and how far heads are apart, in elements. Of a pool that is the
/// row which the index says, or what stands for one that there is not: memory beyond the pool is never touched. Calls
/// without pools read no word of theirs.
KernelLowering::Row KernelLowering::findRow(WordOf<abi::ArrayWord> array, WordOf<abi::PoolWord> pool) {
  Location loc = kernel.getLoc();
  Type word64 = builder.getI64Type(), word32 = builder.getI32Type();
  auto inArray = [&](Value row) { return team.multiplyWide(row, array(abi::SequenceStrideWord)); };
  auto findOwn = [&]() -> Row { return {array(abi::DataWord), inArray(sequence), array(abi::HeadStrideWord)}; };
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 64);
  // What is made where the number is not zero, and the sequence's own row elsewhere.
  auto choose = [&](Value given, llvm::function_ref<Row()> make) -> Row {
    Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, given, none);
    auto choice = scf::IfOp::create(builder, loc, TypeRange{word64, word64, word64}, isSet, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard inside(builder);
    for (auto [block, find] : {std::pair(choice.thenBlock(), make), {choice.elseBlock(), findOwn}}) {
      builder.setInsertionPointToEnd(block);
      Row row = find();
      scf::YieldOp::create(builder, loc, ValueRange{row.data, row.offset, row.headStride});
    }
    return {choice.getResult(0), choice.getResult(1), choice.getResult(2)};
  };
  auto findInPool = [&](Value row) -> Row {
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, row,
                                          team.narrow(pool(abi::RowCountWord))); // a negative one is large then
    return {team.select(isThere, array(abi::DataWord), pool(abi::AbsentWord)),
            team.select(isThere, inArray(team.widen(row)), none),
            team.select(isThere, array(abi::HeadStrideWord), pool(abi::AbsentHeadStrideWord))};
  };
  if (rowAtMultiple)
    return findInPool(rowAtMultiple);
  auto loadRow = [&](Value rows, Value number) {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    auto load = [&] {
      return team.load(team.offset(LLVM::IntToPtrOp::create(builder, loc, pointer, rows), number, word32), word32);
    };
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, number, none);
    return team.choose(isThere, load, team.constant(-1));
  };
  return choose(word(abi::PoolsWord, word64), [&] {
    Value rows = pool(abi::RowsWord);
    return choose(rows, [&] { return findInPool(loadRow(rows, findRowNumber(pool))); });
  });
}

/// Where an array begins, in bytes: what depends on the array is a word of its own, or the size of its elements.
Value KernelLowering::findAddress(WordOf<abi::ArrayWord> array, WordOf<abi::PoolWord> pool, Value elementBytes,
                                  bool isState) {
  Location loc = kernel.getLoc();
  // Without a pool words are read where they are needed: what is known early takes registers.
  Row row = pool ? findRow(array, pool) : Row{array(abi::DataWord), {}, {}};
  Value group = team.narrow(array(abi::GroupWord));
  // Divisions take long, and most calls need none.
  Value own = team.choose(
      team.below(team.constant(1), group), [&]() -> Value { return arith::DivUIOp::create(builder, loc, head, group); },
      head);
  Value offset = pool ? row.offset : team.multiplyWide(sequence, array(abi::SequenceStrideWord));
  if (!isState) {
    Value first = team.choose(
        isPacked,
        [&] {
          Value before = arith::DivUIOp::create(builder, loc, firstToken, array(abi::FirstTokensWord));
          return team.multiplyWide(before, array(abi::FirstStrideWord));
        },
        firstToken);
    offset = team.addWide(offset, first);
  }
  offset = team.addWide(offset, team.multiplyWide(team.widen(part), array(abi::PartStrideWord)));
  offset = team.addWide(offset, team.multiplyWide(team.widen(own), pool ? row.headStride : array(abi::HeadStrideWord)));
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value isAbsent = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, row.data, none);
  return team.select(isAbsent, none, team.addWide(row.data, team.multiplyWide(offset, elementBytes)));
}

/// A state may be absent, and is read and written at once, or where segments begin and end. An array that is required,
/// or of which other rows than the first are touched, is none.
bool KernelLowering::mayBeInPool(int number) {
  bool isOfFlags = number + 1 >= int(kernel.getBody().getNumArguments());
  if (isOfFlags || number < int(kernel.getRequired()))
    return false;
  BlockArgument array = kernel.getBody().getArgument(unsigned(number));
  return !array.use_empty() && llvm::all_of(array.getUsers(), [&](Operation *user) {
    if (auto load = dyn_cast<LoadOp>(user))
      return matchPattern(load.getFirst(), m_Zero());
    if (auto store = dyn_cast<StoreOp>(user))
      return matchPattern(store.getFirst(), m_Zero());
    auto segment = dyn_cast<SegmentOp>(user);
    return segment && segment.getRemains() != array;
  });
}

Value KernelLowering::findFirst(int number, Type element, bool isState) {
  Location loc = kernel.getLoc();
  Value address;
  if (listsArrays()) {
    address = findListed(number, isState);
  } else if (firstOfLane && !isState && number < warpThreads) {
    auto [low, high] = *firstOfLane;
    Type wide = builder.getI64Type();
    low = arith::ExtUIOp::create(builder, loc, wide, team.fromLane(low, number));
    high = arith::ExtUIOp::create(builder, loc, wide, team.fromLane(high, number));
    Value upper = arith::ShLIOp::create(builder, loc, high, arith::ConstantIntOp::create(builder, loc, 32, 64));
    address = arith::OrIOp::create(builder, loc, low, upper);
  } else {
    auto array = [&](abi::ArrayWord index) { return word(abi::getWord(number, index), builder.getI64Type()); };
    auto pool = [&](abi::PoolWord index) {
      return word(abi::getPoolWord(countArrays(), number, index), builder.getI64Type());
    };
    Value bytes = arith::ConstantIntOp::create(builder, loc, element.getIntOrFloatBitWidth() / 8, 64);
    WordOf<abi::PoolWord> none;
    address = findAddress(array, mayBeInPool(number) ? WordOf<abi::PoolWord>(pool) : none, bytes, isState);
  }
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

KernelLowering::ArrayOfLane KernelLowering::findArrayOfLane(int64_t from, int64_t count) {
  int64_t own = std::min(count - from, warpThreads);
  Value number = team.add(team.smaller(team.lane, team.constant(own - 1)), from);
  return findArrayOf(number, from, from + own);
}

Value KernelLowering::findAddressOf(Value number) { return findArrayOf(number, 0, countArrays()).address; }

/// Of arrays whose numbers, from the first one on, threads do not have in common.
KernelLowering::ArrayOfLane KernelLowering::findArrayOf(Value number, int64_t from, int64_t until) {
  Location loc = kernel.getLoc();
  SmallVector<int64_t> bytes;
  for (int64_t array = from; array < until; ++array) {
    bool isFlag = array + 1 >= int64_t(kernel.getBody().getNumArguments());
    bytes.push_back(isFlag ? 4
                           : cast<TileType>(kernel.getBody().getArgument(unsigned(array)).getType()).getElementBytes());
  }
  Value begin = LLVM::GEPOp::create(builder, loc, arguments.getType(), builder.getI64Type(), arguments,
                                    ArrayRef<LLVM::GEPArg>{team.multiply(number, abi::arrayWords)});
  auto load = [&](Value from, int place) -> Value {
    Value own = LLVM::GEPOp::create(builder, loc, from.getType(), builder.getI64Type(), from,
                                    ArrayRef<LLVM::GEPArg>{int32_t(place)});
    return LLVM::LoadOp::create(builder, loc, builder.getI64Type(), own, 8);
  };
  auto array = [&](abi::ArrayWord index) { return load(begin, abi::getWord(0, index)); };
  auto pool = [&](abi::PoolWord index) {
    Value beginOfPool = LLVM::GEPOp::create(builder, loc, arguments.getType(), builder.getI64Type(), arguments,
                                            ArrayRef<LLVM::GEPArg>{team.multiply(number, abi::poolWords)});
    return load(beginOfPool, abi::getPoolWord(countArrays(), 0, index));
  };
  bool isAnyInPool = llvm::any_of(llvm::seq(from, until), [&](int64_t number) { return mayBeInPool(int(number)); });
  // The size of an element: of each other than the first, the arrays that have it, by 32.
  Value size = arith::ConstantIntOp::create(builder, loc, bytes[0], 64);
  for (int64_t other : llvm::SmallSetVector<int64_t, 4>(bytes.begin(), bytes.end())) {
    SmallVector<uint32_t> arrays(llvm::divideCeil(bytes.size(), warpThreads));
    for (auto [place, own] : llvm::enumerate(bytes))
      arrays[place / warpThreads] |= uint32_t(own == other) << place % warpThreads;
    if (other == bytes[0])
      continue;
    Value place = team.add(number, -from), some = team.constant(int32_t(arrays.front()));
    for (auto [i, others] : llvm::enumerate(ArrayRef(arrays).drop_front()))
      some = team.select(team.below(place, team.constant(int64_t(i + 1) * warpThreads)), some,
                         team.constant(int32_t(others)));
    Value bit =
        arith::ShRUIOp::create(builder, loc, some, arrays.size() > 1 ? team.remainder(place, warpThreads) : place);
    Value isOther = arith::TruncIOp::create(builder, loc, builder.getI1Type(), bit);
    size = team.select(isOther, arith::ConstantIntOp::create(builder, loc, other, 64), size);
  }
  return {number,
          findAddress(array, isAnyInPool ? WordOf<abi::PoolWord>(pool) : WordOf<abi::PoolWord>(), size,
                      /*isState=*/false),
          array(abi::TokenStrideWord)};
}

/// To find where one array begins takes some 70 instructions, which all warps of a CTA wait for, and which come from
/// device memory when a kernel has not run for a while. So a lane of each warp finds one array's.
void KernelLowering::findFirstsByLanes() {
  constexpr int64_t fewest = 3; // of fewer nothing is gained
  Location loc = kernel.getLoc();
  if (countArrays() < fewest)
    return;
  Value address = findArrayOfLane(0, countArrays()).address;
  Value upper = arith::ShRUIOp::create(builder, loc, address, arith::ConstantIntOp::create(builder, loc, 32, 64));
  firstOfLane = {team.narrow(address), team.narrow(upper)};
}

/// Where arrays begin that only the kernel's own block uses is found there: numbers of final states would take
/// registers from all loops. A pass over rows finds them where a part of it begins.
void KernelLowering::findArrays() {
  Block &body = kernel.getBody().front();
  auto isInLoops = [&](BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) { return user->getBlock() != &body; });
  };
  if (keepsRounds()) // arrays of a team are found where a round begins
    return;
  if (listsArrays())
    return listArrays(/*isOnTheWay=*/false);
  // A chain of three warpgroups has 168 registers a thread at first, and none for what all of its warps know.
  if (!(chain && (chain->dealsRegisters() || !chain->interactions.empty())))
    findFirstsByLanes();
  for (BlockArgument argument : body.getArguments().drop_back())
    if (chain || carry || (!rowPass && isInLoops(argument)))
      arrays[argument] = findArray(argument);
}

int KernelLowering::countArrays() {
  return int(kernel.getBody().getNumArguments()) - 1 + (kernel.getTeams() || kernel.getAwaits());
}

ArrayMap KernelLowering::findMap(int number, int map, Value head, Value sequence) {
  Location loc = kernel.getLoc();
  auto array = [&](abi::ArrayWord index) {
    return team.narrow(word(abi::getWord(number, index), builder.getI64Type()));
  };
  Value place = LLVM::GEPOp::create(builder, loc, arguments.getType(), builder.getI64Type(), arguments,
                                    ArrayRef<LLVM::GEPArg>{int32_t(abi::getMapWord(countArrays(), map))});
  Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), place);
  return {address, arith::MulIOp::create(builder, loc, part, array(abi::PartStrideWord)),
          arith::DivUIOp::create(builder, loc, head, array(abi::GroupWord)), team.narrow(sequence)};
}

/// A kernel that keeps its states stores them before each token, and behind the last one, of one tile. The arrays of
/// those that are kept come behind all others.
Value KernelLowering::findFinalOfKept(StoreOp kept) {
  Block &body = kernel.getBody().front();
  auto array = dyn_cast<BlockArgument>(kept.getArray());
  auto loop = dyn_cast<scf::ForOp>(kept->getParentOp());
  if (!array || !loop || !matchPattern(loop.getStep(), m_One()))
    return {};
  for (StoreOp final : body.getOps<StoreOp>()) {
    auto segment = final.getArray().getDefiningOp<SegmentOp>();
    auto own = dyn_cast<BlockArgument>(segment ? segment.getFinal() : final.getArray());
    bool isSame = analysis::getWholeTile(final.getTile()) == analysis::getWholeTile(kept.getTile());
    if (own && isSame && own.getArgNumber() < array.getArgNumber() && mayBeInPool(int(own.getArgNumber())))
      return own;
  }
  return {};
}

/// Where tokens are replayed there is a row for the state behind them alone.
Value KernelLowering::keepsTokens(Value tokens) {
  Location loc = kernel.getLoc();
  Type word64 = builder.getI64Type();
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  Value isOfTokens = compare(arith::CmpIPredicate::eq, word(abi::PoolsWord, word64),
                             arith::ConstantIntOp::create(builder, loc, abi::PoolsOfTokens, 64));
  if (!notTaken)
    return isOfTokens;
  Value replayed = countReplayed(), none = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value hasRow = arith::OrIOp::create(builder, loc, compare(arith::CmpIPredicate::eq, replayed, none),
                                      compare(arith::CmpIPredicate::eq, replayed, tokens));
  return arith::AndIOp::create(builder, loc, isOfTokens, hasRow);
}

CallerArray KernelLowering::findAfterTokens(Value final, Value tokens) {
  Value before = std::exchange(tokensBefore, tokens);
  CallerArray found = findArray(cast<BlockArgument>(final), /*isState=*/true);
  tokensBefore = before;
  return found;
}
