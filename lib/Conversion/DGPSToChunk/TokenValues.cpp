// Ops of one token as ops on the tokens of a chunk.
#include "Conversion/DGPSToChunk/Conversion.h"
#include "dialects/DGPS/WrittenOrder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

Value ProgramBuilder::map(Function function, ValueRange operands) {
  return MapOp::create(builder, loc, function, operands);
}

Value ProgramBuilder::constant(double value, ArrayRef<int64_t> shape) {
  return ConstantOp::create(builder, loc, value, makeTokens(builder.getContext(), 1, shape));
}

Value ProgramBuilder::mul(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return map(Function::Mul, {a, b});
}

Value ProgramBuilder::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return map(Function::Add, {a, b});
}

Value ProgramBuilder::sub(Value a, Value b) {
  if (!b)
    return a;
  return a ? map(Function::Sub, {a, b}) : map(Function::Neg, b);
}

Value ProgramBuilder::interleave(ArrayRef<Value> rows) {
  return rows.size() == 1 ? rows[0] : InterleaveOp::create(builder, loc, rows);
}

Value ProgramBuilder::spread(Value tokens, ArrayRef<int64_t> shape) {
  if (!tokens)
    return {};
  RankedTensorType type = makeTokens(builder.getContext(), chunk, shape);
  if (tokens.getType() == type)
    return tokens;
  return BroadcastOp::create(builder, loc, type, tokens);
}

/// The function that the dgps op computes for one token, by its name.
static std::optional<Function> functionOf(Operation *op) { return symbolizeFunction(op->getName().stripDialect()); }

Value ProgramBuilder::liftOp(Operation *op, llvm::function_ref<Value(Value)> operand, Product product) {
  // The values of one token may have a token dimension of 1; what is the same for every token has it too.
  auto shapeLike = [&](Value tokens, ArrayRef<int64_t> shape) {
    return makeTokens(builder.getContext(), tensorOf(tokens).getDimSize(0), shape);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](dgps::ConstantOp op) { return constant(op.getNumber(), dgps::shapeOf(op.getResult())); })
      .Case([&](dgps::BroadcastOp op) -> Value {
        Value tokens = operand(op.getOperand());
        return BroadcastOp::create(builder, loc, shapeLike(tokens, dgps::shapeOf(op.getResult())), tokens);
      })
      .Case([&](dgps::ExtractOp op) -> Value {
        Value tokens = operand(op.getOperand());
        return ExtractOp::create(builder, loc, tokens, op.getIndex());
      })
      .Case([&](dgps::SliceOp op) -> Value {
        Value tokens = operand(op.getOperand());
        return SliceOp::create(builder, loc, tokens, op.getBegin(), op.getSize());
      })
      .Case([&](dgps::ConcatOp op) -> Value {
        SmallVector<Value> parts = llvm::map_to_vector(op.getOperands(), operand);
        Value longest = *llvm::max_element(
            parts, [](Value a, Value b) { return tensorOf(a).getDimSize(0) < tensorOf(b).getDimSize(0); });
        return ConcatOp::create(builder, loc, shapeLike(longest, dgps::shapeOf(op.getResult())), parts);
      })
      .Case(
          [&](dgps::MatvecOp op) -> Value { return product(op.getMatrix(), operand(op.getVector()), /*left=*/false); })
      .Case([&](dgps::VecmatOp op) -> Value { return product(op.getMatrix(), operand(op.getVector()), /*left=*/true); })
      .Case([&](dgps::CgOp op) -> Value {
        Value vectors = operand(op.getVector()), ridge = operand(op.getRidge());
        if (!isInTokenLoop())
          vectors = spreadRows(vectors);
        // All that the product needs and other values may need too is made outside of the region.
        product(op.getMatrix(), vectors, /*left=*/false);
        auto cg = CgOp::create(builder, loc, vectors.getType(), vectors, ridge, op.getIterations(), op.getBySteps());
        Block &block = cg.getBody().emplaceBlock();
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(&block);
        Value image = product(op.getMatrix(), block.addArgument(vectors.getType(), loc), /*left=*/false);
        YieldOp::create(builder, loc, image);
        return cg.getResult();
      })
      .Case([&](dgps::LoopOp loop) { return liftLoop(loop, operand, product); })
      .Default([&](Operation *other) -> Value {
        std::optional<Function> function = functionOf(other);
        if (!function)
          llvm::report_fatal_error("an op of dgps has no function of its name in chunk");
        Value result = map(*function, llvm::map_to_vector(other->getOperands(), operand));
        if (dgps::isMarkedLess(other->getLoc()))
          result.getDefiningOp()->setLoc(dgps::markLess(loc));
        return result;
      });
}

bool ProgramBuilder::isInTokenLoop() const {
  Operation *around = builder.getInsertionBlock()->getParentOp();
  return isa<TokenLoopOp>(around) || around->getParentOfType<TokenLoopOp>();
}

/// The same steps, of all tokens at once.
Value ProgramBuilder::liftLoop(dgps::LoopOp loop, llvm::function_ref<Value(Value)> operand, Product product) {
  Block &step = loop.getBody().front();
  auto withRows = [&](Value tokens) { return isInTokenLoop() ? tokens : spreadRows(tokens); };
  Value initial = withRows(operand(loop.getInitial()));
  llvm::DenseMap<Value, Value> inStep, matrices; // what stands for a value of the step, and whose product is meant
  for (auto [argument, value] : llvm::zip(step.getArguments().drop_front(), loop.getCaptured())) {
    if (dgps::shapeOf(value).size() < 2) {
      inStep[argument] = operand(value);
      continue;
    }
    // All that its products need and other values may need too is made outside of the region.
    matrices[argument] = value;
    for (Operation *user : argument.getUsers())
      for (bool left : {false, true})
        if (isa<dgps::LoopOp>(user) || isa<dgps::VecmatOp>(user) == left)
          product(value, withRows(constant(0, dgps::shapeOf(value)[left ? 0 : 1])), left);
  }
  auto made = LoopOp::create(builder, loc, initial.getType(), ValueRange(), initial, loop.getIterations());
  Block &block = made.getBody().emplaceBlock();
  inStep[step.getArgument(0)] = block.addArgument(initial.getType(), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  auto inside = [&](Value value) { return inStep.lookup(value); };
  auto productInside = [&](Value matrix, Value rows, bool left) {
    return product(matrices.lookup(matrix), withRows(rows), left);
  };
  for (Operation &op : step.without_terminator())
    inStep[op.getResult(0)] = liftOp(&op, inside, productInside);
  Value next = inside(cast<dgps::YieldOp>(step.getTerminator()).getValue());
  if (next.getType() != initial.getType())
    next = BroadcastOp::create(builder, loc, initial.getType(), next);
  YieldOp::create(builder, loc, next);
  return made.getResult(0);
}
