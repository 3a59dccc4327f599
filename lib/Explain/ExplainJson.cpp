#include "Analysis/StoredTypes.h"
#include "Explain/ChunkReport.h"
#include "Explain/Explain.h"
#include "Explain/ExplainFacts.h"

using namespace llvm;
using namespace recur;
using namespace recur::analysis;
using namespace recur::explain;

static json::Array shapeJson(mlir::Value value) {
  json::Array shape;
  for (int64_t size : dgps::shapeOf(value))
    shape.push_back(size);
  return shape;
}

/// The type that the array has in the caller's memory.
template <typename Op> static StringRef typeName(Op op) { return getName(getStoredDataType(op.getStored())); }

static json::Object decayJson(const ExplainFacts &facts, const Decay &decay) {
  json::Object result{{"value", facts.printer.print(decay.linear)}, {"at_most_one", decay.atMostOne}};
  if (decay.log)
    result["log"] = facts.printer.print(decay.log);
  return result;
}

static json::Object readJson(const ExplainFacts &facts, const DeltaForm &form, const Read &read) {
  return json::Object{{"key", facts.printer.print(read.key)},
                      {"scale", facts.printer.print(read.scale)},
                      {"point", ExplainFacts::pointKind(read.point)},
                      {"when", ExplainFacts::pointName(form, read.point)}};
}

static json::Array stepsJson(ExplainFacts &facts, const DeltaForm &form) {
  json::Array steps;
  SmallVector<Tying, 1> tying = tyingOf(facts.analysis.getAlgebra(), form);
  for (auto [index, step] : enumerate(form.steps)) {
    json::Array reads;
    for (const Read &read : step.reads)
      reads.push_back(readJson(facts, form, read));
    steps.push_back(json::Object{{"gain", facts.printer.print(step.gain)},
                                 {"value", facts.printer.print(step.value)},
                                 {"write_key", facts.printer.print(step.write)},
                                 {"erases", std::move(reads)},
                                 {"keys", ExplainFacts::tyingName(tying[index])}});
  }
  return steps;
}

static json::Array readoutsJson(const ExplainFacts &facts, const DeltaForm &form) {
  json::Array readouts;
  for (const Readout &readout : form.readouts) {
    json::Array reads;
    for (const Read &read : readout.form.reads)
      reads.push_back(readJson(facts, form, read));
    readouts.push_back(json::Object{{"for", facts.readoutTarget(readout)},
                                    {"reads", std::move(reads)},
                                    {"bonus", facts.printer.print(readout.form.free)},
                                    {"crossed", readout.crossed}});
  }
  return readouts;
}

static void addDelta(json::Object &state, ExplainFacts &facts, const DeltaForm &form) {
  state["orientation"] = ExplainFacts::orientationName(form.orientation);
  state["axes"] = json::Object{{"decay", decayAxis(form)},
                               {"gain", facts.gainOf(form)},
                               {"preconditioner", ExplainFacts::preconditionerName(preconditionerOf(form))},
                               {"solve", form.isOnline() ? "online" : "offline"}};
  json::Object decay;
  decay["key"] = decayJson(facts, form.keyDecay);
  decay["value"] = decayJson(facts, form.valueDecay);
  state["decay"] = std::move(decay);
  state["micro_steps"] = stepsJson(facts, form);
  state["readouts"] = readoutsJson(facts, form);
  json::Array interactions;
  for (const Interaction &interaction : interactionsOf(facts.analysis.getAlgebra(), form))
    interactions.push_back(json::Object{{"rows", interaction.row ? facts.printer.print(interaction.row) : "cg"},
                                        {"columns", facts.printer.print(interaction.column)},
                                        {"over", interaction.crossed ? "values" : "keys"}});
  state["interaction_count"] = interactions.size();
  state["interactions"] = std::move(interactions);
}

static void addCoupled(json::Object &state, const ExplainFacts &facts, const CoupledForm &form) {
  auto nameOf = [&](unsigned member) { return dgps::StateOp(facts.analysis.getStates()[member].op).getName(); };
  json::Array members, rows, steps;
  for (auto [index, member] : enumerate(form.states)) {
    json::Array factors;
    for (const Decay &factor : form.matrix[index])
      factors.push_back(facts.printer.print(factor.linear));
    members.push_back(nameOf(member));
    rows.push_back(std::move(factors));
  }
  for (const CoupledWrite &write : form.writes) {
    json::Object factors;
    for (auto [member, factor] : zip(form.states, write.factors))
      factors[nameOf(member)] = facts.printer.print(factor);
    json::Object step{{"value", facts.printValue(form, write)}, {"factors", std::move(factors)}};
    if (write.write)
      step["write_key"] = facts.printer.print(write.write);
    steps.push_back(std::move(step));
  }
  state["orientation"] = ExplainFacts::orientationName(form.orientation);
  state["axes"] = json::Object{{"decay", form.hasChannels() ? "matrices of the key channels" : "matrix"},
                               {"solve", form.isOnline() ? "online" : "offline"}};
  state["goes_on_with"] = std::move(members);
  state["decay"] = json::Object{{"matrix", std::move(rows)}};
  state["micro_steps"] = std::move(steps);
}

static void addComplex(json::Object &state, ExplainFacts &facts, const ComplexForm &form) {
  auto nameOf = [&](unsigned part) { return dgps::StateOp(facts.analysis.getStates()[part].op).getName(); };
  state["axes"] = json::Object{{"decay", "complex"}, {"solve", "offline"}};
  json::Object complex{{"real", nameOf(form.real)}, {"imaginary", nameOf(form.imaginary)}};
  if (form.angle) {
    complex["angle"] = facts.printer.print(form.angle);
    complex["decay"] = facts.printer.print(form.decay);
  } else {
    complex["factor"] = json::Array{facts.printer.print(form.along), facts.printer.print(form.across)};
  }
  state["complex"] = std::move(complex);
}

