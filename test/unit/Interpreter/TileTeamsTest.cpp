// Small plans of two roles, in the interpreter of tile programs: what barriers order and what is judged of them; and
// where the elements of swizzled tiles lie.
#include "Interpreter/TileMachine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include <regex>
#include <set>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class TileTeamsTest : public testing::Test {
protected:
  TileTeamsTest() { context.loadDialect<tile::TileDialect>(); }

  tile::KernelOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "plan");
    return module ? *module->getOps<tile::KernelOp>().begin() : tile::KernelOp();
  }

  /// Runs a plan of a warp and a warpgroup, which share two tiles and two barriers of `arrivals` each, in some orders
  /// of the turns. Gives the first error, or else "nothing". The array has rows 0 to 63 of 64 numbers, all 1.
  std::string run(const std::string &warp, const std::string &group, int arrivals = 1) {
    tile::KernelOp kernel = parse(R"(
      !array = !tile.tile<?x64xbf16, global>
      !tile = !tile.tile<64x64xbf16, shared, [64, 1], swizzle 128>
      !plain = !tile.tile<4x64xf32, shared, [64, 1]>
      !row = !tile.tile<1x64xf32, shared, [64, 1]>
      !floats = !tile.tile<?x64xf32, global>
      !sums = !tile.tile<64x64xf32, registers, [64, 1]>
      !left = !tile.tile<64x64xbf16, registers, [64, 1]>
      tile.kernel @k required 0 workspace 0 {
      ^bb0(%x: !array, %y: !array, %z: !floats, %tokens: i64):
        %c0 = arith.constant 0 : i64
        %c1 = arith.constant 1 : i64
        %c2 = arith.constant 2 : i64
        %c3 = arith.constant 3 : i64
        %c4 = arith.constant 4 : i64
        %c64 = arith.constant 64 : i64
        %before = arith.constant -1 : i64
        %a = tile.alloc : !tile
        %b = tile.alloc : !tile
        %plain = tile.alloc : !plain
        %bars = tile.barriers arrivals )" +
                                  std::to_string(arrivals) + R"( : <2>
        tile.roles {
          tile.role "warp" copies 1 of warp registers 24 {
          ^bb0(%copy: i64):
            )" + warp + R"(
          }
          tile.role "group" copies 1 of warpgroup registers 240 {
          ^bb0(%copy: i64):
            %sums = tile.alloc : !sums
            %left = tile.alloc : !left
            )" + group + R"(
          }
        }
      })");
    if (!kernel)
      return "it does not parse";
    for (uint64_t schedule : {0, 1, 2, 3, 4}) {
      std::vector<double> x(64 * 64, 1);
      y.assign(64 * 64, 0);
      std::vector<double> z(64 * 64, 2);
      CallerArray arrays[] = {{x.data(), 64, 64}, {y.data(), 64, 64}, {z.data(), 64, 64}};
      if (llvm::Error error = interpreter::run(kernel, arrays, 3, {false, schedule}))
        return std::regex_replace(llvm::toString(std::move(error)), std::regex(" \\(plan:[0-9]+:[0-9]+\\)"), "");
    }
    return "nothing";
  }

  const std::string fetch = "tile.fetch %x[%c0] of %tokens into %a on %bars[%c0] : !array into !tile on <2>\n";
  const std::string announce = "tile.arrive %bars[%c0] expect 8192 : <2>\n";
  const std::string wait = "tile.wait %bars[%c0] phase %c0 : <2>\n";
  const std::string product =
      "tile.product async %a, right_transposed %a into %sums rows %c64 inner %c64 : !tile, !tile into !sums\n";
  const std::string settle = "tile.settle pending 0\n";
  static std::string fill(const std::string &tile, const std::string &type) {
    return "tile.map into " + tile + " rows %c64 dims [] into " + type +
           " {\n %zero = arith.constant 0.0 : f32\n tile.yield %zero : f32\n}\n";
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<double> y;
};

