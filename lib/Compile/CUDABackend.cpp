// Kernels for NVIDIA GPUs: one image of all of them, which travels in an object of this machine's with the descriptors.
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "Codegen/NVPTX/Assembler.h"
#include "Compile/Backend.h"
#include "Compile/CUDAKernel.h"
#include "Compile/KernelPlans.h"
#include "Support/Errors.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::CodeForm;
using codegen::ObjectFile;

namespace {

class CUDAKernelMaker : public KernelMaker {
public:
  CUDAKernelMaker(const PipelineOptions &pipeline, const std::string &objectName, Listings &listings)
      : pipeline(pipeline), objectName(objectName), listings(listings) {}
  Expected<KernelResources> addStep(dgps::RecurrenceOp recurrence, StringRef symbol) override;
  Expected<KernelResources> addProgram(chunk::ProgramOp program, StringRef symbol) override;
  Expected<std::vector<ObjectFile>> finish(ArrayRef<codegen::KernelInterface> interfaces) override;

private:
  Expected<std::string> makeImage();

  PipelineOptions pipeline;
  std::string objectName;
  Listings &listings;
  LLVMContext context;
  std::unique_ptr<Module> all; // null while there is no kernel
};

class CUDABackend : public Backend {
public:
  recur_device getDevice() const override { return RECUR_CUDA; }
  Error check(const PipelineOptions &pipeline) const override { return Error::success(); }
  std::optional<std::string> explainNoPlan(const Target &target, recur_plan plan) const override;
  int64_t getFirstTokens(chunk::ProgramOp program, recur_plan plan) const override { return 0; }
  Target makePortable(const Target &target) const override { return target; }
  Expected<PipelineOptions> complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
  Expected<KernelResources> measureStep(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override {
    return make_error<InternalError>("a GPU has no plan 'step'");
  }
  Expected<KernelResources> measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const override;
  Expected<std::vector<Remark>> explainKernels(dgps::RecurrenceOp recurrence,
                                               const PipelineOptions &pipeline) const override;
  std::unique_ptr<KernelMaker> start(const PipelineOptions &pipeline, const std::string &objectName,
                                     Listings &listings) const override {
    return std::make_unique<CUDAKernelMaker>(pipeline, objectName, listings);
  }
  ArrayRef<StringRef> getCodeForms() const override {
    static constexpr StringRef forms[] = {"ptx", "cubin"};
    return forms;
  }
  Expected<std::string> generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                     StringRef form) const override;
};

} // namespace

const Backend &compile::getCUDABackend() {
  static const CUDABackend backend;
  return backend;
}

static KernelResources toResources(CUDAPlan plan) { return {plan.workspaceBytes, std::move(plan.launches)}; }

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

std::optional<std::string> CUDABackend::explainNoPlan(const Target &target, recur_plan plan) const {
  if (plan == RECUR_PLAN_STEP || plan == RECUR_PLAN_SEGMENT)
    return "this version makes no such kernels for GPUs";
  return std::nullopt;
}

Expected<PipelineOptions> CUDABackend::complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const {
  PipelineOptions completed = pipeline;
  if (pipeline.chunk)
    return completed;
  Expected<std::vector<TriedChunk>> tried = tryChunks(recurrence, pipeline);
  if (!tried)
    return tried.takeError();
  completed.chunk = tried->back().chunk;
  return completed;
}

Expected<KernelResources> CUDABackend::measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const {
  Expected<CUDAPlan> plan = planCUDAKernel(program, pipeline);
  if (!plan)
    return plan.takeError();
  return toResources(std::move(*plan));
}

static std::string printKiB(int64_t bytes) { return fmt::format("{:.1f} KiB", double(bytes) / 1024); }

