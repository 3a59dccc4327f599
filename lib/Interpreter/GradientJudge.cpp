#include "Interpreter/GradientJudge.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {
/// A sum of products, and how large its terms are.
struct Sum {
  double value = 0, size = 0; // size: the root of the summed squares

  void add(const NamedArrays &a, const NamedArrays &b) {
    for (const auto &[name, array] : a)
      if (auto other = b.find(name); other != b.end())
        for (auto [x, y] : zip_equal(array.values, other->second.values)) {
          value += x * y;
          size = std::hypot(size, x * y);
        }
  }
  void add(const Results &a, const Results &b) { add(a.outputs, b.outputs), add(a.final, b.final); }
  void add(const Data &a, const Data &b) {
    for (NamedArrays Data::*arrays : {&Data::inputs, &Data::params, &Data::initial})
      add(a.*arrays, b.*arrays);
  }
};

struct Kind {
  StringRef word;
  NamedArrays Data::*arrays;
};
constexpr Kind kinds[] = {{"input", &Data::inputs}, {"param", &Data::params}, {"initial", &Data::initial}};
} // namespace

/// Nothing has a derivative by integers.
static void dropIntegers(dgps::RecurrenceOp recurrence, Data &data) {
  for (dgps::InputOp input : recurrence.getInputs())
    if (input.isInteger())
      data.inputs.erase(input.getName().str());
}

Expected<GradientJudge> GradientJudge::create(dgps::RecurrenceOp recurrence, const Data &data,
                                              const Results &cotangents, Data direction,
                                              const Disturbance &disturbance) {
  GradientJudge judge;
  judge.direction = std::move(direction);
  dropIntegers(recurrence, judge.direction);
  judge.cotangents = cotangents;
  judge.parts.push_back({"all", nullptr, "", {}, 0, 0});
  for (const Kind &kind : kinds)
    for (const auto &[name, array] : judge.direction.*kind.arrays)
      judge.parts.push_back({(kind.word + " " + name).str(), kind.arrays, name, {}, 0, 0});
  for (Part &part : judge.parts) {
    Expected<Derivative> derivative = interpretAlong(recurrence, data, judge.directionOf(part), disturbance);
    if (!derivative)
      return derivative.takeError();
    Sum sum;
    sum.add(cotangents, derivative->slopes);
    part.slopes = std::move(derivative->slopes);
    part.derivative = sum.value, part.size = sum.size;
  }
  return std::move(judge);
}

Data GradientJudge::directionOf(const Part &part) const {
  if (!part.arrays)
    return direction;
  Data along;
  (along.*part.arrays)[part.array] = (direction.*part.arrays).at(part.array);
  return along;
}

static double measure(double a, double sizeOfA, double b, double sizeOfB, double vanishing) {
  if (!std::isfinite(a) && !std::isfinite(b))
    return 0;
  double difference = std::fabs(a - b);
  return std::isfinite(difference) ? difference / (sizeOfA + sizeOfB + vanishing) : INFINITY;
}

std::vector<GradientError> GradientJudge::judgeEach(const Data &gradient, double vanishing) const {
  std::vector<GradientError> errors;
  for (const Part &part : parts) {
    if (part.arrays && !(gradient.*part.arrays).count(part.array)) {
      errors.push_back({INFINITY, part.name});
      continue;
    }
    Sum sum;
    sum.add(directionOf(part), gradient);
    errors.push_back({measure(sum.value, sum.size, part.derivative, part.size, vanishing), part.name});
  }
  return errors;
}

GradientError GradientJudge::judge(const Data &gradient) const {
  GradientError worst;
  for (GradientError &error : judgeEach(gradient))
    if (error.error > worst.error)
      worst = std::move(error);
  return worst;
}

/// `a` less `b`, which has the same arrays.
static NamedArrays subtract(NamedArrays a, const NamedArrays &b) {
  for (auto &[name, array] : a)
    for (auto [x, y] : zip_equal(array.values, b.at(name).values))
      x -= y;
  return a;
}

std::vector<double> GradientJudge::spread(const GradientJudge &other) const {
  std::vector<double> result;
  for (auto [a, b] : zip_equal(parts, other.parts)) {
    Sum sum;
    sum.add(cotangents,
            Results{subtract(a.slopes.outputs, b.slopes.outputs), subtract(a.slopes.final, b.slopes.final)});
    result.push_back(std::max(sum.size, std::fabs(sum.value)) / (a.size + b.size + smallestFloat64));
  }
  return result;
}

std::vector<double> GradientJudge::spread(const Data &gradient, const Data &other) const {
  Data difference{gradient.sizes, subtract(gradient.inputs, other.inputs), subtract(gradient.params, other.params),
                  subtract(gradient.initial, other.initial)};
  std::vector<double> result;
  for (const Part &part : parts) {
    Data along = directionOf(part);
    Sum sum, a, b;
    sum.add(along, difference), a.add(along, gradient), b.add(along, other);
    result.push_back(std::max(sum.size, std::fabs(sum.value)) / (a.size + b.size + smallestFloat64));
  }
  return result;
}

Expected<Data> interpreter::computeGradient(dgps::RecurrenceOp recurrence, const Data &data,
                                            const Results &cotangents) {
  Data gradient = data;
  dropIntegers(recurrence, gradient);
  for (const Kind &kind : kinds)
    for (auto &[name, array] : gradient.*kind.arrays) {
      Data along;
      Array &direction = (along.*kind.arrays)[name];
      direction = {array.shape, std::vector<double>(array.values.size())};
      for (size_t i = 0; i < array.values.size(); ++i) {
        direction.values[i] = 1;
        Expected<Derivative> derivative = interpretAlong(recurrence, data, along);
        if (!derivative)
          return derivative.takeError();
        direction.values[i] = 0;
        Sum sum;
        sum.add(cotangents, derivative->slopes);
        array.values[i] = sum.value;
      }
    }
  return gradient;
}
