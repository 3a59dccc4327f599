#include "Compile/ProgramLowering.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

Expected<std::unique_ptr<Module>> ProgramLowering::translate(LLVMContext &context) {
  Expected<std::unique_ptr<Module>> translated = translateToLLVMIR(getModule(), context);
  if (!translated && !getMessage().empty()) {
    consumeError(translated.takeError());
    return createStringError(getMessage());
  }
  return translated;
}

Expected<std::unique_ptr<Module>> ProgramLowering::translate(LLVMContext &context, const Target &target,
                                                             Effort effort) {
  Expected<std::unique_ptr<Module>> translated = translate(context);
  if (translated)
    if (Error error = codegen::optimize(**translated, target, effort))
      return std::move(error);
  return translated;
}
