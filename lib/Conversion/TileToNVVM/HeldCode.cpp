// What threads do with states that they hold. A variable for each number becomes a register: it is read and written
// by name alone.
//
// An op is emitted where it stands in the plan, so whatever else the kernel does, tiles in their places are what they
// are there; only what threads take and give by themselves needs no place and no barrier.
#include "Conversion/TileToNVVM/HeldCode.h"
#include "Analysis/WholeTile.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;
using recur::analysis::findOnlyDim;
using recur::analysis::getWholeTile;
using recur::analysis::HeldForm;
using recur::analysis::heldLanesAcross;
using recur::analysis::heldLanesAlong;

static int64_t countElements(Value tile) { return llvm::product_of(tileOf(tile).getShape()); }

void HeldCode::begin(Value part) {
  entry = t.builder.getInsertionBlock();
  if (held.warps > t.warps())
    blockOfPart = t.multiply(part, t.warps() * heldLanesAlong);
  own = findThread(t.thread);
}

HeldCode::ThreadPlace HeldCode::findThread(Value thread) const {
  // Warps are blocks of heldLanesAlong.
  Value along = t.divide(thread, heldLanesAcross);
  return {thread, t.remainder(thread, heldLanesAcross), blockOfPart ? t.add(along, blockOfPart) : along};
}

bool HeldCode::isState(Value tile) const { return held.states.contains(getWholeTile(tile)); }

//===----------------------------------------------------------------------===//
// Where numbers are
//===----------------------------------------------------------------------===//

int64_t HeldCode::countTogether(int64_t size) const {
  constexpr int64_t most = 4;
  return std::gcd(size / heldLanesAcross, most);
}

SmallVector<Index> HeldCode::listIndices(HeldForm form, int64_t size, const ThreadPlace &place) const {
  if (form == HeldForm::Same)
    return {Index(0)};
  SmallVector<Index> indices;
  int64_t count = held.countOwn(form, size);
  if (form == HeldForm::Along) {
    Value begin = t.multiply(place.along, count);
    for (int64_t i = 0; i < count; ++i)
      indices.push_back(Index(begin, i));
    return indices;
  }
  int64_t together = countTogether(size);
  Value begin = t.multiply(place.across, together);
  for (int64_t i = 0; i < count; ++i)
    indices.push_back(Index(begin, i / together * together * heldLanesAcross + i % together));
  return indices;
}

