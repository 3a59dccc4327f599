// Maps, scans and reductions: loop nests whose last dimension is computed in vectors. Rows of tiles are padded to whole
// vectors, so what is computed beyond the last column goes where nothing is looked at; a map of a part of rows, behind
// which another part lies, stops at its last column.
#include "Analysis/KernelTime.h"
#include "Conversion/TileToLLVM/Emitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

namespace {

/// The inputs of a nest of the sizes `sizes`.
struct Inputs {
  ArrayRef<Place> places;
  ArrayAttr dims;
  ArrayRef<int64_t> sizes;

  ArrayRef<int64_t> dimsOf(unsigned input) const { return cast<DenseI64ArrayAttr>(dims[input]); }

  /// Whether an input varies along the last dimension with neighbours apart: then there are no vectors.
  bool isScattered() const {
    for (auto [i, place] : llvm::enumerate(places))
      for (auto [d, dim] : llvm::enumerate(dimsOf(i)))
        if (dim + 1 == int64_t(sizes.size()) && place.type.getSize(d) != 1 && place.type.getStride(d) != 1)
          return true;
    return false;
  }

  Value load(Emitter &e, unsigned input, ArrayRef<Index> at, int64_t lanes) const {
    const Place &place = places[input];
    SmallVector<Index> indices;
    bool varies = false;
    for (auto [d, dim] : llvm::enumerate(dimsOf(input))) {
      bool repeats = place.type.getSize(d) == 1;
      indices.push_back(repeats ? Index(0) : at[dim]);
      varies |= !repeats && dim + 1 == int64_t(sizes.size());
    }
    Value pointer = e.address(place, indices);
    return varies ? e.load(pointer, e.floats(lanes)) : e.loadSplat(pointer, lanes);
  }

  SmallVector<Value> loadAll(Emitter &e, ArrayRef<Index> at, int64_t lanes) const {
    SmallVector<Value> values;
    for (unsigned i = 0; i < places.size(); ++i)
      values.push_back(load(e, i, at, lanes));
    return values;
  }
};

} // namespace

/// Loops over the dimensions [dim, end) of a nest; the first dimension has `rows` rows.
static void nest(Emitter &e, ArrayRef<int64_t> sizes, Value rows, int64_t dim, int64_t end, SmallVector<Index> &at,
                 llvm::function_ref<void()> inside) {
  if (dim == end)
    return inside();
  e.loop(0, dim == 0 ? Index(rows) : Index(sizes[dim]), 1, [&](Value index) {
    at.push_back(index);
    nest(e, sizes, rows, dim + 1, end, at, inside);
    at.pop_back();
  });
}

/// How many vectors of neighbours to compute side by side. Functions are long chains of instructions that wait for one
/// another, of which a core keeps only so many in sight: several of them in step fill the time. A pass of many
/// functions has its own side by side, and several copies of it take LLVM far longer than one.
static int64_t vectorsInStep(Emitter &e, MapOp op, int64_t columns) {
  bool isLong = llvm::any_of(op.getBody().front(), [](Operation &op) {
    return isa<math::MathDialect>(op.getDialect()) && !isa<math::AbsFOp>(op);
  });
  constexpr int64_t mostInstructions = 384;
  bool isVeryLong = analysis::countInstructions(op.getBody()) > mostInstructions;
  int64_t count = isLong && !isVeryLong && e.shape.isWide() ? 8 : 1;
  while (count > 1 && count * e.lanes() > columns)
    count /= 2;
  return count;
}

/// Whether a tile is a part of rows that begins within a vector. Then what comes behind the last column is another
/// part, or another row.
static bool beginsWithinVector(Value tile, int64_t lanes) {
  int64_t offset = 0;
  while (auto view = tile.getDefiningOp<ViewOp>()) {
    offset += view.getOffset();
    tile = view.getSource();
  }
  return offset % lanes != 0;
}

static bool takesPartsOfVectors(MapOp op, int64_t lanes) {
  return llvm::any_of(op->getOperands(),
                      [&](Value tile) { return isa<TileType>(tile.getType()) && beginsWithinVector(tile, lanes); });
}

bool conversion::isPlainMap(Emitter &e, MapOp op) {
  TileType result = op.getResult().getType();
  SmallVector<Place> places =
      llvm::map_to_vector(op.getInputs(), [](Value input) { return Place{{}, cast<TileType>(input.getType()), {}}; });
  int64_t last = result.getRank() - 1;
  return last > 0 && result.getStride(last) == 1 && !op.getBlocks() &&
         !Inputs{places, op.getDims(), result.getShape()}.isScattered() && !takesPartsOfVectors(op, e.lanes()) &&
         vectorsInStep(e, op, result.getSize(last)) == 1;
}

