// Compiling and running drawn texts, and comparing results.
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

/// Compiles and judges: token by token, as compiled.
llvm::Expected<data::Results> judge(llvm::StringRef text, const data::Data &data);
llvm::Expected<data::Results> judge(const Compiled &compiled, const data::Data &data);

/// The data that a reduced text still asks for: arrays that it does not declare are dropped, those of other shapes and
/// names are made up of fixed numbers.
/// Without initial states of what starts by itself, unless these are to be given all the same.
data::Data fitData(dgps::RecurrenceOp recurrence, const data::Data &data, bool startsAreGiven = false);

/// How far the results are from what is wanted: for each array the norm of the difference over the norm of what is
/// wanted, where a norm below one counts as one thousandth at least, so that a result of nothing but rounding errors
/// may be zero. Infinite where the names or shapes differ.
double distance(const data::Results &got, const data::Results &want);

} // namespace recur::property
