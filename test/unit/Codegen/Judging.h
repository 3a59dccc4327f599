// The specifications of examples/, and how near to the token-by-token interpreter kernels must be.
#pragma once
#include "../Examples.h"
#include "Check/Comparison.h"
#include "Check/RandomData.h"
#include "Driver/Specification.h"
#include "Interpreter/DGPSInterpreter.h"
#include "gtest/gtest.h"

namespace recur {

struct Dims {
  int64_t k, v; // of dims that are named V, and of all others without a size
};

inline std::string nameOf(const ::testing::TestParamInfo<std::string> &info) {
  return std::filesystem::path(info.param).stem().string();
}

/// The only recurrence of a file.
inline llvm::Expected<std::unique_ptr<driver::Specification>> openExample(const std::string &path, Dims dims) {
  driver::SpecOptions options;
  options.path = path;
  auto specification = driver::Specification::open(options);
  if (!specification)
    return specification.takeError();
  auto infos = (*specification)->describe();
  if (!infos)
    return infos.takeError();
  frontend::InstantiationOptions instantiation;
  for (const auto &dim : (*infos)[0].dims)
    if (!dim.hasDefault || dim.name == "K" || dim.name == "V")
      instantiation.dims[dim.name] = dim.name == "V" ? dims.v : dims.k;
  if (llvm::Error error = (*specification)->compile(instantiation))
    return std::move(error);
  return std::move(*specification);
}

/// Gates down to -20 a token, gains up to 2, and keys that are nearly the same from token to token.
inline constexpr data::Difficulty hard{.steepestGate = 20, .largestGain = 2, .correlation = 0.9};
/// How ill-conditioned hard data may be: no more than leaves two digits and a half to compare.
inline constexpr double hardCondition = 1000;

/// How far a kernel of 16 bits may be off on these data, by the rule of `recurc check`: what rounding operands to the
/// type does to them, token by token.
inline double measureRounding(dgps::RecurrenceOp recurrence, const data::Data &data, DataType type) {
  check::PreparedStage stage{0, nullptr};
  stage.rounding = {check::unitRoundoff(DataType::F32), check::unitRoundoff(type)};
  stage.timesTokenwise = 0.95;
  check::RoundingErrors errors = llvm::cantFail(check::measureRounding(recurrence, stage, data));
  data::Results want = llvm::cantFail(interpreter::interpret(recurrence, data));
  return errors.timesTokenwise * data::relativeRms(errors.tokenwise, want);
}

/// Draws data for the recurrence and compares what `run` makes of them. True when numbers were compared: where data
/// cannot be drawn whose results are finite and as well-conditioned as they must be, the test fails.
template <typename Run>
bool compareWithInterpreter(dgps::RecurrenceOp recurrence, const data::Sizes &sizes, uint64_t seed, DataType type,
                            bool isHard, Run run) {
  check::Tameness wanted;
  wanted.types = type;
  wanted.largest = type == DataType::F16 ? 6e4 : 1e30;
  wanted.condition = isHard ? hardCondition : check::tameCondition;
  auto drawn = check::makeJudgedData(recurrence, sizes, seed, wanted, isHard ? hard : data::Difficulty{});
  if (!drawn) {
    ADD_FAILURE() << llvm::toString(drawn.takeError());
    return false;
  }
  EXPECT_LE(drawn->largest, wanted.largest) << "the results are beyond the type: there is nothing to compare";
  EXPECT_LE(drawn->condition, wanted.condition) << "no data were drawn that are tame enough";
  bool isCompared = drawn->largest <= wanted.largest && drawn->condition <= wanted.condition;
  for (const data::NamedArrays *arrays : {&drawn->want.outputs, &drawn->want.final})
    for (const auto &[name, array] : *arrays)
      if (!array.values.empty() && llvm::all_of(array.values, [](double value) { return value == 0; })) {
        ADD_FAILURE() << "'" << name << "' is zero everywhere";
        isCompared = false;
      }
  double limit = type == DataType::F32 ? 1e-5 : type == DataType::F16 ? 1e-3 : 4e-3;
  if (type != DataType::F32)
    limit = std::max(limit, measureRounding(recurrence, drawn->data, type));
  EXPECT_LE(data::relativeRms(run(drawn->data), drawn->want), isHard ? drawn->scaleLimit(limit) : limit)
      << "condition number " << drawn->condition << ", " << drawn->redraws << " draws before were too wild";
  return isCompared;
}

} // namespace recur
