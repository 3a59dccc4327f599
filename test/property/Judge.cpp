#include "property/Judge.h"
#include "Frontend/Frontend.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Support/DiagnosticRenderer.h"
#include "llvm/Support/raw_ostream.h"

using namespace recur;
using namespace recur::property;

mlir::MLIRContext &property::getContext() {
  static thread_local mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<dgps::DGPSDialect>();
  return context;
}

llvm::Expected<Compiled> property::compile(llvm::StringRef text) {
  SourceBuffer buffer("drawn.recur", text.str());
  DiagnosticEngine diagnostics;
  Compiled result;
  result.module = frontend::compile(buffer, {}, getContext(), diagnostics);
  if (result.module)
    for (auto recurrence : result.module->getOps<dgps::RecurrenceOp>())
      result.recurrence = recurrence;
  if (result.recurrence)
    return std::move(result);
  std::string message;
  llvm::raw_string_ostream os(message);
  renderDiagnostics(os, buffer, diagnostics);
  return llvm::createStringError(message);
}

llvm::Expected<data::Results> property::judge(const Compiled &compiled, const data::Data &data) {
  return interpreter::interpret(compiled.recurrence, data);
}

llvm::Expected<data::Results> property::judge(llvm::StringRef text, const data::Data &data) {
  llvm::Expected<Compiled> compiled = compile(text);
  if (!compiled)
    return compiled.takeError();
  return judge(*compiled, data);
}

data::Data property::fitData(dgps::RecurrenceOp recurrence, const data::Data &data, bool startsAreGiven) {
  data::Data fitted;
  fitted.sizes = data.sizes;
  auto fit = [&](data::Role role, llvm::StringRef name, mlir::Type type, const data::NamedArrays &given,
                 data::NamedArrays &out) {
    auto shape = data::getFullShape(role, data.sizes, llvm::cast<dgps::RealType>(type).getShape());
    Array array;
    array.shape.assign(shape.begin(), shape.end());
    if (auto found = given.find(name.str()); found != given.end() && found->second.shape == array.shape) {
      out[name.str()] = found->second;
      return;
    }
    Random random(array.shape.size());
    array.values.resize(*countElements(array.shape));
    for (double &value : array.values)
      value = random.uniform(-1, 1);
    out[name.str()] = std::move(array);
  };
  for (dgps::InputOp input : recurrence.getInputs())
    fit(input.getShared() ? data::Role::SharedInput : data::Role::Input, input.getName(), input.getResult().getType(),
        data.inputs, fitted.inputs);
  for (dgps::ParamOp param : recurrence.getParams())
    fit(data::Role::Param, param.getName(), param.getResult().getType(), data.params, fitted.params);
  for (dgps::StateOp state : recurrence.getStates())
    if (startsAreGiven || !state.getStart())
      fit(data::Role::Initial, state.getName(), state.getResult().getType(), data.initial, fitted.initial);
  return fitted;
}

static double distance(const data::NamedArrays &got, const data::NamedArrays &want) {
  double worst = 0;
  for (const auto &[name, wanted] : want) {
    auto found = got.find(name);
    if (found == got.end() || found->second.shape != wanted.shape)
      return std::numeric_limits<double>::infinity();
    double difference = 0, norm = 0;
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      double off = found->second.values[i] - wanted.values[i];
      difference += off * off;
      norm += wanted.values[i] * wanted.values[i];
    }
    double relative = std::sqrt(difference) / std::max(std::sqrt(norm), 1e-3);
    if (!(relative <= worst)) // also not a number
      worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
  }
  return got.size() == want.size() ? worst : std::numeric_limits<double>::infinity();
}

double property::distance(const data::Results &got, const data::Results &want) {
  return std::max(::distance(got.outputs, want.outputs), ::distance(got.final, want.final));
}
