#include "Frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

// Complex numbers. Every shape says whether its numbers are complex; the rules of shapes themselves do not look at it.

namespace recur::frontend {

using llvm::cast;

/// Functions that complex numbers go into: what is linear in them, and what takes them apart.
static bool takesComplex(Builtin id) {
  switch (id) {
  case Builtin::Exp:
  case Builtin::Abs:
  case Builtin::Stop:
  case Builtin::Sum:
  case Builtin::Dot:
  case Builtin::Outer:
  case Builtin::Diag:
  case Builtin::Concat:
  case Builtin::Stack:
  case Builtin::Delay:
  case Builtin::Conv:
  case Builtin::Conj:
  case Builtin::Re:
  case Builtin::Im:
    return true;
  default:
    return false;
  }
}

static bool isRealAlways(Builtin id) { return id == Builtin::Abs || id == Builtin::Re || id == Builtin::Im; }

/// Whether what a call gives is complex. Reports an argument that may not be.
bool RecurrenceChecker::isComplexCall(CallExpr *call) {
  if (call->body)
    return call->body->shape.isComplex();
  if (!call->builtin)
    return false;
  Builtin id = call->builtin->id;
  const Argument *complex =
      llvm::find_if(call->arguments, [](const Argument &argument) { return argument.value->shape.isComplex(); });
  bool any = complex != call->arguments.end();
  if (any && !takesComplex(id)) {
    Diagnostic &diagnostic = diagnostics.report(ErrorCode::ComplexNumber, complex->value->range,
                                                "'" + call->callee + "' takes real numbers, and this is " +
                                                    formatWithRank(complex->value->shape));
    noteShape(diagnostic, complex->value);
    if (id == Builtin::Where)
      diagnostic.help("choose the parts: complex(where(c, re(a), re(b)), where(c, im(a), im(b)))");
    else if (id == Builtin::Max || id == Builtin::Min)
      diagnostic.help("complex numbers have no order; abs(z), re(z) and im(z) are real");
    else if (id == Builtin::Sin || id == Builtin::Cos || id == Builtin::Cis)
      diagnostic.help("an angle is real; exp(z) takes complex numbers");
    else if (id == Builtin::Pow)
      diagnostic.help("a whole power is a product, such as z * z");
    else
      diagnostic.help("abs(z), re(z) and im(z) are real");
    return false;
  }
  return id == Builtin::Complex || id == Builtin::Cis || (any && !isRealAlways(id));
}

/// Whether the numbers of an expression that is checked otherwise are complex.
bool RecurrenceChecker::isComplex(Expr *expr) {
  switch (expr->kind) {
  case Expr::Error:
  case Expr::Number:
    return false;
  case Expr::Name: {
    Declaration *declaration = cast<NameExpr>(expr)->declaration;
    return declaration && declaration->shape.isComplex();
  }
  case Expr::Negate:
    return cast<NegateExpr>(expr)->operand->shape.isComplex();
  case Expr::Binary:
    return !isComparison(cast<BinaryExpr>(expr)->op) &&
           (cast<BinaryExpr>(expr)->lhs->shape.isComplex() || cast<BinaryExpr>(expr)->rhs->shape.isComplex());
  case Expr::Index:
    return cast<IndexExpr>(expr)->base->shape.isComplex();
  case Expr::Slice:
    return cast<SliceExpr>(expr)->base->shape.isComplex();
  case Expr::Call:
    return isComplexCall(cast<CallExpr>(expr));
  }
  llvm_unreachable("every kind is listed");
}

/// Reports a complex number where a real one belongs; `what` is the subject of the message.
bool RecurrenceChecker::requireReal(Expr *expr, const llvm::Twine &what, const llvm::Twine &help) {
  if (!expr->shape.isComplex())
    return true;
  Diagnostic &diagnostic =
      diagnostics.report(ErrorCode::ComplexNumber, expr->range, what + ", and this is " + formatWithRank(expr->shape));
  noteShape(diagnostic, expr);
  diagnostic.help(help);
  return false;
}

/// The two arrays of a complex declaration have names that no other array has.
void RecurrenceChecker::checkNamesOfParts() {
  for (const Declaration *declaration : declarations) {
    if (!declaration->complex)
      continue;
    bool isOutput = declaration->is(DeclarationKind::Output);
    for (llvm::StringRef part : {"_re", "_im"}) {
      std::string name = declaration->name.str() + part.str();
      Declaration *other = isOutput ? outputs.lookup(name) : lookup(name);
      bool isArray = other && (isOutput || other->is(DeclarationKind::Input) || other->is(DeclarationKind::Param) ||
                               other->is(DeclarationKind::State));
      if (isArray)
        diagnostics
            .report(ErrorCode::DuplicateName, declaration->nameRange,
                    "the parts of the complex " + spell(declaration->declarationKind) + " '" + declaration->name +
                        "' are the arrays '" + declaration->name + "_re' and '" + declaration->name + "_im', and '" +
                        name + "' is declared already")
            .note(other->nameRange, "it is " + describe(other->declarationKind) + ", declared here")
            .help("choose another name for one of them");
    }
  }
}

} // namespace recur::frontend
