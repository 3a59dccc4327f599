#include "Compile/Backend.h"
#include "Support/Errors.h"

using namespace llvm;
using namespace recur;

Expected<const compile::Backend *> compile::findBackend(const Target &target) {
  switch (target.kind) {
  case TargetKind::CPU:
    return &getCPUBackend();
  case TargetKind::GPU:
    return makeError("--target: this version makes no kernels for '" + target.name +
                     "'; it does for host, x86-64, x86-64-v3, x86-64-v4 and x86-64-v4-amx");
  }
  llvm_unreachable("a kind of target");
}
