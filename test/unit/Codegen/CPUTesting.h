// Runs a compiled kernel in this process on the data that the interpreters take.
#pragma once
#include "Compile/CPUKernel.h"
#include "Data/Data.h"
#include "Runtime/CPU/Features.h"
#include "recur/Runtime.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace recur {

/// A kernel that is loaded and can be called.
class LoadedKernel {
public:
  struct CArray {
    void *data;
    int64_t tokenStride;
  };
  using Function = void (*)(const CArray *, int64_t, void *);

  static llvm::Expected<LoadedKernel> load(KernelObject object) {
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit)
      return jit.takeError();
    if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object.object, object.symbol)))
      return std::move(error);
    auto symbol = (*jit)->lookup(object.symbol);
    if (!symbol)
      return symbol.takeError();
    runtime::hasFeatures(RECUR_FEATURE_AMX_TILE); // asks the system for it, as a call by the runtime does
    LoadedKernel kernel;
    kernel.function = symbol->toPtr<Function>();
    kernel.object = std::move(object);
    kernel.jit = std::move(*jit);
    return std::move(kernel);
  }

  /// With a workspace that is full of NaN, and behind which nothing may be written.
  void call(llvm::ArrayRef<CArray> arrays, int64_t tokens) const {
    constexpr size_t guard = 4096;
    size_t bytes = (object.workspaceBytes + 63) / 64 * 64;
    auto *workspace = static_cast<unsigned char *>(std::aligned_alloc(64, bytes + guard));
    std::memset(workspace, 0xFF, bytes + guard);
    function(arrays.data(), tokens, workspace);
    EXPECT_TRUE(std::all_of(workspace + object.workspaceBytes, workspace + bytes + guard,
                            [](unsigned char byte) { return byte == 0xFF; }))
        << "the kernel wrote behind its workspace of " << object.workspaceBytes << " bytes";
    std::free(workspace);
  }

  Function function = nullptr;
  KernelObject object;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// Numbers as a kernel has them in memory.
class Storage {
public:
  Storage(DataType type, llvm::ArrayRef<double> values) : type(type), bytes(values.size() * size()) {
    for (size_t i = 0; i < values.size(); ++i)
      put(i, float(values[i]));
  }
  size_t size() const { return size_t(getByteSize(type)); }
  /// What has no numbers has no address to count from either.
  char *at(int64_t index) { return bytes.empty() ? nullptr : bytes.data() + index * size(); }

  std::vector<double> values() const {
    std::vector<double> result(bytes.size() / size());
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = get(i);
    return result;
  }

private:
  template <typename T> void write(size_t index, T value) {
    std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
  }
  template <typename T> T read(size_t index) const {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
  }
  void put(size_t index, float value) {
    if (type == DataType::F32)
      return write(index, value);
    write(index, uint16_t(toBits(value, type)));
  }
  double get(size_t index) const {
    return type == DataType::F32 ? read<float>(index) : fromBits(read<uint16_t>(index), type);
  }

  DataType type;
  std::vector<char> bytes;
};

/// The numbers that are left of an array in the type's memory.
inline void roundTo(DataType type, data::NamedArrays &arrays) {
  for (auto &[name, array] : arrays)
    array.values = Storage(type, array.values).values();
}

/// The program on all batches and heads.
inline data::Results runKernel(const LoadedKernel &kernel, chunk::ProgramOp program, const data::Data &data,
                               DataType type = DataType::F32) {
  using namespace data;
  auto width = [](llvm::ArrayRef<int64_t> shape) { return *countElements(shape); };
  const data::Sizes &sizes = data.sizes;
  std::map<std::string, Storage> inputs, params, initial, outputs, final;
  for (auto &[name, array] : data.inputs)
    inputs.try_emplace(name, type, array.values);
  for (auto &[name, array] : data.params)
    params.try_emplace(name, type, array.values);
  for (auto &[name, array] : data.initial)
    initial.try_emplace(name, DataType::F32, array.values);
  data::Results results;
  for (chunk::OutputOp output : program.getOutputs()) {
    auto shape = getFullShape(data::Role::Output, sizes, chunk::shapePerToken(output.getValue()));
    results.outputs[output.getName().str()] = {{shape.begin(), shape.end()}, {}};
    outputs.try_emplace(output.getName().str(), type, std::vector<double>(width(shape)));
  }
  for (chunk::StateOp state : program.getStates()) {
    auto shape = getFullShape(data::Role::Final, sizes, state.getCallerShape());
    results.final[state.getName().str()] = {{shape.begin(), shape.end()}, {}};
    final.try_emplace(state.getName().str(), DataType::F32, std::vector<double>(width(shape)));
  }
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h) {
      std::vector<LoadedKernel::CArray> arrays;
      auto add = [&](Storage &values, int64_t index, int64_t size, int64_t stride) {
        arrays.push_back({values.at(index * size), size * stride});
      };
      for (chunk::InputOp input : program.getInputs()) {
        int64_t heads = input.getShared() ? sizes.groups : sizes.heads;
        int64_t head = input.getShared() ? h / (sizes.heads / sizes.groups) : h;
        add(inputs.at(input.getName().str()), b * sizes.tokens * heads + head, width(chunk::shapePerToken(input)),
            heads);
      }
      for (chunk::ParamOp param : program.getParams())
        add(params.at(param.getName().str()), h, width(chunk::shapePerToken(param)), 0);
      auto addStates = [&](std::map<std::string, Storage> &from) {
        for (chunk::StateOp state : program.getStates()) {
          auto entry = from.find(state.getName().str());
          if (entry == from.end())
            arrays.push_back({nullptr, 0});
          else
            add(entry->second, b * sizes.heads + h, width(chunk::tensorOf(state).getShape()), 0);
        }
      };
      addStates(initial);
      for (chunk::OutputOp output : program.getOutputs())
        add(outputs.at(output.getName().str()), b * sizes.tokens * sizes.heads + h,
            width(chunk::shapePerToken(output.getValue())), sizes.heads);
      addStates(final);
      kernel.call(arrays, sizes.tokens);
    }
  for (auto &[name, values] : outputs)
    results.outputs[name].values = values.values();
  for (auto &[name, values] : final)
    results.final[name].values = values.values();
  return results;
}

} // namespace recur
