// What a kernel that is run says of arrays and data that do not fit. What is wrong with a plan is in
// test/interpret/tile-wrong-*.mlir.
#include "RunTile.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

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

TEST_F(TileTest, KernelsThatHaveNoRoomOnTheirGPU) {
  auto run = [&](llvm::StringRef gpu, int64_t shared) {
    parse(("tile.kernel @plan required 0 workspace 0 threads 32 shared " + llvm::Twine(shared) + " gpu \"" + gpu +
           "\" {\n^bb0(%tokens: i64):\n}")
              .str());
    std::vector<Rows> none;
    return runKernel(none, 1);
  };
  EXPECT_EQ(run("sm_86", 101376), "");
  EXPECT_THAT(run("sm_86", 101377), testing::HasSubstr("has no room: it takes 101377 bytes of shared memory, and a CTA "
                                                       "of 'sm_86' has 101376"));
  EXPECT_EQ(run("sm_90", 232448), "");
  EXPECT_THAT(run("sm_75", 0), testing::HasSubstr("is for 'sm_75', which is no GPU"));
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
