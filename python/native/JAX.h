// Kernels as custom calls of XLA, on the CPU; nothing where the package was built without jaxlib's headers.
#pragma once
#include <nanobind/nanobind.h>

namespace recur::python {

void addJAX(nanobind::module_ &module);

} // namespace recur::python
