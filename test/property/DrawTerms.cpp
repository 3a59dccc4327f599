// Declarations and the terms that updates are made of.
#include "property/Drawer.h"
#include "property/Items.h"
#include "llvm/ADT/STLExtras.h"

using namespace recur;
using namespace recur::property;

std::string Drawer::fresh(llvm::StringRef base) {
  std::string candidate = base.str();
  for (unsigned i = 2; llvm::is_contained(names, candidate); ++i)
    candidate = base.str() + std::to_string(i);
  names.push_back(candidate);
  return candidate;
}

Term Drawer::input(llvm::StringRef base, Shape shape, Fill fill) {
  std::string own = fresh(base);
  recurrence.inputs.push_back({own, shape, fill, random.chance(0.2)});
  return name(own, std::move(shape));
}

Term Drawer::inputOf(llvm::StringRef base, Shape shape, Fill fill) {
  if (random.chance(0.4))
    for (const DrawnArray &old : recurrence.inputs)
      if (old.shape == shape && old.fill == fill)
        return name(old.name, std::move(shape));
  return input(base, std::move(shape), fill);
}

Term Drawer::wholeOf(Shape shape) {
  for (const DrawnArray &old : recurrence.inputs)
    if (old.isInteger() && old.shape == shape)
      return name(old.name, std::move(shape));
  std::string own = fresh("n");
  recurrence.inputs.push_back({own, shape, Fill::Whole, recurrence.seed % 5 == 2});
  return name(own, std::move(shape));
}

Term Drawer::param(llvm::StringRef base, Shape shape, Fill fill) {
  std::string own = fresh(base);
  recurrence.params.push_back({own, shape, fill});
  return name(own, std::move(shape));
}

Term Drawer::addState(llvm::StringRef base, Shape shape, Fill initial, StateClass stateClass) {
  std::string own = fresh(base);
  recurrence.states.push_back({own, shape, initial, stateClass, std::nullopt});
  return name(own, std::move(shape));
}

reduce::Item Drawer::makeOutput(Term value) {
  std::string own = fresh("o");
  recurrence.outputs.push_back(own);
  return output(own, std::move(value));
}

void Drawer::addOutput(Term value) { addStage({makeOutput(std::move(value))}); }

Term Drawer::drawDecay(const Shape &shape) {
  // A vector decay has at least one vector in it.
  Term gate = inputOf("g", shape, Fill::Negative);
  switch (random.below(10)) {
  default:
    return applied("exp", gate);
  case 3:
    return applied("sigmoid", inputOf("f", shape, Fill::Logit));
  case 4:
    return mul(applied("exp", gate), applied("sigmoid", inputOf("f", {}, Fill::Logit)));
  case 5: // Mamba-2
    return applied("exp", neg(mul(applied("exp", param("log_A", {}, Fill::Normal)),
                                  applied("softplus", input("dt", shape, Fill::Logit)))));
  case 6:
    return applied("exp", applied("logsigmoid", inputOf("f", shape, Fill::Logit)));
  case 7: // sign unknown, may be zero
    return inputOf("a", shape, Fill::Decay);
  case 8:
    return mul(applied("exp", gate), inputOf("a", {}, Fill::Decay));
  case 9:
    if (shape.empty())
      return number(random.pick<double>({0.9, 0.5, 0.97}));
    return sub(number(1), applied("sigmoid", inputOf("f", shape, Fill::Logit)));
  }
}

/// For every fifth seed integers say which tokens write.
Term Drawer::drawGain(bool strong) {
  Term gain = drawAnyGain(strong);
  if (!gain || recurrence.seed % 5 != 4)
    return gain;
  return where(compared("<", wholeOf({}), number(3.5)), gain, number(0));
}

Term Drawer::drawAnyGain(bool strong) {
  switch (random.below(6)) {
  case 0:
    return nullptr;
  case 1:
    return applied("sigmoid", inputOf("b", {}, Fill::Logit));
  case 2:
    if (!gains.empty())
      return random.pick(gains);
    return number(0.5);
  default:
    return strong ? inputOf("beta", {}, Fill::StrongGain) : inputOf("gain", {}, Fill::Gain);
  }
}

