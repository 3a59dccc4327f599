// Every specification of examples/ against its folder of test/golden/, whose results were computed by other means.
#include "Driver/ArrayFolder.h"
#include "Driver/DimInference.h"
#include "Driver/Specification.h"
#include "Interpreter/DGPSInterpreter.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include <filesystem>
#include <set>

using namespace recur;
using namespace recur::driver;
namespace fs = std::filesystem;

namespace {

std::set<std::string> listExamples() {
  std::set<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(RECUR_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".recur")
      names.insert(entry.path().stem());
  return names;
}

std::set<std::string> listGolden() {
  std::set<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(RECUR_SOURCE_DIR "/test/golden"))
    names.insert(entry.path().filename());
  return names;
}

TEST(Golden, EveryExampleHasAFolderAndEveryFolderAnExample) {
  EXPECT_EQ(listExamples(), listGolden());
  EXPECT_GE(listExamples().size(), 40u);
}

class GoldenTest : public ::testing::TestWithParam<std::string> {
protected:
  template <typename T> static T get(llvm::Expected<T> value) {
    if (!value) {
      ADD_FAILURE() << llvm::toString(value.takeError());
      return T();
    }
    return std::move(*value);
  }
};

TEST_P(GoldenTest, AgreesToTwelveDigits) {
  std::string folder = RECUR_SOURCE_DIR "/test/golden/" + GetParam();
  SpecOptions options;
  options.path = RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur";
  auto specification = get(Specification::open(options));
  ASSERT_TRUE(specification);
  auto all = get(specification->describe());
  ASSERT_EQ(all.size(), 1u);
  auto files = get(openFolder(folder, getArrayDeclarations(all[0])));
  frontend::InstantiationOptions instantiation;
  ASSERT_FALSE(inferDims(all[0], files, instantiation.dims));
  ASSERT_FALSE(specification->compile(instantiation));
  dgps::RecurrenceOp recurrence = specification->getRecurrences().front();

  std::vector<interpreter::Given> given;
  for (const ArrayFile &file : files)
    given.push_back({file.role, file.name, file.path, file.shape});
  interpreter::Sizes sizes = get(interpreter::inferSizes(recurrence, given));
  interpreter::Results results = get(interpreter::interpret(recurrence, get(readArrays(files, sizes))));

  size_t compared = 0;
  for (const auto &[word, arrays] : {std::pair("output", &results.outputs), {"final", &results.final}})
    for (const auto &[name, array] : *arrays) {
      Array golden = get(npy::read(folder + "/" + word + "." + name + ".npy"));
      EXPECT_LE(interpreter::relativeRms(array, golden), 1e-12) << word << " " << name;
      ++compared;
    }
  EXPECT_GE(compared, 2u);
  EXPECT_GT(sizes.tokens, 0);
}

INSTANTIATE_TEST_SUITE_P(Examples, GoldenTest, ::testing::ValuesIn(listGolden()),
                         [](const ::testing::TestParamInfo<std::string> &info) { return info.param; });

} // namespace
