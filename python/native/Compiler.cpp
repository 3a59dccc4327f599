#include "Compiler.h"
#include "Errors.h"
#include <deque>
#include <dlfcn.h>
#include <vector>

namespace nb = nanobind;
using namespace recur::python;

Compiler::Compiler(const std::string &path) : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library)
    raise("LoadError", dlerror());
}

template <typename Function> Function *Compiler::find(const char *name) const {
  auto *found = reinterpret_cast<Function *>(dlsym(library, name));
  if (!found)
    raise("LoadError", std::string("the compiler has no '") + name + "'");
  return found;
}

namespace {

/// The options as the compiler takes them, and the texts that they point to.
struct Options {
  recur_compile_options options = {};
  std::deque<std::string> texts;
  std::vector<recur_dim> dims;
  std::vector<recur_constant> constants;
  std::vector<int64_t> tokens;

  const char *keep(nb::handle text) { return texts.emplace_back(nb::cast<std::string>(text)).c_str(); }

  explicit Options(const nb::dict &given) {
    options.version = RECUR_COMPILER_VERSION;
    for (auto [key, value] : given) {
      std::string name = nb::cast<std::string>(key);
      if (value.is_none())
        continue;
      if (name == "dims")
        for (auto [dim, size] : nb::cast<nb::dict>(value))
          dims.push_back({keep(dim), nb::cast<int64_t>(size)});
      else if (name == "consts")
        for (auto [constant, number] : nb::cast<nb::dict>(value))
          constants.push_back({keep(constant), nb::cast<double>(number)});
      else if (name == "chunk")
        options.chunk = nb::cast<int32_t>(value);
      else if (name == "backward")
        options.backward = nb::cast<bool>(value);
      else if (name == "summaries")
        options.summaries = nb::cast<bool>(value);
      else if (name == "trees")
        options.trees = nb::cast<bool>(value);
      else if (name == "quick")
        options.quick = nb::cast<bool>(value);
      else if (name == "seed")
        options.seed = nb::cast<uint64_t>(value);
      else if (name == "hard")
        options.hard = nb::cast<bool>(value);
      else if (name == "starts_anew")
        options.starts_anew = nb::cast<bool>(value);
      else if (name == "forgets_final")
        options.forgets_final = nb::cast<bool>(value);
      else if (name == "batch")
        options.batch = nb::cast<int64_t>(value);
      else if (name == "heads")
        options.heads = nb::cast<int64_t>(value);
      else if (name == "groups")
        options.groups = nb::cast<int64_t>(value);
      else if (name == "tokens")
        for (nb::handle count : nb::cast<nb::list>(value))
          tokens.push_back(nb::cast<int64_t>(count));
      else
        find(name) = keep(value);
    }
    options.dims = dims.data();
    options.dim_count = int64_t(dims.size());
    options.constants = constants.data();
    options.constant_count = int64_t(constants.size());
    options.tokens = tokens.data();
    options.token_count = int64_t(tokens.size());
  }

  const char *&find(const std::string &name) {
    for (auto [known, field] :
         {std::pair("source_name", &options.source_name), std::pair("recurrence", &options.recurrence),
          std::pair("target", &options.target), std::pair("dtype", &options.dtype), std::pair("plan", &options.plan),
          std::pair("emit", &options.emit), std::pair("gradients", &options.gradients),
          std::pair("precision", &options.precision)})
      if (name == known)
        return *field;
    raise("Error", "the compiler has no option '" + name + "'");
  }
};

nb::tuple makePlace(const recur_place &place) {
  return nb::make_tuple(place.line, place.column, place.end_line, place.end_column);
}

nb::object makeText(const char *text) { return text ? nb::object(nb::str(text)) : nb::none(); }

nb::list listDiagnostics(const recur_diagnostic *first, int64_t count) {
  static constexpr const char *severities[] = {"error", "warning", "note", "help"};
  nb::list list;
  for (int64_t i = 0; i < count; ++i) {
    const recur_diagnostic &diagnostic = first[i];
    nb::list remarks;
    for (int64_t j = 0; j < diagnostic.remark_count; ++j) {
      const recur_remark &remark = diagnostic.remarks[j];
      remarks.append(nb::make_tuple(severities[remark.severity], makePlace(remark.place), makeText(remark.message),
                                    makeText(remark.replacement)));
    }
    list.append(nb::make_tuple(severities[diagnostic.severity], makePlace(diagnostic.place), makeText(diagnostic.code),
                               makeText(diagnostic.message), nb::tuple(remarks)));
  }
  return list;
}

} // namespace

nb::tuple Compiler::perform(const std::string &what, const std::string &source, nb::dict given) const {
  auto *function = find<decltype(recur_compile)>(("recur_" + what).c_str());
  auto *getDiagnostics = find<decltype(recur_compilation_diagnostics)>("recur_compilation_diagnostics");
  auto *getArtifact = find<decltype(recur_compilation_artifact)>("recur_compilation_artifact");
  Options options(given);
  recur_compilation *compilation;
  {
    nb::gil_scoped_release released;
    compilation = function(source.data(), int64_t(source.size()), &options.options);
  }
  if (!compilation)
    throw std::bad_alloc();
  struct Release {
    recur_compilation *compilation;
    decltype(recur_compilation_free) *release;
    ~Release() { release(compilation); }
  } release{compilation, find<decltype(recur_compilation_free)>("recur_compilation_free")};
  int64_t count;
  const recur_diagnostic *diagnostics = getDiagnostics(compilation, &count);
  nb::dict artifacts;
  for (const char *name : {"so", "header", "manifest", "asm", "llvm", "json", "text", "values"}) {
    int64_t bytes;
    if (const char *artifact = getArtifact(compilation, name, &bytes))
      artifacts[name] = nb::bytes(artifact, size_t(bytes));
  }
  return nb::make_tuple(int(find<decltype(recur_compilation_status)>("recur_compilation_status")(compilation)),
                        find<decltype(recur_compilation_text)>("recur_compilation_text")(compilation),
                        listDiagnostics(diagnostics, count), artifacts);
}

std::string Compiler::getVersion() const { return find<decltype(recur_compiler_version)>("recur_compiler_version")(); }
