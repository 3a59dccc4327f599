#include "Compile/Artifacts.h"
#include "Codegen/Embed/Names.h"
#include "Support/Errors.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

static constexpr StringRef names[] = {"obj", "lib", "so", "header", "manifest", "asm", "llvm", "ptx", "cubin"};

ArrayRef<StringRef> compile::getArtifactNames() { return names; }

/// The symbols of all descriptors, for whichever target.
static std::vector<std::string> listDescriptors(const Kernels &kernels) {
  std::vector<std::string> symbols;
  for (const codegen::KernelInterface &interface : kernels.interfaces)
    symbols.insert(symbols.end(), {interface.getDescriptorSymbol(), interface.getPreciseSymbol()});
  for (const std::vector<codegen::KernelInterface> &interfaces : kernels.lower)
    for (const codegen::KernelInterface &interface : interfaces)
      symbols.push_back(interface.getDescriptorSymbol());
  return symbols;
}

static Expected<std::string> make(StringRef artifact, const Kernels &kernels, const Listings &listings) {
  if (artifact == "obj")
    return codegen::linkRelocatable(kernels.objects);
  if (artifact == "lib")
    return codegen::makeArchive(kernels.objects);
  if (artifact == "so")
    return codegen::linkShared(kernels.objects, listDescriptors(kernels));
  if (artifact == "header")
    return codegen::printHeader(kernels.interfaces);
  if (artifact == "manifest")
    return codegen::printManifest(kernels.interfaces, kernels.lower);
  return artifact == "asm"    ? listings.assembly
         : artifact == "llvm" ? listings.llvmIR
         : artifact == "ptx"  ? listings.ptx
                              : listings.cubin;
}

static bool hasGPU(const PipelineOptions &pipeline) {
  auto isGPU = [](const Target &target) { return !target.isCPU(); };
  return isGPU(pipeline.target) || any_of(pipeline.lowerTargets, isGPU);
}

Expected<Emission> compile::emitArtifacts(ArrayRef<dgps::RecurrenceOp> recurrences, const PipelineOptions &pipeline,
                                          const KernelNames &kernelNames, ArrayRef<std::string> wanted) {
  for (StringRef artifact : {"ptx", "cubin"})
    if (is_contained(wanted, artifact) && !hasGPU(pipeline))
      return makeError("--emit: '" + artifact + "' is made for GPUs, and --target names none; add one, such as sm_90a");
  Listings listings;
  listings.wantsCubin = is_contained(wanted, "cubin");
  listings.wantsAssembly = is_contained(wanted, "asm");
  listings.wantsLLVM = is_contained(wanted, "llvm");
  std::shared_lock<std::shared_mutex> lock(codegen::getLinkerMutex());
  Expected<Kernels> kernels = compileKernels(recurrences, pipeline, kernelNames, listings);
  lock.unlock();
  if (!kernels)
    return kernels.takeError();
  if (Error error = codegen::checkNames(kernels->interfaces))
    return std::move(error);
  Emission emission;
  emission.notes = std::move(kernels->notes);
  for (StringRef name : names) {
    if (!is_contained(wanted, name))
      continue;
    Expected<std::string> bytes = make(name, *kernels, listings);
    if (!bytes)
      return bytes.takeError();
    emission.artifacts.push_back({name.str(), std::move(*bytes)});
  }
  return std::move(emission);
}
