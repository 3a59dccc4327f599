#include "property/ComplexDraw.h"
#include "Data/Random.h"
#include "llvm/ADT/STLExtras.h"

using namespace recur;
using namespace recur::property;
using data::Random;
using Number = std::complex<double>;
using Extents = std::vector<int64_t>;

namespace {

int64_t count(const Extents &shape) { return *countElements(shape); }

/// Element by element, where a scalar stands for all.
ComplexArray combine(const ComplexArray &a, const ComplexArray &b, llvm::function_ref<Number(Number, Number)> op) {
  ComplexArray result{a.shape.empty() ? b.shape : a.shape, {}};
  for (int64_t i = 0; i < count(result.shape); ++i)
    result.values.push_back(op(a.values[a.shape.empty() ? 0 : i], b.values[b.shape.empty() ? 0 : i]));
  return result;
}

/// A matrix times another, where a vector on the left is a row and one on the right a column.
ComplexArray multiply(const ComplexArray &a, const ComplexArray &b) {
  int64_t rows = a.shape.size() == 2 ? a.shape[0] : 1, inner = a.shape.back();
  int64_t columns = b.shape.size() == 2 ? b.shape[1] : 1;
  ComplexArray result{a.shape.size() == 2 ? Extents{rows} : Extents{columns}, std::vector<Number>(rows * columns)};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < inner; ++k)
        result.values[i * columns + j] += a.values[i * inner + k] * b.values[k * columns + j];
  return result;
}

class Drawer {
public:
  explicit Drawer(uint64_t seed) : random(seed) {}
  ComplexRecurrence draw();

private:
  /// Of this shape. What is complex may stand where it is allowed; depth bounds the term.
  ComplexTerm term(const Extents &shape, bool mayBeComplex, unsigned depth);
  ComplexTerm leaf(const Extents &shape, bool mayBeComplex);
  ComplexTerm declared(const Extents &shape, bool isComplex);
  ComplexTerm ofState(const ComplexName &state) { return named(state.name, state.shape, state.isComplex); }
  ComplexTerm factor(const Extents &shape);
  ComplexTerm unitKey(int64_t size);
  ComplexTerm real(const Extents &shape, unsigned depth) { return term(shape, false, depth); }
  void addState();
  void add(ComplexRecurrence::Statement::Kind kind, const std::string &name, ComplexTerm term) {
    recurrence.statements.push_back({kind, name, std::move(term)});
  }

