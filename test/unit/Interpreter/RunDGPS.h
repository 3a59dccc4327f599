// Runs the recurrences of a file in the interpreter.
#pragma once
#include "../IRFile.h"
#include "Interpreter/DGPSInterpreter.h"
#include "gmock/gmock.h"

namespace recur::interpreter {

class DGPSTest : public ::testing::Test {
protected:
  /// `file` is in this folder.
  explicit DGPSTest(const std::string &file) : file("Interpreter/" + file) {}

  dgps::RecurrenceOp find(llvm::StringRef name) const { return file.find<dgps::RecurrenceOp>(name); }

  data::Results run(llvm::StringRef name, const data::Data &data) const {
    llvm::Expected<data::Results> results = interpret(find(name), data);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    return std::move(*results);
  }

  std::string runToError(llvm::StringRef name, const data::Data &data) const {
    llvm::Expected<data::Results> results = interpret(find(name), data);
    return results ? "no error" : llvm::toString(results.takeError());
  }

private:
  const test::IRFile<dgps::DGPSDialect> file;
};

} // namespace recur::interpreter
