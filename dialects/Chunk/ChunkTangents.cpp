#include "dialects/Chunk/ChunkTangents.h"

using namespace mlir;
using namespace recur::chunk;

bool Tangents::reach(Operation *op) const {
  return op
      ->walk([&](Operation *inner) {
        bool any = llvm::any_of(inner->getOperands(), [&](Value operand) { return bool(of(operand)); });
        return any ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void recur::chunk::buildTangent(OpBuilder &builder, Operation *op, Tangents &tangents) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (differentiable && tangents.reach(op))
    differentiable.buildTangent(builder, tangents);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value ValueBuilder::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return map(Function::Add, {a, b});
}

Value ValueBuilder::sub(Value a, Value b) {
  if (!a || !b)
    return a ? a : neg(b);
  return map(Function::Sub, {a, b});
}

Value ValueBuilder::select(Value condition, Value a, Value b) {
  if (!a && !b)
    return {};
  return map(Function::Select, {condition, a ? a : number(0), b ? b : number(0)});
}

Value ValueBuilder::fit(Value tangent, Value result) {
  if (!tangent)
    return {};
  RankedTensorType from = tensorOf(tangent), to = tensorOf(result);
  ArrayRef<int64_t> perToken = from.getRank() == 1 ? to.getShape().drop_front() : from.getShape().drop_front();
  RankedTensorType type = makeTokens(builder.getContext(), to.getDimSize(0), perToken);
  return type == from ? tangent : BroadcastOp::create(builder, loc, type, tangent).getResult();
}

Value ValueBuilder::column(Value numbers) {
  return ConcatOp::create(builder, loc, makeTokens(builder.getContext(), tensorOf(numbers).getDimSize(0), {1}),
                          numbers);
}

Value ValueBuilder::asToken(Value state) {
  return ReshapeStateOp::create(builder, loc, makeTokens(builder.getContext(), 1, tensorOf(state).getShape()), state);
}

Value ValueBuilder::asState(Value token) {
  return ReshapeStateOp::create(builder, loc, makeTensor(builder.getContext(), shapePerToken(token)), token);
}

Value ValueBuilder::stateConstant(double value, RankedTensorType type) {
  return asState(constant(value, makeTokens(builder.getContext(), 1, type.getShape())));
}
