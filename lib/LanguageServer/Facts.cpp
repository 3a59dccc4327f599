#include "LanguageServer/Facts.h"
#include "Compile/Source.h"
#include "Explain/Explain.h"
#include "Frontend/Frontend.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace recur;
using namespace recur::languageserver;

/// With strings of its own: a report's names are those of the module that it is made from.
static json::Value own(const json::Value &report) { return cantFail(json::parse(formatv("{0}", report).str())); }

std::map<std::string, json::Value> languageserver::explainAll(const SourceBuffer &source) {
  std::map<std::string, json::Value> reports;
  std::unique_ptr<mlir::MLIRContext> context = compile::makeContext();
  frontend::InstantiationOptions instantiation;
  instantiation.assumedDim = explain::kAssumedDim;
  DiagnosticEngine diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module = frontend::compile(source, instantiation, *context, diagnostics);
  PipelineOptions pipeline;
  if (!module || failed(runStages(*module, nullptr, *findStage("recurrence"), pipeline)))
    return reports;
  for (auto recurrence : module->getOps<dgps::RecurrenceOp>()) {
    explain::ExplainOptions options;
    options.pipeline = pipeline;
    reports.insert({recurrence.getSymName().str(), own(explain::explainJson(recurrence, options))});
  }
  return reports;
}

static StringRef getText(const json::Object &object, StringRef key) {
  return object.getString(key).value_or(StringRef());
}

/// The element of a list that has this name.
static const json::Object *findNamed(const json::Value &report, StringRef list, StringRef name) {
  const json::Object *object = report.getAsObject();
  const json::Array *items = object ? object->getArray(list) : nullptr;
  if (!items)
    return nullptr;
  for (const json::Value &item : *items)
    if (const json::Object *candidate = item.getAsObject(); candidate && getText(*candidate, "name") == name)
      return candidate;
  return nullptr;
}

static bool isOfName(char c) { return isAlnum(c) || c == '_' || c == '\''; }

/// The equation of `target`, after those that it needs.
static std::vector<StringRef> selectEquations(const json::Value &report, StringRef target) {
  const json::Object *chunk = report.getAsObject() ? report.getAsObject()->getObject("chunk") : nullptr;
  const json::Array *equations = chunk ? chunk->getArray("equations") : nullptr;
  std::vector<StringRef> selected;
  if (!equations)
    return selected;
  StringSet<> needed;
  needed.insert(target);
  for (const json::Value &value : reverse(*equations)) {
    StringRef equation = value.getAsString().value_or(StringRef());
    auto [left, right] = equation.split(" = ");
    if (!needed.contains(left))
      continue;
    selected.push_back(equation);
    while (!right.empty()) {
      StringRef word = right.take_while(isOfName);
      needed.insert(word);
      right = right.drop_front(std::max<size_t>(word.size(), 1));
    }
  }
  std::reverse(selected.begin(), selected.end());
  return selected;
}

static std::string writeEquations(const json::Value &report, StringRef target) {
  std::vector<StringRef> equations = selectEquations(report, target);
  return equations.empty() ? "" : "\nOver a chunk:\n```text\n" + join(equations, "\n") + "\n```\n";
}

static std::string writeAxes(const json::Object &state) {
  const json::Object *axes = state.getObject("axes");
  std::string text;
  for (StringRef axis : {"decay", "gain", "preconditioner", "solve"})
    if (axes && axes->getString(axis))
      text += (text.empty() ? "" : "; ") + axis.str() + ": " + axes->getString(axis)->str();
  return text.empty() ? "" : "\nAxes: " + text + "\n";
}

std::string languageserver::describeState(const json::Value &report, StringRef name) {
  const json::Object *state = findNamed(report, "states", name);
  if (!state)
    return "";
  std::string text = "Class **" + getText(*state, "class").str() + "**: " + getText(*state, "reason").str() + "\n";
  if (StringRef start = getText(*state, "starts_as"); !start.empty())
    text += "\nStarts as `" + start.str() + "`, unless the caller gives an initial state.\n";
  return text + writeAxes(*state) + writeEquations(report, (name + "'").str());
}

std::string languageserver::describeOutput(const json::Value &report, StringRef name) {
  return writeEquations(report, name);
}

std::string languageserver::describeRecurrence(const json::Value &report) {
  const json::Object *object = report.getAsObject();
  const json::Array *states = object ? object->getArray("states") : nullptr;
  std::string text;
  for (size_t i = 0; states && i < states->size(); ++i)
    if (const json::Object *state = (*states)[i].getAsObject())
      text += "- state `" + getText(*state, "name").str() + "`: " + getText(*state, "class").str() + "\n";
  return text;
}
