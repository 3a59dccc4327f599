#include "Check/DataDemands.h"
#include "Analysis/RecurrenceAnalysis.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::dgps;
using data::Fill;

//===----------------------------------------------------------------------===//
// Signs, from the ops
//===----------------------------------------------------------------------===//

namespace {

/// Walks the equations backwards from each op that wants a sign of its operand.
class SignFinder {
public:
  explicit SignFinder(RecurrenceOp recurrence) : recurrence(recurrence) {}

  Demands find() {
    recurrence.walk([&](mlir::Operation *op) {
      TypeSwitch<mlir::Operation *>(op)
          .Case([&](ExpOp op) { demand(op.getOperand(), Fill::Negative); })
          .Case([&](LogOp op) { demand(op.getOperand(), Fill::Positive); })
          .Case([&](SqrtOp op) { demand(op.getOperand(), Fill::Positive); })
          .Case([&](DivOp op) { demand(op.getRhs(), Fill::Positive); })
          .Case<SigmoidOp, SoftplusOp>([&](auto op) { demand(op.getOperand(), Fill::Logit); })
          .Case([&](CgOp op) {
            demand(op.getRidge(), Fill::Positive);
            demandPositiveDefinite(op.getMatrix());
          });
    });
    return demands;
  }

private:
  static Fill opposite(Fill sign) {
    return sign == Fill::Positive ? Fill::Negative : sign == Fill::Negative ? Fill::Positive : sign;
  }

  /// The sign that a value has whatever is drawn, as far as a glance tells.
  static Fill signOf(mlir::Value value, unsigned depth = 0) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || depth > 8)
      return Fill::Normal;
    return TypeSwitch<mlir::Operation *, Fill>(op)
        .Case<ExpOp, SigmoidOp, SoftplusOp, SqrtOp, AbsOp, SoftmaxOp>([](auto) { return Fill::Positive; })
        .Case([](ConstantOp constant) { return constant.getNumber() < 0 ? Fill::Negative : Fill::Positive; })
        .Case([&](NegOp neg) { return opposite(signOf(neg.getOperand(), depth + 1)); })
        .Case<BroadcastOp, ExtractOp, SliceOp, SumOp>([&](auto same) { return signOf(same.getOperand(), depth + 1); })
        .Case<MulOp, OuterOp, DotOp>([&](auto product) {
          Fill lhs = signOf(product.getLhs(), depth + 1), rhs = signOf(product.getRhs(), depth + 1);
          if (!isa<OuterOp>(product) && product.getLhs() == product.getRhs())
            return Fill::Positive;
          if (lhs == Fill::Normal || rhs == Fill::Normal)
            return Fill::Normal;
          return lhs == rhs ? Fill::Positive : Fill::Negative;
        })
        .Default([](mlir::Operation *) { return Fill::Normal; });
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
  void demandOfFactors(ArrayRef<mlir::Value> factors, Fill sign) {
    SmallVector<mlir::Value> unknown;
    for (mlir::Value factor : factors) {
      Fill known = signOf(factor);
      if (known == Fill::Normal)
        unknown.push_back(factor);
      else if (known == Fill::Negative)
        sign = opposite(sign);
    }
    for (mlir::Value factor : unknown)
      demand(factor, factor == unknown.back() ? sign : Fill::Positive);
  }

  void demandOfProduct(mlir::Value lhs, mlir::Value rhs, Fill sign) {
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

  void demand(mlir::Value value, Fill sign) {
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
          if (sign != Fill::Logit)
            demandOfProduct(product.getLhs(), product.getRhs(), sign);
        })
        .Case([&](DotOp dot) {
          mlir::Value form = matrixOfForm(dot.getLhs(), dot.getRhs());
          if (!form)
            form = matrixOfForm(dot.getRhs(), dot.getLhs());
          if (form && sign == Fill::Positive)
            demandPositiveDefinite(form);
          else if (sign != Fill::Logit)
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
        demand(scalarFirst ? product.getLhs() : product.getRhs(), Fill::Positive);
        side = scalarFirst ? product.getRhs() : product.getLhs();
      }
  }

  void demandPositiveDefinite(mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !seen.insert({value, Fill::PositiveDefinite}))
      return;
    TypeSwitch<mlir::Operation *>(op)
        .Case<InputOp, ParamOp>([&](auto declared) { demands[declared.getName().str()] = Fill::PositiveDefinite; })
        .Case([&](StateOp state) {
          demands[state.getName().str()] = Fill::PositiveDefinite;
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
              demand(side, Fill::Positive);
            else
              demandPositiveDefinite(side);
          }
        })
        .Case([&](OuterOp outer) { demandOfOuter(outer.getLhs(), outer.getRhs()); });
  }

  RecurrenceOp recurrence;
  Demands demands; // where two ops disagree, the first in the program wins
  SetVector<std::pair<mlir::Value, Fill>> seen;
};

//===----------------------------------------------------------------------===//
// Keys and gains, from the normal form
//===----------------------------------------------------------------------===//

/// Inputs, params and states are factors of keys and of what a step erases with.
class KeyFinder {
public:
  explicit KeyFinder(Demands &demands) : demands(demands) {}

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

  void add(const analysis::CoupledForm &form) {
    for (const analysis::CoupledWrite &write : form.writes) {
      if (write.write)
        addKey(write.write);
      for (const analysis::CoupledRead &read : write.reads)
        if (read.key)
          addKey(read.key);
    }
    for (const analysis::CoupledWrite &write : form.writes)
      if (!write.reads.empty())
        addGains(write.gain, {});
    for (const analysis::CoupledWrite &write : form.writes)
      for (const analysis::CoupledRead &read : write.reads)
        for (ArrayRef<const algebra::Poly *> factors : {ArrayRef(read.factors), ArrayRef(write.factors)})
          for (const algebra::Poly *factor : factors)
            addGains(factor, {});
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
          auto [entry, isNew] = demands.try_emplace(nameOf(op).str(), Fill::Key);
          if (!isNew && entry->second == Fill::Positive)
            entry->second = Fill::PositiveKey;
          else if (!isNew && entry->second == Fill::Logit) // a feature map, as silu(k)
            entry->second = Fill::Key;
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
        Fill &demand = demands.try_emplace(nameOf(op).str(), Fill::Gain).first->second;
        if (demand != Fill::Negative && demand != Fill::PositiveDefinite)
          demand = Fill::Gain;
      }
    }
  }

  Demands &demands;
};

} // namespace

Demands check::findDemands(RecurrenceOp recurrence) {
  Demands demands = SignFinder(recurrence).find();
  analysis::RecurrenceAnalysis understood(recurrence);
  KeyFinder keys(demands);
  for (const analysis::StateFacts &state : understood.getStates())
    if (state.delta)
      keys.add(*state.delta);
  for (const analysis::CoupledForm &form : understood.getCoupledForms())
    keys.add(form);
  return demands;
}
