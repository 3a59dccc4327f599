// LLVM IR to machine code of a target.
#pragma once
#include "Target/Effort.h"
#include "Target/Target.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace recur::codegen {

enum class CodeForm { Object, Assembly };

/// Makes the module one for the target: triple, data layout, and what each function may use. Then optimises it,
/// unless it is to be quick. The code has its vectors already, as good as they can be; of loops over single numbers,
/// which a function says that it has (Target/CodeAttributes.h), LLVM's vectorizers make some.
llvm::Error optimize(llvm::Module &module, const Target &target, Effort effort);

/// Position-independent code of an optimised module, as bytes or text. The module is spent afterwards.
llvm::Expected<std::string> emitCode(llvm::Module &module, const Target &target, CodeForm form, Effort effort);

/// The module as text.
std::string printIR(const llvm::Module &module);

} // namespace recur::codegen
