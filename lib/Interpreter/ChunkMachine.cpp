// One chunk: finds what each op computes and keeps the values.
#include "Interpreter/ChunkMeaning.h"
#include "Support/ConjugateGradients.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
using namespace recur;
using namespace recur::chunk;
using namespace recur::interpreter;

static int64_t countPerToken(const Array &array) { return *countElements(ArrayRef(array.shape).drop_front()); }

/// `count` rows of `array`, from row `first` on, every `stride`-th.
static Array takeRows(const Array &array, int64_t first, int64_t stride, int64_t count) {
  int64_t width = countPerToken(array);
  Array result{array.shape, {}};
  result.shape[0] = count;
  for (int64_t row = 0; row < count; ++row) {
    auto from = array.values.begin() + (first + row * stride) * width;
    result.values.insert(result.values.end(), from, from + width);
  }
  return result;
}

int64_t ChunkMachine::countRows(mlir::RankedTensorType type) const {
  int64_t rows = type.getDimSize(0);
  return rows == 1 ? 1 : rows / chunk * tokens;
}

static Array broadcast(const Array &from, ArrayRef<int64_t> shape) {
  Array result{shape.vec(), {}};
  int64_t width = countPerToken(result), fromWidth = countPerToken(from);
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t i = 0; i < width; ++i)
      result.values.push_back(from.values[(from.shape[0] == 1 ? 0 : row) * fromWidth + (fromWidth == 1 ? 0 : i)]);
  return result;
}

static Array interleave(ArrayRef<const Array *> operands) {
  Array result{operands[0]->shape, {}};
  int64_t width = countPerToken(result), tokens = result.shape[0];
  result.shape[0] = tokens * operands.size();
  for (int64_t t = 0; t < tokens; ++t)
    for (const Array *operand : operands) {
      auto from = operand->values.begin() + t * width;
      result.values.insert(result.values.end(), from, from + width);
    }
  return result;
}

static Array extract(const Array &from, int64_t index) {
  Array result{from.shape, {}};
  result.shape.erase(result.shape.begin() + 1);
  int64_t width = countPerToken(result), fromWidth = countPerToken(from);
  for (int64_t t = 0; t < from.shape[0]; ++t) {
    auto row = from.values.begin() + t * fromWidth + index * width;
    result.values.insert(result.values.end(), row, row + width);
  }
  return result;
}

static Array slice(const Array &from, int64_t begin, int64_t size) {
  Array result;
  result.shape = from.shape;
  result.shape[1] = size;
  int64_t width = *countElements(ArrayRef(from.shape).drop_front(2)), whole = from.shape[1] * width;
  for (int64_t t = 0; t < from.shape[0]; ++t) {
    auto first = from.values.begin() + t * whole + begin * width;
    result.values.insert(result.values.end(), first, first + size * width);
  }
  return result;
}

static Array concatenate(ArrayRef<const Array *> parts, ArrayRef<int64_t> shape) {
  Array result;
  result.shape = shape.vec();
  for (int64_t t = 0; t < shape[0]; ++t)
    for (const Array *part : parts) {
      int64_t width = *countElements(ArrayRef(part->shape).drop_front());
      auto first = part->values.begin() + (part->shape[0] == 1 ? 0 : t * width); // 1: the same for every token
      result.values.insert(result.values.end(), first, first + width);
    }
  return result;
}

static Array advance(const Arithmetic &arithmetic, const Array &state, const Array &values, const Array &keys,
                     const Array *columns, const Array *rows) {
  Array writes = multiply(arithmetic, values, true, keys, false, /*roundOperands=*/true);
  Array result = state;
  for (int64_t i = 0; i < state.shape[0]; ++i)
    for (int64_t j = 0; j < state.shape[1]; ++j) {
      double &x = result.values[i * state.shape[1] + j];
      if (rows)
        x = arithmetic.store(x * rows->values[rows->values.size() == 1 ? 0 : i]);
      if (columns)
        x = arithmetic.store(x * columns->values[columns->values.size() == 1 ? 0 : j]);
      x = arithmetic.store(x + writes.values[i * state.shape[1] + j]);
    }
  return result;
}

static Array previous(const Array &state, const Array &all) {
  Array result = all;
  int64_t width = state.values.size();
  if (all.shape[0] == 0)
    return result;
  std::copy(state.values.begin(), state.values.end(), result.values.begin());
  std::copy(all.values.begin(), all.values.end() - width, result.values.begin() + width);
  return result;
}

Error ChunkMachine::run(mlir::Block &block) {
  for (mlir::Operation &op : block)
    if (Error error = evaluate(&op))
      return error;
  return Error::success();
}

