// The machines that Recur compiles for.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace recur {

struct Target {
  std::string name;
  std::string kind; // "cpu" or "gpu"
  std::string triple;
  std::string cpu;                   // as LLVM names it
  std::vector<std::string> features; // that kernels make use of
  bool runsHere = false;
};

/// `host` with what this machine has, then the named targets.
std::vector<Target> getTargets();
/// The one of this name, if there is one.
std::optional<Target> findTarget(llvm::StringRef name);
/// Their names, without looking at the machine.
llvm::ArrayRef<llvm::StringRef> getTargetNames();

} // namespace recur
