// Times kernels of shared objects that recurc made for a GPU: replays of a graph that holds one call, as a line of CSV
// for each library. It needs the GPU and its driver alone.
#include "recur/Runtime.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using Pointer = unsigned long long;
constexpr int replays = 30;
constexpr size_t flushedBytes = size_t(256) << 20;

[[noreturn]] void stop(const std::string &what) {
  fprintf(stderr, "gpu-bench: error: %s\n", what.c_str());
  exit(1);
}

/// A function of the driver, which must succeed.
template <typename... Parameters> class Driver {
public:
  Driver(void *library, const char *name)
      : name(name), function(reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name))) {
    if (!function)
      stop(std::string("the driver has no ") + name);
  }
  void operator()(Parameters... parameters) const {
    if (int error = function(parameters...))
      stop(std::string(name) + " fails with error " + std::to_string(error));
  }

private:
  const char *name;
  int (*function)(Parameters...);
};

void *openLibrary(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    stop(dlerror());
  return library;
}

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  void *function;
  unsigned grid[3], block[3], sharedBytes;
  void **parameters, **extra;
  void *kernel, *context;
};
constexpr int kernelNode = 0; // CU_GRAPH_NODE_TYPE_KERNEL

struct CUDA {
  void *library = openLibrary("libcuda.so.1");
  Driver<unsigned> initialize{library, "cuInit"};
  Driver<void **, int> retainContext{library, "cuDevicePrimaryCtxRetain"};
  Driver<void *> setContext{library, "cuCtxSetCurrent"};
  Driver<Pointer *, size_t> allocate{library, "cuMemAlloc_v2"};
  Driver<Pointer> free{library, "cuMemFree_v2"};
  Driver<Pointer, const void *, size_t> upload{library, "cuMemcpyHtoD_v2"};
  Driver<void *, Pointer, size_t> download{library, "cuMemcpyDtoH_v2"};
  Driver<Pointer, unsigned char, size_t, void *> fill{library, "cuMemsetD8Async"};
  Driver<Pointer, Pointer, size_t, void *> copy{library, "cuMemcpyDtoDAsync_v2"};
  Driver<void **, unsigned> makeStream{library, "cuStreamCreate"};
  Driver<void *> synchronize{library, "cuStreamSynchronize"};
  Driver<void *, int> beginCapture{library, "cuStreamBeginCapture_v2"};
  Driver<void *, void **> endCapture{library, "cuStreamEndCapture"};
  Driver<void **, void *, unsigned long long> instantiate{library, "cuGraphInstantiateWithFlags"};
  Driver<void *, void *> launchGraph{library, "cuGraphLaunch"};
  Driver<void **, unsigned> makeGraph{library, "cuGraphCreate"};
  Driver<void *, void **, size_t *> getNodes{library, "cuGraphGetNodes"};
  Driver<void *, int *> getType{library, "cuGraphNodeGetType"};
  Driver<void *, KernelNode *> getKernel{library, "cuGraphKernelNodeGetParams_v2"};
  Driver<void **, void *, void *const *, size_t, const KernelNode *> addKernel{library, "cuGraphAddKernelNode_v2"};
  Driver<const char **, void *> getName{library, "cuFuncGetName"}; // of drivers from 545 on
  Driver<void **, unsigned> makeEvent{library, "cuEventCreate"};
  Driver<void *, void *> record{library, "cuEventRecord"};
  Driver<float *, void *, void *> getTime{library, "cuEventElapsedTime"};

  void *stream = nullptr, *before = nullptr, *after = nullptr;
  Pointer flushed = 0;

  CUDA() {
    void *context = nullptr;
    initialize(0);
    retainContext(&context, 0);
    setContext(context);
    makeStream(&stream, 1); // apart from the default stream
    makeEvent(&before, 0);
    makeEvent(&after, 0);
    allocate(&flushed, flushedBytes);
  }

  /// The median of the times in milliseconds; the caches are overwritten before each where it is to be cold.
  template <typename Work> double time(bool isCold, Work work) const {
    std::vector<float> times(replays);
    for (float &one : times) {
      if (isCold)
        fill(flushed, 0, flushedBytes, stream);
      record(before, stream);
      work();
      record(after, stream);
      synchronize(stream);
      getTime(&one, before, after);
    }
    std::nth_element(times.begin(), times.begin() + replays / 2, times.end());
    return times[replays / 2];
  }

