#include "Conversion/TileToNVVM/StepSums.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

constexpr double log2OfE = 1.4426950408889634;

static uint32_t bitsOfBF16(double value) {
  APFloat number(value);
  bool losesInfo;
  number.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesInfo);
  return uint32_t(number.bitcastToAPInt().getZExtValue());
}

StepSums::StepSums(TeamCode &t, const Place &steps, Base base) : t(t), steps(steps), base(base) {
  group = rowOfLane(t, t.lane);
  pair = pairOfLane(t, t.lane);
  auto own = addressedPiece(t, t.lane, BlockOrder::LeftFirst);
  down = own.row;
  across = t.multiply(own.piece, pieceHalves);
}

bool StepSums::hasMatrices(const Place &place) {
  return place.type.getElementType().isBF16() && place.type.getMemory() == Memory::Shared &&
         place.type.getStride(1) == 1 && place.type.getStride(0) % pieceHalves == 0 &&
         place.alignment % pieceBytes == 0;
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

/// One of two numbers of bf16, as a triangle has them: those of the pair that are there.
Value StepSums::mask(Value first, Value second, uint32_t bits) {
  Value none = t.constant(0);
  return arith::OrIOp::create(t.builder, t.loc, t.select(first, t.constant(int64_t(bits)), none),
                              t.select(second, t.constant(int64_t(int32_t(bits << 16))), none));
}

/// What sums are products with. Steps of bf16 are exact; to the base of two they are taken by factors in two parts.
/// Others come in two parts, to the base that is asked for.
SmallVector<uint32_t> StepSums::parts(bool isNegative) const {
  double sign = isNegative ? -1 : 1;
  if (!areShort())
    return {bitsOfBF16(sign), bitsOfBF16(sign)};
  if (base == Base::Natural)
    return {bitsOfBF16(sign)};
  auto high = double(llvm::bit_cast<float>(bitsOfBF16(log2OfE) << 16));
  return {bitsOfBF16(sign * high), bitsOfBF16(sign * (log2OfE - high))};
}

SmallVector<Words> StepSums::triangle(Reach reach, Within within, bool isNegative) {
  auto isThere = [&](int64_t odd) {
    Value other = t.add(pair, odd);
    switch (reach) {
    case Reach::UpToOwn:
      return t.below(other, t.add(group, 1));
    case Reach::BeforeOwn:
      return t.below(other, group);
    case Reach::BehindOwn:
      return t.below(group, other);
    case Reach::FromOwn:
      return t.below(group, t.add(other, 1));
    }
    llvm_unreachable("no such reach");
  };
  Value first = isThere(0), second = isThere(1), none = t.constant(0);
  SmallVector<Words> factors;
  for (uint32_t bits : parts(isNegative)) {
    Value diagonal = mask(first, second, bits), all = t.constant(int64_t(int32_t(bits << 16 | bits)));
    bool isLower = reach == Reach::UpToOwn || reach == Reach::BeforeOwn, isWhole = within == Within::Block;
    factors.push_back({diagonal, isWhole && isLower ? all : none, isWhole && !isLower ? all : none, diagonal});
  }
  return factors;
}

SmallVector<Words> StepSums::onesIf(Value condition) {
  SmallVector<Words> factors;
  for (uint32_t bits : parts(false)) {
    Value all = t.constant(int64_t(int32_t(bits << 16 | bits)));
    factors.push_back(Words(4, condition ? t.select(condition, all, t.constant(0)) : all));
  }
  return factors;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Words StepSums::loadMatrices(const Place &place, Value row, Value column, bool isAcross) {
  Type word = t.builder.getI32Type();
  MLIRContext *context = t.builder.getContext();
  Type type = LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, word));
  Value four = NVVM::LdMatrixOp::create(
      t.builder, t.loc, type, t.address(place, {Index(row), Index(column)}), t.builder.getI32IntegerAttr(4),
      NVVM::MMALayoutAttr::get(context, isAcross ? NVVM::MMALayout::col : NVVM::MMALayout::row),
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltTypeAttr::get(context, NVVM::LdStMatrixEltType::B16));
  Words words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(t.builder, t.loc, four, i));
  return words;
}

/// Of a block that ends beyond the last index, the steps behind it become zeros.
void StepSums::dropRows(Words &words, Value first, Value indices) {
  auto choice = scf::IfOp::create(t.builder, t.loc, TypeRange(ValueRange(words)),
                                  t.below(indices, t.add(first, blockIndices)), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, words);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  Words kept;
  for (auto [number, word] : llvm::enumerate(words)) { // words of the earlier eight indices and the later ones by turns
    Value row = t.add(t.add(first, pair), FactorLayout::ofHalves().offsetOfLeft(int64_t(number)).row);
    Value areThere = mask(t.below(row, indices), t.below(t.add(row, 1), indices), 0xffff);
    kept.push_back(arith::AndIOp::create(t.builder, t.loc, word, areThere));
  }
  scf::YieldOp::create(t.builder, t.loc, kept);
  words.assign(choice.getResults().begin(), choice.getResults().end());
}

