// Some lanes have a row, and each of them some of its columns in registers, from the loads to the stores. They go on to
// the next row, whose numbers are on their way while this one's are computed; rows before it that a convolution takes
// are still there. What lanes of a row add up they exchange. There is no barrier, and nothing in shared memory.
#include "Conversion/TileToNVVM/RowPass.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;
using recur::analysis::findTilePart;
using recur::analysis::TilePart;
using Operand = recur::analysis::RowPass::Operand;
using Part = recur::analysis::RowPass::Part;
using Step = recur::analysis::RowPass::Step;
using Stream = recur::analysis::RowPass::Stream;

/// Columns of params stay in so many registers; what is more is loaded where it is needed.
static constexpr size_t mostFixed = 48;

namespace {

/// The numbers that a thread has of a row: one for each of its columns, or the row's own.
using Numbers = SmallVector<Value>;

class RowPassCode {
public:
  RowPassCode(TeamCode &team, const analysis::RowPass &pass, const Part &part, Value first, Value rows,
              FindArray findArray)
      : t(team), pass(pass), part(part), firstToken(first), rows(rows), findArray(findArray) {}
  void emit();

private:
  /// What is known of a row while its ops are emitted.
  struct Row {
    SmallVector<SmallVector<Numbers>> loaded; // of each stream the row itself and those before it
    llvm::DenseMap<Value, Numbers> made;
    Value number; // of the row in the chunk
    Value isThere;
  };
  void emitRows();
  void emit(const Step &step, Row &row);
  void store(const Step &step, ArrayRef<Value> numbers, Row &row);
  Numbers compute(Region &body, ArrayRef<Numbers> inputs, int64_t count);
  Numbers take(const Operand &input, Row &row);

  Numbers findFixed(Value tile);
  Numbers loadFixed(LoadOp load, const TilePart &part, int64_t columnDim, int64_t width);
  void keepFixed();

  Numbers loadRow(const Stream &stream, Value row);
  Numbers unpack(const Stream &stream, ArrayRef<Value> held);
  Numbers loadBefore(const Stream &stream, Value row, int64_t back);
  Numbers loadInitial(const Stream &stream, int64_t back);

  bool isAlwaysThere(int64_t piece, int64_t width) { return part.lanes * part.columns * (piece + 1) <= width; }
  Value columnOf(int64_t piece) { return t.multiply(t.add(lane, piece * part.lanes), part.columns); }
  /// Columns that there are, for lanes that have none as well.
  Value readColumn(int64_t piece, int64_t width) {
    Value own = columnOf(piece);
    return isAlwaysThere(piece, width) ? own : t.smaller(own, t.constant(width - part.columns));
  }
  Value hasColumns(int64_t piece, int64_t width) { return t.below(columnOf(piece), t.constant(width)); }
  int64_t countAtOnce(Type element) {
    constexpr int64_t mostBytes = 16;
    return std::min(part.columns, mostBytes * 8 / int64_t(element.getIntOrFloatBitWidth()));
  }
  /// The thread's numbers of a row of an array, from the place of its first column on: neighbours together, or one by
  /// one, so many elements apart.
  Numbers load(const CallerArray &array, Value row, int64_t width, Value apart = {});
  Numbers loadOrZeros(const CallerArray &array, llvm::function_ref<Numbers()> make);
  Numbers choose(Value condition, llvm::function_ref<Numbers()> first, llvm::function_ref<Numbers()> second);
  Value both(Value a, Value b) { return a ? arith::AndIOp::create(t.builder, t.loc, a, b).getResult() : b; }
  Value wide(int64_t number) { return arith::ConstantIntOp::create(t.builder, t.loc, number, 64); }
  Value rounded(Value number, Value tile) {
    return t.convert(t.convert(number, tileOf(tile).getElementType()), t.builder.getF32Type());
  }
  Value canMoveTogether();
  void collectFixed(Value tile, llvm::SetVector<LoadOp> &loads);

  TeamCode &t;
  const analysis::RowPass &pass;
  const Part &part;
  Value firstToken, rows;
  FindArray findArray;
  llvm::DenseMap<Value, CallerArray> arrays; // but for those of states
  Value lane, group;                         // among those of a row; which of the rows at once
  bool isTogether = false;                   // neighbours move together, and what is loaded is there
  llvm::DenseMap<Value, Numbers> known;      // of fixed tiles
};

} // namespace

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

