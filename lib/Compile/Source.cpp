#include "Compile/Source.h"
#include "Pipelines/Registration.h"
#include "Support/Errors.h"
#include "dialects/DGPS/DGPS.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;
using frontend::RecurrenceInfo;

char compile::SourceError::ID;

std::unique_ptr<mlir::MLIRContext> compile::makeContext() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<dgps::DGPSDialect>();
  return context;
}

Error compile::makeNoSuchRecurrenceError(StringRef name, ArrayRef<StringRef> known) {
  StringRef nearest = findNearest(name, known);
  if (!nearest.empty())
    return makeError("--recurrence: the file has no recurrence '" + name + "'; did you mean '" + nearest + "'?");
  return makeError("--recurrence: the file has no recurrence '" + name + "'; it has " + join(known, ", "));
}

Expected<std::vector<RecurrenceInfo>> compile::describeSource(const SourceBuffer &source,
                                                              const frontend::InstantiationOptions &options,
                                                              DiagnosticEngine &diagnostics) {
  frontend::InstantiationOptions everything = options;
  everything.onlyRecurrence.clear();
  std::vector<RecurrenceInfo> all = frontend::describe(source, everything, diagnostics);
  if (diagnostics.hasErrors())
    return make_error<SourceError>();
  StringRef only = options.onlyRecurrence;
  if (only.empty())
    return all;
  std::vector<StringRef> names;
  for (const RecurrenceInfo &recurrence : all)
    names.push_back(recurrence.name);
  auto chosen = find(names, only);
  if (chosen == names.end())
    return makeNoSuchRecurrenceError(only, names);
  return std::vector<RecurrenceInfo>{all[chosen - names.begin()]};
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
compile::compileSource(const SourceBuffer &source, const frontend::InstantiationOptions &options,
                       mlir::MLIRContext &context, DiagnosticEngine &diagnostics, std::vector<RecurrenceInfo> *info) {
  mlir::OwningOpRef<mlir::ModuleOp> module = frontend::compile(source, options, context, diagnostics, info);
  if (diagnostics.hasErrors())
    return make_error<SourceError>();
  if (!module || mlir::failed(mlir::verify(*module)))
    return make_error<InternalError>("the front end made invalid IR");
  return std::move(module);
}
