#include "Analysis/Spelling.h"
#include "Analysis/Algebra/Print.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "dialects/DGPS/WrittenOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace recur;
using namespace recur::analysis;
using Operand = Spelling::Operand;
using Kind = Spelling::Kind;

static mlir::Value skipBroadcasts(mlir::Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (!isa<dgps::BroadcastOp, chunk::BroadcastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The operands of an elementwise function, by the name that both dialects give it, or of none.
static std::optional<std::array<mlir::Value, 3>> findCall(mlir::Value value, StringRef name) {
  mlir::Operation *op = skipBroadcasts(value).getDefiningOp();
  if (!op || op->getNumOperands() > 3)
    return std::nullopt;
  auto map = dyn_cast<chunk::MapOp>(op);
  if (!map && !isa<dgps::DGPSDialect>(op->getDialect()))
    return std::nullopt;
  if ((map ? chunk::stringifyFunction(map.getFunction()) : op->getName().stripDialect()) != name)
    return std::nullopt;
  std::array<mlir::Value, 3> operands;
  copy(op->getOperands(), operands.begin());
  return operands;
}

static std::optional<double> findNumber(mlir::Value value) {
  value = skipBroadcasts(value);
  if (auto constant = value.getDefiningOp<chunk::ConstantOp>())
    return constant.getNumber();
  return dgps::constantNumber(value);
}

static bool isNumber(mlir::Value value, double number) { return findNumber(value) == number; }

static Operand toOperand(mlir::Value value) {
  std::optional<double> number = findNumber(value);
  return number ? Operand{{}, *number} : Operand{skipBroadcasts(value)};
}

static bool areSame(const Operand &a, const Operand &b) { return a.value == b.value && a.number == b.number; }

/// A value without the bounds that keep the difference of two infinities a number.
static mlir::Value withoutBounds(mlir::Value value) {
  constexpr double largest = std::numeric_limits<float>::max();
  auto upper = findCall(value, "max");
  if (!upper || !isNumber((*upper)[1], -largest))
    return value;
  auto lower = findCall((*upper)[0], "min");
  return lower && isNumber((*lower)[1], largest) ? (*lower)[0] : value;
}

static StringRef mirror(StringRef sign) {
  return sign == ">" ? "<" : sign == ">=" ? "<=" : sign == "<" ? ">" : sign == "<=" ? ">=" : sign;
}

/// A number stands on the right, as most write it.
static Spelling compare(StringRef sign, Operand a, Operand b) {
  if (!a.value && b.value)
    return {Kind::Comparison, mirror(sign), {b, a}};
  return {Kind::Comparison, sign, {a, b}};
}

/// How a difference compares with zero.
static Spelling compareDifference(mlir::Value difference, StringRef sign, bool isBounded) {
  auto operand = [&](mlir::Value value) { return toOperand(isBounded ? withoutBounds(value) : value); };
  if (auto parts = findCall(difference, "sub")) {
    Operand a = operand((*parts)[0]), b = operand((*parts)[1]);
    bool isLessWritten = dgps::isMarkedLess(skipBroadcasts(difference).getLoc());
    return isLessWritten ? compare(mirror(sign), b, a) : compare(sign, a, b);
  }
  if (auto parts = findCall(difference, "neg"))
    return compare(mirror(sign), operand((*parts)[0]), {});
  return compare(sign, operand(difference), {});
}

static std::optional<Spelling> findComparison(mlir::Value value);

/// What holds where a condition is above zero.
static Spelling findCondition(mlir::Value condition) {
  constexpr double smallest = std::numeric_limits<float>::min();
  if (auto sum = findCall(condition, "add"); sum && isNumber((*sum)[1], smallest))
    return compareDifference((*sum)[0], ">=", /*isBounded=*/true);
  if (auto rest = findCall(condition, "sub"); rest && isNumber((*rest)[0], smallest))
    if (auto apart = findCall((*rest)[1], "abs"))
      return compareDifference((*apart)[0], "==", /*isBounded=*/true);
  if (std::optional<Spelling> comparison = findComparison(condition))
    return *comparison;
  return compareDifference(condition, ">", /*isBounded=*/false);
}

/// A value that is 1 where a comparison holds, and 0 elsewhere.
static std::optional<Spelling> findComparison(mlir::Value value) {
  if (auto choice = findCall(value, "select"); choice && isNumber((*choice)[1], 1) && isNumber((*choice)[2], 0))
    return findCondition((*choice)[0]);
  auto rest = findCall(value, "sub");
  if (!rest || !isNumber((*rest)[0], 1))
    return std::nullopt;
  std::optional<Spelling> comparison = findComparison((*rest)[1]);
  if (!comparison || comparison->word != "==")
    return std::nullopt;
  comparison->word = "!=";
  return comparison;
}

/// `rest` is what is left of a - b floor(a / b), and is put right twice.
static std::optional<Spelling> findMod(mlir::Value value) {
  auto last = findCall(value, "add");
  auto whole = last ? findCall((*last)[1], "select") : std::nullopt;
  auto first = whole ? findCall((*last)[0], "add") : std::nullopt;
  auto opposite = first ? findCall((*first)[1], "select") : std::nullopt;
  auto rest = opposite ? findCall((*first)[0], "sub") : std::nullopt;
  auto product = rest ? findCall((*rest)[1], "mul") : std::nullopt;
  if (!product || !isNumber((*whole)[2], 0) || !isNumber((*opposite)[2], 0))
    return std::nullopt;
  if (StringRef sign = findCondition((*whole)[0]).word; sign != ">=" && sign != "<=")
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    auto times = findCall((*product)[i], "floor");
    auto quotient = times ? findCall((*times)[0], "div") : std::nullopt;
    if (!quotient)
      continue;
    Operand a = toOperand((*quotient)[0]), b = toOperand((*quotient)[1]);
    auto isDivisor = [&](mlir::Value one) { return areSame(b, toOperand(one)); };
    auto minus = findCall((*whole)[1], "neg");
    bool isMinus = minus ? isDivisor((*minus)[0]) : !b.value && isNumber((*whole)[1], -b.number);
    if (isMinus && areSame(a, toOperand((*rest)[0])) && isDivisor((*product)[1 - i]) && isDivisor((*opposite)[1]))
      return Spelling{Kind::Call, "mod", {a, b}};
  }
  return std::nullopt;
}

/// (a > 0) - (a < 0)
static std::optional<Spelling> findSign(mlir::Value value) {
  auto parts = findCall(value, "sub");
  auto isPositive = parts ? findCall((*parts)[0], "select") : std::nullopt;
  auto isNegative = isPositive ? findCall((*parts)[1], "select") : std::nullopt;
  if (!isNegative || !findComparison((*parts)[0]) || !findComparison((*parts)[1]))
    return std::nullopt;
  Operand a = toOperand((*isPositive)[0]);
  auto minus = findCall((*isNegative)[0], "neg");
  if (!minus || !areSame(a, toOperand((*minus)[0])))
    return std::nullopt;
  return Spelling{Kind::Call, "sign", {a}};
}

/// What a product or a sum has beside the number.
static mlir::Value findBeside(mlir::Value value, StringRef function, double number) {
  auto operands = findCall(value, function);
  for (unsigned i = 0; operands && i < 2; ++i)
    if (isNumber((*operands)[i], number))
      return (*operands)[1 - i];
  return {};
}

/// a * (0.5 erf(a / sqrt(2)) + 0.5), or with the halves in front of it all.
static std::optional<Spelling> findGelu(mlir::Value value) {
  mlir::Value twice = findBeside(value, "mul", 0.5);
  auto product = findCall(twice ? twice : value, "mul");
  for (unsigned i = 0; product && i < 2; ++i) {
    mlir::Value gate = findBeside((*product)[i], "add", twice ? 1 : 0.5);
    if (gate && !twice)
      gate = findBeside(gate, "mul", 0.5);
    auto erf = gate ? findCall(gate, "erf") : std::nullopt;
    mlir::Value scaled = erf ? findBeside((*erf)[0], "mul", std::sqrt(0.5)) : mlir::Value();
    Operand a = toOperand((*product)[1 - i]);
    if (scaled && areSame(a, toOperand(scaled)))
      return Spelling{Kind::Call, "gelu", {a}};
  }
  return std::nullopt;
}

std::optional<Spelling> analysis::findSpelling(mlir::Value value) {
  if (std::optional<Spelling> found = findComparison(value))
    return found;
  if (auto choice = findCall(value, "select")) {
    Spelling spelling = findCondition((*choice)[0]);
    spelling.kind = Kind::Choice;
    spelling.operands.append({toOperand((*choice)[1]), toOperand((*choice)[2])});
    return spelling;
  }
  if (std::optional<Spelling> found = findMod(value))
    return found;
  if (std::optional<Spelling> found = findGelu(value))
    return found;
  return findSign(value);
}

std::string Spelling::write(function_ref<std::string(mlir::Value value, bool isCompared)> print) const {
  SmallVector<std::string, 4> texts;
  for (auto [index, operand] : enumerate(operands))
    texts.push_back(operand.value ? print(operand.value, kind != Kind::Call && index < 2)
                                  : algebra::Printer::number(operand.number));
  if (kind == Kind::Call)
    return word.str() + "(" + join(texts, ", ") + ")";
  std::string comparison = texts[0] + " " + word.str() + " " + texts[1];
  return kind == Kind::Comparison ? comparison : "where(" + comparison + ", " + texts[2] + ", " + texts[3] + ")";
}
