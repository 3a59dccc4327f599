// Conjugate gradients of 64 tokens by one warpgroup.
//
// A thread has of each vector the numbers that the matrix units leave it as sums: of two tokens every fourth pair of
// channels. So what is taken of a row is added up over four lanes, and nothing passes between warps from the first
// step to the last. A direction is a sum of two numbers of bf16, as the matrix units take it, and so is the matrix of
// the chunk's start: the product of the lower ones is left out, which is 2^-16 of the whole. What keys of the chunk add
// is the product of the directions and the keys, under a mask, and the keys again; keys are of bf16 as they came.
//
// The solution is in shared memory but for a few numbers of each thread, in places that no other thread looks at.
//
// The mask leaves zeros where a token does not see a key, and the matrix units multiply these too. So a key that has
// a number that is not finite becomes zeros, and its gain no number: the tokens that see it become no numbers.
#include "Support/ConjugateGradients.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <limits>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {

constexpr int64_t tokens = ConjugateGradientsOp::tokens, panelRowBytes = PanelLayout::rowBytes,
                  unit = FactorLayout::ofHalves().inner, half = SumsLayout::unitColumns, keysAtOnce = 32;

/// Of a tile of bf16.
PanelLayout layoutOf(int64_t rows) { return {rows, /*elementBytes=*/2}; }

class ConjugateGradientsCode {
public:
  ConjugateGradientsCode(TeamCode &t, const Systems &systems)
      : t(t), code(t), s(systems), channels(systems.result.type.getSize(1)),
        panels(layoutOf(tokens).countPanels(channels)), count(channels / 2) {}
  void emit();

private:
  /// A thread's numbers of a vector for each of its two tokens: four for eight channels, two of each token.
  using Numbers = SmallVector<Value>;
  using OfTokens = std::array<Value, 2>;
  using Split = WarpgroupCode::Split;
  /// What goes from step to step.
  struct Running {
    Numbers residual;
    Split direction;
    OfTokens squares;
    Numbers solution; // what of it is in registers
  };

  void place();
  void takeState();
  void takeKeys();
  void takeKey(Value row, ArrayRef<Value> pairs);
  Running begin();
  void step(Running &running);
  Running takeSteps(const Running &begin);
  Value isAnyLeft(const Running &running);
  static SmallVector<Value> flatten(const Running &running);
  Running restore(ValueRange all);
  Numbers multiplyByMatrix(const Split &direction);
  Numbers multiplyByKeys(ArrayRef<Value> both, int64_t first);
  Split weigh(ArrayRef<Value> dots, int64_t first);
  void addRidge(Numbers &image, ArrayRef<Value> direction);
  void addToSolution(Running &running, const OfTokens &lengths, ArrayRef<Value> direction);
  void give(const Running &running);

  Numbers join(const Split &parts);
  static size_t tokenOf(size_t number) { return size_t(SumsLayout::lowerOf(int64_t(number))); }
  /// The sum of the products of two vectors' numbers, for each token.
  OfTokens dot(ArrayRef<Value> a, ArrayRef<Value> b);
  /// Where two neighbours of bf16, a word, lie in panels that the matrix units read.
  Value pairPlace(Value begin, int64_t rows, Value row, Value pair);
  Value solutionPlace(int64_t piece);
  Value leastPlace(size_t token);
  Value bitsOf(Value number);
  Value pointerTo(Value address);
  Value pick(Value condition, Value a, Value b) { return t.select(condition, a, b); }
  /// The places of a factor's inner indices, from the descriptor on.
  SmallVector<int64_t> placesAlong(int64_t rows);

  TeamCode &t;
  WarpgroupCode code;
  const Systems &s;
  int64_t channels, panels, count;
  Value upper, keys, solution, table; // where these begin in shared memory; the table is gains and least residuals
  Value firstRow, firstColumn;        // of the thread's numbers
  OfTokens rows;                      // of its two tokens
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void ConjugateGradientsCode::place() {
  constexpr int64_t alignment = PanelLayout::alignment;
  Value begin = t.add(code.addressOf(s.work.pointer), alignment - 1);
  upper = arith::AndIOp::create(t.builder, t.loc, begin, t.constant(-alignment));
  keys = t.add(upper, 2 * panels * channels * panelRowBytes);
  solution = t.add(keys, panels * tokens * panelRowBytes);
  int64_t kept = std::max<int64_t>(0, count - ConjugateGradientsOp::solutionInRegisters);
  table = t.add(solution, kept * ConjugateGradientsOp::threads * 4);
  firstRow = rowOfWarp(t, t.warp, t.lane);
  firstColumn = pairOfLane(t, t.lane);
  rows = {firstRow, t.add(firstRow, half)};
}

Value ConjugateGradientsCode::pointerTo(Value address) {
  return LLVM::IntToPtrOp::create(t.builder, t.loc, LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace),
                                  address);
}

