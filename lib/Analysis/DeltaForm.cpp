#include "Analysis/DeltaForm.h"
#include "Analysis/Algebra/Division.h"
#include "Analysis/StateReads.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

namespace {

/// outer(value, key), both over the row index.
struct Write {
  const Poly *value, *key;
};

/// The writes that the token does between two names of the state.
struct Stage {
  const Poly *start;                 ///< the state with the stage's decay
  const Poly *keyDecay, *valueDecay; ///< a later stage than the first has a scalar one
  const Poly *laterDecay = nullptr;  ///< of all stages that follow, a scalar
  unsigned firstWrite = 0;           ///< among all of the token
  SmallVector<Write, 2> writes;
  SmallVector<const Poly *, 4> after; ///< the state with the first 0, 1, 2, ... writes done, as far as asked for
};

class DeltaFormBuilder {
public:
  DeltaFormBuilder(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence, unsigned state)
      : algebra(algebra), expressions(expressions), recurrence(recurrence), reads(algebra, expressions, state) {
    form.state = state;
  }

  Expected<DeltaForm> build() {
    Expected<Orientation> orientation = reads.chooseOrientation(recurrence);
    if (!orientation)
      return orientation.takeError();
    form.orientation = *orientation;
    reads.orientation = *orientation;
    for (unsigned stage = 0; stage < reads.numStages(); ++stage)
      if (Error error = collect(stage))
        return std::move(error);
    moveDecaysToFront();
    for (Stage &stage : stages)
      if (Error error = describeSteps(stage))
        return std::move(error);
    if (Error error = findReadouts())
      return std::move(error);
    return std::move(form);
  }

private:
  Error collect(unsigned stage);
  Error separateDecay(Stage &stage, const Poly *decay);
  void moveDecaysToFront();
  void mergeProportional(SmallVectorImpl<Write> &writes);
  using Parts = SmallVector<std::pair<const Poly *, const Poly *>, 2>;
  std::optional<Parts> takeApart(const Poly *sum, ArrayRef<const Poly *> directions,
                                 function_ref<const Poly *(const Poly *)> show);
  const Poly *withoutState(const Poly *value);
  const Poly *factorOfPart(const Poly *sum, const Poly *part);
  Error describeSteps(const Stage &stage);
  Error findReadouts();
  Expected<AffineValue> explain(const Poly *value, unsigned visibleWrites, bool crossed, const Poly *decayAfter);
  const Poly *scaleOfMoved(const Poly *scale, unsigned stage, bool isDecayed);
  Read plainRead(unsigned stage, const Poly *scale, const Poly *key, bool crossed);
  Read bestRead(unsigned stage, const Poly *value, const Poly *&free, const Poly *scale, const Poly *key,
                unsigned visibleWrites, bool crossed);
  SmallVector<const Poly *, 8> candidateKeys(unsigned stage, const Poly *key, bool crossed);
  const Poly *dividedTerms(const Poly *key, const Poly *decay);
  std::pair<const Poly *, const Poly *> decaysOfSides(unsigned stage, bool crossed);
  const Poly *stateAfterWrites(Stage &stage, unsigned count);

  Algebra &algebra;
  const Expressions &expressions;
  dgps::RecurrenceOp recurrence;
  StateReads reads;
  SmallVector<Stage, 1> stages; ///< as far as collected
  DeltaForm form;
};

} // namespace

//===----------------------------------------------------------------------===//
// The update as decay * state + rank-one writes
//===----------------------------------------------------------------------===//

