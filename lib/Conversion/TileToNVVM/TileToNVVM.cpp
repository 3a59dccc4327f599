// Kernels to functions, op by op, and the barriers between ops.
#include "ABI/LaunchWords.h"
#include "Conversion/TileToNVVM/Passes.h"
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace recur::tile {
#define GEN_PASS_DEF_CONVERTTILETONVVMPASS
#include "Conversion/TileToNVVM/Passes.h.inc"
} // namespace recur::tile

using namespace mlir;
using namespace recur::tile;
using namespace recur::tile::nvvm;
namespace abi = recur::abi;

namespace {

/// The bytes of one memory that an op touches. All arrays of the caller's are one place, for they may be the same.
struct Access {
  Memory memory;
  int64_t begin, end;
  bool isWrite;
  bool conflictsWith(const Access &other) const {
    return memory == other.memory && begin < other.end && other.begin < end && (isWrite || other.isWrite);
  }
};

class KernelLowering {
public:
  KernelLowering(KernelOp kernel, OpBuilder &builder)
      : kernel(kernel), builder(builder), team(builder, kernel.getLoc(), kernel.getThreads().value_or(0)) {}

  LogicalResult run();

private:
  void beginFunction();
  CallerArray findArray(BlockArgument array);
  Value word(int64_t index, Type type);
  LogicalResult lower(Block &block);
  LogicalResult lower(Operation *op);
  LogicalResult emit(Operation *op);
  LogicalResult lowerLoop(Operation *op);
  LogicalResult checkTypes(Operation *op);
  LogicalResult allocate(AllocOp op);
  void view(ViewOp op);
  void emit(ProductOp op);

  /// Puts a barrier before an op that touches what another thread may still write, or writes what it may still read.
  void order(Operation *op);
  void orderAll() {
    if (!pending.empty())
      team.barrier();
    pending.clear();
  }

  Value value(Value old) { return values.lookup(old); }
  Value rows(Value old) { return team.narrow(values.lookup(old)); }
  Place place(Value tile) { return places.lookup(tile); }
  std::optional<Place> optionalPlace(Value tile) { return tile ? std::optional(place(tile)) : std::nullopt; }
  SmallVector<Place> placesOf(ValueRange tiles) {
    return llvm::map_to_vector(tiles, [&](Value tile) { return place(tile); });
  }
  static std::optional<std::pair<int64_t, int64_t>> triangle(std::optional<ArrayRef<int64_t>> numbers) {
    return numbers ? std::optional(std::pair((*numbers)[0], (*numbers)[1])) : std::nullopt;
  }

