#pragma once

#include "Frontend/Builtins.h"
#include "Frontend/Shape.h"
#include "Support/SourceBuffer.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"

#include <memory>
#include <vector>

// The syntax tree of a file. The parser builds it; the fields under "Filled by sema" are the checked part, which
// emission reads. Every node lives in the file's arena and its names point into the source text, so that a tree is
// freed at once and nodes have no destructors.

namespace recur::frontend {

struct Declaration;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Expr {
  enum Kind : uint8_t { Error, Number, Name, Negate, Binary, Call, Index, Slice };

  Kind kind;
  bool parenthesized = false; // the range then takes the parentheses in
  bool hasIndex = false;      // this or an operand is an Index or a Slice, or a call of a function of the file's own
  uint16_t depth = 1;
  SourceRange range;
  // Filled by sema.
  Shape shape;

  Expr(Kind kind, SourceRange range) : kind(kind), range(range) {}
};

/// Stands where an expression could not be parsed.
struct ErrorExpr : Expr {
  explicit ErrorExpr(SourceRange range) : Expr(Error, range) {}
  static bool classof(const Expr *e) { return e->kind == Error; }
};

struct NumberExpr : Expr {
  double value;
  NumberExpr(SourceRange range, double value) : Expr(Number, range), value(value) {}
  static bool classof(const Expr *e) { return e->kind == Number; }
};

struct NameExpr : Expr {
  llvm::StringRef name;
  Declaration *declaration = nullptr; // Filled by sema.
  NameExpr(SourceRange range, llvm::StringRef name) : Expr(Name, range), name(name) {}
  static bool classof(const Expr *e) { return e->kind == Name; }
};

struct NegateExpr : Expr {
  Expr *operand;
  NegateExpr(SourceRange range, Expr *operand) : Expr(Negate, range), operand(operand) {}
  static bool classof(const Expr *e) { return e->kind == Negate; }
};

enum class BinaryOperator : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Product,
  Less,
  AtMost,
  Greater,
  AtLeast,
  Equal,
  NotEqual
};
/// Whether it gives 1 where it holds, and else 0.
inline bool isComparison(BinaryOperator op) { return op >= BinaryOperator::Less; }
llvm::StringRef spell(BinaryOperator op);

struct BinaryExpr : Expr {
  BinaryOperator op;
  SourceRange operatorRange;
  Expr *lhs, *rhs;
  BinaryExpr(BinaryOperator op, SourceRange operatorRange, Expr *lhs, Expr *rhs)
      : Expr(Binary, {lhs->range.begin, rhs->range.end}), op(op), operatorRange(operatorRange), lhs(lhs), rhs(rhs) {}
  static bool classof(const Expr *e) { return e->kind == Binary; }
};

struct Argument {
  llvm::StringRef keyword; // empty for an unnamed argument
  SourceRange keywordRange;
  Expr *value;
};

struct CallExpr : Expr {
  llvm::StringRef callee;
  SourceRange calleeRange;
  llvm::ArrayRef<Argument> arguments;
  // Filled by sema.
  const BuiltinInfo *builtin = nullptr;
  int64_t count = 0;                            // the iterations of cg
  bool bySteps = false;                         // cg has the gradient of its steps
  llvm::ArrayRef<Declaration *> boundArguments; // of a function of the file's own: what its arguments are here
  Expr *body = nullptr;                         // and its expression, with these
  CallExpr(SourceRange range, llvm::StringRef callee, SourceRange calleeRange, llvm::ArrayRef<Argument> arguments)
      : Expr(Call, range), callee(callee), calleeRange(calleeRange), arguments(arguments) {}
  static bool classof(const Expr *e) { return e->kind == Call; }

  /// The value of the named argument, or null.
  Expr *getKeyword(llvm::StringRef keyword) const;
};

/// x[j], or the column A[:, j].
struct IndexExpr : Expr {
  Expr *base, *index;
  bool isColumn = false;
  IndexExpr(SourceRange range, Expr *base, Expr *index) : Expr(Index, range), base(base), index(index) {
    hasIndex = true;
  }
  static bool classof(const Expr *e) { return e->kind == Index; }
};

