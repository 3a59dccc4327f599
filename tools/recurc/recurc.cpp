// recurc: compiles, explains, checks and runs recurrences.
#include "Driver/Driver.h"

int main(int argc, char **argv) { return recur::driver::runRecurc(argc, argv); }
