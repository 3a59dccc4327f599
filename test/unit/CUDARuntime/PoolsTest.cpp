// What kernels of a GPU are told of pools, and what is asked of the driver for them.
#include "LaunchTesting.h"

using ::testing::ElementsAre;

namespace {

constexpr int initial = 2, final = 4;

class Pools : public Launch {
protected:
  Pools() {
    arguments[initial].data = arguments[final].data = pool;
    call.state_indices = rows;
    call.pool_rows = 5;
  }
  std::vector<int64_t> rowsOf(int array) const {
    auto begin = fakeCUDA.words.begin() + recur::abi::getPoolWord(5, array, recur::abi::RowsWord);
    return {begin, begin + recur::abi::poolWords};
  }

  int32_t rows[2] = {4, 1}, others[2] = {0, -1};
  alignas(64) char pool[5 * 4 * 48 * 4];
};

TEST_F(Pools, KernelsAreToldWhereTheRowsAre) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(wordsOf(initial), ElementsAre(at(pool), 4 * 48, 0, 48, 1, 8, 1, 0, 1, 0));
  EXPECT_THAT(rowsOf(initial), ElementsAre(at(rows), 5, 0, 48, 0, 0));
  EXPECT_THAT(rowsOf(final), ElementsAre(at(rows), 5, 0, 48, 0, 0));
  EXPECT_THAT(rowsOf(0), ElementsAre(0, 0, 0, 0, 0, 0));
  call.final_indices = others;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(rowsOf(initial), ElementsAre(at(rows), 5, 0, 48, 0, 0));
  EXPECT_THAT(rowsOf(final), ElementsAre(at(others), 5, 0, 48, 0, 0));
  arguments[initial].data = nullptr; // all begin as the recurrence says
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(rowsOf(initial), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(fakeCUDA.words[recur::abi::PoolsWord], 1);
  call.state_indices = call.final_indices = nullptr;
  call.pool_rows = 0;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.words[recur::abi::PoolsWord], 0) << "and what is there of each array nobody reads";
}

TEST_F(Pools, NothingIsReadBack) {
  rows[1] = 77;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.synchronized, 0);
}

TEST_F(Pools, AreCheckedWhereTheCallAsksForIt) {
  call.check_indices = 1;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.synchronized, 1);
  rows[1] = 5;
  EXPECT_EQ(forward(), RECUR_BAD_INDEX);
  EXPECT_STREQ(recur_message(),
               "gdn: state_indices[1] is 5, and the pools have 5 rows; a negative index stands for none");
  rows[1] = 4;
  EXPECT_EQ(forward(), RECUR_BAD_INDEX);
  EXPECT_STREQ(recur_message(), "gdn: state_indices[1] is 4, and so is [0]; no row is written for two sequences");
  rows[1] = -1;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.launches, 2);
}

TEST_F(Pools, AlsoHaveStatesAtMultiples) {
  const int32_t kept[] = {3, -1}, before[] = {64, 0};
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.words[recur::abi::IntervalWord], 0);
  call.interval = 64;
  call.interval_indices = kept;
  call.interval_columns = 1;
  call.positions = before;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.words[recur::abi::IntervalWord], 64);
  EXPECT_EQ(fakeCUDA.words[recur::abi::IntervalRowsWord], at(kept));
  EXPECT_EQ(fakeCUDA.words[recur::abi::IntervalColumnsWord], 1);
  EXPECT_EQ(fakeCUDA.words[recur::abi::PositionsWord], at(before));
  EXPECT_THAT(rowsOf(final), ElementsAre(at(rows), 5, 0, 48, 0, 0));
  EXPECT_EQ(fakeCUDA.synchronized, 0);
  call.interval = 63;
  EXPECT_EQ(forward(), RECUR_BAD_SIZE);
  call.interval = 64;
  fakeCUDA.hostMemory = kept;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: interval_indices is not memory of a GPU");
  fakeCUDA.hostMemory = before;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: positions is not memory of a GPU");
}

TEST_F(Pools, IndicesOfTheHostAreRefused) {
  fakeCUDA.hostMemory = rows;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: state_indices is not memory of a GPU");
  call.final_indices = others;
  fakeCUDA.hostMemory = others;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: final_indices is not memory of a GPU");
  EXPECT_EQ(fakeCUDA.launches, 0);
}

TEST_F(Pools, AreOfCallsForwardAlone) {
  recur_gradient_info gradient = {};
  gradient.chunk = 64;
  recur_recurrence trained = recurrence;
  trained.gradient = &gradient;
  EXPECT_EQ(recur_backward(&trained, &call), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "gdn: there are pools of states for calls forward alone");
}

} // namespace
