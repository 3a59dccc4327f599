// Maps, scans and reductions: a body for each place of a loop nest. Places that differ in the last dimension are
// computed together.
#include "Interpreter/TileExecutor.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

Expected<const TileBody *> TileMachine::getBody(mlir::Operation *nest) {
  std::unique_ptr<TileBody> &known = bodies[nest];
  if (!known) {
    Expected<TileBody> body = TileBody::compile(nest->getRegion(0).front());
    if (!body)
      return body.takeError();
    known = std::make_unique<TileBody>(std::move(*body));
  }
  return known.get();
}

namespace {

/// The inputs of a nest, read before anything is written.
class Nest {
public:
  /// `sizes` are the nest's, with the number of rows that count first.
  Nest(TileExecutor &e, mlir::Operation *op, mlir::ValueRange tiles, mlir::ArrayAttr dims, SmallVector<int64_t> sizes)
      : sizes(std::move(sizes)) {
    for (auto [value, attribute] : zip(tiles, dims)) {
      ArrayRef<int64_t> list = cast<mlir::DenseI64ArrayAttr>(attribute);
      Tile tile = e.getTile(value);
      bool hasRows = !list.empty() && list[0] == 0 && tile.type.getSize(0) != 1;
      Input input{e.machine.read(op, tile, hasRows ? this->sizes[0] : tile.type.getSize(0)), {}};
      input.strides.assign(this->sizes.size(), 0);
      int64_t stride = 1;
      for (size_t i = list.size(); i-- > 0;) {
        if (tile.type.getSize(i) != 1)
          input.strides[list[i]] += stride;
        stride *= input.contents.shape[i];
      }
      inputs.push_back(std::move(input));
    }
  }

  /// Sets the body's first arguments to the inputs at the place, lane by lane along dimension `along`.
  void load(TileBody::Values &values, ArrayRef<int64_t> at, int64_t along) const {
    for (auto [number, input] : enumerate(inputs)) {
      int64_t place = 0, step = along < 0 ? 0 : input.strides[along];
      for (auto [index, stride] : zip(at, input.strides))
        place += index * stride;
      double *argument = values.get(number);
      for (int64_t lane = 0; lane < values.lanes; ++lane)
        argument[lane] = input.contents.values[place + lane * step];
    }
  }

  /// Calls `visit` for each place of the dimensions [begin, end); the others are 0.
  void visit(size_t begin, size_t end, function_ref<void(SmallVector<int64_t> &)> visit) const {
    SmallVector<int64_t> at(sizes.size());
    auto walk = [&](auto &walk, size_t dim) -> void {
      if (dim >= end)
        return visit(at);
      for (int64_t i = 0; i < sizes[dim]; ++i) {
        at[dim] = i;
        walk(walk, dim + 1);
      }
      at[dim] = 0;
    };
    walk(walk, begin);
  }

  size_t countInputs() const { return inputs.size(); }

  SmallVector<int64_t> sizes;

private:
  struct Input {
    Contents contents;
    SmallVector<int64_t> strides; // for each dimension of the nest
  };
  std::vector<Input> inputs;
};

} // namespace

/// Errors of rows that no tile has, and of a result that lies on an input.
static Error checkNest(TileExecutor &e, mlir::Operation *op, mlir::ValueRange inputs, mlir::ArrayAttr dims,
                       const Tile &result, bool inPlace) {
  for (auto [value, attribute] : zip(inputs, dims)) {
    Tile input = e.getTile(value);
    if (Error error = inPlace ? e.machine.checkInPlace(op, result, input, cast<mlir::DenseI64ArrayAttr>(attribute))
                              : e.machine.checkApart(op, result, input))
      return error;
  }
  return Error::success();
}

