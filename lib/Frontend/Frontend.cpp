#include "Frontend/Frontend.h"

#include "Frontend/Emission.h"
#include "Frontend/Parser.h"
#include "Frontend/Sema.h"
#include "dialects/DGPS/DGPS.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace recur::frontend {
namespace {

bool isSize(double value) { return value >= 1 && value <= kMaxDim && value == std::floor(value); }

ShapeEntry describeEntry(const Expr *entry, const llvm::StringMap<const Declaration *> &names) {
  ShapeEntry result;
  if (auto *number = llvm::dyn_cast<NumberExpr>(entry)) {
    if (isSize(number->value))
      result.value = int64_t(number->value);
    return result;
  }
  llvm::StringRef name = llvm::cast<NameExpr>(entry)->name;
  result.name = name.str();
  if (const Declaration *declaration = names.lookup(name)) {
    result.isDim = declaration->is(DeclarationKind::Dim);
    if (declaration->known && isSize(declaration->number))
      result.value = int64_t(declaration->number);
  }
  return result;
}

/// A complex array is two real ones.
void add(std::vector<ValueInfo> &values, const ValueInfo &value, bool isComplex) {
  if (!isComplex)
    return values.push_back(value);
  for (const char *part : {"_re", "_im"}) {
    values.push_back(value);
    values.back().complexName = value.name;
    values.back().name += part;
  }
}

/// Those that the loop gives element by element. Their shape is known when the loop is unrolled.
void describeOutputs(const ForStatement &loop, RecurrenceInfo &info) {
  for (const Statement *statement : loop.body) {
    if (auto *inner = llvm::dyn_cast<ForStatement>(statement))
      describeOutputs(*inner, info);
    else if (auto *output = llvm::dyn_cast<Declaration>(statement); output && output->is(DeclarationKind::Output))
      add(info.outputs, {output->name.str(), false, /*hasShape=*/false, {}, false, {}}, output->complex);
  }
}

RecurrenceInfo describeRecurrence(const Recurrence &recurrence) {
  RecurrenceInfo info;
  info.name = recurrence.name.str();
  info.hasImplicitStates = recurrence.hasImplicitStates;
  llvm::StringMap<const Declaration *> names;
  for (const Statement *statement : recurrence.body) {
    if (auto *loop = llvm::dyn_cast<ForStatement>(statement))
      describeOutputs(*loop, info);
    auto *declaration = llvm::dyn_cast<Declaration>(statement);
    if (!declaration)
      continue;
    std::string name = declaration->name.str();
    ValueInfo value{name, declaration->shared, declaration->shapeSyntax.range.isValid(), {}, false,
                    {},   declaration->integer};
    for (const Expr *entry : declaration->shapeSyntax.entries)
      value.shape.push_back(describeEntry(entry, names));
    switch (declaration->declarationKind) {
    case DeclarationKind::Dim: {
      DimInfo dim{name, std::nullopt, declaration->init != nullptr, declaration->assumed};
      if (declaration->known)
        dim.value = int64_t(declaration->number);
      info.dims.push_back(dim);
      names[name] = declaration;
      break;
    }
    case DeclarationKind::Const:
      info.constants.push_back({name, declaration->known ? std::optional(declaration->number) : std::nullopt});
      names[name] = declaration;
      break;
    case DeclarationKind::Input:
      value.hasShape = true;
      add(info.inputs, value, declaration->complex);
      break;
    case DeclarationKind::Param:
      value.hasShape = true;
      add(info.params, value, declaration->complex);
      break;
    case DeclarationKind::State:
      value.hasShape = true;
      value.hasStart = declaration->init;
      add(info.states, value, declaration->complex);
      break;
    case DeclarationKind::Output:
      add(info.outputs, value, declaration->complex);
      break;
    case DeclarationKind::Let:
    case DeclarationKind::LoopVariable:
    case DeclarationKind::Argument:
      break;
    }
  }
  return info;
}

std::vector<RecurrenceInfo> describeAll(llvm::ArrayRef<Recurrence *> recurrences) {
  std::vector<RecurrenceInfo> infos;
  for (const Recurrence *recurrence : recurrences)
    infos.push_back(describeRecurrence(*recurrence));
  return infos;
}

} // namespace

std::vector<RecurrenceInfo> describe(const SourceBuffer &buffer, const InstantiationOptions &options,
                                     DiagnosticEngine &diagnostics) {
  std::unique_ptr<File> file = Parser(buffer, diagnostics).parseFile();
  // Sema finds the values of dims and consts; that some are still without one is no error here.
  DiagnosticEngine ignored;
  InstantiationOptions selected;
  selected.onlyRecurrence = options.onlyRecurrence;
  selected.dims = options.dims;
  selected.constants = options.constants;
  return describeAll(analyze(*file, selected, ignored));
}

std::optional<std::vector<RecurrenceInfo>> check(const SourceBuffer &buffer, const InstantiationOptions &options,
                                                 DiagnosticEngine &diagnostics) {
  std::unique_ptr<File> file = Parser(buffer, diagnostics).parseFile();
  std::vector<Recurrence *> recurrences = analyze(*file, options, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  return describeAll(recurrences);
}

mlir::OwningOpRef<mlir::ModuleOp> compile(const SourceBuffer &buffer, const InstantiationOptions &options,
                                          mlir::MLIRContext &context, DiagnosticEngine &diagnostics,
                                          std::vector<RecurrenceInfo> *info) {
  std::unique_ptr<File> file = Parser(buffer, diagnostics).parseFile();
  std::vector<Recurrence *> recurrences = analyze(*file, options, diagnostics);
  if (info)
    *info = describeAll(recurrences);
  if (diagnostics.hasErrors())
    return nullptr;
  context.loadDialect<dgps::DGPSDialect>();
  mlir::OpBuilder builder(&context);
  auto loc = mlir::FileLineColLoc::get(&context, buffer.getName(), 1, 1);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  for (const Recurrence *recurrence : recurrences)
    Emitter(buffer, *recurrence, builder, diagnostics).emit();
  if (mlir::failed(mlir::verify(*module))) {
    diagnostics.error("the compiler made invalid IR of this file; this is a mistake of the compiler");
    return nullptr;
  }
  return module;
}

} // namespace recur::frontend
