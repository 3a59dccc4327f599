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

class DeltaFormBuilder {
public:
  DeltaFormBuilder(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence, unsigned state)
      : algebra(algebra), expressions(expressions), recurrence(recurrence), reads(algebra, expressions, state) {
    form.state = state;
  }

  Expected<DeltaForm> build() {
    const Poly *after = expressions.after(form.state);
    Expected<Orientation> orientation = reads.chooseOrientation(after, recurrence);
    if (!orientation)
      return orientation.takeError();
    form.orientation = *orientation;
    reads.orientation = *orientation;
    if (Error error = collect(after))
      return std::move(error);
    mergeProportional();
    if (Error error = describeSteps())
      return std::move(error);
    if (Error error = findReadouts())
      return std::move(error);
    return std::move(form);
  }

private:
  Error collect(const Poly *after);
  Error separateDecay(const Poly *decay);
  void mergeProportional();
  const Poly *factorOfPart(const Poly *sum, const Poly *part);
  void absorbUnitNorm(const Poly *&scaled, const Poly *&key);
  Error describeSteps();
  const Poly *spelledOut(const Poly *value);
  Error findReadouts();
  Expected<AffineValue> explain(const Poly *value, unsigned visibleWrites, bool crossed);
  Read plainRead(const Poly *scale, const Poly *key, bool crossed);
  Read bestRead(const Poly *value, const Poly *&free, const Poly *scale, const Poly *key, unsigned visibleWrites,
                bool crossed);
  SmallVector<const Poly *, 8> candidateKeys(const Poly *key, bool crossed);
  const Poly *dividedTerms(const Poly *key, const Poly *decay);
  std::pair<const Poly *, const Poly *> decaysOfSides(bool crossed);
  const Poly *stateAfterWrites(unsigned count);

  Algebra &algebra;
  const Expressions &expressions;
  dgps::RecurrenceOp recurrence;
  StateReads reads;
  const Poly *decayOfState = nullptr; ///< in the state's own rows and columns
  SmallVector<Write, 2> writes;
  SmallVector<const Poly *, 4> statesAfterWrites;
  DeltaForm form;
};

} // namespace

//===----------------------------------------------------------------------===//
// The update as decay * state + rank-one writes
//===----------------------------------------------------------------------===//

Error DeltaFormBuilder::collect(const Poly *after) {
  SmallVector<Term, 4> decayTerms;
  MapVector<const Monomial *, SmallVector<Term, 4>> valuesOfKey;
  for (const Term &term : reads.inRoles(after)->terms) {
    const Monomial *rest = term.monomial;
    const Monomial *read = algebra.oneMonomial();
    if (dependsOn(term.monomial->states, form.state)) {
      Expected<StateReads::Linear> linear = reads.linearIn(term.monomial);
      if (!linear)
        return linear.takeError();
      rest = linear->rest;
      if (linear->isState) {
        decayTerms.push_back({rest, term.coefficient});
        continue;
      }
      read = linear->factor;
    }
    Algebra::Split parts = algebra.split(rest);
    if (!parts.both->isOne())
      return createStringError("a matrix that is no outer product is written into the state");
    const Monomial *value = algebra.multiply(algebra.multiply(parts.scalar, parts.row), read);
    valuesOfKey[parts.col].push_back({value, term.coefficient});
  }
  for (auto &[key, terms] : valuesOfKey)
    writes.push_back({algebra.poly(terms), algebra.transpose(algebra.poly(key))});
  return separateDecay(algebra.poly(decayTerms));
}

/// Tells the decay's value side from its key side.
Error DeltaFormBuilder::separateDecay(const Poly *decay) {
  decayOfState = reads.inRoles(decay);
  const Poly *value = algebra.one(), *key = decay;
  if (varies(decay->axes, Axis::Row)) {
    // The decay is a product of both sides if each value-side part has the same key-side coefficient, but for a number.
    MapVector<const Monomial *, SmallVector<Term, 4>> keysOfValue;
    for (const Term &term : decay->terms) {
      Algebra::Split parts = algebra.split(term.monomial);
      if (!parts.both->isOne())
        return createStringError("each element of the state has a decay of its own, and the state is also read");
      keysOfValue[parts.row].push_back({algebra.multiply(parts.scalar, parts.col), term.coefficient});
    }
    key = algebra.poly(keysOfValue.front().second);
    value = algebra.zero();
    for (auto &[row, terms] : keysOfValue) {
      const Poly *ratio = quotient(algebra, algebra.poly(terms), key);
      if (!ratio || varies(ratio->axes, Axis::Col))
        return createStringError("each element of the state has a decay of its own, and the state is also read");
      value = algebra.add(value, algebra.multiply(algebra.poly(row), ratio));
    }
  } else if (any_of(decay->terms, [&](const Term &term) { return !algebra.split(term.monomial).both->isOne(); })) {
    return createStringError("each element of the state has a decay of its own, and the state is also read");
  }
  form.keyDecay = describeDecay(algebra, algebra.transpose(key));
  form.valueDecay = describeDecay(algebra, value);
  return Error::success();
}

