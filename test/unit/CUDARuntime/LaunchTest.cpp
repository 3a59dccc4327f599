// What a call on a GPU's memory becomes: the words that a kernel is launched with, and what is refused before.
#include "ABI/GPUImage.h"
#include "LaunchTesting.h"
#include <cstring>

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

TEST_F(Launch, ACTAForEachHeadOfEachSequence) {
  EXPECT_EQ(recur_workspace_size(&recurrence, &call), 8 * 640);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.grid, 8u);
  EXPECT_EQ(fakeCUDA.threads, 256u);
  EXPECT_EQ(fakeCUDA.launchShared, 1000u);
  EXPECT_EQ(fakeCUDA.sharedBytes, 1000);
  EXPECT_EQ(fakeCUDA.stream, this);
}

TEST_F(Launch, WordsSayWhereArraysLie) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(std::vector(fakeCUDA.words.begin(), fakeCUDA.words.begin() + 5),
              ElementsAre(70, 4, 0, at(workspace), 640));
  EXPECT_THAT(wordsOf(0), ElementsAre(at(q), 70 * 16, 16, 8, 2, 1, 1, 0, 1, 16)); // two heads share a value
  EXPECT_THAT(wordsOf(1), ElementsAre(at(mu), 0, 0, 1, 1, 1, 1, 0, 1, 0));
  EXPECT_THAT(wordsOf(2), ElementsAre(0, ::testing::_, 0, ::testing::_, 1, 8, 1, 0, 1, 0)); // absent: zeros
  EXPECT_THAT(wordsOf(3), ElementsAre(at(o), 70 * 24, 24, 6, 1, 1, 1, 0, 1, 24));
  EXPECT_THAT(wordsOf(4), ElementsAre(at(S), 4 * 48, 0, 48, 1, 8, 1, 0, 1, 0));
}

TEST_F(Launch, TransposedStatesAreReadAcross) {
  call.states_transposed = 1;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(wordsOf(4), ElementsAre(at(S), 4 * 48, 0, 48, 1, 1, 6, 0, 1, 0));
}

TEST_F(Launch, PackedSequencesBeginWhereTheirOffsetsSay) {
  int64_t offsets[] = {0, 5, 5, 70}, onDevice[4];
  call.B = 1;
  call.sequence_offsets = offsets;
  call.sequence_count = 3;
  alignas(64) static char states[3 * 4 * 48 * 4], larger[12 * 640];
  arguments[4].data = states;
  call.workspace = larger;
  call.workspace_bytes = sizeof larger;
  ASSERT_EQ(forward(onDevice), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.grid, 12u);
  EXPECT_EQ(fakeCUDA.words[2], at(onDevice));
  EXPECT_EQ(wordsOf(0)[1], 0) << "tokens of all sequences lie one behind another";
  EXPECT_EQ(wordsOf(4)[1], 4 * 48);
  EXPECT_EQ(forward(), RECUR_NULL_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: a GPU reads offsets in its own memory, as device_offsets; they are given as "
                                "sequence_offsets alone");
}

/// Keys are the same for every part of the values; a launch leaves the state, in bf16, and one number a token.
class PhasedLaunch : public Launch {
protected:
  PhasedLaunch() {
    fakeCUDA.wordCount = recur::abi::countWords(4);
    call.workspace = larger;
    call.workspace_bytes = sizeof larger;
  }
  ~PhasedLaunch() override { recur_unload(&phased); }
  recur_status forwardPhases(const int64_t *deviceOffsets = nullptr) {
    call.device_offsets = deviceOffsets;
    return recur_forward(&phased, &call);
  }
  std::vector<int64_t> wordsOf(int launch, int array) const {
    auto begin = fakeCUDA.all[launch].words.begin() + recur::abi::getWord(array, recur::abi::DataWord);
    return {begin, begin + recur::abi::arrayWords};
  }

