#include "Check/EveryWay.h"
#include "Support/Errors.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace llvm;
using namespace recur;
using namespace recur::check;
using engine::HostCall;
using engine::HostEngine;

/// Arrays of tokens of sequences that are packed one behind another: the same numbers in the same order.
static void packArrays(data::NamedArrays &arrays) {
  for (auto &[name, array] : arrays)
    array.shape[1] *= std::exchange(array.shape[0], 1);
}

static data::Data packSequences(const data::Data &data) {
  data::Data packed = data;
  packed.sizes.batch = 1;
  packed.sizes.tokens = data.sizes.batch * data.sizes.tokens;
  packArrays(packed.inputs);
  return packed;
}

/// Where these begin, and the last one ends.
static std::vector<int64_t> findOffsets(const data::Sizes &sizes) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i <= sizes.batch; ++i)
    offsets.push_back(i * sizes.tokens);
  return offsets;
}

static bool haveSameNumbers(const data::NamedArrays &a, const data::NamedArrays &b) {
  return all_of(a, [&](const auto &array) {
    ArrayRef<double> x = array.second.values, y = b.at(array.first).values;
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
  });
}

/// The first array with other numbers, how many of them and from which one on; empty where all are the same.
static std::string describeDifference(const data::NamedArrays &a, const data::NamedArrays &b) {
  for (const auto &[name, array] : a) {
    ArrayRef<double> x = array.values, y = b.at(name).values;
    size_t count = 0, first = 0;
    double most = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (bit_cast<uint64_t>(x[i]) == bit_cast<uint64_t>(y[i]))
        continue;
      first = count++ ? first : i;
      most = std::max(most, std::abs(x[i] - y[i]));
    }
    if (count)
      return formatv("'{0}': {1} of {2} numbers, from number {3} on, by up to {4:e1}", name, count, x.size(), first,
                     most)
          .str();
  }
  return "";
}

static bool haveSameNumbers(const data::Results &a, const data::Results &b) {
  return haveSameNumbers(a.outputs, b.outputs) && haveSameNumbers(a.final, b.final);
}

/// So many tokens of every sequence, of which a function says which they are.
static data::Data pickTokens(const data::Data &data, int64_t tokens,
                             function_ref<int64_t(int64_t sequence, int64_t token)> pick) {
  data::Data picked = data;
  picked.sizes.tokens = tokens;
  for (auto &[name, array] : picked.inputs) {
    std::vector<double> all = std::move(array.values);
    int64_t sequences = array.shape[0], given = array.shape[1],
            width = int64_t(all.size()) / std::max<int64_t>(sequences * given, 1);
    array.values.clear();
    for (int64_t i = 0; i < sequences * tokens; ++i) {
      auto begin = all.begin() + (i / tokens * given + pick(i / tokens, i % tokens)) * width;
      array.values.insert(array.values.end(), begin, begin + width);
    }
    array.shape[1] = tokens;
  }
  return picked;
}

/// Some tokens of every sequence, from one on.
static data::Data takeTokens(const data::Data &data, int64_t from, int64_t tokens) {
  return pickTokens(data, tokens, [&](int64_t, int64_t token) { return from + token; });
}
static data::Data takeFirst(const data::Data &data, int64_t tokens) { return takeTokens(data, 0, tokens); }

using KeptStates = std::vector<std::vector<float>>;

/// Whether the states of this row are those that are final, in the order of their declaration. They are float32, and
/// final ones what that rounds to.
static bool isRow(const KeptStates &kept, ArrayRef<std::string> states, const DataTypes &types, int64_t row,
                  int64_t rows, const data::Results &results, int64_t sequences) {
  for (auto [state, all] : zip(states, kept)) {
    ArrayRef<double> final = results.final.at(state).values;
    DataType type = types.of(state, /*isState=*/true);
    int64_t width = int64_t(final.size()) / sequences;
    for (int64_t i = 0; i < int64_t(final.size()); ++i) {
      double own = all[(i / width * rows + row) * width + i % width];
      if (bit_cast<uint64_t>(roundTo(own, type)) != bit_cast<uint64_t>(final[i]))
        return false;
    }
  }
  return true;
}

