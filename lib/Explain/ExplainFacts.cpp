#include "Explain/ExplainFacts.h"
#include "Explain/Explain.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::analysis;
using namespace recur::explain;

void ExplainOptions::takeDeclarations(ArrayRef<frontend::RecurrenceInfo> declared, StringRef recurrence) {
  const auto *info = find_if(declared, [&](const auto &one) { return one.name == recurrence; });
  if (info == declared.end())
    return;
  for (const frontend::DimInfo &dim : info->dims)
    if (dim.assumed)
      assumedDims.push_back(dim.name);
  for (const auto *values : {&info->inputs, &info->params, &info->states, &info->outputs})
    for (const frontend::ValueInfo &value : *values)
      if (!value.complexName.empty() && !is_contained(complexNames, value.complexName))
        complexNames.push_back(value.complexName);
}

std::string ExplainFacts::pointName(const DeltaForm &form, Point point) {
  if (point.decayed && point.writes == form.steps.size())
    return "after the update";
  if (point.writes)
    return fmt::format("after write {}", point.writes);
  return point.decayed && !(form.keyDecay.isAbsent() && form.valueDecay.isAbsent()) ? "after the decay"
                                                                                    : "before the update";
}

std::string ExplainFacts::pointKind(Point point) {
  if (point.writes)
    return fmt::format("step {}", point.writes);
  return point.decayed ? "post" : "pre";
}

StringRef ExplainFacts::tyingName(Tying tying) {
  switch (tying) {
  case Tying::None:
    return "no read";
  case Tying::Tied:
    return "tied";
  case Tying::Scaled:
    return "scaled";
  case Tying::Free:
    return "free";
  }
  llvm_unreachable("all tyings are listed");
}

StringRef ExplainFacts::preconditionerName(Preconditioner preconditioner) {
  if (preconditioner.onWrite)
    return preconditioner.onQuery ? "key and query" : "key";
  return preconditioner.onQuery ? "query" : "none";
}

StringRef ExplainFacts::orientationName(Orientation orientation) {
  switch (orientation) {
  case Orientation::Right:
    return "right";
  case Orientation::Left:
    return "left";
  case Orientation::Vector:
    return "vector";
  }
  llvm_unreachable("all orientations are listed");
}

std::string ExplainFacts::printRead(const DeltaForm &form, const Read &read, StringRef state, bool crossed) const {
  std::string key = printer.printOperand(read.key);
  std::string product;
  if (form.orientation == Orientation::Vector)
    product = fmt::format("dot({}, {})", state.str(), printer.print(read.key));
  else if ((form.orientation == Orientation::Right) != crossed)
    product = fmt::format("{} @ {}", state.str(), key);
  else
    product = fmt::format("{} @ {}", key, state.str());
  if (read.scale->isOne())
    return product;
  if (form.orientation != Orientation::Vector)
    product = "(" + product + ")";
  if (read.scale->asNumber() == -1.0)
    return "-" + product;
  return fmt::format("{} * {}", printer.printFactor(read.scale), product);
}

std::string ExplainFacts::printKind(const CoupledForm &form) {
  return fmt::format("matrix {0} x {0}{1}", form.states.size(), form.hasChannels() ? " for each key channel" : "");
}

std::string ExplainFacts::printMatrix(const CoupledForm &form) const {
  std::string text = printKind(form) + ": ";
  for (auto [index, state] : enumerate(form.states)) {
    dgps::StateOp op = analysis.getStates()[state].op;
    SmallVector<std::string, 2> factors;
    for (const Decay &factor : form.matrix[index])
      factors.push_back(printer.print(factor.linear));
    text += fmt::format("{}{} [{}]", index ? ", " : "", op.getName().str(), listed(factors));
  }
  return text;
}

std::string ExplainFacts::printValue(const CoupledForm &form, const CoupledWrite &write) const {
  std::string text = write.free->isZero() ? "" : printer.print(write.free);
  DeltaForm side;
  side.orientation = form.orientation;
  for (const CoupledRead &read : write.reads)
    for (auto [state, factor] : zip(form.states, read.factors)) {
      if (factor->isZero())
        continue;
      bool isNegative = factor->leadingCoefficient() < 0;
      const algebra::Poly *scale = analysis.getAlgebra().multiply(factor, write.gain);
      if (isNegative && !text.empty())
        scale = analysis.getAlgebra().negate(scale);
      dgps::StateOp op = analysis.getStates()[state].op;
      std::string name = op.getName().str();
      std::string product = read.key         ? printRead(side, {scale, read.key, {}}, name)
                            : scale->isOne() ? name
                                             : printer.printFactor(scale) + " * " + name;
      text += (text.empty() ? "" : isNegative ? " - " : " + ") + product;
    }
  return text;
}