  /// Bytes a second, read and written.
  double timeCopies() const {
    constexpr size_t half = size_t(1) << 30;
    Pointer from = 0, to = 0;
    allocate(&from, half);
    allocate(&to, half);
    double rate = 2 * double(half) / (time(false, [&] { copy(to, from, half, stream); }) * 1e-3);
    free(from);
    free(to);
    printf("# copies at %.2f TB/s\n", rate * 1e-12);
    return rate;
  }
};

/// A library of one recurrence, with its own copy of the runtime.
struct Library {
  void *handle;
  const recur_recurrence *recurrence;
  decltype(&recur_forward) forward, backward;
  decltype(&recur_load) load;
  decltype(&recur_workspace_size) getWorkspaceSize, getBackwardSize;
  decltype(&recur_handed_rows) countHandedRows; // null where the library is of a version without
  decltype(&recur_handed_bytes) countHandedBytes;
  decltype(&recur_message) getMessage;

  Library(const char *path, const std::string &symbol) : handle(openLibrary(path)) {
    auto find = [&](const std::string &name, auto &found) {
      found = reinterpret_cast<std::decay_t<decltype(found)>>(dlsym(handle, name.c_str()));
      if (!found)
        stop(std::string(path) + " has no " + name);
    };
    find(symbol + "_recurrence", recurrence);
    find("recur_forward", forward);
    find("recur_backward", backward);
    find("recur_load", load);
    find("recur_workspace_size", getWorkspaceSize);
    find("recur_backward_workspace_size", getBackwardSize);
    find("recur_message", getMessage);
    countHandedRows = reinterpret_cast<decltype(countHandedRows)>(dlsym(handle, "recur_handed_rows"));
    countHandedBytes = reinterpret_cast<decltype(countHandedBytes)>(dlsym(handle, "recur_handed_bytes"));
  }
  void check(recur_status status) const {
    if (status != RECUR_OK)
      stop(getMessage());
  }
};

struct Shape {
  long long B, T, H;
};

/// What a user chooses beside recurrences and sizes.
struct Choices {
  bool timesLaunches = false;
  bool isOnce = false; // calls run once and are not timed, as for tools that watch each access
  float gate = -0.07f;
  int32_t plan = RECUR_PLAN_AUTO;
  bool keepsStates = false;   // before every token
  bool isBackward = false;    // gradients too
  int64_t sequences = 0;      // packed ones; 0: none are packed
  bool onDeviceAlone = false; // where their offsets are
};

/// Arrays of one call on the device, each of its own type, drawn as layers make them. Log decays, numbers and vectors,
/// lie a little below zero, so that nothing grows; gains lie between zero and one, as a sigmoid has them. Ridges lie
/// between a half and one: without them systems have no solution that steps come to.
struct Arrays {
  const CUDA &cuda;
  const Choices &choices;
  std::vector<recur_argument> arguments;
  std::vector<recur_argument> backward; // of the gradient by inputs and params
  std::vector<float *> kept;            // of each state, the rows before every token
  std::vector<Pointer> places;
  int64_t bytes = 0, backwardBytes = 0; // that the calls read and write

  Arrays(const CUDA &cuda, const recur_recurrence &recurrence, Shape shape, const Choices &choices)
      : cuda(cuda), choices(choices) {
    for (int32_t kind : {RECUR_INPUT, RECUR_PARAM, RECUR_STATE, RECUR_OUTPUT, RECUR_STATE})
      for (int32_t i = 0; i < recurrence.array_count; ++i)
        if (recurrence.arrays[i].kind == kind)
          add(recurrence.arrays[i], shape);
    if (choices.isBackward)
      addBackward(recurrence, shape);
  }
  ~Arrays() {
    for (Pointer place : places)
      cuda.free(place);
  }
  /// What the gradients by inputs and params are, as bytes.
  std::vector<std::vector<char>> readGradients() const {
    std::vector<std::vector<char>> all;
    for (auto [place, size] : written) {
      all.emplace_back(size);
      cuda.download(all.back().data(), place, size);
    }
    return all;
  }

private:
  std::vector<std::pair<Pointer, size_t>> written; // gradients
  std::vector<size_t> sizes;                       // of all that was added

