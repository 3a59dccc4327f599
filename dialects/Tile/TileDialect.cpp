#include "dialects/Tile/Tile.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, strides;
  Type element;
  int64_t swizzle = 0;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(element) || parser.parseComma())
    return {};
  StringRef word;
  SMLoc memoryLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return {};
  std::optional<Memory> memory = symbolizeMemory(word);
  if (!memory) {
    parser.emitError(memoryLoc, "'") << word << "' is no memory; there are global, local, shared and registers";
    return {};
  }
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("swizzle"))) {
      if (parser.parseInteger(swizzle))
        return {};
    } else if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                              [&] { return parser.parseInteger(strides.emplace_back()); }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(where); }, parser.getContext(), shape, element, *memory, strides,
                    swizzle);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    (ShapedType::isDynamic(size) ? printer << "?" : printer << size) << "x";
  printer << getElementType() << ", " << stringifyMemory(getMemory());
  if (!getStrides().empty()) {
    printer << ", [";
    llvm::interleaveComma(getStrides(), printer);
    printer << "]";
  }
  if (getSwizzle())
    printer << ", swizzle " << getSwizzle();
  printer << ">";
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                               Memory memory, ArrayRef<int64_t> strides, int64_t swizzle) {
  if (shape.empty())
    return emitError() << "a tile has at least one dimension";
  if (!isa<Float32Type, BFloat16Type, Float16Type>(element))
    return emitError() << "the elements of a tile are f32, bf16 or f16, not " << element;
  if (memory == Memory::Global) {
    if (!ShapedType::isDynamic(shape.front()) || llvm::any_of(shape.drop_front(), ShapedType::isDynamic))
      return emitError() << "a tile in global memory has '?' rows, and only its rows may be '?'";
    if (!strides.empty())
      return emitError() << "the strides of a tile in global memory are the caller's";
  } else {
    if (llvm::any_of(shape, [](int64_t size) { return ShapedType::isDynamic(size) || size < 1; }))
      return emitError() << "the sizes of a tile outside of global memory are numbers of 1 or more";
    if (strides.size() != shape.size())
      return emitError() << "a tile of " << shape.size() << " dimensions needs as many strides, but has "
                         << strides.size();
  }
  if (swizzle && (memory != Memory::Shared || !llvm::is_contained({32, 64, 128}, swizzle)))
    return emitError() << "only shared tiles are swizzled, by 32, 64 or 128 bytes";
  return success();
}
