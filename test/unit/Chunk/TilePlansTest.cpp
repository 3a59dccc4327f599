// The tile plan of every example, run by the interpreter of tile programs, against the token-by-token interpreter; and
// that plans with a mistake in them do not get through.
#include "../Examples.h"
#include "ChunkTesting.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Interpreter/ChunkArithmetic.h"
#include "Interpreter/TilePhases.h"
#include "Transforms/Chunk/Passes.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class TilePlanTest : public ChunkTest {
protected:
  struct Plan {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::vector<KernelArray> arrays;
    tile::KernelOp kernel() { return *module->getOps<tile::KernelOp>().begin(); }
  };

  mlir::OwningOpRef<mlir::ModuleOp> example(const std::string &name,
                                            const std::vector<std::pair<std::string, int64_t>> &dims) {
    std::string path = RECUR_SOURCE_DIR "/examples/" + name + ".recur";
    return compile(path, test::readExample(path), dims);
  }

  Plan plan(mlir::ModuleOp module, int64_t chunk, llvm::StringRef dtype = "f32", bool hasPairs = false,
            bool hasAMX = false) {
    conversion::ConvertChunkToTilePassOptions options;
    options.hasPairs = hasPairs;
    options.hasAMX = hasAMX;
    return plan(module, chunk, dtype, options);
  }

  /// All arrays have the type, and factors of products what follows from it.
  void store(mlir::ModuleOp module, llvm::StringRef dtype) {
    mlir::PassManager passes(&context);
    passes.addNestedPass<chunk::ProgramOp>(chunk::createStorePass({dtype.str()}));
    passes.addNestedPass<chunk::ProgramOp>(chunk::createChooseFactorsPass());
    EXPECT_TRUE(mlir::succeeded(passes.run(module)));
  }

  Plan plan(mlir::ModuleOp module, int64_t chunk, llvm::StringRef dtype,
            const conversion::ConvertChunkToTilePassOptions &options) {
    Plan result{toChunk(module, chunk), {}};
    store(*result.module, dtype);
    mlir::PassManager clean(&context);
    clean.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
    clean.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
    clean.addNestedPass<chunk::ProgramOp>(chunk::createAdvanceLastPass());
    clean.addNestedPass<chunk::ProgramOp>(chunk::createDecayReadsPass());
    clean.addNestedPass<chunk::ProgramOp>(chunk::createSpreadScalesPass());
    EXPECT_TRUE(mlir::succeeded(clean.run(*result.module)));
    result.arrays = listKernelArrays(programOf(*result.module));
    mlir::PassManager passes(&context);
    passes.addPass(conversion::createConvertChunkToTilePass(options));
    EXPECT_TRUE(mlir::succeeded(passes.run(*result.module)));
    return result;
  }
};

class Plans : public TilePlanTest, public ::testing::WithParamInterface<std::string> {};

/// Constants are float32 in a plan, and all else is float64 here.
constexpr double limit = 1e-6;

/// A state that grows by a constant with every token has the rounding of that constant as often: rls divides by 0.99.
double limitOf(llvm::StringRef example, int64_t tokens) {
  constexpr double rounding = 3e-8;
  return example == "rls" ? std::max(limit, double(tokens) * rounding) : limit;
}

TEST_P(Plans, ComputeTokenByToken) {
  // Sizes apart from each other, and sizes that could be taken for numbers of tokens.
  for (auto [chunk, K, V, M] : {std::tuple(64, 6, 5, 4), std::tuple(16, 16, 32, 16)}) {
    auto module = example(GetParam(), {{"K", K}, {"V", V}, {"M", M}});
    ASSERT_TRUE(module);
    Plan tiles = plan(*module, chunk);
    for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200}) {
      if (K == 16 && tokens > 65)
        continue;
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens + chunk));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(tiles.kernel(), tiles.arrays, data));
      EXPECT_LE(relativeRms(got, want), limitOf(GetParam(), tokens))
          << "with chunks of " << chunk << ", " << tokens << " tokens";
    }
  }
}

