// States that go on from one another, over a chunk.
//
// With the writes u_i w_i^T and X_b the members before the chunk, member a at a token is
//
//     sum_b P_ab X_b + sum_i G_ai u_i w_i^T
//
// where the numbers P and G of a token are those of the token before times the token's matrix, plus, in G, the factors
// of the token's own writes. G is a mask of numbers made by a rule of its own; all else is as for a delta state: a row
// that reads the states sees interactions with the keys under that mask, and writes that read are a triangular system.
// Members that are vectors have the mask alone in place of such interactions.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

//===----------------------------------------------------------------------===//
// Small parts
//===----------------------------------------------------------------------===//

Value CoupledByNumbers::times(Value factor, Value value) {
  return factor && value ? program.mul(factor, value) : Value();
}

Value CoupledByNumbers::number(double value) {
  return arithmetic().stateConstant(value, makeTensor(program.getBuilder().getContext(), {}));
}

/// What the rows see of the columns, of which there are as many a token as the matrix of a row's sizes says.
Value CoupledByNumbers::interact(Value rows, Value columns, ArrayRef<int64_t> points, Value decay, bool linear) {
  auto steps = llvm::to_vector(llvm::seq<int64_t>(0, tensorOf(columns).getDimSize(0) / program.getChunk()));
  return InteractionOp::create(program.getBuilder(), program.getLoc(), rows, columns, points, steps, decay, linear);
}

Value CoupledStates::apply(Value matrix, Value columns) {
  return ApplyOp::create(program.getBuilder(), program.getLoc(), matrix, columns, DenseI64ArrayAttr(),
                         DenseI64ArrayAttr(), Value(), false);
}

/// The free parts of all writes, token by token, and the gains of what they read.
void CoupledStates::startWrites(ArrayRef<WrittenValue> writes, int64_t valueSize) {
  SmallVector<Value> right, rows;
  for (const WrittenValue &write : writes) {
    right.push_back(program.spread(write.free ? program.lift(write.free) : program.constant(0), valueSize));
    rows.push_back(program.spread(write.gain ? program.lift(write.gain) : program.constant(1), valueSize));
  }
  written = program.interleave(right);
  if (llvm::any_of(writes, [](const WrittenValue &write) { return bool(write.gain); }))
    gains = program.interleave(rows);
}

/// Takes off what is written what earlier writes of the chunk make of it; a null matrix says that they make nothing.
void CoupledStates::solveWrites(Value matrix) {
  OpBuilder &builder = program.getBuilder();
  if (matrix && gains)
    written = ScaledSolveOp::create(builder, program.getLoc(), matrix, written, gains, /*reverse=*/false);
  else if (matrix)
    written = SolveOp::create(builder, program.getLoc(), matrix, written, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                              Value(), false);
}

/// The member's factors of all writes, token by token; null if it is not written to.
Value CoupledByNumbers::writeFactors(unsigned member) {
  SmallVector<Value> factors;
  bool any = false;
  for (const CoupledValues::Write &write : values.writes) {
    Value factor = factorOf(write.factors[member]);
    any |= bool(factor);
    factors.push_back(factor ? factor : program.spread(program.constant(0), {}));
  }
  return any ? arithmetic().column(program.interleave(factors)) : Value();
}

//===----------------------------------------------------------------------===//
// What the members are made of
//===----------------------------------------------------------------------===//

