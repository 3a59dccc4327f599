// Cumulative decays and interactions.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// Tokens of one block of a per-channel decay: pairs within a block have their own factors, pairs apart meet at the
/// block's start.
constexpr int64_t blockTokens = 16;

/// The decay of each token as a factor.
Value Planner::factors(Value decay, bool linear) {
  Value steps = get(decay);
  if (linear)
    return steps;
  Value &known = shared.factors[decay];
  if (known)
    return known;
  Value result = alloc(tileOf(steps).getShape());
  map({steps}, result, rowsOf(result), [](Scalars &s, ValueRange x) { return s.exp(x[0]); });
  return known = result;
}

/// What is rounded takes these from the sums that decays between tokens are differences of.
bool Planner::planOfLogarithms(chunk::CumulativeDecayOp op) {
  bool isSum = op.getRange() == chunk::DecayRange::Through || op.getRange() == chunk::DecayRange::Total;
  auto takesSums = [&](Operation *user) {
    auto interaction = dyn_cast<chunk::InteractionOp>(user);
    return interaction && interaction.getDecay() == op.getDecay() && takesDifferences(interaction);
  };
  if (!isSum || op.getLinear() || chunk::tensorOf(op.getDecay()).getRank() != 1 ||
      llvm::none_of(op.getDecay().getUsers(), takesSums))
    return false;
  Value sums = logarithms(op.getDecay(), false), result = make(op);
  if (op.getRange() == chunk::DecayRange::Total)
    sums = shared.logarithmsTotal.lookup(op.getDecay());
  map({sums}, result, rowsOf(result), [](Scalars &s, ValueRange x) { return s.exp2(x[0]); });
  return true;
}

/// The scan up to each token ends with the sum of all, for who reads that behind the scan's first reader.
void Planner::leaveTotal(chunk::CumulativeDecayOp op) {
  LeftScan &left = leftScans.find(op.getResult())->second;
  auto isBehindReader = [&](Operation *user) {
    Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
    return own && llvm::any_of(left.readers, [&](Operation *reader) { return reader->isBeforeInBlock(own); });
  };
  for (Operation *user : op.getDecay().getUsers()) {
    auto total = dyn_cast<chunk::CumulativeDecayOp>(user);
    if (!total || total.getRange() != chunk::DecayRange::Total || total.getLinear() != op.getLinear() ||
        total->getBlock() != op->getBlock() || !llvm::all_of(total->getUsers(), isBehindReader) ||
        tiles.contains(total) || !planned.insert(total).second)
      continue;
    left.total = make(total);
    left.last = dropTokens(left.total);
    return;
  }
}

/// The product over all tokens, where the products up to each token are there: the last one.
Value Planner::findTotal(chunk::CumulativeDecayOp op) {
  if (op.getRange() != chunk::DecayRange::Total || machine.isCTA() || inTokenLoop || program.getChunk() == 1 ||
      chunk::tensorOf(op.getDecay()).getRank() > 1)
    return {};
  for (Operation *user : op.getDecay().getUsers())
    if (auto other = dyn_cast<chunk::CumulativeDecayOp>(user);
        other && other.getRange() == chunk::DecayRange::Through && other.getLinear() == op.getLinear() &&
        other->getBlock() == op->getBlock() && tiles.contains(other))
      return view(tiles[other], {1}, {1}, 0, arith::SubIOp::create(builder, loc, tokens, constant(1)));
  return {};
}

