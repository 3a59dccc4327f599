#include "Analysis/Algebra/Print.h"
#include "Analysis/Algebra/Division.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::algebra;

/// Up to six digits, as a person would write them.
std::string Printer::number(double value) {
  std::string text;
  raw_string_ostream stream(text);
  if (value == std::round(value) && std::abs(value) < 1e15)
    stream << int64_t(value);
  else
    stream << format("%.6g", value);
  return text;
}

/// A name says more than an expression with an operator in it, but not more than a number or another name.
static bool deservesName(const Poly *poly) {
  if (poly->asNumber())
    return false;
  const Monomial *first = poly->terms[0].monomial;
  bool isName = poly->terms.size() == 1 && !first->exponent && first->degree() == 1 &&
                first->factors[0].atom->kind == Atom::Kind::Leaf;
  return !isName;
}

Printer::Printer(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence, Style style)
    : algebra(algebra), expressions(expressions), style(style) {
  for (mlir::Operation &op : recurrence.getBody().front()) {
    mlir::TypeSwitch<mlir::Operation *>(&op).Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp, dgps::OutputOp>(
        [&](auto declared) { taken.insert(declared.getName()); });
    if (auto named = dyn_cast<mlir::NameLoc>(op.getLoc()))
      taken.insert(named.getName());
  }
  if (style == Style::Canonical)
    return;
  for (unsigned state = 0; state < expressions.numStates(); ++state)
    // What does not read the state is named by what computes it.
    if (expressions.after(state) != expressions.before(state) && expressions.after(state)->dependsOn(state) &&
        deservesName(expressions.after(state)))
      names.try_emplace(expressions.after(state), dgps::StateOp(expressions.state(state)).getName().str() + "'");
  for (mlir::Operation &op : recurrence.getBody().front()) {
    if (op.getNumResults() != 1 || isa<dgps::InputOp, dgps::ParamOp, dgps::StateOp>(op))
      continue;
    if (auto named = dyn_cast<mlir::NameLoc>(op.getLoc()); named && deservesName(expressions.of(op.getResult(0))))
      names.try_emplace(expressions.of(op.getResult(0)), named.getName().str());
  }
}

//===----------------------------------------------------------------------===//
// Long parts
//===----------------------------------------------------------------------===//

/// The text of a part, or the name that it gets if it is long. The outermost text has no name: it is what is printed.
Printer::Text Printer::shortened(const void *part, llvm::function_ref<Text()> spell) const {
  constexpr size_t longest = 120, mostNames = 24, deepest = 200;
  if (depth > 0)
    if (auto text = known.find(part); text != known.end())
      return text->second;
  if (depth == deepest)
    return {leftOut.str()};
  ++depth;
  Text text = spell();
  if (--depth == 0)
    return text;
  if (text.text.size() > longest) {
    std::string name = leftOut.str();
    if (parts.size() < mostNames) {
      do
        name = "e" + std::to_string(++numNames);
      while (taken.contains(name));
      parts.push_back({name, std::move(text.text)});
    }
    text = {std::move(name)};
  }
  known[part] = text;
  return text;
}

std::string Printer::printMeaning(const Poly *poly) const {
  ++depth; // what is in it may get names
  std::string text;
  if (mlir::Value value = valueOf(poly, poly->axes == Axis::None ? 0 : poly->axes == Axis::Both ? 2 : 1))
    text = textOfOp(value.getDefiningOp()).text;
  else
    text = spell(poly).text;
  --depth;
  return text;
}

//===----------------------------------------------------------------------===//
// From the program
//===----------------------------------------------------------------------===//

/// The value whose spelling in the program stands for `poly`, if there is one and the style admits it.
mlir::Value Printer::valueOf(const Poly *poly, unsigned rank) const {
  return style == Style::Source ? expressions.valueOf(poly, rank) : mlir::Value();
}

Printer::Text Printer::text(mlir::Value value) const {
  if (auto name = names.find(expressions.of(value)); name != names.end())
    return {name->second};
  return shortened(value.getAsOpaquePointer(), [&] { return textOfOp(value.getDefiningOp()); });
}

Printer::Text Printer::textOf(const analysis::Spelling &spelling) const {
  std::string written = spelling.write([&](mlir::Value value, bool isCompared) {
    return within(text(value), isCompared ? Level::Sum : Level::Comparison);
  });
  return {written, spelling.kind == analysis::Spelling::Kind::Comparison ? Level::Comparison : Level::Operand};
}

