// The verbs of recurc, each in a file of its own. stdout is for data, stderr for talk.
#pragma once
#include "Driver/Options.h"
#include "Driver/Reporting.h"

namespace recur::driver {

llvm::Expected<ExitCode> runBuild(const llvm::opt::InputArgList &args);
llvm::Expected<ExitCode> runExplain(const llvm::opt::InputArgList &args);
llvm::Expected<ExitCode> runCheck(const llvm::opt::InputArgList &args);
llvm::Expected<ExitCode> runRun(const llvm::opt::InputArgList &args);
llvm::Expected<ExitCode> runTargets(const llvm::opt::InputArgList &args);
llvm::Expected<ExitCode> runFormat(const llvm::opt::InputArgList &args);
llvm::Expected<ExitCode> runLibrary(const llvm::opt::InputArgList &args);

} // namespace recur::driver
