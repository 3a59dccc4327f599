// Tokens that are tried as trees: each token has the bits of calls of one token each along its path, and so have the
// states that are kept of it; of the pools nothing else is touched.
#include "OneToken.h"
#include "PooledCall.h"
#include <numeric>
#include <random>

using namespace recur::test;

namespace {

constexpr int64_t poolRows = 40;

/// What a call has of its sequences.
struct Trees {
  std::vector<int32_t> parents;
  int64_t columns, stride;            // 0: all sequences have one tree
  std::vector<int32_t> states;        // rows that sequences begin with
  std::vector<int32_t> tokens = {};   // rows of tokens, of as many columns
  std::vector<int32_t> accepted = {}; // of those that are replayed
  int64_t replayed = 0;
  const int32_t *of(int64_t sequence) const { return parents.data() + sequence * stride; }
};

/// Goes over the tokens on the way to one of a tree that begins at `first`, from its root on.
void goTo(OneByOne &own, const int32_t *parents, int64_t first, int64_t token,
          const std::function<int64_t(int64_t)> &findPlace) {
  if (parents[token] >= 0)
    goTo(own, parents, first, parents[token], [](int64_t) { return -1; });
  own.goOver(first + token, findPlace(token));
}

void expectSame(const Problem &given, const PoolsOfCall &how, const Trees &trees, const int64_t *offsets = nullptr) {
  auto run = [&](OneByOne &own, int64_t sequence, int64_t first, int64_t end) {
    auto place = size_t(sequence);
    const int32_t *parents = trees.of(sequence);
    auto begin = [&] { // with what was taken of the last tree
      own.begin(trees.states[place]);
      if (trees.replayed && trees.accepted[place])
        goTo(own, parents, first, trees.accepted[place] - 1, [](int64_t) { return -1; });
    };
    if (trees.replayed) {
      begin();
      own.keep(trees.states[place]);
    }
    int64_t firstTried = first + trees.replayed, count = end - firstTried;
    for (int64_t token = 0; token < count; ++token) {
      begin();
      goTo(own, parents + trees.replayed, firstTried, token, [&](int64_t) {
        return offsets ? firstTried + token : firstTried + token - (sequence + 1) * trees.replayed;
      });
      if (!trees.tokens.empty())
        own.keep(trees.tokens[size_t(sequence * trees.columns + token)]);
      else if (!trees.replayed && token + 1 == count)
        own.keep(trees.states[place]);
    }
    if (trees.tokens.empty() && !trees.replayed && !count) { // the state stays what it was
      begin();
      own.keep(trees.states[place]);
    }
  };
  expectSameAsOneByOne(given, how, poolRows, offsets, run, [&](recur_call &call) {
    call.state_indices = trees.states.data();
    call.token_indices = trees.tokens.empty() ? nullptr : trees.tokens.data();
    call.token_columns = trees.tokens.empty() ? 0 : trees.columns;
    call.accepted = trees.replayed ? trees.accepted.data() : nullptr;
    call.replayed = trees.replayed;
    call.parents = trees.parents.data();
    call.parent_columns = trees.columns;
    call.parent_stride = trees.stride;
  });
}

struct TreeMisuse : PooledCall {
  std::vector<int32_t> parents{-1, 0, 0, 2}, states{1, 7}, accepted{2, 0}, tokens{2, 0, 5, 6, 9, 8, 3, 4};

  TreeMisuse() : PooledCall({2, 4, 2, 1}, poolRows) {
    call.state_indices = states.data();
    call.parents = parents.data();
    call.parent_columns = 4;
    problem.makeSpace(call, &attention);
  }
};

} // namespace

TEST(Trees, HaveTheBitsOfCallsOfOneTokenAlongEachPath) {
  for (const PoolsOfCall &how : everyWay) {
    expectSame(Problem(2, 4, 4, 2), how, {{-1, 0, 0, 2}, 4, 0, {5, 7}, {4, 0, 6, 8, 1, 2, 3, 9}});
    expectSame(Problem(2, 4, 4, 2), how, {{-1, 0, 0, 1, -1, -1, 0, 2}, 4, 4, {5, -1}, {4, 0, -6, 8, 1, -2, 3, 9}});
    expectSame(Problem(2, 3, 4, 2), how, {{-1, -1, -1}, 3, 0, {5, 7}}); // the last one's state is the final one
    expectSame(Problem(2, 0, 4, 2), how, {{}, 0, 0, {5, 7}});
  }
}

/// Rows may be those that sequences begin with: who begins there later has what was there before.
TEST(Trees, WriteTheRowsThatTheyBeginWith) {
  for (const PoolsOfCall &how : everyWay)
    expectSame(Problem(2, 3, 4, 2), how, {{-1, -1, 0}, 3, 0, {5, 7}, {5, 0, 1, 7, 2, 3}});
}

TEST(Trees, AreReplayedAlongThePathThatWasTaken) {
  const std::vector<int32_t> trees{-1, 0, 0, 2, 1, -1, 0, 0, 1};
  for (const PoolsOfCall &how : everyWay)
    for (const std::vector<int32_t> &accepted : {std::vector<int32_t>{4, 5}, {0, 1}, {2, 3}})
      expectSame(Problem(2, 9, 4, 2), how, {trees, 9, 0, {5, 7}, {}, accepted, 5});
  expectSame(Problem(2, 5, 4, 2), {}, {{-1, 0, 0, 2, 1}, 5, 0, {5, -1}, {}, {4, 2}, 5}); // nothing is tried
}

