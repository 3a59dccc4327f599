// Kernels to functions, op by op, and the barriers between ops.
#include "ABI/LaunchWords.h"
#include "Analysis/Crowd.h"
#include "Analysis/RunningSum.h"
#include "Analysis/SameColumns.h"
#include "Conversion/TileToNVVM/Carry.h"
#include "Conversion/TileToNVVM/Chain.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "Conversion/TileToNVVM/Listing.h"
#include "Conversion/TileToNVVM/Passes.h"
#include "Conversion/TileToNVVM/ScaledPairs.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

namespace recur::conversion {
#define GEN_PASS_DEF_CONVERTTILETONVVMPASS
#include "Conversion/TileToNVVM/Passes.h.inc"
} // namespace recur::conversion

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// Shared memory and workspaces begin at multiples of at least this.
static constexpr int64_t tileAlignment = 64;

/// The tokens in a chunk of kernels that go by a list; none where there are no such.
static std::optional<int64_t> findListedChunk(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    Value step = isa<scf::ParallelOp>(op) ? cast<scf::ParallelOp>(op).getStep().front()
                 : isa<scf::ForOp>(op)    ? cast<scf::ForOp>(op).getStep()
                                          : Value();
    if (auto cast = step ? step.getDefiningOp<arith::IndexCastOp>() : nullptr)
      step = cast.getIn();
    IntegerAttr size;
    if (step && matchPattern(step, m_Constant(&size)))
      return size.getInt();
  }
  return std::nullopt;
}

/// Whether an array of the kernel has numbers of 16 bits.
static bool hasShortData(KernelOp kernel) {
  return llvm::any_of(kernel.getBody().getArgumentTypes(), [](Type type) {
    auto array = dyn_cast<TileType>(type);
    return array && array.getElementType().getIntOrFloatBitWidth() == 16;
  });
}

namespace {
struct ConvertTileToNVVMPass : recur::conversion::impl::ConvertTileToNVVMPassBase<ConvertTileToNVVMPass> {
  using ConvertTileToNVVMPassBase::ConvertTileToNVVMPassBase;
  void runOnOperation() override {
    SmallVector<KernelOp> kernels(getOperation().getOps<KernelOp>());
    OpBuilder builder(&getContext());
    if (llvm::any_of(kernels, hasShortData))
      getOperation()->setAttr(recur::conversion::shortDataAttribute, builder.getUnitAttr());
    for (KernelOp kernel : kernels) {
      if (!kernel.getThreads()) {
        kernel.emitOpError("cannot be lowered: it is the plan of a core, or of several roles");
        return signalPassFailure();
      }
      if (std::optional<std::string> reason = recur::analysis::explainNoGPU(kernel)) {
        kernel.emitOpError("cannot be lowered: ") << *reason;
        return signalPassFailure();
      }
      builder.setInsertionPoint(kernel);
      if (failed(KernelLowering(kernel, builder).run()))
        return signalPassFailure();
    }
    if (lists && !kernels.empty())
      goByList(kernels, builder);
    for (KernelOp kernel : kernels)
      kernel.erase();
  }

private:
  /// Adds the form of a chain that has a list, which may read later than the chain itself.
  static LogicalResult goFromUnitToUnit(KernelOp kernel, OpBuilder &builder) {
    auto listed = cast<KernelOp>(builder.clone(*kernel));
    if (kernel->hasAttr(recur::analysis::listedReadsLateAttribute))
      listed->setAttr(recur::analysis::readsLateAttribute, builder.getUnitAttr());
    LogicalResult result = KernelLowering(listed, builder, /*fromUnitToUnit=*/true).run();
    listed.erase();
    return result;
  }

