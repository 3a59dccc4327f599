// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Rows of 16 bits of two matrices are multiplied as the diagonal of a product: a warp has 16 rows, of which the upper
// and the lower eight are columns of an instruction each. A lane stores two sums where it has any.
// CHECK-LABEL: llvm.func @dots
// CHECK: scf.for
// CHECK: %[[SUMS:.*]]:8 = scf.for
// CHECK-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: arith.select %{{.*}}, %[[SUMS]]#0, %[[SUMS]]#1
// CHECK: arith.select %{{.*}}, %[[SUMS]]#6, %[[SUMS]]#7
tile.kernel @dots required 0 workspace 0 threads 128 shared 20000 {
^bb0(%x: !tile.tile<?x32xbf16, global>, %y: !tile.tile<?x32xbf16, global>, %z: !tile.tile<?xf32, global>, %tokens: i64):
  %a = tile.alloc at 0 : <64x32xbf16, shared, [40, 1]>
  %b = tile.alloc at 5120 : <64x32xbf16, shared, [40, 1]>
  %c = tile.alloc at 10240 : <64xf32, shared, [1]>
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  tile.load %x[%c0] rows %c64 into %a : <?x32xbf16, global> into <64x32xbf16, shared, [40, 1]>
  tile.load %y[%c0] rows %c64 into %b : <?x32xbf16, global> into <64x32xbf16, shared, [40, 1]>
  tile.reduce sum %a, %b into %c rows %c64 over [1] of [64, 32] dims [array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<64x32xbf16, shared, [40, 1]>, !tile.tile<64x32xbf16, shared, [40, 1]> into <64xf32, shared, [1]> {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    tile.yield %r : f32
  }
  tile.store %c rows %c64 to %z[%c0] : <64xf32, shared, [1]> to <?xf32, global>
}
