#include "Explain/ChunkEquations.h"
#include "Analysis/Algebra/Print.h"
#include "Analysis/Spelling.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::explain;

namespace {

/// How tightly the outermost operator of a text binds.
enum class Level { Comparison, Sum, Product, Operand };
struct Text {
  std::string text;
  Level level = Level::Operand;
};

class EquationWriter {
public:
  std::vector<std::string> write(chunk::ProgramOp program);
  /// What the report's own words mean, of those that the equations use.
  std::vector<std::string> explainWords();

private:
  /// A word of the report, with an underscore behind it where the author gives that name to something else.
  std::string word(StringRef plain) {
    std::string text = plain.str();
    while (declared.contains(text))
      text += "_";
    used.insert(plain);
    return text;
  }
  std::string visibility(ArrayRef<int64_t> points, ArrayRef<int64_t> steps);
  std::string in(mlir::Value value, Level level = Level::Comparison) {
    Text text = of(value);
    return text.level < level ? "(" + text.text + ")" : text.text;
  }
  Text of(mlir::Value value);
  std::string transpose(mlir::Value matrix);
  Text expression(mlir::Operation *op, unsigned result);
  Text map(chunk::MapOp map);
  Text spell(const analysis::Spelling &spelling);
  void countUses(chunk::ProgramOp program);
  std::string decay(chunk::DecayedOpInterface op) { return decayFactor(op.getDecaySteps(), !op.inLogSpace()); }
  std::string decayFactor(mlir::Value steps, bool linear);
  std::string nameFor(mlir::Operation *op);

  DenseMap<mlir::Value, std::string> names;
  DenseMap<mlir::Value, Text> inlined;  ///< of values that are used once and are short
  DenseMap<mlir::Value, unsigned> uses; ///< in what is written; many, if what goes on inside of a region is one
  StringMap<unsigned> counters;
  StringSet<> declared; // by the author
  StringSet<> used;     // of the report's own words
};

} // namespace

Text EquationWriter::of(mlir::Value value) {
  if (auto name = names.find(value); name != names.end())
    return {name->second};
  if (auto text = inlined.find(value); text != inlined.end())
    return text->second;
  return expression(value.getDefiningOp(), cast<mlir::OpResult>(value).getResultNumber());
}

/// The factor of a token: exp(g) where the steps are logarithms.
std::string EquationWriter::decayFactor(mlir::Value steps, bool linear) {
  return linear ? in(steps) : "exp(" + in(steps) + ")";
}

Text EquationWriter::map(chunk::MapOp map) {
  StringRef function = stringifyFunction(map.getFunction());
  mlir::OperandRange operands = map.getOperands();
  auto infix = [&](StringRef sign, Level own, Level right) {
    return Text{in(operands[0], own) + sign.str() + in(operands[1], right), own};
  };
  if (function == "neg")
    return {"-" + in(operands[0], Level::Operand), Level::Product};
  if (function == "add")
    return infix(" + ", Level::Sum, Level::Product);
  if (function == "sub")
    return infix(" - ", Level::Sum, Level::Product);
  if (function == "mul" || function == "scale_cols" || function == "scale_rows")
    return infix(" * ", Level::Product, Level::Operand);
  if (function == "div")
    return infix(" / ", Level::Product, Level::Operand);
  if (function == "matvec" || function == "vecmat")
    return infix(" @ ", Level::Product, Level::Operand);
  SmallVector<std::string, 2> arguments;
  for (mlir::Value operand : operands)
    arguments.push_back(in(operand));
  return {function.str() + "(" + join(arguments, ", ") + ")"};
}

Text EquationWriter::spell(const analysis::Spelling &spelling) {
  std::string written = spelling.write(
      [&](mlir::Value value, bool isCompared) { return in(value, isCompared ? Level::Sum : Level::Comparison); });
  return {written, spelling.kind == analysis::Spelling::Kind::Comparison ? Level::Comparison : Level::Operand};
}

