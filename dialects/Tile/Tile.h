// The tile dialect: its type, enumerations and ops.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace recur::tile {
/// The most shared memory that a CTA of any GPU may have. How much that is of one, its profile says.
constexpr int64_t mostSharedBytes = 232448;
/// Where the shared memory of each of several teams of a CTA begins: at multiples of this.
constexpr int64_t teamAlignment = 128;

inline TileType tileOf(mlir::Value value) { return mlir::cast<TileType>(value.getType()); }
} // namespace recur::tile
