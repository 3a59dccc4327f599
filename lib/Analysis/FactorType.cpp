#include "Analysis/FactorType.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;
using chunk::Function;

namespace {

/// What a value is made of, as far as rounding it goes: of no data, of data that are rounded already, or of f32 data.
enum class Grain { None, Rounded, Full };

class FactorGrains {
public:
  FactorGrains(ProgramOp program, bool takesF16) : program(program), takesF16(takesF16) {}
  bool mayRoundAll();
  /// Whether the data may be rounded, or are.
  bool isShort(InputOp input) const {
    std::optional<Type> stored = input.getStored();
    return stored && (stored->isBF16() || (takesF16 && stored->isF16()));
  }

private:
  Grain of(Value value, bool countsNumbers = false);
  Grain find(Value value, bool countsNumbers);
  Grain ofMap(MapOp map, bool countsNumbers);
  /// Of a value that depends on all of them, and on each as on the others.
  Grain ofSum(ValueRange values, bool countsNumbers);
  bool mayRound(ValueRange factors) {
    return llvm::all_of(factors, [&](Value factor) { return of(factor) != Grain::Full; });
  }

  void findStates();

  ProgramOp program;
  bool takesF16;
  llvm::DenseMap<Value, Grain> states; // as far as they are known
  llvm::DenseMap<std::pair<Value, unsigned>, Grain> known;
};

} // namespace

static bool isNumber(Value value) { return tensorOf(value).getRank() <= 1; }

Grain FactorGrains::of(Value value, bool countsNumbers) {
  auto [entry, isNew] = known.try_emplace({value, unsigned(countsNumbers)}, Grain::None);
  if (!isNew)
    return entry->second;
  Grain grain = isNumber(value) && !countsNumbers ? Grain::None : find(value, countsNumbers);
  return known[{value, unsigned(countsNumbers)}] = grain;
}

Grain FactorGrains::ofSum(ValueRange values, bool countsNumbers) {
  Grain grain = Grain::None;
  for (Value value : values)
    grain = std::max(grain, of(value, countsNumbers));
  return grain;
}

/// Whether the value is a matrix state, or what products made of one.
static bool isMatrixState(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeStateOp>())
    value = reshape.getState();
  return tensorOf(value).getRank() == 2 && isa_and_nonnull<StateOp, AdvanceOp>(value.getDefiningOp());
}

/// The matrix state that a number scales, whose grain the result has; null for any other product.
static Value findScaledState(MapOp map) {
  if (map.getFunction() != Function::Mul && map.getFunction() != Function::Div)
    return {};
  Value first = map.getOperands()[0], second = map.getOperands()[1];
  if (isMatrixState(first) && isNumber(second))
    return first;
  return map.getFunction() == Function::Mul && isMatrixState(second) && isNumber(first) ? second : Value();
}

/// A product is known no better than its factor that is known worst.
Grain FactorGrains::ofMap(MapOp map, bool countsNumbers) {
  if (Value scaled = findScaledState(map))
    return of(scaled, countsNumbers);
  switch (map.getFunction()) {
  case Function::Mul:
  case Function::Div:
  case Function::Outer:
  case Function::ScaleCols:
  case Function::ScaleRows:
  case Function::Matvec:
  case Function::Vecmat:
    for (Value operand : map.getOperands())
      if (of(operand, countsNumbers) == Grain::Rounded)
        return Grain::Rounded;
    [[fallthrough]];
  default:
    return ofSum(map.getOperands(), countsNumbers);
  }
}

Grain FactorGrains::find(Value value, bool countsNumbers) {
  Operation *maker = value.getDefiningOp();
  if (!maker) { // of a region: what enters it comes from the operand of the same number
    auto argument = cast<BlockArgument>(value);
    return of(argument.getOwner()->getParentOp()->getOperand(argument.getArgNumber()), countsNumbers);
  }
  return llvm::TypeSwitch<Operation *, Grain>(maker)
      .Case([&](InputOp input) { return isShort(input) ? Grain::Rounded : Grain::Full; })
      .Case([&](TakeOp take) { return take.getRounded() ? Grain::Rounded : Grain::None; })
      // Params are no data, and the factors of what makes the results of products are asked for themselves.
      .Case([&](StateOp state) { return states.lookup(state); })
      .Case<ParamOp, KeptOp, ConstantOp, CumulativeDecayOp, InteractionOp, ApplyOp, ReadOp, AdvanceOp,
            ApplyTransposedOp, DecayCotangentOp>([](auto) { return Grain::None; })
      .Case([&](MapOp map) { return ofMap(map, countsNumbers); })
      // A vector of numbers is data; one number, in a row of its own, is a gate still.
      .Case([&](ConcatOp concat) {
        bool isVector = tensorOf(concat).getShape().back() > 1;
        return isVector || countsNumbers ? ofSum(concat.getOperands(), /*countsNumbers=*/true) : Grain::None;
      })
      .Case([&](ScanOp scan) { return of(scan.getAdditions(), countsNumbers); })
      .Case([&](SolveOp solve) { return of(solve.getValues(), countsNumbers); })
      .Case([&](ScaledSolveOp solve) { return of(solve.getValues(), countsNumbers); })
      .Case([&](TokenLoopOp loop) {
        unsigned number = cast<OpResult>(value).getResultNumber();
        return of(loop.getBody().front().getTerminator()->getOperand(number), countsNumbers);
      })
      .Default([&](Operation *op) { return ofSum(op->getOperands(), countsNumbers); });
}

/// A state is made of what becomes of it, and that may be made of states.
void FactorGrains::findStates() {
  bool isNew = true;
  while (std::exchange(isNew, false)) {
    known.clear();
    for (StateOp state : program.getStates())
      if (Grain grain = of(state.getNext().getValue(), /*countsNumbers=*/true); grain > states.lookup(state)) {
        states[state] = grain;
        isNew = true;
      }
  }
}

bool FactorGrains::mayRoundAll() {
  findStates();
  bool may = true;
  program.walk([&](Operation *op) {
    may &= llvm::TypeSwitch<Operation *, bool>(op)
               .Case([&](InteractionOp op) { return mayRound({op.getRows(), op.getColumns()}); })
               .Case([&](ReadOp op) { return mayRound({op.getRows(), op.getState()}); })
               .Case([&](AdvanceOp op) { return mayRound({op.getValues(), op.getKeys()}); })
               .Case<ApplyOp, ApplyTransposedOp>([&](auto op) { return mayRound({op.getMatrix(), op.getValues()}); })
               .Case([&](DecayCotangentOp op) { return mayRound({op.getMatrix(), op.getRows(), op.getColumns()}); })
               .Default(true);
  });
  return may;
}

FloatType analysis::findFactorType(ProgramOp program, bool takesF16) {
  FactorGrains grains(program, takesF16);
  auto isShort = [&](InputOp input) { return grains.isShort(input); };
  // A phase of a plan may have nothing but what another rounded.
  bool hasData = llvm::any_of(program.getInputs(), isShort) ||
                 llvm::any_of(program.getTaken(), [](TakeOp take) { return take.getRounded(); });
  return hasData && grains.mayRoundAll() ? FloatType(BFloat16Type::get(program.getContext())) : FloatType();
}
