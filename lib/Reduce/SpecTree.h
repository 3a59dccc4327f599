// A specification as a tree that can be built, changed and printed again: what the reducer shrinks and what the
// generator of random recurrences writes. It keeps what the author wrote and knows nothing of types or meaning; the
// front end's AST is made for checking, so it keeps source ranges instead.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <vector>

namespace recur::reduce {

struct Expr;
/// Expressions never change, so trees may share them.
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind { Number, Name, Negate, Binary, Call, Index, Slice };
  Kind kind;
  std::string text;                // the number, the name, the operator (`+ - * / @`), the function
  std::vector<ExprPtr> operands;   // for an index or a slice: what it is of, then the index or the bounds
  std::vector<std::string> labels; // of a call's operands, "" where positional; as many as operands
  std::vector<std::string> shape;  // the sizes' names, where whoever built the tree knows them; printing ignores it

  bool is(Kind k) const { return kind == k; }
  bool is(Kind k, llvm::StringRef t) const { return kind == k && t == text; }
};

ExprPtr makeExpr(Expr::Kind kind, llvm::StringRef text, std::vector<ExprPtr> operands = {},
                 std::vector<std::string> shape = {});
/// The same expression with other operands.
ExprPtr withOperands(const ExprPtr &expr, std::vector<ExprPtr> operands);

bool equal(const ExprPtr &a, const ExprPtr &b);
unsigned countNodes(const ExprPtr &expr);
bool mentions(const ExprPtr &expr, llvm::StringRef name);
/// Replaces bottom up: `change` gets each node with its new operands, and returns null to keep it.
ExprPtr transform(const ExprPtr &expr, llvm::function_ref<ExprPtr(const ExprPtr &)> change);
ExprPtr substitute(const ExprPtr &expr, llvm::StringRef name, const ExprPtr &by);
std::string print(const ExprPtr &expr);

/// A declaration or a statement.
struct Item {
  enum class Kind { Dim, Const, Input, Param, State, Let, Assign, Output, For, Restart };
  Kind kind;
  std::string name = {}; // for a loop: its variable
  bool shared = false;
  bool complex = false, integer = false;
  bool hasShape = false;
  std::vector<ExprPtr> shape = {};        // empty is `scalar`
  ExprPtr value = nullptr;                // may be null for a dim; of a state what it starts as, or null
  ExprPtr element = nullptr;              // of an output that a loop gives: which element this is
  ExprPtr begin = nullptr, end = nullptr; // of a loop
  std::vector<Item> body = {};
};

struct Recurrence {
  std::string name;
  std::vector<Item> items;
};

struct Function {
  std::string name;
  std::vector<std::string> arguments;
  ExprPtr value;
};

/// A file.
struct Spec {
  std::vector<Recurrence> recurrences;
  std::vector<Function> functions = {};
};

std::string print(const Spec &spec);
std::string print(const Item &item);
unsigned countItems(const std::vector<Item> &items);
/// True when an expression of the item or of its body uses the name.
bool mentionsAnywhere(const Item &item, llvm::StringRef name);
/// Calls `change` on every expression of the items, loops' bodies included.
void transformExprs(std::vector<Item> &items, llvm::function_ref<ExprPtr(const ExprPtr &)> change);

} // namespace recur::reduce
