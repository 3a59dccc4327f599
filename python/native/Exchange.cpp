#include "Exchange.h"
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace recur::python;

/// Types that were asked stay, so that none comes at the address of another.
const ExchangeTable *recur::python::findExchangeTable(PyTypeObject *type) {
  static std::vector<std::pair<PyTypeObject *, const ExchangeTable *>> known;
  for (const auto &[asked, table] : known)
    if (asked == type)
      return table;
  nb::object capsule =
      nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)), "__dlpack_c_exchange_api__", nb::none());
  const ExchangeTable *table = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
    table = static_cast<const ExchangeTable *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table && table->major != 1)
    table = table->previous;
  if (table && !table->describe)
    table = nullptr;
  Py_INCREF(reinterpret_cast<PyObject *>(type));
  known.emplace_back(type, table);
  return table;
}