/// Each of a word's two numbers, or one of this size, whose bits are given, with its sign where it is larger; also of
/// what is no number.
Value StepSums::boundSizes(Value word, int64_t bits) {
  if (t.gpu.bounds16) {
    Value bound = LLVM::BitcastOp::create(t.builder, t.loc, twoNumbers(), t.constant(bits << 16 | bits));
    return asWord(call("llvm.nvvm.fmin.xorsign.abs.bf16x2", twoNumbers(),
                       {LLVM::BitcastOp::create(t.builder, t.loc, twoNumbers(), word), bound}));
  }
  // Sizes are in the order of their bits.
  auto masked = [&](int64_t mask) -> Value {
    return arith::AndIOp::create(t.builder, t.loc, word, t.constant(int64_t(int32_t(mask))));
  };
  Value low = arith::MinUIOp::create(t.builder, t.loc, masked(0x7FFF), t.constant(bits));
  Value high = arith::MinUIOp::create(t.builder, t.loc, masked(0x7FFF0000), t.constant(bits << 16));
  Value sizes = arith::OrIOp::create(t.builder, t.loc, low, high);
  return arith::OrIOp::create(t.builder, t.loc, sizes, masked(0x80008000));
}

SmallVector<Words> StepSums::loadShortSteps(Value block, Value channel, Value indices, Value *beyond) {
  Value first = t.multiply(block, blockIndices);
  Words words = loadMatrices(steps, t.add(first, down), t.add(channel, across), /*isAcross=*/true);
  auto bits = int64_t(bitsOfBF16(mostStep));
  if (indices)
    dropRows(words, first, indices);
  for (Value &word : words) { // the smaller size with the step's sign
    Value bounded = boundSizes(word, bits);
    if (beyond)
      *beyond = arith::OrIOp::create(t.builder, t.loc, *beyond, arith::XOrIOp::create(t.builder, t.loc, word, bounded));
    word = bounded;
  }
  return SmallVector<Words>(parts(false).size(), words);
}

SmallVector<Words> StepSums::loadSteps(Value block, Value channel) {
  if (areShort())
    return loadShortSteps(block, channel);
  Value first = t.multiply(block, blockIndices);
  Type word = t.builder.getI32Type(), f32 = t.builder.getF32Type();
  auto bitsOf = [&](Value number) -> Value { return LLVM::BitcastOp::create(t.builder, t.loc, word, number); };
  SmallVector<Words> parts(2);
  for (int64_t eight : {0, 8})
    for (int64_t later : {0, 8}) {
      SmallVector<Value> bits, low;
      for (int64_t odd : {0, 1}) {
        Value row = t.add(t.add(first, pair), later + odd), column = t.add(t.add(channel, group), eight);
        Value step = boundSize(t.get(steps, {row, column}));
        if (base == Base::Two)
          step = t.mul(step, t.number(log2OfE));
        // The first part is cut off and not rounded: a conversion of one number takes as long as eight other
        // instructions, and with either the second part has the digits that the first lacks.
        bits.push_back(bitsOf(step));
        Value cut = arith::AndIOp::create(t.builder, t.loc, bits.back(), t.constant(int64_t(int32_t(0xffff0000))));
        low.push_back(t.minus(step, LLVM::BitcastOp::create(t.builder, t.loc, f32, cut)));
      }
      // The upper halves of both words.
      parts[0].push_back(emitText(t, "prmt.b32 $0, $1, $2, 0x7632;", "=r,r,r", bits, word, TextReach::Operands));
      parts[1].push_back(pack(low[0], low[1]));
    }
  return parts;
}

/// The smaller size with the step's sign; also of what is no number.
Value StepSums::boundSize(Value step) {
  if (t.gpu.bounds16)
    return call("llvm.nvvm.fmin.xorsign.abs.f", t.builder.getF32Type(), {step, t.number(mostStep)});
  step = arith::MaxNumFOp::create(t.builder, t.loc, step, t.number(-mostStep));
  return arith::MinNumFOp::create(t.builder, t.loc, step, t.number(mostStep));
}

Numbers StepSums::loadRows(const Place &place, Value block, int64_t each, int64_t which, Value channel) {
  Value first = t.multiply(block, blockIndices);
  auto rowOf = [&](Value index) { return t.add(t.multiply(t.add(first, index), each), which); };
  Numbers numbers;
  if (!hasMatrices(place)) {
    for (int64_t eight : {0, 8})
      for (int64_t later : {0, 8}) {
        Value column = t.add(t.add(channel, pair), eight);
        llvm::append_range(numbers, t.getNeighbours(place, {Index(rowOf(t.add(group, later))), Index(column)}, 2));
      }
    return numbers;
  }
  Type f32 = t.builder.getF32Type();
  for (Value word : loadMatrices(place, rowOf(down), t.add(channel, across), /*isAcross=*/false)) {
    Value high = arith::AndIOp::create(t.builder, t.loc, word, t.constant(int64_t(int32_t(0xffff0000))));
    Value low = arith::ShLIOp::create(t.builder, t.loc, word, t.constant(16));
    numbers.push_back(LLVM::BitcastOp::create(t.builder, t.loc, f32, low));
    numbers.push_back(LLVM::BitcastOp::create(t.builder, t.loc, f32, high));
  }
  return numbers;
}
