#include "Repeated.h"
#include "Errors.h"
#include "Team.h"
#include <cstring>
#include <dlfcn.h>

namespace nb = nanobind;
using namespace recur::python;

static constexpr int32_t onCPU = nb::device::cpu::value, onCUDA = nb::device::cuda::value;

/// Leaked, for modules are gone before what lies in static memory.
static Torch *torch;

const Torch *recur::python::getTorch() { return torch; }

void recur::python::setTorch(Torch found) { torch = new Torch(std::move(found)); }

/// A new thread has none until PyTorch needs one there.
bool recur::python::hasCUDAContext() {
  static auto getCurrent = [] {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<int (*)(void **)>(library ? dlsym(library, "cuCtxGetCurrent") : nullptr);
  }();
  void *context = nullptr;
  return getCurrent && getCurrent(&context) == 0 && context;
}

nb::object recur::python::own(PyObject *object) {
  if (!object)
    throw nb::python_error();
  return nb::steal(object);
}

//===----------------------------------------------------------------------===//
// What is asked of tensors and of PyTorch
//===----------------------------------------------------------------------===//

bool recur::python::saysNo(PyObject *function, PyObject *argument) {
  PyObject *result = PyObject_Vectorcall(function, &argument, argument ? 1 : 0, nullptr);
  int truth = result ? PyObject_IsTrue(result) : -1;
  Py_XDECREF(result);
  if (truth < 0)
    PyErr_Clear();
  return truth == 0;
}

int64_t recur::python::getNumber(PyObject *object, PyObject *name) {
  PyObject *value = PyObject_GetAttr(object, name);
  int64_t number = value ? PyLong_AsLongLong(value) : 1;
  Py_XDECREF(value);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 1;
  }
  return number;
}

bool recur::python::describe(PyObject *object, nb::dlpack::dltensor &tensor) {
  const ExchangeTable *table = findExchangeTable(Py_TYPE(object));
  if (table && table->describe(object, &tensor) == 0)
    return true;
  PyErr_Clear();
  return false;
}

//===----------------------------------------------------------------------===//
// What a call makes
//===----------------------------------------------------------------------===//

Made::Made(size_t slot, nb::object arrayShape, nb::object elements, nb::object place)
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

Made Made::like(size_t slot, nb::handle array) {
  return {slot, array.attr("shape"), array.attr("dtype"), array.attr("device")};
}

nb::object Made::make() const {
  static PyObject *names = PyTuple_Pack(2, PyUnicode_InternFromString("dtype"), PyUnicode_InternFromString("device"));
  PyObject *dense[] = {shape.ptr(), strides.ptr(), dtype.ptr()};
  if (!direct.is_none())
    return own(PyObject_Vectorcall(direct.ptr(), dense, 3, nullptr));
  PyObject *arguments[] = {shape.ptr(), dtype.ptr(), device.ptr()};
  return own(PyObject_Vectorcall(torch->empty.ptr(), arguments, 1, names));
}

/// Whether the function is as it was when this was written: it is none that PyTorch promises.
bool Made::isMadeDirectly() const {
  try {
    nb::object array = make();
    return nb::object(array.attr("shape")).equal(shape) && array.attr("dtype").is(dtype) &&
           array.attr("device").equal(device) && nb::cast<bool>(array.attr("is_contiguous")());
  } catch (nb::python_error &) {
    return false;
  }
}

//===----------------------------------------------------------------------===//
// What a call is known by
//===----------------------------------------------------------------------===//

bool Key::addTensor(PyObject *object, void *&data, int64_t mark) {
  nb::dlpack::dltensor tensor = {};
  PyTypeObject *type = Py_TYPE(object);
  if ((type != reinterpret_cast<PyTypeObject *>(torch->tensor.ptr()) &&
       type != reinterpret_cast<PyTypeObject *>(torch->parameter.ptr())) ||
      !describe(object, tensor) || !saysNo(torch->isNegative.ptr(), object))
    return false;
  data = getData(tensor);
  uint32_t bytes = tensor.dtype.bits / 8u;
  int32_t device = tensor.device.device_type;
  if ((device != onCPU && device != onCUDA) || !bytes || uintptr_t(data) % bytes || !tensor.strides)
    return false;
  if (device == onCUDA)
    gpu = tensor.device.device_id;
  add(int64_t(tensor.dtype.code) | int64_t(tensor.dtype.bits) << 8 | int64_t(tensor.dtype.lanes) << 16 |
      int64_t(device) << 32 | int64_t(tensor.ndim) << 40 | mark << 48);
  add(tensor.device.device_id);
  for (int32_t side = 0; side < tensor.ndim; ++side) {
    add(tensor.shape[side]);
    add(tensor.strides[side]);
  }
  return !isFull();
}

