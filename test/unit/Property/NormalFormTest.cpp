// One recurrence has one normal form, however it is written; and the pass that writes it down keeps the values.
#include "Transforms/DGPS/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "property/Failure.h"
#include "property/FormText.h"
#include "property/Judge.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

static std::string findForm(llvm::StringRef text) {
  llvm::Expected<Compiled> compiled = compile(text);
  if (!compiled)
    return llvm::toString(compiled.takeError());
  analysis::RecurrenceAnalysis analysis(compiled->recurrence);
  return printForm(analysis);
}

TEST(NormalForm, IsOneForAllDisguises) {
  DisguiseOptions options;
  options.law = Law::KeepsNormalForm;
  options.renameDeclarations = false;
  options.reorderDeclarations = false; // writes that commute stand in the order of the declarations
  unsigned failures = 0;
  Seeds seeds = pickSeeds(20000, 1000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    if (drawn.choosesReads)
      continue;
    std::string plain = findForm(writePlainly(drawn).text);
    for (uint64_t variant = 0; variant < 2; ++variant) {
      std::string form = findForm(disguise(drawn, variant, options).text);
      if (form == plain)
        continue;
      ADD_FAILURE() << describeFailingDisguise(drawn, variant, options, "another normal form than the plain text's",
                                               [&](const Disguise &d) { return findForm(d.text) != plain; })
                    << "\nfound:\n"
                    << form << "\nthe plain text's:\n"
                    << plain;
      ++failures;
    }
  }
}

/// What is wrong with the recurrence after dgps-normalize; empty when nothing is.
static std::string findNormalizingMistake(llvm::StringRef text, const data::Data &given) {
  llvm::Expected<Compiled> compiled = compile(text);
  if (!compiled)
    return ""; // the other tests' business
  data::Data data = fitData(compiled->recurrence, given);
  llvm::Expected<data::Results> want = judge(*compiled, data);
  if (!want) {
    llvm::consumeError(want.takeError());
    return "";
  }
  mlir::PassManager passes(&getContext());
  passes.nest<dgps::RecurrenceOp>().addPass(dgps::createNormalizePass());
  if (mlir::failed(passes.run(*compiled->module)))
    return "dgps-normalize fails";
  llvm::Expected<data::Results> got = judge(*compiled, data);
  if (!got)
    return llvm::toString(got.takeError());
  double off = distance(*got, *want);
  return off <= 1e-10 ? "" : "dgps-normalize changes the values by " + std::to_string(off);
}

TEST(NormalForm, WritingItDownKeepsTheValues) {
  DisguiseOptions options;
  options.renameDeclarations = false;
  unsigned failures = 0;
  Seeds seeds = pickSeeds(30000, 1000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    data::Data data = drawData(drawn, seed, {1, 6, 2, 1});
    std::string text = disguise(drawn, 0, options).text;
    std::string mistake = findNormalizingMistake(text, data);
    if (mistake.empty())
      continue;
    auto fails = [&](llvm::StringRef candidate) { return !findNormalizingMistake(candidate, data).empty(); };
    ADD_FAILURE() << describeFailure(seed, mistake, text, fails);
    ++failures;
  }
}