Error ChunkMachine::evaluate(mlir::Operation *op) {
  auto of = [&](mlir::Value value) -> const Array & { return get(value); };
  auto decayOf = [&](auto decayed) {
    return decayed.getDecay() ? Decay{&of(decayed.getDecay()), decayed.getLinear()} : Decay{};
  };
  auto visibilityOf = [](auto op) {
    return Visibility{op.getPoints().value_or(ArrayRef<int64_t>()), op.getSteps().value_or(ArrayRef<int64_t>())};
  };
  auto give = [&](mlir::Value result, Array array) {
    set(result, std::move(array));
    return Error::success();
  };
  auto givePair = [&](mlir::Operation *pair, std::pair<Array, Array> arrays) {
    set(pair->getResult(0), std::move(arrays.first));
    set(pair->getResult(1), std::move(arrays.second));
    return Error::success();
  };
  return TypeSwitch<mlir::Operation *, Error>(op)
      .Case<InputOp, ParamOp, StateOp, KeptOp, TakeOp, GiveOp, OutputOp, NextOp, RemainsOp, YieldOp>(
          [](auto) { return Error::success(); })
      .Case([&](ConstantOp constant) {
        std::vector<int64_t> shape = tensorOf(constant).getShape().vec();
        shape[0] = countRows(tensorOf(constant));
        return give(constant,
                    {shape, std::vector<double>(*countElements(shape), arithmetic.store(constant.getNumber()))});
      })
      .Case([&](MapOp map) {
        auto operands = map_to_vector(map.getOperands(), [&](mlir::Value operand) { return &of(operand); });
        return give(map, evaluateMap(arithmetic, map.getFunction(), operands));
      })
      .Case([&](ExtractOp op) { return give(op, extract(of(op.getOperand()), op.getIndex())); })
      .Case([&](SliceOp op) { return give(op, slice(of(op.getOperand()), op.getBegin(), op.getSize())); })
      .Case([&](ConcatOp op) {
        std::vector<int64_t> shape = tensorOf(op).getShape().vec();
        shape[0] = countRows(tensorOf(op));
        return give(op,
                    concatenate(map_to_vector(op.getOperands(), [&](mlir::Value part) { return &of(part); }), shape));
      })
      .Case([&](BroadcastOp op) {
        std::vector<int64_t> shape = tensorOf(op).getShape().vec();
        shape[0] = countRows(tensorOf(op));
        return give(op, broadcast(of(op.getOperand()), shape));
      })
      .Case([&](InterleaveOp op) {
        return give(op, interleave(map_to_vector(op.getOperands(), [&](mlir::Value operand) { return &of(operand); })));
      })
      .Case([&](DeinterleaveOp op) {
        const Array &from = of(op.getOperand());
        int64_t steps = op.getSteps();
        return give(op, takeRows(from, op.getStep(), steps, from.shape[0] / steps));
      })
      .Case([&](CumulativeDecayOp op) {
        return give(op, evaluateCumulativeDecay(arithmetic, op.getRange(), decayOf(op)));
      })
      .Case([&](InteractionOp op) {
        return give(op, evaluateInteraction(arithmetic, of(op.getRows()), of(op.getColumns()),
                                            Visibility{op.getPoints(), op.getSteps()}, decayOf(op)));
      })
      .Case([&](ApplyOp op) {
        return give(op, evaluateApply(arithmetic, of(op.getMatrix()), of(op.getValues()), visibilityOf(op), decayOf(op),
                                      Direction::Forward));
      })
      .Case([&](SolveOp op) {
        return give(op, evaluateSolve(arithmetic, of(op.getMatrix()), of(op.getValues()), visibilityOf(op), decayOf(op),
                                      Direction::Forward));
      })
      .Case([&](ScaledSolveOp op) {
        return give(op, evaluateScaledSolve(arithmetic, of(op.getMatrix()), of(op.getValues()), of(op.getScales()),
                                            op.getReverse()));
      })
      .Case([&](EliminateOp op) {
        return give(op, evaluateElimination(arithmetic, of(op.getLower()), of(op.getUpper()), of(op.getColumns()),
                                            of(op.getDiagonal())));
      })
      .Case([&](InverseOp op) {
        const Array *gain = op.getGain() ? &of(op.getGain()) : nullptr;
        return give(op, evaluateInverse(arithmetic, of(op.getMatrix()), gain));
      })
      .Case([&](ReshapeStateOp op) { return give(op, {tensorOf(op).getShape().vec(), of(op.getState()).values}); })
      .Case([&](ReadOp op) {
        return give(op, multiply(arithmetic, of(op.getRows()), false, of(op.getState()), !op.getLeft(), true));
      })
      .Case([&](AdvanceOp op) {
        return give(op, advance(arithmetic, of(op.getState()), of(op.getValues()), of(op.getKeys()),
                                op.getColumnDecay() ? &of(op.getColumnDecay()) : nullptr,
                                op.getRowDecay() ? &of(op.getRowDecay()) : nullptr));
      })
      .Case([&](ScanOp op) {
        return givePair(
            op, evaluateScan(arithmetic, of(op.getState()), of(op.getAdditions()), decayOf(op), op.getAngles()));
      })
      .Case([&](TropicalScanOp op) {
        return givePair(op, evaluateTropicalScan(arithmetic, op.getExtremum(), of(op.getState()), of(op.getShifts()),
                                                 of(op.getBounds())));
      })
      .Case([&](MoebiusScanOp op) {
        return givePair(op, evaluateMoebiusScan(arithmetic, of(op.getState()), {&of(op.getA()), &of(op.getB())},
                                                {&of(op.getC()), &of(op.getD())}));
      })
      .Case([&](ApplyTransposedOp op) {
        return give(op, evaluateApply(arithmetic, of(op.getMatrix()), of(op.getValues()), visibilityOf(op), decayOf(op),
                                      Direction::Backward));
      })
      .Case([&](SolveTransposedOp op) {
        return give(op, evaluateSolve(arithmetic, of(op.getMatrix()), of(op.getValues()), visibilityOf(op), decayOf(op),
                                      Direction::Backward));
      })
      .Case([&](DecayCotangentOp op) {
        return give(op, evaluateDecayCotangent(arithmetic, of(op.getMatrix()), of(op.getRows()), of(op.getColumns()),
                                               Visibility{op.getPoints(), op.getSteps()}, decayOf(op)));
      })
      .Case([&](ReverseScanOp op) {
        return givePair(op, evaluateReverseScan(arithmetic, of(op.getState()), of(op.getAdditions()), decayOf(op)));
      })
      .Case([&](FollowingOp op) { return givePair(op, evaluateFollowing(of(op.getState()), of(op.getRows()))); })
      .Case([&](SumTokensOp op) { return give(op, evaluateSumTokens(arithmetic, of(op.getOperand()))); })
      .Case([&](InsertOp op) { return give(op, evaluateInsert(of(op.getOperand()), op.getIndex(), op.getSize())); })
      .Case([&](PreviousOp op) { return give(op, previous(of(op.getState()), of(op.getAll()))); })
      .Case([&](LastOp op) {
        Array row = takeRows(of(op.getAll()), tokens - 1, 1, 1);
        row.shape.erase(row.shape.begin());
        return give(op, row);
      })
      .Case([&](ComposeOp op) {
        return givePair(op, composeSummaries(arithmetic, op.getKind(), of(op.getFirstMap()), of(op.getFirstOffset()),
                                             of(op.getSecondMap()), of(op.getSecondOffset())));
      })
      .Case([&](TokenLoopOp op) { return evaluateTokenLoop(op); })
      .Case([&](LoopOp op) { return evaluateLoop(op); })
      .Case([&](CgOp op) { return evaluateCg(op); })
      .Default([](mlir::Operation *other) {
        return createStringError(inconvertibleErrorCode(),
                                 "op '" + other->getName().getStringRef() + "' has no meaning in a chunk program");
      });
}

