// Exceptions of recur/errors.py, raised from C++.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>

namespace recur::python {

/// Raises the class of that name in recur.errors.
[[noreturn]] inline void raise(const char *className, const std::string &message) {
  nanobind::object type = nanobind::module_::import_("recur.errors").attr(className);
  PyErr_SetString(type.ptr(), message.c_str());
  throw nanobind::python_error();
}

[[noreturn]] inline void raiseArgument(const std::string &message) { raise("ArgumentError", message); }

} // namespace recur::python
