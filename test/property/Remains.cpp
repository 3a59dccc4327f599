#include "property/Remains.h"
#include "Interpreter/ChunkRunner.h"
#include "mlir/IR/BuiltinOps.h"

using namespace recur;
using namespace recur::property;
using namespace recur::chunk;

static std::string nameBound(llvm::StringRef state) { return ("remains." + state).str(); }

/// Gives the bounds as outputs, the same for every token.
static void giveBounds(ProgramOp program) {
  llvm::SmallVector<RemainsOp> all(program.getBody().getOps<RemainsOp>());
  for (RemainsOp remains : all) {
    mlir::OpBuilder builder(remains);
    auto type = makeTokens(program.getContext(), program.getChunk(), shapePerToken(remains.getBound()));
    auto everywhere = BroadcastOp::create(builder, remains.getLoc(), type, remains.getBound());
    OutputOp::create(builder, remains.getLoc(), builder.getStringAttr(nameBound(remains.getName())), everywhere,
                     mlir::TypeAttr());
  }
}

/// The root of the sum of squares of differences in one row or column, or in all where `part` is less than 0.
static double distance(const Array &a, const Array &b, bool isRow, int64_t part) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    int64_t columns = a.shape.back(), own = isRow ? int64_t(i) / columns : int64_t(i) % columns;
    if (part < 0 || part == own)
      sum += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
  }
  return std::sqrt(sum);
}

/// The head's matrix, as the program has it.
static Array takeState(StateOp state, Array array) {
  array.shape.erase(array.shape.begin(), array.shape.begin() + 2);
  return state.getTransposed() ? interpreter::transpose(array) : array;
}

std::string property::findWrongRemains(ProgramOp given, const data::Data &data) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(given.getLoc());
  module->push_back(given->clone());
  auto program = *module->getOps<ProgramOp>().begin();
  giveBounds(program);
  llvm::Expected<data::Results> whole = interpreter::interpret(program, data);
  if (!whole)
    return llvm::toString(whole.takeError());
  for (RemainsOp remains : program.getBody().getOps<RemainsOp>()) {
    std::string name = remains.getName().str(), bound = nameBound(name);
    data::Data zero = data;
    Array &initial = zero.initial.at(name);
    std::fill(initial.values.begin(), initial.values.end(), 0);
    llvm::Expected<data::Results> other = interpreter::interpret(program, zero);
    if (!other)
      return llvm::toString(other.takeError());
    const Array &bounds = whole->outputs.at(bound);
    if (bounds.values != other->outputs.at(bound).values)
      continue; // it depends on the state, and there is none
    llvm::SmallVector<StateOp> states(program.getStates());
    StateOp state = *llvm::find_if(states, [&](StateOp one) { return one.getName() == name; });
    Array before = takeState(state, data.initial.at(name)), after = takeState(state, whole->final.at(name));
    Array nothing = takeState(state, initial), rest = takeState(state, other->final.at(name));
    size_t count = *countElements(shapePerToken(remains.getBound()));
    bool isRow = before.shape.back() != int64_t(count);
    for (size_t part = 0; part < count; ++part) {
      int64_t place = tensorOf(remains.getBound()).getRank() == 1 ? -1 : int64_t(part);
      double was = distance(before, nothing, isRow, place), is = distance(after, rest, isRow, place);
      constexpr double rounding = 1e-13; // of the difference of two states
      double most = bounds.values[part] * was + rounding * (1 + distance(after, nothing, isRow, place));
      if (is > most)
        return "of state " + name + " there may remain " + std::to_string(most) + " at most, but it is " +
               std::to_string(is);
    }
  }
  return {};
}