  /// Adds the kernels of packed sequences that have a list, and the one that makes it.
  void goByList(ArrayRef<KernelOp> kernels, OpBuilder &builder) {
    std::optional<int64_t> chunkTokens;
    for (KernelOp kernel : kernels) {
      if (!recur::analysis::goesByList(kernel))
        continue;
      if (!chunkTokens)
        chunkTokens = findListedChunk(kernel);
      builder.setInsertionPoint(kernel);
      if (!recur::analysis::listsChunks(kernel) && failed(goFromUnitToUnit(kernel, builder)))
        return signalPassFailure();
    }
    KernelOp first = kernels.front();
    builder.setInsertionPoint(first);
    if (chunkTokens)
      emitListing(builder, first.getLoc(), recur::analysis::gpuOf(first),
                  (first.getSymName() + recur::analysis::listingSuffix).str(), *chunkTokens);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Value KernelLowering::word(int64_t index, Type type) {
  Value pointer = LLVM::GEPOp::create(builder, team.loc, arguments.getType(), builder.getI64Type(), arguments,
                                      ArrayRef<LLVM::GEPArg>{int32_t(index)});
  return LLVM::LoadOp::create(builder, team.loc, type, pointer, 8);
}

/// How many threads a CTA has, and how many CTAs have room on a multiprocessor. Several teams of a CTA have the
/// registers that as many CTAs would have.
static void addSizes(LLVM::LLVMFuncOp function, KernelOp kernel, OpBuilder &builder) {
  auto threads = int32_t(*kernel.getThreads());
  if (auto teams = kernel.getTeams()) {
    auto resident = int32_t(kernel.getOccupancy().value_or(*teams));
    function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                      builder.getDenseI32ArrayAttr({threads * resident, 1, 1}));
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    return;
  }
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), builder.getDenseI32ArrayAttr({threads, 1, 1}));
  auto neighbours = int32_t(recur::analysis::getOccupancy(kernel));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(neighbours));
}

/// How many instructions of the matrix units a warp has if all loops of products are spelled out whose length is known.
static int64_t countSpelledOut(KernelOp kernel) {
  constexpr int64_t unitRows = 16, unitColumns = 8, unitInner = 16, warpThreads = 32;
  int64_t count = 0;
  kernel.walk([&](ProductOp op) {
    IntegerAttr inner;
    TileType type = op.getResult().getType();
    if (matchPattern(op.getInner(), m_Constant(&inner)))
      count += llvm::divideCeil(type.getSize(0), unitRows) * llvm::divideCeil(type.getSize(1), unitColumns) *
               llvm::divideCeil(inner.getInt(), unitInner);
  });
  return count * warpThreads / int64_t(*kernel.getThreads());
}

void KernelLowering::beginFunction() {
  MLIRContext *context = builder.getContext();
  Location loc = kernel.getLoc();
  auto byte = builder.getI8Type();
  auto globalPointer = LLVM::LLVMPointerType::get(context, globalSpace);
  auto sharedType = LLVM::LLVMArrayType::get(byte, 0);
  sharedMemory = LLVM::GlobalOp::create(builder, loc, sharedType, /*isConstant=*/false, LLVM::Linkage::External,
                                        getName() + "_shared", Attribute(), chain ? 1024 : 128, sharedSpace);
  auto pointer = LLVM::LLVMPointerType::get(context);
  if (chain && !goesFromUnitToUnit) // packed sequences have no maps
    copied = analysis::findCopiedRows(*chain, kernel);
  auto words = LLVM::LLVMArrayType::get(builder.getI64Type(), copied.empty()
                                                                  ? abi::countWords(countArrays())
                                                                  : abi::getMapWord(countArrays(), int(copied.size())));
  auto function = LLVM::LLVMFuncOp::create(builder, loc, getName(),
                                           LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(words));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(copied.empty() ? 8 : abi::mapAlignment));
  if (!copied.empty()) // the copy unit reads maps where they are
    function.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  addSizes(function, kernel, builder);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  arguments = function.getArgument(0);
  team.begin();
  if (kernel.getTeams())
    team.beginAmongTeams(int64_t(*kernel.getTeams()));
  threadOfKernel = team.thread;
  team.isRounded = llvm::any_of(kernel.getBody().front().getArguments().drop_back(), [](BlockArgument array) {
    return cast<TileType>(array.getType()).getElementBytes() == 2;
  });
  // Threads wait for instructions where a kernel has more of them than the instruction cache, as the phases of a
  // gradient have with a dozen products; and loops take fewer registers.
  constexpr int64_t manyProducts = 256;
  team.keepsLoops = countSpelledOut(kernel) > manyProducts;
  shared = LLVM::AddressOfOp::create(builder, loc, sharedMemory);
  if (kernel.getTeams()) {
    shared = team.offset(shared, team.multiply(team.ownTeam, int64_t(*kernel.getShared())), byte);
  }
  part = NVVM::BlockIdZOp::create(builder, loc, builder.getI32Type());
  if (held)
    held->begin(
        team.remainder(NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()), analysis::getStateParts(kernel)));
  Value offsets = word(abi::OffsetsWord, pointer), null = LLVM::ZeroOp::create(builder, loc, pointer);
  isPacked = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, offsets, null);
  if (goesFromUnitToUnit)
    return;
  if (mayHaveList)
    findList();
  Value unit = kernel.getTeams() ? findUnit() : findOwnUnit();
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  sequence = team.widen(arith::DivUIOp::create(builder, loc, unit, heads));
  head = arith::RemUIOp::create(builder, loc, unit, heads);
  endIfLeftAlone(unit);
  // CTAs are a head of a sequence, one of the CTAs that deal out its chunks, and a part of its channels.
  Type word32 = builder.getI32Type();
  Value row = NVVM::BlockIdYOp::create(builder, loc, word32), rowCount = NVVM::GridDimYOp::create(builder, loc, word32);
  Value slot = team.add(arith::MulIOp::create(builder, loc, part, rowCount), row);
  slot = team.add(arith::MulIOp::create(builder, loc, slot, NVVM::GridDimXOp::create(builder, loc, word32)), unit);
  Value own = team.multiplyWide(team.widen(slot), word(abi::WorkspaceStrideWord, builder.getI64Type()));
  scratch = LLVM::AddrSpaceCastOp::create(builder, loc, globalPointer, word(abi::WorkspaceWord, pointer));
  scratch = team.offset(scratch, own, byte);
}

