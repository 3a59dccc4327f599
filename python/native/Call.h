// A call as a caller writes it: arrays of whatever library, from which sizes are read.
#pragma once
#include "Kernel.h"
#include "View.h"
#include <deque>
#include <optional>

namespace recur::python {

/// A side of a declared shape: a dim, by its place, or a number.
struct Side {
  int32_t dim = -1;
  int64_t size = 0;
};

struct Declared {
  std::string name;
  bool isShared = false;
  bool isInteger = false; // an input whose elements are int32
  bool hasShape = true;   // an output's may be known to the compiler alone
  std::vector<Side> shape;
};

/// What a recurrence takes, in the order of declaration.
class Signature {
public:
  /// Each value is `(name, shared, sides, integer)`, each side the name of a dim or a number.
  Signature(std::string name, nanobind::list dims, nanobind::list inputs, nanobind::list params, nanobind::list states);

  /// The types of a call's arrays, by which its kernel is known: that of outputs, and then each array that has another
  /// one, as in `bfloat16,g=float32`; states are float32 where nothing is said. `given`: of inputs and params in order;
  /// `ofStates`: of initial or final states, `Other` where there is neither. Outputs have 16 bits where one of the
  /// inputs that are vectors or matrices has, or one of all inputs where all are scalars; else they are float32.
  std::string nameTypes(const std::vector<Type> &given, const std::vector<Type> &ofStates) const;
  /// The same of the types' names, with None for what there is not.
  std::string nameTypesOf(nanobind::list given, nanobind::object ofStates) const;

  std::string name;
  std::vector<std::string> dims;
  std::vector<Declared> inputs, params, states;

private:
  std::vector<Declared> readValues(nanobind::list values) const;
  Type chooseResult(const std::vector<Type> &given) const;
};

/// What is known of a size, and from where.
struct Size {
  std::optional<int64_t> value;
  std::string from;
};

class Call {
public:
  /// `given`: inputs and params in order; `initial`: a state each, or None. `notice(name, why)` is called before an
  /// array is copied, unless it is None. `gpu` is the number of the GPU that has the arrays, or less than 0; what a
  /// GPU has is not copied, but refused. `deviceOffsets`: those of packed sequences in its memory, int64 and dense.
  /// `finals`: arrays that final states will be written to, or None: they have the type of the initial state, and where
  /// there is none that of this array. With `stateIndices`, a row for each sequence, states are pools `[N, H, ...]`,
  /// which are read and written where they lie; final states go to the rows of `finalIndices`, or None: the same ones.
  /// With `tokenIndices`, `[sequences, tokens]`, the state after each token goes to its row. With `accepted`, a count
  /// for each sequence, `stateIndices` is `[sequences, tokens]`, and a sequence begins with the row of the last one
  /// counted. With `interval`, the states after every so many tokens go to the rows of `intervalIndices`, `[sequences,
  /// multiples]`, of tokens that are counted from `positions` on, or None: from 0. With `replayed`, so many of each
  /// sequence's first tokens were tried before, of which `accepted` says how many lead to the state that is stored;
  /// `stateIndices` then has one row for each sequence, and outputs are those of the other tokens. With `parents`,
  /// `[tokens]` or `[sequences, tokens]`, tokens are tried as trees.
  Call(const Signature &signature, nanobind::list given, nanobind::object initial, nanobind::object offsets,
       bool statesTransposed, nanobind::object notice, int32_t gpu, nanobind::object deviceOffsets,
       nanobind::object finals, nanobind::object stateIndices, nanobind::object finalIndices,
       nanobind::object tokenIndices, nanobind::object accepted, nanobind::object intervalIndices,
       nanobind::object positions, nanobind::object parents, int64_t interval, int64_t replayed);
  Call(const Call &) = delete;

