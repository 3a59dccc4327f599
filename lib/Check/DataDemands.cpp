#include "Check/DataDemands.h"
#include "Analysis/RecurrenceAnalysis.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::dgps;

//===----------------------------------------------------------------------===//
// Signs, from the ops
//===----------------------------------------------------------------------===//

namespace {

/// Walks the equations backwards from each op that wants a sign of its operand.
class SignFinder {
public:
  explicit SignFinder(RecurrenceOp recurrence) : recurrence(recurrence) {}

  std::map<std::string, Demand> find() {
    recurrence.walk([&](mlir::Operation *op) {
      TypeSwitch<mlir::Operation *>(op)
          .Case([&](ExpOp op) { demand(op.getOperand(), Demand::Negative); })
          .Case([&](LogOp op) { demand(op.getOperand(), Demand::Positive); })
          .Case([&](SqrtOp op) { demand(op.getOperand(), Demand::Positive); })
          .Case([&](DivOp op) { demand(op.getRhs(), Demand::Positive); })
          .Case<SigmoidOp, SoftplusOp>([&](auto op) { demand(op.getOperand(), Demand::Logit); })
          .Case([&](CgOp op) {
            demand(op.getRidge(), Demand::Positive);
            demandPositiveDefinite(op.getMatrix());
          });
    });
    return demands;
  }

private:
  static Demand opposite(Demand sign) {
    return sign == Demand::Positive ? Demand::Negative : sign == Demand::Negative ? Demand::Positive : sign;
  }

