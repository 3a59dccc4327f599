// The textual form of !dgps.real and what shapes it admits.
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace recur::dgps;

int64_t RealType::getNumElements() const { return llvm::product_of(getShape()); }

LogicalResult RealType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape) {
  if (shape.size() > 2)
    return emitError() << "a dgps value is a scalar, a vector or a matrix, but this shape has rank " << shape.size();
  for (int64_t size : shape)
    if (size < 1)
      return emitError() << "each size of a shape must be at least 1, but one is " << size;
  return success();
}

Type RealType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalKeyword("scalar")) &&
      parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return {};
  if (parser.parseGreater())
    return {};
  return RealType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), ArrayRef<int64_t>(shape));
}

void RealType::print(AsmPrinter &printer) const {
  printer << '<';
  if (isScalar())
    printer << "scalar";
  else
    llvm::interleave(getShape(), printer.getStream(), "x");
  printer << '>';
}
