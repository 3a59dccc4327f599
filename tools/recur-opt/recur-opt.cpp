// recur-opt: reads IR of any stage, runs the passes named on the command line, and prints what they make of it.
#include "Pipelines/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  recur::registerAllDialects(registry);
  recur::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Recur's optimizer", registry));
}
