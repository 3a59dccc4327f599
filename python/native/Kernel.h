// A shared object of kernels, loaded for as long as the process runs: code may be in use by another thread, or lie in a
// program that JAX compiled.
#pragma once
#include "recur/Runtime.h"
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace recur::python {

class Kernel {
public:
  /// Loads the bytes of a shared object, which `name` names in errors; what cannot be loaded raises LoadError.
  Kernel(nanobind::bytes code, const std::string &name, const std::string &descriptor);

  const recur_recurrence &getRecurrence() const { return *recurrence; }
  /// The arrays of a kind, in the order of declaration.
  std::vector<const recur_array_info *> getArrays(recur_kind kind) const;
  int64_t count(recur_kind kind) const;
  /// `(name, kind, dtype, shared, shape)` of each array.
  nanobind::list listArrays() const;

  /// `(state, map_size, offset_size, needs, has_backward_map)` of each summary that parts of a sequence have, states by
  /// their places; None where there are none.
  nanobind::object listSummaries() const;

  /// Makes the call, of the kernels or of their gradient, with the calling thread's own workspace. What the runtime
  /// says where it refuses; empty where all is well.
  std::string perform(recur_call &call, bool backward) const;
  /// The same on the GPU of the current context, for a call that has its workspace, stream and offsets.
  std::string performOnGPU(recur_call &call, bool backward) const;
  /// Whether there are kernels for processors, or for GPUs.
  bool hasDevice(recur_device device) const;
  bool hasGradient() const { return recurrence->gradient != nullptr; }
  /// Tokens between two states that a gradient takes; 0 where it takes none, or there is no gradient.
  int64_t getGradientChunk() const {
    return recurrence->gradient && recurrence->gradient->kept_count ? recurrence->gradient->chunk : 0;
  }

  /// The gradient on a GPU to which a call forward hands states over; null where none is, or kernels are for several
  /// GPUs.
  const recur_gradient_info *findHanding() const;
  /// What a call forward on a GPU hands over to its gradient: `(chunk, ((state, dtype), ...))`, states by their places;
  /// None where it hands over nothing.
  nanobind::object listHanded() const;
  /// What else it hands over: `(numbers, digest)`, so many float32 of each chunk of each head, which the gradient of
  /// another kernel takes where the digest is the same; None where there is nothing.
  nanobind::object describeHandedValues() const;

  /// Gives the call the thread's own workspace for what a summary takes. What the runtime says where it refuses; else
  /// empty.
  std::string provideSummarySpace(recur_call &call, bool backward) const;

private:
  const recur_recurrence *recurrence = nullptr;
};

} // namespace recur::python