  /// What the call forward is given goes back in with cotangents of outputs; nothing depends on final states, and
  /// nobody wants the gradients of initial ones.
  void addBackward(const recur_recurrence &recurrence, Shape shape) {
    std::vector<recur_argument> forward;
    std::swap(forward, arguments);
    int64_t forwardBytes = bytes;
    bytes = 0;
    auto addEach = [&](int32_t kind) {
      for (int32_t i = 0; i < recurrence.array_count; ++i)
        if (recurrence.arrays[i].kind == kind)
          add(recurrence.arrays[i], shape);
    };
    auto addNone = [&] {
      for (int32_t i = 0; i < recurrence.array_count; ++i)
        if (recurrence.arrays[i].kind == RECUR_STATE)
          backward.push_back({});
    };
    size_t states = 0, given = 0;
    for (int32_t i = 0; i < recurrence.array_count; ++i) {
      states += recurrence.arrays[i].kind == RECUR_STATE;
      given += recurrence.arrays[i].kind == RECUR_INPUT || recurrence.arrays[i].kind == RECUR_PARAM;
    }
    backward.assign(forward.begin(), forward.begin() + std::ptrdiff_t(given + states));
    size_t before = sizes.size();
    addEach(RECUR_INPUT); // gradients, of which each is as large as what it is of, and counted twice: read and written
    addEach(RECUR_PARAM);
    std::vector<recur_argument> gradients;
    std::swap(gradients, arguments);
    for (size_t i = 0; i < gradients.size(); ++i)
      written.push_back({reinterpret_cast<Pointer>(gradients[i].data), sizes[before + i]});
    bytes *= 2;
    addEach(RECUR_OUTPUT); // cotangents
    backward.insert(backward.end(), arguments.begin(), arguments.end());
    addNone();
    backward.insert(backward.end(), gradients.begin(), gradients.end());
    addNone();
    backwardBytes = bytes;
    bytes = forwardBytes;
    arguments = std::move(forward);
  }
  void add(const recur_array_info &info, Shape shape) {
    int64_t own = 1, count = info.kind == RECUR_PARAM ? shape.H : shape.B * shape.T * shape.H;
    for (int32_t i = 0; i < info.rank; ++i)
      own *= info.shape[i];
    if (info.kind == RECUR_STATE) {
      int64_t sequences = choices.sequences ? choices.sequences : shape.B;
      size_t count = size_t(sequences * shape.H * own), size = count * (info.dtype == RECUR_F32 ? 4 : 2);
      addState(info.name, shape.T <= fewTokens ? size : 0);
      bool isFinal = states.at(info.name).isListed;
      states.at(info.name).isListed = true;
      if (choices.keepsStates && !isFinal)
        addKept(count * sizeof(float) * size_t(shape.T));
      return;
    }
    count *= own;
    bool isInput = info.kind == RECUR_INPUT, isWide = info.dtype == RECUR_F32;
    bool isGain = isInput && strncmp(info.name, "beta", 4) == 0, isRidge = strcmp(info.name, "ridge") == 0;
    bool isLogDecay =
        isInput && (strcmp(info.name, "g") == 0 || strncmp(info.name, "g_", 2) == 0 || strcmp(info.name, "w") == 0);
    std::vector<unsigned char> numbers(size_t(count) * (isWide ? 4 : 2));
    unsigned state = unsigned(arguments.size()) + 1;
    for (int64_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      float drawn = float(state >> 8) / float(1 << 24);
      float value = (2 * drawn - 1) * 0.15f; // vectors of 128: about unit length
      if (isRidge)
        value = 0.5f + 0.5f * drawn;
      else if (isGain)
        value = 0.02f + 0.96f * drawn;
      else if (info.rank == 0 || isLogDecay)
        value = 2 * choices.gate * drawn;
      unsigned bits;
      memcpy(&bits, &value, 4);
      if (isWide)
        memcpy(&numbers[size_t(i) * 4], &bits, 4);
      else
        writeHalf(&numbers[size_t(i) * 2], bits, value, info.dtype);
    }
    Pointer place = 0;
    cuda.allocate(&place, std::max<size_t>(numbers.size(), 1));
    cuda.upload(place, numbers.data(), numbers.size());
    places.push_back(place);
    bytes += int64_t(numbers.size());
    sizes.push_back(numbers.size());
    arguments.push_back({reinterpret_cast<void *>(place), {0, 0, 0}});
  }
  /// A sequence begins at zero, and what it ends with is not wanted. With few tokens a state is read and written, as
  /// when tokens come one after another: where the final states are added, the initial ones lie already.
  void addState(const char *name, size_t size) {
    auto [place, isNew] = states.try_emplace(name, State{});
    Pointer &data = place->second.data;
    if (size && isNew) {
      cuda.allocate(&data, size);
      cuda.fill(data, 0x3c, size, cuda.stream); // of 0.0115
      places.push_back(data);
    }
    bytes += int64_t(size);
    arguments.push_back({reinterpret_cast<void *>(data), {0, 0, 0}});
  }
  void addKept(size_t size) {
    Pointer place = 0;
    cuda.allocate(&place, std::max<size_t>(size, 1));
    places.push_back(place);
    bytes += int64_t(size);
    kept.push_back(reinterpret_cast<float *>(place));
  }
  static constexpr long long fewTokens = 16;
  struct State {
    Pointer data = 0;
    bool isListed = false; // among the initial states
  };
  std::map<std::string, State> states;
  static void writeHalf(unsigned char *to, unsigned bits, float value, int32_t dtype) {
    uint16_t half = uint16_t(bits >> 16);
    if (dtype == RECUR_F16) {
      _Float16 narrow = _Float16(value);
      memcpy(&half, &narrow, 2);
    }
    memcpy(to, &half, 2);
  }
};