TEST(Trees, AreOfPackedSequencesOfDifferentLengths) {
  const int64_t offsets[] = {1, 3, 3, 6, 7};
  for (const PoolsOfCall &how : everyWay)
    expectSame(Problem(1, 8, 2, 1, 4), how,
               {{-1, -1, 0}, 3, 0, {10, 11, 12, -1}, {4, 0, 99, 77, 77, 77, 5, -1, 6, 7, 7, 7}}, offsets);
}

TEST(Trees, OfAnyShape) {
  std::mt19937 random(7);
  auto draw = [&](int64_t least, int64_t most) {
    return int32_t(std::uniform_int_distribution<int64_t>(least, most)(random));
  };
  auto addTree = [&](std::vector<int32_t> &parents, int64_t tokens) {
    for (int64_t token = 0; token < tokens; ++token)
      parents.push_back(draw(0, 3) ? int32_t(token) - 1 : draw(-1, token - 1));
  };
  for (int round = 0; round < 24; ++round) {
    const PoolsOfCall &how = everyWay[size_t(round) % std::size(everyWay)];
    int64_t replayed = round % 2 ? draw(1, 16) : 0, tried = draw(1, 16);
    Trees trees{{}, replayed + tried, replayed + tried + draw(0, 2), {35, 36}};
    trees.replayed = replayed;
    for (int sequence = 0; sequence < 2; ++sequence) {
      addTree(trees.parents, replayed);
      addTree(trees.parents, tried);
      trees.parents.resize(size_t((sequence + 1) * trees.stride), 99);
      trees.accepted.push_back(draw(0, replayed));
    }
    if (!replayed) {
      trees.tokens.resize(size_t(2 * tried));
      std::iota(trees.tokens.begin(), trees.tokens.end(), 0);
    }
    expectSame(Problem(2, replayed + tried, 2, 1), how, trees);
  }
}

TEST_F(TreeMisuse, NumbersOfTokens) {
  expectTaken();
  call.parent_columns = 3;
  expectRefused(RECUR_BAD_SIZE, "sequence 0 has 4 tokens, and parents has numbers for 3");
  call.parent_columns = 33;
  expectRefused(RECUR_BAD_SIZE, "parent_columns is 33; it must be at least 0, and at most 32");
  call.parent_columns = 4;
  call.parent_stride = 3;
  expectRefused(RECUR_BAD_STRIDE, "parent_stride is 3; it is 0 where all sequences have the same tree, and else at "
                                  "least parent_columns, 4, and at most 2147483647");
  call.parent_stride = 0;
  call.parents = nullptr;
  expectRefused(RECUR_NULL_POINTER, "parent_columns is 4, but parents is null");
  call.parent_columns = 0;
  call.parent_stride = 8;
  expectRefused(RECUR_NULL_POINTER, "parent_stride is 8, but parents is null");
  call.parents = parents.data();
  call.parent_stride = 0;
  call.parent_columns = 32;
  call.T = 17;
  expectRefused(RECUR_BAD_SIZE, "sequence 0 tries 17 tokens; a tree has at most 16");
  call.accepted = accepted.data();
  call.replayed = 17;
  expectRefused(RECUR_BAD_SIZE, "replayed is 17; a tree has at most 16 tokens");
}

TEST_F(TreeMisuse, Parents) {
  for (int32_t parent : {2, 3, -2}) {
    parents[2] = parent;
    expectRefused(RECUR_BAD_INDEX, "parents[2] is " + std::to_string(parent) +
                                       "; it is the number of an earlier token of its tree, of which this one is 2, "
                                       "or -1");
  }
  parents = {-1, 0, 0, 2, -1, 0, 1, 3};
  call.parents = parents.data();
  call.parent_stride = 4;
  expectRefused(RECUR_BAD_INDEX, "parents[1][3] is 3; it is the number of an earlier token of its tree, of which this "
                                 "one is 3, or -1");
  parents[7] = 2;
  expectTaken();
  call.accepted = accepted.data();
  call.replayed = 2; // from where on there is another tree
  expectRefused(RECUR_BAD_INDEX, "parents[0][2] is 0; it is the number of an earlier token of its tree, of which this "
                                 "one is 0, or -1");
}

TEST_F(TreeMisuse, OfPackedSequences) {
  const int64_t offsets[] = {0, 1, 4};
  Problem packed(1, 4, 2, 1, 2);
  call = packed.makeCall(arguments, offsets);
  arguments[initialS].data = arguments[finalS].data = pool.data();
  arguments[initialN].data = arguments[finalN].data = counts.data();
  call.state_indices = states.data();
  call.pool_rows = poolRows;
  call.parents = parents.data();
  call.parent_columns = 2;
  packed.makeSpace(call, &attention);
  expectRefused(RECUR_BAD_SIZE, "sequence 1 has 3 tokens, and parents has numbers for 2");
  call.parent_columns = 3;
  expectTaken();
}

TEST_F(TreeMisuse, WhatTheyDoNotGoWith) {
  call.kept_interval = 1;
  expectRefused(RECUR_NO_PLAN, "no states of a tree are kept for kept_interval");
  call.kept_interval = 0;
  call.interval = 64;
  call.interval_columns = 1;
  call.interval_indices = tokens.data();
  expectRefused(RECUR_NO_PLAN, "no states of a tree are kept for interval");
  call.interval = call.interval_columns = 0;
  call.interval_indices = nullptr;
  call.parents = reinterpret_cast<int32_t *>(problem.arrays[o].data());
  expectRefused(RECUR_OVERLAP, "'parents' lies in the output 'o'");
}
