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
  static llvm::Expected<GradientJudge> create(dgps::RecurrenceOp recurrence, const Data &data,
                                              const Results &cotangents, Data direction);

  /// The largest difference of a derivative and its counterpart from the gradient, relative to the root of the summed
  /// squares of the terms of both sums: to what rounding the terms would do. Infinite where just one of them is finite.
  GradientError judge(const Data &gradient) const;

  /// The largest difference of the derivatives of two judges of one direction, measured as `judge` does.
  double compare(const GradientJudge &other) const;

private:
  struct Part {
    std::string name;
    NamedArrays Data::*arrays; // null: all of them
    std::string array;
    double derivative, size; // size: the root of the summed squares of its terms
  };

  Data direction;
  std::vector<Part> parts;
};

} // namespace recur::interpreter