int64_t HeldCode::countPiece(Value state) const {
  constexpr int64_t most = 4;
  int64_t columns = tileOf(state).getSize(1);
  return held.states.lookup(state) == 0 ? countTogether(columns)
                                        : std::gcd(held.countOwn(HeldForm::Along, columns), most);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

MutableArrayRef<Value> HeldCode::placesOf(Value state) {
  Numbers &own = variables[state];
  if (own.empty()) {
    OpBuilder::InsertionGuard guard(t.builder);
    t.builder.setInsertionPointToStart(entry);
    auto pointer = LLVM::LLVMPointerType::get(t.builder.getContext());
    Value one = t.constant(1);
    int64_t count = countElements(state) / (held.warps * warpThreads);
    for (int64_t i = 0; i < count; ++i)
      own.push_back(LLVM::AllocaOp::create(t.builder, t.loc, pointer, t.builder.getF32Type(), one));
  }
  return own;
}

HeldCode::Numbers HeldCode::get(Value state) {
  return llvm::map_to_vector(placesOf(state), [&](Value own) { return t.load(own, t.builder.getF32Type()); });
}

void HeldCode::set(Value state, ArrayRef<Value> numbers) {
  for (auto [own, number] : llvm::zip(placesOf(state), numbers))
    t.store(number, own);
}

/// Each address is the one before and a step: steps that do not depend on each other would all be known before the loop
/// over tokens, and take registers there.
void HeldCode::forEachPiece(Value state, const CallerArray &array, Value first, bool isWhole,
                            llvm::function_ref<void(Value pointer, ArrayRef<int64_t> numbers)> take) {
  TileType type = tileOf(state);
  Type element = array.type.getElementType();
  int64_t free = held.states.lookup(state);
  ThreadPlace own = findThread(t.thread); // which may be one that nobody knew before
  SmallVector<Index> rows = listIndices(held.getForm(state, 0), type.getSize(0), own),
                     columns = listIndices(held.getForm(state, 1), type.getSize(1), own);
  auto together = size_t(isWhole ? countPiece(state) : 1);
  auto multiply = [&](Value stride, int64_t by) -> Value {
    return by == 1 ? stride
                   : t.multiplyWide(stride, arith::ConstantIntOp::create(t.builder, t.loc, by, 64).getResult());
  };
  auto step = [&](Value pointer, Value by) { return t.offset(pointer, by, element); };
  Value row = step(array.pointer, t.multiplyWide(first, array.tokenStride));
  row = step(row, t.multiplyWide(t.widen(rows[0].value), array.innerStrides[0]));
  Value begin = t.widen(columns[0].value);
  row = step(row, isWhole ? begin : t.multiplyWide(begin, array.innerStrides[1]));
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r)
      row = step(row, multiply(array.innerStrides[0], rows[r].constant - rows[r - 1].constant));
    Value pointer = row;
    for (size_t c = 0; c < columns.size(); c += together) {
      if (c && isWhole)
        pointer = LLVM::GEPOp::create(t.builder, t.loc, row.getType(), element, row,
                                      ArrayRef<LLVM::GEPArg>{int32_t(columns[c].constant)});
      else if (c)
        pointer = step(pointer, multiply(array.innerStrides[1], columns[c].constant - columns[c - 1].constant));
      SmallVector<int64_t> numbers;
      for (size_t i = c; i < c + together; ++i)
        numbers.push_back(int64_t(free == 0 ? r * columns.size() + i : i * rows.size() + r));
      take(pointer, numbers);
    }
  }
}

void HeldCode::load(Value tile, const CallerArray &array, Value first) {
  Value state = getWholeTile(tile);
  int64_t together = countPiece(state);
  Type element = array.type.getElementType();
  MutableArrayRef<Value> own = placesOf(state);
  auto loadIn = [&](bool isWhole) {
    SmallVector<std::pair<Value, SmallVector<int64_t>>> loaded; // all are under way before one is waited for
    Type piece = t.typeOfWords(element, isWhole ? together : 1);
    forEachPiece(state, array, first, isWhole, [&](Value pointer, ArrayRef<int64_t> numbers) {
      loaded.push_back({t.load(pointer, piece), SmallVector<int64_t>(numbers)});
    });
    for (auto &[all, numbers] : loaded)
      for (auto [one, number] : llvm::zip(t.takeWordsApart(all, element, int64_t(numbers.size())), numbers))
        t.store(one, own[size_t(number)]);
  };
  t.either(
      isPresent(t, array),
      [&] {
        t.either(
            isAligned(t, array, together * array.type.getElementBytes()), [&] { loadIn(/*isWhole=*/true); },
            [&] { loadIn(/*isWhole=*/false); });
      },
      [&] { set(state, SmallVector<Value>(own.size(), t.number(0))); });
}

void HeldCode::store(Value tile, const CallerArray &array, Value first) {
  Value state = getWholeTile(tile);
  int64_t together = countPiece(state);
  Type element = array.type.getElementType();
  auto storeIn = [&](bool isWhole) {
    Numbers own = get(state);
    forEachPiece(state, array, first, isWhole, [&](Value pointer, ArrayRef<int64_t> numbers) {
      Value all = t.convert(own[size_t(numbers[0])], element);
      if (numbers.size() > 1) {
        all = LLVM::UndefOp::create(t.builder, t.loc, VectorType::get(int64_t(numbers.size()), element));
        for (auto [i, number] : llvm::enumerate(numbers))
          all = LLVM::InsertElementOp::create(t.builder, t.loc, all, t.convert(own[size_t(number)], element),
                                              t.constant(int64_t(i)));
      }
      t.store(all, pointer);
    });
  };
  t.when(isPresent(t, array), [&] {
    t.either(
        isAligned(t, array, together * array.type.getElementBytes()), [&] { storeIn(/*isWhole=*/true); },
        [&] { storeIn(/*isWhole=*/false); });
  });
}