SmallVector<Value, 2> KernelLowering::findInnerStrides(BlockArgument argument) {
  auto type = cast<TileType>(argument.getType());
  if (type.getRank() < 3)
    return {};
  abi::ArrayWord outer = abi::RowStrideWord, inner = abi::ColumnStrideWord;
  if (type.getTransposed()) // the words are of the array as the caller has it
    std::swap(outer, inner);
  auto array = [&](abi::ArrayWord index) {
    return word(abi::getWord(int(argument.getArgNumber()), index), builder.getI64Type());
  };
  return {array(outer), array(inner)};
}

CallerArray KernelLowering::findArray(BlockArgument argument, bool isState) {
  auto type = cast<TileType>(argument.getType());
  auto number = int(argument.getArgNumber());
  Value tokenStride = word(abi::getWord(number, abi::TokenStrideWord), builder.getI64Type());
  CallerArray found{{}, type, tokenStride, {}, kernel.getChannelsOf(argument)};
  found.pointer = findFirst(number, type.getElementType(), isState);
  found.innerStrides = findInnerStrides(argument);
  return found;
}

CallerArray KernelLowering::arrayOf(Value array) {
  if (findsLate || listsArrays())
    return findArray(cast<BlockArgument>(array));
  auto known = arrays.find(array);
  if (known == arrays.end())
    known = arrays.try_emplace(array, findArray(cast<BlockArgument>(array))).first;
  return recall(array, known->second);
}

CallerArray KernelLowering::findFinal(Value end) {
  findUnitAnew();
  if (!goesFromUnitToUnit)
    tokensBefore = findTokens(sequence).count;
  SegmentOp segment = chain->segment;
  if (goesFromUnitToUnit && segment)
    return findArray(cast<BlockArgument>(segment.getFinal()), /*isState=*/true);
  if (segment)
    return findStore(segment, findArray(cast<BlockArgument>(segment.getFinal()), /*isState=*/true), end);
  return findArray(cast<BlockArgument>(chain->final.getArray()), /*isState=*/true);
}

void KernelLowering::forgetArrays() {
  head = forget(head);
  sequence = team.widen(forget(team.narrow(sequence)));
  findArrays();
}

