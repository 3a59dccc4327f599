#include "Analysis/StoredTypes.h"
#include "Analysis/Window.h"
#include "Explain/ChunkReport.h"
#include "Explain/Explain.h"
#include "Explain/ExplainFacts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::analysis;
using namespace recur::explain;

namespace {

/// Writes the report line by line; each line of a state has a short label in a column of its own.
class TextReport {
public:
  TextReport(dgps::RecurrenceOp recurrence, const ExplainOptions &options)
      : recurrence(recurrence), options(options), facts(recurrence, options.canonical) {
    if (options.canonical)
      return;
    Expected<ChunkReport> report = makeChunkReport(recurrence, options.pipeline);
    if (report)
      chunk = std::move(*report);
    else
      whyNoChunk = toString(report.takeError());
  }

  std::string write() {
    header();
    for (const StateFacts &state : facts.analysis.getStates())
      describe(state);
    if (!options.canonical)
      describeChunk();
    return std::move(text);
  }

private:
  /// What is printed is made of short parts; a line of very many of them is cut all the same.
  void line(StringRef label, const std::string &content) {
    constexpr size_t longest = 1200;
    text += fmt::format("  {:<15}{}", label.str(), StringRef(content).take_front(longest).str());
    if (content.size() > longest)
      text += fmt::format(" ... ({} more characters)", content.size() - longest);
    text += "\n";
  }
  static std::string shape(mlir::Value value) {
    ArrayRef<int64_t> sizes = dgps::shapeOf(value);
    return sizes.empty() ? "scalar" : fmt::format("[{}]", fmt::join(sizes, ", "));
  }
  /// Where it is not f32.
  template <typename Op> static std::string typeOf(Op op) {
    return op.getStored() ? " of " + getName(getStoredDataType(op.getStored())).str() : "";
  }
  template <typename Op> void declarations(StringRef label, ArrayRef<Op> ops) {
    SmallVector<std::string, 8> names;
    for (Op op : ops) {
      std::string sharing;
      if constexpr (std::is_same_v<Op, dgps::InputOp>)
        sharing = op.getShared() ? " shared by a group of heads" : "";
      names.push_back(op.getName().str() + ": " + shape(op.getResult()) + typeOf(op) + sharing);
    }
    if (!names.empty())
      line(label, ExplainFacts::listed(names));
  }

  void header();
  void describeChunk();
  void describe(const StateFacts &state);
  void describeLinear(const StateFacts &state);
  void describeTropical(const StateFacts &state);
  void describeMoebius(const analysis::MoebiusForm &form);
  void describeDelta(const StateFacts &state);
  void describeInverse(const StateFacts &state);
  void describeCoupled(const StateFacts &state);
  void describeComplex(const StateFacts &state);
  std::string nameOfValue();
  void describeDecay(StringRef label, const Decay &decay, StringRef side);
  void describeParts();
  std::string printReadout(const DeltaForm &form, const Readout &readout, const std::string &name);

  dgps::RecurrenceOp recurrence;
  const ExplainOptions &options;
  ExplainFacts facts;
  std::optional<ChunkReport> chunk;
  std::string whyNoChunk;
  std::string text;
};

} // namespace

void TextReport::header() {
  text += fmt::format("recurrence {}\n", recurrence.getSymName().str());
  SmallVector<std::string, 4> dims;
  for (mlir::NamedAttribute dim : recurrence.getDims()) {
    bool assumed = is_contained(options.assumedDims, dim.getName().str());
    dims.push_back(fmt::format("{} = {}{}", dim.getName().str(), cast<mlir::IntegerAttr>(dim.getValue()).getInt(),
                               assumed ? " (assumed)" : ""));
  }
  if (!dims.empty())
    line("dims", ExplainFacts::listed(dims));
  declarations<dgps::InputOp>("inputs", recurrence.getInputs());
  declarations<dgps::ParamOp>("params", recurrence.getParams());
  SmallVector<std::string, 4> outputs;
  for (dgps::OutputOp output : recurrence.getOutputs())
    outputs.push_back(output.getName().str() + ": " + shape(output.getValue()) + typeOf(output));
  line("outputs", ExplainFacts::listed(outputs));
  if (!options.complexNames.empty())
    line("complex", ExplainFacts::listed(options.complexNames) + "; real and imaginary parts end in _re and _im");
}

