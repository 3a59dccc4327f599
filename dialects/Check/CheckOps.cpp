#include "dialects/Check/Check.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace recur::check_ir;

#include "dialects/Check/CheckDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Check/CheckOps.cpp.inc"

void CheckDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Check/CheckOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// `2`, `-0.5`, `1e-3`, `inf`, `-inf`, `nan`
static ParseResult parseNumber(OpAsmParser &parser, double &number) {
  bool isNegative = succeeded(parser.parseOptionalMinus());
  APInt integer;
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word, {"inf", "nan"})))
    number = word == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (OptionalParseResult parsed = parser.parseOptionalInteger(integer); parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    number = integer.roundToDouble(/*isSigned=*/true);
  } else if (parser.parseFloat(number)) {
    return failure();
  }
  number = isNegative ? -number : number;
  return success();
}

/// A number or a list; appends the numbers, and checks that all lists of one depth are equally long.
static ParseResult parseNested(OpAsmParser &parser, SmallVectorImpl<double> &numbers, SmallVectorImpl<int64_t> &shape,
                               unsigned depth) {
  SMLoc where = parser.getCurrentLocation();
  if (failed(parser.parseOptionalLSquare())) {
    if (depth < shape.size())
      return parser.emitError(where, "expected a list, as before");
    return parseNumber(parser, numbers.emplace_back());
  }
  bool isFirst = depth == shape.size();
  if (isFirst && !numbers.empty())
    return parser.emitError(where, "expected a number, as before");
  if (isFirst)
    shape.push_back(-1);
  int64_t length = 0;
  if (failed(parser.parseOptionalRSquare())) {
    do {
      if (parseNested(parser, numbers, shape, depth + 1))
        return failure();
      ++length;
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRSquare())
      return failure();
  }
  if (shape[depth] >= 0 && shape[depth] != length)
    return parser.emitError(where, "expected a list of ") << shape[depth] << ", as before";
  shape[depth] = length;
  return success();
}

static ParseResult parseArray(OpAsmParser &parser, Attribute &array) {
  SmallVector<double> numbers;
  SmallVector<int64_t> shape;
  if (parseNested(parser, numbers, shape, 0))
    return failure();
  auto type = RankedTensorType::get(shape, parser.getBuilder().getF64Type());
  array = DenseElementsAttr::get(type, ArrayRef<double>(numbers));
  return success();
}

static void printNumber(OpAsmPrinter &printer, double number) {
  if (std::isnan(number))
    printer << "nan";
  else if (std::isinf(number))
    printer << (number < 0 ? "-inf" : "inf");
  else if (number == std::floor(number) && std::abs(number) < 1e15 && !(number == 0 && std::signbit(number)))
    printer << int64_t(number);
  else
    printer << APFloat(number);
}

static void printNested(OpAsmPrinter &printer, ArrayRef<int64_t> shape, ArrayRef<double> &numbers) {
  if (shape.empty()) {
    printNumber(printer, numbers.front());
    numbers = numbers.drop_front();
    return;
  }
  printer << '[';
  for (int64_t i = 0; i < shape.front(); ++i) {
    if (i)
      printer << ", ";
    printNested(printer, shape.drop_front(), numbers);
  }
  printer << ']';
}

//===----------------------------------------------------------------------===//
// RunOp
//===----------------------------------------------------------------------===//

/// `(q = [[1, 2]], S = [[0]])`, or without names.
static ParseResult parseArrays(OpAsmParser &parser, ArrayAttr &names, ArrayAttr &arrays) {
  SmallVector<Attribute> parsedNames, parsedArrays;
  auto parseOne = [&] {
    StringRef name;
    if (succeeded(parser.parseOptionalKeyword(&name))) {
      parsedNames.push_back(parser.getBuilder().getStringAttr(name));
      if (parser.parseEqual())
        return failure();
    }
    return LogicalResult(parseArray(parser, parsedArrays.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  names = parser.getBuilder().getArrayAttr(parsedNames);
  arrays = parser.getBuilder().getArrayAttr(parsedArrays);
  return success();
}

static void printArrays(OpAsmPrinter &printer, ArrayAttr names, ArrayAttr arrays) {
  printer << '(';
  for (auto [i, array] : llvm::enumerate(arrays.getAsRange<DenseElementsAttr>())) {
    if (i)
      printer << ", ";
    if (!names.empty())
      printer << cast<StringAttr>(names[i]).getValue() << " = ";
    auto values = llvm::to_vector(array.getValues<double>());
    ArrayRef<double> numbers = values;
    printNested(printer, array.getType().getShape(), numbers);
  }
  printer << ')';
}

ParseResult RunOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  Builder &builder = parser.getBuilder();
  if (parser.parseAttribute(properties.program))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("sizes"))) {
    SmallVector<int64_t> sizes;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parser.parseInteger(sizes.emplace_back()); }))
      return failure();
    properties.sizes = builder.getDenseI64ArrayAttr(sizes);
  }
  if (succeeded(parser.parseOptionalKeyword("tokens"))) {
    int64_t tokens;
    if (parser.parseInteger(tokens))
      return failure();
    properties.tokens = builder.getI64IntegerAttr(tokens);
  }
  if (succeeded(parser.parseOptionalKeyword("rounding"))) {
    StringRef rounding;
    if (parser.parseKeyword(&rounding))
      return failure();
    properties.rounding = builder.getStringAttr(rounding);
  }
  if (parseArrays(parser, properties.given_names, properties.given))
    return failure();
  properties.wanted_names = properties.wanted = builder.getArrayAttr({});
  if (succeeded(parser.parseOptionalKeyword("fails"))) {
    std::string message;
    if (parser.parseString(&message))
      return failure();
    properties.message = builder.getStringAttr(message);
    return parser.parseOptionalAttrDict(state.attributes);
  }
  if (parser.parseKeyword("gives") || parseArrays(parser, properties.wanted_names, properties.wanted))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("within"))) {
    double within;
    if (parseNumber(parser, within))
      return failure();
    properties.within = builder.getF64FloatAttr(within);
  }
  return parser.parseOptionalAttrDict(state.attributes);
}

void RunOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getProgram());
  if (auto sizes = getSizes()) {
    printer << " sizes [";
    llvm::interleaveComma(*sizes, printer);
    printer << ']';
  }
  if (auto tokens = getTokens())
    printer << " tokens " << *tokens;
  if (auto rounding = getRounding())
    printer << " rounding " << *rounding;
  printer << ' ';
  printArrays(printer, getGivenNames(), getGiven());
  if (auto message = getMessage()) {
    printer << " fails ";
    printer.printString(*message);
  } else {
    printer << " gives ";
    printArrays(printer, getWantedNames(), getWanted());
    if (auto within = getWithin())
      printer << " within " << *within;
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), RunOp::getAttributeNames());
}

LogicalResult RunOp::verify() {
  for (auto [names, arrays] : {std::pair(getGivenNames(), getGiven()), {getWantedNames(), getWanted()}}) {
    if (!names.empty() && names.size() != arrays.size())
      return emitOpError("expects a name for every array, or for none");
    for (Attribute array : arrays)
      if (auto numbers = dyn_cast<DenseElementsAttr>(array); !numbers || !numbers.getElementType().isF64())
        return emitOpError("expects arrays of float64");
  }
  if (getSizes() && getSizes()->size() != 3)
    return emitOpError("expects three sizes: of the batch, of heads and of groups of heads");
  if (getMessage() ? !getWanted().empty() : getWanted().empty())
    return emitOpError("expects either arrays that the program gives or the message that it fails with");
  return success();
}
