#include "Analysis/SameColumns.h"

using namespace recur;

bool analysis::haveSameColumns(tile::ScaledDotsOp one, tile::ScaledDotsOp other) {
  auto areSums = [](tile::ScaledDotsOp op) { return op.getRounded() && op.getLogarithms(); };
  return areSums(one) && areSums(other) && one.getRight() == other.getRight() && one.getScales() == other.getScales() &&
         one.getWork() == other.getWork() && one.getRows() == other.getRows() && one.getBlock() == other.getBlock() &&
         one.getSteps() == other.getSteps() && one.getPoints().size() == other.getPoints().size();
}
