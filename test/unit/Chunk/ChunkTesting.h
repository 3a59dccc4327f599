// Specifications as dgps IR and as chunk programs, and random data to run them on.
#pragma once
#include "Conversion/DGPSToChunk/Passes.h"
#include "Frontend/Frontend.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Support/DiagnosticRenderer.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gmock/gmock.h"
#include <random>

namespace recur::interpreter {

/// A module of one specification: its recurrence, and what is derived from it.
class ChunkTest : public ::testing::Test {
protected:
  ChunkTest() { context.loadDialect<dgps::DGPSDialect, chunk::ChunkDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> compile(const std::string &name, const std::string &text,
                                            const std::vector<std::pair<std::string, int64_t>> &dims) {
    frontend::InstantiationOptions options;
    for (const std::string &dim : listDims(text))
      options.dims[dim] = dims[0].second; // the others as large as the first
    for (auto [dim, size] : dims)
      if (options.dims.count(dim))
        options.dims[dim] = size;
    SourceBuffer buffer(name, text);
    DiagnosticEngine diagnostics;
    auto module = frontend::compile(buffer, options, context, diagnostics, nullptr);
    if (!module) {
      std::string message;
      llvm::raw_string_ostream stream(message);
      renderDiagnostics(stream, buffer, diagnostics);
      ADD_FAILURE() << message;
    }
    return module;
  }

  /// What the `dim` line names without giving it a size.
  static std::vector<std::string> listDims(const std::string &text) {
    std::vector<std::string> dims;
    size_t begin = text.find("dim ");
    if (begin == std::string::npos)
      return dims;
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(text).substr(begin + 4).split('\n').first.split('#').first.split(parts, ',');
    for (llvm::StringRef part : parts)
      if (!part.contains('='))
        dims.push_back(part.trim().str());
    return dims;
  }

  static dgps::RecurrenceOp recurrenceOf(mlir::ModuleOp module) { return *module.getOps<dgps::RecurrenceOp>().begin(); }

  /// The recurrence's chunk program, after the passes that clean it up.
  mlir::OwningOpRef<mlir::ModuleOp> toChunk(mlir::ModuleOp module, int64_t size, bool saysWhatRemains = false) {
    mlir::OwningOpRef<mlir::ModuleOp> result = mlir::cast<mlir::ModuleOp>(module->clone());
    mlir::PassManager passes(&context);
    passes.addPass(conversion::createConvertDGPSToChunkPass({size, saysWhatRemains}));
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    EXPECT_TRUE(mlir::succeeded(passes.run(*result)));
    return result;
  }

  static chunk::ProgramOp programOf(mlir::ModuleOp module) {
    auto programs = module.getOps<chunk::ProgramOp>();
    return programs.empty() ? chunk::ProgramOp() : *programs.begin();
  }

  template <typename T> static T get(llvm::Expected<T> value) {
    if (value)
      return std::move(*value);
    ADD_FAILURE() << llvm::toString(value.takeError());
    return T();
  }

  mlir::MLIRContext context;
};

/// Numbers in [-1, 1] for everything that the recurrence takes; for gates, whose names begin with g, w, f or log, in
/// [-1, 0]. A square state starts near the identity, that an inverse may be kept there.
inline data::Data randomData(dgps::RecurrenceOp recurrence, const data::Sizes &sizes, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  auto fill = [&](data::Role role, mlir::Value value, llvm::StringRef name) {
    llvm::ArrayRef<int64_t> shape = dgps::shapeOf(value);
    auto full = getFullShape(role, sizes, shape);
    Array array{{full.begin(), full.end()}, std::vector<double>(*countElements(full))};
    bool gate = name.starts_with("g") || name == "w" || name.starts_with("log");
    bool positive = name.starts_with("beta") || name == "ridge" || name == "A" || name == "z";
    for (double &x : array.values) {
      x = uniform(generator);
      if (gate)
        x = -std::fabs(x);
      if (positive)
        x = 0.2 + 0.4 * (x + 1);
    }
    if (role == data::Role::Initial && shape.size() == 2 && shape[0] == shape[1] && (name == "P" || name == "G"))
      for (size_t i = 0; i < array.values.size(); ++i)
        array.values[i] = (i / shape[1]) % shape[0] == i % shape[1] ? 1 : 0;
    return array;
  };
  data::Data data;
  data.sizes = sizes;
  for (dgps::InputOp input : recurrence.getInputs())
    data.inputs[input.getName().str()] =
        fill(input.getShared() ? data::Role::SharedInput : data::Role::Input, input, input.getName());
  for (dgps::ParamOp param : recurrence.getParams())
    data.params[param.getName().str()] = fill(data::Role::Param, param, param.getName());
  for (dgps::StateOp state : recurrence.getStates())
    data.initial[state.getName().str()] = fill(data::Role::Initial, state, state.getName());
  return data;
}

} // namespace recur::interpreter
