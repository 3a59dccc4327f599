#ifndef RECUR_FRONTEND_EMISSION_H
#define RECUR_FRONTEND_EMISSION_H

#include "Frontend/AST.h"
#include "Frontend/ConstantEvaluator.h"
#include "Support/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace recur::frontend {

/// Turns one checked recurrence into a `dgps.recurrence`. Names become SSA values: a state's name stands for the value
/// that it has at that point of the program, which is how an output before an update reads the state as it was.
class Emitter {
public:
  Emitter(const SourceBuffer &buffer, const Recurrence &recurrence, mlir::OpBuilder &builder,
          DiagnosticEngine &diagnostics)
      : buffer(buffer), recurrence(recurrence), builder(builder), evaluator(diagnostics) {}

  void emit();

private:
  using Value = mlir::Value;

  // Emission.cpp
  void emitBody(llvm::ArrayRef<Statement *> body);
  void emitDeclaration(Declaration *declaration);
  void emitFor(ForStatement *loop);
  Value emit(const Expr *expr);
  Value emitName(const NameExpr *expr);
  Value emitBinary(const BinaryExpr *expr);
  Value emitProduct(mlir::Location loc, const BinaryExpr *expr);
  Value emitNumber(mlir::Location loc, double value);
  mlir::Location getLocation(SourceRange range);
  mlir::Type getType(Shape shape);
  int64_t getValue(Extent extent) const;

  // EmitCall.cpp
  Value emitCall(const CallExpr *call);
  Value emitDgps(mlir::Location loc, const CallExpr *call);

  const SourceBuffer &buffer;
  const Recurrence &recurrence;
  mlir::OpBuilder &builder;
  ConstantEvaluator evaluator; // of expressions that sema has evaluated before, so it reports nothing
  llvm::DenseMap<const Declaration *, Value> values;
  std::vector<const Declaration *> states;
  llvm::DenseMap<const Declaration *, Value> initialValues; // of the states
  llvm::DenseMap<const Declaration *, SourceRange> lastUpdate;
};

} // namespace recur::frontend

#endif // RECUR_FRONTEND_EMISSION_H
