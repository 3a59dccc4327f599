#include "Analysis/Axes.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

/// A key without its scalar factors, which scale rows or columns of an interaction and make no other matrix. A long key
/// is kept as the form has it.
static const Poly *directionOf(Algebra &algebra, const Poly *key) {
  constexpr size_t longKey = 16;
  return key->terms.size() > longKey ? key : extractContent(algebra, key).direction;
}

/// Whether `key` is `base` times something elementwise.
static bool isMultipleOf(Algebra &algebra, const Poly *key, const Poly *base) {
  return quotient(algebra, key, base) != nullptr;
}

SmallVector<Tying, 1> recur::analysis::tyingOf(Algebra &algebra, const DeltaForm &form) {
  SmallVector<Tying, 1> result;
  for (const MicroStep &step : form.steps) {
    Tying tying = Tying::None;
    for (const Read &read : step.reads) {
      const Poly *reads = directionOf(algebra, read.key), *writes = directionOf(algebra, step.write);
      Tying one = reads == writes ? Tying::Tied : isMultipleOf(algebra, writes, reads) ? Tying::Scaled : Tying::Free;
      tying = std::max(tying, one);
    }
    result.push_back(tying);
  }
  return result;
}

/// Whether a factor over the key channels comes from another state. What a state gives by a nonlinear feature of a read
/// (a softmax) is a key of its own, not a preconditioner of one.
static bool hasStatistic(const Monomial *monomial) {
  auto fromState = [](const Atom *atom) { return atom->states.any() && !atom->isFunction("softmax"); };
  if (monomial->exponent && monomial->exponent->states.any() && monomial->exponent->axes != Axis::None)
    return true;
  return any_of(monomial->factors,
                [&](const Factor &factor) { return factor.axis != Axis::None && fromState(factor.atom); });
}

Preconditioner recur::analysis::preconditionerOf(const DeltaForm &form) {
  auto any = [](const Poly *key) {
    return any_of(key->terms, [](const Term &term) { return hasStatistic(term.monomial); });
  };
  Preconditioner result;
  for (const MicroStep &step : form.steps)
    result.onWrite |= any(step.write);
  for (const Readout &readout : form.readouts)
    for (const Read &read : readout.form.reads)
      result.onQuery |= !readout.crossed && any(read.key);
  return result;
}

SmallVector<Interaction, 4> recur::analysis::interactionsOf(Algebra &algebra, const DeltaForm &form) {
  SetVector<const Poly *> readStreams, crossedStreams, writeStreams;
  for (const MicroStep &step : form.steps) {
    for (const Read &read : step.reads)
      readStreams.insert(directionOf(algebra, read.key));
    writeStreams.insert(directionOf(algebra, step.write));
  }
  for (const Readout &readout : form.readouts)
    for (const Read &read : readout.form.reads)
      (readout.crossed ? crossedStreams : readStreams).insert(directionOf(algebra, read.key));
  bool iterates = any_of(form.wholeUses, [](mlir::Operation *op) { return isa<dgps::CgOp, dgps::LoopOp>(op); });
  SmallVector<Interaction, 4> result;
  for (const Poly *write : writeStreams) {
    for (const Poly *read : readStreams)
      result.push_back({read, write});
    if (iterates)
      result.push_back({nullptr, write});
  }
  for (const Poly *read : crossedStreams)
    for (const MicroStep &step : form.steps)
      result.push_back({read, step.value, true});
  return result;
}

StringRef recur::analysis::decayAxis(const DeltaForm &form) {
  bool key = !form.keyDecay.isScalar(), value = !form.valueDecay.isAbsent() && !form.valueDecay.isScalar();
  if (key && value)
    return "rows and columns";
  bool keysAreColumns = form.orientation == Orientation::Right;
  if (key)
    return keysAreColumns ? "columns" : "rows";
  if (value)
    return keysAreColumns ? "rows" : "columns";
  return form.keyDecay.isAbsent() ? "none" : "scalar";
}
