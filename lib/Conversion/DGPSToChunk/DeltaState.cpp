// A delta state over a chunk.
//
// With the writes u_n w_n^T that read the state (the solved stream), those that do not (the free stream), and S the
// state before the chunk, a row x that looks at the state at its point sees
//
//     X x = (S decayed) x + sum over the writes it sees of u_n <w_n decayed, x>
//
// which is a read of S, an interaction of rows with keys and an apply of it to the values. For the reads of the writes
// themselves this is a triangular system: (I + L) U = gain * value - erase * (what is seen of S and of the free
// writes).
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

//===----------------------------------------------------------------------===//
// Rows and decays
//===----------------------------------------------------------------------===//

/// A vector over the value channels for each token; a state of one value channel has scalars there.
Value DeltaState::valueRows(Value value) {
  if (!value)
    return program.spread(program.constant(0), values.valueSize);
  return program.spread(program.lift(value), values.valueSize);
}

Value DeltaState::writtenRows(const StepValue &step, bool withGain) {
  Value rows = valueRows(step.value);
  return withGain && step.gain && step.value ? program.mul(program.lift(step.gain), rows) : rows;
}

Value DeltaState::decayProduct(bool ofKeys, DecayRange range) {
  Value decay = ofKeys ? keyDecay : valueDecay;
  if (!decay)
    return {};
  Value &product = decayProducts[{ofKeys, range}];
  if (!product)
    product = CumulativeDecayOp::create(program.getBuilder(), program.getLoc(), range, decay,
                                        ofKeys ? values.keyDecay.linear : values.valueDecay.linear);
  return product;
}

/// How much the state before the chunk has decayed where a row looks at it.
Value DeltaState::decayTo(bool ofKeys, Point point) {
  return decayProduct(ofKeys, point.decayed ? DecayRange::Through : DecayRange::Before);
}

Value DeltaState::readState(Value rows, bool crossed) {
  return ReadOp::create(program.getBuilder(), program.getLoc(), rows, state, keysAreRows != crossed);
}

//===----------------------------------------------------------------------===//
// Interactions
//===----------------------------------------------------------------------===//

namespace {
/// What rows with these points see of a stream: its writes are counted among themselves.
struct Mask {
  SmallVector<int64_t> points, steps;

  Mask(ArrayRef<Point> rows, ArrayRef<unsigned> writes) {
    for (Point point : rows)
      points.push_back(point.decayed ? llvm::count_if(writes, [&](unsigned write) { return write < point.writes; })
                                     : beforeDecay);
    for (unsigned i = 0; i < writes.size(); ++i)
      steps.push_back(i);
  }
};
} // namespace

// One step a token can be taken out on either side: it goes with the interaction, where it costs least.
Value DeltaState::interact(Value rows, ArrayRef<Point> points, const Stream &stream, bool crossed) {
  Value decay = crossed ? valueDecay : keyDecay;
  bool linear = crossed ? values.valueDecay.linear : values.keyDecay.linear;
  if (crossed && !decay && keyDecay && tensorOf(keyDecay).getRank() == 1) {
    decay = keyDecay;
    linear = values.keyDecay.linear;
  }
  Mask mask(points, stream.steps);
  return InteractionOp::create(program.getBuilder(), program.getLoc(), rows, crossed ? stream.values : stream.keys,
                               mask.points, mask.steps, decay, linear);
}

Value DeltaState::gather(Value matrix, ArrayRef<Point> points, const Stream &stream, bool crossed) {
  Value decay = crossed ? keyDecay : valueDecay;
  bool linear = crossed ? values.keyDecay.linear : values.valueDecay.linear;
  if (crossed && !valueDecay && keyDecay && tensorOf(keyDecay).getRank() == 1)
    decay = {};
  OpBuilder &builder = program.getBuilder();
  Mask mask(points, stream.steps);
  auto array = [&](ArrayRef<int64_t> list) { return decay ? builder.getDenseI64ArrayAttr(list) : DenseI64ArrayAttr(); };
  return ApplyOp::create(builder, program.getLoc(), matrix, crossed ? stream.keys : stream.values, array(mask.points),
                         array(mask.steps), decay, decay && linear);
}

