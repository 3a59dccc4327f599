#include "property/TextLayers.h"
#include "Reduce/SpecParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

using namespace recur;
using namespace recur::property;
using llvm::StringRef;
using reduce::Item;
using Kind = reduce::Expr::Kind;
using reduce::makeExpr;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {

/// Gives terms that were read from a text their shapes.
class Reader {
public:
  std::optional<DrawnRecurrence> read(const reduce::Recurrence &recurrence);

private:
  std::optional<std::vector<Term>> shapeAll(const Term &term);
  /// Null where the shape is not known.
  Term shape(const Term &term);
  Term shapeProduct(const Term &a, const Term &b);
  Term shapeCall(const Term &call, std::vector<Term> operands);
  /// Whether all of the item's terms have shapes now.
  bool shape(Item &item);
  bool declare(const Item &item);
  static Shape shapeOf(const Item &item) {
    Shape shape;
    for (const Term &size : item.shape)
      shape.push_back(size->text);
    return shape;
  }

  DrawnRecurrence layer;
  std::map<std::string, Shape> shapes;
};

} // namespace

std::optional<std::vector<Term>> Reader::shapeAll(const Term &term) {
  std::vector<Term> operands;
  for (const Term &operand : term->operands)
    if (operands.push_back(shape(operand)); !operands.back())
      return std::nullopt;
  return operands;
}

Term Reader::shapeProduct(const Term &a, const Term &b) {
  bool fits = isDiag(a)     ? isMatrix(b) && a->shape[0] == b->shape[0]
              : isDiag(b)   ? isMatrix(a) && a->shape[1] == b->shape[0]
              : isMatrix(a) ? isVector(b) && a->shape[1] == b->shape[0]
                            : isVector(a) && isMatrix(b) && a->shape[0] == b->shape[0];
  return fits ? times(a, b) : nullptr;
}

Term Reader::shapeCall(const Term &call, std::vector<Term> operands) {
  static const llvm::StringSet<> elementwise = {"exp",       "log",        "sqrt", "abs",    "sigmoid", "tanh",
                                                "softplus",  "logsigmoid", "relu", "silu",   "max",     "min",
                                                "logaddexp", "elu",        "stop", "l2norm", "softmax"};
  bool isOfVectors = operands.size() == 2 && isVector(operands[0]) && isVector(operands[1]);
  auto with = [&](Shape shape) {
    return std::make_shared<const reduce::Expr>(
        reduce::Expr{Kind::Call, call->text, std::move(operands), call->labels, std::move(shape)});
  };
  if (elementwise.contains(call->text)) {
    Shape shape;
    for (const Term &operand : operands) {
      if (!shape.empty() && !operand->shape.empty() && shape != operand->shape)
        return nullptr;
      shape = shape.empty() ? operand->shape : shape;
    }
    return with(shape);
  }
  if (call->text == "diag" && isVector(operands[0]))
    return with(operands[0]->shape);
  if (call->text == "outer" && isOfVectors)
    return with({operands[0]->shape[0], operands[1]->shape[0]});
  if (call->text == "dot" && isOfVectors && operands[0]->shape == operands[1]->shape)
    return with({});
  if (call->text == "sum" && operands.size() == 1 && isVector(operands[0]))
    return with({});
  if (call->text == "ones" && operands.size() == 1)
    return with({operands[0]->text});
  if (call->text == "cg")
    return with(operands[1]->shape);
  if (call->text == "dgps")
    return with(operands[0]->shape);
  return nullptr;
}

Term Reader::shape(const Term &term) {
  if (term->is(Kind::Slice))
    return nullptr;
  if (term->is(Kind::Name)) {
    auto known = shapes.find(term->text); // sizes, constants, variables of loops and words are numbers
    return name(term->text, known == shapes.end() ? Shape() : known->second);
  }
  std::optional<std::vector<Term>> operands = shapeAll(term);
  if (!operands)
    return nullptr;
  std::vector<Term> &of = *operands;
  switch (term->kind) {
  case Kind::Number:
    return term;
  case Kind::Negate:
    return neg(of[0]);
  case Kind::Index:
    return of.size() == 2 && !isScalar(of[0]) ? index(of[0], of[1]) : nullptr;
  case Kind::Binary:
    if (term->text == "@")
      return shapeProduct(of[0], of[1]);
    if (!isScalar(of[0]) && !isScalar(of[1]) && of[0]->shape != of[1]->shape)
      return nullptr;
    return makeExpr(Kind::Binary, term->text, of, isScalar(of[0]) ? of[1]->shape : of[0]->shape);
  case Kind::Call:
    return shapeCall(term, std::move(of));
  default:
    return nullptr;
  }
}