//===----------------------------------------------------------------------===//
// Small tiles
//===----------------------------------------------------------------------===//

HeldCode::Numbers HeldCode::readFrom(const Place &place, int64_t dim, ArrayRef<Index> at, HeldForm form) {
  int64_t size = place.type.getSize(dim);
  SmallVector<Index> indices = listIndices(size == 1 ? HeldForm::Same : form, size), indicesOfOne(at);
  Numbers found;
  bool isLast = dim + 1 == place.type.getRank();
  auto together = int64_t(form == HeldForm::Across ? countTogether(size) : indices.size());
  if (size == 1 || !isLast)
    together = 1;
  for (size_t i = 0; i < indices.size(); i += size_t(together)) {
    indicesOfOne[size_t(dim)] = indices[i];
    llvm::append_range(found, t.getWords(place, indicesOfOne, together));
  }
  return found;
}

/// Whether threads' numbers of a tile are what the form asks for.
HeldCode::Numbers HeldCode::read(Value tile, HeldForm form, const HeldKernel &known) {
  Value whole = getWholeTile(tile);
  auto own = held.numbers.find(whole);
  if (own != held.numbers.end() && (own->second == form || own->second == HeldForm::Same))
    return findSpread(whole) ? gather(whole, held.countOwn(form, countElements(whole))) : numbers.lookup(whole);
  known.order(tile, /*isWrite=*/false);
  Place place = known.place(tile);
  return readFrom(place, *findOnlyDim(place.type), SmallVector<Index>(size_t(place.type.getRank()), Index(0)), form);
}

HeldCode::Numbers HeldCode::readRow(Value tile, int64_t row, HeldForm form, const HeldKernel &known) {
  if (tileOf(tile).getSize(0) == 1 && findOnlyDim(tileOf(tile)))
    return read(tile, form, known);
  known.order(tile, /*isWrite=*/false);
  return readFrom(known.place(tile), 1, {Index(row), Index(0)}, form);
}

/// Of threads that have the same numbers, the one that writes them.
Value HeldCode::isFirst(HeldForm form) {
  Value other = form == HeldForm::Same    ? own.thread
                : form == HeldForm::Along ? own.across
                                          : t.divide(own.thread, heldLanesAcross);
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, other, t.constant(0));
}

void HeldCode::put(const Place &place, int64_t dim, ArrayRef<Index> at, HeldForm form, ArrayRef<Value> numbers) {
  SmallVector<Index> indices = listIndices(form, place.type.getSize(dim)), indicesOfOne(at);
  t.when(isFirst(form), [&] {
    for (auto [index, number] : llvm::zip(indices, numbers)) {
      indicesOfOne[size_t(dim)] = index;
      t.put(number, place, indicesOfOne);
    }
  });
}

void HeldCode::keep(Value tile, Numbers own, const HeldKernel &known) {
  Value whole = getWholeTile(tile);
  Type element = tileOf(tile).getElementType(), f32 = t.builder.getF32Type();
  for (Value &number : own)
    number = t.convert(t.convert(number, element), f32);
  if (held.placed.contains(whole)) {
    known.order(tile, /*isWrite=*/true);
    Place place = known.place(tile);
    put(place, *findOnlyDim(place.type), SmallVector<Index>(size_t(place.type.getRank()), Index(0)),
        held.numbers.lookup(whole), own);
  }
  spread.erase(whole);
  numbers[whole] = std::move(own);
}

//===----------------------------------------------------------------------===//
// Numbers along that are spread over lanes across
//===----------------------------------------------------------------------===//

bool HeldCode::maySpread(size_t count) const {
  return count > 1 && count <= size_t(heldLanesAcross) && llvm::isPowerOf2_64(count);
}

/// Of so many, the one that the lane has: neighbours have the same one where there are fewer than lanes.
Value HeldCode::findOwnIndex(int64_t count) { return t.divide(own.across, heldLanesAcross / count); }

Value HeldCode::isOwner(int64_t count) {
  Value rest = t.remainder(own.across, heldLanesAcross / count);
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, rest, t.constant(0));
}

