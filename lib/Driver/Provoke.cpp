#include "Driver/Provoke.h"
#include "Driver/Reporting.h"
#include <cstdlib>

using namespace llvm;
using namespace recur::driver;

Error recur::driver::provoke(const opt::InputArgList &args) {
  const opt::Arg *arg = args.getLastArg(OPT_provoke);
  if (!arg)
    return Error::success();
  StringRef kind = arg->getValue();
  if (kind == "crash")
    std::abort();
  if (kind == "error")
    return make_error<InternalError>("provoked");
  if (kind == "difference")
    return Error::success();
  return makeUnknownValueError("--provoke", kind, {"error", "crash", "difference"});
}

bool recur::driver::provokesDifference(const opt::InputArgList &args) {
  return args.getLastArgValue(OPT_provoke) == "difference";
}
