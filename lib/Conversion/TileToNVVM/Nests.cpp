// Maps, scans, reductions, transposes and copies: an element, a column or a sum for each thread.
#include "Conversion/TileToNVVM/Team.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::tile::nvvm;

namespace {
/// The inputs of a nest.
struct Inputs {
  ArrayRef<Place> places;
  ArrayAttr dims;

  SmallVector<Value> load(TeamCode &t, ArrayRef<Index> at) const {
    SmallVector<Value> values;
    for (auto [place, attribute] : llvm::zip(places, dims)) {
      SmallVector<Index> indices;
      for (auto [d, dim] : llvm::enumerate(cast<DenseI64ArrayAttr>(attribute).asArrayRef()))
        indices.push_back(place.type.getSize(d) == 1 ? Index(0) : at[dim]);
      values.push_back(t.get(place, indices));
    }
    return values;
  }
};
} // namespace

static int64_t countInRow(ArrayRef<int64_t> sizes) { return llvm::product_of(sizes.drop_front()); }

void nvvm::emitMap(TeamCode &t, MapOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  ArrayRef<int64_t> sizes = result.type.getShape();
  Inputs inputs{places, op.getDims()};
  // Long functions fill the time by themselves.
  bool isLong = llvm::any_of(op.getBody().front(), [](Operation &op) {
    return isa<math::MathDialect>(op.getDialect()) && !isa<math::AbsFOp>(op);
  });
  t.dealInStep(
      t.multiply(rows, countInRow(sizes)), isLong ? 2 : 4,
      [&](Value index) {
        SmallVector<Index> at = t.takeApart(index, sizes);
        return t.body(op.getBody(), inputs.load(t, at), at);
      },
      [&](Value index, ArrayRef<Value> given) { t.put(given[0], result, t.takeApart(index, sizes)); });
}

void nvvm::emitScan(TeamCode &t, ScanOp op, ArrayRef<Place> places, std::optional<Place> initial,
                    std::optional<Place> all, std::optional<Place> last, Value rows) {
  SmallVector<int64_t> columns; // the sizes but for the rows
  if (all)
    columns = llvm::to_vector(all->type.getShape().drop_front());
  else if (last->type.getShape() != ArrayRef<int64_t>(1) || places[0].type.getRank() > 1)
    columns = llvm::to_vector(last->type.getShape());
  Inputs inputs{places, op.getDims()};
  bool isReverse = op.getReverse();
  t.deal(t.constant(llvm::product_of(columns)), [&](Value column) {
    SmallVector<Index> outer = t.takeApart(column, columns);
    SmallVector<Index> flat = columns.empty() ? SmallVector<Index>{Index(0)} : outer; // of a lone running number
    Value start = initial ? t.get(*initial, flat) : t.number(op.getStart().convertToDouble());
    // The inputs of several rows are read before the first one is written: what a row waits for is the row before.
    auto takeRows = [&](Value begin, Value end, int64_t inStep, Value start) {
      return t.loop(begin, end, inStep, start, [&](Value first, ValueRange running) {
        SmallVector<SmallVector<Index>> places;
        SmallVector<SmallVector<Value>> known;
        for (int64_t i = 0; i < inStep; ++i) {
          Value step = t.add(first, i);
          SmallVector<Index> at{isReverse ? t.subtract(t.add(rows, -1), step) : step};
          llvm::append_range(at, outer);
          known.push_back(inputs.load(t, at));
          places.push_back(std::move(at));
        }
        Value next = running[0];
        for (auto [at, arguments] : llvm::zip(places, known)) {
          arguments.push_back(next);
          SmallVector<Value> given = t.body(op.getBody(), arguments, at);
          next = given[0];
          if (all)
            t.put(given[1], *all, at);
        }
        return SmallVector<Value>{next};
      })[0];
    };
    constexpr int64_t inStep = 8;
    Value whole = t.multiply(t.divide(rows, inStep), inStep);
    Value end = takeRows(whole, rows, 1, takeRows(t.constant(0), whole, inStep, start));
    if (last)
      t.put(end, *last, flat);
  });
}

