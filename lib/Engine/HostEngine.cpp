#include "Engine/HostEngine.h"
#include "Compile/KernelPlans.h"
#include "Support/Errors.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace llvm;
using namespace recur;
using namespace recur::engine;
using namespace recur::compile;
using interpreter::Role;

struct HostEngine::Code {
  std::unique_ptr<orc::LLJIT> jit;
  const recur_recurrence *recurrence = nullptr;
};

HostEngine::HostEngine() : code(std::make_unique<Code>()) {}
HostEngine::~HostEngine() { recur_unload(code->recurrence); }

//===----------------------------------------------------------------------===//
// Numbers as the kernels have them
//===----------------------------------------------------------------------===//

void engine::roundData(interpreter::Data &data, DataType type) {
  auto round = [](interpreter::NamedArrays &arrays, DataType type) {
    for (auto &[name, array] : arrays)
      for (double &value : array.values)
        value = roundTo(value, type);
  };
  round(data.inputs, type);
  round(data.params, type);
  round(data.initial, DataType::F32);
}

namespace {
/// An array in the kernel's memory.
class KernelArray {
public:
  KernelArray(int64_t count, DataType type) : type(type), count(count), bytes(count * getByteSize(type) + 1) {}
  void write(ArrayRef<double> values) {
    for (auto [i, value] : enumerate(values)) {
      uint64_t bits = toBits(value, type);
      std::memcpy(bytes.data() + i * getByteSize(type), &bits, getByteSize(type)); // little-endian, as the target is
    }
  }
  std::vector<double> read() const {
    std::vector<double> values(count);
    for (int64_t i = 0; i < count; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * getByteSize(type), getByteSize(type));
      values[i] = fromBits(bits, type);
    }
    return values;
  }
  void poison() { std::fill(bytes.begin(), bytes.end(), char(0xFF)); }
  void *data() { return bytes.data(); }
  int64_t size() const { return count * getByteSize(type); }

private:
  DataType type;
  int64_t count;
  std::vector<char> bytes; // one more, so that data() is never null
};
} // namespace

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<HostEngine>> HostEngine::create(dgps::RecurrenceOp recurrence,
                                                         const PipelineOptions &pipeline) {
  // Not compiled for nothing.
  if (Error error = openMemory(pipeline.target).takeError())
    return std::move(error);
  Listings listings;
  Expected<Kernels> kernels = compileKernels(recurrence, pipeline, {}, listings);
  if (!kernels)
    return kernels.takeError();
  std::shared_ptr<HostEngine> engine(new HostEngine());
  engine->interface = kernels->interfaces.front();
  engine->target = pipeline.target;
  engine->plan = getRuntimePlan(pipeline.plan);
  engine->notes = std::move(kernels->notes);
  Expected<std::unique_ptr<orc::LLJIT>> jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  for (const codegen::ObjectFile &object : kernels->objects)
    if (Error error = (*jit)->addObjectFile(MemoryBuffer::getMemBufferCopy(object.bytes, object.name)))
      return std::move(error);
  Expected<orc::ExecutorAddr> descriptor = (*jit)->lookup(engine->interface.getDescriptorSymbol());
  if (!descriptor)
    return descriptor.takeError();
  engine->code->jit = std::move(*jit);
  engine->code->recurrence = descriptor->toPtr<const recur_recurrence *>();
  return engine;
}

static Role getRole(const codegen::ArgumentField &field) {
  return interpreter::getRole(field.role, field.array->isShared);
}

Expected<interpreter::Results> HostEngine::run(const interpreter::Data &data, const HostCall &how) const {
  bool isPacked = !how.offsets.empty();
  interpreter::Sizes stateSizes = data.sizes;
  if (isPacked)
    stateSizes.batch = int64_t(how.offsets.size()) - 1;
  auto getShape = [&](const codegen::ArgumentField &field) {
    return interpreter::getFullShape(getRole(field), field.isState() ? stateSizes : data.sizes, field.array->shape);
  };
  std::vector<codegen::ArgumentField> fields = codegen::getArgumentFields(interface);
  Expected<std::unique_ptr<Memory>> memory = openMemory(target);
  if (!memory)
    return memory.takeError();
  std::vector<KernelArray> arrays;
  std::vector<recur_argument> arguments;
  for (const codegen::ArgumentField &field : fields) {
    SmallVector<int64_t, 6> shape = getShape(field);
    std::optional<int64_t> count = countElements(shape);
    if (!count || *count > (int64_t(1) << 33))
      return makeError(interpreter::getWord(getRole(field)) + " '" + field.array->name + "' of shape " +
                       printShape(shape) + " is too large");
    arrays.emplace_back(*count, field.isState() ? DataType::F32 : interface.dataType);
    const interpreter::NamedArrays &given = field.role == abi::Role::Input   ? data.inputs
                                            : field.role == abi::Role::Param ? data.params
                                                                             : data.initial;
    auto found = given.find(field.array->name);
    if (!field.isRead())
      arrays.back().poison();
    bool isGiven = field.isRead() && found != given.end();
    if (isGiven)
      arrays.back().write(found->second.values);
    bool isZero = field.role == abi::Role::Initial && !isGiven;
    Expected<void *> place = isZero ? nullptr : (*memory)->give(arrays.back().data(), arrays.back().size());
    if (!place)
      return place.takeError();
    arguments.push_back({*place, {0, 0, 0}});
  }
  recur_call call = {};
  call.B = data.sizes.batch;
  call.T = data.sizes.tokens;
  call.H = data.sizes.heads;
  call.Hq = data.sizes.groups;
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.plan = plan;
  call.threads = how.threads;
  call.parallel_for = how.parallelFor;
  call.parallel_context = how.parallelContext;
  call.device = interface.device;
  std::vector<int64_t> offsets = how.offsets;
  if (isPacked) {
    call.sequence_offsets = how.offsets.data();
    call.sequence_count = stateSizes.batch;
    Expected<void *> place = (*memory)->give(offsets.data(), int64_t(offsets.size() * sizeof(int64_t)));
    if (!place)
      return place.takeError();
    if (call.device != RECUR_CPU)
      call.device_offsets = static_cast<const int64_t *>(*place);
  }
  int64_t bytes = recur_workspace_size(code->recurrence, &call);
  if (bytes < 0)
    return makeError(recur_message());
  std::unique_ptr<void, void (*)(void *)> workspace(aligned_alloc(64, size_t(bytes) + 64), free);
  std::memset(workspace.get(), 0xFF, size_t(bytes));
  Expected<void *> space = (*memory)->give(workspace.get(), bytes);
  if (!space)
    return space.takeError();
  call.workspace = *space;
  call.workspace_bytes = bytes;
  if (recur_forward(code->recurrence, &call) != RECUR_OK)
    return makeError(recur_message());
  if (Error error = (*memory)->wait())
    return std::move(error);
  interpreter::Results results;
  for (auto [field, array, argument] : zip(fields, arrays, arguments)) {
    if (field.isRead())
      continue;
    if (Error error = (*memory)->take(array.data(), argument.data, array.size()))
      return std::move(error);
    SmallVector<int64_t, 6> shape = getShape(field);
    interpreter::NamedArrays &into = field.isState() ? results.final : results.outputs;
    into[field.array->name] = Array{{shape.begin(), shape.end()}, array.read()};
  }
  return results;
}
