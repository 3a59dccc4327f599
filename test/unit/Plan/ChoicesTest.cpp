// Which candidate each recurrence of examples/ gets. A change of the search that is meant to change plans changes the
// file too: RECUR_UPDATE_EXPECTED=1 writes it anew. What their launches were measured to take is near what the search
// takes them for.
#include "Finding.h"
#include <cstdlib>
#include <fstream>
#include <map>

using namespace recur;

namespace {

const char *const expectedPath = RECUR_SOURCE_DIR "/test/unit/Plan/choices.txt";
const char *const measuredPath = RECUR_SOURCE_DIR "/test/unit/Plan/measured.txt";

struct Choice {
  std::string path;
  llvm::StringRef target;
  DataType type;
  std::string getKey() const {
    return std::filesystem::path(path).stem().string() + " " + target.str() + " " + getName(type).str();
  }
};

/// Each example for Hopper with bf16, and every fourth for Ampere and with float32.
std::vector<Choice> listChoices() {
  std::vector<Choice> all;
  for (auto [i, path] : llvm::enumerate(test::listExamples())) {
    all.push_back({path, "sm_90a", DataType::BF16});
    if (i % 4 == 1)
      all.push_back({path, "sm_80", DataType::BF16});
    if (i % 4 == 3)
      all.push_back({path, "sm_90a", DataType::F32});
  }
  return all;
}

/// Cycles by `NAME chain` and `NAME teams`.
std::map<std::string, double> readMeasured() {
  std::map<std::string, double> measured;
  std::ifstream file(measuredPath);
  for (std::string line; std::getline(file, line);)
    if (auto [key, cycles] = llvm::StringRef(line).rsplit(' '); !key.starts_with("#"))
      EXPECT_FALSE(cycles.getAsDouble(measured[key.str()])) << line;
  return measured;
}

/// Estimates are off by a third at most. Plans are chosen by less, among kernels that are alike.
void expectMeasuredCycles(const std::string &name, const plan::GPUKernels &kernels) {
  static const std::map<std::string, double> measured = readMeasured();
  EXPECT_FALSE(measured.empty());
  auto expectNear = [&](const char *what, double estimate) {
    auto found = measured.find(name + " " + what);
    if (found == measured.end())
      return;
    EXPECT_LE(estimate, 4.0 / 3 * found->second) << found->first;
    EXPECT_GE(estimate, 3.0 / 4 * found->second) << found->first;
  };
  for (auto [launch, time, kernel] :
       llvm::zip(kernels.plan.launches, kernels.plan.times, kernels.tiles.get().getOps<tile::KernelOp>())) {
    if (launch.teams)
      expectNear("teams", analysis::estimateChunk(time, launch.teams));
    if (std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel); chain && !launch.bounds)
      expectNear("chain", analysis::estimateChain(*chain, time));
  }
}

std::string findChoice(const Choice &choice) {
  auto specification = openExample(choice.path, {128, 128});
  if (!specification)
    return llvm::toString(specification.takeError());
  auto found =
      compile::chooseChunk((*specification)->getRecurrences().front(), test::makeOptions(choice.target, choice.type));
  if (!found)
    return llvm::toString(found.takeError());
  if (choice.target == "sm_90a" && choice.type == DataType::BF16)
    expectMeasuredCycles(std::filesystem::path(choice.path).stem(), found->kernels);
  std::string text = std::to_string(found->chunk) + " tokens, " + plan::getName(found->kernels.plan.form).str();
  for (const tile::Launch &launch : found->kernels.plan.launches)
    text += "; " + launch.symbol + " " + std::to_string(launch.threads) + (launch.teams ? " teams" : "");
  return text + (found->kernels.plan.workspaceBytes ? "; tiles in memory" : "");
}

std::map<std::string, std::string> readExpected() {
  std::map<std::string, std::string> expected;
  std::ifstream file(expectedPath);
  for (std::string line; std::getline(file, line);)
    if (auto [key, text] = llvm::StringRef(line).split(": "); !text.empty())
      expected[key.str()] = text.str();
  return expected;
}

class Choices : public ::testing::TestWithParam<Choice> {};

TEST_P(Choices, AreThoseOfTheFile) {
  static std::map<std::string, std::string> expected = readExpected();
  static const bool updates = std::getenv("RECUR_UPDATE_EXPECTED") != nullptr;
  std::string key = GetParam().getKey(), text = findChoice(GetParam());
  if (updates) {
    expected[key] = text;
    std::ofstream file(expectedPath);
    for (const auto &[own, choice] : expected)
      file << own << ": " << choice << "\n";
    return;
  }
  auto found = expected.find(key);
  ASSERT_NE(found, expected.end()) << key << " has no line: " << text;
  EXPECT_EQ(found->second, text);
}

INSTANTIATE_TEST_SUITE_P(All, Choices, ::testing::ValuesIn(listChoices()), [](const auto &info) {
  std::string name = info.param.getKey();
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

} // namespace