void Planner::plan(chunk::CumulativeDecayOp op) {
  if (planned.contains(op))
    return;
  if (Value total = findTotal(op))
    return set(op, total);
  Value steps = machine.isCTA() ? getFactorElements(op.getDecay()) : get(op.getDecay());
  bool linear = op.getLinear(), total = op.getRange() == chunk::DecayRange::Total;
  bool flat = tileOf(steps).getRank() == 1, isReverse = op.getRange() == chunk::DecayRange::After;
  bool exclusive = op.getRange() == chunk::DecayRange::Before || op.getRange() == chunk::DecayRange::After;
  if (program.getChunk() == 1) { // there is nothing that runs
    Value result = make(op);
    if (exclusive)
      return fill(result, 1, rowsOf(result));
    return map({steps}, result, rowsOf(result), [=](Scalars &s, ValueRange x) { return linear ? x[0] : s.exp(x[0]); });
  }
  if (planOfLogarithms(op))
    return;
  double start = linear ? 1 : 0;
  auto body = [=](Scalars &s, ValueRange x) {
    Value next = linear ? s.mul(x[1], x[0]) : s.add(x[1], x[0]);
    Value running = exclusive && !total ? x[1] : next;
    return std::pair(next, linear || flat || total ? running : s.exp(running));
  };
  LeftScan left{{steps}, {}, start, isReverse, body};
  // The matrix units sum up logarithms of channels.
  left.isCheap = machine.isCTA() && !linear && !flat && !program.getExact() &&
                 tileOf(steps).getElementType().isBF16() && tileOf(steps).getSize(0) % blockTokens == 0 &&
                 tileOf(steps).getSize(1) % blockTokens == 0;
  bool mayLeaveTotal = left.isCheap && op.getRange() == chunk::DecayRange::Through;
  if (!flat && !total && leaveToReader(op, std::move(left))) {
    if (mayLeaveTotal)
      leaveTotal(op);
    return;
  }
  Value result = make(op);
  scan({steps}, {}, total ? Value() : result, total ? dropTokens(result) : Value(), rowsOf(steps), start, isReverse,
       body);
  if (!linear && (flat || total)) // vectors of tokens, where the scan goes number by number
    map({result}, result, rowsOf(result), [](Scalars &s, ValueRange x) { return s.exp(x[0]); });
}

/// The product of the factors from the start of a token's block to the token, with it or without.
Value Planner::blockDecay(Value factors, bool before) {
  Value &known = (before ? shared.decayBefore : shared.decayThrough)[factors];
  if (known)
    return known;
  Value result = alloc(tileOf(factors).getShape());
  scan({factors}, {}, result, {}, rowsOf(factors), 1, false, [&](Scalars &s, ValueRange x) {
    Value place = arith::AndIOp::create(s.builder, s.loc, s.index(0), s.integer(blockTokens - 1));
    Value base = s.select(s.equal(place, s.integer(0)), s.number(1), x[1]);
    Value next = s.mul(base, x[0]);
    return std::pair(next, before ? base : next);
  });
  return known = result;
}

/// The factors so far, or none where a token is the last of its block.
static Value restOfBlock(Scalars &s, Value running) {
  Value place = arith::AndIOp::create(s.builder, s.loc, s.index(0), s.integer(blockTokens - 1));
  return s.select(s.equal(place, s.integer(blockTokens - 1)), s.number(1), running);
}

/// The product of the factors after a token to the end of its block.
Value Planner::blockRest(Value factors) {
  Value &known = shared.decayRest[factors];
  if (known)
    return known;
  Value result = alloc(tileOf(factors).getShape());
  scan({factors}, {}, result, {}, rowsOf(factors), 1, true, [&](Scalars &s, ValueRange x) {
    Value base = restOfBlock(s, x[1]);
    return std::pair(s.mul(base, x[0]), base);
  });
  return known = result;
}

