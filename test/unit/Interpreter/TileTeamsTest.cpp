// Small plans of two roles, in the interpreter of tile programs: what barriers order and what is judged of them; and
// where the elements of swizzled tiles lie.
#include "../IRFile.h"
#include "Interpreter/TileMachine.h"
#include "gmock/gmock.h"
#include <regex>
#include <set>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

using PlanFile =
    test::IRFile<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>;

class TileTeamsTest : public testing::Test {
protected:
  /// Runs a plan of a warp and a warpgroup in some orders of their turns. Gives the first error, or else "nothing". The
  /// array has rows 0 to 63 of 64 numbers, all 1.
  std::string run(const PlanFile &file, llvm::StringRef name) {
    auto kernel = file.find<tile::KernelOp>(name);
    if (!kernel)
      return "there is none";
    for (uint64_t schedule : {0, 1, 2, 3, 4}) {
      std::vector<double> x(64 * 64, 1);
      y.assign(64 * 64, 0);
      std::vector<double> z(64 * 64, 2);
      CallerArray arrays[] = {{x.data(), 64, 64}, {y.data(), 64, 64}, {z.data(), 64, 64}};
      if (llvm::Error error = interpreter::run(kernel, arrays, 3, {false, schedule}))
        return std::regex_replace(llvm::toString(std::move(error)), std::regex(" \\([^ ()]*\\.mlir:[0-9]+:[0-9]+\\)"),
                                  "");
    }
    return "nothing";
  }
  std::string runCopies(llvm::StringRef name) { return run(copies, name); }
  std::string runProducts(llvm::StringRef name) { return run(products, name); }

  const PlanFile copies{"Interpreter/TileCopies.mlir"}, products{"Interpreter/TileTeamProducts.mlir"};
  std::vector<double> y;
};

TEST_F(TileTeamsTest, BoxesAreZeroOutsideOfTheArrayAndNotWrittenThere) {
  EXPECT_EQ(runCopies("sent_inside"), "nothing");
  // Rows 0 to 2 of the array are ones; they go to rows 1 to 3, from column 2 on.
  for (int64_t row : {0, 1, 2, 3, 4, 63})
    for (int64_t column : {0, 1, 2, 63})
      EXPECT_EQ(y[row * 64 + column], row >= 1 && row <= 3 && column >= 2) << row << ", " << column;
  // Columns behind the array's last one, and rows before the first.
  EXPECT_EQ(runCopies("fetched_outside"), "nothing");
  for (int64_t row : {0, 1, 3, 4, 63})
    for (int64_t column : {0, 61, 62, 63})
      EXPECT_EQ(y[row * 64 + column], row >= 1 && row <= 3 && column < 62) << row << ", " << column;
}

TEST_F(TileTeamsTest, ProductsMayGoOnAddingToTheirResult) { EXPECT_EQ(runProducts("adds_to_its_result"), "nothing"); }

TEST_F(TileTeamsTest, APhaseIsTooLongAgo) {
  EXPECT_EQ(runCopies("two_phases_ago"),
            "tile.wait: role \"warp\" 0 waits for phase 0 of barrier 0 of tile.barriers, which is in phase 2: by their "
            "parity only this one and the one before can be told apart");
  EXPECT_EQ(runCopies("phase_to_come"),
            "tile.wait: role \"warp\" 0 waits for phase 1 of barrier 0 of tile.barriers, which is in phase 0: by their "
            "parity only this one and the one before can be told apart");
  EXPECT_EQ(runCopies("phase_before"), "nothing");
}

TEST_F(TileTeamsTest, CountsOfArrivalsAndBytes) {
  EXPECT_EQ(runCopies("no_such_barrier"), "tile.arrive: barrier 2 of 2");
  // Bytes of a phase are still to come when one more team arrives in it.
  EXPECT_EQ(runCopies("bytes_to_come"),
            "tile.arrive: role \"warp\" 0 is one team too many at barrier 0 of tile.barriers in phase 0, at which 1 "
            "have arrived");
  EXPECT_EQ(runCopies("too_many_bytes"),
            "tile.fetch: 8192 bytes have come to barrier 0 of tile.barriers in phase 0, which expects 16");
  EXPECT_EQ(runCopies("nobody_waits"),
            "tile.roles: all roles have ended, but tile.fetch is under way: somebody must wait for it");
  EXPECT_EQ(runCopies("nobody_arrives"),
            "tile.roles: nobody can go on; role \"group\" 0 waits in tile.wait for phase 0 of barrier 0 "
            "of tile.barriers, at which 0 of 1 teams have arrived and 0 of 0 bytes");
}

