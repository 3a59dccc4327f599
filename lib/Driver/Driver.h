// recurc from its command line to its exit code.
#pragma once

namespace recur::driver {

int runRecurc(int argc, char **argv);

} // namespace recur::driver
