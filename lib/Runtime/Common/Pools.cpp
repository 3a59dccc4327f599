// The rows of pools: that each is there, and that none is written twice, or while another sequence reads it.
#include "Runtime/Common/Call.h"
#include "Runtime/Common/Message.h"
#include <cstdio>
#include <cstring>

using namespace recur::runtime;

/// Whether one of so many is the number. It has no way out on the way, so that many are compared at once.
static bool contains(const int32_t *numbers, int64_t count, int32_t number) {
  bool found = false;
  for (int64_t i = 0; i < count; ++i)
    found |= numbers[i] == number;
  return found;
}

namespace {
/// What the call does with the rows of its pools.
struct Use {
  bool reads = false, writes = false;
  bool isInPlace = false; // what is written is what is read
};

/// A row of the indices: of a sequence, or of a token or a multiple of it.
struct Place {
  int64_t sequence, column;
};

/// The rows that a call reads and writes.
class Rows {
public:
  Rows(const Call &resolved, const CallIndices &given)
      : resolved(resolved), given(given), countsRows(given.accepted && !resolved.call->replayed),
        stateColumns(countStateColumns(*resolved.call)), tokenColumns(resolved.call->token_columns) {}

  int64_t countTokens(int64_t sequence) const {
    return given.offsets ? given.offsets[sequence + 1] - given.offsets[sequence] : resolved.call->T;
  }
  Place getRead(int64_t sequence) const { return {sequence, countsRows ? given.accepted[sequence] - 1 : 0}; }
  int32_t read(int64_t sequence) const { return given.states[sequence * stateColumns + getRead(sequence).column]; }
  /// How many rows are written for a sequence: its tokens', or one.
  int64_t countWritten(int64_t sequence) const { return given.tokens ? countTokens(sequence) : 1; }
  int32_t written(Place place) const {
    if (given.tokens)
      return given.tokens[place.sequence * tokenColumns + place.column];
    return given.finals ? given.finals[place.sequence] : read(place.sequence);
  }
  /// A place before this one where the row is written; false where there is none.
  bool findWritten(int32_t row, Place before, Place &found) const {
    const int32_t *all = given.tokens ? given.tokens : given.finals;
    int64_t count = given.tokens ? before.sequence * tokenColumns + before.column : before.sequence;
    if (all && !contains(all, count, row)) // as nearly always, which is found out at once
      return false;
    for (int64_t sequence = 0; sequence <= before.sequence; ++sequence) {
      int64_t columns = sequence == before.sequence ? before.column : countWritten(sequence);
      for (int64_t column = 0; column < columns; ++column)
        if (found = {sequence, column}; written(found) == row)
          return true;
    }
    return false;
  }
  /// `token_indices[1][2]`, as it is called.
  void print(char (&text)[64], Place place, bool isRead = false) const {
    bool isOfState = isRead || (!given.tokens && !given.finals);
    const char *field = isOfState ? "state_indices" : given.tokens ? "token_indices" : "final_indices";
    bool hasColumns = isOfState ? countsRows : given.tokens != nullptr;
    if (isOfState && hasColumns)
      place = getRead(place.sequence);
    if (hasColumns)
      snprintf(text, sizeof text, "%s[%lld][%lld]", field, (long long)place.sequence, (long long)place.column);
    else
      snprintf(text, sizeof text, "%s[%lld]", field, (long long)place.sequence);
  }

private:
  const Call &resolved;
  const CallIndices &given;
  bool countsRows; // that a sequence may begin with
  int64_t stateColumns, tokenColumns;
};
} // namespace

static Use findUse(const Call &resolved) {
  Use use;
  for (int32_t i = 0; i < resolved.argumentCount; ++i) {
    const Argument &argument = resolved.arguments[i];
    if (!argument.rows)
      continue;
    (argument.isWritten() ? use.writes : use.reads) = true;
    for (int32_t j = 0; argument.isWritten() && j < i; ++j)
      use.isInPlace |= resolved.arguments[j].rows && resolved.arguments[j].data == argument.data;
  }
  return use;
}