/// Takes apart what the token makes of a stage.
Error DeltaFormBuilder::collect(unsigned number) {
  SmallVector<Term, 4> decayTerms;
  MapVector<const Monomial *, SmallVector<Term, 4>> valuesOfKey;
  for (const Term &term : reads.inRoles(reads.next(number))->terms) {
    const Monomial *rest = term.monomial;
    const Monomial *read = algebra.oneMonomial();
    if (dependsOn(term.monomial->states, form.state)) {
      Expected<StateReads::Linear> linear = reads.linearIn(term.monomial);
      if (!linear)
        return linear.takeError();
      rest = linear->rest;
      if (linear->isState) {
        if (linear->stage != number)
          return noForm("the update adds up the state at two points of the token",
                        "writes that all change the same value of the state");
        decayTerms.push_back({rest, term.coefficient});
        continue;
      }
      read = linear->factor;
    }
    Algebra::Split parts = algebra.split(rest);
    if (!parts.both->isOne())
      return noForm("a matrix that is no outer product is written into the state", "writes that are outer products");
    const Monomial *value = algebra.multiply(algebra.multiply(parts.scalar, parts.row), read);
    valuesOfKey[parts.col].push_back({value, term.coefficient});
  }
  const Poly *decay = algebra.poly(decayTerms);
  const unsigned writesBefore = stages.empty() ? 0 : stages.back().firstWrite + stages.back().writes.size();
  Stage &stage = stages.emplace_back();
  stage.start = algebra.multiply(reads.inRoles(decay), reads.itself(number));
  stage.firstWrite = writesBefore;
  for (auto &[key, terms] : valuesOfKey)
    stage.writes.push_back({algebra.poly(terms), algebra.transpose(algebra.poly(key))});
  mergeProportional(stage.writes);
  if (number == 0)
    return separateDecay(stage, decay);
  if (decay->axes != Axis::None || decay->dependsOn(form.state))
    return noForm("a decay of rows or columns comes after " + Twine(writesBefore) + " writes that read the state",
                  "that decay before the first write, or a scalar");
  stage.keyDecay = decay;
  stage.valueDecay = algebra.one();
  return Error::success();
}

/// Makes the scalar decays of later stages part of the one decay of the token: each write that a decay came after is
/// scaled by it, and what it reads has been scaled by it already.
void DeltaFormBuilder::moveDecaysToFront() {
  const Poly *later = algebra.one();
  for (Stage &stage : reverse(stages)) {
    stage.laterDecay = later;
    later = algebra.multiply(later, stage.keyDecay);
  }
  form.keyDecay = describeDecay(algebra, later);
  form.valueDecay = describeDecay(algebra, stages.front().valueDecay);
}

static Error decaysElementwise() {
  return noForm("each element of the state has a decay of its own, and the state is also read",
                "a decay that is a product of one for each row and one for each column");
}

/// Tells the decay's value side from its key side.
Error DeltaFormBuilder::separateDecay(Stage &stage, const Poly *decay) {
  const Poly *value = algebra.one(), *key = decay;
  if (varies(decay->axes, Axis::Row)) {
    // The decay is a product of both sides if each value-side part has the same key-side coefficient, but for a number.
    MapVector<const Monomial *, SmallVector<Term, 4>> keysOfValue;
    for (const Term &term : decay->terms) {
      Algebra::Split parts = algebra.split(term.monomial);
      if (!parts.both->isOne())
        return decaysElementwise();
      keysOfValue[parts.row].push_back({algebra.multiply(parts.scalar, parts.col), term.coefficient});
    }
    key = algebra.poly(keysOfValue.front().second);
    value = algebra.zero();
    for (auto &[row, terms] : keysOfValue) {
      const Poly *ratio = quotient(algebra, algebra.poly(terms), key);
      if (!ratio || varies(ratio->axes, Axis::Col))
        return decaysElementwise();
      value = algebra.add(value, algebra.multiply(algebra.poly(row), ratio));
    }
  } else if (any_of(decay->terms, [&](const Term &term) { return !algebra.split(term.monomial).both->isOne(); })) {
    return decaysElementwise();
  }
  // A scalar is the key side's, but where it keeps the other side from growing.
  if (key->axes == Axis::None && !describeDecay(algebra, value).atMostOne &&
      describeDecay(algebra, algebra.multiply(key, value)).atMostOne) {
    value = algebra.multiply(key, value);
    key = algebra.one();
  }
  stage.keyDecay = algebra.transpose(key);
  stage.valueDecay = value;
  return Error::success();
}

