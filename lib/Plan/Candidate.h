// A candidate is a way to compute a chunk program, as data: what a plan is built from, and what a report names. A
// verdict says what came of it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace recur::plan {

/// How a machine goes over the chunks. Those of a GPU are in order, from the one that is wanted most to the one that
/// every program has.
enum class Form {
  /// One launch, from chunk to chunk with the state in registers, where writes read no state.
  AllInChain,
  /// What no state enters for all chunks at once, and then from chunk to chunk what states enter, with the state in
  /// registers and with inverses that are not rounded to 16 bits.
  PreciseInChain,
  /// The same with inverses of the data's type.
  OutputsInChain,
  /// The chain goes over the states alone, and what becomes of them is again for all chunks at once.
  InPhases,
  /// One CTA for each head of each sequence.
  Plain,
  /// Of a processor: one core for each head of each sequence.
  Core,
};

llvm::StringRef getName(Form form);
/// The form of a GPU that takes the place of this one; the last one stays.
Form getNext(Form form);

/// What was changed in a plan that was built, so that it takes fewer registers.
struct Change {
  std::string about; // a later change of the same takes its place
  std::string what;
  std::string loss = {}; // what calls lack for it, if they do
  bool operator==(const Change &other) const = default;
};

struct Candidate {
  int64_t chunk = 0; // tokens
  Form form = Form::AllInChain;
  bool hasPrologue = false; // rows that are made of rows of several tokens have a launch of their own in front
  bool summarises = true;   // segments of sequences that are cut, where there are such summaries
  bool isInTurn = false;    // no registers hold numbers of the next chunk
  std::vector<Change> changes;

  /// `64 tokens, interactions, then a chain with outputs`.
  std::string describe() const;
  bool operator==(const Candidate &other) const = default;
};
/// Of a processor.
Candidate getCore(int64_t chunk);

struct Verdict {
  Candidate candidate;
  double cycles = 0;  // of a call of few heads, as estimated; 0 where nothing was built
  std::string whyNot; // empty: it is the one that is taken
  bool isTaken() const { return whyNot.empty(); }
};

} // namespace recur::plan