/// The plan of a CTA of one team, with all of its tiles in shared memory and with hardly any, with rounded factors, and
/// token by token.
TEST_P(Plans, ComputeInOneTeam) {
  auto module = example(GetParam(), {{"K", 16}, {"V", 10}, {"M", 8}});
  ASSERT_TRUE(module);
  for (auto [dtype, sharedBytes, chunk] : {std::tuple("f32", tile::mostSharedBytes, 16),
                                           {"bf16", tile::mostSharedBytes, 16},
                                           {"bf16", 4096, 16},
                                           {"bf16", tile::mostSharedBytes, 1}}) {
    conversion::ConvertChunkToTilePassOptions options;
    options.threads = 128;
    options.sharedBytes = sharedBytes;
    Plan tiles = plan(*module, chunk, dtype, options);
    EXPECT_LE(int64_t(*tiles.kernel().getShared()), sharedBytes);
    for (int64_t tokens : {0, 5, 37}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(tiles.kernel(), tiles.arrays, data));
      EXPECT_LE(relativeRms(got, want), limit)
          << dtype << ", " << sharedBytes << " bytes, chunks of " << chunk << ", " << tokens << " tokens";
    }
  }
}

struct PhasedPlan {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  chunk::Phases phases;
  std::vector<KernelArray> arrays;
  llvm::SmallVector<tile::KernelOp> kernels() { return llvm::to_vector(module->getOps<tile::KernelOp>()); }
};

/// The phases of a plan, with parts of so many channels. `cutShort`: the last part of a state that is alone may have
/// fewer. `multiple`: of which channels are one, with padding; 0 without.
class PhasedPlanTest : public TilePlanTest {
protected:
  PhasedPlan plan(mlir::ModuleOp recurrences, int64_t chunk, int64_t part, llvm::StringRef dtype, bool cutShort = false,
                  int64_t multiple = 0) {
    PhasedPlan result{toChunk(recurrences, chunk, /*saysWhatRemains=*/true), {}, {}};
    store(*result.module, dtype);
    mlir::PassManager clean(&context);
    clean.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
    clean.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
    EXPECT_TRUE(mlir::succeeded(clean.run(*result.module)));
    mlir::OwningOpRef<mlir::ModuleOp> whole = mlir::cast<mlir::ModuleOp>((*result.module)->clone());
    result.arrays = listKernelArrays(programOf(*whole));
    mlir::PassManager split(&context);
    if (multiple)
      split.addNestedPass<chunk::ProgramOp>(chunk::createPadChannelsPass({multiple}));
    if (dtype == "bf16")
      split.addNestedPass<chunk::ProgramOp>(chunk::createSolveFormPass({"inverse"}));
    split.addNestedPass<chunk::ProgramOp>(chunk::createSeparateStatesPass());
    split.addPass(mlir::createCanonicalizerPass());
    split.addPass(mlir::createCSEPass());
    split.addPass(chunk::createPhasesPass());
    split.addNestedPass<chunk::ProgramOp>(chunk::createPartsPass({part, cutShort ? part : 0, cutShort}));
    EXPECT_TRUE(mlir::succeeded(split.run(*result.module)));
    llvm::SmallVector<chunk::ProgramOp> programs(result.module->getOps<chunk::ProgramOp>());
    if (programs.size() > 1)
      result.phases = chunk::describePhases(programOf(*whole), programs).value();
    mlir::PassManager lower(&context);
    lower.addNestedPass<chunk::ProgramOp>(chunk::createAdvanceLastPass());
    lower.addNestedPass<chunk::ProgramOp>(chunk::createDecayReadsPass());
    conversion::ConvertChunkToTilePassOptions options;
    options.threads = 128;
    lower.addPass(conversion::createConvertChunkToTilePass(options));
    EXPECT_TRUE(mlir::succeeded(lower.run(*result.module)));
    return result;
  }
};

class PhasedPlans : public PhasedPlanTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(PhasedPlans, ComputeTokenByToken) {
  auto module = example(GetParam(), {{"K", 16}, {"V", 12}, {"M", 8}});
  ASSERT_TRUE(module);
  for (auto [chunk, dtype] : {std::pair(16, "f32"), {16, "bf16"}, {32, "bf16"}}) {
    PhasedPlan tiles = plan(*module, chunk, 4, dtype);
    if (tiles.phases.phases.empty())
      continue;
    for (int64_t tokens : {0, 5, 16, 37}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpretPhases(tiles.kernels(), tiles.phases, tiles.arrays, chunk, data));
      EXPECT_LE(relativeRms(got, want), limit) << dtype << ", chunks of " << chunk << ", " << tokens << " tokens";
    }
  }
}