std::string ExplainFacts::printInteraction(const DeltaForm &form, const Interaction &interaction) const {
  std::string row = interaction.row ? printer.print(interaction.row) : "the iterates of steps";
  return fmt::format("<{}, {}>{}", row, printer.print(interaction.column),
                     interaction.crossed ? " over the value channels" : "");
}

std::string ExplainFacts::readoutTarget(const Readout &readout) const {
  SetVector<mlir::Operation *> reached;
  reached.insert_range(readout.value.getUsers());
  SmallVector<std::string, 2> names;
  for (size_t i = 0; i < reached.size(); ++i) {
    if (auto output = dyn_cast<dgps::OutputOp>(reached[i]))
      names.push_back("output " + output.getName().str());
    else if (auto next = dyn_cast<dgps::NextOp>(reached[i]))
      names.push_back("state " + next.getStateOp().getName().str());
    else
      reached.insert_range(reached[i]->getUsers());
  }
  return join(names, ", ");
}

std::string ExplainFacts::gainOf(const DeltaForm &form) const {
  SetVector<const algebra::Poly *> gains;
  SmallVector<std::string, 2> texts;
  for (const MicroStep &step : form.steps)
    if (gains.insert(step.gain))
      texts.push_back(printer.print(step.gain));
  return texts.empty() ? "1" : listed(texts);
}

std::string ExplainFacts::listed(ArrayRef<std::string> items) {
  constexpr size_t most = 16, shown = 8;
  if (items.size() <= most)
    return join(items, ", ");
  return fmt::format("{}, ... and {} more", fmt::join(items.take_front(shown), ", "), items.size() - shown);
}

static ExplainFacts::Lack lackOfDelta(const DeltaForm &form) {
  std::optional<size_t> vectorGain;
  for (auto [index, step] : enumerate(form.steps))
    if (any_of(step.reads, [](const Read &read) { return read.scale->axes != algebra::Axis::None; }))
      vectorGain = index + 1;
  for (auto [index, step] : enumerate(form.steps))
    for (const Read &read : step.reads) {
      if (vectorGain && !form.valueDecay.isAbsent())
        return {
            fmt::format("step {} erases with a gain for each value channel, and the value channels decay", *vectorGain),
            "a decay of the keys' side alone, or a gain that all value channels share"};
      if (!form.valueDecay.isAbsent() && read.point.decayed != step.reads.front().point.decayed)
        return {fmt::format("the value channels decay, and step {} reads the state before and after that", index + 1),
                "reads that are all before the decay, or all after it"};
    }
  for (mlir::Operation *use : form.wholeUses)
    if (!isa<dgps::CgOp, dgps::LoopOp, dgps::MatvecOp, dgps::VecmatOp>(use))
      return {fmt::format("{} takes the whole {} of each token", use->getName().stripDialect().str(),
                          form.orientation == Orientation::Vector ? "vector" : "matrix"),
              "products of the state with vectors in its place"};
  return {};
}

ExplainFacts::Lack ExplainFacts::lackOf(const StateFacts &state) {
  if (!state.needs.empty())
    return {"", state.needs};
  Lack lack;
  if (state.coupled)
    return {
        "it, or a state that is coupled with it, is needed as a whole matrix or by a state that goes token by token",
        "products of all of them with vectors"};
  if (state.complex)
    return {"it is needed other than in products with vectors, or by a state that goes token by token",
            "products of both of its parts with vectors"};
  if (state.inverse)
    return {"it is needed other than in products with vectors, or by a state that goes token by token",
            "products of it with vectors"};
  if (state.delta)
    lack = lackOfDelta(*state.delta);
  else if (state.tropical && state.tropical->shifts.empty())
    lack = {"it does not read itself", "a value of the token in its place"};
  if (lack.why.empty())
    lack.why = "a state that goes token by token reads it, or it reads such a state";
  return lack;
}