/// In the order in which one number is summed up across, so that each has the same bits.
Value HeldCode::sumAndSpread(Numbers sums) {
  for (int64_t distance = heldLanesAcross / 2; distance; distance /= 2) {
    auto exchange = [&](Value number) -> Value {
      return NVVM::ShflOp::create(t.builder, t.loc, number.getType(), t.constant(-1), number, t.constant(distance),
                                  t.constant(warpThreads - 1), NVVM::ShflKind::bfly, UnitAttr());
    };
    size_t half = sums.size() / 2;
    if (!half) {
      sums[0] = t.plus(sums[0], exchange(sums[0]));
      continue;
    }
    Value bit = arith::AndIOp::create(t.builder, t.loc, own.across, t.constant(distance));
    Value isUpper = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, bit, t.constant(0));
    for (size_t i = 0; i < half; ++i) {
      Value kept = t.select(isUpper, sums[i + half], sums[i]), given = t.select(isUpper, sums[i], sums[i + half]);
      sums[i] = t.plus(kept, exchange(given));
    }
    sums.truncate(half);
  }
  return sums[0];
}

HeldCode::Numbers HeldCode::gather(Value tile, int64_t count) {
  Value number = findSpread(tile), begin = t.subtract(t.remainder(own.thread, warpThreads), own.across);
  Numbers all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(t.fromLane(number, t.add(begin, i * (heldLanesAcross / count))));
  return all;
}

Value HeldCode::readSpread(Value tile, int64_t count, const HeldKernel &known) {
  if (countElements(tile) == 1)
    return read(tile, HeldForm::Same, known)[0];
  if (Value number = findSpread(tile))
    return number;
  Value whole = getWholeTile(tile);
  if (held.numbers.contains(whole) && held.numbers.lookup(whole) == HeldForm::Along) {
    Value chosen = numbers.lookup(whole)[0];
    for (int64_t i = 1; i < count; ++i) {
      Value isIt =
          arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, findOwnIndex(count), t.constant(i));
      chosen = t.select(isIt, numbers.lookup(whole)[size_t(i)], chosen);
    }
    return chosen;
  }
  known.order(tile, /*isWrite=*/false);
  Place place = known.place(tile);
  SmallVector<Index> at(size_t(place.type.getRank()), Index(0));
  at[size_t(*findOnlyDim(place.type))] = t.add(t.multiply(own.along, count), findOwnIndex(count));
  return t.get(place, at);
}

void HeldCode::keepSpread(Value tile, Value number, int64_t count, const HeldKernel &known) {
  Value whole = getWholeTile(tile);
  number = t.convert(t.convert(number, tileOf(tile).getElementType()), t.builder.getF32Type());
  if (held.placed.contains(whole)) {
    known.order(tile, /*isWrite=*/true);
    Place place = known.place(tile);
    SmallVector<Index> at(size_t(place.type.getRank()), Index(0));
    at[size_t(*findOnlyDim(place.type))] = t.add(t.multiply(own.along, count), findOwnIndex(count));
    t.when(isOwner(count), [&] { t.put(number, place, at); });
  }
  numbers.erase(whole);
  spread[whole] = number;
}

/// What is computed of a number that is spread is spread, too.
bool HeldCode::emitSpread(MapOp op, const HeldKernel &known) {
  TileType type = tileOf(op.getResult());
  if (held.numbers.lookup(getWholeTile(op.getResult())) != HeldForm::Along ||
      llvm::none_of(op.getInputs(), [&](Value input) { return bool(findSpread(input)); }))
    return false;
  int64_t count = held.countOwn(HeldForm::Along, countElements(op.getResult()));
  SmallVector<Value> arguments =
      llvm::map_to_vector(op.getInputs(), [&](Value input) { return readSpread(input, count, known); });
  SmallVector<Index> at(size_t(type.getRank()), Index(0));
  at[size_t(*findOnlyDim(type))] = t.add(t.multiply(own.along, count), findOwnIndex(count));
  keepSpread(op.getResult(), t.body(op.getBody(), arguments, at)[0], count, known);
  return true;
}

