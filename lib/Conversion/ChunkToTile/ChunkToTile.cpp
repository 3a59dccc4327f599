// The kernel around a chunk program: arrays, states, and the loop over chunks.
#include "Analysis/ChannelCarry.h"
#include "Analysis/Crowd.h"
#include "Analysis/KernelGPU.h"
#include "Analysis/RowPass.h"
#include "Analysis/StateChain.h"
#include "Analysis/StoredTypes.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "dialects/Tile/RegisterTiles.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

namespace recur::conversion {
#define GEN_PASS_DEF_CONVERTCHUNKTOTILEPASS
#include "Conversion/ChunkToTile/Passes.h.inc"
} // namespace recur::conversion

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
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
    if (SmallVector<chunk::HeldOp> held = findHeldRows(value); !held.empty())
      loadHeld(value, rowsBefore.lookup(tile).whole, held);
    return tile;
  }
  if (auto left = value.getDefiningOp<chunk::TakeOp>()) {
    Value tile = make(value);
    take(left, tile);
    return tile;
  }
  if (auto initial = value.getDefiningOp<chunk::InitialOp>()) {
    load(initial);
    return tiles.lookup(value);
  }
  if (auto kept = value.getDefiningOp<chunk::KeptOp>()) {
    load(kept);
    return tiles.lookup(value);
  }
  if (auto rows = value.getDefiningOp<chunk::InterleaveOp>())
    if (Value whole = findWhole(rows)) {
      Value tile = flatten(get(whole));
      set(value, tile);
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
  auto declared = input.getDefiningOp<chunk::InputOp>();
  if (declared && declared.getBack())
    return loadEarlier(rowsOfEarlierTokens(declared), tile);
  loadInPlace([&] { return LoadOp::create(builder, loc, inputArrays.lookup(input), firstToken, tokens, tile); });
}

void Planner::loadInPlace(llvm::function_ref<LoadOp()> make) {
  if (machine.loadsLate && builder.getBlock() == lastLoad->getBlock()) {
    make();
    return;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastLoad);
  lastLoad = make();
}

/// There is a row of the array for each chunk.
void Planner::load(chunk::KeptOp kept) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastLoad);
  Value chunk = arith::DivUIOp::create(builder, loc, firstToken, constant(program.getChunk()));
  lastLoad = loadState(kept, kept.getTransposed(), keptArrays.lookup(kept), chunk);
}

void Planner::load(chunk::KeptOp kept, Value tile) {
  loadInPlace([&] {
    Value chunk = arith::DivUIOp::create(builder, loc, firstToken, constant(program.getChunk()));
    return LoadOp::create(builder, loc, keptArrays.lookup(kept), chunk, constant(1), asRow(kept, tile));
  });
}

/// A CTA's array says itself that the caller has the transpose; a core loads what the caller has.
bool Planner::liesAsGiven(Value state, bool isGivenTransposed) const {
  return machine.isCTA() || isTransposed(state) == isGivenTransposed;
}

/// A state has one row of the array, of its sizes.
Value Planner::asRow(Value state, Value tile) {
  return chunk::tensorOf(state).getRank() == 0 ? tile : withTokens(tile);
}

Operation *Planner::loadState(Value state, bool isGivenTransposed, Value array, Value row) {
  Value tile = make(state), given = tile;
  if (!liesAsGiven(state, isGivenTransposed)) {
    TileType type = tileOf(tile);
    given = alloc({type.getSize(1), type.getSize(0)});
  }
  Operation *last = LoadOp::create(builder, loc, array, row, constant(1), asRow(state, given));
  if (given != tile)
    last = TransposeOp::create(builder, loc, given, constant(tileOf(given).getSize(0)), tile);
  return last;
}

void Planner::storeState(chunk::StateOp state, Value array, Value row) {
  Value tile = tiles[state];
  if (!liesAsGiven(state, state.getTransposed()))
    tile = transpose(tile, constant(tileOf(tile).getSize(0)));
  StoreOp::create(builder, loc, asRow(state, tile), constant(1), array, row);
}

