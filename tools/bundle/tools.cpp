// The tools as functions of the library that packages carry.
#include "Driver/Driver.h"
#include "LanguageServer/Main.h"

#define RECUR_TOOL extern "C" __attribute__((visibility("default")))

RECUR_TOOL int recur_main_recurc(int argc, char **argv) { return recur::driver::runRecurc(argc, argv); }
RECUR_TOOL int recur_main_recur_lsp_server(int argc, char **argv) {
  return recur::languageserver::runServer(argc, argv);
}
