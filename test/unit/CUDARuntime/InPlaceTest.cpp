// States in place whose final ones a launch may write before all initial ones were read: these are copied first.
#include "LaunchTesting.h"

using ::testing::ElementsAre;

namespace {

constexpr int initial = 2, final = 4;

class InPlace : public Launch {
protected:
  InPlace() {
    fakeCUDA.wordCount = recur::abi::countWords(5);
    call.workspace = larger;
    call.workspace_bytes = sizeof larger;
    arguments[initial].data = arguments[final].data = S;
  }
  ~InPlace() override { recur_unload(&several); }

  std::vector<std::string> run() {
    fakeCUDA.all.clear();
    EXPECT_EQ(recur_forward(&several, &call), RECUR_OK) << recur_message();
    std::vector<std::string> symbols;
    for (const FakeLaunch &launch : fakeCUDA.all)
      symbols.push_back(launch.symbol);
    return symbols;
  }
  int64_t getWord(size_t launch, int array, recur::abi::ArrayWord word) const {
    return fakeCUDA.all[launch].words[recur::abi::getWord(array, word)];
  }

  // The first writes the final state, a chunk a CTA, and the second reads the initial one.
  recur_launch_array early[2] = {{0, -1, 0, 0}, {final, -1, 0, 0}}, late[2] = {{3, -1, 0, 0}, {initial, -1, 0, 0}};
  recur_launch_info phases[2] = {{"gdn_early", 256, 1000, 0, 1, 1, early, 2, 0, 0, 0, 0, 0, nullptr, 0},
                                 {"gdn_late", 256, 1000, 0, 1, 0, late, 2, 0, 0, 0, 0, 0, nullptr, 0}};
  recur_launch_info step = {"gdn_step", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_kernel_info kernels[2] = {
      {nullptr, 0, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, &step, nullptr, 0, nullptr, nullptr},
      {nullptr, 0, 2, RECUR_PLAN_CHUNK, 64, nullptr, 0, 2, phases, nullptr, 0, nullptr, nullptr}};
  recur_recurrence several = {RECUR_ABI_VERSION, 90,      4,          2,       arrays,  kernels, "gdn", "sm_90a", "0.1",
                              nullptr,           "image", RECUR_CUDA, nullptr, nullptr, nullptr};
  alignas(64) char larger[200000];
};

TEST_F(InPlace, StatesAreCopiedBeforeTheyAreOverwritten) {
  EXPECT_THAT(run(), ElementsAre("gdn_step", "gdn_early", "gdn_late"));
  int64_t copy = getWord(0, final, recur::abi::DataWord);
  EXPECT_EQ(getWord(0, initial, recur::abi::DataWord), at(S));
  EXPECT_EQ(fakeCUDA.all[0].words[recur::abi::TokensWord], 0);
  EXPECT_GE(copy, at(larger));
  EXPECT_EQ(copy + int64_t(sizeof S), at(larger) + recur_workspace_size(&several, &call))
      << "at the end of the workspace";
  EXPECT_EQ(getWord(1, 1, recur::abi::DataWord), at(S));
  EXPECT_EQ(getWord(2, 1, recur::abi::DataWord), copy);
  EXPECT_EQ(getWord(2, 1, recur::abi::SequenceStrideWord), 4 * 48);
}

TEST_F(InPlace, RowsOfAPoolAreCopiedToTheSequencesOwn) {
  const int32_t rows[2] = {1, 0};
  call.state_indices = rows;
  call.pool_rows = 2;
  EXPECT_THAT(run(), ElementsAre("gdn_step", "gdn_early", "gdn_late"));
  auto rowsOf = [&](size_t launch, int arrayCount, int array) {
    return fakeCUDA.all[launch].words[recur::abi::getPoolWord(arrayCount, array, recur::abi::RowsWord)];
  };
  EXPECT_EQ(rowsOf(0, 5, initial), at(rows));
  EXPECT_EQ(rowsOf(0, 5, final), 0);
  EXPECT_EQ(rowsOf(1, 2, 1), at(rows)) << "where the final state goes";
  EXPECT_EQ(rowsOf(2, 2, 1), 0);
}

TEST_F(InPlace, OthersAreNot) {
  arguments[initial].data = nullptr;
  EXPECT_THAT(run(), ElementsAre("gdn_early", "gdn_late")) << "no initial state";
  arguments[initial].data = S;
  phases[0].arrays = late; // now it is read before it is written, and by parts of the channels
  phases[0].chunks_are_apart = 0;
  phases[1].arrays = early;
  phases[1].chunks_are_apart = 0;
  EXPECT_THAT(run(), ElementsAre("gdn_early", "gdn_late"));
  call.T = 1;
  EXPECT_THAT(run(), ElementsAre("gdn_step"));
}

TEST_F(InPlace, ACTAOfAnotherPartMayReadWhatOneWrites) {
  recur_launch_array both[2] = {{initial, -1, 0, 0}, {final, -1, 0, 0}};
  phases[0].arrays = both;
  phases[0].chunks_are_apart = 0;
  kernels[1].launch_count = 1;
  EXPECT_THAT(run(), ElementsAre("gdn_early"));
  phases[0].parts = 2;
  EXPECT_THAT(run(), ElementsAre("gdn_step", "gdn_early"));
  both[0] = {initial, 0, 3, 0};
  EXPECT_THAT(run(), ElementsAre("gdn_early")) << "each reads its own";
}

TEST_F(InPlace, WithoutAKernelThatCopiesTheyAreRefused) {
  several.kernels = &kernels[1];
  several.kernel_count = 1;
  EXPECT_EQ(recur_forward(&several, &call), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(),
               "gdn: the kernel writes final states before it has read all initial ones, and without one of plan step "
               "nothing copies these; give final states memory of their own, or build with plan auto");
}

} // namespace
