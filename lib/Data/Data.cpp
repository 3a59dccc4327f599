#include "Data/Data.h"
#include "Support/Errors.h"
#include "fmt/format.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::data;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Role data::getRole(abi::Role role, bool isShared) {
  switch (role) {
  case abi::Role::Input:
    return isShared ? Role::SharedInput : Role::Input;
  case abi::Role::Param:
    return Role::Param;
  case abi::Role::Initial:
    return Role::Initial;
  case abi::Role::Output:
    return Role::Output;
  case abi::Role::Final:
    return Role::Final;
  case abi::Role::OutputCotangent:
    return Role::OutputCotangent;
  case abi::Role::FinalCotangent:
    return Role::FinalCotangent;
  case abi::Role::InputGradient:
    return isShared ? Role::SharedInput : Role::Input;
  case abi::Role::ParamGradient:
    return Role::Param;
  case abi::Role::InitialGradient:
  case abi::Role::KeptOut:
  case abi::Role::KeptIn:
    return Role::Initial;
  }
  llvm_unreachable("a role");
}

StringRef data::getWord(Role role) {
  for (const abi::RoleFacts &facts : abi::roles)
    if (role == getRole(facts.role, role == Role::SharedInput))
      return facts.name;
  return "cotangent"; // what no kernel is given
}

ArrayRef<StringRef> data::getLeadingNames(Role role) {
  static constexpr StringRef token[] = {"B", "T", "H"};
  static constexpr StringRef sharedToken[] = {"B", "T", "Hq"};
  static constexpr StringRef head[] = {"H"};
  static constexpr StringRef state[] = {"B", "H"};
  switch (role) {
  case Role::Input:
  case Role::Output:
  case Role::OutputCotangent:
    return token;
  case Role::SharedInput:
    return sharedToken;
  case Role::Param:
    return head;
  case Role::Initial:
  case Role::Final:
  case Role::FinalCotangent:
    return state;
  }
  llvm_unreachable("a role");
}

SmallVector<int64_t, 4> data::getLeadingSizes(Role role, const Sizes &sizes) {
  SmallVector<int64_t, 4> leading;
  for (StringRef name : getLeadingNames(role))
    leading.push_back(name == "B"   ? sizes.batch
                      : name == "T" ? sizes.tokens
                      : name == "H" ? sizes.heads
                                    : sizes.groups);
  return leading;
}

SmallVector<int64_t, 6> data::getFullShape(Role role, const Sizes &sizes, ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> full(getLeadingSizes(role, sizes));
  full.append(shape.begin(), shape.end());
  return full;
}

