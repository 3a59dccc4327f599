#include "property/Failure.h"
#include "Reduce/Reducer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <fmt/format.h>

using namespace recur;
using namespace recur::property;

static uint64_t readEnvironment(const char *variable, uint64_t otherwise) {
  uint64_t value;
  const char *text = std::getenv(variable);
  if (!text || !*text)
    return otherwise;
  if (llvm::StringRef(text).getAsInteger(10, value)) {
    fmt::print(stderr, "{} is '{}'; it takes a whole number\n", variable, text);
    std::exit(1);
  }
  return value;
}

Seeds property::pickSeeds(uint64_t first, uint64_t count) {
  return {readEnvironment("RECUR_PROPERTY_FIRST", first), readEnvironment("RECUR_PROPERTY_COUNT", count)};
}

/// Returns where the text lies, or what went wrong.
static std::string save(const std::string &file, llvm::StringRef text) {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  llvm::sys::path::append(path, "recur-property");
  if (std::error_code code = llvm::sys::fs::create_directories(path))
    return fmt::format("(not saved: {})", code.message());
  llvm::sys::path::append(path, file);
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return fmt::format("(not saved: {})", code.message());
  os << text;
  return path.str().str();
}

std::string property::describeFailure(uint64_t seed, llvm::StringRef what, llvm::StringRef text,
                                      llvm::function_ref<bool(llvm::StringRef)> fails) {
  std::string message =
      fmt::format("seed {}: {}\nthe recurrence: {}\n", seed, what.str(), save(fmt::format("{}.recur", seed), text));
  if (!fails)
    return message + text.str();
  reduce::Reduction least = reduce::reduceText(text, fails, {.maxTests = 20000});
  if (!least.wasInteresting)
    return message + "(it did not fail again)\n" + text.str();
  return message + fmt::format("reduced: {}\n{}", save(fmt::format("{}-reduced.recur", seed), least.text), least.text);
}

std::string property::describeFailingDisguise(const DrawnRecurrence &recurrence, uint64_t variant,
                                              const DisguiseOptions &options, llvm::StringRef what,
                                              llvm::function_ref<bool(const Disguise &)> fails) {
  DisguiseOptions fewer = options;
  fewer.renameDeclarations = false;
  fewer.reorderDeclarations = false;
  std::string before = writePlainly(recurrence).text;
  unsigned changes = disguise(recurrence, variant, options).changes;
  for (fewer.maxChanges = 0; fewer.maxChanges <= changes; ++fewer.maxChanges) {
    Disguise candidate = disguise(recurrence, variant, fewer);
    if (!fails(candidate)) {
      before = candidate.text;
      continue;
    }
    return fmt::format("seed {}, disguise {}: {}\nfrom change {} on. Before it: {}\n{}\nAfter it: {}\n{}",
                       recurrence.seed, variant, what.str(), fewer.maxChanges,
                       save(fmt::format("{}-before.recur", recurrence.seed), before), before,
                       save(fmt::format("{}-after.recur", recurrence.seed), candidate.text), candidate.text);
  }
  // Only names or the order of declarations matter.
  std::string text = disguise(recurrence, variant, options).text;
  return fmt::format("seed {}, disguise {}: {}\nbut not with plain names and order: {}\n{}", recurrence.seed, variant,
                     what.str(), save(fmt::format("{}.recur", recurrence.seed), text), text);
}
