#include "Frontend/Sema.h"
#include "Frontend/NearestName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace recur::frontend {
namespace {

/// The declarations of `kind` that stand outside loops.
template <typename Visit> void forEachDeclaration(const Recurrence &recurrence, DeclarationKind kind, Visit visit) {
  for (Statement *statement : recurrence.body)
    if (auto *declaration = llvm::dyn_cast<Declaration>(statement); declaration && declaration->is(kind))
      visit(*declaration);
}

bool declares(llvm::ArrayRef<Recurrence *> recurrences, DeclarationKind kind, llvm::StringRef name) {
  bool found = false;
  for (const Recurrence *recurrence : recurrences)
    forEachDeclaration(*recurrence, kind, [&](Declaration &declaration) { found |= declaration.name == name; });
  return found;
}

/// The nearest of `candidates` to a misspelt name, or an empty string.
llvm::StringRef findNearest(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates) {
  NearestName nearest(name);
  for (llvm::StringRef candidate : candidates)
    nearest.offer(candidate);
  return nearest.get();
}

/// A name on the command line that the file lacks.
void reportNoSuch(ErrorCode code, llvm::StringRef option, DeclarationKind kind, llvm::StringRef name,
                  llvm::ArrayRef<Recurrence *> recurrences, DiagnosticEngine &diagnostics) {
  Diagnostic &diagnostic = diagnostics.report(
      code, SourceRange(), option + " names '" + name + "', but no " + spell(kind) + " of that name is declared");
  bool isDim = kind == DeclarationKind::Dim;
  if (declares(recurrences, isDim ? DeclarationKind::Const : DeclarationKind::Dim, name)) {
    diagnostic.help("'" + name + "' is " + (isDim ? "a const: write -D " : "a dim: write --dim ") + name + "=...");
    return;
  }
  llvm::SmallVector<llvm::StringRef> candidates;
  for (const Recurrence *recurrence : recurrences)
    forEachDeclaration(*recurrence, kind, [&](Declaration &declaration) {
      if (!llvm::is_contained(candidates, declaration.name) && candidates.size() < 20)
        candidates.push_back(declaration.name);
    });
  if (llvm::StringRef nearest = findNearest(name, candidates); !nearest.empty())
    diagnostic.help("did you mean '" + nearest + "'?");
  else if (candidates.empty())
    diagnostic.help("the file declares no " + spell(kind));
  else
    diagnostic.help("it declares " + llvm::join(candidates, ", "));
}

void checkOptions(llvm::ArrayRef<Recurrence *> recurrences, const InstantiationOptions &options,
                  DiagnosticEngine &diagnostics) {
  // The declaration may be in the part that could not be parsed.
  if (llvm::any_of(recurrences, [](const Recurrence *recurrence) { return recurrence->damaged; }))
    return;
  for (const auto &[name, value] : options.dims)
    if (!declares(recurrences, DeclarationKind::Dim, name))
      reportNoSuch(ErrorCode::NoSuchDim, "--dim", DeclarationKind::Dim, name, recurrences, diagnostics);
  for (const auto &[name, value] : options.constants)
    if (!declares(recurrences, DeclarationKind::Const, name))
      reportNoSuch(ErrorCode::NoSuchConst, "-D", DeclarationKind::Const, name, recurrences, diagnostics);
}

std::vector<Recurrence *> selectRecurrences(File &file, llvm::StringRef only, DiagnosticEngine &diagnostics) {
  std::vector<Recurrence *> selected;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringMap<Recurrence *> byName;
  for (auto &recurrence : file.recurrences) {
    if (!recurrence->name.empty()) {
      names.push_back(recurrence->name);
      auto [first, isNew] = byName.try_emplace(recurrence->name, recurrence.get());
      if (!isNew)
        diagnostics
            .report(ErrorCode::DuplicateRecurrence, recurrence->nameRange,
                    "a recurrence named '" + recurrence->name + "' exists already")
            .note(first->second->nameRange, "the other one");
    }
    if (only.empty() || recurrence->name == only)
      selected.push_back(recurrence.get());
  }
  if (!only.empty() && selected.empty() && !diagnostics.hasErrors()) {
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::NoSuchRecurrence, SourceRange(),
                                                "the file holds no recurrence named '" + only + "'");
    if (llvm::StringRef nearest = findNearest(only, names); !nearest.empty())
      diagnostic.help("did you mean '" + nearest + "'?");
    else
      diagnostic.help("it holds " + llvm::join(llvm::ArrayRef(names).take_front(20), ", "));
  }
  return selected;
}

} // namespace

static void checkFunctionNames(const File &file, DiagnosticEngine &diagnostics) {
  llvm::StringMap<const Function *> byName;
  for (const Function *function : file.functions) {
    if (findBuiltin(function->name))
      diagnostics
          .report(ErrorCode::ShadowsBuiltin, function->nameRange,
                  "'" + function->name + "' is the name of a built-in function")
          .help("choose another name, such as " + function->name + "_");
    auto [first, isNew] = byName.try_emplace(function->name, function);
    if (!isNew)
      diagnostics
          .report(ErrorCode::DuplicateFunction, function->nameRange,
                  "a function named '" + function->name + "' exists already")
          .note(first->second->nameRange, "the other one");
    llvm::StringMap<const Declaration *> arguments;
    for (const Declaration *argument : function->arguments) {
      auto [other, isNewArgument] = arguments.try_emplace(argument->name, argument);
      if (!isNewArgument)
        diagnostics
            .report(ErrorCode::DuplicateName, argument->nameRange, "'" + argument->name + "' is declared already")
            .note(other->second->nameRange, "it is an argument, declared here");
    }
  }
}

std::vector<Recurrence *> analyze(File &file, const InstantiationOptions &options, DiagnosticEngine &diagnostics) {
  std::vector<Recurrence *> selected = selectRecurrences(file, options.onlyRecurrence, diagnostics);
  checkFunctionNames(file, diagnostics);
  if (!selected.empty())
    checkOptions(selected, options, diagnostics);
  std::vector<std::unique_ptr<RecurrenceChecker>> checkers;
  for (Recurrence *recurrence : selected) {
    if (diagnostics.isFull())
      return selected;
    checkers.push_back(std::make_unique<RecurrenceChecker>(file, *recurrence, options, diagnostics));
    checkers.back()->check();
  }
  // In a file with errors a name may look unused only because its use was not understood.
  if (!diagnostics.hasErrors())
    for (auto &checker : checkers)
      checker->warnAboutUnused();
  return selected;
}

} // namespace recur::frontend
