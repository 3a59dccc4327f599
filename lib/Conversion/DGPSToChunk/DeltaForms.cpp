// The analysis' forms, whose parts are expressions, as values of the recurrence.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;
using namespace recur::conversion;

namespace {
class FormMaterializer {
public:
  FormMaterializer(const RecurrenceAnalysis &analysis, Location loc)
      : builder(OpBuilder::atBlockEnd(&analysis.getRecurrence().getBody().front())),
        materializer(builder, loc, analysis.getAlgebra(), analysis.getExpressions()) {}

  /// Null for a number that changes nothing.
  Value factor(const Poly *poly, int64_t size) { return poly->isOne() ? Value() : materializer.get(poly, size); }
  Value addend(const Poly *poly, int64_t size) { return poly->isZero() ? Value() : materializer.get(poly, size); }
  Value get(const Poly *poly, int64_t size) { return materializer.get(poly, size); }
  Value vector(const Poly *poly, int64_t size) { return materializer.getVector(poly, size); }
  DecayValue decay(const Decay &decay, int64_t size) {
    if (decay.isAbsent())
      return {};
    return {get(decay.log ? decay.log : decay.linear, size), !decay.log};
  }
  Value extremum(chunk::Extremum kind, ArrayRef<const Poly *> polys, const Poly *offset, Algebra &algebra,
                 int64_t size) {
    Value result;
    for (const Poly *poly : polys) {
      Value value = get(algebra.add(poly, offset), size);
      result = result ? combine(kind, result, value) : value;
    }
    return result;
  }

private:
  Value combine(chunk::Extremum kind, Value a, Value b) {
    Location loc = b.getLoc();
    bool lower = chunk::isLower(kind);
    Value taken =
        lower ? Value(dgps::MinOp::create(builder, loc, a, b)) : Value(dgps::MaxOp::create(builder, loc, a, b));
    if (!chunk::isSoft(kind))
      return taken;
    Value apart = dgps::AbsOp::create(builder, loc, dgps::SubOp::create(builder, loc, a, b).getResult());
    Value rest = dgps::SoftplusOp::create(builder, loc, dgps::NegOp::create(builder, loc, apart).getResult());
    return lower ? Value(dgps::SubOp::create(builder, loc, taken, rest))
                 : Value(dgps::AddOp::create(builder, loc, taken, rest));
  }

  OpBuilder builder;
  dgps::Materializer materializer;
};
} // namespace

static bool hasVectorGain(const DeltaForm &form) {
  return llvm::any_of(form.steps, [](const MicroStep &step) {
    return llvm::any_of(step.reads, [](const Read &read) { return read.scale->axes != Axis::None; });
  });
}

/// Makes each read of a step, where there are several, a step of its own with the same write: outer(u - x - y, w) is
/// outer(u - x, w) and then outer(-y, w), as long as y is read where it was. Each row then has one gain a channel.
static void separateReads(DeltaValues &values) {
  SmallVector<unsigned, 4> firstOf; // by the number of steps that a point sees
  SmallVector<StepValue, 1> separate;
  for (StepValue &step : values.steps) {
    firstOf.push_back(separate.size());
    SmallVector<ReadValue, 1> reads = std::exchange(step.reads, {});
    separate.push_back(step);
    for (auto [number, read] : llvm::enumerate(reads)) {
      if (number > 0)
        separate.push_back({Value(), Value(), {}, step.write});
      separate.back().reads.push_back(read);
    }
  }
  firstOf.push_back(separate.size());
  auto move = [&](ReadValue &read) { read.point.writes = firstOf[read.point.writes]; };
  for (StepValue &step : separate)
    llvm::for_each(step.reads, move);
  for (auto &[value, readout] : values.readouts)
    llvm::for_each(readout.reads, move);
  values.steps = std::move(separate);
}