// A member adds up its own decayed value, what it gets of members before it in the order, and its own writes:
//
//     x_n = a_n x_{n-1} + f_n + d_n,   so   x_{n-1} = sum over j < n of (a_{j+1} .. a_{n-1}) (f_j + d_j)
//
// which is an interaction of ones that look before their token's decay, applied to f, and one with the factors d.
void CoupledByNumbers::buildMember(unsigned member) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  unsigned count = values.states.size();
  const DecayValue &decay = values.decays[member];
  Value steps = program.liftRows(decay.steps), own = factorOf(values.matrix[member][member]);
  // What it gets of others: their values before the token, each with its factor; or one's value after the token.
  Value fed;
  SmallVector<Value, 2> fedPast(count);
  std::optional<unsigned> added = values.addedOnes[member];
  for (unsigned from = 0; from < count; ++from) {
    if (from == member || (added && from != *added))
      continue;
    Value factor = added ? program.constant(1) : factorOf(values.matrix[member][from]);
    const Parts &parts = added ? after[from] : before[from];
    fed = program.add(fed, times(factor, parts.writes));
    for (unsigned past = 0; past < count; ++past)
      fedPast[past] = program.add(fedPast[past], times(factor, parts.past[past]));
  }
  int64_t writes = values.writes.size();
  if (fed) {
    Value earlier = apply(interact(ones(), ones(), beforeDecay, steps, decay.linear), fed);
    before[member].writes = earlier;
    after[member].writes = program.add(times(own, earlier), fed);
  }
  if (Value factors = added ? Value() : writeFactors(member)) {
    auto add = [&](Parts &parts, int64_t point) {
      parts.writes = program.add(parts.writes, interact(ones(), factors, point, steps, decay.linear));
    };
    add(before[member], beforeDecay);
    add(after[member], writes);
  }
  for (unsigned past = 0; past < count; ++past) {
    if (past == member) {
      auto product = [&](DecayRange range) -> Value {
        return steps ? CumulativeDecayOp::create(builder, loc, range, steps, decay.linear).getResult()
                     : program.constant(1);
      };
      before[member].past[past] = product(DecayRange::Before);
      after[member].past[past] = product(DecayRange::Through);
      total[member][past] = product(DecayRange::Total);
    } else if (fedPast[past]) {
      auto scan = ScanOp::create(builder, loc, number(0), program.spread(fedPast[past], {}), steps, decay.linear);
      before[member].past[past] = PreviousOp::create(builder, loc, number(0), scan.getAll());
      after[member].past[past] = scan.getAll();
      total[member][past] = arithmetic().asToken(scan.getLast());
    }
  }
}

void CoupledByNumbers::buildInOrder() {
  for (unsigned member : values.order)
    buildMember(member);
}

// Members that go on from each other: the rows of all of them, token by token, are a triangular system. Its matrix has
// the factors of a token where a row meets the members one token before, which are what is left of the products with a
// decay of zero.
void CoupledByNumbers::buildTogether() {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  MLIRContext *context = builder.getContext();
  int64_t count = values.states.size(), chunk = program.getChunk();
  Value forgets = program.spread(program.constant(0), {});
  auto vectors = [&](ArrayRef<Value> numbers) {
    return ConcatOp::create(builder, loc, makeTokens(context, chunk, {int64_t(numbers.size())}), numbers).getResult();
  };
  Value zeros = program.spread(program.constant(0), {});
  SmallVector<Value> rows, units, writes, past;
  Value first = PreviousOp::create(builder, loc, number(1), zeros);
  for (int64_t member = 0; member < count; ++member) {
    SmallVector<Value> row, unit;
    for (int64_t from = 0; from < count; ++from) {
      Value factor = factorOf(values.matrix[member][from]);
      row.push_back(factor ? factor : zeros);
      unit.push_back(program.spread(program.constant(from == member), {}));
    }
    rows.push_back(vectors(row));
    units.push_back(vectors(unit));
    past.push_back(program.mul(first, rows.back()));
    Value factors = writeFactors(member);
    if (!factors)
      factors = arithmetic().column(program.interleave(SmallVector<Value>(values.writes.size(), zeros)));
    writes.push_back(interact(ones(), factors, int64_t(values.writes.size()), forgets, /*linear=*/true));
  }
  Value matrix =
      interact(program.interleave(rows), program.interleave(units), SmallVector<int64_t>(count, beforeDecay), forgets,
               /*linear=*/true);
  auto solve = [&](ArrayRef<Value> right) {
    return SolveOp::create(builder, loc, program.sub(Value(), matrix), program.interleave(right), DenseI64ArrayAttr(),
                           DenseI64ArrayAttr(), Value(), false)
        .getResult();
  };
  Value allWrites = solve(writes), allPast = solve(past);
  // The rows of one member: those of a token itself, and of the token before.
  auto pick = [&](int64_t member, int64_t point) {
    SmallVector<Value> unit;
    for (int64_t other = 0; other < count; ++other)
      unit.push_back(program.spread(program.constant(other == member), {}));
    return apply(interact(ones(), arithmetic().column(program.interleave(unit)), point, forgets, /*linear=*/true),
                 allWrites);
  };
  for (int64_t member = 0; member < count; ++member) {
    after[member].writes = pick(member, count);
    before[member].writes = pick(member, beforeDecay);
    Value own = DeinterleaveOp::create(builder, loc, allPast, member, count);
    for (int64_t from = 0; from < count; ++from) {
      Value factor = ExtractOp::create(builder, loc, own, from);
      after[member].past[from] = factor;
      before[member].past[from] = PreviousOp::create(builder, loc, number(from == member), factor);
      total[member][from] = arithmetic().asToken(LastOp::create(builder, loc, factor));
    }
  }
}