/// What a call forward hands over to the one backward: nothing where it would not gain.
struct HandedStates {
  const CUDA &cuda;
  std::vector<void *> places; // for each state
  Pointer values = 0;
  int64_t bytes = 0, valueBytes = 0;

  HandedStates(const CUDA &cuda, const Library &library, const recur_call &call) : cuda(cuda) {
    int64_t rows = library.countHandedRows ? library.countHandedRows(library.recurrence, &call) : 0;
    const recur_gradient_info *gradient = library.recurrence->gradient;
    for (int32_t i = 0, state = 0; rows > 0 && i < library.recurrence->array_count; ++i) {
      const recur_array_info &info = library.recurrence->arrays[i];
      if (info.kind != RECUR_STATE)
        continue;
      const int32_t *end = gradient->kept + gradient->kept_count, *kept = std::find(gradient->kept, end, state++);
      Pointer place = 0;
      if (kept != end) {
        int64_t size = rows * call.H * (gradient->kept_dtypes[kept - gradient->kept] == RECUR_F32 ? 4 : 2);
        for (int32_t side = 0; side < info.rank; ++side)
          size *= info.shape[side];
        cuda.allocate(&place, size_t(size));
        bytes += size;
      }
      places.push_back(reinterpret_cast<void *>(place));
    }
    valueBytes = rows > 0 && library.countHandedBytes ? library.countHandedBytes(library.recurrence, &call) : 0;
    if (valueBytes > 0)
      cuda.allocate(&values, size_t(valueBytes));
  }
  ~HandedStates() {
    if (values)
      cuda.free(values);
    for (void *place : places)
      if (place)
        cuda.free(reinterpret_cast<Pointer>(place));
  }
};

/// Where packed sequences begin and end: the tokens are cut at random places.
struct Offsets {
  const CUDA &cuda;
  std::vector<int64_t> onHost;
  Pointer onDevice = 0;

  Offsets(const CUDA &cuda, int64_t sequences, int64_t tokens) : cuda(cuda) {
    std::mt19937_64 random(1);
    onHost = {0, tokens};
    for (int64_t i = 1; i < sequences; ++i)
      onHost.push_back(int64_t(random() % uint64_t(tokens + 1)));
    std::sort(onHost.begin(), onHost.end());
    cuda.allocate(&onDevice, onHost.size() * sizeof(int64_t));
    cuda.upload(onDevice, onHost.data(), onHost.size() * sizeof(int64_t));
  }
  ~Offsets() { cuda.free(onDevice); }
  int64_t countChunks(int64_t chunk) const {
    int64_t chunks = 0;
    for (size_t i = 1; i < onHost.size(); ++i)
      chunks += (onHost[i] - onHost[i - 1] + chunk - 1) / chunk;
    return chunks;
  }
};

