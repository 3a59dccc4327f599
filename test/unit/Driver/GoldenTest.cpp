// Every specification of examples/ against its folder of test/golden/, whose results were computed by other means.
#include "../Examples.h"
#include "Data/ArrayFolder.h"
#include "Driver/DimInference.h"
#include "Driver/Specification.h"
#include "Interpreter/DGPSInterpreter.h"
#include "gmock/gmock.h"
#include <filesystem>
#include <set>

using namespace recur;
using namespace recur::data;
using namespace recur::driver;
using namespace recur::interpreter;
namespace fs = std::filesystem;

namespace {

std::set<std::string> listGolden() {
  std::set<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(RECUR_SOURCE_DIR "/test/golden"))
    names.insert(entry.path().filename());
  return names;
}

TEST(Golden, EveryExampleHasAFolderAndEveryFolderAnExample) {
  std::vector<std::string> names = test::nameExamples();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), listGolden());
  EXPECT_GE(names.size(), 40u);
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

  /// Compiles the example for its folder's arrays, and reads them.
  void SetUp() override {
    SpecOptions options;
    options.path = RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur";
    specification = get(Specification::open(options));
    ASSERT_TRUE(specification);
    auto all = get(specification->describe());
    ASSERT_EQ(all.size(), 1u);
    auto files =
        get(openFolder(folder, getArrayDeclarations(all[0]), /*wantsCotangents=*/false, all[0].hasImplicitStates));
    frontend::InstantiationOptions instantiation;
    ASSERT_FALSE(inferDims(all[0], files, instantiation.dims));
    ASSERT_FALSE(specification->compile(instantiation));
    recurrence = specification->getRecurrences().front();
    std::vector<Given> given;
    for (const ArrayFile &file : files)
      given.push_back({file.role, file.name, file.path, file.shape});
    data = get(readArrays(files, get(inferSizes(recurrence, given))));
    ASSERT_GT(data.sizes.tokens, 1);
  }

  std::string folder = RECUR_SOURCE_DIR "/test/golden/" + GetParam();
  std::unique_ptr<Specification> specification;
  dgps::RecurrenceOp recurrence;
  Data data;
};

TEST_P(GoldenTest, AgreesToTwelveDigits) {
  Results results = get(interpret(recurrence, data));
  size_t compared = 0;
  for (const auto &[word, arrays] : {std::pair("output", &results.outputs), {"final", &results.final}})
    for (const auto &[name, array] : *arrays) {
      Array golden = get(npy::read(folder + "/" + word + "." + name + ".npy"));
      EXPECT_LE(relativeRms(array, golden), 1e-12) << word << " " << name;
      ++compared;
    }
  EXPECT_GE(compared, 2u);
}

/// Tokens `from` to `to` of a [B, T, ...] array.
Array cut(const Array &array, int64_t from, int64_t to) {
  Array part{array.shape, {}};
  part.shape[1] = to - from;
  int64_t token = 1;
  for (size_t i = 2; i < array.shape.size(); ++i)
    token *= array.shape[i];
  for (int64_t sequence = 0; sequence < array.shape[0]; ++sequence) {
    auto start = array.values.begin() + sequence * array.shape[1] * token;
    part.values.insert(part.values.end(), start + from * token, start + to * token);
  }
  return part;
}

TEST_P(GoldenTest, GoesOnFromItsFinalState) {
  Results whole = get(interpret(recurrence, data));
  Data part = data;
  auto runPart = [&](int64_t from, int64_t to) {
    part.sizes.tokens = to - from;
    for (const auto &[name, array] : data.inputs)
      part.inputs[name] = cut(array, from, to);
    Results results = get(interpret(recurrence, part));
    for (const auto &[name, array] : results.outputs)
      EXPECT_EQ(array.values, cut(whole.outputs[name], from, to).values) << name;
    part.initial = results.final;
  };
  runPart(0, 1);
  runPart(1, 1);
  runPart(1, 40);
  runPart(40, data.sizes.tokens);
  EXPECT_EQ(relativeRms(part.initial, whole.final), 0);
}

INSTANTIATE_TEST_SUITE_P(Examples, GoldenTest, ::testing::ValuesIn(listGolden()),
                         [](const ::testing::TestParamInfo<std::string> &info) { return info.param; });

} // namespace