bool CoupledStates::keysAreRows() const {
  return orientation == Orientation::Left &&
         llvm::none_of(members, [&](dgps::StateOp member) { return program.isTransposed(program.indexOf(member)); });
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value CoupledByNumbers::scaledRead(Value factor, Value rows, unsigned member, bool crossed) {
  if (!factor)
    return {};
  if (values.vectors.test(member))
    return program.mul(factor, arithmetic().asToken(states[member]));
  return program.mul(
      factor, ReadOp::create(program.getBuilder(), program.getLoc(), rows, states[member], keysAreRows() != crossed));
}

/// What is left of the states before the chunk; null rows are those that read vectors.
Value CoupledByNumbers::readPast(const Parts &parts, Value rows, bool crossed) {
  Value result;
  for (unsigned member = 0; member < states.size(); ++member)
    if (values.vectors.test(member) == !rows)
      result = program.add(result, scaledRead(parts.past[member], rows, member, crossed));
  return result;
}

Value CoupledByNumbers::read(dgps::StateOp state, bool isAfter, Value rows, bool crossed) {
  const Parts &parts = (isAfter ? after : before)[llvm::find(values.states, state) - values.states.begin()];
  Value result = readPast(parts, rows, crossed);
  if (parts.writes) {
    Value dots = interact(rows, crossed ? written : keys, isAfter ? int64_t(values.writes.size()) : 0);
    result = program.add(result, apply(program.mul(dots, parts.writes), crossed ? keys : written));
  }
  if (!result)
    result = program.spread(program.constant(0), crossed ? values.keySize : values.valueSize);
  return result;
}

//===----------------------------------------------------------------------===//
// Writes, and the states after the chunk
//===----------------------------------------------------------------------===//

void CoupledByNumbers::build() {
  unsigned count = values.states.size();
  for (dgps::StateOp state : values.states)
    states.push_back(program.stateOf(program.indexOf(state)));
  Parts nothing{{}, SmallVector<Value, 2>(count)};
  before.assign(count, nothing);
  after.assign(count, nothing);
  total.assign(count, nothing.past);
  if (!values.writes.empty()) {
    SmallVector<Value> rows;
    for (const CoupledValues::Write &write : values.writes)
      rows.push_back(write.write ? program.liftRows(write.write) : program.spread(program.constant(0), values.keySize));
    keys = program.interleave(rows);
  }
  if (values.order.empty())
    buildTogether();
  else
    buildInOrder();
  if (!values.writes.empty())
    buildWrites();
  for (unsigned member = 0; member < count; ++member)
    if (values.vectors.test(member))
      finishVector(member);
    else
      buildAdvance(member);
}

/// What one write's read erases; nothing where the read is null.
CoupledByNumbers::Erased CoupledByNumbers::eraseWith(const CoupledValues::Read *read) {
  unsigned count = states.size();
  Erased result{{}, SmallVector<Value, 2>(count)};
  for (unsigned member = 0; read && member < count; ++member) {
    Value erase = factorOf(read->factors[member]);
    result.mask = program.add(result.mask, times(erase, before[member].writes));
    for (unsigned from = 0; from < count; ++from)
      result.past[from] = program.add(result.past[from], times(erase, before[member].past[from]));
  }
  return result;
}

/// One read of each write, or null: all with keys, or all of vectors.
void CoupledByNumbers::eraseSlot(ArrayRef<const CoupledValues::Read *> reads, Value &matrix) {
  auto isThere = [](const CoupledValues::Read *read) { return read != nullptr; };
  const CoupledValues::Read *const *first = llvm::find_if(reads, isThere);
  if (first == reads.end())
    return;
  bool isOfVectors = !(*first)->key;
  SmallVector<Value> rows, masks;
  SmallVector<SmallVector<Value>, 2> past(states.size());
  Value noFactor = program.spread(program.constant(0), {});
  for (const CoupledValues::Read *read : reads) {
    // A write that reads nothing here has a row of zeros.
    rows.push_back(read && read->key ? program.liftRows(read->key)
                                     : program.spread(program.constant(0), values.keySize));
    Erased erased = eraseWith(read);
    masks.push_back(erased.mask);
    for (auto [member, list] : llvm::enumerate(past)) {
      Value factor = values.vectors.test(member) == isOfVectors ? erased.past[member] : Value();
      list.push_back(factor ? program.spread(factor, {}) : noFactor);
    }
  }
  Value keyRows = isOfVectors ? Value() : program.interleave(rows);
  auto isMask = [](Value mask) { return bool(mask); };
  if (llvm::any_of(masks, isMask)) {
    Value some = *llvm::find_if(masks, isMask);
    for (Value &mask : masks)
      if (!mask) // with keys, rows of zeros are multiplied by it
        mask = isOfVectors ? program.mul(noFactor, some) : some;
    Value all = program.interleave(masks);
    if (keyRows)
      all = program.mul(interact(keyRows, keys, SmallVector<int64_t>(values.writes.size(), 0)), all);
    matrix = program.add(matrix, all);
  }
  for (unsigned from = 0; from < states.size(); ++from)
    if (llvm::any_of(past[from], [&](Value factor) { return factor != noFactor; }))
      written = program.sub(
          written, program.mul(gains, scaledRead(program.interleave(past[from]), keyRows, from, /*crossed=*/false)));
}

void CoupledByNumbers::buildWrites() {
  size_t slots = 0;
  SmallVector<SmallVector<const CoupledValues::Read *, 2>> withKeys;
  SmallVector<const CoupledValues::Read *> ofVectors;
  for (const CoupledValues::Write &write : values.writes) {
    SmallVector<const CoupledValues::Read *, 2> &own = withKeys.emplace_back();
    ofVectors.push_back(nullptr);
    for (const CoupledValues::Read &read : write.reads)
      if (read.key)
        own.push_back(&read);
      else
        ofVectors.back() = &read;
    slots = std::max(slots, own.size());
  }
  SmallVector<WrittenValue, 1> rows;
  for (const CoupledValues::Write &write : values.writes)
    rows.push_back(write);
  startWrites(rows, values.valueSize);
  Value matrix;
  for (size_t slot = 0; slot < slots; ++slot) {
    SmallVector<const CoupledValues::Read *> reads;
    for (ArrayRef<const CoupledValues::Read *> own : withKeys)
      reads.push_back(slot < own.size() ? own[slot] : nullptr);
    eraseSlot(reads, matrix);
  }
  eraseSlot(ofVectors, matrix);
  solveWrites(matrix);
}

/// A vector's values of all tokens, and what it is after the last.
void CoupledByNumbers::finishVector(unsigned member) {
  OpBuilder &builder = program.getBuilder();
  dgps::StateOp state = values.states[member];
  auto tokensOf = [&](const Parts &parts) {
    Value result = readPast(parts, Value(), /*crossed=*/false);
    if (parts.writes)
      result = program.add(result, apply(parts.writes, written));
    return program.spread(result ? result : program.constant(0), values.valueSize);
  };
  unsigned index = program.indexOf(state);
  Value last = tokensOf(after[member]);
  program.setLifted(state.getResult(), tokensOf(before[member]));
  program.setAfter(index, last);
  program.setNext(index, LastOp::create(builder, program.getLoc(), last));
}

void CoupledByNumbers::buildAdvance(unsigned member) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value decay = total[member][member] ? total[member][member] : program.constant(0), result;
  Value factors = after[member].writes ? LastOp::create(builder, loc, after[member].writes).getResult() : Value();
  Value rows = factors ? program.mul(factors, written) : program.spread(program.constant(0), values.valueSize);
  Value columns = factors ? keys : program.spread(program.constant(0), values.keySize);
  if (keysAreRows())
    result = AdvanceOp::create(builder, loc, states[member], columns, rows, Value(), decay);
  else
    result = AdvanceOp::create(builder, loc, states[member], rows, columns, decay, Value());
  ValueBuilder sums = arithmetic();
  for (unsigned from = 0; from < states.size(); ++from)
    if (Value factor = total[member][from]; factor && from != member && !values.vectors.test(from))
      result = sums.asState(sums.add(sums.asToken(result), sums.mul(factor, sums.asToken(states[from]))));
  program.setNext(program.indexOf(values.states[member]), result);
}