  static ComplexTerm named(const std::string &name, const Extents &shape, bool isComplex) {
    return {name, shape, isComplex, [name](ComplexScope &scope) { return scope.values.at(name); }};
  }
  static ComplexTerm number(double value, const char *text) {
    return {text, {}, false, [value](ComplexScope &) { return ComplexArray{{}, {value}}; }};
  }
  static ComplexTerm binary(const char *op, const ComplexTerm &a, const ComplexTerm &b,
                            std::function<Number(Number, Number)> compute) {
    return {"(" + a.text + " " + op + " " + b.text + ")", a.shape.empty() ? b.shape : a.shape,
            a.isComplex || b.isComplex,
            [=](ComplexScope &scope) { return combine(a.evaluate(scope), b.evaluate(scope), compute); }};
  }
  static ComplexTerm sum(const ComplexTerm &a, const ComplexTerm &b) { return binary("+", a, b, std::plus<Number>()); }
  static ComplexTerm difference(const ComplexTerm &a, const ComplexTerm &b) {
    return binary("-", a, b, std::minus<Number>());
  }
  static ComplexTerm times(const ComplexTerm &a, const ComplexTerm &b) {
    return binary("*", a, b, std::multiplies<Number>());
  }
  static ComplexTerm quotient(const ComplexTerm &a, const ComplexTerm &b) {
    return binary("/", a, b, std::divides<Number>());
  }
  static ComplexTerm product(const ComplexTerm &a, const ComplexTerm &b) {
    Extents shape = a.shape.size() == 2 ? Extents{a.shape[0]} : Extents{b.shape[1]};
    return {"(" + a.text + " @ " + b.text + ")", shape, a.isComplex || b.isComplex,
            [=](ComplexScope &scope) { return multiply(a.evaluate(scope), b.evaluate(scope)); }};
  }
  static ComplexTerm outer(const ComplexTerm &a, const ComplexTerm &b) {
    return {"outer(" + a.text + ", " + b.text + ")",
            {a.shape[0], b.shape[0]},
            a.isComplex || b.isComplex,
            [=](ComplexScope &scope) {
              ComplexArray rows = a.evaluate(scope), columns = b.evaluate(scope), result{{a.shape[0], b.shape[0]}, {}};
              for (Number row : rows.values)
                for (Number column : columns.values)
                  result.values.push_back(row * column);
              return result;
            }};
  }
  static ComplexTerm dot(const ComplexTerm &a, const ComplexTerm &b) {
    return {"dot(" + a.text + ", " + b.text + ")", {}, a.isComplex || b.isComplex, [=](ComplexScope &scope) {
              ComplexArray left = a.evaluate(scope), right = b.evaluate(scope), result{{}, {0}};
              for (auto [x, y] : llvm::zip_equal(left.values, right.values))
                result.values[0] += x * y;
              return result;
            }};
  }
  static ComplexTerm applied(const char *function, const ComplexTerm &a, bool isComplex,
                             std::function<Number(Number)> compute) {
    return {std::string(function) + "(" + a.text + ")", a.shape, isComplex, [=](ComplexScope &scope) {
              ComplexArray result = a.evaluate(scope);
              for (Number &value : result.values)
                value = compute(value);
              return result;
            }};
  }
  static ComplexTerm magnitude(const ComplexTerm &a) {
    return applied("abs", a, false, [](Number z) { return std::abs(z); });
  }
  static ComplexTerm conjugate(const ComplexTerm &a) {
    return applied("conj", a, a.isComplex, [](Number z) { return std::conj(z); });
  }
  static ComplexTerm cis(const ComplexTerm &angle) {
    return applied("cis", angle, true, [](Number t) { return std::exp(Number(0, t.real())); });
  }
  static ComplexTerm together(const ComplexTerm &re, const ComplexTerm &im) {
    return {"complex(" + re.text + ", " + im.text + ")", re.shape.empty() ? im.shape : re.shape, true,
            [=](ComplexScope &scope) {
              return combine(re.evaluate(scope), im.evaluate(scope),
                             [](Number a, Number b) { return Number(a.real(), b.real()); });
            }};
  }
  static ComplexTerm exponential(const ComplexTerm &a) {
    return applied("exp", a, a.isComplex, [](Number z) { return std::exp(z); });
  }
  static ComplexTerm scaled(const ComplexTerm &matrix, const ComplexTerm &factors, bool ofRows) {
    std::string diagonal = "diag(" + factors.text + ")";
    return {ofRows ? "(" + diagonal + " @ " + matrix.text + ")" : "(" + matrix.text + " @ " + diagonal + ")",
            matrix.shape, matrix.isComplex || factors.isComplex, [=](ComplexScope &scope) {
              ComplexArray result = matrix.evaluate(scope), by = factors.evaluate(scope);
              for (int64_t i = 0; i < count(result.shape); ++i)
                result.values[i] *= by.values[ofRows ? i / result.shape[1] : i % result.shape[1]];
              return result;
            }};
  }

  Random random;
  ComplexRecurrence recurrence;
  Extents sizes;
};

} // namespace

ComplexTerm Drawer::declared(const Extents &shape, bool isComplex) {
  bool isInput = random.chance(0.7);
  std::vector<ComplexName> &list = isInput ? recurrence.inputs : recurrence.params;
  auto fits = [&](const ComplexName &one) { return one.shape == shape && one.isComplex == isComplex; };
  auto found = llvm::find_if(list, fits);
  if (found == list.end() || random.chance(0.3)) {
    list.push_back({(isInput ? "x" : "p") + std::to_string(list.size()), shape, isComplex});
    return named(list.back().name, shape, isComplex);
  }
  return named(found->name, shape, isComplex);
}