Numbers RowPassCode::choose(Value condition, llvm::function_ref<Numbers()> first,
                            llvm::function_ref<Numbers()> second) {
  // What is made says how many there are, so it is made first and moved into the choice.
  auto shell = [&](TypeRange types) {
    return scf::IfOp::create(t.builder, t.loc, types, condition, /*withElseRegion=*/true);
  };
  OpBuilder::InsertionGuard guard(t.builder);
  auto draft = scf::ExecuteRegionOp::create(t.builder, t.loc, TypeRange());
  Block *made = t.builder.createBlock(&draft.getRegion());
  Numbers given = first();
  t.builder.setInsertionPoint(draft);
  auto choice = shell(ValueRange(given).getTypes());
  choice.thenBlock()->getOperations().splice(choice.thenBlock()->end(), made->getOperations());
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(t.builder, t.loc, given);
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  Numbers other = second();
  scf::YieldOp::create(t.builder, t.loc, other);
  draft.erase();
  return llvm::to_vector_of<Value>(choice.getResults());
}

Numbers RowPassCode::loadOrZeros(const CallerArray &array, llvm::function_ref<Numbers()> make) {
  if (isTogether)
    return make();
  SmallVector<Type> types;
  return choose(
      isPresent(t, array),
      [&] {
        Numbers made = make();
        types = llvm::to_vector(ValueRange(made).getTypes());
        return made;
      },
      [&] {
        return llvm::map_to_vector(types,
                                   [&](Type type) -> Value { return LLVM::ZeroOp::create(t.builder, t.loc, type); });
      });
}

Numbers RowPassCode::load(const CallerArray &array, Value row, int64_t width, Value apart) {
  Type element = array.type.getElementType();
  if (width == 1)
    return {t.load(row, element)};
  Numbers numbers;
  int64_t atOnce = isTogether && !apart ? countAtOnce(element) : 1;
  Type type = atOnce > 1 ? Type(VectorType::get(atOnce, element)) : element;
  for (int64_t piece = 0; piece < part.pieces; ++piece) {
    Value column = t.widen(readColumn(piece, width));
    Value begin = t.offset(row, apart ? t.multiplyWide(column, apart) : column, element);
    for (int64_t i = 0; i < part.columns; i += atOnce)
      numbers.push_back(
          t.load(i ? t.offset(begin, apart ? t.multiplyWide(wide(i), apart) : wide(i), element) : begin, type));
  }
  return numbers;
}

/// Where the row of a token begins in an array, at a column.
static Value placeOf(TeamCode &t, const CallerArray &array, Value token, int64_t column) {
  Value offset = t.multiplyWide(token, array.tokenStride);
  if (column)
    offset = t.addWide(offset, arith::ConstantIntOp::create(t.builder, t.loc, column, 64));
  return t.offset(array.pointer, offset, array.type.getElementType());
}

/// As they lie in the array, so that nobody waits for them yet.
Numbers RowPassCode::loadRow(const Stream &stream, Value row) {
  CallerArray array = arrays.lookup(stream.getArray());
  return loadOrZeros(array, [&] {
    return load(array, placeOf(t, array, t.addWide(firstToken, t.widen(row)), stream.column), stream.width);
  });
}

/// The numbers as the tile has them.
Numbers RowPassCode::unpack(const Stream &stream, ArrayRef<Value> held) {
  Numbers numbers;
  for (Value one : held) {
    auto vector = dyn_cast<VectorType>(one.getType());
    for (int64_t i = 0; i < (vector ? vector.getNumElements() : 1); ++i) {
      Value number = vector ? LLVM::ExtractElementOp::create(t.builder, t.loc, one, t.constant(i)).getResult() : one;
      numbers.push_back(rounded(t.convert(number, t.builder.getF32Type()), stream.getTile()));
    }
  }
  return numbers;
}

