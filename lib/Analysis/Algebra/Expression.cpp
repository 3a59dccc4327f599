#include "Analysis/Algebra/Expression.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace llvm;
using namespace recur::algebra;

//===----------------------------------------------------------------------===//
// Identity and order
//===----------------------------------------------------------------------===//

/// Numbers that differ by rounding alone count as one: 0.1 + 0.2 and 0.3 must not be two expressions.
static uint64_t roundedBits(double value) {
  constexpr uint64_t ignored = 12; // of the 52 bits of the mantissa
  uint64_t bits = bit_cast<uint64_t>(value);
  return (bits + (uint64_t(1) << (ignored - 1))) >> ignored;
}

void Atom::Profile(FoldingSetNodeID &id) const {
  id.AddInteger(unsigned(kind));
  id.AddInteger(rank);
  id.AddPointer(leaf.getAsOpaquePointer());
  id.AddString(name);
  id.AddInteger(parameter);
  for (const Poly *argument : arguments)
    id.AddPointer(argument);
  id.AddPointer(product);
  id.AddInteger(unsigned(summed));
}

void Monomial::Profile(FoldingSetNodeID &id) const {
  for (const Factor &factor : factors) {
    id.AddPointer(factor.atom);
    id.AddInteger(unsigned(factor.axis));
    id.AddInteger(factor.power);
  }
  id.AddPointer(exponent);
}

void Poly::Profile(FoldingSetNodeID &id) const {
  for (const Term &term : terms) {
    id.AddPointer(term.monomial);
    id.AddInteger(roundedBits(term.coefficient));
  }
}

unsigned Monomial::degree() const {
  unsigned degree = exponent ? 1 : 0;
  for (const Factor &factor : factors)
    degree += factor.power;
  return degree;
}

std::optional<double> Poly::asNumber() const {
  if (terms.empty())
    return 0.0;
  if (terms.size() == 1 && terms[0].monomial->isOne())
    return terms[0].coefficient;
  return std::nullopt;
}

double Poly::leadingCoefficient() const {
  double leading = 0;
  for (const Term &term : terms)
    if (std::abs(term.coefficient) > std::abs(leading) * (1 + 1e-12))
      leading = term.coefficient;
  return leading;
}

template <typename T> static int compareValues(const T &a, const T &b) { return a < b ? -1 : b < a ? 1 : 0; }

int recur::algebra::compare(const Atom *a, const Atom *b) {
  if (a == b)
    return 0;
  if (int c = compareValues(a->kind, b->kind))
    return c;
  if (int c = compareValues(a->order, b->order))
    return c;
  if (int c = a->name.compare(b->name))
    return c;
  if (int c = compareValues(a->parameter, b->parameter))
    return c;
  if (int c = compareValues(a->summed, b->summed))
    return c;
  if (a->product && b->product)
    if (int c = compare(a->product, b->product))
      return c;
  if (int c = compareValues(a->arguments.size(), b->arguments.size()))
    return c;
  for (auto [x, y] : zip(a->arguments, b->arguments))
    if (int c = compare(x, y))
      return c;
  return 0;
}

static int compareFactors(const Factor &a, const Factor &b) {
  if (int c = compare(a.atom, b.atom))
    return c;
  if (int c = compareValues(a.axis, b.axis))
    return c;
  return compareValues(a.power, b.power);
}

int recur::algebra::compare(const Monomial *a, const Monomial *b) {
  if (a == b)
    return 0;
  if (int c = compareValues(a->degree(), b->degree()))
    return c;
  if (int c = compareValues(a->factors.size(), b->factors.size()))
    return c;
  for (auto [x, y] : zip(a->factors, b->factors))
    if (int c = compareFactors(x, y))
      return c;
  if (!a->exponent || !b->exponent)
    return a->exponent ? 1 : b->exponent ? -1 : 0;
  return compare(a->exponent, b->exponent);
}

