// Runs dgps IR, written as text, in the interpreter.
#pragma once
#include "Interpreter/DGPSInterpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"

namespace recur::interpreter {

class DGPSTest : public ::testing::Test {
protected:
  DGPSTest() { context.loadDialect<dgps::DGPSDialect>(); }

  /// The first recurrence of the text.
  dgps::RecurrenceOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "this is not valid dgps IR: " << text;
      return {};
    }
    return *module->getOps<dgps::RecurrenceOp>().begin();
  }

  data::Results run(const std::string &text, const data::Data &data) {
    dgps::RecurrenceOp recurrence = parse(text);
    if (!recurrence)
      return {};
    llvm::Expected<data::Results> results = interpret(recurrence, data);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    return std::move(*results);
  }

  std::string runToError(const std::string &text, const data::Data &data) {
    dgps::RecurrenceOp recurrence = parse(text);
    llvm::Expected<data::Results> results = interpret(recurrence, data);
    return results ? "no error" : llvm::toString(results.takeError());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace recur::interpreter
