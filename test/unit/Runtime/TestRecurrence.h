// A recurrence whose kernel is written by hand: linear attention with a decay and a param, shared queries and keys, and
// a second output. What the runtime makes of it can be told from its results.
#pragma once
#include "recur/Runtime.h"
#include <cstdint>
#include <vector>

namespace recur::test {

constexpr int64_t K = 3, V = 5;

// The place of each argument.
enum { q, k, v, g, mu, initialS, initialN, o, seen, finalS, finalN, argumentCount };

/// The states, as a call begins with them and as it leaves them; and the numbers of one for a head.
constexpr int statePairs[][2] = {{initialS, finalS}, {initialN, finalN}};
constexpr int64_t countStateNumbers(int argument) { return argument == initialS || argument == finalS ? V * K : 1; }

/// Two kernels of the same results: `step` for up to 2 tokens and `chunk`.
extern const recur_recurrence attention;
/// The same with the plan `segment` besides, of chunks of 4 tokens.
extern const recur_recurrence segmented;
/// How often each of the kernels has run.
extern int64_t stepRuns, chunkRuns;
/// How often a kernel, a summary's too, has run, and how often of these in the mode that kernels are to run in.
extern int64_t allRuns, flushingRuns;

/// The arguments of a call of its gradient: inputs, mu, initial states; cotangents of outputs and final states;
/// gradients.
constexpr int gradientArgumentCount = 18, firstGradient = 11;
/// The numbers of one of them, dense, of all tokens, of all heads or of each sequence's.
int64_t countGradientElements(int argument, int64_t tokens, int64_t H, int64_t Hq, int64_t sequences);

/// Dense arrays of a call, filled with numbers that differ everywhere.
struct Problem {
  int64_t B, T, H, Hq, sequences;
  std::vector<float> arrays[argumentCount];
  std::vector<char> space;

  Problem(int64_t B, int64_t T, int64_t H, int64_t Hq, int64_t sequences = -1);
  /// All arrays dense, one thread, and a workspace of the size that the query gives.
  recur_call makeCall(recur_argument (&arguments)[argumentCount], const int64_t *offsets = nullptr, int32_t threads = 1,
                      const recur_recurrence *recurrence = &attention);
  /// Gives the call the workspace that the query says.
  void makeSpace(recur_call &call, const recur_recurrence *recurrence);
};

/// The same recurrence by the definition, on the problem's dense arrays: fills `o`, `seen`, `S` and `N`.
struct Expected {
  std::vector<float> o, seen, S, N;
  explicit Expected(const Problem &problem, const int64_t *offsets = nullptr);
};

} // namespace recur::test
