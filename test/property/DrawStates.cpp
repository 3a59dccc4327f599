// States of the other classes, and the whole recurrence.
#include "property/Drawer.h"
#include "property/Items.h"

using namespace recur;
using namespace recur::property;

llvm::StringRef property::getWord(StateClass stateClass) {
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
  return "";
}

void Drawer::drawDiagonal() {
  Shape shape = random.pick<Shape>({{}, {"K"}, {"K"}, {"V"}});
  Term a = addState("A", shape, Fill::Positive, StateClass::Diagonal);
  Term current;
  Term old = mayUseOld(a, current);
  Term keep = drawDecay(random.chance(0.5) ? Shape{} : shape);
  bool positive = false;
  switch (random.below(4)) {
  case 0: // the diagonal of a Gram matrix
    if (shape == Shape{"K"}) {
      Term key = inputOf("k", shape, Fill::Key);
      keep = applied("exp", inputOf("g", {}, Fill::Negative));
      addStage({assign(a->text, add(mul(keep, a), mul(mul(inputOf("gain", {}, Fill::Gain), key), key)))});
      positive = true;
      break;
    }
    [[fallthrough]];
  case 1: // a moving average
    addStage({assign(a->text, add(mul(keep, a), mul(sub(number(1), keep), input("x", shape, Fill::Normal))))});
    break;
  case 2:
    addStage({assign(a->text, mul(keep, add(a, input("x", shape, Fill::Normal))))});
    break;
  default:
    addStage({assign(a->text, mul(keep, a)), assign(a->text, add(a, input("x", shape, Fill::Normal)))});
    break;
  }
  offer(a, old, positive);
  if (random.chance(0.5))
    addOutput(shape.empty() ? finishOutput(a) : mul(a, input("q", shape, Fill::Key)));
}

void Drawer::drawTropical() {
  Shape shape = random.chance(0.6) ? Shape{} : Shape{"V"};
  Term m = addState("m", shape, Fill::Normal, StateClass::Tropical);
  Term current;
  Term old = mayUseOld(m, current);
  Term step = random.chance(0.5)
                  ? inputOf("g", shape, Fill::Negative)
                  : applied("logsigmoid", inputOf("f", random.chance(0.5) ? Shape{} : shape, Fill::Logit));
  // Which extremum depends on the seed alone, so that all else is drawn as ever.
  uint64_t kind = recurrence.seed / 7 % 4;
  Term moved = add(m, step), bound = input("x", shape, Fill::Normal);
  addStage({assign(m->text, kind == 0   ? applied("max", moved, bound)
                            : kind == 1 ? applied("min", moved, bound)
                            : kind == 2 ? applied("logaddexp", moved, bound)
                                        : neg(applied("logaddexp", neg(moved), neg(bound))))});
  offer(m, old, false);
  if (random.chance(0.6))
    addOutput(finishOutput(m));
}

void Drawer::drawElementwise() {
  Term s = addState("S", {"V", "K"}, Fill::Normal, StateClass::Elementwise);
  Term key = drawKey("B", "K").term;
  Term keep, write;
  if (random.chance(0.5)) { // Mamba-1
    Term step = applied("softplus", input("dt", {"V"}, Fill::Logit));
    keep = applied("exp", mul(outer(step, ones("K")), param("A", {"V", "K"}, Fill::Negative)));
    write = outer(mul(step, input("x", {"V"}, Fill::Normal)), key);
  } else {
    keep = random.chance(0.5) ? applied("sigmoid", input("f", {"V", "K"}, Fill::Logit))
                              : applied("exp", input("g", {"V", "K"}, Fill::Negative));
    write = random.chance(0.5) ? outer(drawValue("v", "V"), key) : input("x", {"V", "K"}, Fill::Normal);
  }
  addStage({assign(s->text, add(mul(keep, s), write))});
  offer(s, nullptr, false);
  addOutput(finishOutput(times(s, drawQuery("K", key))));
}