bool HeldCode::emitSpread(ProductOp op, const HeldKernel &known) {
  if (held.numbers.lookup(getWholeTile(op.getResult())) != HeldForm::Along ||
      (!findSpread(op.getRight()) && !(op.getPlus() && findSpread(op.getPlus()))))
    return false;
  int64_t count = held.countOwn(HeldForm::Along, countElements(op.getResult()));
  Value factor = read(op.getLeft(), HeldForm::Same, known)[0];
  Value made = t.mul(factor, readSpread(op.getRight(), count, known));
  keepSpread(op.getResult(), addToSpread(made, op, count, known), count, known);
  return true;
}

Value HeldCode::addToSpread(Value number, ProductOp op, int64_t count, const HeldKernel &known) {
  if (!op.getPlus())
    return number;
  Value before = readSpread(op.getPlus(), count, known);
  for (Value scale : {op.getRowScale(), op.getColumnScale()})
    if (scale)
      before = t.mul(before, readSpread(scale, count, known));
  return t.plus(before, number);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> dimsOf(ArrayAttr dims, size_t input) {
  return cast<DenseI64ArrayAttr>(dims[unsigned(input)]).asArrayRef();
}

/// A vector's number of each index, or the only one.
static Value pick(ArrayRef<Value> numbers, size_t index) { return numbers[numbers.size() == 1 ? 0 : index]; }

void HeldCode::changeState(MapOp op, const HeldKernel &known) {
  Value result = op.getResult();
  TileType type = tileOf(result);
  int64_t free = held.states.lookup(result);
  SmallVector<Index> rows = listIndices(held.getForm(result, 0), type.getSize(0)),
                     columns = listIndices(held.getForm(result, 1), type.getSize(1));
  struct Input {
    Numbers numbers;
    int64_t dim; // of the nest; negative: of both
  };
  SmallVector<Input> inputs;
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    if (isState(input)) {
      inputs.push_back({get(input), -1});
      continue;
    }
    int64_t only = *findOnlyDim(tileOf(input));
    ArrayRef<int64_t> dims = dimsOf(op.getDims(), number);
    int64_t dim = dims.empty() ? 0 : dims[size_t(only)];
    inputs.push_back({read(input, held.getForm(result, dim), known), dim});
  }
  size_t outer = free == 0 ? rows.size() : columns.size(), inner = free == 0 ? columns.size() : rows.size();
  Numbers made(outer * inner);
  for (size_t b = 0; b < inner; ++b) // what of a vector across is used up need not stay in registers
    for (size_t a = 0; a < outer; ++a) {
      SmallVector<Value> arguments;
      for (const Input &input : inputs)
        arguments.push_back(input.dim < 0       ? input.numbers[a * inner + b]
                            : input.dim == free ? pick(input.numbers, a)
                                                : pick(input.numbers, b));
      size_t row = free == 0 ? a : b, column = free == 0 ? b : a;
      made[a * inner + b] = t.body(op.getBody(), arguments, {rows[row], columns[column]})[0];
    }
  set(result, made);
}

void HeldCode::emit(MapOp op, const HeldKernel &known) {
  if (isState(op.getResult()))
    return changeState(op, known);
  if (emitSpread(op, known))
    return;
  TileType type = tileOf(op.getResult());
  HeldForm form = held.numbers.lookup(getWholeTile(op.getResult()));
  auto dim = size_t(*findOnlyDim(type));
  SmallVector<Numbers> inputs = llvm::map_to_vector(op.getInputs(), [&](Value in) { return read(in, form, known); });
  Numbers made;
  for (auto [i, index] : llvm::enumerate(listIndices(form, type.getSize(int64_t(dim))))) {
    SmallVector<Index> at(size_t(type.getRank()), Index(0));
    at[dim] = index;
    made.push_back(t.body(op.getBody(),
                          llvm::map_to_vector(inputs, [&, i = i](const Numbers &own) { return pick(own, i); }), at)[0]);
  }
  keep(op.getResult(), std::move(made), known);
}

