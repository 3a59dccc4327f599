// A call whose arguments were checked: every stride filled in, every array known by its role.
#pragma once
#include "ABI/KernelSignature.h"

namespace recur::runtime {

using abi::Role;

constexpr int32_t mostArguments = 128;
constexpr int32_t mostGradientArguments = 2 * mostArguments;                 // with a cotangent or a gradient of each
constexpr int32_t mostCallArguments = mostGradientArguments + mostArguments; // and what is kept of states
constexpr int64_t alignment = abi::workspaceAlignment;

struct Argument {
  const recur_array_info *info;
  Role role;
  char *data;
  int64_t elementBytes;
  int64_t elements;          // of one token, or of one head for params and states
  int64_t counts[3];         // sequences, tokens and heads that the array has, 1 where it has no such dimension
  int64_t strides[3];        // in elements
  int64_t spanBytes;         // from the first byte to behind the last; 0 when there are no elements
  bool isTransposed = false; // a state that the caller has with its sides swapped
  /// Of a state in a pool: the row of each sequence, where the machine has it. For a row that there is not stands
  /// `absent`, which all sequences have in common, dense; null: zeros, or nowhere. Null: sequences have rows in their
  /// order. With columns a sequence has so many rows, of which it begins with the one that `accepted` counts to; final
  /// states have one for each token.
  const int32_t *rows = nullptr;
  int64_t rowColumns = 0;
  const int32_t *accepted = nullptr;
  char *absent = nullptr;

  bool isState() const { return info->kind == RECUR_STATE; }
  bool isKept() const { return role == Role::KeptOut || role == Role::KeptIn; }
  /// A state that the caller has in 16 bits, or with its sides swapped: a processor's kernels have it otherwise.
  bool isConverted() const { return isTransposed || (isState() && elementBytes != int64_t(sizeof(float))); }
  bool isWritten() const { return abi::getFacts(role).isWritten; }
  const char *getWord() const { return abi::getFacts(role).word; } // for messages
  char *at(int64_t sequence, int64_t token, int64_t head) const {
    return data + (sequence * strides[0] + token * strides[1] + head * strides[2]) * elementBytes;
  }
  /// The row of a pool that a sequence has, or the one after a token of it, where rows are in this machine's memory.
  int32_t getRow(int64_t sequence, int64_t token = 0) const {
    return rowColumns ? rows[sequence * rowColumns + (accepted ? accepted[sequence] - 1 : token)] : rows[sequence];
  }
  /// The state of a head of a sequence, or after a token of it; null where there is none.
  char *getState(int64_t sequence, int64_t head, int64_t token = 0) const {
    if (!data || !rows)
      return data ? at(sequence, 0, head) : nullptr;
    if (int32_t row = getRow(sequence, token); row >= 0)
      return at(row, 0, head);
    return absent ? absent + head * elements * elementBytes : nullptr;
  }
  /// The state as a call has it that begins with this sequence.
  Argument from(int64_t sequence) const {
    Argument rest = *this;
    if (rows)
      rest.rows += sequence * (rowColumns ? rowColumns : 1);
    if (accepted)
      rest.accepted += sequence;
    if (!rows && data)
      rest.data = at(sequence, 0, 0);
    return rest;
  }
};

/// Where sequences are cut into segments: the first has so many tokens, each other so many, the last what is left.
/// Whole chunks; zeros where sequences are not cut.
struct Cut {
  int64_t first = 0, rest = 0;
};

struct Machine;

struct Call {
  bool isBackward = false;
  const Machine *machine;
  const recur_recurrence *recurrence;
  const recur_call *call;
  int64_t sequences; // N
  int64_t heads, groups;
  int32_t plan;                       // recur_plan
  int64_t slots;                      // heads or segments that are worked on at the same time
  int64_t slotBytes;                  // workspace of each
  const recur_kernel_info *segmented; // null where no sequence is cut
  Cut cut;
  int64_t records;     // segments of which something can be kept at the same time
  int64_t recordBytes; // workspace of each, behind that of the slots
  int64_t workers;     // of a call backward: threads, where what they have is not in slots; behind the records
  int64_t workerBytes;
  int64_t startBytes; // of workspace behind all that: what states start as, where that is not zero
  int32_t argumentCount;
  int64_t keptChunks;                 // of a call backward: whose states are at hand at the same time
  int64_t keptRows;                   // of the arrays of states at multiples of the call's kept_interval
  int32_t keptCount;                  // of these arrays, which are behind the arguments
  const int32_t *leftAlone = nullptr; // on a GPU: not 0 for heads of sequences that launches leave alone; null: none
  Argument arguments[mostCallArguments];