void nvvm::emitReduce(TeamCode &t, ReduceOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  ArrayRef<int64_t> sizes = op.getSizes(), over = op.getOver();
  Inputs inputs{places, op.getDims()};
  bool max = op.getKind() == Reduction::Max;
  auto combine = [&](Value a, Value b) -> Value {
    return max ? arith::MaximumFOp::create(t.builder, t.loc, a, b).getResult() : t.plus(a, b);
  };
  SmallVector<int64_t> keptDims, reducedSizes;
  for (int64_t dim = 0; dim < int64_t(sizes.size()); ++dim)
    if (!llvm::is_contained(over, dim))
      keptDims.push_back(dim);
  for (int64_t dim : over)
    reducedSizes.push_back(sizes[dim]);
  int64_t reduced = llvm::product_of(reducedSizes);
  // Neighbours that are added up are read by neighbours.
  bool byWarps = reduced >= warpThreads && llvm::is_contained(over, int64_t(sizes.size()) - 1);
  auto sum = [&](Value index) {
    SmallVector<Index> to = t.takeApart(index, result.type.getShape()), at(sizes.size());
    for (auto [dim, place] : llvm::zip(keptDims, to))
      at[dim] = place;
    Value neutral = t.number(max ? -std::numeric_limits<double>::infinity() : 0);
    Value begin = byWarps ? t.lane : t.constant(0);
    Value total =
        t.loop(begin, t.constant(reduced), byWarps ? warpThreads : 1, neutral, [&](Value element, ValueRange running) {
          for (auto [dim, place] : llvm::zip(over, t.takeApart(element, reducedSizes)))
            at[dim] = place;
          Value value = t.body(op.getBody(), inputs.load(t, at), at).front();
          return SmallVector<Value>{combine(running[0], value)};
        })[0];
    if (!byWarps)
      return t.put(total, result, to);
    total = t.combineLanes(total, combine);
    Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.lane, t.constant(0));
    t.when(isFirst, [&] { t.put(total, result, to); });
  };
  Value count = t.multiply(rows, countInRow(result.type.getShape()));
  byWarps ? t.dealToWarps(count, sum) : t.deal(count, sum);
}

void nvvm::emitTranspose(TeamCode &t, const Place &source, Value rows, const Place &result) {
  ArrayRef<int64_t> sizes = source.type.getShape();
  t.dealInStep(
      t.multiply(rows, sizes[1]), 4,
      [&](Value index) { return SmallVector<Value>{t.get(source, t.takeApart(index, sizes))}; },
      [&](Value index, ArrayRef<Value> element) {
        SmallVector<Index> at = t.takeApart(index, sizes);
        t.put(element[0], result, {at[1], at[0]});
      });
}

//===----------------------------------------------------------------------===//
// Copies between the caller's arrays and tiles
//===----------------------------------------------------------------------===//

namespace {
/// A copy of rows between an array and a tile, of so many neighbours at once.
class Copy {
public:
  Copy(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile, int64_t neighbours)
      : t(t), array(array), first(first), rows(rows), tile(tile), neighbours(neighbours), sizes(tile.type.getShape()),
        element(array.type.getElementType()) {
    sizes.back() /= neighbours;
  }

