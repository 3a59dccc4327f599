// Ops of the tile dialect against a few lines that compute the same, where that says more than numbers do: the others
// are in test/interpret/tile-ops.mlir.
#include "RunTile.h"
#include <cmath>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using ::testing::DoubleNear;
using ::testing::Pointwise;

namespace {

constexpr double tolerance = 1e-14;

/// Kernels that load rows of matrices, run ops on their tiles and store a result.
class TileOps : public TileTest {
protected:
  /// `ops` use the tiles %a and %b of aRows x aColumns and bRows x bColumns numbers, and write %c. The constants %n are
  /// the rows that count, %k and %one what they say.
  void parseOps(std::array<int64_t, 2> a, std::array<int64_t, 2> b, std::array<int64_t, 2> c, int64_t rows,
                const std::string &ops, int64_t inner = 0) {
    auto matrix = [](std::array<int64_t, 2> sizes) {
      return llvm::formatv("!tile.tile<{0}x{1}xf32, local, [{2}, 1]>", sizes[0], sizes[1], sizes[1] + 3).str();
    };
    auto array = [](std::array<int64_t, 2> sizes) {
      return llvm::formatv("!tile.tile<?x{0}xf32, global>", sizes[1]).str();
    };
    parse(llvm::formatv(R"(
!A = {0}
!B = {1}
!C = {2}
tile.kernel @ops required 3 workspace 0 {{
^bb0(%x: {3}, %y: {4}, %z: {5}, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant {6} : i64
  %k = arith.constant {7} : i64
  %ar = arith.constant {8} : i64
  %br = arith.constant {9} : i64
  %a = tile.alloc : !A
  %b = tile.alloc : !B
  %c = tile.alloc : !C
  tile.load %x[%zero] rows %ar into %a : {3} into !A
  tile.load %y[%zero] rows %br into %b : {4} into !B
{10}
  tile.store %c rows %n to %z[%zero] : !C to {5}
})",
                        matrix(a), matrix(b), matrix(c), array(a), array(b), array(c), rows, inner, a[0], b[0], ops));
    arrays = {
        {random(a[0] * a[1], 1), a[1]}, {random(b[0] * b[1], 2), b[1]}, {std::vector<double>(rows * c[1], 77), c[1]}};
    A = arrays[0].values, B = arrays[1].values;
  }

  void expect(const std::vector<double> &want) {
    ASSERT_EQ(runKernel(arrays, 0), "");
    EXPECT_THAT(arrays[2].values, Pointwise(DoubleNear(tolerance), want));
  }

  std::vector<Rows> arrays;
  std::vector<double> A, B;
};

TEST_F(TileOps, MapRepeatsWhatHasSizeOneOrNoDimension) {
  parseOps({5, 3}, {1, 3}, {5, 3}, 4, R"(
  tile.map %a, %b into %c rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] : !A, !B into !C {
  ^bb0(%p: f32, %q: f32):
    %row = tile.index 0
    %column = tile.index 1
    %same = arith.cmpi eq, %row, %column : i32
    %product = arith.mulf %p, %q : f32
    %e = math.exp %p : f32
    %chosen = arith.select %same, %product, %e : f32
    tile.yield %chosen : f32
  })");
  std::vector<double> want;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      want.push_back(i == j ? A[i * 3 + j] * B[j] : std::exp(A[i * 3 + j]));
  expect(want);
}

TEST_F(TileOps, PairsHaveZerosBesideAnOddLastRow) {
  parseOps({5, 3}, {5, 1}, {3, 6}, 2, R"(
  %s = tile.view %b offset 0 : !B to !tile.tile<5xf32, local, [4]>
  %p = tile.alloc : !tile.tile<3x3x2xbf16, local, [16, 2, 1]>
  %three = arith.constant 3 : i64
  tile.pair %a scaled_rows %s rows %three into %p
      : !A scaled_rows !tile.tile<5xf32, local, [4]> into !tile.tile<3x3x2xbf16, local, [16, 2, 1]>
  %flat = tile.view %p offset 0 : !tile.tile<3x3x2xbf16, local, [16, 2, 1]> to !tile.tile<3x6xbf16, local, [16, 1]>
  tile.map %flat into %c rows %n dims [array<i64: 0, 1>] : !tile.tile<3x6xbf16, local, [16, 1]> into !C {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  })");
  std::vector<double> want;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int half = 0; half < 2; ++half)
        want.push_back(2 * i + half < 3 ? A[(2 * i + half) * 3 + j] * B[2 * i + half] : 0);
  expect(want);
}

TEST_F(TileOps, ProductOfPairs) {
  // 3 inner indices of 4: what lies beside the last is zero in the right factor.
  parseOps({4, 4}, {4, 3}, {4, 3}, 4, R"(
  %left = tile.alloc : !tile.tile<4x4xbf16, local, [16, 1]>
  tile.map %a into %left rows %n dims [array<i64: 0, 1>] : !A into !tile.tile<4x4xbf16, local, [16, 1]> {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  %right = tile.alloc : !tile.tile<2x3x2xbf16, local, [16, 2, 1]>
  tile.pair %b rows %k into %right : !B into !tile.tile<2x3x2xbf16, local, [16, 2, 1]>
  tile.product %left, %right into %c rows %n inner %k
      : !tile.tile<4x4xbf16, local, [16, 1]>, !tile.tile<2x3x2xbf16, local, [16, 2, 1]> into !C)",
           /*inner=*/3);
  std::vector<double> want(12);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        want[i * 3 + j] += A[i * 4 + k] * B[k * 3 + j];
  expect(want);
}