  KernelOp kernel;
  OpBuilder &builder;
  TeamCode team;
  LLVM::GlobalOp sharedMemory;
  Value arguments, shared, scratch, sequence, head, firstToken;
  llvm::DenseMap<Value, Place> places;
  llvm::DenseMap<Value, CallerArray> arrays;
  llvm::DenseMap<Value, Access> extents; // of tiles, as reads
  SmallVector<Access> pending;           // since the last barrier
  IRMapping values;
};

struct ConvertTileToNVVMPass : recur::tile::impl::ConvertTileToNVVMPassBase<ConvertTileToNVVMPass> {
  using ConvertTileToNVVMPassBase::ConvertTileToNVVMPassBase;
  void runOnOperation() override {
    SmallVector<KernelOp> kernels(getOperation().getOps<KernelOp>());
    OpBuilder builder(&getContext());
    for (KernelOp kernel : kernels) {
      if (!kernel.getThreads()) {
        kernel.emitOpError("cannot be lowered: it is the plan of a core, or of several roles");
        return signalPassFailure();
      }
      builder.setInsertionPoint(kernel);
      if (failed(KernelLowering(kernel, builder).run()))
        return signalPassFailure();
      kernel.erase();
    }
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

void KernelLowering::beginFunction() {
  MLIRContext *context = builder.getContext();
  Location loc = kernel.getLoc();
  size_t arrayCount = kernel.getBody().getNumArguments() - 1;
  auto byte = builder.getI8Type();
  auto globalPointer = LLVM::LLVMPointerType::get(context, globalSpace);
  auto sharedType = LLVM::LLVMArrayType::get(byte, 0);
  sharedMemory =
      LLVM::GlobalOp::create(builder, loc, sharedType, /*isConstant=*/false, LLVM::Linkage::External,
                             (kernel.getSymName() + "_shared").str(), Attribute(), /*alignment=*/128, sharedSpace);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto words = LLVM::LLVMArrayType::get(builder.getI64Type(), abi::countWords(int(arrayCount)));
  auto function = LLVM::LLVMFuncOp::create(builder, loc, kernel.getSymName(),
                                           LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(words));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(8));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr({int32_t(team.threads), 1, 1}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1)); // all registers there are
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  arguments = function.getArgument(0);
  team.begin();
  shared = LLVM::AddressOfOp::create(builder, loc, sharedMemory);
  Value unit = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  Value heads = team.narrow(word(abi::HeadsWord, builder.getI64Type()));
  sequence = team.widen(arith::DivUIOp::create(builder, loc, unit, heads));
  head = arith::RemUIOp::create(builder, loc, unit, heads);
  Value own = team.multiplyWide(team.widen(unit), word(abi::WorkspaceStrideWord, builder.getI64Type()));
  scratch = LLVM::AddrSpaceCastOp::create(builder, loc, globalPointer, word(abi::WorkspaceWord, pointer));
  scratch = team.offset(scratch, own, byte);
}

CallerArray KernelLowering::findArray(BlockArgument argument) {
  Location loc = kernel.getLoc();
  auto type = cast<TileType>(argument.getType());
  auto array = [&](abi::ArrayWord index) {
    return word(abi::getWord(int(argument.getArgNumber()), index), builder.getI64Type());
  };
  auto globalPointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  Value data = word(abi::getWord(int(argument.getArgNumber()), abi::DataWord), generic);
  data = LLVM::AddrSpaceCastOp::create(builder, loc, globalPointer, data);
  CallerArray found{{}, type, array(abi::TokenStrideWord), {}};
  Value own = arith::DivUIOp::create(builder, loc, head, team.narrow(array(abi::GroupWord)));
  Value offset = team.multiplyWide(sequence, array(abi::SequenceStrideWord));
  offset = team.addWide(offset, team.multiplyWide(firstToken, found.tokenStride));
  offset = team.addWide(offset, team.multiplyWide(team.widen(own), array(abi::HeadStrideWord)));
  Value null = LLVM::ZeroOp::create(builder, loc, globalPointer);
  Value isAbsent = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, data, null);
  found.pointer = team.select(isAbsent, null, team.offset(data, offset, type.getElementType()));
  if (type.getRank() > 2)
    found.innerStrides = {array(abi::RowStrideWord), array(abi::ColumnStrideWord)};
  return found;
}

LogicalResult KernelLowering::run() {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = kernel.getLoc();
  beginFunction();
  // Packed sequences lie between offsets; others have all tokens.
  Type word64 = builder.getI64Type();
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  Value offsets = word(abi::OffsetsWord, generic), all = word(abi::TokensWord, word64);
  Value null = LLVM::ZeroOp::create(builder, loc, generic);
  Value isPacked = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, offsets, null);
  auto choice = scf::IfOp::create(builder, loc, TypeRange{word64, word64}, isPacked, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToEnd(choice.thenBlock());
    Value own = team.offset(offsets, sequence, word64), begin = team.load(own, word64);
    Value next = LLVM::GEPOp::create(builder, loc, generic, word64, own, ArrayRef<LLVM::GEPArg>{1});
    Value count = arith::SubIOp::create(builder, loc, team.load(next, word64), begin);
    scf::YieldOp::create(builder, loc, ValueRange{begin, count});
    builder.setInsertionPointToEnd(choice.elseBlock());
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
    scf::YieldOp::create(builder, loc, ValueRange{zero, all});
  }
  firstToken = choice.getResult(0);
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments().drop_back()) {
    arrays[argument] = findArray(argument);
    extents[argument] = {Memory::Global, 0, 1, false};
  }
  values.map(body.getArguments().back(), choice.getResult(1));
  if (failed(lower(body)))
    return failure();
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

static bool isWritten(Operation *op, Value tile) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MapOp, ReduceOp, ProductOp, TransposeOp, ScaledDotsOp, ScaledSumsOp>(
          [&](auto op) { return op.getResult() == tile; })
      .Case([&](ScanOp op) { return op.getAll() == tile || op.getLast() == tile; })
      .Case([&](SolveOp op) { return op.getValues() == tile; })
      .Case([&](LoadOp op) { return op.getTile() == tile; })
      .Case([&](StoreOp op) { return op.getArray() == tile; })
      .Default([](Operation *) { return false; });
}

