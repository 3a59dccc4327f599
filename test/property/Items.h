// Short ways to write statements.
#pragma once
#include "property/Terms.h"

namespace recur::property {

inline reduce::Item let(llvm::StringRef name, Term value) {
  return {.kind = reduce::Item::Kind::Let, .name = name.str(), .value = std::move(value)};
}
inline reduce::Item assign(llvm::StringRef name, Term value) {
  return {.kind = reduce::Item::Kind::Assign, .name = name.str(), .value = std::move(value)};
}
inline std::vector<Term> sizes(const Shape &shape) {
  std::vector<Term> out;
  for (const std::string &size : shape)
    out.push_back(dimName(size));
  return out;
}
inline reduce::Item output(llvm::StringRef name, Term value) {
  return {.kind = reduce::Item::Kind::Output,
          .name = name.str(),
          .hasShape = true,
          .shape = sizes(value->shape),
          .value = value};
}
inline reduce::Item declare(reduce::Item::Kind kind, llvm::StringRef name, const Shape &shape, bool shared = false) {
  return {.kind = kind, .name = name.str(), .shared = shared, .hasShape = true, .shape = sizes(shape)};
}

} // namespace recur::property