  void load() {
    run([&](Value index) { return SmallVector<Value>{t.load(address(index), type())}; },
        [&](Value index, ArrayRef<Value> given) {
          for (int64_t i = 0; i < neighbours; ++i) {
            Value number = given[0];
            if (neighbours > 1)
              number = LLVM::ExtractElementOp::create(t.builder, t.loc, number, t.constant(i));
            t.store(t.convert(number, tile.type.getElementType()), t.address(tile, placeOf(index, i)));
          }
        });
  }
  void store() {
    run(
        [&](Value index) {
          SmallVector<Value> numbers;
          for (int64_t i = 0; i < neighbours; ++i)
            numbers.push_back(t.load(t.address(tile, placeOf(index, i)), tile.type.getElementType()));
          return numbers;
        },
        [&](Value index, ArrayRef<Value> numbers) {
          Value all = t.convert(numbers[0], element);
          if (neighbours > 1) {
            all = LLVM::UndefOp::create(t.builder, t.loc, type());
            for (auto [i, number] : llvm::enumerate(numbers))
              all = LLVM::InsertElementOp::create(t.builder, t.loc, all, t.convert(number, element), t.constant(i));
          }
          t.store(all, address(index));
        });
  }

private:
  void run(llvm::function_ref<SmallVector<Value>(Value)> read, llvm::function_ref<void(Value, ArrayRef<Value>)> write) {
    constexpr int64_t inStep = 8;
    t.dealInStep(t.multiply(rows, countInRow(sizes)), inStep, read, write);
  }
  Type type() const { return neighbours > 1 ? Type(VectorType::get(neighbours, element)) : element; }
  SmallVector<Index> placeOf(Value index, int64_t neighbour) {
    SmallVector<Index> at = t.takeApart(index, sizes);
    if (neighbours > 1)
      at.back() = at.back().value ? Index(t.multiply(at.back().value, neighbours), neighbour) : Index(neighbour);
    return at;
  }
  Value address(Value index) {
    SmallVector<Index> at = placeOf(index, 0);
    Value offset = t.multiplyWide(t.addWide(first, t.widen(t.toValue(at[0]))), array.tokenStride);
    for (size_t dim = 1; dim < sizes.size(); ++dim) {
      Value place = t.widen(t.toValue(at[dim]));
      if (!array.innerStrides.empty())
        place = t.multiplyWide(place, array.innerStrides[dim - 1]);
      offset = t.addWide(offset, place);
    }
    return t.offset(array.pointer, offset, element);
  }

  TeamCode &t;
  const CallerArray &array;
  Value first, rows;
  const Place &tile;
  int64_t neighbours;
  SmallVector<int64_t> sizes;
  Type element;
};
} // namespace

static Value isPresent(TeamCode &t, const CallerArray &array) {
  Value null = LLVM::ZeroOp::create(t.builder, t.loc, array.pointer.getType());
  return LLVM::ICmpOp::create(t.builder, t.loc, LLVM::ICmpPredicate::ne, array.pointer, null);
}

/// Runs one of two pieces of code.
static void either(TeamCode &t, Value condition, llvm::function_ref<void()> first, llvm::function_ref<void()> second) {
  auto choice = scf::IfOp::create(t.builder, t.loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPoint(choice.thenBlock()->getTerminator());
  first();
  t.builder.setInsertionPoint(choice.elseBlock()->getTerminator());
  second();
}

/// Numbers of 16 bits move in twos where rows begin at whole words, which depends on the caller.
static void copyRows(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile,
                     llvm::function_ref<void(Copy)> run) {
  constexpr int64_t wordBytes = 4;
  ArrayRef<int64_t> sizes = tile.type.getShape();
  int64_t bytes = array.type.getElementBytes();
  bool isAlone = sizes.size() != 2 || bytes == wordBytes || sizes.back() % 2;
  auto alone = [&] { run(Copy(t, array, first, rows, tile, 1)); };
  if (isAlone)
    return alone();
  Type wide = t.builder.getI64Type();
  Value begin = LLVM::PtrToIntOp::create(t.builder, t.loc, wide, array.pointer);
  Value step = arith::MulIOp::create(t.builder, t.loc, array.tokenStride,
                                     arith::ConstantIntOp::create(t.builder, t.loc, bytes, 64));
  Value rest = arith::AndIOp::create(t.builder, t.loc, arith::OrIOp::create(t.builder, t.loc, begin, step),
                                     arith::ConstantIntOp::create(t.builder, t.loc, wordBytes - 1, 64));
  Value isWhole = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, rest,
                                        arith::ConstantIntOp::create(t.builder, t.loc, 0, 64));
  either(t, isWhole, [&] { run(Copy(t, array, first, rows, tile, 2)); }, alone);
}

void nvvm::emitLoad(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile) {
  either(
      t, isPresent(t, array), [&] { copyRows(t, array, first, rows, tile, [](Copy copy) { copy.load(); }); },
      [&] {
        t.deal(t.multiply(rows, countInRow(tile.type.getShape())),
               [&](Value index) { t.put(t.number(0), tile, t.takeApart(index, tile.type.getShape())); });
      });
}

void nvvm::emitStore(TeamCode &t, const Place &tile, Value rows, const CallerArray &array, Value first) {
  t.when(isPresent(t, array), [&] { copyRows(t, array, first, rows, tile, [](Copy copy) { copy.store(); }); });
}