Value DeltaState::read(Value rows, Point point, bool crossed) {
  Value past = readState(program.mul(decayTo(!crossed, point), rows), crossed);
  Value seen = program.mul(decayTo(crossed, point), past);
  for (const Stream *stream : {&solved, &free})
    if (!stream->isEmpty())
      seen = program.add(seen, gather(interact(rows, point, *stream, crossed), point, *stream, crossed));
  // A state of one value channel is read as a scalar.
  if (values.orientation == Orientation::Vector)
    seen = ExtractOp::create(program.getBuilder(), program.getLoc(), seen, 0);
  return seen;
}

Value DeltaState::readout(const ReadoutValue &readout) {
  Value result;
  for (const ReadValue &one : readout.reads) {
    Value seen = read(keyRows(one.key), one.point, readout.crossed);
    result = program.add(result, one.scale ? program.mul(program.lift(one.scale), seen) : seen);
  }
  return readout.free ? program.add(result, program.lift(readout.free)) : result;
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

void DeltaState::build(unsigned index) {
  OpBuilder &builder = program.getBuilder();
  state = program.stateOf(index);
  keysAreRows = values.orientation == Orientation::Left && !program.isTransposed(index);
  if (values.orientation == Orientation::Vector)
    state =
        ReshapeStateOp::create(builder, program.getLoc(), makeTensor(builder.getContext(), {1, values.keySize}), state);
  keyDecay = program.liftRows(values.keyDecay.steps);
  valueDecay = program.liftRows(values.valueDecay.steps);
  SmallVector<Value> freeKeys, freeValues, solvedKeys;
  for (auto [i, step] : llvm::enumerate(values.steps)) {
    Stream &stream = step.reads.empty() ? free : solved;
    stream.steps.push_back(i);
    (step.reads.empty() ? freeKeys : solvedKeys).push_back(keyRows(step.write));
    if (step.reads.empty())
      freeValues.push_back(writtenRows(step, /*withGain=*/true));
  }
  if (!free.isEmpty()) {
    free.keys = program.interleave(freeKeys);
    free.values = program.interleave(freeValues);
  }
  if (!solved.isEmpty()) {
    solved.keys = program.interleave(solvedKeys);
    buildSolved();
  }
  buildAdvance(index);
  if (values.orientation == Orientation::Vector && !valueDecay)
    buildTokenVectors(index);
}

/// The vector after each token, and before it, for what needs the whole of it: a sum of what has been written.
void DeltaState::buildTokenVectors(unsigned index) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value written;
  for (const Stream *stream : {&solved, &free})
    for (size_t step = 0, steps = stream->steps.size(); step < steps; ++step) {
      auto ofStep = [&](Value rows) -> Value {
        return steps == 1 ? rows : DeinterleaveOp::create(builder, loc, rows, step, steps).getResult();
      };
      Value size = ExtractOp::create(builder, loc, ofStep(stream->values), 0);
      written = program.add(written, program.mul(size, ofStep(stream->keys)));
    }
  if (!written)
    return;
  Value before = program.stateOf(index);
  auto scan = ScanOp::create(builder, loc, before, written, keyDecay, keyDecay && values.keyDecay.linear,
                             /*angles=*/false);
  program.giveTokens(index, scan.getAll());
}

