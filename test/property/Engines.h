// Compiling and running drawn texts, each way of running as a row of one list.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "property/RandomRecurrence.h"

namespace recur::property {

/// A compiled text that holds one recurrence.
struct Compiled {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  dgps::RecurrenceOp recurrence;
};

/// A context with every dialect that the engines need, for use by one thread.
mlir::MLIRContext &getContext();
/// The error is what a user would read.
llvm::Expected<Compiled> compile(llvm::StringRef text);

/// A way to compute what a recurrence means. THE place where a new stage joins the property tests: give it a row.
struct Engine {
  llvm::StringRef name;
  /// May change the recurrence.
  llvm::Expected<interpreter::Results> (*run)(dgps::RecurrenceOp recurrence, const interpreter::Data &data);
  double limit; // relative to the judge
};
/// The first is the judge: token by token, as compiled.
llvm::ArrayRef<Engine> getEngines();

/// Compiles and judges.
llvm::Expected<interpreter::Results> judge(llvm::StringRef text, const interpreter::Data &data);

/// How far the results are from what is wanted: for each array the norm of the difference over the norm of what is
/// wanted, where a norm below one counts as one thousandth at least, so that a result of nothing but rounding errors
/// may be zero. Infinite where the names or shapes differ.
double distance(const interpreter::Results &got, const interpreter::Results &want);

} // namespace recur::property