/// What only the parts of a comparison or a mod use is not written.
void EquationWriter::countUses(chunk::ProgramOp program) {
  for (mlir::Operation &op : reverse(program.getBody().front())) {
    if (op.getNumResults() && all_of(op.getResults(), [&](mlir::Value result) { return uses.lookup(result) == 0; }))
      continue;
    std::optional<analysis::Spelling> spelling;
    if (op.getNumResults() == 1)
      spelling = analysis::findSpelling(op.getResult(0));
    if (spelling) {
      for (const analysis::Spelling::Operand &operand : spelling->operands)
        if (operand.value)
          ++uses[operand.value];
      continue;
    }
    op.walk([&](mlir::Operation *inner) {
      for (mlir::Value operand : inner->getOperands())
        uses[operand] += inner == &op ? 1 : 2;
    });
  }
}

/// The first of many, and how many there are more.
static std::string listed(ArrayRef<std::string> items) {
  constexpr size_t most = 16, shown = 8;
  if (items.size() <= most)
    return join(items, ", ");
  return fmt::format("{}, ... ({} more)", fmt::join(items.take_front(shown), ", "), items.size() - shown);
}

/// Numbers; many that follow each other as a range.
static std::string listed(ArrayRef<int64_t> numbers) {
  bool follow = numbers.size() > 8;
  for (size_t i = 1; i < numbers.size(); ++i)
    follow &= numbers[i] == numbers[i - 1] + 1;
  if (follow)
    return fmt::format("{} to {}", numbers.front(), numbers.back());
  SmallVector<std::string, 4> texts;
  for (int64_t number : numbers)
    texts.push_back(number < 0 ? "before" : std::to_string(number));
  constexpr size_t most = 16, shown = 8;
  if (texts.size() <= most)
    return join(texts, " ");
  return fmt::format("{} ... ({} more)", fmt::join(ArrayRef(texts).take_front(shown), " "), texts.size() - shown);
}

/// "strict", "inclusive", "before", or the points in full.
std::string EquationWriter::visibility(ArrayRef<int64_t> points, ArrayRef<int64_t> steps) {
  if (points.size() == 1 && steps.size() == 1 && steps[0] == 0)
    return word(points[0] < 0 ? "before" : points[0] == 0 ? "strict" : "inclusive");
  return fmt::format("points {} of writes {}", listed(points), listed(steps));
}

/// A state is named as the author has it, of which the program may have the transpose.
static std::optional<StringRef> findTransposed(mlir::Value value) {
  if (auto state = value.getDefiningOp<chunk::StateOp>(); state && state.getTransposed())
    return state.getName();
  if (auto kept = value.getDefiningOp<chunk::KeptOp>(); kept && kept.getTransposed())
    return kept.getName();
  return std::nullopt;
}

std::string EquationWriter::transpose(mlir::Value matrix) {
  std::optional<StringRef> name = findTransposed(matrix);
  return name ? name->str() : in(matrix, Level::Operand) + "^T";
}

