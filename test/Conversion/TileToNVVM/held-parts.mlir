// RUN: recur-opt %s --convert-tile-to-nvvm --cse | FileCheck %s

// Two CTAs of 128 threads have a head. Of a state of 64 by 64 a thread has 16 numbers, as where one CTA of 256 threads
// has all of it: the second part begins behind the 16 blocks of rows of the first. Each CTA has all rows of inputs, and
// of outputs it stores its own values.
// The product of a key and a query is made for all of the eight tokens before the first one, by eight lanes each, in the
// order in which they would make it for one: 8 multiplications and 3 exchanges. A token has only its two reads of the
// state, and tells its lanes what is written.
// CHECK-LABEL: llvm.func @decode
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// CHECK-COUNT-16: llvm.alloca
// CHECK-NOT: llvm.alloca
// CHECK: %[[COLUMN:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[PART:.*]] = arith.remui %[[COLUMN]], %c2_i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c16_i32
// CHECK: %[[ALONG:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: nvvm.cp.async.wait.group
// CHECK: nvvm.barrier
// CHECK: nvvm.barrier
// CHECK-COUNT-8: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK-NEXT: scf.while
// CHECK: scf.for
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK: nvvm.cp.async.wait.group
// CHECK-COUNT-8: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: llvm.return
module {
  tile.kernel @decode required 4 workspace 0 threads 128 shared 19200 attributes {tile.state_parts = 2 : i64} {
  ^bb0(%arg0: !tile.tile<?x64xbf16, global>, %arg1: !tile.tile<?x64xbf16, global>, %arg2: !tile.tile<?x64xbf16, global>, %arg3: !tile.tile<?xbf16, global>, %arg4: !tile.tile<?x64x64xf32, global>, %arg5: !tile.tile<?x64xbf16, global>, %arg6: !tile.tile<?x64x64xf32, global>, %arg7: !tile.tile<?x64x64xf32, global>, %arg8: i64):
    %0 = tile.alloc at 0 : <64x64xf32, shared, [68, 1]>
    %1 = tile.alloc at 17408 : <1xf32, shared, [1]>
    %2 = tile.alloc at 18432 : <1xf32, shared, [1]>
    %3 = tile.alloc at 17408 : <1x64xf32, shared, [68, 1]>
    %4 = tile.alloc at 17664 : <1x64xf32, shared, [68, 1]>
    %5 = tile.alloc at 18560 : <1x64xbf16, shared, [72, 1]>
    %6 = tile.alloc at 17920 : <1x64xf32, shared, [68, 1]>
    %7 = tile.alloc at 17408 : <1x64xbf16, shared, [72, 1]>
    %8 = tile.alloc at 18176 : <1x64xf32, shared, [68, 1]>
    %dot = tile.alloc at 18688 : <1x1xf32, shared, [1, 1]>
    %scaled = tile.alloc at 18816 : <1x64xf32, shared, [68, 1]>
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c1_i64_0 = arith.constant 1 : i64
    %9 = tile.view %0 offset 0 : <64x64xf32, shared, [68, 1]> to <1x64x64xf32, shared, [4352, 68, 1]>
    tile.load %arg4[%c0_i64] rows %c1_i64_0 into %9 : <?x64x64xf32, global> into <1x64x64xf32, shared, [4352, 68, 1]>
    %c1_i64_1 = arith.constant 1 : i64
    scf.for %arg9 = %c0_i64 to %arg8 step %c1_i64_1  : i64 {
      %11 = arith.subi %arg8, %arg9 : i64
      %c1_i64_3 = arith.constant 1 : i64
      %12 = arith.minsi %11, %c1_i64_3 : i64
      tile.load %arg3[%arg9] rows %12 into %1 : <?xbf16, global> into <1xf32, shared, [1]>
      tile.load %arg1[%arg9] rows %12 into %4 : <?x64xbf16, global> into <1x64xf32, shared, [68, 1]>
      tile.load %arg2[%arg9] rows %12 into %5 : <?x64xbf16, global> into <1x64xbf16, shared, [72, 1]>
      tile.load %arg0[%arg9] rows %12 into %8 : <?x64xbf16, global> into <1x64xf32, shared, [68, 1]>
      %c1_i64_4 = arith.constant 1 : i64
      %13 = arith.divui %arg9, %c1_i64_4 : i64
      %14 = tile.view %0 offset 0 : <64x64xf32, shared, [68, 1]> to <1x64x64xf32, shared, [4352, 68, 1]>
      %c1_i64_5 = arith.constant 1 : i64
      tile.store %14 rows %c1_i64_5 to %arg7[%13] : <1x64x64xf32, shared, [4352, 68, 1]> to <?x64x64xf32, global>
      %c1_i64_6 = arith.constant 1 : i64
      tile.map %1 into %2 rows %c1_i64_6 dims [array<i64: 0>] : !tile.tile<1xf32, shared, [1]> into <1xf32, shared, [1]> {
      ^bb0(%arg10: f32):
        %17 = math.exp %arg10 : f32
        tile.yield %17 : f32
      }
      %c1_i64_7 = arith.constant 1 : i64
      %c64_i64 = arith.constant 64 : i64
      tile.product %4, right_transposed %0 into %3 rows %c1_i64_7 inner %c64_i64 : <1x64xf32, shared, [68, 1]>, <64x64xf32, shared, [68, 1]> into <1x64xf32, shared, [68, 1]>
      %c1_i64_8 = arith.constant 1 : i64
      tile.map %5, %3 into %6 rows %c1_i64_8 dims [array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<1x64xbf16, shared, [72, 1]>, !tile.tile<1x64xf32, shared, [68, 1]> into <1x64xf32, shared, [68, 1]> {
      ^bb0(%arg10: f32, %arg11: f32):
        %17 = arith.subf %arg10, %arg11 : f32
        tile.yield %17 : f32
      }
      tile.product %8, right_transposed %4 into %dot rows %c1_i64_8 inner %c64_i64 result_triangle [1, 1] : <1x64xf32, shared, [68, 1]>, <1x64xf32, shared, [68, 1]> into <1x1xf32, shared, [1, 1]>
      tile.product %dot, %6 into %scaled rows %c1_i64_8 inner %c1_i64_8 left_triangle [1, 1] : <1x1xf32, shared, [1, 1]>, <1x64xf32, shared, [68, 1]> into <1x64xf32, shared, [68, 1]>
      %c1_i64_9 = arith.constant 1 : i64
      %c64_i64_10 = arith.constant 64 : i64
      tile.product %8, right_transposed %0 into %7 rows %c1_i64_9 inner %c64_i64_10 plus %scaled : <1x64xf32, shared, [68, 1]>, <64x64xf32, shared, [68, 1]> into <1x64xbf16, shared, [72, 1]> plus !tile.tile<1x64xf32, shared, [68, 1]>
      %15 = tile.view %6 offset 0 : <1x64xf32, shared, [68, 1]> to <64xf32, shared, [1]>
      %16 = tile.view %4 offset 0 : <1x64xf32, shared, [68, 1]> to <64xf32, shared, [1]>
      %c64_i64_11 = arith.constant 64 : i64
      tile.map %0, %15, %16, %2 into %0 rows %c64_i64_11 dims [array<i64: 0, 1>, array<i64: 0>, array<i64: 1>, array<i64: 0>] : !tile.tile<64x64xf32, shared, [68, 1]>, !tile.tile<64xf32, shared, [1]>, !tile.tile<64xf32, shared, [1]>, !tile.tile<1xf32, shared, [1]> into <64x64xf32, shared, [68, 1]> {
      ^bb0(%arg10: f32, %arg11: f32, %arg12: f32, %arg13: f32):
        %17 = arith.mulf %arg10, %arg13 : f32
        %18 = arith.mulf %arg11, %arg12 : f32
        %19 = arith.addf %17, %18 : f32
        tile.yield %19 : f32
      }
      tile.store %7 rows %12 to %arg5[%arg9] : <1x64xbf16, shared, [72, 1]> to <?x64xbf16, global>
    }
    %10 = tile.view %0 offset 0 : <64x64xf32, shared, [68, 1]> to <1x64x64xf32, shared, [4352, 68, 1]>
    %c1_i64_2 = arith.constant 1 : i64
    tile.store %10 rows %c1_i64_2 to %arg6[%c0_i64] : <1x64x64xf32, shared, [4352, 68, 1]> to <?x64x64xf32, global>
  }
}