Value ConjugateGradientsCode::pairPlace(Value begin, int64_t rows, Value row, Value pair) {
  return t.add(begin, PanelLayout{rows, wordBytes}.byteOf(t, row, pair));
}

Value ConjugateGradientsCode::solutionPlace(int64_t piece) {
  return pointerTo(
      t.add(t.add(solution, t.multiply(t.thread, pieceBytes)), piece * pieceBytes * ConjugateGradientsOp::threads));
}

/// The address of the token's convergence threshold.
Value ConjugateGradientsCode::leastPlace(size_t token) {
  return pointerTo(t.add(t.add(table, tokens * 4), t.multiply(rows[token], 4)));
}

Value ConjugateGradientsCode::bitsOf(Value number) {
  Value bits = LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI16Type(), number);
  return arith::ExtUIOp::create(t.builder, t.loc, t.builder.getI32Type(), bits);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

ConjugateGradientsCode::Numbers ConjugateGradientsCode::join(const Split &parts) {
  Numbers numbers;
  for (auto [upper, lower] : llvm::zip(parts.upper, parts.lower)) {
    auto [upperLow, upperHigh] = code.unpack(upper);
    auto [lowerLow, lowerHigh] = code.unpack(lower);
    numbers.push_back(t.plus(upperLow, lowerLow));
    numbers.push_back(t.plus(upperHigh, lowerHigh));
  }
  return numbers;
}

/// Four lanes have a token. Two sums of each, so that additions wait less for each other.
ConjugateGradientsCode::OfTokens ConjugateGradientsCode::dot(ArrayRef<Value> a, ArrayRef<Value> b) {
  std::array<OfTokens, 2> parts{OfTokens{t.number(0), t.number(0)}, OfTokens{t.number(0), t.number(0)}};
  for (size_t i = 0; i < a.size(); ++i) {
    Value &sum = parts[i % 2][tokenOf(i)];
    sum = t.fma(a[i], b[i], sum);
  }
  OfTokens dots;
  for (size_t token : {0, 1}) {
    Value sum = t.plus(parts[0][token], parts[1][token]);
    for (int64_t distance : {1, 2})
      sum = t.plus(sum, code.exchange(sum, distance));
    dots[token] = sum;
  }
  return dots;
}

//===----------------------------------------------------------------------===//
// What the matrix units take
//===----------------------------------------------------------------------===//

/// The matrix of the chunk's start in two parts, row by row.
void ConjugateGradientsCode::takeState() {
  constexpr int64_t inStep = 16;
  Type f32 = t.builder.getF32Type();
  Value matrix = t.offset(s.state.pointer, t.multiplyWide(s.stateRow, s.state.tokenStride), f32);
  auto load = [&](Value row, Value column) {
    Value offset = t.addWide(t.multiplyWide(t.widen(row), s.state.innerStrides[0]),
                             t.multiplyWide(t.widen(column), s.state.innerStrides[1]));
    return t.load(t.offset(matrix, offset, f32), f32);
  };
  t.dealInStep(
      t.constant(channels * count), inStep,
      [&](Value index) {
        Value row = t.divide(index, count), column = t.multiply(t.remainder(index, count), 2);
        return SmallVector<Value>{load(row, column), load(row, t.add(column, 1))};
      },
      [&](Value index, ArrayRef<Value> numbers) {
        Split parts = code.split(numbers);
        Value place = pairPlace(upper, channels, t.divide(index, count), t.remainder(index, count));
        t.store(parts.upper[0], pointerTo(place));
        t.store(parts.lower[0], pointerTo(t.add(place, panels * channels * panelRowBytes)));
      });
}