void DeltaState::buildSolved() {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  size_t slots = 0;
  for (unsigned step : solved.steps)
    slots = std::max(slots, values.steps[step].reads.size());
  // What is written with the gain that erases is `gain * (value - read)`, one product less.
  bool oneGain = slots == 1 && llvm::all_of(solved.steps, [&](unsigned step) {
                   return values.steps[step].gain == values.steps[step].reads[0].scale;
                 });
  SmallVector<Value> written;
  for (unsigned step : solved.steps)
    written.push_back(writtenRows(values.steps[step], !oneGain));
  bool writesNothing = llvm::all_of(solved.steps, [&](unsigned step) { return !values.steps[step].value; });
  Value right = writesNothing ? Value() : program.interleave(written);

  // A gain for each value channel is no part of the matrix, which all channels share. There is one read a step then.
  bool perChannel = llvm::any_of(solved.steps, [&](unsigned step) {
    return llvm::any_of(values.steps[step].reads,
                        [](const ReadValue &read) { return read.scale && !dgps::shapeOf(read.scale).empty(); });
  });
  Value matrix, channelScale;
  SmallVector<Point, 1> latest;
  for (size_t slot = 0; slot < slots; ++slot) {
    // Steps with fewer reads than others read nothing: a row of zeros.
    SmallVector<Value> keys, decayedKeys, scales, valueFactors;
    SmallVector<Point, 1> points;
    bool scaled = false;
    for (unsigned step : solved.steps) {
      ArrayRef<ReadValue> reads = values.steps[step].reads;
      bool reading = slot < reads.size();
      Point point = reading ? reads[slot].point : Point{reads[0].point.decayed, 0};
      Value key = reading ? keyRows(reads[slot].key) : program.spread(program.constant(0), values.keySize);
      keys.push_back(key);
      decayedKeys.push_back(program.mul(decayTo(true, point), key));
      if (Value factor = decayTo(false, point))
        valueFactors.push_back(factor);
      Value scale = reading && reads[slot].scale ? program.lift(reads[slot].scale) : program.constant(1);
      scaled |= reading && reads[slot].scale;
      scales.push_back(perChannel ? program.spread(scale, values.valueSize) : program.spread(scale, {}));
      points.push_back(point);
    }
    Value rows = program.interleave(keys);
    Value seen = readState(program.interleave(decayedKeys), /*crossed=*/false);
    if (!valueFactors.empty())
      seen = program.mul(program.interleave(valueFactors), seen);
    if (!free.isEmpty())
      seen = program.add(seen, gather(interact(rows, points, free, false), points, free, false));
    Value own = interact(rows, points, solved, false);
    Value scale = scaled ? program.interleave(scales) : Value();
    matrix = program.add(matrix, program.mul(perChannel ? Value() : scale, own));
    channelScale = perChannel ? scale : Value();
    if (oneGain)
      right = program.mul(scale, program.sub(right, seen));
    else
      right = program.sub(right, program.mul(scale, seen));
    if (latest.empty())
      latest = points;
    for (auto [last, point] : llvm::zip(latest, points))
      if (point.writes > last.writes)
        last = point;
  }
  if (channelScale) {
    solved.values = ScaledSolveOp::create(builder, loc, matrix, right, channelScale, /*reverse=*/false);
    return;
  }
  Mask mask(latest, solved.steps);
  auto array = [&](ArrayRef<int64_t> list) {
    return valueDecay ? builder.getDenseI64ArrayAttr(list) : DenseI64ArrayAttr();
  };
  solved.values = SolveOp::create(builder, loc, matrix, right, array(mask.points), array(mask.steps), valueDecay,
                                  valueDecay && values.valueDecay.linear);
}

//===----------------------------------------------------------------------===//
// The state after the chunk
//===----------------------------------------------------------------------===//

/// A step that erases along the key it writes takes back what was written wrongly as often as that key is met; along
/// another key it does not. Errors without decays stay too, but there the chain over chunks is what a call waits for,
/// and two numbers make it a third longer (docs/log/hopper.md); and decays of each key channel were exact enough.
bool DeltaState::mayKeepErrors() const {
  if (solved.steps.size() != 1 || !keyDecay || tensorOf(keyDecay).getRank() != 1)
    return false;
  const StepValue &step = values.steps[solved.steps[0]];
  return step.value && llvm::any_of(step.reads, [&](const ReadValue &read) { return read.key != step.write; });
}

void DeltaState::buildAdvance(unsigned index) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value result = state;
  Value keyTotal = decayProduct(true, DecayRange::Total), valueTotal = decayProduct(false, DecayRange::Total);
  // The decay of the chunk goes with the first writes that are added.
  auto advance = [&](Value written, Value keys, bool isPrecise = false) {
    if (keysAreRows)
      result = AdvanceOp::create(builder, loc, result, keys, written, valueTotal, keyTotal);
    else
      result = AdvanceOp::create(builder, loc, result, written, keys, keyTotal, valueTotal, isPrecise);
    keyTotal = valueTotal = {};
  };
  for (const Stream *stream : {&solved, &free}) {
    if (stream->isEmpty())
      continue;
    auto toEnd = [&](bool ofKeys) {
      Value decay = decayProduct(ofKeys, DecayRange::After);
      return decay ? program.interleave(SmallVector<Value>(stream->steps.size(), decay)) : decay;
    };
    advance(program.mul(toEnd(false), stream->values), program.mul(toEnd(true), stream->keys),
            stream == &solved && mayKeepErrors());
  }
  if (result == state && (keyTotal || valueTotal))
    advance(program.spread(program.constant(0), values.valueSize), program.spread(program.constant(0), values.keySize));
  if (values.orientation == Orientation::Vector)
    result = ReshapeStateOp::create(builder, loc, program.stateOf(index).getType(), result);
  program.setNext(index, result);
}
