#include "Analysis/Window.h"

using namespace mlir;
using namespace recur;

/// Whether it adds up the rows, each times a weight.
static bool sumsRows(Operation *user) {
  if (isa<dgps::VecmatOp, dgps::DotOp>(user))
    return true;
  auto scaled = dyn_cast<dgps::MulOp>(user);
  return scaled && scaled->hasOneUse() && isa<dgps::VecmatOp>(*scaled->user_begin());
}

std::optional<int64_t> analysis::findWindow(dgps::StateOp state) {
  ArrayRef<int64_t> shape = dgps::shapeOf(state.getResult());
  auto moved = state.getNext().getValue().getDefiningOp<dgps::ConcatOp>();
  if (shape.empty() || !moved || moved.getOperands().size() != 2)
    return std::nullopt;
  auto kept = moved.getOperands()[0].getDefiningOp<dgps::SliceOp>();
  if (!kept || kept.getOperand() != state.getResult() || kept.getBegin() != 1 ||
      int64_t(kept.getSize()) + 1 != shape.front())
    return std::nullopt;
  auto isReadByRows = [&](Value value, Operation *other) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (user == other || isa<dgps::NextOp>(user))
        return true;
      bool isPart = value == state.getResult() && isa<dgps::SliceOp>(user) && llvm::all_of(user->getUsers(), sumsRows);
      return value != moved.getResult() &&
             (sumsRows(user) || isPart || (value == state.getResult() && isa<dgps::ExtractOp>(user)));
    });
  };
  bool isRead = isReadByRows(state.getResult(), kept) && isReadByRows(kept.getResult(), moved) &&
                isReadByRows(moved.getResult(), nullptr);
  return isRead ? std::optional(shape.front()) : std::nullopt;
}