Text EquationWriter::expression(mlir::Operation *op, unsigned result) {
  return mlir::TypeSwitch<mlir::Operation *, Text>(op)
      .Case<chunk::InputOp, chunk::ParamOp>([](auto declared) { return Text{declared.getName().str()}; })
      .Case<chunk::StateOp, chunk::KeptOp>(
          [](auto state) { return Text{state.getName().str() + (state.getTransposed() ? "^T" : "")}; })
      .Case([](chunk::ConstantOp constant) {
        return Text{algebra::Printer::number(constant.getNumber()),
                    constant.getNumber() < 0 ? Level::Sum : Level::Operand};
      })
      .Case([&](chunk::MapOp op) {
        std::optional<analysis::Spelling> spelling = analysis::findSpelling(op);
        return spelling ? spell(*spelling) : map(op);
      })
      .Case([&](chunk::BroadcastOp op) { return of(op.getOperand()); })
      .Case([&](chunk::ExtractOp op) {
        return Text{fmt::format("{}[{}]", in(op.getOperand(), Level::Operand), op.getIndex())};
      })
      .Case([&](chunk::SliceOp op) {
        return Text{fmt::format("{}[{}..{}]", in(op.getOperand(), Level::Operand), op.getBegin(),
                                op.getBegin() + op.getSize())};
      })
      .Case([&](chunk::ConcatOp op) {
        bool stacks = chunk::tensorOf(op.getOperands().front()).getRank() < chunk::tensorOf(op.getResult()).getRank();
        std::string parts;
        for (mlir::Value operand : op.getOperands())
          parts += (parts.empty() ? "" : ", ") + in(operand);
        return Text{fmt::format("{}({})", stacks ? "stack" : "concat", parts)};
      })
      .Case([&](chunk::CumulativeDecayOp op) {
        std::string steps = op.getLinear() ? in(op.getDecay()) : "exp(" + in(op.getDecay()) + ")";
        return Text{fmt::format("{}({})", word(stringifyDecayRange(op.getRange())), steps)};
      })
      .Case([&](chunk::InteractionOp op) {
        std::string decayed = op.getDecay() ? ", " + decay(op) : "";
        return Text{fmt::format("{}(<{}, {}>{})", visibility(op.getPoints(), op.getSteps()), in(op.getRows()),
                                in(op.getColumns()), decayed)};
      })
      .Case([&](chunk::ApplyOp op) {
        std::string decayed = op.getDecay() ? " decayed by " + decay(op) : "";
        return Text{in(op.getMatrix(), Level::Operand) + " @ " + in(op.getValues(), Level::Operand) + decayed,
                    Level::Product};
      })
      .Case([&](chunk::ApplyTransposedOp op) {
        std::string decayed = op.getDecay() ? " decayed by " + decayFactor(op.getDecay(), op.getLinear()) : "";
        return Text{in(op.getMatrix(), Level::Operand) + "^T @ " + in(op.getValues(), Level::Operand) + decayed,
                    Level::Product};
      })
      .Case([&](chunk::SolveTransposedOp op) {
        std::string decayed =
            op.getDecay() ? ", channels decayed by " + decayFactor(op.getDecay(), op.getLinear()) : "";
        return Text{fmt::format("{}((I + {})^T, {}{})", word("solve"), in(op.getMatrix(), Level::Product),
                                in(op.getValues()), decayed)};
      })
      .Case([&](chunk::DecayCotangentOp op) {
        return Text{fmt::format("{}({}(<{}, {}>), {}, {})", word("range_sums"),
                                visibility(op.getPoints(), op.getSteps()), in(op.getRows()), in(op.getColumns()),
                                in(op.getMatrix()), decayFactor(op.getDecay(), op.getLinear()))};
      })
      .Case([&](chunk::ReverseScanOp op) {
        std::string step = op.getDecay() ? decayFactor(op.getDecay(), op.getLinear()) : "1";
        return Text{fmt::format("{}({}, a = {}, b = {}){}", word("reverse_scan"), in(op.getState()), step,
                                in(op.getAdditions()), result == 1 ? " at the start" : "")};
      })
      .Case([&](chunk::FollowingOp op) {
        return Text{fmt::format("{}({}, {}){}", word("following"), in(op.getState()), in(op.getRows()),
                                result == 1 ? " at the start" : "")};
      })
      .Case([&](chunk::InsertOp op) {
        return Text{fmt::format("{}({}, {} of {})", word("insert"), in(op.getOperand()), op.getIndex(), op.getSize())};
      })
      .Case([&](chunk::ReshapeStateOp op) { return of(op.getState()); })
      .Case([&](chunk::SolveOp op) {
        std::string decayed = op.getDecay() ? ", channels decayed by " + decay(op) : "";
        return Text{fmt::format("{}(I + {}, {}{})", word("solve"), in(op.getMatrix(), Level::Product),
                                in(op.getValues()), decayed)};
      })
      .Case([&](chunk::ScaledSolveOp op) {
        return Text{fmt::format("{}(I + {} * {}, {})", word(op.getReverse() ? "solve_transposed" : "solve"),
                                in(op.getScales(), Level::Product), in(op.getMatrix(), Level::Product),
                                in(op.getValues()))};
      })
      .Case([&](chunk::EliminateOp op) {
        std::string lower = in(op.getLower(), Level::Operand);
        std::string upper = op.getLower() == op.getUpper() ? "" : ", " + in(op.getUpper());
        return Text{fmt::format("{}({}({}{}) @ diag({}) + diag({}))", word("factors"), word("mirror"), lower, upper,
                                in(op.getColumns()), in(op.getDiagonal()))};
      })
      .Case([&](chunk::InverseOp op) {
        std::string inverse = fmt::format("{}(I + {})", word("inverse"), in(op.getMatrix(), Level::Product));
        return op.getGain() ? Text{inverse + fmt::format(" @ diag({})", in(op.getGain())), Level::Product}
                            : Text{inverse};
      })
      .Case([&](chunk::ReadOp op) {
        return Text{in(op.getRows(), Level::Operand) + " @ " +
                        (op.getLeft() ? in(op.getState(), Level::Operand) : transpose(op.getState())),
                    Level::Product};
      })
      .Case([&](chunk::AdvanceOp op) {
        std::string state = in(op.getState(), Level::Operand);
        if (op.getRowDecay())
          state = fmt::format("diag({}) @ {}", in(op.getRowDecay()), state);
        if (op.getColumnDecay()) {
          bool scalar = cast<mlir::RankedTensorType>(op.getColumnDecay().getType()).getRank() == 1;
          state = scalar ? in(op.getColumnDecay(), Level::Product) + " * " + state
                         : fmt::format("{} @ diag({})", state, in(op.getColumnDecay()));
        }
        return Text{
            fmt::format("{} + {}^T @ {}", state, in(op.getValues(), Level::Operand), in(op.getKeys(), Level::Operand)),
            Level::Sum};
      })
      .Case([&](chunk::ScanOp op) {
        std::string step = op.getDecay() ? decay(op) : "1";
        return Text{fmt::format("{}({}, a = {}, b = {}){}", word(op.getAngles() ? "angle_scan" : "scan"),
                                in(op.getState()), step, in(op.getAdditions()), result == 1 ? " at the end" : "")};
      })
      .Case([&](chunk::TropicalScanOp op) {
        std::string_view extremum = chunk::stringifyExtremum(op.getExtremum());
        return Text{fmt::format(
            "{}({}, a = {}, b = {}){}", word(extremum == "max" ? "tropical_scan" : fmt::format("{}_scan", extremum)),
            in(op.getState()), in(op.getShifts()), in(op.getBounds()), result == 1 ? " at the end" : "")};
      })
      .Case([&](chunk::MoebiusScanOp op) {
        return Text{fmt::format("{}({}, a = {}, b = {}, c = {}, d = {}){}", word("moebius_scan"), in(op.getState()),
                                in(op.getA()), in(op.getB()), in(op.getC()), in(op.getD()),
                                result == 1 ? " at the end" : "")};
      })
      .Case([](chunk::InitialOp initial) { return Text{initial.getName().str()}; })
      .Case([&](chunk::HeldOp op) { return of(op.getFirst()); }) // the state, wherever it is found
      .Case([&](chunk::PreviousOp op) {
        return Text{fmt::format("{}({}, {})", word("previous"), in(op.getState()), in(op.getAll()))};
      })
      .Case([&](chunk::DeinterleaveOp op) {
        return Text{fmt::format("{}[step {}]", in(op.getOperand(), Level::Operand), op.getStep())};
      })
      .Case([&](chunk::LoopOp op) {
        return Text{fmt::format("{} steps from {}", op.getIterations(), in(op.getCarried().front())), Level::Sum};
      })
      .Case([&](chunk::CgOp op) {
        return Text{fmt::format("cg({}, ridge = {}, iterations = {}{})", in(op.getVectors()), in(op.getRidge()),
                                op.getIterations(), op.getBySteps() ? ", gradient = steps" : "")};
      })
      .Default([&](mlir::Operation *other) {
        SmallVector<std::string, 4> arguments;
        for (mlir::Value operand : other->getOperands())
          arguments.push_back(in(operand));
        std::string which = other->getNumResults() > 1 ? fmt::format(".{}", result) : "";
        return Text{word(other->getName().stripDialect()) + "(" + listed(arguments) + ")" + which};
      });
}

