// From LLVM IR to objects and assembly.
#pragma once
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace recur::codegen {

struct Machine {
  std::string triple, cpu;
  std::vector<std::string> features; // by LLVM's names, beside those of the cpu
};

enum class CodeForm { Object, Assembly };

/// Makes the module one for the machine: triple, data layout, and what each function may use.
llvm::Error setMachine(llvm::Module &module, const Machine &machine);
/// Optimises as clang -O3 does.
llvm::Error optimize(llvm::Module &module, const Machine &machine);
/// Position-independent code.
llvm::Expected<std::string> compileModule(llvm::Module &module, const Machine &machine, CodeForm form);

} // namespace recur::codegen