static Error runMap(TileExecutor &e, tile::MapOp op) {
  Tile result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows());
  if (Error error = e.machine.checkRows(op, result, rows))
    return error;
  if (Error error = checkNest(e, op, op.getInputs(), op.getDims(), result, /*inPlace=*/true))
    return error;
  Expected<const TileBody *> body = e.machine.getBody(op);
  if (!body)
    return body.takeError();
  SmallVector<int64_t> sizes(result.type.getShape());
  sizes[0] = rows;
  Nest nest(e, op, op.getInputs(), op.getDims(), sizes);
  Contents contents{sizes, {}};
  size_t last = sizes.size() - 1;
  TileBody::Values values(**body, sizes[last]);
  nest.visit(0, last, [&](SmallVector<int64_t> &at) {
    nest.load(values, at, last);
    (*body)->run(e.machine.arithmetic, values, at, last);
    const double *yielded = values.get((*body)->getYielded(0));
    contents.values.insert(contents.values.end(), yielded, yielded + values.lanes);
  });
  if (!op.getBlocks()) {
    e.machine.write(op, result, contents);
    return Error::success();
  }
  if (rows != result.type.getSize(0))
    return makeTileError(op, "blocks of " + Twine(rows) + " rows of a tile that has " + Twine(result.type.getSize(0)));
  e.machine.write(op, result, contents, [&](int64_t element) {
    int64_t row = element / sizes[1] / *op.getBlockSize(), column = element % sizes[1] / *op.getBlockSize();
    switch (*op.getBlocks()) {
    case tile::Blocks::Below:
      return column < row;
    case tile::Blocks::Diagonal:
      return column == row;
    case tile::Blocks::Above:
      return column > row;
    }
    llvm_unreachable("which blocks");
  });
  return Error::success();
}

/// The sizes of a scan's nest, rows first. Where it has no tile with a row of its own each, it goes over any number.
static SmallVector<int64_t> sizesOf(tile::ScanOp op, int64_t rows) {
  if (op.getAll())
    return SmallVector<int64_t>(op.getAll().getType().getShape());
  bool hasInputs = !op.getInputs().empty();
  SmallVector<int64_t> sizes{hasInputs ? 1 : rows};
  for (mlir::Value input : op.getInputs())
    sizes[0] = std::max(sizes[0], tile::tileOf(input).getSize(0));
  if (op.getLast().getType().getShape() != ArrayRef<int64_t>(1) ||
      (hasInputs && tile::tileOf(op.getInputs()[0]).getRank() > 1))
    append_range(sizes, op.getLast().getType().getShape());
  return sizes;
}

static Error runScan(TileExecutor &e, tile::ScanOp op) {
  int64_t rows = e.getNumber(op.getRows());
  SmallVector<int64_t> sizes = sizesOf(op, rows);
  if (rows < 0 || rows > sizes[0])
    return makeTileError(op, Twine(rows) + " rows of a tile that has " + Twine(sizes[0]));
  if (op.getAll()) {
    Tile all = e.getTile(op.getAll());
    if (Error error = checkNest(e, op, op.getInputs(), op.getDims(), all, /*inPlace=*/true))
      return error;
    for (mlir::Value other : {op.getInitial(), op.getLast()})
      if (other)
        if (Error error = e.machine.checkApart(op, all, e.getTile(other)))
          return error;
  }
  if (op.getLast())
    if (Error error = checkNest(e, op, op.getInputs(), op.getDims(), e.getTile(op.getLast()), /*inPlace=*/false))
      return error;
  Expected<const TileBody *> body = e.machine.getBody(op);
  if (!body)
    return body.takeError();
  sizes[0] = rows;
  Nest nest(e, op, op.getInputs(), op.getDims(), sizes);
  Contents initial;
  if (op.getInitial())
    initial = e.machine.read(op, e.getTile(op.getInitial()));

  // Columns beside each other are scanned together; a scan of a vector is one running number.
  int64_t last = sizes.size() - 1, lanes = last ? sizes[last] : 1, along = last ? last : -1;
  Contents all{sizes, std::vector<double>(*countElements(sizes))}, end;
  end.shape = last ? SmallVector<int64_t>(ArrayRef(sizes).drop_front()) : SmallVector<int64_t>{1};
  int64_t width = *countElements(end.shape), panel = 0;
  if (op.getInitial() && int64_t(initial.values.size()) != width)
    return makeTileError(op, "begins with " + Twine(initial.values.size()) + " numbers, but has " + Twine(width) +
                                 " running ones");
  if (op.getLast() && op.getLast().getType().getShape() != ArrayRef(end.shape))
    return makeTileError(op, "ends with " + printShape(end.shape) + " numbers, but gives them to " +
                                 printShape(op.getLast().getType().getShape()));
  TileBody::Values values(**body, lanes);
  double *running = values.get(nest.countInputs());
  nest.visit(1, last, [&](SmallVector<int64_t> &at) {
    for (int64_t lane = 0; lane < lanes; ++lane)
      running[lane] =
          op.getInitial() ? initial.values[panel + lane] : e.machine.arithmetic.store(op.getStart().convertToDouble());
    for (int64_t step = 0; step < rows; ++step) {
      at[0] = op.getReverse() ? rows - 1 - step : step;
      nest.load(values, at, along);
      (*body)->run(e.machine.arithmetic, values, at, along);
      const double *next = values.get((*body)->getYielded(0)), *given = values.get((*body)->getYielded(1));
      std::copy(given, given + lanes, all.values.begin() + at[0] * width + panel);
      if (next != running)
        std::copy(next, next + lanes, running);
    }
    at[0] = 0;
    end.values.insert(end.values.end(), running, running + lanes);
    panel += lanes;
  });
  if (op.getAll())
    e.machine.write(op, e.getTile(op.getAll()), all);
  if (op.getLast())
    e.machine.write(op, e.getTile(op.getLast()), end);
  return Error::success();
}