/// That sequences have as many tokens as there are rows for, and took as many as they had.
static recur_status checkCounts(const Call &resolved, const CallIndices &given, const Rows &rows) {
  const char *name = resolved.recurrence->name;
  const recur_call &call = *resolved.call;
  for (int64_t i = 0; i < resolved.sequences; ++i) {
    if (given.tokens && (rows.countTokens(i) < 0 || rows.countTokens(i) > call.token_columns))
      return fail(RECUR_BAD_SIZE, "%s: sequence %lld has %lld tokens, and token_indices has rows for %lld", name,
                  (long long)i, (long long)rows.countTokens(i), (long long)call.token_columns);
    if (call.replayed && rows.countTokens(i) < call.replayed)
      return fail(RECUR_BAD_SIZE, "%s: sequence %lld has %lld tokens, of which the first %lld are replayed", name,
                  (long long)i, (long long)rows.countTokens(i), (long long)call.replayed);
    if (call.replayed && (given.accepted[i] < 0 || given.accepted[i] > call.replayed))
      return fail(RECUR_BAD_INDEX, "%s: accepted[%lld] is %d; of the tokens that are replayed it is 0 to %lld", name,
                  (long long)i, int(given.accepted[i]), (long long)call.replayed);
    if (given.accepted && !call.replayed && (given.accepted[i] < 1 || given.accepted[i] > call.state_columns))
      return fail(RECUR_BAD_INDEX,
                  "%s: accepted[%lld] is %d; it counts along the rows of state_indices, from 1 to %lld", name,
                  (long long)i, int(given.accepted[i]), (long long)call.state_columns);
  }
  return RECUR_OK;
}

static recur_status checkRange(const Call &resolved, const Rows &rows, Place place, int32_t row, bool isRead) {
  if (row < resolved.call->pool_rows)
    return RECUR_OK;
  char text[64];
  rows.print(text, place, isRead);
  return fail(RECUR_BAD_INDEX, "%s: %s is %d, and the pools have %lld rows; a negative index stands for none",
              resolved.recurrence->name, text, int(row), (long long)resolved.call->pool_rows);
}

/// That the row of a place is written at no other.
static recur_status checkOnce(const Call &resolved, const Rows &rows, Place place, int32_t row, bool areTokens) {
  Place other;
  if (!rows.findWritten(row, place, other))
    return RECUR_OK;
  char text[64], before[64];
  rows.print(text, place);
  rows.print(before, other);
  return fail(RECUR_BAD_INDEX, "%s: %s is %d, and so is %s; no row is written %s", resolved.recurrence->name, text,
              int(row), strchr(before, '['), areTokens ? "twice" : "for two sequences");
}

namespace {
/// The rows that a call writes at multiples of a number of tokens.
class IntervalRows {
public:
  IntervalRows(const Call &resolved, const CallIndices &given, const Rows &rows, Use use)
      : resolved(resolved), call(*resolved.call), given(given), rows(rows), use(use) {}
  recur_status check() const;

private:
  int64_t getPosition(int64_t sequence) const { return given.positions ? given.positions[sequence] : 0; }
  int64_t count(int64_t sequence) const {
    int64_t position = getPosition(sequence);
    return (position + rows.countTokens(sequence)) / call.interval - position / call.interval;
  }
  int32_t written(int64_t sequence, int64_t column) const {
    return given.intervals[sequence * call.interval_columns + column];
  }
  recur_status checkCount(int64_t sequence) const;
  recur_status checkRow(int64_t sequence, int64_t column) const;
  recur_status failOf(int64_t sequence, int64_t column, const char *other, const char *rule) const;

  const Call &resolved;
  const recur_call &call;
  const CallIndices &given;
  const Rows &rows;
  Use use;
};
} // namespace

recur_status IntervalRows::checkCount(int64_t sequence) const {
  const char *name = resolved.recurrence->name;
  int64_t position = getPosition(sequence);
  if (position < 0)
    return fail(RECUR_BAD_SIZE, "%s: positions[%lld] is %lld; it must be at least 0", name, (long long)sequence,
                (long long)position);
  for (int32_t i = 0; i < resolved.recurrence->kernel_count; ++i)
    if (const recur_kernel_info &kernel = resolved.recurrence->kernels[i];
        (resolved.plan == RECUR_PLAN_AUTO || resolved.plan == kernel.plan) && kernel.chunk > 1 &&
        position % kernel.chunk)
      return fail(RECUR_BAD_SIZE,
                  "%s: positions[%lld] is %lld; with interval it must be a multiple of a chunk's %d tokens", name,
                  (long long)sequence, (long long)position, int(kernel.chunk));
  if (count(sequence) > call.interval_columns)
    return fail(RECUR_BAD_SIZE,
                "%s: sequence %lld comes to %lld multiples of %lld tokens, and interval_indices has rows for %lld",
                name, (long long)sequence, (long long)count(sequence), (long long)call.interval,
                (long long)call.interval_columns);
  return RECUR_OK;
}