DeltaValues conversion::materialize(const RecurrenceAnalysis &analysis, unsigned state) {
  const StateFacts &facts = analysis.getStates()[state];
  const DeltaForm &form = *facts.delta;
  dgps::StateOp op = facts.op;
  FormMaterializer materializer(analysis, op.getNext().getLoc());
  ArrayRef<int64_t> shape = dgps::shapeOf(op.getResult());
  DeltaValues values;
  values.state = op;
  values.orientation = form.orientation;
  values.keySize = form.orientation == Orientation::Right ? shape[1] : shape[0];
  values.valueSize = form.orientation == Orientation::Vector  ? 1
                     : form.orientation == Orientation::Right ? shape[0]
                                                              : shape[1];
  auto read = [&](const Read &read, bool crossed) {
    int64_t keys = crossed ? values.valueSize : values.keySize, results = crossed ? values.keySize : values.valueSize;
    return ReadValue{materializer.factor(read.scale, results), materializer.vector(read.key, keys), read.point};
  };
  values.keyDecay = materializer.decay(form.keyDecay, values.keySize);
  values.valueDecay = materializer.decay(form.valueDecay, values.valueSize);
  for (const MicroStep &step : form.steps) {
    StepValue &value = values.steps.emplace_back();
    value.gain = materializer.factor(step.gain, 1);
    value.value = materializer.addend(step.value, values.valueSize);
    value.write = materializer.vector(step.write, values.keySize);
    for (const Read &one : step.reads)
      value.reads.push_back(read(one, /*crossed=*/false));
  }
  for (const Readout &readout : form.readouts) {
    ReadoutValue &value = values.readouts[readout.value];
    value.crossed = readout.crossed;
    value.free = materializer.addend(readout.form.free, readout.crossed ? values.keySize : values.valueSize);
    for (const Read &one : readout.form.reads)
      value.reads.push_back(read(one, readout.crossed));
  }
  if (hasVectorGain(form))
    separateReads(values);
  return values;
}

CoupledValues conversion::materialize(const RecurrenceAnalysis &analysis, const CoupledForm &form) {
  CoupledValues values;
  for (unsigned state : form.states)
    values.states.push_back(analysis.getStates()[state].op);
  FormMaterializer materializer(analysis, values.states.front().getNext().getLoc());
  values.vectors = form.vectors;
  ArrayRef<int64_t> shape = dgps::shapeOf(values.states[form.vectors.find_first_unset()].getResult());
  bool right = form.orientation == Orientation::Right;
  values.orientation = form.orientation;
  values.keySize = shape[right ? 1 : 0];
  values.valueSize = shape[right ? 0 : 1];
  values.order = form.orderMembers();
  for (unsigned member = 0; member < form.states.size(); ++member) {
    const Decay &own = form.matrix[member][member];
    values.decays.push_back(materializer.decay(own, 0));
    // What is added must be there.
    std::optional<unsigned> added = form.findAdded(member);
    values.addedOnes.push_back(
        added && llvm::find(values.order, *added) < llvm::find(values.order, member) ? added : std::nullopt);
    SmallVector<Value, 2> &row = values.matrix.emplace_back();
    for (const Decay &factor : form.matrix[member])
      row.push_back(materializer.addend(factor.linear, 0));
  }
  auto factors = [&](ArrayRef<const Poly *> polys, bool negated) {
    SmallVector<Value, 2> result;
    for (const Poly *poly : polys)
      result.push_back(materializer.addend(negated ? analysis.getAlgebra().negate(poly) : poly, 0));
    return result;
  };
  for (const CoupledWrite &write : form.writes) {
    CoupledValues::Write &value = values.writes.emplace_back();
    value.free = materializer.addend(write.free, values.valueSize);
    value.gain = materializer.factor(write.gain, values.valueSize);
    value.write = write.write ? materializer.vector(write.write, values.keySize) : Value();
    value.factors = factors(write.factors, /*negated=*/false);
    for (const CoupledRead &read : write.reads)
      value.reads.push_back({read.key ? materializer.vector(read.key, values.keySize) : Value(),
                             factors(read.factors, /*negated=*/true)});
  }
  return values;
}

/// A write's value, as far as it tells writes apart: what writes under several keys is one write, with a key for each
/// member.
static bool haveOneValue(const CoupledWrite &a, const CoupledWrite &b) {
  return a.free == b.free && a.gain == b.gain &&
         std::equal(
             a.reads.begin(), a.reads.end(), b.reads.begin(), b.reads.end(),
             [](const CoupledRead &a, const CoupledRead &b) { return a.key == b.key && a.factors == b.factors; });
}

