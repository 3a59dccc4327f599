// LLVM IR to machine code of a target.
#pragma once
#include "Target/CPUTarget.h"

namespace llvm {
class Module;
} // namespace llvm

namespace recur {

enum class MachineCode { object, assembly, optimisedIR };

/// Optimises the module for the target and gives its code, position-independent, as bytes or text.
llvm::Expected<std::string> emitMachineCode(llvm::Module &module, const CPUTarget &target, MachineCode kind);

} // namespace recur
