// Conjugate gradients: op by op, or as one op of a CTA where the systems' matrices are what the matrix units take.
#include "Support/ConjugateGradients.h"
#include "Analysis/GramSystems.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

bool conversion::solvesSystemsApart(chunk::ProgramOp program, const PlanMachine &machine) {
  if (!machine.isCTA() || !program.getShortFactors() || !program.getStates().empty() ||
      int64_t(program.getChunk()) != ConjugateGradientsOp::tokens || !analysis::cancelsInGramSystemsAlone(program))
    return false;
  constexpr int64_t ofTokens = 4096; // numbers of the tokens, beside what systems are solved in
  return llvm::all_of(program.getBody().getOps<chunk::CgOp>(), [&](chunk::CgOp op) {
    int64_t channels = chunk::tensorOf(op.getVectors()).getShape()[1];
    return ConjugateGradientsOp::takes(channels) &&
           int64_t(sizeof(float)) * ConjugateGradientsOp::countWork(channels) + ofTokens <= machine.sharedBytes;
  });
}

void conversion::putSystemsFirst(chunk::ProgramOp program) {
  SmallVector<chunk::CgOp> all(program.getBody().getOps<chunk::CgOp>());
  for (chunk::CgOp cg : all) {
    llvm::SetVector<Operation *> needed;
    BackwardSliceOptions options;
    options.omitUsesFromAbove = false;
    options.filter = [&](Operation *op) { return op->getBlock() == cg->getBlock(); };
    if (failed(getBackwardSlice(cg.getOperation(), &needed, options)))
      continue;
    Operation *last = cg;
    for (Operation &op : llvm::make_early_inc_range(*cg->getBlock())) {
      if (&op == cg)
        break;
      // The kernel's arrays are in the order of inputs and what phases leave.
      if (needed.contains(&op) || isa<chunk::CgOp, chunk::InputOp, chunk::ParamOp, chunk::TakeOp>(op))
        continue;
      op.moveAfter(last);
      last = &op;
    }
  }
}

bool Planner::isInSystemsAlone(Operation *op) {
  if (!machine.solvesSystems || op->use_empty() || op->getNumResults() != 1)
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto cg = user->getParentOfType<chunk::CgOp>();
    return cg && cg.getVectors() != op->getResult(0) && analysis::findGramSystems(cg)->gains != op->getResult(0);
  });
}

void Planner::planSystems(chunk::CgOp op) {
  analysis::GramSystems systems = *analysis::findGramSystems(op);
  auto arrayOf = [&](Value value) {
    auto left = value.getDefiningOp<chunk::TakeOp>();
    return left ? phaseArrays.lookup(left) : inputArrays.lookup(value);
  };
  Value gains = systems.gains ? get(systems.gains) : Value();
  Value decays = systems.decay ? logarithms(systems.decay, /*before=*/false) : Value();
  Value ridge = get(op.getRidge()), result = make(op);
  Value chunk = arith::DivUIOp::create(builder, loc, firstToken, constant(program.getChunk()));
  int64_t channels = tileOf(result).getSize(1);
  ConjugateGradientsOp::create(builder, loc, arrayOf(op.getVectors()), arrayOf(systems.keys), firstToken, gains, decays,
                               arrayOf(systems.state), chunk, ridge, result,
                               alloc({ConjugateGradientsOp::countWork(channels)}), tokens, op.getIterations());
}

/// Steps of conjugate gradients for all tokens at once. A token whose residual or curvature is zero stays as it is.
LogicalResult Planner::plan(chunk::CgOp op) {
  if (machine.solvesSystems) {
    planSystems(op);
    return success();
  }
  Block &body = op.getBody().front();
  Value vectors = get(op.getVectors()), ridge = get(op.getRidge()), result = make(op);
  ArrayRef<int64_t> shape = tileOf(vectors).getShape();
  Value rows = rowsOf(vectors);
  Value residual = alloc(shape), direction = alloc(shape), image = alloc(shape);
  Value squares = alloc({shape[0]}), next = alloc({shape[0]}), curvature = alloc({shape[0]}), least = alloc({shape[0]});
  auto dot = [&](Value a, Value b, Value to) {
    reduce(Reduction::Sum, {a, b}, to, {1}, shape, [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  };
  auto stays = [](Scalars &s, Value curvature, Value squares, Value least) {
    return s.either(s.isZero(curvature), s.isAtMost(squares, least));
  };
  fill(result, 0, rows);
  copy(vectors, residual, rows);
  copy(vectors, direction, rows);
  dot(residual, residual, squares);
  map({squares}, least, rows, [](Scalars &s, ValueRange x) { return s.mul(x[0], s.number(solvedInFloat32)); });
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(op.getIterations()), constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  set(body.getArgument(0), direction);
  Shared saved = shared;
  if (failed(plan(body)))
    return failure();
  map({get(body.getTerminator()->getOperand(0)), ridge, direction}, image, rows,
      [](Scalars &s, ValueRange x) { return s.add(x[0], s.mul(x[1], x[2])); });
  dot(direction, image, curvature);
  auto move = [&](Value to, Value along, bool forward) {
    map({to, along, squares, curvature, least}, to, rows, [&](Scalars &s, ValueRange x) {
      Value length = s.select(stays(s, x[3], x[2], x[4]), s.number(0), s.div(x[2], x[3]));
      Value part = s.mul(length, x[1]);
      return forward ? s.add(x[0], part) : s.sub(x[0], part);
    });
  };
  move(result, direction, true);
  move(residual, image, false);
  dot(residual, residual, next);
  map({direction, residual, squares, curvature, next, least}, direction, rows, [&](Scalars &s, ValueRange x) {
    Value turned = s.add(x[1], s.mul(s.div(x[4], x[2]), x[0]));
    return s.select(stays(s, x[3], x[2], x[5]), x[0], turned);
  });
  copy(next, squares, rows);
  shared = std::move(saved);
  return success();
}
