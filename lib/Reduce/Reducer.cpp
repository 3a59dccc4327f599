#include "Reduce/Reducer.h"
#include "Reduce/Candidates.h"
#include "Reduce/SpecParser.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <unordered_set>

using namespace recur;
using namespace recur::reduce;

//===----------------------------------------------------------------------===//
// The measure
//===----------------------------------------------------------------------===//

// Each weight is far above all that a lesser one may add up to in a specification of ordinary size. A loop weighs more
// than the statements that it unrolls to.
constexpr uint64_t kLoop = 1000000000, kItem = 1000000, kNode = 1000;

static uint64_t measureNumber(llvm::StringRef text) {
  double value = 0;
  if (text.getAsDouble(value))
    return 900;
  // 0, 1, 2, ... are the simplest; a fraction is never simpler than a whole number.
  return value == std::floor(value) && value < 400 ? uint64_t(value) : 400 + std::min<size_t>(text.size(), 400);
}

static uint64_t measureName(llvm::StringRef name) { return 1 + std::min<size_t>(name.size(), 100); }

static uint64_t measureExpr(const Expr &expr) {
  uint64_t total = kNode;
  if (expr.is(Expr::Kind::Number))
    total += measureNumber(expr.text);
  else if (expr.is(Expr::Kind::Name))
    total += measureName(expr.text);
  for (const ExprPtr &operand : expr.operands)
    total += measureExpr(*operand);
  return total;
}

static uint64_t measureItems(const std::vector<Item> &items) {
  uint64_t total = 0;
  for (const Item &item : items) {
    total += (item.kind == Item::Kind::For ? kLoop : kItem) + measureName(item.name) + item.shared + item.complex +
             item.integer + item.hasShape;
    for (const ExprPtr &size : item.shape)
      total += measureExpr(*size);
    for (const ExprPtr *expr : {&item.value, &item.element, &item.begin, &item.end})
      if (*expr)
        total += measureExpr(**expr);
    total += measureItems(item.body);
  }
  return total;
}

uint64_t reduce::measure(const Spec &spec) {
  uint64_t total = 0;
  for (const Function &function : spec.functions)
    total += kItem + measureName(function.name) + measureExpr(*function.value);
  for (const Recurrence &recurrence : spec.recurrences)
    total += kLoop + measureName(recurrence.name) + measureItems(recurrence.items);
  return total;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// Asks the test, never twice about one text.
class Judge {
public:
  Judge(Interesting isInteresting, const ReduceOptions &options, Reduction &result)
      : isInteresting(isInteresting), options(options), result(result) {}

  bool isExhausted() const { return result.tests >= options.maxTests; }

  /// Takes the text when it is interesting.
  bool take(llvm::StringRef what, std::string text) {
    if (isExhausted() || !seen.insert(text).second)
      return false;
    ++result.tests;
    if (!isInteresting(text))
      return false;
    result.text = std::move(text);
    if (options.progress && !what.empty()) // the text as it was given is no progress
      options.progress(what, result.text);
    return true;
  }

private:
  Interesting isInteresting;
  const ReduceOptions &options;
  Reduction &result;
  std::unordered_set<std::string> seen;
};
} // namespace

static void reduceTree(Spec spec, Judge &judge) {
  // The tree as it prints, without comments, is what all candidates are made from; it may be uninteresting itself when
  // the comments mattered.
  for (uint64_t before = UINT64_MAX; measure(spec) < before && !judge.isExhausted();) {
    before = measure(spec);
    for (const Shrinker &shrinker : getShrinkers())
      shrinker.run(spec, [&](Spec candidate) {
        if (measure(candidate) >= measure(spec) || !judge.take(shrinker.what, print(candidate)))
          return false;
        spec = std::move(candidate);
        return true;
      });
  }
}

/// Removes runs of pieces, long runs first.
static void removePieces(std::vector<std::string> pieces, llvm::StringRef what, Judge &judge) {
  for (size_t length = pieces.size(); length > 0; length /= 2) {
    for (size_t begin = 0; begin < pieces.size() && !judge.isExhausted();) {
      std::vector<std::string> fewer(pieces.begin(), pieces.begin() + begin);
      fewer.insert(fewer.end(), pieces.begin() + std::min(begin + length, pieces.size()), pieces.end());
      if (judge.take(what, llvm::join(fewer, "")))
        pieces = std::move(fewer);
      else
        begin += length;
    }
  }
}

static void reduceAsText(const std::string &text, Judge &judge, const std::string &current) {
  std::vector<std::string> lines;
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    end = end == llvm::StringRef::npos ? rest.size() : end + 1;
    lines.push_back(rest.take_front(end).str());
    rest = rest.drop_front(end);
  }
  removePieces(std::move(lines), "lines", judge);
  std::vector<std::string> characters;
  for (char c : current)
    characters.push_back(std::string(1, c));
  removePieces(std::move(characters), "characters", judge);
}

Reduction reduce::reduceText(llvm::StringRef text, Interesting isInteresting, const ReduceOptions &options) {
  Reduction result;
  result.text = text.str();
  Judge judge(isInteresting, options, result);
  result.wasInteresting = judge.take("", text.str());
  if (!result.wasInteresting)
    return result;
  if (std::optional<Spec> spec = parseSpec(text))
    reduceTree(std::move(*spec), judge);
  else
    reduceAsText(text.str(), judge, result.text);
  return result;
}