/// Writes of some steps, each the product of two vectors.
void HeldCode::changeState(ProductOp op, const HeldKernel &known) {
  Value result = getWholeTile(op.getResult());
  int64_t free = held.states.lookup(result), steps = tileOf(op.getLeft()).getSize(0);
  HeldForm rowForm = held.getForm(result, 0), columnForm = held.getForm(result, 1);
  Numbers own;
  auto readAll = [&](Value tile, HeldForm form) { return tile ? read(tile, form, known) : Numbers(); };
  Numbers rowScale = readAll(op.getRowScale(), rowForm), columnScale = readAll(op.getColumnScale(), columnForm);
  SmallVector<Numbers> lefts, rights;
  for (int64_t step = 0; step < steps; ++step) {
    lefts.push_back(readRow(op.getLeft(), step, rowForm, known));
    rights.push_back(readRow(op.getRight(), step, columnForm, known));
  }
  if (op.getPlus())
    own = get(result);
  size_t rows = lefts[0].size(), columns = rights[0].size(), outer = free == 0 ? rows : columns,
         inner = free == 0 ? columns : rows;
  Numbers made(outer * inner);
  for (size_t b = 0; b < inner; ++b)
    for (size_t a = 0; a < outer; ++a) {
      size_t row = free == 0 ? a : b, column = free == 0 ? b : a;
      Value sum = own.empty() ? t.number(0) : own[a * inner + b];
      if (!own.empty() && !rowScale.empty())
        sum = t.mul(sum, pick(rowScale, row));
      if (!own.empty() && !columnScale.empty())
        sum = t.mul(sum, pick(columnScale, column));
      for (int64_t step = 0; step < steps; ++step)
        sum = t.fma(lefts[size_t(step)][row], rights[size_t(step)][column], sum);
      made[a * inner + b] = sum;
    }
  set(result, made);
}

/// Vectors of some steps times the state.
void HeldCode::readState(ProductOp op, const HeldKernel &known) {
  Value state = op.getRight(), result = op.getResult();
  int64_t steps = tileOf(op.getLeft()).getSize(0);
  Numbers own = get(state);
  SmallVector<Numbers> all;
  for (int64_t step = 0; step < steps; ++step) {
    Numbers left = readRow(op.getLeft(), step, HeldForm::Across, known);
    size_t outer = own.size() / left.size();
    Numbers &sums = all.emplace_back(outer, t.number(0));
    for (size_t b = 0; b < left.size(); ++b)
      for (size_t a = 0; a < outer; ++a)
        sums[a] = t.fma(left[b], own[a * left.size() + b], sums[a]);
    if (steps == 1 && held.numbers.contains(getWholeTile(result)) && maySpread(outer)) {
      Value number = addToSpread(sumAndSpread(sums), op, int64_t(outer), known);
      return keepSpread(result, number, int64_t(outer), known);
    }
    for (Value &sum : sums)
      sum = sumAcross(sum);
  }
  if (op.getPlus())
    addTo(all[0], op, HeldForm::Along, known);
  if (held.numbers.contains(getWholeTile(result)))
    return keep(result, all[0], known);
  known.order(result, /*isWrite=*/true);
  for (auto [step, sums] : llvm::enumerate(all))
    put(known.place(result), 1, {Index(int64_t(step)), Index(0)}, HeldForm::Along, sums);
}

/// Of a dot.
Value HeldCode::sum(ProductOp op, const HeldKernel &known) {
  Numbers left = read(op.getLeft(), HeldForm::Across, known), right = read(op.getRight(), HeldForm::Across, known);
  Value sum = t.number(0);
  for (auto [a, b] : llvm::zip(left, right))
    sum = t.fma(a, b, sum);
  return sumAcross(sum);
}

void HeldCode::emit(ProductOp op, const HeldKernel &known) {
  if (isState(op.getResult()))
    return changeState(op, known);
  if (isState(op.getRight()))
    return readState(op, known);
  if (op.getRightTransposed())
    return keep(op.getResult(), {sum(op, known)}, known);
  if (emitSpread(op, known))
    return;
  HeldForm form = held.numbers.lookup(getWholeTile(op.getResult()));
  Value factor = read(op.getLeft(), HeldForm::Same, known)[0];
  Numbers made =
      llvm::map_to_vector(read(op.getRight(), form, known), [&](Value number) { return t.mul(factor, number); });
  if (op.getPlus())
    addTo(made, op, form, known);
  keep(op.getResult(), std::move(made), known);
}

