// Runs a compiled kernel in this process on the data that the interpreters take.
#pragma once
#include "Codegen/CPU/CPUKernel.h"
#include "Interpreter/Data.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
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
    LoadedKernel kernel;
    kernel.function = symbol->toPtr<Function>();
    kernel.object = std::move(object);
    kernel.jit = std::move(*jit);
    return std::move(kernel);
  }

  /// With a workspace that is full of NaN.
  void call(llvm::ArrayRef<CArray> arrays, int64_t tokens) const {
    size_t bytes = (object.workspaceBytes + 63) / 64 * 64;
    void *workspace = std::aligned_alloc(64, bytes);
    std::memset(workspace, 0xFF, bytes);
    function(arrays.data(), tokens, workspace);
    std::free(workspace);
  }

  Function function = nullptr;
  KernelObject object;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// The program on all batches and heads, in float32.
inline interpreter::Results runKernel(const LoadedKernel &kernel, chunk::ProgramOp program,
                                      const interpreter::Data &data) {
  using namespace interpreter;
  using Floats = std::vector<float>;
  auto toFloats = [](const Array &array) { return Floats(array.values.begin(), array.values.end()); };
  auto width = [](llvm::ArrayRef<int64_t> shape) { return *countElements(shape); };
  const Sizes &sizes = data.sizes;
  std::map<std::string, Floats> inputs, params, initial, outputs, final;
  for (auto &[name, array] : data.inputs)
    inputs[name] = toFloats(array);
  for (auto &[name, array] : data.params)
    params[name] = toFloats(array);
  for (auto &[name, array] : data.initial)
    initial[name] = toFloats(array);
  Results results;
  for (chunk::OutputOp output : program.getOutputs()) {
    auto shape = getFullShape(Role::Output, sizes, chunk::shapePerToken(output.getValue()));
    results.outputs[output.getName().str()] = {{shape.begin(), shape.end()}, {}};
    outputs[output.getName().str()].resize(width(shape));
  }
  for (chunk::StateOp state : program.getStates()) {
    auto shape = getFullShape(Role::Final, sizes, chunk::tensorOf(state).getShape());
    results.final[state.getName().str()] = {{shape.begin(), shape.end()}, {}};
    final[state.getName().str()].resize(width(shape));
  }
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h) {
      std::vector<LoadedKernel::CArray> arrays;
      auto add = [&](Floats &values, int64_t index, int64_t size, int64_t stride) {
        arrays.push_back({values.data() + index * size, size * stride});
      };
      for (chunk::InputOp input : program.getInputs()) {
        int64_t heads = input.getShared() ? sizes.groups : sizes.heads;
        int64_t head = input.getShared() ? h / (sizes.heads / sizes.groups) : h;
        add(inputs[input.getName().str()], b * sizes.tokens * heads + head, width(chunk::shapePerToken(input)), heads);
      }
      for (chunk::ParamOp param : program.getParams())
        add(params[param.getName().str()], h, width(chunk::shapePerToken(param)), 0);
      auto addStates = [&](std::map<std::string, Floats> &from) {
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
        add(outputs[output.getName().str()], b * sizes.tokens * sizes.heads + h,
            width(chunk::shapePerToken(output.getValue())), sizes.heads);
      addStates(final);
      kernel.call(arrays, sizes.tokens);
    }
  for (auto &[name, values] : outputs)
    results.outputs[name].values.assign(values.begin(), values.end());
  for (auto &[name, values] : final)
    results.final[name].values.assign(values.begin(), values.end());
  return results;
}

} // namespace recur