std::string EquationWriter::nameFor(mlir::Operation *op) {
  StringRef letter = isa<chunk::InteractionOp>(op)                       ? "A"
                     : isa<chunk::SolveOp, chunk::SolveTransposedOp>(op) ? "U"
                     : isa<chunk::InverseOp>(op)                         ? "T"
                     : isa<chunk::EliminateOp>(op)                       ? "L"
                     : isa<chunk::TokenLoopOp>(op)                       ? "Y"
                                                                         : "x";
  std::string name;
  do
    name = letter.str() + std::to_string(++counters[letter]);
  while (declared.contains(name));
  return name;
}

std::vector<std::string> EquationWriter::write(chunk::ProgramOp program) {
  for (mlir::Operation &op : program.getBody().front())
    mlir::TypeSwitch<mlir::Operation *>(&op)
        .Case<chunk::InputOp, chunk::ParamOp, chunk::StateOp, chunk::KeptOp, chunk::OutputOp>(
            [&](auto one) { declared.insert(one.getName()); });
  countUses(program);
  std::vector<std::string> equations;
  for (mlir::Operation &op : program.getBody().front()) {
    if (auto output = dyn_cast<chunk::OutputOp>(op)) {
      equations.push_back(output.getName().str() + " = " + in(output.getValue()));
      continue;
    }
    if (auto next = dyn_cast<chunk::NextOp>(op)) {
      chunk::StateOp state = next.getStateOp();
      equations.push_back(state.getName().str() + (state.getTransposed() ? "'^T = " : "' = ") + in(next.getValue()));
      continue;
    }
    if (isa<chunk::InputOp, chunk::ParamOp, chunk::StateOp, chunk::KeptOp, chunk::ConstantOp>(op))
      continue;
    // Integers are numbers without a word about it.
    if (auto map = dyn_cast<chunk::MapOp>(op); map && map.getFunction() == chunk::Function::Stop)
      if (auto input = map.getOperand(0).getDefiningOp<chunk::InputOp>(); input && input.isInteger()) {
        names[map.getResult()] = input.getName().str();
        continue;
      }
    // A scan gives all its values and the last: one name for both.
    if (isa<chunk::ScanOp, chunk::TropicalScanOp, chunk::MoebiusScanOp>(op) && !op.getResult(0).use_empty() &&
        !op.getResult(1).use_empty()) {
      Text text = expression(&op, 0);
      std::string name = nameFor(&op);
      names[op.getResult(0)] = name;
      names[op.getResult(1)] = name + " at the end";
      equations.push_back(name + " = " + text.text);
      continue;
    }
    // So does a loop, whose results are told apart by numbers.
    auto isUsed = [](mlir::OpResult result) { return !result.use_empty(); };
    if (isa<chunk::TokenLoopOp>(op) && count_if(op.getResults(), isUsed) > 1) {
      std::string name = nameFor(&op), which = ".0";
      Text text = expression(&op, 0);
      for (mlir::OpResult result : op.getResults())
        names[result] = fmt::format("{}.{}", name, result.getResultNumber());
      equations.push_back(name + " = " + StringRef(text.text).drop_back(which.size()).str());
      continue;
    }
    for (mlir::OpResult result : op.getResults()) {
      if (uses.lookup(result) == 0)
        continue;
      constexpr size_t longest = 120;
      Text text = expression(&op, result.getResultNumber());
      if (uses.lookup(result) == 1 && text.text.size() <= longest) {
        inlined[result] = text;
        continue;
      }
      names[result] = nameFor(&op);
      equations.push_back(names[result] + " = " + text.text);
    }
  }
  return equations;
}

