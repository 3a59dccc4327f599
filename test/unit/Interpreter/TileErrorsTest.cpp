// What is wrong with a plan is said by the interpreter, with the op and the element.
#include "RunTile.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

struct Mistake {
  const char *name;
  const char *ops;   // of a kernel with an array %x of 4 rows of 4 numbers and an array %y of as many
  const char *error; // with line numbers counted from the first line of `ops`
};

class Mistakes : public TileTest, public ::testing::WithParamInterface<Mistake> {};

/// The message's line numbers are made to begin with the ops.
TEST_P(Mistakes, AreNamed) {
  std::string head = R"(
!A = !tile.tile<?x4xf32, global>
!T = !tile.tile<4x4xf32, local, [4, 1]>
!V = !tile.tile<4xf32, local, [1]>
tile.kernel @plan required 2 workspace 256 {
^bb0(%x: !A, %y: !A, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %four = arith.constant 4 : i64
  %five = arith.constant 5 : i64
)";
  ASSERT_NO_FATAL_FAILURE(parse(head + GetParam().ops + "\n}"));
  std::vector<Rows> arrays = {{random(16, 1), 4}, {random(16, 2), 4}};
  std::string error = runKernel(arrays, 4);
  int64_t lines = std::count(head.begin(), head.end(), '\n');
  for (size_t at = 0; (at = error.find("plan:", at)) != std::string::npos;) {
    at += 5;
    size_t end = error.find(':', at);
    std::string line = std::to_string(std::stoll(error.substr(at, end - at)) - lines);
    error.replace(at, end - at, line);
  }
  EXPECT_EQ(error, GetParam().error);
}

constexpr Mistake places[] = {
    {"Workspace", "%t = tile.alloc at 196 : !T",
     "tile.alloc (plan:1:6): the tile ends at 260, behind the workspace of 256 bytes"},
    {"Misplaced", "%t = tile.alloc at 2 : !T", "tile.alloc (plan:1:6): a tile of 4-byte elements cannot begin at 2"},
    {"Swizzled", "%t = tile.alloc at 512 : !tile.tile<8x64xbf16, shared, [64, 1], swizzle 128>",
     "tile.alloc (plan:1:6): a tile with swizzle 128 begins at a multiple of 1024, not at 512"},
    {"NegativeStride", "%t = tile.alloc at 0 : !tile.tile<4xf32, local, [-1]>",
     "tile.alloc (plan:1:6): the strides of a tile of its own cannot be negative"},
    {"ViewRow", R"(%t = tile.alloc : !T
%v = tile.view %t[%four] offset 0 : !T to !V)",
     "tile.view (plan:2:6): row 4 of a tile that has 4"},
    {"ViewEnd", R"(%t = tile.alloc : !T
%v = tile.view %t[%two] offset 5 : !T to !V)",
     "tile.view (plan:2:6): the view lies at the bytes 52 to 68 of a tile that has 64"},
    {"OtherIteration", R"(%t = tile.alloc at 0 : !T
%begin = arith.constant 0 : index
%step = arith.constant 1 : index
%end = arith.constant 2 : index
scf.parallel (%i) = (%begin) to (%end) step (%step) {
  %n = arith.index_cast %i : index to i64
  %isLast = arith.cmpi eq, %n, %one : i64
  scf.if %isLast {
    tile.load %x[%zero] rows %four into %t : !A into !T
  }
  tile.store %t rows %four to %y[%zero] : !T to !A
})",
     "tile.store (plan:11:3): element [0, 0] has no meaning: tile.store (plan:11:3) read element [0, 0] of a tile, "
     "which "
     "nothing had written"},
    {"LoadTileRows", R"(%t = tile.alloc : !T
tile.load %x[%zero] rows %five into %t : !A into !T)",
     "tile.load (plan:2:1): 5 rows of a tile that has 4"},
    {"LoadArrayRows", R"(%t = tile.alloc : !T
tile.load %x[%one] rows %four into %t : !A into !T)",
     "tile.load (plan:2:1): rows 1 to 4 of an array that has 4"},
    {"NegativeRows", R"(%t = tile.alloc : !T
%n = arith.subi %zero, %one : i64
tile.load %x[%zero] rows %n into %t : !A into !T)",
     "tile.load (plan:3:1): -1 rows of a tile that has 4"},
    {"StoreArrayRows", R"(%t = tile.alloc : !T
tile.load %x[%zero] rows %four into %t : !A into !T
tile.store %t rows %two to %y[%five] : !T to !A)",
     "tile.store (plan:3:1): rows 5 to 6 of an array that has 4"},
    {"MapRows", R"(%t = tile.alloc : !T
tile.map into %t rows %five dims [] into !T {
  %a = arith.constant 1.0 : f32
  tile.yield %a : f32
})",
     "tile.map (plan:2:1): 5 rows of a tile that has 4"},
    {"ScanRows", R"(%t = tile.alloc : !V
tile.scan %t all %t rows %five dims [array<i64: 0>] start 0.0 : !V all !V {
^bb0(%u: f32, %a: f32):
  tile.yield %a, %a : f32, f32
})",
     "tile.scan (plan:2:1): 5 rows of a tile that has 4"},
    {"ProductInner", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.product %t, %t into %u rows %four inner %five : !T, !T into !T)",
     "tile.product (plan:3:1): 5 inner indices of factors that have 4"},
    {"ProductScale", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
%s = tile.alloc : !tile.tile<3xf32, local, [1]>
tile.product %t, %t into %u rows %four inner %four plus %u scaled_rows %s : !T, !T into !T plus !T scaled_rows !tile.tile<3xf32, local, [1]>)",
     "tile.product (plan:4:1): scales 4 rows by 3 numbers"},
    {"ScanInitial", R"(%t = tile.alloc : !T
%s = tile.alloc : !tile.tile<3xf32, local, [1]>
tile.scan %t initial %s all %t rows %four dims [array<i64: 0, 1>] start 0.0 : !T initial !tile.tile<3xf32, local, [1]> all !T {
^bb0(%u: f32, %a: f32):
  tile.yield %a, %a : f32, f32
})",
     "tile.scan (plan:3:1): begins with 3 numbers, but has 4 running ones"},
    {"ScanLast", R"(%t = tile.alloc : !T
%s = tile.alloc : !tile.tile<3xf32, local, [1]>
tile.scan %t all %t last %s rows %four dims [array<i64: 0, 1>] start 0.0 : !T all !T last !tile.tile<3xf32, local, [1]> {
^bb0(%u: f32, %a: f32):
  tile.yield %a, %a : f32, f32
})",
     "tile.scan (plan:3:1): ends with [4] numbers, but gives them to [3]"},
    {"DotsBlock", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.scaled_dots %t, %t scales %t into %u rows %four block 0 points [1] of [0] : !T, !T scales !T into !T)",
     "tile.scaled_dots (plan:3:1): a block of 0 indices"},
    {"SumsChannels", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
%s = tile.view %u offset 0 : !T to !tile.tile<4x3xf32, local, [4, 1]>
%v = tile.alloc : !T
tile.scaled_sums %t, %t scales %s into %v rows %four points [1] of [0] : !T, !T scales !tile.tile<4x3xf32, local, [4, 1]> into !T)",
     "tile.scaled_sums (plan:5:1): values, scales and the result have other channels"},
    {"SumsSolve", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.scaled_sums solve %t, %t scales %t into %u rows %four points [1] of [0] : !T, !T scales !T into !T)",
     "tile.scaled_sums (plan:3:1): the values of a solve are its result"},
};
INSTANTIATE_TEST_SUITE_P(Places, Mistakes, ::testing::ValuesIn(places),
                         [](const auto &info) { return info.param.name; });

