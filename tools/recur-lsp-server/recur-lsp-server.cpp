// recur-lsp-server: serves editors that show .recur files or, with --mlir, .mlir files that hold Recur's dialects (the
// Language Server Protocol on stdio).
#include "LanguageServer/Main.h"

int main(int argc, char **argv) { return recur::languageserver::runServer(argc, argv); }
