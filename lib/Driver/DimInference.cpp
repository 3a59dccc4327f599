#include "Driver/DimInference.h"
#include "Driver/Options.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::data;
using data::Role;
using frontend::RecurrenceInfo;
using frontend::ValueInfo;

std::vector<ArrayDeclaration> driver::getArrayDeclarations(const RecurrenceInfo &recurrence) {
  std::vector<ArrayDeclaration> declarations;
  for (const ValueInfo &input : recurrence.inputs)
    declarations.push_back({input.shared ? Role::SharedInput : Role::Input, input.name});
  for (const ValueInfo &param : recurrence.params)
    declarations.push_back({Role::Param, param.name});
  for (const ValueInfo &state : recurrence.states)
    declarations.push_back({Role::Initial, state.name});
  for (const ValueInfo &output : recurrence.outputs)
    declarations.push_back({Role::Output, output.name});
  for (const ValueInfo &state : recurrence.states)
    declarations.push_back({Role::Final, state.name});
  for (const ValueInfo &output : recurrence.outputs)
    declarations.push_back({Role::OutputCotangent, output.name});
  for (const ValueInfo &state : recurrence.states)
    declarations.push_back({Role::FinalCotangent, state.name, any_of(recurrence.outputs, [&](const ValueInfo &output) {
                              return output.name == state.name;
                            })});
  return declarations;
}

std::vector<ArrayDeclaration> driver::getArrayDeclarations(dgps::RecurrenceOp recurrence) {
  std::vector<ArrayDeclaration> declarations;
  for (dgps::InputOp input : recurrence.getInputs())
    declarations.push_back({input.getShared() ? Role::SharedInput : Role::Input, input.getName().str()});
  for (dgps::ParamOp param : recurrence.getParams())
    declarations.push_back({Role::Param, param.getName().str()});
  for (dgps::StateOp state : recurrence.getStates())
    declarations.push_back({Role::Initial, state.getName().str()});
  for (dgps::OutputOp output : recurrence.getOutputs())
    declarations.push_back({Role::Output, output.getName().str()});
  for (dgps::StateOp state : recurrence.getStates())
    declarations.push_back({Role::Final, state.getName().str()});
  return declarations;
}

static const ValueInfo *findValue(const RecurrenceInfo &recurrence, const ArrayFile &file) {
  bool isState = file.role == Role::Initial || file.role == Role::FinalCotangent;
  const std::vector<ValueInfo> &values = file.role == Role::Param             ? recurrence.params
                                         : isState                            ? recurrence.states
                                         : file.role == Role::OutputCotangent ? recurrence.outputs
                                                                              : recurrence.inputs;
  auto value = find_if(values, [&](const ValueInfo &value) { return value.name == file.name; });
  return value == values.end() ? nullptr : &*value;
}

/// `[B, T, H, K]`: what the file should hold, as the specification writes it.
static std::string printDeclaredShape(Role role, const ValueInfo &value) {
  std::string text = "[";
  for (StringRef name : getLeadingNames(role))
    text += (text.size() > 1 ? ", " : "") + name.str();
  for (const frontend::ShapeEntry &entry : value.shape)
    text += ", " + (entry.name.empty() ? std::to_string(entry.value.value_or(0)) : entry.name);
  return text + "]";
}

Error driver::inferDims(const RecurrenceInfo &recurrence, ArrayRef<ArrayFile> files,
                        std::map<std::string, int64_t> &dims) {
  std::map<std::string, std::string> givenBy;
  for (const auto &[name, size] : dims)
    givenBy[name] = "--dim";
  for (const ArrayFile &file : files) {
    const ValueInfo *value = findValue(recurrence, file);
    size_t leading = getLeadingNames(file.role).size();
    if (!value)
      continue;
    if (file.shape.size() != leading + value->shape.size())
      return makeError(file.path + ": its shape is " + printShape(file.shape) + ", and " +
                       printDeclaredShape(file.role, *value) + " is expected");
    for (auto [entry, size] : zip(value->shape, ArrayRef<int64_t>(file.shape).drop_front(leading))) {
      if (!entry.isDim)
        continue;
      auto [known, isNew] = dims.insert({entry.name, size});
      if (isNew)
        givenBy[entry.name] = file.path;
      else if (known->second != size)
        return makeError(file.path + ": " + entry.name + " is " + Twine(size) + " here, but " + Twine(known->second) +
                         " in " + givenBy[entry.name]);
    }
  }
  return Error::success();
}
