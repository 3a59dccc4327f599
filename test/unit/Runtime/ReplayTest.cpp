// Tokens that a call goes over again, as far as they were taken, and others that it tries behind these: the bits of
// calls of one token each, and of the pools nothing else is touched.
#include "OneToken.h"
#include "PooledCall.h"

using namespace recur::test;

namespace {

constexpr int64_t poolRows = 11;

/// What a call has of its sequences.
struct Replay {
  int64_t replayed;
  std::vector<int32_t> accepted, states, finals = {}; // without final rows they are those of the states
  int32_t getFinal(size_t sequence) const { return (finals.empty() ? states : finals)[sequence]; }
};

/// Goes over the tokens that were taken, keeps the states, and goes on to the tokens that are tried.
void expectSame(const Problem &given, const PoolsOfCall &how, const Replay &replay, const int64_t *offsets = nullptr) {
  auto run = [&](OneByOne &own, int64_t sequence, int64_t first, int64_t end) {
    own.begin(replay.states[size_t(sequence)]);
    for (int64_t token = first; token < first + replay.accepted[size_t(sequence)]; ++token)
      own.goOver(token, /*outputPlace=*/-1);
    own.keep(replay.getFinal(size_t(sequence)));
    for (int64_t token = first + replay.replayed; token < end; ++token)
      own.goOver(token, offsets ? token : token - (sequence + 1) * replay.replayed);
  };
  expectSameAsOneByOne(given, how, poolRows, offsets, run, [&](recur_call &call) {
    call.state_indices = replay.states.data();
    call.final_indices = replay.finals.empty() ? nullptr : replay.finals.data();
    call.accepted = replay.accepted.data();
    call.replayed = replay.replayed;
  });
}

struct ReplayMisuse : PooledCall {
  std::vector<int32_t> accepted{2, 0}, states{1, 7};

  ReplayMisuse() : PooledCall({2, 5, 2, 1}, poolRows) {
    call.state_indices = states.data();
    call.accepted = accepted.data();
    call.replayed = 3;
    problem.makeSpace(call, &attention);
  }
};

} // namespace

TEST(Replay, HasTheBitsOfCallsOfOneToken) {
  for (const PoolsOfCall &how : everyWay) {
    expectSame(Problem(3, 7, 4, 2), how, {4, {3, 0, 4}, {5, 7, 2}});
    expectSame(Problem(3, 7, 4, 2), how, {1, {1, 0, 1}, {5, -1, 2}}); // one begins anew, and is stored nowhere
    expectSame(Problem(2, 4, 4, 2), how, {4, {2, 0}, {5, 7}});        // nothing is tried
  }
}

TEST(Replay, StoresStatesInRowsOfTheirOwn) {
  for (const PoolsOfCall &how : everyWay)
    expectSame(Problem(4, 5, 2, 1), how, {3, {0, 1, 3, 0}, {5, 5, -1, -1}, {1, 2, 3, 4}});
  expectSame(Problem(2, 5, 2, 1), {}, {3, {2, 3}, {5, 7}, {-1, 7}});
}

TEST(Replay, IsOfPackedSequencesOfDifferentLengths) {
  const int64_t offsets[] = {1, 4, 6, 12};
  for (const PoolsOfCall &how : everyWay)
    expectSame(Problem(1, 13, 2, 1, 3), how, {2, {1, 2, 0}, {1, 2, 3}}, offsets);
}

TEST(Replay, GoesOverAsManyTokensAsThereAre) { expectSame(Problem(1, 60, 2, 1), {}, {40, {33}, {4}}); }

TEST_F(ReplayMisuse, NumbersOfTokens) {
  expectTaken();
  accepted[1] = 4;
  expectRefused(RECUR_BAD_INDEX, "accepted[1] is 4; of the tokens that are replayed it is 0 to 3");
  accepted[1] = -1;
  expectRefused(RECUR_BAD_INDEX, "accepted[1] is -1; of the tokens that are replayed it is 0 to 3");
  accepted[1] = 3;
  call.replayed = 6;
  expectRefused(RECUR_BAD_SIZE, "T is 5, and replayed, which counts the first of these tokens, is 6");
  call.replayed = -1;
  expectRefused(RECUR_BAD_SIZE, "replayed is -1; it must be at least 0, and at most 2147483647");
  const int64_t offsets[] = {0, 4, 6};
  Problem packed(1, 6, 2, 1, 2);
  call = packed.makeCall(arguments, offsets);
  arguments[initialS].data = arguments[finalS].data = pool.data();
  arguments[initialN].data = arguments[finalN].data = counts.data();
  call.state_indices = states.data();
  call.accepted = accepted.data();
  call.pool_rows = poolRows;
  call.replayed = 3;
  packed.makeSpace(call, &attention);
  expectRefused(RECUR_BAD_SIZE, "sequence 1 has 2 tokens, of which the first 3 are replayed");
  call.replayed = 2;
  accepted[1] = 2;
  expectTaken();
}

TEST_F(ReplayMisuse, Rows) {
  states[1] = poolRows;
  expectRefused(RECUR_BAD_INDEX,
                "state_indices[1] is 11, and the pools have 11 rows; a negative index stands for none");
  states[1] = 1;
  expectRefused(RECUR_BAD_INDEX, "state_indices[1] is 1, and so is [0]; no row is written for two sequences");
  const int32_t finals[] = {2, 3};
  call.final_indices = finals; // where two begin with the same one
  expectTaken();
}

TEST_F(ReplayMisuse, WhatIsNull) {
  call.accepted = nullptr;
  expectRefused(RECUR_NULL_POINTER, "replayed is 3, but accepted, which says how many of these were taken, is null");
  call.accepted = accepted.data();
  call.state_indices = nullptr;
  expectRefused(RECUR_NULL_POINTER, "replayed is 3, but state_indices is null; tokens are replayed on pools");
}

TEST_F(ReplayMisuse, WhatTheyDoNotGoWith) {
  call.state_columns = 3;
  expectRefused(RECUR_BAD_SIZE,
                "state_columns is 3; with replayed, accepted counts tokens, and a sequence has one row");
  call.state_columns = 0;
  const char *message = "with replayed the state after the tokens that were taken is stored, and none for ";
  call.token_indices = states.data();
  expectRefused(RECUR_NO_PLAN, message + std::string("token_indices"));
  call.token_indices = nullptr;
  call.interval = 4;
  expectRefused(RECUR_NO_PLAN, message + std::string("interval"));
  call.interval = 0;
  call.kept_interval = 4;
  expectRefused(RECUR_NO_PLAN, message + std::string("kept_interval"));
  call.kept_interval = 0;
  call.accepted = reinterpret_cast<int32_t *>(problem.arrays[o].data());
  expectRefused(RECUR_OVERLAP, "'accepted' lies in the output 'o'");
}