ComplexTerm Drawer::leaf(const Extents &shape, bool mayBeComplex) {
  bool isComplex = mayBeComplex && random.chance(0.7);
  if (shape.empty() && random.chance(0.2))
    return isComplex ? together(number(0.5, "0.5"), number(-0.25, "-0.25")) : number(0.75, "0.75");
  if (shape.size() < 2 && random.chance(0.15)) { // of tokens before
    ComplexTerm now = declared(shape, isComplex);
    if (now.text[0] == 'x') {
      int64_t back = 1 + int64_t(random.below(3));
      return {"delay(" + now.text + ", " + std::to_string(back) + ")", shape, isComplex,
              [name = now.text, back](ComplexScope &scope) { return scope.before(name, back); }};
    }
  }
  if (shape.size() < 2 && random.chance(0.1)) { // a convolution of two
    recurrence.params.push_back(
        {"w" + std::to_string(recurrence.params.size()), {2}, mayBeComplex && random.chance(0.5)});
    ComplexName weights = recurrence.params.back();
    ComplexName source{"x" + std::to_string(recurrence.inputs.size()), shape, isComplex};
    recurrence.inputs.push_back(source);
    return {"conv(" + source.name + ", " + weights.name + ")", shape, source.isComplex || weights.isComplex,
            [source, weights](ComplexScope &scope) {
              auto of = [&](int64_t place) { return ComplexArray{{}, {scope.values.at(weights.name).values[place]}}; };
              auto by = [](Number a, Number b) { return a * b; };
              return combine(combine(of(1), scope.values.at(source.name), by),
                             combine(of(0), scope.before(source.name, 1), by), std::plus<Number>());
            }};
  }
  return declared(shape, isComplex);
}

ComplexTerm Drawer::term(const Extents &shape, bool mayBeComplex, unsigned depth) {
  if (depth == 0)
    return leaf(shape, mayBeComplex);
  auto other = [&](const Extents &wanted) { return term(wanted, mayBeComplex, depth - 1); };
  int64_t size = random.pick(sizes);
  switch (random.below(mayBeComplex ? 11 : 7)) {
  case 0:
    return sum(other(shape), other(shape));
  case 1:
    return difference(other(shape), other(random.chance(0.3) ? Extents{} : shape));
  case 2:
    return times(other(random.chance(0.5) ? Extents{} : shape), other(shape));
  case 3:
    if (shape.empty())
      return dot(other({size}), other({size}));
    if (shape.size() == 2)
      return outer(other({shape[0]}), other({shape[1]}));
    return random.chance(0.5) ? product(other({shape[0], size}), other({size}))
                              : product(other({size}), other({size, shape[0]}));
  case 4: // away from zero
    return quotient(other(shape), sum(number(1, "1"), magnitude(leaf({}, mayBeComplex))));
  case 5: // parts of a complex number are real
    switch (random.below(3)) {
    case 0:
      return applied("re", term(shape, true, depth - 1), false, [](Number z) { return z.real(); });
    case 1:
      return applied("im", term(shape, true, depth - 1), false, [](Number z) { return z.imag(); });
    default:
      return magnitude(term(shape, true, depth - 1));
    }
  case 6:
    return leaf(shape, mayBeComplex);
  case 7:
    return conjugate(other(shape));
  case 8:
    return together(real(shape, depth - 1), real(random.chance(0.3) ? Extents{} : shape, depth - 1));
  case 9: { // by one that is away from zero
    ComplexTerm divisor = together(sum(number(1, "1"), magnitude(leaf({}, true))), real({}, 0));
    return quotient(other(shape), divisor);
  }
  default:
    return times(cis(real(shape, 0)), other(shape));
  }
}

/// At most one in magnitude.
ComplexTerm Drawer::factor(const Extents &shape) {
  ComplexTerm decay = exponential(binary("-", number(0, "0"), magnitude(real(shape, 0)), std::minus<Number>()));
  switch (random.below(4)) {
  case 0:
    return times(decay, cis(real(shape, random.below(2))));
  case 1:
    return exponential(
        together(binary("-", number(0, "0"), magnitude(leaf(shape, true)), std::minus<Number>()), real(shape, 0)));
  case 2: {
    ComplexTerm any = declared(shape, true);
    return quotient(any, sum(number(1, "1"), magnitude(any)));
  }
  default:
    return decay;
  }
}

/// Of a length below one.
ComplexTerm Drawer::unitKey(int64_t size) {
  ComplexTerm key = declared({size}, random.chance(0.7));
  ComplexTerm square = applied("re", dot(conjugate(key), key), false, [](Number z) { return z.real(); });
  ComplexTerm length =
      applied("sqrt", sum(number(1, "1"), square), false, [](Number z) { return std::sqrt(z.real()); });
  return quotient(key, length);
}

