// One CTA makes the list: tile after tile of as many sequences as it has threads. A running sum over the numbers of
// chunks says where a sequence's chunks go, and each warp writes those of its sequences one after another. On the way
// it counts how many sequences have about as many chunks, for the order: longer ones first, so that the last CTAs to
// end have short ones.
#include "Conversion/TileToNVVM/Listing.h"
#include "ABI/LaunchWords.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;

static std::pair<Value, Value> loadOffsets(TeamCode &t, Value offsets, Value sequence) {
  Type word = t.builder.getI64Type();
  Value own = t.offset(offsets, sequence, word);
  Value next = LLVM::GEPOp::create(t.builder, t.loc, own.getType(), word, own, ArrayRef<LLVM::GEPArg>{1});
  return {t.load(own, word), t.load(next, word)};
}

PackedTokens nvvm::readOffsets(TeamCode &t, Value offsets, Value sequence, Value allTokens) {
  OpBuilder &builder = t.builder;
  Value zero = arith::ConstantIntOp::create(builder, t.loc, 0, 64);
  auto clamp = [&](Value offset) -> Value {
    Value atLeast = arith::MaxSIOp::create(builder, t.loc, offset, zero);
    return arith::MinSIOp::create(builder, t.loc, atLeast, allTokens);
  };
  auto [own, next] = loadOffsets(t, offsets, sequence);
  Value first = clamp(own), end = clamp(next);
  Value count = arith::SubIOp::create(builder, t.loc, end, first);
  return {first, arith::MaxSIOp::create(builder, t.loc, count, zero)};
}

/// Unsigned, what is below zero is beyond all tokens. As a branch that LLVM sees, or as a selection, the comparison
/// takes registers from there on; so it is an instruction of its own.
PackedTokens nvvm::readOffsetsOrEnd(TeamCode &t, Value offsets, Value sequence, Value allTokens) {
  auto [first, end] = loadOffsets(t, offsets, sequence);
  LLVM::InlineAsmOp::create(t.builder, t.loc, TypeRange(), ValueRange{first, end, allTokens},
                            "{ .reg .pred p, q; setp.gt.u64 p, $0, $1; setp.gt.u64 q, $1, $2; or.pred p, p, q; "
                            "@p exit; }",
                            "l,l,l", /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return {first, arith::SubIOp::create(t.builder, t.loc, end, first)};
}

namespace {

class ListingCode {
public:
  ListingCode(OpBuilder &builder, Location loc, const GPUProfile &gpu, int64_t chunkTokens)
      : builder(builder), t(builder, loc, abi::listingThreads, gpu), chunkTokens(chunkTokens) {}
  void emit(StringRef name);

private:
  static constexpr int64_t threads = abi::listingThreads, warps = threads / warpThreads;
  static constexpr int64_t bins = threads; // of numbers of chunks; each thread has one
  static constexpr int64_t exact = bins / 2, binChunks = 64;

  LLVM::LLVMFuncOp beginFunction(StringRef name);
  Value word(abi::ListingWord index, Type type);
  Value inShared(Value index) { return t.offset(shared, index, builder.getI32Type()); }
  Value add(Value place, Value number) {
    return LLVM::AtomicRMWOp::create(builder, t.loc, LLVM::AtomicBinOp::add, place, number,
                                     LLVM::AtomicOrdering::monotonic);
  }
  /// Of a sequence, if it is one and has as many tokens as this list is for.
  struct Sequence {
    Value isListed, chunks;
  };
  Sequence find(Value number);
  /// The more chunks, the lower is the bin.
  Value binOf(Value chunks);
  Value fromLane(Value value, Value lane) {
    return NVVM::ShflOp::create(builder, t.loc, value.getType(), t.constant(-1), value, lane,
                                t.constant(warpThreads - 1), NVVM::ShflKind::idx, UnitAttr());
  }
  /// The sum of what threads before this one give; and of all.
  std::pair<Value, Value> sumBefore(Value own);
  void listChunks(Value number, Value chunks, Value first);

  OpBuilder &builder;
  TeamCode t;
  int64_t chunkTokens;
  Value arguments, shared, offsets, sequences, tokens, from, below, list, order;
  Value room; // for so many chunks
};

} // namespace

Value ListingCode::word(abi::ListingWord index, Type type) {
  Value place = LLVM::GEPOp::create(builder, t.loc, arguments.getType(), builder.getI64Type(), arguments,
                                    ArrayRef<LLVM::GEPArg>{int32_t(index)});
  return LLVM::LoadOp::create(builder, t.loc, type, place, 8);
}

LLVM::LLVMFuncOp ListingCode::beginFunction(StringRef name) {
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto numbers = LLVM::LLVMArrayType::get(builder.getI32Type(), unsigned(bins + warps));
  auto tiles = LLVM::GlobalOp::create(builder, t.loc, numbers, /*isConstant=*/false, LLVM::Linkage::Internal,
                                      (name + "_shared").str(), Attribute(), /*alignment=*/16, sharedSpace);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&tiles.getInitializerRegion());
    LLVM::ReturnOp::create(builder, t.loc, LLVM::UndefOp::create(builder, t.loc, numbers).getResult());
  }
  auto words = LLVM::LLVMArrayType::get(builder.getI64Type(), abi::listingWords);
  auto function = LLVM::LLVMFuncOp::create(builder, t.loc, name,
                                           LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(words));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(8));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), builder.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  arguments = function.getArgument(0);
  shared = LLVM::AddressOfOp::create(builder, t.loc, tiles);
  return function;
}

