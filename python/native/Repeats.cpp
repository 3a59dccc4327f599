#include "Repeats.h"
#include "Errors.h"
#include <algorithm>

namespace nb = nanobind;
using namespace recur::python;

static constexpr size_t mostPlans = 32;

Repeats::Repeats(nb::list givenNames) {
  for (nb::handle name : givenNames)
    given.push_back(nb::borrow(name));
}

/// Whether nobody looks on that would have to see an operator.
static bool isQuiet() {
  static PyObject *isProfiling = PyUnicode_InternFromString("_is_profiler_enabled");
  static PyObject *level = PyUnicode_InternFromString("_current_level");
  for (nb::handle mode : getTorch()->modes)
    if (!saysNo(mode.ptr()))
      return false;
  return getNumber(getTorch()->profiler.ptr(), isProfiling) == 0 && getNumber(getTorch()->forwardAD.ptr(), level) < 0;
}

//===----------------------------------------------------------------------===//
// What a call is known by
//===----------------------------------------------------------------------===//

bool Repeats::addByName(Slots &slots, PyObject *object, const std::vector<nb::object> &names) const {
  if (slots.count + names.size() > Slots::most)
    return false;
  if (object == Py_None) {
    for (size_t i = 0; i < names.size(); ++i)
      slots.objects[slots.count++] = nullptr;
    return true;
  }
  if (!PyDict_CheckExact(object)) {
    if (names.size() != 1)
      return false;
    slots.objects[slots.count++] = object;
    return true;
  }
  Py_ssize_t found = 0;
  for (const nb::object &name : names) {
    PyObject *value = PyDict_GetItemWithError(object, name.ptr());
    found += value != nullptr;
    if (value)
      slots.kept.push_back(nb::borrow(value));
    slots.objects[slots.count++] = value == Py_None ? nullptr : value;
  }
  PyErr_Clear();
  return found == PyDict_Size(object); // else it names what there is not
}

bool Repeats::readSlots(Slots &slots, PyObject *arrays, PyObject *named, PyObject *initial, PyObject *final,
                        PyObject *out) {
  size_t placed = size_t(PyTuple_Size(arrays));
  if (placed > given.size() || given.size() > Slots::most || size_t(PyDict_Size(named)) != given.size() - placed)
    return false;
  for (size_t i = 0; i < given.size(); ++i) {
    PyObject *array =
        i < placed ? PyTuple_GetItem(arrays, Py_ssize_t(i)) : PyDict_GetItemWithError(named, given[i].ptr());
    if (!array) {
      PyErr_Clear();
      return false;
    }
    slots.objects[slots.count++] = array;
  }
  slots.makesFinals = final == Py_True;
  slots.givesFinals = !slots.makesFinals && final != Py_False && final != Py_None;
  return addByName(slots, initial, states) && addByName(slots, out, outputs) &&
         addByName(slots, slots.givesFinals ? final : Py_None, states);
}

/// False where one lies otherwise than kernels read it: the call then goes the long way each time.
bool Repeats::addIndices(Key &key, Indices &indices, PyObject *object) {
  key.add(object != Py_None);
  if (object == Py_None)
    return true;
  if (!PyTuple_Check(object) || PyTuple_Size(object) != Indices::most + Indices::numbers)
    return false;
  for (int i = 0; i < Indices::numbers; ++i) {
    PyObject *number = PyTuple_GetItem(object, Indices::most + i);
    if (!PyLong_Check(number))
      return false;
    key.add(PyLong_AsLongLong(number)); // which a call like this one has been found to be fit for
  }
  for (int i = 0; i < Indices::most; ++i) {
    PyObject *one = PyTuple_GetItem(object, i);
    nb::dlpack::dltensor tensor = {};
    key.add(one != Py_None);
    if (one == Py_None)
      continue;
    if (Py_TYPE(one) != reinterpret_cast<PyTypeObject *>(getTorch()->tensor.ptr()) || !describe(one, tensor) ||
        tensor.ndim < 1 || tensor.ndim > 2 || !tensor.strides || getTypeOfDLPack(tensor.dtype) != Type::I32)
      return false;
    for (int64_t word : {int64_t(tensor.device.device_type), int64_t(tensor.device.device_id), int64_t(tensor.ndim)})
      key.add(word);
    int64_t dense = 1;
    for (int side = tensor.ndim; side-- > 0; dense *= tensor.shape[side]) {
      if (tensor.strides[side] != dense && tensor.shape[side] != 1)
        return false;
      key.add(tensor.shape[side]);
    }
    indices.data[i] = static_cast<const int32_t *>(getData(tensor));
    ++indices.count;
  }
  return key.add(indices.count);
}