  /// The sign that a value has whatever is drawn, as far as a glance tells.
  static Demand signOf(mlir::Value value, unsigned depth = 0) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || depth > 8)
      return Demand::None;
    return TypeSwitch<mlir::Operation *, Demand>(op)
        .Case<ExpOp, SigmoidOp, SoftplusOp, SqrtOp, AbsOp, SoftmaxOp>([](auto) { return Demand::Positive; })
        .Case([](ConstantOp constant) { return constant.getNumber() < 0 ? Demand::Negative : Demand::Positive; })
        .Case([&](NegOp neg) { return opposite(signOf(neg.getOperand(), depth + 1)); })
        .Case<BroadcastOp, ExtractOp, SliceOp, SumOp>([&](auto same) { return signOf(same.getOperand(), depth + 1); })
        .Case<MulOp, OuterOp, DotOp>([&](auto product) {
          Demand lhs = signOf(product.getLhs(), depth + 1), rhs = signOf(product.getRhs(), depth + 1);
          if (!isa<OuterOp>(product) && product.getLhs() == product.getRhs())
            return Demand::Positive;
          if (lhs == Demand::None || rhs == Demand::None)
            return Demand::None;
          return lhs == rhs ? Demand::Positive : Demand::Negative;
        })
        .Default([](mlir::Operation *) { return Demand::None; });
  }

  /// The factors of elementwise products, where an even power leaves nothing to ask for.
  static void collectFactors(mlir::Value value, SmallVectorImpl<mlir::Value> &factors) {
    if (auto product = value.getDefiningOp<MulOp>()) {
      collectFactors(product.getLhs(), factors);
      collectFactors(product.getRhs(), factors);
    } else if (auto it = llvm::find(factors, value); it != factors.end()) {
      factors.erase(it);
    } else {
      factors.push_back(value);
    }
  }

  /// The product of all factors is to have the sign: the last one of unknown sign makes up for the others.
  void demandOfFactors(ArrayRef<mlir::Value> factors, Demand sign) {
    SmallVector<mlir::Value> unknown;
    for (mlir::Value factor : factors) {
      Demand known = signOf(factor);
      if (known == Demand::None)
        unknown.push_back(factor);
      else if (known == Demand::Negative)
        sign = opposite(sign);
    }
    for (mlir::Value factor : unknown)
      demand(factor, factor == unknown.back() ? sign : Demand::Positive);
  }

  void demandOfProduct(mlir::Value lhs, mlir::Value rhs, Demand sign) {
    SmallVector<mlir::Value> factors;
    collectFactors(lhs, factors);
    collectFactors(rhs, factors);
    demandOfFactors(factors, sign);
  }

  /// The matrix of the quadratic form `dot(x, M @ x)`, which is positive when the matrix is.
  static mlir::Value matrixOfForm(mlir::Value lhs, mlir::Value rhs) {
    if (auto product = rhs.getDefiningOp<MatvecOp>(); product && product.getVector() == lhs)
      return product.getMatrix();
    if (auto product = rhs.getDefiningOp<VecmatOp>(); product && product.getVector() == lhs)
      return product.getMatrix();
    return nullptr;
  }

  void demand(mlir::Value value, Demand sign) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !seen.insert({value, sign}))
      return;
    TypeSwitch<mlir::Operation *>(op)
        .Case<InputOp, ParamOp>([&](auto declared) { demands.insert({declared.getName().str(), sign}); })
        .Case([&](StateOp state) {
          demands.insert({state.getName().str(), sign});
          demand(state.getNext().getValue(), sign);
        })
        .Case([&](NegOp neg) { demand(neg.getOperand(), opposite(sign)); })
        .Case<BroadcastOp, ExtractOp, SliceOp, SumOp>([&](auto same) { demand(same.getOperand(), sign); })
        .Case([&](ConcatOp concat) {
          for (mlir::Value part : concat.getOperands())
            demand(part, sign);
        })
        .Case<AddOp, MaxOp, MinOp>([&](auto both) {
          demand(both.getLhs(), sign);
          demand(both.getRhs(), sign);
        })
        .Case([&](SubOp sub) {
          demand(sub.getLhs(), sign);
          demand(sub.getRhs(), opposite(sign));
        })
        .Case<MulOp, OuterOp>([&](auto product) {
          if (sign != Demand::Logit)
            demandOfProduct(product.getLhs(), product.getRhs(), sign);
        })
        .Case([&](DotOp dot) {
          mlir::Value form = matrixOfForm(dot.getLhs(), dot.getRhs());
          if (!form)
            form = matrixOfForm(dot.getRhs(), dot.getLhs());
          if (form && sign == Demand::Positive)
            demandPositiveDefinite(form);
          else if (sign != Demand::Logit)
            demandOfProduct(dot.getLhs(), dot.getRhs(), sign);
        })
        .Case([&](DivOp div) { demand(div.getLhs(), sign); })
        .Case([&](ScaleColsOp scale) { demandOfProduct(scale.getMatrix(), scale.getVector(), sign); })
        .Case([&](ScaleRowsOp scale) { demandOfProduct(scale.getMatrix(), scale.getVector(), sign); });
  }

  /// `outer(a, a)`, where a scalar may stand before either side.
  void demandOfOuter(mlir::Value lhs, mlir::Value rhs) {
    for (mlir::Value side : {lhs, rhs})
      while (auto product = side.getDefiningOp<MulOp>()) {
        bool scalarFirst = shapeOf(product.getLhs()).empty();
        if (!scalarFirst && !shapeOf(product.getRhs()).empty())
          break;
        demand(scalarFirst ? product.getLhs() : product.getRhs(), Demand::Positive);
        side = scalarFirst ? product.getRhs() : product.getLhs();
      }
  }

  void demandPositiveDefinite(mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !seen.insert({value, Demand::PositiveDefinite}))
      return;
    TypeSwitch<mlir::Operation *>(op)
        .Case<InputOp, ParamOp>([&](auto declared) { demands[declared.getName().str()] = Demand::PositiveDefinite; })
        .Case([&](StateOp state) {
          demands[state.getName().str()] = Demand::PositiveDefinite;
          demandPositiveDefinite(state.getNext().getValue());
        })
        .Case([&](AddOp sum) {
          demandPositiveDefinite(sum.getLhs());
          demandPositiveDefinite(sum.getRhs());
        })
        .Case([&](SubOp difference) { demandPositiveDefinite(difference.getLhs()); }) // less what it can spare
        .Case([&](MulOp product) {
          for (mlir::Value side : {product.getLhs(), product.getRhs()}) {
            if (shapeOf(side).empty())
              demand(side, Demand::Positive);
            else
              demandPositiveDefinite(side);
          }
        })
        .Case([&](OuterOp outer) { demandOfOuter(outer.getLhs(), outer.getRhs()); });
  }

  RecurrenceOp recurrence;
  std::map<std::string, Demand> demands; // where two ops disagree, the first in the program wins
  SetVector<std::pair<mlir::Value, Demand>> seen;
};

