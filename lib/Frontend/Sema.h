#pragma once

#include "Frontend/AST.h"
#include "Frontend/ConstantEvaluator.h"
#include "Frontend/Frontend.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace recur::frontend {

/// Checks the selected recurrences of a file: names, shapes, compile-time numbers, loops, and that what is declared is
/// used. Fills the checked part of the tree. Returns the recurrences that were checked.
std::vector<Recurrence *> analyze(File &file, const InstantiationOptions &options, DiagnosticEngine &diagnostics);

/// Checks one recurrence, statement after statement.
class RecurrenceChecker {
public:
  RecurrenceChecker(File &file, Recurrence &recurrence, const InstantiationOptions &options,
                    DiagnosticEngine &diagnostics)
      : file(file), recurrence(recurrence), buffer(file.getBuffer()), options(options), diagnostics(diagnostics),
        evaluator(diagnostics) {}

  void check();
  void warnAboutUnused();

private:
  // SemaNames.cpp
  void collectDeclarations();
  void declare(Declaration *declaration);
  Declaration *lookup(llvm::StringRef name) const { return names.lookup(name); }
  Declaration *resolve(NameExpr *expr);
  Declaration *resolveArgument(NameExpr *expr);
  Declaration *getTokenCount();
  Declaration *getPi();
  void reportUnknown(llvm::StringRef name, SourceRange range);
  /// Whether the name may be declared where the text could not be parsed.
  bool mayBeLost(llvm::StringRef name) const;
  bool reportIfDeclaredLater(llvm::StringRef name, SourceRange range);
  void reportUnknownState(AssignStatement *assign);
  template <typename Filter>
  Declaration *suggestName(Diagnostic &diagnostic, llvm::StringRef name, SourceRange range, Filter filter);

  // SemaStatement.cpp
  void checkBody(llvm::ArrayRef<Statement *> body);
  void checkStatement(Statement *statement);
  void checkDeclaration(Declaration *declaration);
  void checkDim(Declaration *declaration);
  void checkConst(Declaration *declaration);
  void checkOutput(Declaration *declaration);
  void checkAssign(AssignStatement *assign);
  bool mayBeAssigned(const Declaration &declaration) const;
  void checkFor(ForStatement *loop);
  void checkRestart(RestartStatement *restart);
  void requireNumber(Expr *expr, llvm::StringRef what);
  Shape resolveShape(const ShapeSyntax &syntax);
  Extent resolveExtent(Expr *entry);
  bool reportIfNoSize(NameExpr *name);
  void checkOutputsAndUpdates();

  // SemaComplex.cpp
  bool isComplex(Expr *expr);
  bool isComplexCall(CallExpr *call);
  bool requireReal(Expr *expr, const llvm::Twine &what, const llvm::Twine &help);
  void checkNamesOfParts();

  // SemaStart.cpp
  const Expr *findTokenwise(const Expr *expr) const;
  void checkStart(Declaration *state);

  // SemaExpression.cpp
  Shape check(Expr *expr);
  /// Does as `check`, and refuses a diagonal, which is no value by itself.
  Shape checkValue(Expr *expr);
  Shape checkUncached(Expr *expr);
  Shape checkIndex(IndexExpr *expr);
  Shape checkSlice(SliceExpr *expr);
  Extent findSizeOfSlice(const SliceExpr *expr);
  bool checkPlace(Expr *expr, llvm::StringRef what);
  void warnIfNormalized(const BinaryExpr *quotient);
  NameExpr *findUnknownName(Expr *expr) const;
  bool reportIfIndexOfToken(IndexExpr *expr);
  Shape checkElementwise(llvm::StringRef what, SourceRange range, Expr *lhs, Expr *rhs);
  void reportShapesDiffer(llvm::StringRef what, SourceRange range, Expr *lhs, Expr *rhs);
  void reportRanksDiffer(llvm::StringRef what, SourceRange range, Expr *lhs, Expr *rhs);
  bool reportIfTransposedOuter(Expr *value, Shape expected, SourceRange range, const llvm::Twine &message,
                               Declaration *other);

  // SemaProduct.cpp
  Shape checkProduct(BinaryExpr *expr);
  Shape checkMatrixProduct(BinaryExpr *expr);
  void reportMatrixVector(BinaryExpr *expr, Expr *matrix, Expr *vector);
  void reportDiagMismatch(BinaryExpr *expr, Extent wanted, bool alsoFitsOtherSide);