/// A warp has a row at a time, and its lanes have pairs of it.
void ConjugateGradientsCode::takeKeys() {
  constexpr int64_t rowsPerWarp = tokens / 4, inStep = 8;
  Type element = s.keys.type.getElementType();
  Value last = t.add(s.rows, -1);
  int64_t perLane = (count + warpThreads - 1) / warpThreads;
  for (int64_t first = 0; first < rowsPerWarp; first += inStep) {
    SmallVector<SmallVector<Value>> all;
    for (int64_t i = first; i < first + inStep; ++i) {
      Value row = t.add(t.multiply(t.warp, rowsPerWarp), i), isThere = t.below(row, s.rows);
      Value from = t.multiplyWide(t.addWide(s.first, t.widen(t.smaller(row, last))), s.keys.tokenStride);
      SmallVector<Value> &pairs = all.emplace_back();
      for (int64_t n = 0; n < perLane; ++n) {
        Value pair = t.smaller(t.add(t.lane, n * warpThreads), t.constant(count - 1));
        Value place = t.offset(s.keys.pointer, t.addWide(from, t.widen(t.multiply(pair, 2))), element);
        Value next = t.offset(place, arith::ConstantIntOp::create(t.builder, t.loc, 1, 64), element);
        Value low = bitsOf(t.load(place, element)), high = bitsOf(t.load(next, element));
        high = arith::ShLIOp::create(t.builder, t.loc, high, t.constant(16));
        pairs.push_back(pick(isThere, arith::OrIOp::create(t.builder, t.loc, low, high), t.constant(0)));
      }
    }
    for (int64_t i = 0; i < inStep; ++i)
      takeKey(t.add(t.multiply(t.warp, rowsPerWarp), first + i), all[size_t(i)]);
  }
}

/// The pairs that the lane has of the row, and what is to be known of the row's token.
void ConjugateGradientsCode::takeKey(Value row, ArrayRef<Value> pairs) {
  Value isBad;
  for (Value pair : pairs)
    for (int64_t exponent : {0x7F80, 0x7F800000}) {
      Value bits = arith::AndIOp::create(t.builder, t.loc, pair, t.constant(exponent));
      Value own = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, bits, t.constant(exponent));
      isBad = isBad ? arith::OrIOp::create(t.builder, t.loc, isBad, own).getResult() : own;
    }
  Value isAnyBad = LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI1Type(),
                                                 t.builder.getStringAttr("llvm.nvvm.vote.any.sync"),
                                                 ValueRange{t.constant(-1), isBad})
                       .getResult(0);
  for (auto [n, pair] : llvm::enumerate(pairs)) {
    Value number = t.add(t.lane, int64_t(n) * warpThreads);
    auto put = [&, pair = pair] {
      t.store(pick(isAnyBad, t.constant(0), pair), pointerTo(pairPlace(keys, tokens, row, number)));
    };
    if ((int64_t(n) + 1) * warpThreads <= count)
      put();
    else
      t.when(t.below(number, t.constant(count)), put);
  }
  t.when(t.below(t.lane, t.constant(1)), [&] {
    Value gain = s.gains ? t.get(*s.gains, {Index(row)}) : t.number(1);
    t.store(pick(isAnyBad, t.number(std::numeric_limits<double>::quiet_NaN()), gain),
            pointerTo(t.add(table, t.multiply(row, 4))));
  });
}

