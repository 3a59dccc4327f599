#include "Analysis/TropicalForm.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur::algebra;
using namespace recur::analysis;

std::string TropicalForm::print(StringRef first, StringRef second) const {
  std::string sign = isSoft && isMin ? "-" : "";
  StringRef name = isSoft ? "logaddexp" : isMin ? "min" : "max";
  auto argument = [&](StringRef text) {
    return sign.empty() ? text.str() : text.contains(' ') ? "-(" + text.str() + ")" : "-" + text.str();
  };
  return sign + name.str() + "(" + argument(first) + ", " + argument(second) + ")";
}

//===----------------------------------------------------------------------===//
// The larger and the smaller of two
//===----------------------------------------------------------------------===//

/// after = max(state + shift, floor, ...) + offset; or with min, which is -max of the negatives.
static std::optional<TropicalForm> asExtremum(Algebra &algebra, const Poly *before, unsigned state, const Poly *after) {
  TropicalForm form;
  const Term *extremum = nullptr;
  SmallVector<Term, 4> offsets;
  for (const Term &term : after->terms) {
    if (!dependsOn(term.monomial->states, state)) {
      offsets.push_back(term);
      continue;
    }
    const Monomial *m = term.monomial;
    if (extremum || std::abs(term.coefficient) != 1 || m->exponent || m->factors.size() != 1 ||
        m->factors[0].power != 1 || !m->factors[0].atom->isFunction("max"))
      return std::nullopt;
    extremum = &term;
  }
  if (!extremum)
    return std::nullopt;
  double sign = extremum->coefficient;
  form.isMin = sign < 0;
  form.offset = algebra.poly(offsets);
  for (const Poly *argument : extremum->monomial->factors[0].atom->arguments) {
    const Poly *signedArgument = algebra.scale(argument, sign);
    if (!argument->dependsOn(state)) {
      form.floors.push_back(signedArgument);
      continue;
    }
    const Poly *shift = algebra.sub(signedArgument, before);
    if (shift->dependsOn(state))
      return std::nullopt;
    form.shifts.push_back(shift);
  }
  return form;
}

//===----------------------------------------------------------------------===//
// Logarithms of sums of exponentials
//===----------------------------------------------------------------------===//

namespace {

/// Finds what a value is the logarithm of the sum of the exponentials of, in every way to write that: log(exp(a) +
/// exp(b)), a + softplus(b - a), and max(a, b) + softplus(-abs(a - b)), which logaddexp(a, b) becomes.
class LogarithmOfSum {
public:
  LogarithmOfSum(Algebra &algebra, const Poly *before, unsigned state)
      : algebra(algebra), before(before), state(state) {}

  /// Adds the parts of `value`; false if it is no such logarithm.
  bool collect(const Poly *value, unsigned depth = 0);

  /// What the state is shifted by in each part that has it, and the parts without it.
  SmallVector<const Poly *, 2> shifts, others;

private:
  bool collectAll(ArrayRef<const Poly *> parts, unsigned depth);
  bool collectFromMaximum(const Poly *rest, const Poly *argument, unsigned depth);
  bool collectFromSoftplus(const Poly *rest, const Poly *argument, unsigned depth);
  bool collectFromLogarithm(const Poly *rest, const Poly *sum, unsigned depth);

  Algebra &algebra;
  const Poly *before;
  unsigned state;
};

} // namespace

/// The atom that the term consists of, if it is a function of that name and stands for its own elements.
static const Atom *asFunction(const Term &term, StringRef name) {
  const Monomial *m = term.monomial;
  bool isAtom = !m->exponent && m->factors.size() == 1 && m->factors[0].power == 1 && m->factors[0].axis != Axis::Col;
  return isAtom && m->factors[0].atom->isFunction(name) ? m->factors[0].atom : nullptr;
}

bool LogarithmOfSum::collect(const Poly *value, unsigned depth) {
  constexpr unsigned mostDepth = 16; // of logarithms within logarithms
  if (!value->dependsOn(state)) {
    // The same parts, whether they are put together beside the state or around it.
    for (const Term &term : value->terms)
      if (const Atom *softplus = term.coefficient == 1 && depth < mostDepth ? asFunction(term, "softplus") : nullptr;
          softplus &&
          collectFromMaximum(algebra.sub(value, algebra.poly(term.monomial)), softplus->arguments[0], depth))
        return true;
    others.push_back(value);
    return true;
  }
  if (const Poly *shift = algebra.sub(value, before); !shift->dependsOn(state)) {
    shifts.push_back(shift);
    return true;
  }
  if (depth == mostDepth)
    return false;
  for (const Term &term : value->terms) {
    if (term.coefficient != 1 || !dependsOn(term.monomial->states, state))
      continue;
    const Poly *rest = algebra.sub(value, algebra.poly(term.monomial));
    if (const Atom *softplus = asFunction(term, "softplus");
        softplus && collectFromSoftplus(rest, softplus->arguments[0], depth))
      return true;
    if (const Atom *log = asFunction(term, "log"); log && collectFromLogarithm(rest, log->arguments[0], depth))
      return true;
  }
  return false;
}

