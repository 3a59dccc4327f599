#include "View.h"
#include "Errors.h"
#include "Exchange.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace nb = nanobind;
using namespace recur::python;

static constexpr struct {
  Type type;
  const char *name;
  int64_t bytes;
} types[] = {{Type::F32, "float32", 4},
             {Type::BF16, "bfloat16", 2},
             {Type::F16, "float16", 2},
             {Type::I64, "int64", 8},
             {Type::I32, "int32", 4}};

const char *recur::python::getTypeName(Type type) {
  for (const auto &known : types)
    if (known.type == type)
      return known.name;
  return "another type";
}

Type recur::python::getTypeOfName(const std::string &name) {
  for (const auto &known : types)
    if (known.name == name)
      return known.type;
  return Type::Other;
}

/// A format of Python's struct module, as a buffer has it.
static Type getTypeOfFormat(const char *format, Py_ssize_t bytes) {
  if (format && (*format == '=' || *format == '<' || *format == '^')) // as NumPy marks what is not aligned
    ++format;
  if (!format || !format[0] || format[1])
    return Type::Other;
  switch (format[0]) {
  case 'f':
    return Type::F32;
  case 'e':
    return Type::F16;
  case 'l':
  case 'q':
    return bytes == 8 ? Type::I64 : Type::Other;
  case 'i':
    return bytes == 4 ? Type::I32 : Type::Other;
  default:
    return Type::Other;
  }
}

Type recur::python::getTypeOfDLPack(nb::dlpack::dtype type) {
  if (type.lanes != 1)
    return Type::Other;
  switch (nb::dlpack::dtype_code(type.code)) {
  case nb::dlpack::dtype_code::Float:
    return type.bits == 32 ? Type::F32 : type.bits == 16 ? Type::F16 : Type::Other;
  case nb::dlpack::dtype_code::Bfloat:
    return type.bits == 16 ? Type::BF16 : Type::Other;
  case nb::dlpack::dtype_code::Int:
    return type.bits == 64 ? Type::I64 : type.bits == 32 ? Type::I32 : Type::Other;
  default:
    return Type::Other;
  }
}

bool View::closeBuffer() {
  PyBuffer_Release(&buffer);
  buffer = {};
  return false;
}

bool View::openBuffer(nb::handle object) {
  if (!PyObject_CheckBuffer(object.ptr()))
    return false;
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT)) {
    PyErr_Clear();
    return false;
  }
  data = buffer.buf;
  type = getTypeOfFormat(buffer.format, buffer.itemsize);
  sides = buffer.ndim;
  if (sides > mostSides)
    return true; // of no argument's rank, as is said later
  isReadOnly = buffer.readonly;
  isAligned = buffer.itemsize == 0 || uintptr_t(data) % uintptr_t(buffer.itemsize) == 0;
  for (int side = 0; side < sides; ++side) {
    shape[side] = buffer.shape[side];
    if (buffer.itemsize) {
      if (buffer.shape[side] > 1 && buffer.strides[side] % buffer.itemsize)
        return closeBuffer(); // a field of a record: its elements are no array of elements
      strides[side] = buffer.strides[side] / buffer.itemsize;
    }
  }
  return true;
}

bool View::openDLPack(nb::handle object) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array, /*convert=*/false)) {
    PyErr_Clear();
    return false;
  }
  imported = std::move(array);
  isOnCPU = imported.device_type() == nb::device::cpu::value;
  data = const_cast<void *>(static_cast<const void *>(imported.data()));
  type = getTypeOfDLPack(imported.dtype());
  sides = int(imported.ndim());
  if (sides > mostSides)
    return true;
  for (int side = 0; side < sides; ++side) {
    shape[side] = int64_t(imported.shape(side));
    strides[side] = imported.stride(side);
  }
  checkAlignment();
  return true;
}

void View::checkAlignment() {
  for (const auto &known : types)
    if (known.type == type)
      isAligned = uintptr_t(data) % uintptr_t(known.bytes) == 0;
}