SmallVector<int64_t> ConjugateGradientsCode::placesAlong(int64_t rows) {
  SmallVector<int64_t> places;
  for (int64_t column = 0; column < channels; column += unit)
    places.push_back(layoutOf(rows).byteOfColumn(column));
  return places;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The thread's numbers of its tokens' vectors, which the residuals and the directions begin with.
ConjugateGradientsCode::Running ConjugateGradientsCode::begin() {
  Type element = s.vectors.type.getElementType();
  Value last = t.add(s.rows, -1);
  Running running;
  running.residual.resize(size_t(count));
  for (size_t token : {0, 1}) {
    Value isThere = t.below(rows[token], s.rows);
    Value from = t.multiplyWide(t.addWide(s.first, t.widen(t.smaller(rows[token], last))), s.vectors.tokenStride);
    Value place = t.offset(s.vectors.pointer, t.addWide(from, t.widen(firstColumn)), element);
    for (int64_t group = 0; group < count / 4; ++group)
      for (int64_t right : {0, 1}) {
        Value at = arith::ConstantIntOp::create(t.builder, t.loc, group * half + right, 64);
        Value number = t.convert(t.load(t.offset(place, at, element), element), t.builder.getF32Type());
        running.residual[size_t(4 * group) + 2 * token + size_t(right)] = pick(isThere, number, t.number(0));
      }
  }
  running.direction = code.split(running.residual);
  running.squares = dot(running.residual, running.residual);
  for (size_t token : {0, 1}) {
    t.store(t.mul(running.squares[token], t.number(recur::solvedInPairs)), leastPlace(token));
  }
  running.solution.assign(size_t(std::min(count, ConjugateGradientsOp::solutionInRegisters)), t.number(0));
  Value zeros = arith::ConstantOp::create(t.builder, t.loc,
                                          DenseElementsAttr::get(VectorType::get(4, t.builder.getF32Type()), 0.0f));
  for (int64_t piece = 0; piece < (count - ConjugateGradientsOp::solutionInRegisters) / 4; ++piece)
    t.store(zeros, solutionPlace(piece));
  return running;
}

/// What the directions' dots with the keys from the first on weigh: a token sees the keys up to its own.
ConjugateGradientsCode::Split ConjugateGradientsCode::weigh(ArrayRef<Value> dots, int64_t first) {
  Split weighed;
  Type two = VectorType::get(2, t.builder.getF32Type());
  Value key = t.add(firstColumn, first), place = t.add(table, t.multiply(key, 4));
  OfTokens sums;
  if (s.decays)
    for (size_t token : {0, 1})
      sums[token] = t.get(*s.decays, {Index(rows[token])});
  for (int64_t group = 0; group < keysAtOnce / half; ++group) {
    Value gains = t.load(pointerTo(t.add(place, group * half * 4)), two);
    SmallVector<Value> decays;
    if (s.decays)
      decays = t.getNeighbours(*s.decays, {Index(firstColumn, first + group * half)}, 2);
    for (size_t token : {0, 1}) {
      Numbers numbers;
      for (int64_t right : {0, 1}) {
        Value weight = LLVM::ExtractElementOp::create(t.builder, t.loc, gains, t.constant(right));
        if (s.decays)
          weight = t.mul(weight, t.exp2(t.minus(sums[token], decays[size_t(right)])));
        Value number = t.mul(dots[size_t(4 * group) + 2 * token + size_t(right)], weight);
        Value isLater = t.below(rows[token], t.add(key, group * half + right));
        numbers.push_back(pick(isLater, t.number(0), number));
      }
      Split parts = code.split(numbers);
      llvm::append_range(weighed.upper, parts.upper);
      llvm::append_range(weighed.lower, parts.lower);
    }
  }
  return weighed;
}

/// The directions times their tokens' matrices, without the ridge. Keys are taken in parts: the dots of all would need
/// registers that the thread does not have beside the vectors.
ConjugateGradientsCode::Numbers ConjugateGradientsCode::multiplyByMatrix(const Split &direction) {
  SmallVector<Value> both(direction.upper);
  llvm::append_range(both, direction.lower);
  SmallVector<Value> three = both;
  llvm::append_range(three, direction.upper);
  SmallVector<int64_t> along = placesAlong(channels), matrixPlaces(along);
  llvm::append_range(matrixPlaces, along);
  for (int64_t place : along)
    matrixPlaces.push_back(place + panels * channels * panelRowBytes);
  Numbers image = code.multiply(FactorKind::BF16, three, {upper, unit}, matrixPlaces, channels, /*isAcross=*/false);
  for (int64_t first = 0; first < tokens; first += keysAtOnce) {
    Numbers dots = multiplyByKeys(both, first);
    image = code.settle(image, /*running=*/1);
    if (s.decays && first == 0) {
      OfTokens decays;
      for (size_t token : {0, 1})
        decays[token] = t.exp2(t.get(*s.decays, {Index(rows[token])}));
      for (auto [i, number] : llvm::enumerate(image))
        number = t.mul(number, decays[tokenOf(i)]);
    }
    Split weights = weigh(code.settle(dots, 0), first);
    SmallVector<Value> left(weights.upper);
    llvm::append_range(left, weights.lower);
    SmallVector<int64_t> below;
    for (int64_t row = 0; row < 2 * keysAtOnce; row += unit) // of both parts
      below.push_back((first + row % keysAtOnce) * panelRowBytes);
    RightFactor across{keys, tokens * panelRowBytes};
    image = code.multiply(FactorKind::BF16, left, across, below, channels, /*isAcross=*/true, image);
  }
  return code.settle(image, 0);
}

/// The dots of the directions, both parts of them, with some of the keys.
ConjugateGradientsCode::Numbers ConjugateGradientsCode::multiplyByKeys(ArrayRef<Value> both, int64_t first) {
  SmallVector<int64_t> along = placesAlong(tokens), places;
  for (int64_t part = 0; part < 2; ++part)
    for (int64_t place : along)
      places.push_back(place + first * panelRowBytes);
  return code.multiply(FactorKind::BF16, both, {keys, unit}, places, keysAtOnce, /*isAcross=*/false);
}

void ConjugateGradientsCode::addRidge(Numbers &image, ArrayRef<Value> direction) {
  for (int64_t group = 0; group < count / 4; ++group) {
    SmallVector<Value> two = t.getNeighbours(s.ridge, {Index(0), Index(firstColumn, group * half)}, 2);
    for (int64_t i = 0; i < 4; ++i) {
      Value &number = image[size_t(4 * group + i)];
      number = t.fma(two[size_t(i % 2)], direction[size_t(4 * group + i)], number);
    }
  }
}

void ConjugateGradientsCode::addToSolution(Running &running, const OfTokens &lengths, ArrayRef<Value> direction) {
  size_t inRegisters = running.solution.size();
  for (size_t i = 0; i < inRegisters; ++i)
    running.solution[i] = t.fma(lengths[tokenOf(i)], direction[i], running.solution[i]);
  Type four = VectorType::get(4, t.builder.getF32Type());
  for (size_t first = inRegisters; first < direction.size(); first += 4) {
    Value place = solutionPlace(int64_t(first - inRegisters) / 4);
    Value numbers = t.load(place, four);
    for (size_t i = 0; i < 4; ++i) {
      Value number = LLVM::ExtractElementOp::create(t.builder, t.loc, numbers, t.constant(int64_t(i)));
      number = t.fma(lengths[tokenOf(i)], direction[first + i], number);
      numbers = LLVM::InsertElementOp::create(t.builder, t.loc, numbers, number, t.constant(int64_t(i)));
    }
    t.store(numbers, place);
  }
}

void ConjugateGradientsCode::step(Running &running) {
  // Squares of residuals become denormal, which the quotient of 16-bit data takes for zeros.
  auto quotient = [&](Value a, Value b) -> Value { return t.div(a, b, /*takesDenormal=*/true); };
  Numbers image = multiplyByMatrix(running.direction), direction = join(running.direction);
  addRidge(image, direction);
  OfTokens curvature = dot(direction, image), stays, lengths, backwards;
  for (size_t token : {0, 1}) {
    auto compare = [&](arith::CmpFPredicate how, Value a, Value b) {
      return arith::CmpFOp::create(t.builder, t.loc, how, a, b).getResult();
    };
    Value isFlat = compare(arith::CmpFPredicate::OEQ, curvature[token], t.number(0));
    Value least = t.load(leastPlace(token), t.builder.getF32Type());
    Value isSolved = compare(arith::CmpFPredicate::OLE, running.squares[token], least);
    stays[token] = arith::OrIOp::create(t.builder, t.loc, isFlat, isSolved);
    lengths[token] = pick(stays[token], t.number(0), quotient(running.squares[token], curvature[token]));
    backwards[token] = arith::NegFOp::create(t.builder, t.loc, lengths[token]);
  }
  addToSolution(running, lengths, direction);
  for (auto [i, number] : llvm::enumerate(running.residual))
    number = t.fma(backwards[tokenOf(i)], image[i], number);
  OfTokens next = dot(running.residual, running.residual), keep;
  for (size_t token : {0, 1})
    keep[token] = quotient(next[token], running.squares[token]);
  for (auto [i, number] : llvm::enumerate(direction)) {
    Value turned = t.fma(keep[tokenOf(i)], number, running.residual[i]);
    number = pick(stays[tokenOf(i)], number, turned);
  }
  running.direction = code.split(direction);
  running.squares = next;
}

/// The result may lie where the matrix did, or another thread's numbers.
void ConjugateGradientsCode::give(const Running &running) {
  Numbers all = running.solution;
  Type four = VectorType::get(4, t.builder.getF32Type());
  for (int64_t piece = 0; int64_t(all.size()) < count; ++piece) {
    Value numbers = t.load(solutionPlace(piece), four);
    for (int64_t i = 0; i < 4; ++i)
      all.push_back(LLVM::ExtractElementOp::create(t.builder, t.loc, numbers, t.constant(i)));
  }
  t.barrier();
  for (int64_t group = 0; group < count / 4; ++group)
    for (size_t token : {0, 1}) {
      size_t first = size_t(4 * group) + 2 * token;
      t.putNeighbours({all[first], all[first + 1]}, s.result, {Index(rows[token]), Index(firstColumn, group * half)});
    }
}

/// What goes from step to step, as a loop carries it.
SmallVector<Value> ConjugateGradientsCode::flatten(const Running &running) {
  SmallVector<Value> all(running.residual);
  llvm::append_range(all, running.direction.upper);
  llvm::append_range(all, running.direction.lower);
  llvm::append_range(all, running.squares);
  llvm::append_range(all, running.solution);
  return all;
}

ConjugateGradientsCode::Running ConjugateGradientsCode::restore(ValueRange all) {
  auto take = [&](size_t count) {
    SmallVector<Value> part(all.take_front(count));
    all = all.drop_front(count);
    return part;
  };
  Running running;
  running.residual = take(size_t(count));
  running.direction.upper = take(size_t(count) / 2);
  running.direction.lower = take(size_t(count) / 2);
  running.squares = {all[0], all[1]};
  running.solution = SmallVector<Value>(all.drop_front(2));
  return running;
}

/// Whether any of the warpgroup's tokens has a residual yet. What is no number goes on, so that the solution becomes
/// none.
Value ConjugateGradientsCode::isAnyLeft(const Running &running) {
  Value isLeft;
  for (size_t token : {0, 1}) {
    Value least = t.load(leastPlace(token), t.builder.getF32Type());
    Value own =
        arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::UGT, running.squares[token], least).getResult();
    isLeft = isLeft ? arith::OrIOp::create(t.builder, t.loc, isLeft, own).getResult() : own;
  }
  return code.anyOfWarpgroup(isLeft);
}

