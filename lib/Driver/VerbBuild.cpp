// recurc build: from a specification down to a stage, and what is written of it.
#include "Codegen/Embed/Names.h"
#include "Compile/ArrayTypes.h"
#include "Compile/Artifacts.h"
#include "Compile/BuildStages.h"
#include "Compile/Choices.h"
#include "Driver/Provoke.h"
#include "Driver/Specification.h"
#include "Driver/Verbs.h"
#include "Support/OutputFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::compile;

namespace {
struct BuildOptions {
  std::vector<std::string> emit;
  const Stage *stopAfter = nullptr;
  std::string base;       // "-" is stdout
  std::string dumpFolder; // empty: no dumps
  std::string prefix;     // of every name
  std::string depfile;    // empty: none
  bool writes(StringRef artifact) const { return is_contained(emit, artifact); }
};
} // namespace

/// The file's name without its folder and suffix.
static std::string makeBase(StringRef path) { return path == "-" ? "out" : sys::path::stem(path).str(); }

static Error parseKernelOptions(const opt::InputArgList &args, BuildOptions &options) {
  options.prefix = args.getLastArgValue(OPT_prefix).str();
  options.depfile = args.getLastArgValue(OPT_depfile).str();
  if (Error error = checkPrefix(options.prefix))
    return error;
  if (options.emit.empty() && !args.hasArg(OPT_stop_after))
    options.emit = {"obj", "header", "manifest"};
  return Error::success();
}

static Expected<BuildOptions> parseBuildOptions(const opt::InputArgList &args, const SpecOptions &spec,
                                                const Target &target) {
  BuildOptions options;
  for (StringRef list : args.getAllArgValues(OPT_emit))
    for (StringRef artifact : split(list, ',')) {
      std::vector<StringRef> known(getArtifactNames());
      known.push_back("mlir");
      if (!is_contained(known, artifact))
        return makeUnknownValueError("--emit", artifact, known);
      options.emit.push_back(artifact.str());
    }
  if (Error error = parseKernelOptions(args, options))
    return std::move(error);
  if (const opt::Arg *stopAfter = args.getLastArg(OPT_stop_after)) {
    Expected<const Stage *> stage = parseStage("--stop-after", stopAfter->getValue());
    if (!stage)
      return stage.takeError();
    options.stopAfter = *stage;
    for (const std::string &artifact : options.emit)
      if (!is_contained(getStageForms(**stage, target), artifact))
        return makeError("--emit: '" + artifact + "' is nothing that stage '" + (*stage)->name + "' gives; it gives " +
                         join(getStageForms(**stage, target), " and "));
    if (options.emit.empty())
      options.emit = {getStageForms(**stage, target).front().str()};
  } else if (options.writes("mlir")) {
    return makeError("--emit: 'mlir' is what a stage gives: name it with --stop-after, for example --stop-after=" +
                     getLastModuleStage().name);
  }
  if (options.stopAfter && spec.startFrom && spec.startFrom > options.stopAfter)
    return makeError("--stop-after: stage '" + options.stopAfter->name + "' comes before stage '" +
                     spec.startFrom->name + "' of --start-from");
  if (!options.stopAfter && spec.startFrom && spec.startFrom->name != "recurrence")
    return makeError("--start-from: kernels are made from stage 'recurrence'; add --stop-after to stop at another");
  options.base = args.getLastArgValue(OPT_output, makeBase(spec.path)).str();
  options.dumpFolder = args.getLastArgValue(OPT_dump_stages).str();
  if (options.base == "-" && options.emit.size() > 1)
    return makeError("-o -: stdout takes one artifact, but --emit names " + Twine(options.emit.size()));
  return options;
}

