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
  bool transposed = false;
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
    } else if (succeeded(parser.parseOptionalKeyword("transposed"))) {
      transposed = true;
    } else if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                              [&] { return parser.parseInteger(strides.emplace_back()); }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(where); }, parser.getContext(), shape, element, *memory, strides,
                    swizzle, transposed);
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
  if (getTransposed())
    printer << ", transposed";
  printer << ">";
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                               Memory memory, ArrayRef<int64_t> strides, int64_t swizzle, bool transposed) {
  if (shape.empty())
    return emitError() << "a tile has at least one dimension";
  bool isCallers = memory == Memory::Global && element.isInteger(32);
  if (!isa<Float32Type, BFloat16Type, Float16Type>(element) && !isCallers)
    return emitError() << "the elements of a tile are f32, bf16 or f16, and in global memory i32, not " << element;
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
  if (transposed && (memory != Memory::Global || shape.size() != 3))
    return emitError() << "only a tile in global memory whose rows are matrices is transposed";
  if (!swizzle)
    return success();
  if (memory != Memory::Shared || !llvm::is_contained({32, 64, 128}, swizzle))
    return emitError() << "only shared tiles are swizzled, by 32, 64 or 128 bytes";
  if (shape.size() < 2)
    return emitError() << "a swizzled tile has rows and columns";
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, panel = swizzle / bytes;
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  if (rows % 8 || columns % panel)
    return emitError() << "a tile with swizzle " << swizzle << " has a multiple of 8 rows and of " << panel
                       << " columns, not " << rows << " and " << columns;
  ArrayRef<int64_t> matrix = strides.take_back(2);
  if (matrix[0] != panel || matrix[1] != 1)
    return emitError() << "the matrix of a tile with swizzle " << swizzle << " has the strides [" << panel
                       << ", 1], not [" << matrix[0] << ", " << matrix[1] << "]";
  int64_t inside = rows * columns;
  for (size_t dim = shape.size() - 2; dim-- > 0; inside = strides[dim] * shape[dim])
    if (strides[dim] < inside || strides[dim] * bytes % (8 * swizzle))
      return emitError() << "dimension " << dim << " of a tile with swizzle " << swizzle << " has a stride that is a "
                         << "multiple of " << 8 * swizzle / bytes << " and " << inside << " or more, not "
                         << strides[dim];
  return success();
}

LogicalResult BarriersType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count < 1 || count > 64)
    return emitError() << "there are 1 to 64 barriers in one value, not " << count;
  return success();
}

int64_t TileType::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : getShape())
    count *= size;
  return count;
}

int64_t TileType::getExtent() const {
  int64_t last = 0;
  size_t outer = getRank() - (getSwizzle() ? 2 : 0); // panels fill the place of a swizzled matrix
  for (auto [size, stride] : llvm::zip(getShape().take_front(outer), getStrides()))
    last += (size - 1) * stride;
  return last + (getSwizzle() ? getShape()[outer] * getShape()[outer + 1] : 1);
}
