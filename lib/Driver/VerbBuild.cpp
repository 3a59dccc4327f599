// recurc build: from a specification down to a stage, and what is written of it.
#include "Driver/OutputFiles.h"
#include "Driver/Provoke.h"
#include "Driver/Specification.h"
#include "Driver/Verbs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

namespace {
struct BuildOptions {
  std::vector<std::string> emit;
  const Stage *stopAfter = nullptr;
  std::string base;       // "-" is stdout
  std::string dumpFolder; // empty: no dumps
};
} // namespace

static constexpr StringRef artifacts[] = {"obj", "asm", "header", "manifest", "ptx", "cubin", "llvm", "mlir"};

/// The file's name without its folder and suffix.
static std::string makeBase(StringRef path) { return path == "-" ? "out" : sys::path::stem(path).str(); }

static Expected<BuildOptions> parseBuildOptions(const opt::InputArgList &args, const SpecOptions &spec) {
  BuildOptions options;
  for (StringRef list : args.getAllArgValues(OPT_emit))
    for (StringRef artifact : split(list, ',')) {
      if (!is_contained(artifacts, artifact))
        return makeUnknownValueError("--emit", artifact, artifacts);
      if (artifact != "mlir")
        return makeError("--emit: this version does not make '" + artifact +
                         "'; it makes 'mlir', with --stop-after=" + getLastStage().name);
      options.emit.push_back(artifact.str());
    }
  const opt::Arg *stopAfter = args.getLastArg(OPT_stop_after);
  if (!stopAfter)
    return makeError("this version stops at stage '" + getLastStage().name +
                     "' and makes no kernels yet: add --stop-after=" + getLastStage().name);
  Expected<const Stage *> stage = parseStage("--stop-after", stopAfter->getValue());
  if (!stage)
    return stage.takeError();
  options.stopAfter = *stage;
  if (spec.startFrom && spec.startFrom > options.stopAfter)
    return makeError("--stop-after: stage '" + options.stopAfter->name + "' comes before stage '" +
                     spec.startFrom->name + "' of --start-from");
  options.base = args.getLastArgValue(OPT_output, makeBase(spec.path)).str();
  options.dumpFolder = args.getLastArgValue(OPT_dump_stages).str();
  return options;
}

static std::string printModule(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream os(text);
  module->print(os);
  os << '\n';
  return text;
}

/// `1-recurrence.mlir`: sorted by name, the files are in the order of the stages.
static OutputFile makeDump(StringRef folder, const Stage &stage, mlir::ModuleOp module) {
  SmallString<128> path(folder);
  sys::path::append(path, Twine(&stage - getStages().begin() + 1) + "-" + stage.name + ".mlir");
  return {path.str().str(), printModule(module)};
}

Expected<ExitCode> driver::runBuild(const opt::InputArgList &args) {
  Expected<SpecOptions> options = parseSpecOptions(args);
  if (!options)
    return options.takeError();
  Expected<PipelineOptions> pipeline = parsePipelineOptions(args);
  if (!pipeline)
    return pipeline.takeError();
  Expected<BuildOptions> build = parseBuildOptions(args, *options);
  if (!build)
    return build.takeError();
  Expected<std::unique_ptr<Specification>> specification = Specification::open(*options);
  if (!specification)
    return specification.takeError();
  if (!options->startFrom && !options->instantiation.onlyRecurrence.empty())
    if (Error error = (*specification)->describe().takeError())
      return std::move(error);
  if (Error error = (*specification)->compile(options->instantiation))
    return std::move(error);
  if (Error error = provoke(args))
    return std::move(error);

  mlir::ModuleOp module = (*specification)->getModule();
  std::vector<OutputFile> files;
  auto dump = [&](const Stage &stage) {
    if (!build->dumpFolder.empty())
      files.push_back(makeDump(build->dumpFolder, stage, module));
  };
  if (mlir::failed(runStages(module, options->startFrom, *build->stopAfter, *pipeline, dump)))
    return make_error<InternalError>("the passes down to stage '" + build->stopAfter->name + "' failed");
  std::string path = build->base == "-" ? "-" : build->base + ".mlir";
  files.push_back({path, printModule(module)});
  if (Error error = writeFiles(files))
    return std::move(error);
  return ExitCode::Fine;
}