void TextReport::describe(const StateFacts &state) {
  dgps::StateOp op = state.op;
  text += fmt::format("\nstate {}: {}{} is {}\n", op.getName().str(), shape(op.getResult()), typeOf(op),
                      nameOf(state.stateClass).str());
  bool isWindow = bool(analysis::findWindow(op));
  line("because", state.reason + (isWindow ? "; a chunk copies rows, and has no loop over its tokens" : ""));
  if (!isWindow && chunk && is_contained(chunk->looped, op.getName().str())) {
    ExplainFacts::Lack lack = ExplainFacts::lackOf(state);
    line("chunkwise", fmt::format("no: token by token{}{}{}{}", lack.why.empty() ? "" : ", since ", lack.why,
                                  lack.needs.empty() ? "" : "; a chunkwise form needs ", lack.needs));
  }
  if (mlir::Value start = op.getStart())
    line("starts as", facts.printer.print(facts.analysis.getExpressions().of(start)));
  SmallVector<std::string, 2> others;
  for (unsigned other : state.feedsOn.set_bits())
    others.push_back(dgps::StateOp(facts.analysis.getStates()[other].op).getName().str());
  if (!others.empty())
    line("reads state", ExplainFacts::listed(others));
  if (state.coupled)
    describeCoupled(state);
  else if (state.complex)
    describeComplex(state);
  else if (state.delta)
    describeDelta(state);
  else if (state.inverse)
    describeInverse(state);
  else if (state.linear)
    describeLinear(state);
  else if (state.tropical)
    describeTropical(state);
  else if (state.moebius)
    describeMoebius(*state.moebius);
  if (state.normalizerOf)
    line("normalises", fmt::format("{0}: it is computed as one more value channel of {0}, with the value 1",
                                   dgps::StateOp(facts.analysis.getStates()[*state.normalizerOf].op).getName().str()));
  describeParts();
}

/// The long parts that got names on the way.
void TextReport::describeParts() {
  std::vector<algebra::Printer::NamedPart> parts = facts.printer.takeNamedParts();
  for (auto [index, part] : enumerate(parts))
    line(index ? "" : "where", part.name + " = " + part.text);
}

void TextReport::describeDecay(StringRef label, const Decay &decay, StringRef side) {
  std::optional<double> number = decay.linear->asNumber();
  std::string range = decay.log     ? decay.atMostOne ? "at most 1" : "positive"
                      : !number     ? "its sign is not known"
                      : *number < 0 ? "negative"
                                    : "which clears the state";
  std::string log = decay.log ? "; logarithm " + facts.printer.print(decay.log) : "";
  line(label, fmt::format("{}{}, {}{}", facts.printer.print(decay.linear), side.str(), range, log));
}

void TextReport::describeLinear(const StateFacts &state) {
  describeDecay("a", state.linear->decay, "");
  line("b", facts.printer.printMeaning(state.linear->offset));
}

void TextReport::describeTropical(const StateFacts &state) {
  auto list = [&](ArrayRef<const algebra::Poly *> polys) {
    SmallVector<std::string, 2> texts;
    for (const algebra::Poly *poly : polys)
      texts.push_back(facts.printer.print(poly));
    return ExplainFacts::listed(texts);
  };
  line("a", list(state.tropical->shifts));
  if (!state.tropical->floors.empty())
    line("b", list(state.tropical->floors));
  if (!state.tropical->offset->isZero())
    line("then adds", facts.printer.print(state.tropical->offset));
}

void TextReport::describeMoebius(const analysis::MoebiusForm &form) {
  for (auto [name, factor] : {std::pair("a", form.a), {"b", form.b}, {"c", form.c}, {"d", form.d}})
    line(name, facts.printer.print(factor));
}

/// `u`, or `u1` and so on where the author gives that name to something else.
std::string TextReport::nameOfValue() {
  StringSet<> taken;
  for (mlir::Operation &op : recurrence.getBody().front()) {
    if (auto named = dyn_cast<mlir::NameLoc>(op.getLoc()))
      taken.insert(named.getName().getValue());
    TypeSwitch<mlir::Operation *>(&op).Case<dgps::InputOp, dgps::ParamOp, dgps::StateOp>(
        [&](auto declared) { taken.insert(declared.getName()); });
  }
  std::string name = "u";
  for (unsigned count = 1; taken.contains(name); ++count)
    name = "u" + std::to_string(count);
  return name;
}

