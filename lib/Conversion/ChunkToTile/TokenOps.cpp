// What each token does by itself.
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Chunk/ChunkSteps.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using chunk::Function;

Planner::Spread Planner::spreadOf(chunk::MapOp map, unsigned operand) {
  bool isFirst = operand == 0;
  switch (map.getFunction()) {
  case Function::Outer:
    return isFirst ? Spread::OverRows : Spread::OverColumns;
  case Function::ScaleRows:
    return isFirst ? Spread::OverRows : Spread::None;
  case Function::ScaleCols:
    return isFirst ? Spread::None : Spread::OverColumns;
  default:
    return Spread::None;
  }
}

/// The elements of a vector over the rows have their place in the first dimension behind the tokens' own.
std::array<int64_t, 2> Planner::dimsOf(Spread spread, bool transposed) {
  return {0, (spread == Spread::OverRows) == transposed ? 2 : 1};
}

/// The function of an element that a map's function comes down to.
static Function elementFunction(Function function) {
  bool isProduct = function == Function::Outer || function == Function::ScaleCols || function == Function::ScaleRows;
  return isProduct ? Function::Mul : function;
}

/// Whether the map takes the sine or the cosine of an angle that a scan has brought within half a turn.
static bool isOfSummedAngle(chunk::MapOp map) {
  auto scan = map.getOperands()[0].getDefiningOp<chunk::ScanOp>();
  return scan && scan.getAngles() && map.getOperands()[0] == scan.getAll() &&
         (map.getFunction() == Function::Sin || map.getFunction() == Function::Cos);
}

SmallVector<Planner::Leaf> Planner::gatherLeaves(Leaf root, Operation *pass) {
  SmallVector<Leaf> leaves;
  // Each value once: maps that read the results of maps twice have more paths to their leaves than can be followed.
  DenseSet<Leaf> seen;
  auto gather = [&](auto &self, Leaf leaf) -> void {
    if (!seen.insert(leaf).second)
      return;
    Value value = leaf.getPointer();
    auto producer = value.getDefiningOp<chunk::MapOp>();
    if (producer && passes.of(producer) == pass) {
      for (auto [index, operand] : llvm::enumerate(producer.getOperands()))
        self(self, {operand, spreadOf(producer, index)});
    } else if (auto broadcast = value.getDefiningOp<chunk::BroadcastOp>(); broadcast && isSpreadInPasses(broadcast)) {
      self(self, {broadcast.getOperand(), Spread::None});
    } else if (!chunk::constantNumber(value) && !findMask(value)) {
      leaves.push_back(leaf);
    }
  };
  gather(gather, root);
  return leaves;
}

Value Planner::buildElement(Scalars &scalars, Leaf leaf, Operation *pass, DenseMap<Leaf, Value> &elements) {
  if (Value known = elements.lookup(leaf))
    return known;
  Value value = leaf.getPointer();
  auto producer = value.getDefiningOp<chunk::MapOp>();
  if (producer && passes.of(producer) == pass) {
    SmallVector<Value> operands;
    for (auto [index, operand] : llvm::enumerate(producer.getOperands()))
      operands.push_back(buildElement(scalars, {operand, spreadOf(producer, index)}, pass, elements));
    if (isOfSummedAngle(producer) && !machine.isCTA()) // which has instructions for them
      return elements[leaf] = producer.getFunction() == Function::Sin ? scalars.sineWithinHalfATurn(operands[0])
                                                                      : scalars.cosineWithinHalfATurn(operands[0]);
    return elements[leaf] = scalars.apply(elementFunction(producer.getFunction()), operands);
  }
  if (auto broadcast = value.getDefiningOp<chunk::BroadcastOp>(); broadcast && isSpreadInPasses(broadcast))
    return elements[leaf] = buildElement(scalars, {broadcast.getOperand(), Spread::None}, pass, elements);
  if (chunk::InteractionOp mask = findMask(value))
    return elements[leaf] = scalars.select(buildSees(scalars, mask), scalars.number(1), scalars.number(0));
  return elements[leaf] = scalars.number(*chunk::constantNumber(value));
}