/// How long a call keeps its caller, in microseconds: the median of calls whose work was done before the next.
template <typename Call> double timeHost(const CUDA &cuda, Call call) {
  std::vector<double> times(replays);
  for (double &one : times) {
    auto before = std::chrono::steady_clock::now();
    call();
    one = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count();
    cuda.synchronize(cuda.stream);
  }
  std::nth_element(times.begin(), times.begin() + replays / 2, times.end());
  return times[replays / 2];
}

} // namespace

/// Times each launch of a call alone, on what the whole call has left: so launches that run side by side, or of which
/// one starts while another ends, take longer in sum than the call.
static void timeLaunches(const CUDA &cuda, const char *name, Shape shape, void *graph) {
  size_t count = 0;
  cuda.getNodes(graph, nullptr, &count);
  std::vector<void *> nodes(count);
  cuda.getNodes(graph, nodes.data(), &count);
  for (void *node : nodes) {
    int type = 0;
    cuda.getType(node, &type);
    if (type != kernelNode)
      continue;
    KernelNode kernel = {};
    void *alone = nullptr, *copy = nullptr, *replay = nullptr;
    const char *symbol = nullptr;
    cuda.getKernel(node, &kernel);
    cuda.getName(&symbol, kernel.function);
    cuda.makeGraph(&alone, 0);
    cuda.addKernel(&copy, alone, nullptr, 0, &kernel);
    cuda.instantiate(&replay, alone, 0);
    auto run = [&] { cuda.launchGraph(replay, cuda.stream); };
    double cold = cuda.time(true, run), warm = cuda.time(false, run);
    printf("%s/%s,%lld,%lld,%lld,%.4f,%.4f,,,\n", name, symbol, shape.B, shape.T, shape.H, cold, warm);
    printf("# its grid: %u %u %u, threads: %u, shared memory: %u\n", kernel.grid[0], kernel.grid[1], kernel.grid[2],
           kernel.block[0], kernel.sharedBytes);
  }
}

namespace {

/// Calls with so many bytes and flops, each a row of the table.
struct Timed {
  const CUDA &cuda;
  Shape shape;
  const Choices &choices;
  double copyRate, matrixRate;

  template <typename Call> void operator()(const std::string &name, Call call, double bytes, double flops) const {
    if (choices.isOnce) {
      call();
      cuda.synchronize(cuda.stream);
      printf("%s,%lld,%lld,%lld,,,,%.0f,\n", name.c_str(), shape.B, shape.T, shape.H, bytes);
      return;
    }
    void *graph = nullptr, *replay = nullptr;
    cuda.beginCapture(cuda.stream, 2); // of this thread's calls alone
    call();
    cuda.endCapture(cuda.stream, &graph);
    cuda.instantiate(&replay, graph, 0);
    auto run = [&] { cuda.launchGraph(replay, cuda.stream); };
    run();
    cuda.synchronize(cuda.stream);
    double cold = cuda.time(true, run), warm = cuda.time(false, run), host = timeHost(cuda, call);
    double ceiling = std::max(bytes / copyRate, flops / matrixRate) * 1e3;
    printf("%s,%lld,%lld,%lld,%.4f,%.4f,%.4f,%.0f,%.0f\n", name.c_str(), shape.B, shape.T, shape.H, cold, warm, ceiling,
           bytes, flops);
    printf("# its caller waits for %.1f us\n", host);
    if (choices.timesLaunches)
      timeLaunches(cuda, name.c_str(), shape, graph);
    fflush(stdout);
  }
};

} // namespace