Drawer::Key Drawer::drawKey(llvm::StringRef base, llvm::StringRef size) {
  Shape shape = {size.str()};
  auto pickOf = [&](const std::vector<Term> &pool) -> Term {
    std::vector<Term> fitting;
    llvm::copy_if(pool, std::back_inserter(fitting), [&](const Term &t) { return t->shape == shape; });
    return fitting.empty() ? nullptr : random.pick(fitting);
  };
  Term key = inputOf(base, shape, Fill::Key);
  switch (random.below(12)) {
  case 0:
    return {l2norm(input("x", shape, Fill::Normal)), false};
  case 1: // a polynomial of inputs
    return {mul(number(0.7), add(key, mul(number(0.3), inputOf("q", shape, Fill::Key)))), false};
  case 2: // tied to a gate, as in HGRN-2
    return {mul(number(0.5), sub(number(1), applied("sigmoid", inputOf("f", shape, Fill::Logit)))), false};
  case 3:
    return {softmax(input("x", shape, Fill::Normal)), false};
  case 4:
    return {mul(number(0.3), add(applied("elu", key), number(1))), false};
  case 5:
    return {mul(applied("sigmoid", param("u", shape, Fill::Normal)), key), false};
  case 6:
  case 7:
    if (Term offered = pickOf(keys))
      return {offered, false};
    return {key, true};
  default:
    return {key, true};
  }
}

Term Drawer::drawValue(llvm::StringRef base, llvm::StringRef size) {
  Shape shape = {size.str()};
  if (random.chance(0.3))
    for (const Term &offered : values)
      if (offered->shape == shape)
        return offered;
  if (random.chance(0.1))
    return applied("silu", input(base, shape, Fill::Normal));
  return inputOf(base, shape, Fill::Normal);
}

Term Drawer::drawQuery(llvm::StringRef size, const Term &key) {
  Shape shape = {size.str()};
  Term query = inputOf("q", shape, Fill::Key);
  switch (random.below(9)) {
  case 0:
    return mul(name("scale", {}), query);
  case 1: // Comba
    return sub(query, mul(param("d", {}, Fill::Gain), key));
  case 2:
    return div(query, add(number(1), applied("exp", input("x", shape, Fill::Normal))));
  case 3:
    return add(applied("elu", query), number(1));
  case 4:
    for (const Term &offered : keys)
      if (offered->shape == shape)
        return offered;
    return query;
  case 5:
    for (const Term &offered : preconditioners)
      if (offered->shape == shape)
        return mul(offered, query);
    return query;
  case 6:
    return l2norm(input("q", shape, Fill::Normal));
  default:
    return query;
  }
}

Term Drawer::finishOutput(Term value) {
  switch (random.below(8)) {
  case 0:
    return mul(applied("silu", input("gate", value->shape, Fill::Normal)), value);
  case 1:
    return mul(name("scale", {}), value);
  case 2:
    return add(value, mul(param("D", value->shape, Fill::Normal), input("x", value->shape, Fill::Normal)));
  case 3:
    return applied("tanh", value);
  default:
    return value;
  }
}

Term Drawer::mayUseOld(const Term &state, Term &current) {
  current = state;
  if (!random.chance(0.3))
    return nullptr;
  std::string own = fresh(state->text + "_old");
  addStage({let(own, state)});
  return name(own, state->shape);
}

void Drawer::offer(const Term &state, const Term &old, bool positive) {
  const Term &seen = old ? old : state;
  if (isScalar(seen)) {
    gains.push_back(applied("sigmoid", seen));
  } else if (isVector(seen)) {
    keys.push_back(l2norm(seen));
    keys.push_back(softmax(seen));
    values.push_back(applied("tanh", seen));
    if (positive) { // the preconditioner of PDN, within 2/3 .. 3/2
      Term r = sub(applied("log", add(seen, number(1e-6))), param("mu", {}, Fill::Normal));
      preconditioners.push_back(applied("exp", neg(div(mul(number(0.4), r), add(number(1), applied("abs", r))))));
      preconditioners.push_back(div(number(1), add(seen, number(1))));
    }
  } else {
    Term right = times(seen, inputOf("q", {seen->shape[1]}, Fill::Key));
    Term left = times(inputOf("p", {seen->shape[0]}, Fill::Key), seen);
    keys.push_back(l2norm(right));
    keys.push_back(softmax(left));
    values.push_back(applied("tanh", right));
    gains.push_back(applied("sigmoid", sum(left)));
  }
}
