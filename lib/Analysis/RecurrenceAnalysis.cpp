#include "Analysis/RecurrenceAnalysis.h"
#include "Analysis/Algebra/Division.h"
#include "Analysis/Window.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

StringRef recur::analysis::nameOf(StateClass stateClass) {
  switch (stateClass) {
  case StateClass::Diagonal:
    return "diagonal";
  case StateClass::Tropical:
    return "tropical";
  case StateClass::Moebius:
    return "moebius";
  case StateClass::Delta:
    return "delta";
  case StateClass::Inverse:
    return "inverse";
  case StateClass::Elementwise:
    return "elementwise";
  case StateClass::General:
    return "general";
  }
  llvm_unreachable("all classes are listed");
}

//===----------------------------------------------------------------------===//
// The simple forms
//===----------------------------------------------------------------------===//

/// after = factor * state + offset, elementwise; none if the state occurs in any other way.
static std::optional<LinearForm> asLinear(Algebra &algebra, const Atom *self, unsigned state, const Poly *after) {
  std::optional<Affine> parts = asAffine(algebra, self, state, after);
  if (!parts)
    return std::nullopt;
  return LinearForm{parts->factor, parts->offset, describeDecay(algebra, parts->factor)};
}

/// Whether some element of the sum varies over rows and columns in a way that no product of a row and a column part
/// does.
static bool isFullRank(Algebra &algebra, const Poly *poly) {
  return any_of(poly->terms, [&](const Term &term) { return !algebra.split(term.monomial).both->isOne(); });
}

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

static std::string decayInWords(const DeltaForm &form) {
  return form.keyDecay.isAbsent() && form.valueDecay.isAbsent() ? "no decay, and " : "a decay, then ";
}

RecurrenceAnalysis::RecurrenceAnalysis(mlir::Operation *op)
    : recurrence(cast<dgps::RecurrenceOp>(op)), algebra(std::make_unique<Algebra>()),
      expressions(std::make_unique<Expressions>(*algebra, recurrence)) {
  SmallVector<SmallBitVector> reach = reachableStates(*expressions);
  for (unsigned state = 0; state < expressions->numStates(); ++state) {
    // States that reach each other advance together, token by token.
    std::optional<unsigned> partner;
    for (unsigned other = 0; other < expressions->numStates(); ++other)
      if (other != state && reach[state].test(other) && reach[other].test(state) && !partner)
        partner = other;
    StateFacts facts;
    if (partner) {
      facts.stateClass = StateClass::General;
      facts.reason = "its update and that of " + expressions->state(*partner).getName().str() +
                     " read each other's state, so they advance together";
      facts.needs = "one of the two updates without the other state";
    } else {
      facts = classify(state);
    }
    facts.op = expressions->state(state);
    facts.feedsOn = expressions->after(state)->states;
    facts.feedsOn.resize(expressions->numStates());
    facts.feedsOn.reset(state);
    states.push_back(std::move(facts));
  }
  findCoupled(/*ofChannels=*/false);
  findComplex(reach); // an angle for each channel costs less than a matrix for each
  findCoupled(/*ofChannels=*/true);
  findNormalizers();
}

/// States that none of the forms of a single state is found for, as one delta state with those that they go on from:
/// those with one matrix, or those with a matrix for each key channel.
void RecurrenceAnalysis::findCoupled(bool ofChannels) {
  llvm::SmallBitVector formless(states.size());
  for (auto [index, facts] : enumerate(states))
    if (facts.stateClass == StateClass::General || facts.stateClass == StateClass::Elementwise)
      formless.set(index);
  for (ArrayRef<unsigned> members : findCoupledStates(*expressions, formless)) {
    if (any_of(members, [&](unsigned member) { return states[member].coupled || states[member].complex; }))
      continue;
    Expected<CoupledForm> form = buildCoupledForm(*algebra, *expressions, recurrence, members);
    if (!form) {
      handleAllErrors(form.takeError(), [&](const NoForm &error) {
        for (unsigned member : members)
          if (formless.test(member) && states[member].stateClass == StateClass::General)
            states[member].needs = "one of the two updates without the other state, or " + error.needs;
      });
      continue;
    }
    if (form->hasChannels() != ofChannels)
      continue;
    auto nameOf = [&](unsigned member) { return dgps::StateOp(states[member].op).getName().str(); };
    for (unsigned member : members) {
      StateFacts &facts = states[member];
      std::string others;
      for (unsigned other : members)
        if (other != member)
          others += (others.empty() ? "" : ", ") + nameOf(other);
      facts.stateClass = StateClass::Delta;
      facts.coupled = coupled.size();
      facts.linear = std::nullopt;
      facts.needs.clear();
      facts.reason = "with " + others + " it is one state: a decay by a matrix" +
                     (ofChannels ? " for each key channel" : "") + ", then rank-one writes " +
                     (form->isOnline() ? "whose values read them linearly" : "that do not read them");
    }
    coupled.push_back(std::move(*form));
  }
}

/// Pairs of states that advance together because the token turns them, and for no other reason.
void RecurrenceAnalysis::findComplex(llvm::ArrayRef<llvm::SmallBitVector> reach) {
  auto isInCycle = [&](unsigned a, unsigned b) { return reach[a].test(b) && reach[b].test(a); };
  for (unsigned a = 0; a < states.size(); ++a)
    for (unsigned b = a + 1; b < states.size(); ++b) {
      auto isFormless = [&](unsigned state) {
        return states[state].stateClass == StateClass::General && !states[state].complex;
      };
      if (!isFormless(a) || !isFormless(b) || !isInCycle(a, b) ||
          any_of(seq<unsigned>(0, states.size()), [&](unsigned c) { return c != a && c != b && isInCycle(a, c); }))
        continue;
      std::optional<ComplexForm> form = findComplexForm(*algebra, *expressions, a, b);
      if (!form)
        continue;
      for (auto [own, other] : {std::pair(a, b), {b, a}}) {
        StateFacts &facts = states[own];
        facts.stateClass = form->isMatrix ? StateClass::Delta : StateClass::Diagonal;
        facts.complex = complexForms.size();
        facts.needs.clear();
        facts.reason = "with " + dgps::StateOp(states[other].op).getName().str() +
                       " it is one complex state that each token turns by an angle: in a frame that turns with it, the "
                       "state only decays, and writes do not read it";
      }
      complexForms.push_back(std::move(*form));
    }
}

