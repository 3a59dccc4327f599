#include "Analysis/StateReads.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

/// The stage that `value` is written in, if it is the one that starts from `self`.
static const Atom *stageBelow(const Poly *value, const Atom *self) {
  for (const Term &term : value->terms)
    for (const Factor &factor : term.monomial->factors)
      if (factor.atom->isStage() && factor.atom->rank == self->rank &&
          factor.axis == (self->rank == 2 ? Axis::Both : Axis::Row))
        return factor.atom;
  return nullptr;
}

StateReads::StateReads(Algebra &algebra, const Expressions &expressions, unsigned state)
    : algebra(algebra), expressions(expressions), state(state) {
  const Atom *self = expressions.atomOf(state);
  for (const Atom *stage = stageBelow(expressions.after(state), self); stage;
       stage = stageBelow(stage->arguments[0], self))
    stages.push_back(stage);
  stages.push_back(self);
  std::reverse(stages.begin(), stages.end());
  Axis axis = self->rank == 0 ? Axis::None : self->rank == 1 ? Axis::Row : Axis::Both;
  for (auto [number, atom] : enumerate(stages)) {
    numbers[atom] = number;
    stagePolys.push_back(algebra.poly(algebra.monomial(Factor{atom, axis, 1}, nullptr)));
  }
}

const Poly *StateReads::next(unsigned stage) const {
  return stage + 1 < stages.size() ? stages[stage + 1]->arguments[0] : expressions.after(state);
}