Planner::Elements Planner::elementsOf(Value value, Operation *pass, llvm::function_ref<Value(Value)> getTile) {
  SmallVector<Leaf> leaves = gatherLeaves({value, Spread::None}, pass);
  Elements elements;
  for (Leaf leaf : leaves) {
    Input &input = elements.inputs.emplace_back(getTile(leaf.getPointer()));
    if (leaf.getInt() != Spread::None)
      llvm::copy(dimsOf(leaf.getInt(), isTransposed(value)), input.dims.begin());
  }
  elements.build = [this, value, pass, leaves](Scalars &scalars, ValueRange arguments) {
    DenseMap<Leaf, Value> known;
    for (auto [leaf, argument] : llvm::zip(leaves, arguments))
      known[leaf] = argument;
    return buildElement(scalars, {value, Spread::None}, pass, known);
  };
  return elements;
}

bool Planner::leaveToReader(Value value, LeftScan scan) {
  if (inTokenLoop || value.use_empty() || (!value.hasOneUse() && !scan.isCheap))
    return false;
  SmallVector<chunk::MapOp> all;
  for (Operation *user : value.getUsers()) {
    auto reader = dyn_cast<chunk::MapOp>(user);
    if (!reader || !chunk::isElementwise(reader.getFunction()) || reader.getResult().getType() != value.getType() ||
        reader->getBlock() != value.getParentBlock() || isPaired(reader))
      return false;
    auto pass = dyn_cast<chunk::MapOp>(passes.of(reader));
    if (!pass || isPaired(pass) || mapsInScans.contains(pass))
      return false;
    if (!llvm::is_contained(all, pass))
      all.push_back(pass);
  }
  mapsInScans.insert(all.begin(), all.end());
  scan.readers.assign(all.begin(), all.end());
  leftScans.insert({value, std::move(scan)});
  return true;
}

/// The element of the scan is one of those that the map is made of; the others are inputs of the scan besides its own.
void Planner::planInScan(chunk::MapOp op, ArrayRef<Leaf> leaves, Value scanned) {
  LeftScan &left = leftScans.find(scanned)->second;
  SmallVector<Input> inputs = left.inputs;
  for (Leaf leaf : leaves)
    if (Value value = leaf.getPointer(); value != scanned)
      inputs.push_back(machine.isCTA() ? getElements(value) : get(value));
  if (left.result)
    set(op.getResult(), left.result);
  Value result = left.result ? left.result : machine.isCTA() ? makeResult(op.getResult()) : make(op.getResult());
  scan(inputs, left.initial, result, std::exchange(left.last, Value()), rowsOf(result), left.start, left.reverse,
       [&](Scalars &s, ValueRange x) {
         size_t own = left.inputs.size();
         SmallVector<Value> arguments(x.take_front(own));
         arguments.push_back(x.back());
         auto [next, given] = left.body(s, arguments);
         DenseMap<Leaf, Value> known{{{scanned, Spread::None}, given}};
         for (Leaf leaf : leaves)
           if (leaf.getPointer() != scanned)
             known[leaf] = x[own++];
         return std::pair(next, buildElement(s, {op.getResult(), Spread::None}, op, known));
       });
}

/// The scan for each of its readers that can be made by now, one behind the other: they share what they sum up.
void Planner::planInScans(chunk::MapOp op, Value scanned) {
  SmallVector<Operation *, 2> readers = leftScans.find(scanned)->second.readers;
  for (Operation *reader : readers) {
    auto map = cast<chunk::MapOp>(reader);
    SmallVector<Leaf> leaves = gatherLeaves({map.getResult(), Spread::None}, map);
    bool isReady = llvm::all_of(leaves, [&](Leaf leaf) {
      Operation *maker = leaf.getPointer().getDefiningOp();
      return maker && maker->getBlock() == op->getBlock() && maker->isBeforeInBlock(op);
    });
    if ((reader == op || isReady) && planned.insert(reader).second)
      planInScan(map, leaves, scanned);
  }
  if (Value total = std::exchange(leftScans.find(scanned)->second.total, Value()))
    map({total}, total, rowsOf(total), [](Scalars &s, ValueRange x) { return s.exp(x[0]); });
}