/// Writes of one value under several keys are one write under the keys' sum: outer(v, 1 - a) is expanded to two.
void DeltaFormBuilder::mergeProportional(SmallVectorImpl<Write> &writes) {
  MapVector<const Poly *, const Poly *> keyOfDirection;
  auto write = [&](const Poly *value, const Poly *key) {
    Content content = extractContent(algebra, value);
    const Poly *scaled = algebra.multiply(content.scale, key);
    auto [entry, isNew] = keyOfDirection.try_emplace(content.direction, scaled);
    if (!isNew)
      entry->second = algebra.add(entry->second, scaled);
  };
  for (const Write &one : writes)
    write(one.value, one.key);
  // A value that is a sum of others' is written with each of those: two keys with a common summand are two writes.
  for (auto &[sum, key] : keyOfDirection) {
    SmallVector<const Poly *, 4> others;
    for (auto &[direction, otherKey] : keyOfDirection)
      if (direction != sum && !otherKey->isZero() && direction->terms.size() < sum->terms.size())
        others.push_back(direction);
    std::optional<Parts> parts = takeApart(sum, others, [](const Poly *value) { return value; });
    // A factor that is a sum meets itself in what the value reads with a key of which it is a coefficient, and terms of
    // it become one. What the value has without the state shows the factors one by one.
    if (!parts)
      parts = takeApart(sum, others, [&](const Poly *value) { return withoutState(value); });
    if (!parts)
      continue;
    for (auto [direction, factor] : *parts)
      keyOfDirection[direction] = algebra.add(keyOfDirection[direction], algebra.multiply(factor, key));
    key = algebra.zero();
  }
  writes.clear();
  for (auto [direction, key] : keyOfDirection) {
    if (key->isZero())
      continue;
    Content content = extractContent(algebra, key);
    Write merged{algebra.multiply(content.scale, direction), content.direction};
    absorbUnitNorm(algebra, reads.keySize(), merged.value, merged.key);
    writes.push_back(merged);
  }
  // Simple writes first: a later step may read what an earlier one wrote.
  llvm::sort(writes, [&](const Write &a, const Write &b) {
    size_t lengthA = a.value->terms.size(), lengthB = b.value->terms.size();
    if (lengthA != lengthB)
      return lengthA < lengthB;
    bool readsA = a.value->dependsOn(form.state), readsB = b.value->dependsOn(form.state);
    return readsA != readsB ? readsA : compare(a.key, b.key) < 0;
  });
}

/// Directions and factors whose products add up to the sum; none if there are none. `show` says by which of its terms a
/// direction is recognised.
std::optional<DeltaFormBuilder::Parts> DeltaFormBuilder::takeApart(const Poly *sum, ArrayRef<const Poly *> directions,
                                                                   function_ref<const Poly *(const Poly *)> show) {
  Parts parts;
  const Poly *rest = sum;
  for (const Poly *direction : directions) {
    const Poly *shown = show(direction);
    if (shown->isZero())
      continue;
    // The factor may be a sum: each of its terms is found by itself.
    while (const Poly *factor = factorOfPart(show(rest), shown)) {
      rest = algebra.sub(rest, algebra.multiply(factor, direction));
      parts.push_back({direction, factor});
    }
  }
  return rest->isZero() ? std::optional(parts) : std::nullopt;
}

const Poly *DeltaFormBuilder::withoutState(const Poly *value) {
  SmallVector<Term, 4> terms;
  for (const Term &term : value->terms)
    if (!dependsOn(term.monomial->states, form.state))
      terms.push_back(term);
  return algebra.poly(terms);
}

/// The factor without index with which all terms of `part` are among those of `sum`; null if there is none.
const Poly *DeltaFormBuilder::factorOfPart(const Poly *sum, const Poly *part) {
  for (const Term &term : sum->terms) {
    const Monomial *scale = quotient(algebra, term.monomial, part->terms.front().monomial);
    if (!scale || scale->axes != Axis::None)
      continue;
    const Poly *factor = algebra.poly(scale, term.coefficient / part->terms.front().coefficient);
    const Poly *product = algebra.multiply(factor, part);
    if (algebra.sub(sum, product)->terms.size() + product->terms.size() == sum->terms.size())
      return factor;
  }
  return nullptr;
}

void recur::analysis::absorbUnitNorm(Algebra &algebra, int64_t keySize, const Poly *&scaled, const Poly *&key) {
  const Poly *square = algebra.multiplyWithinLimit(key, key);
  if (!square)
    return;
  const Poly *norm = algebra.sumOver(square, Axis::Row, keySize);
  for (const Factor &factor : commonFactor(algebra, scaled)->factors) {
    if (!factor.atom->isFunction("inverse") || factor.axis != Axis::None)
      continue;
    const Term *root = factor.atom->arguments[0]->single();
    if (!root || root->monomial->exponent || root->monomial->factors.size() != 1 ||
        !root->monomial->factors[0].atom->isFunction("sqrt"))
      continue;
    const Poly *underRoot = root->monomial->factors[0].atom->arguments[0];
    if (!algebra.sub(underRoot, norm)->asNumber())
      continue;
    const Monomial *inverse = algebra.monomial(Factor{factor.atom, factor.axis, 1}, nullptr);
    scaled = quotient(algebra, scaled, inverse);
    key = algebra.multiply(key, algebra.poly(inverse));
    return;
  }
}

