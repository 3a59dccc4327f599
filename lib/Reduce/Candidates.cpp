#include "Reduce/Candidates.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <optional>
#include <set>

using namespace recur;
using namespace recur::reduce;

using Items = std::vector<Item>;

//===----------------------------------------------------------------------===//
// Places in a specification
//===----------------------------------------------------------------------===//

static void collectLists(Items &items, std::vector<Items *> &lists) {
  lists.push_back(&items);
  for (Item &item : items)
    if (item.kind == Item::Kind::For)
      collectLists(item.body, lists);
}

/// The statement lists of recurrences and loops. Numbered alike in a copy.
static std::vector<Items *> getLists(Spec &spec) {
  std::vector<Items *> lists;
  for (Recurrence &recurrence : spec.recurrences)
    collectLists(recurrence.items, lists);
  return lists;
}

static size_t countLists(const Spec &spec) { return getLists(const_cast<Spec &>(spec)).size(); }
static const Items &getList(const Spec &spec, size_t list) { return *getLists(const_cast<Spec &>(spec))[list]; }

/// Offers what `change` makes of each statement in turn, last statement first: what nothing uses stands there.
static void forEachItem(const Spec &spec, TryCandidate take,
                        llvm::function_ref<bool(Spec &copy, Items &list, size_t at)> change) {
  for (size_t list = 0; list < countLists(spec); ++list)
    for (size_t left = getList(spec, list).size(); left > 0; --left) {
      if (list >= countLists(spec))
        return;
      size_t size = getList(spec, list).size();
      if (left > size)
        left = size;
      if (left == 0)
        break;
      Spec copy = spec;
      if (change(copy, *getLists(copy)[list], left - 1))
        take(std::move(copy));
    }
}

static bool isDeclaration(const Item &item) {
  return item.kind == Item::Kind::Input || item.kind == Item::Kind::Param || item.kind == Item::Kind::State;
}

/// All lists of the recurrence that the list belongs to.
static Recurrence &getRecurrence(Spec &spec, const Items &list) {
  for (Recurrence &recurrence : spec.recurrences) {
    std::vector<Items *> lists;
    collectLists(recurrence.items, lists);
    for (Items *own : lists)
      if (own == &list)
        return recurrence;
  }
  return spec.recurrences.front();
}

static void substituteEverywhere(Items &items, llvm::StringRef name, const ExprPtr &by) {
  transformExprs(items, [&](const ExprPtr &expr) { return substitute(expr, name, by); });
}

//===----------------------------------------------------------------------===//
// Statements and declarations
//===----------------------------------------------------------------------===//

static void dropRecurrences(const Spec &spec, TryCandidate take) {
  for (size_t i = spec.recurrences.size(); i-- > 0 && spec.recurrences.size() > 1;) {
    Spec copy = spec;
    copy.recurrences.erase(copy.recurrences.begin() + i);
    take(std::move(copy));
  }
}

static void dropFunctions(const Spec &spec, TryCandidate take) {
  for (size_t i = spec.functions.size(); i-- > 0;) {
    Spec copy = spec;
    copy.functions.erase(copy.functions.begin() + i);
    take(std::move(copy));
  }
}

static void dropRuns(const Spec &spec, TryCandidate take) {
  for (size_t list = 0; list < countLists(spec); ++list)
    for (size_t length = getList(spec, list).size(); length > 0; length /= 2)
      for (size_t begin = 0; list < countLists(spec) && begin < getList(spec, list).size();) {
        Spec copy = spec;
        Items &items = *getLists(copy)[list];
        items.erase(items.begin() + begin, items.begin() + std::min(begin + length, items.size()));
        if (!take(std::move(copy)))
          begin += length;
      }
}

static bool concerns(const Item &item, const std::set<std::string> &names) {
  if (item.kind == Item::Kind::Assign && names.count(item.name))
    return true;
  if (item.kind == Item::Kind::For)
    return false; // its body is looked at by itself
  for (const std::string &name : names)
    if (mentionsAnywhere(item, name))
      return true;
  return false;
}

static bool eraseConcerned(Items &items, std::set<std::string> &names) {
  bool any = false;
  for (size_t i = items.size(); i-- > 0;) {
    any |= eraseConcerned(items[i].body, names);
    if (!concerns(items[i], names))
      continue;
    if (items[i].kind != Item::Kind::Assign && items[i].kind != Item::Kind::Output)
      names.insert(items[i].name);
    items.erase(items.begin() + i);
    any = true;
  }
  return any;
}

