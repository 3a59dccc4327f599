// Dots under a scale of each channel, where numbers are rounded: within a block of 16 by one product in tf32 where the running
// scales allow it, and by halves of 1 to 8 indices for other rows. Halves of 16 meet in bf16, by way of the work tile.
// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

!rows = !tile.tile<32x16xbf16, shared, [24, 1]>
!dots = !tile.tile<32x32xf32, shared, [36, 1]>

// CHECK-LABEL: llvm.func @rounded
// Scaled rows of upper halves and columns of lower ones are left in the work tile.
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier
// Of logarithms the factors are exponentials of the hardware; running sums come from the lanes before.
// CHECK: llvm.nvvm.ex2.approx
// CHECK: nvvm.shfl.sync up
// CHECK-NOT: divf
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// A warp all of whose rows are steady makes no halves, in which products of neighbours meet.
// CHECK: nvvm.vote.sync all
// CHECK: scf.if
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.barrier
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-NOT: nvvm.barrier
tile.kernel @rounded required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !rows
  %work = tile.alloc at 1536 : !rows
  %c = tile.alloc at 3072 : !dots
  tile.scaled_dots rounded %a, %a scales logarithms %a into %c work %work rows %n block 32 points [1] of [0]
      : !rows, !rows scales !rows into !dots work !rows
}