void TextReport::describeDelta(const StateFacts &state) {
  const DeltaForm &form = *state.delta;
  std::string name = dgps::StateOp(state.op).getName().str();
  StringRef axis = decayAxis(form);
  if (form.keyDecay.isAbsent() && form.valueDecay.isAbsent())
    line("decay", "none");
  bool sided = !form.valueDecay.isAbsent();
  if (!form.keyDecay.isAbsent())
    describeDecay("decay", form.keyDecay,
                  form.keyDecay.isScalar()                ? ""
                  : form.orientation == Orientation::Left ? " of each row"
                                                          : " of each column");
  if (sided)
    describeDecay(form.keyDecay.isAbsent() ? "decay" : "and", form.valueDecay,
                  form.orientation == Orientation::Left ? " of each column" : " of each row");

  SmallVector<Tying, 1> tying = tyingOf(facts.analysis.getAlgebra(), form);
  std::string added = nameOfValue();
  for (auto [index, step] : enumerate(form.steps)) {
    std::string value;
    if (!step.value->isZero())
      value = step.gain->isOne() ? facts.printer.print(step.value)
                                 : facts.printer.printFactor(step.gain) + " * " + facts.printer.printFactor(step.value);
    for (const Read &read : step.reads) {
      Read erased = read;
      // Without a value before it, the erasing read carries its own sign.
      if (value.empty())
        erased.scale = facts.analysis.getAlgebra().negate(read.scale);
      std::string term = facts.printRead(form, erased, name);
      value += (value.empty() ? "" : " - ") + term;
    }
    std::string key = facts.printer.print(step.write);
    bool left = form.orientation == Orientation::Left;
    std::string write = form.orientation == Orientation::Vector
                            ? fmt::format("{} * {}", added, facts.printer.printOperand(step.write))
                        : left ? fmt::format("outer({}, {})", key, added)
                               : fmt::format("outer({}, {})", added, key);
    line(fmt::format("step {}", index + 1), fmt::format("{} += {}, {} = {}", name, write, added, value));
    for (const Read &read : step.reads)
      line("", fmt::format("reads {} {} (\"{}\") with {}; write key: {}", name,
                           ExplainFacts::pointName(form, read.point), ExplainFacts::pointKind(read.point),
                           facts.printer.print(read.key), ExplainFacts::tyingName(tying[index]).str()));
  }
  for (const Readout &readout : form.readouts) {
    std::string value = printReadout(form, readout, name);
    SmallVector<std::string, 1> points;
    for (const Read &read : readout.form.reads)
      points.push_back(ExplainFacts::pointName(form, read.point));
    line("read out", fmt::format("{}, {}, for {}", value, join(points, " and "), facts.readoutTarget(readout)));
  }
  for (mlir::Operation *use : form.wholeUses)
    line("read out", fmt::format("as a whole {}, by {}", form.orientation == Orientation::Vector ? "vector" : "matrix",
                                 use->getName().stripDialect().str()));

  line("axes", fmt::format("decay: {}; gain: {}; preconditioner: {}; solve: {}", axis.str(), facts.gainOf(form),
                           ExplainFacts::preconditionerName(preconditionerOf(form)).str(),
                           form.isOnline() ? "online" : "offline"));
  SmallVector<std::string, 4> interactions;
  for (const Interaction &interaction : interactionsOf(facts.analysis.getAlgebra(), form))
    interactions.push_back(facts.printInteraction(form, interaction));
  line("interactions", fmt::format("{}{}{}", interactions.size(), interactions.empty() ? "" : ": ",
                                   ExplainFacts::listed(interactions)));
}

void TextReport::describeInverse(const StateFacts &state) {
  using Kind = InverseForm::Kind;
  const InverseForm &form = *state.inverse;
  std::string name = dgps::StateOp(state.op).getName().str();
  if (form.decay.isAbsent())
    line("decay", "none");
  else
    describeDecay("decay", form.decay, "");
  std::string right = fmt::format("{} @ {}", name, facts.printer.printOperand(form.right)),
              left = fmt::format("{} @ {}", facts.printer.printOperand(form.left), name);
  std::string rows = form.kind == Kind::OfLeftRead ? left : right;
  line("corrected", fmt::format("{0} -= f * outer({1}, {2}) / (n + f * dot({3}, {1}))", name, rows,
                                form.kind == Kind::OfRightRead ? right : left, facts.printer.print(form.left)));
  line("f", facts.printer.print(form.factor));
  line("n", facts.printer.print(form.noise));
  line("axes", fmt::format("decay: {}; solve: elimination", form.decay.isAbsent() ? "none" : "scalar"));
}

