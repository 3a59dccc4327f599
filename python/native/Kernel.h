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

  /// Makes the call with the calling thread's own workspace; raises what the runtime says.
  void forward(recur_call &call) const;

private:
  const recur_recurrence *recurrence = nullptr;
};

/// A 64-byte aligned room of the calling thread, which stays until the thread ends. Null where there is no memory.
void *getWorkspace(int64_t bytes);

} // namespace recur::python
