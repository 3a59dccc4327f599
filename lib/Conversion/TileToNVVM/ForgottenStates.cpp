// Whether a segment forgets what was before it, found from the rows of its last chunks before the kernel's roles part.
// How a chunk's map is bounded stands with `ForgottenState`; the bounds of chunks multiply.
//
// All threads take part: some neighbouring lanes have a row. Squares that no number holds count as what is added under
// the root, and what is no number is never little.
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace recur::tile;
using namespace recur::conversion::nvvm;
using recur::analysis::ForgottenState;
using recur::analysis::StateChain;

/// So many chunks are looked at. Where these are not enough, or each does not bring its share, a segment keeps its map:
/// a few chunks that are looked at in vain cost little.
static constexpr int64_t mostChunks = 8;
static constexpr int64_t pieceNumbers = 8;

namespace {

class ForgottenCode {
public:
  ForgottenCode(TeamCode &team, const StateChain &chain, const ForgottenState &of,
                const llvm::DenseMap<Value, CallerArray> &arrays, const IRMapping &values, Value shared)
      : t(team), chain(chain), of(of), arrays(arrays), values(values), shared(shared),
        rows(chain.loads[of.reads].type().getSize(0)) {
    int64_t pieces = of.matrix ? std::gcd(chain.keys, rows) / pieceNumbers : chain.keys / pieceNumbers;
    lanes = std::min<int64_t>(4, int64_t(1) << llvm::countr_zero(uint64_t(pieces)));
  }

  struct Found {
    Value isForgotten, begin; // and the token to begin with then
  };
  Found find(Value first, Value end);

private:
  CallerArray arrayOf(unsigned load) const {
    LoadOp op = chain.loads[load].op;
    return arrays.lookup(op.getArray());
  }
  Value firstRow(const IRMapping &chunk, unsigned load) const {
    LoadOp op = chain.loads[load].op;
    return chunk.lookup(op.getFirst());
  }
  Value lane() { return t.remainder(t.thread, lanes); }
  /// Where in shared memory what was read lies, in numbers; before that is what warps have found.
  int64_t readsPlace() const { return 2 * t.warps(); }
  Value addLanes(Value own);
  /// Whether rows of the keys have more than the array's.
  bool hasPadding(const CallerArray &array) const {
    LoadOp initial = chain.initial;
    return array.columns() < chain.keys && array.columns() == initial.getArray().getType().getShape().back();
  }
  Value canLoad(unsigned load) {
    CallerArray array = arrayOf(load);
    return hasPadding(array) ? arith::ConstantIntOp::create(t.builder, t.loc, 1, 1).getResult()
                             : isAligned(t, array, pieceBytes);
  }
  SmallVector<Value> loadPiece(const CallerArray &array, Value first, Value row, Value piece);
  Value lengthOf(const CallerArray &array, Value first, Value row);
  Value factorOf(const IRMapping &chunk, Value row);
  Value applyRow(const IRMapping &chunk, Value row);
  Value sumRows(const IRMapping &chunk);
  Value findDecay(const IRMapping &chunk);
  Value combine(Value sums, Value decay);
  Value bound(Value begin);
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(t.builder, t.loc, predicate, a, b);
  }
  Value larger(Value a, Value b) { return arith::MaximumFOp::create(t.builder, t.loc, a, b); }

  TeamCode &t;
  const StateChain &chain;
  const ForgottenState &of;
  const llvm::DenseMap<Value, CallerArray> &arrays;
  const IRMapping &values;
  Value shared;
  int64_t rows, lanes; // lanes for a row
};

} // namespace

