// Calls like ones that were made before: on PyTorch's tensors of the same types, sizes, strides and place. What was
// found out then is used again, and between the tensors and the kernel nothing of Python's is left but what makes
// results.
#pragma once
#include "Call.h"
#include "Exchange.h"
#include <memory>

namespace recur::python {

/// What calls ask of PyTorch, as recur.torch hands it on.
struct Torch {
  nanobind::object tensor, parameter;      // the types
  nanobind::object bytes;                  // the type of elements
  nanobind::object emptyOnCPU, emptyOnGPU; // functions of shape, strides and type; None where it has none
  nanobind::object empty, isGradEnabled, isNegative, incrementVersion;
  nanobind::list modes;          // functions without arguments that give nothing, zero or false where nobody looks on
  nanobind::object profiler;     // modules that say whether they look on
  nanobind::object forwardAD;    //
  nanobind::object getDevice;    // the function for the current GPU; None where PyTorch has no CUDA
  nanobind::object placeOffsets; // a function of offsets and the number of a GPU: the same there, int64 and dense
};

/// Whether the calling thread has a context of CUDA's.
bool hasCUDAContext();

class Repeats {
public:
  /// `given`: the names of inputs and params in order.
  explicit Repeats(nanobind::list given);

  static void setTorch(Torch found);

  /// Makes the call and gives its results; NotImplemented where it is like none before, or somebody looks on: a
  /// gradient, a trace, a mode. The arguments are those of `recur.Recurrence.__call__`.
  /// Where `indices` are given, of a pool, initial and final states are the pool, and nothing is given of them: what
  /// `recur.call_options.Indices` has, each a tensor or None.
  nanobind::object call(nanobind::tuple arrays, nanobind::dict named, nanobind::object initial, nanobind::object final,
                        nanobind::object out, nanobind::object offsets, bool transposed, nanobind::object indices);
  /// Remembers a call that was made. `wanted` and `finals` are arrays each of which may be None, or `finals` whether
  /// states were made; `results` and `states` are what the call gave; `offsets` None, a tensor, or a pair of tensors.
  /// Does nothing where another such call could not do the same, as with copies.
  void learn(const Call &call, nanobind::object kernel, nanobind::list given, nanobind::object initials,
             nanobind::object wanted, nanobind::object finals, nanobind::object offsets, nanobind::list results,
             nanobind::list states, int64_t workspaceBytes, nanobind::object indices);

private:
  /// Arguments in the runtime's order: inputs, params, initial states, outputs, final states. Null: none, or made here.
  struct Slots {
    static constexpr size_t most = 128;
    PyObject *objects[most];
    void *data[most];
    size_t count = 0;
    std::vector<nanobind::object> kept; // of mappings, which another thread may change
    bool makesFinals = false, givesFinals = false;
  };
  /// What a call is known by.
  struct Key {
    static constexpr size_t most = 1024;
    int64_t words[most];
    size_t count = 0;
    bool add(int64_t word) { return count < most && (words[count++] = word, true); }
  };
  /// The offsets of packed sequences, which a call may have on the host, on the GPU or on both. What they hold is not a
  /// part of what a call is known by: they are others each time.
  struct Offsets {
    PyObject *objects[2] = {}; // as they are given
    nanobind::dlpack::dltensor tensors[2] = {};
    int count = 0;
  };
  /// The rows of pools, as kernels read them: dense, of 32 bits, where the arrays are. Those of sequences, those that
  /// states go to, those of tokens, how many tokens were accepted, those of multiples, and how many tokens there were
  /// before; and then of how many tokens these are multiples, a number.
  struct Indices {
    static constexpr int most = 6;
    const int32_t *data[most] = {};
    int count = 0; // of those that there are
  };
  struct Plan;

  static bool readOffsets(Offsets &offsets, PyObject *object);
  static bool addOffsets(Key &key, Offsets &offsets);
  static bool addIndices(Key &key, Indices &indices, PyObject *object);
  bool readSlots(Slots &slots, PyObject *arrays, PyObject *named, PyObject *initial, PyObject *final, PyObject *out);
  bool addByName(Slots &slots, PyObject *object, const std::vector<nanobind::object> &names) const;
  bool makeKey(Key &key, Slots &slots, bool transposed, int32_t &gpu) const;
  std::shared_ptr<Plan> find(const Key &key);
  void noteWritten(const Slots &slots) const;
  nanobind::object arrange(const Slots &slots, const Plan &plan, nanobind::object *made) const;

  std::vector<nanobind::object> given, states, outputs; // names
  std::vector<std::shared_ptr<Plan>> plans;             // the last that were used come first
};

} // namespace recur::python