constexpr Mistake meanings[] = {
    {"Unwritten", R"(%t = tile.alloc : !T
tile.load %x[%zero] rows %four into %t : !A into !T
%u = tile.alloc : !T
tile.store %u rows %one to %y[%zero] : !T to !A)",
     "tile.store (plan:4:1): element [0, 0] has no meaning: tile.store (plan:4:1) read element [0, 0] of a tile, which "
     "nothing had written"},
    {"BehindRows", R"(%t = tile.alloc : !T
tile.load %x[%zero] rows %two into %t : !A into !T
tile.store %t rows %four to %y[%zero] : !T to !A)",
     "tile.store (plan:3:1): element [2, 0] has no meaning: tile.load (plan:2:1) left element [2, 0] of its result "
     "behind its last row"},
    {"Computed", R"(%t = tile.alloc : !T
tile.load %x[%zero] rows %two into %t : !A into !T
tile.map %t into %t rows %four dims [array<i64: 0, 1>] : !T into !T {
^bb0(%a: f32):
  %b = arith.negf %a : f32
  %c = math.exp %b : f32
  %zero32 = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %c, %zero32 : f32
  %d = arith.select %positive, %zero32, %c : f32
  tile.yield %d : f32
}
tile.store %t rows %four to %y[%zero] : !T to !A)",
     "tile.store (plan:12:1): element [2, 0] has no meaning: tile.load (plan:2:1) left element [2, 0] of its result "
     "behind its last row"},
    {"InnerOfAProduct", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.load %x[%zero] rows %two into %t : !A into !T
tile.product transposed %t, %t into %u rows %four inner %four : !T, !T into !T
tile.store %u rows %one to %y[%zero] : !T to !A)",
     "tile.store (plan:5:1): element [0, 0] has no meaning: tile.load (plan:3:1) left element [2, 0] of its result "
     "behind its last row"},
    {"RowsOfATranspose", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.load %x[%zero] rows %four into %t : !A into !T
tile.transpose %t rows %two into %u : !T into !T
tile.store %u rows %four to %y[%zero] : !T to !A)",
     "tile.store (plan:5:1): element [0, 2] has no meaning: tile.transpose (plan:4:1) left element [0, 2] of its "
     "result behind its last row"},
    {"SolveOfMissingRows", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.load %x[%zero] rows %one into %t : !A into !T
tile.load %x[%zero] rows %four into %u : !A into !T
tile.solve %t, %u rows %two : !T, !T
tile.store %u rows %two to %y[%zero] : !T to !A)",
     "tile.store (plan:6:1): element [1, 0] has no meaning: tile.load (plan:3:1) left element [1, 0] of its result "
     "behind its last row"},
    {"Overwritten", R"(%t = tile.alloc at 0 : !T
%u = tile.alloc at 32 : !T
tile.load %x[%zero] rows %four into %t : !A into !T
tile.load %x[%zero] rows %four into %u : !A into !T
tile.store %t rows %four to %y[%zero] : !T to !A)",
     "tile.store (plan:5:1): element [2, 0] has no meaning: tile.store (plan:5:1) read element [2, 0] of a tile, where "
     "the tile of tile.alloc (plan:2:6) had been written last"},
    {"OverwrittenInHalf", R"(%t = tile.alloc at 0 : !V
%u = tile.alloc at 6 : !tile.tile<1xbf16, local, [1]>
tile.map into %t rows %four dims [] into !V {
  %a = arith.constant 1.0 : f32
  tile.yield %a : f32
}
tile.map into %u rows %one dims [] into !tile.tile<1xbf16, local, [1]> {
  %a = arith.constant 1.0 : f32
  tile.yield %a : f32
}
%v = tile.view %t offset 0 : !V to !tile.tile<1x4xf32, local, [4, 1]>
tile.store %v rows %one to %y[%zero] : !tile.tile<1x4xf32, local, [4, 1]> to !A)",
     "tile.store (plan:12:1): element [0, 1] has no meaning: tile.store (plan:12:1) read element [0, 1] of a tile, "
     "where the tile of tile.alloc (plan:2:6) had been written last"},
    {"Triangle", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.load %x[%zero] rows %four into %t : !A into !T
tile.product %t, %t into %u rows %four inner %four result_triangle [1, 1] : !T, !T into !T
tile.store %u rows %four to %y[%zero] : !T to !A)",
     "tile.store (plan:5:1): element [0, 1] has no meaning: tile.product (plan:4:1) left element [0, 1] out of its "
     "result, which is a triangle"},
    {"AllocatedAgain", R"(scf.for %i = %zero to %two step %one : i64 {
  %t = tile.alloc at 0 : !T
  %first = arith.cmpi eq, %i, %zero : i64
  scf.if %first {
    tile.load %x[%zero] rows %four into %t : !A into !T
  }
  tile.store %t rows %four to %y[%zero] : !T to !A
})",
     "tile.store (plan:7:3): element [0, 0] has no meaning: tile.store (plan:7:3) read element [0, 0] of a tile, which "
     "nothing had written"},
};
INSTANTIATE_TEST_SUITE_P(Meanings, Mistakes, ::testing::ValuesIn(meanings),
                         [](const auto &info) { return info.param.name; });