/// False where a tensor is none that a call could be repeated on. Where gradients are asked for, those that are wanted
/// are a part of what the call is known by, and so is the budget for what it leaves for them.
bool Repeats::makeKey(Key &key, Slots &slots, bool transposed, bool asksGradients, PyObject *keptBytes,
                      bool &isTraining) const {
  static PyObject *requiresGrad = PyUnicode_InternFromString("requires_grad");
  key.add(int64_t(transposed) | int64_t(slots.makesFinals) << 1 | int64_t(slots.givesFinals) << 2);
  isTraining = false;
  for (size_t i = 0; i < slots.count; ++i) {
    PyObject *object = slots.objects[i];
    slots.data[i] = nullptr;
    if (!object) {
      key.add(-1);
      continue;
    }
    bool isWanted = asksGradients && getNumber(object, requiresGrad) != 0;
    if (!key.addTensor(object, slots.data[i], isWanted))
      return false;
    if (isWanted && i >= given.size() + states.size())
      return false; // what is written has no gradient
    isTraining |= isWanted;
  }
  if (isTraining) {
    if (keptBytes != Py_None && !PyLong_CheckExact(keptBytes))
      return false;
    key.add(keptBytes == Py_None ? -1 : PyLong_AsLongLong(keptBytes));
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
  }
  return !key.isFull();
}

std::shared_ptr<KnownCall> Repeats::find(const Key &key) {
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i]->forward.isKnownBy(key))
      continue;
    std::rotate(plans.begin(), plans.begin() + std::ptrdiff_t(i), plans.begin() + std::ptrdiff_t(i) + 1);
    return plans.front();
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Of outputs and then final states, as a call gives them.
nb::object Repeats::arrange(const Slots &slots, const nb::object *results) const {
  bool hasStates = slots.makesFinals || slots.givesFinals;
  if (!hasStates && outputs.size() == 1)
    return results[0];
  nb::object tuple = own(PyTuple_New(Py_ssize_t(outputs.size() + hasStates)));
  for (size_t i = 0; i < outputs.size(); ++i)
    PyTuple_SetItem(tuple.ptr(), Py_ssize_t(i), nb::object(results[i]).release().ptr());
  if (!hasStates)
    return tuple;
  nb::object finals;
  if (states.size() == 1) {
    finals = results[outputs.size()];
  } else {
    nb::dict byName;
    for (size_t i = 0; i < states.size(); ++i)
      byName[states[i]] = results[outputs.size() + i];
    finals = std::move(byName);
  }
  PyTuple_SetItem(tuple.ptr(), Py_ssize_t(outputs.size()), finals.release().ptr());
  return tuple;
}

/// Tells PyTorch which tensors of the caller's have other numbers now, so that autograd refuses those that it had kept.
void Repeats::noteWritten(const Slots &slots) const {
  nb::list written;
  for (size_t i = given.size() + states.size(); i < slots.count; ++i)
    if (slots.objects[i])
      written.append(nb::handle(slots.objects[i]));
  if (nb::len(written))
    own(PyObject_CallFunctionObjArgs(getTorch()->incrementVersion.ptr(), written.ptr(), nullptr));
}

/// A call that autograd is told of: PyTorch calls `Training::run` on the way.
nb::object Repeats::train(std::shared_ptr<KnownCall> known, Slots &slots, const Offsets &offsets) const {
  PyObject *arguments[Slots::most + 1];
  size_t count = 1;
  for (size_t i = 0; i < given.size() + states.size(); ++i)
    if (slots.objects[i])
      arguments[count++] = slots.objects[i];
  Slots shape;
  shape.makesFinals = slots.makesFinals;
  std::vector<nb::object> held = slots.kept; // until the call was made
  nb::object training =
      nb::cast(new Training(std::move(known), std::move(slots), offsets), nb::rv_policy::take_ownership);
  arguments[0] = training.ptr();
  nb::object made = own(PyObject_Vectorcall(getTorch()->differentiate.ptr(), arguments, count, nullptr));
  if (!PyTuple_Check(made.ptr()))
    return made;
  nb::object results[Slots::most];
  for (Py_ssize_t i = 0; i < PyTuple_Size(made.ptr()); ++i)
    results[i] = nb::borrow(PyTuple_GetItem(made.ptr(), i));
  return arrange(shape, results);
}