/// A piece of a row, whose padding is zero. Rows with padding may begin anywhere.
SmallVector<Value> ForgottenCode::loadPiece(const CallerArray &array, Value first, Value row, Value piece) {
  Value offset = t.multiplyWide(t.addWide(first, t.widen(row)), array.tokenStride);
  if (hasPadding(array)) {
    SmallVector<Value> own;
    for (int64_t i = 0; i < pieceNumbers; ++i) {
      Value column = t.add(t.multiply(piece, pieceNumbers), i);
      Value known = t.smaller(column, t.constant(array.columns() - 1));
      Value number = t.load(t.offset(array.pointer, t.addWide(offset, t.widen(known)), t.builder.getBF16Type()),
                            t.builder.getBF16Type());
      own.push_back(t.select(t.below(column, t.constant(array.columns())), t.convert(number, t.builder.getF32Type()),
                             t.number(0)));
    }
    return own;
  }
  offset = t.addWide(offset, t.widen(t.multiply(piece, pieceNumbers)));
  Value words = t.load(t.offset(array.pointer, offset, t.builder.getBF16Type()),
                       VectorType::get(pieceBytes / 4, t.builder.getI32Type()));
  WarpgroupCode code(t);
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < pieceBytes / 4; ++i) {
    auto [low, high] = code.unpack(LLVM::ExtractElementOp::create(t.builder, t.loc, words, t.constant(i)));
    numbers.append({low, high});
  }
  return numbers;
}

/// What the lanes of a row have in all.
Value ForgottenCode::addLanes(Value own) {
  return t.combineLanes(own, [&](Value a, Value b) { return t.plus(a, b); }, lanes);
}

Value ForgottenCode::lengthOf(const CallerArray &array, Value first, Value row) {
  constexpr double lost = 0x1p-118; // more than 256 squares that are too small for a number
  Value sum = t.number(0);
  for (int64_t piece = 0; piece < chain.keys / pieceNumbers; piece += lanes)
    for (Value number : loadPiece(array, first, row, t.add(lane(), piece)))
      sum = t.fma(number, number, sum);
  return math::SqrtOp::create(t.builder, t.loc, t.plus(addLanes(sum), t.number(lost)));
}

/// The size of what a row that was read is multiplied by.
Value ForgottenCode::factorOf(const IRMapping &chunk, Value row) {
  Value all;
  for (unsigned factor : of.factors) {
    CallerArray array = arrayOf(factor);
    Type element = array.type.getElementType();
    Value offset = t.multiplyWide(t.addWide(firstRow(chunk, factor), t.widen(row)), array.tokenStride);
    Value number = t.convert(t.load(t.offset(array.pointer, offset, element), element), t.builder.getF32Type());
    number = math::AbsFOp::create(t.builder, t.loc, number);
    all = all ? t.mul(all, number) : number;
  }
  return all;
}

/// The row of the matrix times what each column joins it with. Later tokens' columns may have anything.
Value ForgottenCode::applyRow(const IRMapping &chunk, Value row) {
  Type f32 = t.builder.getF32Type();
  CallerArray array = arrayOf(*of.matrix);
  Value first = firstRow(chunk, *of.matrix), sum = t.number(0);
  for (int64_t begin = 0; begin < rows / pieceNumbers; begin += lanes) {
    Value piece = t.add(lane(), begin), column = t.multiply(piece, pieceNumbers);
    for (auto [i, number] : llvm::enumerate(loadPiece(array, first, row, piece))) {
      Value own = t.add(column, int64_t(i)), size = math::AbsFOp::create(t.builder, t.loc, number);
      size = t.mul(size, t.load(t.offset(shared, t.add(own, readsPlace()), f32), f32));
      if (!of.triangle.empty()) {
        Value isLater = t.below(t.divide(row, of.triangle[0]), t.divide(own, of.triangle[1]));
        size = t.select(isLater, t.number(0), size);
      }
      sum = t.plus(sum, size);
    }
  }
  return addLanes(sum);
}

