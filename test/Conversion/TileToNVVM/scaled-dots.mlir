// Dots under a scale of each channel, where numbers are rounded: within a block of 16 by one product in tf32 where the running
// scales allow it, and by halves of 1 to 8 indices for other rows. Halves of 16 meet in bf16, by way of the work tile.
// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

!rows = !tile.tile<32x16xbf16, shared, [24, 1]>
!columns = !tile.tile<16x16xbf16, shared, [24, 1]>
!dots = !tile.tile<32x32xf32, shared, [36, 1]>

// CHECK-LABEL: llvm.func @logarithms
// Columns of lower halves are scaled by exponentials of sums, which are products of bounded steps with a triangle, and are
// left in the work tile.
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: llvm.nvvm.fmin.xorsign.abs.bf16x2
// CHECK-NOT: nvvm.shfl
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: llvm.nvvm.ex2.approx
// CHECK: llvm.store %{{.*}} : vector<2xbf16>, !llvm.ptr<3>
// CHECK: nvvm.barrier
// A block with itself: no exchange between lanes, and nothing is rounded but what matrix units cut off.
// CHECK-NOT: nvvm.shfl
// CHECK-NOT: f2tf32
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// Steady rows are stored. A warp all of whose rows are steady makes no halves, in which products of neighbours meet, and
// of halves others are stored alone.
// CHECK: nvvm.vote.sync all
// CHECK: scf.if
// CHECK: nvvm.vote.sync ballot
// CHECK: nvvm.vote.sync ballot
// CHECK: arith.shrui
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// CHECK-NOT: nvvm.bar.warp.sync
// Rows of upper halves stay in registers.
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-NOT: nvvm.barrier
tile.kernel @logarithms required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !rows
  %work = tile.alloc at 1536 : !columns
  %c = tile.alloc at 3072 : !dots
  tile.scaled_dots rounded %a, %a scales logarithms %a into %c work %work rows %n block 32 points [1] of [0]
      : !rows, !rows scales !rows into !dots work !columns
}

// Steps of float32 are bounded by one instruction each. The first of two parts of bf16 is cut off, for two steps by one
// permutation of bytes, and no number is converted by itself: what is left of two steps is rounded as a pair. Both parts
// are products with the triangle.
// CHECK-LABEL: llvm.func @floatSteps
// CHECK-NOT: nvvm.ldmatrix
// CHECK: %[[FIRST:.*]] = llvm.call_intrinsic "llvm.nvvm.fmin.xorsign.abs.f"
// CHECK: %[[SCALED:.*]] = arith.mulf %[[FIRST]]
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[SCALED]] : f32 to i32
// CHECK: %[[CUT:.*]] = arith.andi %[[BITS]]
// CHECK: %[[UPPER:.*]] = llvm.bitcast %[[CUT]] : i32 to f32
// CHECK: %[[REST:.*]] = arith.subf %[[SCALED]], %[[UPPER]]
// CHECK: llvm.nvvm.fmin.xorsign.abs.f
// CHECK: %[[OTHER:.*]] = llvm.bitcast %{{.*}} : f32 to i32
// CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x7632;", "=r,r,r" %[[BITS]], %[[OTHER]]
// CHECK: llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %[[REST]])
// CHECK-NOT: f32 to bf16
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: llvm.nvvm.ex2.approx
tile.kernel @floatSteps required 1 workspace 0 threads 128 shared 10240 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !rows
  %steps = tile.alloc at 1536 : !tile.tile<32x16xf32, shared, [20, 1]>
  %work = tile.alloc at 4096 : !columns
  %c = tile.alloc at 5376 : !dots
  tile.scaled_dots rounded %a, %a scales logarithms %steps into %c work %work rows %n block 32 points [1] of [0]
      : !rows, !rows scales !tile.tile<32x16xf32, shared, [20, 1]> into !dots work !columns
}

// Rows of two ops whose columns are the same: these are scaled once, and nobody waits between the ops. In a block one
// loop over channels has three products of each, and the inverse exponentials of eight numbers once.
// CHECK-LABEL: llvm.func @together
// CHECK: scf.for
// CHECK: llvm.store %{{.*}} : vector<2xbf16>, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK: scf.for
// CHECK-COUNT-24: llvm.nvvm.ex2.approx
// CHECK-NOT: llvm.nvvm.ex2.approx
// CHECK-COUNT-12: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// CHECK: nvvm.vote.sync ballot
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
tile.kernel @together required 1 workspace 0 threads 128 shared 15360 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !rows
  %work = tile.alloc at 1536 : !columns
  %c = tile.alloc at 3072 : !dots
  %b = tile.alloc at 7680 : !rows
  %d = tile.alloc at 9216 : !dots
  tile.scaled_dots rounded %a, %a scales logarithms %a into %c work %work rows %n block 32 points [0] of [0]
      : !rows, !rows scales !rows into !dots work !columns
  tile.scaled_dots rounded %b, %a scales logarithms %a into %d work %work rows %n block 32 points [1] of [0]
      : !rows, !rows scales !rows into !dots work !columns
}

// The second takes what the first gives, so they are apart.
// CHECK-LABEL: llvm.func @inTurn
// CHECK: nvvm.barrier
// CHECK: nvvm.vote.sync ballot
// CHECK: nvvm.barrier
// CHECK: nvvm.barrier
// CHECK: nvvm.vote.sync ballot
tile.kernel @inTurn required 1 workspace 0 threads 128 shared 12288 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !rows
  %work = tile.alloc at 1536 : !columns
  %c = tile.alloc at 3072 : !dots
  %d = tile.alloc at 7680 : !dots
  %b = tile.view %c offset 0 : !dots to !tile.tile<32x16xf32, shared, [36, 1]>
  tile.scaled_dots rounded %a, %a scales logarithms %a into %c work %work rows %n block 32 points [0] of [0]
      : !rows, !rows scales !rows into !dots work !columns
  tile.scaled_dots rounded %b, %a scales logarithms %a into %d work %work rows %n block 32 points [1] of [0]
      : !tile.tile<32x16xf32, shared, [36, 1]>, !rows scales !rows into !dots work !columns
}

// CHECK-LABEL: llvm.func @scales
// Scaled rows of upper halves and columns of lower ones are left in the work tile.
// CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier
// Running products come from the lanes before.
// CHECK: nvvm.shfl.sync up
// CHECK-NOT: divf
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// Steady rows are stored, and halves store the others alone.
// CHECK: nvvm.vote.sync all
// CHECK: scf.if
// CHECK: arith.xori
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: nvvm.barrier
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-NOT: nvvm.barrier
tile.kernel @scales required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !rows
  %work = tile.alloc at 1536 : !rows
  %c = tile.alloc at 3072 : !dots
  tile.scaled_dots rounded %a, %a scales %a into %c work %work rows %n block 32 points [1] of [0]
      : !rows, !rows scales !rows into !dots work !rows
}