Numbers RowPassCode::loadInitial(const Stream &stream, int64_t back) {
  const analysis::RowPass::Initial &initial = stream.initial[size_t(back - 1)];
  CallerArray array = findArray(initial.getArray(), /*asksEveryLane=*/false);
  bool wasTogether = std::exchange(isTogether, false); // states are read once a sequence, and may be absent
  Numbers held =
      loadOrZeros(array, [&] { return load(array, placeOf(t, array, wide(0), initial.column), stream.width); });
  isTogether = wasTogether;
  return unpack(stream, held);
}

/// Of the thread's first row; before the sequence's first row it is the caller's state.
Numbers RowPassCode::loadBefore(const Stream &stream, Value row, int64_t back) {
  Value before = t.add(row, -back), token = t.addWide(firstToken, t.widen(before));
  Value isBefore = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::slt, token, wide(0));
  return choose(
      isBefore, [&] { return loadInitial(stream, back); }, [&] { return unpack(stream, loadRow(stream, before)); });
}

//===----------------------------------------------------------------------===//
// What all rows have
//===----------------------------------------------------------------------===//

static int64_t findWidth(Value tile) { return llvm::product_of(tileOf(tile).getShape()); }

Numbers RowPassCode::loadFixed(LoadOp op, const TilePart &from, int64_t columnDim, int64_t width) {
  CallerArray array = arrays.lookup(op.getArray());
  TilePart loaded = *findTilePart(op.getTile());
  Value offset = wide(0), apart;
  for (auto [dim, ofWhole] : llvm::enumerate(loaded.dims)) {
    if (ofWhole < 0)
      continue;
    bool isDense = array.innerStrides.empty();
    Value stride = isDense ? wide(1) : array.innerStrides[dim - 1];
    offset = t.addWide(offset, t.multiplyWide(wide(from.at[size_t(ofWhole)]), stride));
    if (ofWhole == columnDim && dim + 1 < loaded.dims.size())
      apart = stride; // which lie below each other
    else if (ofWhole == columnDim && !isTogether && !isDense)
      apart = stride;
  }
  Value begin = t.offset(array.pointer, offset, array.type.getElementType());
  Stream asRow{op, 0, width, 0, {}};
  return unpack(asRow, loadOrZeros(array, [&] { return load(array, begin, width, apart); }));
}

Numbers RowPassCode::findFixed(Value tile) {
  if (auto found = known.find(tile); found != known.end())
    return found->second;
  TilePart from = *findTilePart(tile);
  int64_t width = findWidth(tile), columnDim = -1;
  for (int64_t dim : from.dims)
    columnDim = std::max(columnDim, dim);
  Operation *maker = pass.fixed.find(from.whole)->second;
  if (auto load = dyn_cast<LoadOp>(maker))
    return loadFixed(load, from, columnDim, width);
  auto map = cast<MapOp>(maker);
  SmallVector<Numbers> inputs = llvm::map_to_vector(map.getInputs(), [&](Value input) { return findFixed(input); });
  Numbers made = compute(map.getBody(), inputs, part.countNumbers(width));
  for (Value &number : made)
    number = rounded(number, from.whole);
  return made;
}

void RowPassCode::collectFixed(Value tile, llvm::SetVector<LoadOp> &loads) {
  Operation *maker = pass.fixed.find(findTilePart(tile)->whole)->second;
  if (auto load = dyn_cast<LoadOp>(maker))
    loads.insert(load);
  else
    for (Value input : cast<MapOp>(maker).getInputs())
      collectFixed(input, loads);
}

void RowPassCode::keepFixed() {
  llvm::SetVector<Value> tiles;
  for (const Step &step : part.steps)
    for (const Operand &input : step.inputs)
      if (input.kind == Operand::Fixed)
        tiles.insert(input.tile);
  size_t numbers = 0;
  for (Value tile : tiles)
    numbers += size_t(part.countNumbers(findWidth(tile)));
  for (Value tile : tiles)
    if (numbers <= mostFixed || findWidth(tile) == 1)
      known[tile] = findFixed(tile);
}

//===----------------------------------------------------------------------===//
// A row
//===----------------------------------------------------------------------===//

