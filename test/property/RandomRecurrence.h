// Random recurrences of the language, of known class, with data to run them on. A recurrence is drawn as a normal form
// (which states, of which class, with which decays, keys and gains) and written out in one plain way; Disguise.h writes
// the same recurrence in others. Everything follows from the seed.
//
// What is drawn is tame: keys are of about unit length, gains at most 2 on exact unit keys and at most 1 elsewhere,
// decays at most 1 in magnitude, and what one state hands to the next is bounded. So a difference between two ways of
// computing it is a mistake, not the growth of rounding errors.
#pragma once
#include "Data/DrawnData.h"
#include "property/Terms.h"
#include <optional>

namespace recur::property {

enum class StateClass { Diagonal, Tropical, Moebius, Delta, Inverse, Elementwise, General };
/// The word that `recurc explain` uses.
llvm::StringRef getWord(StateClass stateClass);

using data::Fill;
using data::Random;

struct DrawnArray {
  std::string name;
  Shape shape;
  Fill fill;
  bool shared = false;
  bool isInteger() const { return fill == Fill::Whole; }
};

struct DrawnState {
  std::string name;
  Shape shape;
  Fill initial;
  StateClass stateClass;
  /// Of a delta state: rank-one terms of a token, where that number is certain.
  std::optional<unsigned> microSteps;
  Term start = nullptr; // null: zero
};

/// One part of the token's program, in several forms that mean the same.
struct Stage {
  std::vector<std::vector<reduce::Item>> forms;
};

struct DrawnRecurrence {
  uint64_t seed = 0;
  std::string name;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<reduce::Item> constants;
  std::vector<DrawnArray> inputs, params;
  std::vector<DrawnState> states;
  std::vector<std::string> outputs;
  std::vector<Stage> stages;
  /// Whether `where` chooses between values of states. What it does not take is masked factor by factor, for it may be
  /// infinite; so the normal form is then that of the factors as they are spelled.
  bool choosesReads = false;
};

DrawnRecurrence drawRecurrence(uint64_t seed);

/// A `.recur` file of the recurrence with these statements.
reduce::Spec makeSpec(const DrawnRecurrence &recurrence, std::vector<reduce::Item> statements);
/// The first form of every stage.
reduce::Spec makePlainSpec(const DrawnRecurrence &recurrence);

/// Inputs, params and initial states for the recurrence, with gates and keys of the kinds that break kernels.
data::Data drawData(const DrawnRecurrence &recurrence, uint64_t seed, data::Sizes sizes);

} // namespace recur::property