std::optional<unsigned> StateReads::stageOf(const Atom *atom) const {
  auto found = numbers.find(atom);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

/// The stage of a sum over `summed` of the state times what does not depend on it; none for other sums.
std::optional<unsigned> StateReads::stageReadBy(const Atom *atom, Axis summed) const {
  if (atom->kind != Atom::Kind::Sum || atom->summed != summed)
    return std::nullopt;
  if (atom->product->exponent && dependsOn(atom->product->exponent->states, state))
    return std::nullopt;
  std::optional<unsigned> read;
  for (const Factor &factor : atom->product->factors) {
    std::optional<unsigned> stage = stageOf(factor.atom);
    if (stage && !read && factor.power == 1)
      read = stage;
    else if (stage || dependsOn(factor.atom->states, state))
      return std::nullopt;
  }
  return read;
}

bool StateReads::hasRead(const Poly *value, Axis summed) const {
  return any_of(value->terms, [&](const Term &term) {
    return any_of(term.monomial->factors,
                  [&](const Factor &factor) { return stageReadBy(factor.atom, summed).has_value(); });
  });
}

Axis StateReads::summedAxis(bool crossed) const {
  bool columns = (orientation == Orientation::Right) != crossed;
  return columns ? Axis::Col : Axis::Row;
}

int64_t StateReads::keySize(bool crossed) const {
  ArrayRef<int64_t> shape = dgps::shapeOf(dgps::StateOp(expressions.state(state)).getResult());
  return shape[summedAxis(crossed) == Axis::Col ? 1 : 0];
}

//===----------------------------------------------------------------------===//
// Orientation
//===----------------------------------------------------------------------===//

Expected<Orientation> StateReads::chooseOrientation(dgps::RecurrenceOp recurrence) {
  if (expressions.atomOf(state)->rank == 1)
    return Orientation::Vector;
  bool right = false, left = false;
  for (unsigned stage = 0; stage < numStages(); ++stage) {
    right |= hasRead(next(stage), Axis::Col);
    left |= hasRead(next(stage), Axis::Row);
  }
  if (right && left)
    return noForm("the update reads the state from both sides (S @ x and x @ S)", "reads from one side alone");
  if (right || left)
    return right ? Orientation::Right : Orientation::Left;
  // An update that does not read fits both; let the side from which the state is read be the key's.
  orientation = Orientation::Right;
  forEachUse(recurrence, [&](mlir::Value, Use use, mlir::Operation *) {
    right |= use == Use::Read;
    left |= use == Use::Crossed;
  });
  return left && !right ? Orientation::Left : Orientation::Right;
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

/// Says in words which operation on the state is not linear.
static Error nonLinear(const Atom *atom) {
  bool isMoved = atom->kind == Atom::Kind::Leaf
                     ? isa_and_nonnull<dgps::ConcatOp, dgps::SliceOp, dgps::ExtractOp>(atom->leaf.getDefiningOp())
                     : any_of(ArrayRef<StringRef>{"concat", "slice", "extract"},
                              [&](StringRef mover) { return atom->isFunction(mover); });
  if (isMoved)
    return noForm("the update moves the state's rows",
                  "an update that leaves each row in its place; what a token had n tokens before is delay(x, n)");
  if (atom->kind == Atom::Kind::Leaf || atom->isFunction("value") || atom->isStage())
    return noForm("the update is too large to analyse", "fewer factors that are sums, or fewer writes in one token");
  if (atom->kind == Atom::Kind::Function)
    return noForm("the update depends on " + Twine(atom->name) + " of the state",
                  "an update that is linear in the state");
  return noForm("the update mixes the value channels of the state",
                "a write to each value channel that reads that channel alone");
}

Expected<StateReads::Linear> StateReads::linearIn(const Monomial *monomial, bool crossed) {
  if (monomial->exponent && dependsOn(monomial->exponent->states, state))
    return noForm("the update depends on an exponential of the state", "an update that is linear in the state");
  SmallVector<Factor, 4> rest;
  const Factor *found = nullptr;
  for (const Factor &factor : monomial->factors) {
    if (!dependsOn(factor.atom->states, state)) {
      rest.push_back(factor);
      continue;
    }
    if (found || factor.power > 1)
      return noForm("the update multiplies the state with itself", "an update that is linear in the state");
    found = &factor;
  }
  std::optional<unsigned> stage = stageOf(found->atom);
  Linear result{algebra.monomial(rest, monomial->exponent), algebra.monomial(*found, nullptr), stage.has_value(),
                stage.value_or(0)};
  bool vector = orientation == Orientation::Vector;
  if (result.isState) {
    if (found->axis != (vector ? Axis::Col : Axis::Both))
      return noForm("the state is used as a vector of its own rows", "products of the state with vectors");
    return result;
  }
  Axis summed = summedAxis(crossed);
  std::optional<unsigned> read = stageReadBy(found->atom, summed);
  if (!read)
    return nonLinear(found->atom);
  result.stage = *read;
  if (found->axis != (vector ? Axis::None : Axis::Row))
    return noForm("a vector that is read from the state is written as a key, which mixes the value channels",
                  "keys that do not depend on the state");
  SmallVector<Factor, 4> key;
  for (const Factor &factor : found->atom->product->factors)
    if (!stageOf(factor.atom))
      key.push_back(factor);
  result.key = algebra.poly(algebra.monomial(key, found->atom->product->exponent));
  if (summed == Axis::Col)
    result.key = algebra.transpose(result.key);
  return result;
}

const Poly *StateReads::readWith(const Poly *matrix, const Poly *key, bool crossed) {
  bool columns = summedAxis(crossed) == Axis::Col;
  const Poly *product = algebra.multiplyWithinLimit(matrix, columns ? algebra.transpose(key) : key);
  if (!product)
    return nullptr;
  const Poly *sum = algebra.sumOver(product, columns ? Axis::Col : Axis::Row, keySize(crossed));
  return columns ? sum : algebra.transpose(sum);
}

ArrayRef<const Poly *> StateReads::keysInProgram(dgps::RecurrenceOp recurrence, unsigned stage, bool crossed) {
  auto [keys, isNew] = knownKeys.try_emplace({stage, crossed});
  if (isNew)
    keys->second = findKeys(recurrence, stage, crossed);
  return keys->second;
}

SmallVector<const Poly *, 4> StateReads::findKeys(dgps::RecurrenceOp recurrence, unsigned stage, bool crossed) {
  SetVector<const Poly *> keys;
  const Atom *self = stages[stage];
  auto isSelf = [&](const Factor &factor) { return factor.atom == self; };
  auto add = [&](mlir::Value stateValue, mlir::Value key) {
    const Poly *poly = expressions.of(key);
    if (poly->dependsOn(state) || poly->isZero() || none_of(expressions.of(stateValue)->terms, [&](const Term &term) {
          return any_of(term.monomial->factors, isSelf);
        }))
      return;
    keys.insert(extractContent(algebra, poly).direction);
    // The key may also be meant with the factors that scale the state's key channels where it is read.
    for (const Term &term : inRoles(expressions.of(stateValue))->terms) {
      const Factor *itself = find_if(term.monomial->factors, isSelf);
      if (itself == term.monomial->factors.end() || itself->power > 1)
        continue;
      SmallVector<Factor, 4> rest(term.monomial->factors.begin(), term.monomial->factors.end());
      rest.erase(rest.begin() + (itself - term.monomial->factors.begin()));
      Algebra::Split parts = algebra.split(algebra.monomial(rest, term.monomial->exponent));
      const Poly *channels = crossed ? algebra.poly(parts.row) : algebra.transpose(algebra.poly(parts.col));
      if (const Poly *scaled = algebra.multiplyWithinLimit(channels, poly))
        keys.insert(extractContent(algebra, scaled).direction);
    }
  };
  bool columns = summedAxis(crossed) == Axis::Col;
  for (mlir::Operation &op : recurrence.getBody().front()) {
    if (auto dot = dyn_cast<dgps::DotOp>(op); dot && orientation == Orientation::Vector) {
      add(dot.getLhs(), dot.getRhs());
      add(dot.getRhs(), dot.getLhs());
    } else if (auto product = dyn_cast<dgps::MatvecOp>(op); product && columns) {
      add(product.getMatrix(), product.getVector());
    } else if (auto product = dyn_cast<dgps::VecmatOp>(op); product && !columns) {
      add(product.getMatrix(), product.getVector());
    }
  }
  return SmallVector<const Poly *, 4>(keys.begin(), keys.end());
}

const Poly *StateReads::place(const Poly *value, const Poly *key) {
  switch (orientation) {
  case Orientation::Right:
    return algebra.multiplyWithinLimit(value, algebra.transpose(key));
  case Orientation::Left:
    return algebra.multiplyWithinLimit(algebra.transpose(value), key);
  case Orientation::Vector:
    return algebra.multiplyWithinLimit(value, key);
  }
  llvm_unreachable("all orientations are listed");
}

//===----------------------------------------------------------------------===//
// Uses outside of the update
//===----------------------------------------------------------------------===//

bool StateReads::holdsStateItself(mlir::Value value) const {
  return any_of(expressions.of(value)->terms, [&](const Term &term) {
    return any_of(term.monomial->factors, [&](const Factor &factor) { return stageOf(factor.atom).has_value(); });
  });
}

bool StateReads::isAffineRead(mlir::Value value, bool crossed) {
  if (crossed && orientation == Orientation::Vector)
    return false;
  size_t rank = orientation == Orientation::Vector ? 0 : 1;
  if (dgps::shapeOf(value).size() != rank)
    return false;
  return all_of(expressions.of(value)->terms, [&](const Term &term) {
    if (!dependsOn(term.monomial->states, state))
      return true;
    Expected<Linear> linear = linearIn(term.monomial, crossed);
    if (!linear) {
      consumeError(linear.takeError());
      return false;
    }
    return !linear->isState;
  });
}

void StateReads::forEachUse(dgps::RecurrenceOp recurrence,
                            function_ref<void(mlir::Value, Use, mlir::Operation *)> found) {
  SetVector<std::pair<mlir::Value, mlir::Operation *>> work;
  for (dgps::OutputOp output : recurrence.getOutputs())
    work.insert({output.getValue(), output});
  for (dgps::StateOp other : recurrence.getStates())
    if (other != expressions.state(state))
      work.insert({other.getNext().getValue(), other.getNext()});
  DenseSet<mlir::Value> reported;
  for (size_t i = 0; i < work.size(); ++i) {
    auto [value, user] = work[i];
    if (!expressions.of(value)->dependsOn(state))
      continue;
    bool read = isAffineRead(value, /*crossed=*/false);
    if (read || isAffineRead(value, /*crossed=*/true)) {
      if (reported.insert(value).second)
        found(value, read ? Use::Read : Use::Crossed, user);
    } else if (holdsStateItself(value)) {
      found(value, Use::Whole, user);
    } else {
      for (mlir::Value operand : value.getDefiningOp()->getOperands())
        work.insert({operand, value.getDefiningOp()});
    }
  }
}
