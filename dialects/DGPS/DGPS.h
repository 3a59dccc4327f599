// The dgps dialect: its types, interfaces and ops.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/DGPS/DGPSDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/DGPS/DGPSTypes.h.inc"

#include "dialects/DGPS/DGPSInterfaces.h.inc"

namespace recur::dgps {
class InputOp;
class ParamOp;
class StateOp;
class OutputOp;
class NextOp;
} // namespace recur::dgps

#define GET_OP_CLASSES
#include "dialects/DGPS/DGPSOps.h.inc"

namespace recur::dgps {

/// The shape of a dgps value.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return mlir::cast<RealType>(value.getType()).getShape(); }

/// The number that fills every element of `value`, if it is a constant.
std::optional<double> constantNumber(mlir::Value value);

} // namespace recur::dgps
