#include "Repeats.h"
#include "Errors.h"
#include "Team.h"
#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace nb = nanobind;
using namespace recur::python;

static constexpr int32_t onCPU = nb::device::cpu::value, onCUDA = nb::device::cuda::value;
static constexpr size_t mostPlans = 32;

/// Leaked, for modules are gone before what lies in static memory.
static Torch *torch;

void Repeats::setTorch(Torch found) { torch = new Torch(std::move(found)); }

/// Whether the calling thread has a context of CUDA's; a new thread has none until PyTorch needs one there.
bool recur::python::hasCUDAContext() {
  static auto getCurrent = [] {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<int (*)(void **)>(library ? dlsym(library, "cuCtxGetCurrent") : nullptr);
  }();
  void *context = nullptr;
  return getCurrent && getCurrent(&context) == 0 && context;
}

static nb::object own(PyObject *object) {
  if (!object)
    throw nb::python_error();
  return nb::steal(object);
}

namespace {
/// An array that a call makes. PyTorch has a function that asks nothing on the way, which takes half of the time.
class Made {
public:
  /// `arrayShape` may be of a type of PyTorch's, which not every function takes for a tuple.
  Made(size_t slot, nb::object arrayShape, nb::object elements, nb::object place)
      : slot(slot), shape(nb::tuple(nb::list(arrayShape))), dtype(std::move(elements)), device(std::move(place)) {
    std::vector<int64_t> dense(nb::len(shape), 1);
    for (size_t side = dense.size(); side-- > 1;)
      dense[side - 1] = dense[side] * nb::cast<int64_t>(shape[side]);
    nb::list steps;
    for (int64_t step : dense)
      steps.append(step);
    strides = nb::tuple(steps);
    direct = device.attr("type").equal(nb::str("cuda")) ? torch->emptyOnGPU : torch->emptyOnCPU;
    if (!direct.is_none() && !isMadeDirectly())
      direct = nb::none();
  }

  nb::object make() const {
    static PyObject *names = PyTuple_Pack(2, PyUnicode_InternFromString("dtype"), PyUnicode_InternFromString("device"));
    PyObject *dense[] = {shape.ptr(), strides.ptr(), dtype.ptr()};
    if (!direct.is_none())
      return own(PyObject_Vectorcall(direct.ptr(), dense, 3, nullptr));
    PyObject *arguments[] = {shape.ptr(), dtype.ptr(), device.ptr()};
    return own(PyObject_Vectorcall(torch->empty.ptr(), arguments, 1, names));
  }

  size_t slot;

private:
  /// Whether the function is as it was when this was written: it is none that PyTorch promises.
  bool isMadeDirectly() const {
    try {
      nb::object array = make();
      return nb::object(array.attr("shape")).equal(shape) && array.attr("dtype").is(dtype) &&
             array.attr("device").equal(device) && nb::cast<bool>(array.attr("is_contiguous")());
    } catch (nb::python_error &) {
      return false;
    }
  }

  nb::object shape, strides, dtype, device, direct;
};
} // namespace

struct Repeats::Plan {
  std::vector<int64_t> key;
  nb::object keptKernel;
  const Kernel *kernel;
  recur_call call;
  std::vector<recur_argument> arguments; // without the data
  std::vector<Made> made;
  std::unique_ptr<Made> workspace; // null where none is needed from PyTorch
  int32_t gpu;
  nb::object gpuNumber;
};

Repeats::Repeats(nb::list givenNames) {
  for (nb::handle name : givenNames)
    given.push_back(nb::borrow(name));
}

//===----------------------------------------------------------------------===//
// What is asked of tensors and of PyTorch
//===----------------------------------------------------------------------===//

/// Whether a function says no: None, zero or False. One that fails says yes, and the call goes the long way.
static bool saysNo(PyObject *function, PyObject *argument = nullptr) {
  PyObject *result = PyObject_Vectorcall(function, &argument, argument ? 1 : 0, nullptr);
  int truth = result ? PyObject_IsTrue(result) : -1;
  Py_XDECREF(result);
  if (truth < 0)
    PyErr_Clear();
  return truth == 0;
}

