// The compiler's shared library, loaded when something is first compiled: what is in the cache does without.
#pragma once
#include "recur/Compiler.h"
#include <nanobind/nanobind.h>
#include <string>

namespace recur::python {

class Compiler {
public:
  explicit Compiler(const std::string &path);

  /// `what`: compile, describe, explain or check. `options`: recurrence, dims, consts, target, dtype, plan, chunk,
  /// emit, and source_name, each of which may be left out. Gives `(status, text, diagnostics, artifacts)`.
  nanobind::tuple perform(const std::string &what, const std::string &source, nanobind::dict options) const;
  std::string getVersion() const;

private:
  template <typename Function> Function *find(const char *name) const;
  void *library;
};

} // namespace recur::python
