#include "Call.h"
#include "Errors.h"
#include "Team.h"

namespace nb = nanobind;
using namespace recur::python;

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

Signature::Signature(std::string name, nb::list dimNames, nb::list inputList, nb::list paramList, nb::list stateList)
    : name(std::move(name)) {
  for (nb::handle dim : dimNames)
    dims.push_back(nb::cast<std::string>(dim));
  inputs = readValues(inputList);
  params = readValues(paramList);
  states = readValues(stateList);
}

std::vector<Declared> Signature::readValues(nb::list values) const {
  std::vector<Declared> result;
  for (nb::handle value : values) {
    Declared &declared = result.emplace_back();
    declared.name = nb::cast<std::string>(value[0]);
    declared.isShared = nb::cast<bool>(value[1]);
    declared.isInteger = nb::cast<bool>(value[3]);
    for (nb::handle side : nb::cast<nb::sequence>(value[2])) {
      Side &read = declared.shape.emplace_back();
      if (nb::isinstance<nb::int_>(side)) {
        read.size = nb::cast<int64_t>(side);
        continue;
      }
      std::string dim = nb::cast<std::string>(side);
      for (size_t place = 0; place < dims.size(); ++place)
        if (dims[place] == dim)
          read.dim = int32_t(place);
      if (read.dim < 0)
        raiseArgument(name + ": the shape of '" + declared.name + "' names '" + dim +
                      "', which the recurrence does not declare as a dim");
    }
  }
  return result;
}

Type Signature::chooseResult(const std::vector<Type> &given) const {
  bool areScalars = true;
  for (const Declared &input : inputs)
    areScalars &= input.isInteger || input.shape.empty();
  const Declared *first = nullptr;
  Type result = Type::F32;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isInteger || given[i] == Type::F32 || (inputs[i].shape.empty() && !areScalars))
      continue;
    if (first && given[i] != result)
      raiseArgument(name + ": '" + inputs[i].name + "' is " + getTypeName(given[i]) + ", but '" + first->name +
                    "' is " + getTypeName(result) +
                    "; outputs have the 16 bits of these inputs, which therefore are of one type");
    first = &inputs[i];
    result = given[i];
  }
  return result;
}

std::string Signature::nameTypes(const std::vector<Type> &given, const std::vector<Type> &ofStates) const {
  Type result = chooseResult(given);
  std::string text = getTypeName(result);
  auto add = [&](const Declared &declared, Type type, Type usual) {
    if (type != usual && !declared.isInteger)
      text += "," + declared.name + "=" + getTypeName(type);
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    add(inputs[i], given[i], result);
  for (size_t i = 0; i < params.size(); ++i)
    add(params[i], given[inputs.size() + i], result);
  for (size_t i = 0; i < states.size() && i < ofStates.size(); ++i)
    if (ofStates[i] != Type::Other)
      add(states[i], ofStates[i], Type::F32);
  return text;
}

std::string Signature::nameTypesOf(nb::list given, nb::object ofStates) const {
  auto read = [](nb::handle list) {
    std::vector<Type> types;
    for (nb::handle type : list)
      types.push_back(type.is_none() ? Type::Other : getTypeOfName(nb::cast<std::string>(type)));
    return types;
  };
  std::vector<Type> found = read(given);
  found.resize(inputs.size() + params.size(), Type::F32);
  for (Type &type : found)
    type = isFloat(type) ? type : Type::F32; // a call refuses it
  return nameTypes(found, ofStates.is_none() ? std::vector<Type>() : read(ofStates));
}

//===----------------------------------------------------------------------===//
// Arrays of the caller's
//===----------------------------------------------------------------------===//

void Call::refuse(const std::string &message) const { raiseArgument(signature.name + ": " + message); }

std::string Call::printShape(const Declared &declared, Kind kind) const {
  std::string text = kind.isState            ? (hasPools()   ? "[N, H"
                                                : isPacked() ? "[sequences, H"
                                                             : "[B, H")
                     : getLeading(kind) == 1 ? "[H"
                     : declared.isShared     ? "[B, T, Hq"
                                             : "[B, T, H";
  std::vector<Side> shape = declared.shape;
  if (kind.isState && statesTransposed && shape.size() == 2)
    std::swap(shape[0], shape[1]);
  for (const Side &side : shape)
    text += ", " + (side.dim >= 0 ? signature.dims[size_t(side.dim)] : std::to_string(side.size));
  return text + "]";
}

static std::string printShape(const View &view) {
  if (view.sides > View::mostSides)
    return "of " + std::to_string(view.sides) + " sides";
  std::string text = "[";
  for (int side = 0; side < view.sides; ++side)
    text += (side ? ", " : "") + std::to_string(view.shape[side]);
  return text + "]";
}

static std::string printType(nb::handle object) {
  nb::object type = nb::getattr(object, "dtype", nb::none());
  if (type.is_none())
    return nb::cast<std::string>(
        nb::str(nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()))).attr("__name__")));
  std::string name = nb::cast<std::string>(nb::str(type));
  return name.starts_with("torch.") ? name.substr(6) : name;
}

