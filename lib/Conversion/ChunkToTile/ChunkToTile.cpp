// The kernel around a chunk program: arrays, states, and the loop over chunks.
#include "Conversion/ChunkToTile/Passes.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "llvm/ADT/TypeSwitch.h"

namespace recur::tile {
#define GEN_PASS_DEF_CONVERTCHUNKTOTILEPASS
#include "Conversion/ChunkToTile/Passes.h.inc"
} // namespace recur::tile

using namespace mlir;
using namespace recur;
using namespace recur::tile;

//===----------------------------------------------------------------------===//
// Values and their tiles
//===----------------------------------------------------------------------===//

Value Planner::get(Value value) {
  if (Value tile = tiles.lookup(value))
    return tile;
  if (value.getDefiningOp<chunk::InputOp>()) {
    Value tile = make(value);
    load(value, tile);
    return tile;
  }
  // A constant that is wanted as a tile.
  std::optional<double> number = chunk::constantNumber(value);
  if (!number)
    llvm::report_fatal_error("a chunk operation is planned before one of its operands");
  Value tile = alloc(chunk::tensorOf(value).getShape());
  fill(tile, *number, rowsOf(tile));
  return tile;
}

void Planner::load(Value input, Value tile) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastLoad);
  lastLoad = LoadOp::create(builder, loc, inputArrays.lookup(input), firstToken, tokens, tile);
}

Value Planner::make(Value value) {
  SmallVector<int64_t> shape(chunk::tensorOf(value).getShape());
  if (shape.empty())
    shape.push_back(1);
  if (structure.isTransposed(value))
    std::swap(shape[0], shape[1]);
  Value tile = alloc(shape);
  set(value, tile);
  return tile;
}

