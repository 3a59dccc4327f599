// The plans of summaries on a GPU, run by the tile interpreter: states taken through what they make of a sequence are
// those of the token-by-token interpreter, and cotangents through what the chain of a gradient makes of them are those
// of the gradient's chunk program.
#include "Check/GradientStages.h"
#include "Check/Starts.h"
#include "Compile/CUDAKernel.h"
#include "Compile/GradientPrograms.h"
#include "Compile/KernelPlans.h"
#include "Compile/SegmentPrograms.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/TilePhases.h"
#include "Judging.h"
#include "Transforms/Chunk/StatePath.h"

using namespace recur;
using data::Data;
using data::Results;

namespace {

class SummaryPlans : public ::testing::TestWithParam<std::string> {};

constexpr int64_t heads = 2;

template <typename T> T get(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    return T();
  }
  return std::move(*value);
}

/// What no tokens make of a state: the identity.
void begin(Data &data, const std::string &name, const codegen::InterfaceSummary &facts) {
  const Array &state = data.initial[name];
  int64_t side = facts.mapSide, size = int64_t(state.values.size()) / heads;
  Array map = state, scales;
  std::fill(map.values.begin(), map.values.end(), facts.mapStart);
  if (side) {
    map = {{1, heads, side, side}, std::vector<double>(size_t(heads * side * side))};
    for (int64_t i = 0; i < heads * side; ++i)
      map.values[size_t(i / side * side * side + i % side * (side + 1))] = 1;
    data.initial[name + ".scales"] = {{1, heads, facts.scaleSize},
                                      std::vector<double>(size_t(heads * facts.scaleSize), 1)};
  }
  data.initial[name + ".map"] = map;
  data.initial[name + ".offset"] = {state.shape, std::vector<double>(size_t(heads * size), facts.offsetStart)};
}

/// A state through the parts of its summary, as recur_apply_summary has it.
Array apply(const Array &state, const Results &parts, const std::string &name, const codegen::InterfaceSummary &facts) {
  const std::vector<double> &map = parts.final.at(name + ".map").values,
                            &offset = parts.final.at(name + ".offset").values;
  Array result = state;
  int64_t side = facts.mapSide, size = int64_t(state.values.size()) / heads;
  if (!side) {
    for (size_t i = 0; i < state.values.size(); ++i) {
      double moved = state.values[i] + map[i], other = offset[i];
      double &to = result.values[i];
      switch (facts.extremum) {
      case RECUR_NO_EXTREMUM:
        to = state.values[i] * map[i] + other;
        break;
      case RECUR_MAX:
        to = std::max(moved, other);
        break;
      case RECUR_MIN:
        to = std::min(moved, other);
        break;
      case RECUR_SOFT_MAX:
        to = std::isinf(other) ? moved : std::max(moved, other) + std::log1p(std::exp(-std::abs(moved - other)));
        break;
      case RECUR_SOFT_MIN:
        to = std::isinf(other) ? moved : std::min(moved, other) - std::log1p(std::exp(-std::abs(moved - other)));
        break;
      }
    }
    return result;
  }
  int64_t rows = facts.mapIsLeft ? side : size / side, columns = size / rows;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < side; ++k)
          sum += facts.mapIsLeft ? map[size_t((head * side + row) * side + k)] *
                                       state.values[size_t(head * size + k * columns + column)]
                                 : state.values[size_t(head * size + row * columns + k)] *
                                       map[size_t((head * side + k) * side + column)];
        if (facts.scaleSize)
          sum *= parts.final.at(name + ".scales")
                     .values[size_t(head * facts.scaleSize + (facts.mapIsLeft ? column : row))];
        auto at = size_t(head * size + row * columns + column);
        result.values[at] = sum + offset[at];
      }
  return result;
}

double compare(const Array &got, const Array &want) {
  double error = 0, all = 0;
  for (size_t i = 0; i < want.values.size(); ++i) {
    error += (got.values[i] - want.values[i]) * (got.values[i] - want.values[i]);
    all += want.values[i] * want.values[i];
  }
  return all > 0 ? std::sqrt(error / all) : std::sqrt(error);
}

PipelineOptions makeOptions(DataTypes types) {
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = types;
  pipeline.chunk = 16;
  return pipeline;
}