/// States on the way are those that a call of so many tokens ends with, whether one launch leaves all of them or they
/// are gone through one after another; and all else is as without. States of 16 bits are gone through on processors
/// alone.
static Error checkKept(const HostEngine &engine, ArrayRef<std::string> states, const DataTypes &types,
                       const data::Data &data, const data::Results &plain) {
  int64_t tokens = data.sizes.tokens, sequences = data.sizes.batch;
  bool areWide = all_of(states, [&](const std::string &state) { return types.of(state, true) == DataType::F32; });
  for (int64_t interval : {int64_t(1), std::max<int64_t>(tokens / 3, 2)}) {
    if (states.empty() || tokens < 2 || (interval > 1 && engine.isOnGPU() && !areWide))
      return Error::success();
    KeptStates kept;
    HostCall how;
    how.keptInterval = interval;
    how.kept = &kept;
    Expected<data::Results> results = engine.run(data, how);
    if (!results)
      return results.takeError();
    if (!haveSameNumbers(*results, plain))
      return makeError("a call that keeps states each " + Twine(interval) +
                       " tokens gives other results, at T = " + Twine(tokens));
    int64_t rows = (tokens + interval - 1) / interval;
    for (int64_t row : {int64_t(0), rows / 2, rows - 1}) {
      Expected<data::Results> first = engine.run(takeFirst(data, row * interval));
      if (!first)
        return first.takeError();
      if (!isRow(kept, states, types, row, rows, *first, sequences))
        return makeError("the states that are kept before token " + Twine(row * interval) + " of " + Twine(tokens) +
                         " are not those that a call of so many tokens ends with");
    }
    if (interval > 1)
      continue;
    KeptStates again;
    how.kept = &again;
    how.offsets = findOffsets(data.sizes);
    if (Error error = engine.run(packSequences(data), how).takeError())
      return error;
    auto isSame = [](const std::vector<float> &a, const std::vector<float> &b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    if (!std::equal(kept.begin(), kept.end(), again.begin(), again.end(), isSame))
      return makeError("sequences that are packed keep other states than each by itself, at T = " + Twine(tokens));
  }
  return Error::success();
}

/// The numbers of one token among those of several.
static bool areOfToken(const Array &all, const Array &own, int64_t token, int64_t tokens, int64_t sequences) {
  int64_t width = int64_t(own.values.size()) / std::max<int64_t>(sequences, 1);
  for (int64_t i = 0; i < sequences; ++i)
    if (std::memcmp(all.values.data() + (i * tokens + token) * width, own.values.data() + i * width,
                    size_t(width) * sizeof(double)) != 0)
      return false;
  return true;
}

/// One or two of two tokens are gone over again, and the one behind them is tried: with the output, and behind the
/// replayed ones with the state, of a call that tries all of them.
static Error checkReplayed(const HostEngine &engine, const data::Data &tried, const data::Results &all) {
  int64_t tokens = tried.sizes.tokens, sequences = tried.sizes.batch;
  if (tokens < 2)
    return Error::success();
  HostCall how;
  how.replayed = 2;
  for (int64_t i = 0; i < sequences; ++i)
    how.taken.push_back(int32_t(std::min(1 + i % 2, tokens - 1)));
  auto pick = [&](int64_t sequence, int64_t token) -> int64_t {
    int64_t taken = how.taken[size_t(sequence)];
    return token == how.replayed ? taken : token < taken ? token : tokens - 1;
  };
  Expected<data::Results> own = engine.run(pickTokens(tried, how.replayed + 1, pick), how);
  if (!own)
    return own.takeError();
  auto fits = [&](const data::NamedArrays &many, const data::NamedArrays &few, int64_t back) {
    return all_of(few, [&](const auto &array) {
      ArrayRef<double> given = many.at(array.first).values, made = array.second.values;
      size_t width = made.size() / size_t(sequences);
      for (int64_t i = 0; i < sequences; ++i)
        if (std::memcmp(given.data() + size_t(i * tokens + how.taken[size_t(i)] - back) * width,
                        made.data() + size_t(i) * width, width * sizeof(double)) != 0)
          return false;
      return true;
    });
  };
  if (!fits(all.outputs, own->outputs, 0))
    return makeError("a token that is tried behind some that are replayed gives other numbers than behind the same "
                     "tokens in one call");
  if (!fits(all.final, own->final, 1))
    return makeError("tokens that are replayed lead to another state than the same tokens in one call");
  return Error::success();
}

/// Each token gives what a call of this token gives, from the state after the token that it is behind. Gives the call.
static Expected<data::Results> tryTokens(const HostEngine &engine, const data::Data &tried, ArrayRef<int32_t> parents) {
  int64_t tokens = tried.sizes.tokens;
  HostCall how;
  how.keepsTokens = true;
  bool isTree = any_of(enumerate(parents), [](auto token) { return token.value() + 1 != int32_t(token.index()); });
  if (isTree)
    how.parents = parents;
  Expected<data::Results> all = engine.run(tried, how);
  if (!all)
    return all.takeError();
  std::vector<data::NamedArrays> after;
  for (int64_t token = 0; token < tokens; ++token) {
    data::Data one = takeTokens(tried, token, 1);
    if (int32_t parent = parents[size_t(token)]; parent >= 0)
      one.initial = after[size_t(parent)];
    Expected<data::Results> own = engine.run(one);
    if (!own)
      return own.takeError();
    auto fits = [&](const data::NamedArrays &many, const data::NamedArrays &few) {
      return all_of(few, [&](const auto &array) {
        return areOfToken(many.at(array.first), array.second, token, tokens, tried.sizes.batch);
      });
    };
    if (!fits(all->outputs, own->outputs) || !fits(all->final, own->final))
      return makeError("token " + Twine(token) + " of " + Twine(tokens) + " that are tried" +
                       (isTree ? " as a tree" : "") +
                       " gives other numbers, or keeps another state, than a call of this token");
    after.push_back(own->final);
  }
  return all;
}

Error check::checkTried(const HostEngine &engine, const data::Data &data, ArrayRef<std::string> states,
                        const DataTypes &types) {
  constexpr int64_t most = 3;
  int64_t tokens = std::min(data.sizes.tokens, most);
  bool areWide = all_of(states, [&](const std::string &state) { return types.of(state, true) == DataType::F32; });
  if (states.empty() || tokens < 1 || !areWide || !engine.canKeepTokens())
    return Error::success();
  data::Data tried = takeFirst(data, tokens);
  Expected<data::Results> all = tryTokens(engine, tried, {-1, 0, 1});
  if (!all)
    return all.takeError();
  if (Error error = tokens > 1 ? tryTokens(engine, tried, {-1, -1, 0}).takeError() : Error::success())
    return error;
  return checkReplayed(engine, tried, *all);
}

Expected<data::Results> check::runInEveryWay(const HostEngine &engine, const data::Data &data,
                                             ArrayRef<std::string> states, const DataTypes &types) {
  Expected<data::Results> first = engine.run(data);
  if (!first)
    return first;
  Expected<data::Results> again = engine.run(data);
  if (!again)
    return again;
  if (!haveSameNumbers(*first, *again))
    return makeError("two runs of the same kernels on the same data differ, at T = " + Twine(data.sizes.tokens));
  HostCall how;
  how.offsets = findOffsets(data.sizes);
  Expected<data::Results> packed = engine.run(packSequences(data), how);
  if (!packed)
    return packed;
  if (!haveSameNumbers(*first, *packed))
    return makeError("sequences that are packed give other numbers than each by itself, at T = " +
                     Twine(data.sizes.tokens));
  if (engine.isOnGPU()) {
    how.areOnDeviceAlone = true;
    Expected<data::Results> unread = engine.run(packSequences(data), how);
    if (!unread)
      return unread;
    if (!haveSameNumbers(*first, *unread))
      return makeError("packed sequences whose offsets the GPU alone knows give other numbers, at T = " +
                       Twine(data.sizes.tokens));
  }
  if (Error error = checkKept(engine, states, types, data, *first))
    return std::move(error);
  if (Error error = checkTried(engine, data, states, types))
    return std::move(error);
  return first;
}

/// Of sequences by themselves and packed: gradients of what each sequence has.
static Error comparePacked(const data::Data &apart, const data::Data &packed, const Twine &what) {
  for (auto member : {&data::Data::inputs, &data::Data::initial})
    if (std::string where = describeDifference(apart.*member, packed.*member); !where.empty())
      return makeError("sequences that are packed have other gradients than each by itself" + what +
                       ", at T = " + Twine(apart.sizes.tokens) + " in that of " + where);
  return Error::success();
}

Expected<data::Data> check::runGradientInEveryWay(const HostEngine &engine, const data::Data &data,
                                                  const data::Results &cotangents) {
  Expected<data::Data> first = engine.runGradient(data, cotangents);
  if (!first)
    return first;
  Expected<data::Data> again = engine.runGradient(data, cotangents);
  if (!again)
    return again;
  for (auto member : {&data::Data::inputs, &data::Data::params, &data::Data::initial})
    if (std::string where = describeDifference((*first).*member, (*again).*member); !where.empty())
      return makeError("two runs of the gradient's kernels on the same data differ, at T = " +
                       Twine(data.sizes.tokens) + " in the gradient of " + where);
  HostCall how;
  how.offsets = findOffsets(data.sizes);
  data::Results packedCotangents = cotangents;
  packArrays(packedCotangents.outputs);
  Expected<data::Data> packed = engine.runGradient(packSequences(data), packedCotangents, how);
  if (!packed)
    return packed;
  if (Error error = comparePacked(*first, *packed, ""))
    return std::move(error);
  return first;
}

Expected<data::Data> check::runGradientHanded(const HostEngine &engine, const data::Data &data,
                                              const data::Results &cotangents) {
  auto runBoth = [&](const data::Data &data, const data::Results &cotangents,
                     std::vector<int64_t> offsets) -> Expected<data::Data> {
    engine::Handed handed;
    HostCall how;
    how.offsets = std::move(offsets);
    how.handed = &handed;
    if (Error error = engine.run(data, how).takeError())
      return std::move(error);
    return engine.runGradient(data, cotangents, how);
  };
  Expected<data::Data> apart = runBoth(data, cotangents, {});
  if (!apart)
    return apart;
  data::Results packedCotangents = cotangents;
  packArrays(packedCotangents.outputs);
  Expected<data::Data> packed = runBoth(packSequences(data), packedCotangents, findOffsets(data.sizes));
  if (!packed)
    return packed;
  if (Error error = comparePacked(*apart, *packed, " where states are handed over"))
    return std::move(error);
  return apart;
}