/// Whether the value is a state of a token loop, and the map what it becomes, once nothing else reads it.
bool Planner::isCarriedOn(Value state, chunk::MapOp map) {
  auto argument = dyn_cast<BlockArgument>(state);
  auto loop = argument ? dyn_cast<chunk::TokenLoopOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (machine.isCTA() || !loop || argument.getArgNumber() < loop.getStreams().size())
    return false;
  unsigned number = argument.getArgNumber() - unsigned(loop.getStreams().size());
  Operation *yield = argument.getOwner()->getTerminator();
  return yield->getOperand(unsigned(loop.getStreamResults().size()) + number) == map.getResult() &&
         isLastReader(state, map) &&
         llvm::all_of(state.getUsers(), [](Operation *user) { return isa<chunk::MapOp>(user); }); // no views of it
}

/// The tile of a state that nobody reads after the pass, which becomes its result: one that is changed already, if any.
Value Planner::findChanged(chunk::MapOp op, ArrayRef<Leaf> leaves) {
  Value found;
  for (Leaf leaf : leaves) {
    if (isCarriedOn(leaf.getPointer(), op) && !llvm::is_contained(leaves, Leaf(leaf.getPointer(), Spread::OverRows)) &&
        !llvm::is_contained(leaves, Leaf(leaf.getPointer(), Spread::OverColumns)))
      return get(leaf.getPointer());
    auto reshape = leaf.getPointer().getDefiningOp<chunk::ReshapeStateOp>();
    Operation *maker = reshape ? reshape.getState().getDefiningOp() : nullptr;
    if (machine.isCTA() || !isa_and_nonnull<chunk::StateOp, chunk::AdvanceOp>(maker) ||
        reshape.getType() != op.getType() || !isLastReader(reshape.getState(), op))
      continue;
    if (!found || isa<chunk::AdvanceOp>(maker))
      found = get(reshape);
  }
  return found;
}

void Planner::planElementwise(chunk::MapOp op) {
  SmallVector<Leaf> leaves = gatherLeaves({op.getResult(), Spread::None}, op);
  for (Leaf leaf : leaves)
    if (leftScans.contains(leaf.getPointer()))
      return planInScans(op, leaf.getPointer());
  if (planForEachStep(op, leaves))
    return;
  Elements elements = elementsOf(op.getResult(), op);
  Value result = findChanged(op, leaves);
  if (!result)
    result = findPlace(op);
  result ? set(op.getResult(), result) : void(result = makeResult(op.getResult()));
  map(elements.inputs, result, rowsOf(result), elements.build);
}

/// The pass that reads what the steps of a CTA's tokens have, and nothing else does: it goes over the rows of each step
/// by themselves, and no tile has them all.
chunk::MapOp Planner::findPassOfSteps(chunk::InterleaveOp op) {
  if (!machine.isCTA() || inTokenLoop || findWhole(op) || op->use_empty())
    return {};
  chunk::MapOp pass;
  for (Operation *user : op->getUsers()) {
    auto map = dyn_cast<chunk::MapOp>(user);
    if (!map || !chunk::isElementwise(map.getFunction()) || isPaired(map) || map->getBlock() != op->getBlock() ||
        chunk::tensorOf(map).getDimSize(0) != chunk::tensorOf(op).getDimSize(0))
      return {};
    auto own = dyn_cast<chunk::MapOp>(passes.of(map));
    if (!own || isPaired(own) || (pass && pass != own))
      return {};
    pass = own;
  }
  // The pass of a scan goes from row to row, and a mask says which row sees which.
  auto joinsRows = [&](Value value) {
    return findMask(value) || isa_and_nonnull<chunk::ScanOp, chunk::CumulativeDecayOp>(value.getDefiningOp());
  };
  llvm::SetVector<Operation *> maps;
  maps.insert(pass);
  for (size_t index = 0; index < maps.size(); ++index)
    for (Value operand : maps[index]->getOperands()) {
      auto rows = operand.getDefiningOp<chunk::InterleaveOp>();
      if (joinsRows(operand) || (rows && rows.getNumOperands() != op.getNumOperands()))
        return {};
      if (auto map = operand.getDefiningOp<chunk::MapOp>(); map && passes.of(map) == pass)
        maps.insert(map);
    }
  return pass;
}

