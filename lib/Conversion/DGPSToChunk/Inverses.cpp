// With u = P r and w = l P of the state P as a token finds it,
//
//     P <- d (P - f u w^T / (n + f l.u))
//
// is a delta state whose writes do not read it, once the rows u and w of all tokens are there. They follow from the
// state P0 before the chunk. Where D is the product of the decays before a token, P = D (P0 - sum of earlier tokens'
// u w^T, scaled), so that with the matrix A of all l_t P0 r_i
//
//     A diag(f D) + diag(n) = (I + L) U,       (I + L) W = rows l_t P0,       w_t = D_t W_t
//
// by elimination without exchanges, which divides by what the tokens themselves divide by: U has n + f l.u on its
// diagonal. Nothing is divided by a decay. The rows u are those of the transposed matrix; for outer(u, u), with one
// key, they are found with the matrix that the lower triangle of A mirrors, for then no token looks at w.
#include "Conversion/DGPSToChunk/Inverses.h"
#include "Analysis/Algebra/Materialize.h"
#include "Conversion/DGPSToChunk/Conversion.h"
#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;
using namespace recur::conversion;
using chunk::ValueBuilder;

static SeparatedInverse separate(const RecurrenceAnalysis &analysis, const InverseForm &form) {
  using Kind = InverseForm::Kind;
  Algebra &algebra = analysis.getAlgebra();
  dgps::RecurrenceOp recurrence = analysis.getRecurrence();
  dgps::StateOp state = analysis.getStates()[form.state].op;
  Location loc = state.getNext().getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(&recurrence.getBody().front());
  dgps::Materializer materializer(builder, loc, algebra, analysis.getExpressions());
  int64_t size = dgps::shapeOf(state.getResult())[0];

  SeparatedInverse result{form.state, form.kind, {}, {}, {}, {}, {}, {}, {}, /*linear=*/false};
  result.right = materializer.getVector(form.right, size);
  result.left = materializer.getVector(form.left, size);
  result.factor = materializer.get(form.factor, 0);
  result.noise = materializer.get(form.noise, 0);
  Value decay = form.decay.isAbsent() ? Value() : materializer.get(form.decay.linear, 0);
  if (decay) {
    result.decaySteps = form.decay.log ? materializer.get(form.decay.log, 0) : decay;
    result.linear = !form.decay.log;
  }
  auto makeInput = [&](StringRef name) -> Value {
    return dgps::InputOp::create(builder, loc, result.right.getType(), (state.getName() + "." + name).str(), false,
                                 TypeAttr());
  };
  if (form.kind != Kind::OfLeftRead)
    result.ofRight = makeInput("right");
  if (form.kind != Kind::OfRightRead)
    result.ofLeft = makeInput("left");

  // The program's own reads with these keys are what the chunk knows.
  for (PlainRead &read : findPlainReads(algebra, analysis.getExpressions(), recurrence, form.state)) {
    Value known = read.isLeft ? result.ofLeft : result.ofRight;
    if (!known || read.key != (read.isLeft ? form.left : form.right))
      continue;
    Value value = known;
    if (!read.scale->isOne())
      value = dgps::MulOp::create(builder, loc, materializer.get(read.scale, 0), value);
    read.value.replaceAllUsesWith(value);
  }
  Value rows = result.ofRight ? result.ofRight : result.ofLeft,
        columns = result.ofLeft ? result.ofLeft : result.ofRight;
  Value product = dgps::DotOp::create(builder, loc, result.ofRight ? result.left : result.right, rows);
  Value divisor =
      dgps::AddOp::create(builder, loc, result.noise, dgps::MulOp::create(builder, loc, result.factor, product));
  Value gain = dgps::DivOp::create(builder, loc, result.factor, divisor);
  Value kept = state;
  if (decay) {
    gain = dgps::MulOp::create(builder, loc, decay, gain);
    kept = dgps::MulOp::create(builder, loc, decay, kept);
  }
  Value written = dgps::OuterOp::create(builder, loc, state.getResult().getType(),
                                        dgps::MulOp::create(builder, loc, gain, rows), columns);
  Value next = dgps::SubOp::create(builder, loc, kept, written);
  state.getNext().getValue().replaceAllUsesWith(next);
  return result;
}

