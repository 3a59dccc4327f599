#include "Check/Starts.h"
#include "Compile/GradientPrograms.h"
#include "Compile/Starts.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/DGPSInterpreter.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using data::Data;
using data::NamedArrays;
using data::Results;

/// The states that start as something, and of which the data have no initial state.
static SmallVector<dgps::StateOp> findStarts(dgps::RecurrenceOp recurrence, const Data &data) {
  SmallVector<dgps::StateOp> states(recurrence.getStates());
  erase_if(states, [&](dgps::StateOp state) { return !state.getStart() || data.initial.count(state.getName().str()); });
  return states;
}

Expected<Data> check::completeStarts(dgps::RecurrenceOp recurrence, const Data &data,
                                     const std::optional<DataTypes> &types) {
  SmallVector<dgps::StateOp> states = findStarts(recurrence, data);
  if (states.empty())
    return data;
  Data none = data;
  none.sizes.tokens = 0;
  for (auto &[name, array] : none.inputs) {
    array.shape[1] = 0;
    array.values.clear();
  }
  Expected<Results> started = interpreter::interpret(recurrence, none);
  if (!started)
    return started.takeError();
  Data completed = data;
  for (dgps::StateOp state : states) {
    std::string name = state.getName().str();
    Array &start = completed.initial[name] = std::move(started->final.at(name));
    if (types)
      for (double &value : start.values)
        value = roundTo(value, types->of(name, /*isState=*/true));
  }
  return completed;
}

Expected<Data> check::addStartGradients(dgps::RecurrenceOp recurrence, const Data &data, Data gradient) {
  SmallVector<dgps::StateOp> states = findStarts(recurrence, data);
  if (states.empty())
    return gradient;
  mlir::OwningOpRef<mlir::ModuleOp> module = compile::makeStarts(recurrence);
  PipelineOptions options;
  options.chunk = 1;
  Expected<compile::GradientPrograms> programs = compile::makeGradientPrograms(compile::getStarts(*module), options);
  if (!programs)
    return programs.takeError();
  Data one{data.sizes, {}, data.params, {}};
  one.sizes.tokens = 1;
  Results cotangents;
  for (dgps::StateOp state : states)
    if (auto found = gradient.initial.find(state.getName().str()); found != gradient.initial.end())
      cotangents.final[found->first] = found->second;
  Expected<Data> own = interpreter::interpretGradient(programs->program, programs->gradient, one, cotangents);
  if (!own)
    return own.takeError();
  for (auto &[name, array] : own->params)
    if (auto found = gradient.params.find(name); found != gradient.params.end())
      for (auto [sum, part] : zip_equal(found->second.values, array.values))
        sum += part;
  return gradient;
}