void conversion::emitMapsAt(Emitter &e, ArrayRef<JoinedMap> maps, Index row, Index column, Value product) {
  SmallVector<Value> made;
  for (const JoinedMap &map : maps) {
    ArrayRef<int64_t> sizes = map.result.type.getShape();
    SmallVector<Index> at{row, column};
    if (sizes.size() > at.size()) // one matrix
      at.insert(at.begin(), 0);
    MapOp op = map.op;
    Inputs inputs{map.places, op.getDims(), sizes};
    SmallVector<Value> arguments;
    for (auto [i, source] : llvm::enumerate(map.sources))
      arguments.push_back(source == JoinedMap::isLoaded    ? inputs.load(e, i, at, e.lanes())
                          : source == JoinedMap::ofProduct ? product
                                                           : made[source]);
    made.push_back(e.body(op.getBody(), arguments, at, e.lanes()).front());
    if (map.isStored)
      e.store(e.convert(made.back(), map.result.type.getElementType()), e.address(map.result, at));
  }
}

void conversion::emitMaps(Emitter &e, ArrayRef<JoinedMap> maps, Value rows) {
  ArrayRef<int64_t> sizes = maps.front().result.type.getShape();
  Index count = sizes.size() > 2 ? Index(sizes[1]) : Index(rows);
  e.loop(0, count, 1, [&](Value row) {
    e.loop(0, sizes.back(), e.lanes(), [&](Value column) { emitMapsAt(e, maps, row, column, {}); });
  });
}

void conversion::emitMap(Emitter &e, MapOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  ArrayRef<int64_t> sizes = result.type.getShape();
  Inputs inputs{places, op.getDims(), sizes};
  int64_t last = sizes.size() - 1;
  bool scalar = result.type.getStride(last) != 1 || inputs.isScattered() || (last == 0 && sizes[0] == 1);
  int64_t lanes = scalar ? 1 : e.lanes();
  bool isPart = takesPartsOfVectors(op, lanes);
  SmallVector<Index> at;
  auto overColumns = [&](Index begin, Index end, int64_t lanes) {
    e.loop(begin, end, lanes, [&](Value column) {
      at.push_back(column);
      Value value = e.body(op.getBody(), inputs.loadAll(e, at, lanes), at, lanes).front();
      e.store(e.convert(value, result.type.getElementType()), e.address(result, at));
      at.pop_back();
    });
  };
  nest(e, sizes, rows, 0, last, at, [&] {
    if (last == 0 || scalar)
      return overColumns(0, last == 0 ? Index(rows) : Index(sizes[last]), lanes);
    int64_t wide = lanes * vectorsInStep(e, op, sizes[last]), inStep = sizes[last] / wide * wide;
    int64_t inVectors = isPart ? sizes[last] / lanes * lanes : sizes[last];
    if (inStep)
      overColumns(0, inStep, wide);
    if (inStep < inVectors)
      overColumns(inStep, inVectors, lanes);
    if (inVectors < sizes[last])
      overColumns(inVectors, sizes[last], 1);
  });
}

