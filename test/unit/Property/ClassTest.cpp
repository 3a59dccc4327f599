// Recur finds out what was drawn: the class of each state and the number of micro-steps, whatever the disguise.
#include "Analysis/RecurrenceAnalysis.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

/// What the analysis finds other than was drawn; empty when it agrees. A function that is written in two ways may make
/// two keys of one, so the number of micro-steps is not always asked for.
static std::string findMistakes(const DrawnRecurrence &drawn, const Disguise &text, bool steps) {
  llvm::Expected<Compiled> compiled = compile(text.text);
  if (!compiled)
    return llvm::toString(compiled.takeError());
  analysis::RecurrenceAnalysis analysis(compiled->recurrence);
  std::string mistakes;
  for (const DrawnState &state : drawn.states) {
    const std::string &written = text.names.at(state.name);
    auto facts = llvm::find_if(analysis.getStates(), [&](const analysis::StateFacts &f) {
      return analysis::StateFacts(f).op.getName() == written;
    });
    if (facts == analysis.getStates().end()) {
      mistakes += "state " + state.name + " is missing; ";
      continue;
    }
    llvm::StringRef found = analysis::nameOf(facts->stateClass);
    if (found != getWord(state.stateClass))
      mistakes += "state " + state.name + " is " + getWord(state.stateClass).str() + " but was found to be " +
                  found.str() + " (" + facts->reason + "); ";
    else if (steps && facts->delta && state.microSteps && facts->delta->steps.size() != *state.microSteps)
      mistakes += "state " + state.name + " has " + std::to_string(*state.microSteps) + " micro-steps but " +
                  std::to_string(facts->delta->steps.size()) + " were found; ";
  }
  return mistakes;
}

TEST(Class, IsWhatWasDrawnInEveryDisguise) {
  unsigned failures = 0;
  std::map<std::string, unsigned> seen;
  DisguiseOptions options;
  options.law = Law::KeepsClass;
  Seeds seeds = pickSeeds(10000, 1000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    for (const DrawnState &state : drawn.states)
      ++seen[getWord(state.stateClass).str()];
    Disguise plain = writePlainly(drawn);
    if (std::string mistakes = findMistakes(drawn, plain, true); !mistakes.empty()) {
      ADD_FAILURE() << describeFailure(drawn.seed, mistakes, plain.text);
      ++failures;
      continue;
    }
    for (Law law : {Law::KeepsNormalForm, Law::KeepsClass}) {
      DisguiseOptions options;
      options.law = law;
      uint64_t variant = uint64_t(law);
      auto find = [&](const Disguise &d) { return findMistakes(drawn, d, law == Law::KeepsNormalForm); };
      std::string mistakes = find(disguise(drawn, variant, options));
      if (mistakes.empty())
        continue;
      ADD_FAILURE() << describeFailingDisguise(drawn, variant, options, mistakes,
                                               [&](const Disguise &d) { return !find(d).empty(); });
      ++failures;
    }
  }
  // Every class was drawn.
  if (!failures && seeds.count >= 500)
    for (const char *word : {"diagonal", "tropical", "moebius", "delta", "elementwise", "general"})
      EXPECT_GT(seen[word], 9u) << word;
  if (!failures && seeds.count >= 500)
    EXPECT_GT(seen["inverse"], 3u);
}

// What a failing property test shows is the cause and little else.
TEST(Class, AFailureIsReducedToItsCause) {
  auto hasGeneralState = [](llvm::StringRef text) {
    llvm::Expected<Compiled> compiled = compile(text);
    if (!compiled) {
      llvm::consumeError(compiled.takeError());
      return false;
    }
    analysis::RecurrenceAnalysis analysis(compiled->recurrence);
    return llvm::any_of(analysis.getStates(), [](const analysis::StateFacts &facts) {
      return facts.stateClass == analysis::StateClass::General;
    });
  };
  unsigned found = 0;
  for (uint64_t seed = 0; seed < 300 && found < 5; ++seed) {
    std::string text = disguise(drawRecurrence(seed), 0).text;
    if (!hasGeneralState(text))
      continue;
    ++found;
    std::string message = describeFailure(seed, "a general state", text, hasGeneralState);
    size_t reduced = message.find("\nrecurrence ");
    ASSERT_NE(reduced, std::string::npos) << message;
    std::string least = message.substr(reduced + 1);
    EXPECT_TRUE(hasGeneralState(least)) << message;
    EXPECT_LE(std::count(least.begin(), least.end(), '\n'), 7) << message;
  }
  EXPECT_EQ(found, 5u);
}
