#include "Runtime/CUDA/Loaded.h"
#include "Runtime/CUDA/SideBySide.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"
#include <pthread.h>

using namespace recur::runtime;

namespace {

constexpr int sharedBytesAttribute = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int contextError = 201;       // CUDA_ERROR_INVALID_CONTEXT

struct Loaded {
  const recur_recurrence *recurrence;
  const recur_launch_info *launch;
  bool isListed; // the function by which it goes by a list
  void *context, *module, *function;
};
constexpr int mostLoaded = 4096;
Loaded loaded[mostLoaded];
int loadedCount;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

class Lock {
public:
  Lock() { pthread_mutex_lock(&mutex); }
  ~Lock() { pthread_mutex_unlock(&mutex); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
};

} // namespace

/// The recurrences of one specification share an image.
static void *findModule(const void *image, void *context) {
  for (int i = 0; i < loadedCount; ++i)
    if (loaded[i].recurrence->image == image && loaded[i].context == context)
      return loaded[i].module;
  return nullptr;
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
  void *module = findModule(recurrence->image, context);
  bool isNew = !module;
  if (isNew)
    if (CUresult error = cuda.loadModule(&module, recurrence->image))
      return failOf(cuda, name, "the kernels cannot be loaded", error);
  const char *what = "the kernel is not in its image";
  CUresult error = cuda.getFunction(function, module, isListed ? launch->listed : launch->symbol);
  if (!error) {
    what = "the device has too little shared memory";
    error = cuda.setAttribute(*function, sharedBytesAttribute, getMostSharedBytes(*launch));
  }
  if (error) {
    if (isNew)
      cuda.unloadModule(module);
    return failOf(cuda, name, what, error);
  }
  loaded[loadedCount++] = {recurrence, launch, isListed, context, module, *function};
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
    return find(kernel.listing, false);
  };
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    if (recur_status status = findAll(recurrence->kernels[i]))
      return status;
  if (const recur_gradient_info *gradient = recurrence->gradient) {
    for (const recur_kernel_info *kernel :
         {gradient->states_launches, gradient->run_launches, gradient->chain_launches})
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

static void unloadOne(const recur_recurrence *recurrence) {
  Lock lock;
  for (int i = 0; i < loadedCount;) {
    if (loaded[i].recurrence != recurrence) {
      ++i;
      continue;
    }
    Loaded gone = loaded[i];
    loaded[i] = loaded[--loadedCount];
    if (findModule(recurrence->image, gone.context))
      continue;
    const CUDALibrary &cuda = *getCUDALibrary();
    // A context that is gone took its modules along.
    if (cuda.pushContext(gone.context) == 0) {
      cuda.unloadModule(gone.module);
      cuda.popContext(&gone.context);
    }
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
