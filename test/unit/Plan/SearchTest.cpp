// The search's laws: which candidates there are, what becomes of them, and that refused ones do not come back.
#include "Plan/Search.h"
#include "Analysis/StateChain.h"
#include "Finding.h"
#include "Plan/Relief.h"
#include "dialects/Tile/Tile.h"

using namespace recur;

namespace {

class SearchLaws : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto opened = openExample((RECUR_SOURCE_DIR "/examples/" + std::string(GetParam()) + ".recur"), {128, 128});
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    specification = std::move(*opened);
    auto program = compile::makeChunkProgram(specification->getRecurrences().front(), pipeline, 64);
    ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
    made = std::move(*program);
    pipeline.chunk = 64;
  }
  std::unique_ptr<driver::Specification> specification;
  PipelineOptions pipeline = test::makeOptions("sm_90a", DataType::BF16);
  plan::ChunkProgram made;
};

TEST_P(SearchLaws, OneIsTakenAndAllOthersSayWhyNot) {
  plan::Search search(made.program, pipeline);
  auto kernels = search.find();
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  unsigned taken = 0;
  for (const plan::Verdict &verdict : search.getVerdicts()) {
    taken += verdict.isTaken();
    EXPECT_EQ(verdict.isTaken(), verdict.candidate == search.getTaken()) << verdict.candidate.describe();
    if (verdict.isTaken())
      EXPECT_EQ(verdict.cycles, kernels->plan.cycles);
  }
  EXPECT_EQ(taken, 1u);
  EXPECT_GT(kernels->plan.cycles, 0);
  EXPECT_EQ(kernels->plan.form, search.getTaken().form);
}

TEST_P(SearchLaws, RefusedCandidatesDoNotComeBackAndThePlainOneIsLast) {
  plan::Search search(made.program, pipeline);
  std::vector<plan::Form> found;
  do {
    auto kernels = search.find();
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    if (!found.empty())
      EXPECT_GT(kernels->plan.form, found.back());
    found.push_back(kernels->plan.form);
    if (found.back() != plan::Form::Plain)
      search.refuse("registers");
  } while (found.back() != plan::Form::Plain);
  unsigned refused =
      llvm::count_if(search.getVerdicts(), [](const plan::Verdict &verdict) { return verdict.whyNot == "registers"; });
  EXPECT_EQ(refused, found.size() - 1);
  EXPECT_GT(found.size(), 1u);
}

/// What is searched twice is the same: a report, a check and a build each search by themselves.
TEST_P(SearchLaws, FindsTheSameAgain) {
  std::string texts[2];
  for (std::string &text : texts) {
    auto kernels = plan::Search(made.program, pipeline).find();
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    llvm::raw_string_ostream(text) << *kernels->tiles;
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_P(SearchLaws, ComplaintsTakeOccupancyUntilNothingIsLeft) {
  plan::Search search(made.program, pipeline);
  auto kernels = search.find();
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  std::vector<plan::Complaint> complaints;
  for (const tile::Launch &launch : kernels->plan.launches)
    complaints.push_back({launch.symbol, /*spills=*/true});
  constexpr unsigned most = 32;
  unsigned rounds = 0;
  for (; rounds < most; ++rounds) {
    std::vector<plan::Change> changes = plan::relieve(*kernels, *pipeline.target.gpu, complaints);
    if (changes.empty())
      break;
    search.change("registers", changes);
    EXPECT_EQ(search.getTaken().form, kernels->plan.form);
    EXPECT_TRUE(llvm::any_of(search.getVerdicts(), [&](const plan::Verdict &verdict) {
      return verdict.isTaken() && verdict.candidate == search.getTaken() && verdict.cycles > 0;
    }));
  }
  EXPECT_GT(rounds, 0u);
  EXPECT_LT(rounds, most);
}

/// What is at fault with the form for lists alone changes that form alone, as long as sequences keep their bits.
TEST(Relief, OfTheFormForListsLeavesTheChainAlone) {
  auto opened = openExample(RECUR_SOURCE_DIR "/examples/gated_delta_net.recur", {128, 128});
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  PipelineOptions pipeline = test::makeOptions("sm_90a", DataType::BF16);
  auto made = compile::makeChunkProgram((*opened)->getRecurrences().front(), pipeline, 64);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  pipeline.chunk = 64;
  auto kernels = plan::Search(made->program, pipeline).find();
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  tile::Launch &launch = kernels->plan.launches.back();
  auto kernel = kernels->tiles->lookupSymbol<tile::KernelOp>(launch.symbol);
  const std::string listed = launch.listed;
  ASSERT_EQ(listed, launch.symbol + "_listed");
  auto relieve = [&] {
    std::vector<plan::Change> changes =
        plan::relieve(*kernels, *pipeline.target.gpu, plan::Complaint{listed, /*spills=*/true});
    EXPECT_EQ(changes.size(), 1u);
    return changes.empty() ? plan::Change() : changes.front();
  };
  plan::Change late = relieve();
  EXPECT_EQ(late.what, listed + " reads late what it adds to products");
  EXPECT_EQ(late.loss, "");
  EXPECT_TRUE(kernel->hasAttr(analysis::listedReadsLateAttribute));
  EXPECT_FALSE(kernel->hasAttr(analysis::readsLateAttribute));
  EXPECT_EQ(launch.listed, listed);
  plan::Change without = relieve();
  EXPECT_EQ(without.about, late.about) << "takes its place in a report";
  EXPECT_EQ(without.what, "no " + listed);
  EXPECT_EQ(without.loss, "'" + listed + "' is left out, and packed sequences are not sorted by their length");
  EXPECT_TRUE(kernel.getUnlisted());
  EXPECT_FALSE(kernel->hasAttr(analysis::readsLateAttribute));
  EXPECT_EQ(launch.listed, "");
}

// One chain; interactions, and a chain that has side by side room; decays by channel; rows of several tokens.
INSTANTIATE_TEST_SUITE_P(Some, SearchLaws, ::testing::Values("linear_attention", "gated_delta_net", "kda", "titans"),
                         [](const auto &info) { return std::string(info.param); });

// A team takes chunks of one head after another: nothing of a head, such as a param's number, is there before its
// chunks.
TEST(Teams, MakeWhatIsOfAHeadForEachChunk) {
  for (const char *example : {"comba", "pgdn"}) {
    auto opened = openExample(std::string(RECUR_SOURCE_DIR "/examples/") + example + ".recur", {128, 128});
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    PipelineOptions pipeline = test::makeOptions("sm_90a", DataType::BF16);
    auto made = compile::makeChunkProgram((*opened)->getRecurrences().front(), pipeline, 64);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    pipeline.chunk = 64;
    auto kernels = plan::Search(made->program, pipeline).find();
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    int64_t teams = 0;
    for (tile::KernelOp kernel : kernels->tiles->getOps<tile::KernelOp>()) {
      if (!kernel.getTeams())
        continue;
      ++teams;
      EXPECT_TRUE(kernel.getBody().front().getOps<tile::LoadOp>().empty()) << example;
    }
    EXPECT_EQ(teams, 1) << example;
  }
}

} // namespace
