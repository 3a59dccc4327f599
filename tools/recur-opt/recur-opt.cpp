// recur-opt: reads IR of any stage, runs the passes named on the command line, and prints what they make of it; with
// --interpret runs the programs themselves.
#include "Interpreter/InterpretPass.h"
#include "Pipelines/Registration.h"
#include "dialects/Check/Check.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

/// What LLVM's own libraries bring into every program that is linked with them: --help-hidden lists it.
static void hideOptionsOfLLVM() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "help-list" && name != "help-hidden" && name != "version" && name != "color")
      option->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  hideOptionsOfLLVM(); // before those of MLIR and of this project are registered
  mlir::DialectRegistry registry;
  recur::registerAllDialects(registry);
  registry.insert<recur::check_ir::CheckDialect>();
  recur::registerAllPasses();
  recur::interpreter::registerInterpretPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Recur's optimizer", registry));
}
