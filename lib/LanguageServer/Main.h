// The program recur-lsp-server.
#pragma once

namespace recur::languageserver {

int runServer(int argc, char **argv);

} // namespace recur::languageserver