bool Planner::planForEachStep(chunk::MapOp op, ArrayRef<Leaf> leaves) {
  auto findSteps = [&](Value value) {
    auto rows = value.getDefiningOp<chunk::InterleaveOp>();
    return rows && findPassOfSteps(rows) == op ? rows : chunk::InterleaveOp();
  };
  const auto *found = llvm::find_if(leaves, [&](Leaf leaf) { return findSteps(leaf.getPointer()); });
  if (found == leaves.end())
    return false;
  int64_t steps = findSteps(found->getPointer()).getNumOperands();
  Value result = makeResult(op.getResult());
  int64_t rows = tileOf(result).getSize(0);
  for (int64_t step = 0; step < steps; ++step) {
    Elements elements = elementsOf(op.getResult(), op, [&](Value leaf) {
      if (chunk::InterleaveOp all = findSteps(leaf))
        return getElements(all.getOperands()[step]);
      Value tile = getElements(leaf);
      return tileOf(tile).getSize(0) == rows ? slot(tile, step, steps) : tile;
    });
    Value to = slot(result, step, steps);
    map(elements.inputs, to, rowsOf(to), elements.build);
  }
  return true;
}

static Value multiplyBoth(Scalars &scalars, ValueRange x) { return scalars.mul(x[0], x[1]); }

/// The matrix and the vectors of a product of one matrix with all tokens' vectors.
static std::optional<std::pair<Value, Value>> matchProjection(chunk::MapOp op) {
  bool isMatvec = op.getFunction() == chunk::Function::Matvec, isVecmat = op.getFunction() == chunk::Function::Vecmat;
  if (!isMatvec && !isVecmat)
    return std::nullopt;
  Value matrix = op.getOperands()[isMatvec ? 0 : 1], vectors = op.getOperands()[isMatvec ? 1 : 0];
  if (chunk::tensorOf(matrix).getShape()[0] != 1 || chunk::tensorOf(vectors).getShape()[0] == 1)
    return std::nullopt;
  return std::pair(matrix, vectors);
}

bool Planner::isFactorOfData(chunk::ParamOp param) {
  return machine.isCTA() && isShort(param) && !param->use_empty() &&
         llvm::all_of(param->getUsers(), [&](Operation *user) {
           auto map = dyn_cast<chunk::MapOp>(user);
           auto factors = map ? matchProjection(map) : std::nullopt;
           return factors && factors->first == param && isShortInput(factors->second) &&
                  user->getBlock() == param->getBlock();
         });
}

bool Planner::planProjection(chunk::MapOp op) {
  auto factors = inTokenLoop ? std::nullopt : matchProjection(op);
  if (!factors)
    return false;
  auto [matrix, vectors] = *factors;
  bool isMatvec = op.getFunction() == chunk::Function::Matvec;
  auto param = matrix.getDefiningOp<chunk::ParamOp>();
  Value left = param && isFactorOfData(param) ? rounded(vectors) : get(vectors), right = dropTokens(get(matrix));
  if (isMatvec && !machine.isCTA()) { // the matrix units take both
    Value &known = shared.transposed[matrix];
    right = known ? known : known = transpose(right, constant(tileOf(right).getSize(0)));
  }
  Value result = make(op.getResult()), inner = constant(chunk::tensorOf(vectors).getShape()[1]);
  product(left, false, right, result, rowsOf(result), inner).setRightTransposed(isMatvec && machine.isCTA());
  return true;
}