std::vector<std::string> EquationWriter::explainWords() {
  std::vector<std::string> lines;
  auto explainUsed = [&](ArrayRef<StringRef> words, StringRef meaning) {
    SmallVector<std::string, 4> shown;
    for (StringRef plain : words)
      if (used.contains(plain))
        shown.push_back(word(plain));
    if (!shown.empty())
      lines.push_back(join(shown, ", ") + ": " + meaning.str());
  };
  explainUsed({"through"}, "the product of the decay from the chunk's start to a token, the token's own included");
  explainUsed({"before"}, "the product of the decay from the chunk's start to a token, the token's own excluded; "
                          "of a matrix, products of each token with earlier tokens, under that decay");
  explainUsed({"after"}, "the product of the decay from the next token to the chunk's end");
  explainUsed({"total"}, "the product of the decay over the whole chunk");
  explainUsed({"strict"}, "products of each token with earlier tokens, under the decay between them");
  explainUsed({"inclusive"}, "products of each token with earlier tokens and itself, under the decay between them");
  return lines;
}

std::vector<std::string> explain::writeEquations(chunk::ProgramOp program, std::vector<std::string> *words) {
  EquationWriter writer;
  std::vector<std::string> equations = writer.write(program);
  if (words)
    *words = writer.explainWords();
  return equations;
}