/// Whether the elements of one token, or of one head, lie one after another.
static bool isDenseFrom(const View &view, int leading) {
  int64_t expected = 1;
  for (int side = view.sides; side-- > leading; expected *= view.shape[side])
    if (view.shape[side] > 1 && view.strides[side] != expected)
      return false;
  return true;
}

/// Whether the ABI has a stride for each side before those: 0 stands for dense there, and none is negative.
static bool hasStrides(const View &view, int leading) {
  for (int side = 0; side < leading; ++side)
    if (view.shape[side] > 1 && view.strides[side] <= 0)
      return false;
  return true;
}

static bool isEmpty(const View &view) {
  for (int side = 0; side < view.sides; ++side)
    if (view.shape[side] == 0)
      return true;
  return false;
}

void Call::makeDense(View &view, const std::string &name, const char *why) {
  if (gpu >= 0)
    refuse("'" + name + "' would have to be copied, which is not done in memory of a GPU: " + why);
  copiedName = name;
  if (!notice.is_none())
    notice(signature.name + ": " + name + " is copied: " + why);
  view.makeDense();
}

/// Whether an array is where the others are.
void Call::checkPlace(const View &view, const std::string &what) const {
  if (gpu < 0 && !view.isOnCPU)
    refuse(what + " is not in the processor's memory; its kernels are for the processor");
  if (gpu >= 0 && view.gpu != gpu)
    refuse(what + " is " + (view.isOnCPU ? "in the processor's memory" : "on cuda:" + std::to_string(view.gpu)) +
           ", and others are on cuda:" + std::to_string(gpu));
}

/// What follows the message that an array has elements of another type: how Python converts it.
static std::string suggestFloats(nb::handle object, const std::string &name) {
  if (nb::hasattr(object, "astype"))
    return "; write " + name + ".astype('float32')";
  return nb::hasattr(object, "float") ? "; write " + name + ".float()" : "; convert it to float32";
}

static std::string suggestIntegers(nb::handle object, const std::string &name) {
  if (nb::hasattr(object, "astype"))
    return ": write " + name + ".astype('int32')";
  return nb::hasattr(object, "int") ? ": write " + name + ".int()" : "";
}

/// Of what shows no memory; numbers and lists of them become arrays.
static std::string describeNoArray(nb::handle object, const std::string &name) {
  bool isOfPython = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) || PyFloat_Check(object.ptr()) ||
                    PyLong_Check(object.ptr());
  if (isOfPython)
    return " is no array: a " + printType(object) + "; write numpy.asarray(" + name + ", 'float32')";
  return " is no array: a " + printType(object) + " shows its memory neither as a buffer nor by DLPack";
}

View &Call::read(nb::handle object, const Declared &declared, Kind kind) {
  View &view = views.emplace_back();
  int leading = getLeading(kind);
  std::string what = std::string("the ") + kind.word + " '" + declared.name + "'";
  if (object.is_none())
    refuse(what + " is missing");
  if (!view.open(object))
    refuse(what + describeNoArray(object, declared.name));
  checkPlace(view, what);
  if (declared.isInteger && view.type != Type::I32)
    refuse(what + " is declared as int and has elements of " + printType(object) + "; its integers are int32" +
           suggestIntegers(object, declared.name));
  if (!declared.isInteger && !isFloat(view.type))
    refuse(what + " has elements of " + printType(object) + "; there are kernels for float32, bfloat16 and float16" +
           suggestFloats(object, declared.name));
  if (view.sides != leading + int(declared.shape.size()))
    refuse(what + " has the shape " + ::printShape(view) + "; it should be " + printShape(declared, kind));
  readSizes(view, declared, kind);
  if (isEmpty(view))
    return view;
  bool isAsItLies = isDenseFrom(view, leading) && hasStrides(view, leading) && view.isAligned;
  if (kind.isState && hasPools() && (!isAsItLies || view.isReadOnly))
    refuse("the pool '" + declared.name + "' " +
           (view.isReadOnly
                ? "is read-only"
                : "has strides that kernels cannot write: the elements of a head's state lie one after another, "
                  "and no stride is zero or negative"));
  if (!isDenseFrom(view, leading))
    makeDense(view, declared.name, "the elements of one token are not one after another");
  else if (!hasStrides(view, leading))
    makeDense(view, declared.name, "a stride is zero or negative");
  else if (!view.isAligned)
    makeDense(view, declared.name, "it is not aligned to its elements");
  return view;
}