static void dropWithUsers(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [](Spec &copy, Items &list, size_t at) {
    if (list[at].kind == Item::Kind::Output || list[at].kind == Item::Kind::Assign || list[at].kind == Item::Kind::For)
      return false;
    Recurrence &recurrence = getRecurrence(copy, list);
    std::set<std::string> names = {list[at].name};
    list.erase(list.begin() + at);
    while (eraseConcerned(recurrence.items, names))
      ;
    return true;
  });
}

static void inlineNames(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [](Spec &copy, Items &list, size_t at) {
    if ((list[at].kind != Item::Kind::Let && list[at].kind != Item::Kind::Const) || !list[at].value)
      return false;
    Item dropped = list[at];
    Recurrence &recurrence = getRecurrence(copy, list);
    list.erase(list.begin() + at);
    substituteEverywhere(recurrence.items, dropped.name, dropped.value);
    return true;
  });
}

/// Two updates of one state in a row become one.
static void mergeUpdates(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [](Spec &copy, Items &list, size_t at) {
    if (at + 1 >= list.size() || list[at].kind != Item::Kind::Assign || list[at + 1].kind != Item::Kind::Assign ||
        list[at].name != list[at + 1].name)
      return false;
    list[at + 1].value = substitute(list[at + 1].value, list[at].name, list[at].value);
    list.erase(list.begin() + at);
    return true;
  });
}

static void dropUpdatesOfStates(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [](Spec &copy, Items &list, size_t at) {
    if (list[at].kind != Item::Kind::State)
      return false;
    std::string name = list[at].name;
    list[at].kind = Item::Kind::Input;
    list[at].value = nullptr;
    std::vector<Items *> lists;
    collectLists(getRecurrence(copy, list).items, lists);
    for (Items *inside : lists)
      std::erase_if(*inside, [&](const Item &item) { return item.kind == Item::Kind::Assign && item.name == name; });
    return true;
  });
}

static void dropStarts(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [](Spec &, Items &list, size_t at) {
    if (list[at].kind != Item::Kind::State || !list[at].value)
      return false;
    list[at].value = nullptr;
    return true;
  });
}

/// An input stands for another of the same shape, a dim for another.
static void shareDeclarations(const Spec &spec, TryCandidate take) {
  auto sameShape = [](const Item &a, const Item &b) {
    return a.shape.size() == b.shape.size() && std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), equal);
  };
  for (size_t other = 0; other < 8; ++other)
    forEachItem(spec, take, [&](Spec &copy, Items &list, size_t at) {
      const Item &item = list[at];
      bool isDim = item.kind == Item::Kind::Dim;
      if (item.kind != Item::Kind::Input && item.kind != Item::Kind::Param && !isDim)
        return false;
      std::vector<std::string> alike;
      for (size_t i = 0; i < at; ++i)
        if (isDim ? list[i].kind == Item::Kind::Dim : isDeclaration(list[i]) && sameShape(list[i], item))
          alike.push_back(list[i].name);
      if (other >= alike.size())
        return false;
      std::string dropped = item.name;
      list.erase(list.begin() + at);
      substituteEverywhere(getRecurrence(copy, list).items, dropped, makeExpr(Expr::Kind::Name, alike[other]));
      return true;
    });
}

/// A declaration loses one of its sizes; where it was the first, what is indexed is the whole.
static void dropSizes(const Spec &spec, TryCandidate take) {
  for (size_t size : {0, 1})
    forEachItem(spec, take, [&](Spec &copy, Items &list, size_t at) {
      if (!isDeclaration(list[at]) || size >= list[at].shape.size())
        return false;
      std::string name = list[at].name;
      list[at].shape.erase(list[at].shape.begin() + size);
      if (size == 0)
        transformExprs(getRecurrence(copy, list).items, [&](const ExprPtr &expr) {
          return transform(expr, [&](const ExprPtr &node) {
            bool isElement = node->is(Expr::Kind::Index) && node->operands[0]->is(Expr::Kind::Name, name);
            return isElement ? node->operands[0] : nullptr;
          });
        });
      return true;
    });
}