Printer::Text Printer::textOfOp(mlir::Operation *op) const {
  if (std::optional<analysis::Spelling> spelling = analysis::findSpelling(op->getResult(0)))
    return textOf(*spelling);
  auto operand = [&](unsigned i, Level level) { return within(text(op->getOperand(i)), level); };
  auto call = [&](StringRef name) {
    SmallVector<std::string, 2> arguments;
    for (mlir::Value argument : op->getOperands())
      arguments.push_back(text(argument).text);
    return Text{name.str() + "(" + join(arguments, ", ") + ")"};
  };
  return mlir::TypeSwitch<mlir::Operation *, Text>(op)
      .Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp>([](auto declared) { return Text{declared.getName().str()}; })
      .Case([&](dgps::ConstantOp constant) {
        return Text{number(constant.getNumber()), constant.getNumber() < 0 ? Level::Sum : Level::Operand};
      })
      .Case([&](dgps::BroadcastOp) { return text(op->getOperand(0)); })
      .Case([&](dgps::AddOp) { return Text{operand(0, Level::Sum) + " + " + operand(1, Level::Product), Level::Sum}; })
      .Case([&](dgps::SubOp) { return Text{operand(0, Level::Sum) + " - " + operand(1, Level::Product), Level::Sum}; })
      .Case([&](dgps::NegOp) { return Text{"-" + operand(0, Level::Operand), Level::Product}; })
      .Case<dgps::MulOp, dgps::ScaleRowsOp, dgps::ScaleColsOp>(
          [&](auto) { return Text{operand(0, Level::Product) + " * " + operand(1, Level::Operand), Level::Product}; })
      .Case([&](dgps::DivOp) {
        return Text{operand(0, Level::Product) + " / " + operand(1, Level::Operand), Level::Product};
      })
      .Case<dgps::MatvecOp, dgps::VecmatOp>(
          [&](auto) { return Text{operand(0, Level::Operand) + " @ " + operand(1, Level::Operand), Level::Product}; })
      .Case([&](dgps::ExtractOp extract) {
        return Text{operand(0, Level::Operand) + "[" + std::to_string(extract.getIndex()) + "]"};
      })
      .Case([&](dgps::SliceOp slice) {
        return Text{operand(0, Level::Operand) + "[" + std::to_string(slice.getBegin()) + ".." +
                    std::to_string(slice.getBegin() + slice.getSize()) + "]"};
      })
      .Case([&](dgps::ConcatOp concat) {
        bool stacks = dgps::shapeOf(concat.getOperands().front()).size() < dgps::shapeOf(concat.getResult()).size();
        return call(stacks ? "stack" : "concat");
      })
      .Case([&](dgps::CgOp cg) {
        return Text{"cg(" + text(cg.getMatrix()).text + ", " + text(cg.getVector()).text +
                    ", ridge = " + text(cg.getRidge()).text + ", iterations = " + std::to_string(cg.getIterations()) +
                    (cg.getBySteps() ? ", gradient = steps)" : ")")};
      })
      .Case([&](dgps::LoopOp loop) {
        return Text{std::to_string(loop.getIterations()) + " steps from " + text(loop.getInitial()).text, Level::Sum};
      })
      .Default([&](mlir::Operation *function) { return call(function->getName().stripDialect()); });
}

//===----------------------------------------------------------------------===//
// From the canonical form
//===----------------------------------------------------------------------===//

Printer::Text Printer::text(const Poly *poly) const {
  if (auto name = names.find(poly); name != names.end())
    return {name->second};
  if (std::optional<double> value = poly->asNumber())
    return {number(*value), *value < 0 ? Level::Sum : Level::Operand};
  if (mlir::Value value = valueOf(poly, poly->axes == Axis::None ? 0 : poly->axes == Axis::Both ? 2 : 1))
    return text(value);
  return shortened(poly, [&] { return spell(poly); });
}