bool Planner::isLastReader(Value value, Operation *op) {
  if (value.getParentBlock() != op->getBlock())
    return false;
  for (OpOperand &use : value.getUses()) {
    Operation *reader = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (isa<chunk::NextOp>(use.getOwner())) {
      if (use.getOperandNumber() == 0)
        continue; // names the state
      return false;
    }
    if (!reader || (reader != op && op->isBeforeInBlock(reader)))
      return false;
    if (reader == op && &use != &op->getOpOperand(0))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Planner::plan(Block &block) {
  for (Operation &op : block)
    if (failed(plan(&op)))
      return failure();
  return success();
}

LogicalResult Planner::plan(Operation *op) {
  loc = op->getLoc();
  auto done = [&](auto op) {
    plan(op);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<chunk::InputOp, chunk::ParamOp, chunk::StateOp, chunk::OutputOp, chunk::NextOp, chunk::ConstantOp,
            chunk::YieldOp>([](auto) { return success(); }) // the kernel's, or where they are read
      .Case<chunk::MapOp, chunk::ExtractOp, chunk::SliceOp, chunk::ConcatOp, chunk::BroadcastOp, chunk::InterleaveOp,
            chunk::DeinterleaveOp, chunk::CumulativeDecayOp, chunk::InteractionOp, chunk::ApplyOp, chunk::SolveOp,
            chunk::InverseOp, chunk::ReadOp, chunk::AdvanceOp, chunk::ReshapeStateOp, chunk::ComposeOp, chunk::ScanOp,
            chunk::TropicalScanOp, chunk::PreviousOp, chunk::LastOp>([&](auto op) { return done(op); })
      .Case<chunk::TokenLoopOp, chunk::CgOp>([&](auto op) { return plan(op); })
      .Case([&](chunk::StateFreeOp op) {
        if (failed(plan(op.getBody().front())))
          return failure();
        for (auto [result, value] : llvm::zip(op.getResults(), op.getBody().front().getTerminator()->getOperands()))
          set(result, get(value));
        return success();
      })
      .Default([](Operation *op) { return op->emitOpError("has no plan"); });
}

/// The states of the next chunk. A state that becomes another state's old value is read before that one is written.
void Planner::planNexts() {
  SmallVector<chunk::NextOp> nexts(program.getBody().front().getOps<chunk::NextOp>());
  SmallVector<std::pair<Value, Value>> moves;
  for (chunk::NextOp next : nexts) {
    Value from = get(next.getValue()), to = tiles[next.getState()];
    bool otherState = llvm::any_of(nexts, [&](chunk::NextOp other) { return tiles[other.getState()] == from; });
    if (from == to)
      continue;
    if (otherState) {
      Value kept = alloc(tileOf(to).getShape());
      copy(from, kept, constant(tileOf(to).getSize(0)));
      from = kept;
    }
    moves.push_back({from, to});
  }
  for (auto [from, to] : moves)
    copy(from, to, constant(tileOf(to).getSize(0)));
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

FailureOr<KernelOp> Planner::plan(StringRef symbol, Type elementType) {
  MLIRContext *context = builder.getContext();
  auto inputs = program.getInputs();
  auto params = program.getParams();
  auto states = program.getStates();
  auto outputs = program.getOutputs();
  IntegerAttr threads = machine.isCTA() ? builder.getI64IntegerAttr(machine.threads) : IntegerAttr(),
              shared = machine.isCTA() ? builder.getI64IntegerAttr(0) : IntegerAttr();
  auto kernel = KernelOp::create(builder, loc, symbol, int64_t(inputs.size() + params.size()), 0, threads, shared);
  Block &body = kernel.getBody().emplaceBlock();
  auto addArray = [&](ArrayRef<int64_t> perToken, Type element) -> Value {
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    llvm::append_range(shape, perToken);
    return body.addArgument(TileType::get(context, shape, element, Memory::Global, {}, 0), loc);
  };
  SmallVector<Value> paramArrays, initialArrays, outputArrays, finalArrays;
  Type f32 = builder.getF32Type();
  dataType = elementType;
  for (chunk::InputOp input : inputs)
    inputArrays[input] = addArray(chunk::shapePerToken(input), elementType);
  for (chunk::ParamOp param : params)
    paramArrays.push_back(addArray(chunk::shapePerToken(param), elementType));
  for (chunk::StateOp state : states)
    initialArrays.push_back(addArray(chunk::tensorOf(state).getShape(), f32));
  for (chunk::OutputOp output : outputs)
    outputArrays.push_back(addArray(chunk::shapePerToken(output.getValue()), elementType));
  for (chunk::StateOp state : states)
    finalArrays.push_back(addArray(chunk::tensorOf(state).getShape(), f32));
  Value allTokens = body.addArgument(builder.getI64Type(), loc);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  Value zero = constant(0), one = constant(1);
  firstOp = zero.getDefiningOp();
  for (auto [param, array] : llvm::zip(params, paramArrays))
    LoadOp::create(builder, loc, array, zero, one, make(param));
  // A state as the caller has it: one row of its sizes.
  auto asRow = [&](Value tile, chunk::StateOp state) {
    return chunk::tensorOf(state).getRank() == 0 ? tile : withTokens(tile);
  };
  for (auto [state, array] : llvm::zip(states, initialArrays)) {
    Value tile = make(state);
    if (!structure.isTransposed(state)) {
      LoadOp::create(builder, loc, array, zero, one, asRow(tile, state));
      continue;
    }
    Value given = alloc(chunk::tensorOf(state).getShape());
    LoadOp::create(builder, loc, array, zero, one, asRow(given, state));
    TransposeOp::create(builder, loc, given, constant(tileOf(given).getSize(0)), tile);
  }

  int64_t size = program.getChunk();
  auto loop = scf::ForOp::create(builder, loc, zero, allTokens, constant(size));
  {
    OpBuilder::InsertionGuard inLoop(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value first = loop.getInductionVar();
    Value left = arith::SubIOp::create(builder, loc, allTokens, first);
    tokens = arith::MinSIOp::create(builder, loc, left, constant(size));
    firstToken = first;
    lastLoad = tokens.getDefiningOp();
    if (failed(plan(program.getBody().front()))) {
      kernel.erase();
      return failure();
    }
    for (auto [output, array] : llvm::zip(outputs, outputArrays))
      StoreOp::create(builder, loc, get(output.getValue()), tokens, array, first);
    planNexts();
    if (!machine.isCTA())
      fetchAhead(loop);
  }
  for (auto [state, array] : llvm::zip(states, finalArrays)) {
    Value tile = tiles[state];
    if (structure.isTransposed(state))
      tile = transpose(tile, constant(tileOf(tile).getSize(0)));
    StoreOp::create(builder, loc, asRow(tile, state), one, array, zero);
  }
  machine.isCTA() ? placeTiles(kernel, machine.sharedBytes) : placeTiles(kernel);
  return kernel;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertChunkToTilePass : recur::tile::impl::ConvertChunkToTilePassBase<ConvertChunkToTilePass> {
  using ConvertChunkToTilePassBase::ConvertChunkToTilePassBase;
  void runOnOperation() override {
    Type element = llvm::StringSwitch<Type>(dtype)
                       .Case("f32", Float32Type::get(&getContext()))
                       .Case("bf16", BFloat16Type::get(&getContext()))
                       .Case("f16", Float16Type::get(&getContext()))
                       .Default(Type());
    if (!element) {
      getOperation().emitError() << "the dtype is f32, bf16 or f16, not '" << dtype << "'";
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<chunk::ProgramOp>())) {
      if (program.getBackward()) {
        program.emitOpError("runs backward, and a plan goes over the chunks from the first to the last");
        return signalPassFailure();
      }
      builder.setInsertionPoint(program);
      std::string symbol = this->symbol.empty() ? program.getSymName().str() : this->symbol.getValue();
      if (failed(Planner(program, builder, {hasPairs, hasAMX, threads, sharedBytes}).plan(symbol, element)))
        return signalPassFailure();
      program.erase();
    }
  }
};
} // namespace