interpreter::InterpretedPlan plan(chunk::ProgramOp program, const PipelineOptions &pipeline,
                                  plan::GPUKernels &kernels) {
  kernels = get(plan::Search(program, pipeline).find());
  return {llvm::to_vector(kernels.tiles->getOps<tile::KernelOp>()), interpreter::listKernelArrays(program),
          kernels.phases};
}

Results run(const interpreter::InterpretedPlan &plan, int64_t chunk, const Data &data) {
  return get(plan.phases ? interpreter::interpretPhases(plan.kernels, *plan.phases, plan.arrays, chunk, data)
                         : interpreter::interpret(plan.kernels.front(), plan.arrays, data));
}

constexpr double limit = 1e-5; // constants are float32

void expectStatesOfTokens(const std::string &example, DataTypes types, Dims dims) {
  auto specification = openExample(example, dims);
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  PipelineOptions pipeline = makeOptions(types);
  auto module = get(compile::copyTo("chunk", recurrence, pipeline));
  auto program = *module->getOps<chunk::ProgramOp>().begin();
  std::optional<std::string> obstacle = program.getStates().empty() ? "it has no state" : chunk::findObstacle(program);
  if (obstacle)
    GTEST_SKIP() << *obstacle;
  compile::SegmentPrograms programs = get(compile::makeSegmentPrograms(program));
  bool shares = llvm::any_of(recurrence.getInputs(), [](dgps::InputOp input) { return input.getShared(); });
  for (compile::SegmentProgram &state : programs.states) {
    plan::GPUKernels kernels;
    interpreter::InterpretedPlan tiles = plan(state.summary, pipeline, kernels);
    std::string name = state.summary.getSummaryOf()->str();
    for (int64_t tokens : {0, 1, 37}) {
      SCOPED_TRACE("state " + name + ", T = " + std::to_string(tokens));
      auto drawn = get(check::makeJudgedData(recurrence, {1, tokens, heads, shares ? 1 : heads}, uint64_t(tokens) + 5));
      Data given = get(check::completeStarts(recurrence, drawn.data)), data = given;
      begin(data, name, state.facts);
      Array got = apply(given.initial.at(name), run(tiles, int64_t(program.getChunk()), data), name, state.facts);
      EXPECT_LE(compare(got, drawn.want.final.at(name)), limit) << "state " << name << ", T = " << tokens;
    }
  }
}

TEST_P(SummaryPlans, MakeTheStatesOfTokens) { expectStatesOfTokens(GetParam(), DataType::F32, {20, 12}); }

/// Whose chains have products of rounded factors, in other forms.
TEST_P(SummaryPlans, OfSixteenBitsMakeTheStatesOfTokens) { expectStatesOfTokens(GetParam(), DataType::BF16, {32, 16}); }

TEST_P(SummaryPlans, OfCotangentsAreThoseOfTheGradient) {
  auto specification = openExample(GetParam(), {20, 12});
  ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  PipelineOptions pipeline = makeOptions(DataType::F32);
  compile::GradientPrograms derived = get(compile::makeGradientPrograms(recurrence, pipeline)),
                            programs = get(compile::makeKernelGradients(recurrence, pipeline));
  chunk::ProgramOp chain = get(compile::makeChainProgram(programs));
  if (!chain)
    GTEST_SKIP() << "it is the gradient's own plan";
  plan::GPUKernels ofStates, ofChain;
  interpreter::InterpretedPlan states = plan(programs.states, pipeline, ofStates),
                               back = plan(chain, pipeline, ofChain);
  bool shares = llvm::any_of(recurrence.getInputs(), [](dgps::InputOp input) { return input.getShared(); });
  for (int64_t tokens : {0, 1, 37}) {
    auto drawn =
        get(check::makeJudgedGradient(recurrence, {1, tokens, heads, shares ? 1 : heads}, uint64_t(tokens) + 3));
    Data data = get(check::completeStarts(recurrence, drawn.data));
    Data want = get(interpreter::interpretGradient(derived.program, derived.gradient, data, drawn.cotangents)),
         got = get(interpreter::interpretGradient(programs.program, states, back, data, drawn.cotangents));
    for (const auto &[name, array] : want.initial)
      EXPECT_LE(compare(got.initial[name], array), limit) << "state " << name << ", T = " << tokens;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SummaryPlans, ::testing::ValuesIn(test::listExamples()), nameOf);

} // namespace
