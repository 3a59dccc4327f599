// The chunk program of every example against the token-by-token interpreter.
#include "../Examples.h"
#include "ChunkTesting.h"
#include "Transforms/Chunk/Passes.h"
#include <set>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class Equality : public ChunkTest, public ::testing::WithParamInterface<std::string> {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> example() {
    std::string path = RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur";
    return compile(path, test::readExample(path), {{"K", 6}, {"V", 5}, {"M", 4}});
  }
};

TEST_P(Equality, ChunkwiseIsTokenByToken) {
  auto module = example();
  ASSERT_TRUE(module);
  for (int64_t size : {16, 32, 64, 128}) {
    auto chunked = toChunk(*module, size);
    chunk::ProgramOp program = programOf(*chunked);
    ASSERT_TRUE(program);
    for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens + size));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(program, data));
      EXPECT_LE(relativeRms(got, want), 1e-11) << "with chunks of " << size << ", " << tokens << " tokens";
    }
  }
}

TEST_P(Equality, PassesKeepTheMeaning) {
  auto module = example();
  ASSERT_TRUE(module);
  using Add = std::function<void(mlir::OpPassManager &)>;
  chunk::SolveFormPassOptions inverse{"inverse"};
  const std::pair<const char *, Add> pipelines[] = {
      {"common-interactions", [&](auto &passes) { passes.addPass(chunk::createCommonInteractionsPass()); }},
      {"dead-streams", [&](auto &passes) { passes.addPass(chunk::createDeadStreamsPass()); }},
      {"decay-reads, spread-scales, advance-last",
       [&](auto &passes) {
         passes.addPass(chunk::createDecayReadsPass());
         passes.addPass(chunk::createSpreadScalesPass());
         passes.addPass(chunk::createAdvanceLastPass());
       }},
      {"solve-form, dead-streams",
       [&](auto &passes) {
         passes.addPass(chunk::createSolveFormPass(inverse));
         passes.addPass(chunk::createDeadStreamsPass());
       }},
  };
  Data data = randomData(recurrenceOf(*module), {2, 37, 2, 2}, 5);
  Results want = get(interpret(recurrenceOf(*module), data));
  for (const auto &[name, add] : pipelines) {
    auto chunked = toChunk(*module, 16);
    mlir::PassManager passes(&context);
    add(passes.nest<chunk::ProgramOp>());
    ASSERT_TRUE(mlir::succeeded(passes.run(*chunked))) << name;
    EXPECT_LE(relativeRms(get(interpret(programOf(*chunked), data)), want), 1e-11) << name;
  }
}

TEST_P(Equality, SegmentsComposeToTheWhole) {
  auto module = example();
  ASSERT_TRUE(module);
  auto chunked = toChunk(*module, 16);
  mlir::PassManager passes(&context);
  passes.addPass(chunk::createSummarizePass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(*chunked)));
  llvm::SmallVector<chunk::ProgramOp> programs(chunked->getOps<chunk::ProgramOp>());
  // An inverse has no summary, and neither have states that go on from each other, that become quotients, or whose
  // value channels go on by matrices of their own.
  const std::set<std::string> loops = {"kalman", "longhorn_channels", "lru", "mamba3", "mesa_layer", "rls", "slstm",
                                       "titans"};
  if (loops.count(GetParam())) {
    EXPECT_EQ(programs.size(), 1u);
    return;
  }
  ASSERT_EQ(programs.size(), 1 + recurrenceOf(*module).getStates().size());
  for (int64_t tokens : {0, 3, 100}) {
    Data data = randomData(recurrenceOf(*module), {2, tokens, 2, 1}, 11);
    Results want = get(interpret(recurrenceOf(*module), data));
    for (int64_t segments : {1, 2, 5})
      EXPECT_LE(relativeRms(
                    get(interpretBySegments(programs[0], llvm::ArrayRef(programs).drop_front(), data, segments)), want),
                1e-11)
          << tokens << " tokens in " << segments << " segments";
  }
}

/// The tokens [begin, end) of a batch of one, with initial state number `sequence`.
Data cut(const Data &data, int64_t begin, int64_t end, int64_t sequence) {
  Data result = data;
  result.sizes.tokens = end - begin;
  for (auto &[name, array] : result.inputs) {
    size_t row = array.values.size() / data.sizes.tokens;
    array.values = {array.values.begin() + begin * row, array.values.begin() + end * row};
    array.shape[1] = end - begin;
  }
  for (auto &[name, array] : result.initial) {
    size_t size = array.values.size() / array.shape[0];
    array.values = {array.values.begin() + sequence * size, array.values.begin() + (sequence + 1) * size};
    array.shape[0] = 1;
  }
  return result;
}

TEST_P(Equality, PackedSequencesAreSequencesOfTheirOwn) {
  auto module = example();
  ASSERT_TRUE(module);
  auto chunked = toChunk(*module, 16);
  const std::vector<int64_t> offsets = {0, 7, 7, 40, 41};
  Sizes sizes{1, 41, 2, 1};
  Data data = randomData(recurrenceOf(*module), sizes, 3);
  data.initial = randomData(recurrenceOf(*module), {4, 41, 2, 1}, 4).initial;
  ChunkOptions options;
  options.sequenceOffsets = offsets;
  Results got = get(interpret(programOf(*chunked), data, options));
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    Results want = get(interpret(recurrenceOf(*module), cut(data, offsets[i], offsets[i + 1], i)));
    for (auto &[name, array] : want.outputs) {
      const Array &packed = got.outputs.at(name);
      size_t row = packed.values.size() / sizes.tokens;
      Array own{array.shape, {packed.values.begin() + offsets[i] * row, packed.values.begin() + offsets[i + 1] * row}};
      EXPECT_LE(relativeRms(own, array), 1e-11) << "output " << name << " of sequence " << i;
    }
    for (auto &[name, array] : want.final) {
      const Array &packed = got.final.at(name);
      size_t size = packed.values.size() / (offsets.size() - 1);
      Array own{array.shape, {packed.values.begin() + i * size, packed.values.begin() + (i + 1) * size}};
      EXPECT_LE(relativeRms(own, array), 1e-11) << "state " << name << " of sequence " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Equality, ::testing::ValuesIn(test::nameExamples()),
                         [](const auto &info) { return info.param; });

} // namespace
