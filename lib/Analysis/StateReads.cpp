#include "Analysis/StateReads.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

/// A sum over `summed` of the state times what does not depend on it.
bool StateReads::isRead(const Atom *atom, Axis summed) const {
  if (atom->kind != Atom::Kind::Sum || atom->summed != summed)
    return false;
  if (atom->product->exponent && dependsOn(atom->product->exponent->states, state))
    return false;
  unsigned found = 0;
  for (const Factor &factor : atom->product->factors) {
    if (factor.atom == self)
      found += factor.power;
    else if (dependsOn(factor.atom->states, state))
      return false;
  }
  return found == 1;
}

/// Whether `value` holds a read over `summed`, in itself or in a written value.
bool StateReads::hasRead(const Poly *value, Axis summed) const {
  return any_of(value->terms, [&](const Term &term) {
    return any_of(term.monomial->factors, [&](const Factor &factor) {
      return isRead(factor.atom, summed) ||
             (factor.atom->isFunction("written") && hasRead(factor.atom->arguments[0], summed));
    });
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

Expected<Orientation> StateReads::chooseOrientation(const Poly *after, dgps::RecurrenceOp recurrence) {
  if (self->rank == 1)
    return Orientation::Vector;
  bool right = hasRead(after, Axis::Col), left = hasRead(after, Axis::Row);
  if (right && left)
    return createStringError("the update reads the state from both sides (S @ x and x @ S)");
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
  if (atom->kind == Atom::Kind::Function)
    return createStringError("the update depends on %s of the state", atom->name.c_str());
  if (atom->kind == Atom::Kind::Leaf)
    return createStringError("the update is too large to be taken apart");
  return createStringError("the update mixes the value channels of the state");
}

Expected<StateReads::Linear> StateReads::linearIn(const Monomial *monomial, bool crossed) {
  if (monomial->exponent && dependsOn(monomial->exponent->states, state))
    return createStringError("the update depends on an exponential of the state");
  SmallVector<Factor, 4> rest;
  const Factor *found = nullptr;
  for (const Factor &factor : monomial->factors) {
    if (!dependsOn(factor.atom->states, state)) {
      rest.push_back(factor);
      continue;
    }
    if (found || factor.power > 1)
      return createStringError("the update multiplies the state with itself");
    found = &factor;
  }
  Linear result{algebra.monomial(rest, monomial->exponent), algebra.monomial(*found, nullptr), found->atom == self,
                nullptr};
  bool vector = orientation == Orientation::Vector;
  if (result.isState) {
    if (found->axis != (vector ? Axis::Col : Axis::Both))
      return createStringError("the state is used as a vector of its own rows");
    return result;
  }
  Axis summed = summedAxis(crossed);
  bool isWritten = found->atom->isFunction("written");
  if (!isWritten && !isRead(found->atom, summed))
    return nonLinear(found->atom);
  if (found->axis != (vector ? Axis::None : Axis::Row))
    return createStringError("what is read from the state is written as a key, which mixes its value channels");
  if (isWritten)
    return result;
  SmallVector<Factor, 4> key;
  for (const Factor &factor : found->atom->product->factors)
    if (factor.atom != self)
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

SmallVector<const Poly *, 4> StateReads::keysInProgram(dgps::RecurrenceOp recurrence, bool crossed) {
  SetVector<const Poly *> keys;
  auto add = [&](mlir::Value stateValue, mlir::Value key) {
    const Poly *poly = expressions.of(key);
    if (!holdsStateItself(stateValue) || poly->dependsOn(state) || poly->isZero())
      return;
    keys.insert(extractContent(algebra, poly).direction);
    // With what scales the key channels of the state where it is read.
    for (const Term &term : inRoles(expressions.of(stateValue))->terms) {
      const Factor *itself = find_if(term.monomial->factors, [&](const Factor &factor) { return factor.atom == self; });
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
    return any_of(term.monomial->factors, [&](const Factor &factor) { return factor.atom == self; });
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