/// The thread's share of the sum over rows.
Value ForgottenCode::sumRows(const IRMapping &chunk) {
  Type f32 = t.builder.getF32Type();
  int64_t atOnce = t.threads / lanes;
  struct Row {
    Value number, counts, write, read;
  };
  SmallVector<Row> own;
  for (int64_t first = 0; first < rows; first += atOnce) {
    Value row = t.add(t.divide(t.thread, lanes), first), isRow = t.below(row, t.constant(rows));
    Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, lane(), t.constant(0));
    row = t.smaller(row, t.constant(rows - 1));
    Value read = lengthOf(arrayOf(of.reads), firstRow(chunk, of.reads), row);
    if (Value factor = factorOf(chunk, row))
      read = t.mul(read, factor);
    own.push_back({row, arith::AndIOp::create(t.builder, t.loc, isRow, isFirst),
                   lengthOf(arrayOf(of.writes), firstRow(chunk, of.writes), row), read});
  }
  if (of.matrix) {
    for (Row &row : own)
      t.when(row.counts, [&] { t.store(row.read, t.offset(shared, t.add(row.number, readsPlace()), f32)); });
    t.barrier();
    for (Row &row : own)
      row.read = applyRow(chunk, row.number);
  }
  Value all = t.number(0);
  for (const Row &row : own)
    all = t.plus(all, t.select(row.counts, t.mul(row.read, row.write), t.number(0)));
  return all;
}

/// The largest of the thread's columns.
Value ForgottenCode::findDecay(const IRMapping &chunk) {
  Type f32 = t.builder.getF32Type();
  CallerArray decays = arrayOf(of.decays);
  // Of columns that the state has: what decays nothing, as padding does, is never little.
  LoadOp initial = chain.initial;
  int64_t columns =
      std::min(chain.loads[of.decays].type().getShape().back(), initial.getArray().getType().getShape().back());
  Value first = t.multiplyWide(firstRow(chunk, of.decays), decays.tokenStride), most = t.number(0);
  for (int64_t begin = 0; begin < columns; begin += t.threads) {
    Value column = t.smaller(t.add(t.thread, begin), t.constant(columns - 1));
    Value number = t.load(t.offset(decays.pointer, t.addWide(first, t.widen(column)), f32), f32);
    most = larger(most, math::AbsFOp::create(t.builder, t.loc, number));
  }
  return most;
}

/// All threads' numbers in one, through shared memory, where nothing lies yet.
Value ForgottenCode::combine(Value sums, Value decay) {
  Type f32 = t.builder.getF32Type();
  auto placeOf = [&](Value index) { return t.offset(shared, index, f32); };
  sums = t.combineLanes(sums, [&](Value a, Value b) { return t.plus(a, b); });
  decay = t.combineLanes(decay, [&](Value a, Value b) { return larger(a, b); });
  Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.lane, t.constant(0));
  t.when(isFirst, [&] {
    t.store(sums, placeOf(t.warp));
    t.store(decay, placeOf(t.add(t.warp, t.warps())));
  });
  t.barrier();
  Value sum, most;
  for (int64_t warp = 0; warp < t.warps(); ++warp) {
    Value ofRows = t.load(placeOf(t.constant(warp)), f32), ofDecay = t.load(placeOf(t.constant(warp + t.warps())), f32);
    sum = sum ? t.plus(sum, ofRows) : ofRows;
    most = most ? larger(most, ofDecay) : ofDecay;
  }
  t.barrier();
  return t.plus(sum, most);
}

/// Of the chunk that begins with the token.
Value ForgottenCode::bound(Value begin) {
  IRMapping chunk = values;
  scf::ForOp loop = chain.loop;
  chunk.map(loop.getInductionVar(), begin);
  for (Operation &op : loop.getBody()->without_terminator())
    if (isa<arith::ArithDialect>(op.getDialect()))
      t.builder.clone(op, chunk);
  Value sums = sumRows(chunk);
  return combine(sums, findDecay(chunk));
}