ChannelValues conversion::materializeChannels(const RecurrenceAnalysis &analysis, const CoupledForm &form) {
  ChannelValues values;
  Algebra &algebra = analysis.getAlgebra();
  for (unsigned state : form.states)
    values.states.push_back(analysis.getStates()[state].op);
  FormMaterializer materializer(analysis, values.states.front().getNext().getLoc());
  ArrayRef<int64_t> shape = dgps::shapeOf(values.states.front().getResult());
  bool right = form.orientation == Orientation::Right;
  values.orientation = form.orientation;
  values.keySize = shape[right ? 1 : 0];
  values.valueSize = shape[right ? 0 : 1];
  for (ArrayRef<Decay> row : form.matrix)
    values.matrix.push_back(llvm::map_to_vector<2>(
        row, [&](const Decay &factor) { return materializer.addend(factor.linear, values.keySize); }));
  auto vectors = [&](ArrayRef<const Poly *> polys) {
    return llvm::map_to_vector<2>(
        polys, [&](const Poly *poly) { return poly->isZero() ? Value() : materializer.vector(poly, values.keySize); });
  };
  SmallVector<const Poly *, 2> zeros(form.states.size(), algebra.zero());
  auto addTo = [&](SmallVector<const Poly *, 2> &sums, const Poly *key, ArrayRef<const Poly *> factors, bool negated) {
    for (auto [sum, factor] : llvm::zip(sums, factors)) {
      const Poly *part = algebra.multiply(factor, key);
      sum = negated ? algebra.sub(sum, part) : algebra.add(sum, part);
    }
  };
  SmallVector<const CoupledWrite *, 1> heads;
  SmallVector<SmallVector<const Poly *, 2>, 1> keys;
  for (const CoupledWrite &write : form.writes) {
    auto *head = llvm::find_if(heads, [&](const CoupledWrite *other) { return haveOneValue(*other, write); });
    if (head == heads.end()) {
      heads.push_back(&write);
      keys.push_back(zeros);
      head = &heads.back();
    }
    addTo(keys[head - heads.begin()], write.write, write.factors, /*negated=*/false);
  }
  for (auto [write, sums] : llvm::zip(heads, keys)) {
    ChannelValues::Write &value = values.writes.emplace_back();
    value.free = materializer.addend(write->free, values.valueSize);
    value.gain = materializer.factor(write->gain, values.valueSize);
    value.keys = vectors(sums);
    SmallVector<const Poly *, 2> rows = zeros;
    for (const CoupledRead &read : write->reads)
      addTo(rows, read.key, read.factors, /*negated=*/true);
    value.reads = vectors(rows);
  }
  return values;
}

ScanValues conversion::materializeScan(const RecurrenceAnalysis &analysis, unsigned state) {
  const StateFacts &facts = analysis.getStates()[state];
  dgps::StateOp op = facts.op;
  FormMaterializer materializer(analysis, op.getNext().getLoc());
  ArrayRef<int64_t> shape = dgps::shapeOf(op.getResult());
  int64_t size = shape.empty() ? 0 : shape[0];
  ScanValues values;
  if (facts.linear) {
    values.decay = materializer.decay(facts.linear->decay, size);
    values.addition = materializer.addend(facts.linear->offset, size);
    return values;
  }
  if (facts.moebius) {
    const MoebiusForm &form = *facts.moebius;
    for (auto [value, poly] : llvm::zip(values.quotient, ArrayRef<const Poly *>{form.a, form.b, form.c, form.d}))
      value = materializer.addend(poly, size);
    return values;
  }
  // max(x + a, b) + c = max(x + (a + c), b + c).
  const TropicalForm &form = *facts.tropical;
  values.extremum = form.isSoft ? (form.isMin ? chunk::Extremum::SoftMin : chunk::Extremum::SoftMax)
                                : (form.isMin ? chunk::Extremum::Min : chunk::Extremum::Max);
  values.shift = materializer.extremum(values.extremum, form.shifts, form.offset, analysis.getAlgebra(), size);
  values.bound = materializer.extremum(values.extremum, form.floors, form.offset, analysis.getAlgebra(), size);
  return values;
}

bool conversion::hasChunkForm(const DeltaForm &form) {
  if (hasVectorGain(form) && !form.valueDecay.isAbsent())
    return false;
  return llvm::all_of(form.steps, [&](const MicroStep &step) {
    return llvm::all_of(step.reads, [&](const Read &read) {
      return form.valueDecay.isAbsent() || read.point.decayed == step.reads.front().point.decayed;
    });
  });
}