/// NAME LIBRARY SYMBOL FLOPS: the flops are of a token of a head; with gradients RATIO, those of the gradient over
/// them.
static void benchmark(const CUDA &cuda, char **words, Shape shape, double copyRate, double matrixRate,
                      const Choices &choices) {
  Library library(words[1], words[2]);
  Arrays arrays(cuda, *library.recurrence, shape, choices);
  recur_call call = {};
  call.B = shape.B, call.T = shape.T, call.H = shape.H;
  call.arguments = arrays.arguments.data();
  call.argument_count = int64_t(arrays.arguments.size());
  call.device = RECUR_CUDA;
  call.plan = choices.plan;
  call.kept_interval = choices.keepsStates;
  call.kept_states = arrays.kept.data();
  std::unique_ptr<Offsets> offsets;
  if (choices.sequences) {
    offsets = std::make_unique<Offsets>(cuda, choices.sequences, shape.T);
    call.sequence_offsets = choices.onDeviceAlone ? nullptr : offsets->onHost.data();
    call.device_offsets = reinterpret_cast<const int64_t *>(offsets->onDevice);
    call.sequence_count = choices.sequences;
  }
  call.stream = cuda.stream;
  call.workspace_bytes = library.getWorkspaceSize(library.recurrence, &call);
  if (call.workspace_bytes < 0)
    stop(library.getMessage());
  recur_call back = call;
  back.arguments = arrays.backward.data();
  back.argument_count = int64_t(arrays.backward.size());
  back.kept_interval = 0;
  back.workspace_bytes = 0;
  if (choices.isBackward && (back.workspace_bytes = library.getBackwardSize(library.recurrence, &back)) < 0)
    stop(library.getMessage());
  // The same calls where one hands states over to the other.
  recur_call handing = call, handed = back;
  HandedStates states(cuda, library, choices.isBackward ? call : recur_call{});
  bool handsOver = !states.places.empty();
  handing.handed_states = handed.handed_states = handsOver ? states.places.data() : nullptr;
  handing.kept_interval = handed.workspace_bytes = 0;
  // And where states alone are handed over, and what launches leave to each other is not.
  recur_call handingStates = handing, handedStates = handed;
  handing.handed_values = handed.handed_values = reinterpret_cast<void *>(states.values);
  for (recur_call *one : {&handing, &handingStates})
    if (handsOver && (one->workspace_bytes = library.getWorkspaceSize(library.recurrence, one)) < 0)
      stop(library.getMessage());
  for (recur_call *one : {&handed, &handedStates})
    if (handsOver && (one->workspace_bytes = library.getBackwardSize(library.recurrence, one)) < 0)
      stop(library.getMessage());
  Pointer workspace = 0;
  cuda.allocate(&workspace, size_t(std::max<int64_t>({call.workspace_bytes, back.workspace_bytes,
                                                      handingStates.workspace_bytes, handedStates.workspace_bytes,
                                                      handing.workspace_bytes, handed.workspace_bytes, 1})));
  for (recur_call *one : {&call, &back, &handing, &handed, &handingStates, &handedStates})
    one->workspace = reinterpret_cast<void *>(workspace);
  library.check(library.load(library.recurrence, RECUR_CUDA));
  auto forward = [&] { library.check(library.forward(library.recurrence, &call)); };
  auto backward = [&] { library.check(library.backward(library.recurrence, &back)); };
  auto forwardHanding = [&] { library.check(library.forward(library.recurrence, &handing)); };
  auto backwardHanded = [&] { library.check(library.backward(library.recurrence, &handed)); };
  auto bothByStates = [&] {
    library.check(library.forward(library.recurrence, &handingStates));
    library.check(library.backward(library.recurrence, &handedStates));
  };
  auto both = [&] {
    handsOver ? forwardHanding() : forward();
    handsOver ? backwardHanded() : backward();
  };
  // Says of each array of gradients, by its place among them, how many bytes are others.
  auto expectSameGradients = [&](const char *name, const char *when, auto work, auto otherWork) {
    auto read = [&](auto work) {
      work();
      cuda.synchronize(cuda.stream);
      return arrays.readGradients();
    };
    auto want = read(work);
    for (int again = 0; again < 3; ++again) {
      auto got = read(otherWork);
      for (size_t array = 0; array < want.size(); ++array) {
        size_t others = 0;
        for (size_t i = 0; i < want[array].size(); ++i)
          others += want[array][i] != got[array][i];
        if (others)
          printf("# %s: %zu of %zu bytes of gradient %zu are others %s\n", name, others, want[array].size(), array,
                 when);
      }
    }
  };
  double flops = atof(words[3]) * double(shape.B * shape.T * shape.H), bytes = double(arrays.bytes);
  Timed timed{cuda, shape, choices, copyRate, matrixRate};
  timed(words[0], forward, bytes, flops);
  if (choices.isBackward) {
    std::string name = words[0];
    double backwardFlops = flops * atof(words[4]), backwardBytes = double(arrays.backwardBytes);
    timed(name + " backward", backward, backwardBytes, backwardFlops);
    expectSameGradients(words[0], "in another run", backward, backward);
    if (handsOver) {
      timed(name + " handing", forwardHanding, bytes + double(states.bytes + states.valueBytes), flops);
      timed(name + " handed", backwardHanded, backwardBytes + double(states.bytes + states.valueBytes), backwardFlops);
    }
    if (states.values) {
      timed(name + " both, states alone handed over", bothByStates, bytes + backwardBytes, flops + backwardFlops);
      expectSameGradients(words[0], "in another run that hands states over", bothByStates, bothByStates);
      expectSameGradients(words[0], "in another run that hands values over", both, both);
      expectSameGradients(words[0], "where values are handed over", bothByStates, both);
    }
    timed(name + " both", both, bytes + backwardBytes, flops + backwardFlops);
  }
  if (offsets)
    printf("# %lld sequences, of %lld chunks of 64 tokens\n", (long long)choices.sequences,
           (long long)offsets->countChunks(64));
  cuda.free(workspace);
}