/// Of a matrix whose elements are all added up the rows come first: their numbers lie side by side.
bool Planner::sumWhole(chunk::MapOp op, const Elements &elements) {
  auto total = op.getResult().hasOneUse() ? dyn_cast<chunk::MapOp>(*op->user_begin()) : chunk::MapOp();
  ArrayRef<int64_t> sizes = chunk::tensorOf(op.getOperands()[1]).getShape();
  auto isWhole = [&](const Input &input) {
    return tileOf(input.tile).getShape() == sizes && input.dims == Input(input.tile).dims;
  };
  if (!machine.isCTA() || inTokenLoop || !total || total.getFunction() != Function::Sum || sizes[0] != 1 ||
      total->getBlock() != op->getBlock() || !llvm::all_of(elements.inputs, isWhole))
    return false;
  SmallVector<Value> tiles;
  SmallVector<Attribute> dims;
  for (const Input &input : elements.inputs) {
    tiles.push_back(dropTokens(input.tile));
    dims.push_back(builder.getDenseI64ArrayAttr({0, 1}));
  }
  Value ofRows = alloc(sizes[1]);
  auto rows = ReduceOp::create(builder, loc, Reduction::Sum, tiles, ofRows, constant(sizes[1]), ArrayRef<int64_t>(1),
                               sizes.drop_front(), builder.getArrayAttr(dims));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&rows.getBody());
    for (size_t i = 0; i < tiles.size(); ++i)
      body->addArgument(builder.getF32Type(), loc);
    Scalars scalars{builder, loc};
    YieldOp::create(builder, loc, elements.build(scalars, body->getArguments()));
  }
  planned.insert(total);
  reduce(Reduction::Sum, {withTokens(ofRows)}, make(total.getResult()), {1}, {1, sizes[1]},
         [](Scalars &, ValueRange x) { return x[0]; });
  return true;
}

/// The elements of a matrix are computed as they are summed.
bool Planner::sumPass(chunk::MapOp op) {
  bool isMatvec = op.getFunction() == chunk::Function::Matvec;
  if (!isMatvec && op.getFunction() != chunk::Function::Vecmat)
    return false;
  Value matrix = op.getOperands()[isMatvec ? 0 : 1], factors = op.getOperands()[isMatvec ? 1 : 0];
  auto map = matrix.getDefiningOp<chunk::MapOp>();
  if (!map || passes.of(map) != op)
    return false;
  Elements elements = elementsOf(matrix, op);
  SmallVector<Input> inputs = elements.inputs;
  std::optional<double> one = chunk::constantNumber(factors); // of sums alone
  bool isSum = one && *one == 1;
  if (isSum && !isMatvec && sumWhole(op, elements))
    return true;
  int64_t summed = isMatvec ? 2 : 1;
  if (!isSum)
    inputs.push_back({get(factors), {0, summed}});
  ArrayRef<int64_t> sizes = chunk::tensorOf(matrix).getShape();
  Value result = make(op.getResult());
  reduce(Reduction::Sum, inputs, result, {summed}, sizes, [&](Scalars &scalars, ValueRange x) {
    Value element = elements.build(scalars, isSum ? x : x.drop_back());
    return isSum ? element : scalars.mul(element, x.back());
  });
  return true;
}