ListingCode::Sequence ListingCode::find(Value number) {
  Value isThere = t.below(number, sequences);
  Value known = t.widen(t.select(isThere, number, t.constant(0)));
  PackedTokens own = readOffsets(t, offsets, known, tokens);
  auto isNotAbove = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, t.loc, arith::CmpIPredicate::sle, a, b);
  };
  Value isLower = arith::CmpIOp::create(builder, t.loc, arith::CmpIPredicate::slt, own.count, below);
  Value isMeant = arith::AndIOp::create(builder, t.loc, isNotAbove(from, own.count), isLower);
  Value isListed = arith::AndIOp::create(builder, t.loc, isThere, isMeant);
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, t.loc, value, 64); };
  Value rounded = t.addWide(own.count, constant(chunkTokens - 1));
  Value chunks = t.narrow(arith::DivUIOp::create(builder, t.loc, rounded, constant(chunkTokens)));
  return {isListed, t.select(isListed, chunks, t.constant(0))};
}

Value ListingCode::binOf(Value chunks) {
  Value beyond = t.add(t.divide(t.add(chunks, -exact), binChunks), exact);
  Value bin = t.select(t.below(chunks, t.constant(exact)), chunks, t.smaller(beyond, t.constant(bins - 1)));
  return t.subtract(t.constant(bins - 1), bin);
}

std::pair<Value, Value> ListingCode::sumBefore(Value own) {
  auto addLanesBefore = [&](Value sum) {
    for (int64_t distance = 1; distance < warpThreads; distance *= 2) {
      Value before = t.fromLaneBefore(sum, distance);
      sum = t.select(t.below(t.lane, t.constant(distance)), sum, t.add(sum, before));
    }
    return sum;
  };
  Value inWarp = addLanesBefore(own);
  Value ofWarps = t.constant(bins); // where a number for each warp is
  t.barrier();
  t.when(arith::CmpIOp::create(builder, t.loc, arith::CmpIPredicate::eq, t.lane, t.constant(warpThreads - 1)),
         [&] { t.store(inWarp, inShared(t.add(ofWarps, t.warp))); });
  t.barrier();
  Type number = builder.getI32Type();
  Value all = addLanesBefore(t.load(inShared(t.add(ofWarps, t.lane)), number)); // as many warps as lanes
  static_assert(warps == warpThreads);
  Value total = t.fromLane(all, warpThreads - 1);
  // Each lane has the sum of the warps up to the one of its number.
  Value isFirst = t.below(t.warp, t.constant(1)), warpBefore = t.select(isFirst, t.constant(0), t.add(t.warp, -1));
  Value before = t.select(isFirst, t.constant(0), fromLane(all, warpBefore));
  return {t.subtract(t.add(before, inWarp), own), total};
}

