// Loops that stay loops: long ones, whose iterations do the same with values that go from one to the next, such as the
// steps of a solver. All others are unrolled: what writes to states has to be seen whole, and what an iteration does
// with its number is another program in each.
#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace recur::frontend {

using llvm::cast;
using llvm::dyn_cast;

namespace {

/// Whether iterations are alike, as far as the syntax tells, and what goes from one to the next.
class LoopBody {
public:
  LoopBody(const ForStatement *loop, const Declaration *tokenCount) : variable(loop->variable), tokenCount(tokenCount) {
    look(loop->body);
  }

  bool areAlike() const { return alike; }
  llvm::ArrayRef<const Declaration *> getCarried() const { return carried.getArrayRef(); }

private:
  void look(llvm::ArrayRef<Statement *> body);
  void look(const Expr *expr);
  /// A real scalar or vector.
  static bool mayGoOn(const Declaration *value) {
    return value->is(DeclarationKind::Let) && !value->shape.isComplex() && !value->shape.isMatrix();
  }

  const Declaration *variable, *tokenCount;
  bool alike = true;
  llvm::SmallVector<const Declaration *> own; // declared in an iteration
  llvm::SetVector<const Declaration *> carried;
};

} // namespace

void LoopBody::look(llvm::ArrayRef<Statement *> body) {
  for (const Statement *statement : body) {
    switch (statement->kind) {
    case Statement::Declare: {
      auto *declaration = cast<Declaration>(statement);
      alike &= declaration->is(DeclarationKind::Let) && !declaration->shape.isComplex();
      own.push_back(declaration);
      if (declaration->init)
        look(declaration->init);
      break;
    }
    case Statement::Assign: {
      auto *assignment = cast<AssignStatement>(statement);
      look(assignment->value);
      if (llvm::is_contained(own, assignment->target))
        break;
      alike &= mayGoOn(assignment->target);
      carried.insert(assignment->target);
      break;
    }
    case Statement::For: {
      auto *inner = cast<ForStatement>(statement);
      look(inner->lower);
      look(inner->upper);
      look(inner->body);
      break;
    }
    case Statement::Restart:
      alike = false;
      break;
    }
  }
}

void LoopBody::look(const Expr *expr) {
  alike &= !expr->shape.isComplex();
  switch (expr->kind) {
  case Expr::Error:
  case Expr::Number:
    return;
  case Expr::Name: {
    // The count of tokens is a state, which is made where it is first named.
    const Declaration *named = cast<NameExpr>(expr)->declaration;
    alike &= named != variable && named != tokenCount;
    return;
  }
  case Expr::Negate:
    return look(cast<NegateExpr>(expr)->operand);
  case Expr::Binary:
    look(cast<BinaryExpr>(expr)->lhs);
    return look(cast<BinaryExpr>(expr)->rhs);
  case Expr::Call: {
    auto *call = cast<CallExpr>(expr);
    // These make states.
    if (call->builtin && (call->builtin->id == Builtin::Delay || call->builtin->id == Builtin::Conv))
      alike = false;
    for (const Argument &argument : call->arguments)
      look(argument.value);
    if (call->body)
      look(call->body);
    return;
  }
  case Expr::Slice:
    look(cast<SliceExpr>(expr)->base);
    look(cast<SliceExpr>(expr)->lower);
    return look(cast<SliceExpr>(expr)->upper);
  case Expr::Index:
    look(cast<IndexExpr>(expr)->base);
    return look(cast<IndexExpr>(expr)->index);
  }
}

/// What an iteration comes to: a product with a matrix is as long as many ops on vectors.
static int64_t weigh(llvm::ArrayRef<mlir::Operation *> ops) {
  constexpr int64_t ofProduct = 16;
  int64_t weight = 0;
  for (mlir::Operation *op : ops) {
    if (auto loop = dyn_cast<dgps::LoopOp>(op)) {
      llvm::SmallVector<mlir::Operation *> inside;
      for (mlir::Operation &one : loop.getBody().front().without_terminator())
        inside.push_back(&one);
      weight += weigh(inside);
    } else {
      weight += mlir::isa<dgps::ConstantOp>(op) ? 0 : mlir::isa<dgps::MatvecOp, dgps::VecmatOp>(op) ? ofProduct : 1;
    }
  }
  return weight;
}

/// Whether a loop may hold the ops: none makes a matrix, and of matrices they make products with vectors.
static bool mayHold(llvm::ArrayRef<mlir::Operation *> ops) {
  auto isMatrix = [](mlir::Value value) { return dgps::shapeOf(value).size() == 2; };
  return llvm::all_of(ops, [&](mlir::Operation *op) {
    return op->getNumResults() == 1 && !mlir::isa<dgps::StateOp>(op) && !isMatrix(op->getResult(0)) &&
           (mlir::isa<dgps::MatvecOp, dgps::VecmatOp, dgps::LoopOp>(op) || llvm::none_of(op->getOperands(), isMatrix));
  });
}

