// Random recurrences of complex numbers, as text, with what they compute in C++'s own complex numbers. What shares
// nothing with the front end, which makes pairs of real values of them, judges it.
#pragma once
#include "Data/Data.h"
#include <complex>
#include <functional>
#include <map>

namespace recur::property {

/// A scalar, a vector or a matrix; row-major. Of a real one the imaginary parts are zero.
struct ComplexArray {
  std::vector<int64_t> shape;
  std::vector<std::complex<double>> values;
};

/// What names stand for at a token, and inputs of tokens before.
struct ComplexScope {
  std::map<std::string, ComplexArray> values;
  std::function<ComplexArray(const std::string &input, int64_t back)> before;
};

struct ComplexTerm {
  std::string text;
  std::vector<int64_t> shape;
  bool isComplex;
  std::function<ComplexArray(ComplexScope &)> evaluate;
};

struct ComplexName {
  std::string name;
  std::vector<int64_t> shape;
  bool isComplex;
};

struct ComplexRecurrence {
  std::string text;
  std::vector<ComplexName> inputs, params, states, outputs;
  struct Statement {
    enum Kind { Let, Assign, Output } kind;
    std::string name;
    ComplexTerm term;
  };
  std::vector<Statement> statements;
};

ComplexRecurrence drawComplexRecurrence(uint64_t seed);

/// Numbers for its arrays, of which a complex one has two.
data::Data drawComplexData(const ComplexRecurrence &recurrence, uint64_t seed, data::Sizes sizes);

/// What the text says, token by token.
data::Results evaluate(const ComplexRecurrence &recurrence, const data::Data &data);

} // namespace recur::property