int recur::algebra::compare(const Poly *a, const Poly *b) {
  if (a == b)
    return 0;
  if (int c = compareValues(a->terms.size(), b->terms.size()))
    return c;
  for (auto [x, y] : zip(a->terms, b->terms)) {
    if (int c = compare(x.monomial, y.monomial))
      return c;
    if (int c = compareValues(x.coefficient, y.coefficient))
      return c;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// The one object that equals `node`: a known one, or the node itself.
template <typename Node> static const Node *unify(Node node, FoldingSet<Node> &set, std::deque<Node> &store) {
  FoldingSetNodeID id;
  node.Profile(id);
  void *position;
  if (Node *known = set.FindNodeOrInsertPos(id, position))
    return known;
  store.push_back(std::move(node));
  set.InsertNode(&store.back(), position);
  return &store.back();
}

Algebra::Algebra() {
  unit = monomial({}, nullptr);
  zeroPoly = poly(ArrayRef<Term>{});
  onePoly = poly(unit);
}

const Monomial *Algebra::monomial(ArrayRef<Factor> factors, const Poly *exponent) {
  Monomial result;
  result.factors.assign(factors.begin(), factors.end());
  // Equal atoms over equal indices become one factor.
  sort(result.factors, [](const Factor &a, const Factor &b) {
    int c = compare(a.atom, b.atom);
    return c ? c < 0 : a.axis < b.axis;
  });
  SmallVector<Factor, 4> merged;
  for (const Factor &factor : result.factors) {
    if (!merged.empty() && merged.back().atom == factor.atom && merged.back().axis == factor.axis)
      merged.back().power += factor.power;
    else
      merged.push_back(factor);
  }
  result.factors = std::move(merged);
  result.exponent = exponent && !exponent->isZero() ? exponent : nullptr;
  for (const Factor &factor : result.factors) {
    result.states |= factor.atom->states;
    result.axes = unite(result.axes, factor.axis);
  }
  if (result.exponent) {
    result.states |= result.exponent->states;
    result.axes = unite(result.axes, result.exponent->axes);
  }
  return unify(std::move(result), monomials, monomialStore);
}

const Poly *Algebra::poly(ArrayRef<Term> terms) {
  // Add up the terms of one monomial; what cancels to rounding is zero.
  Poly result;
  DenseMap<const Monomial *, std::pair<double, double>> sums; // the sum, and the largest summand
  SmallVector<const Monomial *, 4> order;
  for (const Term &term : terms) {
    auto [entry, isNew] = sums.try_emplace(term.monomial, 0.0, 0.0);
    if (isNew)
      order.push_back(term.monomial);
    entry->second.first += term.coefficient;
    entry->second.second = std::max(entry->second.second, std::abs(term.coefficient));
  }
  for (const Monomial *monomial : order) {
    auto [sum, largest] = sums[monomial];
    if (std::abs(sum) > 1e-13 * largest || std::isnan(sum))
      result.terms.push_back({monomial, sum});
  }
  sort(result.terms, [](const Term &a, const Term &b) { return compare(a.monomial, b.monomial) < 0; });
  for (const Term &term : result.terms) {
    result.states |= term.monomial->states;
    result.axes = unite(result.axes, term.monomial->axes);
  }
  return unify(std::move(result), polys, polyStore);
}

const Poly *Algebra::poly(const Monomial *m, double coefficient) { return poly(Term{m, coefficient}); }
const Poly *Algebra::number(double value) { return value == 0 ? zeroPoly : poly(unit, value); }

static Axis axisOfRank(unsigned rank) { return rank == 0 ? Axis::None : rank == 1 ? Axis::Row : Axis::Both; }

const Poly *Algebra::atomPoly(Atom &&atom) {
  const Atom *interned = unify(std::move(atom), atoms, atomStore);
  return poly(monomial(Factor{interned, axisOfRank(interned->rank), 1}, nullptr));
}

const Poly *Algebra::leaf(mlir::Value value, unsigned order, const SmallBitVector &states) {
  Atom atom;
  atom.kind = Atom::Kind::Leaf;
  atom.leaf = value;
  atom.order = order;
  atom.rank = mlir::cast<dgps::RealType>(value.getType()).getRank();
  atom.states = states;
  return atomPoly(std::move(atom));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

const Poly *Algebra::add(const Poly *a, const Poly *b) {
  SmallVector<Term, 8> terms(a->terms.begin(), a->terms.end());
  terms.append(b->terms.begin(), b->terms.end());
  return poly(terms);
}

const Poly *Algebra::scale(const Poly *a, double factor) {
  SmallVector<Term, 8> terms(a->terms.begin(), a->terms.end());
  for (Term &term : terms)
    term.coefficient *= factor;
  return poly(terms);
}

const Monomial *Algebra::multiply(const Monomial *a, const Monomial *b) {
  if (a->isOne())
    return b;
  if (b->isOne())
    return a;
  SmallVector<Factor, 8> factors(a->factors.begin(), a->factors.end());
  factors.append(b->factors.begin(), b->factors.end());
  const Poly *exponent = !a->exponent ? b->exponent : !b->exponent ? a->exponent : add(a->exponent, b->exponent);
  return monomial(factors, exponent);
}

const Poly *Algebra::multiplyWithinLimit(const Poly *a, const Poly *b) {
  return a->terms.size() * b->terms.size() > maxTerms ? nullptr : multiply(a, b);
}

const Poly *Algebra::multiply(const Poly *a, const Poly *b) {
  SmallVector<Term, 16> terms;
  for (const Term &x : a->terms)
    for (const Term &y : b->terms)
      terms.push_back({multiply(x.monomial, y.monomial), x.coefficient * y.coefficient});
  return poly(terms);
}

const Poly *Algebra::exponential(const Poly *a) {
  if (std::optional<double> value = a->asNumber())
    return number(std::exp(*value));
  return poly(monomial({}, a));
}

const Poly *Algebra::inverse(const Poly *a) {
  if (std::optional<double> value = a->asNumber(); value && *value != 0)
    return number(1 / *value);
  if (const Term *term = a->single()) {
    // 1/(c x y exp(e)) = (1/c) (1/x) (1/y) exp(-e), and 1/x is an atom.
    const Poly *result = number(1 / term->coefficient);
    for (const Factor &factor : term->monomial->factors) {
      const Monomial *base = monomial(Factor{factor.atom, factor.axis, 1}, nullptr);
      for (unsigned i = 0; i < factor.power; ++i)
        result = multiply(result, elementwise("inverse", poly(base)));
    }
    if (term->monomial->exponent)
      result = multiply(result, exponential(negate(term->monomial->exponent)));
    return result;
  }
  return elementwise("inverse", a);
}

const Poly *Algebra::elementwise(StringRef name, ArrayRef<const Poly *> arguments) {
  Axis axes = Axis::None;
  for (const Poly *argument : arguments)
    axes = unite(axes, argument->axes);
  // A function of columns alone is that function of a vector, put into columns.
  if (axes == Axis::Col) {
    SmallVector<const Poly *, 2> rows;
    for (const Poly *argument : arguments)
      rows.push_back(transpose(argument));
    return transpose(elementwise(name, rows));
  }
  return function(name, axes == Axis::None ? 0 : axes == Axis::Row ? 1 : 2, arguments);
}

const Poly *Algebra::maximum(ArrayRef<const Poly *> arguments) {
  SmallVector<const Poly *, 4> flat;
  for (const Poly *argument : arguments) {
    // max(max(a, b) + c, d) = max(a + c, b + c, d).
    const Term *nested = find_if(argument->terms, [&](const Term &term) {
      const Monomial *m = term.monomial;
      return term.coefficient == 1 && !m->exponent && m->factors.size() == 1 && m->factors[0].power == 1 &&
             m->factors[0].axis != Axis::Col && m->factors[0].atom->isFunction("max");
    });
    if (nested == argument->terms.end()) {
      flat.push_back(argument);
      continue;
    }
    const Poly *rest = sub(argument, poly(nested->monomial));
    for (const Poly *inner : nested->monomial->factors[0].atom->arguments)
      flat.push_back(add(inner, rest));
  }
  sort(flat, [](const Poly *a, const Poly *b) { return compare(a, b) < 0; });
  flat.erase(llvm::unique(flat), flat.end());
  return flat.size() == 1 ? flat.front() : elementwise("max", flat);
}

const Poly *Algebra::function(StringRef name, unsigned rank, ArrayRef<const Poly *> arguments, int64_t parameter) {
  Atom atom;
  atom.kind = Atom::Kind::Function;
  atom.rank = rank;
  atom.name = name.str();
  atom.parameter = parameter;
  atom.arguments.assign(arguments.begin(), arguments.end());
  for (const Poly *argument : arguments)
    atom.states |= argument->states;
  return atomPoly(std::move(atom));
}

const Poly *Algebra::stage(const Poly *value, unsigned rank, unsigned depth) {
  Atom atom;
  atom.kind = Atom::Kind::Function;
  atom.rank = rank;
  atom.name = "stage";
  atom.order = depth;
  atom.arguments.push_back(value);
  atom.states = value->states;
  return atomPoly(std::move(atom));
}

const Poly *Algebra::transpose(const Poly *a) {
  if (a->axes == Axis::None)
    return a;
  SmallVector<Term, 8> terms;
  for (const Term &term : a->terms) {
    SmallVector<Factor, 4> factors(term.monomial->factors.begin(), term.monomial->factors.end());
    for (Factor &factor : factors)
      factor.axis = swapped(factor.axis);
    const Poly *exponent = term.monomial->exponent ? transpose(term.monomial->exponent) : nullptr;
    terms.push_back({monomial(factors, exponent), term.coefficient});
  }
  return poly(terms);
}

Algebra::Split Algebra::split(const Monomial *m) {
  SmallVector<Factor, 4> factors[4];
  SmallVector<Term, 4> exponents[4];
  for (const Factor &factor : m->factors)
    factors[uint8_t(factor.axis)].push_back(factor);
  if (m->exponent)
    for (const Term &term : m->exponent->terms)
      exponents[uint8_t(term.monomial->axes)].push_back(term);
  auto part = [&](Axis axis) {
    ArrayRef<Term> exponent = exponents[uint8_t(axis)];
    return monomial(factors[uint8_t(axis)], exponent.empty() ? nullptr : poly(exponent));
  };
  return {part(Axis::None), part(Axis::Row), part(Axis::Col), part(Axis::Both)};
}

const Poly *Algebra::sumOver(const Poly *a, Axis axis, int64_t size) {
  // A sum over columns with nothing of the rows inside is that sum over rows.
  auto overRows = [&](const Monomial *inside) { return transpose(poly(inside))->terms[0].monomial; };
  SmallVector<Term, 8> terms;
  for (const Term &term : a->terms) {
    Split parts = split(term.monomial);
    const Monomial *inside = multiply(axis == Axis::Row ? parts.row : parts.col, parts.both);
    const Monomial *outside = multiply(parts.scalar, axis == Axis::Row ? parts.col : parts.row);
    if (inside->isOne()) {
      terms.push_back({outside, term.coefficient * double(size)});
      continue;
    }
    Atom atom;
    atom.kind = Atom::Kind::Sum;
    bool leavesIndex = !parts.both->isOne();
    atom.product = leavesIndex || axis == Axis::Row ? inside : overRows(inside);
    atom.summed = leavesIndex ? axis : Axis::Row;
    atom.states = inside->states;
    // What is left varies over the other index if anything inside varies over both.
    atom.rank = leavesIndex ? 1 : 0;
    const Poly *sum = atomPoly(std::move(atom));
    if (axis == Axis::Row)
      sum = transpose(sum); // the index that is left is the column's
    terms.push_back({multiply(outside, sum->terms[0].monomial), term.coefficient});
  }
  return poly(terms);
}
