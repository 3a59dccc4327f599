// The file that a verb works on: a .recur specification, or the .mlir that a stage gave.
#pragma once
#include "Driver/Options.h"
#include "Frontend/Frontend.h"
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::driver {

/// What the options say about the file and how to instantiate it.
struct SpecOptions {
  std::string path;
  frontend::InstantiationOptions instantiation;
  bool jsonDiagnostics = false;
  const Stage *startFrom = nullptr; // not null: the file is .mlir
};

llvm::Expected<SpecOptions> parseSpecOptions(const llvm::opt::InputArgList &args);
/// The same for a verb that needs recurrences: other stages are no start for it.
llvm::Expected<SpecOptions> parseRecurrenceOptions(const llvm::opt::InputArgList &args, llvm::StringRef verb);
llvm::Expected<PipelineOptions> parsePipelineOptions(const llvm::opt::InputArgList &args);
/// The same where --target may name several processors: the one that asks for most is `target`.
llvm::Expected<PipelineOptions> parsePipelineOptionsOfTargets(const llvm::opt::InputArgList &args);
/// What --backward says, which may name the gradients that are wanted.
llvm::Error parseBackward(const llvm::opt::InputArgList &args, PipelineOptions &options);
/// What --effort says.
llvm::Expected<Effort> parseEffort(const llvm::opt::InputArgList &args);
/// The stage that an option names.
llvm::Expected<const Stage *> parseStage(llvm::StringRef option, llvm::StringRef name);

class Specification {
public:
  static llvm::Expected<std::unique_ptr<Specification>> open(SpecOptions options);

  const SpecOptions &getOptions() const { return options; }
  /// What the file declares. An error when `--recurrence` names none of it.
  llvm::Expected<std::vector<frontend::RecurrenceInfo>> describe();
  /// Makes the module, with these sizes. Errors and warnings go to stderr.
  llvm::Error compile(const frontend::InstantiationOptions &instantiation);

  mlir::MLIRContext &getContext() { return *context; }
  mlir::ModuleOp getModule() { return *module; }
  std::vector<dgps::RecurrenceOp> getRecurrences();
  /// What the text declares of the recurrences that were compiled; empty when the file is .mlir.
  llvm::ArrayRef<frontend::RecurrenceInfo> getInfo() const { return info; }

private:
  explicit Specification(SpecOptions options);
  llvm::Error readModule();
  /// Prints the diagnostics, and gives the error back where they do not say it.
  llvm::Error report(llvm::Error error, const DiagnosticEngine &diagnostics);

  SpecOptions options;
  std::unique_ptr<SourceBuffer> source;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<frontend::RecurrenceInfo> info;
};

} // namespace recur::driver