//===----------------------------------------------------------------------===//
// Keys and gains, from the normal form
//===----------------------------------------------------------------------===//

/// Inputs, params and states are factors of keys and of what a step erases with.
class KeyFinder {
public:
  explicit KeyFinder(std::map<std::string, Demand> &demands) : demands(demands) {}

  void add(const analysis::DeltaForm &form) {
    for (const analysis::MicroStep &step : form.steps) {
      addKey(step.write);
      for (const analysis::Read &read : step.reads)
        addKey(read.key);
    }
    for (const analysis::MicroStep &step : form.steps)
      for (const analysis::Read &read : step.reads) {
        addGains(read.scale, {});
        // What a write key has more than the read key strengthens or weakens the erasing, channel by channel.
        if (const algebra::Term *key = read.key->single())
          addGains(step.write, key->monomial->factors, /*onlyBeyond=*/true);
      }
  }

private:
  /// The declared value that an atom is, or is an element of.
  static mlir::Operation *findDeclaration(const algebra::Atom *atom) {
    while (atom->isFunction("extract") || atom->isFunction("slice")) {
      const algebra::Term *term = atom->arguments[0]->single();
      if (!term || term->monomial->factors.size() != 1)
        return nullptr;
      atom = term->monomial->factors[0].atom;
    }
    if (atom->kind != algebra::Atom::Kind::Leaf)
      return nullptr;
    mlir::Operation *op = atom->leaf.getDefiningOp();
    while (auto slice = dyn_cast_or_null<SliceOp>(op))
      op = slice.getOperand().getDefiningOp();
    return isa_and_nonnull<InputOp, ParamOp>(op) ? op : nullptr;
  }

  static StringRef nameOf(mlir::Operation *declaration) {
    return cast<mlir::StringAttr>(declaration->getAttr("name")).getValue();
  }

  void addKey(const algebra::Poly *key) {
    for (const algebra::Term &term : key->terms)
      for (const algebra::Factor &factor : term.monomial->factors)
        if (mlir::Operation *op = findDeclaration(factor.atom); op && !shapeOf(op->getResult(0)).empty()) {
          auto [entry, isNew] = demands.try_emplace(nameOf(op).str(), Demand::Key);
          if (!isNew && entry->second == Demand::Positive)
            entry->second = Demand::PositiveKey;
          else if (!isNew && entry->second == Demand::Logit) // a feature map, as silu(k)
            entry->second = Demand::Key;
        }
  }

  void addGains(const algebra::Poly *scale, ArrayRef<algebra::Factor> except, bool onlyBeyond = false) {
    for (const algebra::Term &term : scale->terms) {
      ArrayRef<algebra::Factor> factors = term.monomial->factors;
      if (onlyBeyond && !all_of(except, [&](const algebra::Factor &factor) { return is_contained(factors, factor); }))
        continue;
      for (const algebra::Factor &factor : factors) {
        mlir::Operation *op = is_contained(except, factor) ? nullptr : findDeclaration(factor.atom);
        if (!op)
          continue;
        Demand &demand = demands.try_emplace(nameOf(op).str(), Demand::Gain).first->second;
        if (demand != Demand::Negative && demand != Demand::PositiveDefinite)
          demand = Demand::Gain;
      }
    }
  }

  std::map<std::string, Demand> &demands;
};

} // namespace

std::map<std::string, Demand> check::findDemands(RecurrenceOp recurrence) {
  std::map<std::string, Demand> demands = SignFinder(recurrence).find();
  analysis::RecurrenceAnalysis understood(recurrence);
  KeyFinder keys(demands);
  for (const analysis::StateFacts &state : understood.getStates())
    if (state.delta)
      keys.add(*state.delta);
  return demands;
}
