// Sums of steps over the indices of a block of 16, on the matrix units.
//
// Such sums are products with a triangle of ones, in f32. What a product leaves in a lane are the sums of the very
// elements that the lane has of rows loaded as a left factor (dialects/Tile/FragmentLayout.h).
// A triangle's zeros meet steps of indices that are not added up, so steps are bounded: nothing that is no number is a
// factor.
#pragma once
#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"

namespace recur::conversion::nvvm {

/// Of a factor, two numbers of bf16 each.
using Words = llvm::SmallVector<mlir::Value, 4>;
/// Of a lane, in the order of sums: a block has 8 of them, two units of 8 channels.
using Numbers = llvm::SmallVector<mlir::Value, 8>;

/// Which indices of its own block an index adds up.
enum class Reach { UpToOwn, BeforeOwn, BehindOwn, FromOwn };
/// Within how many: the whole block, or an index's own eight.
enum class Within { Block, Eight };
/// What sums are logarithms to.
enum class Base { Two, Natural };

constexpr int64_t blockIndices = tile::ScaledDotsOp::unitIndices, stepChannels = 16;
/// Steps have at most this size. A sum this large has met one, or what is no number.
constexpr double mostStep = 1000, boundedSum = 900;

/// Code of one warp for blocks of 16 indices and 16 channels at a time.
class StepSums {
public:
  StepSums(TeamCode &t, const Place &steps, Base base);

  /// A triangle as a left factor of 16 by 16, for each part that steps are made of.
  llvm::SmallVector<Words> triangle(Reach reach, Within within = Within::Block, bool isNegative = false);
  /// Ones, and ones where the condition holds and zeros elsewhere.
  llvm::SmallVector<Words> ones() { return onesIf({}); }
  llvm::SmallVector<Words> onesIf(mlir::Value condition);

  /// The steps of a block as right factors, for each part: two words for 8 channels.
  llvm::SmallVector<Words> loadSteps(mlir::Value block, mlir::Value channel);
  /// The same of steps that are loaded as matrices. `beyond` is no longer zero once steps of a lane had to be bounded.
  /// Of `indices`, where that is given, what lies behind counts for nothing.
  llvm::SmallVector<Words> loadShortSteps(mlir::Value block, mlir::Value channel, mlir::Value indices = {},
                                          mlir::Value *beyond = nullptr);
  /// Whether a place's numbers are loaded as matrices of 8 rows of 16 bytes.
  static bool hasMatrices(const Place &place);
  /// Adds products of a triangle, or of ones, and steps.
  void addSums(llvm::ArrayRef<Words> factors, llvm::ArrayRef<Words> steps, llvm::MutableArrayRef<mlir::Value> sums) {
    for (size_t part = 0; part < factors.size(); ++part)
      for (size_t eight : {0, 1})
        multiplyByWarp(t, factors[part], llvm::ArrayRef(steps[part]).slice(2 * eight, 2), sums.slice(4 * eight, 4),
                       mlir::NVVM::MMATypes::bf16);
  }
  Numbers sumsFrom(double start) { return Numbers(8, t.number(start)); }

  /// Rows of a block, number `which` of `each` of an index.
  Numbers loadRows(const Place &place, mlir::Value block, int64_t each, int64_t which, mlir::Value channel);

protected:
  /// A lane gives the place of its piece. Across, rows and columns change places in the registers.
  Words loadMatrices(const Place &place, mlir::Value row, mlir::Value column, bool isAcross);
  mlir::Value exp2(mlir::Value x) { return call("llvm.nvvm.ex2.approx.ftz.f", t.builder.getF32Type(), x); }
  mlir::Value call(llvm::StringRef name, mlir::Type type, mlir::ValueRange operands) {
    return mlir::LLVM::CallIntrinsicOp::create(t.builder, t.loc, type, t.builder.getStringAttr(name), operands)
        .getResult(0);
  }
  /// Two numbers as bf16 in a word.
  mlir::Value pack(mlir::Value first, mlir::Value second) {
    return asWord(call("llvm.nvvm.ff2bf16x2.rn", twoNumbers(), {second, first}));
  }
  mlir::Type twoNumbers() { return mlir::VectorType::get(2, t.builder.getBF16Type()); }
  mlir::Value asWord(mlir::Value number) {
    return mlir::LLVM::BitcastOp::create(t.builder, t.loc, t.builder.getI32Type(), number);
  }

  TeamCode &t;
  const Place &steps;
  mlir::Value group, pair;  // the lane's first row and channel
  mlir::Value down, across; // the piece of a block's rows whose address the lane gives

private:
  bool areShort() const { return hasMatrices(steps); }
  mlir::Value mask(mlir::Value first, mlir::Value second, uint32_t bits);
  llvm::SmallVector<uint32_t> parts(bool isNegative) const;
  mlir::Value boundSizes(mlir::Value word, int64_t bits);
  mlir::Value boundSize(mlir::Value step);
  void dropRows(Words &words, mlir::Value first, mlir::Value indices);

  Base base;
};

} // namespace recur::conversion::nvvm