Value Planner::make(Value value) {
  SmallVector<int64_t> shape(chunk::tensorOf(value).getShape());
  if (shape.empty())
    shape.push_back(1);
  if (isTransposed(value))
    std::swap(shape[shape.size() - 2], shape.back());
  if (int64_t before = countRowsBefore(value)) {
    int64_t rows = shape[0];
    if (!machine.isCTA()) // whole register tiles
      shape[0] = int64_t(rows > 16 ? llvm::alignTo(rows, 16) : llvm::PowerOf2Ceil(rows));
    shape[0] += before;
    Value whole = alloc(shape);
    shape[0] = rows;
    OpBuilder::InsertionGuard guard(builder);
    bool isInput = bool(value.getDefiningOp<chunk::InputOp>()); // which is loaded at the chunk's beginning
    if (isInput)
      builder.setInsertionPointAfter(lastLoad);
    Value tile = view(whole, shape, tileOf(whole).getStrides(), before * tileOf(whole).getStride(0));
    if (isInput)
      lastLoad = tile.getDefiningOp();
    rowsBefore[tile] = {whole, before};
    set(value, tile);
    return tile;
  }
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
    if (reader == op && isa<chunk::AdvanceOp>(op) && &use != &op->getOpOperand(0))
      return false;
    // The same tile under another shape, and what is computed only where it is read, in another pass or as pairs.
    auto map = dyn_cast<chunk::MapOp>(use.getOwner());
    bool isReadLater = isa<chunk::ReshapeStateOp>(use.getOwner()) || (map && (isPaired(map) || passes.of(map) != map));
    if (isReadLater && reader != op && !isLastReader(use.getOwner()->getResult(0), op))
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
  if (isInSystemsAlone(op))
    return success();
  auto done = [&](auto op) {
    plan(op);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<chunk::InputOp, chunk::ParamOp, chunk::StateOp, chunk::OutputOp, chunk::NextOp, chunk::ConstantOp,
            chunk::YieldOp, chunk::InitialOp, chunk::KeptOp, chunk::TakeOp, chunk::RemainsOp>(
          [](auto) { return success(); }) // the kernel's, or where they are read
      .Case<chunk::MapOp, chunk::ExtractOp, chunk::SliceOp, chunk::ConcatOp, chunk::BroadcastOp, chunk::InterleaveOp,
            chunk::DeinterleaveOp, chunk::CumulativeDecayOp, chunk::InteractionOp, chunk::ApplyOp, chunk::SolveOp,
            chunk::ScaledSolveOp, chunk::EliminateOp, chunk::InverseOp, chunk::ReadOp, chunk::AdvanceOp,
            chunk::ReshapeStateOp, chunk::ComposeOp, chunk::ScanOp, chunk::TropicalScanOp, chunk::MoebiusScanOp,
            chunk::PreviousOp, chunk::LastOp, chunk::HeldOp, chunk::ApplyTransposedOp, chunk::SolveTransposedOp,
            chunk::DecayCotangentOp, chunk::ReverseScanOp, chunk::FollowingOp, chunk::SumTokensOp, chunk::InsertOp>(
          [&](auto op) { return done(op); })
      .Case([&](chunk::GiveOp op) {
        plan(op);
        return success();
      })
      .Case<chunk::TokenLoopOp, chunk::CgOp, chunk::LoopOp>([&](auto op) { return plan(op); })
      .Default([](Operation *op) { return op->emitOpError("has no plan"); });
}

/// A product's sums are rounded by a pass, which takes them from registers, and not as they are stored.
Value Planner::getOutput(chunk::OutputOp output) {
  Value value = output.getValue(), tile = get(value);
  auto makes = [&](Operation *user) {
    auto product = dyn_cast<ProductOp>(user);
    return product && product.getResult() == tile;
  };
  TileType type = tileOf(tile);
  bool isSum = isShort(output) && type.getRank() == 2 && type.getElementType().isF32() &&
               spreadOverWarps(type.getSize(0), type.getSize(1), machine.threads / 32) &&
               llvm::any_of(tile.getUsers(), makes);
  if (!isSum || isStoredAsFactor(output))
    return isSum ? rounded(value) : tile;
  Value narrow = alloc(type.getShape(), *output.getStored());
  copy(tile, narrow, rowsOf(narrow));
  return narrow;
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

/// The first token of the last chunks, of which all but the last one are whole.
Value Planner::findLastChunks(Value allTokens, int64_t count) {
  Value size = constant(program.getChunk());
  Value last = arith::AddIOp::create(builder, loc, allTokens, constant(int64_t(program.getChunk()) - 1));
  Value chunks = arith::DivUIOp::create(builder, loc, last, size);
  Value before =
      arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, chunks, constant(count)), constant(0));
  return arith::MulIOp::create(builder, loc, before, size);
}

