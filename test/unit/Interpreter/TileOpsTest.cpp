// How tile ops round; what they compute is in test/interpret/tile-*.mlir.
#include "RunTile.h"

using namespace recur;
using namespace recur::interpreter;

namespace {

using TileOps = TileTest;

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

} // namespace