void Drawer::drawGeneral() {
  if (random.chance(0.5)) {
    Term h = addState("h", {"V"}, Fill::Normal, StateClass::General);
    Term x = input("x", {"V"}, Fill::Normal);
    Term mixed = times(param("W", {"V", "V"}, Fill::Key), h);
    Term next = random.chance(0.5) ? applied("tanh", add(mixed, x)) : add(div(h, add(number(1), applied("abs", h))), x);
    addStage({assign(h->text, next)});
    offer(h, nullptr, false);
    addOutput(finishOutput(h));
    return;
  }
  Term s = addState("S", {"V", "K"}, Fill::Normal, StateClass::General);
  Term key = drawKey("k", "K").term;
  addStage({assign(s->text, applied("tanh", add(mul(drawDecay({}), s), outer(drawValue("v", "V"), key))))});
  offer(s, nullptr, false);
  addOutput(finishOutput(times(s, drawQuery("K", key))));
}

/// Two states that read each other.
void Drawer::drawCycle() {
  Term a = addState("a", {"K"}, Fill::Normal, StateClass::General);
  Term b = addState("b", {"K"}, Fill::Normal, StateClass::General);
  Term key = inputOf("k", {"K"}, Fill::Key);
  addStage({assign(a->text, add(mul(drawDecay({}), a), mul(number(0.1), mul(dot(b, key), key))))});
  addStage({assign(b->text, add(mul(number(0.5), b), mul(number(0.2), a)))});
  addOutput(mul(a, b));
}

/// A vector that is read by a dot product: a delta state with one value channel.
void Drawer::drawRankOneVector() {
  Term w = addState("w", {"K"}, Fill::Normal, StateClass::Delta);
  recurrence.states.back().microSteps = 1;
  Term x = input("k", {"K"}, Fill::Key);
  Term gain = drawGain(true);
  Term error = sub(input("y", {}, Fill::Normal), dot(w, x));
  if (random.chance(0.4))
    addStage({assign(w->text, mul(drawDecay({}), w))});
  addStage({assign(w->text, add(w, mul(gain ? mul(gain, error) : error, x)))});
  addOutput(dot(w, inputOf("q", {"K"}, Fill::Key)));
  offer(w, nullptr, false);
}

/// A state that holds what the token before computed, and a state that it is written into, perhaps beside this token's.
void Drawer::drawDelayed() {
  bool isKey = random.chance(0.7);
  Shape shape = {isKey ? "K" : "V"};
  Term delayed = addState("p", shape, isKey ? Fill::Key : Fill::Normal, StateClass::Diagonal);
  Term s = addState("S", {"V", "K"}, Fill::Normal, StateClass::Delta);
  Term x = inputOf(isKey ? "k" : "v", shape, isKey ? Fill::Key : Fill::Normal), computed = x;
  switch (random.below(7)) {
  case 0:
    break;
  case 1:
    computed = mul(x, inputOf("c", shape, Fill::Gain));
    break;
  case 2:
    computed = mul(number(0.5), x);
    break;
  case 3:
    computed = applied("silu", x);
    break;
  case 4:
    computed = l2norm(x);
    break;
  case 5:
    computed = mul(x, x);
    break;
  case 6: // of the output's own query
    computed = add(mul(applied("sigmoid", param("m", shape, Fill::Normal)), x), mul(number(0.2), x));
    break;
  }
  Term other = isKey ? drawValue("v", "V") : inputOf("k", {"K"}, Fill::Key);
  auto write = [&](const Term &term) { return isKey ? outer(other, term) : outer(term, other); };
  Term kept = random.chance(0.7) ? mul(drawDecay({}), s) : s;
  Term next = add(kept, write(delayed));
  if (random.chance(0.6))
    next = add(next, write(computed));
  std::vector<reduce::Item> statements{assign(s->text, next)};
  if (random.chance(0.3)) // its own value of before is given too
    statements.push_back(makeOutput(delayed));
  statements.push_back(assign(delayed->text, computed));
  addStage(std::move(statements));
  addOutput(finishOutput(times(s, drawQuery("K", isKey ? x : other))));
}

