// LLVM IR to machine code of a target.
#pragma once
#include "Target/Effort.h"
#include "Target/Target.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace recur::codegen {

/// Who makes vectors of a module's code.
enum class Vectors {
  Chosen, // they are in the code already, as good as they can be
  Found,  // LLVM's vectorizers look for them
};

enum class CodeForm { Object, Assembly };

/// Makes the module one for the target: triple, data layout, and what each function may use. Then optimises it,
/// unless it is to be quick.
llvm::Error optimize(llvm::Module &module, const Target &target, Vectors vectors, Effort effort);

/// Position-independent code of an optimised module, as bytes or text. The module is spent afterwards.
llvm::Expected<std::string> emitCode(llvm::Module &module, const Target &target, CodeForm form, Effort effort);

/// The module as text.
std::string printIR(const llvm::Module &module);

} // namespace recur::codegen