/// The writes times the factors after them to the end of their block: in one pass where no other interaction has these
/// factors.
void Planner::scaleToBlockEnd(chunk::InteractionOp op, Value columns, Value factors, Value result) {
  int64_t writesPerToken = op.getSteps().size();
  auto others =
      llvm::count_if(op.getDecay().getUsers(), [](Operation *user) { return isa<chunk::InteractionOp>(user); });
  if (!machine.isCTA() && writesPerToken == 1 && others == 1)
    return scan({factors, columns}, {}, result, {}, rowsOf(factors), 1, true, [&](Scalars &s, ValueRange x) {
      Value base = restOfBlock(s, x[2]);
      return std::pair(s.mul(base, x[0]), s.mul(base, x[1]));
    });
  for (int64_t j = 0; j < writesPerToken; ++j) {
    Value to = slot(result, j, writesPerToken);
    map({slot(columns, j, writesPerToken), blockRest(factors)}, to, rowsOf(to),
        [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  }
}

/// How many of the writes of its own token each row sees, if these are always the first ones.
static std::optional<SmallVector<int64_t>> countOwnSeen(chunk::InteractionOp op) {
  SmallVector<int64_t> counts;
  for (int64_t point : op.getPoints()) {
    auto sees = [&](int64_t step) { return chunk::seesWrite(point, step); };
    auto count = int64_t(llvm::count_if(op.getSteps(), sees));
    if (!llvm::all_of(op.getSteps().take_front(size_t(count)), sees))
      return std::nullopt;
    counts.push_back(count);
  }
  return counts;
}

/// Rounded numbers have no use for a decay that is exact to f32: its logarithm is then a difference of two sums. Steps
/// beyond what f32 can hold are as good as minus infinity.
bool Planner::takesDifferences(chunk::InteractionOp op) {
  return machine.isCTA() && factorType && !program.getExact() && op.getDecay() && !op.getLinear() &&
         chunk::tensorOf(op.getDecay()).getRank() == 1 && countOwnSeen(op);
}

/// The sum of the logarithms, to the base of two, from the chunk's start through the token, or before it.
Value Planner::logarithms(Value decay, bool before) {
  constexpr double nothing = -100; // exp of it is below the least f32 that counts
  constexpr double log2OfE = 1.4426950408889634;
  Value &known = (before ? shared.logarithmsBefore : shared.logarithms)[decay];
  if (known)
    return known;
  Value steps = get(decay), result = alloc(tileOf(steps).getShape()), total;
  auto takesTotal = [](Operation *user) {
    auto cumulative = dyn_cast<chunk::CumulativeDecayOp>(user);
    return cumulative && cumulative.getRange() == chunk::DecayRange::Total;
  };
  if (!before && llvm::any_of(decay.getUsers(), takesTotal))
    total = shared.logarithmsTotal[decay] = alloc({1});
  scan({steps}, {}, result, total, rowsOf(steps), 0, false, [&](Scalars &s, ValueRange x) {
    Value next = s.add(x[1], s.mul(s.max(x[0], s.number(nothing)), s.number(log2OfE)));
    return std::pair(next, before ? x[1] : next);
  });
  return known = result;
}

/// Numbers of the tokens for each of a token's rows.
Value Planner::repeat(ArrayRef<Value> ofRows) {
  if (ofRows.size() == 1)
    return ofRows[0];
  int64_t count = int64_t(ofRows.size());
  Value result = alloc({tileOf(ofRows[0]).getSize(0) * count});
  for (auto [place, numbers] : llvm::enumerate(ofRows)) {
    Value to = slot(result, int64_t(place), count);
    copy(numbers, to, rowsOf(numbers));
  }
  return result;
}

/// Whether the row of the nest sees the column's write: it sees the columns below a number of its own.
Value Planner::buildSees(Scalars &s, chunk::InteractionOp op) {
  int64_t rowsPerToken = op.getPoints().size(), writesPerToken = op.getSteps().size();
  SmallVector<int64_t> own = *countOwnSeen(op);
  Value row = s.index(0), token = row, place;
  if (rowsPerToken > 1) {
    token = arith::DivUIOp::create(s.builder, s.loc, row, s.integer(rowsPerToken));
    place = arith::RemUIOp::create(s.builder, s.loc, row, s.integer(rowsPerToken));
  }
  Value end = s.add32(s.multiply32(token, writesPerToken), own[0]);
  for (int64_t i = 1; i < rowsPerToken; ++i)
    end = s.select(s.equal(place, s.integer(i)), s.add32(s.multiply32(token, writesPerToken), own[size_t(i)]), end);
  return s.below(s.index(1), end);
}

bool Planner::isOfOnes(chunk::InteractionOp op) {
  auto areOnes = [](Value value) {
    return chunk::constantNumber(value) == 1.0 && chunk::tensorOf(value).getDimSize(1) == 1;
  };
  return areOnes(op.getRows()) && areOnes(op.getColumns()) && countOwnSeen(op);
}

chunk::InteractionOp Planner::findMask(Value value) const {
  auto op = value.getDefiningOp<chunk::InteractionOp>();
  if (!machine.isCTA() || inTokenLoop || !op || op.getDecay() || !isOfOnes(op))
    return {};
  auto takesElements = [&](Operation *user) {
    auto map = dyn_cast<chunk::MapOp>(user);
    return map && (chunk::isElementwise(map.getFunction()) || map.getFunction() == chunk::Function::Dot) &&
           llvm::all_of(map.getOperands(), [&](Value other) { return other.getType() == value.getType(); });
  };
  return llvm::all_of(op->getUsers(), takesElements) ? op : chunk::InteractionOp();
}

/// All rows and writes of a token in one pass. Without dots these are ones.
void Planner::maskDifferences(Value dots, Value result, chunk::InteractionOp op) {
  int64_t writesPerToken = op.getSteps().size();
  SmallVector<Value> ofRows, ofWrites(size_t(writesPerToken), logarithms(op.getDecay(), false));
  for (int64_t point : op.getPoints())
    ofRows.push_back(logarithms(op.getDecay(), point == chunk::beforeDecay));
  Value rows = repeat(ofRows), columns = repeat(ofWrites);
  SmallVector<Input> inputs;
  if (dots)
    inputs.push_back(dots);
  inputs.push_back({rows, {0}});
  inputs.push_back({columns, {1}});
  map(inputs, result, rowsOf(result), [&](Scalars &s, ValueRange x) {
    ValueRange sums = x.take_back(2);
    Value sees = buildSees(s, op), decay = s.exp2(s.sub(sums[0], sums[1]));
    return s.select(sees, dots ? s.mul(x[0], decay) : decay, s.number(0));
  });
}

/// Multiplies each element by the decay between its write and its row, and puts 0 where the row does not see the write.
/// The decay is a running product down the rows: one more factor for each write that has been seen before.
void Planner::maskScalar(Value result, chunk::InteractionOp op, Value made, Value factors) {
  int64_t rowsPerToken = op.getPoints().size(), writesPerToken = op.getSteps().size();
  for (int64_t j = 0; j < rowsPerToken; ++j) {
    int64_t point = op.getPoints()[j];
    Value rows = slot(result, j, rowsPerToken);
    auto visibility = [=](Scalars &s) mutable { // earlier tokens, and what is seen
      Value column = s.index(1), token = column;
      if (writesPerToken > 1)
        token = arith::DivUIOp::create(s.builder, s.loc, column, s.integer(writesPerToken));
      Value earlier = s.below(token, s.index(0)), seen = earlier;
      for (auto [place, step] : llvm::enumerate(op.getSteps())) {
        if (!chunk::seesWrite(point, step))
          continue;
        Value own = s.add32(s.multiply32(s.index(0), writesPerToken), place);
        seen = s.either(seen, s.equal(column, own));
      }
      return std::pair(earlier, seen);
    };
    bool mayBeLeft = !machine.isCTA() && rowsPerToken == 1 && !isDecayedPairs(op);
    if (!factors) {
      auto mask = [=](Scalars &s, Value dots) mutable { return s.select(visibility(s).second, dots, s.number(0)); };
      // Nothing goes from row to row, but the reader makes the pass.
      auto body = [=](Scalars &s, ValueRange x) mutable { return std::pair(x[1], mask(s, x[0])); };
      if (!mayBeLeft || !leaveToReader(made, {{rows}, rows, 0, false, body}))
        map({rows}, rows, rowsOf(rows), [&](Scalars &s, ValueRange x) { return mask(s, x[0]); });
      continue;
    }
    auto body = [=](Scalars &s, ValueRange x) mutable {
      auto [earlier, seen] = visibility(s);
      Value next = s.select(earlier, s.mul(x[2], x[1]), s.number(1));
      Value factor = point == chunk::beforeDecay ? x[2] : next;
      return std::pair(next, s.select(seen, s.mul(x[0], factor), s.number(0)));
    };
    if (!mayBeLeft || !leaveToReader(made, {{rows, factors}, rows, 1, false, body}))
      scan({rows, factors}, {}, rows, {}, rowsOf(rows), 1, false, body);
  }
}

/// Interactions of later ops with the same writes under the same decays, whose rows are there already.
SmallVector<chunk::InteractionOp> Planner::findDotsTogether(chunk::InteractionOp op) const {
  auto isThere = [&](Value rows) {
    Operation *maker = rows.getDefiningOp();
    return isa<chunk::InputOp, chunk::TakeOp>(maker) ||
           (maker->getBlock() == op->getBlock() && maker->isBeforeInBlock(op));
  };
  SmallVector<chunk::InteractionOp> found;
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (auto other = dyn_cast<chunk::InteractionOp>(next);
        other && other.getColumns() == op.getColumns() && other.getDecay() == op.getDecay() &&
        other.getLinear() == op.getLinear() && other.getSteps() == op.getSteps() &&
        other.getPoints().size() == op.getPoints().size() && isThere(other.getRows()))
      found.push_back(other);
  return found;
}

/// A decay for each channel of numbers that are rounded: the matrix units take all dots, and the decays as they come.
bool Planner::planRoundedChannels(chunk::InteractionOp op) {
  int64_t chunk = chunk::tensorOf(op.getDecay()).getShape()[0], channels = chunk::tensorOf(op.getDecay()).getShape()[1];
  if (!machine.isCTA() || !factorType || program.getExact() || channels % blockTokens != 0 ||
      chunk % blockTokens != 0 || !llvm::isPowerOf2_64(uint64_t(chunk)))
    return false;
  SmallVector<chunk::InteractionOp> all{op};
  if (machine.dotsTogether && !op.getLinear())
    llvm::append_range(all, findDotsTogether(op));
  Value columns = getFactorElements(op.getColumns()), steps = getFactorElements(op.getDecay()), count;
  SmallVector<std::pair<Value, Value>> rowsAndDots;
  for (chunk::InteractionOp one : all) {
    planned.insert(one);
    Value rows = getFactorElements(one.getRows()), result = make(one);
    if (!count)
      count = rowsOf(result);
    fill(result, 0, count);
    rowsAndDots.push_back({rows, result});
  }
  int64_t workRows =
      ScaledDotsOp::countWorkRows(chunk, chunk, int64_t(op.getPoints().size()), int64_t(op.getSteps().size()),
                                  /*areLogarithms=*/!op.getLinear());
  Value work = workRows ? alloc({workRows, channels}, factorType) : Value();
  for (auto [one, tiles] : llvm::zip(all, rowsAndDots))
    ScaledDotsOp::create(builder, loc, tiles.first, columns, steps, tiles.second, work, count, chunk, /*rounded=*/true,
                         /*logarithms=*/!op.getLinear(), one.getPoints(), one.getSteps());
  return true;
}

/// A decay for each channel. Between blocks: rows are scaled from their block's start, writes to it, both by products
/// of factors of single tokens, and met by a matrix product. Within a block: pair by pair.
void Planner::planChannels(chunk::InteractionOp op, Value factors) {
  // Data of bf16 stay so, and between blocks what is made of them is rounded to it again.
  bool isRounded = machine.isCTA() && factorType && !program.getExact();
  Value rows = isRounded ? getFactorElements(op.getRows()) : get(op.getRows()),
        columns = isRounded ? getFactorElements(op.getColumns()) : get(op.getColumns()), result = make(op);
  int64_t rowsPerToken = op.getPoints().size(), writesPerToken = op.getSteps().size(),
          chunk = tileOf(factors).getSize(0);
  int64_t channels = tileOf(rows).getSize(1);
  fill(result, 0, rowsOf(result));
  ScaledDotsOp::create(builder, loc, rows, columns, factors, result, Value(), rowsOf(result), blockTokens,
                       /*rounded=*/false, /*logarithms=*/false, op.getPoints(), op.getSteps());
  if (chunk <= blockTokens)
    return;
  Type element = isRounded ? factorType : Type();
  bool arePassed = chunk > 2 * blockTokens; // writes, by whole blocks
  Value scaledRows = alloc(tileOf(rows).getShape(), element),
        scaledColumns = alloc(tileOf(columns).getShape(), arePassed ? Type() : element);
  for (auto [j, point] : llvm::enumerate(op.getPoints())) {
    Value to = slot(scaledRows, j, rowsPerToken);
    map({slot(rows, j, rowsPerToken), blockDecay(factors, point == chunk::beforeDecay)}, to, rowsOf(to),
        [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  }
  scaleToBlockEnd(op, columns, factors, scaledColumns);
  // The writes become columns, but for the matrix units of a CTA, which take them as they lie.
  Value writes = machine.isCTA() ? scaledColumns : transpose(scaledColumns, rowsOf(columns)), factor = writes;
  if (isRounded && arePassed)
    factor = alloc(tileOf(columns).getShape(), element);
  Value through = blockDecay(factors, false), rowCount = rowsOf(result);
  auto partOf = [&](Value tile, int64_t count) {
    return machine.isCTA() ? block(tile, 0, count, channels) : block(tile, 0, channels, count);
  };
  for (int64_t first = blockTokens; first < chunk; first += blockTokens) {
    int64_t count = std::min(blockTokens, chunk - first) * rowsPerToken, seen = first * writesPerToken;
    if (int64_t passed = seen - blockTokens * writesPerToken) { // these writes pass one more whole block
      Value part = partOf(writes, passed);
      Value whole = view(through, {channels}, {1}, (first - 1) * tileOf(through).getStride(0));
      map({part, {whole, {machine.isCTA() ? 1 : 0}}}, part, constant(tileOf(part).getSize(0)),
          [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
    }
    if (factor != writes)
      copy(partOf(writes, seen), partOf(factor, seen), constant(seen));
    Value left = arith::SubIOp::create(builder, loc, rowCount, constant(first * rowsPerToken));
    left = arith::MaxSIOp::create(builder, loc, left, constant(0));
    left = arith::MinSIOp::create(builder, loc, left, constant(count));
    product(block(scaledRows, first * rowsPerToken, count, channels), false, partOf(factor, seen),
            block(result, first * rowsPerToken, count, seen), left, constant(channels))
        .setRightTransposed(machine.isCTA());
  }
}

chunk::MapOp Planner::findSumOfDots(chunk::InteractionOp op) {
  auto isAlone = [&](chunk::InteractionOp one) {
    bool isOfChannels = one.getDecay() && chunk::tensorOf(one.getDecay()).getRank() > 1;
    return !isOfChannels && one->hasOneUse() && !isDecayedPairs(one);
  };
  auto sum = op->hasOneUse() ? dyn_cast<chunk::MapOp>(*op->user_begin()) : chunk::MapOp();
  if (machine.isCTA() || inTokenLoop || !sum || sum.getFunction() != chunk::Function::Add ||
      sum->getBlock() != op->getBlock() || !isAlone(op))
    return {};
  for (Value term : sum.getOperands()) {
    auto other = term.getDefiningOp<chunk::InteractionOp>();
    if (!other || !isAlone(other) || other->getBlock() != op->getBlock() || other.getPoints() != op.getPoints() ||
        other.getSteps() != op.getSteps() || other.getDecay() != op.getDecay() || other.getLinear() != op.getLinear() ||
        other.getType() != op.getType())
      return {};
  }
  return passes.assign(sum, sum) ? sum : chunk::MapOp();
}

void Planner::plan(chunk::InteractionOp op) {
  if (planned.contains(op))
    return;
  chunk::MapOp sum = findSumOfDots(op);
  Value made = sum ? sum.getResult() : op.getResult();
  bool isSecond = sum && tiles.contains(made);
  bool isOneToken = program.getChunk() == 1; // no decay lies between its writes and rows that see them
  bool differences = takesDifferences(op) && !isOneToken;
  bool isOfChannels = op.getDecay() && chunk::tensorOf(op.getDecay()).getRank() > 1;
  if (isOfChannels && !isOneToken && planRoundedChannels(op))
    return;
  if (findMask(op))
    return; // made element by element where it is taken
  if (machine.isCTA() && !inTokenLoop && isOfOnes(op) && (differences || !op.getDecay())) {
    Value result = isFactorOnly(op) ? makeRounded(op) : make(op);
    if (differences)
      return maskDifferences({}, result, op);
    return map({}, result, rowsOf(result),
               [&](Scalars &s, ValueRange) { return s.select(buildSees(s, op), s.number(1), s.number(0)); });
  }
  Value steps = op.getDecay() && !differences && !isOneToken ? factors(op.getDecay(), op.getLinear()) : Value();
  std::pair<int64_t, int64_t> triangle(op.getPoints().size(), op.getSteps().size());
  if (steps && tileOf(steps).getRank() > 1)
    return planChannels(op, steps);
  int64_t inner = chunk::tensorOf(op.getRows()).getShape()[1];
  Value result = isSecond                          ? get(made)
                 : differences && isFactorOnly(op) ? alloc(chunk::tensorOf(op).getShape())
                                                   : make(made);
  bool pairs = takesPairs(op);
  bool areHalves = staysHalf(op.getRows()) && staysHalf(op.getColumns());
  auto factor = [&](Value value) { return areHalves ? half(value) : pairs ? rounded(value) : get(value); };
  Value rows = factor(op.getRows());
  Value columns = machine.isCTA() ? factor(op.getColumns())
                  : pairs         ? pairedColumns(op.getColumns())
                                  : transposedColumns(op.getColumns());
  ProductOp dots = product(rows, false, columns, result, rowsOf(result), constant(inner));
  dots.setRightTransposed(machine.isCTA()); // the matrix units take both
  dots.setTf32(roundsInProduct(op));
  dots.setResultTriangle(ArrayRef<int64_t>{triangle.first, triangle.second});
  if (isSecond)
    dots.getPlusMutable().assign(result);
  if (sum)
    sumsOfStarts.insert(sum);
  if (sum && !isSecond)
    return; // masked when both are there
  if (differences)
    maskDifferences(result, isFactorOnly(op) ? makeRounded(op) : result, op);
  else
    maskScalar(result, op, made, steps);
}