TEST_F(TileTeamsTest, BoxesAreZeroOutsideOfTheArrayAndNotWrittenThere) {
  EXPECT_EQ(run(fetch + announce, wait + "tile.send %a to %y[%c1, %c2] of %c4 : !tile to !array\ntile.sent pending 0"),
            "nothing");
  // Rows 0 to 2 of the array are ones; they go to rows 1 to 3, from column 2 on.
  for (int64_t row : {0, 1, 2, 3, 4, 63})
    for (int64_t column : {0, 1, 2, 63})
      EXPECT_EQ(y[row * 64 + column], row >= 1 && row <= 3 && column >= 2) << row << ", " << column;
  // Columns behind the array's last one, and rows before the first.
  EXPECT_EQ(run("tile.fetch %x[%before, %c2] of %tokens into %a on %bars[%c0] : !array into !tile on <2>\n" + announce,
                wait + "tile.send %a to %y[%c0] of %c64 : !tile to !array\ntile.sent pending 0"),
            "nothing");
  for (int64_t row : {0, 1, 3, 4, 63})
    for (int64_t column : {0, 61, 62, 63})
      EXPECT_EQ(y[row * 64 + column], row >= 1 && row <= 3 && column < 62) << row << ", " << column;
}

TEST_F(TileTeamsTest, ProductsMayGoOnAddingToTheirResult) {
  EXPECT_EQ(run(fetch + announce,
                wait + product +
                    "tile.product async %a, %a into %sums rows %c64 inner %c64 plus %sums : !tile, !tile into !sums "
                    "plus !sums\n" +
                    settle),
            "nothing");
}

TEST_F(TileTeamsTest, APhaseIsTooLongAgo) {
  EXPECT_EQ(run("tile.arrive %bars[%c0] : <2>\ntile.arrive %bars[%c0] : <2>\ntile.wait %bars[%c0] phase %c0 : <2>", ""),
            "tile.wait: role \"warp\" 0 waits for phase 0 of barrier 0 of tile.barriers, which is in phase 2: by their "
            "parity only this one and the one before can be told apart");
  EXPECT_EQ(run("tile.wait %bars[%c0] phase %c1 : <2>", ""),
            "tile.wait: role \"warp\" 0 waits for phase 1 of barrier 0 of tile.barriers, which is in phase 0: by their "
            "parity only this one and the one before can be told apart");
  EXPECT_EQ(run("tile.wait %bars[%c0] phase %before : <2>", ""), "nothing");
}

TEST_F(TileTeamsTest, CountsOfArrivalsAndBytes) {
  EXPECT_EQ(run("tile.arrive %bars[%c2] : <2>", ""), "tile.arrive: barrier 2 of 2");
  // Bytes of a phase are still to come when one more team arrives in it.
  EXPECT_EQ(run("tile.arrive %bars[%c0] expect 16 : <2>\ntile.arrive %bars[%c0] : <2>", ""),
            "tile.arrive: role \"warp\" 0 is one team too many at barrier 0 of tile.barriers in phase 0, at which 1 "
            "have arrived");
  EXPECT_EQ(run(fetch + "tile.arrive %bars[%c0] expect 16 : <2>", wait),
            "tile.fetch: 8192 bytes have come to barrier 0 of tile.barriers in phase 0, which expects 16");
  EXPECT_EQ(run(fetch, ""), "tile.roles: all roles have ended, but tile.fetch is under way: somebody must wait for it");
  EXPECT_EQ(run("", wait), "tile.roles: nobody can go on; role \"group\" 0 waits in tile.wait for phase 0 of barrier 0 "
                           "of tile.barriers, at which 0 of 1 teams have arrived and 0 of 0 bytes");
}

TEST_F(TileTeamsTest, WhoWaitsForOneBarrierKnowsNothingOfAnother) {
  EXPECT_EQ(run(fetch + announce + "tile.arrive %bars[%c1] : <2>",
                "tile.wait %bars[%c1] phase %c0 : <2>\n" + product + settle),
            "tile.product: role \"group\" 0 reads element [0, 0] of a tile that tile.fetch is still filling: wait for "
            "its barrier first");
  // What somebody has waited for is handed on.
  EXPECT_EQ(run(fetch + announce + wait + "tile.arrive %bars[%c1] : <2>",
                "tile.wait %bars[%c1] phase %c0 : <2>\n" + product + settle),
            "nothing");
}