/// Matrices that go on from one another: a momentum, levels, states that turn into each other, two memories. For every
/// third seed the factors go by the key channel.
void Drawer::drawCoupled() {
  bool left = random.chance(0.3), ofChannels = recurrence.seed / 12 % 3 == 1;
  Shape factorShape = ofChannels ? Shape{"K"} : Shape{};
  Shape shape = left ? Shape{"K", "V"} : Shape{"V", "K"};
  Term s = addState("S", shape, Fill::Normal, StateClass::Delta),
       z = addState("Z", shape, Fill::Normal, StateClass::Delta);
  Term key = inputOf("k", {"K"}, Fill::Key), value = drawValue("v", "V");
  auto read = [&](const Term &state, const Term &with) { return left ? times(with, state) : times(state, with); };
  auto write = [&](const Term &what, const Term &with) { return left ? outer(with, what) : outer(what, with); };
  auto gate = [&] {
    return random.chance(0.6) ? applied("sigmoid", input("f", factorShape, Fill::Logit))
                              : mul(number(0.9), applied("exp", input("g", factorShape, Fill::Negative)));
  };
  auto scaled = [&](const Term &factor, const Term &state) {
    return !ofChannels ? mul(factor, state) : left ? scaleRows(factor, state) : scaleCols(state, factor);
  };
  Term keep = gate(), slow = mul(number(0.8), gate());
  std::vector<reduce::Item> statements;
  bool before = random.chance(0.3);
  if (before)
    statements.push_back(makeOutput(read(s, drawQuery("K", key))));
  switch (random.below(5)) {
  case 0: { // a momentum of steps that make up for what is not held yet
    Term missed = sub(value, read(s, key));
    if (random.chance(0.25))
      missed = mul(applied("sigmoid", input("b", {"V"}, Fill::Logit)), missed);
    Term step = mul(mul(number(0.5), inputOf("gain", {}, Fill::Gain)), write(missed, key));
    if (random.chance(0.5)) {
      statements.push_back(assign(z->text, add(scaled(slow, z), step)));
      statements.push_back(assign(s->text, add(scaled(keep, s), z)));
    } else {
      Term next = name(fresh("next"), shape);
      statements.push_back(let(next->text, add(scaled(slow, z), step)));
      statements.push_back(assign(s->text, add(next, scaled(keep, s))));
      statements.push_back(assign(z->text, next));
    }
    break;
  }
  case 1: // of what is written, with a decay of any sign
    statements.push_back(assign(s->text, add(scaled(drawDecay(factorShape), s), mul(number(0.3), z))));
    statements.push_back(assign(z->text, add(scaled(mul(number(0.8), drawDecay(factorShape)), z), write(value, key))));
    break;
  case 2: { // turned by an angle
    Term angle = input("x", {}, Fill::Normal), old = name(fresh("old"), shape);
    Term along = applied("cos", angle), across = applied("sin", angle);
    statements.push_back(let(old->text, s));
    statements.push_back(assign(s->text, add(scaled(slow, sub(mul(along, old), mul(across, z))), write(value, key))));
    statements.push_back(assign(z->text, scaled(ofChannels ? keep : slow, add(mul(across, old), mul(along, z)))));
    break;
  }
  case 3: { // levels
    Term part = gate();
    statements.push_back(assign(z->text, scaled(keep, add(z, scaled(part, s)))));
    statements.push_back(assign(s->text, add(scaled(mul(keep, sub(number(1), part)), s), write(value, key))));
    break;
  }
  default: { // two memories, of which one has what the other does not
    Term other = input("h", {"K"}, Fill::Key), missed = name(fresh("missed"), {"V"}), rest = name(fresh("rest"), {"V"});
    statements.push_back(let(missed->text, sub(value, read(s, key))));
    statements.push_back(let(rest->text, sub(missed, mul(number(0.1), read(z, other)))));
    statements.push_back(assign(s->text, add(scaled(keep, s), mul(number(0.4), write(rest, key)))));
    statements.push_back(assign(z->text, add(scaled(slow, z), mul(number(0.2), write(missed, other)))));
    break;
  }
  }
  addStage(std::move(statements));
  if (!before || random.chance(0.5))
    addOutput(finishOutput(read(random.chance(0.7) ? s : sub(s, z), drawQuery("K", key))));
}

