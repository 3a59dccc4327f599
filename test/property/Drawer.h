// Draws the parts of a recurrence. Not for users of RandomRecurrence.h.
#pragma once
#include "property/DeltaUpdate.h"
#include "property/RandomRecurrence.h"

namespace recur::property {

class Drawer {
public:
  explicit Drawer(uint64_t seed);
  DrawnRecurrence draw();

private:
  void dropUnused();
  void drawStarts();
  void drawChoices();

  // Declarations. `base` is the name if it is free, else a number is appended.
  std::string fresh(llvm::StringRef base);
  Term input(llvm::StringRef base, Shape shape, Fill fill);
  Term param(llvm::StringRef base, Shape shape, Fill fill);
  Term addState(llvm::StringRef base, Shape shape, Fill initial, StateClass stateClass);
  void addOutput(Term value);
  /// The output's statement, for a stage that is made elsewhere.
  reduce::Item makeOutput(Term value);
  void addStage(std::vector<reduce::Item> statements) { recurrence.stages.push_back({{std::move(statements)}}); }
  /// An input that earlier states used, sometimes, so that states share keys and values.
  Term inputOf(llvm::StringRef base, Shape shape, Fill fill);

  /// An input of integers.
  Term wholeOf(Shape shape);

  // Terms (DrawTerms.cpp).
  /// At most 1 in magnitude; in log space, of unknown sign, constant.
  Term drawDecay(const Shape &shape);
  /// Null is one. `strong`: up to 2, for exact unit keys.
  Term drawGain(bool strong);
  Term drawAnyGain(bool strong);
  struct Key {
    Term term;
    bool unit; // exactly of length one
  };
  Key drawKey(llvm::StringRef base, llvm::StringRef size);
  Term drawValue(llvm::StringRef base, llvm::StringRef size);
  Term drawQuery(llvm::StringRef size, const Term &key);
  Term finishOutput(Term value);
  /// What later states may use of this state, as it is now or, sometimes, as it was.
  void offer(const Term &state, const Term &old, bool positive);
  Term mayUseOld(const Term &state, Term &current);

  // States.
  void drawDelta(); // DrawDelta.cpp
  void drawDeltaLoop();
  void drawNormalised();
  void drawStabilised();
  void drawGram();
  void drawDiagonal(); // DrawStates.cpp
  void drawTropical();
  void drawElementwise();
  void drawGeneral();
  void drawCycle();
  void drawRankOneVector();
  void drawDelayed();
  void drawCoupled();
  void drawChannelGain();
  void drawTurned();
  void drawMoebius();
  void drawInverse();
  void drawReplaced();
  void drawFeedback(); // DrawEarlier.cpp
  void drawEarlierScan();
  void drawStateless();

  Decay drawStateDecay(const MatrixState &state, bool needed);
  RankOne drawRankOne(const MatrixState &state, bool pre, bool maySkipValue);
  void addReadOutput(const MatrixState &state, bool leftReads, const Term &key, const Term &value);

  Random random;
  DrawnRecurrence recurrence;
  std::vector<std::string> names;
  /// What earlier states offer: vectors of about unit length, gains in 0 .. 1, positive vectors of moderate size.
  std::vector<Term> keys, gains, values, preconditioners;
};

} // namespace recur::property
