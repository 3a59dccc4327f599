// The inverse of a unit lower triangular matrix, by blocks of 16 rows.
//
// Blocks on the diagonal are inverted by forward substitution, all at once, a thread a column. Then a warp has a row of
// blocks and goes from the diagonal to the left: block j of row i is -(sum over m of X[i, m] L[m, j]) X[j, j], m from
// j + 1 to i. These are products of the matrix units whose sums become left factors as they lie. Factors are split into
// two numbers of bf16, and the product of the lower ones is left out: with 16 bits in both that is far more exact than
// a result of bf16, and has the range of f32.
//
// Sums run over whole blocks, so row n of block row i meets rows of L behind it, times zero. These may hold anything.
// A warp sees as it loads them whether all are finite; if not, the matrix units get zeros in their place, and rows at
// or behind one that is not finite get no number. Rows before it have the same bits as ever.
//
// A result of f32 may be a left factor of tf32 with its columns exchanged. Its blocks on the diagonal have room for
// both parts of bf16 until all blocks left of them are made.
#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include <limits>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {

constexpr int64_t blockRows = 16, half = 8; // of a block, and of a unit of the matrix units

/// A block's numbers in the registers of a warp, as a factor of the matrix units takes them: four registers for 16 by
/// 16 numbers.
using Split = WarpgroupCode::Split;

class InverseCode {
public:
  InverseCode(TeamCode &t, const Place &matrix, const Place &result, const std::optional<Place> &scale, Value rows,
              bool isExchanged)
      : t(t), code(t), matrix(matrix), result(result), parts(result), scale(scale), rows(rows),
        blocks(matrix.type.getSize(0) / 16), isPrecise(result.type.getElementType().isF32()), isExchanged(isExchanged) {
    if (isPrecise)
      parts.type = halvesOf(result.type);
  }
  /// The tile as one of twice as many numbers of bf16.
  static TileType halvesOf(TileType type) {
    return TileType::get(type.getContext(), {type.getSize(0), 2 * type.getSize(1)},
                         BFloat16Type::get(type.getContext()), type.getMemory(), {2 * type.getStride(0), 1}, 0);
  }

  void emit();

private:
  void invertDiagonal();
  void invertColumn(Value block, Value column);
  void makeBlockRow(Value block);
  void makeLeftOf(Value block, std::vector<Split> &factors);
  void finishBlockRow(Value block);

  /// Loops over the block rows of the running warp that hold rows.
  void dealBlockRows(llvm::function_ref<void(Value)> body) {
    Value count = t.divide(t.add(rows, blockRows - 1), blockRows);
    t.loop(t.warp, count, t.warps(), body);
  }
  Value isBelow(Value a, int64_t b) { return t.below(a, t.constant(b)); }
  Value isFinite(Value number);
  Value upperColumn(Value block) { return t.multiply(block, isPrecise ? 2 * blockRows : blockRows); }
  Value lowerColumn(Value block);
  Split loadDiagonal(Value block);
  Value matrixAddress(Value row, Value column);
  SmallVector<Value> loadMatrices(Value row, Value column, bool isAcross);
  void storeMatrices(ArrayRef<Value> four, Value row, Value column);
  void storePrecise(ArrayRef<Value> numbers, Value row, Value column);
  SmallVector<Value> join(const Split &parts);
  Split negate(const Split &factor);
  void multiply(const Split &left, const Split &right, MutableArrayRef<Value> sums);
  void multiply(ArrayRef<Value> left, ArrayRef<Value> right, MutableArrayRef<Value> sums);
  SmallVector<Value> loadRight(Value row, Value column);
  Value areAllFinite(ArrayRef<Value> numbers);
  void keepFinite(Value i, Value j, SmallVector<Value> &numbers, SmallVector<Value> &sums);
  /// A block's numbers times those of its columns, rounded.
  SmallVector<Value> scaled(ArrayRef<Value> numbers, Value column);
  void scaleDiagonal(Value i, const Split &diagonal);