/// Whether so many of its CTAs have room on a multiprocessor, without memory of the device for any.
static bool fitTogether(KernelOp kernel, int64_t count) {
  return !kernel.getWorkspace() && analysis::countCTAs(analysis::gpuOf(kernel), int64_t(*kernel.getShared())) >= count;
}

/// Whether so many threads can have the kernel's tiles in registers.
static bool canBeWide(KernelOp kernel, int64_t threads) {
  return llvm::all_of(kernel.getBody().front().getOps<AllocOp>(), [&](AllocOp tile) {
    TileType type = tile.getType();
    return type.getMemory() != Memory::Registers || spreadOverWarps(type.getSize(0), type.getSize(1), threads / 32);
  });
}

/// Rows that have nothing to do with each other stay in registers, whatever room their tiles would take.
static bool takeRowsApart(KernelOp kernel) {
  if (!analysis::findRowPass(kernel))
    return false;
  placeTiles(kernel, std::numeric_limits<int64_t>::max());
  kernel.setThreads(analysis::RowPass::threads);
  kernel.setShared(0);
  return true;
}

FailureOr<KernelOp> Planner::plan(StringRef symbol) {
  MLIRContext *context = builder.getContext();
  auto inputs = program.getInputs();
  auto params = program.getParams();
  auto states = program.getStates();
  auto outputs = program.getOutputs();
  IntegerAttr threads = machine.isCTA() ? builder.getI64IntegerAttr(machine.threads) : IntegerAttr(),
              shared = machine.isCTA() ? builder.getI64IntegerAttr(0) : IntegerAttr();
  // A cotangent that is absent is zero, and what comes behind it is optional too.
  int64_t cotangents = llvm::count_if(inputs, [](chunk::InputOp input) { return input.isCotangent(); });
  int64_t required = inputs.size() - cotangents + (cotangents ? 0 : params.size());
  auto kernel = KernelOp::create(builder, loc, symbol, required, 0, threads, shared, /*teams=*/IntegerAttr(),
                                 /*awaits=*/DenseI64ArrayAttr(), /*channels=*/DenseI64ArrayAttr(),
                                 /*occupancy=*/IntegerAttr(), /*in_turn=*/false, /*unlisted=*/false,
                                 machine.gpu.empty() ? StringAttr() : builder.getStringAttr(machine.gpu));
  Block &body = kernel.getBody().emplaceBlock();
  auto addArray = [&](ArrayRef<int64_t> perToken, Type element, bool isTransposed = false) -> Value {
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    llvm::append_range(shape, perToken);
    return body.addArgument(TileType::get(context, shape, element, Memory::Global, {}, 0, isTransposed), loc);
  };
  SmallVector<Value> paramArrays, stateArrays, outputArrays, finalArrays, keptStateArrays;
  Type f32 = builder.getF32Type();
  auto storedType = [&](auto op) -> Type { return analysis::getStoredType(op.getStored(), context); };
  auto addState = [&](auto state, Type element) {
    SmallVector<int64_t> shape = state.getCallerShape();
    bool isTransposed =
        machine.isCTA() && state.getTransposed(); // the tile says so itself, and has the program's sizes
    if (isTransposed)
      std::swap(shape[0], shape[1]);
    return addArray(shape, element, isTransposed);
  };
  // What a core's kernels begin and end with the runtime has in f32.
  auto callerType = [&](chunk::StateOp state) { return machine.isCTA() ? storedType(state) : f32; };
  for (chunk::InputOp input : inputs)
    inputArrays[input] = addArray(chunk::arrayShape(input), storedType(input));
  for (chunk::ParamOp param : params)
    paramArrays.push_back(addArray(chunk::arrayShape(param), storedType(param)));
  for (chunk::StateOp state : states)
    stateArrays.push_back(addState(state, callerType(state)));
  for (chunk::InitialOp initial : program.getInitials())
    initialArrays[initial] = addArray(chunk::tensorOf(initial).getShape(), storedType(initial));
  for (chunk::OutputOp output : outputs)
    outputArrays.push_back(addArray(chunk::arrayShape(output), storedType(output)));
  for (chunk::StateOp state : states)
    finalArrays.push_back(addState(state, callerType(state)));
  for (chunk::TakeOp op : program.getTaken())
    phaseArrays[op] = addPhaseArray(body, op.getType(), op.getWhole(), op.getRounded());
  for (chunk::GiveOp op : program.getGiven())
    phaseArrays[op] = addPhaseArray(body, op.getValue().getType(), op.getWhole(), op.getRounded());
  for (chunk::KeptOp kept : program.getKept())
    keptArrays[kept] = addState(kept, storedType(kept));
  if (program.getKeeps())
    for (chunk::StateOp state : states)
      keptStateArrays.push_back(addState(state, analysis::getStoredType(state.getKept(), context)));
  Value allTokens = body.addArgument(builder.getI64Type(), loc);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  Value zero = constant(0), one = constant(1);
  firstOp = zero.getDefiningOp();
  for (auto [param, array] : llvm::zip(params, paramArrays))
    LoadOp::create(builder, loc, array, zero, one, isFactorOfData(param) ? makeRounded(param) : make(param));
  for (auto [state, array] : llvm::zip(states, stateArrays))
    loadState(state, state.getTransposed(), array, zero);

  int64_t size = program.getChunk();
  // Chunks without states go in any order, or at once.
  bool isParallel = machine.isCTA() && states.empty();
  scf::ForOp loop;
  Block *inLoop;
  if (isParallel) {
    auto toIndex = [&](Value number) -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
    };
    inLoop =
        scf::ParallelOp::create(builder, loc, toIndex(zero), toIndex(allTokens), toIndex(constant(size))).getBody();
  } else {
    Value first = holdsWindows()                    ? findLastChunks(allTokens, 1)
                  : chunk::holdsLastTokens(program) ? findLastChunks(allTokens, 2)
                                                    : zero;
    loop = scf::ForOp::create(builder, loc, first, allTokens, constant(size));
    inLoop = loop.getBody();
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(inLoop->getTerminator());
    Value first = inLoop->getArgument(0);
    if (isParallel)
      first = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), first);
    if (program.getBackward() && !isParallel) {
      Value last = arith::SubIOp::create(builder, loc, allTokens, one);
      last = arith::MulIOp::create(builder, loc, arith::DivSIOp::create(builder, loc, last, constant(size)),
                                   constant(size));
      // Who looks ahead of the loop's end sees the first chunk again.
      first = arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, last, first), zero);
    }
    Value left = arith::SubIOp::create(builder, loc, allTokens, first);
    tokens = arith::MinSIOp::create(builder, loc, left, constant(size));
    firstToken = first;
    lastLoad = tokens.getDefiningOp();
    for (auto [state, array] : llvm::zip(states, keptStateArrays))
      storeState(state, array, arith::DivUIOp::create(builder, loc, first, constant(size)));
    if (failed(plan(program.getBody().front()))) {
      kernel.erase();
      return failure();
    }
    for (auto [output, array] : llvm::zip(outputs, outputArrays))
      StoreOp::create(builder, loc, isParallel ? getOutput(output) : get(output.getValue()), tokens, array, first);
    planNexts();
    if (!machine.isCTA())
      fetchAhead(loop, program.getBackward());
  }
  for (auto [state, array] : llvm::zip(states, finalArrays))
    storeState(state, array, zero);
  if (isParallel && takeRowsApart(kernel))
    return kernel;
  int64_t inRegisters = 0;
  if (isParallel && machine.threads % 64 == 0) {
    if (machine.scansFirst)
      putScansFirst(*inLoop);
    machine.inLeastRoom ? keepInLeastRoom(kernel, *inLoop, machine.isWide) : keepInRegisters(kernel, *inLoop);
    if (machine.inLevels)
      orderByLevels(kernel, *inLoop);
    inRegisters = countInRegisters(kernel, *inLoop);
  }
  machine.isCTA() ? placeTiles(kernel, machine.sharedBytes) : placeTiles(kernel);
  if (isParallel && machine.inLeastRoom && !kernel.getWorkspace())
    meetLess(kernel, *inLoop);
  if (loop && machine.isCTA() && !kernel.getWorkspace() && states.size() == 1)
    cutIntoSegments(loop, stateArrays.front(), finalArrays.front());
  // Stages of loads take room beside the tiles, or in place of those that stay in registers.
  if (std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel)) {
    kernel.setThreads(chain->threads());
    kernel.setShared(std::max<int64_t>(*kernel.getShared(), chain->sharedBytes));
  }
  // A thread has a channel: so many more as there are, while each has registers for loads of several chunks.
  constexpr int64_t mostCarried = 512, warpThreads = 32;
  if (loop && machine.isCTA())
    if (int64_t channels = analysis::countCarriedChannels(kernel);
        channels > int64_t(*kernel.getThreads()) && channels <= mostCarried)
      kernel.setThreads(llvm::alignTo(channels, warpThreads));
  // CTAs of half the threads do not wait for each other's barriers, where three share a multiprocessor; and their
  // threads have registers for as much again.
  constexpr int64_t fewNumbers = 64;
  if (isParallel && machine.threads % 64 == 0 && fitTogether(kernel, 3) &&
      inRegisters <= fewNumbers * machine.threads / 2)
    kernel.setThreads(machine.threads / 2);
  // A CTA that has a multiprocessor alone has half of its threads' code, and twice as many threads to wait for each
  // other.
  if (isParallel && machine.isWide && !fitTogether(kernel, 2) && canBeWide(kernel, 2 * machine.threads))
    kernel.setThreads(2 * machine.threads);
  if (machine.solvesSystems) // one warpgroup has a chunk's
    kernel.setThreads(ConjugateGradientsOp::threads);
  return kernel;
}

