// --provoke: a fault on purpose, so that tests can see what recurc does after one.
#pragma once
#include "Driver/Options.h"

namespace recur::driver {

llvm::Error provoke(const llvm::opt::InputArgList &args);
/// True when every stage is to be given a wrong result, which only 'check' can do.
bool provokesDifference(const llvm::opt::InputArgList &args);

} // namespace recur::driver
