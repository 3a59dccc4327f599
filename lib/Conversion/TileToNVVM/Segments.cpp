// Which of a sequence's chunks a CTA has, and how far before them it begins. The CTAs of a sequence are a column of the
// grid. Every warp finds it out by itself, so nothing is waited for but memory, for the rows of some chunks at a time.
#include "ABI/LaunchWords.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

static_assert(SegmentOp::little == recur::abi::little);

/// Chunks whose rows are on their way at once.
static constexpr int64_t inStep = 8;

namespace {

/// Goes back from a chunk until little remains of what was before.
class WayBack {
public:
  WayBack(TeamCode &team, const CallerArray &remains) : t(team), remains(remains) {
    width = remains.type.getRank() == 2 ? remains.type.getSize(1) : 1;
  }
  /// The chunk to begin with, for the state to be known at `first`; both of 32 bits.
  Value from(Value first);

private:
  Value load(Value chunk, int64_t part);
  Value isLittle(ValueRange products);
  Value column(int64_t part) { return t.add(t.lane, part * warpThreads); }

  TeamCode &t;
  const CallerArray &remains;
  int64_t width;
};

} // namespace

/// What the lane has of the chunk's row: one number, or every 32nd. Chunks before the first change nothing.
Value WayBack::load(Value chunk, int64_t part) {
  Value isChunk = t.below(t.constant(-1), chunk), row = t.select(isChunk, chunk, t.constant(0));
  Value offset = t.multiplyWide(t.widen(row), remains.tokenStride);
  if (width > 1) {
    Value inside = t.smaller(column(part), t.constant(width - 1)); // the last again, for lanes that have none
    offset = t.addWide(offset, t.widen(inside));
  }
  Type f32 = t.builder.getF32Type();
  return t.select(isChunk, t.load(t.offset(remains.pointer, offset, f32), f32), t.number(1));
}

Value WayBack::isLittle(ValueRange products) {
  Value all;
  for (Value product : products) {
    Value one =
        arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLE, product, t.number(SegmentOp::little));
    all = all ? arith::AndIOp::create(t.builder, t.loc, all, one).getResult() : one;
  }
  if (width == 1)
    return all; // the same in every lane
  return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI1Type(),
                                       t.builder.getStringAttr("llvm.nvvm.vote.all.sync"),
                                       ValueRange{t.constant(-1), all})
      .getResult(0);
}

Value WayBack::from(Value first) {
  OpBuilder &builder = t.builder;
  Type word = builder.getI32Type(), f32 = builder.getF32Type(), bit = builder.getI1Type();
  int64_t parts = llvm::divideCeil(width, warpThreads);
  SmallVector<Type> types{word, bit};
  types.append(parts, f32);
  SmallVector<Value> initial{first, arith::ConstantIntOp::create(builder, t.loc, 0, 1)};
  initial.append(parts, t.number(1));
  auto loop = scf::WhileOp::create(builder, t.loc, types, initial);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> places(types.size(), t.loc);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types, places);
  Value isOpen = arith::CmpIOp::create(builder, t.loc, arith::CmpIPredicate::eq, before->getArgument(1), initial[1]);
  Value goesOn = arith::AndIOp::create(builder, t.loc, t.below(t.constant(0), before->getArgument(0)), isOpen);
  scf::ConditionOp::create(builder, t.loc, goesOn, before->getArguments());
  Block *body = builder.createBlock(&loop.getAfter(), {}, types, places);
  Value chunk = body->getArgument(0), found, from;
  SmallVector<Value> products(body->getArguments().drop_front(2));
  // All loads come before the first product, so that they are under way together.
  SmallVector<SmallVector<Value>> rows(inStep);
  for (int64_t step = 0; step < inStep; ++step)
    for (int64_t part = 0; part < parts; ++part)
      rows[step].push_back(load(t.add(chunk, -1 - step), part));
  for (int64_t step = 0; step < inStep; ++step) {
    for (auto [product, own] : llvm::zip(products, rows[step]))
      product = t.mul(product, own);
    Value now = isLittle(products), here = t.add(chunk, -1 - step);
    from = found ? t.select(found, from, here) : here;
    found = found ? arith::OrIOp::create(builder, t.loc, found, now).getResult() : now;
  }
  SmallVector<Value> next{from, found};
  next.append(products);
  scf::YieldOp::create(builder, t.loc, next);
  builder.setInsertionPointAfter(loop);
  Value result = loop.getResult(0);
  return t.select(t.below(result, t.constant(0)), t.constant(0), result);
}

