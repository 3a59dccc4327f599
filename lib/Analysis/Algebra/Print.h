// Expressions in the notation of the language.
#pragma once

#include "Analysis/Algebra/Evaluate.h"
#include "llvm/ADT/DenseMap.h"

namespace recur::algebra {

/// Prints an expression as the author wrote it where the program computes it, and from its canonical form elsewhere.
/// What the source gives a name is printed by the name, and a state as this token leaves it with a prime.
class Printer {
public:
  enum class Style { Source, Canonical };
  Printer(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence, Style style = Style::Source);

  std::string print(const Poly *poly) const { return text(poly).text; }
  /// As a factor of a product: a sum stands in parentheses.
  std::string printFactor(const Poly *poly) const { return within(text(poly), Level::Product); }
  /// As an operand of `@`: a product stands in parentheses too.
  std::string printOperand(const Poly *poly) const { return within(text(poly), Level::Operand); }
  static std::string number(double value);

private:
  /// How tightly the outermost operator of a text binds.
  enum class Level { Sum, Product, Operand };
  struct Text {
    std::string text;
    Level level = Level::Operand;
  };
  static std::string within(const Text &text, Level level) {
    return text.level < level ? "(" + text.text + ")" : text.text;
  }

  Text text(const Poly *poly) const;
  Text text(const Monomial *monomial) const;
  Text text(const Atom *atom) const;
  Text textOfSum(const Atom *atom) const;
  Text text(mlir::Value value) const;
  mlir::Value valueOf(const Poly *poly, unsigned rank) const;
  Text textOfOp(mlir::Operation *op) const;

  Algebra &algebra;
  const Expressions &expressions;
  Style style;
  llvm::DenseMap<const Poly *, std::string> names;
};

} // namespace recur::algebra