/// Everything loses a size: what has that size becomes a scalar.
static void dropDims(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [&](Spec &copy, Items &list, size_t at) {
    if (list[at].kind != Item::Kind::Dim)
      return false;
    std::string name = list[at].name;
    list.erase(list.begin() + at);
    std::vector<Items *> lists;
    collectLists(getRecurrence(copy, list).items, lists);
    for (Items *inside : lists)
      for (Item &item : *inside)
        std::erase_if(item.shape, [&](const ExprPtr &size) { return size->is(Expr::Kind::Name, name); });
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The number that a loop's bound is, where it is one.
static std::optional<int64_t> evaluate(const ExprPtr &bound, const Items &declarations) {
  const Expr *expr = bound.get();
  if (expr->is(Expr::Kind::Name))
    for (const Item &item : declarations)
      if ((item.kind == Item::Kind::Dim || item.kind == Item::Kind::Const) && item.name == expr->text && item.value)
        expr = item.value.get();
  int64_t value;
  if (!expr->is(Expr::Kind::Number) || llvm::StringRef(expr->text).getAsInteger(10, value))
    return std::nullopt;
  return value;
}

static void unroll(Spec &copy, Items &list, size_t at, int64_t begin, int64_t end) {
  Item loop = list[at];
  Items unrolled;
  for (int64_t j = begin; j < end; ++j) {
    Items body = loop.body;
    substituteEverywhere(body, loop.name, makeExpr(Expr::Kind::Number, std::to_string(j)));
    unrolled.insert(unrolled.end(), body.begin(), body.end());
  }
  list.erase(list.begin() + at);
  list.insert(list.begin() + at, unrolled.begin(), unrolled.end());
}

static void unrollLoops(const Spec &spec, TryCandidate take) {
  for (int64_t most : {1, 2, 8})
    forEachItem(spec, take, [&](Spec &copy, Items &list, size_t at) {
      if (list[at].kind != Item::Kind::For)
        return false;
      const Items &declarations = getRecurrence(copy, list).items;
      std::optional<int64_t> begin = evaluate(list[at].begin, declarations);
      std::optional<int64_t> end = evaluate(list[at].end, declarations);
      if (!begin || (!end && most > 1))
        return false;
      unroll(copy, list, at, *begin, end ? std::min(*end, *begin + most) : *begin + most);
      return true;
    });
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static void collectNodes(const ExprPtr &expr, std::vector<ExprPtr> &nodes) {
  nodes.push_back(expr);
  for (const ExprPtr &operand : expr->operands)
    collectNodes(operand, nodes);
}

/// Replaces the node with this number in pre-order; counts `number` down.
static ExprPtr replaceNode(const ExprPtr &expr, size_t &number, const ExprPtr &by) {
  if (number == 0) {
    number = SIZE_MAX; // found: nothing else is
    return by;
  }
  --number;
  std::vector<ExprPtr> operands = expr->operands;
  bool changed = false;
  for (ExprPtr &operand : operands) {
    if (number == SIZE_MAX)
      break;
    ExprPtr replaced = replaceNode(operand, number, by);
    changed |= replaced != operand;
    operand = replaced;
  }
  return changed ? withOperands(expr, std::move(operands)) : expr;
}

static std::vector<std::string> listNames(Spec &spec, const Items &list) {
  std::vector<std::string> names;
  for (const Item &item : getRecurrence(spec, list).items)
    if (isDeclaration(item))
      names.push_back(item.name);
  return names;
}

/// Offers every expression with one node replaced. `simplify` lists what a node may become.
static void
replaceNodes(const Spec &spec, TryCandidate take,
             llvm::function_ref<std::vector<ExprPtr>(const Item &item, const ExprPtr &, Spec &, Items &)> simplify) {
  for (size_t list = 0; list < countLists(spec); ++list)
    for (size_t at = 0; at < getList(spec, list).size(); ++at)
      for (size_t number = 0;; ++number) {
        const Item &item = getList(spec, list)[at];
        if (!item.value)
          break;
        std::vector<ExprPtr> nodes;
        collectNodes(item.value, nodes);
        if (number >= nodes.size())
          break;
        Spec scratch = spec;
        std::vector<ExprPtr> choices = simplify(item, nodes[number], scratch, *getLists(scratch)[list]);
        for (const ExprPtr &choice : choices) {
          Spec copy = spec;
          size_t countdown = number;
          ExprPtr &value = (*getLists(copy)[list])[at].value;
          value = replaceNode(value, countdown, choice);
          if (take(std::move(copy))) {
            --number; // the node that stands there now is next
            break;
          }
        }
      }
}

static void replaceBySubterms(const Spec &spec, TryCandidate take) {
  replaceNodes(spec, take, [](const Item &, const ExprPtr &node, Spec &, Items &) { return node->operands; });
}

static void replaceBySimple(const Spec &spec, TryCandidate take) {
  replaceNodes(spec, take, [](const Item &item, const ExprPtr &node, Spec &copy, Items &list) {
    std::vector<ExprPtr> simple;
    if (node->operands.empty() && !node->is(Expr::Kind::Name))
      return simple;
    for (llvm::StringRef number : {"0", "1"})
      simple.push_back(makeExpr(Expr::Kind::Number, number));
    if (node->operands.empty())
      return simple;
    if (item.kind == Item::Kind::Assign)
      simple.push_back(makeExpr(Expr::Kind::Name, item.name));
    for (const std::string &name : listNames(copy, list))
      simple.push_back(makeExpr(Expr::Kind::Name, name));
    return simple;
  });
}

/// Drops an argument that has a name.
static void dropArguments(const Spec &spec, TryCandidate take) {
  replaceNodes(spec, take, [](const Item &, const ExprPtr &node, Spec &, Items &) {
    std::vector<ExprPtr> fewer;
    for (size_t i = 0; i < node->operands.size(); ++i) {
      if (node->labels[i].empty())
        continue;
      Expr without = *node;
      without.operands.erase(without.operands.begin() + i);
      without.labels.erase(without.labels.begin() + i);
      fewer.push_back(std::make_shared<const Expr>(std::move(without)));
    }
    return fewer;
  });
}

static void shrinkNumbers(const Spec &spec, TryCandidate take) {
  replaceNodes(spec, take, [](const Item &, const ExprPtr &node, Spec &, Items &) {
    std::vector<ExprPtr> smaller;
    double value = 0;
    if (!node->is(Expr::Kind::Number) || llvm::StringRef(node->text).getAsDouble(value))
      return smaller;
    for (double less : {0.0, 1.0, 2.0, double(int64_t(value / 2)), value - 1})
      if (less >= 0)
        smaller.push_back(makeExpr(Expr::Kind::Number, fmt::format("{}", less)));
    return smaller;
  });
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static void dropWords(const Spec &spec, TryCandidate take) {
  forEachItem(spec, take, [](Spec &, Items &list, size_t at) {
    return std::exchange(list[at].complex, false) || std::exchange(list[at].integer, false) ||
           std::exchange(list[at].shared, false) || (list[at].shape.empty() && std::exchange(list[at].hasShape, false));
  });
  forEachItem(spec, take, [](Spec &, Items &list, size_t at) {
    if (list[at].kind != Item::Kind::Output || !list[at].hasShape)
      return false;
    list[at].hasShape = false;
    list[at].shape.clear();
    return true;
  });
}

static std::set<std::string> collectNames(const Spec &spec) {
  std::set<std::string> names;
  Spec copy = spec;
  for (Items *list : getLists(copy))
    for (Item &item : *list)
      names.insert(item.name);
  for (Recurrence &recurrence : copy.recurrences)
    names.insert(recurrence.name);
  return names;
}

static void renameItems(Items &items, const std::string &from, const std::string &to) {
  for (Item &item : items) {
    if (item.name == from)
      item.name = to;
    renameItems(item.body, from, to);
  }
}

static void shortenNames(const Spec &spec, TryCandidate take) {
  const llvm::StringRef letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const std::string &name : collectNames(spec)) {
    if (name.size() <= 1)
      continue;
    // Its own first letter if that is free, else the first letter that is.
    std::set<std::string> taken = collectNames(spec);
    for (char letter : name.front() + letters.str()) {
      std::string shorter(1, letter);
      if (taken.count(shorter))
        continue;
      Spec copy = spec;
      for (Recurrence &recurrence : copy.recurrences) {
        if (recurrence.name == name)
          recurrence.name = shorter;
        renameItems(recurrence.items, name, shorter);
        substituteEverywhere(recurrence.items, name, makeExpr(Expr::Kind::Name, shorter));
      }
      take(std::move(copy));
      break;
    }
  }
}

llvm::ArrayRef<Shrinker> reduce::getShrinkers() {
  static const Shrinker shrinkers[] = {
      {"recurrences", dropRecurrences},
      {"functions", dropFunctions},
      {"statements", dropRuns},
      {"names with what uses them", dropWithUsers},
      {"starts of states", dropStarts},
      {"states that become inputs", dropUpdatesOfStates},
      {"loops", unrollLoops},
      {"local names", inlineNames},
      {"updates of one state", mergeUpdates},
      {"names that stand for others", shareDeclarations},
      {"sizes", dropSizes},
      {"dims", dropDims},
      {"expressions by their parts", replaceBySubterms},
      {"expressions by simple ones", replaceBySimple},
      {"arguments", dropArguments},
      {"numbers", shrinkNumbers},
      {"words", dropWords},
      {"long names", shortenNames},
  };
  return shrinkers;
}