/// What is erased goes by a gain of its own in each value channel.
void Drawer::drawChannelGain() {
  MatrixState state{
      addState("S", random.chance(0.3) ? Shape{"K", "V"} : Shape{"V", "K"}, Fill::Normal, StateClass::Delta), false};
  state.transposed = state.state->shape[0] == "K";
  Term s = state.state, key = drawKey("k", "K").term, value = drawValue("v", "V");
  Term gain = random.chance(0.5) ? input("b", {"V"}, Fill::Gain) : applied("sigmoid", input("b", {"V"}, Fill::Logit));
  Decay decay;
  if (random.chance(0.6))
    (random.chance(0.5) ? decay.all : decay.keys) = drawDecay({});
  if (decay.keys)
    decay.keys = drawDecay({"K"});
  Term before = state.decay(s, decay), missed = sub(value, state.read(random.chance(0.3) ? s : before, key));
  Term scaled = random.chance(0.5) ? state.write(mul(gain, missed), key)
                : state.transposed ? scaleCols(state.write(missed, key), gain)
                                   : scaleRows(gain, state.write(missed, key));
  if (random.chance(0.3)) { // another read under the same key, by gains of its own
    Term other = input("h", {"K"}, Fill::Key),
         weight = random.chance(0.7) ? applied("sigmoid", input("c", {"V"}, Fill::Logit)) : number(0.5);
    scaled = sub(scaled,
                 state.write(mul(mul(number(0.3), weight), state.read(random.chance(0.5) ? s : before, other)), key));
  }
  addStage({assign(s->text, add(before, scaled))});
  if (random.chance(0.3)) { // a second write, by a gain of all channels
    Term other = input("h", {"K"}, Fill::Key);
    addStage({assign(s->text, add(s, state.write(mul(inputOf("gain", {}, Fill::Gain),
                                                     random.chance(0.5) ? value : neg(state.read(s, other))),
                                                 other)))});
  }
  addReadOutput(state, random.chance(0.1), key, value);
}

/// The real and the imaginary part of a state that each token turns, as vectors or as matrices.
void Drawer::drawTurned() {
  bool isMatrix = random.chance(0.6), left = random.chance(0.3);
  Shape shape = !isMatrix ? Shape{"K"} : left ? Shape{"K", "V"} : Shape{"V", "K"};
  StateClass stateClass = isMatrix ? StateClass::Delta : StateClass::Diagonal;
  Term a = addState("A", shape, Fill::Normal, stateClass), b = addState("B", shape, Fill::Normal, stateClass);
  Term angle = random.chance(0.5) ? input("t", {"K"}, Fill::Normal) : mul(number(0.3), param("t", {"K"}, Fill::Normal));
  // Spelled alike in both updates, however it is disguised.
  Term keep = applied("exp", inputOf("g", {}, Fill::Negative));
  auto turned = [&](const char *function, const Term &state) {
    Term factor = applied(function, angle);
    return !isMatrix ? mul(factor, state) : left ? scaleRows(factor, state) : scaleCols(state, factor);
  };
  Term key = inputOf("k", {"K"}, Fill::Key), other = input("h", {"K"}, Fill::Key), value = drawValue("v", "V");
  auto written = [&](const Term &along) {
    return !isMatrix ? along : left ? outer(along, value) : outer(value, along);
  };
  Term old = name(fresh("old"), shape);
  std::vector<reduce::Item> statements;
  if (random.chance(0.3))
    statements.push_back(makeOutput(isMatrix ? (left ? times(key, b) : times(b, key)) : mul(a, key)));
  statements.push_back(let(old->text, a));
  Term real = sub(turned("cos", a), turned("sin", b)), imaginary = add(turned("sin", old), turned("cos", b));
  statements.push_back(assign(a->text, add(mul(keep, real), written(key))));
  statements.push_back(
      assign(b->text, random.chance(0.6) ? add(mul(keep, imaginary), written(other)) : mul(keep, imaginary)));
  addStage(std::move(statements));
  Term query = drawQuery("K", key);
  auto read = [&](const Term &state, const Term &with) {
    return !isMatrix ? mul(state, with) : left ? times(with, state) : times(state, with);
  };
  addOutput(finishOutput(random.chance(0.6) ? sub(read(a, query), read(b, other)) : read(a, query)));
}