static void addInverse(json::Object &state, const ExplainFacts &facts, const InverseForm &form) {
  using Kind = InverseForm::Kind;
  state["axes"] = json::Object{{"decay", form.decay.isAbsent() ? "none" : "scalar"}, {"solve", "elimination"}};
  state["decay"] = decayJson(facts, form.decay);
  state["inverse"] = json::Object{{"outer_product_of", form.kind == Kind::TwoSided      ? "both reads"
                                                       : form.kind == Kind::OfRightRead ? "the right read"
                                                                                        : "the left read"},
                                  {"right_key", facts.printer.print(form.right)},
                                  {"left_key", facts.printer.print(form.left)},
                                  {"factor", facts.printer.print(form.factor)},
                                  {"noise", facts.printer.print(form.noise)}};
}

static json::Object stateJson(ExplainFacts &facts, const StateFacts &state) {
  dgps::StateOp op = state.op;
  json::Object result{{"name", op.getName()},
                      {"shape", shapeJson(op.getResult())},
                      {"dtype", typeName(op)},
                      {"class", nameOf(state.stateClass)},
                      {"reason", state.reason}};
  if (!state.needs.empty())
    result["chunkwise_form_needs"] = state.needs;
  if (mlir::Value start = op.getStart())
    result["starts_as"] = facts.printer.print(facts.analysis.getExpressions().of(start));
  json::Array others;
  for (unsigned other : state.feedsOn.set_bits())
    others.push_back(dgps::StateOp(facts.analysis.getStates()[other].op).getName());
  result["reads_states"] = std::move(others);
  if (state.normalizerOf)
    result["normalizes"] = dgps::StateOp(facts.analysis.getStates()[*state.normalizerOf].op).getName();
  if (state.coupled)
    addCoupled(result, facts, facts.analysis.getCoupledForms()[*state.coupled]);
  else if (state.complex)
    addComplex(result, facts, facts.analysis.getComplexForms()[*state.complex]);
  else if (state.delta)
    addDelta(result, facts, *state.delta);
  else if (state.inverse)
    addInverse(result, facts, *state.inverse);
  else if (state.linear) {
    result["factor"] = decayJson(facts, state.linear->decay);
    result["offset"] = facts.printer.print(state.linear->offset);
  } else if (const auto &form = state.moebius) {
    for (auto [name, factor] : {std::pair("a", form->a), {"b", form->b}, {"c", form->c}, {"d", form->d}})
      result[name] = facts.printer.print(factor);
  }
  return result;
}

static json::Object costJson(const Cost &cost) { return json::Object{{"flops", cost.flops}, {"bytes", cost.bytes}}; }

/// The chunkwise form; costs are those of one token of one head.
static json::Value chunkJson(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<ChunkReport> report = makeChunkReport(recurrence, options);
  if (!report)
    return json::Object{{"error", toString(report.takeError())}};
  std::optional<double> ratio = report->flopsRatio();
  return json::Object{{"size", report->chunk},
                      {"interactions", report->interactions},
                      {"equations", json::Array(report->equations)},
                      {"flops_per_token", report->chunkwise.flops},
                      {"bytes_per_token", report->chunkwise.bytes},
                      {"recurrent", costJson(report->recurrent)},
                      {"flops_ratio", ratio ? json::Value(*ratio) : json::Value(nullptr)},
                      {"token_by_token", json::Array(report->looped)}};
}

json::Value recur::explain::explainJson(dgps::RecurrenceOp recurrence, const ExplainOptions &options) {
  ExplainFacts facts(recurrence, options.canonical);
  json::Object dims;
  for (mlir::NamedAttribute dim : recurrence.getDims())
    dims[dim.getName().strref()] = cast<mlir::IntegerAttr>(dim.getValue()).getInt();
  json::Array inputs, params, outputs, states, assumed, complexNames;
  for (dgps::InputOp input : recurrence.getInputs())
    inputs.push_back(json::Object{{"name", input.getName()},
                                  {"shape", shapeJson(input)},
                                  {"shared", input.getShared()},
                                  {"dtype", typeName(input)}});
  for (dgps::ParamOp param : recurrence.getParams())
    params.push_back(json::Object{{"name", param.getName()}, {"shape", shapeJson(param)}, {"dtype", typeName(param)}});
  for (dgps::OutputOp output : recurrence.getOutputs())
    outputs.push_back(
        json::Object{{"name", output.getName()}, {"shape", shapeJson(output.getValue())}, {"dtype", typeName(output)}});
  for (const StateFacts &state : facts.analysis.getStates())
    states.push_back(stateJson(facts, state));
  for (const std::string &dim : options.assumedDims)
    assumed.push_back(dim);
  for (const std::string &name : options.complexNames)
    complexNames.push_back(name);
  json::Object parts;
  for (const algebra::Printer::NamedPart &part : facts.printer.takeNamedParts())
    parts[part.name] = part.text;
  return json::Object{{"recurrence", recurrence.getSymName()}, {"dims", std::move(dims)},
                      {"assumed_dims", std::move(assumed)},    {"inputs", std::move(inputs)},
                      {"params", std::move(params)},           {"outputs", std::move(outputs)},
                      {"complex", std::move(complexNames)},    {"states", std::move(states)},
                      {"long_parts", std::move(parts)},        {"chunk", chunkJson(recurrence, options.pipeline)}};
}