static int64_t getNumber(PyObject *object, PyObject *name) {
  PyObject *value = PyObject_GetAttr(object, name);
  int64_t number = value ? PyLong_AsLongLong(value) : 1;
  Py_XDECREF(value);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 1;
  }
  return number;
}

/// Whether nobody looks on that would have to see an operator.
static bool isQuiet() {
  static PyObject *isProfiling = PyUnicode_InternFromString("_is_profiler_enabled");
  static PyObject *level = PyUnicode_InternFromString("_current_level");
  for (nb::handle mode : torch->modes)
    if (!saysNo(mode.ptr()))
      return false;
  return getNumber(torch->profiler.ptr(), isProfiling) == 0 && getNumber(torch->forwardAD.ptr(), level) < 0;
}

static bool describe(PyObject *object, nb::dlpack::dltensor &tensor) {
  const ExchangeTable *table = findExchangeTable(Py_TYPE(object));
  if (table && table->describe(object, &tensor) == 0)
    return true;
  PyErr_Clear();
  return false;
}

static void *getData(const nb::dlpack::dltensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
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

bool Repeats::readOffsets(Offsets &offsets, PyObject *object) {
  if (object == Py_None)
    return true;
  if (!PyTuple_CheckExact(object)) {
    offsets.objects[offsets.count++] = object;
    return true;
  }
  if (PyTuple_Size(object) != 2)
    return false;
  for (Py_ssize_t i = 0; i < 2; ++i)
    offsets.objects[offsets.count++] = PyTuple_GetItem(object, i);
  return true;
}

/// False where one is no array of offsets.
bool Repeats::addOffsets(Key &key, Offsets &offsets) {
  key.add(offsets.count);
  for (int i = 0; i < offsets.count; ++i) {
    nb::dlpack::dltensor &tensor = offsets.tensors[i];
    if (Py_TYPE(offsets.objects[i]) != reinterpret_cast<PyTypeObject *>(torch->tensor.ptr()) ||
        !describe(offsets.objects[i], tensor) || tensor.ndim != 1 || tensor.shape[0] < 1 || !tensor.strides)
      return false;
    Type type = getTypeOfDLPack(tensor.dtype);
    if (type != Type::I64 && type != Type::I32)
      return false;
    for (int64_t word : {int64_t(type), int64_t(tensor.device.device_type), int64_t(tensor.device.device_id),
                         tensor.shape[0], tensor.strides[0]})
      key.add(word);
  }
  return true;
}

/// False where one lies otherwise than kernels read it: the call then goes the long way each time.
bool Repeats::addIndices(Key &key, Indices &indices, PyObject *object) {
  key.add(object != Py_None);
  if (object == Py_None)
    return true;
  if (!PyTuple_Check(object) || PyTuple_Size(object) != Indices::most + 1)
    return false;
  PyObject *interval = PyTuple_GetItem(object, Indices::most);
  if (!PyLong_Check(interval))
    return false;
  key.add(PyLong_AsLongLong(interval)); // which a call like this one has been found to be fit for
  for (int i = 0; i < Indices::most; ++i) {
    PyObject *one = PyTuple_GetItem(object, i);
    nb::dlpack::dltensor tensor = {};
    key.add(one != Py_None);
    if (one == Py_None)
      continue;
    if (Py_TYPE(one) != reinterpret_cast<PyTypeObject *>(torch->tensor.ptr()) || !describe(one, tensor) ||
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

static bool isOnHost(const nb::dlpack::dltensor &tensor) { return tensor.device.device_type == onCPU; }

/// Whether the runtime takes offsets as they lie.
static bool areDense(const nb::dlpack::dltensor &tensor) {
  return getTypeOfDLPack(tensor.dtype) == Type::I64 && (tensor.strides[0] == 1 || tensor.shape[0] == 1);
}

/// The offsets as int64; `copy` has them where they are not.
static const int64_t *readHostOffsets(const nb::dlpack::dltensor &tensor, std::vector<int64_t> &copy) {
  const void *data = getData(tensor);
  if (areDense(tensor))
    return static_cast<const int64_t *>(data);
  bool isWide = getTypeOfDLPack(tensor.dtype) == Type::I64;
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    int64_t at = i * tensor.strides[0];
    copy.push_back(isWide ? static_cast<const int64_t *>(data)[at] : static_cast<const int32_t *>(data)[at]);
  }
  return copy.data();
}

/// False where a tensor is none that a call could be repeated on: of a class of its own, with a gradient to be, negated
/// lazily, not aligned.
bool Repeats::makeKey(Key &key, Slots &slots, bool transposed, int32_t &gpu) const {
  static PyObject *requiresGrad = PyUnicode_InternFromString("requires_grad");
  bool hasGradients = !saysNo(torch->isGradEnabled.ptr());
  auto *plain = reinterpret_cast<PyTypeObject *>(torch->tensor.ptr());
  auto *parameter = reinterpret_cast<PyTypeObject *>(torch->parameter.ptr());
  key.add(int64_t(transposed) | int64_t(slots.makesFinals) << 1 | int64_t(slots.givesFinals) << 2);
  gpu = -1;
  for (size_t i = 0; i < slots.count; ++i) {
    PyObject *object = slots.objects[i];
    nb::dlpack::dltensor tensor = {};
    slots.data[i] = nullptr;
    if (!object) {
      key.add(-1);
      continue;
    }
    if ((Py_TYPE(object) != plain && Py_TYPE(object) != parameter) || !describe(object, tensor))
      return false;
    if ((hasGradients && getNumber(object, requiresGrad) != 0) || !saysNo(torch->isNegative.ptr(), object))
      return false;
    slots.data[i] = getData(tensor);
    uint32_t bytes = tensor.dtype.bits / 8u;
    int32_t device = tensor.device.device_type;
    if ((device != onCPU && device != onCUDA) || !bytes || uintptr_t(slots.data[i]) % bytes || !tensor.strides)
      return false;
    if (device == onCUDA)
      gpu = tensor.device.device_id;
    key.add(int64_t(tensor.dtype.code) | int64_t(tensor.dtype.bits) << 8 | int64_t(tensor.dtype.lanes) << 16 |
            int64_t(device) << 32 | int64_t(tensor.ndim) << 40);
    key.add(tensor.device.device_id);
    for (int32_t side = 0; side < tensor.ndim; ++side) {
      key.add(tensor.shape[side]);
      if (!key.add(tensor.strides[side]))
        return false;
    }
  }
  return key.count < Key::most; // where it is full, something may be missing
}

std::shared_ptr<Repeats::Plan> Repeats::find(const Key &key) {
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::vector<int64_t> &known = plans[i]->key;
    if (known.size() != key.count || std::memcmp(known.data(), key.words, key.count * sizeof(int64_t)) != 0)
      continue;
    std::rotate(plans.begin(), plans.begin() + std::ptrdiff_t(i), plans.begin() + std::ptrdiff_t(i) + 1);
    return plans.front();
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

nb::object Repeats::arrange(const Slots &slots, const Plan &plan, nb::object *made) const {
  size_t first = given.size() + states.size(), last = first + outputs.size();
  auto getResult = [&](size_t slot) {
    for (size_t i = 0; i < plan.made.size(); ++i)
      if (plan.made[i].slot == slot)
        return made[i];
    return slots.objects[slot] ? nb::borrow(slots.objects[slot]) : nb::none();
  };
  bool hasStates = slots.makesFinals || slots.givesFinals;
  if (!hasStates && outputs.size() == 1)
    return getResult(first);
  nb::object tuple = own(PyTuple_New(Py_ssize_t(outputs.size() + hasStates)));
  for (size_t i = 0; i < outputs.size(); ++i)
    PyTuple_SetItem(tuple.ptr(), Py_ssize_t(i), getResult(first + i).release().ptr());
  if (!hasStates)
    return tuple;
  nb::object finals;
  if (states.size() == 1) {
    finals = getResult(last);
  } else {
    nb::dict byName;
    for (size_t i = 0; i < states.size(); ++i)
      byName[states[i]] = getResult(last + i);
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
    own(PyObject_CallFunctionObjArgs(torch->incrementVersion.ptr(), written.ptr(), nullptr));
}

nb::object Repeats::call(nb::tuple arrays, nb::dict named, nb::object initial, nb::object final, nb::object out,
                         nb::object offsetsObject, bool transposed, nb::object indicesObject) {
  nb::object unknown = nb::borrow(Py_NotImplemented);
  Slots slots;
  Offsets offsets;
  Indices indices;
  Key key;
  int32_t gpu;
  if (plans.empty() || !readSlots(slots, arrays.ptr(), named.ptr(), initial.ptr(), final.ptr(), out.ptr()) ||
      !readOffsets(offsets, offsetsObject.ptr()) || !isQuiet() || !addOffsets(key, offsets) ||
      !addIndices(key, indices, indicesObject.ptr()) || !makeKey(key, slots, transposed, gpu))
    return unknown;
  const std::shared_ptr<Plan> plan = find(key);
  if (!plan)
    return unknown;
  recur_call call = plan->call;
  call.state_indices = indices.data[0];
  call.final_indices = indices.data[1];
  call.token_indices = indices.data[2];
  call.accepted = indices.data[3];
  call.interval_indices = indices.data[4];
  call.positions = indices.data[5];
  if (gpu >= 0) {
    nb::object current = own(PyObject_Vectorcall(torch->getDevice.ptr(), nullptr, 0, nullptr));
    if (PyLong_AsLong(current.ptr()) != gpu || !hasCUDAContext())
      return unknown;
    if (findExchangeTable(Py_TYPE(slots.objects[0]))->getStream(onCUDA, gpu, &call.stream))
      throw nb::python_error();
  }
  recur_argument arguments[Slots::most];
  for (size_t i = 0; i < slots.count; ++i)
    arguments[i] = {slots.data[i], plan->arguments[i].strides};
  nb::object made[Slots::most / 2], workspace, placedOffsets;
  nb::dlpack::dltensor tensor = {};
  std::vector<int64_t> hostOffsets;
  if (offsets.count) {
    // The host's are the first where there are two.
    const nb::dlpack::dltensor &first = offsets.tensors[0], &last = offsets.tensors[offsets.count - 1];
    if (isOnHost(first))
      call.sequence_offsets = readHostOffsets(first, hostOffsets);
    if (gpu >= 0 && !isOnHost(last) && areDense(last)) {
      call.device_offsets = static_cast<const int64_t *>(getData(last));
    } else if (gpu >= 0) {
      PyObject *place[] = {offsets.objects[offsets.count - 1], plan->gpuNumber.ptr()};
      placedOffsets = own(PyObject_Vectorcall(torch->placeOffsets.ptr(), place, 2, nullptr));
      if (!describe(placedOffsets.ptr(), tensor))
        return unknown;
      call.device_offsets = static_cast<const int64_t *>(getData(tensor));
    }
  }
  for (size_t i = 0; i < plan->made.size(); ++i) {
    made[i] = plan->made[i].make();
    if (!describe(made[i].ptr(), tensor))
      return unknown;
    arguments[plan->made[i].slot].data = getData(tensor);
  }
  if (plan->workspace) {
    workspace = plan->workspace->make();
    if (!describe(workspace.ptr(), tensor))
      return unknown;
    call.workspace = getData(tensor);
  }
  call.arguments = arguments;
  if (gpu < 0)
    joinTeam(call);
  std::string problem;
  {
    nb::gil_scoped_release released;
    problem = gpu >= 0 ? plan->kernel->performOnGPU(call, /*backward=*/false)
                       : plan->kernel->perform(call, /*backward=*/false);
  }
  if (!problem.empty())
    raiseArgument(problem);
  noteWritten(slots);
  if (indices.count)
    slots.makesFinals = slots.givesFinals = false; // who has the pool has them
  return arrange(slots, *plan, made);
}

void Repeats::learn(const Call &call, nb::object kernelObject, nb::list givenArrays, nb::object initials,
                    nb::object wanted, nb::object finals, nb::object offsetsObject, nb::list results,
                    nb::list finalStates, int64_t workspaceBytes, nb::object indicesObject) {
  const Kernel &kernel = nb::cast<const Kernel &>(kernelObject);
  if (!torch || !call.isRepeatable())
    return;
  if (outputs.empty()) {
    for (const recur_array_info *array : kernel.getArrays(RECUR_OUTPUT))
      outputs.push_back(nb::str(array->name));
    for (const recur_array_info *array : kernel.getArrays(RECUR_STATE))
      states.push_back(nb::str(array->name));
  }
  const std::vector<recur_argument> &arguments = call.getArguments();
  Slots slots;
  if (arguments.size() > Slots::most || givenArrays.size() != given.size())
    return;
  auto add = [&](nb::handle list, size_t count) {
    bool isList = nb::isinstance<nb::list>(list);
    for (size_t i = 0; i < count; ++i) {
      nb::object array = isList && i < nb::len(list) ? nb::object(list[i]) : nb::none();
      slots.kept.push_back(array);
      slots.objects[slots.count++] = array.is_none() ? nullptr : array.ptr();
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
  auto plan = std::make_shared<Plan>();
  if (slots.count != arguments.size() || !readOffsets(offsets, offsetsObject.ptr()) || !addOffsets(key, offsets) ||
      !addIndices(key, indices, indicesObject.ptr()) || !makeKey(key, slots, call.areStatesTransposed(), plan->gpu) ||
      find(key))
    return;
  size_t firstOutput = given.size() + states.size(), firstFinal = firstOutput + outputs.size();
  for (size_t i = 0; i < slots.count; ++i) {
    if (slots.objects[i]) {
      if (slots.data[i] != arguments[i].data)
        return; // the call was made on a copy
      continue;
    }
    if (!arguments[i].data)
      continue;
    bool isFinal = i >= firstFinal;
    if (i < firstOutput || (isFinal && !slots.makesFinals))
      return;
    nb::handle array = isFinal ? finalStates[i - firstFinal] : results[i - firstOutput];
    plan->made.emplace_back(i, array.attr("shape"), array.attr("dtype"), array.attr("device"));
  }
  if (plan->gpu >= 0) {
    const ExchangeTable *table = findExchangeTable(Py_TYPE(slots.objects[0]));
    if (!table->getStream || torch->getDevice.is_none())
      return;
  }
  plan->key.assign(key.words, key.words + key.count);
  plan->keptKernel = kernelObject;
  plan->kernel = &kernel;
  plan->arguments = arguments;
  plan->call = call.makeCall(RECUR_PLAN_AUTO);
  plan->call.argument_count = int64_t(arguments.size());
  plan->call.sequence_offsets = plan->call.device_offsets = nullptr; // these are the next call's own
  plan->call.state_indices = plan->call.final_indices = nullptr;     // and so are these
  plan->call.token_indices = plan->call.accepted = nullptr;
  plan->call.interval_indices = plan->call.positions = nullptr;
  plan->gpuNumber = nb::int_(plan->gpu);
  if (workspaceBytes) {
    plan->workspace =
        std::make_unique<Made>(0, nb::make_tuple(workspaceBytes), torch->bytes, results[0].attr("device"));
    plan->call.workspace_bytes = workspaceBytes;
  }
  plans.insert(plans.begin(), std::move(plan));
  if (plans.size() > mostPlans)
    plans.pop_back();
}