  recur_launch_array chainArrays[4] = {{0, -1, 0, 0}, {4, 0, 2, 0}, {5, 0, 2, 0}, {6, -1, 0, 0}};
  recur_launch_array lateArrays[4] = {{0, -1, 0, 0}, {3, -1, 0, 0}, {5, -1, 0, 0}, {6, -1, 0, 0}};
  recur_launch_info phases[2] = {{"gdn_chain", 256, 1000, 0, 3, 0, chainArrays, 4, 0, 0, 0, 0, 0, nullptr, 0},
                                 {"gdn_late", 128, 2000, 100, 1, 1, lateArrays, 4, 0, 0, 0, 0, 0, nullptr, 0}};
  recur_left_info left[2] = {{1, 2, 2, {6, 8}, 0, 0}, {64, 4, 0, {0, 0}, 0, 0}};
  recur_kernel_info phasedKernel = {nullptr, 0,    0, RECUR_PLAN_CHUNK, 64,     nullptr, 0, 2,
                                    phases,  left, 2, nullptr,          nullptr};
  recur_recurrence phased = {RECUR_ABI_VERSION, 90,         4,        1,       arrays,
                             &phasedKernel,     "gdn",      "sm_90a", "0.1",   nullptr,
                             "image",           RECUR_CUDA, nullptr,  nullptr, nullptr};
  alignas(64) char larger[200000];
};

TEST_F(PhasedLaunch, EachHasItsArraysAndParts) {
  // Two chunks of a state of 96 bytes, and of 64 numbers, for each of 8 heads; 128 bytes for each of 16 CTAs.
  int64_t states = 8 * 2 * 96, numbers = 8 * 2 * 64 * 4;
  EXPECT_EQ(recur_workspace_size(&phased, &call), states + numbers + 16 * 128);
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(8, 1, 3));
  EXPECT_THAT(fakeCUDA.all[1].grid, ElementsAre(8, 2, 1));
  EXPECT_THAT(wordsOf(0, 0), ElementsAre(at(q), 70 * 16, 16, 8, 2, 1, 1, 0, 1, 16));
  EXPECT_THAT(wordsOf(0, 1), ElementsAre(at(S), 4 * 48, 0, 48, 1, 8, 1, 16, 1, 0));
  EXPECT_THAT(wordsOf(0, 2), ElementsAre(at(larger), 2 * 48, 48, 4 * 48, 1, 8, 1, 16, 64, 48));
  EXPECT_THAT(wordsOf(0, 3), ElementsAre(at(larger) + states, 2 * 64, 1, 4 * 64, 1, 1, 1, 0, 64, 64));
  EXPECT_THAT(wordsOf(1, 2), ElementsAre(at(larger), 2 * 48, 48, 4 * 48, 1, 8, 1, 0, 64, 48));
  EXPECT_EQ(fakeCUDA.all[1].words[3], at(larger) + states + numbers);
  EXPECT_EQ(fakeCUDA.all[1].words[4], 128);
}

/// A launch of parts that makes everything is a phase as well, with the arrays of its parts.
TEST_F(PhasedLaunch, MayLeaveNothing) {
  recur_launch_array own[2] = {{0, -1, 0, 0}, {4, 0, 2, 0}};
  recur_launch_info only = {"gdn_chain", 384, 1000, 0, 3, 0, own, 2, 0, 0, 0, 0, 0, nullptr, 0};
  phasedKernel.launches = &only;
  phasedKernel.launch_count = 1;
  phasedKernel.left = nullptr;
  phasedKernel.left_count = 0;
  EXPECT_EQ(recur_workspace_size(&phased, &call), 0);
  fakeCUDA.wordCount = recur::abi::countWords(2);
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(8, 1, 3));
  EXPECT_THAT(wordsOf(0, 0), ElementsAre(at(q), 70 * 16, 16, 8, 2, 1, 1, 0, 1, 16));
  EXPECT_THAT(wordsOf(0, 1), ElementsAre(at(S), 4 * 48, 0, 48, 1, 8, 1, 16, 1, 0));
  recur_unload(&phased);
}