TEST_F(TileOps, PairedColumnsAreThoseOfTheTranspose) {
  // A product with a^T in pairs: c = b a^T, and then the same from the left: a b^T's transpose.
  parseOps({4, 6}, {5, 6}, {5, 4}, 5, R"(
  %rounded = tile.alloc : !tile.tile<4x6xbf16, local, [16, 1]>
  tile.map %a into %rounded rows %ar dims [array<i64: 0, 1>] : !A into !tile.tile<4x6xbf16, local, [16, 1]> {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  %right = tile.alloc : !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  tile.pair transposed %rounded rows %ar into %right
      : !tile.tile<4x6xbf16, local, [16, 1]> into !tile.tile<3x4x2xbf16, local, [16, 2, 1]>
  %other = tile.alloc : !tile.tile<5x6xbf16, local, [16, 1]>
  tile.map %b into %other rows %n dims [array<i64: 0, 1>] : !B into !tile.tile<5x6xbf16, local, [16, 1]> {
  ^bb0(%x0: f32):
    tile.yield %x0 : f32
  }
  %left = tile.alloc : !tile.tile<3x5x2xbf16, local, [16, 2, 1]>
  tile.pair transposed %other rows %n into %left
      : !tile.tile<5x6xbf16, local, [16, 1]> into !tile.tile<3x5x2xbf16, local, [16, 2, 1]>
  tile.product transposed %left, %right into %c rows %n inner %k
      : !tile.tile<3x5x2xbf16, local, [16, 2, 1]>, !tile.tile<3x4x2xbf16, local, [16, 2, 1]> into !C)",
           /*inner=*/6);
  std::vector<double> want(20);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 6; ++k)
        want[i * 4 + j] += B[i * 6 + k] * A[j * 6 + k];
  expect(want);
}

/// The product of the scales that lie between a row of an index and the columns of an earlier one.
double scaleBetween(const std::vector<double> &scales, int channels, int channel, int own, int index, int point) {
  double product = 1;
  for (int i = index + 1; i <= (point == -1 ? own - 1 : own); ++i)
    product *= scales[i * channels + channel];
  return product;
}

TEST_F(TileOps, ScaledDotsGoBackToTheStartOfTheirBlock) {
  // Two rows an index, one of which the scale of its own index does not reach, and two columns.
  parseOps({8, 3}, {12, 3}, {8, 8}, 6, R"(
  %columns = tile.view %b offset 0 : !B to !tile.tile<8x3xf32, local, [6, 1]>
  %scales = tile.view %b offset 48 : !B to !tile.tile<4x3xf32, local, [6, 1]>
  tile.map into %c rows %n dims [] into !C {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.scaled_dots %a, %columns scales %scales into %c rows %n block 2 points [-1, 1] of [0, 1]
      : !A, !tile.tile<8x3xf32, local, [6, 1]> scales !tile.tile<4x3xf32, local, [6, 1]> into !C)");
  std::vector<double> scales(B.begin() + 24, B.end()), want(48, 7);
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 8; ++column) {
      int own = row / 2, point = row % 2 ? 1 : -1, index = column / 2, step = column % 2;
      if (index > own || index / 2 != own / 2 || (index == own && step >= point))
        continue;
      double sum = 0;
      for (int c = 0; c < 3; ++c)
        sum += A[row * 3 + c] * scaleBetween(scales, 3, c, own, index, point) * B[column * 3 + c];
      want[row * 8 + column] = sum;
    }
  expect(want);
}

TEST_F(TileOps, ScaledSumsGoBackToTheFirstIndex) {
  for (bool perChannel : {true, false}) {
    std::string type = perChannel ? "!tile.tile<4x3xf32, local, [6, 1]>" : "!tile.tile<4xf32, local, [6]>";
    parseOps({8, 4}, {8, 3}, {8, 3}, 8,
             R"(
  %values = tile.view %b offset 0 : !B to !tile.tile<4x3xf32, local, [6, 1]>
  %scales = tile.view %b offset 24 : !B to )" +
                 type + R"(
  tile.scaled_sums %a, %values scales %scales into %c rows %n points [-1, 1] of [0]
      : !A, !tile.tile<4x3xf32, local, [6, 1]> scales )" +
                 type + " into !C");
    std::vector<double> scales(B.begin() + 12, B.end()), want;
    for (int row = 0; row < 8; ++row)
      for (int c = 0; c < 3; ++c) {
        int own = row / 2, point = row % 2 ? 1 : -1;
        double sum = 0;
        for (int index = 0; index <= own - (point == -1); ++index)
          sum += A[row * 4 + index] * scaleBetween(scales, 3, perChannel ? c : 0, own, index, point) * B[index * 3 + c];
        want.push_back(sum);
      }
    expect(want);
  }
}

