// What the interpreter rounds when it judges a kernel's digits.
#include "RunTile.h"

using namespace recur;
using namespace recur::interpreter;

namespace {

/// 1 + 2^-10 is a number of f16, and none of bf16.
TEST_F(TileTest, RowsOfF16KeepTheirDigitsWhereAKernelMultipliesThemAsTheyLie) {
  parse(R"(
tile.kernel @plan required 3 workspace 0 {
^bb0(%x: !tile.tile<?x2xf16, global>, %y: !tile.tile<?x2xf32, global>, %z: !tile.tile<?x2xf32, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %kept = tile.alloc : !tile.tile<1x2xbf16, shared, [2, 1]>
  %rounded = tile.alloc : !tile.tile<1x2xbf16, shared, [2, 1]>
  tile.load %x[%zero] rows %one into %kept {tile.keeps_halves} : !tile.tile<?x2xf16, global> into !tile.tile<1x2xbf16, shared, [2, 1]>
  tile.load %x[%zero] rows %one into %rounded : !tile.tile<?x2xf16, global> into !tile.tile<1x2xbf16, shared, [2, 1]>
  tile.store %kept rows %one to %y[%zero] : !tile.tile<1x2xbf16, shared, [2, 1]> to !tile.tile<?x2xf32, global>
  tile.store %rounded rows %one to %z[%zero] : !tile.tile<1x2xbf16, shared, [2, 1]> to !tile.tile<?x2xf32, global>
})");
  std::vector<double> data = {1 + 0x1p-10, 3};
  std::vector<Rows> arrays = {{data, 2}, {{0, 0}, 2}, {{0, 0}, 2}};
  TileOptions options;
  options.rounds = true;
  ASSERT_EQ(runKernel(arrays, 1, options), "");
  EXPECT_EQ(arrays[1].values, data);
  EXPECT_EQ(arrays[2].values, (std::vector<double>{1, 3}));
}

} // namespace
