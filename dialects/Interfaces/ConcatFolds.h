// The folds of extract, slice and concat, which dgps has for the value of one token and chunk for those of many.
#pragma once
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLExtras.h"

namespace recur {

/// The operand of the concatenation that is its elements or rows [begin, begin + size) and nothing else. `getPlaces`
/// says where the operands of a concatenation begin, and where the last one ends.
template <typename ConcatOp, typename GetPlaces>
mlir::Value findPart(mlir::Value value, int64_t begin, int64_t size, mlir::Type type, GetPlaces getPlaces) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat)
    return {};
  llvm::SmallVector<int64_t> places = getPlaces(concat);
  for (auto [index, operand] : llvm::enumerate(concat.getOperands()))
    if (places[index] == begin && places[index + 1] == begin + size && operand.getType() == type)
      return operand;
  return {};
}

/// The part itself, the value that it is all of, or the number that stands everywhere in it.
template <typename ConcatOp, typename GetPlaces>
mlir::OpFoldResult foldPart(mlir::Value value, mlir::Attribute number, int64_t begin, int64_t size, mlir::Type type,
                            GetPlaces getPlaces) {
  if (type == value.getType())
    return value;
  if (mlir::Value part = findPart<ConcatOp>(value, begin, size, type, getPlaces))
    return part;
  return number;
}

/// The only operand, or the number that stands everywhere in all of them.
template <typename ConcatOp> mlir::OpFoldResult foldConcat(ConcatOp concat, llvm::ArrayRef<mlir::Attribute> numbers) {
  if (concat.getOperands().size() == 1 && concat.getOperands()[0].getType() == concat.getType())
    return concat.getOperands()[0];
  mlir::Attribute first = numbers.front();
  return first && llvm::all_equal(numbers) ? mlir::OpFoldResult(first) : mlir::OpFoldResult();
}

} // namespace recur