  TeamCode &t;
  WarpgroupCode code;
  const Place &matrix, &result;
  Place parts; // the result as what holds parts of blocks on the diagonal
  const std::optional<Place> &scale;
  Value rows, inUnit, pair; // a lane's row in a unit's sums, and the first of its two columns there
  int64_t blocks;
  bool isPrecise, isExchanged;
};

} // namespace

Value InverseCode::isFinite(Value number) {
  Value size = math::AbsFOp::create(t.builder, t.loc, number);
  return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLT, size,
                               t.number(std::numeric_limits<double>::infinity()));
}

//===----------------------------------------------------------------------===//
// Blocks on the diagonal
//===----------------------------------------------------------------------===//

/// The first column of what holds the lower parts of a diagonal block's inverse: of bf16 a block of the result, until
/// it is its own, that nobody else writes before. The last block has none at its right.
Value InverseCode::lowerColumn(Value block) {
  if (isPrecise)
    return t.add(upperColumn(block), blockRows);
  return t.multiply(t.select(isBelow(block, blocks - 1), t.add(block, 1), t.add(block, -1)), blockRows);
}

void InverseCode::invertColumn(Value block, Value column) {
  Value first = t.multiply(block, blockRows);
  SmallVector<Value> solved;
  for (int64_t r = 0; r < blockRows; ++r) {
    Value isOne = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, column, t.constant(r));
    Value sum = t.select(isOne, t.number(1), t.number(0));
    constexpr int64_t atOnce = 4; // threads of a block read the same numbers
    for (int64_t s = 0; s < r; s += atOnce) {
      SmallVector<Value> weights = t.getNeighbours(matrix, {Index(first, r), Index(first, s)}, atOnce);
      for (int64_t m = s; m < std::min(r, s + atOnce); ++m)
        sum = t.fma(arith::NegFOp::create(t.builder, t.loc, weights[m - s]), solved[m], sum);
    }
    // Zeros above the diagonal, whatever the row's numbers are.
    solved.push_back(t.select(t.below(t.constant(r), column), t.number(0), sum));
  }
  Value at = t.add(first, column), upperAt = t.add(upperColumn(block), column),
        lowerAt = t.add(lowerColumn(block), column);
  Value factor = scale && blocks == 1 ? t.get(*scale, {Index(at)}) : Value();
  Type f32 = t.builder.getF32Type(), element = parts.type.getElementType();
  for (int64_t r = 0; r < blockRows; ++r) {
    Value number = solved[r];
    if (factor)
      number = t.select(t.below(t.constant(r), column), number, t.mul(number, factor));
    Value upper = t.convert(number, element);
    t.put(upper, parts, {Index(first, r), Index(upperAt)});
    if (blocks > 1)
      t.put(t.minus(number, t.convert(upper, f32)), parts, {Index(first, r), Index(lowerAt)});
  }
}

void InverseCode::invertDiagonal() {
  Value end = t.multiply(t.divide(t.add(rows, blockRows - 1), blockRows), blockRows);
  t.deal(end, [&](Value index) { invertColumn(t.divide(index, blockRows), t.remainder(index, blockRows)); });
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

Value InverseCode::matrixAddress(Value row, Value column) {
  auto own = addressedPiece(t, t.lane, BlockOrder::LeftFirst);
  return t.address(parts, {Index(t.add(row, own.row)), Index(t.add(column, t.multiply(own.piece, pieceHalves)))});
}

/// A block of the parts as a left factor, or across as two units of a right one.
SmallVector<Value> InverseCode::loadMatrices(Value row, Value column, bool isAcross) {
  MLIRContext *context = t.builder.getContext();
  Type type = LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, t.builder.getI32Type()));
  Value all = NVVM::LdMatrixOp::create(
      t.builder, t.loc, type, matrixAddress(row, column), t.builder.getI32IntegerAttr(4),
      NVVM::MMALayoutAttr::get(context, isAcross ? NVVM::MMALayout::col : NVVM::MMALayout::row),
      NVVM::LdStMatrixShapeAttr::get(context, half, half),
      NVVM::LdStMatrixEltTypeAttr::get(context, NVVM::LdStMatrixEltType::B16));
  SmallVector<Value> four;
  for (int64_t i = 0; i < 4; ++i)
    four.push_back(LLVM::ExtractValueOp::create(t.builder, t.loc, all, i));
  return four;
}