Numbers RowPassCode::compute(Region &body, ArrayRef<Numbers> inputs, int64_t count) {
  Numbers made;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> arguments = llvm::map_to_vector(
        inputs, [&](const Numbers &numbers) { return numbers[numbers.size() == 1 ? 0 : size_t(i)]; });
    made.push_back(t.body(body, arguments, {})[0]);
  }
  return made;
}

Numbers RowPassCode::take(const Operand &input, Row &row) {
  if (input.kind == Operand::Fixed)
    return findFixed(input.tile);
  if (input.kind == Operand::Loaded)
    return row.loaded[input.stream][size_t(input.back)];
  return row.made.lookup(input.tile);
}

void RowPassCode::emit(const Step &step, Row &row) {
  SmallVector<Numbers> inputs =
      llvm::map_to_vector(step.inputs, [&](const Operand &input) { return take(input, row); });
  int64_t count = part.countNumbers(step.width);
  if (isa<StoreOp>(step.op))
    return store(step, inputs[0], row);
  Numbers made = compute(step.op->getRegion(0), inputs, count);
  if (auto reduce = dyn_cast<ReduceOp>(step.op)) {
    bool isMax = reduce.getKind() == Reduction::Max;
    auto combine = [&](Value a, Value b) -> Value {
      return isMax ? arith::MaximumFOp::create(t.builder, t.loc, a, b).getResult() : t.plus(a, b);
    };
    Value neutral = t.number(isMax ? -std::numeric_limits<double>::infinity() : 0), total;
    for (auto [i, number] : llvm::enumerate(made)) {
      int64_t piece = int64_t(i) / part.columns;
      bool isThere = step.width == 1 || isAlwaysThere(piece, step.width);
      Value own = isThere ? number : t.select(hasColumns(piece, step.width), number, neutral);
      total = total ? combine(total, own) : own;
    }
    made = {step.width == 1 ? total : t.combineLanes(total, combine, part.lanes)};
  }
  for (Value &number : made)
    number = rounded(number, step.result);
  row.made[step.result] = made;
}

void RowPassCode::store(const Step &step, ArrayRef<Value> numbers, Row &row) {
  auto op = cast<StoreOp>(step.op);
  CallerArray array = arrays.lookup(op.getArray());
  Type element = array.type.getElementType();
  Value stores = both(row.isThere, isPresent(t, array));
  Value place = placeOf(t, array, t.addWide(firstToken, t.widen(row.number)), 0);
  if (step.width == 1) {
    t.when(both(stores, t.below(lane, t.constant(1))), [&] { t.store(t.convert(numbers[0], element), place); });
    return;
  }
  int64_t atOnce = isTogether ? countAtOnce(element) : 1;
  for (int64_t piece = 0; piece < part.pieces; ++piece) {
    Value own = isAlwaysThere(piece, step.width) ? stores : both(stores, hasColumns(piece, step.width));
    t.when(own, [&] {
      Value begin = t.offset(place, t.widen(columnOf(piece)), element);
      for (int64_t i = 0; i < part.columns; i += atOnce) {
        auto numberAt = [&](int64_t at) { return t.convert(numbers[size_t(piece * part.columns + at)], element); };
        Value all = numberAt(i);
        if (atOnce > 1) {
          all = LLVM::UndefOp::create(t.builder, t.loc, VectorType::get(atOnce, element));
          for (int64_t at = 0; at < atOnce; ++at)
            all = LLVM::InsertElementOp::create(t.builder, t.loc, all, numberAt(i + at), t.constant(at));
        }
        t.store(all, i ? t.offset(begin, wide(i), element) : begin);
      }
    });
  }
}

//===----------------------------------------------------------------------===//
// Rows of a chunk
//===----------------------------------------------------------------------===//