LogicalResult KernelLowering::run() {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = kernel.getLoc();
  beginFunction();
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments().drop_back())
    extents[argument] = {Memory::Global, 0, int64_t(body.getNumArguments()), false};
  if (goesFromUnitToUnit) {
    emitFromUnitToUnit();
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return success();
  }
  Type word64 = builder.getI64Type();
  Tokens tokens = findTokens(sequence);
  firstToken = tokens.first;
  tokensBefore = tokens.count; // final states
  findNotTaken(tokens.count);
  // Teams of sequences that are not meant have no chunks, and neither have crowded CTAs, to which another end is dear.
  bool hasNoChunks = kernel.getTeams() || isCrowded();
  if (!hasNoChunks)
    endUnless(listsChunk ? arith::AndIOp::create(builder, loc, tokens.isMeant, listsChunk).getResult()
                         : tokens.isMeant);
  findArrays();
  if (kernel.getTeams()) {
    Value flagsOfAll = word(abi::getWord(countArrays() - 1, abi::DataWord), word64);
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    flags = ChunkFlags(team, LLVM::IntToPtrOp::create(builder, loc, pointer, flagsOfAll));
  } else if (kernel.getAwaits()) {
    flags = ChunkFlags(team, findFirst(countArrays() - 1, builder.getI32Type()));
  }
  bool isApart = !kernel.getTeams() && !isCrowded() && !body.getOps<scf::ParallelOp>().empty();
  if (!rowPass && !isApart)
    firstOfLane = {};
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 64);
  setTokens(hasNoChunks ? team.select(tokens.isMeant, tokens.count, none) : tokens.count);
  if (chain) {
    for (Operation &op : body)
      if (isa<arith::ArithDialect>(op.getDialect()))
        builder.clone(op, values);
      else if (auto segment = dyn_cast<SegmentOp>(op))
        emit(segment);
    findForgotten();
    llvm::DenseSet<Value> awaited;
    for (int64_t number : kernel.getAwaits().value_or(ArrayRef<int64_t>()))
      awaited.insert(body.getArgument(unsigned(number)));
    Value areMapped;
    if (!copied.empty()) {
      Value maps = word(abi::MapsWord, builder.getI64Type());
      areMapped = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, maps,
                                        arith::ConstantIntOp::create(builder, loc, 0, 64));
    }
    Value ownHead = head, ownSequence = sequence; // the final state's are found anew
    auto findMapOf = [&](Value array) {
      unsigned number = cast<BlockArgument>(array).getArgNumber();
      auto *own = llvm::find_if(copied, [&](const analysis::CopiedRows &rows) { return rows.array == number; });
      return findMap(int(number), int(own - copied.begin()), ownHead, ownSequence);
    };
    std::unique_ptr<ChainMultiples> multiples = makeMultiples();
    emitStateChain(team, *chain,
                   {arrays, values, shared, flags, part, awaited, summaries, [&](Value end) { return findFinal(end); },
                    multiples.get(), areMapped, findMapOf});
  } else if (carry) {
    auto findKept = [&](StoreOp kept, Value tokens) -> std::optional<KeptPlace> {
      Value final = findFinalOfKept(kept);
      return final ? std::optional(KeptPlace{keepsTokens(tokens), [=, this] { return findAfterTokens(final, tokens); }})
                   : std::nullopt;
    };
    auto findFirst = [&](scf::ForOp loop, Value begin) { return findBegin(loop, begin); };
    auto storeAt = [&](Value count, Value all, llvm::function_ref<void(StoreOp, const CallerArray &)> store) {
      storeCarriedAt(count, all, store);
    };
    auto findRow = [&](LoadOp load, Value token) { return findLoaded(load.getFirst(), token); };
    auto stores = [&](StoreOp store, Value token) { return isStored(store.getFirst(), token); };
    auto findToken = [&](Value token) {
      if (goesOverTrees)
        findOnPath(token);
    };
    auto findForkOf = [&](StoreOp kept, Value token) -> std::optional<CarriedFork> {
      if (!goesOverTrees)
        return std::nullopt;
      Fork fork = findFork(token);
      return CarriedFork{fork.isKept, fork.isElsewhere, [=, this] { return findForkArray(kept, fork.row); },
                         [=, this] { return findForkArray(kept, fork.rowElsewhere); }};
    };
    emitChannelCarry(team, kernel, *carry,
                     {arrays, values, findKept, findFirst, storeAt, findRow, findToken, stores, findForkOf});
  } else if (rowPass) {
    lowerRowPass();
  } else if (kernel.getChannels()) {
    return kernel.emitOpError(
        "cannot be lowered: only kernels with their state in registers have parts of fewer channels");
  } else if (failed(lower(body))) {
    return failure();
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

bool recur::conversion::nvvm::isWritten(Operation *op, Value tile) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MapOp, ReduceOp, ProductOp, TransposeOp, InvertOp, ScaledSumsOp>(
          [&](auto op) { return op.getResult() == tile; })
      .Case<ScaledDotsOp, ConjugateGradientsOp>([&](auto op) { return op.getResult() == tile || op.getWork() == tile; })
      .Case([&](ScanOp op) { return op.getAll() == tile || op.getLast() == tile; })
      .Case([&](ScaledCotangentsOp op) {
        return llvm::is_contained({op.getLeftResult(), op.getRightResult(), op.getScalesResult(), op.getWork()}, tile);
      })
      .Case([&](SolveOp op) { return op.getValues() == tile; })
      .Case([&](LoadOp op) { return op.getTile() == tile; })
      .Case([&](StoreOp op) { return op.getArray() == tile; })
      .Default([](Operation *) { return false; });
}

