#pragma once

#include "Support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recur::frontend {

/// The choices that turn a specification into one program.
struct InstantiationOptions {
  std::map<std::string, int64_t> dims;     // --dim K=128
  std::map<std::string, double> constants; // -D x=1.25
  std::optional<int64_t> assumedDim;       // taken for a dim without value, instead of an error
  std::string onlyRecurrence;              // empty: every recurrence of the file
};

/// The largest dim, and the most elements that one value may have.
constexpr int64_t kMaxDim = 65536;
constexpr int64_t kMaxElements = int64_t(1) << 24;
/// The most expression nodes that the unrolled loops of one recurrence may hold.
constexpr uint64_t kMaxUnrolledNodes = 100000;

/// One side of a declared shape.
struct ShapeEntry {
  std::string name; // of a dim or a const; empty for a number
  bool isDim = false;
  std::optional<int64_t> value; // of a number; of a dim or const where it is known
};

struct ValueInfo {
  std::string name;
  bool shared = false;           // of an input
  bool hasShape = true;          // false for an output whose shape is left out
  std::vector<ShapeEntry> shape; // empty for a scalar
  bool hasStart = false;         // of a state that does not start as zero
  std::string complexName;       // of the complex value that this is the real or imaginary part of, which come in turn
  bool integer = false;          // of an input
};

struct DimInfo {
  std::string name;
  std::optional<int64_t> value; // the one given, or the default
  bool hasDefault = false;
  bool assumed = false; // the value is InstantiationOptions::assumedDim
};

struct ConstInfo {
  std::string name;
  std::optional<double> value;
};

/// What a file declares, for a caller that has to find sizes, name files or list arguments.
struct RecurrenceInfo {
  std::string name;
  std::vector<DimInfo> dims;
  std::vector<ConstInfo> constants;
  std::vector<ValueInfo> inputs, params, states, outputs; // in the order of the source
  bool hasImplicitStates = false; // of delays or the count of tokens; they are in the program only
};

/// Lists what the file declares. Dims without value are fine here. Syntax errors are reported; what else is wrong with
/// the file is left to `compile`.
std::vector<RecurrenceInfo> describe(const SourceBuffer &buffer, const InstantiationOptions &options,
                                     DiagnosticEngine &diagnostics);

/// Parses and checks the file without making IR. Returns what it declares, or nothing after an error.
std::optional<std::vector<RecurrenceInfo>> check(const SourceBuffer &buffer, const InstantiationOptions &options,
                                                 DiagnosticEngine &diagnostics);

/// Compiles the recurrences of a file to dgps. Returns null after an error, which is then among `diagnostics`. `info`,
/// when given, receives what was compiled, with the values that its dims have.
mlir::OwningOpRef<mlir::ModuleOp> compile(const SourceBuffer &buffer, const InstantiationOptions &options,
                                          mlir::MLIRContext &context, DiagnosticEngine &diagnostics,
                                          std::vector<RecurrenceInfo> *info = nullptr);

} // namespace recur::frontend