/// A launch that finds final states alone, such as windows of last rows, is left out where nobody wants them.
TEST_F(PhasedLaunch, FinalStatesAloneAreFoundWhereTheyAreWanted) {
  recur_launch_array ofStates[4] = {{0, -1, 0, 0}, {1, -1, 0, 0}, {2, -1, 0, 0}, {4, -1, 0, 0}};
  phases[0].arrays = ofStates;
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  fakeCUDA.all.clear();
  arguments[4].data = nullptr;
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_late");
}

TEST_F(PhasedLaunch, PackedSequencesBeginAtChunksOfTheirOwn) {
  int64_t offsets[] = {0, 5, 70}, onDevice[3];
  call.B = 1;
  call.sequence_offsets = offsets;
  call.sequence_count = 2;
  ASSERT_EQ(forwardPhases(onDevice), RECUR_OK) << recur_message();
  // Room for one whole chunk and one more for each of the two sequences.
  EXPECT_THAT(wordsOf(0, 2), ElementsAre(at(larger), 48, 48, 3 * 48, 1, 8, 1, 16, 64, 48));
}

TEST_F(PhasedLaunch, NoTokensHaveNoChunks) {
  call.T = 0;
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u) << "the states are still given back";
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_chain");
}

TEST_F(Launch, AKernelIsLoadedOnceInAContext) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(forward(), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 1);
  int other;
  fakeCUDA.context = &other;
  ASSERT_EQ(forward(), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 2);
  EXPECT_EQ(fakeCUDA.launches, 3);
}

TEST_F(Launch, AGraphCanCaptureACallOfWhatWasLoaded) {
  ASSERT_EQ(recur_load(&recurrence, RECUR_CUDA), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.loads, 1);
  EXPECT_EQ(fakeCUDA.launches, 0);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.loads, 1);
}

TEST_F(Launch, WhatIsUnloadedIsLoadedAgain) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  recur_unload(&recurrence);
  EXPECT_EQ(fakeCUDA.unloads, 1);
  ASSERT_EQ(forward(), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 2);
}

/// Two kernels that do the same, and one more: each with a name, and the code of two cubins.
struct Table {
  recur::abi::ImageTable head = {{0x7F, 'R', 'E', 'C', 'U', 'R', 'G', 'P'}, 3};
  recur::abi::ImageTable::Kernel kernels[3] = {
      {offsetof(Table, step), offsetof(Table, first), offsetof(Table, step)},
      {offsetof(Table, gdn), offsetof(Table, second), offsetof(Table, chunk)},
      {offsetof(Table, chunk), offsetof(Table, second), offsetof(Table, chunk)},
  };
  char step[8] = "step", gdn[4] = "gdn", chunk[8] = "chunk", first[64] = "first", second[64] = "second";
};

class TableLaunch : public Launch {
protected:
  TableLaunch() { of.image = &table; }
  ~TableLaunch() override { recur_unload(&of); }

  Table table;
  recur_recurrence of = recurrence;
};