bool Offsets::read(PyObject *object) {
  if (object == Py_None)
    return true;
  if (!PyTuple_CheckExact(object)) {
    objects[count++] = object;
    return true;
  }
  if (PyTuple_Size(object) != 2)
    return false;
  for (Py_ssize_t i = 0; i < 2; ++i)
    objects[count++] = PyTuple_GetItem(object, i);
  return true;
}

bool Offsets::addTo(Key &key) {
  key.add(count);
  for (int i = 0; i < count; ++i) {
    nb::dlpack::dltensor &tensor = tensors[i];
    if (Py_TYPE(objects[i]) != reinterpret_cast<PyTypeObject *>(torch->tensor.ptr()) || !describe(objects[i], tensor) ||
        tensor.ndim != 1 || tensor.shape[0] < 1 || !tensor.strides)
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

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Plan::learn(const Key &knownBy, const Call &of, nb::object kernelObject, nb::handle like, int64_t workspaceBytes) {
  key.assign(knownBy.words, knownBy.words + knownBy.count);
  gpu = knownBy.gpu;
  keptKernel = kernelObject;
  kernel = &nb::cast<const Kernel &>(kernelObject);
  arguments = of.getArguments();
  call = of.makeCall(RECUR_PLAN_AUTO);
  call.argument_count = int64_t(arguments.size());
  call.sequence_offsets = call.device_offsets = nullptr; // these are the next call's own
  call.state_indices = call.final_indices = nullptr;     // and so are these
  call.token_indices = call.accepted = nullptr;
  call.interval_indices = call.positions = call.parents = nullptr;
  gpuNumber = nb::int_(gpu);
  if (workspaceBytes) {
    workspace = std::make_unique<Made>(0, nb::make_tuple(workspaceBytes), torch->bytes, like.attr("device"));
    call.workspace_bytes = workspaceBytes;
  }
}

bool Plan::isKnownBy(const Key &other) const {
  return key.size() == other.count && std::memcmp(key.data(), other.words, other.count * sizeof(int64_t)) == 0;
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

bool Plan::isHere() const {
  if (gpu < 0)
    return true;
  nb::object current = own(PyObject_Vectorcall(torch->getDevice.ptr(), nullptr, 0, nullptr));
  return PyLong_AsLong(current.ptr()) == gpu && hasCUDAContext();
}

bool Plan::perform(recur_call call, const Slots &slots, const Offsets &offsets, nb::object *results,
                   bool backward) const {
  if (gpu >= 0) {
    auto *tensors = reinterpret_cast<PyTypeObject *>(torch->tensor.ptr());
    if (findExchangeTable(tensors)->getStream(onCUDA, gpu, &call.stream))
      throw nb::python_error();
  }
  recur_argument filled[Slots::most];
  for (size_t i = 0; i < arguments.size(); ++i)
    filled[i] = {i < slots.count ? slots.data[i] : nullptr, arguments[i].strides};
  nb::object space, placedOffsets;
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
      PyObject *place[] = {offsets.objects[offsets.count - 1], gpuNumber.ptr()};
      placedOffsets = own(PyObject_Vectorcall(torch->placeOffsets.ptr(), place, 2, nullptr));
      if (!describe(placedOffsets.ptr(), tensor))
        return false;
      call.device_offsets = static_cast<const int64_t *>(getData(tensor));
    }
  }
  for (size_t i = 0; i < made.size(); ++i) {
    results[i] = made[i].make();
    if (!describe(results[i].ptr(), tensor))
      return false;
    filled[made[i].slot].data = getData(tensor);
  }
  if (workspace) {
    space = workspace->make();
    if (!describe(space.ptr(), tensor))
      return false;
    call.workspace = getData(tensor);
  }
  call.arguments = filled;
  if (gpu < 0)
    joinTeam(call);
  std::string problem;
  {
    nb::gil_scoped_release released;
    problem = gpu >= 0 ? kernel->performOnGPU(call, backward) : kernel->perform(call, backward);
  }
  if (!problem.empty())
    raiseArgument(problem);
  return true;
}
