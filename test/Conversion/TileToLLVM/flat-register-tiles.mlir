// RUN: recur-opt %s --convert-tile-to-llvm="product-rows=6" --canonicalize | FileCheck %s

// Register tiles of 6 rows by 4 vectors; 16 rows are two of them and one of the 4 rows that are left, which is computed
// where there are so many tokens.
// CHECK-LABEL: llvm.func @product
// CHECK: %[[SIX:.*]] = arith.minsi %arg1, %{{.*}} : i64
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[SIX]]
// CHECK: scf.for
// CHECK-COUNT-24: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: scf.for %{{.*}} = %{{.*}} to %arg1
// CHECK: scf.for
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.return
tile.kernel @product required 0 workspace 65536 {
^bb0(%n: i64):
  %inner = arith.constant 32 : i64
  %a = tile.alloc at 0 : !tile.tile<16x32xf32, local, [32, 1]>
  %b = tile.alloc at 2048 : !tile.tile<32x64xf32, local, [64, 1]>
  %c = tile.alloc at 16384 : !tile.tile<16x64xf32, local, [64, 1]>
  tile.product %a, %b into %c rows %n inner %inner : !tile.tile<16x32xf32, local, [32, 1]>, !tile.tile<32x64xf32, local, [64, 1]> into !tile.tile<16x64xf32, local, [64, 1]>
}