/// A thread writes the first chunks of its sequence, and the lanes of a warp all others of one sequence after another
/// together. Where sequences have tokens in common there may be more chunks than there is room for.
void ListingCode::listChunks(Value number, Value chunks, Value first) {
  constexpr int64_t ownChunks = 4;
  Type pair = VectorType::get(2, builder.getI32Type());
  auto write = [&](Value sequence, Value begin, Value chunk) {
    Value at = t.add(begin, chunk);
    Value hasRoom = arith::CmpIOp::create(builder, t.loc, arith::CmpIPredicate::ult, at, room);
    t.when(hasRoom, [&] {
      Value entry = LLVM::UndefOp::create(builder, t.loc, pair);
      entry = LLVM::InsertElementOp::create(builder, t.loc, entry, sequence, t.constant(0));
      entry = LLVM::InsertElementOp::create(builder, t.loc, entry, chunk, t.constant(1));
      Value place = t.offset(list, t.widen(at), pair);
      place = LLVM::GEPOp::create(builder, t.loc, place.getType(), builder.getI8Type(), place,
                                  ArrayRef<LLVM::GEPArg>{int32_t(abi::listHeaderBytes)});
      t.store(entry, place);
    });
  };
  t.loop(t.constant(0), t.smaller(chunks, t.constant(ownChunks)), 1, [&](Value chunk) { write(number, first, chunk); });
  Value most =
      t.combineLanes(chunks, [&](Value a, Value b) -> Value { return arith::MaxSIOp::create(builder, t.loc, a, b); });
  t.when(t.below(t.constant(ownChunks), most), [&] {
    t.loop(t.constant(0), t.constant(warpThreads), 1, [&](Value lane) {
      Value sequence = fromLane(number, lane), count = fromLane(chunks, lane), begin = fromLane(first, lane);
      t.loop(t.add(t.lane, ownChunks), count, warpThreads, [&](Value chunk) { write(sequence, begin, chunk); });
    });
  });
}

void ListingCode::emit(StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  beginFunction(name);
  t.begin();
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  auto global = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  Type word64 = builder.getI64Type(), number = builder.getI32Type();
  auto pointerOf = [&](abi::ListingWord index) -> Value {
    return LLVM::AddrSpaceCastOp::create(builder, t.loc, global, word(index, generic));
  };
  offsets = pointerOf(abi::ListedOffsetsWord);
  list = pointerOf(abi::ListWordOfListing);
  order = pointerOf(abi::OrderWordOfListing);
  sequences = t.narrow(word(abi::ListedSequencesWord, word64));
  tokens = word(abi::ListedTokensWord, word64);
  from = word(abi::ListedFromWord, word64);
  below = word(abi::ListedBelowWord, word64);
  Value size = arith::ConstantIntOp::create(builder, t.loc, chunkTokens, 64);
  room = t.add(t.narrow(arith::DivUIOp::create(builder, t.loc, tokens, size)), sequences);

  Value own = inShared(t.thread); // how many sequences the thread's bin has
  t.store(t.constant(0), own);
  t.barrier();
  Value zero = t.constant(0);
  SmallVector<Value> chunks = t.loop(zero, sequences, threads, {zero}, [&](Value first, ValueRange before) {
    Value sequence = t.add(first, t.thread);
    Sequence found = find(sequence);
    t.when(found.isListed, [&] { add(inShared(binOf(found.chunks)), t.constant(1)); });
    auto [place, all] = sumBefore(found.chunks);
    listChunks(sequence, found.chunks, t.add(before[0], place));
    return SmallVector<Value>{t.smaller(t.add(before[0], all), room)};
  });
  t.barrier();
  Value inBin = t.load(own, number);
  auto [binBegin, listed] = sumBefore(inBin);
  t.store(binBegin, own);
  t.barrier();
  t.loop(t.thread, sequences, threads, [&](Value sequence) {
    Sequence found = find(sequence);
    t.when(found.isListed, [&] {
      Value place = add(inShared(binOf(found.chunks)), t.constant(1));
      t.store(sequence, t.offset(order, t.widen(place), number));
    });
  });
  t.when(t.below(t.thread, t.constant(1)), [&] {
    t.store(chunks[0], list);
    t.store(listed, t.offset(list, t.constant(1), number));
  });
  LLVM::ReturnOp::create(builder, t.loc, ValueRange());
}

void nvvm::emitListing(OpBuilder &builder, Location loc, const GPUProfile &gpu, StringRef name, int64_t chunkTokens) {
  ListingCode(builder, loc, gpu, chunkTokens).emit(name);
}
