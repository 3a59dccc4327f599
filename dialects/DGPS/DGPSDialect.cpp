#include "dialects/DGPS/DGPS.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur::dgps;

#include "dialects/DGPS/DGPSDialect.cpp.inc"
#include "dialects/DGPS/DGPSInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/DGPS/DGPSTypes.cpp.inc"

void DGPSDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/DGPS/DGPSTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/DGPS/DGPSOps.cpp.inc"
      >();
}

Operation *DGPSDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto number = dyn_cast<FloatAttr>(value);
  auto real = dyn_cast<RealType>(type);
  if (!number || !real)
    return nullptr;
  return ConstantOp::create(builder, loc, number.getValueAsDouble(), real.getShape());
}