constexpr Mistake promises[] = {
    {"LeftTriangle", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.map into %t rows %four dims [] into !T {
  %a = arith.constant 0.5 : f32
  tile.yield %a : f32
}
tile.product %t, %t into %u rows %four inner %four left_triangle [1, 1] : !T, !T into !T)",
     "tile.product (plan:7:1): left_triangle promises 0 at [0, 1] of the left factor, which is 0.500000"},
    {"LeftTriangleOfNothing", R"(%t = tile.alloc : !T
%u = tile.alloc : !T
tile.product %t, %t into %u rows %four inner %four left_triangle [2, 1] : !T, !T into !T)",
     "tile.product (plan:3:1): left_triangle promises 0 at [0, 1] of the left factor, which has no meaning: "
     "tile.product (plan:3:1) read element [0, 1] of a tile, which nothing had written"},
    {"ProductOnItsFactor", R"(%t = tile.alloc at 0 : !T
%u = tile.alloc at 48 : !T
tile.product %t, %t into %u rows %four inner %four : !T, !T into !T)",
     "tile.product (plan:3:1): element [0, 0] of the result lies where element [3, 0] of an operand does"},
    {"MapOnAnotherRow", R"(%t = tile.alloc : !T
%three = tile.view %t offset 0 : !T to !tile.tile<3x4xf32, local, [4, 1]>
%next = tile.view %t[%one] offset 0 : !T to !tile.tile<3x4xf32, local, [4, 1]>
tile.map %three into %next rows %two dims [array<i64: 0, 1>] : !tile.tile<3x4xf32, local, [4, 1]> into !tile.tile<3x4xf32, local, [4, 1]> {
^bb0(%a: f32):
  tile.yield %a : f32
})",
     "tile.map (plan:4:1): element [0, 0] of the result lies where element [1, 0] of an operand does"},
    {"OpWithoutMeaning", "%c = arith.shli %one, %two : i64", "arith.shli (plan:1:6): the op has no meaning in a plan"},
    {"FloatInThePlan", "%c = arith.constant 1.0 : f32",
     "arith.constant (plan:1:6): a plan computes with integers only"},
    {"OpWithoutMeaningInABody", R"(%t = tile.alloc : !T
tile.map into %t rows %four dims [] into !T {
  %a = arith.constant 0.5 : f32
  %b = math.tan %a : f32
  tile.yield %b : f32
})",
     "math.tan (plan:4:8): the op has no meaning in a body"},
    {"OutsideOfABody", R"(%t = tile.alloc : !T
%c = arith.constant 1 : i32
tile.map into %t rows %four dims [] into !T {
  %a = arith.sitofp %c : i32 to f32
  tile.yield %a : f32
})",
     "arith.sitofp (plan:4:8): a body uses nothing from outside of it"},
    {"LoopStep", R"(scf.for %i = %zero to %two step %zero : i64 {
})",
     "scf.for (plan:1:1): the step of a loop is 0"},
    {"Division", "%c = arith.divsi %one, %zero : i64", "arith.divsi (plan:1:6): cannot divide 1 by 0"},
};
INSTANTIATE_TEST_SUITE_P(Promises, Mistakes, ::testing::ValuesIn(promises),
                         [](const auto &info) { return info.param.name; });