void Call::readSide(Size &size, const std::string &what, int64_t value, const std::string &from,
                    const std::string &hint) {
  if (!size.value) {
    size.value = value;
    size.from = from;
  } else if (*size.value != value) {
    refuse(what + " is " + std::to_string(value) + " in '" + from + "', but " + std::to_string(*size.value) + " in '" +
           size.from + "'" + hint);
  }
}

/// Whether a matrix that does not fit would fit with its sides swapped.
bool Call::looksTransposed(const View &view, const Declared &declared, int leading) const {
  if (declared.shape.size() != 2)
    return false;
  auto fits = [&](size_t side, int64_t actual) {
    const Side &expected = declared.shape[statesTransposed ? 1 - side : side];
    std::optional<int64_t> known = expected.dim >= 0 ? dims[size_t(expected.dim)].value : expected.size;
    return !known || *known == actual;
  };
  int64_t rows = view.shape[leading], columns = view.shape[leading + 1];
  return !(fits(0, rows) && fits(1, columns)) && fits(0, columns) && fits(1, rows);
}

void Call::readSizes(const View &view, const Declared &declared, Kind kind) {
  const std::string &from = declared.name;
  int leading = getLeading(kind);
  if (leading == 3) {
    std::string order = declared.isShared ? "; it is [B, T, Hq, ...]" : "; it is [B, T, H, ...]";
    readSide(batch, "B", view.shape[0], from, order);
    readSide(tokens, "T", view.shape[1], from, order);
    if (declared.isShared)
      readSide(groups, "Hq", view.shape[2], from, order);
    else
      readSide(heads, "H", view.shape[2], from, order);
  } else {
    if (kind.isState && hasPools())
      readSide(poolRows, "N", view.shape[0], from, "; pools are [N, H, ...], of as many rows each");
    else if (kind.isState && isPacked() && view.shape[0] != sequences)
      refuse("the initial state '" + from + "' is of " + std::to_string(view.shape[0]) +
             " sequences, and the offsets of " + std::to_string(sequences));
    if (kind.isState && !hasPools() && !isPacked())
      readSide(batch, "B", view.shape[0], from, "; it is [B, H, ...]");
    readSide(heads, "H", view.shape[leading - 1], from, kind.isState ? "; it is [B, H, ...]" : "; it is [H, ...]");
  }
  bool swaps = kind.isState && statesTransposed && declared.shape.size() == 2;
  std::string hint;
  if (kind.isState && looksTransposed(view, declared, leading))
    hint = std::string("; its last two sides seem to be swapped: states_transposed=") +
           (statesTransposed ? "False" : "True") +
           " takes it as it lies. States of recur.fla are [K, V], those of recur.library [V, K]";
  for (size_t side = 0; side < declared.shape.size(); ++side) {
    const Side &expected = declared.shape[swaps ? 1 - side : side];
    int64_t actual = view.shape[size_t(leading) + side];
    if (expected.dim >= 0)
      readSide(dims[size_t(expected.dim)], signature.dims[size_t(expected.dim)], actual, from, hint);
    else if (expected.size != actual)
      refuse(std::string("the ") + kind.word + " '" + from + "' has the shape " + ::printShape(view) +
             "; it should be " + printShape(declared, kind) + hint);
  }
}

void Call::readOffsets(nb::handle object) {
  View view;
  if (!view.open(object))
    refuse(PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())
               ? "the offsets are no array: a " + printType(object) + "; write numpy.array(offsets)"
               : "the offsets are no array: a " + printType(object) +
                     " shows its memory neither as a buffer nor by DLPack");
  if ((view.type != Type::I64 && view.type != Type::I32) || !view.isOnCPU)
    refuse("the offsets have elements of " + printType(object) +
           "; they are int64 or int32, in the processor's memory");
  if (view.sides != 1 || view.shape[0] < 1)
    refuse("the offsets have the shape " + ::printShape(view) + "; they are [sequences + 1], from 0 to T");
  for (int64_t i = 0; i < view.shape[0]; ++i) {
    int64_t at = i * view.strides[0];
    offsets.push_back(view.type == Type::I64 ? static_cast<const int64_t *>(view.data)[at]
                                             : static_cast<const int32_t *>(view.data)[at]);
  }
  sequences = view.shape[0] - 1;
}

