// recur-lsp-server: serves editors that show .mlir files holding Recur's dialects (the Language Server Protocol on
// stdio).
#include "Pipelines/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  recur::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
