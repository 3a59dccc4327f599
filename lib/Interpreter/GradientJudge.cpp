#include "Interpreter/GradientJudge.h"
#include <cmath>

using namespace llvm;
using namespace recur;
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
};

/// Below this, numbers have lost digits on their way to zero, and differences say nothing.
constexpr double smallest = 1e-280;

struct Kind {
  StringRef word;
  NamedArrays Data::*arrays;
};
constexpr Kind kinds[] = {{"input", &Data::inputs}, {"param", &Data::params}, {"initial", &Data::initial}};
} // namespace

Expected<GradientJudge> GradientJudge::create(dgps::RecurrenceOp recurrence, const Data &data,
                                              const Results &cotangents, Data direction) {
  GradientJudge judge;
  auto addPart = [&](std::string name, const Data &along, NamedArrays Data::*arrays, std::string array) -> Error {
    Expected<Derivative> derivative = interpretAlong(recurrence, data, along);
    if (!derivative)
      return derivative.takeError();
    Sum sum;
    sum.add(cotangents.outputs, derivative->slopes.outputs);
    sum.add(cotangents.final, derivative->slopes.final);
    judge.parts.push_back({std::move(name), arrays, std::move(array), sum.value, sum.size});
    return Error::success();
  };
  if (Error error = addPart("all", direction, nullptr, ""))
    return std::move(error);
  for (const Kind &kind : kinds)
    for (const auto &[name, array] : direction.*kind.arrays) {
      Data along;
      (along.*kind.arrays)[name] = array;
      if (Error error = addPart((kind.word + " " + name).str(), along, kind.arrays, name))
        return std::move(error);
    }
  judge.direction = std::move(direction);
  return judge;
}

static double measure(double a, double sizeOfA, double b, double sizeOfB) {
  if (!std::isfinite(a) && !std::isfinite(b))
    return 0;
  double difference = std::fabs(a - b);
  return std::isfinite(difference) ? difference / (sizeOfA + sizeOfB + smallest) : INFINITY;
}

double GradientJudge::compare(const GradientJudge &other) const {
  double largest = 0;
  for (auto [a, b] : zip_equal(parts, other.parts))
    largest = std::max(largest, measure(a.derivative, a.size, b.derivative, b.size));
  return largest;
}

GradientError GradientJudge::judge(const Data &gradient) const {
  GradientError worst;
  for (const Part &part : parts) {
    Sum sum;
    for (const Kind &kind : kinds) {
      if (!part.arrays) {
        sum.add(direction.*kind.arrays, gradient.*kind.arrays);
      } else if (part.arrays == kind.arrays) {
        auto found = (gradient.*kind.arrays).find(part.array);
        if (found == (gradient.*kind.arrays).end())
          return {INFINITY, part.name};
        sum.add({{part.array, (direction.*kind.arrays).at(part.array)}}, {*found});
      }
    }
    double error = measure(sum.value, sum.size, part.derivative, part.size);
    if (error > worst.error)
      worst = {error, part.name};
  }
  return worst;
}