void KernelLowering::order(Operation *op) {
  SmallVector<Access> accesses;
  for (Value operand : op->getOperands())
    if (auto found = extents.find(operand); found != extents.end()) {
      accesses.push_back(found->second);
      accesses.back().isWrite = isWritten(op, operand);
    }
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
  for (Operation &op : block)
    if (failed(lower(&op)))
      return failure();
  return success();
}

/// A loop or condition of the plan, which all threads take together.
LogicalResult KernelLowering::lowerLoop(Operation *op) {
  Operation *shell = op->cloneWithoutRegions(values);
  builder.insert(shell);
  SmallVector<Access> before = pending;
  for (auto [from, to] : llvm::zip(op->getRegions(), shell->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.front().getArguments())
      values.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    for (Operation &op : from.front()) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        orderAll(); // what comes next may be the first op of the block again
      if (failed(lower(&op)))
        return failure();
    }
    pending = before; // the block may not have run
  }
  return success();
}

LogicalResult KernelLowering::allocate(AllocOp op) {
  if (!op.getOffset())
    return op.emitOpError("has not been placed; choose an offset for it first");
  TileType type = op.getType();
  Memory memory = type.getMemory();
  if (memory == Memory::Registers || type.getSwizzle())
    return op.emitOpError("cannot be lowered: a team has tiles in shared or local memory, not swizzled");
  auto begin = int64_t(*op.getOffset());
  Value base = memory == Memory::Shared ? shared : scratch;
  Value pointer = LLVM::GEPOp::create(builder, op.getLoc(), base.getType(), builder.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{int32_t(begin)});
  places[op] = {pointer, type};
  extents[op] = {memory, begin, begin + type.getExtent() * type.getElementBytes(), false};
  return success();
}

void KernelLowering::view(ViewOp op) {
  Place source = place(op.getSource());
  TileType type = op.getResult().getType();
  Value pointer = source.pointer;
  auto offset = int64_t(op.getOffset());
  if (op.getRow())
    pointer = team.offset(pointer, team.multiply(rows(op.getRow()), source.type.getStride(0)), type.getElementType());
  if (offset)
    pointer = LLVM::GEPOp::create(builder, op.getLoc(), pointer.getType(), type.getElementType(), pointer,
                                  ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  places[op] = {pointer, type};
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

LogicalResult KernelLowering::lower(Operation *op) {
  team.loc = op->getLoc();
  if (isa<scf::ForOp, scf::IfOp>(op))
    return lowerLoop(op);
  if (auto alloc = dyn_cast<AllocOp>(op))
    return allocate(alloc);
  if (auto part = dyn_cast<ViewOp>(op)) {
    view(part);
    return success();
  }
  if (failed(checkTypes(op)))
    return failure();
  order(op);
  return emit(op);
}

LogicalResult KernelLowering::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LoadOp op) {
        emitLoad(team, arrays.lookup(op.getArray()), value(op.getFirst()), rows(op.getRows()), place(op.getTile()));
        return success();
      })
      .Case([&](StoreOp op) {
        emitStore(team, place(op.getTile()), rows(op.getRows()), arrays.lookup(op.getArray()), value(op.getFirst()));
        return success();
      })
      .Case([&](MapOp op) -> LogicalResult {
        if (op.getBlocks())
          return op.emitOpError("cannot be lowered: a team computes whole tiles, not blocks");
        emitMap(team, op, placesOf(op.getInputs()), place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Case([&](ScanOp op) {
        emitScan(team, op, placesOf(op.getInputs()), optionalPlace(op.getInitial()), optionalPlace(op.getAll()),
                 optionalPlace(op.getLast()), rows(op.getRows()));
        return success();
      })
      .Case([&](ReduceOp op) {
        emitReduce(team, op, placesOf(op.getInputs()), place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Case([&](ProductOp op) {
        emit(op);
        return success();
      })
      .Case([&](TransposeOp op) {
        emitTranspose(team, place(op.getSource()), rows(op.getRows()), place(op.getResult()));
        return success();
      })
      .Case([&](SolveOp op) {
        emitSolve(team, place(op.getMatrix()), place(op.getValues()), rows(op.getRows()));
        return success();
      })
      .Case([&](ScaledDotsOp op) {
        emitScaledDots(team, op, place(op.getLeft()), place(op.getRight()), place(op.getScales()),
                       place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Case([&](ScaledSumsOp op) {
        emitScaledSums(team, op, place(op.getMatrix()), place(op.getValues()), place(op.getScales()),
                       place(op.getResult()), rows(op.getRows()));
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<TileDialect>(op->getDialect()))
          return op->emitOpError("has no meaning in the plan of one team");
        builder.clone(*op, values);
        return success();
      });
}