  // SemaCall.cpp
  Shape checkCall(CallExpr *call);
  bool checkArguments(CallExpr *call);
  Shape checkBuiltin(CallExpr *call);
  Shape checkCondition(CallExpr *call, Shape branches);
  Shape checkOnes(CallExpr *call);
  Shape checkCg(CallExpr *call);
  Shape checkDgps(CallExpr *call);
  bool checkSolve(CallExpr *call);
  bool requireVector(CallExpr *call, unsigned argument);
  bool requireAxis(CallExpr *call, llvm::StringRef keyword, Extent wanted, bool allowScalar, bool allowVector);

  // SemaPlaces.cpp: functions that put values one after the other, in a token or over the tokens
  Shape checkParts(CallExpr *call);
  Shape checkDelay(CallExpr *call);
  Shape checkConv(CallExpr *call);
  Shape checkPow(CallExpr *call);
  Shape checkNorm(CallExpr *call);

  // SemaFunction.cpp
  const Function *findFunction(llvm::StringRef name, uint32_t before) const;
  Shape checkFunctionCall(CallExpr *call, const Function &function);
  Expr *cloneExpr(const Expr *expr);

  // SemaUnroll.cpp
  bool checkUnrolled(llvm::ArrayRef<Statement *> body, bool inLoop);
  bool checkUnrolledLoop(ForStatement *loop);
  bool checkIndices(const Expr *expr);
  bool checkSliceWithin(const SliceExpr *expr);
  bool checkSliceBounds(const SliceExpr *expr);
  bool addElement(Declaration *output);
  void checkElements();

  // SemaShape.cpp
  std::optional<int64_t> getValue(Extent extent) const;
  /// Whether two extents may be the same; an unknown one agrees with all.
  bool agree(Extent a, Extent b) const;
  bool agree(Shape a, Shape b) const;
  /// The more telling of two extents that agree.
  static Extent merge(Extent a, Extent b) { return a.isDim() || b.isUnknown() ? a : b; }
  Shape makeMatrix(SourceRange range, Extent rows, Extent columns);
  std::string format(Extent extent) const;
  std::string format(Shape shape) const;
  /// "scalar", "vector [K]", "matrix [V, K]"
  std::string formatWithRank(Shape shape) const;
  /// The source text of an operand, in parentheses where another operator is put beside it; "..." when it is long.
  std::string quote(const Expr *expr, bool asOperand = true) const;
  /// Points at the declaration of a name, and says so when two dims only happen to have one value.
  void noteShape(Diagnostic &diagnostic, const Expr *expr) const;
  void noteEqualDims(Diagnostic &diagnostic, Extent a, Extent b) const;
  void noteEqualDims(Diagnostic &diagnostic, Shape a, Shape b) const;
  /// The outer product that `expr` is, up to scalar factors, or null.
  static const CallExpr *findOuter(const Expr *expr);

  File &file;
  Recurrence &recurrence;
  const SourceBuffer &buffer;
  const InstantiationOptions &options;
  DiagnosticEngine &diagnostics;
  ConstantEvaluator evaluator;

  llvm::StringMap<Declaration *> names;       // what is declared so far and in scope
  llvm::StringMap<Declaration *> later;       // what the body declares outside loops, by its first declaration
  llvm::StringMap<Declaration *> outputs;     // a name space of its own
  llvm::StringMap<Declaration *> endedLocals; // of loops that are over
  llvm::StringSet<> reportedNames;
  std::vector<Declaration *> declarations; // all of them, in order
  std::vector<llvm::StringRef> *loopLocals = nullptr;
  ForStatement *loop = nullptr;
  RestartStatement *restart = nullptr;
  uint32_t loopDepth = 0;
  uint64_t unrolledNodes = 0;
  llvm::MapVector<Declaration *, llvm::SmallVector<int64_t>> elements; // of outputs that loops give
  llvm::ArrayRef<Declaration *> functionArguments; // while the body of a function is checked, what it knows
  bool inFunction = false;
  unsigned functionDepth = 0;     // of the expressions of functions that are being checked
  uint64_t functionNodes = 0;     // in all copies of functions' expressions
  Declaration *pi = nullptr;      // once it is used
  Statement *statement = nullptr; // the one that is being checked
};

} // namespace recur::frontend