StateFacts RecurrenceAnalysis::classify(unsigned state) {
  StateFacts facts;
  const Poly *before = expressions->before(state), *after = expressions->after(state);
  bool isMatrix = expressions->atomOf(state)->rank == 2;
  std::string name = expressions->state(state).getName().str();

  if (std::optional<LinearForm> linear = asLinear(*algebra, expressions->atomOf(state), state, after)) {
    if (!isMatrix) {
      facts.stateClass = StateClass::Diagonal;
      facts.linear = linear;
      facts.reason = "each element becomes a * " + name + " + b, with a and b free of " + name;
      return facts;
    }
    Expected<DeltaForm> delta = buildDeltaForm(*algebra, *expressions, recurrence, state);
    if (delta) {
      facts.stateClass = StateClass::Delta;
      facts.delta = std::move(*delta);
      facts.reason = decayInWords(*facts.delta) + "rank-one writes that do not read " + name;
      return facts;
    }
    consumeError(delta.takeError());
    facts.stateClass = StateClass::Elementwise;
    facts.linear = linear;
    facts.needs =
        "a decay that is a product of one for each row and one for each column, and writes that are outer products";
    if (isFullRank(*algebra, linear->factor))
      facts.reason =
          "each element of " + name + " has a decay of its own, which is no product of a row and a column part";
    else if (isFullRank(*algebra, linear->offset))
      facts.reason = "the matrix that is written into " + name + " is no sum of outer products";
    else
      facts.reason = "the decay of " + name + " is a sum of several products of a row and a column part";
    return facts;
  }
  if (std::optional<TropicalForm> tropical = findTropicalForm(*algebra, state, before, after)) {
    if (!isMatrix) {
      facts.stateClass = StateClass::Tropical;
      facts.tropical = tropical;
      facts.reason = "each element becomes " + tropical->print(name + " + a", "b") + ", with a and b free of " + name;
      return facts;
    }
    facts.stateClass = StateClass::General;
    facts.reason = "it is a matrix that becomes " + tropical->print(name + " + a", "b") +
                   "; only scalars and vectors are scanned so";
    facts.needs = "a vector or a scalar for each of its rows";
    return facts;
  }
  if (!isMatrix)
    facts.moebius = findMoebiusForm(*algebra, expressions->atomOf(state), state, after);
  if (facts.moebius) {
    facts.stateClass = StateClass::Moebius;
    facts.reason =
        "each element becomes (a * " + name + " + b) / (c * " + name + " + d), with all four free of " + name;
    return facts;
  }
  facts.stateClass = StateClass::General;
  if (std::optional<int64_t> tokens = findWindow(expressions->state(state))) {
    facts.reason = ("it holds the last " + Twine(*tokens) + " tokens' values, the latest last").str();
    return facts;
  }
  if (expressions->atomOf(state)->rank == 0) {
    facts.reason = "its update is neither a * " + name + " + b nor max, min or logaddexp of " + name +
                   " + a and b, nor a quotient of two sums like the first";
    facts.needs = "an update of one of these forms, with a and b free of " + name;
    return facts;
  }
  Expected<DeltaForm> delta = buildDeltaForm(*algebra, *expressions, recurrence, state);
  if (!delta) {
    handleAllErrors(delta.takeError(), [&](const NoForm &error) {
      facts.reason = error.reason;
      facts.needs = error.needs;
    });
    Expected<InverseForm> inverse = buildInverseForm(*algebra, *expressions, recurrence, state);
    if (!inverse) {
      handleAllErrors(inverse.takeError(), [&](const NoForm &error) {
        if (error.reason.empty())
          return;
        facts.reason = error.reason;
        facts.needs = error.needs;
      });
      return facts;
    }
    facts.stateClass = StateClass::Inverse;
    facts.inverse = std::move(*inverse);
    facts.needs.clear();
    facts.reason = "each token subtracts an outer product of its products with keys, so that it stays the inverse of a "
                   "sum of outer products";
    return facts;
  }
  facts.stateClass = StateClass::Delta;
  facts.delta = std::move(*delta);
  facts.reason = decayInWords(*facts.delta) + "rank-one writes whose values read " + name + " linearly";
  return facts;
}

/// A vector z with the decay of S and, as its only offset, a scalar times S's only write key is one more row of S.
void RecurrenceAnalysis::findNormalizers() {
  for (StateFacts &candidate : states) {
    if (candidate.stateClass != StateClass::Diagonal || !candidate.linear ||
        expressions->atomOf(expressions->indexOf(candidate.op))->rank != 1)
      continue;
    for (auto [index, other] : enumerate(states)) {
      if (!other.delta || other.delta->steps.size() != 1 || other.delta->isOnline() ||
          other.delta->orientation == Orientation::Vector || !other.delta->valueDecay.isAbsent() ||
          other.delta->keyDecay.linear != candidate.linear->factor)
        continue;
      const Poly *ratio = quotient(*algebra, candidate.linear->offset, other.delta->steps[0].write);
      if (ratio && !ratio->isZero() && ratio->axes == Axis::None)
        candidate.normalizerOf = index;
    }
  }
}
