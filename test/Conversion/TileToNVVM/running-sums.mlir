// Running sums of logarithms of channels, of data of bf16: sums over 16 rows are products with triangles of ones.
// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

!rows = !tile.tile<32x16xbf16, shared, [24, 1]>
!total = !tile.tile<16xf32, shared, [1]>
!long = !tile.tile<32x16xf32, shared, [20, 1]>

// Scans of the same steps, one behind the other, share steps, sums and their exponentials: one loop over blocks has two
// products with the triangle and two with ones, and exponentials of eight numbers. What is no number or beyond the bound
// takes the way at the end, row by row, behind what the warp has stored.
// CHECK-LABEL: llvm.func @together
// CHECK-NOT: nvvm.shfl
// CHECK: scf.for
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// Of a block that ends behind the last row, steps there are left out, since the sum of all goes on from them.
// CHECK: scf.if
// CHECK-COUNT-4: llvm.nvvm.fmin.xorsign.abs.bf16x2
// CHECK-COUNT-4: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK-COUNT-8: llvm.nvvm.ex2.approx
// CHECK-NOT: llvm.nvvm.fmin.xorsign
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK-NOT: nvvm.barrier
// CHECK: nvvm.vote.sync any
// CHECK: scf.if
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.for
// CHECK: arith.cmpf ugt
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
tile.kernel @together required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %g = tile.alloc at 0 : !rows
  %q = tile.alloc at 1536 : !rows
  %k = tile.alloc at 3072 : !rows
  %a = tile.alloc at 4608 : !rows
  %b = tile.alloc at 6144 : !rows
  %t = tile.alloc at 7680 : !total
  tile.scan %g, %q all %a last %t rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0.0 : !rows, !rows all !rows last !total {
  ^bb0(%step: f32, %x0: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    %e = math.exp %next : f32
    %y = arith.mulf %e, %x0 : f32
    tile.yield %next, %y : f32, f32
  }
  tile.scan %g, %k all %b rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0.0 : !rows, !rows all !rows {
  ^bb0(%step: f32, %x0: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    %e = math.exp %next : f32
    %y = arith.mulf %e, %x0 : f32
    tile.yield %next, %y : f32, f32
  }
}

// What the second gives lies in the place of what the first takes, whose columns are other warps': not together.
// CHECK-LABEL: llvm.func @in_place
// CHECK: nvvm.mma.sync
// CHECK: nvvm.barrier
// CHECK: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @in_place required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %g = tile.alloc at 0 : !rows
  %q = tile.alloc at 1536 : !long
  %k = tile.alloc at 4608 : !rows
  %a = tile.alloc at 6144 : !rows
  %b = tile.alloc at 1536 : !rows
  tile.scan %g, %q all %a rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0.0 : !rows, !long all !rows {
  ^bb0(%step: f32, %x0: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    %e = math.exp %next : f32
    %y = arith.mulf %e, %x0 : f32
    tile.yield %next, %y : f32, f32
  }
  tile.scan %g, %k all %b rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] start 0.0 : !rows, !rows all !rows {
  ^bb0(%step: f32, %x0: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    %e = math.exp %next : f32
    %y = arith.mulf %e, %x0 : f32
    tile.yield %next, %y : f32, f32
  }
}

// From the last row to the first, and before a row's own step: another triangle, and blocks the other way.
// CHECK-LABEL: llvm.func @reverse
// CHECK: scf.for
// CHECK: arith.subi
// CHECK: scf.if
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @reverse required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %g = tile.alloc at 0 : !rows
  %a = tile.alloc at 1536 : !rows
  tile.scan %g all %a reverse rows %n dims [array<i64: 0, 1>] start 0.0 : !rows all !rows {
  ^bb0(%step: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    %e = math.exp %sum : f32
    tile.yield %next, %e : f32, f32
  }
}

// Steps of f32 would be factors in two parts, which takes longer than a thread for each channel; and what is no sum, or
// lies where its steps do, is no product with a triangle.
// CHECK-LABEL: llvm.func @by_threads
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @by_threads required 1 workspace 0 threads 128 shared 9216 {
^bb0(%x: !tile.tile<?x16xbf16, global>, %n: i64):
  %g = tile.alloc at 0 : !long
  %h = tile.alloc at 2560 : !rows
  %a = tile.alloc at 4096 : !rows
  tile.scan %g all %a rows %n dims [array<i64: 0, 1>] start 0.0 : !long all !rows {
  ^bb0(%step: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    tile.yield %next, %next : f32, f32
  }
  tile.scan %h all %a rows %n dims [array<i64: 0, 1>] start 1.0 : !rows all !rows {
  ^bb0(%step: f32, %sum: f32):
    %next = arith.mulf %sum, %step : f32
    tile.yield %next, %next : f32, f32
  }
  tile.scan %h all %h rows %n dims [array<i64: 0, 1>] start 0.0 : !rows all !rows {
  ^bb0(%step: f32, %sum: f32):
    %next = arith.addf %sum, %step : f32
    tile.yield %next, %next : f32, f32
  }
}
