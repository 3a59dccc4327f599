#include "Codegen/NVPTX/Kernels.h"
#include "Codegen/LLVM/MachineCode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <deque>
#include <mutex>

using namespace llvm;
using namespace recur;
using codegen::KernelFactory;
using codegen::KernelIR;
using codegen::MadeKernel;

static std::string writeBitcode(const Module &module) {
  std::string bytes;
  raw_string_ostream stream(bytes);
  WriteBitcodeToFile(module, stream);
  return bytes;
}

/// In place of a kernel's own name.
static constexpr StringLiteral anyName = "recur_kernel";

/// Gives a kernel, and the memory that goes by its name, another.
static void rename(Module &module, StringRef from, StringRef to) {
  auto change = [&](GlobalValue &value) {
    StringRef name = value.getName();
    value.setName(name.consume_front(from) ? to + name : to + "_" + name);
  };
  for (GlobalVariable &variable : module.globals())
    change(variable);
  for (Function &function : module)
    if (!function.isDeclaration())
      change(function);
  module.setModuleIdentifier(to);
  module.setSourceFileName(to);
}

std::vector<KernelIR> codegen::splitKernels(const Module &module) {
  std::vector<KernelIR> kernels;
  for (const Function &kernel : module) {
    if (kernel.isDeclaration())
      continue;
    ValueToValueMapTy values;
    std::unique_ptr<Module> own = CloneModule(
        module, values, [&](const GlobalValue *value) { return value == &kernel || isa<GlobalVariable>(value); });
    for (Function &function : make_early_inc_range(*own))
      if (function.isDeclaration() && function.use_empty())
        function.eraseFromParent();
    for (GlobalVariable &variable : make_early_inc_range(own->globals()))
      if (variable.use_empty())
        variable.eraseFromParent();
    rename(*own, kernel.getName(), anyName);
    // What all kernels call is declared in the order in which the first of them called it.
    own->getFunctionList().sort(
        [](const Function &first, const Function &second) { return first.getName() < second.getName(); });
    kernels.push_back({kernel.getName().str(), writeBitcode(*own)});
  }
  return kernels;
}

std::string codegen::getPTX(const MadeKernel &kernel, StringRef symbol) {
  std::string text;
  StringRef rest = kernel.ptx;
  for (size_t at; (at = rest.find(anyName)) != StringRef::npos; rest = rest.substr(at + anyName.size())) {
    text += rest.take_front(at);
    text += symbol;
  }
  return text + rest.str();
}

Expected<std::unique_ptr<Module>> codegen::readKernel(const MadeKernel &kernel, StringRef symbol,
                                                      LLVMContext &context) {
  Expected<std::unique_ptr<Module>> module = parseBitcodeFile(MemoryBufferRef(kernel.bitcode, symbol), context);
  if (module)
    rename(**module, anyName, symbol);
  return module;
}

namespace {

/// The kernels that this process made last. A check makes those that it judges and those that it runs one after
/// another, and they are the same.
class LastKernels {
public:
  std::shared_ptr<const MadeKernel> find(StringRef key) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = kernels.find(key);
    return found == kernels.end() ? nullptr : found->second;
  }
  void add(StringRef key, std::shared_ptr<const MadeKernel> kernel) {
    constexpr size_t most = 64;
    std::lock_guard<std::mutex> lock(mutex);
    if (!kernels.try_emplace(key, std::move(kernel)).second)
      return;
    order.push_back(key.str());
    if (order.size() <= most)
      return;
    kernels.erase(order.front());
    order.pop_front();
  }

private:
  std::mutex mutex;
  StringMap<std::shared_ptr<const MadeKernel>> kernels;
  std::deque<std::string> order; // of their keys, the oldest first
};

LastKernels &getLastKernels() {
  static LastKernels kernels;
  return kernels;
}

} // namespace

/// All that the code depends on: a cubin has the kernel's name, and the assembler is a program that tests exchange.
static std::string makeKey(const Target &target, Effort effort, bool assembles, const KernelIR &kernel) {
  std::string assembler;
  if (assembles) {
    if (Expected<std::string> found = findAssembler())
      assembler = *found;
    else
      consumeError(found.takeError());
  }
  return join(ArrayRef<std::string>{target.cpu, join(target.features, ","), std::to_string(int(effort)), assembler,
                                    kernel.symbol, kernel.bitcode},
              "\n");
}

Expected<MadeKernel> KernelFactory::makeOne(const KernelIR &kernel, bool assembles) const {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = parseBitcodeFile(MemoryBufferRef(kernel.bitcode, kernel.symbol), context);
  if (!module)
    return module.takeError();
  if (Error error = optimize(**module, target, effort))
    return std::move(error);
  MadeKernel result;
  result.symbol = kernel.symbol;
  result.bitcode = writeBitcode(**module);
  Expected<std::string> ptx = emitCode(**module, target, CodeForm::Assembly, effort);
  if (!ptx)
    return ptx.takeError();
  result.ptx = std::move(*ptx);
  if (!assembles)
    return std::move(result);
  Expected<Cubin> cubin = assemble(getPTX(result, kernel.symbol), target.cpu);
  if (!cubin)
    return cubin.takeError();
  result.cubin = std::move(*cubin);
  return std::move(result);
}

Expected<std::vector<const MadeKernel *>> KernelFactory::make(ArrayRef<const KernelIR *> kernels, bool assembles) {
  std::vector<const KernelIR *> wanted;
  StringSet<> isWanted;
  for (const KernelIR *kernel : kernels) {
    if (made.contains(kernel->bitcode) || isWanted.contains(kernel->bitcode))
      continue;
    if (auto last = getLastKernels().find(makeKey(target, effort, assembles, *kernel))) {
      made.try_emplace(kernel->bitcode, std::move(last));
      continue;
    }
    isWanted.insert(kernel->bitcode);
    wanted.push_back(kernel);
  }
  std::vector<std::shared_ptr<MadeKernel>> results(wanted.size());
  std::vector<std::string> messages(wanted.size());
  {
    DefaultThreadPool pool;
    for (auto [kernel, result, message] : zip(wanted, results, messages))
      pool.async([this, assembles, kernel = kernel, &result = result, &message = message] {
        if (Expected<MadeKernel> one = makeOne(*kernel, assembles))
          result = std::make_shared<MadeKernel>(std::move(*one));
        else
          message = toString(one.takeError());
      });
  } // which waits for all
  for (auto [kernel, result, message] : zip(wanted, results, messages)) {
    if (!message.empty())
      return createStringError(message);
    getLastKernels().add(makeKey(target, effort, assembles, *kernel), result);
    made.try_emplace(kernel->bitcode, std::move(result));
  }
  std::vector<const MadeKernel *> found;
  for (const KernelIR *kernel : kernels)
    found.push_back(made.find(kernel->bitcode)->second.get());
  return found;
}