  /// What the kernel is known by: the sizes of the dims that arrays have, and `Signature::nameTypes`.
  nanobind::tuple getKey() const;
  /// H and Hq.
  nanobind::tuple getHeads() const { return nanobind::make_tuple(*heads.value, *groups.value); }
  /// The shapes of outputs, and of final states.
  nanobind::tuple getShapes(const Kernel &kernel) const;
  /// Computes into `outputs` and `finals`, each an array or None. In `kept`, an array for each state or nothing, it
  /// leaves the states before each `keptInterval` tokens, as recur_call has them: float32 and dense.
  void run(const Kernel &kernel, nanobind::list outputs, nanobind::list finals, int32_t plan, int32_t threads,
           nanobind::list kept, int64_t keptInterval);
  /// Makes the call as one that `repeat` computes on the same memory, without reading the arrays anew; raises where one
  /// of them had to be copied. The kernel, and what has the memory, must stay.
  void bind(const Kernel &kernel, nanobind::list outputs, nanobind::list finals);
  void repeat();
  /// Has the call, which is on PyTorch's tensors in the processor's memory, run on PyTorch's threads.
  void runOnTorchsThreads() { runsOnTeam = true; }
  /// Has the indices of a pool that a GPU has checked, for which the call waits.
  void checkIndices() { checksIndices = true; }
  /// The bytes of workspace that the call needs on the GPU of the current context.
  int64_t countWorkspaceBytes(const Kernel &kernel, int32_t plan, int64_t keptInterval, bool backward, bool handsOver,
                              bool handsValues) const;
  /// Puts the computation into a stream of the current context. `workspace` is memory of its GPU. `kept`: as for `run`.
  void runOnGPU(const Kernel &kernel, nanobind::list outputs, nanobind::list finals, uintptr_t workspace,
                int64_t workspaceBytes, uintptr_t stream, int32_t plan, nanobind::list kept, int64_t keptInterval,
                nanobind::list handed);
  /// The same backward, of what `runBackward` takes; the call forward kept nothing.
  void runBackwardOnGPU(const Kernel &kernel, nanobind::list outputs, nanobind::list finals, nanobind::list gradients,
                        nanobind::list initials, uintptr_t workspace, int64_t workspaceBytes, uintptr_t stream,
                        nanobind::list handed);
  /// Computes gradients from cotangents of outputs and final states, each an array, or None, which stands for zeros
  /// among the cotangents and for what is not wanted among the gradients. `kept`: as the call forward left them.
  void runBackward(const Kernel &kernel, nanobind::list outputs, nanobind::list finals, nanobind::list gradients,
                   nanobind::list initials, int32_t threads, nanobind::list kept, int64_t keptInterval);

  /// Memory and stream of a GPU for what follows of summaries there; the processor's memory is found as it is needed.
  void useSpace(uintptr_t workspace, int64_t bytes, uintptr_t stream) { summarySpace = {workspace, bytes, stream}; }
  int64_t countSummaryBytes(const Kernel &kernel, bool backward) const;
  /// Makes the kernel's summary of a state into float32 arrays of `[sequences, H, ...]`; see recur_summarise. Initial
  /// states are those before the part. Parts of a summary may be columns of an array.
  void summarise(const Kernel &kernel, int32_t summary, nanobind::object maps, nanobind::object offsets);
  /// The same of the state's cotangent, with cotangents of outputs and final states as for `runBackward`.
  void summariseBackward(const Kernel &kernel, int32_t summary, nanobind::list outputs, nanobind::list finals,
                         nanobind::object maps, nanobind::object offsets);
  /// One summary of two parts, and a state through a summary, each `(maps, offsets)`; see recur_combine_summaries and
  /// recur_apply_summary. Where cotangents have the maps of states, the result of two has these too unless its maps are
  /// None.
  void combineSummaries(const Kernel &kernel, int32_t summary, bool backward, nanobind::tuple first,
                        nanobind::tuple second, nanobind::tuple result);
  void applySummary(const Kernel &kernel, int32_t summary, bool backward, nanobind::tuple given,
                    nanobind::object states, nanobind::object result);
  /// The same for what the first of several parts knows, through the others; see recur_apply_summaries.
  void applySummaries(const Kernel &kernel, int32_t summary, bool backward, nanobind::list parts,
                      nanobind::object result);

