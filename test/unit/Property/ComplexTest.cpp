// Recurrences of complex numbers compute what C++'s complex numbers do, and all their stages, gradients and kernels
// what the interpreter does.
#include "Check/RecurrenceCheck.h"
#include "property/ComplexDraw.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

TEST(Complex, ComputesWhatComplexNumbersDo) {
  unsigned failures = 0;
  Seeds seeds = pickSeeds(70000, 1000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    ComplexRecurrence drawn = drawComplexRecurrence(seed);
    data::Data given = drawComplexData(drawn, seed, {2, 7, 2, 1});
    llvm::Expected<Compiled> compiled = property::compile(drawn.text);
    if (!compiled) {
      ++failures;
      ADD_FAILURE() << describeFailure(seed, llvm::toString(compiled.takeError()), drawn.text);
      continue;
    }
    // What delays hold starts as zero, as it does there.
    llvm::Expected<data::Results> got = judge(*compiled, given);
    if (!got) {
      ++failures;
      ADD_FAILURE() << describeFailure(seed, llvm::toString(got.takeError()), drawn.text);
      continue;
    }
    data::Results want = evaluate(drawn, given);
    std::erase_if(got->final, [&](const auto &state) { return !want.final.contains(state.first); });
    double off = distance(*got, want);
    if (off <= 1e-10)
      continue;
    ++failures;
    ADD_FAILURE() << describeFailure(seed, "differs by " + std::to_string(off), drawn.text);
  }
}

TEST(Complex, EveryStageAgrees) {
  unsigned failures = 0;
  Seeds seeds = pickSeeds(71000, 48);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    ComplexRecurrence drawn = drawComplexRecurrence(seed);
    llvm::Expected<Compiled> compiled = property::compile(drawn.text);
    ASSERT_TRUE(bool(compiled)) << drawn.text << llvm::toString(compiled.takeError());
    check::CheckOptions options;
    options.seed = seed;
    options.tokens = {0, 1, 5, 33};
    options.backward = seed % 4 == 1;
    options.compiles = seed % 8 == 2; // LLVM takes longer than all the rest
    PipelineOptions pipeline;
    pipeline.effort = Effort::Quick;
    pipeline.backward = options.backward;
    auto report = check::checkRecurrence(compiled->recurrence, options, pipeline, [](const llvm::Twine &) {});
    if (report && report->passes())
      continue;
    ++failures;
    std::string message = report ? printAsText(*report, options) : llvm::toString(report.takeError());
    ADD_FAILURE() << describeFailure(seed, message, drawn.text);
  }
}
