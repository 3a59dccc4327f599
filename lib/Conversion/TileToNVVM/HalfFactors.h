// Left factors of f16 of numbers of f32, for products with rows of f16 that stay what they are.
//
// f16 has three digits more than bf16, but for few sizes, and states and values may have any. A product takes the
// numbers rounded to f16, and for those beyond its range the largest that it has. Nothing is asked before it begins;
// while it runs, threads find out whether f16 has the digits of what they gave. If it has not somewhere, the product of
// what rounding left, which f32 has exactly, is added: rows go by powers of two then, so that the largest number of
// what was left is about one.
#pragma once
#include "Conversion/TileToNVVM/Warpgroup.h"

namespace recur::conversion::nvvm {

/// Two neighbours in each register, in the order of a thread's numbers.
llvm::SmallVector<mlir::Value> roundToHalves(TeamCode &team, mlir::ValueRange numbers);
llvm::SmallVector<mlir::Value> unpackHalves(TeamCode &team, llvm::ArrayRef<mlir::Value> packed);

/// Whether f16 lacks digits of numbers of one of the thread's two rows: the sum of a row's sizes is beyond f16's range,
/// or so small that the digits lost may be more than one in 2^11 of it. Zeros lose none. All lanes of a warp take part.
mlir::Value lackDigits(TeamCode &team, mlir::ValueRange numbers);

/// A right factor, and where its inner indices begin (`UnitProduct`).
struct PlacedFactor {
  RightFactor factor;
  llvm::SmallVector<int64_t> places;
};
/// Adds to a product that has ended what rounding left out of these numbers. Each warp multiplies by itself, whatever
/// the GPU has, for the others may have nothing to add. All lanes of a warp take part. No product of a warpgroup may
/// run meanwhile: ptxas would wait for it, in a place of its own choice.
void addProductOfRest(TeamCode &team, mlir::ValueRange numbers, const PlacedFactor &right, bool isAcross,
                      llvm::MutableArrayRef<mlir::Value> sums);

} // namespace recur::conversion::nvvm