TEST_F(TileOps, ScaledSumsSolveByForwardSubstitution) {
  parseOps({4, 4}, {8, 2}, {4, 2}, 4, R"(
  %values = tile.view %b offset 0 : !B to !tile.tile<4x2xf32, local, [5, 1]>
  %scales = tile.view %b offset 20 : !B to !tile.tile<4x2xf32, local, [5, 1]>
  tile.map %values into %c rows %n dims [array<i64: 0, 1>] : !tile.tile<4x2xf32, local, [5, 1]> into !C {
  ^bb0(%p: f32):
    tile.yield %p : f32
  }
  tile.scaled_sums solve %a, %c scales %scales into %c rows %n points [1] of [0]
      : !A, !C scales !tile.tile<4x2xf32, local, [5, 1]> into !C)");
  std::vector<double> scales(B.begin() + 8, B.end()), X(B.begin(), B.begin() + 8);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < i; ++k)
      for (int c = 0; c < 2; ++c)
        X[i * 2 + c] -= A[i * 4 + k] * scaleBetween(scales, 2, c, i, k, 1) * X[k * 2 + c];
  expect(X);
}

//===----------------------------------------------------------------------===//
// Rounding, swizzles and blocks
//===----------------------------------------------------------------------===//

TEST_F(TileOps, RoundingIsThatOfEachElement) {
  parse(R"(
!A = !tile.tile<?x1xbf16, global>
!B = !tile.tile<?x1xf32, global>
!T = !tile.tile<1x1xf32, local, [1, 1]>
!H = !tile.tile<1x1xf16, shared, [1, 1]>
tile.kernel @round required 3 workspace 64 {
^bb0(%x: !A, %y: !B, %z: !B, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !T
  %h = tile.alloc at 0 : !H
  tile.load %x[%zero] rows %one into %t : !A into !T
  tile.map %t into %t rows %one dims [array<i64: 0, 1>] : !T into !T {
  ^bb0(%a: f32):
    %tiny = arith.constant 0x33000000 : f32
    %s = arith.addf %a, %tiny : f32
    tile.yield %s : f32
  }
  tile.map %t into %h rows %one dims [array<i64: 0, 1>] : !T into !H {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.store %t rows %one to %y[%zero] : !T to !B
  tile.store %h rows %one to %z[%zero] : !H to !B
})");
  double x = 1.2345;
  std::vector<Rows> arrays = {{{x}, 1}, {{0}, 1}, {{0}, 1}};
  EXPECT_EQ(runKernel(arrays, 0, {/*rounds=*/true}), "");
  EXPECT_EQ(arrays[1].values[0], 1.234375); // to bf16, to which 2^-25 adds nothing in float32
  EXPECT_EQ(arrays[2].values[0], 1.234375);
  EXPECT_EQ(runKernel(arrays, 0), "");
  EXPECT_EQ(arrays[1].values[0], x + 0x1p-25);
  EXPECT_EQ(arrays[2].values[0], x + 0x1p-25);
}

TEST_F(TileOps, ASwizzledTileHoldsWhatWasWritten) {
  for (int swizzle : {32, 64, 128}) { // 8, 4 and 2 panels
    std::string type = "!tile.tile<16x128xbf16, shared, [" + std::to_string(swizzle / 2) + ", 1], swizzle " +
                       std::to_string(swizzle) + ">";
    parse(R"(
!A = !tile.tile<?x128xf32, global>
tile.kernel @swizzle required 2 workspace 0 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %t = tile.alloc at 1024 : )" +
          type + R"(
  tile.load %x[%zero] rows %tokens into %t : !A into )" +
          type + R"(
  tile.store %t rows %tokens to %y[%zero] : )" +
          type + R"( to !A
})");
    std::vector<Rows> arrays = {{random(16 * 128, 3), 128}, {std::vector<double>(16 * 128), 128}};
    EXPECT_EQ(runKernel(arrays, 16), "");
    EXPECT_EQ(arrays[1].values, arrays[0].values);
  }
}

TEST_F(TileOps, MapOfBlocksLeavesTheOthers) {
  for (std::string blocks : {"below", "diagonal", "above"}) {
    parseOps({4, 4}, {1, 1}, {4, 4}, 4,
             R"(
  tile.map into %c rows %n dims [] into !C {
    %number = arith.constant 7.0 : f32
    tile.yield %number : f32
  }
  tile.map %a into %c rows %n dims [array<i64: 0, 1>] blocks )" +
                 blocks + R"( 2 : !A into !C {
  ^bb0(%p: f32):
    tile.yield %p : f32
  })");
    std::vector<double> want;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        want.push_back((blocks == "below"   ? j / 2 < i / 2
                        : blocks == "above" ? j / 2 > i / 2
                                            : j / 2 == i / 2)
                           ? A[i * 4 + j]
                           : 7);
    expect(want);
  }
}

} // namespace
