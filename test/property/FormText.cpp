#include "property/FormText.h"
#include "Analysis/Axes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>
#include <set>

using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

static std::string print(const Poly *poly);

static std::string sortedAndJoined(std::vector<std::string> parts, const char *separator) {
  std::sort(parts.begin(), parts.end());
  return llvm::join(parts, separator);
}

static std::string print(const Monomial *monomial);

static std::string print(const Atom *atom) {
  switch (atom->kind) {
  case Atom::Kind::Leaf:
    return llvm::TypeSwitch<mlir::Operation *, std::string>(atom->leaf.getDefiningOp())
        .Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp>([](auto op) { return op.getName().str(); })
        .Default([](mlir::Operation *op) { return "<" + op->getName().getStringRef().str() + ">"; });
  case Atom::Kind::Function: {
    std::vector<std::string> arguments;
    for (const Poly *argument : atom->arguments)
      arguments.push_back(print(argument));
    bool anyOrder = atom->name == "max" || atom->name == "min";
    return fmt::format("{}{}({})", atom->name, atom->parameter,
                       anyOrder ? sortedAndJoined(arguments, ",") : llvm::join(arguments, ","));
  }
  case Atom::Kind::Sum:
    return fmt::format("sum{}({})", int(atom->summed), print(atom->product));
  }
  return "";
}

static std::string print(const Monomial *monomial) {
  std::vector<std::string> parts;
  for (const Factor &factor : monomial->factors)
    parts.push_back(fmt::format("{}.{}^{}", print(factor.atom), int(factor.axis), factor.power));
  if (monomial->exponent)
    parts.push_back("exp(" + print(monomial->exponent) + ")");
  return sortedAndJoined(std::move(parts), "*");
}

static std::string print(const Poly *poly) {
  std::vector<std::string> terms;
  for (const Term &term : poly->terms)
    terms.push_back(fmt::format("{:.9g} {}", term.coefficient, print(term.monomial)));
  return "[" + sortedAndJoined(std::move(terms), " + ") + "]";
}

static std::string print(const Decay &decay) {
  return print(decay.linear) + (decay.log ? " log " + print(decay.log) : "") + (decay.atMostOne ? " <= 1" : "");
}

static std::string print(llvm::ArrayRef<Read> reads) {
  std::vector<std::string> parts;
  for (const Read &read : reads)
    parts.push_back(
        fmt::format("{} X({},{}) {}", print(read.scale), read.point.decayed, read.point.writes, print(read.key)));
  return sortedAndJoined(std::move(parts), " ; ");
}

static std::string print(Algebra &algebra, const DeltaForm &form) {
  std::string text = fmt::format("  orientation {}\n  keys decay {}\n  values decay {}\n", int(form.orientation),
                                 print(form.keyDecay), print(form.valueDecay));
  for (const MicroStep &step : form.steps)
    text += fmt::format("  step\n    gain {}\n    value {}\n    reads {}\n    write {}\n", print(step.gain),
                        print(step.value), print(step.reads), print(step.write));
  for (Tying tying : tyingOf(algebra, form))
    text += fmt::format("  tying {}\n", int(tying));
  std::set<std::string> readouts; // one that two outputs share may be found once or twice
  for (const Readout &readout : form.readouts)
    readouts.insert(
        fmt::format("  readout {} {} {}\n", readout.crossed, print(readout.form.free), print(readout.form.reads)));
  text += llvm::join(readouts, "");
  text += fmt::format("  interactions {}\n", interactionsOf(algebra, form).size());
  return text;
}

static std::string print(llvm::ArrayRef<const Poly *> polys) {
  std::string text;
  for (const Poly *poly : polys)
    text += " " + print(poly);
  return text;
}

static std::string print(const CoupledForm &form) {
  std::string text = fmt::format("coupled {}\n", int(form.orientation));
  for (const auto &row : form.matrix)
    for (const Decay &factor : row)
      text += "  factor " + print(factor) + "\n";
  std::vector<std::string> writes;
  for (const CoupledWrite &write : form.writes) {
    std::vector<std::string> reads;
    for (const CoupledRead &read : write.reads)
      reads.push_back(print(read.factors) + " X " + (read.key ? print(read.key) : "itself"));
    writes.push_back(fmt::format("  write {} and {} of {} to {} by {}\n", print(write.free), print(write.gain),
                                 sortedAndJoined(reads, " ; "), write.write ? print(write.write) : "vectors",
                                 print(write.factors)));
  }
  return text + sortedAndJoined(std::move(writes), "");
}

std::string property::printForm(RecurrenceAnalysis &analysis) {
  std::vector<std::string> states;
  for (const StateFacts &facts : analysis.getStates()) {
    std::string text =
        fmt::format("state {} {}\n", dgps::StateOp(facts.op).getName().str(), nameOf(facts.stateClass).str());
    if (facts.linear)
      text += fmt::format("  factor {}\n  offset {}\n", print(facts.linear->decay), print(facts.linear->offset));
    if (facts.moebius)
      text += fmt::format("  ({} {}) over ({} {})\n", print(facts.moebius->a), print(facts.moebius->b),
                          print(facts.moebius->c), print(facts.moebius->d));
    if (facts.tropical) {
      std::vector<std::string> shifts, floors;
      for (const Poly *shift : facts.tropical->shifts)
        shifts.push_back(print(shift));
      for (const Poly *floor : facts.tropical->floors)
        floors.push_back(print(floor));
      text += fmt::format("  min {} soft {}\n", facts.tropical->isMin, facts.tropical->isSoft);
      text += fmt::format("  shifts {}\n  floors {}\n  offset {}\n", sortedAndJoined(shifts, ","),
                          sortedAndJoined(floors, ","), print(facts.tropical->offset));
    }
    if (facts.inverse)
      text += fmt::format("  inverse {} {} {}\n  factor {}\n  noise {}\n  decay {}\n", int(facts.inverse->kind),
                          print(facts.inverse->right), print(facts.inverse->left), print(facts.inverse->factor),
                          print(facts.inverse->noise), print(facts.inverse->decay));
    if (facts.delta)
      text += print(analysis.getAlgebra(), *facts.delta);
    if (facts.normalizerOf)
      text += fmt::format("  normalizer of {}\n",
                          dgps::StateOp(analysis.getStates()[*facts.normalizerOf].op).getName().str());
    states.push_back(std::move(text));
  }
  for (const CoupledForm &form : analysis.getCoupledForms())
    states.push_back(print(form));
  return sortedAndJoined(std::move(states), "");
}