/// A quotient of two sums with the state: a variance that grows by noise and shrinks with each measurement, or any.
void Drawer::drawMoebius() {
  Shape shape = random.pick<Shape>({{}, {"K"}, {"K"}, {"V"}});
  Term p = addState("P", shape, Fill::Positive, StateClass::Moebius);
  Term current;
  Term old = mayUseOld(p, current);
  // Spelled alike wherever they stand, however they are disguised.
  Term keep = applied("exp", inputOf("g", random.chance(0.5) ? Shape{} : shape, Fill::Negative));
  Term noise = applied("exp", random.chance(0.5) ? input("n", shape, Fill::Logit) : param("n", shape, Fill::Logit));
  Term error = applied("exp", input("e", random.chance(0.5) ? Shape{} : shape, Fill::Logit));
  reduce::Item grow = assign(p->text, add(mul(keep, p), noise));
  switch (random.below(5)) {
  case 0:
    addStage({assign(p->text, div(p, add(number(1), mul(noise, p)))), std::move(grow)});
    break;
  case 1: // a Kalman filter
    addStage({std::move(grow), assign(p->text, mul(sub(number(1), div(p, add(p, error))), p))});
    break;
  case 2:
    addStage({std::move(grow), assign(p->text, sub(p, div(mul(p, p), add(p, error))))});
    break;
  case 3: // by what the numbers of a variance and a measurement say
    addStage({assign(p->text, div(number(1), add(div(number(1), add(mul(keep, p), noise)), error)))});
    break;
  default:
    addStage({assign(p->text, div(add(mul(keep, p), noise), add(mul(error, p), number(2))))});
    break;
  }
  offer(p, old, /*positive=*/true);
  addOutput(shape.empty() ? finishOutput(p) : mul(p, input("q", shape, Fill::Key)));
}

/// An inverse that each token corrects, by one read or by one of each side, and what else goes with what the token
/// reads.
void Drawer::drawInverse() {
  Term p = addState("P", {"K", "K"}, Fill::PositiveDefinite, StateClass::Inverse);
  // Spelled alike wherever they stand, however they are disguised.
  Term right = input("k", {"K"}, Fill::Key), left = right;
  Term noise = random.chance(0.5) ? number(2) : add(number(1.5), applied("exp", inputOf("n", {}, Fill::Negative)));
  Term factor = random.chance(0.5) ? number(1) : applied("exp", inputOf("f", {}, Fill::Negative));
  Term keep = random.chance(0.3)   ? nullptr
              : random.chance(0.5) ? applied("exp", inputOf("g", {}, Fill::Negative))
                                   : number(random.pick<double>({0.875, 1.015625}));
  bool decaysFirst = random.chance(0.5);
  std::vector<reduce::Item> statements;
  if (random.chance(0.3))
    statements.push_back(makeOutput(times(p, inputOf("q", {"K"}, Fill::Key))));
  if (keep && decaysFirst)
    statements.push_back(assign(p->text, mul(keep, p)));
  Term rows = name(fresh("rows"), {"K"}), columns = rows;
  unsigned kind = random.below(4);
  statements.push_back(let(rows->text, kind == 0 ? times(right, p) : times(p, right)));
  if (kind > 1) {
    columns = name(fresh("columns"), {"K"});
    if (kind == 2)
      left = add(right, mul(number(0.25), input("h", {"K"}, Fill::Key)));
    statements.push_back(let(columns->text, times(left, p)));
  }
  Term product = random.chance(0.5) ? dot(left, rows) : dot(right, columns);
  Term divisor = add(noise, mul(factor, product));
  if (random.chance(0.5)) { // the weights of recursive least squares
    Term s = addState("W", {"V", "K"}, Fill::Normal, StateClass::Delta);
    Term error = random.chance(0.7) ? sub(drawValue("v", "V"), times(s, right)) : drawValue("v", "V");
    statements.push_back(assign(s->text, add(s, outer(error, div(rows, divisor)))));
    statements.push_back(makeOutput(times(s, inputOf("q", {"K"}, Fill::Key))));
  }
  Term corrected = random.chance(0.5) ? sub(p, div(mul(factor, outer(rows, columns)), divisor))
                                      : sub(p, outer(mul(div(factor, divisor), rows), columns));
  statements.push_back(assign(p->text, keep && !decaysFirst ? mul(keep, corrected) : corrected));
  addStage(std::move(statements));
  Term query = inputOf("q", {"K"}, Fill::Key);
  addOutput(random.chance(0.6) ? times(p, query) : times(query, p));
}

