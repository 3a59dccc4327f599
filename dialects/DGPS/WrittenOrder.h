// How a comparison was written. `a < b` and `b > a` become the same difference; its location tells them apart, for
// reports, and so takes no part in what ops compute or in which of them are one.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace recur::dgps {

/// The location of a difference b - a that stands for a < b or a <= b.
inline mlir::Location markLess(mlir::Location loc) {
  return mlir::FusedLoc::get(loc, mlir::StringAttr::get(loc.getContext(), "<"), loc.getContext());
}

inline bool isMarkedLess(mlir::Location loc) {
  auto fused = loc->findInstanceOf<mlir::FusedLoc>();
  auto mark = fused ? mlir::dyn_cast_if_present<mlir::StringAttr>(fused.getMetadata()) : mlir::StringAttr();
  return mark && mark.getValue() == "<";
}

} // namespace recur::dgps
