// recurc explain: what is found out about a specification, or the page of an error.
#include "Compile/ArrayTypes.h"
#include "Driver/Provoke.h"
#include "Driver/Specification.h"
#include "Driver/Verbs.h"
#include "Explain/Report.h"
#include "Support/ErrorCodes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::explain;

static bool looksLikeErrorCode(StringRef text) {
  return text.size() == 5 && toUpper(text.front()) == 'R' && all_of(text.drop_front(), isDigit);
}

static Expected<ExitCode> explainCode(StringRef code) {
  std::optional<StringRef> page = explainErrorCode(code);
  if (!page)
    return makeError("there is no error '" + code + "'; the codes are listed in docs/errors");
  outs() << *page << (page->ends_with("\n") ? "" : "\n");
  return ExitCode::Fine;
}

Expected<ExitCode> driver::runExplain(const opt::InputArgList &args) {
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  if (files.size() == 1 && looksLikeErrorCode(files[0]))
    return explainCode(files[0]);
  Expected<SpecOptions> options = parseRecurrenceOptions(args, "explain");
  if (!options)
    return options.takeError();
  Expected<PipelineOptions> pipeline = parsePipelineOptions(args);
  if (!pipeline)
    return pipeline.takeError();
  Expected<std::unique_ptr<Specification>> specification = Specification::open(*options);
  if (!specification)
    return specification.takeError();
  frontend::InstantiationOptions instantiation = options->instantiation;
  instantiation.assumedDim = kAssumedDim;
  if (Error error = (*specification)->compile(instantiation))
    return std::move(error);
  if (Error error = compile::checkArrayTypes((*specification)->getRecurrences(), pipeline->dataTypes))
    return std::move(error);
  if (Error error = provoke(args))
    return std::move(error);

  // The report is of what the later stages get: 1 / (1 + exp(-x)) is a sigmoid there.
  if (failed(runStages((*specification)->getModule(), nullptr, *findStage("recurrence"), *pipeline)))
    return make_error<InternalError>("the passes of stage 'recurrence' failed");
  json::Array list;
  std::string text;
  for (dgps::RecurrenceOp recurrence : (*specification)->getRecurrences()) {
    Expected<Report> report =
        explain::report(recurrence, (*specification)->getInfo(), *pipeline, args.hasArg(OPT_target));
    if (!report)
      return report.takeError();
    text += (text.empty() ? "" : "\n") + report->text;
    list.push_back(std::move(report->json));
  }
  if (!args.hasArg(OPT_json))
    outs() << text;
  else if (list.size() == 1) // one recurrence is the object itself; several are a list in an object
    outs() << formatv("{0:2}", list.front()) << '\n';
  else
    outs() << formatv("{0:2}", json::Value(json::Object{{"recurrences", std::move(list)}})) << '\n';
  return ExitCode::Fine;
}