void Drawer::addState() {
  bool isMatrix = random.chance(0.5);
  Extents shape = isMatrix ? Extents{sizes[0], sizes[1]} : random.chance(0.8) ? Extents{sizes[0]} : Extents{};
  recurrence.states.push_back({"s" + std::to_string(recurrence.states.size()), shape, true});
  ComplexTerm state = ofState(recurrence.states.back());
  const std::string name = recurrence.states.back().name;
  if (!isMatrix) {
    if (random.chance(0.15)) // no linear one
      return add(ComplexRecurrence::Statement::Assign, name,
                 sum(quotient(state, sum(number(1, "1"), magnitude(state))), term(shape, true, 1)));
    return add(ComplexRecurrence::Statement::Assign, name,
               sum(times(factor(random.chance(0.5) ? Extents{} : shape), state), term(shape, true, 2)));
  }
  switch (random.below(4)) {
  case 0:
    return add(ComplexRecurrence::Statement::Assign, name,
               sum(times(factor({}), state), outer(term({shape[0]}, true, 1), leaf({shape[1]}, true))));
  case 1:
    return add(ComplexRecurrence::Statement::Assign, name,
               sum(scaled(state, factor({shape[1]}), false), outer(leaf({shape[0]}, true), term({shape[1]}, true, 1))));
  case 2:
    return add(ComplexRecurrence::Statement::Assign, name,
               sum(scaled(state, factor({shape[0]}), true), outer(leaf({shape[0]}, true), leaf({shape[1]}, true))));
  default: { // what is held for a key makes way
    ComplexTerm key = unitKey(shape[1]),
                decay = exponential(binary("-", number(0, "0"), magnitude(real({}, 0)), std::minus<Number>()));
    add(ComplexRecurrence::Statement::Assign, name, times(decay, state));
    ComplexTerm missed = difference(leaf({shape[0]}, true), product(state, key));
    return add(ComplexRecurrence::Statement::Assign, name, sum(state, times(decay, outer(missed, conjugate(key)))));
  }
  }
}

ComplexRecurrence Drawer::draw() {
  sizes = {2 + int64_t(random.below(3)), 2 + int64_t(random.below(4))};
  unsigned states = 1 + random.below(2);
  for (unsigned i = 0; i < states; ++i)
    addState();
  auto give = [&](ComplexTerm value, bool isComplex) {
    std::string name = "y" + std::to_string(recurrence.outputs.size());
    recurrence.outputs.push_back({name, value.shape, isComplex});
    add(ComplexRecurrence::Statement::Output, name, std::move(value));
  };
  for (const ComplexName &state : std::vector<ComplexName>(recurrence.states)) {
    ComplexTerm read = ofState(state);
    if (state.shape.size() == 2)
      read = random.chance(0.7) ? product(read, term({state.shape[1]}, true, 1))
                                : product(term({state.shape[0]}, true, 1), read);
    else if (random.chance(0.5))
      read = times(term(state.shape, true, 1), read);
    if (random.chance(0.4))
      give(applied("re", read, false, [](Number z) { return z.real(); }), false);
    else
      give(random.chance(0.3) ? conjugate(read) : read, true);
  }
  if (random.chance(0.3))
    give(term({}, true, 2), true);

  auto declare = [](const std::string &word, const std::vector<ComplexName> &list) {
    std::string text;
    for (const ComplexName &one : list) {
      text += std::string("  ") + (one.isComplex ? "complex " : "") + word + " " + one.name;
      for (size_t i = 0; i < one.shape.size(); ++i)
        text += (i ? ", " : ": [") + std::to_string(one.shape[i]);
      text += one.shape.empty() ? "\n" : "]\n";
    }
    return text;
  };
  recurrence.text = "recurrence drawn {\n" + declare("input", recurrence.inputs) + declare("param", recurrence.params) +
                    declare("state", recurrence.states);
  for (const ComplexRecurrence::Statement &statement : recurrence.statements) {
    bool isComplex =
        llvm::any_of(recurrence.outputs, [&](auto &one) { return one.name == statement.name && one.isComplex; });
    bool isOutput = statement.kind == ComplexRecurrence::Statement::Output;
    recurrence.text += std::string("  ") + (isComplex ? "complex " : "") + (isOutput ? "output " : "") +
                       statement.name + " = " + statement.term.text + "\n";
  }
  recurrence.text += "}\n";
  return std::move(recurrence);
}

