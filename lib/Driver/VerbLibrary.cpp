// recurc library: the recurrences that come with Recur.
#include "Analysis/RecurrenceAnalysis.h"
#include "Compile/Source.h"
#include "Driver/Verbs.h"
#include "Explain/Explain.h"
#include "Frontend/Frontend.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::driver;

namespace {
struct Entry {
  StringLiteral name, text;
};

/// What the list says of one recurrence.
struct Facts {
  std::string about, source;
  std::vector<frontend::DimInfo> dims;
  std::vector<std::pair<std::string, StringRef>> states; // with their classes
};
} // namespace

static constexpr Entry entries[] = {
#include "Driver/Library.inc"
};

/// The comment that the file begins with; a line "Source: ..." of it says where the recurrence is from.
static void readHead(StringRef text, Facts &facts) {
  while (text.consume_front("#")) {
    auto [line, rest] = text.split('\n');
    line = line.trim();
    if (line.consume_front("Source:"))
      facts.source = line.trim().str();
    else
      facts.about += (facts.about.empty() ? "" : " ") + line.str();
    text = rest;
  }
}

static Expected<Facts> findFacts(const Entry &entry, mlir::MLIRContext &context) {
  Facts facts;
  readHead(entry.text, facts);
  SourceBuffer source(entry.name.str(), entry.text.str());
  frontend::InstantiationOptions options;
  options.assumedDim = explain::kAssumedDim;
  DiagnosticEngine diagnostics;
  std::vector<frontend::RecurrenceInfo> info;
  mlir::OwningOpRef<mlir::ModuleOp> module = frontend::compile(source, options, context, diagnostics, &info);
  if (!module || failed(runStages(*module, nullptr, *findStage("recurrence"), PipelineOptions())))
    return make_error<InternalError>("'" + entry.name.str() + "' of the library does not compile");
  for (const frontend::RecurrenceInfo &recurrence : info)
    facts.dims.insert(facts.dims.end(), recurrence.dims.begin(), recurrence.dims.end());
  for (auto recurrence : module->getOps<dgps::RecurrenceOp>()) {
    analysis::RecurrenceAnalysis analysis(recurrence);
    for (const analysis::StateFacts &state : analysis.getStates())
      facts.states.push_back({dgps::StateOp(state.op).getName().str(), nameOf(state.stateClass)});
  }
  return facts;
}

static std::string printDims(const Facts &facts) {
  return join(map_range(facts.dims,
                        [](const frontend::DimInfo &dim) {
                          return dim.hasDefault ? fmt::format("{}={}", dim.name, *dim.value) : dim.name;
                        }),
              " ");
}

/// "delta", or "delta 2, diagonal": the classes, and how many states are of each.
static std::string printClasses(const Facts &facts) {
  MapVector<StringRef, unsigned> counts;
  for (const auto &[name, stateClass] : facts.states)
    ++counts[stateClass];
  std::vector<std::string> parts;
  for (const auto &[stateClass, count] : counts)
    parts.push_back(count == 1 ? stateClass.str() : fmt::format("{} {}", stateClass.str(), count));
  return join(parts, ", ");
}

static json::Object makeObject(const Entry &entry, const Facts &facts) {
  json::Array dims, states;
  for (const frontend::DimInfo &dim : facts.dims) {
    json::Object object{{"name", dim.name}};
    if (dim.hasDefault)
      object["default"] = *dim.value;
    dims.push_back(std::move(object));
  }
  for (const auto &[name, stateClass] : facts.states)
    states.push_back(json::Object{{"name", name}, {"class", stateClass}});
  json::Object object{
      {"name", entry.name}, {"about", facts.about}, {"dims", std::move(dims)}, {"states", std::move(states)}};
  if (!facts.source.empty())
    object["source"] = facts.source;
  return object;
}

static Expected<ExitCode> listAll(bool asJSON, mlir::MLIRContext &context) {
  std::vector<Facts> all;
  size_t nameWidth = 0, dimsWidth = 0, classesWidth = 0;
  for (const Entry &entry : entries) {
    Expected<Facts> facts = findFacts(entry, context);
    if (!facts)
      return facts.takeError();
    nameWidth = std::max(nameWidth, entry.name.size());
    dimsWidth = std::max(dimsWidth, printDims(*facts).size());
    classesWidth = std::max(classesWidth, printClasses(*facts).size());
    all.push_back(std::move(*facts));
  }
  json::Array list;
  for (const auto &[entry, facts] : zip(entries, all)) {
    if (asJSON)
      list.push_back(makeObject(entry, facts));
    else
      outs() << fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", entry.name.str(), nameWidth, printDims(facts), dimsWidth,
                            printClasses(facts), classesWidth, facts.about);
  }
  if (asJSON)
    outs() << formatv("{0:2}", json::Value(json::Object{{"recurrences", std::move(list)}})) << '\n';
  return ExitCode::Fine;
}

Expected<ExitCode> driver::runLibrary(const opt::InputArgList &args) {
  std::vector<std::string> names = args.getAllArgValues(OPT_INPUT);
  if (names.size() > 1)
    return makeError("one recurrence at a time: '" + names[0] + "' and '" + names[1] + "' are given");
  std::unique_ptr<mlir::MLIRContext> context = compile::makeContext();
  if (names.empty())
    return listAll(args.hasArg(OPT_json), *context);
  StringRef name = StringRef(names[0]);
  const Entry *entry = find_if(entries, [&](const Entry &entry) { return entry.name == name; });
  if (entry == std::end(entries)) {
    std::vector<StringRef> known;
    for (const Entry &entry : entries)
      known.push_back(entry.name);
    StringRef nearest = findNearest(name, known);
    return makeError("the library has no '" + name + "'" +
                     (nearest.empty() ? "; 'recurc library' lists what it has" : "; did you mean '" + nearest + "'?"));
  }
  if (!args.hasArg(OPT_json)) {
    outs() << entry->text;
    return ExitCode::Fine;
  }
  Expected<Facts> facts = findFacts(*entry, *context);
  if (!facts)
    return facts.takeError();
  json::Object object = makeObject(*entry, *facts);
  object["text"] = entry->text;
  outs() << formatv("{0:2}", json::Value(std::move(object))) << '\n';
  return ExitCode::Fine;
}
