// What a caller may choose, in words: of a command line, or of the C API. Errors name the choice as recurc's option.
#pragma once
#include "Frontend/Frontend.h"
#include "Pipelines/Stages.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

/// `K=128,V=64`, added to what is there.
llvm::Error parseDims(llvm::StringRef list, std::map<std::string, int64_t> &dims);
/// `x=1.25`
llvm::Error parseDefine(llvm::StringRef text, std::map<std::string, double> &constants);

llvm::Expected<Plan> parsePlan(std::optional<llvm::StringRef> name);

/// The words of the options. One that is left out has the usual meaning.
struct PipelineWords {
  std::optional<llvm::StringRef> targets; // a comma list, of which the one that asks for most becomes the target
  std::optional<llvm::StringRef> dataTypes, precision, plan, chunk;
};
llvm::Expected<PipelineOptions> parsePipeline(const PipelineWords &words);

/// `q,k,v`: the inputs, params and states whose gradients are wanted.
llvm::Error parseGradients(llvm::StringRef list, PipelineOptions &options);

/// Whether names in C can start with the prefix.
llvm::Error checkPrefix(llvm::StringRef prefix);

} // namespace recur::compile