/// `[B, T, H, 8]`: the shape that an array of the role has, with the leading sizes by name.
static std::string printExpected(Role role, ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (StringRef name : getLeadingNames(role))
    text += (text.size() > 1 ? ", " : "") + name.str();
  for (int64_t size : shape)
    text += ", " + std::to_string(size);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {
struct Declared {
  Role role;
  ArrayRef<int64_t> shape;
};
} // namespace

static ArrayRef<int64_t> getShape(mlir::Value value) { return cast<dgps::RealType>(value.getType()).getShape(); }

/// What the recurrence declares under the name, among the arrays that enter it.
static std::optional<Declared> findDeclared(dgps::RecurrenceOp recurrence, Role role, StringRef name) {
  if (role == Role::Input || role == Role::SharedInput) {
    for (dgps::InputOp input : recurrence.getInputs())
      if (input.getName() == name)
        return Declared{input.getShared() ? Role::SharedInput : Role::Input, getShape(input)};
  } else if (role == Role::Param) {
    for (dgps::ParamOp param : recurrence.getParams())
      if (param.getName() == name)
        return Declared{Role::Param, getShape(param)};
  } else if (role == Role::Initial) {
    for (dgps::StateOp state : recurrence.getStates())
      if (state.getName() == name)
        return Declared{Role::Initial, getShape(state)};
  } else if (role == Role::FinalCotangent) {
    for (dgps::StateOp state : recurrence.getStates())
      if (state.getName() == name)
        return Declared{Role::FinalCotangent, getShape(state)};
  } else if (role == Role::OutputCotangent) {
    for (dgps::OutputOp output : recurrence.getOutputs())
      if (output.getName() == name)
        return Declared{Role::OutputCotangent, getShape(output.getValue())};
  }
  return std::nullopt;
}

Expected<Sizes> data::inferSizes(dgps::RecurrenceOp recurrence, ArrayRef<Given> arrays) {
  struct Known {
    int64_t size;
    StringRef label;
  };
  std::map<StringRef, Known> known;
  for (const Given &array : arrays) {
    std::optional<Declared> declared = findDeclared(recurrence, array.role, array.name);
    if (!declared)
      return makeError(array.label + ": the recurrence has no " +
                       (array.role == Role::Initial || array.role == Role::FinalCotangent ? "state"
                        : array.role == Role::OutputCotangent                             ? "output"
                                                                                          : getWord(array.role)) +
                       " '" + array.name + "'");
    ArrayRef<StringRef> leading = getLeadingNames(declared->role);
    if (array.shape.size() != leading.size() + declared->shape.size() ||
        array.shape.drop_front(leading.size()) != declared->shape)
      return makeError(array.label + ": its shape is " + printShape(array.shape) + ", and " +
                       printExpected(declared->role, declared->shape) + " is expected");
    for (auto [name, size] : zip(leading, array.shape)) {
      auto [entry, isNew] = known.try_emplace(name, Known{size, array.label});
      if (!isNew && entry->second.size != size)
        return makeError(array.label + ": " + name + " is " + Twine(size) + " here, but " + Twine(entry->second.size) +
                         " in " + entry->second.label);
    }
  }
  auto get = [&](StringRef name, int64_t otherwise) {
    auto entry = known.find(name);
    return entry == known.end() ? otherwise : entry->second.size;
  };
  if (!known.count("T"))
    return makeError("no input is given, and the number of tokens is read from one; give at least one");
  Sizes sizes;
  sizes.batch = get("B", 1);
  sizes.tokens = get("T", 0);
  sizes.heads = get("H", get("Hq", 1));
  sizes.groups = get("Hq", sizes.heads);
  if (sizes.groups == 0 ? sizes.heads != 0 : sizes.heads % sizes.groups != 0)
    return makeError(known.at("Hq").label + ": Hq is " + Twine(sizes.groups) + " here, which does not divide H, " +
                     Twine(sizes.heads) + " in " + known.at("H").label);
  return sizes;
}

static Error checkArrays(dgps::RecurrenceOp recurrence, Role role, const NamedArrays &arrays, const Sizes &sizes) {
  for (const auto &[name, array] : arrays) {
    std::string label = (getWord(role) + " '" + name + "'").str();
    std::optional<Declared> declared = findDeclared(recurrence, role, name);
    if (!declared)
      return makeError(label + " belongs to nothing in recurrence '" + recurrence.getSymName() + "'");
    auto expected = getFullShape(declared->role, sizes, declared->shape);
    if (ArrayRef<int64_t>(array.shape) != ArrayRef<int64_t>(expected))
      return makeError(label + " has shape " + printShape(array.shape) + ", and " + printShape(expected) +
                       " is expected");
    std::optional<int64_t> count = countElements(expected);
    if (!count || uint64_t(*count) != array.values.size())
      return makeError(label + " has " + Twine(array.values.size()) + " values, which is not what its shape " +
                       printShape(array.shape) + " holds");
  }
  return Error::success();
}

Error data::checkSizes(const Sizes &sizes) {
  if (sizes.batch < 0 || sizes.tokens < 0 || sizes.heads < 0 || sizes.groups < 0)
    return makeError("the sizes B, T, H and Hq cannot be negative");
  if (sizes.groups == 0 ? sizes.heads != 0 : sizes.heads % sizes.groups != 0)
    return makeError("Hq, which is " + Twine(sizes.groups) + ", does not divide H, which is " + Twine(sizes.heads));
  return Error::success();
}

Error data::checkArray(Role role, StringRef name, const NamedArrays &arrays, const Sizes &sizes,
                       ArrayRef<int64_t> shape) {
  auto entry = arrays.find(name.str());
  if (entry == arrays.end())
    return makeError(getWord(role) + " '" + name + "' is missing");
  auto wanted = getFullShape(role, sizes, shape);
  if (ArrayRef<int64_t>(entry->second.shape) != ArrayRef<int64_t>(wanted) ||
      countElements(wanted) != int64_t(entry->second.values.size()))
    return makeError(getWord(role) + " '" + name + "' has shape " + printShape(entry->second.shape) + ", and " +
                     printShape(wanted) + " is expected");
  return Error::success();
}

Error data::checkData(dgps::RecurrenceOp recurrence, const Data &data) {
  const Sizes &sizes = data.sizes;
  if (Error error = checkSizes(sizes))
    return error;
  for (dgps::InputOp input : recurrence.getInputs())
    if (!data.inputs.count(input.getName().str()))
      return makeError("input '" + input.getName() + "' is missing");
  for (dgps::InputOp input : recurrence.getInputs())
    if (input.isInteger())
      for (double value : data.inputs.at(input.getName().str()).values)
        if (value != std::nearbyint(value) || std::fabs(value) > -double(INT32_MIN))
          return makeError("input '" + input.getName() + "' is of integers of 32 bits, and " +
                           fmt::format("{}", value) + " is among its numbers");
  for (dgps::ParamOp param : recurrence.getParams())
    if (!data.params.count(param.getName().str()))
      return makeError("param '" + param.getName() + "' is missing");
  if (Error error = checkArrays(recurrence, Role::Input, data.inputs, sizes))
    return error;
  if (Error error = checkArrays(recurrence, Role::Param, data.params, sizes))
    return error;
  return checkArrays(recurrence, Role::Initial, data.initial, sizes);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

double data::relativeRms(const Array &got, const Array &want) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (got.shape != want.shape || got.values.size() != want.values.size())
    return infinity;
  // Squares are taken of numbers divided by the largest, so that none overflows.
  double largest = 0;
  for (auto [g, w] : zip(got.values, want.values)) {
    bool bothFinite = std::isfinite(g) && std::isfinite(w);
    if (!bothFinite && !(g == w || (std::isnan(g) && std::isnan(w))))
      return infinity;
    if (bothFinite)
      largest = std::max({largest, std::fabs(g), std::fabs(w)});
  }
  if (largest == 0)
    return 0;
  double difference = 0, magnitude = 0;
  for (auto [g, w] : zip(got.values, want.values)) {
    if (!std::isfinite(w))
      continue;
    double d = g / largest - w / largest;
    difference += d * d;
    magnitude += (w / largest) * (w / largest);
  }
  return magnitude == 0 ? std::sqrt(difference) * largest : std::sqrt(difference / magnitude);
}

double data::relativeRms(const NamedArrays &got, const NamedArrays &want) {
  if (got.size() != want.size())
    return std::numeric_limits<double>::infinity();
  double error = 0;
  for (const auto &[name, array] : want) {
    auto other = got.find(name);
    if (other == got.end())
      return std::numeric_limits<double>::infinity();
    error = std::max(error, relativeRms(other->second, array));
  }
  return error;
}

double data::relativeRms(const Results &got, const Results &want) {
  return std::max(relativeRms(got.outputs, want.outputs), relativeRms(got.final, want.final));
}