TEST_F(TileTeamsTest, WhoWaitsForOneBarrierKnowsNothingOfAnother) {
  EXPECT_EQ(runCopies("waits_for_another"),
            "tile.product: role \"group\" 0 reads element [0, 0] of a tile that tile.fetch is still filling: wait for "
            "its barrier first");
  // What somebody has waited for is handed on.
  EXPECT_EQ(runCopies("handed_on"), "nothing");
}

TEST_F(TileTeamsTest, ABufferIsFilledAgainOnlyWhenItsReadersHaveEnded) {
  EXPECT_EQ(runProducts("filled_again"), "nothing");
  EXPECT_EQ(runProducts("filled_too_early"),
            "tile.fetch: role \"warp\" 0 overwrites element [0, 0] of a tile that role \"group\" 0 reads in "
            "tile.product, and "
            "no barrier says that it has ended");
  EXPECT_EQ(runProducts("filled_twice"), "nothing");
}

TEST_F(TileTeamsTest, AProductHasItsTilesForItself) {
  EXPECT_EQ(runProducts("left_is_free"), "nothing");
  EXPECT_EQ(
      runProducts("overwrites_left"),
      "tile.map: role \"group\" 0 overwrites element [0, 0] of a tile that tile.product has as its left factor: it "
      "ends by tile.settle");
  EXPECT_EQ(
      runProducts("overwrites_result"),
      "tile.map: role \"group\" 0 overwrites element [0, 0] of a tile that tile.product has as its result: it ends "
      "by tile.settle");
  EXPECT_EQ(
      runProducts("overwrites_right"),
      "tile.map: role \"group\" 0 overwrites element [0, 0] of a tile that tile.product is still reading: it ends "
      "by tile.settle");
  EXPECT_EQ(runProducts("not_settled"),
            "tile.role: role \"group\" 0 ends while tile.product is under way: end it by tile.settle");
  // The older of two has ended.
  EXPECT_EQ(runProducts("older_has_ended"), "nothing");
}

TEST_F(TileTeamsTest, CopiesBeginAtMultiplesOf128Bytes) {
  EXPECT_EQ(runCopies("copy_at_64"),
            "tile.fetch: the tile begins at byte " + std::to_string(8192 + 64) + ", but copies need a multiple of 128");
}

TEST_F(TileTeamsTest, SentRowsHaveAMeaning) {
  EXPECT_EQ(runCopies("sends_nothing_written"),
            "tile.send: element [0, 0] has no meaning: tile.send read element [0, 0] of a tile, which nothing had "
            "written");
}

TEST_F(TileTeamsTest, SwizzledTilesLieInPanelsOfPermutedPieces) {
  PlanFile swizzles("Interpreter/TileSwizzles.mlir");
  for (int64_t swizzle : {32, 64, 128}) {
    int64_t panel = swizzle / 2;
    auto kernel = swizzles.find<tile::KernelOp>("swizzle_" + std::to_string(swizzle));
    ASSERT_TRUE(kernel);
    TileMachine machine(kernel, {});
    llvm::Expected<Tile> tile = machine.allocate(*kernel.getBody().front().getOps<tile::AllocOp>().begin());
    ASSERT_TRUE(bool(tile));
    std::vector<int64_t> cells = machine.listCells(*tile, 2);
    EXPECT_EQ(std::set<int64_t>(cells.begin(), cells.end()).size(), 4096u);
    EXPECT_EQ(*std::max_element(cells.begin(), cells.end()), 4095);
    // Cells are as large as elements are. Row 0 lies as it is; panels lie one behind another.
    auto at = [&](int64_t stage, int64_t row, int64_t column) { return cells[(stage * 16 + row) * 128 + column]; };
    EXPECT_EQ(at(0, 0, 9), 9);
    EXPECT_EQ(at(0, 0, panel), 16 * panel);
    EXPECT_EQ(at(1, 0, 0), 2048);
    // The first row whose pieces of 8 elements are permuted is that of the second 128 bytes: neighbours change places.
    int64_t row = 128 / swizzle;
    EXPECT_EQ(at(0, row, 3), row * panel + 8 + 3);
    EXPECT_EQ(at(0, row, 8), row * panel);
  }
}

} // namespace
