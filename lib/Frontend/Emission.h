#pragma once

#include "Frontend/AST.h"
#include "Frontend/ConstantEvaluator.h"
#include "Support/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace recur::frontend {

/// Turns one checked recurrence into a `dgps.recurrence`. Names become SSA values: a state's name stands for the value
/// that it has at that point of the program, which is how an output before an update reads the state as it was.
class Emitter {
public:
  Emitter(const SourceBuffer &buffer, const Recurrence &recurrence, mlir::OpBuilder &builder,
          DiagnosticEngine &diagnostics)
      : buffer(buffer), recurrence(recurrence), builder(builder), evaluator(diagnostics) {}

  void emit();

  /// A number: its real part, and its imaginary part where it is complex.
  struct Parts {
    mlir::Value re, im;
  };

private:
  using Value = mlir::Value;

  // Emission.cpp
  void emitBody(llvm::ArrayRef<Statement *> body);
  void emitDeclaration(Declaration *declaration);
  void emitFor(ForStatement *loop);
  void emitRestart(const RestartStatement *restart);
  /// What the token finds of a state: nothing, where it restarts.
  Value kept(Value state);
  Parts emitStart(const Declaration *state);
  Parts declare(const Declaration *declaration,
                llvm::function_ref<Value(mlir::StringAttr name, bool isImaginary)> make);
  void assign(const Declaration *target, const Expr *value);
  Value emitIdentity(mlir::Location loc, int64_t size);
  Value emit(const Expr *expr);
  Value emitName(const NameExpr *expr);
  Value emitBinary(const BinaryExpr *expr);
  Value emitProduct(mlir::Location loc, Shape a, Value lhs, Shape b, Value rhs);
  Value emitMatrixProduct(mlir::Location loc, Value lhs, Value rhs);
  void emitElements(const Declaration *output);
  void giveOutput(const Declaration *output, Parts value);
  Value emitNumber(mlir::Location loc, double value);
  mlir::Location getLocation(SourceRange range);
  mlir::Type getType(Shape shape);
  int64_t getValue(Extent extent) const;

  // EmitLoop.cpp
  bool emitKeptLoop(ForStatement *loop, int64_t iterations);

  // EmitCall.cpp
  Value emitCall(const CallExpr *call);
  void bindArguments(const CallExpr *call);
  Value emitDgps(mlir::Location loc, const CallExpr *call);
  Value emitPow(mlir::Location loc, Value base, double power);
  Value emitNorm(mlir::Location loc, const CallExpr *call);

  // EmitChoice.cpp
  Value emitSelect(mlir::Location loc, Value condition, Value first, Value second);
  Value emitComparison(mlir::Location loc, BinaryOperator op, Value a, Value b);
  Value emitWhere(mlir::Location loc, Value condition, Value first, Value second);
  Value emitMod(mlir::Location loc, Value a, Value b);
  Value emitColumn(mlir::Location loc, Value matrix, int64_t column);
  bool dependsOnState(Value value);
  struct StateTerm;
  std::optional<StateTerm> findStateTerm(Value value);
  Value emitChosenState(mlir::Location loc, Value condition, const StateTerm &first, const StateTerm &second);

  // EmitComplex.cpp
  Parts emitComplex(const Expr *expr);
  Parts emitComplexBinary(const BinaryExpr *expr);
  Parts emitComplexCall(const CallExpr *call);
  Value emitRealPart(const CallExpr *call);
  Parts multiply(mlir::Location loc, Parts a, Parts b, llvm::function_ref<Value(Value, Value)> product);
  Value imaginaryOf(mlir::Location loc, Parts parts);
  /// A scalar in the shape of another value.
  Value fit(Value value, Value like);

  // EmitDelay.cpp
  Value emitTokenCount(const Declaration *declaration);
  Value emitDelay(mlir::Location loc, Value value, int64_t tokens, const Expr *source, llvm::StringRef part = "");
  Value emitConv(mlir::Location loc, Value value, Value weights, const Expr *source, llvm::StringRef part = "");
  std::string findStateName(llvm::StringRef base, llvm::StringRef kind, size_t tokens);
  struct DelayLine;
  void emitWindow(Value value, DelayLine &line, llvm::DenseMap<Value, Value> &replaced);
  void emitWindows();
  void emitDelayedStates();

  const SourceBuffer &buffer;
  const Recurrence &recurrence;
  mlir::OpBuilder &builder;
  ConstantEvaluator evaluator; // of expressions that sema has evaluated before, so it reports nothing
  llvm::DenseMap<const Declaration *, Value> values;
  llvm::DenseMap<const Declaration *, Value> imaginary; // the other part of complex ones
  std::vector<const Declaration *> states;
  llvm::DenseMap<const Declaration *, Value> initialValues; // of the states
  llvm::DenseMap<const Declaration *, Value> initialImaginary;
  llvm::DenseMap<const Declaration *, SourceRange> lastUpdate;
  /// What loops have given of outputs, element by element.
  llvm::DenseMap<const Declaration *, llvm::SmallVector<std::pair<int64_t, Parts>>> elements;
  /// The states that keep a value, and what this token finds in them: what it was one token back, two, and so on.
  struct DelayedValue {
    Value state, found;
  };
  struct DelayLine {
    std::string name;
    llvm::SmallVector<DelayedValue> delayed;
  };
  llvm::MapVector<Value, DelayLine> delayLines;
  llvm::DenseMap<Value, bool> readsState; // what is known of values: whether a state enters them
  llvm::StringSet<> stateNames;           // that are taken
  Value restarts; // one where the token restarts, else zero; null in a recurrence that never does
  Value keep;     // one less that
};

} // namespace recur::frontend
