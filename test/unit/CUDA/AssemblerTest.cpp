// What the assembler reports against kernels.
#include "Codegen/NVPTX/Assembler.h"
#include "gmock/gmock.h"

using namespace recur;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;

TEST(Faults, AKernelThatKeepsAllInRegistersHasNone) {
  EXPECT_THAT(findFaults("ptxas info    : Function properties for kda\n"
                         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                         "ptxas info    : Used 164 registers, used 1 barriers\n"),
              IsEmpty());
}

TEST(Faults, SpillsAndStackFramesAreSome) {
  EXPECT_THAT(findFaults("    32 bytes stack frame, 32 bytes spill stores, 0 bytes spill loads\n"),
              ElementsAre(FieldsAre("", "32 bytes stack frame, 32 bytes spill stores, 0 bytes spill loads", 32)));
  EXPECT_THAT(findFaults("    0 bytes stack frame, 0 bytes spill stores, 8 bytes spill loads\n"),
              ElementsAre(FieldsAre("", "0 bytes stack frame, 0 bytes spill stores, 8 bytes spill loads", 8)));
}

TEST(Faults, AreOfTheKernelThatTheReportNames) {
  EXPECT_THAT(findFaults("ptxas info    : Function properties for kda_early\n"
                         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                         "ptxas info    : Function properties for kda_late\n"
                         "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                         "ptxas info    : (C7510) Potential Performance Loss in function 'kda_chain'\n"),
              ElementsAre(FieldsAre("kda_late", "8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", 8),
                          FieldsAre("kda_chain",
                                    "ptxas info    : (C7510) Potential Performance Loss in function 'kda_chain'", 0)));
}

/// Of a chain, whatever is the reason.
TEST(Faults, ProductsThatWaitForEachOtherAreSome) {
  for (std::string text :
       {"(C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register "
        "resources for the function 'kda_chain'",
        "(C7518) Potential Performance Loss: wgmma.mma_async instructions are serialized due to program dependence on "
        "compiler-inserted WG.DP in divergent path in the function 'kda_chain'",
        "(C7517) warpgroup.wait is injected in around line 29 by compiler to allow use of registers defined by GMMA in "
        "function 'kda_chain'"})
    EXPECT_THAT(findFaults("ptxas info    : " + text + "\n"),
                ElementsAre(FieldsAre("kda_chain", "ptxas info    : " + text, 0)));
}

TEST(Faults, ProductsOneAfterAnotherAreSome) {
  EXPECT_THAT(
      findFaults("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
                 "ptxas info    : (C7600) something else\n"),
      ElementsAre(FieldsAre(
          "", "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized", 0)));
}