//===----------------------------------------------------------------------===//
// Ops with regions
//===----------------------------------------------------------------------===//

Error ChunkMachine::evaluateTokenLoop(TokenLoopOp op) {
  mlir::Block &block = op.getBody().front();
  unsigned streams = op.getStreams().size(), states = op.getStates().size();
  // A state has a token dimension of 1 in the body.
  auto inBody = [](Array state) {
    state.shape.insert(state.shape.begin(), 1);
    return state;
  };
  auto outside = [](Array state) {
    state.shape.erase(state.shape.begin());
    return state;
  };
  std::vector<Array> carried, given(op.getStreamResults().size());
  for (mlir::Value state : op.getStates())
    carried.push_back(inBody(get(state)));
  for (int64_t step = 0; step < tokens; ++step) {
    int64_t t = op.getReverse() ? tokens - 1 - step : step;
    for (unsigned i = 0; i < streams; ++i)
      set(block.getArgument(i), takeRows(get(op.getStreams()[i]), t, 1, 1));
    for (unsigned i = 0; i < states; ++i)
      set(block.getArgument(streams + i), carried[i]);
    if (Error error = run(block))
      return error;
    mlir::OperandRange yielded = block.getTerminator()->getOperands();
    for (unsigned i = 0; i < given.size(); ++i) {
      const Array &row = get(yielded[i]);
      given[i].shape = row.shape; // a row may count the chunk's tokens, as that of a matrix of them does
      given[i].shape[0] = tokens;
      given[i].values.resize(tokens * row.values.size());
      copy(row.values, given[i].values.begin() + t * row.values.size());
    }
    for (unsigned i = 0; i < states; ++i)
      carried[i] = get(yielded[given.size() + i]);
  }
  for (auto [result, array] : zip(op.getStreamResults(), given))
    set(result, array);
  for (auto [result, array] : zip(op.getStateResults(), carried))
    set(result, outside(array));
  return Error::success();
}

