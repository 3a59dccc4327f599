// One head of one sequence, or a segment of it, handed to a kernel.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// Tokens of one head of one sequence.
struct Part {
  int64_t unit;           // sequence times heads plus head
  int64_t begin, tokens;  // in the sequence
  char *before = nullptr; // the states before it, as in a segment's record; null: as the caller gives them
  char *after = nullptr;  // where the states after it go; null: to the caller
  bool isLast = true;     // else nobody wants the states after it, but for `after`
  /// Where the call keeps states: the rows that this begins and ends at; -1: it does so at none.
  int64_t rowBefore = -1, rowAfter = -1;
};

/// A matrix with its sides swapped.
inline void transpose(const float *from, float *to, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      to[column * rows + row] = from[row * columns + column];
}

/// The first element of the part in an array of the caller.
char *getData(const Call &call, const Part &part, const Argument &argument);

/// Runs a kernel of the recurrence on the part, in the workspace of a slot, and keeps the states that the call wants.
void runPart(const Call &call, const Part &part, const recur_kernel_info &kernel, char *workspace);

/// The parts of a summary as its kernels take them: gives how many there are.
int32_t placeSummary(const recur_summary_info &summary, char *map, char *offset, recur_array *arrays);

/// Sets a summary to what no tokens make of a state.
void beginSummary(const Call &call, const recur_summary_info &summary, char *map, char *offset);

/// A state of the caller's, or zeros, as kernels have it; and back.
void readState(const Argument &argument, int64_t sequence, int64_t head, char *to);
void writeState(const Argument &argument, int64_t sequence, int64_t head, const char *from);
/// The same to where the caller has the state, rounded once.
void giveState(const Argument &argument, const float *from, char *to);

/// Computes what the part makes of a state, where `before` has all states before it, of which those that are needed are
/// known.
void runSummary(const Call &call, const Part &part, const recur_summary_info &summary, char *before, char *map,
                char *offset, char *workspace);
/// Computes what the part, whose record has the states before it that are needed, makes of a state. The record gets it.
void runSummary(const Call &call, const Part &part, const recur_summary_info &summary, char *record, char *workspace);

/// What a segment makes of a state, by the parts of its summary.
void applySummary(const recur_summary_info &summary, char *state, char *map, char *offset, char *next, char *workspace);

/// Takes a state from before a segment to before the next one, by the summary in the segment's record.
void applySummary(const Call &call, const recur_summary_info &summary, char *record, char *nextRecord, char *workspace);

} // namespace recur::runtime