TEST_F(TableLaunch, HasTheFunctionOfTheCodeThatTheTableNames) {
  ASSERT_EQ(recur_forward(&of, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.all.back().symbol, "chunk");
  EXPECT_THAT(fakeCUDA.loaded, ElementsAre(table.first, table.second)) << "each code once, and all of them at once";
  ASSERT_EQ(recur_forward(&of, &call), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 2);
  recur_unload(&of);
  EXPECT_EQ(fakeCUDA.unloads, 2);
  ASSERT_EQ(recur_forward(&of, &call), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 4);
}

TEST_F(TableLaunch, NeedsTheKernel) {
  strcpy(table.gdn, "x");
  EXPECT_EQ(recur_forward(&of, &call), RECUR_DEVICE_ERROR);
  EXPECT_THAT(recur_message(), HasSubstr("the kernel is not in its image"));
  EXPECT_EQ(fakeCUDA.unloads, 2) << "nothing stays loaded of what cannot be called";
}

TEST_F(TableLaunch, WhatCannotBeLoadedIsAStatus) {
  fakeCUDA.errorOfLoad = 2;
  EXPECT_EQ(recur_forward(&of, &call), RECUR_DEVICE_ERROR);
  EXPECT_THAT(recur_message(), HasSubstr("the kernels cannot be loaded"));
  EXPECT_EQ(fakeCUDA.unloads, 0);
}

TEST_F(Launch, AKernelIsForOneKindOfMachine) {
  fakeCUDA.capability = 80;
  EXPECT_EQ(forward(), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for 'sm_90a', a GPU of compute capability 9.0, and the current "
                                "context's has 8.0");
  call.device = RECUR_CPU;
  EXPECT_EQ(forward(), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for 'sm_90a' alone; set the call's device to RECUR_CUDA, with arrays "
                                "in memory of a GPU, or add a processor to --target");
  call.device = 2;
  EXPECT_EQ(forward(), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn: there is no device of the number 2; see recur_device");
}

TEST_F(Launch, OfSeveralTargetsTheCallsDeviceDecides) {
  recur_recurrence processor = recurrence;
  processor.features = 0;
  processor.device = RECUR_CPU;
  processor.target = "x86-64";
  processor.next = &recurrence;
  EXPECT_EQ(recur_select_for(&processor, RECUR_CUDA), &recurrence);
  EXPECT_EQ(recur_select(&processor), &processor);
  EXPECT_EQ(recur_forward(&processor, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.launches, 1);
  processor.next = nullptr;
  EXPECT_EQ(recur_forward(&processor, &call), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for processors alone; add a GPU, such as sm_90a, to --target");
}

/// As `--target=sm_90a,sm_86,sm_80,sm_80+` makes them: each GPU takes the first that it runs.
class SeveralGPUs : public Launch {
protected:
  SeveralGPUs() {
    recur_recurrence *next = nullptr;
    for (size_t i = std::size(all); i-- > 0;) {
      all[i] = recurrence;
      all[i].target = names[i];
      all[i].features = i == 0 ? 90 | RECUR_EXACT_CAPABILITY : i == 1 ? 86 : 80;
      all[i].image = i == 3 ? "PTX"
                            : "\x7f"
                              "ELF";
      all[i].next = std::exchange(next, &all[i]);
    }
    large.shared_bytes = 160 * 1024;
    largeKernel.launches = &large;
  }
  std::string choose(int capability) {
    fakeCUDA.capability = capability;
    const recur_recurrence *chosen = recur_select_for(all, RECUR_CUDA);
    return chosen ? chosen->target : "none";
  }
  const char *names[4] = {"sm_90a", "sm_86", "sm_80", "sm_80+"};
  recur_recurrence all[4];
  recur_launch_info large = launches[0];
  recur_kernel_info largeKernel = kernelInfo;
};

TEST_F(SeveralGPUs, EachTakesCodeOfItsGenerationOrPTX) {
  EXPECT_EQ(choose(75), "none");
  EXPECT_EQ(choose(80), "sm_80");
  EXPECT_EQ(choose(86), "sm_86");
  EXPECT_EQ(choose(89), "sm_86");
  EXPECT_EQ(choose(90), "sm_90a");
  EXPECT_EQ(choose(100), "sm_80+");
  EXPECT_EQ(choose(121), "sm_80+");
  all[1].next = nullptr;
  EXPECT_EQ(choose(80), "none"); // an earlier GPU does not run code for a later one
  EXPECT_EQ(choose(100), "none");
}

TEST_F(SeveralGPUs, CodeForOneGPURunsOnNoOther) {
  all[0].next = nullptr;
  all[0].image = "PTX";
  EXPECT_EQ(choose(90), "sm_90a");
  EXPECT_EQ(choose(100), "none");
}

/// Of another GPU's kernels some may take more shared memory than there is.
TEST_F(SeveralGPUs, KernelsThatHaveNoRoomAreNotTaken) {
  all[2].kernels = &largeKernel;
  EXPECT_EQ(choose(80), "sm_80");
  all[0].next = &all[2];
  EXPECT_EQ(choose(86), "sm_80+");
  fakeCUDA.mostSharedBytes = 166912;
  EXPECT_EQ(choose(87), "sm_80");
  fakeCUDA.mostSharedBytes = 101376;
  all[2].next = nullptr;
  EXPECT_EQ(choose(86), "none");
  all[2].name = "gdn";
  EXPECT_EQ(recur_forward(&all[2], &call), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for 'sm_80' and takes 163840 bytes of shared memory, and the current "
                                "context's GPU has 101376");
}

TEST_F(SeveralGPUs, TheVariableNamesOne) {
  setenv("RECUR_TARGET", "sm_80+", 1);
  EXPECT_EQ(choose(86), "sm_80+");
  unsetenv("RECUR_TARGET");
  EXPECT_EQ(choose(86), "sm_86");
}

TEST_F(Launch, AKernelOfOneTokenHasNoChunks) {
  recur_kernel_info step = {nullptr, 640, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, launches, nullptr, 0, nullptr, nullptr};
  recur_recurrence stepwise = recurrence;
  stepwise.kernels = &step;
  ASSERT_EQ(recur_forward(&stepwise, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.grid, 8u);
  recur_unload(&stepwise);
}

/// Eight heads are most of ten multiprocessors; of four CTAs share each head, so that chunks are sooner worth their
/// while.
TEST_F(Launch, FewHeadsTakeChunksOfHalfAsManyTokens) {
  recur_launch_info one = launches[0], many = launches[0];
  one.symbol = "gdn_step";
  many.symbol = "gdn_chunk";
  recur_kernel_info kernels[] = {
      {nullptr, 640, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, &one, nullptr, 0, nullptr, nullptr},
      {nullptr, 640, 8, RECUR_PLAN_CHUNK, 64, nullptr, 0, 1, &many, nullptr, 0, nullptr, nullptr}};
  recur_recurrence both = recurrence;
  both.kernels = kernels;
  both.kernel_count = 2;
  auto choose = [&](int64_t sequences, int64_t tokens) {
    call.B = sequences;
    call.T = tokens;
    EXPECT_EQ(recur_forward(&both, &call), RECUR_OK) << recur_message();
    return fakeCUDA.all.back().symbol;
  };
  EXPECT_EQ(choose(2, 7), "gdn_step");
  EXPECT_EQ(choose(2, 8), "gdn_chunk");
  EXPECT_EQ(choose(1, 3), "gdn_step");
  EXPECT_EQ(choose(1, 4), "gdn_chunk");
  fakeCUDA.multiprocessors = 0; // nobody knows
  EXPECT_EQ(choose(1, 7), "gdn_step");
  recur_unload(&both);
}

TEST_F(Launch, NothingToDoIsNoLaunch) {
  call.B = 0;
  EXPECT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.launches, 0);
}

TEST_F(Launch, MemoryOfTheHostIsRefused) {
  fakeCUDA.hostMemory = o;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the output 'o' is not memory of a GPU");
  fakeCUDA.hostMemory = workspace;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the workspace is not memory of a GPU");
  EXPECT_EQ(fakeCUDA.launches, 0);
}

TEST_F(Launch, WhatIsCheckedOnACPUIsCheckedHere) {
  arguments[3].data = q;
  EXPECT_EQ(forward(), RECUR_OVERLAP);
  EXPECT_STREQ(recur_message(), "gdn: the output 'o' shares memory with the input 'q'");
  call.workspace_bytes = 100;
  EXPECT_EQ(forward(), RECUR_SMALL_WORKSPACE);
  EXPECT_STREQ(recur_message(), "gdn: the workspace has 100 bytes; 5120 are needed");
}

TEST_F(Launch, WhatTheDriverRefusesIsSaid) {
  fakeCUDA.errorOfLoad = 209;
  EXPECT_EQ(forward(), RECUR_DEVICE_ERROR);
  EXPECT_STREQ(recur_message(), "gdn: the kernels cannot be loaded: CUDA_ERROR_NO_BINARY_FOR_GPU");
  fakeCUDA.context = nullptr;
  EXPECT_EQ(forward(), RECUR_DEVICE_ERROR);
  EXPECT_STREQ(recur_message(), "gdn: no context is current: CUDA_ERROR_INVALID_CONTEXT");
}

} // namespace