Error ChunkMachine::evaluateLoop(LoopOp op) {
  mlir::Block &block = op.getBody().front();
  unsigned takes = op.getKept().size(), gives = op.getKeptResults().size();
  int64_t steps = op.getIterations();
  std::vector<Array> carried, kept, given(gives);
  for (mlir::Value value : op.getKept())
    kept.push_back(get(value));
  for (mlir::Value value : op.getCarried())
    carried.push_back(get(value));
  for (int64_t round = 0; round < steps; ++round) {
    int64_t step = op.getReverse() ? steps - 1 - round : round;
    for (auto [argument, whole] : zip(block.getArguments(), kept)) {
      Array part;
      part.shape.assign(tensorOf(argument).getShape().begin(), tensorOf(argument).getShape().end());
      part.shape[0] = whole.shape[0];
      int64_t size = whole.shape[1] / steps;
      for (int64_t row = 0; row < whole.shape[0]; ++row)
        append_range(part.values, ArrayRef(whole.values).slice(row * whole.shape[1] + step * size, size));
      set(argument, std::move(part));
    }
    for (auto [argument, value] : zip(block.getArguments().drop_front(takes), carried))
      set(argument, value);
    if (Error error = run(block))
      return error;
    mlir::OperandRange yielded = block.getTerminator()->getOperands();
    for (auto [value, whole] : zip(yielded, given)) {
      const Array &part = get(value);
      int64_t rows = part.shape[0], size = int64_t(part.values.size()) / rows;
      whole.shape = {rows, steps * size};
      whole.values.resize(rows * steps * size);
      for (int64_t row = 0; row < rows; ++row)
        copy(ArrayRef(part.values).slice(row * size, size), whole.values.begin() + (row * steps + step) * size);
    }
    for (auto [value, next] : zip(yielded.drop_front(gives), carried))
      next = get(value);
  }
  for (auto [result, array] : zip(op.getKeptResults(), given))
    set(result, std::move(array));
  for (auto [result, array] : zip(op.getCarriedResults(), carried))
    set(result, std::move(array));
  return Error::success();
}

Error ChunkMachine::evaluateCg(CgOp op) {
  mlir::Block &block = op.getBody().front();
  const Array vectors = get(op.getVectors()), ridge = get(op.getRidge());
  int64_t rows = vectors.shape[0], size = vectors.shape[1];
  auto dot = [&](const Array &a, const Array &b, int64_t row) {
    double sum = 0;
    for (int64_t i = row * size; i < (row + 1) * size; ++i)
      sum = arithmetic.multiplyAdd(sum, a.values[i], b.values[i]);
    return sum;
  };
  auto ridgeAt = [&](int64_t row, int64_t i) {
    int64_t width = ridge.shape.size() > 1 ? size : 1;
    return ridge.values[(ridge.shape[0] == 1 ? 0 : row) * width + (width == 1 ? 0 : i)];
  };
  Array result{vectors.shape, std::vector<double>(vectors.values.size())};
  Array residual = vectors, direction = vectors;
  std::vector<double> squares(rows), least(rows); // of the residuals, and what is none
  for (int64_t row = 0; row < rows; ++row) {
    squares[row] = dot(residual, residual, row);
    least[row] = arithmetic.isExact() ? 0 : arithmetic.store(squares[row] * solvedInFloat32);
  }
  for (int64_t iteration = 0; iteration < int64_t(op.getIterations()); ++iteration) {
    set(block.getArgument(0), direction);
    if (Error error = run(block))
      return error;
    Array image = get(block.getTerminator()->getOperand(0));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < size; ++i)
        image.values[row * size + i] =
            arithmetic.multiplyAdd(image.values[row * size + i], ridgeAt(row, i), direction.values[row * size + i]);
    for (int64_t row = 0; row < rows; ++row) {
      double curvature = dot(direction, image, row);
      if (curvature == 0 || squares[row] <= least[row])
        continue;
      double step = arithmetic.store(squares[row] / curvature);
      for (int64_t i = row * size; i < (row + 1) * size; ++i) {
        result.values[i] = arithmetic.multiplyAdd(result.values[i], step, direction.values[i]);
        residual.values[i] = arithmetic.multiplyAdd(residual.values[i], -step, image.values[i]);
      }
      double next = dot(residual, residual, row);
      double keep = arithmetic.store(next / squares[row]);
      for (int64_t i = row * size; i < (row + 1) * size; ++i)
        direction.values[i] = arithmetic.multiplyAdd(residual.values[i], keep, direction.values[i]);
      squares[row] = next;
    }
  }
  set(op.getResult(), std::move(result));
  return Error::success();
}
