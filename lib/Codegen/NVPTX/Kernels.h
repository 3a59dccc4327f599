// LLVM IR of kernels to their code, each kernel apart from the others and several at once: what takes the time of a
// build is LLVM's and the assembler's, and grows with what a function has.
#pragma once
#include "Codegen/NVPTX/Assembler.h"
#include "Target/Effort.h"
#include "Target/Target.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace recur::codegen {

/// One kernel before it is optimised, as any thread can read it. Kernels that do the same have the same bitcode: it has
/// none of their names.
struct KernelIR {
  std::string symbol, bitcode;
};

/// The kernels of a module, which call no functions.
std::vector<KernelIR> splitKernels(const llvm::Module &module);

struct MadeKernel {
  std::string bitcode, ptx; // after LLVM's passes, without its name
  std::string symbol;       // its name in the cubin: that of the first of those that are the same
  Cubin cubin;              // without bytes where nothing assembles it
};

/// Its text under a name.
std::string getPTX(const MadeKernel &kernel, llvm::StringRef symbol);
llvm::Expected<std::unique_ptr<llvm::Module>> readKernel(const MadeKernel &kernel, llvm::StringRef symbol,
                                                         llvm::LLVMContext &context);

/// Makes kernels, and none twice: those that other factories of the process made last are not made again either.
class KernelFactory {
public:
  KernelFactory(const Target &target, Effort effort) : target(target), effort(effort) {}
  /// The kernels in their order, which are valid as long as this is. `assembles`: with cubins.
  llvm::Expected<std::vector<const MadeKernel *>> make(llvm::ArrayRef<const KernelIR *> kernels, bool assembles);

private:
  llvm::Expected<MadeKernel> makeOne(const KernelIR &kernel, bool assembles) const;

  const Target &target;
  Effort effort;
  llvm::StringMap<std::shared_ptr<const MadeKernel>> made; // by their bitcode
};

} // namespace recur::codegen