/// Writes of one value under several keys are one write under the keys' sum: outer(v, 1 - a) is expanded to two.
void DeltaFormBuilder::mergeProportional() {
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
    SmallVector<std::pair<const Poly *, const Poly *>, 2> parts; // direction, factor
    const Poly *rest = sum;
    for (auto &[direction, otherKey] : keyOfDirection) {
      if (direction == sum || otherKey->isZero() || direction->terms.size() >= sum->terms.size())
        continue;
      if (const Poly *factor = factorOfPart(rest, direction)) {
        rest = algebra.sub(rest, algebra.multiply(factor, direction));
        parts.push_back({direction, factor});
      }
    }
    if (!rest->isZero())
      continue;
    for (auto [direction, factor] : parts)
      keyOfDirection[direction] = algebra.add(keyOfDirection[direction], algebra.multiply(factor, key));
    key = algebra.zero();
  }
  writes.clear();
  for (auto [direction, key] : keyOfDirection) {
    if (key->isZero())
      continue;
    Content content = extractContent(algebra, key);
    Write merged{algebra.multiply(content.scale, direction), content.direction};
    absorbUnitNorm(merged.value, merged.key);
    writes.push_back(merged);
  }
  // Simple writes first: a later step may read what an earlier one wrote.
  llvm::sort(writes, [&](const Write &a, const Write &b) {
    size_t lengthA = spelledOut(a.value)->terms.size(), lengthB = spelledOut(b.value)->terms.size();
    if (lengthA != lengthB)
      return lengthA < lengthB;
    bool readsA = a.value->dependsOn(form.state), readsB = b.value->dependsOn(form.state);
    return readsA != readsB ? readsA : compare(a.key, b.key) < 0;
  });
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

