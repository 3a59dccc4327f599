// The programs of the plan `segment`: what a segment of a sequence makes of each state, without knowing the state.
#pragma once
#include "Codegen/Embed/KernelInterface.h"
#include "dialects/Chunk/Chunk.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

struct SegmentProgram {
  chunk::ProgramOp summary, apply;
  codegen::InterfaceSummary facts; // but for symbols and workspace
};

struct SegmentPrograms {
  mlir::OwningOpRef<mlir::ModuleOp> module; // has the programs
  std::vector<SegmentProgram> states;       // each after those that it needs
  int64_t segmentBytes = 0;                 // that the runtime keeps for a segment
};

/// About how long a core takes for a chunk of the program, in a unit of its own.
double estimateCost(chunk::ProgramOp program);

/// Makes the programs of the plan `segment` for a program in which chunk::findObstacle finds no obstacle.
llvm::Expected<SegmentPrograms> makeSegmentPrograms(chunk::ProgramOp program);

} // namespace recur::compile