void conversion::emitScan(Emitter &e, ScanOp op, ArrayRef<Place> places, std::optional<Place> initial,
                          std::optional<Place> all, std::optional<Place> lastPlace, Value rows) {
  SmallVector<int64_t> sizes;
  if (all) {
    sizes = llvm::to_vector(all->type.getShape());
  } else {
    sizes.push_back(1);
    for (const Place &place : places)
      sizes[0] = std::max(sizes[0], place.type.getSize(0));
    if (lastPlace->type.getShape() != ArrayRef<int64_t>(1) || places[0].type.getRank() > 1)
      llvm::append_range(sizes, lastPlace->type.getShape());
  }
  Inputs inputs{places, op.getDims(), sizes};
  bool flat = sizes.size() == 1; // one running number
  auto scanPanel = [&](ArrayRef<Index> outer, Index column, int64_t vectors) {
    int64_t lanes = flat ? 1 : e.lanes();
    auto placeOf = [&](int64_t v) {
      SmallVector<Index> at = llvm::to_vector(outer);
      at.push_back(Index(column.value, column.constant + v * lanes));
      return at;
    };
    SmallVector<Value> start;
    for (int64_t v = 0; v < vectors; ++v)
      start.push_back(initial ? e.load(e.address(*initial, placeOf(v)), e.floats(lanes))
                              : e.splat(e.floats(lanes), op.getStart().convertToDouble()));
    SmallVector<Value> end = e.loop(0, rows, 1, start, [&](Value step, ValueRange running) {
      Value row = step;
      if (op.getReverse())
        row = arith::SubIOp::create(e.builder, e.loc, e.add(rows, -1), step);
      SmallVector<Value> next;
      for (int64_t v = 0; v < vectors; ++v) {
        SmallVector<Index> at{row};
        if (!flat)
          llvm::append_range(at, placeOf(v));
        SmallVector<Value> arguments = inputs.loadAll(e, at, lanes);
        arguments.push_back(running[v]);
        SmallVector<Value> given = e.body(op.getBody(), arguments, at, lanes);
        next.push_back(given[0]);
        if (all)
          e.store(given[1], e.address(*all, at));
      }
      return next;
    });
    if (lastPlace)
      for (int64_t v = 0; v < vectors; ++v)
        e.store(end[v], e.address(*lastPlace, placeOf(v)));
  };
  if (flat)
    return scanPanel({}, 0, 1);
  SmallVector<Index> outer;
  nest(e, ArrayRef(sizes).drop_front(), e.constant(sizes[1]), 0, sizes.size() - 2, outer, [&] {
    e.panels(sizes.back(), e.shape.isWide() ? 4 : 2,
             [&](Index column, int64_t vectors) { scanPanel(outer, column, vectors); });
  });
}

void conversion::emitReduce(Emitter &e, ReduceOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  ArrayRef<int64_t> sizes = op.getSizes(), over = op.getOver();
  Inputs inputs{places, op.getDims(), sizes};
  int64_t rank = sizes.size(), last = rank - 1;
  bool max = op.getKind() == Reduction::Max, lastReduced = llvm::is_contained(over, last);
  auto combine = [&](Value a, Value b) -> Value {
    if (max)
      return arith::MaximumFOp::create(e.builder, e.loc, a, b);
    return e.plus(a, b);
  };
  SmallVector<int64_t> keptDims;
  for (int64_t d = 1; d < rank; ++d)
    if (!llvm::is_contained(over, d))
      keptDims.push_back(d);
  double neutral = max ? -std::numeric_limits<double>::infinity() : 0;
  SmallVector<Index> at(rank, Index(0));

  // Adds everything along the reduced dimensions from `next` on to the sum of one vector.
  std::function<Value(unsigned, Value)> accumulate = [&](unsigned next, Value sum) -> Value {
    auto element = [&](Value sum, int64_t count) {
      Value value = e.body(op.getBody(), inputs.loadAll(e, at, e.lanes()), at, e.lanes()).front();
      return combine(sum, e.keepLanes(value, count, e.splat(value.getType(), neutral)));
    };
    if (next == over.size())
      return element(sum, e.lanes());
    int64_t dim = over[next], size = sizes[dim], step = dim == last ? e.lanes() : 1, full = size / step * step;
    if (full)
      sum = e.loop(0, full, step, sum, [&](Value index, ValueRange sums) {
        at[dim] = index;
        return SmallVector<Value>{accumulate(next + 1, sums[0])};
      })[0];
    if (full < size) { // the last dimension is the innermost
      at[dim] = full;
      sum = element(sum, size - full);
    }
    return sum;
  };
  std::function<void(unsigned)> overKept = [&](unsigned next) {
    if (next < keptDims.size()) {
      int64_t dim = keptDims[next];
      return e.loop(0, sizes[dim], dim == last ? e.lanes() : 1, [&](Value index) {
        at[dim] = index;
        overKept(next + 1);
      });
    }
    Value sum = accumulate(0, e.splat(e.floats(e.lanes()), neutral));
    if (lastReduced) {
      if (max)
        sum = vector::ReductionOp::create(e.builder, e.loc, vector::CombiningKind::MAXIMUMF, sum);
      else
        sum = e.sumLanes(sum);
    }
    SmallVector<Index> to{at[0]};
    for (int64_t dim : keptDims)
      to.push_back(at[dim]);
    e.store(sum, e.address(result, to));
  };
  e.loop(0, rows, 1, [&](Value row) {
    at[0] = row;
    overKept(0);
  });
}