/// The two parts of a block of the diagonal, the lower ones where they wait.
Split InverseCode::loadDiagonal(Value block) {
  Value i = t.multiply(block, blockRows);
  Split diagonal{loadMatrices(i, upperColumn(block), false), loadMatrices(i, lowerColumn(block), false)};
  code.syncWarp(); // before something else is put in their place
  return diagonal;
}

void InverseCode::storeMatrices(ArrayRef<Value> four, Value row, Value column) {
  code.storeMatrices(code.addressOf(matrixAddress(row, column)), four, /*isAcross=*/false);
}

/// A block of f32; exchanged, as numbers of tf32, and the first of a lane's two columns lies before those of all lanes'
/// second ones.
void InverseCode::storePrecise(ArrayRef<Value> numbers, Value row, Value column) {
  Value first = wordOfLane(t, t.lane);
  for (auto [n, number] : llvm::enumerate(numbers)) {
    KnownPosition offset = warpSums.offsetOf(int64_t(n));
    int64_t unit = warpSums.columnEightOf(int64_t(n)), second = SumsLayout::secondOf(int64_t(n));
    if (!isExchanged) {
      t.put(number, result, {Index(t.add(row, inUnit), offset.row), Index(t.add(column, pair), offset.column)});
      continue;
    }
    Value rounded = LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI32Type(),
                                                  t.builder.getStringAttr("llvm.nvvm.f2tf32.rna"), number)
                        .getResult(0);
    t.put(LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getF32Type(), rounded), result,
          {Index(t.add(row, inUnit), offset.row), Index(t.add(column, first), unit * half + second * wordsOfPiece)});
  }
}

/// The numbers that two parts add up to, in their order.
SmallVector<Value> InverseCode::join(const Split &parts) {
  SmallVector<Value> numbers;
  for (auto [upper, lower] : llvm::zip(parts.upper, parts.lower)) {
    auto [first, second] = code.unpack(upper);
    auto [firstRest, secondRest] = code.unpack(lower);
    numbers.append({t.plus(first, firstRest), t.plus(second, secondRest)});
  }
  return numbers;
}

Split InverseCode::negate(const Split &factor) {
  Split negative = factor;
  for (SmallVector<Value> *four : {&negative.upper, &negative.lower})
    for (Value &two : *four)
      two = arith::XOrIOp::create(t.builder, t.loc, two, t.constant(0x80008000));
  return negative;
}

void InverseCode::multiply(ArrayRef<Value> left, ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  for (int64_t unit : {0, 1})
    multiplyByWarp(t, left, right.slice(2 * unit, 2), sums.slice(4 * unit, 4), NVVM::MMATypes::bf16);
}

void InverseCode::multiply(const Split &left, const Split &right, MutableArrayRef<Value> sums) {
  multiply(left.lower, right.upper, sums);
  multiply(left.upper, right.lower, sums);
  multiply(left.upper, right.upper, sums);
}

/// The eight numbers of a block of the matrix that this lane has of it as a right factor, unit by unit.
SmallVector<Value> InverseCode::loadRight(Value row, Value column) {
  SmallVector<Value> numbers;
  FactorLayout layout = FactorLayout::ofHalves();
  for (int64_t unit : {0, 1})
    for (int64_t word = 0; word < FactorLayout::rightWords; ++word)
      for (int64_t second : {0, 1})
        numbers.push_back(t.get(matrix, {Index(t.add(row, pair), layout.offsetOfRight(word) + second),
                                         Index(t.add(column, inUnit), unit * half)}));
  return numbers;
}