/// What a product is added to.
void HeldCode::addTo(Numbers &numbers, ProductOp op, HeldForm form, const HeldKernel &known) {
  Numbers plus = read(op.getPlus(), form, known), rowScale, columnScale;
  if (op.getRowScale())
    rowScale = read(op.getRowScale(), HeldForm::Same, known);
  if (op.getColumnScale())
    columnScale = read(op.getColumnScale(), form, known);
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value before = pick(plus, i);
    if (!rowScale.empty())
      before = t.mul(before, rowScale[0]);
    if (!columnScale.empty())
      before = t.mul(before, pick(columnScale, i));
    number = t.plus(before, number);
  }
}

Value HeldCode::sum(ReduceOp op, const HeldKernel &known) {
  SmallVector<Numbers> inputs =
      llvm::map_to_vector(op.getInputs(), [&](Value in) { return read(in, HeldForm::Across, known); });
  auto combine = [&](Value a, Value b) -> Value {
    return op.getKind() == Reduction::Max ? arith::MaximumFOp::create(t.builder, t.loc, a, b).getResult()
                                          : t.plus(a, b);
  };
  Value total;
  for (auto [i, index] : llvm::enumerate(listIndices(HeldForm::Across, op.getSizes()[1]))) {
    Value own =
        t.body(op.getBody(), llvm::map_to_vector(inputs, [&, i = i](const Numbers &all) { return pick(all, i); }),
               {Index(0), index})[0];
    total = total ? combine(total, own) : own;
  }
  return t.combineLanes(total, combine, heldLanesAcross);
}

void HeldCode::emit(ReduceOp op, const HeldKernel &known) { keep(op.getResult(), {sum(op, known)}, known); }

Value HeldCode::sum(Operation *op, const HeldKernel &known) {
  return isa<ProductOp>(op) ? sum(cast<ProductOp>(op), known) : sum(cast<ReduceOp>(op), known);
}

void HeldCode::take(Operation *op, Value sum, const HeldKernel &known) {
  keep(isa<ProductOp>(op) ? cast<ProductOp>(op).getResult() : cast<ReduceOp>(op).getResult(), {sum}, known);
}

/// Lanes across have the same numbers, and store one each.
void HeldCode::emit(StoreOp op, const CallerArray &array, Value first) {
  Value across = own.across;
  Type element = array.type.getElementType();
  if (Value number = findSpread(op.getTile())) {
    int64_t count = held.countOwn(HeldForm::Along, countElements(op.getTile()));
    Value isMine = arith::AndIOp::create(t.builder, t.loc, isPresent(t, array), isOwner(count));
    t.when(isMine, [&] {
      Value index = t.add(t.multiply(own.along, count), findOwnIndex(count));
      Value offset = t.addWide(t.multiplyWide(first, array.tokenStride), t.widen(index));
      t.store(t.convert(number, element), t.offset(array.pointer, offset, element));
    });
    return;
  }
  const Numbers &stored = numbers.find(getWholeTile(op.getTile()))->second;
  auto count = int64_t(stored.size());
  t.when(isPresent(t, array), [&] {
    Value begin = t.multiplyWide(first, array.tokenStride), index = t.add(t.multiply(own.along, count), across);
    for (int64_t from = 0; from < count; from += heldLanesAcross) {
      Value chosen = stored[size_t(from)];
      for (int64_t i = from + 1; i < std::min(count, from + heldLanesAcross); ++i) {
        Value isIt = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, across, t.constant(i - from));
        chosen = t.select(isIt, stored[size_t(i)], chosen);
      }
      auto write = [&] {
        Value offset = t.addWide(begin, t.widen(t.add(index, from)));
        t.store(t.convert(chosen, element), t.offset(array.pointer, offset, element));
      };
      if (count - from < heldLanesAcross)
        t.when(t.below(across, t.constant(count - from)), write);
      else
        write();
    }
  });
}
