// Expressions in the notation of the language.
#pragma once

#include "Analysis/Algebra/Evaluate.h"
#include "Analysis/Spelling.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include <utility>

namespace recur::algebra {

/// Prints an expression as the author wrote it where the program computes it, and from its canonical form elsewhere.
/// What the source gives a name is printed by the name, and a state as this token leaves it with a prime.
///
/// However long an expression is, its text is not: a part that is long gets a name of its own, and of a sum of many
/// terms the first are printed, with how many there are more. Each part is printed once, so that the time is linear.
class Printer {
public:
  enum class Style { Source, Canonical };
  Printer(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence, Style style = Style::Source);

  std::string print(const Poly *poly) const { return text(poly).text; }
  /// The value as the program spells it.
  std::string print(mlir::Value value) const { return text(value).text; }
  /// What an expression is, though it may have a name: for lines that say what the name stands for.
  std::string printMeaning(const Poly *poly) const;
  /// The text as a factor of a product: a sum stands in parentheses.
  std::string printFactor(const Poly *poly) const { return within(text(poly), Level::Product); }
  /// The text as an operand of `@`: a product stands in parentheses too.
  std::string printOperand(const Poly *poly) const { return within(text(poly), Level::Operand); }
  static std::string number(double value);

  /// A part that was long, as it is printed since.
  struct NamedPart {
    std::string name, text;
  };
  /// Those that came up since the last call. A call after each section of a report starts anew with counting them.
  std::vector<NamedPart> takeNamedParts() const { return std::exchange(parts, {}); }
  /// What stands for a long part when there are as many names as a reader can bear.
  static constexpr llvm::StringLiteral leftOut = "(...)";

private:
  /// How tightly the outermost operator of a text binds.
  enum class Level { Comparison, Sum, Product, Operand };
  struct Text {
    std::string text;
    Level level = Level::Operand;
  };
  static std::string within(const Text &text, Level level) {
    return text.level < level ? "(" + text.text + ")" : text.text;
  }

  Text text(const Poly *poly) const;
  Text shortened(const void *part, llvm::function_ref<Text()> spell) const;
  Text spell(const Poly *poly) const;
  Text text(const Monomial *monomial) const;
  Text text(const Atom *atom) const;
  Text textOfSum(const Atom *atom) const;
  Text text(mlir::Value value) const;
  mlir::Value valueOf(const Poly *poly, unsigned rank) const;
  Text textOfOp(mlir::Operation *op) const;
  Text textOf(const analysis::Spelling &spelling) const;

  Algebra &algebra;
  const Expressions &expressions;
  Style style;
  llvm::DenseMap<const Poly *, std::string> names;
  llvm::StringSet<> taken; ///< names that the source has

  // What has been printed so far.
  mutable llvm::DenseMap<const void *, Text> known; ///< parts, by expression or value
  mutable std::vector<NamedPart> parts;
  mutable unsigned numNames = 0, depth = 0;
};

} // namespace recur::algebra