/// The terms of a sum, or the first of them.
Printer::Text Printer::spell(const Poly *poly) const {
  if (std::optional<double> value = poly->asNumber())
    return {number(*value), *value < 0 ? Level::Sum : Level::Operand};
  constexpr size_t mostTerms = 12;
  std::string result;
  for (auto [index, term] : enumerate(ArrayRef(poly->terms).take_front(mostTerms))) {
    bool negative = term.coefficient < 0;
    if (index)
      result += negative ? " - " : " + ";
    else if (negative)
      result += "-";
    double magnitude = std::abs(term.coefficient);
    std::string product = within(text(term.monomial), Level::Product);
    if (term.monomial->isOne())
      result += number(magnitude);
    else if (magnitude == 1)
      result += product;
    else
      result += number(magnitude) + " * " + product;
  }
  if (poly->terms.size() > mostTerms)
    result += " + ... (" + std::to_string(poly->terms.size() - mostTerms) + " more terms)";
  const Term *only = poly->single();
  if (!only || only->coefficient < 0)
    return {result, Level::Sum};
  return {result, only->coefficient == 1 ? text(only->monomial).level : Level::Product};
}

Printer::Text Printer::text(const Monomial *monomial) const {
  const Poly *whole = algebra.poly(monomial);
  if (auto name = names.find(whole); name != names.end())
    return {name->second};
  SmallVector<std::string, 4> above, below;
  if (monomial->exponent) {
    const Poly *exponential = algebra.exponential(monomial->exponent);
    auto name = names.find(exponential);
    above.push_back(name != names.end() ? name->second : "exp(" + print(monomial->exponent) + ")");
  }
  for (const Factor &factor : monomial->factors) {
    bool inverse = factor.atom->isFunction("inverse");
    // A product of one factor need not be set apart; any other operand of a product must be.
    std::string one = inverse ? printOperand(factor.atom->arguments[0])
                              : within(text(factor.atom), monomial->degree() == 1 ? Level::Product : Level::Operand);
    for (unsigned i = 0; i < factor.power; ++i)
      (inverse ? below : above).push_back(one);
  }
  if (below.empty() && above.size() == 1) // which is set apart already, where it must be
    return {above.front(),
            monomial->exponent ? Level::Operand : std::max(text(monomial->factors[0].atom).level, Level::Product)};
  std::string result = above.empty() ? "1" : join(above, " * ");
  for (const std::string &divisor : below)
    result += " / " + divisor;
  return {result, Level::Product};
}

Printer::Text Printer::text(const Atom *atom) const {
  Axis axis = atom->rank == 0 ? Axis::None : atom->rank == 1 ? Axis::Row : Axis::Both;
  const Poly *self = algebra.poly(algebra.monomial(Factor{atom, axis, 1}, nullptr));
  if (auto name = names.find(self); name != names.end())
    return {name->second};
  if (atom->kind == Atom::Kind::Leaf)
    return textOfOp(atom->leaf.getDefiningOp());
  if (mlir::Value value = valueOf(self, atom->rank))
    return text(value);
  if (atom->kind == Atom::Kind::Sum)
    return textOfSum(atom);
  if (atom->name == "extract")
    return {printOperand(atom->arguments[0]) + "[" + std::to_string(atom->parameter) + "]"};
  if (atom->name == "slice")
    return {printOperand(atom->arguments[0]) + "[" + std::to_string(sliceBegin(atom->parameter)) + ".." +
            std::to_string(sliceBegin(atom->parameter) + sliceSize(atom->parameter)) + "]"};
  if (atom->name == "value") // a short name for what it holds
    return text(atom->arguments[0]);
  SmallVector<std::string, 3> arguments;
  for (const Poly *argument : atom->arguments)
    arguments.push_back(print(argument));
  return {atom->name + "(" + join(arguments, ", ") + ")"};
}

/// A sum over one index: a product with a matrix, an inner product of two, or the plain sum.
Printer::Text Printer::textOfSum(const Atom *atom) const {
  const Monomial *product = atom->product;
  for (const Factor &factor : product->factors) {
    if (factor.axis != Axis::Both || factor.power != 1)
      continue;
    const Poly *vector = algebra.poly(quotient(algebra, product, algebra.monomial(factor, nullptr)));
    std::string matrix = within(text(factor.atom), Level::Operand);
    if (atom->summed == Axis::Col)
      return {matrix + " @ " + printOperand(algebra.transpose(vector)), Level::Product};
    return {printOperand(vector) + " @ " + matrix, Level::Product};
  }
  // The first factor against the others.
  if (!product->factors.empty() && product->degree() > 1) {
    Factor first = product->factors.front();
    first.power = 1;
    const Poly *others = algebra.poly(quotient(algebra, product, algebra.monomial(first, nullptr)));
    return {"dot(" + text(first.atom).text + ", " + print(others) + ")"};
  }
  return {"sum(" + text(product).text + ")"};
}
