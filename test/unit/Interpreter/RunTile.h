// Runs tile IR, written as text, in the interpreter.
#pragma once
#include "Interpreter/TileInterpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"

namespace recur::interpreter {

class TileTest : public ::testing::Test {
protected:
  TileTest() { context.loadDialect<tile::TileDialect>(); }

  /// A caller's array of rows that lie dense.
  struct Rows {
    std::vector<double> values;
    int64_t width = 1;
  };

  void parse(const std::string &kernel) {
    module = mlir::parseSourceString<mlir::ModuleOp>(kernel, &context, "plan");
    ASSERT_TRUE(module) << kernel;
  }

  /// Runs the kernel on the arrays, which it changes, and gives the error, or nothing.
  std::string runKernel(std::vector<Rows> &arrays, int64_t tokens, const TileOptions &options = {}) {
    llvm::SmallVector<CallerArray> callers;
    for (Rows &rows : arrays)
      callers.push_back(
          {rows.values.empty() ? nullptr : rows.values.data(), int64_t(rows.values.size()) / rows.width, rows.width});
    if (llvm::Error error = run(*module->getOps<tile::KernelOp>().begin(), callers, tokens, options))
      return llvm::toString(std::move(error));
    return "";
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace recur::interpreter