/// Emits the loop as one, if it is long and its iterations are alike.
bool Emitter::emitKeptLoop(ForStatement *loop, int64_t iterations) {
  constexpr int64_t fewest = 4, leastWeight = 100;
  LoopBody body(loop, recurrence.tokenCount);
  if (iterations < fewest || !body.areAlike() || body.getCarried().empty())
    return false;
  mlir::Location loc = getLocation(loop->headRange);
  mlir::Block *block = builder.getInsertionBlock();
  mlir::Operation *before = block->empty() ? nullptr : &block->back();
  // One iteration, on what stands for the carried values.
  auto valuesBefore = values;
  auto imaginaryBefore = imaginary;
  llvm::SmallVector<Value> initial, stand;
  for (const Declaration *carried : body.getCarried()) {
    initial.push_back(values.lookup(carried));
    stand.push_back(dgps::StopOp::create(builder, loc, initial.back()));
    values[carried] = stand.back();
  }
  emitBody(loop->body);
  // What is the same in every iteration stays in front of them.
  llvm::SmallVector<mlir::Operation *> all, ops;
  for (auto op = before ? std::next(before->getIterator()) : block->begin(); op != block->end(); ++op)
    all.push_back(&*op);
  llvm::DenseSet<Value> varying(stand.begin(), stand.end());
  for (mlir::Operation *op : llvm::drop_begin(all, stand.size()))
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return varying.contains(operand); })) {
      ops.push_back(op);
      varying.insert(op->result_begin(), op->result_end());
    }
  llvm::SmallVector<Value> next;
  for (const Declaration *carried : body.getCarried())
    next.push_back(values.lookup(carried));
  values = std::move(valuesBefore);
  imaginary = std::move(imaginaryBefore);
  readsState.clear(); // it knows values by their place, which others will have
  auto haveTypes = [](auto pair) { return std::get<0>(pair).getType() == std::get<1>(pair).getType(); };
  if (iterations * weigh(ops) < leastWeight || !mayHold(ops) || !llvm::all_of(llvm::zip(initial, next), haveTypes)) {
    for (mlir::Operation *op : llvm::reverse(all))
      op->erase();
    return false;
  }

  // What enters the iteration. Constants are its own.
  llvm::SetVector<mlir::Operation *> own(ops.begin(), ops.end());
  llvm::SetVector<Value> captured;
  llvm::SmallVector<mlir::Operation *> constants;
  auto take = [&](Value value) {
    mlir::Operation *maker = value.getDefiningOp();
    if (own.contains(maker) || llvm::is_contained(stand, value))
      return;
    if (mlir::isa<dgps::ConstantOp>(maker)) {
      if (!llvm::is_contained(constants, maker))
        constants.push_back(maker);
    } else {
      captured.insert(value);
    }
  };
  for (mlir::Operation *op : ops)
    for (Value operand : op->getOperands())
      take(operand);
  for (Value value : next)
    take(value);

  // Several values are the parts of one vector.
  bool isOne = initial.size() == 1;
  auto join = [&](mlir::OpBuilder &at, llvm::ArrayRef<Value> parts) -> Value {
    if (isOne)
      return parts.front();
    int64_t size = 0;
    for (Value part : parts)
      size += mlir::cast<dgps::RealType>(part.getType()).getNumElements();
    return dgps::ConcatOp::create(at, loc, dgps::RealType::get(at.getContext(), {size}), parts);
  };
  auto split = [&](mlir::OpBuilder &at, Value whole) {
    llvm::SmallVector<Value> parts;
    int64_t first = 0;
    for (Value value : initial) {
      llvm::ArrayRef<int64_t> shape = dgps::shapeOf(value);
      if (isOne)
        parts.push_back(whole);
      else if (shape.empty())
        parts.push_back(dgps::ExtractOp::create(at, loc, whole, first));
      else
        parts.push_back(dgps::SliceOp::create(at, loc, whole, first, shape[0]));
      first += shape.empty() ? 1 : shape[0];
    }
    return parts;
  };
  Value start = join(builder, initial);
  auto made = dgps::LoopOp::create(builder, loc, start.getType(), start, captured.getArrayRef(), iterations);
  mlir::Block &step = made.getBody().emplaceBlock();
  mlir::OpBuilder inside = mlir::OpBuilder::atBlockEnd(&step);
  mlir::IRMapping copies;
  Value found = step.addArgument(start.getType(), loc);
  for (Value value : captured)
    copies.map(value, step.addArgument(value.getType(), loc));
  for (auto [value, part] : llvm::zip(stand, split(inside, found)))
    copies.map(value, part);
  for (mlir::Operation *op : constants)
    inside.clone(*op, copies);
  for (mlir::Operation *op : ops)
    inside.clone(*op, copies);
  llvm::SmallVector<Value> yielded;
  for (Value value : next)
    yielded.push_back(copies.lookup(value));
  Value joined = join(inside, yielded);
  dgps::YieldOp::create(inside, loc, joined);
  for (mlir::Operation *op : llvm::reverse(ops))
    op->erase();
  for (Value value : stand)
    value.getDefiningOp()->erase();
  for (auto [carried, part] : llvm::zip(body.getCarried(), split(builder, made.getResult())))
    values[carried] = part;
  return true;
}

} // namespace recur::frontend