void conversion::tidy(dgps::RecurrenceOp recurrence, ArrayRef<Value> kept) {
  Block &body = recurrence.getBody().front();
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::make_early_inc_range(body))
      if (isOpTriviallyDead(&op) && !llvm::is_contained(kept, op.getResult(0))) {
        op.erase();
        changed = true;
      }
  }
  // Outputs stay in the order in which callers give them.
  SmallVector<dgps::OutputOp> outputs(recurrence.getOutputs());
  sortTopologically(&body);
  for (dgps::OutputOp output : outputs)
    output->moveBefore(&body, body.end());
}

SmallVector<SeparatedInverse, 1> conversion::separateInverses(dgps::RecurrenceOp recurrence) {
  SmallVector<SeparatedInverse, 1> inverses;
  SmallVector<Value> kept;
  while (true) {
    RecurrenceAnalysis analysis(recurrence);
    const StateFacts *found =
        llvm::find_if(analysis.getStates(), [](const StateFacts &facts) { return facts.inverse.has_value(); });
    if (found == analysis.getStates().end())
      return inverses;
    const SeparatedInverse &one = inverses.emplace_back(separate(analysis, *found->inverse));
    kept.append({one.right, one.left, one.factor, one.noise, one.decaySteps});
    tidy(recurrence, kept);
  }
}

//===----------------------------------------------------------------------===//
// The rows that the chunk knows
//===----------------------------------------------------------------------===//

const SeparatedInverse *ProgramBuilder::inverseThatReads(Value value) const {
  const SeparatedInverse *found =
      llvm::find_if(inverses, [&](const SeparatedInverse &one) { return value == one.ofRight || value == one.ofLeft; });
  return found == inverses.end() ? nullptr : found;
}

void ProgramBuilder::buildKnownReads(const SeparatedInverse &inverse) {
  using Kind = InverseForm::Kind;
  ValueBuilder build(builder, loc);
  Value state = states[inverse.state], right = liftRows(inverse.right), left = liftRows(inverse.left);
  Value factor = spread(lift(inverse.factor), {}), noise = spread(lift(inverse.noise), {}), decay;
  if (inverse.decaySteps) {
    decay = chunk::CumulativeDecayOp::create(builder, loc, chunk::DecayRange::Before,
                                             spread(lift(inverse.decaySteps), {}), inverse.linear);
    factor = build.mul(decay, factor);
  }
  auto read = [&](Value rows, Value matrix, bool isLeft) -> Value {
    return chunk::ReadOp::create(builder, loc, rows, matrix, isLeft != isTransposed(inverse.state));
  };
  // What the rows see of the columns, and what the columns that come later see of the rows.
  auto interact = [&](Value rows, Value columns) -> Value {
    return chunk::InteractionOp::create(builder, loc, rows, columns, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0},
                                        Value(), false);
  };
  auto solve = [&](Value lower, Value upper, Value rows) {
    Value factors = chunk::EliminateOp::create(builder, loc, lower, upper, factor, noise);
    Value solved =
        chunk::SolveOp::create(builder, loc, factors, rows, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false);
    return decay ? build.mul(decay, solved) : solved;
  };
  if (inverse.kind != Kind::TwoSided) {
    bool isLeft = inverse.kind == Kind::OfLeftRead;
    Value past = read(right, state, isLeft), matrix = interact(right, past);
    setLifted(isLeft ? inverse.ofLeft : inverse.ofRight, solve(matrix, matrix, past));
    return;
  }
  Value ofRight = read(right, state, /*isLeft=*/false), ofLeft = read(left, state, /*isLeft=*/true);
  Value below = interact(left, ofRight), above = interact(right, ofLeft);
  setLifted(inverse.ofLeft, solve(below, above, ofLeft));
  setLifted(inverse.ofRight, solve(above, below, ofRight));
}
