#include "LanguageServer/Main.h"
#include "LanguageServer/Server.h"
#include "Pipelines/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

static constexpr llvm::StringLiteral help = R"(recur-lsp-server: the Language Server Protocol on stdin and stdout

Usage: recur-lsp-server [--stdio]          for .recur files
       recur-lsp-server --mlir [options]   for .mlir files that hold Recur's dialects; --mlir --help lists the options
)";

static int serveMLIR(int argc, char **argv) {
  mlir::DialectRegistry registry;
  recur::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

int recur::languageserver::runServer(int argc, char **argv) {
  llvm::ArrayRef<char *> words(argv, argc);
  if (argc > 1 && llvm::StringRef(argv[1]) == "--mlir") {
    argv[1] = argv[0];
    return serveMLIR(argc - 1, argv + 1);
  }
  for (llvm::StringRef word : words.drop_front()) {
    if (word == "--help" || word == "-h") {
      llvm::outs() << help;
      return 0;
    }
    if (word != "--stdio") { // which some editors say
      llvm::errs() << "recur-lsp-server: error: unknown option '" << word << "'; see 'recur-lsp-server --help'\n";
      return 1;
    }
  }
  return serve(stdin, llvm::outs());
}
