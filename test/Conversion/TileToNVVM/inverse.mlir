// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Two blocks: the diagonal is inverted by forward substitution, a thread a column. Then the second warp has the block
// left of it, which is two products of two units, three instructions each. A warp asks first whether the right factor is
// finite; where it is not, sums that see it are no numbers.
// CHECK-LABEL: llvm.func @inverse
// CHECK: llvm.intr.fma
// CHECK: nvvm.barrier0
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[ALL:.*]] = llvm.call_intrinsic "llvm.nvvm.vote.all.sync"
// CHECK: %[[RIGHT:.*]]:16 = scf.if %[[ALL]]
// CHECK: } else {
// CHECK: arith.cmpf olt
// CHECK: scf.for
// CHECK-COUNT-6: nvvm.mma.sync
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK-COUNT-6: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.barrier0
// CHECK: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: llvm.return
tile.kernel @inverse required 0 workspace 0 threads 64 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x32xf32, shared, [36, 1]>
  %b = tile.alloc at 8192 : !tile.tile<32x32xbf16, shared, [40, 1]>
  tile.invert %a into %b rows %n : !tile.tile<32x32xf32, shared, [36, 1]> into !tile.tile<32x32xbf16, shared, [40, 1]>
}

// One block has no other, and its columns are scaled by the threads that have them.
// CHECK-LABEL: llvm.func @block
// CHECK-NOT: nvvm.barrier0
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @block required 0 workspace 0 threads 64 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xf32, shared, [20, 1]>
  %b = tile.alloc at 8192 : !tile.tile<16x16xbf16, shared, [24, 1]>
  %s = tile.alloc at 12288 : !tile.tile<16xf32, shared, [1]>
  tile.invert %a into %b rows %n scaled_columns %s : !tile.tile<16x16xf32, shared, [20, 1]> into !tile.tile<16x16xbf16, shared, [24, 1]> scaled_columns !tile.tile<16xf32, shared, [1]>
}

// Of f32 the blocks are stored number by number, the even columns of each eight before the odd ones; that on the diagonal
// when all of its two parts have been read.
// CHECK-LABEL: llvm.func @exchanged
// CHECK: nvvm.barrier0
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-12: nvvm.mma.sync
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.f2tf32.rna"
// CHECK: nvvm.barrier0
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.f2tf32.rna"
// CHECK-NOT: stmatrix
// CHECK: llvm.return
tile.kernel @exchanged required 0 workspace 0 threads 64 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x32xf32, shared, [36, 1]>
  %b = tile.alloc at 8192 : !tile.tile<32x32xf32, shared, [36, 1]>
  tile.invert %a into %b rows %n exchanged : !tile.tile<32x32xf32, shared, [36, 1]> into !tile.tile<32x32xf32, shared, [36, 1]>
}