TEST_F(TileTeamsTest, ABufferIsFilledAgainOnlyWhenItsReadersHaveEnded) {
  std::string again =
      "tile.wait %bars[%c1] phase %c0 : <2>\n" + fetch + announce + "tile.wait %bars[%c0] phase %c1 : <2>\n";
  EXPECT_EQ(run(fetch + announce + again, wait + product + settle + "tile.arrive %bars[%c1] : <2>"), "nothing");
  EXPECT_EQ(run(fetch + announce + again, wait + product + "tile.arrive %bars[%c1] : <2>\n" + settle),
            "tile.fetch: role \"warp\" 0 overwrites element [0, 0] of a tile that role \"group\" 0 reads in "
            "tile.product, and "
            "no barrier says that it has ended");
  EXPECT_EQ(run(fetch + announce + wait + fetch + announce + "tile.wait %bars[%c0] phase %c1 : <2>\n",
                wait + fill("%sums", "!sums")),
            "nothing");
}

TEST_F(TileTeamsTest, AProductHasItsTilesForItself) {
  std::string wants = wait + fill("%left", "!left");
  std::string begun = "tile.product async %left, %a into %sums rows %c64 inner %c64 : !left, !tile into !sums\n";
  EXPECT_EQ(run(fetch + announce, wants + begun + settle + fill("%left", "!left")), "nothing");
  EXPECT_EQ(
      run(fetch + announce, wants + begun + fill("%left", "!left") + settle),
      "tile.map: role \"group\" 0 overwrites element [0, 0] of a tile that tile.product has as its left factor: it "
      "ends by tile.settle");
  EXPECT_EQ(
      run(fetch + announce, wants + begun + fill("%sums", "!sums") + settle),
      "tile.map: role \"group\" 0 overwrites element [0, 0] of a tile that tile.product has as its result: it ends "
      "by tile.settle");
  EXPECT_EQ(
      run(fetch + announce, wants + begun + fill("%a", "!tile") + settle),
      "tile.map: role \"group\" 0 overwrites element [0, 0] of a tile that tile.product is still reading: it ends "
      "by tile.settle");
  EXPECT_EQ(run(fetch + announce, wants + begun),
            "tile.role: role \"group\" 0 ends while tile.product is under way: end it by tile.settle");
  // The older of two has ended.
  std::string other = "tile.product async %a, %a into %more rows %c64 inner %c64 : !tile, !tile into !sums\n";
  EXPECT_EQ(run(fetch + announce, "%more = tile.alloc : !sums\n" + wants + begun + other + "tile.settle pending 1\n" +
                                      fill("%left", "!left") + fill("%sums", "!sums") + settle),
            "nothing");
}

TEST_F(TileTeamsTest, CopiesBeginAtMultiplesOf128Bytes) {
  EXPECT_EQ(run("%row = tile.view %plain offset 16 : !plain to !row\n"
                "tile.fetch %z[%c0] of %c4 into %row on %bars[%c0] : !floats into !row on <2>\n",
                ""),
            "tile.fetch: the tile begins at byte " + std::to_string(3 * 8192 - 8192 + 64) +
                ", but copies need a multiple of 128");
}

TEST_F(TileTeamsTest, SentRowsHaveAMeaning) {
  EXPECT_EQ(run("", "tile.send %a to %y[%c0] of %c64 : !tile to !array\ntile.sent pending 0"),
            "tile.send: element [0, 0] has no meaning: tile.send read element [0, 0] of a tile, which nothing had "
            "written");
}

TEST_F(TileTeamsTest, SwizzledTilesLieInPanelsOfPermutedPieces) {
  for (int64_t swizzle : {32, 64, 128}) {
    int64_t panel = swizzle / 2;
    std::string type = "!tile.tile<2x16x128xbf16, shared, [2048, " + std::to_string(panel) + ", 1], swizzle " +
                       std::to_string(swizzle) + ">";
    tile::KernelOp kernel =
        parse("tile.kernel @k required 0 workspace 0 {\n^bb0(%tokens: i64):\n  %a = tile.alloc : " + type + "\n}");
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
