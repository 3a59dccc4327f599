#include "property/Disguise.h"
#include "property/Items.h"
#include <functional>
#include <set>

using namespace recur;
using namespace recur::property;
using reduce::Item;
using reduce::mentionsAnywhere;

namespace {
/// No expression grows beyond this.
constexpr unsigned kMaxNodes = 120;

class Disguiser {
public:
  Disguiser(const DrawnRecurrence &recurrence, uint64_t seed, const DisguiseOptions &options)
      : recurrence(recurrence), options(options), random(seed * 31 + recurrence.seed) {}

  Disguise run();

private:
  std::string freshLocal();

  // Moves of whole statements. Each looks at the statement at `at` and does nothing where it does not fit.
  void swapWithNext(size_t at);
  void mergeWithNext(size_t at);
  void nameTheNewState(size_t at);
  void moveBehindUpdate(size_t at);
  void nameSubterm(size_t at);
  void addDeadCode(size_t at);
  void splitSum(size_t at);
  void rewriteItem(Item &item);
  void rename(reduce::Spec &spec, Disguise &result);

  const DrawnRecurrence &recurrence;
  const DisguiseOptions &options;
  Random random;
  std::set<std::string> taken;
  std::map<std::string, Shape> shapes;
  std::vector<Item> items;
  unsigned changes = 0;
};
} // namespace

std::string Disguiser::freshLocal() {
  const std::vector<std::string> words = {"t", "tmp", "x_", "Z", "w", "a1_", "part", "y"};
  std::string candidate;
  do
    candidate = random.pick(words) + std::to_string(random.below(1000));
  while (!taken.insert(candidate).second);
  return candidate;
}

/// What the statement gives a new value; empty for an output.
static std::string defined(const Item &item) { return item.kind == Item::Kind::Output ? "" : item.name; }

static void collectDefined(const Item &item, std::set<std::string> &names) {
  if (item.kind == Item::Kind::For)
    for (const Item &inner : item.body)
      collectDefined(inner, names);
  else if (item.kind != Item::Kind::Output)
    names.insert(item.name);
}

static bool areIndependent(const Item &a, const Item &b) {
  std::set<std::string> ofA, ofB;
  collectDefined(a, ofA);
  collectDefined(b, ofB);
  for (const std::string &name : ofA)
    if (ofB.count(name) || mentionsAnywhere(b, name))
      return false;
  for (const std::string &name : ofB)
    if (mentionsAnywhere(a, name))
      return false;
  return true;
}

void Disguiser::swapWithNext(size_t at) {
  if (at + 1 < items.size() && areIndependent(items[at], items[at + 1]))
    std::swap(items[at], items[at + 1]);
}

/// The first operand of dgps(…) has to be the state itself.
static bool canSubstitute(const Term &term) {
  return reduce::transform(term, [](const Term &t) { return isCall(t, "dgps") ? number(0) : nullptr; }) == term;
}

/// S = a; S = f(S)  ->  S = f(a)
void Disguiser::mergeWithNext(size_t at) {
  if (at + 1 >= items.size() || items[at].kind != Item::Kind::Assign || items[at + 1].kind != Item::Kind::Assign ||
      items[at].name != items[at + 1].name || !canSubstitute(items[at + 1].value))
    return;
  Term merged = reduce::substitute(items[at + 1].value, items[at].name, items[at].value);
  if (reduce::countNodes(merged) > kMaxNodes)
    return;
  items[at + 1].value = merged;
  items.erase(items.begin() + at);
}

/// S = a; x = f(S)  ->  let n = a; x = f(n); S = n
void Disguiser::nameTheNewState(size_t at) {
  if (at + 1 >= items.size() || items[at].kind != Item::Kind::Assign || items[at + 1].kind == Item::Kind::For ||
      !canSubstitute(items[at + 1].value))
    return;
  Item &update = items[at], &next = items[at + 1];
  Term local = name(freshLocal(), update.value->shape);
  if (next.kind == Item::Kind::Assign && next.name == update.name) { // an update of the update
    next.value = reduce::substitute(next.value, update.name, local);
    update = let(local->text, update.value);
    return;
  }
  Item naming = let(local->text, update.value);
  Item keeping = assign(update.name, local);
  next.value = reduce::substitute(next.value, update.name, local);
  update = std::move(next);
  items[at + 1] = std::move(keeping);
  items.insert(items.begin() + at, std::move(naming));
}