/// What phases round, and decays that are differences of sums, is off by not much more than rounding the data alone.
TEST_P(PhasedPlans, RoundAsTheirDataDoes) {
  auto module = example(GetParam(), {{"K", 16}, {"V", 12}, {"M", 8}});
  ASSERT_TRUE(module);
  PhasedPlan tiles = plan(*module, 16, 4, "bf16");
  if (tiles.phases.phases.empty())
    return;
  Data data = randomData(recurrenceOf(*module), {1, 37, 2, 1}, 3), rounded = data;
  Results want = get(interpret(recurrenceOf(*module), data));
  Arithmetic arithmetic(Rounding::bf16);
  for (NamedArrays *arrays : {&rounded.inputs, &rounded.params, &rounded.initial})
    for (auto &[name, array] : *arrays)
      for (double &value : array.values)
        value = arithmetic.operand(value);
  double ofData = relativeRms(get(interpret(recurrenceOf(*module), rounded)), want);
  TileOptions options;
  options.rounds = true;
  double error =
      relativeRms(get(interpretPhases(tiles.kernels(), tiles.phases, tiles.arrays, 16, data, options)), want);
  EXPECT_LE(error, std::max(8e-3, 4 * ofData));
  EXPECT_GT(error, 1e-9);
}

/// The last of two parts has 4 of 12 channels.
TEST_F(PhasedPlanTest, WithAPartOfFewerChannelsComputeTokenByToken) {
  for (const char *name : {"gated_delta_net", "kda", "linear_attention", "gated_delta_product"}) {
    auto module = example(name, {{"K", 16}, {"V", 12}});
    ASSERT_TRUE(module);
    PhasedPlan tiles = plan(*module, 16, 8, "bf16", /*cutShort=*/true);
    bool isCut = false;
    for (const chunk::Phase &phase : tiles.phases.phases)
      for (const chunk::PhaseArray &array : phase.arrays)
        isCut |= phase.parts == 2 && array.channels == 12;
    EXPECT_TRUE(isCut) << name;
    for (int64_t tokens : {0, 5, 16, 37}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpretPhases(tiles.kernels(), tiles.phases, tiles.arrays, 16, data));
      EXPECT_LE(relativeRms(got, want), limit) << name << ", " << tokens << " tokens";
    }
  }
}

