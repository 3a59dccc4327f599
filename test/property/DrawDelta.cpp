// Delta states: matrices with decays and rank-one terms that may read the state.
#include "property/Drawer.h"
#include "property/Items.h"
#include <set>

using namespace recur;
using namespace recur::property;

Decay Drawer::drawStateDecay(const MatrixState &state, bool needed) {
  const Shape &shape = state.state->shape;
  Shape keyShape = {shape[state.transposed ? 0 : 1]}, valueShape = {shape[state.transposed ? 1 : 0]};
  switch (random.below(needed ? 9 : 12)) {
  default:
    return {drawDecay({}), nullptr, nullptr};
  case 3:
  case 4:
  case 5:
    return {nullptr, drawDecay(keyShape), nullptr};
  case 6:
    return {nullptr, nullptr, drawDecay(valueShape)};
  case 7:
    return {nullptr, drawDecay(keyShape), drawDecay(valueShape)};
  case 8:
    return {drawDecay({}), drawDecay(keyShape), nullptr};
  case 9:
  case 10:
  case 11:
    return {};
  }
}

RankOne Drawer::drawRankOne(const MatrixState &state, bool pre, bool maySkipValue) {
  const Shape &shape = state.state->shape;
  const std::string &keySize = shape[state.transposed ? 0 : 1], &valueSize = shape[state.transposed ? 1 : 0];
  RankOne term;
  Key key = drawKey("k", keySize);
  term.write = key.term;
  term.value = drawValue("v", valueSize);
  if (random.chance(0.2))
    for (const Term &offered : preconditioners)
      if (offered->shape == Shape{keySize})
        term.preconditioner = offered;
  if (random.chance(0.35)) { // nothing is erased
    term.writeGain = drawGain(false);
    return term;
  }
  bool tied = random.chance(0.7);
  // A term that erases along another direction than it reads may make the state grow; a small gain keeps that slow. So
  // it is with a read before the decay: the decay is not on both sides of the difference.
  Key read = tied ? key : drawKey("r", keySize);
  term.read = read.term;
  bool safe = tied && key.unit && !term.preconditioner && !pre;
  term.eraseGain = safe ? drawGain(true) : mul(number(0.4), inputOf("gain", {}, Fill::Gain));
  term.writeGain = random.chance(0.6) ? term.eraseGain : drawGain(false);
  if (maySkipValue && random.chance(0.15))
    term.value = term.writeGain = nullptr;
  return term;
}

void Drawer::addReadOutput(const MatrixState &state, bool leftReads, const Term &key, const Term &value) {
  const Shape &shape = state.state->shape;
  const std::string &keySize = shape[state.transposed ? 0 : 1], &valueSize = shape[state.transposed ? 1 : 0];
  if (leftReads) {
    Term query = inputOf("p", {valueSize}, Fill::Key);
    addOutput(finishOutput(state.transposed ? times(state.state, query) : times(query, state.state)));
    return;
  }
  Term query = drawQuery(keySize, key ? key : inputOf("k", {keySize}, Fill::Key));
  Term result = state.read(state.state, query);
  if (value && key && random.chance(0.2)) // a bonus for the token itself, as in RWKV
    result = add(result, mul(dot(query, mul(param("u", {keySize}, Fill::Normal), key)), value));
  addOutput(finishOutput(result));
}

static void collectNames(const Term &term, std::set<std::string> &names) {
  if (term->is(reduce::Expr::Kind::Name))
    names.insert(term->text);
  // A number in a sum of vectors is a vector of its own that other sums may have too.
  if (isSumOrDifference(term) && (isNumber(first(term)) || isNumber(second(term))))
    names.insert("1");
  for (const Term &operand : term->operands)
    collectNames(operand, names);
}

/// Terms that share a part of their keys or values may be as well written with fewer terms, or with more.
static bool areSurelyApart(const std::vector<RankOne> &terms) {
  std::set<std::string> keys, values;
  for (const RankOne &term : terms) {
    for (auto [part, seen] : {std::pair{&term.write, &keys}, {&term.value, &values}}) {
      std::set<std::string> names;
      if (*part)
        collectNames(*part, names);
      for (const std::string &name : names)
        if (!seen->insert(name).second)
          return false;
    }
  }
  return true;
}

