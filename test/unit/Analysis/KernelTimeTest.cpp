// What a plan's ops ask of a multiprocessor's units.
#include "Analysis/KernelTime.h"
#include "../IRFile.h"
#include "gtest/gtest.h"

using namespace recur;
using namespace recur::analysis;

namespace {

class KernelTimes : public ::testing::Test {
protected:
  KernelTime estimate(llvm::StringRef name) {
    auto kernel = file.find<tile::KernelOp>(name);
    return kernel ? estimateTime(kernel) : KernelTime();
  }
  test::IRFile<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect> file{
      "Analysis/KernelTimes.mlir"};
  const MultiprocessorRates rates;
};

TEST_F(KernelTimes, AnEmptyLoopTakesNone) {
  KernelTime time = estimate("empty");
  EXPECT_EQ(time.getBound(), 0);
  EXPECT_EQ(time.critical, 0);
}

TEST_F(KernelTimes, ALoadIsOfDeviceMemory) {
  KernelTime time = estimate("load");
  EXPECT_DOUBLE_EQ(time.global, 64 * 128 * 2 / rates.globalBytes);
  EXPECT_EQ(time.getBusiest(), "device memory");
  EXPECT_DOUBLE_EQ(time.critical, rates.latency + std::max(time.global, rates.globalLatency));
}

TEST_F(KernelTimes, AProductIsOfMatrixUnitsAndReadsItsFactorsForEachBlock) {
  KernelTime time = estimate("product");
  EXPECT_DOUBLE_EQ(time.products, 64.0 * 128 * 128 / rates.products16);
  EXPECT_DOUBLE_EQ(time.shared, ((64 * 128 * 4 + 128 * 128 * 2) * 2 + 64 * 128 * 4) / rates.sharedBytes);
  EXPECT_EQ(time.global, 0);
  EXPECT_EQ(time.getBusiest(), "shared memory");
}

TEST_F(KernelTimes, OpsAddUpAndLoopsRepeatThem) {
  KernelTime once = estimate("product"), three = estimate("three_products"), tokens = estimate("product_a_token");
  EXPECT_DOUBLE_EQ(three.products, 3 * once.products);
  EXPECT_DOUBLE_EQ(three.critical, 3 * once.critical);
  EXPECT_DOUBLE_EQ(tokens.products, 64 * once.products) << "of a chunk";
}

TEST_F(KernelTimes, RoundedDotsUnderScalesAreBlocksOfWarps) {
  KernelTime pairs = estimate("scaled_dots"), rounded = estimate("rounded_dots");
  EXPECT_DOUBLE_EQ(pairs.shared, 64.0 * 64 * 128 * 4 / rates.sharedBytes) << "each pair by itself";
  // Four blocks of the diagonal and two of each of two sizes of halves, one for each of eight warps, in eight steps of
  // channels; before them a block of columns for each two warps.
  EXPECT_DOUBLE_EQ(rounded.arithmetic, 8.0 * (4 * 130 + 4 * (79 + 68)) * 32 / rates.arithmetic);
  EXPECT_DOUBLE_EQ(rounded.critical, rates.latency + (8 + 4) * 250);
  EXPECT_LT(rounded.shared, pairs.shared / 4);
}

TEST_F(KernelTimes, RowsMoreOfTheSameColumnsTakeLess) {
  KernelTime one = estimate("rounded_dots"), two = estimate("rounded_dots_together");
  EXPECT_DOUBLE_EQ(two.arithmetic, one.arithmetic + 8.0 * (4 * 20 + 4 * 36) * 32 / rates.arithmetic);
  EXPECT_DOUBLE_EQ(two.critical, one.critical + rates.latency + 8 * 250 * 0.3);
}

TEST_F(KernelTimes, RunningSumsAreBlocksOfWarpsThatTheNextScanTakesToo) {
  KernelTime one = estimate("running_sums"), two = estimate("running_sums_together");
  // Four blocks of rows and eight warps with 16 channels each; a scan adds what it gives, and for each other input.
  EXPECT_DOUBLE_EQ(one.arithmetic, 4.0 * 8 * (24 + 26 + 20) * 32 / rates.arithmetic);
  EXPECT_DOUBLE_EQ(one.critical, rates.latency + 4 * 200);
  EXPECT_DOUBLE_EQ(two.arithmetic, one.arithmetic + 4.0 * 8 * 26 * 32 / rates.arithmetic);
  EXPECT_LT(two.critical, 2 * one.critical);
}

TEST_F(KernelTimes, WhatIsAroundTheLoopIsNotOfAChunk) { EXPECT_EQ(estimate("load_before").getBound(), 0); }

} // namespace