static Error runReduce(TileExecutor &e, tile::ReduceOp op) {
  Tile result = e.getTile(op.getResult());
  int64_t rows = e.getNumber(op.getRows());
  if (Error error = e.machine.checkRows(op, result, rows))
    return error;
  if (Error error = checkNest(e, op, op.getInputs(), op.getDims(), result, /*inPlace=*/false))
    return error;
  Expected<const TileBody *> body = e.machine.getBody(op);
  if (!body)
    return body.takeError();
  SmallVector<int64_t> sizes(op.getSizes());
  sizes[0] = rows;
  Nest nest(e, op, op.getInputs(), op.getDims(), sizes);
  Contents contents{SmallVector<int64_t>(result.type.getShape()), {}};
  contents.shape[0] = rows;
  bool isMax = op.getKind() == tile::Reduction::Max;
  contents.values.assign(*countElements(contents.shape), isMax ? -std::numeric_limits<double>::infinity() : 0);
  size_t last = sizes.size() - 1;
  // Of a matrix whose result has two dimensions as well: the parts of a row.
  int64_t parts = contents.shape.size() == sizes.size() ? contents.shape[1] : 1;
  TileBody::Values values(**body, sizes[last]);
  nest.visit(0, last, [&](SmallVector<int64_t> &at) {
    nest.load(values, at, last);
    (*body)->run(e.machine.arithmetic, values, at, last);
    const double *yielded = values.get((*body)->getYielded(0));
    for (int64_t lane = 0; lane < values.lanes; ++lane) {
      int64_t to = 0;
      for (auto [dim, size] : enumerate(sizes))
        if (!is_contained(op.getOver(), int64_t(dim)))
          to = to * size + (dim == last ? lane : at[dim]);
      to = to * parts + lane / (sizes[last] / parts);
      double &sum = contents.values[to], x = yielded[lane];
      if (isHole(sum) || isHole(x))
        sum = isHole(sum) ? sum : x;
      else
        sum = isMax ? (sum != sum || sum > x ? sum : x) : e.machine.arithmetic.store(sum + x);
    }
  });
  e.machine.write(op, result, contents);
  return Error::success();
}

void interpreter::addNestMeanings(TileMeanings &meanings) {
  meanings.add<tile::MapOp, runMap>();
  meanings.add<tile::ScanOp, runScan>();
  meanings.add<tile::ReduceOp, runReduce>();
}
