// Tokens of the call before that a sequence goes over again, as far as they were taken. The loop begins as many tokens
// late as were not taken: up to the tokens that are new it loads the rows of tokens that lie so far before its own
// number, so that the state behind the replayed tokens always is the state before the same number.
#include "ABI/LaunchWords.h"
#include "Analysis/WholeTile.h"
#include "Conversion/TileToNVVM/KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

bool KernelLowering::mayReplay() {
  return kernel
      .walk([&](StoreOp store) { return findFinalOfKept(store) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

Value KernelLowering::countReplayed() { return word(abi::ReplayedWord, builder.getI64Type()); }

/// Numbers of tokens have 32 bits here, for one is kept in the loop.
void KernelLowering::findNotTaken(Value tokens) {
  if (!mayReplay())
    return;
  Location loc = kernel.getLoc();
  Value replayed = team.narrow(countReplayed()), zero = team.constant(0);
  auto find = [&]() -> Value {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    Value counts = LLVM::IntToPtrOp::create(builder, loc, pointer, word(abi::AcceptedWord, builder.getI64Type()));
    Value taken = team.load(team.offset(counts, sequence, builder.getI32Type()), builder.getI32Type());
    taken = arith::MaxSIOp::create(builder, loc, taken, zero);
    return goesOverTrees ? taken : arith::MaxSIOp::create(builder, loc, team.subtract(replayed, taken), zero);
  };
  Value found = team.choose(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, replayed, zero), find, zero);
  if (!goesOverTrees) {
    notTaken = found;
    return;
  }
  tree = findTree(found, tokens);
  notTaken = team.subtract(replayed, countTaken());
}

static bool isConstant(Value number) { return matchPattern(number, m_Constant()); }

Value KernelLowering::isTried(Value token) {
  return arith::CmpIOp::create(builder, team.loc, arith::CmpIPredicate::sge, team.narrow(token),
                               team.narrow(countReplayed()));
}

Value KernelLowering::findLoaded(Value first, Value token) {
  if (!notTaken || isConstant(first))
    return token;
  if (goesOverTrees)
    return findOnPath(token);
  Value isOwn = isTried(token);
  return team.select(isOwn, token, arith::SubIOp::create(builder, team.loc, token, team.widen(notTaken)));
}

Value KernelLowering::isStored(Value first, Value token) {
  return !notTaken || isConstant(first) ? Value() : isTried(token);
}

void KernelLowering::whereStored(StoreOp op, llvm::function_ref<void()> store) {
  if (Value isThere = isStored(op.getFirst(), value(op.getFirst())))
    team.when(isThere, store);
  else
    store();
}

static bool hasOnlyUsers(Value tile, const llvm::DenseSet<Operation *> &ops) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    auto view = dyn_cast<ViewOp>(user);
    return view ? hasOnlyUsers(view.getResult(), ops) : ops.contains(user);
  });
}

SmallVector<Operation *> KernelLowering::findOutputOps(Block &body) {
  SmallVector<Operation *> found;
  if (!notTaken || !isa<KernelOp>(body.getParentOp()->getParentOp()))
    return found;
  llvm::DenseSet<Operation *> ops;
  auto isOfOutputs = [&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op))
      return !isConstant(store.getFirst()) && !findFinalOfKept(store);
    if (isa<ViewOp>(op) || isa<arith::ArithDialect>(op->getDialect()))
      return llvm::all_of(op->getUsers(), [&](Operation *user) { return ops.contains(user); });
    return isa<MapOp, ProductOp, ReduceOp, TransposeOp>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return !isWritten(op, operand) || hasOnlyUsers(analysis::getWholeTile(operand), ops);
           });
  };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    ops.insert(&op);
    if (!isOfOutputs(&op))
      break;
    found.push_back(&op);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// What is written before may still be pending behind, where nothing of it was done.
LogicalResult KernelLowering::lowerOutputs(ArrayRef<Operation *> ops) {
  auto loop = cast<scf::ForOp>(ops.front()->getParentOp());
  SmallVector<Access> before = pending;
  Value thread = team.thread, lane = team.lane, warp = team.warp;
  LogicalResult done = success();
  team.loc = ops.front()->getLoc();
  team.when(isTried(value(loop.getInductionVar())), [&] {
    for (Operation *op : ops)
      if (succeeded(done))
        done = lower(op);
  });
  team.thread = thread, team.lane = lane, team.warp = warp;
  llvm::append_range(pending, before);
  return done;
}