  /// Whether the call, once made, could be made again on other memory by its arguments: none were copied, none are
  /// empty.
  bool isRepeatable() const;
  /// Of the call as it was last made.
  const std::vector<recur_argument> &getArguments() const { return bound; }
  bool areStatesTransposed() const { return statesTransposed; }
  /// Sizes and all else but arguments and where they are. Of packed sequences the offsets are those of this call.
  recur_call makeCall(int32_t plan) const;

private:
  struct Kind {
    const char *word;
    bool isState = false;
  };
  View &read(nanobind::handle object, const Declared &declared, Kind kind);
  void readSizes(const View &view, const Declared &declared, Kind kind);
  bool isPacked() const { return sequences >= 0; }
  bool hasPools() const { return stateIndices != nullptr; }
  /// Rows of sequences, or with `columns` those of their tokens, or of what else there is of each.
  const int32_t *readIndices(nanobind::handle object, const std::string &name, int64_t *columns = nullptr,
                             const char *ofEach = "tokens");
  void readParents(nanobind::handle object);
  void checkIndexCounts();
  void readSide(Size &size, const std::string &what, int64_t value, const std::string &from, const std::string &hint);
  bool looksTransposed(const View &view, const Declared &declared, int leading) const;
  void readOffsets(nanobind::handle object);
  void readDeviceOffsets(nanobind::handle object);
  void nameTypes(nanobind::handle finals);
  void makeDense(View &view, const std::string &name, const char *why);
  [[noreturn]] void refuse(const std::string &message) const;
  std::string printShape(const Declared &declared, Kind kind) const;
  /// How many sides come before those of a token.
  int getLeading(Kind kind) const { return kind.isState ? 2 : kind.word[0] == 'p' ? 1 : 3; }
  recur_argument makeArgument(const View &view, int leading) const;
  nanobind::tuple getShape(const recur_array_info &array) const;
  /// Of an array that is written, or else read; `what` names it in errors.
  recur_argument readResult(nanobind::handle object, const recur_array_info &array, const std::string &what,
                            bool isWritten);
  void listGiven(const Kernel &kernel, std::vector<recur_argument> &arguments) const;
  void checkPlace(const View &view, const std::string &what) const;
  void addResults(const Kernel &kernel, std::initializer_list<recur_kind> kinds, nanobind::list arrays,
                  const char *what, bool isWritten, std::vector<recur_argument> &arguments);
  std::vector<recur_argument> listCotangents(const Kernel &kernel, nanobind::list outputs, nanobind::list finals);
  std::vector<recur_argument> listBackward(const Kernel &kernel, nanobind::list outputs, nanobind::list finals,
                                           nanobind::list gradients, nanobind::list initials);
  float *readFloats(nanobind::handle object, int64_t size, const char *what, bool isWritten, int64_t *stride = nullptr);
  recur_summary readSummary(nanobind::tuple given, const recur_summary_shape &shape, const char *what, bool isWritten,
                            bool hasMaps = true);
  recur_summary_shape describe(const Kernel &kernel, int32_t summary) const;
  recur_call makeSummaryCall() const;
  std::vector<recur_argument> listForward(const Kernel &kernel, nanobind::list outputs, nanobind::list finals);
  /// The states that are kept: where they lie, and how many tokens are between them; 0 where none are.
  struct Kept {
    std::vector<float *> states;
    int64_t interval = 0;
  };
  Kept readKept(const Kernel &kernel, nanobind::list arrays, int64_t interval, bool isWritten);
  /// What is handed over: of each state that the gradient takes, and what launches leave to each other.
  struct Handed {
    std::vector<void *> states;
    void *values = nullptr;
    void set(recur_call &call) const {
      call.handed_states = states.empty() ? nullptr : states.data();
      call.handed_values = values;
    }
  };
  /// Of arrays for those states, and one more where there is more than states; nothing where there are none.
  Handed readHanded(const Kernel &kernel, nanobind::list arrays, bool isWritten);
  /// An array of at least so many rows, each of which has so much of each head.
  void *readHandedArray(nanobind::handle array, const std::string &what, int64_t rows,
                        const std::vector<int64_t> &shape, const std::string &type, bool isWritten);
  void perform(const Kernel &kernel, std::vector<recur_argument> &arguments, bool backward, int32_t plan,
               int32_t threads, const Kept &kept) const;
  /// Puts a call with all but its arguments and its workspace into a stream.
  struct Space {
    uintptr_t workspace = 0;
    int64_t bytes = 0;
    uintptr_t stream = 0;
  };
  void performOnGPU(const Kernel &kernel, recur_call &call, const std::vector<recur_argument> &arguments, Space space,
                    bool backward) const;

  Space summarySpace;
  std::vector<recur_argument> bound; // as they were last used
  const Kernel *boundKernel = nullptr;
  std::string copiedName; // of an array that was copied
  const Signature &signature;
  nanobind::object notice;
  std::deque<View> views; // keep the memory
  std::vector<View *> inputs, params, initials;
  std::vector<int64_t> offsets;
  const int64_t *deviceOffsets = nullptr;
  int64_t sequences = -1; // where they are packed
  const int32_t *stateIndices = nullptr, *finalIndices = nullptr, *tokenIndices = nullptr, *acceptedCounts = nullptr,
                *intervalIndices = nullptr, *positions = nullptr, *parents = nullptr;
  int64_t interval = 0, intervalColumns = 0;
  int64_t tokenColumns = 0, stateColumns = 0, parentColumns = 0, parentStride = 0;
  struct IndexCount {
    std::string name;
    int64_t count;
  };
  std::vector<IndexCount> indexCounts;
  std::deque<std::vector<int32_t>> copiedIndices;
  Size poolRows;
  bool checksIndices = false;
  bool runsOnTeam = false, statesTransposed;
  int32_t gpu;
  int64_t replayed;
  std::string types;
  Size batch, tokens, heads, groups;
  std::vector<Size> dims;
};

} // namespace recur::python
