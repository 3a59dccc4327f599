// recur-opt: reads IR of any stage, runs the passes named on the command line, and prints what they make of it; with
// --interpret runs the programs themselves.
#include "Interpreter/InterpretPass.h"
#include "Pipelines/Registration.h"
#include "dialects/Check/Check.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  recur::registerAllDialects(registry);
  registry.insert<recur::check_ir::CheckDialect>();
  recur::registerAllPasses();
  recur::interpreter::registerInterpretPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Recur's optimizer", registry));
}
