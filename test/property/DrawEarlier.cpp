// States that what earlier tokens computed comes back into: errors that were made before, and scans one and two tokens
// ago.
#include "property/Drawer.h"
#include "property/Items.h"

using namespace recur;
using namespace recur::property;

/// What is written makes up for errors of earlier tokens too, which vectors keep.
void Drawer::drawFeedback() {
  bool left = random.chance(0.3);
  Shape shape = left ? Shape{"K", "V"} : Shape{"V", "K"};
  Term s = addState("S", shape, Fill::Normal, StateClass::Delta),
       last = addState("e", {"V"}, Fill::Normal, StateClass::Delta);
  Term key = inputOf("k", {"K"}, Fill::Key), value = drawValue("v", "V");
  auto read = [&](const Term &with) { return left ? times(with, s) : times(s, with); };
  auto gate = [&] { return applied("sigmoid", input("f", {}, Fill::Logit)); };
  Term keep = random.chance(0.3) ? applied("exp", input("g", {}, Fill::Negative)) : gate(), gain = gate();
  std::vector<reduce::Item> statements, behind;
  if (random.chance(0.3))
    statements.push_back(makeOutput(last));
  if (random.chance(0.3)) // what is read has decayed
    statements.push_back(assign(s->text, mul(keep, s)));
  bool isDecayed = !statements.empty() && statements.back().name == s->text;
  Term missed = name(fresh("missed"), {"V"}), written = missed;
  statements.push_back(let(missed->text, sub(value, read(key))));
  switch (random.below(5)) {
  case 0: // the error of the token before
    written = add(missed, mul(number(0.3), last));
    behind.push_back(assign(last->text, missed));
    break;
  case 1: { // that before it
    Term older = addState("p", {"V"}, Fill::Normal, StateClass::Delta);
    written = sub(missed, mul(number(0.3), older));
    behind.push_back(assign(older->text, last));
    behind.push_back(assign(last->text, missed));
    break;
  }
  case 2: // the sum of all
    statements.push_back(assign(last->text, add(mul(mul(number(0.8), gate()), last), missed)));
    written = add(missed, mul(number(0.1), last));
    break;
  case 3: { // the sum, and how the error changes
    Term total = addState("i", {"V"}, Fill::Normal, StateClass::Delta);
    statements.push_back(assign(total->text, add(mul(number(0.7), total), missed)));
    written = add(add(mul(gate(), missed), mul(number(0.1), total)), mul(number(0.1), sub(missed, last)));
    behind.push_back(assign(last->text, missed));
    break;
  }
  default: // what the token before answered
    written = sub(missed, mul(number(0.3), last));
    behind.push_back(assign(last->text, read(inputOf("q", {"K"}, Fill::Key))));
    break;
  }
  if (random.chance(0.25)) // each value channel takes as much of it as its own gain says
    written = mul(applied("sigmoid", input("b", {"V"}, Fill::Logit)), written);
  Term step = mul(mul(number(0.5), gain), left ? outer(key, written) : outer(written, key));
  if (random.chance(0.3)) { // with a momentum
    Term momentum = addState("Z", shape, Fill::Normal, StateClass::Delta);
    statements.push_back(assign(momentum->text, add(mul(mul(number(0.5), gate()), momentum), step)));
    step = momentum;
  }
  statements.push_back(assign(s->text, add(isDecayed ? s : mul(keep, s), step)));
  statements.insert(statements.end(), behind.begin(), behind.end());
  addStage(std::move(statements));
  addOutput(finishOutput(read(drawQuery("K", key))));
}

/// The key of a state that erases is what a scan was one or two tokens ago.
void Drawer::drawEarlierScan() {
  Term key = input("k", {"K"}, Fill::Key), gate = applied("sigmoid", input("f", {}, Fill::Logit)), next;
  unsigned kind = random.below(6);
  Term m = addState("m", {"K"}, kind == 5 ? Fill::Positive : Fill::Normal,
                    kind == 5   ? StateClass::Moebius
                    : kind == 4 ? StateClass::Diagonal
                                : StateClass::Tropical);
  Term moved = add(m, input("g", {}, Fill::Negative));
  switch (kind) {
  case 0:
    next = applied("max", moved, key);
    break;
  case 1:
    next = applied("min", sub(m, input("g", {}, Fill::Negative)), key);
    break;
  case 2:
    next = applied("logaddexp", moved, key);
    break;
  case 3:
    next = neg(applied("logaddexp", neg(moved), key));
    break;
  case 4:
    next = add(mul(gate, m), mul(sub(number(1), gate), key));
    break;
  default:
    next = div(m, add(number(1), mul(gate, m)));
    break;
  }
  Term p = addState("p", {"K"}, Fill::Normal, StateClass::Diagonal), earlier = p;
  Term s = addState("S", {"V", "K"}, Fill::Normal, StateClass::Delta);
  std::vector<reduce::Item> statements{assign(m->text, next)}, behind;
  Term computed = kind == 5 ? mul(m, key) : applied("tanh", m);
  if (random.chance(0.4)) {
    Term older = addState("h", {"K"}, Fill::Normal, StateClass::Diagonal);
    earlier = random.chance(0.5) ? older : add(mul(number(0.6), p), mul(number(0.4), older));
    behind.push_back(assign(older->text, p));
  }
  behind.push_back(assign(p->text, computed));
  Term write = name(fresh("w"), {"K"});
  statements.push_back(let(write->text, l2norm(earlier)));
  statements.push_back(assign(s->text, mul(drawDecay({}), s)));
  statements.push_back(assign(s->text, add(s, mul(gate, outer(sub(drawValue("v", "V"), times(s, write)), write)))));
  statements.insert(statements.end(), behind.begin(), behind.end());
  addStage(std::move(statements));
  addOutput(finishOutput(times(s, drawQuery("K", key))));
}
