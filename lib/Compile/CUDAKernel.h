// A chunk program's kernel for an NVIDIA GPU.
#pragma once
#include "Analysis/KernelTime.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Codegen/NVPTX/Kernels.h"
#include "Compile/ProgramLowering.h"
#include "Pipelines/Stages.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

/// The recurrence has the plan that was asked for, and the target's assembler made no kernel of it that is kept.
class RefusedPlanError : public llvm::ErrorInfo<RefusedPlanError> {
public:
  static char ID;
  explicit RefusedPlanError(const llvm::Twine &why) : why(why.str()) {}
  void log(llvm::raw_ostream &os) const override { os << why; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string why;
};

/// Code for a GPU is optimised whatever the effort: else numbers lie in memory that should be in registers, which the
/// assembler's report is an error for.
inline constexpr Effort cudaEffort = Effort::Full;

/// How a GPU goes over the chunks. All in one launch from chunk to chunk with the state in registers, where writes read
/// no state. In phases where the program has some that can be compiled: what no state enters for all chunks at once,
/// and then what states enter from chunk to chunk, where that can be done with the state in registers, and there with
/// inverses that are not rounded to 16 bits if as many chunks have room ahead of their use; or else what becomes of the
/// states for all chunks at once as well, and the states alone from chunk to chunk. Plain: one CTA for each head of
/// each sequence. Each takes the place of the one before where that cannot be.
enum class CUDAForm { AllInChain, PreciseInChain, OutputsInChain, InPhases, Plain };

/// The form that takes the place of this one.
CUDAForm getNext(CUDAForm form);

/// What the plan of a kernel asks of the GPU.
struct CUDAPlan {
  std::vector<codegen::InterfaceLaunch> launches;
  std::vector<codegen::InterfaceLeft> left;        // what launches leave to later ones
  std::optional<codegen::InterfaceLaunch> listing; // which makes the list of the chunks of packed sequences
  std::optional<codegen::InterfaceLaunch> trees;   // in place of the only launch where tokens are tried as trees
  int64_t workspaceBytes = 0;                      // of a CTA
  std::vector<analysis::KernelTime> times;         // of the launches
  CUDAForm form = CUDAForm::Plain;                 // that it has
  double cycles = 0;                               // of a call whose heads are fewer than multiprocessors, as estimated
  bool lacksPrecise = false;                       // inverses in its chain are rounded for want of room
  std::string whyPlain;                            // why it is not in phases that the program has; else empty
  bool isInPhases() const { return form != CUDAForm::Plain; }
  /// Of a kernel; null where it has none of its own.
  codegen::InterfaceLaunch *findLaunch(llvm::StringRef symbol);
  const codegen::InterfaceLaunch *findLaunch(llvm::StringRef symbol) const {
    return const_cast<CUDAPlan *>(this)->findLaunch(symbol);
  }
};

/// A program of stage `chunk` as kernels of the stage `tile`.
struct CUDAKernels {
  CUDAPlan plan;
  std::unique_ptr<ProgramLowering> lowering;
  std::optional<chunk::Phases> phases; // of which there is a kernel each; none: one kernel
};

/// Plans kernels for the GPU that the options name, in this form or the first behind it that the program has; they
/// have the options' symbol, or the program's name. Without `summaries` no kernel summarises segments.
llvm::Expected<CUDAKernels> planCUDAKernels(chunk::ProgramOp program, const PipelineOptions &pipeline, CUDAForm form,
                                            bool summaries = true);

/// Kernels of the stage `tile`, which stay as they are, as LLVM IR.
llvm::Expected<std::vector<codegen::KernelIR>> lowerCUDAKernels(mlir::ModuleOp tiles, const PipelineOptions &pipeline);

/// The recurrence as the program of the plan `step`, on its own in a module, and the options for it: chunks of one
/// token, which leave besides the states that they begin with, where the caller has arrays for them.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> makeStepProgram(dgps::RecurrenceOp recurrence,
                                                                  PipelineOptions &options);

/// A chunk that a plan was made with.
struct TriedChunk {
  int64_t chunk;
  CUDAPlan plan;
};
/// The largest chunk with which all tiles lie in shared memory, or else the smallest, after larger ones; the last is
/// the one to take. Where the options name one it is the only one. For data of bf16 one whose chain over the chunks
/// makes the outputs is taken before larger ones whose chain does not.
llvm::Expected<std::vector<TriedChunk>> tryChunks(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

} // namespace recur::compile