//===----------------------------------------------------------------------===//
// Which read at which point
//===----------------------------------------------------------------------===//

/// The state with the first `count` writes of the stage done; null if that is too large to expand.
const Poly *DeltaFormBuilder::stateAfterWrites(Stage &stage, unsigned count) {
  if (stage.after.empty())
    stage.after.push_back(stage.start);
  while (stage.after.size() <= count) {
    const Write &write = stage.writes[stage.after.size() - 1];
    const Poly *before = stage.after.back();
    const Poly *term = reads.place(write.value, write.key);
    stage.after.push_back(before && term ? algebra.add(before, term) : nullptr);
  }
  return stage.after[count];
}

/// Writes `value`, which sees the first `visibleWrites` of the token, as free part plus reads. Any affine value can be
/// read from the undecayed state with one key; the search is for the point and key that explain it with the fewest
/// terms, which is how its author meant it. `decayAfter`: the scalar by which the token scales the value later on.
Expected<AffineValue> DeltaFormBuilder::explain(const Poly *value, unsigned visibleWrites, bool crossed,
                                                const Poly *decayAfter) {
  // All reads of one stage with one scale over the value channels are one read with the sum of their keys.
  SmallVector<Term, 4> freeTerms;
  MapVector<std::pair<unsigned, const Monomial *>, const Poly *> keyOfScale;
  for (const Term &term : value->terms) {
    if (!dependsOn(term.monomial->states, form.state)) {
      freeTerms.push_back(term);
      continue;
    }
    Expected<StateReads::Linear> found = reads.linearIn(term.monomial, crossed);
    if (!found)
      return found.takeError();
    Algebra::Split parts = algebra.split(found->rest);
    const Poly *key = algebra.multiply(algebra.poly(parts.scalar, term.coefficient), found->key);
    auto [entry, isNew] = keyOfScale.try_emplace({found->stage, parts.row}, key);
    if (!isNew)
      entry->second = algebra.add(entry->second, key);
  }
  AffineValue result{algebra.poly(freeTerms), {}};
  for (auto [place, key] : keyOfScale) {
    // Only a value with one scale can see the token's own writes: theirs has no other.
    const Poly *scale = algebra.poly(place.second);
    Read read = keyOfScale.size() == 1 ? bestRead(place.first, value, result.free, scale, key, visibleWrites, crossed)
                                       : plainRead(place.first, scale, key, crossed);
    // A long key that the program computes stays as it is, so that nobody has to compute it from its terms.
    constexpr size_t longKey = 16;
    if (read.key->terms.size() <= longKey || !expressions.valueOf(read.key, 1)) {
      Content content = extractContent(algebra, read.key);
      read.scale = algebra.multiply(read.scale, content.scale);
      read.key = content.direction;
      absorbUnitNorm(algebra, reads.keySize(), read.scale, read.key);
    }
    read.scale = scaleOfMoved(algebra.multiply(decayAfter, read.scale), place.first, read.point.decayed);
    if (!read.scale)
      return noForm("the state is read before a decay that comes after " + Twine(stages[place.first].firstWrite) +
                        " writes that read the state",
                    "that read after the decay, or no such decay");
    read.point.decayed |= place.first > 0;
    result.reads.push_back(read);
  }
  result.free = algebra.multiply(decayAfter, result.free);
  return result;
}

/// The scale of a read of the stage when all decays of the token have been moved to its front, so that it sees those of
/// later stages and, if it stood before it, the stage's own; null if they do not divide out.
const Poly *DeltaFormBuilder::scaleOfMoved(const Poly *scale, unsigned stage, bool isDecayed) {
  if (stage == 0 && !isDecayed)
    return scale;
  const Poly *moved = stages[stage].laterDecay;
  if (!isDecayed)
    moved = algebra.multiply(moved, stages[stage].keyDecay);
  return quotient(algebra, scale, moved);
}

