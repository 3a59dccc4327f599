// What calls on PyTorch's tensors that are made again have in common: how one is known, what it makes, and how it is
// put to work on other memory.
#pragma once
#include "Call.h"
#include "Exchange.h"
#include <memory>

namespace recur::python {

/// What calls ask of PyTorch, as recur.torch hands it on.
struct Torch {
  nanobind::object tensor, parameter;      // the types
  nanobind::object bytes;                  // the type of elements
  nanobind::object emptyOnCPU, emptyOnGPU; // functions of shape, strides and type; None where it has none
  nanobind::object empty, isGradEnabled, isNegative, incrementVersion;
  nanobind::list modes;           // functions without arguments that give nothing, zero or false where nobody looks on
  nanobind::object profiler;      // modules that say whether they look on
  nanobind::object forwardAD;     //
  nanobind::object getDevice;     // the function for the current GPU; None where PyTorch has no CUDA
  nanobind::object placeOffsets;  // a function of offsets and the number of a GPU: the same there, int64 and dense
  nanobind::object differentiate; // a function of a Training and its tensors: results that autograd knows
};

/// Null where there is no PyTorch.
const Torch *getTorch();
void setTorch(Torch found);

/// Whether the calling thread has a context of CUDA's.
bool hasCUDAContext();

/// An object that Python gave; an error where it gave none.
nanobind::object own(PyObject *object);

/// Whether a function says no: None, zero or False. One that fails says yes, and the call goes the long way.
bool saysNo(PyObject *function, PyObject *argument = nullptr);
/// The number that an attribute is; 1 where it is none.
int64_t getNumber(PyObject *object, PyObject *name);

/// Reads a tensor by DLPack's table; false where its type shows none.
bool describe(PyObject *object, nanobind::dlpack::dltensor &tensor);
inline void *getData(const nanobind::dlpack::dltensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

/// An array that a call makes. PyTorch has a function that asks nothing on the way, which takes half of the time.
class Made {
public:
  /// `arrayShape` may be of a type of PyTorch's, which not every function takes for a tuple.
  Made(size_t slot, nanobind::object arrayShape, nanobind::object elements, nanobind::object place);
  static Made like(size_t slot, nanobind::handle array);

  nanobind::object make() const;

  size_t slot;

private:
  bool isMadeDirectly() const;
  nanobind::object shape, strides, dtype, device, direct;
};

/// Arguments in the runtime's order. Null: none, or made here.
struct Slots {
  static constexpr size_t most = 128;
  PyObject *objects[most];
  void *data[most];
  size_t count = 0;
  std::vector<nanobind::object> kept; // of mappings, which another thread may change
  bool makesFinals = false, givesFinals = false;

  /// False where there are too many.
  bool add(PyObject *object) { return count < most && (objects[count++] = object, true); }
};

/// What a call is known by.
struct Key {
  static constexpr size_t most = 1024;
  int64_t words[most];
  size_t count = 0;
  int32_t gpu = -1; // that has one of the tensors
  bool add(int64_t word) { return count < most && (words[count++] = word, true); }
  /// False where a tensor is none that a call could be repeated on: of a class of its own, negated lazily, not aligned.
  /// `data`: where it lies. `mark`: a number below 256 that belongs to what is known of it.
  bool addTensor(PyObject *object, void *&data, int64_t mark = 0);
  bool isFull() const { return count == most; } // where something may be missing
};

/// The offsets of packed sequences, which a call may have on the host, on the GPU or on both. What they hold is not a
/// part of what a call is known by: they are others each time.
struct Offsets {
  PyObject *objects[2] = {}; // as they are given
  nanobind::dlpack::dltensor tensors[2] = {};
  int count = 0;

  /// None, offsets, or a pair of them.
  bool read(PyObject *object);
  /// False where one is no array of offsets.
  bool addTo(Key &key);
};

/// A call without its memory.
struct Plan {
  std::vector<int64_t> key;
  nanobind::object keptKernel;
  const Kernel *kernel = nullptr;
  recur_call call = {};
  std::vector<recur_argument> arguments; // their strides, and whether there are any
  std::vector<Made> made;
  std::unique_ptr<Made> workspace; // null where none is needed from PyTorch
  int32_t gpu = -1;
  nanobind::object gpuNumber;

  /// Takes all but `made` from a call that was made. `like` lies where the workspace has to.
  void learn(const Key &key, const Call &of, nanobind::object kernelObject, nanobind::handle like,
             int64_t workspaceBytes);
  bool isKnownBy(const Key &other) const;
  /// Whether this thread can make the call: its GPU is the thread's current one.
  bool isHere() const;
  /// Makes the call on the memory of these slots. What it makes itself goes to `results`, in the order of `made`.
  /// False, and nothing is done, where the call has to go the long way.
  bool perform(recur_call call, const Slots &slots, const Offsets &offsets, nanobind::object *results,
               bool backward) const;
};

} // namespace recur::python