ForgottenCode::Found ForgottenCode::find(Value first, Value end) {
  OpBuilder &builder = t.builder;
  Type word = builder.getI64Type(), f32 = builder.getF32Type(), bit = builder.getI1Type();
  scf::ForOp op = chain.loop;
  Value size = values.lookup(op.getStep());
  Value most =
      arith::MulIOp::create(builder, t.loc, size, arith::ConstantIntOp::create(builder, t.loc, mostChunks, 64));
  Value last = arith::MaxSIOp::create(builder, t.loc, first, arith::SubIOp::create(builder, t.loc, end, most));
  Value mayForget = arith::AndIOp::create(builder, t.loc, canLoad(of.reads), canLoad(of.writes));
  if (of.matrix)
    mayForget = arith::AndIOp::create(builder, t.loc, mayForget, isAligned(t, arrayOf(*of.matrix), pieceBytes));
  // What is left, what may be left so that the chunks to come can do the rest, and whether it is that little.
  SmallVector<Type> types{word, f32, f32, bit};
  Value no = arith::ConstantIntOp::create(builder, t.loc, 0, 1);
  auto loop = scf::WhileOp::create(builder, t.loc, types, ValueRange{end, t.number(1), t.number(1), no});
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> places(types.size(), t.loc);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types, places);
  Value isAnother = arith::CmpIOp::create(builder, t.loc, arith::CmpIPredicate::sgt, before->getArgument(0), last);
  Value goesOn = arith::AndIOp::create(builder, t.loc, isAnother, mayForget);
  goesOn = arith::AndIOp::create(builder, t.loc, goesOn,
                                 compare(arith::CmpFPredicate::OLE, before->getArgument(1), before->getArgument(2)));
  goesOn = arith::AndIOp::create(builder, t.loc, goesOn,
                                 arith::XOrIOp::create(builder, t.loc, before->getArgument(3),
                                                       arith::ConstantIntOp::create(builder, t.loc, 1, 1)));
  scf::ConditionOp::create(builder, t.loc, goesOn, before->getArguments());
  Block *body = builder.createBlock(&loop.getAfter(), {}, types, places);
  Value begin = arith::SubIOp::create(builder, t.loc, body->getArgument(0), size);
  Value left = t.mul(body->getArgument(1), bound(begin));
  Value share = t.mul(body->getArgument(2), t.number(std::exp2(std::log2(SegmentOp::little) / mostChunks)));
  Value isLittle = compare(arith::CmpFPredicate::OLE, left, t.number(SegmentOp::little));
  scf::YieldOp::create(builder, t.loc, ValueRange{begin, left, share, isLittle});
  return {loop.getResult(3), loop.getResult(0)};
}

/// For a launch that makes summaries: one that finds a state begins with zeros, and nearer to the segment's end, and
/// one that finds what becomes of any state has nothing to do.
void KernelLowering::findForgotten() {
  SegmentOp op = chain->segment;
  if (!op || !op.makesSummaries() || !op.getForgets())
    return;
  std::optional<ForgottenState> of = analysis::findForgotten(*chain);
  Location loc = op.getLoc();
  Value first = value(op.getFirst()), end = value(op.getEnd());
  ForgottenCode::Found found = ForgottenCode(team, *chain, *of, arrays, values, shared).find(first, end);
  summaries->isForgotten = found.isForgotten;
  values.map(op.getBegin(), team.select(found.isForgotten, found.begin, value(op.getBegin())));
  Value isMap = arith::AndIOp::create(builder, loc, found.isForgotten, summaries->mapsState);
  values.map(op.getEnd(), team.select(isMap, value(op.getBegin()), end));
  CallerArray &start = arrays[op.getStart()];
  start.pointer =
      team.select(found.isForgotten, LLVM::ZeroOp::create(builder, loc, start.pointer.getType()), start.pointer);
  // One thread says so for all CTAs of the segment.
  Value own = team.add(team.thread, team.multiply(part, team.threads));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, own, team.constant(0));
  team.when(isFirst, [&] {
    Value slot = team.offset(summaries->maps, team.multiplyWide(team.widen(summaries->segment), summaries->stride),
                             builder.getI8Type());
    slot = LLVM::GEPOp::create(builder, loc, slot.getType(), builder.getI8Type(), slot,
                               ArrayRef<LLVM::GEPArg>{int32_t(summaries->forgottenOffset)});
    team.store(arith::ExtUIOp::create(builder, loc, builder.getI32Type(), found.isForgotten), slot);
  });
}