void Call::readDeviceOffsets(nb::handle object) {
  View &view = views.emplace_back();
  if (!view.open(object) || view.type != Type::I64 || view.sides != 1 || view.shape[0] < 1 || !isDenseFrom(view, 0))
    refuse("the offsets in the GPU's memory are no dense array [sequences + 1] of int64");
  checkPlace(view, "an array of offsets");
  if (isPacked() && sequences != view.shape[0] - 1)
    refuse("there are " + std::to_string(offsets.size()) + " offsets in the processor's memory, and " +
           std::to_string(view.shape[0]) + " in the GPU's");
  sequences = view.shape[0] - 1;
  deviceOffsets = static_cast<const int64_t *>(view.data);
}

/// Those of 64 bits are copied in the processor's memory; in a GPU's they are refused, for whoever has them there can
/// convert them in the stream.
const int32_t *Call::readIndices(nb::handle object, const std::string &name, int64_t *columns, const char *ofEach) {
  View &view = views.emplace_back();
  if (!view.open(object))
    refuse(name + " is no array: a " + printType(object) + "; write numpy.array(" + name + ", 'int32')");
  checkPlace(view, name);
  if (view.type != Type::I32 && (view.type != Type::I64 || gpu >= 0))
    refuse(name + " has elements of " + printType(object) + "; rows of pools are int32");
  if (view.sides != (columns ? 2 : 1))
    refuse(name + " has the shape " + ::printShape(view) +
           (columns ? std::string("; it is [sequences, ") + ofEach + "], a row of the pools for each"
                    : "; it is [sequences], a row of the pools for each"));
  int64_t width = columns ? view.shape[1] : 1;
  if (columns)
    *columns = width;
  indexCounts.push_back({name, view.shape[0]});
  if (view.type == Type::I32 && view.isAligned && isDenseFrom(view, 0))
    return static_cast<const int32_t *>(view.data);
  if (gpu >= 0)
    refuse(name + " would have to be copied, which is not done in memory of a GPU: it is not dense");
  std::vector<int32_t> &copy = copiedIndices.emplace_back(size_t(view.shape[0] * width) + 1);
  for (int64_t i = 0; i < view.shape[0] * width; ++i) {
    int64_t at = i / width * view.strides[0] + (columns ? i % width * view.strides[1] : 0);
    int64_t index = view.type == Type::I64 ? static_cast<const int64_t *>(view.data)[at]
                                           : int64_t(static_cast<const int32_t *>(view.data)[at]);
    if (index > INT32_MAX)
      refuse(name + "[" + std::to_string(i / width) + "]" + (columns ? "[" + std::to_string(i % width) + "]" : "") +
             " is " + std::to_string(index) + ", which is no row of a pool");
    copy[size_t(i)] = int32_t(std::max<int64_t>(index, INT32_MIN));
  }
  return copy.data();
}

/// Of all sequences, or of each its own.
void Call::readParents(nb::handle object) {
  View view;
  bool areOfAll = view.open(object) && view.sides == 1;
  if (!areOfAll && view.sides != 2)
    refuse("parents has the shape " + ::printShape(view) + "; it is [tokens] or [sequences, tokens]");
  parents = readIndices(object, "parents", areOfAll ? nullptr : &parentColumns);
  parentStride = parentColumns;
  if (!areOfAll)
    return;
  parentColumns = indexCounts.back().count;
  indexCounts.pop_back();
}

void Call::checkIndexCounts() {
  int64_t count = isPacked() ? sequences : *batch.value;
  for (const IndexCount &indices : indexCounts)
    if (indices.count != count)
      refuse(indices.name + " is of " + std::to_string(indices.count) + " sequences, and the call has " +
             std::to_string(count));
}

void Call::nameTypes(nb::handle finals) {
  std::vector<Type> given, ofStates;
  for (const std::vector<View *> *views : {&inputs, &params})
    for (const View *view : *views)
      given.push_back(view->type);
  for (size_t state = 0; state < initials.size(); ++state) {
    View final;
    bool isWritten = !initials[state] && !finals.is_none() && final.open(finals[state]) && isFloat(final.type);
    ofStates.push_back(initials[state] ? initials[state]->type : isWritten ? final.type : Type::Other);
  }
  types = signature.nameTypes(given, ofStates);
}