recur_status IntervalRows::failOf(int64_t sequence, int64_t column, const char *other, const char *rule) const {
  return fail(RECUR_BAD_INDEX, "%s: interval_indices[%lld][%lld] is %d, and so is %s; no row is %s",
              resolved.recurrence->name, (long long)sequence, (long long)column, int(written(sequence, column)), other,
              rule);
}

recur_status IntervalRows::checkRow(int64_t sequence, int64_t column) const {
  int32_t row = written(sequence, column);
  char other[64];
  if (row >= call.pool_rows)
    return fail(
        RECUR_BAD_INDEX,
        "%s: interval_indices[%lld][%lld] is %d, and the pools have %lld rows; a negative index stands for none",
        resolved.recurrence->name, (long long)sequence, (long long)column, int(row), (long long)call.pool_rows);
  // Most rows are nowhere else, which is found out at once.
  if (contains(given.intervals, sequence * call.interval_columns + column, row))
    for (int64_t i = 0; i <= sequence; ++i)
      for (int64_t j = 0; j < (i == sequence ? column : count(i)); ++j)
        if (written(i, j) == row) {
          snprintf(other, sizeof other, "[%lld][%lld]", (long long)i, (long long)j);
          return failOf(sequence, column, other, "written twice");
        }
  if (Place place; rows.findWritten(row, {resolved.sequences, 0}, place)) {
    rows.print(other, place);
    return failOf(sequence, column, other, given.finals ? "written twice" : "read, and written at a multiple");
  }
  for (int64_t i = 0; use.isInPlace && given.states && i < resolved.sequences; ++i)
    if (rows.read(i) == row) {
      rows.print(other, {i, 0}, /*isRead=*/true);
      return failOf(sequence, column, other, "read, and written at a multiple");
    }
  return RECUR_OK;
}

recur_status IntervalRows::check() const {
  for (int64_t i = 0; i < resolved.sequences; ++i)
    if (recur_status status = checkCount(i))
      return status;
  for (int64_t i = 0; use.writes && i < resolved.sequences; ++i)
    for (int64_t j = 0; j < count(i); ++j)
      if (written(i, j) >= 0)
        if (recur_status status = checkRow(i, j))
          return status;
  return RECUR_OK;
}

recur_status recur::runtime::checkIndices(const Call &resolved, const CallIndices &given) {
  if (recur_status status = checkTrees(resolved, given))
    return status;
  Rows rows(resolved, given);
  if (recur_status status = checkCounts(resolved, given, rows))
    return status;
  for (int64_t i = 0; given.states && i < resolved.sequences; ++i)
    if (recur_status status = checkRange(resolved, rows, {i, 0}, rows.read(i), /*isRead=*/true))
      return status;
  bool hasOwn = given.finals || given.tokens; // rows that are written and not read
  for (int64_t i = 0; hasOwn && i < resolved.sequences; ++i)
    for (int64_t j = 0; j < rows.countWritten(i); ++j)
      if (recur_status status = checkRange(resolved, rows, {i, j}, rows.written({i, j}), /*isRead=*/false))
        return status;
  Use use = findUse(resolved);
  for (int64_t i = 0; use.writes && i < resolved.sequences; ++i)
    for (int64_t j = 0; j < rows.countWritten(i); ++j)
      if (int32_t row = rows.written({i, j}); row >= 0)
        if (recur_status status = checkOnce(resolved, rows, {i, j}, row, given.tokens))
          return status;
  if (given.intervals)
    if (recur_status status = IntervalRows(resolved, given, rows, use).check())
      return status;
  if (!use.isInPlace || !given.states || !hasOwn)
    return RECUR_OK;
  for (int64_t i = 0; i < resolved.sequences; ++i) {
    Place other; // the only one, for no row is written twice
    if (rows.read(i) < 0 || !rows.findWritten(rows.read(i), {resolved.sequences, 0}, other) || other.sequence == i)
      continue;
    char text[64], written[64];
    rows.print(text, {i, 0}, /*isRead=*/true);
    rows.print(written, other);
    return fail(RECUR_BAD_INDEX, "%s: %s is %d, and so is %s; no row is read for one sequence and written for another",
                resolved.recurrence->name, text, int(rows.read(i)), written);
  }
  return RECUR_OK;
}
