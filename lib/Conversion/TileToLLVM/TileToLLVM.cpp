// Kernels to functions, op by op.
#include "ABI/KernelSignature.h"
#include "Conversion/TileToLLVM/JoinedMaps.h"
#include "Conversion/TileToLLVM/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace recur::conversion {
#define GEN_PASS_DEF_CONVERTTILETOLLVMPASS
#include "Conversion/TileToLLVM/Passes.h.inc"
} // namespace recur::conversion

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
namespace abi = recur::abi;

namespace {

class KernelLowering {
public:
  KernelLowering(KernelOp kernel, OpBuilder &builder, recur::VectorUnit shape)
      : kernel(kernel), builder(builder), emitter(builder, kernel.getLoc(), shape) {}

  LogicalResult run();

private:
  LogicalResult lower(Block &block);
  LogicalResult lower(Operation *op);
  LogicalResult lower(const JoinedPass &pass);
  LogicalResult checkTypes(Operation *op);
  Product describe(ProductOp op);
  /// A loop or condition of the plan: its shell is cloned, its body lowered.
  LogicalResult lowerLoop(Operation *op);

  Value value(Value old) { return values.lookup(old); }
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
  Emitter emitter;
  Value workspace;
  Places places;
  IRMapping values;
};

struct ConvertTileToLLVMPass : recur::conversion::impl::ConvertTileToLLVMPassBase<ConvertTileToLLVMPass> {
  using ConvertTileToLLVMPassBase::ConvertTileToLLVMPassBase;
  void runOnOperation() override {
    SmallVector<KernelOp> kernels(getOperation().getOps<KernelOp>());
    OpBuilder builder(&getContext());
    for (KernelOp kernel : kernels) {
      builder.setInsertionPoint(kernel);
      if (failed(
              KernelLowering(kernel, builder, {lanes, registers, hasBF16, hasPairs, hasAMX, productRows, fetchesEvenly})
                  .run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace

LogicalResult KernelLowering::run() {
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> parameters;
  for (bool isPointer : abi::pointerParameters)
    parameters.push_back(isPointer ? Type(pointer) : builder.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters);
  auto function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
  for (unsigned argument : {abi::ArraysParameter, abi::WorkspaceParameter})
    function.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  function.setArgAttr(abi::WorkspaceParameter, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(abi::workspaceAlignment));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  workspace = function.getArgument(abi::WorkspaceParameter);
  Block &body = kernel.getBody().front();
  for (BlockArgument array : body.getArguments().drop_back()) {
    auto at = [&](int64_t offset) {
      return emitter.offset(function.getArgument(abi::ArraysParameter), array.getArgNumber() * abi::arrayBytes + offset,
                            builder.getI8Type());
    };
    Place where{{}, cast<TileType>(array.getType()), {}};
    where.pointer = LLVM::LoadOp::create(builder, kernel.getLoc(), pointer, at(abi::dataOffset));
    where.rowStride = emitter.load(at(abi::tokenStrideOffset), builder.getI64Type());
    places[array] = where;
  }
  values.map(body.getArguments().back(), function.getArgument(abi::TokensParameter));
  if (failed(lower(body)))
    return failure();
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  return success();
}

LogicalResult KernelLowering::lower(Block &block) {
  llvm::DenseSet<Operation *> done;
  for (Operation &op : block) {
    if (done.contains(&op))
      continue;
    std::optional<JoinedPass> pass = findJoinedPass(emitter, &op);
    if (failed(pass ? lower(*pass) : lower(&op)))
      return failure();
    if (!pass)
      continue;
    done.insert(pass->between.begin(), pass->between.end());
    for (const JoinedPass::Step &step : pass->steps)
      done.insert(step.map);
  }
  return success();
}

LogicalResult KernelLowering::lower(const JoinedPass &pass) {
  for (Operation *op : pass.between)
    if (failed(lower(op)))
      return failure();
  SmallVector<JoinedMap> maps;
  for (const JoinedPass::Step &step : pass.steps) {
    MapOp map = step.map;
    if (failed(checkTypes(map)))
      return failure();
    maps.push_back({map, placesOf(map.getInputs()), place(map.getResult()), step.sources, step.isStored});
  }
  if (ProductOp product = pass.product) {
    emitter.loc = product.getLoc();
    if (failed(checkTypes(product)))
      return failure();
    Product whole = describe(product);
    whole.maps = std::move(maps);
    whole.isStored = pass.storesProduct;
    emitProduct(emitter, whole);
    return success();
  }
  MapOp first = pass.steps.front().map;
  emitter.loc = first.getLoc();
  emitMaps(emitter, maps, value(first.getRows()));
  return success();
}

Product KernelLowering::describe(ProductOp op) {
  Product product{place(op.getLeft()), place(op.getRight()), place(op.getResult()), value(op.getRows()),
                  value(op.getInner())};
  product.plus = optionalPlace(op.getPlus());
  product.rowScale = optionalPlace(op.getRowScale());
  product.columnScale = optionalPlace(op.getColumnScale());
  product.transposed = op.getTransposed();
  product.leftTriangle = triangle(op.getLeftTriangle());
  product.resultTriangle = triangle(op.getResultTriangle());
  if (op.getAhead())
    product.ahead.push_back({place(op.getAhead()), value(op.getAheadFirst()), int64_t(*op.getAheadRows())});
  if (op.getWritten())
    product.ahead.push_back({place(op.getWritten()), value(op.getWrittenFirst()), int64_t(*op.getWrittenRows()), true});
  return product;
}

LogicalResult KernelLowering::lowerLoop(Operation *op) {
  Operation *shell = op->cloneWithoutRegions(values);
  builder.insert(shell);
  for (auto [from, to] : llvm::zip(op->getRegions(), shell->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.front().getArguments())
      values.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    if (failed(lower(from.front())))
      return failure();
  }
  return success();
}

/// Tiles of other types than f32 are for products; what else takes them converts them.
LogicalResult KernelLowering::checkTypes(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto type = dyn_cast<TileType>(operand.getType());
    if (!type || type.getMemory() == Memory::Global || type.getElementType().isF32())
      continue;
    auto map = dyn_cast<MapOp>(op);
    auto load = dyn_cast<LoadOp>(op);
    bool isWritten = (map && i == map.getInputs().size()) ||
                     (load && load.getArray().getType().getElementType() == type.getElementType());
    auto transpose = dyn_cast<TransposeOp>(op);
    isWritten |= transpose && transpose.getResult().getType().getElementType().isBF16();
    if (!isWritten && !isa<ViewOp, ProductOp, PairOp>(op))
      return op->emitOpError("cannot be lowered: it takes f32, not ") << type;
  }
  if (auto product = dyn_cast<ProductOp>(op)) {
    Type factors = product.getLeft().getType().getElementType();
    bool hasPairs = emitter.shape.hasPairs && emitter.lanes() == 16;
    if (!product.getResult().getType().getElementType().isF32() || !(factors.isF32() || (factors.isBF16() && hasPairs)))
      return op->emitOpError("cannot be lowered: the processor has no such product of ") << factors;
  }
  return success();
}

LogicalResult KernelLowering::lower(Operation *op) {
  emitter.loc = op->getLoc();
  if (failed(checkTypes(op)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AllocOp op) -> LogicalResult {
        if (!op.getOffset())
          return op.emitOpError("has not been placed; choose an offset for it first");
        if (op.getType().getMemory() != Memory::Local)
          return op.emitOpError("cannot be lowered for a core: its tiles lie in 'local' memory, and this one in '")
                 << stringifyMemory(op.getType().getMemory()) << "'";
        Value pointer = emitter.offset(workspace, int64_t(*op.getOffset()), builder.getI8Type());
        places[op] = {pointer, op.getType(), {}};
        return success();
      })
      .Case([&](ViewOp op) {
        Place source = place(op.getSource());
        Type element = source.type.getElementType();
        Value pointer = source.pointer;
        if (op.getRow())
          pointer = emitter.offset(pointer, emitter.multiply(value(op.getRow()), source.type.getStride(0)), element);
        places[op] = {emitter.offset(pointer, int64_t(op.getOffset()), element), op.getType(), {}};
        return success();
      })
      .Case([&](LoadOp op) {
        emitLoad(emitter, place(op.getArray()), value(op.getFirst()), value(op.getRows()), place(op.getTile()),
                 op.getAhead());
        return success();
      })
      .Case([&](StoreOp op) {
        emitStore(emitter, place(op.getTile()), value(op.getRows()), place(op.getArray()), value(op.getFirst()));
        return success();
      })
      .Case([&](MapOp op) -> LogicalResult {
        if (op.getBlocks())
          return op.emitOpError("cannot be lowered: a core computes whole tiles, not blocks");
        emitMap(emitter, op, placesOf(op.getInputs()), place(op.getResult()), value(op.getRows()));
        return success();
      })
      .Case([&](ScanOp op) {
        emitScan(emitter, op, placesOf(op.getInputs()), optionalPlace(op.getInitial()), optionalPlace(op.getAll()),
                 optionalPlace(op.getLast()), value(op.getRows()));
        return success();
      })
      .Case([&](ReduceOp op) {
        emitReduce(emitter, op, placesOf(op.getInputs()), place(op.getResult()), value(op.getRows()));
        return success();
      })
      .Case([&](ProductOp op) -> LogicalResult {
        if (op.getRightTransposed())
          return op.emitOpError("cannot be lowered: a core multiplies by right factors that are not transposed");
        emitProduct(emitter, describe(op));
        return success();
      })
      .Case([&](PairOp op) {
        emitPair(emitter, place(op.getSource()), optionalPlace(op.getRowScale()), op.getTransposed(),
                 value(op.getRows()), place(op.getResult()));
        return success();
      })
      .Case([&](TransposeOp op) {
        emitTranspose(emitter, place(op.getSource()), value(op.getRows()), place(op.getResult()));
        return success();
      })
      .Case([&](SolveOp op) {
        emitSolve(emitter, place(op.getMatrix()), place(op.getValues()), value(op.getRows()));
        return success();
      })
      .Case([&](ScaledSolveOp op) {
        emitScaledSolve(emitter, place(op.getMatrix()), place(op.getValues()), place(op.getScales()),
                        place(op.getResult()), value(op.getRows()));
        return success();
      })
      .Case([&](EliminateOp op) {
        emitEliminate(emitter, place(op.getMatrix()), value(op.getRows()));
        return success();
      })
      .Case([&](ScaledDotsOp op) -> LogicalResult {
        if (op.getRounded())
          return op.emitOpError("cannot be lowered: a core computes dots of numbers that are not rounded");
        emitScaledDots(emitter, op, place(op.getLeft()), place(op.getRight()), place(op.getScales()),
                       place(op.getResult()), value(op.getRows()));
        return success();
      })
      .Case([&](ScaledSumsOp op) {
        emitScaledSums(emitter, op, place(op.getMatrix()), place(op.getValues()), place(op.getScales()),
                       place(op.getResult()), value(op.getRows()));
        return success();
      })
      .Case([&](ScaledCotangentsOp op) {
        emitScaledCotangents(emitter, op,
                             {place(op.getMatrix()), place(op.getLeft()), place(op.getRight()), place(op.getScales()),
                              place(op.getLeftResult()), place(op.getRightResult()), place(op.getScalesResult()),
                              place(op.getWork())},
                             value(op.getRows()));
        return success();
      })
      .Case<scf::ForOp, scf::IfOp>([&](auto op) { return lowerLoop(op); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<TileDialect>(op->getDialect()))
          return op->emitOpError("has no meaning on a core");
        builder.clone(*op, values);
        return success();
      });
}
