// What `recurc build` writes of the stages: a dump of each on the way, and the one that it stops after.
#pragma once
#include "Pipelines/Stages.h"
#include "Support/OutputFiles.h"

namespace recur::compile {

/// What can be written of a stage, by the names of --emit, the usual first.
llvm::ArrayRef<llvm::StringRef> getStageForms(const Stage &stage, const Target &target);

struct StageOutput {
  const Stage *from = nullptr;   // where the module is; null: as the front end made it
  const Stage *to;               // where to go
  std::string dumpFolder;        // empty: no dumps
  std::string base;              // of what is written of the last stage; "-" is stdout
  std::vector<std::string> emit; // and in which forms
};

/// The lowest stage that the target has: code, or plans where no kernel of them can be made for it.
const Stage &findLowestStage(const PipelineOptions &pipeline);

/// Goes down, and adds the files. The module is then at the last stage that is one of modules.
llvm::Error runStagesToFiles(mlir::ModuleOp module, const PipelineOptions &pipeline, const StageOutput &output,
                             std::vector<OutputFile> &files);

} // namespace recur::compile