void Drawer::drawDelta() {
  MatrixState state;
  state.transposed = random.chance(0.25);
  Shape shape = state.transposed ? Shape{"K", "V"} : Shape{"V", "K"};
  state.state = addState("S", shape, Fill::Normal, StateClass::Delta);
  size_t place = recurrence.states.size() - 1;
  Term current;
  Term old = mayUseOld(state.state, current);

  // What is read before, between and after the micro-steps, on which side.
  bool leftReads = random.chance(0.1);
  unsigned steps = random.pick<unsigned>({0, 1, 1, 1, 1, 1, 2, 2, 3});
  bool together = steps > 1 && random.chance(0.5); // all terms read the same state
  std::vector<RankOne> terms;
  if (random.chance(0.2))
    addReadOutput(state, leftReads, nullptr, nullptr);
  if (together || steps == 0) {
    Decay decay = drawStateDecay(state, steps == 0);
    for (unsigned i = 0; i < steps; ++i)
      terms.push_back(drawRankOne(state, true, i > 0));
    recurrence.stages.push_back(makePreUpdate(state, decay, terms, fresh("Sb")));
  } else {
    for (unsigned i = 0; i < steps; ++i) {
      bool pre = random.chance(0.35);
      RankOne term = drawRankOne(state, pre, i > 0);
      Decay decay = i == 0 || random.chance(0.3) ? drawStateDecay(state, false) : Decay{};
      terms.push_back(term);
      recurrence.stages.push_back(pre ? makePreUpdate(state, decay, {term}, fresh("Sb"))
                                      : makePostUpdate(state, decay, term, fresh("Sb")));
      if (i + 1 < steps && random.chance(0.2))
        addReadOutput(state, leftReads, nullptr, nullptr);
    }
  }
  if (areSurelyApart(terms))
    recurrence.states[place].microSteps = steps;
  addReadOutput(state, leftReads, terms.empty() ? nullptr : terms.back().write,
                terms.empty() ? nullptr : terms.back().value);
  if (random.chance(0.15))
    addReadOutput(state, leftReads, nullptr, nullptr);
  offer(state.state, old, false);
}

void Drawer::drawDeltaLoop() {
  MatrixState state{addState("S", {"V", "K"}, Fill::Normal, StateClass::Delta), false};
  int64_t count = 2 + random.below(2);
  recurrence.states.back().microSteps = count;
  std::string size = fresh("N");
  recurrence.dims.push_back({size, count});
  Term keys = input("k", {size, "K"}, Fill::Key), values = input("v", {size, "V"}, Fill::Normal);
  Term gains = input("beta", {size}, Fill::StrongGain);
  bool online = random.chance(0.6), first = random.chance(0.3);
  Term gates = random.chance(0.5) ? input("g", {size}, Fill::Negative) : nullptr;
  std::string decayed = fresh("Sb");
  if (first)
    addStage({assign(state.state->text, mul(drawDecay({}), state.state))});
  auto body = [&](const Term &j) {
    Decay decay;
    if (gates)
      decay.all = applied("exp", index(gates, j));
    RankOne term;
    term.write = index(keys, j);
    term.read = online ? term.write : nullptr;
    term.value = index(values, j);
    term.writeGain = term.eraseGain = index(gains, j);
    return makePostUpdate(state, decay, term, decayed + (j->is(reduce::Expr::Kind::Number) ? "_" + j->text : ""));
  };
  std::string variable = fresh("j");
  Stage stage;
  for (const auto &form : body(name(variable, {})).forms)
    stage.forms.push_back(
        {{.kind = reduce::Item::Kind::For, .name = variable, .begin = number(0), .end = dimName(size), .body = form}});
  std::vector<reduce::Item> unrolled;
  for (int64_t j = 0; j < count; ++j) {
    Stage one = body(number(j));
    const auto &form = random.pick(one.forms);
    unrolled.insert(unrolled.end(), form.begin(), form.end());
  }
  stage.forms.push_back(std::move(unrolled));
  recurrence.stages.push_back(std::move(stage));
  addReadOutput(state, random.chance(0.1), nullptr, nullptr);
  offer(state.state, nullptr, false);
}