Call::Call(const Signature &signature, nb::list given, nb::object initial, nb::object offsets, bool statesTransposed,
           nb::object notice, int32_t gpu, nb::object deviceOffsets, nb::object finals, nb::object stateRows,
           nb::object finalRows, nb::object tokenRows, nb::object accepted, nb::object intervalRows,
           nb::object givenPositions, nb::object givenParents, int64_t every, int64_t replayed)
    : signature(signature), notice(std::move(notice)), statesTransposed(statesTransposed), gpu(gpu), replayed(replayed),
      dims(signature.dims.size()) {
  if (given.size() != signature.inputs.size() + signature.params.size())
    refuse("there are " + std::to_string(given.size()) + " arrays for " +
           std::to_string(signature.inputs.size() + signature.params.size()) + " inputs and params");
  if (!offsets.is_none())
    readOffsets(offsets);
  if (!deviceOffsets.is_none())
    readDeviceOffsets(deviceOffsets);
  size_t at = 0;
  for (const Declared &declared : signature.inputs)
    inputs.push_back(&read(given[at++], declared, {"input"}));
  for (const Declared &declared : signature.params)
    params.push_back(&read(given[at++], declared, {"param"}));
  if (isPacked() && *batch.value != 1)
    refuse("B is " + std::to_string(*batch.value) + " in '" + batch.from +
           "'; with offsets it is 1, and sequences lie along T");
  if (!stateRows.is_none())
    stateIndices = readIndices(stateRows, "state_indices", accepted.is_none() || replayed ? nullptr : &stateColumns);
  if (!finalRows.is_none())
    finalIndices = readIndices(finalRows, "final_indices");
  if (!tokenRows.is_none())
    tokenIndices = readIndices(tokenRows, "token_indices", &tokenColumns);
  if (!accepted.is_none())
    acceptedCounts = readIndices(accepted, "accepted");
  if (!intervalRows.is_none())
    intervalIndices = readIndices(intervalRows, "interval_indices", &intervalColumns, "multiples");
  interval = every;
  if (!givenPositions.is_none())
    positions = readIndices(givenPositions, "positions");
  if (!givenParents.is_none())
    readParents(givenParents);
  checkIndexCounts();
  if (!isPacked() && *tokens.value < replayed)
    refuse("T is " + std::to_string(*tokens.value) + " in '" + tokens.from + "'; of these tokens the first " +
           std::to_string(replayed) + " are replayed");
  for (size_t state = 0; state < signature.states.size(); ++state) {
    nb::object array = initial.is_none() ? nb::none() : nb::object(initial[state]);
    initials.push_back(array.is_none()
                           ? nullptr
                           : &read(array, signature.states[state], {hasPools() ? "pool" : "initial state", true}));
  }
  if (!heads.value)
    heads = groups;
  if (!groups.value)
    groups = heads;
  nameTypes(finals);
}

//===----------------------------------------------------------------------===//
// What a call makes
//===----------------------------------------------------------------------===//

nb::tuple Call::getKey() const {
  nb::list sizes;
  for (const Size &dim : dims)
    sizes.append(dim.value ? nb::object(nb::int_(*dim.value)) : nb::none());
  return nb::make_tuple(nb::tuple(sizes), types);
}

nb::tuple Call::getShape(const recur_array_info &array) const {
  nb::list shape;
  if (array.kind == RECUR_STATE)
    shape.append(hasPools() ? poolRows.value.value_or(0) : isPacked() ? sequences : *batch.value);
  if (array.kind == RECUR_INPUT || array.kind == RECUR_OUTPUT) {
    shape.append(*batch.value);
    shape.append(*tokens.value - (array.kind == RECUR_OUTPUT && !isPacked() ? replayed : 0));
  }
  shape.append(array.shared ? *groups.value : *heads.value);
  bool swaps = array.kind == RECUR_STATE && statesTransposed && array.rank == 2;
  for (int32_t side = 0; side < array.rank; ++side)
    shape.append(array.shape[swaps ? 1 - side : side]);
  return nb::tuple(shape);
}

nb::tuple Call::getShapes(const Kernel &kernel) const {
  nb::list outputs, states;
  for (const recur_array_info *array : kernel.getArrays(RECUR_OUTPUT))
    outputs.append(getShape(*array));
  for (const recur_array_info *array : kernel.getArrays(RECUR_STATE))
    states.append(getShape(*array));
  return nb::make_tuple(outputs, states);
}

recur_argument Call::makeArgument(const View &view, int leading) const {
  static char nothing[64] __attribute__((aligned(64))); // what an empty array points to may be null
  recur_argument argument = {isEmpty(view) ? nothing : view.data, {0, 0, 0}};
  if (isEmpty(view))
    return argument;
  // Where there is one element, its stride means nothing, and may be odd.
  auto stride = [&](int side) { return side >= 0 && view.shape[side] > 1 ? view.strides[side] : 0; };
  argument.strides.b = leading >= 2 ? stride(0) : 0;
  argument.strides.t = leading == 3 ? stride(1) : 0;
  argument.strides.h = stride(leading - 1);
  return argument;
}