/// A matrix that a token sets, whatever it was.
void Drawer::drawReplaced() {
  Term s = addState("R", {"V", "K"}, Fill::Normal, StateClass::Delta);
  Term key = inputOf("k", {"K"}, Fill::Key), query = drawQuery("K", key);
  std::vector<reduce::Item> statements{makeOutput(times(s, query))};
  statements.push_back(assign(s->text, outer(drawValue("v", "V"), key)));
  addStage(std::move(statements));
}

/// Tokens that have nothing to do with each other.
void Drawer::drawStateless() {
  Shape shape = random.pick<Shape>({{}, {"K"}, {"V"}});
  Term x = input("x", shape, Fill::Normal);
  Term scaled = mul(random.chance(0.5) ? number(2) : param("u", {}, Fill::Normal), x);
  addOutput(random.chance(0.5) ? applied("silu", scaled) : scaled);
  if (random.chance(0.4))
    addOutput(dot(inputOf("q", {"K"}, Fill::Key), inputOf("k", {"K"}, Fill::Key)));
}

Drawer::Drawer(uint64_t seed) : random(seed) { recurrence.seed = seed; }

DrawnRecurrence Drawer::draw() {
  recurrence.name = fresh("drawn");
  names.insert(names.end(), {"K", "V", "scale", "online", "offline"});
  recurrence.dims = {{"K", 3 + int64_t(random.below(3))}, {"V", 2 + int64_t(random.below(3))}};
  if (recurrence.seed % 9 == 4) // above a vector register, and no multiple of anything
    recurrence.dims = {{"K", 6 + int64_t(recurrence.seed / 9 % 15)}, {"V", 5 + int64_t(recurrence.seed / 135 % 29)}};
  recurrence.constants.push_back(
      {.kind = reduce::Item::Kind::Const, .name = "scale", .value = div(number(1), applied("sqrt", dimName("K")))});
  unsigned count = random.pick<unsigned>({1, 1, 1, 2, 2, 3});
  // What is drawn beside the usual states depends on the seed alone, so that the others draw what they always did.
  if (recurrence.seed % 12 == 5) {
    drawDelayed();
    count = random.below(2);
  } else if (recurrence.seed % 12 == 9) {
    drawCoupled();
    count = random.below(2);
  } else if (recurrence.seed % 24 == 19) {
    drawTurned();
    count = random.below(2);
  } else if (recurrence.seed % 24 == 7) {
    drawChannelGain();
    count = random.below(2);
  } else if (recurrence.seed % 48 == 11) {
    drawReplaced();
    count = random.below(2);
  } else if (recurrence.seed % 48 == 35) {
    drawMoebius();
    count = random.below(2);
  } else if (recurrence.seed % 48 == 47) {
    if (recurrence.seed % 96 == 47)
      drawFeedback();
    else
      drawEarlierScan();
    count = random.below(2);
  } else if (recurrence.seed % 96 == 71) {
    drawInverse();
    count = random.below(2);
  } else if (recurrence.seed % 96 == 23) {
    drawStateless();
    count = 0;
  }
  for (unsigned i = 0; i < count; ++i) {
    switch (random.below(20)) {
    default:
      drawDelta();
      break;
    case 0:
    case 1:
      drawDeltaLoop();
      break;
    case 2:
      drawNormalised();
      break;
    case 3:
      drawStabilised();
      break;
    case 4:
      drawGram();
      break;
    case 5:
    case 6:
    case 7:
      drawDiagonal();
      break;
    case 8:
      drawTropical();
      break;
    case 9:
      drawElementwise();
      break;
    case 10:
      drawGeneral();
      break;
    case 11:
      drawCycle();
      break;
    case 12:
      drawRankOneVector();
      break;
    }
  }
  if (recurrence.outputs.empty()) {
    const DrawnState &state = recurrence.states[0];
    addOutput(name(state.name, state.shape));
  }
  drawChoices();
  dropUnused();
  drawStarts();
  return std::move(recurrence);
}

/// Which states start as what depends on the seed alone, so that all else is drawn as ever.
void Drawer::drawStarts() {
  if (recurrence.seed % 3 != 1)
    return;
  for (auto [i, state] : llvm::enumerate(recurrence.states)) {
    uint64_t kind = (recurrence.seed / 3 + i) % 4;
    if (kind == 0)
      continue;
    state.start = kind == 1 ? number(0.5) : param("from", state.shape, state.initial);
    if (kind == 3)
      state.start = mul(state.start, applied("sigmoid", param("much", {}, Fill::Logit)));
  }
}

