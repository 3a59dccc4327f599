// States without a chunk form: a loop over the chunk's tokens.
#include "Conversion/DGPSToChunk/Conversion.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using namespace recur::conversion;

void ProgramBuilder::buildTokenLoop(const LoopGroup &group) {
  MLIRContext *context = builder.getContext();
  auto perToken = [&](Value value) { return makeTokens(context, 1, dgps::shapeOf(value)); };
  SmallVector<Value> carried;
  llvm::DenseMap<Value, Value> inBody;
  for (unsigned state : group.states)
    carried.push_back(dgps::StateOp(analysis.getStates()[state].op).getResult());

  // What the body takes from outside: the same for every token as it is, all else row by row.
  SmallVector<Value> streamed, streams;
  auto takeIn = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (group.body.contains(op) || llvm::is_contained(carried, value) || inBody.count(value))
      return;
    Value tokens = lift(value);
    if (tensorOf(tokens).getDimSize(0) == 1) {
      inBody[value] = tokens;
      return;
    }
    inBody[value] = {};
    streamed.push_back(value);
    streams.push_back(tokens);
  };
  auto nextOf = [&](unsigned state) { return dgps::StateOp(analysis.getStates()[state].op).getNext().getValue(); };
  for (Operation *op : group.body)
    for (Value operand : op->getOperands())
      takeIn(operand);
  for (unsigned state : group.states)
    takeIn(nextOf(state));

  // What it gives: every scalar and vector, and the matrices that something outside uses. Unused results fold away.
  SmallVector<Value> given;
  auto usedOutside = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return user->getNumResults() == 1 ? !group.body.contains(user) : isa<dgps::OutputOp>(user);
    });
  };
  for (Value state : carried)
    if (dgps::shapeOf(state).size() < 2 || usedOutside(state))
      given.push_back(state);
  for (Operation *op : group.body)
    if (dgps::shapeOf(op->getResult(0)).size() < 2 || usedOutside(op->getResult(0)))
      given.push_back(op->getResult(0));

  SmallVector<Type> resultTypes;
  for (Value value : given)
    resultTypes.push_back(makeTokens(context, chunk, dgps::shapeOf(value)));
  SmallVector<Value> initial;
  for (unsigned state : group.states) {
    initial.push_back(states[state]);
    resultTypes.push_back(states[state].getType());
  }
  auto loop = TokenLoopOp::create(builder, loc, resultTypes, streams, initial);
  Block &block = loop.getBody().emplaceBlock();
  for (Value value : streamed)
    inBody[value] = block.addArgument(perToken(value), loc);
  for (Value state : carried)
    inBody[state] = block.addArgument(perToken(state), loc);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    auto operand = [&](Value value) { return inBody.lookup(value); };
    auto product = [&](Value matrix, Value rows, bool left) {
      return left ? map(Function::Vecmat, {rows, operand(matrix)}) : map(Function::Matvec, {operand(matrix), rows});
    };
    for (Operation *op : group.body)
      inBody[op->getResult(0)] = liftOp(op, operand, product);
    SmallVector<Value> yielded;
    auto yield = [&](Value value) {
      Value inside = inBody.lookup(value);
      if (inside.getType() != perToken(value))
        inside = BroadcastOp::create(builder, loc, perToken(value), inside);
      yielded.push_back(inside);
    };
    for (Value value : given)
      yield(value);
    for (unsigned state : group.states)
      yield(nextOf(state));
    YieldOp::create(builder, loc, yielded);
  }
  for (auto [value, result] : llvm::zip(given, loop.getResults()))
    setLifted(value, result);
  for (auto [state, result] : llvm::zip(group.states, loop.getStateResults()))
    setNext(state, result);
}