/// `out/gdn` and `lib` make `out/libgdn.a`, as linkers look for it; the others are `out/gdn` and a suffix.
static std::string getPath(StringRef base, StringRef artifact) {
  if (artifact == "lib") {
    SmallString<128> path(sys::path::parent_path(base));
    sys::path::append(path, "lib" + sys::path::filename(base) + ".a");
    return path.str().str();
  }
  static constexpr std::pair<StringRef, StringRef> suffixes[] = {
      {"obj", ".o"}, {"so", ".so"},   {"header", ".h"}, {"manifest", ".json"},
      {"asm", ".s"}, {"llvm", ".ll"}, {"ptx", ".ptx"},  {"cubin", ".cubin"}};
  return (base + find_if(suffixes, [&](const auto &entry) { return entry.first == artifact; })->second).str();
}

static std::string escapeForMake(StringRef path) {
  std::string text;
  for (char c : path)
    text += c == ' ' ? "\\ " : c == '$' ? "$$" : std::string(1, c);
  return text;
}

static Error buildKernels(Specification &specification, const PipelineOptions &pipeline, const BuildOptions &build,
                          std::vector<OutputFile> &files) {
  const std::string &specPath = specification.getOptions().path;
  KernelNames names{build.prefix, specPath == "-" ? "stdin" : sys::path::filename(specPath).str()};
  Expected<Emission> emission = emitArtifacts(specification.getRecurrences(), pipeline, names, build.emit);
  if (!emission)
    return emission.takeError();
  for (const std::string &text : emission->notes)
    note(text);
  for (Artifact &artifact : emission->artifacts)
    files.push_back({build.base == "-" ? "-" : getPath(build.base, artifact.name), std::move(artifact.bytes)});
  if (!build.depfile.empty()) {
    std::string rule;
    for (const OutputFile &file : files)
      rule += escapeForMake(file.path) + " ";
    SmallString<128> absolute(specPath);
    if (std::error_code code = sys::fs::make_absolute(absolute))
      return makeError("--depfile: cannot tell where '" + specPath + "' is: " + code.message());
    files.push_back({build.depfile, rule + ": " + escapeForMake(absolute) + "\n", /*makesFolder=*/false});
  }
  return Error::success();
}

Expected<ExitCode> driver::runBuild(const opt::InputArgList &args) {
  Expected<SpecOptions> options = parseSpecOptions(args);
  if (!options)
    return options.takeError();
  if (options->startFrom && options->startFrom->op != dgps::RecurrenceOp::getOperationName() && args.hasArg(OPT_dtype))
    return makeError("--start-from: the file says which types its arrays have; leave --dtype out");
  Expected<PipelineOptions> pipeline = parsePipelineOptionsOfTargets(args);
  if (!pipeline)
    return pipeline.takeError();
  if (pipeline->backward && args.hasArg(OPT_stop_after))
    return makeError("--backward: stages are of the recurrence itself; leave --stop-after out");
  Expected<BuildOptions> build = parseBuildOptions(args, *options, pipeline->target);
  if (!build)
    return build.takeError();
  if (build->stopAfter && !pipeline->lowerTargets.empty())
    return makeError("--stop-after: stages are of one target, but --target names several");
  Expected<std::unique_ptr<Specification>> specification = Specification::open(*options);
  if (!specification)
    return specification.takeError();
  if (Error error = (*specification)->compile(options->instantiation))
    return std::move(error);
  if (Error error = compile::checkArrayTypes((*specification)->getRecurrences(), pipeline->dataTypes))
    return std::move(error);
  if (Error error = provoke(args))
    return std::move(error);

  std::vector<OutputFile> files;
  StageOutput stages{options->startFrom, build->stopAfter, build->dumpFolder, build->base, build->emit};
  if (!build->stopAfter) {
    if (Error error = buildKernels(**specification, *pipeline, *build, files))
      return std::move(error);
    stages.to = &findLowestStage(*pipeline);
    stages.emit.clear();
  }
  if (build->stopAfter || !build->dumpFolder.empty())
    if (Error error = runStagesToFiles((*specification)->getModule(), *pipeline, stages, files))
      return std::move(error);
  if (Error error = writeFiles(files))
    return std::move(error);
  return ExitCode::Fine;
}