void Planner::plan(chunk::MapOp op) {
  if (chunk::isElementwise(op.getFunction())) {
    if (passes.of(op) == op && !isPaired(op) && !sumsOfStarts.contains(op) && !planned.contains(op))
      planElementwise(op);
    return;
  }
  if (planned.contains(op) || isSummedOuter(op) || planProjection(op) || passes.of(op) != op || sumPass(op))
    return;
  if (op.getFunction() == Function::Dot &&
      llvm::any_of(op.getOperands(), [&](Value value) { return findMask(value); })) {
    // Of a mask, which has no tile.
    SmallVector<Input> inputs;
    for (Value operand : op.getOperands())
      if (!findMask(operand))
        inputs.push_back(getElements(operand));
    Value result = make(op.getResult());
    return reduce(Reduction::Sum, inputs, result, {1}, chunk::tensorOf(op.getOperands()[0]).getShape(),
                  [&](Scalars &s, ValueRange x) {
                    Value product = x.empty() ? s.number(1) : x[0];
                    for (Value operand : op.getOperands())
                      if (chunk::InteractionOp mask = findMask(operand))
                        product = s.select(buildSees(s, mask), product, s.number(0));
                    return product;
                  });
  }
  SmallVector<Value> operands;
  bool isSum = op.getFunction() == Function::Dot || op.getFunction() == Function::Sum;
  for (Value operand : op.getOperands())
    operands.push_back(isSum ? getElements(operand) : get(operand));
  Value a = operands.front(), b = operands.back(), result = make(op.getResult()), rows = rowsOf(result);
  int64_t tokenRows = tileOf(result).getSize(0);
  // The loop nest of a reduction is as large as `like`, with the tokens of the result.
  auto nestLike = [&](Value like) {
    SmallVector<int64_t> sizes(tileOf(like).getShape());
    sizes[0] = tokenRows;
    return sizes;
  };
  auto allButRows = [](Numbers sizes) {
    SmallVector<int64_t> dims;
    for (size_t dim = 1; dim < sizes.size(); ++dim)
      dims.push_back(dim);
    return dims;
  };
  switch (op.getFunction()) {
  case Function::Outer:
  case Function::ScaleCols:
  case Function::ScaleRows: {
    SmallVector<Input> inputs{a, b};
    for (auto [index, input] : llvm::enumerate(inputs))
      if (Spread spread = spreadOf(op, index); spread != Spread::None)
        llvm::copy(dimsOf(spread, isTransposed(op)), input.dims.begin());
    return map(inputs, result, rows, multiplyBoth);
  }
  case Function::Matvec:
    return reduce(Reduction::Sum, {{a, {0, 1, 2}}, {b, {0, 2}}}, result, {2}, nestLike(a), multiplyBoth);
  case Function::Vecmat:
    return reduce(Reduction::Sum, {{a, {0, 1}}, {b, {0, 1, 2}}}, result, {1}, nestLike(b), multiplyBoth);
  case Function::Dot:
  case Function::Sum: {
    bool dot = op.getFunction() == Function::Dot;
    SmallVector<Input> inputs{a};
    if (dot)
      inputs.push_back(b);
    auto element = [&](Scalars &scalars, ValueRange x) { return dot ? scalars.mul(x[0], x[1]) : x[0]; };
    SmallVector<int64_t> sizes = nestLike(a);
    if (sizes.size() == 1)
      return map(inputs, result, rows, element);
    return reduce(Reduction::Sum, inputs, result, allButRows(sizes), sizes, element);
  }
  case Function::Softmax: {
    SmallVector<int64_t> sizes = nestLike(a);
    Value largest = alloc({tokenRows}), sum = alloc({tokenRows});
    auto itself = [](Scalars &, ValueRange x) { return x[0]; };
    reduce(Reduction::Max, {a}, largest, allButRows(sizes), sizes, itself);
    map({a, largest}, result, rows, [](Scalars &s, ValueRange x) { return s.exp(s.sub(x[0], x[1])); });
    reduce(Reduction::Sum, {result}, sum, allButRows(sizes), sizes, itself);
    return map({result, sum}, result, rows, [](Scalars &s, ValueRange x) { return s.div(x[0], x[1]); });
  }
  default:
    llvm_unreachable("a function of one token's values");
  }
}

Value Planner::findWhole(chunk::InterleaveOp op) const {
  return machine.isCTA() && !inTokenLoop ? chunk::findInterleaved(op) : Value();
}

Value Planner::flatten(Value tile) {
  TileType type = tileOf(tile);
  SmallVector<int64_t> shape{type.getSize(0) * type.getSize(1)}, strides{type.getStride(1)};
  llvm::append_range(shape, type.getShape().drop_front(2));
  llvm::append_range(strides, type.getStrides().drop_front(2));
  if (type.getStride(0) == type.getSize(1) * type.getStride(1))
    return view(tile, shape, strides, 0);
  // Rows of many numbers have banks between them, which steps side by side have not.
  Value result = alloc(shape, type.getElementType());
  copy(tile, view(result, type.getShape(), {type.getSize(1), 1}, 0), rowsOf(tile));
  return result;
}

bool Planner::isReadWhole(chunk::ExtractOp op) const {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto rows = dyn_cast<chunk::InterleaveOp>(user);
    return rows && findWhole(rows);
  });
}

void Planner::plan(chunk::ExtractOp op) {
  if (isReadWhole(op))
    return;
  Value from = get(op.getOperand());
  TileType type = tileOf(from);
  SmallVector<int64_t> shape{type.getSize(0)}, strides{type.getStride(0)};
  llvm::append_range(shape, type.getShape().drop_front(2));
  llvm::append_range(strides, type.getStrides().drop_front(2));
  Value part = view(from, shape, strides, op.getIndex() * type.getStride(1));
  if (shape.size() > 1)
    return set(op, part);
  Value result = make(op); // numbers side by side, for vectors
  copy(part, result, rowsOf(result));
}

