// Loops: what their regions may hold.
#include "dialects/DGPS/DGPS.h"

using namespace mlir;
using namespace recur;
using namespace recur::dgps;

void YieldOp::build(OpBuilder &, OperationState &) {} // gives nothing

static bool isMatrix(Value value) { return shapeOf(value).size() == 2; }

LogicalResult LoopOp::verifyRegions() {
  if (isMatrix(getInitial()))
    return emitOpError() << "goes from step to step with a scalar or a vector, but this is " << getInitial().getType();
  if (int64_t(getIterations()) < 1)
    return emitOpError("needs at least one iteration");
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError("must have a region whose arguments have the types of its operands");
  auto yield = cast<YieldOp>(block.getTerminator());
  if (!yield.getValue() || yield.getValue().getType() != getType())
    return yield.emitOpError() << "must give a value of the loop's type " << getType();
  for (Operation &op : block.without_terminator())
    if (op.getNumResults() != 1 || !isa<RealType>(op.getResult(0).getType()) || isMatrix(op.getResult(0)))
      return op.emitOpError("is in a loop, where each op gives a scalar or a vector");
  for (BlockArgument argument : block.getArguments())
    for (Operation *user : argument.getUsers())
      if (isMatrix(argument) && !isa<MatvecOp, VecmatOp, LoopOp>(user))
        return user->emitOpError("takes a matrix in a loop, where only products with vectors and loops do");
  return success();
}
