// Judges gradients by dual numbers: the product of a gradient with a direction is the derivative along it.
#pragma once
#include "Interpreter/DGPSInterpreter.h"

namespace recur::interpreter {

/// How far a gradient is off, and along which direction.
struct GradientError {
  double error = 0;
  std::string along; // `input q`, `param mu`, `initial S`, or `all` that moves at once
};

/// The derivatives of `sum cotangents * results` along a direction as a whole and along its part in each input, param
/// and initial state alone, so that a small gradient is not lost beside large ones.
class GradientJudge {
public:
  /// Below this, float64 loses digits.
  static constexpr double smallestFloat64 = 1e-280;

  /// With a disturbance the derivatives have errors like those of rounding.
  static llvm::Expected<GradientJudge> create(dgps::RecurrenceOp recurrence, const data::Data &data,
                                              const data::Results &cotangents, data::Data direction,
                                              const Disturbance &disturbance = {});

  /// The differences of the derivatives and their counterparts from the gradient, relative to the root of the summed
  /// squares of the terms of both sums: to what rounding the terms would do. Infinite where just one of them is finite.
  /// Terms below `vanishing` are as good as zero: their numbers have lost digits on their way there.
  std::vector<GradientError> judgeEach(const data::Data &gradient, double vanishing = smallestFloat64) const;
  /// The largest of them.
  GradientError judge(const data::Data &gradient) const;

  /// For each derivative, how far the terms of two judges of one direction are apart, measured as `judge` does: the
  /// root of the summed squares of their differences, or their sum where that is more. What errors of the terms do to
  /// a derivative is about that, while one sum of them may be small by chance.
  std::vector<double> spread(const GradientJudge &other) const;
  /// The same of two gradients.
  std::vector<double> spread(const data::Data &gradient, const data::Data &other) const;

private:
  struct Part {
    std::string name;
    data::NamedArrays data::Data::*arrays; // null: all of them
    std::string array;
    data::Results slopes;
    double derivative, size; // size: the root of the summed squares of its terms
  };
  /// The part of the direction that moves.
  data::Data directionOf(const Part &part) const;

  data::Data direction;
  data::Results cotangents;
  std::vector<Part> parts;
};

/// The gradient of `sum cotangents * results`, one run of dual numbers for each number of the data: of use where these
/// are few. Cotangents that are left out are zero. There is a gradient for each array of the data.
llvm::Expected<data::Data> computeGradient(dgps::RecurrenceOp recurrence, const data::Data &data,
                                           const data::Results &cotangents);

} // namespace recur::interpreter
