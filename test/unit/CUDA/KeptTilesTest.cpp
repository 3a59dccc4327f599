// The plan `step` of a GPU leaves the states before every token: by its tile program they are what the interpreter has
// there, and without arrays for them it computes the same. The kernel that hands states over to a gradient computes
// what the one without does, and leaves what the launches would that make the states again.
#include "../Codegen/Judging.h"
#include "Compile/CUDAKernel.h"
#include "Compile/GradientPrograms.h"
#include "Interpreter/ChunkRunner.h"
#include "Interpreter/TilePhases.h"

using namespace recur;
using namespace recur::data;

namespace {

constexpr Sizes sizes = {2, 5, 2, 2};

/// The data of the first tokens of one sequence.
Data takeFirst(const Data &data, int64_t sequence, int64_t tokens) {
  Data first = data;
  first.sizes.batch = 1;
  first.sizes.tokens = tokens;
  auto take = [](Array &array, int64_t begin, int64_t count) {
    auto from = array.values.begin() + begin;
    array.values = {from, from + count};
  };
  for (auto &[name, array] : first.inputs) {
    int64_t token = int64_t(array.values.size()) / (sizes.batch * sizes.tokens);
    take(array, sequence * sizes.tokens * token, tokens * token);
    array.shape[0] = 1;
    array.shape[1] = tokens;
  }
  for (auto &[name, array] : first.initial) {
    int64_t own = int64_t(array.values.size()) / sizes.batch;
    take(array, sequence * own, own);
    array.shape[0] = 1;
  }
  return first;
}

class KeptTiles : public ::testing::TestWithParam<std::string> {};

TEST_P(KeptTiles, AreTheInterpretersStates) {
  auto specification = openExample(RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur", {8, 6});
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  PipelineOptions options;
  options.target = *findTarget("sm_90a");
  auto module = compile::makeStepProgram(recurrence, options);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto program = *(**module).getOps<chunk::ProgramOp>().begin();
  EXPECT_EQ(program.getChunk(), 1);
  auto arrays = interpreter::listKernelArrays(program);
  auto kernels = plan::Search(program, options, plan::Form::Plain).find();
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  ASSERT_EQ(kernels->plan.launches.size(), 1u);
  EXPECT_EQ(kernels->plan.launches.front().arrays.size(), arrays.size());
  tile::KernelOp kernel = *(*kernels->tiles).getOps<tile::KernelOp>().begin();

  auto drawn = check::makeJudgedData(recurrence, sizes, 7);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  interpreter::KeptArrays kept{1, {}};
  auto results = interpreter::interpret(kernel, arrays, drawn->data, {}, &kept);
  ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
  EXPECT_LE(relativeRms(*results, drawn->want), 1e-6);
  for (int64_t token = 0; token < sizes.tokens; ++token)
    for (int64_t sequence = 0; sequence < sizes.batch; ++sequence) {
      Results want = llvm::cantFail(interpreter::interpret(recurrence, takeFirst(drawn->data, sequence, token)));
      for (dgps::StateOp state : recurrence.getStates()) {
        const Array &final = want.final.at(state.getName().str());
        const std::vector<double> &all = kept.states.at(state.getName().str()).values;
        int64_t width = int64_t(final.values.size()) / sizes.heads;
        ASSERT_EQ(int64_t(all.size()), sizes.batch * sizes.heads * sizes.tokens * width);
        Array got{final.shape, {}};
        for (int64_t head = 0; head < sizes.heads; ++head) {
          auto begin = all.begin() + ((sequence * sizes.heads + head) * sizes.tokens + token) * width;
          got.values.insert(got.values.end(), begin, begin + width);
        }
        EXPECT_LE(relativeRms(got, final), 1e-6)
            << "state " << state.getName().str() << " before token " << token << " of sequence " << sequence;
      }
    }
}

// A state that keys erase, per-channel decays, scans, token loops, several states, delays, several steps a token.
INSTANTIATE_TEST_SUITE_P(Some, KeptTiles,
                         ::testing::Values("gated_delta_net", "kda", "hgrn", "slstm", "mlstm", "pgdn", "mamba2_layer",
                                           "gated_delta_product"),
                         [](const auto &info) { return info.param; });

/// Runs the plan that a program gets on data, with the states that it leaves.
llvm::Expected<Results> runPlan(chunk::ProgramOp program, const PipelineOptions &options, const Data &data,
                                interpreter::KeptArrays &kept, plan::Form &form) {
  auto kernels = plan::Search(program, options).find();
  if (!kernels)
    return kernels.takeError();
  form = kernels->plan.form;
  auto tiles = llvm::to_vector((*kernels->tiles).getOps<tile::KernelOp>());
  std::vector<interpreter::KernelArray> arrays = interpreter::listKernelArrays(program);
  if (!kernels->phases)
    return interpreter::interpret(tiles.front(), arrays, data, {}, &kept);
  return interpreter::interpretPhases(tiles, *kernels->phases, arrays, kept.chunk, data, {}, &kept);
}

class HandedTiles : public ::testing::TestWithParam<std::string> {};

TEST_P(HandedTiles, AreTheStatesOfTheGradient) {
  auto specification = openExample(RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur", {64, 64});
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  PipelineOptions options;
  options.target = *findTarget("sm_90a");
  options.dataTypes = DataType::BF16;
  options.chunk = 32;
  auto programs = compile::makeKernelGradients(recurrence, options);
  ASSERT_TRUE(bool(programs)) << llvm::toString(programs.takeError());
  chunk::ProgramOp handing = compile::makeHandingProgram(*programs);
  for (chunk::StateOp state : handing.getStates()) {
    bool isRounded = state.getKept() && state.getKept()->isBF16();
    EXPECT_EQ(isRounded, chunk::tensorOf(state).getRank() == 2) << "products alone take a matrix";
  }

  for (chunk::KeptOp kept : programs->gradient.getKept())
    EXPECT_FALSE(kept.getName().contains("_back")) << kept.getName().str() << " is in an input's array";

  auto drawn = check::makeJudgedData(recurrence, {1, 70, 1, 1}, 7);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  interpreter::KeptArrays none{32, {}}, handed{32, {}}, again{32, {}};
  plan::Form form, formOfHanding, formOfStates;
  auto want = runPlan(programs->program, options, drawn->data, none, form);
  auto got = runPlan(handing, options, drawn->data, handed, formOfHanding);
  auto ran = runPlan(programs->states, options, drawn->data, again, formOfStates);
  ASSERT_TRUE(bool(want)) << llvm::toString(want.takeError());
  ASSERT_TRUE(bool(got)) << llvm::toString(got.takeError());
  ASSERT_TRUE(bool(ran)) << llvm::toString(ran.takeError());
  EXPECT_EQ(formOfHanding, form) << "its outputs are made as those of the call without";
  EXPECT_LE(relativeRms(*got, *want), 1e-9);
  ASSERT_FALSE(again.states.empty());
  for (const auto &[name, states] : again.states)
    EXPECT_LE(relativeRms(handed.states.at(name), states), 1e-9) << name;
}

/// The gradients by a plan that takes what is `offered` of what the call forward leaves.
llvm::Expected<Results> runGradient(compile::GradientPrograms &programs, const PipelineOptions &options,
                                    const Data &data, const Results &cotangents, interpreter::KeptArrays &kept,
                                    llvm::ArrayRef<tile::LeftRows> offered, int64_t &taken) {
  auto kernels = plan::Search(programs.gradient, options, plan::Form::AllInChain, offered).find();
  if (!kernels)
    return kernels.takeError();
  taken = llvm::count_if(kernels->plan.left, [](const tile::LeftRows &left) { return left.isHanded; });
  auto tiles = llvm::to_vector((*kernels->tiles).getOps<tile::KernelOp>());
  Data with = interpreter::addCotangents(programs.program, data, cotangents, data.sizes.batch);
  interpreter::TileOptions rounds;
  rounds.rounds = true;
  return interpreter::interpretPhases(tiles, *kernels->phases, interpreter::listKernelArrays(programs.gradient),
                                      kept.chunk, with, rounds, &kept);
}

class HandedValues : public ::testing::TestWithParam<std::string> {};

// With what launches of the call forward leave to each other, gradients have the bits that they have where the gradient
// makes it again. Some gains are zero, by which the gradient divides.
TEST_P(HandedValues, ChangeNoBitOfTheGradient) {
  auto specification = openExample(RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur", {64, 64});
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  PipelineOptions options;
  options.target = *findTarget("sm_90a");
  options.dataTypes = DataType::BF16;
  options.chunk = 32;
  auto programs = compile::makeKernelGradients(recurrence, options);
  ASSERT_TRUE(bool(programs)) << llvm::toString(programs.takeError());
  chunk::ProgramOp handing = compile::makeHandingProgram(*programs);
  auto drawn = check::makeJudgedData(recurrence, {1, 70, 2, 2}, 7);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  if (auto gains = drawn->data.inputs.find("beta"); gains != drawn->data.inputs.end())
    for (size_t i = 3; i < gains->second.values.size(); i += 5)
      gains->second.values[i] = 0;
  auto kernels = plan::Search(handing, options).find();
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  auto tiles = llvm::to_vector((*kernels->tiles).getOps<tile::KernelOp>());
  interpreter::KeptArrays kept{32, {}};
  interpreter::TileOptions rounds;
  rounds.rounds = true;
  auto forward = interpreter::interpretPhases(tiles, *kernels->phases, interpreter::listKernelArrays(handing), 32,
                                              drawn->data, rounds, &kept);
  ASSERT_TRUE(bool(forward)) << llvm::toString(forward.takeError());
  Results cotangents = drawn->want;
  int64_t none = 0, taken = 0;
  interpreter::KeptArrays other = kept;
  auto want = runGradient(*programs, options, drawn->data, cotangents, other, {}, none);
  auto got = runGradient(*programs, options, drawn->data, cotangents, kept, kernels->plan.left, taken);
  ASSERT_TRUE(bool(want)) << llvm::toString(want.takeError());
  ASSERT_TRUE(bool(got)) << llvm::toString(got.takeError());
  EXPECT_EQ(none, 0);
  EXPECT_GE(taken, 2) << "matrices of the tokens";
  ASSERT_FALSE(want->outputs.empty());
  for (const auto &[name, array] : want->outputs)
    EXPECT_EQ(got->outputs.at(name).values, array.values) << name;
}

INSTANTIATE_TEST_SUITE_P(Some, HandedValues,
                         ::testing::Values("gated_delta_net", "kda", "comba", "gla", "pgdn", "gated_delta_product"),
                         [](const auto &info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Some, HandedTiles,
                         ::testing::Values("gated_delta_net", "kda", "gla", "linear_attention", "delta_net", "pgdn",
                                           "linear_attention_normalized", "qwen3_next_layer"),
                         [](const auto &info) { return info.param; });

} // namespace