bool Reader::shape(Item &item) {
  if (item.kind == Item::Kind::For) {
    std::map<std::string, Shape> outside = shapes;
    bool isKnown = llvm::all_of(item.body, [&](Item &inner) { return shape(inner); });
    shapes = std::move(outside);
    return isKnown;
  }
  if (item.element || item.kind == Item::Kind::Restart || !(item.value = shape(item.value)))
    return false;
  if (item.kind == Item::Kind::Let)
    shapes[item.name] = item.value->shape;
  return item.kind != Item::Kind::Output || !item.hasShape || shapeOf(item) == item.value->shape;
}

bool Reader::declare(const Item &item) {
  constexpr int64_t channels = 128, steps = 2;
  static const llvm::StringSet<> ofSteps = {"N", "M", "R"};
  switch (item.kind) {
  case Item::Kind::Dim: {
    int64_t size = ofSteps.contains(item.name) ? steps : channels;
    if (item.value && !llvm::to_integer(item.value->text, size))
      return false;
    layer.dims.push_back({item.name, size});
    return true;
  }
  case Item::Kind::Const:
    layer.constants.push_back(item);
    return true;
  case Item::Kind::Input:
    layer.inputs.push_back({item.name, shapeOf(item), Fill::Normal, item.shared});
    break;
  case Item::Kind::Param:
    layer.params.push_back({item.name, shapeOf(item), Fill::Normal});
    break;
  case Item::Kind::State: {
    Term start = item.value ? shape(item.value) : nullptr;
    if (item.value && !start)
      return false;
    layer.states.push_back({.name = item.name,
                            .shape = shapeOf(item),
                            .initial = Fill::Normal,
                            .stateClass = StateClass::General,
                            .microSteps = {},
                            .start = start});
    break;
  }
  default:
    return false;
  }
  shapes[item.name] = shapeOf(item);
  return true;
}

std::optional<DrawnRecurrence> Reader::read(const reduce::Recurrence &recurrence) {
  layer.name = recurrence.name;
  for (Item item : recurrence.items) {
    bool isDeclaration = item.kind <= Item::Kind::State;
    if (item.complex || !(isDeclaration ? declare(item) : shape(item)))
      return std::nullopt;
    if (isDeclaration)
      continue;
    if (item.kind == Item::Kind::Output)
      layer.outputs.push_back(item.name);
    layer.stages.push_back({{{std::move(item)}}});
  }
  return std::move(layer);
}

std::optional<DrawnRecurrence> property::readLayer(StringRef text) {
  std::optional<reduce::Spec> spec = reduce::parseSpec(text);
  if (!spec || spec->recurrences.size() != 1 || !spec->functions.empty())
    return std::nullopt;
  return Reader().read(spec->recurrences[0]);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// The line's code, and what must be there and what must not.
struct OptionalLine {
  StringRef code;
  std::vector<StringRef> with, without;
};

static OptionalLine readLine(StringRef line) {
  auto [code, condition] = line.split("  # ");
  OptionalLine result{code.rtrim(), {}, {}};
  std::vector<StringRef> *words = &result.with;
  llvm::SmallVector<StringRef> all;
  llvm::SplitString(condition, all, ", ");
  for (StringRef word : all)
    if (word == "with" || word == "without")
      words = word == "with" ? &result.with : &result.without;
    else
      words->push_back(word);
  return result;
}

std::string TextWithOptions::draw(data::Random &random) const {
  llvm::SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  std::map<std::string, bool> isThere;
  auto has = [&](StringRef option) {
    auto [entry, isNew] = isThere.try_emplace(option.str());
    if (isNew)
      entry->second = random.chance(0.5);
    return entry->second;
  };
  std::string drawn;
  for (StringRef line : lines) {
    OptionalLine optional = readLine(line);
    bool isWanted = true; // all are drawn, in the order of the text, whatever comes of it
    for (StringRef option : optional.with)
      isWanted &= has(option);
    for (StringRef option : optional.without)
      isWanted &= !has(option);
    if (isWanted)
      drawn += optional.code.str() + "\n";
  }
  return drawn;
}

std::vector<TextWithOptions> property::readPythonTexts(StringRef source) {
  const StringRef quotes = "\"\"\"";
  std::vector<TextWithOptions> texts;
  for (StringRef rest = source.split("TEXTS = {").second; rest.contains(quotes);) {
    auto [text, behind] = rest.split(quotes).second.split(quotes);
    if (!text.trim().starts_with("recurrence"))
      break;
    texts.emplace_back(text.trim());
    rest = behind;
  }
  return texts;
}
