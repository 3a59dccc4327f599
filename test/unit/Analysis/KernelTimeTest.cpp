// What a plan's ops ask of a multiprocessor's units.
#include "Analysis/KernelTime.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace recur;
using namespace recur::analysis;

namespace {

class KernelTimes : public ::testing::Test {
protected:
  KernelTimes() {
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  }
  /// Of a kernel that has these ops in its loop over chunks, and `before` in front of it.
  KernelTime estimate(const std::string &ops, const std::string &before = "") {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
      tile.kernel @p required 1 workspace 0 threads 128 shared 200000 {
      ^bb0(%x: !tile.tile<?x128xbf16, global>, %tokens: i64):
        %a = tile.alloc at 0 : <64x128xbf16, shared, [128, 1]>
        %s = tile.alloc at 16384 : <128x128xbf16, shared, [128, 1]>
        %r = tile.alloc at 49152 : <64x128xf32, shared, [128, 1]>
        %c0 = arith.constant 0 : i64
        %c64 = arith.constant 64 : i64
        %c128 = arith.constant 128 : i64
        )" + before + R"(
        scf.for %first = %c0 to %tokens step %c64 : i64 {
          )" + ops + R"(
        }
      })",
                                                          &context);
    EXPECT_TRUE(module);
    return module ? estimateTime(*module->getOps<tile::KernelOp>().begin()) : KernelTime();
  }
  mlir::MLIRContext context;
  const MultiprocessorRates rates;
  const std::string load = "tile.load %x[%c0] rows %c64 into %a : <?x128xbf16, global> into "
                           "<64x128xbf16, shared, [128, 1]>";
  const std::string product = "tile.product %a, %s into %r rows %c64 inner %c128 : <64x128xbf16, shared, [128, 1]>, "
                              "<128x128xbf16, shared, [128, 1]> into <64x128xf32, shared, [128, 1]>";
};

TEST_F(KernelTimes, AnEmptyLoopTakesNone) {
  KernelTime time = estimate("");
  EXPECT_EQ(time.getBound(), 0);
  EXPECT_EQ(time.critical, 0);
}

TEST_F(KernelTimes, ALoadIsOfDeviceMemory) {
  KernelTime time = estimate(load);
  EXPECT_DOUBLE_EQ(time.global, 64 * 128 * 2 / rates.globalBytes);
  EXPECT_EQ(time.getBusiest(), "device memory");
  EXPECT_DOUBLE_EQ(time.critical, rates.latency + std::max(time.global, rates.globalLatency));
}

TEST_F(KernelTimes, AProductIsOfMatrixUnitsAndReadsItsFactorsForEachBlock) {
  KernelTime time = estimate(product);
  EXPECT_DOUBLE_EQ(time.products, 64.0 * 128 * 128 / rates.products16);
  EXPECT_DOUBLE_EQ(time.shared, ((64 * 128 * 4 + 128 * 128 * 2) * 2 + 64 * 128 * 4) / rates.sharedBytes);
  EXPECT_EQ(time.global, 0);
  EXPECT_EQ(time.getBusiest(), "shared memory");
}

TEST_F(KernelTimes, OpsAddUpAndLoopsRepeatThem) {
  KernelTime once = estimate(product), three = estimate(R"(
    %c3 = arith.constant 3 : i64
    %c1 = arith.constant 1 : i64
    scf.for %i = %c0 to %c3 step %c1 : i64 {
      )" + product + "\n}"),
             tokens = estimate(R"(
    %c1 = arith.constant 1 : i64
    scf.for %i = %c0 to %tokens step %c1 : i64 {
      )" + product + "\n}");
  EXPECT_DOUBLE_EQ(three.products, 3 * once.products);
  EXPECT_DOUBLE_EQ(three.critical, 3 * once.critical);
  EXPECT_DOUBLE_EQ(tokens.products, 64 * once.products) << "of a chunk";
}

TEST_F(KernelTimes, WhatIsAroundTheLoopIsNotOfAChunk) { EXPECT_EQ(estimate("", load).getBound(), 0); }

} // namespace