nb::object Repeats::call(nb::tuple arrays, nb::dict named, nb::object initial, nb::object final, nb::object out,
                         nb::object offsetsObject, bool transposed, nb::object indicesObject, nb::object keptBytes) {
  nb::object unknown = nb::borrow(Py_NotImplemented);
  Slots slots;
  Offsets offsets;
  Indices indices;
  Key key;
  bool isTraining = false;
  if (plans.empty() || !readSlots(slots, arrays.ptr(), named.ptr(), initial.ptr(), final.ptr(), out.ptr()) ||
      !offsets.read(offsetsObject.ptr()) || !isQuiet() || !offsets.addTo(key) ||
      !addIndices(key, indices, indicesObject.ptr()) ||
      !makeKey(key, slots, transposed, !saysNo(getTorch()->isGradEnabled.ptr()), keptBytes.ptr(), isTraining))
    return unknown;
  std::shared_ptr<KnownCall> known = find(key);
  if (!known || !known->forward.isHere())
    return unknown;
  if (isTraining)
    return train(std::move(known), slots, offsets);
  const Plan &plan = known->forward;
  recur_call call = plan.call;
  call.state_indices = indices.data[0];
  call.final_indices = indices.data[1];
  call.token_indices = indices.data[2];
  call.accepted = indices.data[3];
  call.interval_indices = indices.data[4];
  call.positions = indices.data[5];
  call.parents = indices.data[6];
  nb::object made[Slots::most / 2], results[Slots::most];
  if (!plan.perform(call, slots, offsets, made, /*backward=*/false))
    return unknown;
  noteWritten(slots);
  if (indices.count)
    slots.makesFinals = slots.givesFinals = false; // who has the pool has them
  size_t first = given.size() + states.size();
  for (size_t i = first; i < slots.count; ++i)
    results[i - first] = slots.objects[i] ? nb::borrow(slots.objects[i]) : nb::none();
  for (size_t i = 0; i < plan.made.size(); ++i)
    results[plan.made[i].slot - first] = std::move(made[i]);
  return arrange(slots, results);
}

nb::object Repeats::learn(const Call &call, nb::object kernelObject, nb::list givenArrays, nb::object initials,
                          nb::object wanted, nb::object finals, nb::object offsetsObject, nb::list results,
                          nb::list finalStates, int64_t workspaceBytes, nb::object indicesObject, nb::object training) {
  const Kernel &kernel = nb::cast<const Kernel &>(kernelObject);
  if (!getTorch() || !call.isRepeatable())
    return nb::none();
  if (outputs.empty()) {
    for (const recur_array_info *array : kernel.getArrays(RECUR_OUTPUT))
      outputs.push_back(nb::str(array->name));
    for (const recur_array_info *array : kernel.getArrays(RECUR_STATE))
      states.push_back(nb::str(array->name));
  }
  const std::vector<recur_argument> &arguments = call.getArguments();
  Slots slots;
  if (arguments.size() > Slots::most || givenArrays.size() != given.size())
    return nb::none();
  auto add = [&](nb::handle list, size_t count) {
    bool isList = nb::isinstance<nb::list>(list);
    for (size_t i = 0; i < count; ++i) {
      nb::object array = isList && i < nb::len(list) ? nb::object(list[i]) : nb::none();
      slots.kept.push_back(array);
      slots.add(array.is_none() ? nullptr : array.ptr());
    }
  };
  slots.makesFinals = finals.is(nb::bool_(true));
  slots.givesFinals = nb::isinstance<nb::list>(finals);
  add(givenArrays, given.size());
  add(initials, states.size());
  add(wanted, outputs.size());
  add(finals, states.size());
  Key key;
  Offsets offsets;
  Indices indices;
  auto known = std::make_shared<KnownCall>();
  nb::object budget = training.is_none() ? nb::none() : nb::object(training[0]);
  if (slots.count != arguments.size() || !offsets.read(offsetsObject.ptr()) || !offsets.addTo(key) ||
      !addIndices(key, indices, indicesObject.ptr()) ||
      !makeKey(key, slots, call.areStatesTransposed(), !training.is_none(), budget.ptr(), known->isTraining) ||
      known->isTraining == training.is_none())
    return nb::none();
  if (std::shared_ptr<KnownCall> before = find(key))
    return known->isTraining ? nb::cast(Training(std::move(before))) : nb::none();
  size_t firstOutput = given.size() + states.size(), firstFinal = firstOutput + outputs.size();
  std::vector<Made> made;
  for (size_t i = 0; i < slots.count; ++i) {
    if (slots.objects[i]) {
      if (slots.data[i] != arguments[i].data)
        return nb::none(); // the call was made on a copy
      continue;
    }
    if (!arguments[i].data)
      continue;
    bool isFinal = i >= firstFinal;
    if (i < firstOutput || (isFinal && !slots.makesFinals))
      return nb::none();
    made.push_back(Made::like(i, isFinal ? finalStates[i - firstFinal] : results[i - firstOutput]));
  }
  if (key.gpu >= 0) {
    const ExchangeTable *table = findExchangeTable(Py_TYPE(slots.objects[0]));
    if (!table->getStream || getTorch()->getDevice.is_none())
      return nb::none();
  }
  known->forward.learn(key, call, kernelObject, results[0], workspaceBytes);
  known->forward.made = std::move(made);
  if (known->isTraining) {
    nb::list left = training[1], places = training[2];
    for (size_t i = 0; i < left.size(); ++i)
      known->left.push_back(Made::like(nb::cast<size_t>(places[i]), left[i]));
    known->keptInterval = nb::cast<int64_t>(training[3]);
    known->facts = training[4];
    known->outputs = outputs.size();
    known->states = states.size();
    known->makesFinals = slots.makesFinals;
  }
  plans.insert(plans.begin(), known);
  if (plans.size() > mostPlans)
    plans.pop_back();
  return known->isTraining ? nb::cast(Training(std::move(known))) : nb::none();
}
