// Kernels as custom calls of XLA, on the CPU; nothing where the package was built without jaxlib's headers.
#pragma once
#include <nanobind/nanobind.h>
#include <string_view>

namespace recur::python {
class Kernel;

void addJAX(nanobind::module_ &module);
void addJAXSummaries(nanobind::module_ &module);

/// The kernel that programs name by this key, for as long as the process runs; null where it is not loaded.
const Kernel *findForJAX(std::string_view key);

} // namespace recur::python
