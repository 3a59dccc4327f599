#include "Analysis/ComplexForm.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

namespace {
/// What a state becomes as factors of the two states, elementwise, and what is added.
struct Update {
  const Poly *ofReal, *ofImaginary, *addition;
};

/// The angle and the rest of a product with a cosine.
struct Turn {
  const Poly *angle, *decay;
  Axis axis;
};
} // namespace

/// None if one of the states occurs in any other way.
static std::optional<Update> takeApart(Algebra &algebra, const Poly *after, const Atom *real, const Atom *imaginary,
                                       ArrayRef<unsigned> states) {
  SmallVector<Term, 4> factors[2], additions;
  auto dependsOnEither = [&](const SmallBitVector &on) {
    return any_of(states, [&](unsigned state) { return dependsOn(on, state); });
  };
  for (const Term &term : after->terms) {
    if (!dependsOnEither(term.monomial->states)) {
      additions.push_back(term);
      continue;
    }
    SmallVector<Factor, 4> rest;
    SmallVector<unsigned, 1> found;
    for (const Factor &factor : term.monomial->factors) {
      bool isState = (factor.atom == real || factor.atom == imaginary) && factor.axis != Axis::Col;
      if (!isState)
        rest.push_back(factor);
      else
        found.append(factor.power, factor.atom == imaginary);
    }
    const Monomial *coefficient = algebra.monomial(rest, term.monomial->exponent);
    if (found.size() != 1 || dependsOnEither(coefficient->states))
      return std::nullopt;
    factors[found.front()].push_back({coefficient, term.coefficient});
  }
  return Update{algebra.poly(factors[0]), algebra.poly(factors[1]), algebra.poly(additions)};
}

/// `along` = decay * cos(angle), `across` = decay * sin(angle).
static std::optional<Turn> findTurn(Algebra &algebra, const Poly *along, const Poly *across) {
  if (along->isZero() || across->isZero())
    return std::nullopt;
  for (const Factor &factor : along->terms.front().monomial->factors) {
    if (!factor.atom->isFunction("cos"))
      continue;
    const Poly *decay = quotient(algebra, along, algebra.monomial(Factor{factor.atom, factor.axis, 1}, nullptr));
    if (!decay)
      continue;
    const Poly *angle = factor.atom->arguments[0], *sine = algebra.elementwise("sin", angle);
    if (factor.axis == Axis::Col)
      sine = algebra.transpose(sine);
    // The sine of the negative angle may be spelled in two ways.
    const Poly *negative = algebra.elementwise("sin", algebra.negate(angle));
    if (factor.axis == Axis::Col)
      negative = algebra.transpose(negative);
    for (auto [spelled, of] : {std::pair(sine, angle), {negative, algebra.negate(angle)}}) {
      const Poly *product = algebra.multiply(decay, spelled);
      if (product == across)
        return Turn{of, decay, factor.axis};
      if (product == algebra.negate(across))
        return Turn{algebra.negate(of), decay, factor.axis};
    }
  }
  return std::nullopt;
}

std::optional<ComplexForm> recur::analysis::findComplexForm(Algebra &algebra, const Expressions &expressions,
                                                            unsigned a, unsigned b) {
  const Atom *real = expressions.atomOf(a), *imaginary = expressions.atomOf(b);
  auto shapeOf = [&](unsigned state) { return dgps::shapeOf(dgps::StateOp(expressions.state(state)).getResult()); };
  if (shapeOf(a) != shapeOf(b))
    return std::nullopt;
  std::optional<Update> ofReal = takeApart(algebra, expressions.after(a), real, imaginary, {a, b});
  std::optional<Update> ofImaginary = takeApart(algebra, expressions.after(b), real, imaginary, {a, b});
  if (!ofReal || !ofImaginary || ofReal->ofReal != ofImaginary->ofImaginary ||
      ofReal->ofImaginary != algebra.negate(ofImaginary->ofReal))
    return std::nullopt;
  ComplexForm form{
      .real = a, .imaginary = b, .isMatrix = real->rank == 2, .additions = {ofReal->addition, ofImaginary->addition}};
  Axis axes;
  if (std::optional<Turn> turn = findTurn(algebra, ofReal->ofReal, ofImaginary->ofReal)) {
    axes = turn->axis;
    form.angle = turn->angle;
    form.decay = turn->decay;
  } else {
    const Poly *along = ofReal->ofReal, *across = ofImaginary->ofReal;
    axes = unite(along->axes, across->axes);
    auto overRows = [&](const Poly *poly) { return poly->axes == Axis::Col ? algebra.transpose(poly) : poly; };
    form.along = overRows(along);
    form.across = overRows(across);
  }
  if (!form.isMatrix)
    return form;
  form.transposed = axes == Axis::Row;
  // What is written is turned along the keys, so it must have keys; and so must the decay.
  auto isRankOne = [&](const Term &term) { return algebra.split(term.monomial).both->isOne(); };
  if (axes == Axis::Both || (form.decay && form.decay->axes == Axis::Both))
    return std::nullopt;
  for (const Poly *addition : form.additions)
    if (!all_of(addition->terms, isRankOne))
      return std::nullopt;
  return form;
}