Expected<std::vector<Remark>> CUDABackend::explainKernels(dgps::RecurrenceOp recurrence,
                                                          const PipelineOptions &pipeline) const {
  Expected<std::vector<TriedChunk>> tried = tryChunks(recurrence, pipeline);
  if (!tried)
    return tried.takeError();
  std::vector<Remark> remarks;
  for (const TriedChunk &one : ArrayRef(*tried).drop_back())
    remarks.push_back(
        {"rejected", fmt::format("{} tokens at once: {} of a CTA's tiles would lie in the device's memory", one.chunk,
                                 printKiB(one.plan.workspaceBytes))});
  const TriedChunk &taken = tried->back();
  for (const codegen::InterfaceLaunch &launch : taken.plan.launches)
    remarks.push_back(
        {"CTA", fmt::format("{} threads for each head of each sequence, {} of {} of shared memory", launch.threads,
                            printKiB(launch.sharedBytes), printKiB(pipeline.target.cta.sharedBytes))});
  PipelineOptions options = pipeline;
  options.chunk = taken.chunk;
  Listings listings;
  auto module = copyTo("chunk", recurrence, options);
  if (!module)
    return module.takeError();
  CUDAKernelMaker maker(options, "", listings);
  if (Error error = maker.addProgram(*(**module).getOps<chunk::ProgramOp>().begin(), "kernel").takeError())
    return std::move(error);
  if (Error error = maker.finish({}).takeError()) {
    remarks.push_back({"refused", toString(std::move(error))}); // build says the same
    return remarks;
  }
  if (listings.registers)
    remarks.push_back({"registers", fmt::format("{} of {} a thread, none of them kept in memory", listings.registers,
                                                pipeline.target.cta.registersPerThread)});
  for (const std::string &note : listings.notes)
    remarks.push_back({"registers", note});
  return remarks;
}

static Expected<std::string> emitPTX(Module &module, const Target &target) {
  return codegen::emitCode(module, target, CodeForm::Assembly, cudaEffort);
}

Expected<std::string> CUDABackend::generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                                StringRef form) const {
  const Target &target = pipeline.target;
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = translateToLLVMIR(lowered, context);
  if (!module)
    return module.takeError();
  if (Error error = codegen::optimize(**module, target, codegen::Vectors::Chosen, cudaEffort))
    return std::move(error);
  Expected<std::string> ptx = emitPTX(**module, target);
  if (!ptx || form == "ptx")
    return ptx;
  Expected<Cubin> cubin = assemble(*ptx, target.name);
  if (!cubin)
    return cubin.takeError();
  return std::move(cubin->bytes);
}

//===----------------------------------------------------------------------===//
// Its kernels
//===----------------------------------------------------------------------===//

Expected<KernelResources> CUDAKernelMaker::addStep(dgps::RecurrenceOp, StringRef) {
  return make_error<InternalError>("a GPU has no plan 'step'");
}

Expected<KernelResources> CUDAKernelMaker::addProgram(chunk::ProgramOp program, StringRef symbol) {
  pipeline.symbol = symbol.str();
  CUDAPlan plan;
  Expected<std::unique_ptr<Module>> module = compileCUDAKernel(program, pipeline, context, plan);
  if (!module)
    return module.takeError();
  if (!all)
    all = std::move(*module);
  else if (Linker::linkModules(*all, std::move(*module)))
    return make_error<InternalError>("the kernels do not link");
  return toResources(std::move(plan));
}

/// The cubin; or PTX, which the driver compiles, where nobody asked for a cubin and there is no assembler.
Expected<std::string> CUDAKernelMaker::makeImage() {
  if (listings.wantsLLVM)
    listings.llvmIR += codegen::printIR(*all);
  Expected<std::string> ptx = emitPTX(*all, pipeline.target);
  if (!ptx)
    return ptx.takeError();
  listings.ptx += *ptx;
  Expected<std::string> assembler = findAssembler();
  if (!assembler) {
    if (listings.wantsCubin)
      return assembler.takeError();
    listings.notes.push_back(
        "the kernels for '" + pipeline.target.name +
        "' are PTX, which the GPU's driver compiles when they are loaded: " + toString(assembler.takeError()));
    return *ptx;
  }
  Expected<Cubin> cubin = assemble(*ptx, pipeline.target.name);
  if (!cubin)
    return cubin.takeError();
  listings.cubin += cubin->bytes;
  listings.registers = cubin->registers;
  return std::move(cubin->bytes);
}

Expected<std::vector<ObjectFile>> CUDAKernelMaker::finish(ArrayRef<codegen::KernelInterface> interfaces) {
  Expected<std::string> image = makeImage();
  if (!image)
    return image.takeError();
  // Data alone, for whatever processor is beside the GPU.
  Target beside = *findTarget("x86-64");
  Module descriptors(objectName, context);
  codegen::addDescriptors(descriptors, interfaces, *image);
  if (Error error = codegen::optimize(descriptors, beside, codegen::Vectors::Chosen, pipeline.effort))
    return std::move(error);
  Expected<std::string> object = codegen::emitCode(descriptors, beside, CodeForm::Object, pipeline.effort);
  if (!object)
    return object.takeError();
  std::vector<ObjectFile> objects;
  objects.push_back({objectName, std::move(*object)});
  return std::move(objects);
}
