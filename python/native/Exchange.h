// DLPack's table of functions, by which a tensor is read without an object of Python's for it.
#pragma once
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace recur::python {

/// As DLPack lays it out. Each function gives 0, or leaves an exception.
struct ExchangeTable {
  uint32_t major, minor; // of DLPack
  const ExchangeTable *previous;
  void *others[3];
  int (*describe)(void *object, nanobind::dlpack::dltensor *tensor);
  int (*getStream)(int32_t deviceType, int32_t device, void **stream);
};

/// The table that a type of tensors shows; null where it shows none.
const ExchangeTable *findExchangeTable(PyTypeObject *type);

} // namespace recur::python
