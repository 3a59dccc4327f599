// A chunk program as kernels for an NVIDIA GPU, built as a candidate says.
#pragma once
#include "Analysis/KernelTime.h"
#include "Pipelines/Stages.h"
#include "Plan/Candidate.h"
#include "dialects/Chunk/ChunkPhases.h"
#include "dialects/Tile/LaunchTable.h"

namespace recur::plan {

/// What a plan asks of the GPU.
struct GPUPlan {
  std::vector<tile::Launch> launches;
  std::vector<tile::LeftRows> left;        // what launches leave to later ones
  std::optional<tile::Launch> listing;     // which makes the list of the chunks of packed sequences
  std::optional<tile::Launch> trees;       // in place of the only launch where tokens are tried as trees
  int64_t workspaceBytes = 0;              // of a CTA
  std::vector<analysis::KernelTime> times; // of the launches
  Form form = Form::Plain;                 // that it has
  double cycles = 0;                       // of a call whose heads are fewer than multiprocessors, as estimated
  bool lacksPrecise = false;               // inverses in its chain are rounded for want of room
  bool isInPhases() const { return form != Form::Plain; }
  /// Of a kernel; null where it has none of its own.
  tile::Launch *findLaunch(llvm::StringRef symbol);
  const tile::Launch *findLaunch(llvm::StringRef symbol) const {
    return const_cast<GPUPlan *>(this)->findLaunch(symbol);
  }
};

/// A program of stage `chunk` as kernels of the stage `tile`.
struct GPUKernels {
  GPUPlan plan;
  mlir::OwningOpRef<mlir::ModuleOp> tiles;
  std::optional<chunk::Phases> phases; // of which there is a kernel each; none: one kernel
};

/// What became of a candidate: kernels, or why there are none.
struct Built {
  std::optional<GPUKernels> kernels;
  std::string whyNot;
  bool lacksRegisters = false; // it has these phases, and a chain that would not have its state in registers
};

/// Builds kernels that have the options' symbol, or the program's name. Those of a gradient take what is `offered` of
/// what the call forward leaves.
Built build(chunk::ProgramOp program, const PipelineOptions &pipeline, const Candidate &candidate,
            llvm::ArrayRef<tile::LeftRows> offered = {});

/// Whether factors of the program's products may be rounded to 16 bits, which the matrix units multiply faster.
bool roundsFactors(chunk::ProgramOp program);

} // namespace recur::plan
