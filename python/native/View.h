// An array of the caller's, of whatever library: where its elements are, without a copy.
#pragma once
#include "recur/Runtime.h"
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>

namespace recur::python {

/// What an element is. The first four are recur_dtype.
enum class Type : int32_t { F32 = RECUR_F32, BF16 = RECUR_BF16, F16 = RECUR_F16, I32 = RECUR_I32, I64, Other };

const char *getTypeName(Type type);
Type getTypeOfName(const std::string &name);
/// Whether kernels have arrays of it, but for those of inputs that are declared as integers.
inline bool isFloat(Type type) { return type == Type::F32 || type == Type::BF16 || type == Type::F16; }
Type getTypeOfDLPack(nanobind::dlpack::dtype type);

class View {
public:
  static constexpr int mostSides = 8;

  /// Memory that a buffer or DLPack shows; false, with no exception left, where the object shows none.
  bool open(nanobind::handle object);
  /// Memory that the caller vouches for, which stays while `owner` lives; `gpu` is the number of the GPU that has it,
  /// or less than 0.
  static View *fromPointer(uintptr_t data, const std::string &type, nanobind::sequence shape,
                           nanobind::sequence strides, nanobind::object owner, int32_t gpu);
  View() = default;
  View(const View &) = delete;
  View(View &&other) noexcept;
  ~View();

  void *data = nullptr;
  Type type = Type::Other;
  int sides = 0;
  int64_t shape[mostSides] = {};
  int64_t strides[mostSides] = {}; // in elements
  bool isReadOnly = false;
  bool isOnCPU = true;
  int32_t gpu = -1;      // the number of the NVIDIA GPU that has it
  bool isAligned = true; // to its elements
  std::string typeName;  // of fromPointer, for messages

  /// Copies the elements one after another to memory of the view's own.
  void makeDense();

private:
  bool openBuffer(nanobind::handle object);
  bool closeBuffer();
  bool openDLPack(nanobind::handle object);
  bool openByTable(nanobind::handle object);
  void takeOver(View &other);
  void checkAlignment();

  Py_buffer buffer = {};
  nanobind::ndarray<nanobind::ro> imported;
  nanobind::object owner;
  std::unique_ptr<char[]> copied;
};

} // namespace recur::python