/// Whether passes over the tokens' elements alone read the rows, of which a CTA's threads read any part as fast as the
/// whole.
bool Planner::isReadByPasses(Value rows) {
  return machine.isCTA() && !inTokenLoop && chunk::tensorOf(rows).getDimSize(0) > 1 &&
         llvm::all_of(rows.getUsers(), [&](Operation *user) {
           auto map = dyn_cast<chunk::MapOp>(user);
           return map && chunk::isElementwise(map.getFunction()) && !isPaired(map) &&
                  user->getBlock() == rows.getParentBlock();
         });
}

void Planner::plan(chunk::SliceOp op) {
  if (isLoadedHeld(op))
    return;
  Value rows = op.getOperand();
  bool isPart = op.getBegin() % 8 == 0 && rows.getParentBlock() == op->getBlock() && isReadByPasses(op); // for 16 bytes
  auto input = rows.getDefiningOp<chunk::InputOp>();
  Value from = isPart && input && isStoredAsFactor(input) ? getElements(rows) : get(rows);
  SmallVector<int64_t> shape(tileOf(from).getShape());
  shape[1] = op.getSize();
  Value part = view(from, shape, tileOf(from).getStrides(), op.getBegin() * tileOf(from).getStride(1));
  if (isPart)
    return set(op, part);
  Value result = make(op); // rows of their own begin where the processor likes them to
  copy(part, result, rowsOf(result));
}

/// Where an operand's rows lie in the tile of all.
Value Planner::placeIn(chunk::ConcatOp op, unsigned operand) {
  Value &whole = concatenated[op];
  if (!whole)
    whole = make(op);
  TileType type = tileOf(whole);
  SmallVector<int64_t> shape(type.getShape()), strides(type.getStrides()), places = op.getPlaces();
  if (chunk::tensorOf(op.getOperands()[operand]).getRank() < type.getRank()) {
    shape.erase(shape.begin() + 1);
    strides.erase(strides.begin() + 1);
  } else {
    shape[1] = places[operand + 1] - places[operand];
  }
  return view(whole, shape, strides, places[operand] * type.getStride(1));
}

/// The place of a pass's result in rows side by side, if nothing else takes it.
Value Planner::findPlace(chunk::MapOp op) {
  Value rows = op.getResult();
  auto concat = rows.hasOneUse() ? dyn_cast<chunk::ConcatOp>(*rows.user_begin()) : chunk::ConcatOp();
  if (!concat || !machine.isCTA() || inTokenLoop || concat->getBlock() != op->getBlock() ||
      chunk::tensorOf(rows).getDimSize(0) == 1)
    return {};
  placed.insert(op);
  return placeIn(concat, rows.use_begin()->getOperandNumber());
}

void Planner::plan(chunk::ConcatOp op) {
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    Value place = placeIn(op, unsigned(index));
    if (auto map = operand.getDefiningOp<chunk::MapOp>(); map && placed.contains(map))
      continue;
    copy(get(operand), place, rowsOf(concatenated[op]));
  }
}

bool Planner::isSpreadInPasses(chunk::BroadcastOp op) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return isa<chunk::MoebiusScanOp>(user) && user->getBlock() == op->getBlock();
  });
}

void Planner::plan(chunk::BroadcastOp op) {
  if (isSpreadInPasses(op))
    return;
  Value result = make(op);
  copy(get(op.getOperand()), result, rowsOf(result));
}

void Planner::plan(chunk::InterleaveOp op) {
  if (findWhole(op) || findPassOfSteps(op)) // views, made where they are read
    return;
  Value result = makeResult(op);
  for (auto [step, operand] : llvm::enumerate(op.getOperands())) {
    Value to = slot(result, step, op.getNumOperands());
    copy(getElements(operand), to, rowsOf(to));
  }
}

void Planner::plan(chunk::DeinterleaveOp op) {
  Value part = slot(get(op.getOperand()), op.getStep(), op.getSteps());
  if (tileOf(part).getRank() > 1)
    return set(op, part);
  Value result = make(op);
  copy(part, result, rowsOf(result));
}