/// The launch that makes summaries has CTAs for all segments but the last.
SegmentSummaries KernelLowering::findSummaries(SegmentOp op, Value segment) {
  Type word64 = builder.getI64Type();
  Location loc = op.getLoc();
  SegmentSummaries summaries;
  summaries.isMade = op.makesSummaries();
  summaries.hasMaps = op.getMaps().has_value();
  summaries.segment = segment;
  Value unit = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  Value segments = NVVM::GridDimYOp::create(builder, loc, builder.getI32Type());
  if (summaries.isMade)
    segments = team.add(segments, 1);
  summaries.stride = word(abi::WorkspaceStrideWord, word64);
  auto globalPointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  Value first = LLVM::AddrSpaceCastOp::create(
      builder, loc, globalPointer, word(abi::WorkspaceWord, LLVM::LLVMPointerType::get(builder.getContext())));
  Value before = team.multiplyWide(team.multiplyWide(team.widen(unit), team.widen(segments)), summaries.stride);
  summaries.maps = team.offset(first, before, builder.getI8Type());
  summaries.states = LLVM::GEPOp::create(builder, loc, globalPointer, builder.getI8Type(), summaries.maps,
                                         ArrayRef<LLVM::GEPArg>{int32_t(op.getMapBytes())});
  TileType state = op.getInitial().getType();
  int64_t stateBytes = state.getSize(1) * op.getColumns() * 4;
  summaries.states =
      team.offset(summaries.states, team.multiplyWide(team.widen(part), team.widen(team.constant(stateBytes))),
                  builder.getI8Type());
  if (op.getForgets())
    summaries.forgottenOffset = op.getForgottenOffset();
  if (summaries.isMade && summaries.hasMaps) {
    summaries.rowBlock = team.add(part, -int64_t(*op.getParts()));
    summaries.mapsState = team.below(team.constant(-1), summaries.rowBlock);
  }
  return summaries;
}

CallerArray KernelLowering::findStore(SegmentOp op, CallerArray final, Value end) {
  Type word32 = builder.getI32Type();
  Value row = NVVM::BlockIdYOp::create(builder, op.getLoc(), word32);
  Value rows = NVVM::GridDimYOp::create(builder, op.getLoc(), word32);
  if (op.makesSummaries()) // of all segments but the last
    rows = team.add(rows, 1);
  Value null = LLVM::ZeroOp::create(builder, op.getLoc(), final.pointer.getType());
  // How many segments a packed sequence has would take a register until then.
  auto endsBefore = [&]() -> Value {
    return arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::slt, end, findTokens(sequence).count);
  };
  Value isBefore = team.choose(isPacked, endsBefore, team.below(team.add(row, 1), rows));
  final.pointer = team.select(isBefore, null, final.pointer);
  return final;
}

void KernelLowering::setWhole(SegmentOp op) {
  Value zero = arith::ConstantIntOp::create(builder, op.getLoc(), 0, 64);
  values.map(op.getBegin(), zero);
  values.map(op.getFirst(), zero);
  values.map(op.getEnd(), value(op.getTokens()));
  arrays[op.getStart()] = arrayOf(op.getInitial());
  arrays[op.getStore()] = arrayOf(op.getFinal());
}

void KernelLowering::emit(SegmentOp op) {
  Location loc = op.getLoc();
  Type word32 = builder.getI32Type(), word64 = builder.getI64Type();
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, loc, value, 64); };
  auto times = [&](Value a, Value b) { return team.multiplyWide(a, b); };
  auto over = [&](Value a, Value b) -> Value { return arith::DivUIOp::create(builder, loc, a, b); };
  Value row = NVVM::BlockIdYOp::create(builder, loc, word32), segment = team.widen(row),
        rows = NVVM::GridDimYOp::create(builder, loc, word32);
  if (op.makesSummaries())
    rows = team.add(rows, 1);
  Value size = number(op.getSize()), tokens = value(op.getTokens());
  Value chunks = over(team.addWide(tokens, number(op.getSize() - 1)), size);
  // A packed sequence may be cut into fewer segments than others.
  rows = team.choose(isPacked, [&] { return findSegments(team.narrow(chunks)); }, rows);
  endUnless(team.below(op.makesSummaries() ? team.add(row, 1) : row, rows));
  Value segments = team.widen(rows);
  Value next = team.addWide(segment, number(1));
  Value first = over(times(segment, chunks), segments), end = over(times(next, chunks), segments), begin = first;
  if (op.getRemains())
    begin = team.widen(WayBack(team, arrayOf(op.getRemains())).from(team.narrow(first)));
  auto equal = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  };
  if (op.getSummaries())
    summaries = findSummaries(op, row);
  if (summaries && summaries->mapsState) { // of the first segment nobody asks
    Value isFirst = arith::AndIOp::create(builder, loc, summaries->mapsState, equal(segment, number(0)));
    end = team.select(isFirst, first, end);
  }
  values.map(op.getBegin(), times(begin, size));
  values.map(op.getFirst(), times(first, size));
  values.map(op.getEnd(), arith::MinSIOp::create(builder, loc, word64, times(end, size), tokens).getResult());
  // An absent array has no pointer.
  auto unless = [&](Value keeps, Value array) {
    CallerArray found = arrayOf(array);
    Value null = LLVM::ZeroOp::create(builder, loc, found.pointer.getType());
    found.pointer = team.select(keeps, found.pointer, null);
    return found;
  };
  CallerArray start = unless(equal(op.getRemains() ? begin : segment, number(0)), op.getInitial());
  if (summaries && summaries->mapsState) {
    Value hasValues = team.below(summaries->rowBlock, team.constant(0));
    for (int64_t number : op.getMapsAttr().asArrayRef()) {
      Value array = kernel.getBody().getArgument(unsigned(number));
      arrays[array] = unless(hasValues, array);
    }
  }
  arrays[op.getStart()] = start;
  arrays[op.getStore()] = findStore(op, arrayOf(op.getFinal()), value(op.getEnd()));
  for (Value array : {op.getStart(), op.getStore()})
    extents[array] = {Memory::Global, 0, 1, false};
}
