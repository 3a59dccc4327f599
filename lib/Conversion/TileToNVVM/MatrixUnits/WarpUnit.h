// The instruction by which a warp multiplies, for all who multiply by warps, whatever a warpgroup has.
#pragma once
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace recur::conversion::nvvm {

/// Adds a product of 16 rows and 8 columns to a lane's four sums: of four words of a left factor and two of a right
/// one, whose numbers are of this type.
void multiplyByWarp(TeamCode &t, mlir::ValueRange left, mlir::ValueRange right, llvm::MutableArrayRef<mlir::Value> sums,
                    mlir::NVVM::MMATypes type);

} // namespace recur::conversion::nvvm