bool View::openByTable(nb::handle object) {
  const ExchangeTable *table = findExchangeTable(Py_TYPE(object.ptr()));
  nb::dlpack::dltensor tensor = {};
  if (!table)
    return false;
  if (table->describe(object.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  isOnCPU = tensor.device.device_type == nb::device::cpu::value;
  gpu = tensor.device.device_type == nb::device::cuda::value ? tensor.device.device_id : -1;
  data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  type = getTypeOfDLPack(tensor.dtype);
  sides = tensor.ndim;
  int64_t dense = 1;
  for (int side = sides; side-- > 0 && sides <= mostSides; dense *= shape[side]) {
    shape[side] = tensor.shape[side];
    strides[side] = tensor.strides ? tensor.strides[side] : dense;
  }
  checkAlignment();
  return true;
}

bool View::open(nb::handle object) {
  if (nb::isinstance<View>(object)) {
    takeOver(nb::cast<View &>(object));
    owner = nb::borrow(object);
    return true;
  }
  if (openBuffer(object) || openByTable(object))
    return true;
  // NumPy shows no bfloat16, which is a type of a package's beside it; its bits it does.
  nb::object elements = nb::getattr(object, "dtype", nb::none());
  nb::object name = nb::getattr(elements, "name", nb::none());
  if (nb::isinstance<nb::str>(name) && nb::hasattr(object, "view") &&
      !std::strcmp(nb::cast<const char *>(name), "bfloat16") && nb::hasattr(object, "__array_interface__") &&
      openBuffer(object.attr("view")("uint16"))) {
    type = Type::BF16;
    return true;
  }
  return nb::hasattr(object, "__dlpack__") && openDLPack(object);
}

View *View::fromPointer(uintptr_t data, const std::string &type, nb::sequence shape, nb::sequence strides,
                        nb::object owner, int32_t gpu) {
  auto view = std::make_unique<View>();
  view->isOnCPU = gpu < 0;
  view->gpu = gpu;
  view->data = reinterpret_cast<void *>(data);
  view->typeName = type;
  view->type = getTypeOfName(type);
  view->checkAlignment();
  view->sides = int(nb::len(shape));
  for (int side = 0; side < view->sides && side < mostSides; ++side) {
    view->shape[side] = nb::cast<int64_t>(shape[side]);
    view->strides[side] = nb::cast<int64_t>(strides[side]);
  }
  view->owner = std::move(owner);
  return view.release();
}

void View::takeOver(View &other) {
  data = other.data;
  type = other.type;
  sides = other.sides;
  std::memcpy(shape, other.shape, sizeof shape);
  std::memcpy(strides, other.strides, sizeof strides);
  isReadOnly = other.isReadOnly;
  isOnCPU = other.isOnCPU;
  gpu = other.gpu;
  isAligned = other.isAligned;
}

View::View(View &&other) noexcept {
  takeOver(other);
  buffer = other.buffer;
  other.buffer = {};
  imported = std::move(other.imported);
  owner = std::move(other.owner);
  copied = std::move(other.copied);
}

/// Calls `copy(from, to)` for each element, both counted in elements, `to` as in a dense array. Where neighbours in
/// memory lie along another side than the last, it goes by blocks of both, so that lines of memory are used as a whole.
template <typename Copy> static void copyAll(const View &view, Copy copy) {
  int last = view.sides - 1, near = last;
  int64_t dense[View::mostSides] = {}, at[View::mostSides] = {}, count = 1;
  for (int side = last; side >= 0; --side) {
    dense[side] = count;
    count *= view.shape[side];
  }
  auto distance = [&](int side) {
    return view.shape[side] > 1 ? std::abs(view.strides[side]) : std::numeric_limits<int64_t>::max();
  };
  for (int side = 0; side < last; ++side)
    if (distance(side) < distance(near))
      near = side;
  if (!count)
    return;
  int64_t rows = near == last ? 1 : view.shape[near];
  constexpr int64_t block = 16;
  for (bool more = true; more;) {
    int64_t from = 0, to = 0;
    for (int side = 0; side < last; ++side) {
      from += at[side] * view.strides[side];
      to += at[side] * dense[side];
    }
    for (int64_t first = 0; first < rows; first += block)
      for (int64_t column = 0; column < view.shape[last]; ++column)
        for (int64_t row = first; row < std::min(first + block, rows); ++row)
          copy(from + column * view.strides[last] + (near == last ? 0 : row * view.strides[near]),
               to + column + (near == last ? 0 : row * dense[near]));
    more = false;
    for (int side = last; !more && side-- > 0;) {
      if (side == near)
        continue;
      more = ++at[side] < view.shape[side];
      if (!more)
        at[side] = 0;
    }
  }
}

void View::makeDense() {
  int64_t bytes = 1, count = 1;
  for (const auto &known : types)
    bytes = known.type == type ? known.bytes : bytes;
  for (int side = 0; side < sides; ++side)
    count *= shape[side];
  auto memory = std::make_unique<char[]>(size_t(count * bytes + 64));
  char *base = memory.get() + (64 - uintptr_t(memory.get()) % 64);
  const char *source = static_cast<const char *>(data);
  auto copyAs = [&](auto element) { // it may not be aligned
    copyAll(*this, [=](int64_t from, int64_t at) {
      std::memcpy(base + at * int64_t(sizeof element), source + from * int64_t(sizeof element), sizeof element);
    });
  };
  if (bytes == 2)
    copyAs(uint16_t());
  else if (bytes == 4)
    copyAs(uint32_t());
  else
    copyAs(uint64_t());
  for (int64_t side = sides, stride = 1; side--; stride *= shape[side])
    strides[side] = stride;
  data = base;
  isAligned = true;
  copied = std::move(memory);
}

View::~View() {
  if (buffer.obj)
    PyBuffer_Release(&buffer);
}