/// x[a..b]: from element or row a up to, but not including, b.
struct SliceExpr : Expr {
  Expr *base, *lower, *upper;
  SliceExpr(SourceRange range, Expr *base, Expr *lower, Expr *upper)
      : Expr(Slice, range), base(base), lower(lower), upper(upper) {
    hasIndex = true;
  }
  static bool classof(const Expr *e) { return e->kind == Slice; }
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

struct Statement {
  enum Kind : uint8_t { Declare, Assign, For, Restart };
  Kind kind;
  SourceRange range;
  uint32_t numNodes = 1; // expression nodes within; what one execution costs when a loop unrolls
  Statement(Kind kind, SourceRange range) : kind(kind), range(range) {}
};

/// A shape as it is written: up to two entries, each a name or a number. `scalar` and a missing shape have none.
struct ShapeSyntax {
  SourceRange range; // invalid when left out
  bool malformed = false;
  llvm::ArrayRef<Expr *> entries;
};

enum class DeclarationKind : uint8_t { Dim, Const, Input, Param, State, Let, Output, LoopVariable, Argument };
/// "input", "state", ...
llvm::StringRef spell(DeclarationKind kind);
/// "an input", "a state", ...
llvm::StringRef describe(DeclarationKind kind);

/// Whatever has a name. Also the symbol that names resolve to.
struct Declaration : Statement {
  DeclarationKind declarationKind;
  bool shared = false;  // of an Input
  bool complex = false; // of an Input, Param, State or Output
  bool integer = false; // of an Input
  llvm::StringRef name;
  SourceRange nameRange;
  ShapeSyntax shapeSyntax;
  Expr *init = nullptr;    // of a Const, Let, Output; the default of a Dim; of an Argument, what the call gives; of a
                           // State, what it starts as
  Expr *element = nullptr; // of an Output whose elements are given one by one: which one this is
  // Filled by sema.
  bool used = false;
  bool updated = false; // of a State
  bool assumed = false; // of a Dim: its value is an assumption
  bool known = false;   // of a Dim, Const: `number` holds its value
  Shape shape;
  double number = 0;      // of a Dim, Const; of a LoopVariable, in the current iteration
  uint32_t index = 0;     // of a Dim: its place among the dims; of any value: emission's slot
  uint32_t loopDepth = 0; // how many loops it is declared in

  Declaration(DeclarationKind declarationKind, llvm::StringRef name, SourceRange nameRange)
      : Statement(Declare, nameRange), declarationKind(declarationKind), name(name), nameRange(nameRange) {}
  static bool classof(const Statement *s) { return s->kind == Declare; }
  bool is(DeclarationKind other) const { return declarationKind == other; }
  /// True for an input, param or state that is a scalar because no shape is written.
  bool lacksShape() const {
    return (is(DeclarationKind::Input) || is(DeclarationKind::Param) || is(DeclarationKind::State)) &&
           !shapeSyntax.range.isValid();
  }
  /// True for what is a number at compile time.
  bool isNumber() const {
    return is(DeclarationKind::Dim) || is(DeclarationKind::Const) || is(DeclarationKind::LoopVariable);
  }
};

struct AssignStatement : Statement {
  llvm::StringRef name;
  SourceRange nameRange;
  Expr *value;
  Declaration *target = nullptr; // Filled by sema: a State, or a Let that stands before the loop.
  AssignStatement(SourceRange range, llvm::StringRef name, SourceRange nameRange, Expr *value)
      : Statement(Assign, range), name(name), nameRange(nameRange), value(value) {}
  static bool classof(const Statement *s) { return s->kind == Assign; }
};

struct ForStatement : Statement {
  Declaration *variable;
  Expr *lower, *upper; // the upper bound is exclusive
  llvm::ArrayRef<Statement *> body;
  SourceRange headRange; // "for j in 0..N"
  ForStatement(SourceRange range, Declaration *variable, Expr *lower, Expr *upper, llvm::ArrayRef<Statement *> body,
               SourceRange headRange)
      : Statement(For, range), variable(variable), lower(lower), upper(upper), body(body), headRange(headRange) {}
  static bool classof(const Statement *s) { return s->kind == For; }
};

/// restart EXPR: where EXPR is one, the states are zero again before this token.
struct RestartStatement : Statement {
  Expr *value;
  RestartStatement(SourceRange range, Expr *value) : Statement(Restart, range), value(value) {}
  static bool classof(const Statement *s) { return s->kind == Restart; }
};

/// fn name(a, b) = EXPR
struct Function {
  llvm::StringRef name;
  SourceRange nameRange, range;
  llvm::ArrayRef<Declaration *> arguments; // as they are named; each call binds arguments of its own
  Expr *body = nullptr;
};

struct Recurrence {
  llvm::StringRef name;
  SourceRange nameRange;
  SourceRange range;
  llvm::ArrayRef<Statement *> body;
  bool damaged = false;          // a syntax error hides part of it; what depends on the whole is not checked
  std::vector<SourceRange> lost; // the statements with such errors: a name in one may be declared there
  // Filled by sema.
  std::vector<Declaration *> dims;
  bool hasImplicitStates = false;    // of delays or the count of tokens
  Declaration *tokenCount = nullptr; // the state that `token` is, where the recurrence uses it
};

/// A parsed file, and the memory of its tree.
class File {
public:
  explicit File(const SourceBuffer &buffer) : buffer(buffer) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  template <typename Node, typename... Arguments> Node *make(Arguments &&...arguments) {
    return new (arena.Allocate<Node>()) Node(std::forward<Arguments>(arguments)...);
  }
  template <typename T> llvm::ArrayRef<T> copy(llvm::ArrayRef<T> items) { return items.copy(arena); }

  const SourceBuffer &getBuffer() const { return buffer; }

  std::vector<std::unique_ptr<Recurrence>> recurrences;
  std::vector<Function *> functions;

private:
  const SourceBuffer &buffer;
  llvm::BumpPtrAllocator arena;
};

} // namespace recur::frontend
