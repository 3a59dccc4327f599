#pragma once

#include "Frontend/Frontend.h"

namespace recur::frontend {

/// Something that a file gives a name, and where the name stands.
struct Symbol {
  enum Kind : uint8_t {
    Recurrence,
    Function,
    Argument,
    Dim,
    Const,
    Input,
    SharedInput,
    Param,
    State,
    Let,
    Output,
    LoopVariable
  };

  Kind kind;
  std::string name;
  std::string recurrence; // that it belongs to; empty for functions and their arguments
  std::string shape;      // as it is written: "[V, K]"; empty where there is none or it is not known
  bool isComplex = false, isInteger = false;
  SourceRange declared;          // the name, where it is declared
  SourceRange definition;        // all that belongs to it there
  SourceRange scope;             // where the name holds
  std::vector<SourceRange> uses; // without the declaration
};

/// "state", "shared input", ...
llvm::StringRef spell(Symbol::Kind kind);

/// All names that the file declares, in the order of their declarations. A file with mistakes has those that could be
/// understood. Dims without value are fine with `options.assumedDim`.
std::vector<Symbol> listSymbols(const SourceBuffer &buffer, const InstantiationOptions &options,
                                DiagnosticEngine &diagnostics);

/// The symbol whose name, declared or used, covers this byte or ends there; or null.
const Symbol *findSymbol(llvm::ArrayRef<Symbol> symbols, uint32_t offset);

} // namespace recur::frontend