/// Steps until all tokens are where they stay, or there have been as many as the op says.
ConjugateGradientsCode::Running ConjugateGradientsCode::takeSteps(const Running &begin) {
  SmallVector<Value> initial{t.constant(0)};
  llvm::append_range(initial, flatten(begin));
  SmallVector<Type> types = llvm::map_to_vector(initial, [](Value value) { return value.getType(); });
  SmallVector<Location> locs(types.size(), t.loc);
  auto loop = scf::WhileOp::create(t.builder, t.loc, types, initial);
  OpBuilder::InsertionGuard guard(t.builder);
  Block *before = t.builder.createBlock(&loop.getBefore(), {}, types, locs);
  Value goesOn = arith::AndIOp::create(t.builder, t.loc, isAnyLeft(restore(before->getArguments().drop_front())),
                                       t.below(before->getArgument(0), t.constant(s.iterations)));
  scf::ConditionOp::create(t.builder, t.loc, goesOn, before->getArguments());
  Block *body = t.builder.createBlock(&loop.getAfter(), {}, types, locs);
  Running now = restore(body->getArguments().drop_front());
  step(now);
  SmallVector<Value> next{t.add(body->getArgument(0), 1)};
  llvm::append_range(next, flatten(now));
  scf::YieldOp::create(t.builder, t.loc, next);
  return restore(loop.getResults().drop_front());
}

void ConjugateGradientsCode::emit() {
  place();
  takeState();
  takeKeys();
  Running running = begin();
  code.fence();
  t.barrier();
  give(takeSteps(running));
}

LogicalResult nvvm::emitConjugateGradients(TeamCode &team, ConjugateGradientsOp op, const Systems &systems) {
  Type bf16 = team.builder.getBF16Type();
  if (systems.vectors.type.getElementType() != bf16 || systems.keys.type.getElementType() != bf16)
    return op.emitOpError("cannot be lowered: its vectors and keys are of bf16");
  if (team.threads != ConjugateGradientsOp::threads || systems.result.type.getSize(0) != tokens)
    return op.emitOpError("cannot be lowered: a team of ")
           << ConjugateGradientsOp::threads << " threads takes " << tokens << " tokens";
  if (!ConjugateGradientsOp::takes(systems.result.type.getSize(1)))
    return op.emitOpError("cannot be lowered: channels are a multiple of 16, up to 128");
  ConjugateGradientsCode(team, systems).emit();
  return success();
}
