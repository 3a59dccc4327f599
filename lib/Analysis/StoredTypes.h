// The attribute `stored` of an array's declaration, as a type of data: it says nothing of f32.
#pragma once
#include "Target/DataTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace recur::analysis {

inline mlir::Type getStoredType(std::optional<mlir::Type> stored, mlir::MLIRContext *context) {
  return stored ? *stored : mlir::Float32Type::get(context);
}

inline DataType getStoredDataType(std::optional<mlir::Type> stored) {
  return !stored                                  ? DataType::F32
         : mlir::isa<mlir::BFloat16Type>(*stored) ? DataType::BF16
         : mlir::isa<mlir::Float16Type>(*stored)  ? DataType::F16
                                                  : DataType::I32;
}

inline mlir::TypeAttr makeStored(DataType type, mlir::MLIRContext *context) {
  if (type == DataType::F32)
    return {};
  return mlir::TypeAttr::get(type == DataType::BF16 ? mlir::Type(mlir::BFloat16Type::get(context))
                                                    : mlir::Type(mlir::Float16Type::get(context)));
}

} // namespace recur::analysis
