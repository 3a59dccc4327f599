// Calls like ones that were made before: on PyTorch's tensors of the same types, sizes, strides and place. What was
// found out then is used again, and between the tensors and the kernel nothing of Python's is left but what makes
// results.
#pragma once
#include "Training.h"

namespace recur::python {

class Repeats {
public:
  /// `given`: the names of inputs and params in order.
  explicit Repeats(nanobind::list given);

  /// Makes the call and gives its results; NotImplemented where it is like none before, or somebody looks on: a trace,
  /// a mode. Where a gradient is wanted, autograd is told of it. The arguments are those of
  /// `recur.Recurrence.__call__`. Where `indices` are given, of a pool, initial and final states are the pool, and
  /// nothing is given of them: what `recur.call_options.Indices` has, each a tensor or None.
  nanobind::object call(nanobind::tuple arrays, nanobind::dict named, nanobind::object initial, nanobind::object final,
                        nanobind::object out, nanobind::object offsets, bool transposed, nanobind::object indices,
                        nanobind::object keptBytes);
  /// Remembers a call that was made. `wanted` and `finals` are arrays each of which may be None, or `finals` whether
  /// states were made; `results` and `states` are what the call gave; `offsets` None, a tensor, or a pair of tensors.
  /// Does nothing where another such call could not do the same, as with copies.
  /// Where gradients are wanted, `training` says what the call leaves for them: the budget; arrays, and the places of
  /// the states that they are of; the tokens between these, on a GPU 0; and of what the long way computes gradients.
  /// The result is then a Training for those of this call, or else None.
  nanobind::object learn(const Call &call, nanobind::object kernel, nanobind::list given, nanobind::object initials,
                         nanobind::object wanted, nanobind::object finals, nanobind::object offsets,
                         nanobind::list results, nanobind::list states, int64_t workspaceBytes,
                         nanobind::object indices, nanobind::object training);

private:
  /// The rows of pools, as kernels read them: dense, of 32 bits, where the arrays are. Those of sequences, those that
  /// states go to, those of tokens, how many tokens were accepted, those of multiples, how many tokens there were
  /// before, and the parents of tokens; and then two numbers: of how many tokens these are multiples, and how many are
  /// replayed.
  struct Indices {
    static constexpr int most = 7, numbers = 2;
    const int32_t *data[most] = {};
    int count = 0; // of those that there are
  };
  static bool addIndices(Key &key, Indices &indices, PyObject *object);
  bool readSlots(Slots &slots, PyObject *arrays, PyObject *named, PyObject *initial, PyObject *final, PyObject *out);
  bool addByName(Slots &slots, PyObject *object, const std::vector<nanobind::object> &names) const;
  bool makeKey(Key &key, Slots &slots, bool transposed, bool asksGradients, PyObject *keptBytes,
               bool &isTraining) const;
  std::shared_ptr<KnownCall> find(const Key &key);
  void noteWritten(const Slots &slots) const;
  nanobind::object train(std::shared_ptr<KnownCall> known, Slots &slots, const Offsets &offsets) const;
  nanobind::object arrange(const Slots &slots, const nanobind::object *results) const;

  std::vector<nanobind::object> given, states, outputs; // names
  std::vector<std::shared_ptr<KnownCall>> plans;        // the last that were used come first
};

} // namespace recur::python