recur_argument Call::readResult(nb::handle object, const recur_array_info &array, const std::string &what,
                                bool isWritten) {
  recur_argument none = {};
  if (object.is_none())
    return none;
  View &view = views.emplace_back();
  if (!view.open(object))
    refuse(what + " is no array: a " + printType(object) + " shows its memory neither as a buffer nor by DLPack");
  if (isWritten && view.isReadOnly)
    refuse(what + " is read-only");
  checkPlace(view, what);
  if (int32_t(view.type) != array.dtype)
    refuse(what + " has elements of " + printType(object) + "; they will be " + getTypeName(Type(array.dtype)));
  nb::tuple shape = getShape(array);
  bool fits = size_t(view.sides) == shape.size();
  for (int side = 0; fits && side < view.sides; ++side)
    fits = view.shape[side] == nb::cast<int64_t>(shape[size_t(side)]);
  if (!fits)
    refuse(what + " has the shape " + ::printShape(view) + "; it will be " +
           nb::cast<std::string>(nb::str(nb::list(shape))));
  int leading = array.kind == RECUR_STATE ? 2 : array.kind == RECUR_PARAM ? 1 : 3;
  if (!isEmpty(view) && (!isDenseFrom(view, leading) || !hasStrides(view, leading) || !view.isAligned)) {
    if (isWritten)
      refuse(what + " has strides that kernels cannot write: the elements of one token lie one after another, and no "
                    "stride is zero or negative");
    makeDense(view, what, "kernels cannot read its strides");
  }
  return makeArgument(view, leading);
}

/// States that the text does not declare, of delays, start as zeros, and nobody gets them.
void Call::listGiven(const Kernel &kernel, std::vector<recur_argument> &arguments) const {
  for (const View *view : inputs)
    arguments.push_back(makeArgument(*view, 3));
  for (const View *view : params)
    arguments.push_back(makeArgument(*view, 1));
  for (const View *view : initials)
    arguments.push_back(view ? makeArgument(*view, 2) : recur_argument{});
  arguments.resize(inputs.size() + params.size() + size_t(kernel.count(RECUR_STATE)));
}

recur_call Call::makeCall(int32_t plan) const {
  recur_call call = {};
  call.B = *batch.value;
  call.T = *tokens.value;
  call.H = *heads.value;
  call.Hq = *groups.value;
  call.states_transposed = statesTransposed;
  call.plan = plan;
  if (isPacked()) {
    call.sequence_offsets = offsets.empty() ? nullptr : offsets.data();
    call.device_offsets = deviceOffsets;
    call.sequence_count = sequences;
  }
  if (hasPools()) {
    call.state_indices = stateIndices;
    call.final_indices = finalIndices;
    call.token_indices = tokenIndices;
    call.token_columns = tokenColumns;
    call.accepted = acceptedCounts;
    call.state_columns = stateColumns;
    call.replayed = replayed;
    call.parents = parents;
    call.parent_columns = parentColumns;
    call.parent_stride = parentStride;
    call.interval = interval;
    call.interval_indices = intervalIndices;
    call.interval_columns = intervalColumns;
    call.positions = positions;
    call.pool_rows = poolRows.value.value_or(0);
    call.check_indices = checksIndices;
  }
  return call;
}

Call::Kept Call::readKept(const Kernel &kernel, nb::list arrays, int64_t interval, bool isWritten) {
  Kept kept;
  if (!interval)
    return kept;
  std::vector<const recur_array_info *> states = kernel.getArrays(RECUR_STATE);
  recur_call call = makeCall(RECUR_PLAN_AUTO);
  call.kept_interval = kept.interval = interval;
  call.device = gpu < 0 ? RECUR_CPU : RECUR_CUDA;
  int64_t rows = recur_kept_rows(&kernel.getRecurrence(), &call);
  if (rows < 0)
    raiseArgument(recur_message());
  if (arrays.size() != states.size())
    refuse("there are " + std::to_string(arrays.size()) + " arrays for " + std::to_string(states.size()) +
           " kept states");
  for (size_t i = 0; i < states.size(); ++i) {
    View &view = views.emplace_back();
    std::string what = std::string("the kept state '") + states[i]->name + "'";
    if (!view.open(arrays[i]))
      refuse(what + " is no array");
    checkPlace(view, what);
    bool fits = view.type == Type::F32 && view.sides == 2 + states[i]->rank && view.shape[0] >= rows &&
                view.shape[1] == *heads.value && isDenseFrom(view, 0) && view.isAligned;
    for (int32_t side = 0; fits && side < states[i]->rank; ++side)
      fits = view.shape[2 + side] == states[i]->shape[side];
    if (!fits || (isWritten && view.isReadOnly))
      refuse(what + " has the shape " + ::printShape(view) + "; it is dense, float32 and of at least " +
             std::to_string(rows) + " rows");
    kept.states.push_back(static_cast<float *>(makeArgument(view, 1).data));
  }
  return kept;
}

