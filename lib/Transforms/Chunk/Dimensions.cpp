#include "Transforms/Chunk/Dimensions.h"

using namespace mlir;
using namespace recur::chunk;

Dim Dimensions::of(Value value, unsigned place) {
  auto [entry, isNew] = numbers.try_emplace({value, place}, int64_t(values.size()));
  if (isNew) {
    values.push_back({value, place});
    classes.insert(entry->second);
  }
  return entry->second;
}

bool Dimensions::unite(Value a, unsigned i, Value b, unsigned j) {
  if (tensorOf(a).getDimSize(i) != tensorOf(b).getDimSize(j))
    return false;
  classes.unionSets(of(a, i), of(b, j));
  return true;
}

int64_t Dimensions::placeOf(Value value, Dim channels) {
  for (int64_t place = 0; place < tensorOf(value).getRank(); ++place)
    if (classOf(value, unsigned(place)) == channels)
      return place;
  return -1;
}

SmallVector<std::pair<Value, unsigned>> Dimensions::placesOf(Dim channels) const {
  SmallVector<std::pair<Value, unsigned>> places;
  for (auto [number, place] : llvm::enumerate(values))
    if (classOf(Dim(number)) == channels)
      places.push_back(place);
  return places;
}

bool recur::chunk::relateStates(Operation *op,
                                llvm::function_ref<void(Value a, unsigned i, Value b, unsigned j)> same) {
  if (auto next = dyn_cast<NextOp>(op)) {
    for (int64_t i = 0; i < tensorOf(next.getState()).getRank(); ++i)
      same(next.getState(), unsigned(i), next.getValue(), unsigned(i));
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    unsigned given = read.getLeft() ? 1 : 0;
    same(read.getResult(), 1, read.getState(), given);
    same(read.getRows(), 1, read.getState(), 1 - given);
  } else if (auto advance = dyn_cast<AdvanceOp>(op)) {
    Value result = advance.getResult();
    for (unsigned i : {0, 1})
      same(result, i, advance.getState(), i);
    same(result, 0, advance.getValues(), 1);
    same(result, 1, advance.getKeys(), 1);
    for (auto [decay, i] : {std::pair(advance.getRowDecay(), 0u), {advance.getColumnDecay(), 1u}})
      if (decay && tensorOf(decay).getRank() == 2)
        same(result, i, decay, 1);
  } else {
    return false;
  }
  return true;
}