/// The read of the state before the stage's writes: decayed if the decay divides out of it, else undecayed.
Read DeltaFormBuilder::plainRead(unsigned stage, const Poly *scale, const Poly *key, bool crossed) {
  auto [keyDecay, scaleDecay] = decaysOfSides(stage, crossed);
  const Poly *decayedKey = quotient(algebra, key, keyDecay);
  const Poly *decayedScale = quotient(algebra, scale, scaleDecay);
  if (decayedKey && decayedScale)
    return {decayedScale, decayedKey, {true, stages[stage].firstWrite}};
  // What is read between two stages comes before the decay of the second.
  return {scale, key, {false, stages[stage].firstWrite}};
}

/// As plainRead, or from a point that sees some of the token's writes if that needs fewer terms; `free` becomes what is
/// left of the value.
Read DeltaFormBuilder::bestRead(unsigned number, const Poly *value, const Poly *&free, const Poly *scale,
                                const Poly *key, unsigned visibleWrites, bool crossed) {
  Read best = plainRead(number, scale, key, crossed);
  Stage &stage = stages[number];
  unsigned visible = std::min<unsigned>(visibleWrites - stage.firstWrite, stage.writes.size());
  auto [keyDecay, scaleDecay] = decaysOfSides(number, crossed);
  const Poly *decayedScale = quotient(algebra, scale, scaleDecay);
  if (!visible || !decayedScale || keyDecay->isZero())
    return best;
  // The search ends when it has looked at this many terms: what it has found by then is right too.
  constexpr size_t mostTerms = 1 << 18;
  size_t bestCost = best.key->terms.size() + free->terms.size(), numTerms = 0;
  for (const Poly *candidate : candidateKeys(number, dividedTerms(key, keyDecay), crossed)) {
    for (unsigned seen = visible; seen > 0 && numTerms <= mostTerms; --seen) {
      const Poly *state = stateAfterWrites(stage, seen);
      const Poly *read = state ? reads.readWith(state, candidate, crossed) : nullptr;
      const Poly *scaled = read ? algebra.multiplyWithinLimit(decayedScale, read) : nullptr;
      if (!scaled)
        continue;
      numTerms += state->terms.size() * candidate->terms.size() + scaled->terms.size();
      const Poly *remainder = algebra.sub(value, scaled);
      size_t cost = candidate->terms.size() + remainder->terms.size();
      if (remainder->dependsOn(form.state) || cost > bestCost || (cost == bestCost && best.point.writes))
        continue;
      best = {decayedScale, candidate, {true, stage.firstWrite + seen}};
      free = remainder;
      bestCost = cost;
      // No other candidate is cheaper by more than the one term that is left.
      if (remainder->terms.size() <= 1)
        return best;
    }
  }
  return best;
}

/// The keys that a read which saw some writes may have had: those that the program reads with, times what makes them
/// part of `key`; then the leading terms of `key`. All else in `key` would come from the writes.
SmallVector<const Poly *, 8> DeltaFormBuilder::candidateKeys(unsigned stage, const Poly *key, bool crossed) {
  if (key->isZero())
    return {};
  SetVector<const Poly *> candidates, keysInProgram;
  for (const Poly *known : reads.keysInProgram(recurrence, stage, crossed)) {
    keysInProgram.insert(known);
    // The program may read the decayed state, which this key is for.
    if (const Poly *divided = quotient(algebra, known, decaysOfSides(stage, crossed).first))
      keysInProgram.insert(divided);
  }
  auto coefficientOf = [&](const Monomial *monomial) {
    const Term *found = find_if(key->terms, [&](const Term &term) { return term.monomial == monomial; });
    return found == key->terms.end() ? 0.0 : found->coefficient;
  };
  SetVector<const Poly *> summands;
  for (const Poly *known : keysInProgram) {
    bool found = false;
    const Term &first = known->terms.front();
    for (const Term &term : key->terms) {
      const Monomial *scale = quotient(algebra, term.monomial, first.monomial);
      if (!scale || scale->axes != Axis::None)
        continue;
      const Poly *candidate = algebra.multiply(algebra.poly(scale, term.coefficient / first.coefficient), known);
      if (all_of(candidate->terms, [&](const Term &part) {
            double present = coefficientOf(part.monomial);
            return std::abs(present - part.coefficient) <= 1e-9 * std::abs(present);
          })) {
        candidates.insert(candidate);
        // The terms are in the order of their degree, and what the writes bring has more factors.
        if (!found)
          summands.insert(candidate);
        found = true;
      }
    }
  }
  // A read with a sum of keys may be spelled as a sum of reads.
  constexpr size_t mostSummands = 6;
  const Poly *total = algebra.zero();
  for (size_t i = 0; i < std::min(summands.size(), mostSummands); ++i) {
    total = algebra.add(total, summands[i]);
    candidates.insert(total);
    for (size_t j = 0; j < i; ++j)
      candidates.insert(algebra.add(summands[i], summands[j]));
  }
  // A key that the program does not spell out is likely to be short: the leading terms, or what has one index in
  // common.
  constexpr size_t longestKey = 4, mostParts = 8;
  const Poly *prefix = algebra.zero();
  for (const Term &term : ArrayRef(key->terms).take_front(longestKey)) {
    prefix = algebra.add(prefix, algebra.poly(term));
    candidates.insert(prefix);
  }
  prefix = algebra.zero();
  SmallVector<IndexedPart, 2> parts = collectIndexed(algebra, key);
  for (const IndexedPart &part : ArrayRef(parts).take_front(mostParts)) {
    const Poly *whole = algebra.multiply(part.coefficient, algebra.poly(part.indexed));
    prefix = algebra.add(prefix, whole);
    candidates.insert(whole);
    candidates.insert(prefix);
  }
  // What the writes bring has more factors than the key itself: try the simple ones first.
  SmallVector<const Poly *, 8> result(candidates.begin(), candidates.end());
  llvm::erase_if(result, [](const Poly *candidate) { return candidate->isZero(); });
  llvm::sort(result, [](const Poly *a, const Poly *b) {
    unsigned degreeA = a->terms.back().monomial->degree(), degreeB = b->terms.back().monomial->degree();
    return degreeA != degreeB ? degreeA < degreeB : compare(a, b) < 0;
  });
  return result;
}

