#include "Check/Comparison.h"
#include "Interpreter/DGPSInterpreter.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::check;
using data::NamedArrays;
using data::relativeRms;
using data::Results;
using data::Sizes;

std::string check::describeGrowth(const Results &results, const Sizes &sizes) {
  std::string description;
  int64_t earliest = sizes.tokens;
  for (const auto &[name, array] : results.outputs) {
    int64_t perToken = int64_t(array.values.size()) / std::max<int64_t>(1, sizes.batch * sizes.tokens);
    for (auto [i, value] : enumerate(array.values)) {
      int64_t token = int64_t(i) / perToken % sizes.tokens;
      if (std::isfinite(value) || token >= earliest)
        continue;
      earliest = token;
      description = formatv("output '{0}' is {1} from token {2} on", name,
                            std::isnan(value) ? "NaN"
                            : value > 0       ? "infinite"
                                              : "minus infinity",
                            token)
                        .str();
    }
  }
  if (!description.empty())
    return description;
  for (const auto &[name, array] : results.final)
    if (!all_of(array.values, [](double value) { return std::isfinite(value); }))
      return "state '" + name + "' is not finite after the last token";
  return {};
}

/// Its own program is disturbed where it rounds, by the largest error of a rounding each time.
double RoundingErrors::mostOf(NamedArrays Results::*arrays, const std::string &name, const Array &want) const {
  double most = timesTokenwise * relativeRms((tokenwise.*arrays).at(name), want);
  if (ofProgram)
    most = std::max(most, std::min(mostOfProgram, 2 * relativeRms(((*ofProgram).*arrays).at(name), want)));
  // Twice what storing does to exact numbers is below any limit, but where they are so small that the type loses
  // digits.
  DataType type = stored ? stored->of(name, /*isState=*/arrays == &Results::final) : DataType::F32;
  if (type != DataType::F32) {
    Array exact = want;
    for (double &value : exact.values)
      value = roundTo(value, type);
    most = std::max(most, 2 * relativeRms(exact, want));
  }
  return std::isfinite(most) ? most : 0;
}

static double findLargestInitial(const data::Data &data) {
  double largest = 0;
  for (const auto &[name, array] : data.initial)
    for (double value : array.values)
      if (std::isfinite(value))
        largest = std::max(largest, std::fabs(value));
  return largest;
}

Expected<RoundingErrors> check::measureRounding(dgps::RecurrenceOp recurrence, const PreparedStage &stage,
                                                const data::Data &data) {
  Expected<Results> tokenwise = interpreter::interpretDisturbed(recurrence, data, stage.rounding);
  if (!tokenwise)
    return tokenwise.takeError();
  double vanishing = std::max(stage.vanishing, stage.leftOut * findLargestInitial(data) / stage.limit);
  RoundingErrors errors{std::move(*tokenwise), std::nullopt, 64 * stage.rounding.operands,
                        stage.timesTokenwise,  vanishing,    stage.leftOut,
                        stage.stored};
  if (stage.runDisturbed) {
    Expected<Results> ofProgram = stage.runDisturbed(data);
    if (!ofProgram)
      return ofProgram.takeError();
    errors.ofProgram = std::move(*ofProgram);
  }
  return errors;
}

/// Of an array whose numbers have all but vanished, how far it is off beside what is zero to the stage.
static double discount(double error, const Array &want, double vanishing) {
  double largest = 0;
  for (double value : want.values)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  return largest == 0 ? error : error * (largest / (largest + vanishing));
}

Comparison check::compare(const Results &got, const Results &want, double limit, const RoundingErrors &rounding) {
  Comparison comparison;
  for (auto arrays : {&Results::outputs, &Results::final}) {
    if ((got.*arrays).size() != (want.*arrays).size())
      comparison.add("the arrays", INFINITY, limit);
    for (const auto &[name, array] : want.*arrays) {
      auto other = (got.*arrays).find(name);
      double error = other == (got.*arrays).end() ? INFINITY : relativeRms(other->second, array);
      error = discount(error, array, rounding.vanishing);
      comparison.add(name, error, std::max(limit, rounding.mostOf(arrays, name, array)));
    }
  }
  return comparison;
}