/// Integers choose what the last output is, or a function that has a kink or a step takes it, for every fourth seed;
/// for every sixth a column of a state is an output. That depends on the seed alone, so that all else is drawn as ever.
void Drawer::drawChoices() {
  if (recurrence.seed % 6 == 5)
    for (const DrawnState &state : recurrence.states)
      if (state.shape.size() == 2) {
        addOutput(column(name(state.name, state.shape), number(0)));
        break;
      }
  if (recurrence.seed % 4 != 3)
    return;
  Stage &stage = recurrence.stages.back();
  for (std::vector<reduce::Item> &form : stage.forms)
    if (form.back().kind != reduce::Item::Kind::Output)
      return;
  bool ofElements = recurrence.seed / 4 % 2;
  Term last = stage.forms[0].back().value, n = wholeOf(ofElements ? last->shape : Shape{});
  uint64_t kind = recurrence.seed / 8 % 8;
  // A Moebius state forgets so fast that the derivative by its start is rounded away unless early tokens are read.
  bool isForgotten =
      llvm::any_of(recurrence.states, [](const DrawnState &state) { return state.stateClass == StateClass::Moebius; });
  if (isForgotten && (kind == 3 || kind == 6))
    kind = 2;
  recurrence.choosesReads = kind == 2 || kind >= 6;
  auto change = [&](const Term &value) -> Term {
    switch (kind) {
    case 0:
      return applied("erf", value);
    case 1:
      return applied("gelu", value);
    case 2:
      return where(compared("<", applied("mod", n, number(3)), number(1.5)), value, mul(number(0.5), value));
    case 3:
      return mul(value, compared("<=", n, number(3.5)));
    case 4:
      return add(value, mul(number(0.1), applied("floor", add(div(n, number(3)), number(0.5)))));
    case 5:
      return add(value, applied("sign", sub(n, number(3.5))));
    case 6:
      return where(compared("==", n, number(4)), value, number(0));
    default: // numbers that are no integers, and a name of pi
      return where(compared("!=", applied("max", value, number(0)), number(0)), value,
                   mul(value, applied("cos", div(name("pi", {}), number(3)))));
    }
  };
  for (std::vector<reduce::Item> &form : stage.forms)
    form.back().value = change(form.back().value);
}

/// Terms are drawn before it is known whether they are taken.
void Drawer::dropUnused() {
  auto isUnused = [&](const DrawnArray &array) {
    for (const Stage &stage : recurrence.stages)
      for (const reduce::Item &item : stage.forms[0])
        if (reduce::mentionsAnywhere(item, array.name))
          return false;
    return true;
  };
  std::erase_if(recurrence.inputs, isUnused);
  std::erase_if(recurrence.params, isUnused);
}

DrawnRecurrence property::drawRecurrence(uint64_t seed) { return Drawer(seed).draw(); }

reduce::Spec property::makeSpec(const DrawnRecurrence &recurrence, std::vector<reduce::Item> statements) {
  using Kind = reduce::Item::Kind;
  std::vector<reduce::Item> items;
  for (const auto &[size, value] : recurrence.dims)
    items.push_back({.kind = Kind::Dim, .name = size, .value = number(value)});
  items.insert(items.end(), recurrence.constants.begin(), recurrence.constants.end());
  for (const DrawnArray &input : recurrence.inputs) {
    items.push_back(declare(Kind::Input, input.name, input.shape, input.shared));
    items.back().integer = input.isInteger();
  }
  for (const DrawnArray &param : recurrence.params)
    items.push_back(declare(Kind::Param, param.name, param.shape));
  for (const DrawnState &state : recurrence.states) {
    items.push_back(declare(Kind::State, state.name, state.shape));
    items.back().value = state.start;
  }
  items.insert(items.end(), std::make_move_iterator(statements.begin()), std::make_move_iterator(statements.end()));
  return {{{recurrence.name, std::move(items)}}};
}

reduce::Spec property::makePlainSpec(const DrawnRecurrence &recurrence) {
  std::vector<reduce::Item> statements;
  for (const Stage &stage : recurrence.stages)
    statements.insert(statements.end(), stage.forms[0].begin(), stage.forms[0].end());
  return makeSpec(recurrence, std::move(statements));
}