/// If all of `scaled` is divided by the length of `key` (up to a constant below the root), the key is meant to have
/// unit length: moves the division there, so that the key stays as well scaled as the author made it.
void DeltaFormBuilder::absorbUnitNorm(const Poly *&scaled, const Poly *&key) {
  const Poly *square = algebra.multiplyWithinLimit(key, key);
  if (!square)
    return;
  const Poly *norm = algebra.sumOver(square, Axis::Row, reads.keySize());
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

/// The decayed state with the first `count` writes done; null if that is too large to expand.
const Poly *DeltaFormBuilder::stateAfterWrites(unsigned count) {
  if (statesAfterWrites.empty())
    statesAfterWrites.push_back(algebra.multiply(decayOfState, expressions.before(form.state)));
  while (statesAfterWrites.size() <= count) {
    const Write &write = writes[statesAfterWrites.size() - 1];
    const Poly *before = statesAfterWrites.back();
    const Poly *term = reads.place(write.value, write.key);
    statesAfterWrites.push_back(before && term ? algebra.add(before, term) : nullptr);
  }
  return statesAfterWrites[count];
}

/// Writes `value` as free part plus reads. Any affine value can be read from the undecayed state with one key; the
/// search is for the point and key that explain it with the fewest terms, which is how its author meant it.
Expected<AffineValue> DeltaFormBuilder::explain(const Poly *value, unsigned visibleWrites, bool crossed) {
  // All reads with one scale over the value channels are one read with the sum of their keys.
  SmallVector<Term, 4> freeTerms;
  MapVector<const Monomial *, const Poly *> keyOfScale;
  bool usesWritten = false;
  for (const Term &term : value->terms) {
    if (!dependsOn(term.monomial->states, form.state)) {
      freeTerms.push_back(term);
      continue;
    }
    Expected<StateReads::Linear> found = reads.linearIn(term.monomial, crossed);
    if (!found)
      return found.takeError();
    const StateReads::Linear &linear = *found;
    // A written value is explained by the read that saw it.
    if (!linear.key) {
      usesWritten = true;
      continue;
    }
    Algebra::Split parts = algebra.split(linear.rest);
    const Poly *key = algebra.multiply(algebra.poly(parts.scalar, term.coefficient), linear.key);
    auto [entry, isNew] = keyOfScale.try_emplace(parts.row, key);
    if (!isNew)
      entry->second = algebra.add(entry->second, key);
  }
  AffineValue result{algebra.poly(freeTerms), {}};
  if (usesWritten && keyOfScale.size() != 1)
    return createStringError("the update is too large to be taken apart");
  for (auto [scale, key] : keyOfScale) {
    // Only a value with one scale can see the token's own writes: theirs has no other.
    Read read = keyOfScale.size() == 1 ? bestRead(value, result.free, algebra.poly(scale), key, visibleWrites, crossed)
                                       : plainRead(algebra.poly(scale), key, crossed);
    if (usesWritten && !read.point.writes)
      return createStringError("the update is too large to be taken apart");
    Content content = extractContent(algebra, read.key);
    read.scale = algebra.multiply(read.scale, content.scale);
    read.key = content.direction;
    absorbUnitNorm(read.scale, read.key);
    result.reads.push_back(read);
  }
  return result;
}

/// The read of the state before the token's writes: decayed if the decay divides out of it, else undecayed.
Read DeltaFormBuilder::plainRead(const Poly *scale, const Poly *key, bool crossed) {
  auto [keyDecay, scaleDecay] = decaysOfSides(crossed);
  const Poly *decayedKey = quotient(algebra, key, keyDecay);
  const Poly *decayedScale = quotient(algebra, scale, scaleDecay);
  if (decayedKey && decayedScale)
    return {decayedScale, decayedKey, {true, 0}};
  return {scale, key, {false, 0}};
}

/// As plainRead, or from a point that sees some of the token's writes if that needs fewer terms; `free` becomes what is
/// left of the value.
Read DeltaFormBuilder::bestRead(const Poly *value, const Poly *&free, const Poly *scale, const Poly *key,
                                unsigned visibleWrites, bool crossed) {
  Read best = plainRead(scale, key, crossed);
  auto [keyDecay, scaleDecay] = decaysOfSides(crossed);
  const Poly *decayedScale = quotient(algebra, scale, scaleDecay);
  if (!visibleWrites || !decayedScale || keyDecay->isZero())
    return best;
  size_t bestCost = best.key->terms.size() + free->terms.size();
  for (const Poly *candidate : candidateKeys(dividedTerms(key, keyDecay), crossed)) {
    for (unsigned seen = visibleWrites; seen > 0; --seen) {
      const Poly *state = stateAfterWrites(seen);
      const Poly *read = state ? reads.readWith(state, candidate, crossed) : nullptr;
      const Poly *scaled = read ? algebra.multiplyWithinLimit(decayedScale, read) : nullptr;
      if (!scaled)
        continue;
      const Poly *remainder = algebra.sub(value, scaled);
      size_t cost = candidate->terms.size() + remainder->terms.size();
      if (remainder->dependsOn(form.state) || cost > bestCost || (cost == bestCost && best.point.writes))
        continue;
      best = {decayedScale, candidate, {true, seen}};
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
SmallVector<const Poly *, 8> DeltaFormBuilder::candidateKeys(const Poly *key, bool crossed) {
  if (key->isZero())
    return {};
  SetVector<const Poly *> candidates, keysInProgram;
  for (const Poly *known : reads.keysInProgram(recurrence, crossed)) {
    keysInProgram.insert(known);
    // The program may read the decayed state, which this key is for.
    if (const Poly *divided = quotient(algebra, known, decaysOfSides(crossed).first))
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
std::pair<const Poly *, const Poly *> DeltaFormBuilder::decaysOfSides(bool crossed) {
  const Poly *key = form.keyDecay.linear, *value = form.valueDecay.linear;
  if (!crossed)
    return {key, value};
  if (form.keyDecay.isScalar())
    return {algebra.multiply(key, value), algebra.one()};
  return {value, key};
}

Error DeltaFormBuilder::describeSteps() {
  for (auto [index, write] : llvm::enumerate(writes)) {
    Expected<AffineValue> value = explain(spelledOut(write.value), index, /*crossed=*/false);
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

/// A written value that stands under a short name, in full.
const Poly *DeltaFormBuilder::spelledOut(const Poly *value) {
  Content content = extractContent(algebra, value);
  const Term *only = content.direction->single();
  if (!only || only->coefficient != 1 || only->monomial->exponent || only->monomial->factors.size() != 1 ||
      !only->monomial->factors[0].atom->isFunction("written"))
    return value;
  return algebra.multiply(content.scale, only->monomial->factors[0].atom->arguments[0]);
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
    Expected<AffineValue> read = explain(expressions.of(value), form.steps.size(), crossed);
    if (read)
      form.readouts.push_back({value, std::move(*read), crossed});
    else
      failure = joinErrors(std::move(failure), read.takeError());
  });
  return failure;
}

Expected<DeltaForm> recur::analysis::buildDeltaForm(Algebra &algebra, const Expressions &expressions,
                                                    dgps::RecurrenceOp recurrence, unsigned state) {
  return DeltaFormBuilder(algebra, expressions, recurrence, state).build();
}
