// Calls on PyTorch's tensors whose gradients are wanted, like ones that were made before: the call forward, with what
// it leaves for the gradient, and the call backward.
#pragma once
#include "Repeated.h"

namespace recur::python {

/// A call that is known. Of one whose gradients are wanted each call makes a `Training`, which autograd keeps.
struct KnownCall {
  Plan forward;
  bool isTraining = false;        // else nothing of what follows is there
  std::vector<Made> left;         // of states, by their places, and what is none, behind these: for the gradient
  int64_t keptInterval = 0;       // of a processor's, else 0
  size_t outputs = 0, states = 0; // how many there are
  bool makesFinals = false;
  nanobind::object facts; // what the long way backward needs to know of the call
  struct Gradient {
    Plan plan;
    bool takesLeft = false;   // whether it takes the states that the call forward left
    bool takesValues = false; // and what it left besides
  };
  std::vector<std::shared_ptr<Gradient>> gradients; // the last that were learned come first

  /// Sets what the gradient's states are in a call, and what is left besides; `places` has room for them.
  struct Places {
    void *handed[Slots::most];
    float *kept[Slots::most];
  };
  void setLeft(recur_call &call, Places &places, const std::vector<void *> &data, bool takesValues = true) const;
};

class Training {
public:
  Training(std::shared_ptr<KnownCall> plan, Slots slots, const Offsets &offsets)
      : plan(std::move(plan)), slots(std::make_unique<Slots>(std::move(slots))), offsets(offsets) {}
  explicit Training(std::shared_ptr<KnownCall> plan) : plan(std::move(plan)) {}

  /// Computes forward, once, while who asked for it holds the tensors: the results, and what is to be saved for the
  /// gradient, as `derive` takes it.
  nanobind::tuple run();
  /// The gradients of tensors that are `wanted`, the first of which is none; NotImplemented where there was no such
  /// gradient before. `saved`: inputs, params, initial states, offsets and states that were left.
  nanobind::object derive(nanobind::tuple saved, nanobind::tuple cotangents, nanobind::tuple wanted);
  /// Remembers how a gradient was computed. `gradients` are those that are wanted.
  void learn(const Call &call, nanobind::object kernel, nanobind::tuple saved, nanobind::tuple cotangents,
             nanobind::tuple wanted, nanobind::list gradients, int64_t workspaceBytes, size_t taken);
  nanobind::object getFacts() const { return plan->facts; }

private:
  bool makeKey(Key &key, Slots &found, Offsets &bounds, std::vector<void *> &left, nanobind::tuple saved,
               nanobind::tuple cotangents, nanobind::tuple wanted) const;

  std::shared_ptr<KnownCall> plan;
  std::unique_ptr<Slots> slots; // until the call was made
  Offsets offsets;
};

} // namespace recur::python