/// Whether all that is loaded is there, and neighbours can move together wherever there are any.
Value RowPassCode::canMoveTogether() {
  Value can = arith::ConstantIntOp::create(t.builder, t.loc, 1, 1);
  auto include = [&](Value of, bool isLoaded, bool hasColumns) {
    CallerArray array = arrays.try_emplace(of, findArray(of, /*asksEveryLane=*/true)).first->second;
    if (isLoaded)
      can = both(can, isPresent(t, array));
    Type element = array.type.getElementType();
    if (hasColumns)
      can = both(can, isAligned(t, array, countAtOnce(element) * element.getIntOrFloatBitWidth() / 8));
  };
  for (const Stream &stream : part.streams)
    include(stream.getArray(), true, stream.width != 1);
  llvm::SetVector<LoadOp> fixed;
  for (const Step &step : part.steps) {
    if (auto store = dyn_cast<StoreOp>(step.op))
      include(store.getArray(), false, step.width != 1);
    for (const Operand &input : step.inputs)
      if (input.kind == Operand::Fixed)
        collectFixed(input.tile, fixed);
  }
  for (LoadOp load : fixed)
    include(load.getArray(), true, findWidth(load.getTile()) != 1);
  return can;
}

/// All lanes take as many rows, for those of a warp exchange what they add up; of rows beyond the last one nothing is
/// stored.
void RowPassCode::emitRows() {
  known.clear();
  keepFixed();
  Value own = t.multiply(group, part.rowsEach), last = t.add(rows, -1), begin = t.smaller(own, last);
  SmallVector<Value> initial;
  SmallVector<size_t> held; // how many values the numbers of a row of each stream are on their way
  auto startRow = [&](const Stream &stream, Value row, SmallVectorImpl<Value> &to) {
    Numbers numbers = loadRow(stream, t.smaller(row, last));
    llvm::append_range(to, numbers);
    return numbers.size();
  };
  for (const Stream &stream : part.streams) {
    size_t count = 0; // the same of each row
    for (int64_t step = 0; step < part.rowsInStep; ++step)
      count = startRow(stream, t.add(own, step), initial);
    held.push_back(count);
    for (int64_t back = 1; back <= stream.before; ++back)
      llvm::append_range(initial, loadBefore(stream, begin, back));
  }
  Value steps = t.smaller(rows, t.constant(part.rowsEach));
  t.loop(t.constant(0), steps, part.rowsInStep, initial, [&](Value step, ValueRange carried) {
    SmallVector<Value> next;
    SmallVector<SmallVector<Numbers>> history(part.streams.size()); // the youngest first
    SmallVector<SmallVector<Numbers>> loaded(part.streams.size());
    SmallVector<SmallVector<Value>> started(part.streams.size());
    Value first = t.add(own, step);
    for (auto [number, stream] : llvm::enumerate(part.streams)) {
      for (int64_t i = 0; i < part.rowsInStep; ++i) {
        loaded[number].push_back(Numbers(carried.take_front(held[number])));
        carried = carried.drop_front(held[number]);
        startRow(stream, t.add(first, part.rowsInStep + i), started[number]);
      }
      auto count = size_t(part.countNumbers(stream.width));
      for (int64_t back = 0; back < stream.before; ++back) {
        history[number].push_back(Numbers(carried.take_front(count)));
        carried = carried.drop_front(count);
      }
    }
    for (int64_t i = 0; i < part.rowsInStep; ++i) {
      Row row;
      row.number = t.add(first, i);
      row.isThere = t.below(row.number, rows);
      for (auto [number, stream] : llvm::enumerate(part.streams)) {
        SmallVector<Numbers> &rowsOf = history[number];
        rowsOf.insert(rowsOf.begin(), unpack(stream, loaded[number][size_t(i)]));
        row.loaded.push_back(rowsOf);
        rowsOf.resize(size_t(stream.before));
      }
      for (const Step &op : part.steps)
        emit(op, row);
    }
    for (size_t number = 0; number < part.streams.size(); ++number) {
      llvm::append_range(next, started[number]);
      for (const Numbers &numbers : history[number])
        llvm::append_range(next, numbers);
    }
    return next;
  });
}

void RowPassCode::emit() {
  lane = t.remainder(t.thread, part.lanes);
  group = t.divide(t.thread, part.lanes);
  t.either(
      canMoveTogether(),
      [&] {
        isTogether = true;
        emitRows();
      },
      [&] {
        isTogether = false;
        emitRows();
      });
}

void nvvm::emitRowPass(TeamCode &t, const analysis::RowPass &pass, Value first, Value rows, FindArray findArray) {
  for (const Part &part : pass.parts)
    RowPassCode(t, pass, part, first, rows, findArray).emit();
}