  /// Of a number among the arguments and what comes behind them, which are none.
  const Argument *findArgument(int32_t number) const { return number < argumentCount ? &arguments[number] : nullptr; }
  /// The state before the token kept_interval * row of a sequence.
  char *getKept(int32_t state, int64_t row, int64_t head) const {
    return arguments[argumentCount + state].at(row, 0, head);
  }
};

constexpr int64_t roundUp(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Of one element in the caller's memory.
inline int64_t getTypeBytes(int32_t dtype) { return dtype == RECUR_BF16 || dtype == RECUR_F16 ? 2 : 4; }
inline int64_t getElementBytes(const recur_array_info &info) { return getTypeBytes(info.dtype); }
/// Of one token, param or state of a head.
inline int64_t countElements(const recur_array_info &info) {
  int64_t elements = 1;
  for (int32_t i = 0; i < info.rank; ++i)
    elements *= info.shape[i];
  return elements;
}
/// As float32, in a piece of workspace of its own.
inline int64_t countFloatBytes(const recur_array_info &info) {
  return roundUp(countElements(info) * int64_t(sizeof(float)));
}

/// How many rows a sequence has of those that it may begin with.
inline int64_t countStateColumns(const recur_call &call) {
  return call.accepted && !call.replayed ? call.state_columns : 1;
}

/// Whether states on the way go to rows of pools.
inline bool storesOnTheWay(const recur_call &call) { return call.token_indices || call.replayed; }

/// Whether the call goes from token to token.
inline bool goesByTokens(const recur_call &call) { return storesOnTheWay(call) || call.parents; }

/// How many states of a sequence several tokens of a tree may begin with: those before its first ones.
inline int64_t countForks(const recur_call &call) {
  int64_t tokens = call.T < RECUR_MOST_KEPT_TOKENS ? call.T : RECUR_MOST_KEPT_TOKENS;
  return call.parents && tokens > 1 ? tokens - 1 : 0;
}

/// Whether states are rows of pools.
inline bool hasPools(const recur_call &call) { return call.state_indices || call.final_indices || call.token_indices; }

/// Whether the call has packed sequences; their offsets may be known to the GPU alone.
inline bool isPacked(const recur_call &call) {
  return call.sequence_offsets || (call.device == RECUR_CUDA && call.device_offsets);
}

struct Sequence {
  int64_t entry; // of the batch
  int64_t begin, tokens;
};
/// Of a call whose offsets this machine knows.
Sequence getSequence(const Call &call, int64_t index);

/// Whether the call forward hands states over to the one backward.
inline bool handsOver(const Call &call) { return call.call->device == RECUR_CUDA && call.call->handed_states; }
/// In so many rows; of the gradient's chunks.
int64_t countHandedRows(const Call &call);
/// Whether it also hands over what its launches leave to each other, which takes so many bytes.
inline bool handsValues(const Call &call) { return handsOver(call) && call.call->handed_values; }
int64_t countHandedBytes(const Call &call);

/// How many states are kept of the sequences before this one.
int64_t countKeptRows(const Call &call, int64_t sequences);

/// The kernel for a whole sequence of so many tokens, forced or chosen; null when the forced plan is not there.
const recur_kernel_info *chooseKernel(const recur_recurrence *recurrence, int32_t plan, int64_t tokens);

/// The largest workspace of any kernel that the call may choose: the same whatever the lengths of its sequences.
int64_t getKernelBytes(const recur_recurrence *recurrence, int32_t plan, const recur_kernel_info *segmented);

/// An error where the description is no one, or of another version.
recur_status checkRecurrence(const recur_recurrence *recurrence);
/// An error where no kernel runs on the recur_device.
recur_status checkDevice(const recur_recurrence *recurrence, int32_t device);
/// Checks the descriptor and the sizes, and says how much workspace there must be. Does not look at arguments.
recur_status resolveSizes(Call &resolved, const recur_recurrence *recurrence, const recur_call *call);
/// The workspace that there must be.
int64_t countWorkspaceBytes(const Call &resolved);
/// Then the arguments: pointers, strides and how far each array reaches.
recur_status resolveArguments(Call &resolved);
/// Then whether anything that is written shares memory with anything else.
recur_status checkOverlaps(const Call &resolved);
/// The indices of a call, in this machine's memory; null: the call has none. `offsets` are those of packed sequences.
struct CallIndices {
  const int32_t *states, *finals, *tokens, *accepted, *intervals, *positions, *parents;
  const int64_t *offsets;
};
/// Then the rows of pools, and before those the trees of tokens.
recur_status checkIndices(const Call &resolved, const CallIndices &indices);
recur_status checkTrees(const Call &resolved, const CallIndices &indices);
/// Of trees that the sizes alone say is wrong.
recur_status checkTreeSizes(const recur_recurrence *recurrence, const recur_call *call, bool isBackward);
/// How many numbers `parents` has, from the first sequence's on.
int64_t countParents(const Call &resolved);

} // namespace recur::runtime
