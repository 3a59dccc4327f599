#include "Engine/HostEngine.h"
#include "Compile/KernelPlans.h"
#include "Support/Errors.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <numeric>

using namespace llvm;
using namespace recur;
using namespace recur::engine;
using namespace recur::compile;
using data::Role;

struct HostEngine::Code {
  std::unique_ptr<orc::LLJIT> jit;
  const recur_recurrence *recurrence = nullptr;
};

HostEngine::HostEngine() : code(std::make_unique<Code>()) {}
HostEngine::~HostEngine() { recur_unload(code->recurrence); }

//===----------------------------------------------------------------------===//
// Numbers as the kernels have them
//===----------------------------------------------------------------------===//

void engine::roundData(data::Data &data, const DataTypes &types) {
  auto round = [&](data::NamedArrays &arrays, bool isState) {
    for (auto &[name, array] : arrays)
      for (double &value : array.values)
        value = roundTo(value, types.of(name, isState));
  };
  round(data.inputs, false);
  round(data.params, false);
  round(data.initial, true);
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

static Role getRole(const codegen::ArgumentField &field) { return data::getRole(field.role, field.array->isShared); }

bool HostEngine::canHandOver() const {
  const recur_gradient_info *gradient = code->recurrence->gradient;
  return isOnGPU() && gradient && gradient->handing_launches;
}

Error HostEngine::giveHanded(Handed &handed, Memory &memory, recur_call &call, SmallVectorImpl<void *> &states) const {
  int64_t rows = recur_handed_rows(code->recurrence, &call), bytes = recur_handed_bytes(code->recurrence, &call);
  if (rows < 0 || bytes < 0)
    return makeError(recur_message());
  if (rows == 0)
    return Error::success();
  if (handed.states.empty()) {
    const recur_gradient_info &gradient = *code->recurrence->gradient;
    for (const codegen::InterfaceArray &array : interface.arrays) {
      if (array.kind != RECUR_STATE)
        continue;
      const auto *kept = std::find(gradient.kept, gradient.kept + gradient.kept_count, int32_t(handed.states.size()));
      int64_t width = 0;
      if (int64_t place = kept - gradient.kept; place < gradient.kept_count)
        width = gradient.kept_dtypes[place] == RECUR_F32 ? sizeof(float) : sizeof(int16_t);
      handed.states.emplace_back(size_t(rows * call.H * *countElements(array.shape) * width), char(0xFF));
    }
    handed.values.assign(size_t(bytes), char(0xFF));
  }
  auto give = [&](std::vector<char> &own) -> Expected<void *> {
    return own.empty() ? nullptr : memory.give(own.data(), int64_t(own.size()));
  };
  for (std::vector<char> &own : handed.states) {
    Expected<void *> place = give(own);
    if (!place)
      return place.takeError();
    states.push_back(*place);
  }
  call.handed_states = states.data();
  Expected<void *> place = give(handed.values);
  if (!place)
    return place.takeError();
  call.handed_values = *place;
  return Error::success();
}

Error HostEngine::takeHanded(Handed &handed, Memory &memory, const recur_call &call) {
  if (!call.handed_states)
    return Error::success();
  auto take = [&](std::vector<char> &own, void *place) {
    return own.empty() ? Error::success() : memory.take(own.data(), place, int64_t(own.size()));
  };
  for (auto [number, own] : enumerate(handed.states))
    if (Error error = take(own, call.handed_states[number]))
      return error;
  return take(handed.values, call.handed_values);
}

Expected<std::vector<std::pair<codegen::ArgumentField, Array>>>
HostEngine::call(const Entries &entries, const std::vector<codegen::ArgumentField> &fields,
                 const std::map<abi::Role, const data::NamedArrays *> &given, const data::Sizes &sizes,
                 const HostCall &how) const {
  bool isPacked = !how.offsets.empty();
  data::Sizes stateSizes = sizes;
  if (isPacked)
    stateSizes.batch = int64_t(how.offsets.size()) - 1;
  Expected<std::unique_ptr<Memory>> own = openMemory(target);
  if (!own)
    return own.takeError();
  Memory &memory = how.memory ? *how.memory : **own;
  std::vector<SmallVector<int64_t, 6>> shapes;
  std::vector<KernelArray> arrays;
  std::vector<recur_argument> arguments;
  for (const codegen::ArgumentField &field : fields) {
    data::Sizes own = field.isState() ? stateSizes : sizes;
    if (how.keepsTokens && field.role == abi::Role::Final)
      own.batch *= sizes.tokens;
    if (field.role == abi::Role::Output)
      own.tokens -= how.replayed;
    shapes.push_back(data::getFullShape(getRole(field), own, field.array->shape));
    std::optional<int64_t> count = countElements(shapes.back());
    if (!count || *count > (int64_t(1) << 33))
      return makeError(abi::getFacts(field.role).word + Twine(" '") + field.array->name + "' of shape " +
                       printShape(shapes.back()) + " is too large");
    arrays.emplace_back(*count, field.array->type);
    bool isNull = field.isLeftOut || is_contained(how.leftOut, field.name);
    if (!field.isRead()) {
      arrays.back().poison();
    } else {
      auto found = given.at(field.role)->find(field.array->name);
      if (found != given.at(field.role)->end())
        arrays.back().write(found->second.values);
      else
        isNull = field.role != abi::Role::Input && field.role != abi::Role::Param;
    }
    Expected<void *> place = isNull ? nullptr : memory.give(arrays.back().data(), arrays.back().size());
    if (!place)
      return place.takeError();
    arguments.push_back({*place, {0, 0, 0}});
  }
  recur_call call = {};
  call.B = sizes.batch;
  call.T = sizes.tokens;
  call.H = sizes.heads;
  call.Hq = sizes.groups;
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.plan = entries.plan;
  call.threads = how.threads;
  call.parallel_for = how.parallelFor;
  call.parallel_context = how.parallelContext;
  call.device = interface.device;
  std::vector<int64_t> offsets = how.offsets;
  if (isPacked) {
    call.sequence_offsets = how.offsets.data();
    call.sequence_count = stateSizes.batch;
    Expected<void *> place = memory.give(offsets.data(), int64_t(offsets.size() * sizeof(int64_t)));
    if (!place)
      return place.takeError();
    if (call.device != RECUR_CPU) {
      call.device_offsets = static_cast<const int64_t *>(*place);
      if (how.areOnDeviceAlone)
        call.sequence_offsets = nullptr;
    }
  }
  std::vector<int32_t> rows(how.keepsTokens ? size_t(stateSizes.batch * sizes.tokens) : 0);
  if (how.keepsTokens) {
    std::iota(rows.begin(), rows.end(), 0);
    Expected<void *> place = memory.give(rows.data(), int64_t(rows.size() * sizeof(int32_t)));
    if (!place)
      return place.takeError();
    call.token_indices = static_cast<const int32_t *>(*place);
    call.token_columns = sizes.tokens;
    call.pool_rows = int64_t(rows.size());
  }
  std::vector<int32_t> ownRows(how.replayed ? size_t(sizes.batch) : 0), taken = how.taken;
  if (how.replayed) {
    std::iota(ownRows.begin(), ownRows.end(), 0);
    for (auto [numbers, given] : {std::pair(&ownRows, &call.state_indices), std::pair(&taken, &call.accepted)}) {
      Expected<void *> place = memory.give(numbers->data(), int64_t(numbers->size() * sizeof(int32_t)));
      if (!place)
        return place.takeError();
      *given = static_cast<const int32_t *>(*place);
    }
    call.replayed = how.replayed;
    call.pool_rows = sizes.batch;
  }
  std::vector<int32_t> parents = how.parents;
  if (!parents.empty()) {
    Expected<void *> place = memory.give(parents.data(), int64_t(parents.size() * sizeof(int32_t)));
    if (!place)
      return place.takeError();
    call.parents = static_cast<const int32_t *>(*place);
    call.parent_columns = int64_t(parents.size());
  }
  SmallVector<float *> kept;
  if (how.keptInterval) {
    call.kept_interval = how.keptInterval;
    int64_t rows = recur_kept_rows(code->recurrence, &call);
    if (rows < 0)
      return makeError(recur_message());
    for (const codegen::InterfaceArray &array : interface.arrays) {
      if (array.kind != RECUR_STATE)
        continue;
      if (how.kept->size() == kept.size())
        how.kept->emplace_back(size_t(rows * call.H * *countElements(array.shape)), NAN);
      std::vector<float> &own = (*how.kept)[kept.size()];
      Expected<void *> place = memory.give(own.data(), int64_t(own.size() * sizeof(float)));
      if (!place)
        return place.takeError();
      kept.push_back(static_cast<float *>(*place));
    }
    call.kept_states = kept.data();
  }
  SmallVector<void *> handedStates;
  if (how.handed)
    if (Error error = giveHanded(*how.handed, memory, call, handedStates))
      return std::move(error);
  call.workspace_bytes = how.workspaceBytes;
  int64_t bytes = entries.query(code->recurrence, &call);
  if (bytes < 0)
    return makeError(recur_message());
  std::unique_ptr<void, void (*)(void *)> workspace(aligned_alloc(64, size_t(bytes) / 64 * 64 + 64), free);
  std::memset(workspace.get(), 0xFF, size_t(bytes));
  Expected<void *> space = memory.give(workspace.get(), bytes);
  if (!space)
    return space.takeError();
  call.workspace = *space;
  call.workspace_bytes = bytes;
  if (entries.run(code->recurrence, &call) != RECUR_OK)
    return makeError(recur_message());
  if (Error error = memory.wait())
    return std::move(error);
  for (auto [state, place] : enumerate(kept)) {
    std::vector<float> &own = (*how.kept)[state];
    if (Error error = memory.take(own.data(), place, int64_t(own.size() * sizeof(float))))
      return std::move(error);
  }
  if (how.handed)
    if (Error error = takeHanded(*how.handed, memory, call))
      return std::move(error);
  std::vector<std::pair<codegen::ArgumentField, Array>> written;
  for (auto [field, array, argument, shape] : zip(fields, arrays, arguments, shapes)) {
    if (field.isRead() || !argument.data)
      continue;
    if (Error error = memory.take(array.data(), argument.data, array.size()))
      return std::move(error);
    written.emplace_back(field, Array{{shape.begin(), shape.end()}, array.read()});
  }
  return written;
}

bool HostEngine::canKeepTokens() const {
  return !isOnGPU() || ((plan == RECUR_PLAN_AUTO || plan == RECUR_PLAN_STEP) &&
                        any_of(interface.kernels,
                               [](const codegen::InterfaceKernel &kernel) { return kernel.plan == RECUR_PLAN_STEP; }));
}

Expected<data::Results> HostEngine::run(const data::Data &data, const HostCall &how) const {
  auto written =
      call({recur_workspace_size, recur_forward, plan}, codegen::getArgumentFields(interface),
           {{abi::Role::Input, &data.inputs}, {abi::Role::Param, &data.params}, {abi::Role::Initial, &data.initial}},
           data.sizes, how);
  if (!written)
    return written.takeError();
  data::Results results;
  for (auto &[field, array] : *written)
    (field.isState() ? results.final : results.outputs)[field.array->name] = std::move(array);
  return results;
}

Expected<data::Data> HostEngine::runGradient(const data::Data &data, const data::Results &cotangents,
                                             const HostCall &how) const {
  auto written =
      call({recur_backward_workspace_size, recur_backward, how.gradientPlan}, codegen::getGradientFields(interface),
           {{abi::Role::Input, &data.inputs},
            {abi::Role::Param, &data.params},
            {abi::Role::Initial, &data.initial},
            {abi::Role::OutputCotangent, &cotangents.outputs},
            {abi::Role::FinalCotangent, &cotangents.final}},
           data.sizes, how);
  if (!written)
    return written.takeError();
  data::Data gradient;
  gradient.sizes = data.sizes;
  for (auto &[field, array] : *written) {
    data::NamedArrays &into = field.role == abi::Role::InputGradient   ? gradient.inputs
                              : field.role == abi::Role::ParamGradient ? gradient.params
                                                                       : gradient.initial;
    into[field.array->name] = std::move(array);
  }
  return gradient;
}

std::vector<std::string> HostEngine::listGradients() const {
  std::vector<std::string> names;
  for (const codegen::ArgumentField &field : codegen::getGradientFields(interface))
    if (!field.isRead())
      names.push_back(field.name);
  return names;
}
