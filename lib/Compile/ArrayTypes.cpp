#include "Compile/ArrayTypes.h"
#include "Support/Errors.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;

/// The names of all arrays, in the order of the call, and those of inputs, params and states alone.
static void listNames(dgps::RecurrenceOp recurrence, SmallVectorImpl<StringRef> &all,
                      SmallVectorImpl<StringRef> &states, SmallVectorImpl<StringRef> &outputs) {
  auto add = [&](auto op, SmallVectorImpl<StringRef> *kind) {
    if (!is_contained(all, op.getName()))
      all.push_back(op.getName());
    if (kind)
      kind->push_back(op.getName());
  };
  for (dgps::InputOp input : recurrence.getInputs())
    add(input, nullptr);
  for (dgps::ParamOp param : recurrence.getParams())
    add(param, nullptr);
  for (dgps::StateOp state : recurrence.getStates())
    add(state, &states);
  for (dgps::OutputOp output : recurrence.getOutputs())
    add(output, &outputs);
}

/// Of which kind the array is that has the same name as an output.
static StringRef getKind(dgps::RecurrenceOp recurrence, StringRef name) {
  auto isNamed = [&](auto op) { return op.getName() == name; };
  return any_of(recurrence.getInputs(), isNamed)   ? "an input"
         : any_of(recurrence.getParams(), isNamed) ? "a param"
         : any_of(recurrence.getStates(), isNamed) ? "a state"
                                                   : "";
}

Error compile::checkArrayTypes(ArrayRef<dgps::RecurrenceOp> recurrences, const DataTypes &types) {
  if (types.named.empty())
    return Error::success();
  SmallVector<StringRef> all, states, outputs;
  for (dgps::RecurrenceOp recurrence : recurrences)
    listNames(recurrence, all, states, outputs);
  for (const auto &[name, type] : types.named) {
    if (!is_contained(all, name)) {
      StringRef nearest = findNearest(name, all);
      std::string hint = nearest.empty() ? "; there are " + join(all, ", ") : "; did you mean '" + nearest.str() + "'?";
      return makeError("--dtype: there is no input, param, state or output '" + name + "'" + hint);
    }
    for (dgps::RecurrenceOp recurrence : recurrences)
      for (dgps::InputOp input : recurrence.getInputs())
        if (input.getName() == name && input.isInteger())
          return makeError("--dtype: '" + name + "' is declared as integers of 32 bits, which have no other type");
    for (dgps::RecurrenceOp recurrence : recurrences)
      for (dgps::OutputOp output : recurrence.getOutputs())
        if (StringRef kind = getKind(recurrence, name); output.getName() == name && !kind.empty())
          return makeError("--dtype: '" + name + "' is " + kind + " and an output of '" + recurrence.getSymName() +
                           "', and could be either; give one of them another name");
  }
  return Error::success();
}