void TextReport::describeCoupled(const StateFacts &state) {
  const CoupledForm &form = facts.analysis.getCoupledForms()[*state.coupled];
  line("decay", facts.printMatrix(form));
  std::string added = nameOfValue(), name = dgps::StateOp(state.op).getName().str();
  unsigned member = llvm::find(form.states, facts.analysis.getExpressions().indexOf(state.op)) - form.states.begin();
  for (auto [index, write] : enumerate(form.writes)) {
    if (write.factors[member]->isZero())
      continue;
    std::string key = form.vectors.test(member) ? "" : facts.printer.print(write.write);
    std::string product = form.vectors.test(member)               ? added
                          : form.orientation == Orientation::Left ? fmt::format("outer({}, {})", key, added)
                                                                  : fmt::format("outer({}, {})", added, key);
    if (!write.factors[member]->isOne())
      product = facts.printer.printFactor(write.factors[member]) + " * " + product;
    line(fmt::format("step {}", index + 1),
         fmt::format("{} += {}, {} = {}", name, product, added, facts.printValue(form, write)));
  }
  line("axes",
       fmt::format("decay: {}; solve: {}", ExplainFacts::printKind(form), form.isOnline() ? "online" : "offline"));
}

void TextReport::describeComplex(const StateFacts &state) {
  const ComplexForm &form = facts.analysis.getComplexForms()[*state.complex];
  auto name = [&](unsigned part) { return dgps::StateOp(facts.analysis.getStates()[part].op).getName().str(); };
  bool isReal = facts.analysis.getExpressions().indexOf(state.op) == form.real;
  line("part", isReal ? "real, beside " + name(form.imaginary) : "imaginary, beside " + name(form.real));
  if (form.angle) {
    line("angle", facts.printer.print(form.angle));
    describeDecay("decay", analysis::describeDecay(facts.analysis.getAlgebra(), form.decay), "");
  } else {
    line("factor", fmt::format("{} and i times {}, whose angle and modulus are found", facts.printer.print(form.along),
                               facts.printer.print(form.across)));
  }
  line("b", facts.printer.printMeaning(form.additions[isReal ? 0 : 1]));
  line("axes", "decay: complex; solve: offline");
}

/// The reads that a value comes to; or, where that is longer and in no canonical report, as it is written.
std::string TextReport::printReadout(const DeltaForm &form, const Readout &readout, const std::string &name) {
  std::string value;
  for (const Read &read : readout.form.reads)
    value += (value.empty() ? "" : " + ") + facts.printRead(form, read, name, readout.crossed);
  if (!readout.form.free->isZero())
    value += (value.empty() ? "" : " + ") + facts.printer.print(readout.form.free);
  if (options.canonical)
    return value;
  std::string written = facts.printer.print(readout.value);
  constexpr size_t shortText = 100;
  return value.size() > shortText && written.size() < value.size() ? written : value;
}

void TextReport::describeChunk() {
  if (!chunk) {
    text += fmt::format("\nno chunkwise form: {}\n", whyNoChunk);
    return;
  }
  text += fmt::format("\nchunkwise form, {} tokens at once\n", chunk->chunk);
  for (const std::string &equation : chunk->equations)
    text += "  " + equation + "\n";
  for (auto [index, meaning] : enumerate(chunk->words))
    line(index ? "" : "where", meaning);
  std::optional<double> ratio = chunk->flopsRatio();
  line("flops", fmt::format("{:.0f} a token; recurrent {:.0f}{}", chunk->chunkwise.flops, chunk->recurrent.flops,
                            ratio ? fmt::format(", ratio {:.2f}", *ratio) : ""));
  line("bytes", fmt::format("{:.0f} a token in float32; recurrent {:.0f}, ratio {:.3f}", chunk->chunkwise.bytes,
                            chunk->recurrent.bytes, chunk->chunkwise.bytes / chunk->recurrent.bytes));
}

std::string recur::explain::explainText(dgps::RecurrenceOp recurrence, const ExplainOptions &options) {
  return TextReport(recurrence, options).write();
}
