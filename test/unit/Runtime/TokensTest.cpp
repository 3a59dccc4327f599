// Tokens that are only tried: the bits of calls of one token each, with the state after every token in its row of a
// pool and nothing else of the pool touched.
#include "OneToken.h"
#include "PooledCall.h"
#include "Runtime/CPU/Segments.h"

using namespace recur::test;
using namespace recur::runtime;

namespace {

constexpr int64_t poolRows = 19;

/// What a call has of a sequence's rows.
struct Tries {
  std::vector<int32_t> tokens;           // [sequences, columns]
  int64_t columns;                       // the most tokens of a sequence
  std::vector<int32_t> states, accepted; // [sequences, of which several where some were accepted], [sequences]
  int64_t stateColumns = 0;
  int32_t begin(int64_t sequence) const {
    return accepted.empty() ? states[size_t(sequence)]
                            : states[size_t(sequence * stateColumns + accepted[size_t(sequence)] - 1)];
  }
};

void expectSame(const Problem &given, const PoolsOfCall &how, const Tries &tries, const int64_t *offsets = nullptr) {
  auto run = [&](OneByOne &own, int64_t sequence, int64_t first, int64_t end) {
    own.begin(tries.begin(sequence));
    for (int64_t token = first; token < end; ++token) {
      own.goOver(token, token);
      own.keep(tries.tokens[size_t(sequence * tries.columns + token - first)]);
    }
  };
  expectSameAsOneByOne(given, how, poolRows, offsets, run, [&](recur_call &call) {
    call.state_indices = tries.states.data();
    call.token_indices = tries.tokens.data();
    call.token_columns = tries.columns;
    call.accepted = tries.accepted.empty() ? nullptr : tries.accepted.data();
    call.state_columns = tries.stateColumns;
  });
}

struct TokenMisuse : PooledCall {
  std::vector<int32_t> tokens{2, 0, 5, 6, -1, 8}, states{1, 7}, accepted{1, 3};

  TokenMisuse() : PooledCall({2, 3, 2, 1}, poolRows) {
    call.state_indices = states.data();
    call.token_indices = tokens.data();
    call.token_columns = 3;
    problem.makeSpace(call, &attention);
  }
};

} // namespace

TEST(Tokens, HaveTheBitsOfCallsOfOneToken) {
  for (const PoolsOfCall &how : everyWay) {
    expectSame(Problem(2, 3, 4, 2), how, {{4, 0, 6, 1, 2, 3}, 3, {5, 7}, {}});
    expectSame(Problem(2, 3, 4, 2), how, {{4, 0, 6, 1, 2, 3}, 3, {5, -1}, {}}); // which begins anew
    expectSame(Problem(2, 3, 4, 2), how, {{-1, 0, 6, 1, -4, -1}, 3, {5, 7}, {}});
    expectSame(Problem(2, 1, 4, 2), how, {{4, -1, 9, -1}, 2, {5, 7}, {}}); // with room for one more
    expectSame(Problem(2, 0, 4, 2), how, {{4, 0}, 1, {5, 7}, {}});
  }
}

TEST(Tokens, AreUpToSixteen) {
  Tries tries{{}, 16, {17}, {}};
  for (int32_t row = 0; row < 16; ++row)
    tries.tokens.push_back(row);
  expectSame(Problem(1, 16, 2, 1), {}, tries);
}

/// The rows of this call's tokens may be those of the one before: each token reads what the one before it wrote.
TEST(Tokens, BeginBehindThoseThatWereAccepted) {
  const std::vector<int32_t> rows{4, 0, 6, 1, 2, 3};
  for (const PoolsOfCall &how : everyWay)
    for (const std::vector<int32_t> &accepted : {std::vector<int32_t>{1, 1}, {2, 3}, {3, 2}})
      expectSame(Problem(2, 3, 4, 2), how, {rows, 3, rows, accepted, 3});
  expectSame(Problem(2, 2, 4, 2), {}, {{7, 8, 9, 10}, 2, rows, {3, 1}, 3});
}

TEST(Tokens, AreOfPackedSequences) {
  const int64_t offsets[] = {1, 3, 3, 6, 7};
  for (const PoolsOfCall &how : everyWay)
    expectSame(Problem(1, 8, 2, 1, 4), how, {{4, 0, 99, 77, 77, 77, 5, -1, 6, 7, 7, 7}, 3, {1, 2, 3, -1}, {}}, offsets);
}

