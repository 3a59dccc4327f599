#include "Runtime/CUDA/Loaded.h"
#include "ABI/GPUImage.h"
#include "Runtime/CUDA/SideBySide.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"
#include <pthread.h>
#include <string.h>

using namespace recur;
using namespace recur::runtime;

namespace {

constexpr int sharedBytesAttribute = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int contextError = 201;       // CUDA_ERROR_INVALID_CONTEXT
constexpr int notFoundError = 500;      // CUDA_ERROR_NOT_FOUND

struct Loaded {
  const recur_recurrence *recurrence;
  const recur_launch_info *launch;
  bool isListed; // the function by which it goes by a list
  void *context, *function;
};
/// The recurrences of one specification share an image.
struct LoadedModule {
  const void *image, *context;
  uint64_t code; // where the image has it
  void *module;
};
constexpr int mostLoaded = 4096;
Loaded loaded[mostLoaded];
LoadedModule modules[mostLoaded];
int loadedCount, moduleCount;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

class Lock {
public:
  Lock() { pthread_mutex_lock(&mutex); }
  ~Lock() { pthread_mutex_unlock(&mutex); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
};

} // namespace

static bool isLoaded(const void *image, const void *context) {
  for (int i = 0; i < moduleCount; ++i)
    if (modules[i].image == image && modules[i].context == context)
      return true;
  return false;
}

/// A context that is gone took its modules along.
static void unloadImage(const CUDALibrary &cuda, const void *image, const void *context, bool isThere = true) {
  for (int i = 0; i < moduleCount;) {
    if (modules[i].image != image || modules[i].context != context) {
      ++i;
      continue;
    }
    if (isThere)
      cuda.unloadModule(modules[i].module);
    modules[i] = modules[--moduleCount];
  }
}

static const LoadedModule *findModule(const void *image, const void *context, uint64_t code) {
  for (int i = 0; i < moduleCount; ++i)
    if (modules[i].image == image && modules[i].context == context && modules[i].code == code)
      return &modules[i];
  return nullptr;
}

/// All kernels at once: while a graph is captured, nothing can be loaded.
static recur_status loadImage(const CUDALibrary &cuda, const char *name, const void *image, void *context) {
  const abi::ImageTable *table = abi::findImageTable(image);
  for (uint64_t i = 0; i < (table ? table->count : 1); ++i) {
    uint64_t code = table ? abi::getKernels(table)[i].code : 0;
    if (findModule(image, context, code))
      continue;
    recur_status status = RECUR_OK;
    void *module = nullptr;
    if (moduleCount == mostLoaded)
      status = fail(RECUR_DEVICE_ERROR,
                    "%s: the code of %d kernels is loaded, and there is room for no more; see "
                    "recur_unload",
                    name, mostLoaded);
    else if (CUresult error = cuda.loadModule(&module, static_cast<const char *>(image) + code))
      status = failOf(cuda, name, "the kernels cannot be loaded", error);
    if (status) {
      unloadImage(cuda, image, context);
      return status;
    }
    modules[moduleCount++] = {image, context, code, module};
  }
  return RECUR_OK;
}

/// A kernel of an image that is loaded.
static CUresult getFunction(const CUDALibrary &cuda, const void *image, const void *context, const char *symbol,
                            void **function) {
  const abi::ImageTable *table = abi::findImageTable(image);
  if (!table)
    return cuda.getFunction(function, findModule(image, context, 0)->module, symbol);
  auto *bytes = static_cast<const char *>(image);
  for (uint64_t i = 0; i < table->count; ++i)
    if (const abi::ImageTable::Kernel &kernel = abi::getKernels(table)[i]; strcmp(bytes + kernel.symbol, symbol) == 0)
      return cuda.getFunction(function, findModule(image, context, kernel.code)->module, bytes + kernel.function);
  return notFoundError;
}

recur_status recur::runtime::findFunction(const CUDALibrary &cuda, const recur_recurrence *recurrence,
                                          const recur_launch_info *launch, bool isListed, void *context,
                                          void **function) {
  const char *name = recurrence->name;
  Lock lock;
  for (int i = 0; i < loadedCount; ++i)
    if (loaded[i].launch == launch && loaded[i].isListed == isListed && loaded[i].context == context) {
      *function = loaded[i].function;
      return RECUR_OK;
    }
  if (loadedCount == mostLoaded)
    return fail(RECUR_DEVICE_ERROR, "%s: %d kernels are loaded, and there is room for no more; see recur_unload", name,
                mostLoaded);
  bool isNew = !isLoaded(recurrence->image, context);
  if (isNew)
    if (recur_status status = loadImage(cuda, name, recurrence->image, context))
      return status;
  const char *what = "the kernel is not in its image";
  CUresult error = getFunction(cuda, recurrence->image, context, isListed ? launch->listed : launch->symbol, function);
  if (!error) {
    what = "the device has too little shared memory";
    int64_t bytes = getMostSharedBytes(*launch);
    for (int i = 0; i < loadedCount; ++i) // launches that do the same have one function
      if (loaded[i].function == *function && bytes < getMostSharedBytes(*loaded[i].launch))
        bytes = getMostSharedBytes(*loaded[i].launch);
    error = cuda.setAttribute(*function, sharedBytesAttribute, bytes);
  }
  if (error) {
    if (isNew)
      unloadImage(cuda, recurrence->image, context);
    return failOf(cuda, name, what, error);
  }
  loaded[loadedCount++] = {recurrence, launch, isListed, context, *function};
  return RECUR_OK;
}

recur_status recur_load(const recur_recurrence *recurrence, int32_t device) {
  if (recur_status status = checkRecurrence(recurrence))
    return status;
  if (recur_status status = checkDevice(recurrence, device))
    return status;
  if (device != RECUR_CUDA)
    return RECUR_OK;
  recurrence = recur_select_for(recurrence, device);
  const CUDALibrary &cuda = *getCUDALibrary(); // for one was selected
  void *context = nullptr, *function = nullptr;
  if (CUresult error = cuda.getCurrentContext(&context); error || !context)
    return failOf(cuda, recurrence->name, "no context is current", error ? error : contextError);
  auto find = [&](const recur_launch_info *launch, bool isListed) {
    return launch && (launch->listed || !isListed)
               ? findFunction(cuda, recurrence, launch, isListed, context, &function)
               : RECUR_OK;
  };
  auto findAll = [&](const recur_kernel_info &kernel) {
    for (int32_t i = 0; i < kernel.launch_count; ++i)
      for (bool isListed : {false, true})
        if (recur_status status = find(&kernel.launches[i], isListed))
          return status;
    if (recur_status status = find(kernel.trees, false))
      return status;
    return find(kernel.listing, false);
  };
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    if (recur_status status = findAll(recurrence->kernels[i]))
      return status;
  if (const recur_gradient_info *gradient = recurrence->gradient) {
    for (const recur_kernel_info *kernel : {gradient->states_launches, gradient->run_launches, gradient->chain_launches,
                                            gradient->handing_launches, gradient->taking_launches})
      if (recur_status status = kernel ? findAll(*kernel) : RECUR_OK)
        return status;
    if (recur_status status = find(gradient->sum, false))
      return status;
  }
  if (const recur_parts_info *parts = recurrence->parts) {
    for (int32_t i = 0; i < parts->summary_count; ++i)
      if (recur_status status = findAll(*parts->summaries[i].launches))
        return status;
    if (recur_status status = find(parts->compose, false))
      return status;
  }
  return recurrence->start ? recur_load(recurrence->start, device) : RECUR_OK;
}

static bool hasFunctions(const void *image, const void *context) {
  for (int i = 0; i < loadedCount; ++i)
    if (loaded[i].recurrence->image == image && loaded[i].context == context)
      return true;
  return false;
}

static void unloadOne(const recur_recurrence *recurrence) {
  Lock lock;
  for (int i = 0; i < loadedCount;) {
    if (loaded[i].recurrence != recurrence) {
      ++i;
      continue;
    }
    Loaded gone = loaded[i];
    loaded[i] = loaded[--loadedCount];
    if (hasFunctions(recurrence->image, gone.context))
      continue;
    const CUDALibrary &cuda = *getCUDALibrary();
    bool isThere = cuda.pushContext(gone.context) == 0;
    unloadImage(cuda, recurrence->image, gone.context, isThere);
    if (isThere)
      cuda.popContext(&gone.context);
  }
}

void recur_unload(const recur_recurrence *recurrence) {
  for (; recurrence; recurrence = recurrence->next) {
    if (recurrence->device != RECUR_CUDA)
      continue;
    unloadOne(recurrence);
    if (recurrence->start)
      unloadOne(recurrence->start);
  }
}