void KernelLowering::order(ArrayRef<Operation *> ops) {
  SmallVector<Access> accesses;
  auto isHeld = [&](Value tile) { return held && held->isState(tile); };
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (auto found = extents.find(operand); found != extents.end() && !isHeld(operand)) {
        Access &access = accesses.emplace_back(found->second);
        access.isWrite = isWritten(op, operand);
        // Arrays that are read may be any that are written; of these each is another one.
        if (auto array = dyn_cast<BlockArgument>(operand); array && access.isWrite)
          access.begin = array.getArgNumber(), access.end = access.begin + 1;
      }
  order(accesses);
}

void KernelLowering::order(ArrayRef<Access> accesses) {
  bool conflicts = llvm::any_of(accesses, [&](const Access &access) {
    return llvm::any_of(pending, [&](const Access &before) { return access.conflictsWith(before); });
  });
  if (conflicts)
    orderAll();
  llvm::append_range(pending, accesses);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lower(Block &block) {
  for (auto op = block.begin(); op != block.end();)
    if (isa<LoadOp>(*op) && isa<KernelOp>(op->getParentOp()) && listsArrays()) {
      if (failed(lowerLoadsTogether(op, op)))
        return failure();
    } else if (failed(lower(&*op++))) {
      return failure();
    }
  return success();
}

/// Numbers are known by name from the op that makes them to those behind it.
LogicalResult KernelLowering::allocateRegisters(AllocOp op) {
  TileType type = op.getType();
  auto isApart = [&](Operation *user) { return user->getBlock() != (*op->user_begin())->getBlock(); };
  std::optional<WarpBlock> block = spreadOverWarps(type.getSize(0), type.getSize(1), team.warps());
  if (llvm::any_of(op->getUsers(), isApart))
    return op.emitOpError("cannot be lowered: a tile in registers is used in one block");
  registers.push_back(std::make_unique<Registers>(Registers{*block, {}}));
  Place place{{}, type};
  place.registers = registers.back().get();
  places[op] = place;
  return success();
}

LogicalResult KernelLowering::allocate(AllocOp op) {
  if (op.getType().getMemory() == Memory::Registers)
    return allocateRegisters(op);
  if (!op.getOffset())
    return op.emitOpError("has not been placed; choose an offset for it first");
  TileType type = op.getType();
  Memory memory = type.getMemory();
  if (type.getSwizzle())
    return op.emitOpError("cannot be lowered: the tiles of a team are not swizzled");
  auto begin = int64_t(*op.getOffset());
  Value base = memory == Memory::Shared ? shared : scratch;
  int64_t own = heldStates && memory == Memory::Shared ? heldStates->moveDown(begin) : begin;
  Value pointer = LLVM::GEPOp::create(builder, op.getLoc(), base.getType(), builder.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{int32_t(own)});
  places[op] = {pointer, type, std::gcd(begin, tileAlignment)};
  extents[op] = {memory, begin, begin + type.getExtent() * type.getElementBytes(), false};
  return success();
}

void KernelLowering::view(ViewOp op) {
  Place source = place(op.getSource());
  TileType type = op.getResult().getType();
  if (source.type.getElementType() != tileOf(op.getSource()).getElementType()) // a row as it is in the array
    type = TileType::get(type.getContext(), type.getShape(), source.type.getElementType(), type.getMemory(),
                         type.getStrides(), type.getSwizzle());
  Value pointer = source.pointer;
  auto offset = int64_t(op.getOffset());
  if (op.getRow())
    pointer = team.offset(pointer, team.multiply(rows(op.getRow()), source.type.getStride(0)), type.getElementType());
  if (offset)
    pointer = LLVM::GEPOp::create(builder, op.getLoc(), pointer.getType(), type.getElementType(), pointer,
                                  ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  int64_t bytes = type.getElementBytes(), alignment = std::gcd(source.alignment, offset * bytes);
  if (op.getRow())
    alignment = std::gcd(alignment, source.type.getStride(0) * bytes);
  places[op] = {pointer, type, alignment};
  Access extent = extents[op.getSource()];
  if (!op.getRow()) {
    extent.begin += offset * type.getElementBytes();
    extent.end = extent.begin + type.getExtent() * type.getElementBytes();
  }
  extents[op] = extent;
}

void KernelLowering::emit(ProductOp op) {
  Product product{place(op.getLeft()), place(op.getRight()), place(op.getResult()), rows(op.getRows()),
                  rows(op.getInner())};
  IntegerAttr inner;
  if (matchPattern(op.getInner(), m_Constant(&inner)))
    product.innerMultiple = std::max<int64_t>(1, inner.getInt());
  product.plus = optionalPlace(op.getPlus());
  product.rowScale = optionalPlace(op.getRowScale());
  product.columnScale = optionalPlace(op.getColumnScale());
  product.transposed = op.getTransposed();
  product.rightTransposed = op.getRightTransposed();
  product.tf32 = op.getTf32();
  product.leftTriangle = triangle(op.getLeftTriangle());
  product.resultTriangle = triangle(op.getResultTriangle());
  emitProduct(team, product);
}

/// Products take factors of 16 bits, and any op converts what it reads and writes, but for the sums of products.
LogicalResult KernelLowering::checkTypes(Operation *op) {
  auto product = dyn_cast<ProductOp>(op);
  if (!product)
    return success();
  Type left = product.getLeft().getType().getElementType(), right = product.getRight().getType().getElementType();
  if (left != right)
    return op->emitOpError("cannot be lowered: the matrix units multiply numbers of one type, not ")
           << left << " and " << right;
  return success();
}

void KernelLowering::orderTile(Value tile, bool isWrite) {
  Access access = extents.lookup(tile);
  access.isWrite = isWrite;
  if (auto array = dyn_cast<BlockArgument>(tile))
    access.begin = array.getArgNumber(), access.end = access.begin + 1;
  order(access);
}

void KernelLowering::withPlaces(llvm::function_ref<void(const HeldKernel &)> use) {
  auto placeOf = [&](Value tile) { return place(tile); };
  auto orderIt = [&](Value tile, bool isWrite) { orderTile(tile, isWrite); };
  use({placeOf, orderIt});
}

bool KernelLowering::lowerHeld(Operation *op) {
  auto isStateOf = [&](auto own) { return held->isState(own.getTile()); };
  if (auto load = dyn_cast<LoadOp>(op); load && isStateOf(load)) {
    startTokenRows();
    forgetThread();
    held->load(load.getTile(), arrayOf(load.getArray()), value(load.getFirst()));
    return true;
  }
  if (!held->takes(op))
    return false;
  if (Value known = sumsOfRow.lookup(op)) {
    withPlaces([&](const HeldKernel &places) { held->take(op, known, places); });
    return true;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<MapOp, ProductOp, ReduceOp>(
          [&](auto own) { withPlaces([&](const HeldKernel &known) { held->emit(own, known); }); })
      .Case([&](StoreOp store) {
        orderTile(store.getArray(), /*isWrite=*/true);
        CallerArray array = arrayOf(store.getArray());
        whereStored(store, [&] { held->emit(store, array, value(store.getFirst())); });
      });
  return true;
}

LogicalResult KernelLowering::lower(Operation *op) {
  team.loc = op->getLoc();
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && isa<KernelOp>(loop->getParentOp()))
    return lowerChunks(loop);
  if (isa<scf::ForOp, scf::IfOp>(op))
    return lowerLoop(op);
  if (auto loop = dyn_cast<scf::ParallelOp>(op))
    return lowerParallel(loop);
  if (auto alloc = dyn_cast<AllocOp>(op))
    return allocate(alloc);
  if (auto part = dyn_cast<ViewOp>(op)) {
    view(part);
    return success();
  }
  if (held && lowerHeld(op))
    return success();
  if (failed(checkTypes(op)))
    return failure();
  SmallVector<Operation *> ops{op};
  if (isa<ScaledDotsOp, ScanOp>(op)) {
    together.push_back(op);
    if (isNextTogether())
      return success();
    ops.assign(together.begin(), together.end());
  }
  order(ops);
  forgetThread();
  LogicalResult result = emit(op);
  together.clear();
  return result;
}

/// Of dots the columns, and of scans the sums.
static bool areSharedBy(Operation *op, Operation *next) {
  if (auto dots = dyn_cast<ScaledDotsOp>(op))
    return isa<ScaledDotsOp>(next) && recur::analysis::haveSameColumns(dots, cast<ScaledDotsOp>(next));
  return isa<ScanOp>(next) && recur::analysis::haveSameSums(cast<ScanOp>(op), cast<ScanOp>(next));
}

bool KernelLowering::isNextTogether() {
  Operation *last = together.back(), *next = last->getNextNode();
  if (!next || !areSharedBy(last, next))
    return false;
  // What one gives, but for the work tile of all, is apart from all that the others take and give: warps run through
  // several without a barrier in between, each through columns of its own, and columns of tiles that lie in the same
  // place need not be the same ones.
  auto workOf = [](Operation *op) { return isa<ScaledDotsOp>(op) ? cast<ScaledDotsOp>(op).getWork() : Value(); };
  auto givesWhatIsIn = [&](Operation *one, Operation *other) {
    return llvm::any_of(one->getOperands(), [&](Value given) {
      if (given == workOf(one) || !extents.contains(given) || !isWritten(one, given))
        return false;
      Access write = extents[given];
      write.isWrite = true;
      return llvm::any_of(other->getOperands(), [&](Value tile) {
        auto found = extents.find(tile);
        return tile != workOf(other) && found != extents.end() && write.conflictsWith(found->second);
      });
    });
  };
  return llvm::none_of(together,
                       [&](Operation *before) { return givesWhatIsIn(before, next) || givesWhatIsIn(next, before); });
}

void KernelLowering::store(Value tile, const Place &place, Value rows, const CallerArray &array, Value first) {
  if (held && held->isState(tile))
    held->store(tile, array, first);
  else
    emitStore(team, place, rows, array, first);
}

void KernelLowering::emit(StoreOp op) {
  Value count = rows(op.getRows()), final = findFinalOfKept(op);
  if (final && listsArrays()) {
    Value first = value(op.getFirst());
    listBeforeToken(first);
    CallerArray kept = chooseKept(op, cast<BlockArgument>(final), first);
    store(op.getTile(), place(op.getTile()), count, kept, first);
    if (goesOverTrees)
      takeFork(op);
    return;
  }
  CallerArray array = arrayOf(op.getArray());
  auto storeHere = [&] { store(op.getTile(), place(op.getTile()), count, array, value(op.getFirst())); };
  if (!final)
    return whereStored(op, storeHere);
  auto storeInRow = [&] {
    Value zero = arith::ConstantIntOp::create(builder, op.getLoc(), 0, 64);
    store(op.getTile(), place(op.getTile()), count, findAfterTokens(final, value(op.getFirst())), zero);
  };
  team.either(keepsTokens(value(op.getFirst())), storeInRow, storeHere);
  if (goesOverTrees)
    takeFork(op);
}

void KernelLowering::emit(ScanOp op) {
  SmallVector<PlacedScan> scans;
  for (Operation *each : together) {
    auto one = cast<ScanOp>(each);
    scans.push_back({one, placesOf(one.getInputs()), optionalPlace(one.getAll()), optionalPlace(one.getLast())});
  }
  if (areRunningSums(scans.back()))
    return emitRunningSums(team, scans, rows(op.getRows()));
  for (PlacedScan &scan : scans)
    emitScan(team, scan.op, scan.inputs, optionalPlace(scan.op.getInitial()), scan.all, scan.last, rows(op.getRows()));
}

LogicalResult KernelLowering::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LoadOp op) {
        emitLoad(team, arrayOf(op.getArray()), firstLoaded(op), rows(op.getRows()), place(op.getTile()));
        return success();
      })
      .Case([&](SegmentOp op) -> LogicalResult {
        if (op.getSummaries())
          return op.emitOpError("cannot be lowered: only kernels with their state in registers have summaries");
        emit(op);
        return success();
      })
      .Case([&](StoreOp op) {
        emit(op);
        return success();
      })
      .Case([&](MapOp op) -> LogicalResult {
        if (op.getBlocks())
          return op.emitOpError("cannot be lowered: a team computes whole tiles, not blocks");
        SmallVector<Place> inputs = placesOf(op.getInputs());
        Place result = place(op.getResult());
        if (result.registers || llvm::any_of(inputs, [](const Place &input) { return input.registers; }))
          emitMapOfRegisters(team, op, inputs, result);
        else
          emitMap(team, op, inputs, result, rows(op.getRows()));
        return success();
      })
      .Case([&](ScanOp op) {
        emit(op);
        return success();
      })
      .Case([&](ReduceOp op) -> LogicalResult {
        if (op.getResult().getType().getRank() == int64_t(op.getSizes().size()) &&
            llvm::none_of(placesOf(op.getInputs()), [](const Place &input) { return input.registers; }))
          return op.emitOpError("cannot be lowered: only a matrix in registers is reduced in parts");
        emitReduce(team, op, placesOf(op.getInputs()), place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Case([&](ProductOp op) -> LogicalResult {
        if (op.getLeftExchanged())
          return op.emitOpError("cannot be lowered: only a chain with its state in registers has exchanged columns");
        return emit(op), success();
      })
      .Case([&](TransposeOp op) {
        emitTranspose(team, place(op.getSource()), rows(op.getRows()), place(op.getResult()));
        return success();
      })
      .Case([&](SolveOp op) {
        emitSolve(team, place(op.getMatrix()), place(op.getValues()), rows(op.getRows()));
        return success();
      })
      .Case([&](InvertOp op) {
        return emitInvert(team, op, place(op.getMatrix()), place(op.getResult()), optionalPlace(op.getColumnScale()),
                          rows(op.getRows()));
      })
      .Case([&](ConjugateGradientsOp op) -> LogicalResult {
        LogicalResult done = emitConjugateGradients(
            team, op,
            {arrayOf(op.getVectors()), arrayOf(op.getKeys()), arrayOf(op.getState()),
             findLoaded(op.getFirst(), value(op.getFirst())), value(op.getStateRow()), optionalPlace(op.getGains()),
             optionalPlace(op.getDecays()), place(op.getRidge()), place(op.getResult()), place(op.getWork()),
             rows(op.getRows()), int64_t(op.getIterations())});
        forgetArrays();
        return done;
      })
      .Case([&](ScaledDotsOp op) {
        if (op.getRounded() && op.getLogarithms())
          emitDotsOfSums(team,
                         llvm::map_to_vector(together,
                                             [&](Operation *other) {
                                               auto one = cast<ScaledDotsOp>(other);
                                               return DotsOfRows{one, place(one.getLeft()), place(one.getResult())};
                                             }),
                         place(op.getRight()), place(op.getScales()), optionalPlace(op.getWork()), rows(op.getRows()));
        else if (op.getRounded())
          emitRoundedDots(team, op, place(op.getLeft()), place(op.getRight()), place(op.getScales()),
                          optionalPlace(op.getWork()), place(op.getResult()), rows(op.getRows()));
        else
          emitScaledDots(team, op, place(op.getLeft()), place(op.getRight()), place(op.getScales()),
                         place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Case([&](ScaledSumsOp op) {
        emitScaledSums(team, op, place(op.getMatrix()), place(op.getValues()), place(op.getScales()),
                       place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Case([&](ScaledCotangentsOp op) {
        emitScaledCotangents(team, op,
                             {place(op.getMatrix()), place(op.getLeft()), place(op.getRight()), place(op.getScales()),
                              place(op.getLeftResult()), place(op.getRightResult()), place(op.getScalesResult()),
                              place(op.getWork())},
                             rows(op.getRows()));
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<TileDialect>(op->getDialect()))
          return op->emitOpError("has no meaning in the plan of one team");
        builder.clone(*op, values);
        return success();
      });
}
