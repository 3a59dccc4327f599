// The summary of each state by itself, on random recurrences: segments shorter than a chunk, of whole chunks, and of
// odd lengths.
#include "Pipelines/Stages.h"
#include "Transforms/Chunk/StatePath.h"
#include "dialects/Chunk/ChunkSummaryParts.h"
#include "mlir/Pass/PassManager.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include "property/Summaries.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

/// What is wrong with a summary; empty if nothing is, or if there is none. Counts those whose other side is scaled.
static std::string findMistake(llvm::StringRef text, PipelineOptions options, const data::Data &given,
                               unsigned &scaled) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  data::Data data = fitData(compiled->recurrence, given, /*startsAreGiven=*/true);
  if (mlir::failed(runStages(*compiled->module, nullptr, *findStage("chunk"), options)))
    return "the passes of stage 'chunk' failed";
  if (chunk::findObstacle(*compiled->module->getOps<chunk::ProgramOp>().begin()))
    return {};
  mlir::PassManager passes(&getContext());
  populateSummaries(passes);
  if (mlir::failed(passes.run(*compiled->module)))
    return "the passes that summarise segments failed";
  llvm::SmallVector<chunk::ProgramOp> programs(compiled->module->getOps<chunk::ProgramOp>());
  for (chunk::ProgramOp summary : llvm::ArrayRef(programs).drop_front())
    scaled += bool(chunk::getSummaryParts(summary).scales);
  return findWrongSummary(programs[0], llvm::ArrayRef(programs).drop_front(), data, 1e-10);
}

TEST(Summary, SaysWhatASegmentDoes) {
  unsigned failures = 0, scaled = 0;
  Seeds seeds = pickSeeds(90000, 1000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    PipelineOptions options;
    options.chunk = random.pick<int64_t>({1, 2, 7, 16});
    data::Data data = drawData(drawn, seed, {1, random.pick<int64_t>({1, 3, 14, 37}), 1, 1});
    DisguiseOptions plainNames;
    plainNames.renameDeclarations = false;
    std::string text = disguise(drawn, 0, plainNames).text;
    std::string mistake = findMistake(text, options, data, scaled);
    if (mistake.empty())
      continue;
    ++failures;
    auto fails = [&](llvm::StringRef candidate) { return !findMistake(candidate, options, data, scaled).empty(); };
    ADD_FAILURE() << "C = " << *options.chunk << ", " << describeFailure(seed, mistake, text, fails);
  }
  if (!failures && seeds.count >= 500)
    EXPECT_GE(scaled, 10u);
}