//===----------------------------------------------------------------------===//
// Numbers that are not finite
//===----------------------------------------------------------------------===//

Value InverseCode::areAllFinite(ArrayRef<Value> numbers) {
  Value zeros = t.number(0);
  for (Value number : numbers)
    zeros = t.fma(number, t.number(0), zeros);
  Value isZero = arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OEQ, zeros, t.number(0));
  return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getI1Type(),
                                       t.builder.getStringAttr("llvm.nvvm.vote.all.sync"),
                                       ValueRange{t.constant(-1), isZero})
      .getResult(0);
}

/// Where not all numbers of the right factor are finite: zeros in their place, and sums that are no numbers for the
/// rows that see them.
void InverseCode::keepFinite(Value i, Value j, SmallVector<Value> &numbers, SmallVector<Value> &sums) {
  SmallVector<Value> all(numbers);
  all.append(sums);
  auto choice = scf::IfOp::create(t.builder, t.loc, ValueRange(all).getTypes(), areAllFinite(numbers),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(t.builder, t.loc, all);
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  SmallVector<Value> given;
  for (Value number : numbers)
    given.push_back(t.select(isFinite(number), number, t.number(0)));
  Value noNumber = t.number(std::numeric_limits<double>::quiet_NaN());
  SmallVector<Value> spoiled =
      t.loop(t.constant(0), t.constant(blockRows), 1, sums, [&](Value row, ValueRange running) {
        SmallVector<Value> next;
        for (auto [n, sum] : llvm::enumerate(running)) {
          KnownPosition offset = warpSums.offsetOf(int64_t(n));
          Value number = t.get(matrix, {Index(t.add(i, row)), Index(t.add(j, pair), offset.column)});
          Value isUnseen = t.below(t.add(inUnit, offset.row), row);
          next.push_back(t.select(arith::OrIOp::create(t.builder, t.loc, isFinite(number), isUnseen), sum, noNumber));
        }
        return next;
      });
  given.append(spoiled);
  scf::YieldOp::create(t.builder, t.loc, given);
  for (auto [n, number] : llvm::enumerate(numbers))
    number = choice.getResult(n);
  for (auto [n, sum] : llvm::enumerate(sums))
    sum = choice.getResult(numbers.size() + n);
}

//===----------------------------------------------------------------------===//
// Rows of blocks
//===----------------------------------------------------------------------===//

void InverseCode::makeBlockRow(Value block) {
  Value i = t.multiply(block, blockRows);
  Split diagonal = loadDiagonal(block);
  if (scale) // nobody else reads the last one
    t.when(t.below(t.constant(blocks - 2), block), [&] { scaleDiagonal(i, diagonal); });
  std::vector<Split> factors{negate(diagonal)};
  makeLeftOf(block, factors);
}

/// The blocks left of those that are there, of which factor n is minus the one n blocks left of the diagonal.
void InverseCode::makeLeftOf(Value block, std::vector<Split> &factors) {
  auto distance = int64_t(factors.size());
  if (distance == blocks)
    return;
  t.when(t.below(t.constant(distance - 1), block), [&] {
    Value i = t.multiply(block, blockRows), j = t.add(i, -distance * blockRows);
    SmallVector<Value> sums(8, t.number(0)), numbers(8, t.number(0));
    for (int64_t n = 0; n < distance; ++n) {
      SmallVector<Value> right = loadRight(t.add(i, -n * blockRows), j);
      if (n == 0)
        keepFinite(i, j, right, sums);
      multiply(factors[n], code.split(right), sums);
    }
    // The sums of two units, of a row and the one eight below it, are a left factor as they lie.
    Value left = t.add(block, -distance);
    multiply(code.split(sums), {loadMatrices(j, upperColumn(left), true), loadMatrices(j, lowerColumn(left), true)},
             numbers);
    Split made = code.split(numbers);
    if (isPrecise)
      storePrecise(numbers, i, j);
    else
      storeMatrices(scale ? scaled(numbers, j) : made.upper, i, j);
    factors.push_back(negate(made));
    makeLeftOf(block, factors);
  });
}

SmallVector<Value> InverseCode::scaled(ArrayRef<Value> numbers, Value column) {
  SmallVector<Value> four;
  for (int64_t unit : {0, 1}) {
    Value scales[] = {t.get(*scale, {Index(t.add(column, pair), unit * half)}),
                      t.get(*scale, {Index(t.add(column, pair), unit * half + 1)})};
    for (int64_t n = 4 * unit; n < 4 * unit + 4; n += 2)
      four.push_back(code.pack(t.mul(numbers[n], scales[0]), t.mul(numbers[n + 1], scales[1])));
  }
  return four;
}

/// Scales of later columns may be no numbers.
void InverseCode::scaleDiagonal(Value i, const Split &diagonal) {
  SmallVector<Value> four = scaled(join(diagonal), i);
  for (auto [n, two] : llvm::enumerate(four)) {
    KnownPosition offset = FactorLayout::ofHalves().offsetOfLeft(int64_t(n));
    Value below = t.add(inUnit, offset.row), right = t.add(pair, offset.column);
    Value firstCounts = t.below(right, t.add(below, 1)), secondCounts = t.below(right, below);
    Value kept = t.select(secondCounts, two, arith::AndIOp::create(t.builder, t.loc, two, t.constant(0xFFFF)));
    two = t.select(firstCounts, kept, t.constant(0));
  }
  storeMatrices(four, i, i);
}

/// The diagonal as it is asked for, and zeros right of it.
void InverseCode::finishBlockRow(Value block) {
  Value i = t.multiply(block, blockRows);
  if (isPrecise) {
    storePrecise(join(loadDiagonal(block)), i, i);
    SmallVector<Value> zeros(8, t.number(0));
    for (int64_t distance = 1; distance < blocks; ++distance)
      t.when(isBelow(block, blocks - distance), [&] { storePrecise(zeros, i, t.add(i, distance * blockRows)); });
    return;
  }
  if (scale)
    t.when(isBelow(block, blocks - 1), [&] { scaleDiagonal(i, loadDiagonal(block)); });
  SmallVector<Value> zeros(4, t.constant(0));
  for (int64_t distance = 1; distance < blocks; ++distance)
    t.when(isBelow(block, blocks - distance), [&] { storeMatrices(zeros, i, t.add(i, distance * blockRows)); });
}

void InverseCode::emit() {
  inUnit = rowOfLane(t, t.lane);
  pair = pairOfLane(t, t.lane);
  invertDiagonal();
  if (blocks == 1)
    return;
  t.barrier();
  dealBlockRows([&](Value block) { makeBlockRow(block); });
  t.barrier();
  dealBlockRows([&](Value block) { finishBlockRow(block); });
}

LogicalResult nvvm::emitInvert(TeamCode &t, InvertOp op, const Place &matrix, const Place &result,
                               const std::optional<Place> &scale, Value rows) {
  TileType type = result.type;
  if (!isInvertedByBlocks(type.getSize(0)))
    return op.emitOpError("cannot be lowered: it has a multiple of 16 rows, up to 128, not ") << type.getSize(0);
  bool isPrecise = type.getElementType().isF32() && !scale && type.getSize(0) > blockRows;
  bool hasMatrices = type.getMemory() == Memory::Shared && (isPrecise || type.getElementType().isBF16()) &&
                     type.getStride(1) == 1 && type.getStride(0) % (isPrecise ? wordsOfPiece : pieceHalves) == 0 &&
                     result.alignment % pieceBytes == 0;
  if (!hasMatrices || matrix.registers)
    return op.emitOpError("cannot be lowered: its result is of bf16, or of f32 and not scaled, and lies in shared "
                          "memory, in rows of whole 16 "
                          "bytes");
  InverseCode(t, matrix, result, scale, rows, op.getExchanged()).emit();
  return success();
}