/// Values of 13 channels and keys of 21 are 16 and 24 in tiles: the second part has 5 of the caller's and 8 of what
/// phases leave.
TEST_F(PhasedPlanTest, WithPaddingComputeTokenByToken) {
  for (const char *name : {"gated_delta_net", "kda", "linear_attention", "gated_delta_product"}) {
    auto module = example(name, {{"K", 21}, {"V", 13}});
    ASSERT_TRUE(module);
    for (bool cutShort : {false, true}) {
      PhasedPlan tiles = plan(*module, 16, 8, "bf16", cutShort, /*multiple=*/8);
      bool isCut = false;
      for (const chunk::Phase &phase : tiles.phases.phases)
        for (const chunk::PhaseArray &array : phase.arrays)
          isCut |= phase.parts == 2 && array.channels == 13;
      EXPECT_EQ(isCut, cutShort) << name;
      for (int64_t tokens : {0, 5, 16, 37}) {
        Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
        Results want = get(interpret(recurrenceOf(*module), data));
        Results got = get(interpretPhases(tiles.kernels(), tiles.phases, tiles.arrays, 16, data));
        EXPECT_LE(relativeRms(got, want), limit) << name << ", " << tokens << " tokens";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, PhasedPlans, ::testing::ValuesIn(test::nameExamples()),
                         [](const auto &info) { return info.param; });

/// Of sequences cut into segments, whatever the gates.
TEST_P(PhasedPlans, OfSegmentsComputeTokenByToken) {
  auto module = example(GetParam(), {{"K", 16}, {"V", 12}, {"M", 8}});
  ASSERT_TRUE(module);
  PhasedPlan tiles = plan(*module, 16, 4, "f32");
  if (tiles.phases.phases.empty())
    return;
  for (int64_t tokens : {0, 5, 16, 70})
    for (double strength : {0.0, 1.0, 30.0}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
      if (auto gates = data.inputs.find("g"); gates != data.inputs.end())
        for (double &x : gates->second.values)
          x *= strength;
      Results want = get(interpret(recurrenceOf(*module), data));
      for (int64_t segments : {2, 3, 7}) {
        TileOptions options;
        options.segments = segments;
        Results got = get(interpretPhases(tiles.kernels(), tiles.phases, tiles.arrays, 16, data, options));
        EXPECT_LE(relativeRms(got, want), limit)
            << tokens << " tokens in " << segments << " segments, gates times " << strength;
      }
    }
}

/// With strong gates the last segment does not go over the first chunk, in which there are no numbers; with weak ones
/// it does.
TEST_F(PhasedPlanTest, OfSegmentsLeaveOutWhatDoesNotRemain) {
  for (const char *name : {"gated_delta_net", "mamba2", "gla"}) {
    auto module = example(name, {{"K", 16}, {"V", 12}});
    PhasedPlan tiles = plan(*module, 16, 4, "f32");
    for (double gate : {-0.01, -3.0}) {
      Data data = randomData(recurrenceOf(*module), {1, 64, 1, 1}, 1);
      std::vector<double> &gates = data.inputs["g"].values, &values = data.inputs["v"].values;
      std::fill(gates.begin(), gates.end(), gate);
      std::fill(values.begin(), values.begin() + 12, NAN);
      TileOptions options;
      options.segments = 2;
      Results got = get(interpretPhases(tiles.kernels(), tiles.phases, tiles.arrays, 16, data, options));
      const std::vector<double> &outputs = got.outputs.begin()->second.values;
      EXPECT_EQ(std::isfinite(outputs.back()), gate < -1) << name;
      EXPECT_EQ(std::isfinite(got.final.begin()->second.values.front()), gate < -1) << name;
      EXPECT_FALSE(std::isfinite(outputs[12 * 20])) << name << ": the first segment goes over it";
    }
  }
}

/// How many phases there are, and how many parts the chain has.
TEST_F(PhasedPlanTest, AreThereWhereStatesGoThroughProducts) {
  auto count = [&](const char *name) {
    auto module = example(name, {{"K", 16}, {"V", 12}, {"M", 8}});
    std::vector<int64_t> parts;
    for (const chunk::Phase &phase : plan(*module, 16, 4, "bf16").phases.phases)
      parts.push_back(phase.isParallel ? 0 : phase.parts);
    return parts;
  };
  EXPECT_THAT(count("linear_attention"), ::testing::ElementsAre(3, 0));
  EXPECT_THAT(count("mamba2"), ::testing::ElementsAre(0, 3, 0));
  EXPECT_THAT(count("gated_delta_net"), ::testing::ElementsAre(0, 0, 3, 0)); // one is for segments alone
  EXPECT_THAT(count("kda"), ::testing::ElementsAre(0, 3, 0));
  EXPECT_THAT(count("mamba1"), ::testing::IsEmpty());
  EXPECT_THAT(count("mamba2_layer"), ::testing::IsEmpty()); // its keys have tokens of the chunk before in them
}

/// The data with all that an input has for one token replaced by a number.
Data plant(Data data, const std::string &input, int64_t token, double number) {
  Array &array = data.inputs.at(input);
  int64_t inner = *countElements(llvm::ArrayRef(array.shape).drop_front(2));
  std::fill_n(array.values.begin() + token * inner, inner, number);
  return data;
}

/// The outputs of the tokens before `token`, of one sequence, as bits.
std::vector<uint64_t> bitsBefore(const Results &results, int64_t token) {
  std::vector<uint64_t> bits;
  for (const auto &[name, array] : results.outputs) {
    int64_t inner = *countElements(llvm::ArrayRef(array.shape).drop_front(2));
    for (double value : llvm::ArrayRef(array.values).take_front(token * inner))
      bits.push_back(llvm::bit_cast<uint64_t>(value));
  }
  return bits;
}

/// What is no number in a later token of the chunk, and what overflows there, is not multiplied on the way to an
/// earlier one, not even by zero.
TEST_P(Plans, TakeNothingOfLaterTokens) {
  auto module = example(GetParam(), {{"K", 16}, {"V", 6}, {"M", 4}});
  ASSERT_TRUE(module);
  for (bool hasBF16 : {false, true}) {
    Plan tiles = plan(*module, 16, hasBF16 ? "bf16" : "f32", hasBF16);
    Data data = randomData(recurrenceOf(*module), {1, 21, 1, 1}, 5);
    TileOptions options;
    options.rounds = true; // so that numbers overflow
    Results want = get(interpret(tiles.kernel(), tiles.arrays, data, options));
    for (const auto &[name, array] : data.inputs)
      for (int64_t token : {2, 9, 20})
        for (double number : {std::numeric_limits<double>::quiet_NaN(), 1e38})
          EXPECT_EQ(bitsBefore(get(interpret(tiles.kernel(), tiles.arrays, plant(data, name, token, number), options)),
                               token),
                    bitsBefore(want, token))
              << number << " in '" << name << "' of token " << token << (hasBF16 ? ", in pairs" : "");
  }
}

/// Without rounding, products of pairs are what other products are.
TEST_P(Plans, ComputeTheSameInPairs) {
  auto module = example(GetParam(), {{"K", 16}, {"V", 10}, {"M", 8}});
  ASSERT_TRUE(module);
  for (bool hasAMX : {false, true}) {
    Plan tiles = plan(*module, 16, "bf16", /*hasPairs=*/true, hasAMX);
    for (int64_t tokens : {1, 5, 16, 37}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(tiles.kernel(), tiles.arrays, data));
      EXPECT_LE(relativeRms(got, want), limit) << tokens << " tokens" << (hasAMX ? ", AMX" : "");
    }
  }
}

/// What rounds is off by little, or by not much more than rounding the data alone puts the exact results off.
TEST_P(Plans, RoundAsTheirDataDoes) {
  auto module = example(GetParam(), {{"K", 6}, {"V", 5}, {"M", 4}});
  ASSERT_TRUE(module);
  Data data = randomData(recurrenceOf(*module), {1, 21, 2, 1}, 3);
  Results want = get(interpret(recurrenceOf(*module), data));
  TileOptions options;
  options.rounds = true;
  for (auto [dtype, hasPairs, little] : {std::tuple("f32", false, 5e-7), {"bf16", false, 8e-3}, {"bf16", true, 8e-3}}) {
    Data rounded = data;
    Arithmetic arithmetic(little < 1e-3 ? Rounding::f32 : Rounding::bf16);
    for (NamedArrays *arrays : {&rounded.inputs, &rounded.params, &rounded.initial})
      for (auto &[name, array] : *arrays)
        for (double &value : array.values)
          value = arithmetic.operand(value);
    double ofData = relativeRms(get(interpret(recurrenceOf(*module), rounded)), want);
    Plan tiles = plan(*module, 16, dtype, hasPairs);
    double error = relativeRms(get(interpret(tiles.kernel(), tiles.arrays, data, options)), want);
    EXPECT_LE(error, std::max(little, 4 * ofData)) << dtype;
    EXPECT_GT(error, 1e-9) << dtype;
  }
}

/// What reads a state in the pass of a later op: B's pass multiplies A, which was advanced before it.
TEST_F(TilePlanTest, AStateIsNotAdvancedInPlaceBeforeALaterPassReadsIt) {
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(RECUR_SOURCE_DIR "/test/unit/Chunk/ReadLate.mlir", &context);
  ASSERT_TRUE(module);
  Data data;
  data.sizes = {1, 40, 1, 1};
  for (auto [name, width] : {std::pair("k", 3), {"v", 2}}) {
    Array &array = data.inputs[name] = {{1, 40, 1, width}, std::vector<double>(size_t(40 * width))};
    for (size_t i = 0; i < array.values.size(); ++i)
      array.values[i] = double((i * 7 + size_t(width)) % 11) / 11 - 0.5;
  }
  for (const char *name : {"A", "B"})
    data.initial[name] = {{1, 1, 2, 3}, {1, -2, 3, 0.5, 0.25, -1}};
  Results want = get(interpret(programOf(*module), data));
  std::vector<KernelArray> arrays = listKernelArrays(programOf(*module));
  mlir::PassManager passes(&context);
  passes.addPass(conversion::createConvertChunkToTilePass({}));
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  Results got = get(interpret(*module->getOps<tile::KernelOp>().begin(), arrays, data));
  EXPECT_LE(relativeRms(got, want), limit);
}

TEST_F(TilePlanTest, EveryProductOfEvenSizesIsOfPairs) {
  auto count = [&](int64_t K, llvm::StringRef dtype) {
    auto module = example("gated_delta_net", {{"K", K}, {"V", 10}});
    Plan tiles = plan(*module, 16, dtype, /*hasPairs=*/true);
    int64_t products = 0, pairs = 0;
    tiles.kernel().walk([&](tile::ProductOp op) {
      ++products;
      pairs += tile::tileOf(op.getRight()).getRank() == 3;
    });
    return std::pair(pairs, products);
  };
  EXPECT_THAT(count(16, "bf16"), ::testing::Pair(6, 6));
  EXPECT_THAT(count(17, "bf16"), ::testing::Pair(2, 6)); // those over tokens, of which a chunk has an even number
  EXPECT_THAT(count(14, "bf16"), ::testing::Pair(2, 6)); // fewer keys than tokens: those of data, which are exact
  EXPECT_THAT(count(16, "f32"), ::testing::Pair(0, 6));
  EXPECT_THAT(count(16, "f16"), ::testing::Pair(0, 6));
}

/// A CTA that takes a token at a time adds to states by passes over their elements, of f32 whatever the data.
TEST_F(TilePlanTest, OneTokenChangesStatesElementByElement) {
  auto count = [&](int64_t chunk) {
    auto module = example("gated_delta_net", {{"K", 16}, {"V", 10}});
    conversion::ConvertChunkToTilePassOptions options;
    options.threads = 128;
    Plan tiles = plan(*module, chunk, "bf16", options);
    int64_t products = 0, passes = 0;
    tiles.kernel().walk([&](tile::ProductOp op) { products += op.getResult().getType().getSize(0) == 10; });
    tiles.kernel().walk([&](tile::MapOp op) {
      passes += op.getResult().getType().getShape() == llvm::ArrayRef<int64_t>{10, 16} &&
                op.getResult().getType().getElementType().isF32();
    });
    return std::pair(products, passes);
  };
  EXPECT_THAT(count(16), ::testing::Pair(1, 0));
  EXPECT_THAT(count(1), ::testing::Pair(0, 1));
}

INSTANTIATE_TEST_SUITE_P(Examples, Plans, ::testing::ValuesIn(test::nameExamples()),
                         [](const auto &info) { return info.param; });

//===----------------------------------------------------------------------===//
// Plans with a mistake
//===----------------------------------------------------------------------===//

class WrongPlans : public TilePlanTest {
protected:
  /// 21 tokens in chunks of 16: the last chunk is short.
  void SetUp() override {
    recurrence = example("gated_delta_net", {{"K", 6}, {"V", 5}});
    data = randomData(recurrenceOf(*recurrence), {1, 21, 1, 1}, 7);
    want = get(interpret(recurrenceOf(*recurrence), data));
    right = plan(*recurrence, 16);
    ASSERT_EQ(judge(right.kernel()), "");
  }

  /// What the judge says: an error of the plan, or that numbers differ; nothing if all is well.
  std::string judge(tile::KernelOp kernel) {
    auto got = interpret(kernel, right.arrays, data);
    if (!got)
      return llvm::toString(got.takeError());
    return relativeRms(*got, want) <= limit ? "" : "other numbers";
  }

  /// Calls `change` with each op of the kind, alone, in a plan of its own. Gives how often that made a change.
  template <typename Op> int64_t forEach(llvm::function_ref<bool(Op)> change) {
    int64_t count = 0, changed = 0;
    right.kernel().walk([&](Op) { ++count; });
    for (int64_t wanted = 0; wanted < count; ++wanted) {
      mlir::OwningOpRef<mlir::ModuleOp> copy = mlir::cast<mlir::ModuleOp>((*right.module)->clone());
      tile::KernelOp kernel = *copy->getOps<tile::KernelOp>().begin();
      int64_t number = 0;
      bool isChanged = false;
      std::string what;
      kernel.walk([&](Op op) {
        if (number++ != wanted)
          return;
        llvm::raw_string_ostream(what) << op;
        isChanged = change(op);
      });
      if (!isChanged)
        continue;
      ++changed;
      EXPECT_NE(judge(kernel), "") << "in spite of a change of " << what;
    }
    return changed;
  }

  mlir::OwningOpRef<mlir::ModuleOp> recurrence;
  Data data;
  Results want;
  Plan right;
};

TEST_F(WrongPlans, LiveTilesInOnePlace) {
  // The state is live all the time, so that no tile of the loop can have its place.
  int64_t state = -1;
  right.kernel().walk([&](tile::ProductOp op) {
    if (op.getPlus() == op.getResult())
      state = *op.getResult().getDefiningOp<tile::AllocOp>().getOffset();
  });
  ASSERT_GE(state, 0);
  EXPECT_GT(forEach<tile::AllocOp>([&](tile::AllocOp op) {
              bool inLoop = llvm::any_of(
                  op->getUsers(), [](mlir::Operation *user) { return isa<mlir::scf::ForOp>(user->getParentOp()); });
              if (!inLoop || int64_t(*op.getOffset()) == state)
                return false;
              op.setOffset(state);
              return true;
            }),
            5);
}

TEST_F(WrongPlans, TokensBehindTheLastOne) {
  // A product that adds up over tokens adds up over as many as a chunk has. (A triangle stops at the last one itself.)
  EXPECT_GT(forEach<tile::ProductOp>([](tile::ProductOp op) {
              if (op.getLeftTriangle() || op.getInner().getDefiningOp<mlir::arith::ConstantOp>())
                return false;
              mlir::OpBuilder builder(op);
              op.getInnerMutable().assign(mlir::arith::ConstantIntOp::create(builder, op.getLoc(), 16, 64));
              return true;
            }),
            0);
  // Rows of the last chunk that are not there.
  EXPECT_GT(forEach<tile::StoreOp>([](tile::StoreOp op) {
              if (op.getRows().getDefiningOp<mlir::arith::ConstantOp>())
                return false;
              mlir::OpBuilder builder(op);
              op.getRowsMutable().assign(mlir::arith::ConstantIntOp::create(builder, op.getLoc(), 16, 64));
              return true;
            }),
            0);
}

TEST_F(WrongPlans, TooFewRows) {
  auto shorten = [](mlir::Operation *op, mlir::OpOperand &rows) {
    mlir::OpBuilder builder(op);
    mlir::Value less = mlir::arith::SubIOp::create(builder, op->getLoc(), rows.get(),
                                                   mlir::arith::ConstantIntOp::create(builder, op->getLoc(), 1, 64));
    rows.set(less);
    return true;
  };
  EXPECT_GT(forEach<tile::LoadOp>([&](tile::LoadOp op) { return shorten(op, op.getRowsMutable()); }), 5);
  EXPECT_GT(forEach<tile::MapOp>([&](tile::MapOp op) { return shorten(op, op.getRowsMutable()); }), 2);
  EXPECT_GT(forEach<tile::ScanOp>([&](tile::ScanOp op) { return shorten(op, op.getRowsMutable()); }), 2);
  EXPECT_GT(forEach<tile::ProductOp>([&](tile::ProductOp op) { return shorten(op, op.getRowsMutable()); }), 4);
  EXPECT_GT(forEach<tile::SolveOp>([&](tile::SolveOp op) { return shorten(op, op.getRowsMutable()); }), 0);
}

TEST_F(WrongPlans, TrianglesOfAnotherShape) {
  EXPECT_GT(forEach<tile::ProductOp>([](tile::ProductOp op) {
              if (!op.getLeftTriangle() && !op.getResultTriangle())
                return false;
              for (bool left : {true, false})
                if (left ? op.getLeftTriangle() : op.getResultTriangle()) // a diagonal too low
                  left ? op.setLeftTriangle(llvm::ArrayRef<int64_t>{2, 1})
                       : op.setResultTriangle(llvm::ArrayRef<int64_t>{2, 1});
              return true;
            }),
            1);
}

TEST_F(WrongPlans, ProductsWithLaterTokens) {
  // Where a triangle is missing, a zero is multiplied by what a later token has. That shows once it is no number.
  Data spoilt = plant(data, "v", 9, std::numeric_limits<double>::quiet_NaN());
  auto run = [&] { return bitsBefore(get(interpret(right.kernel(), right.arrays, spoilt)), 9); };
  std::vector<uint64_t> before = run();
  right.kernel().walk([](tile::ProductOp op) { op.removeLeftTriangleAttr(); });
  EXPECT_EQ(judge(right.kernel()), "");
  EXPECT_NE(run(), before);
}

TEST_F(WrongPlans, MasksThatLetEverythingThrough) {
  // Only all at once: a solve does not read what its matrix's mask hides.
  right.kernel().walk([](mlir::arith::SelectOp op) { op.getResult().replaceAllUsesWith(op.getTrueValue()); });
  EXPECT_THAT(judge(right.kernel()), ::testing::HasSubstr("left_triangle promises 0 at [0, 1] of the left factor"));
}

} // namespace
