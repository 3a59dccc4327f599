// What recur-opt, recur-lsp-server and recurc know of: every dialect and every pass of the project, and of MLIR those
// that its IR uses.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace recur {

/// Adds every dialect that a Recur program may hold at some stage.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes every pass and named pipeline known to --pass-pipeline and to the command line. Calling it again does nothing.
void registerAllPasses();

} // namespace recur