ComplexRecurrence property::drawComplexRecurrence(uint64_t seed) { return Drawer(seed).draw(); }

/// The arrays that a value has: itself, or its parts.
static std::vector<std::string> listArrays(const ComplexName &value) {
  return value.isComplex ? std::vector<std::string>{value.name + "_re", value.name + "_im"}
                         : std::vector<std::string>{value.name};
}

data::Data property::drawComplexData(const ComplexRecurrence &recurrence, uint64_t seed, data::Sizes sizes) {
  Random random(seed);
  data::Data data;
  data.sizes = sizes;
  auto fill = [&](const std::vector<ComplexName> &list, data::Role role, data::NamedArrays &arrays) {
    for (const ComplexName &one : list)
      for (const std::string &name : listArrays(one)) {
        auto shape = data::getFullShape(role, sizes, one.shape);
        Array array{{shape.begin(), shape.end()}, {}};
        for (int64_t i = 0; i < *countElements(array.shape); ++i)
          array.values.push_back(random.uniform(-1, 1));
        arrays[name] = std::move(array);
      }
  };
  fill(recurrence.inputs, data::Role::Input, data.inputs);
  fill(recurrence.params, data::Role::Param, data.params);
  fill(recurrence.states, data::Role::Initial, data.initial);
  return data;
}

static ComplexArray readPlace(const ComplexName &value, const data::NamedArrays &arrays, int64_t place) {
  ComplexArray result{value.shape, {}};
  int64_t size = count(value.shape);
  std::vector<std::string> names = listArrays(value);
  for (int64_t i = 0; i < size; ++i)
    result.values.push_back(Number(arrays.at(names[0]).values[place * size + i],
                                   value.isComplex ? arrays.at(names[1]).values[place * size + i] : 0));
  return result;
}

static void writePlace(const ComplexName &value, const ComplexArray &numbers, data::NamedArrays &arrays,
                       int64_t place) {
  int64_t size = count(value.shape);
  for (int64_t i = 0; i < size; ++i) {
    arrays.at(listArrays(value)[0]).values[place * size + i] = numbers.values[i].real();
    if (value.isComplex)
      arrays.at(listArrays(value)[1]).values[place * size + i] = numbers.values[i].imag();
  }
}

data::Results property::evaluate(const ComplexRecurrence &recurrence, const data::Data &data) {
  const auto &[B, T, H, groups] = data.sizes;
  data::Results results;
  auto allocate = [&](const std::vector<ComplexName> &list, data::Role role, data::NamedArrays &arrays) {
    for (const ComplexName &one : list)
      for (const std::string &name : listArrays(one)) {
        auto shape = data::getFullShape(role, data.sizes, one.shape);
        arrays[name] = {{shape.begin(), shape.end()}, std::vector<double>(*countElements(shape))};
      }
  };
  allocate(recurrence.outputs, data::Role::Output, results.outputs);
  allocate(recurrence.states, data::Role::Final, results.final);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      ComplexScope scope;
      for (const ComplexName &param : recurrence.params)
        scope.values[param.name] = readPlace(param, data.params, h);
      for (const ComplexName &state : recurrence.states)
        scope.values[state.name] = readPlace(state, data.initial, b * H + h);
      for (int64_t t = 0; t < T; ++t) {
        scope.before = [&](const std::string &name, int64_t back) {
          const ComplexName &input = *llvm::find_if(recurrence.inputs, [&](auto &one) { return one.name == name; });
          if (t >= back)
            return readPlace(input, data.inputs, (b * T + t - back) * H + h);
          return ComplexArray{input.shape, std::vector<Number>(count(input.shape))};
        };
        for (const ComplexName &input : recurrence.inputs)
          scope.values[input.name] = readPlace(input, data.inputs, (b * T + t) * H + h);
        for (const ComplexRecurrence::Statement &statement : recurrence.statements) {
          ComplexArray value = statement.term.evaluate(scope);
          if (statement.kind != ComplexRecurrence::Statement::Output) {
            scope.values[statement.name] = value;
            continue;
          }
          const ComplexName &output =
              *llvm::find_if(recurrence.outputs, [&](auto &one) { return one.name == statement.name; });
          writePlace(output, value, results.outputs, (b * T + t) * H + h);
        }
      }
      for (const ComplexName &state : recurrence.states)
        writePlace(state, scope.values.at(state.name), results.final, b * H + h);
    }
  return results;
}
