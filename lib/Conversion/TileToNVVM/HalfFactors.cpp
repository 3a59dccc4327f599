#include "Conversion/TileToNVVM/HalfFactors.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

SmallVector<Value> nvvm::roundToHalves(TeamCode &t, ValueRange numbers) {
  SmallVector<Value> packed;
  for (size_t i = 0; i < numbers.size(); i += 2)
    packed.push_back(emitText(t, "cvt.rn.satfinite.f16x2.f32 $0, $2, $1;", "=r,f,f", {numbers[i], numbers[i + 1]},
                              t.builder.getI32Type(), TextReach::Operands));
  return packed;
}

SmallVector<Value> nvvm::unpackHalves(TeamCode &t, ArrayRef<Value> packed) {
  SmallVector<Value> numbers;
  for (Value both : packed) {
    Value pair = LLVM::BitcastOp::create(t.builder, t.loc, VectorType::get(2, t.builder.getF16Type()), both);
    for (int64_t i : {0, 1})
      numbers.push_back(LLVM::FPExtOp::create(t.builder, t.loc, t.builder.getF32Type(),
                                              LLVM::ExtractElementOp::create(t.builder, t.loc, pair, t.constant(i))));
  }
  return numbers;
}

Value nvvm::lackDigits(TeamCode &t, ValueRange numbers) {
  // A number below 2^-14 is off by up to 2^-25. So where the numbers of a row are 2^-14 on average, all of them
  // together are off by 2^-11 of their sum. A row is in four lanes: one by itself may have none but what has decayed.
  constexpr double most = 65504;
  const double least = 0x1p-14 * wordsOfPiece * double(numbers.size()) / 2;
  constexpr int64_t rows = 2, chains = 2; // sums of each row, which do not wait for each other
  WarpgroupCode code(t);
  Value sums[rows][chains];
  size_t counts[rows] = {};
  for (auto [index, number] : llvm::enumerate(numbers)) {
    int64_t row = SumsLayout::lowerOf(int64_t(index));
    Value &sum = sums[row][counts[row]++ % chains], size = math::AbsFOp::create(t.builder, t.loc, number);
    sum = sum ? t.plus(sum, size) : size;
  }
  auto compare = [&](arith::CmpFPredicate predicate, Value a, double b) -> Value {
    return arith::CmpFOp::create(t.builder, t.loc, predicate, a, t.number(b));
  };
  Value lacks;
  for (auto &own : sums) {
    Value sum = t.plus(own[0], own[1]);
    for (int64_t distance : {1, 2})
      sum = t.plus(sum, code.exchange(sum, distance));
    Value isBeyond = compare(arith::CmpFPredicate::UGT, sum, most); // or no number
    Value isSmall = arith::AndIOp::create(t.builder, t.loc, compare(arith::CmpFPredicate::OLT, sum, least),
                                          compare(arith::CmpFPredicate::OGT, sum, 0));
    Value is = arith::OrIOp::create(t.builder, t.loc, isBeyond, isSmall);
    lacks = lacks ? arith::OrIOp::create(t.builder, t.loc, lacks, is).getResult() : is;
  }
  return lacks;
}

void nvvm::addProductOfRest(TeamCode &t, ValueRange numbers, const PlacedFactor &right, bool isAcross,
                            MutableArrayRef<Value> sums) {
  // Exponents of f32: of the smallest number by which a row goes, the largest one that f32 has, the sum of those of a
  // power of two and of its inverse, and how far sums may be above what rounding left. Then none becomes infinite.
  constexpr int64_t bit = 23, least = int64_t(127 - 60) << bit, most = int64_t(253) << bit, both = int64_t(254) << bit;
  constexpr int64_t above = int64_t(100) << bit, size = 0x7FFFFFFF, exponent = int64_t(255) << bit;
  Type f32 = t.builder.getF32Type(), i32 = t.builder.getI32Type();
  WarpgroupCode code(t);
  // Of four words of a factor. Numbers are rounded again each time, one by one: then neither LLVM nor ptxas sees that
  // it is what has been found before, for which registers have no room.
  constexpr size_t numbersOfFactor = 2 * FactorLayout::leftWords;
  auto restOf = [&](size_t factor) {
    SmallVector<Value> rest;
    for (Value number : numbers.slice(numbersOfFactor * factor, numbersOfFactor)) {
      Value half = emitText(t, "cvt.rn.satfinite.f16.f32 $0, $1;", "=h,f", number, t.builder.getI16Type());
      half = LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getF16Type(), half);
      rest.push_back(t.minus(number, LLVM::FPExtOp::create(t.builder, t.loc, f32, half)));
    }
    return rest;
  };
  auto rowOf = [](size_t index) { return SumsLayout::lowerOf(int64_t(index)); };
  // Sizes are in the order of their bits.
  Value largest[2], largestSum[2], forth[2], back[2];
  auto find = [&](Value(&all)[2], ArrayRef<Value> numbers) {
    for (auto [index, number] : llvm::enumerate(numbers)) {
      Value bits = LLVM::BitcastOp::create(t.builder, t.loc, i32, number);
      bits = arith::AndIOp::create(t.builder, t.loc, bits, t.constant(size));
      Value &own = all[rowOf(index)];
      own = own ? arith::MaxSIOp::create(t.builder, t.loc, own, bits).getResult() : bits;
    }
  };
  for (size_t factor = 0; factor < right.places.size(); ++factor)
    find(largest, restOf(factor));
  find(largestSum, sums);
  for (int64_t row : {0, 1}) {
    Value power = arith::MaxSIOp::create(t.builder, t.loc, largest[row], t.add(largestSum[row], -above));
    for (int64_t distance : {1, 2})
      power = arith::MaxSIOp::create(t.builder, t.loc, power, code.exchange(power, distance));
    power = arith::MaxSIOp::create(t.builder, t.loc, power, t.constant(least));
    power = arith::AndIOp::create(t.builder, t.loc, power, t.constant(exponent));
    power = arith::MinSIOp::create(t.builder, t.loc, power, t.constant(most));
    back[row] = LLVM::BitcastOp::create(t.builder, t.loc, f32, power);
    forth[row] = LLVM::BitcastOp::create(t.builder, t.loc, f32, t.subtract(t.constant(both), power));
  }
  for (auto [index, sum] : llvm::enumerate(sums))
    sum = t.mul(sum, forth[rowOf(index)]);
  std::unique_ptr<MatrixUnit> unit = makeWarpUnit();
  for (auto [factor, place] : llvm::enumerate(right.places)) {
    SmallVector<Value> rest = restOf(factor), words;
    for (auto [index, number] : llvm::enumerate(rest))
      number = t.mul(number, forth[rowOf(index)]);
    for (size_t i = 0; i < numbersOfFactor; i += 2)
      words.push_back(code.pack(rest[i], rest[i + 1], t.builder.getF16Type()));
    llvm::copy(unit->begin(t, {FactorKind::F16, words, right.factor, place, 2 * int64_t(sums.size()), isAcross,
                               ValueRange(ArrayRef<Value>(sums))}),
               sums.begin());
  }
  for (auto [index, sum] : llvm::enumerate(sums))
    sum = t.mul(sum, back[rowOf(index)]);
}
