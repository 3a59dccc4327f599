// Data and texts of drawn recurrences, as gradients want them: they are hard to get right.
#pragma once
#include "property/RandomRecurrence.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

namespace recur::property {

/// Now and then gates of minus infinity, rows of zeros, and numbers that are equal to each other: where functions have
/// corners, and where a decay leaves nothing.
inline void putAtCorners(const DrawnRecurrence &drawn, data::Data &data, Random &random) {
  for (const DrawnArray &input : drawn.inputs) {
    Array &array = data.inputs.at(input.name);
    if (!random.chance(0.3))
      continue;
    if (input.fill == Fill::Negative) {
      for (double &gate : array.values)
        if (random.chance(0.1))
          gate = -std::numeric_limits<double>::infinity();
    } else if (input.fill == Fill::Normal && random.chance(0.5)) {
      for (double &value : array.values)
        value = std::round(2 * value) / 2;
    } else if (input.fill == Fill::Normal || input.fill == Fill::Key) {
      size_t row = input.shape.empty() ? 1 : size_t(array.shape.back());
      for (size_t begin = 0; row && begin < array.values.size(); begin += row)
        if (random.chance(0.2))
          std::fill_n(array.values.begin() + long(begin), row, 0.0);
    }
  }
}

/// The text with so many steps of each cg that has the solution's gradient that they reach it: fewer say neither what
/// the solution's derivative is nor do they go back to it.
inline std::string solveToTheEnd(llvm::StringRef text) {
  std::string result;
  constexpr llvm::StringLiteral word = "iterations = ";
  for (size_t at = text.find(word); at != llvm::StringRef::npos; at = text.find(word)) {
    llvm::StringRef behind = text.drop_front(at + word.size()).drop_while(llvm::isDigit);
    bool bySteps = behind.starts_with(", gradient = steps");
    result += bySteps ? text.drop_back(behind.size()) : text.take_front(at + word.size()).str() + "80";
    text = behind;
  }
  return result + text.str();
}

} // namespace recur::property