/// Adds the parts of all values, or of none.
bool LogarithmOfSum::collectAll(ArrayRef<const Poly *> parts, unsigned depth) {
  size_t countShifts = shifts.size(), countOthers = others.size();
  if (all_of(parts, [&](const Poly *part) { return collect(part, depth + 1); }))
    return true;
  shifts.truncate(countShifts);
  others.truncate(countOthers);
  return false;
}

/// The larger of two and what the other adds to it. Where the larger is of more than two, each may be one of them.
bool LogarithmOfSum::collectFromMaximum(const Poly *rest, const Poly *argument, unsigned depth) {
  const Term *apart = argument->single();
  const Atom *size = apart && apart->coefficient == -1 ? asFunction(*apart, "abs") : nullptr;
  if (size)
    for (const Term &term : rest->terms) {
      const Atom *larger = term.coefficient == 1 ? asFunction(term, "max") : nullptr;
      if (!larger)
        continue;
      const Poly *maximum = algebra.poly(term.monomial), *beside = algebra.sub(rest, maximum);
      for (const Poly *one : larger->arguments)
        for (const Poly *other : {algebra.add(one, size->arguments[0]), algebra.sub(one, size->arguments[0])})
          if (algebra.maximum({one, other}) == maximum &&
              collectAll({algebra.add(one, beside), algebra.add(other, beside)}, depth))
            return true;
    }
  return false;
}

/// rest + log(1 + exp(argument)).
bool LogarithmOfSum::collectFromSoftplus(const Poly *rest, const Poly *argument, unsigned depth) {
  return collectFromMaximum(rest, argument, depth) || collectAll({rest, algebra.add(rest, argument)}, depth);
}

/// rest + log(sum), where each term of the sum is an exponential times a positive number.
bool LogarithmOfSum::collectFromLogarithm(const Poly *rest, const Poly *sum, unsigned depth) {
  SmallVector<const Poly *, 4> parts;
  for (const Term &term : sum->terms) {
    if (term.coefficient <= 0 || !term.monomial->factors.empty())
      return false;
    const Poly *exponent = algebra.number(std::log(term.coefficient));
    if (term.monomial->exponent)
      exponent = algebra.add(exponent, term.monomial->exponent);
    parts.push_back(algebra.add(rest, exponent));
  }
  if (parts.size() == 2)
    for (auto [one, other] : {std::pair(parts[0], parts[1]), {parts[1], parts[0]}})
      if (one == rest && collectFromMaximum(rest, algebra.sub(other, rest), depth))
        return true;
  return collectAll(parts, depth);
}

/// after = log(exp(state + shift) + exp(floor) + ...), or -log of the sum of the exponentials of the negatives.
static std::optional<TropicalForm> asLogarithm(Algebra &algebra, const Poly *before, unsigned state,
                                               const Poly *after) {
  for (bool isMin : {false, true}) {
    auto signedPart = [&](const Poly *poly) { return isMin ? algebra.negate(poly) : poly; };
    LogarithmOfSum parts(algebra, signedPart(before), state);
    if (!parts.collect(signedPart(after)))
      continue;
    TropicalForm form;
    form.isMin = isMin;
    form.isSoft = true;
    form.offset = algebra.zero();
    auto take = [&](ArrayRef<const Poly *> from, SmallVectorImpl<const Poly *> &to) {
      for (const Poly *part : from)
        to.push_back(signedPart(part));
      sort(to, [](const Poly *a, const Poly *b) { return compare(a, b) < 0; });
    };
    take(parts.shifts, form.shifts);
    take(parts.others, form.floors);
    return form;
  }
  return std::nullopt;
}

std::optional<TropicalForm> recur::analysis::findTropicalForm(Algebra &algebra, unsigned state, const Poly *before,
                                                              const Poly *after) {
  if (std::optional<TropicalForm> form = asExtremum(algebra, before, state, after))
    return form;
  return asLogarithm(algebra, before, state, after);
}