/// The quotient of `key` by the decay, or of those of its terms that the decay divides one by one.
const Poly *DeltaFormBuilder::dividedTerms(const Poly *key, const Poly *decay) {
  if (const Poly *whole = quotient(algebra, key, decay))
    return whole;
  const Poly *result = algebra.zero();
  for (const Term &term : key->terms)
    if (const Poly *divided = quotient(algebra, algebra.poly(term), decay))
      result = algebra.add(result, divided);
  return result;
}

/// The decays of the side that a read's key is on, and of the other side. A scalar decay may be taken out of either; it
/// is taken out of the key.
std::pair<const Poly *, const Poly *> DeltaFormBuilder::decaysOfSides(unsigned stage, bool crossed) {
  const Poly *key = stages[stage].keyDecay, *value = stages[stage].valueDecay;
  if (!crossed)
    return {key, value};
  if (key->axes == Axis::None)
    return {algebra.multiply(key, value), algebra.one()};
  return {value, key};
}

Error DeltaFormBuilder::describeSteps(const Stage &stage) {
  for (const Write &write : stage.writes) {
    Expected<AffineValue> value = explain(write.value, form.steps.size(), /*crossed=*/false, stage.laterDecay);
    if (!value)
      return value.takeError();
    Content content = extractContent(algebra, value->free);
    MicroStep step{content.scale, content.direction, {}, write.key};
    for (Read read : value->reads) {
      read.scale = algebra.negate(read.scale);
      step.reads.push_back(read);
    }
    form.steps.push_back(std::move(step));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reads from outside of the update
//===----------------------------------------------------------------------===//

Error DeltaFormBuilder::findReadouts() {
  Error failure = Error::success();
  reads.forEachUse(recurrence, [&](mlir::Value value, StateReads::Use use, mlir::Operation *user) {
    if (use == StateReads::Use::Whole) {
      form.wholeUses.push_back(user);
      return;
    }
    bool crossed = use == StateReads::Use::Crossed;
    Expected<AffineValue> read = explain(expressions.of(value), form.steps.size(), crossed, algebra.one());
    if (read)
      form.readouts.push_back({value, std::move(*read), crossed});
    else if (failure) // the first is enough
      consumeError(read.takeError());
    else
      failure = read.takeError();
  });
  return failure;
}

char NoForm::ID = 0;

Expected<DeltaForm> recur::analysis::buildDeltaForm(Algebra &algebra, const Expressions &expressions,
                                                    dgps::RecurrenceOp recurrence, unsigned state) {
  return DeltaFormBuilder(algebra, expressions, recurrence, state).build();
}