/// x = f(S); S = a  ->  let old = S; S = a; x = f(old)
void Disguiser::moveBehindUpdate(size_t at) {
  if (at + 1 >= items.size() || items[at + 1].kind != Item::Kind::Assign || items[at].kind == Item::Kind::For ||
      items[at].kind == Item::Kind::Assign || !mentionsAnywhere(items[at], items[at + 1].name) ||
      !canSubstitute(items[at].value))
    return;
  const std::string &state = items[at + 1].name;
  if (std::string local = defined(items[at]); !local.empty() && mentionsAnywhere(items[at + 1], local))
    return;
  Term old = name(freshLocal(), items[at + 1].value->shape);
  items[at].value = reduce::substitute(items[at].value, state, old);
  Item keeping = let(old->text, name(state, items[at + 1].value->shape));
  std::swap(items[at], items[at + 1]);
  items.insert(items.begin() + at, std::move(keeping));
}

static void listSubterms(const Term &term, std::vector<Term> &out) {
  if (!isDiag(term))
    out.push_back(term);
  for (unsigned i = 0; i < term->operands.size(); ++i)
    if (!isFixed(term, i))
      listSubterms(term->operands[i], out);
}

void Disguiser::nameSubterm(size_t at) {
  if (items[at].kind == Item::Kind::For)
    return;
  std::vector<Term> subterms;
  listSubterms(items[at].value, subterms);
  Term chosen = random.pick(subterms);
  Term local = name(freshLocal(), chosen->shape);
  items[at].value = replaceTerm(items[at].value, chosen, local);
  items.insert(items.begin() + at, let(local->text, chosen));
}

void Disguiser::addDeadCode(size_t at) {
  std::vector<Term> inScope;
  for (const auto &[known, shape] : shapes)
    inScope.push_back(name(known, shape));
  Term value = random.pick(inScope);
  items.insert(items.begin() + at, let(freshLocal(), random.chance(0.5) ? mul(value, value) : applied("tanh", value)));
}

/// S = a + b  ->  let t = b; S = a; S = S + t
void Disguiser::splitSum(size_t at) {
  if (items[at].kind != Item::Kind::Assign || !isSumOrDifference(items[at].value))
    return;
  const std::string state = items[at].name;
  Term value = items[at].value;
  if (first(value)->shape != value->shape)
    return;
  Term local = name(freshLocal(), second(value)->shape), whole = name(state, value->shape);
  items[at].value = first(value);
  items.insert(items.begin() + at, let(local->text, second(value)));
  items.insert(items.begin() + at + 2, assign(state, isBinary(value, "+") ? add(whole, local) : sub(whole, local)));
}

void Disguiser::rewriteItem(Item &item) {
  for (Item &inner : item.body)
    rewriteItem(inner);
  if (item.kind == Item::Kind::For)
    return;
  unsigned count = random.below(options.rewritesPerStatement + 1);
  for (unsigned i = 0; i < count && changes < options.maxChanges; ++i)
    if (Term changed = rewriteSomewhere(item.value, random, options.law, kMaxNodes)) {
      item.value = changed;
      ++changes;
    }
  if (item.kind == Item::Kind::Output && random.chance(0.3))
    item.hasShape = false;
}

/// Gives declarations other names.
void Disguiser::rename(reduce::Spec &spec, Disguise &result) {
  for (Item &item : spec.recurrences[0].items) {
    auto found = result.names.find(item.name);
    bool declaration = item.kind == Item::Kind::Input || item.kind == Item::Kind::Param ||
                       item.kind == Item::Kind::State || item.kind == Item::Kind::Output;
    if (declaration && found != result.names.end())
      found->second = freshLocal();
  }
  auto newName = [&](const std::string &old) {
    auto found = result.names.find(old);
    return found == result.names.end() ? old : found->second;
  };
  std::function<void(std::vector<Item> &)> visit = [&](std::vector<Item> &inside) {
    for (Item &item : inside) {
      if (item.kind != Item::Kind::Let)
        item.name = newName(item.name);
      visit(item.body);
    }
  };
  visit(spec.recurrences[0].items);
  reduce::transformExprs(spec.recurrences[0].items, [&](const Term &term) {
    return reduce::transform(term, [&](const Term &t) -> Term {
      std::string renamed = t->is(reduce::Expr::Kind::Name) ? newName(t->text) : t->text;
      return renamed == t->text ? nullptr : name(renamed, t->shape);
    });
  });
}