void Call::perform(const Kernel &kernel, std::vector<recur_argument> &arguments, bool backward, int32_t plan,
                   int32_t threads, const Kept &kept) const {
  recur_call call = makeCall(plan);
  call.kept_interval = kept.interval;
  call.kept_states = kept.states.data();
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.threads = threads;
  if (runsOnTeam)
    joinTeam(call);
  std::string problem;
  {
    nb::gil_scoped_release released;
    problem = kernel.perform(call, backward);
  }
  if (!problem.empty())
    raiseArgument(problem);
}

static nb::object getOrNone(const nb::list &list, size_t place) {
  return place < list.size() ? nb::object(list[place]) : nb::none();
}

std::vector<recur_argument> Call::listForward(const Kernel &kernel, nb::list outputs, nb::list finals) {
  std::vector<recur_argument> arguments;
  listGiven(kernel, arguments);
  size_t place = 0;
  for (const recur_array_info *array : kernel.getArrays(RECUR_OUTPUT))
    arguments.push_back(
        readResult(outputs[place++], *array, std::string("out: the output '") + array->name + "'", true));
  place = 0;
  for (const recur_array_info *array : kernel.getArrays(RECUR_STATE))
    arguments.push_back(readResult(getOrNone(finals, place++), *array,
                                   std::string("out: the final state '") + array->name + "'", true));
  return arguments;
}

void Call::run(const Kernel &kernel, nb::list outputs, nb::list finals, int32_t plan, int32_t threads, nb::list kept,
               int64_t keptInterval) {
  bound = listForward(kernel, outputs, finals);
  perform(kernel, bound, /*backward=*/false, plan, threads, readKept(kernel, kept, keptInterval, /*isWritten=*/true));
}

void Call::bind(const Kernel &kernel, nb::list outputs, nb::list finals) {
  bound = listForward(kernel, outputs, finals);
  boundKernel = &kernel;
  if (!copiedName.empty())
    refuse("'" + copiedName + "' would be copied, and a bound call reads arrays where they lie");
}

bool Call::isRepeatable() const {
  for (const View &view : views)
    if (isEmpty(view))
      return false;
  return copiedName.empty();
}

void Call::repeat() { perform(*boundKernel, bound, /*backward=*/false, RECUR_PLAN_AUTO, 0, {}); }

int64_t Call::countWorkspaceBytes(const Kernel &kernel, int32_t plan, int64_t keptInterval, bool backward,
                                  bool handsOver, bool handsValues) const {
  void *const places[1] = {}; // nobody looks at them yet
  alignas(16) static char values[1];
  recur_call call = makeCall(plan);
  call.device = RECUR_CUDA;
  call.handed_states = handsOver ? places : nullptr;
  call.handed_values = handsValues ? values : nullptr;
  call.kept_interval = keptInterval;
  int64_t bytes = backward ? recur_backward_workspace_size(&kernel.getRecurrence(), &call)
                           : recur_workspace_size(&kernel.getRecurrence(), &call);
  if (bytes < 0)
    raiseArgument(recur_message());
  return bytes;
}

void *Call::readHandedArray(nb::handle array, const std::string &what, int64_t rows, const std::vector<int64_t> &shape,
                            const std::string &type, bool isWritten) {
  View &view = views.emplace_back();
  if (!view.open(nb::borrow(array)))
    refuse(what + " is no array");
  checkPlace(view, what);
  bool fits = getTypeName(view.type) == type && view.sides == int32_t(2 + shape.size()) && view.shape[0] >= rows &&
              view.shape[1] == *heads.value && isDenseFrom(view, 0) && view.isAligned;
  for (size_t side = 0; fits && side < shape.size(); ++side)
    fits = view.shape[2 + side] == shape[side];
  if (!fits || (isWritten && view.isReadOnly))
    refuse(what + " has the shape " + ::printShape(view) + "; it is dense, " + type + " and of at least " +
           std::to_string(rows) + " rows");
  return makeArgument(view, 1).data;
}

Call::Handed Call::readHanded(const Kernel &kernel, nb::list arrays, bool isWritten) {
  Handed handed;
  if (!arrays.size())
    return handed;
  nb::object known = kernel.listHanded(), values = kernel.describeHandedValues();
  nb::tuple taken = known.is_none() ? nb::tuple() : nb::cast<nb::tuple>(known[1]);
  bool hasValues = !values.is_none() && arrays.size() == taken.size() + 1;
  if (arrays.size() != taken.size() + hasValues)
    refuse("there are " + std::to_string(arrays.size()) + " arrays for " + std::to_string(taken.size()) +
           " states that are handed over");
  std::vector<const recur_array_info *> states = kernel.getArrays(RECUR_STATE);
  handed.states.resize(states.size());
  recur_call call = makeCall(RECUR_PLAN_AUTO);
  call.device = RECUR_CUDA;
  int64_t rows = recur_handed_rows(&kernel.getRecurrence(), &call);
  if (rows < 0)
    raiseArgument(recur_message());
  for (size_t i = 0; i < taken.size(); ++i) {
    nb::tuple one = nb::cast<nb::tuple>(taken[i]);
    auto place = nb::cast<int64_t>(one[0]);
    const recur_array_info &state = *states[size_t(place)];
    handed.states[size_t(place)] =
        readHandedArray(arrays[i], std::string("the state '") + state.name + "' that is handed over", rows,
                        {state.shape, state.shape + state.rank}, nb::cast<std::string>(one[1]), isWritten);
  }
  if (hasValues)
    handed.values = readHandedArray(arrays[taken.size()], "what is handed over beside states", rows,
                                    {nb::cast<int64_t>(values[0])}, "float32", isWritten);
  return handed;
}