int main(int argc, char **argv) {
  Choices choices;
  for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; --argc, ++argv) {
    if (strcmp(argv[1], "--launches") == 0)
      choices.timesLaunches = true;
    else if (strcmp(argv[1], "--once") == 0)
      choices.isOnce = true;
    else if (strncmp(argv[1], "--gate=", 7) == 0)
      choices.gate = float(atof(argv[1] + 7));
    else if (strncmp(argv[1], "--plan=", 7) == 0)
      choices.plan = atoi(argv[1] + 7);
    else if (strcmp(argv[1], "--backward") == 0)
      choices.isBackward = true;
    else if (strcmp(argv[1], "--keep") == 0)
      choices.keepsStates = true;
    else if (strncmp(argv[1], "--sequences=", 12) == 0)
      choices.sequences = atoll(argv[1] + 12);
    else if (strcmp(argv[1], "--device-offsets") == 0)
      choices.onDeviceAlone = true;
    else
      break;
  }
  int wordsOfEach = choices.isBackward ? 5 : 4;
  if (argc < 5 + wordsOfEach || (argc - 5) % wordsOfEach != 0) {
    fprintf(
        stderr,
        "Usage: gpu-bench-run [--launches|--once] [--backward] [--gate=X] [--plan=N] [--keep] [--sequences=N "
        "[--device-offsets]] B T H TFLOPS {NAME LIBRARY SYMBOL FLOPS [RATIO]}...\n"
        "TFLOPS is the rate of the matrix units; FLOPS are those of a token of a head.\n"
        "--backward: the gradient too, and both together; RATIO is its flops over the others. Where the call forward "
        "hands states over to the gradient, both do so together, and rows NAME handing, NAME handed are of each.\n"
        "--launches: each launch of a call is timed alone too.\n"
        "--once: each call runs once, outside of a graph, and is not timed, for compute-sanitizer.\n"
        "--gate: log decays are drawn from twice X to 0 (default: -0.07).\n"
        "--plan: the recur_plan that calls force (default: 0, none).\n"
        "--keep: calls leave the states before every token too.\n"
        "--sequences: the T tokens are N packed sequences, cut at random places; B is 1.\n"
        "--device-offsets: where they are cut is in memory of the GPU alone.\n"
        "Calls of up to 16 tokens go on from states, and leave those that they end with.\n");
    return 1;
  }
  CUDA cuda;
  printf("recurrence,B,T,H,cold_ms,warm_ms,ceiling_ms,bytes,flops\n");
  double copyRate = choices.isOnce ? 0 : cuda.timeCopies();
  Shape shape = {atoll(argv[1]), atoll(argv[2]), atoll(argv[3])};
  for (int i = 5; i < argc; i += wordsOfEach)
    benchmark(cuda, argv + i, shape, copyRate, atof(argv[4]) * 1e12, choices);
}