TEST_F(TileTest, ArraysThatDoNotFit) {
  parse(R"(
tile.kernel @plan required 1 workspace 0 {
^bb0(%x: !tile.tile<?xf32, global>, %y: !tile.tile<?xf32, global>, %tokens: i64):
})");
  std::vector<Rows> one = {{{1}, 1}}, two = {{{1}, 1}, {{}, 1}};
  EXPECT_EQ(runKernel(one, 1), "tile.kernel (plan:2:1): takes 2 arrays, but is given 1");
  EXPECT_EQ(runKernel(two, 1), "");
  EXPECT_EQ(runKernel(two, -1), "tile.kernel (plan:2:1): cannot run for -1 tokens");
  CallerArray absent{nullptr, 3, 1};
  EXPECT_EQ(llvm::toString(run(*module->getOps<tile::KernelOp>().begin(), {absent, absent}, 1)),
            "tile.kernel (plan:2:1): requires array 0, which is absent");
}

TEST_F(TileTest, DataThatDoesNotFit) {
  parse(R"(
tile.kernel @plan required 1 workspace 0 {
^bb0(%x: !tile.tile<?x2xf32, global>, %tokens: i64):
})");
  std::vector<KernelArray> arrays = {{Role::Input, "x", {2}}};
  auto error = [&](const Data &data) {
    auto results = interpret(*module->getOps<tile::KernelOp>().begin(), arrays, data);
    return results ? "" : llvm::toString(results.takeError());
  };
  EXPECT_EQ(error({{1, 3, 1, 1}, {}, {}, {}}), "input 'x' is missing");
  EXPECT_EQ(error({{1, 3, 1, 1}, {{"x", {{1, 3, 1, 4}, std::vector<double>(12)}}}, {}, {}}),
            "input 'x' has shape [1, 3, 1, 4], and [1, 3, 1, 2] is expected");
  EXPECT_EQ(error({{1, 3, 3, 2}, {}, {}, {}}), "Hq, which is 2, does not divide H, which is 3");
}

} // namespace