void Call::runOnGPU(const Kernel &kernel, nb::list outputs, nb::list finals, uintptr_t workspace,
                    int64_t workspaceBytes, uintptr_t stream, int32_t plan, nb::list kept, int64_t keptInterval,
                    nb::list handed) {
  bound = listForward(kernel, outputs, finals);
  Handed there = readHanded(kernel, handed, /*isWritten=*/true);
  Kept states = readKept(kernel, kept, keptInterval, /*isWritten=*/true);
  recur_call call = makeCall(plan);
  call.kept_interval = states.interval;
  call.kept_states = states.states.data();
  there.set(call);
  performOnGPU(kernel, call, bound, {workspace, workspaceBytes, stream}, /*backward=*/false);
}

void Call::performOnGPU(const Kernel &kernel, recur_call &call, const std::vector<recur_argument> &arguments,
                        Space space, bool backward) const {
  call.arguments = arguments.data();
  call.argument_count = int64_t(arguments.size());
  call.workspace = reinterpret_cast<void *>(space.workspace);
  call.workspace_bytes = space.bytes;
  call.stream = reinterpret_cast<void *>(space.stream);
  std::string problem;
  {
    nb::gil_scoped_release released;
    problem = kernel.performOnGPU(call, backward);
  }
  if (!problem.empty())
    raiseArgument(problem);
}

/// Adds the arrays of these kinds, or none in place of those that are missing.
void Call::addResults(const Kernel &kernel, std::initializer_list<recur_kind> kinds, nb::list arrays, const char *what,
                      bool isWritten, std::vector<recur_argument> &arguments) {
  size_t place = 0;
  for (recur_kind kind : kinds)
    for (const recur_array_info *array : kernel.getArrays(kind))
      arguments.push_back(
          readResult(getOrNone(arrays, place++), *array, std::string(what) + " of '" + array->name + "'", isWritten));
}

/// What a call backward is given, before the gradients.
std::vector<recur_argument> Call::listCotangents(const Kernel &kernel, nb::list outputs, nb::list finals) {
  std::vector<recur_argument> arguments;
  listGiven(kernel, arguments);
  addResults(kernel, {RECUR_OUTPUT}, outputs, "the cotangent", false, arguments);
  addResults(kernel, {RECUR_STATE}, finals, "the cotangent", false, arguments);
  return arguments;
}

std::vector<recur_argument> Call::listBackward(const Kernel &kernel, nb::list outputs, nb::list finals,
                                               nb::list gradients, nb::list initialGradients) {
  std::vector<recur_argument> arguments = listCotangents(kernel, outputs, finals);
  addResults(kernel, {RECUR_INPUT, RECUR_PARAM}, gradients, "the gradient", true, arguments);
  addResults(kernel, {RECUR_STATE}, initialGradients, "the gradient", true, arguments);
  return arguments;
}

void Call::runBackwardOnGPU(const Kernel &kernel, nb::list outputs, nb::list finals, nb::list gradients,
                            nb::list initialGradients, uintptr_t workspace, int64_t workspaceBytes, uintptr_t stream,
                            nb::list handed) {
  Handed there = readHanded(kernel, handed, /*isWritten=*/false);
  recur_call call = makeCall(RECUR_PLAN_AUTO);
  there.set(call);
  bound = listBackward(kernel, outputs, finals, gradients, initialGradients);
  performOnGPU(kernel, call, bound, {workspace, workspaceBytes, stream}, /*backward=*/true);
}

void Call::runBackward(const Kernel &kernel, nb::list outputs, nb::list finals, nb::list gradients,
                       nb::list initialGradients, int32_t threads, nb::list kept, int64_t keptInterval) {
  bound = listBackward(kernel, outputs, finals, gradients, initialGradients);
  perform(kernel, bound, /*backward=*/true, RECUR_PLAN_AUTO, threads,
          readKept(kernel, kept, keptInterval, /*isWritten=*/false));
}
