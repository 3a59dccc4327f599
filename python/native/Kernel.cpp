#include "Kernel.h"
#include "Errors.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nb = nanobind;
using namespace recur::python;

/// Loads from memory: the bytes that were checked are those that run, whatever becomes of the file. The loader knows
/// what it has loaded by its name, and the numbers of closed files come again, so that each time the name is spelt
/// anew.
static void *loadFromMemory(const char *bytes, size_t count) {
  static std::atomic<uint32_t> loads{0};
  int file = memfd_create("recur-kernel", MFD_CLOEXEC);
  if (file < 0)
    return nullptr;
  std::string path = "/proc/self/fd/";
  for (uint32_t number = ++loads; number; number >>= 1)
    path += number & 1 ? "./" : "/";
  path += std::to_string(file);
  size_t written = 0;
  for (ssize_t some; written < count && (some = write(file, bytes + written, count - written)) > 0;)
    written += size_t(some);
  void *library = written == count ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(file);
  return library;
}

Kernel::Kernel(nb::bytes code, const std::string &name, const std::string &descriptor) {
  void *library = loadFromMemory(code.c_str(), code.size());
  if (!library) {
    const char *problem = dlerror();
    raise("LoadError", name + " cannot be loaded: " + (problem ? problem : std::strerror(errno)));
  }
  recurrence = static_cast<const recur_recurrence *>(dlsym(library, descriptor.c_str()));
  if (!recurrence)
    raise("LoadError", name + " has no '" + descriptor + "'");
  if (recurrence->abi_version != RECUR_ABI_VERSION)
    raise("LoadError", name + " is of version " + std::to_string(recurrence->abi_version) +
                           " of the runtime's interface, and this package of version " +
                           std::to_string(RECUR_ABI_VERSION));
}

std::vector<const recur_array_info *> Kernel::getArrays(recur_kind kind) const {
  std::vector<const recur_array_info *> found;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (recurrence->arrays[i].kind == kind)
      found.push_back(&recurrence->arrays[i]);
  return found;
}

int64_t Kernel::count(recur_kind kind) const { return int64_t(getArrays(kind).size()); }

const recur_gradient_info *Kernel::findHanding() const {
  const recur_gradient_info *gradient = nullptr;
  int targets = 0;
  for (const recur_recurrence *one = recurrence; one; one = one->next)
    if (one->device == RECUR_CUDA) {
      gradient = one->gradient;
      ++targets;
    }
  return targets == 1 && gradient && gradient->handing_launches ? gradient : nullptr;
}

nb::object Kernel::listHanded() const {
  const recur_gradient_info *gradient = findHanding();
  if (!gradient)
    return nb::none();
  nb::list states;
  for (int32_t i = 0; i < gradient->kept_count; ++i)
    states.append(nb::make_tuple(gradient->kept[i], gradient->kept_dtypes[i] == RECUR_F32    ? "float32"
                                                    : gradient->kept_dtypes[i] == RECUR_BF16 ? "bfloat16"
                                                                                             : "float16"));
  return nb::make_tuple(gradient->chunk, nb::tuple(states));
}

nb::object Kernel::describeHandedValues() const {
  const recur_gradient_info *gradient = findHanding();
  if (!gradient || !gradient->handed_bytes)
    return nb::none();
  return nb::make_tuple(gradient->handed_bytes / int64_t(sizeof(float)), int64_t(gradient->handed_digest));
}

nb::list Kernel::listArrays() const {
  static constexpr const char *kinds[] = {"input", "param", "state", "output"};
  static constexpr const char *types[] = {"float32", "bfloat16", "float16", "int32"};
  nb::list list;
  for (int32_t i = 0; i < recurrence->array_count; ++i) {
    const recur_array_info &array = recurrence->arrays[i];
    nb::list shape;
    for (int32_t side = 0; side < array.rank; ++side)
      shape.append(array.shape[side]);
    list.append(nb::make_tuple(array.name, kinds[array.kind], types[array.dtype], array.shared != 0, nb::tuple(shape)));
  }
  return list;
}

namespace {
struct Room {
  void *memory = nullptr;
  int64_t bytes = 0;
  ~Room() { std::free(memory); }
};
} // namespace

/// A 64-byte aligned room of the calling thread, which stays until the thread ends. Null where there is no memory.
static void *getWorkspace(int64_t bytes) {
  static thread_local Room room;
  if (bytes > room.bytes || !room.memory) {
    std::free(room.memory);
    room.bytes = (bytes + 63) / 64 * 64 + 64;
    room.memory = std::aligned_alloc(64, size_t(room.bytes));
    if (!room.memory)
      room.bytes = 0;
  }
  return room.memory;
}

/// Gives the call so many bytes; an error where there are none.
static std::string provideSpace(recur_call &call, int64_t bytes) {
  if (bytes < 0)
    return recur_message();
  call.workspace_bytes = bytes;
  call.workspace = getWorkspace(bytes);
  return call.workspace ? "" : "there is no memory for a workspace of " + std::to_string(bytes) + " bytes";
}

nb::object Kernel::listSummaries() const {
  int32_t count = recur_summary_count(recurrence);
  if (count < 0)
    return nb::none();
  nb::list list;
  for (int32_t i = 0; i < count; ++i) {
    recur_summary_shape shape;
    recur_describe_summary(recurrence, i, &shape);
    nb::list needs;
    for (int32_t need = 0; need < shape.need_count; ++need)
      needs.append(shape.needs[need]);
    list.append(
        nb::make_tuple(shape.state, shape.map_size, shape.offset_size, nb::tuple(needs), shape.has_backward_map != 0));
  }
  return list;
}

std::string Kernel::provideSummarySpace(recur_call &call, bool backward) const {
  call.workspace_bytes = 0;
  return provideSpace(call, recur_summary_workspace_size(recurrence, &call, backward));
}

std::string Kernel::perform(recur_call &call, bool backward) const {
  call.workspace_bytes = 0;
  std::string problem = provideSpace(call, backward ? recur_backward_workspace_size(recurrence, &call)
                                                    : recur_workspace_size(recurrence, &call));
  if (!problem.empty())
    return problem;
  recur_status status = backward ? recur_backward(recurrence, &call) : recur_forward(recurrence, &call);
  return status == RECUR_OK ? "" : recur_message();
}

std::string Kernel::performOnGPU(recur_call &call, bool backward) const {
  call.device = RECUR_CUDA;
  recur_status status = backward ? recur_backward(recurrence, &call) : recur_forward(recurrence, &call);
  return status == RECUR_OK ? "" : recur_message();
}

bool Kernel::hasDevice(recur_device device) const {
  for (const recur_recurrence *one = recurrence; one; one = one->next)
    if (one->device == device)
      return true;
  return false;
}