/// How many CTAs have room on a multiprocessor, as far as more of them gain.
static int64_t countTogether(KernelOp kernel) {
  constexpr int64_t most = 4;
  int64_t count = 0;
  while (count < most && fitTogether(kernel, count + 1))
    ++count;
  return count;
}

/// Whether each channel has decays of its own.
static bool hasChannels(chunk::InteractionOp op) {
  return op.getDecay() && chunk::tensorOf(op.getDecay()).getRank() > 1;
}

/// Whether data of f16 that are read number by number may have tiles of their own. In a chain they have not: it takes
/// rows of f16 as they are, by tiles of the type of factors.
static bool readsHalves(chunk::ProgramOp program) {
  return program.getShortFactors() && llvm::any_of(program.getInputs(), [](chunk::InputOp input) {
           return input.getStored() && input.getStored()->isF16();
         });
}

/// Makes the kernel; where its chunks are apart, in the form of which most CTAs have room on a multiprocessor.
static LogicalResult planBest(chunk::ProgramOp program, OpBuilder &builder, PlanMachine machine, StringRef symbol) {
  machine.readsHalves = program.getStates().empty();
  FailureOr<KernelOp> best = Planner(program, builder, machine).plan(symbol);
  if (failed(best) || !machine.isCTA())
    return best;
  if (!machine.readsHalves && readsHalves(program) && !analysis::findStateChain(*best)) {
    machine.readsHalves = true;
    FailureOr<KernelOp> made = Planner(program, builder, machine).plan(symbol);
    if (failed(made))
      return failure();
    if (made->getWorkspace() > best->getWorkspace())
      std::swap(*made, *best);
    best->erase();
    best = made;
  }
  if (!program.getStates().empty())
    return success();
  PlanMachine ofBest = machine;
  auto tryOther = [&](PlanMachine other, bool PlanMachine::*form,
                      llvm::function_ref<bool(KernelOp)> isBetter) -> LogicalResult {
    other.*form = true;
    FailureOr<KernelOp> made = Planner(program, builder, other).plan(symbol);
    if (failed(made))
      return failure();
    if (isBetter(*made)) {
      std::swap(*made, *best);
      ofBest = other;
    }
    made->erase();
    return success();
  };
  if (!fitTogether(*best, 3)) {
    int64_t wanted = fitTogether(*best, 2) ? 3 : 2;
    if (failed(tryOther(machine, &PlanMachine::loadsLate, [&](KernelOp kernel) {
          return kernel.getWorkspace() < best->getWorkspace() || fitTogether(kernel, wanted);
        })))
      return failure();
  }
  // That was measured to gain by the room that it makes, and not by the barriers that it spares.
  if (failed(tryOther(machine, &PlanMachine::inLevels,
                      [&](KernelOp kernel) { return countTogether(kernel) > countTogether(*best); })))
    return failure();
  // Not of few tiles, where others wait less for barriers: a second CTA hides more than that.
  if (!fitTogether(*best, 2) && failed(tryOther(ofBest, &PlanMachine::inLeastRoom, [&](KernelOp kernel) {
        return kernel.getWorkspace() < best->getWorkspace() || fitTogether(kernel, 2);
      })))
    return failure();
  if (ofBest.inLeastRoom && !fitTogether(*best, 2) &&
      failed(tryOther(ofBest, &PlanMachine::isWide, [&](KernelOp kernel) {
        return kernel.getWorkspace() <= best->getWorkspace() && *kernel.getThreads() > *best->getThreads();
      })))
    return failure();
  int64_t dots = llvm::count_if(program.getOps<chunk::InteractionOp>(), hasChannels);
  auto hasRoom = [&](KernelOp kernel) {
    return kernel.getWorkspace() <= best->getWorkspace() && countTogether(kernel) >= countTogether(*best);
  };
  // Columns that are scaled once for several rows; but one CTA more hides more.
  if (dots > 1 && failed(tryOther(ofBest, &PlanMachine::dotsTogether, hasRoom)))
    return failure();
  return dots ? tryOther(ofBest, &PlanMachine::scansFirst, hasRoom) : success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertChunkToTilePass : recur::conversion::impl::ConvertChunkToTilePassBase<ConvertChunkToTilePass> {
  using ConvertChunkToTilePassBase::ConvertChunkToTilePassBase;
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<chunk::ProgramOp>())) {
      if (threads && chunk::cancels(program))
        program.setExact(true);
      chunk::dropRemains(program);
      builder.setInsertionPoint(program);
      std::string symbol = this->symbol.empty() ? program.getSymName().str() : this->symbol.getValue();
      const GPUProfile *profile = gpu.empty() ? &getDefaultGPUProfile() : findGPUProfile(gpu);
      if (!profile) {
        program.emitError("there is no GPU '") << gpu << "' to plan for";
        return signalPassFailure();
      }
      PlanMachine machine{hasPairs, hasAMX, threads, std::min(int64_t(sharedBytes), profile->sharedBytes), gpu};
      if (solvesSystemsApart(program, machine)) {
        machine.solvesSystems = true;
        putSystemsFirst(program);
        program.setExact(false); // the rest of it is rounded as any other program
      }
      if (failed(planBest(program, builder, machine, symbol)))
        return signalPassFailure();
      program.erase();
    }
  }
};
} // namespace
