#include "Analysis/CoupledForm.h"
#include "Analysis/Algebra/Division.h"
#include "Analysis/StateReads.h"
#include "llvm/ADT/MapVector.h"

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

//===----------------------------------------------------------------------===//
// The matrix
//===----------------------------------------------------------------------===//

bool CoupledForm::hasChannels() const {
  return any_of(
      matrix, [](ArrayRef<Decay> row) { return any_of(row, [](const Decay &factor) { return !factor.isScalar(); }); });
}

SmallVector<unsigned, 2> CoupledForm::orderMembers() const {
  SmallVector<unsigned, 2> order;
  auto isReady = [&](unsigned member) {
    return all_of(seq<unsigned>(0, states.size()), [&](unsigned from) {
      return from == member || is_contained(order, from) || matrix[member][from].linear->isZero();
    });
  };
  while (order.size() < states.size()) {
    size_t before = order.size();
    for (unsigned member = 0; member < states.size(); ++member)
      if (!is_contained(order, member) && isReady(member))
        order.push_back(member);
    if (order.size() == before)
      return {};
  }
  return order;
}

std::optional<unsigned> CoupledForm::findAdded(unsigned member) const {
  for (unsigned other = 0; other < states.size(); ++other) {
    auto isSame = [&](unsigned from) {
      return from == member || matrix[member][from].linear == matrix[other][from].linear;
    };
    if (other != member && vectors.test(other) == vectors.test(member) && matrix[other][member].linear->isZero() &&
        all_of(seq<unsigned>(0, states.size()), isSame) &&
        all_of(writes, [&](const CoupledWrite &write) { return write.factors[member] == write.factors[other]; }))
      return other;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

namespace {

class CoupledFormBuilder {
public:
  CoupledFormBuilder(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence,
                     ArrayRef<unsigned> states)
      : algebra(algebra), expressions(expressions), recurrence(recurrence) {
    form.states.assign(states.begin(), states.end());
    for (unsigned state : states) {
      reads.emplace_back(algebra, expressions, state);
      form.vectors.push_back(expressions.atomOf(state)->rank == 1);
    }
  }

  Expected<CoupledForm> build() {
    if (Error error = chooseOrientation())
      return std::move(error);
    if (Error error = checkSizes())
      return std::move(error);
    form.matrix.resize(reads.size());
    for (unsigned member = 0; member < reads.size(); ++member)
      if (Error error = collect(member))
        return std::move(error);
    if (writes.empty())
      return noForm("nothing is written into the states", "a write");
    joinWritesOfVectors();
    for (auto &[what, factors] : writes) {
      if (Error error = describe(what.first, what.second, factors))
        return std::move(error);
    }
    return std::move(form);
  }

private:
  Error chooseOrientation();
  Error checkSizes() const;
  Error collect(unsigned member);
  void addWrite(const Poly *value, const Poly *key, unsigned member, const Poly *factor);
  void joinWritesOfVectors();
  Error describe(const Poly *value, const Poly *key, ArrayRef<const Poly *> factors);
  CoupledWrite makeWrite(const Poly *gain, ArrayRef<const Poly *> factorsOfVectors, ArrayRef<const Poly *> keys);
  Expected<std::optional<unsigned>> memberIn(const Monomial *monomial) const;
  Expected<StateReads::Linear> linearIn(const Monomial *monomial, unsigned member);
  Expected<const Monomial *> factorOfVector(const Monomial *monomial, unsigned member) const;
  int64_t keySize() const;
  /// What goes by the key channel as a vector.
  const Poly *channelsAsRows(const Poly *factor) const {
    return factor->axes == Axis::None ? factor : algebra.transpose(factor);
  }

  Algebra &algebra;
  const Expressions &expressions;
  dgps::RecurrenceOp recurrence;
  SmallVector<StateReads, 2> reads; ///< by member
  /// By what is written, but for a scalar factor, and its key, which is null for vectors: the factors by member.
  MapVector<std::pair<const Poly *, const Poly *>, SmallVector<const Poly *, 2>> writes;
  CoupledForm form;
};

} // namespace

/// On which side the updates read the states; where they do not, on which side the rest of the program does.
Error CoupledFormBuilder::chooseOrientation() {
  bool right = false, left = false;
  for (auto [number, member] : enumerate(reads)) {
    if (member.numStages() > 1)
      return noForm("the update is too large to analyse", "fewer writes in one token");
    if (form.vectors.test(number))
      continue;
    for (unsigned state : form.states) {
      right |= member.hasRead(expressions.after(state), Axis::Col);
      left |= member.hasRead(expressions.after(state), Axis::Row);
    }
  }
  if (right && left)
    return noForm("the updates read the states from both sides (S @ x and x @ S)", "reads from one side alone");
  if (!right && !left)
    for (auto [number, member] : enumerate(reads))
      if (!form.vectors.test(number))
        member.forEachUse(recurrence, [&](mlir::Value, StateReads::Use use, mlir::Operation *) {
          right |= use == StateReads::Use::Read;
          left |= use == StateReads::Use::Crossed;
        });
  form.orientation = left && !right ? Orientation::Left : Orientation::Right;
  for (StateReads &member : reads)
    member.orientation = form.orientation;
  return Error::success();
}

int64_t CoupledFormBuilder::keySize() const { return reads[form.vectors.find_first_unset()].keySize(); }

/// The vectors are those over the value channels.
Error CoupledFormBuilder::checkSizes() const {
  auto shapeOf = [&](unsigned member) {
    return dgps::shapeOf(dgps::StateOp(expressions.state(form.states[member])).getResult());
  };
  ArrayRef<int64_t> matrix = shapeOf(form.vectors.find_first_unset());
  int64_t values = matrix[form.orientation == Orientation::Right ? 0 : 1];
  for (unsigned member : form.vectors.set_bits())
    if (shapeOf(member)[0] != values)
      return noForm("one of its vectors goes along the keys", "vectors over the value channels only");
  return Error::success();
}

/// The member that the product depends on, which may be none.
Expected<std::optional<unsigned>> CoupledFormBuilder::memberIn(const Monomial *monomial) const {
  std::optional<unsigned> found;
  for (auto [member, state] : enumerate(form.states)) {
    if (!dependsOn(monomial->states, state))
      continue;
    if (found)
      return noForm("the update multiplies states with each other", "an update that is linear in the states");
    found = member;
  }
  return found;
}

/// What a vector of the members, which stands in the product as it is, is multiplied with there.
Expected<const Monomial *> CoupledFormBuilder::factorOfVector(const Monomial *monomial, unsigned member) const {
  const Atom *self = expressions.atomOf(form.states[member]);
  SmallVector<Factor, 4> rest;
  bool isThere = false;
  for (const Factor &factor : monomial->factors) {
    bool isSelf = factor.atom == self && factor.axis == Axis::Row && factor.power == 1;
    if (!isSelf && dependsOn(factor.atom->states, form.states[member]))
      return noForm("the update is not linear in one of its vectors", "sums and multiples of vectors that are kept");
    isThere |= isSelf;
    if (!isSelf)
      rest.push_back(factor);
  }
  if (!isThere || (monomial->exponent && dependsOn(monomial->exponent->states, form.states[member])))
    return noForm("the update depends on an exponential of one of its vectors",
                  "an update that is linear in the state");
  return algebra.monomial(rest, monomial->exponent);
}

/// The product taken apart by the member that it depends on: a matrix, or a read of one; or a vector, which is read as
/// it is.
Expected<StateReads::Linear> CoupledFormBuilder::linearIn(const Monomial *monomial, unsigned member) {
  if (!form.vectors.test(member))
    return reads[member].linearIn(monomial);
  Expected<const Monomial *> rest = factorOfVector(monomial, member);
  if (!rest)
    return rest.takeError();
  const Atom *self = expressions.atomOf(form.states[member]);
  return StateReads::Linear{*rest, algebra.monomial(Factor{self, Axis::Row, 1}, nullptr), /*isState=*/false};
}

/// Takes apart what the token makes of the member.
Error CoupledFormBuilder::collect(unsigned member) {
  bool isVector = form.vectors.test(member);
  SmallVector<SmallVector<Term, 2>, 2> decays(reads.size());
  MapVector<const Monomial *, SmallVector<Term, 4>> valuesOfKey;
  const Poly *after = expressions.after(form.states[member]);
  for (const Term &term : (isVector ? after : reads[member].inRoles(after))->terms) {
    Expected<std::optional<unsigned>> from = memberIn(term.monomial);
    if (!from)
      return from.takeError();
    const Monomial *rest = term.monomial, *read = algebra.oneMonomial();
    if (*from) {
      Expected<StateReads::Linear> linear = linearIn(term.monomial, **from);
      if (!linear)
        return linear.takeError();
      rest = linear->rest;
      // A vector with a factor for each value channel is read by a write, whose gain that is.
      bool isVectorItself = isVector && form.vectors.test(**from) && rest->axes == Axis::None;
      if (linear->isState || isVectorItself) {
        if (varies(rest->axes, Axis::Row))
          return noForm("the update scales states by a factor for each value channel",
                        "factors that are scalars or go by the key channel");
        if (rest->axes != Axis::None && form.vectors.any())
          return noForm("some of the states are vectors, and the update scales states by a factor for each key channel",
                        "factors that are scalars");
        decays[**from].push_back({rest, term.coefficient});
        continue;
      }
      read = linear->factor;
    }
    Algebra::Split parts = algebra.split(rest);
    if (!parts.both->isOne())
      return noForm("a matrix that is no outer product is written into the state", "writes that are outer products");
    valuesOfKey[parts.col].push_back(
        {algebra.multiply(algebra.multiply(parts.scalar, parts.row), read), term.coefficient});
  }
  for (ArrayRef<Term> terms : decays)
    form.matrix[member].push_back(describeDecay(algebra, channelsAsRows(algebra.poly(terms))));
  // What is written under several keys is one write under their sum.
  MapVector<const Poly *, const Poly *> keyOfValue;
  for (auto &[key, terms] : valuesOfKey) {
    Content content = extractContent(algebra, algebra.poly(terms));
    if (isVector) {
      addWrite(content.direction, nullptr, member, content.scale);
      continue;
    }
    const Poly *scaled = algebra.multiply(content.scale, algebra.transpose(algebra.poly(key)));
    auto [entry, isNew] = keyOfValue.try_emplace(content.direction, scaled);
    if (!isNew)
      entry->second = algebra.add(entry->second, scaled);
  }
  for (auto [value, key] : keyOfValue) {
    if (key->isZero())
      continue;
    Content content = extractContent(algebra, key);
    absorbUnitNorm(algebra, keySize(), content.scale, content.direction);
    addWrite(value, content.direction, member, content.scale);
  }
  return Error::success();
}

void CoupledFormBuilder::addWrite(const Poly *value, const Poly *key, unsigned member, const Poly *factor) {
  auto [entry, isNew] = writes.try_emplace({value, key});
  if (isNew)
    entry->second.assign(reads.size(), algebra.zero());
  entry->second[member] = algebra.add(entry->second[member], factor);
}

/// A vector takes what a matrix is written, whatever the key.
void CoupledFormBuilder::joinWritesOfVectors() {
  for (auto &[what, factors] : writes) {
    if (what.second)
      continue;
    auto *joined = find_if(
        writes, [value = what.first](const auto &other) { return other.first.first == value && other.first.second; });
    if (joined == writes.end())
      continue;
    for (unsigned member : form.vectors.set_bits())
      joined->second[member] = std::exchange(factors[member], algebra.zero());
  }
  writes.remove_if([](const auto &write) {
    return !write.first.second && all_of(write.second, [](const Poly *factor) { return factor->isZero(); });
  });
}

/// What is written as a free part and reads of the states before the token. Reads with different gains for the value
/// channels are writes of their own.
Error CoupledFormBuilder::describe(const Poly *value, const Poly *key, ArrayRef<const Poly *> factors) {
  SmallVector<Term, 4> freeTerms;
  struct Reads {
    SmallVector<const Poly *, 2> keys, factorsOfVectors; // by member
  };
  MapVector<const Monomial *, Reads> readsOfGain;
  for (const Term &term : value->terms) {
    Expected<std::optional<unsigned>> from = memberIn(term.monomial);
    if (!from)
      return from.takeError();
    if (!*from) {
      freeTerms.push_back(term);
      continue;
    }
    Expected<StateReads::Linear> linear = linearIn(term.monomial, **from);
    if (!linear)
      return linear.takeError();
    Algebra::Split parts = algebra.split(linear->rest);
    Reads &own = readsOfGain[parts.row];
    if (own.keys.empty()) {
      own.keys.assign(reads.size(), algebra.zero());
      own.factorsOfVectors = own.keys;
    }
    const Poly *scale = algebra.poly(parts.scalar, term.coefficient);
    if (form.vectors.test(**from))
      own.factorsOfVectors[**from] = algebra.add(own.factorsOfVectors[**from], scale);
    else
      own.keys[**from] = algebra.add(own.keys[**from], algebra.multiply(scale, linear->key));
  }
  if (readsOfGain.empty())
    readsOfGain[algebra.oneMonomial()] = {SmallVector<const Poly *, 2>(reads.size(), algebra.zero()),
                                          SmallVector<const Poly *, 2>(reads.size(), algebra.zero())};
  const Poly *free = algebra.poly(freeTerms);
  for (auto &[gain, own] : readsOfGain) {
    CoupledWrite write = makeWrite(algebra.poly(gain), own.factorsOfVectors, own.keys);
    write.free = std::exchange(free, algebra.zero());
    write.write = key;
    write.factors.assign(factors.begin(), factors.end());
    form.writes.push_back(std::move(write));
  }
  return Error::success();
}

/// A write that reads with these keys: members with keys in common are read together.
CoupledWrite CoupledFormBuilder::makeWrite(const Poly *gain, ArrayRef<const Poly *> factorsOfVectors,
                                           ArrayRef<const Poly *> keys) {
  CoupledWrite write{algebra.zero(), gain, {}, nullptr, {}};
  for (auto [member, read] : enumerate(keys)) {
    if (read->isZero())
      continue;
    Content content = extractContent(algebra, read);
    absorbUnitNorm(algebra, keySize(), content.scale, content.direction);
    auto known = find_if(write.reads, [&](const CoupledRead &other) { return other.key == content.direction; });
    if (known == write.reads.end()) {
      write.reads.push_back({content.direction, SmallVector<const Poly *, 2>(reads.size(), algebra.zero())});
      known = std::prev(write.reads.end());
    }
    known->factors[member] = content.scale;
  }
  if (any_of(factorsOfVectors, [](const Poly *factor) { return !factor->isZero(); }))
    write.reads.push_back({nullptr, SmallVector<const Poly *, 2>(factorsOfVectors)});
  return write;
}

Expected<CoupledForm> recur::analysis::buildCoupledForm(Algebra &algebra, const Expressions &expressions,
                                                        dgps::RecurrenceOp recurrence, ArrayRef<unsigned> states) {
  return CoupledFormBuilder(algebra, expressions, recurrence, states).build();
}

//===----------------------------------------------------------------------===//
// Which states
//===----------------------------------------------------------------------===//

/// For each state, the states that it reaches by "its update reads".
SmallVector<SmallBitVector> recur::analysis::reachableStates(const Expressions &expressions) {
  unsigned count = expressions.numStates();
  SmallVector<SmallBitVector> reach(count, SmallBitVector(count));
  for (unsigned state = 0; state < count; ++state) {
    reach[state] |= expressions.after(state)->states;
    reach[state].resize(count);
  }
  for (unsigned via = 0; via < count; ++via)
    for (unsigned from = 0; from < count; ++from)
      if (reach[from].test(via))
        reach[from] |= reach[via];
  return reach;
}

/// Whether the whole of one matrix is a part of what the other becomes.
static bool goesOnFrom(const Expressions &expressions, unsigned state, unsigned from) {
  const Atom *atom = expressions.atomOf(from);
  return any_of(expressions.after(state)->terms, [&](const Term &term) {
    return any_of(term.monomial->factors,
                  [&](const Factor &factor) { return factor.atom == atom && factor.axis == Axis::Both; });
  });
}

SmallVector<SmallVector<unsigned, 2>, 1> recur::analysis::findCoupledStates(const Expressions &expressions,
                                                                            const SmallBitVector &formless) {
  unsigned count = expressions.numStates();
  SmallVector<SmallBitVector> reach = reachableStates(expressions);
  SmallVector<unsigned, 4> groupOf(count);
  std::iota(groupOf.begin(), groupOf.end(), 0);
  for (unsigned state : formless.set_bits())
    for (unsigned other = 0; other < count; ++other)
      if (other != state &&
          ((reach[state].test(other) && reach[other].test(state)) || goesOnFrom(expressions, state, other)))
        std::replace(groupOf.begin(), groupOf.end(), groupOf[other], groupOf[state]);
  SmallVector<SmallVector<unsigned, 2>, 1> groups;
  for (unsigned first = 0; first < count; ++first) {
    SmallVector<unsigned, 2> members;
    for (unsigned state = 0; state < count; ++state)
      if (groupOf[state] == groupOf[first])
        members.push_back(state);
    auto shapeOf = [&](unsigned state) { return dgps::shapeOf(expressions.state(state).getResult()); };
    auto isOutside = [&](unsigned state) { return groupOf[state] != groupOf[first]; };
    // A state between two members would have to come after the one and before the other.
    auto isBetween = [&](unsigned state) {
      return isOutside(state) && any_of(members, [&](unsigned member) { return reach[state].test(member); }) &&
             any_of(members, [&](unsigned member) { return reach[member].test(state); });
    };
    const unsigned *matrix = find_if(members, [&](unsigned member) { return shapeOf(member).size() == 2; });
    if (members.size() > 1 && members.front() == first && matrix != members.end() &&
        all_of(members,
               [&](unsigned member) { return shapeOf(member).size() == 1 || shapeOf(member) == shapeOf(*matrix); }) &&
        none_of(seq<unsigned>(0, count), isBetween))
      groups.push_back(std::move(members));
  }
  return groups;
}