/// Which go to the row that the same count says where there are no rows of tokens.
TEST(Tokens, MayBeAcceptedWithoutTryingOthers) {
  Problem tried(2, 3, 2, 1), plain = tried;
  const int32_t columns[] = {4, 0, 6, 1, 2, 3}, accepted[] = {2, 3}, rows[] = {0, 3};
  std::vector<float> pools[2][2];
  for (bool counts : {false, true}) {
    Problem &problem = counts ? tried : plain;
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments);
    call.pool_rows = poolRows;
    call.state_indices = counts ? columns : rows;
    call.accepted = counts ? accepted : nullptr;
    call.state_columns = counts ? 3 : 0;
    for (auto [initial, final] : statePairs) {
      std::vector<float> &pool = pools[counts][initial == initialN];
      for (int64_t i = 0; i < poolRows * 2 * countStateNumbers(initial); ++i)
        pool.push_back(float(i % 31));
      arguments[initial].data = arguments[final].data = pool.data();
    }
    ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  }
  EXPECT_EQ(tried.arrays[o], plain.arrays[o]);
  EXPECT_EQ(pools[1][0], pools[0][0]);
  EXPECT_EQ(pools[1][1], pools[0][1]);
}

TEST_F(TokenMisuse, RowsBeyondThePool) {
  expectTaken();
  tokens[4] = poolRows;
  expectRefused(RECUR_BAD_INDEX,
                "token_indices[1][1] is 19, and the pools have 19 rows; a negative index stands for none");
  call.T = 1; // whose row is not there is not looked at
  expectTaken();
}

TEST_F(TokenMisuse, RowsThatAreWrittenTwice) {
  tokens[5] = 0;
  expectRefused(RECUR_BAD_INDEX, "token_indices[1][2] is 0, and so is [0][1]; no row is written twice");
  tokens[5] = 6;
  expectRefused(RECUR_BAD_INDEX, "token_indices[1][2] is 6, and so is [1][0]; no row is written twice");
  call.T = 2; // then nobody writes it
  expectTaken();
}

TEST_F(TokenMisuse, RowsThatAreReadForOneAndWrittenForAnother) {
  states[0] = 5; // a row of its own
  expectTaken();
  states[0] = 8;
  expectRefused(RECUR_BAD_INDEX,
                "state_indices[0] is 8, and so is token_indices[1][2]; no row is read for one sequence "
                "and written for another");
}

TEST_F(TokenMisuse, CountsOfAcceptedTokens) {
  call.accepted = accepted.data();
  expectRefused(RECUR_BAD_SIZE, "state_columns is 0; accepted counts along these rows, from 1 on");
  call.state_columns = 3;
  call.state_indices = tokens.data();
  expectTaken();
  accepted[1] = 4;
  expectRefused(RECUR_BAD_INDEX, "accepted[1] is 4; it counts along the rows of state_indices, from 1 to 3");
  accepted[1] = 0;
  expectRefused(RECUR_BAD_INDEX, "accepted[1] is 0; it counts along the rows of state_indices, from 1 to 3");
  accepted[1] = 3;
  states = {3, 9, 11, 4, 10, 2};
  call.state_indices = states.data();
  expectRefused(RECUR_BAD_INDEX, "state_indices[1][2] is 2, and so is token_indices[0][0]; no row is read for one "
                                 "sequence and written for another");
  call.token_indices = nullptr;
  call.token_columns = 0;
  states = {2, 9, 11, 4, 10, 2};
  expectRefused(RECUR_BAD_INDEX, "state_indices[1][2] is 2, and so is [0][0]; no row is written for two sequences");
  call.accepted = nullptr;
  expectRefused(RECUR_NULL_POINTER, "state_columns is 3, but accepted is null");
  call.accepted = accepted.data();
  call.state_indices = nullptr;
  expectRefused(RECUR_NULL_POINTER, "accepted counts along the rows of state_indices, which is null");
}

TEST_F(TokenMisuse, NumbersOfTokens) {
  call.token_columns = 2;
  expectRefused(RECUR_BAD_SIZE, "T is 3, and token_indices has rows for 2 tokens of a sequence");
  for (int64_t columns : {0, 17}) {
    call.token_columns = columns;
    expectRefused(RECUR_BAD_SIZE,
                  "token_columns is " + std::to_string(columns) + "; the states after 1 to 16 tokens are kept");
  }
  call.token_columns = 1;
  const int64_t offsets[] = {0, 1, 3};
  Problem packed(1, 3, 2, 1, 2);
  call = packed.makeCall(arguments, offsets);
  call.token_indices = tokens.data();
  call.token_columns = 1;
  call.state_indices = states.data();
  call.pool_rows = 2;
  packed.makeSpace(call, &attention);
  expectRefused(RECUR_BAD_SIZE, "sequence 1 has 2 tokens, and token_indices has rows for 1");
}

TEST_F(TokenMisuse, WhatTheyDoNotGoWith) {
  call.final_indices = states.data();
  expectRefused(RECUR_BAD_INDEX,
                "token_indices and final_indices are given; the row after the last token is one of token_indices");
  call.final_indices = nullptr;
  call.kept_interval = 1;
  expectRefused(RECUR_NO_PLAN, "states go to token_indices, or to kept_states, not to both");
  call.kept_interval = 0;
  call.token_indices = reinterpret_cast<int32_t *>(pool.data());
  expectRefused(RECUR_OVERLAP, "'token_indices' lies in the final state 'S'");
  call.token_indices = nullptr;
  expectRefused(RECUR_NULL_POINTER, "token_columns is 3, but token_indices is null");
}
