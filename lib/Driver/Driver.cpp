#include "Driver/Driver.h"
#include "Driver/Help.h"
#include "Driver/Verbs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

namespace {
struct Verb {
  StringRef name;
  OptionVisibility visibility;
  StringRef usage, summary, details;
  Expected<ExitCode> (*run)(const opt::InputArgList &args);
};
} // namespace

static constexpr Verb verbs[] = {
    {"build", BuildVerb, "build SPEC [options]", "compile a specification",
     "Compiles the recurrences of SPEC and writes the artifacts that --emit lists.", runBuild},
    {"explain", ExplainVerb, "explain SPEC | CODE [options]",
     "say what Recur finds in a specification, or what an error means",
     "Prints what the compiler finds out about each state of SPEC, and why. A dim that you leave out is taken as 64.\n"
     "With an error's code, such as R0107, prints that error's page.",
     runExplain},
    {"check", CheckVerb, "check SPEC [options]", "compare every stage with the token-by-token interpreter",
     "Draws random inputs, runs every stage of the compiler on them, and compares each with the token-by-token\n"
     "interpreter. The exit code is 2 if one differs. A dim that you leave out gets a small size of its own.",
     runCheck},
    {"run", RunVerb, "run SPEC --in=DIR --out=DIR [options]", "run a specification on .npy files",
     "Runs a recurrence of SPEC on the arrays of a folder. The arrays' shapes give the dims that you leave out.",
     runRun},
    {"targets", TargetsVerb, "targets [options]", "list what can be compiled for",
     "Lists the machines that Recur compiles for, and the features of this one.", runTargets},
    {"format", FormatVerb, "format FILE... [options]", "write specifications in the one style of the language",
     "Writes each FILE anew in the style of the language. With '-' it reads stdin and writes to stdout. A file\n"
     "with a syntax error stays as it is.",
     runFormat},
    {"library", LibraryVerb, "library [NAME] [options]", "list the recurrences that come with Recur, or print one",
     "Lists the recurrences that come with Recur, each with its dims and the classes of its states, or prints the "
     "file\n"
     "of the named one.",
     runLibrary},
};

static void printHelp() {
  outs() << "recurc: the compiler for recurrence kernels\n\nUsage: recurc VERB [options]\n\nVerbs:\n";
  for (const Verb &verb : verbs) {
    outs() << "  " << verb.name;
    outs().indent(12 - verb.name.size()) << verb.summary << '\n';
  }
  printOptionHelp(outs(), TopLevel);
  outs() << "\n'recurc VERB --help' lists the options of a verb. Exit codes: 0 fine, 1 a mistake in the file or the "
            "command,\n"
            "2 a check failed, 3 a fault in recurc.\n";
}

static void printHelp(const Verb &verb) {
  outs() << "Usage: recurc " << verb.usage << "\n\n" << verb.details << '\n';
  printOptionHelp(outs(), verb.visibility);
}

/// "build, explain or check"
static std::string listVerbs() {
  std::string list;
  for (const Verb &verb : verbs)
    list += (&verb == std::begin(verbs) ? "" : &verb + 1 == std::end(verbs) ? " or " : ", ") + verb.name.str();
  return list;
}

static Expected<ExitCode> runWithoutVerb(ArrayRef<const char *> words) {
  if (words.empty())
    return makeError("a verb is missing: " + listVerbs() + "; see 'recurc --help'");
  if (words.front()[0] != '-') {
    std::vector<StringRef> names;
    for (const Verb &verb : verbs)
      names.push_back(verb.name);
    StringRef word = words.front(), nearest = findNearest(word, names);
    if (word == "help") {
      printHelp();
      return ExitCode::Fine;
    }
    if (!nearest.empty())
      return makeError("unknown verb '" + word + "'; did you mean '" + nearest + "'?");
    return makeError("unknown verb '" + word + "'; known are " + join(names, ", "));
  }
  Expected<opt::InputArgList> args = parseOptions({"", TopLevel}, words);
  if (!args)
    return args.takeError();
  if (args->hasArg(OPT_version))
    outs() << "recurc " RECUR_VERSION "\n";
  else if (args->hasArg(OPT_help))
    printHelp();
  else
    return makeError("a verb comes first: " + listVerbs() + "; see 'recurc --help'");
  return ExitCode::Fine;
}

static Expected<ExitCode> runVerb(const Verb &verb, ArrayRef<const char *> words) {
  Expected<opt::InputArgList> args = parseOptions({verb.name, verb.visibility}, words);
  if (!args)
    return args.takeError();
  if (args->hasArg(OPT_help)) {
    printHelp(verb);
    return ExitCode::Fine;
  }
  return verb.run(*args);
}

int driver::runRecurc(int argc, char **argv) {
  ArrayRef<const char *> words(argv, argc);
  words = words.drop_front(argc > 0);
  startReproducer(words);
  const Verb *verb =
      words.empty() ? std::end(verbs) : find_if(verbs, [&](const Verb &verb) { return verb.name == words.front(); });
  Expected<ExitCode> result = verb == std::end(verbs) ? runWithoutVerb(words) : runVerb(*verb, words.drop_front());
  ExitCode code = result ? *result : report(result.takeError());
  outs().flush();
  if (outs().has_error()) {
    std::error_code reason = outs().error();
    outs().clear_error();
    if (code == ExitCode::Fine)
      code = report(makeError("cannot write to stdout: " + reason.message()));
  }
  return int(code);
}
