#include "Compile/Choices.h"
#include "Support/Errors.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;

static bool isName(StringRef text) {
  return !text.empty() && !isDigit(text.front()) && all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
}

Error compile::parseDims(StringRef list, std::map<std::string, int64_t> &dims) {
  for (StringRef item : split(list, ',')) {
    auto [name, size] = item.split('=');
    int64_t value;
    if (!isName(name) || size.empty())
      return makeError("--dim: '" + item + "' is not of the form NAME=SIZE, such as K=128");
    if (size.getAsInteger(10, value))
      return makeError("--dim: '" + size + "' is not a whole number that dim '" + name + "' could be");
    auto [entry, isNew] = dims.insert({name.str(), value});
    if (!isNew && entry->second != value)
      return makeError("--dim: dim '" + name + "' is given as " + Twine(entry->second) + " and as " + Twine(value));
  }
  return Error::success();
}

Error compile::parseDefine(StringRef text, std::map<std::string, double> &constants) {
  auto [name, number] = text.split('=');
  double value;
  if (!isName(name) || number.empty() || number.getAsDouble(value))
    return makeError("-D: '" + text + "' is not of the form NAME=NUMBER, such as x=1.25");
  if (!constants.insert({name.str(), value}).second)
    return makeError("-D: const '" + name + "' is given twice");
  return Error::success();
}

template <typename T>
static Expected<T> parseChoice(StringRef option, std::optional<StringRef> word, T otherwise,
                               ArrayRef<std::pair<StringRef, T>> choices) {
  if (!word)
    return otherwise;
  std::vector<StringRef> known;
  for (const auto &[name, value] : choices) {
    if (name == *word)
      return value;
    known.push_back(name);
  }
  return makeUnknownValueError(option, *word, known);
}

Expected<Plan> compile::parsePlan(std::optional<StringRef> name) {
  return parseChoice<Plan>("--plan", name, Plan::Auto,
                           {{"auto", Plan::Auto},
                            {"step", Plan::Step},
                            {"chunk", Plan::Chunk},
                            {"segment", Plan::Segment},
                            {"scan", Plan::Scan},
                            {"token-loop", Plan::TokenLoop}});
}

/// Whether a GPU's code is for fewer devices than another's, which it is better for.
static bool isNarrower(const GPUProfile &a, const GPUProfile &b) {
  auto rank = [](const GPUProfile &gpu) { return std::tuple(!gpu.isPortable, gpu.capability, gpu.isExact); };
  return rank(a) > rank(b);
}

/// The targets of a comma list: processors, those that ask for most first, and then GPUs likewise.
static Expected<std::vector<Target>> parseTargets(StringRef list) {
  std::vector<Target> found;
  for (StringRef name : split(list, ',')) {
    std::optional<Target> target = findTarget(name);
    if (!target)
      return makeUnknownValueError("--target", name, getTargetNames());
    if (is_contained(map_range(found, [](const Target &other) { return StringRef(other.name); }), name))
      return makeError("--target: '" + name + "' is given twice");
    found.push_back(std::move(*target));
  }
  llvm::sort(found, [](const Target &a, const Target &b) {
    if (a.kind != b.kind)
      return a.isCPU();
    if (!a.isCPU())
      return isNarrower(*a.gpu, *b.gpu);
    return a.features.size() != b.features.size() ? a.features.size() > b.features.size() : a.name < b.name;
  });
  if (std::optional<std::string> reason = joinTargets(found))
    return makeError("--target: " + *reason);
  return found;
}

Expected<PipelineOptions> compile::parsePipeline(const PipelineWords &words) {
  PipelineOptions options;
  Expected<std::vector<Target>> targets = parseTargets(words.targets.value_or("host"));
  if (!targets)
    return targets.takeError();
  options.target = targets->front();
  options.lowerTargets.assign(targets->begin() + 1, targets->end());
  Expected<DataTypes> dataTypes = parseDataTypes(words.dataTypes.value_or("f32"));
  if (!dataTypes)
    return dataTypes.takeError();
  Expected<Precision> precision = parseChoice<Precision>("--precision", words.precision, Precision::Exact,
                                                         {{"exact", Precision::Exact}, {"tf32", Precision::TF32}});
  if (!precision)
    return precision.takeError();
  Expected<Plan> plan = parsePlan(words.plan);
  if (!plan)
    return plan.takeError();
  Expected<int64_t> chunk =
      parseChoice<int64_t>("--chunk", words.chunk, 0, {{"16", 16}, {"32", 32}, {"64", 64}, {"128", 128}});
  if (!chunk)
    return chunk.takeError();
  options.dataTypes = std::move(*dataTypes);
  options.precision = *precision;
  options.plan = *plan;
  if (*chunk)
    options.chunk = *chunk;
  return options;
}

Error compile::parseGradients(StringRef list, PipelineOptions &options) {
  for (StringRef name : split(list, ',')) {
    if (!isName(name))
      return makeError("--backward: '" + name +
                       "' is no name of an input, param or state; give them as in --backward=q,k");
    if (is_contained(options.gradients, name))
      return makeError("--backward: '" + name + "' is given twice");
    options.gradients.push_back(name.str());
  }
  return Error::success();
}

Error compile::checkPrefix(StringRef prefix) {
  if (prefix.empty() || isName(prefix))
    return Error::success();
  return makeError("--prefix: '" + prefix + "' cannot start a name in C; use letters, digits and '_'");
}