Disguise Disguiser::run() {
  Disguise result = writePlainly(recurrence);
  for (const auto &[declared, written] : result.names)
    taken.insert(declared);
  for (const DrawnArray &array : recurrence.inputs)
    shapes[array.name] = array.shape;
  for (const DrawnState &state : recurrence.states)
    shapes[state.name] = state.shape;
  for (const Stage &stage : recurrence.stages) {
    const auto &form = random.pick(stage.forms);
    items.insert(items.end(), form.begin(), form.end());
  }
  for (const Item &item : items)
    taken.insert(item.name);

  using Move = void (Disguiser::*)(size_t);
  const std::vector<Move> moves = {&Disguiser::swapWithNext,     &Disguiser::swapWithNext, &Disguiser::mergeWithNext,
                                   &Disguiser::nameTheNewState,  &Disguiser::nameSubterm,  &Disguiser::nameSubterm,
                                   &Disguiser::moveBehindUpdate, &Disguiser::splitSum,     &Disguiser::addDeadCode};
  unsigned count = random.below(options.moves + 1);
  for (unsigned i = 0; i < count && changes < options.maxChanges; ++i) {
    ++changes;
    (this->*random.pick(moves))(random.below(items.size()));
    if (random.chance(0.5))
      rewriteItem(items[random.below(items.size())]);
  }
  for (Item &item : items)
    rewriteItem(item);

  reduce::Spec spec = makeSpec(recurrence, std::move(items));
  if (options.reorderDeclarations) {
    auto &all = spec.recurrences[0].items;
    size_t begin = recurrence.dims.size() + recurrence.constants.size();
    std::vector<Item> declarations(all.begin() + begin, all.begin() + begin + shapes.size() + recurrence.params.size());
    random.shuffle(declarations);
    // What a state starts as is declared before it.
    auto isStarted = [](const Item &item) { return item.value != nullptr; };
    auto end = std::remove_copy_if(declarations.begin(), declarations.end(), all.begin() + begin, isStarted);
    std::copy_if(declarations.begin(), declarations.end(), end, isStarted);
  }
  if (options.renameDeclarations)
    rename(spec, result);
  result.text = reduce::print(spec);
  result.changes = changes;
  return result;
}

Disguise property::disguise(const DrawnRecurrence &recurrence, uint64_t seed, const DisguiseOptions &options) {
  return Disguiser(recurrence, seed, options).run();
}

Disguise property::writePlainly(const DrawnRecurrence &recurrence) {
  Disguise result;
  result.text = reduce::print(makePlainSpec(recurrence));
  for (const DrawnArray &array : recurrence.inputs)
    result.names[array.name] = array.name;
  for (const DrawnArray &array : recurrence.params)
    result.names[array.name] = array.name;
  for (const DrawnState &state : recurrence.states)
    result.names[state.name] = state.name;
  for (const std::string &output : recurrence.outputs)
    result.names[output] = output;
  return result;
}

data::Data Disguise::rename(const data::Data &data) const {
  data::Data out;
  out.sizes = data.sizes;
  for (const auto &[from, to] :
       {std::pair{&data.inputs, &out.inputs}, {&data.params, &out.params}, {&data.initial, &out.initial}})
    for (const auto &[name, array] : *from)
      (*to)[names.at(name)] = array;
  return out;
}

data::Results Disguise::restore(const data::Results &results) const {
  data::Results out;
  for (const auto &[name, written] : names) {
    if (auto found = results.outputs.find(written); found != results.outputs.end())
      out.outputs[name] = found->second;
    if (auto found = results.final.find(written); found != results.final.end())
      out.final[name] = found->second;
  }
  return out;
}