/// A normaliser that decays with the state: one more value channel.
void Drawer::drawNormalised() {
  MatrixState state{addState("S", {"V", "K"}, Fill::Normal, StateClass::Delta), false};
  recurrence.states.back().microSteps = 1;
  Term z = addState("z", {"K"}, Fill::Normal, StateClass::Diagonal);
  Decay decay;
  unsigned kind = random.below(3);
  if (kind == 1)
    decay.all = drawDecay({});
  else if (kind == 2)
    decay.keys = drawDecay({"K"});
  RankOne term;
  term.write = drawKey("k", "K").term;
  term.value = drawValue("v", "V");
  term.writeGain = drawGain(false);
  recurrence.stages.push_back(makePostUpdate(state, decay, term, fresh("Sb")));
  Term kept = decay.all ? mul(decay.all, z) : decay.keys ? mul(decay.keys, z) : z;
  addStage({assign(z->text, add(kept, term.writeGain ? mul(term.writeGain, term.write) : term.write))});
  Term query = drawQuery("K", term.write);
  addOutput(div(times(state.state, query), applied("max", applied("abs", dot(z, query)), number(1))));
  offer(state.state, nullptr, false);
}

/// An exponential input gate with a running maximum, as in mLSTM.
void Drawer::drawStabilised() {
  Term m = addState("m", {}, Fill::Zero, StateClass::Tropical);
  MatrixState state{addState("C", {"V", "K"}, Fill::Normal, StateClass::Delta), false};
  recurrence.states.back().microSteps = 1;
  Term i = input("i", {}, Fill::Logit), f = input("f", {}, Fill::Logit);
  std::string lf = fresh("lf"), old = fresh("m_old"), keep = fresh("keep"), gain = fresh("add");
  Term logForget = name(lf, {}), previous = name(old, {});
  addStage({let(lf, applied("logsigmoid", f)), let(old, m)});
  addStage({assign(m->text, applied("max", add(logForget, m), i))});
  addStage({let(keep, applied("exp", sub(add(logForget, previous), m))), let(gain, applied("exp", sub(i, m)))});
  RankOne term;
  term.write = mul(name("scale", {}), drawKey("k", "K").term);
  term.value = drawValue("v", "V");
  term.writeGain = name(gain, {});
  recurrence.stages.push_back(makePostUpdate(state, {name(keep, {}), nullptr, nullptr}, term, fresh("Sb")));
  addOutput(finishOutput(times(state.state, drawQuery("K", term.write))));
  offer(state.state, nullptr, false);
}

/// Least squares by conjugate gradients over a second state, as in MesaNet.
void Drawer::drawGram() {
  MatrixState gram{addState("G", {"K", "K"}, Fill::PositiveDefinite, StateClass::Delta), false};
  MatrixState state{addState("S", {"V", "K"}, Fill::Normal, StateClass::Delta), false};
  for (DrawnState *drawn : {&recurrence.states.back(), &recurrence.states.end()[-2]})
    drawn->microSteps = 1;
  Term key = input("k", {"K"}, Fill::Key), gain = input("gain", {}, Fill::Gain);
  Decay decay{applied("exp", inputOf("g", {}, Fill::Negative)), nullptr, nullptr};
  RankOne square{nullptr, key, key, nullptr, gain, nullptr};
  RankOne term{nullptr, drawValue("v", "V"), key, nullptr, gain, nullptr};
  recurrence.stages.push_back(makePostUpdate(gram, decay, square, fresh("Sb")));
  recurrence.stages.push_back(makePostUpdate(state, decay, term, fresh("Sb")));
  Term query = inputOf("q", {"K"}, Fill::Key);
  std::vector<Labelled> named = {{"ridge", param("ridge", random.chance(0.5) ? Shape{} : Shape{"K"}, Fill::Positive)},
                                 {"iterations", number(2)}};
  if (random.chance(0.5))
    named.push_back({"gradient", name("steps", {})});
  Term solved = call("cg", {gram.state, query}, std::move(named), {"K"});
  addOutput(times(state.state, solved));
}
