// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Eight lanes share a row of 64 numbers, each takes 16 bytes of it, and a warp has four rows at once: what is added up
// passes between those eight lanes alone. Four such groups of rows are read before the first one's sums pass, so that
// a warp waits for the four together.
// CHECK-LABEL: llvm.func @shared_rows
// CHECK: scf.for %{{.*}} step %c16_i32
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<8xbf16>
// CHECK-NOT: nvvm.shfl.sync
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c4_i32{{[_0-9]*}},
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c2_i32{{[_0-9]*}},
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c1_i32{{[_0-9]*}},
// CHECK-COUNT-9: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-4: llvm.store {{.*}} : f32
// CHECK: llvm.return
tile.kernel @shared_rows required 0 workspace 0 threads 128 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<64x64xbf16, shared, [72, 1]>
  %b = tile.alloc at 9216 : !tile.tile<64xf32, shared, [1]>
  tile.reduce sum %a, %a into %b rows %n over [1] of [64, 64] dims [array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<64x64xbf16, shared, [72, 1]>, !tile.tile<64x64xbf16, shared, [72, 1]> into !tile.tile<64xf32, shared, [1]> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.subf %x, %y : f32
    tile.yield %z : f32
  }
}

// Rows of 40 numbers of f32 at multiples of 4: ten pieces, for which eight lanes go round twice.
// CHECK-LABEL: llvm.func @long_rows
// CHECK: scf.for %{{.*}} to %c40_i32 step %c32_i32
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c4_i32{{[_0-9]*}},
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
tile.kernel @long_rows required 0 workspace 0 threads 128 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x40xf32, shared, [44, 1]>
  %b = tile.alloc at 9216 : !tile.tile<16xf32, shared, [1]>
  tile.reduce max %a into %b rows %n over [1] of [16, 40] dims [array<i64: 0, 1>] : !tile.tile<16x40xf32, shared, [44, 1]> into !tile.tile<16xf32, shared, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// Rows of an odd number of numbers have a warp each, a number of a lane after the other.
// CHECK-LABEL: llvm.func @odd_rows
// CHECK-NOT: vector<
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c16_i32{{[_0-9]*}},
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
tile.kernel @odd_rows required 0 workspace 0 threads 128 shared 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x33xf32, shared, [33, 1]>
  %b = tile.alloc at 9216 : !tile.tile<16xf32, shared, [1]>
  tile.reduce sum %a into %b rows %n over [1] of [16, 33] dims [array<i64: 0, 1>] : !tile.tile<16x33xf32, shared, [33, 1]> into !tile.tile<16xf32, shared, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// Sums of products in registers: each lane adds up the 16 columns that it has of a row, four lanes give a warp's, and two
// warps have half of a row each. What they leave is added up behind a barrier.
// CHECK-LABEL: llvm.func @registers
// CHECK: nvvm.mma.sync
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c2_i32{{[_0-9]*}},
// CHECK: nvvm.shfl.sync{{ +}}bfly %{{[^,]*}}, %{{[^,]*}}, %c1_i32{{[_0-9]*}},
// CHECK: nvvm.barrier
// CHECK: llvm.return
tile.kernel @registers required 0 workspace 0 threads 256 shared 32768 {
^bb0(%n: i64):
  %k = arith.constant 16 : i64
  %a = tile.alloc at 0 : !tile.tile<64x16xbf16, shared, [24, 1]>
  %r = tile.alloc : !tile.tile<64x64xf32, registers, [64, 1]>
  %p = tile.alloc at 9216 : !tile.tile<64x2xf32, shared, [2, 1]>
  %b = tile.alloc at 10240 : !tile.tile<64xf32, shared, [1]>
  tile.product %a, right_transposed %a into %r rows %n inner %k : !tile.tile<64x16xbf16, shared, [24, 1]>, !tile.tile<64x16xbf16, shared, [24, 1]> into !tile.tile<64x64xf32, registers, [64, 1]>
  tile.reduce sum %r into %p rows %n over [1] of [64, 64] dims [array<i64: 0, 1>] : !tile.tile<64x64xf32, registers, [64, 1]> into !tile.tile<64x2xf32, shared, [2, 1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  tile.reduce sum %p into %b rows %n over [1] of [64, 2] dims [array<i64: 0, 1>] : !tile.tile<64x2xf32, shared, [2, 1]> into !tile.tile<64xf32, shared, [1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// A sum over a window that moves by a row: a thread has eight rows of a column, which share all numbers but the first and
// the last, and reads one number of the window and one weight for the eight products of a step.
// CHECK-LABEL: llvm.func @moving
// CHECK-COUNT-7: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: scf.for %{{.*}} to %c16_i32{{[_0-9]*}} step %c8_i32{{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load
// CHECK: scf.for %{{.*}} to %c20_i32{{[_0-9]*}} step %c1_i32
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load
// CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
tile.kernel @moving required 0 workspace 0 threads 128 shared 16384 {
^bb0(%n: i64):
  %w = tile.alloc at 0 : !tile.tile<1x20x16xf32, shared, [320, 16, 1]>
  %a = tile.alloc at 2048 : !tile.tile<36x16xf32, shared, [16, 1]>
  %b = tile.alloc at 8192 : !tile.tile<16x16xf32, shared, [16, 1]>
  %v = tile.view %a offset 0 : !tile.tile<36x16xf32, shared, [16, 1]> to !tile.tile<16x20x16xf32, shared, [16, 16, 1]>
  tile.reduce sum %w, %v into %b rows %n over [1] of [16, 20, 16] dims [array<i64: 0, 1, 2>, array<i64: 0, 1, 2>] : !tile.tile<1x20x16xf32, shared, [320, 16, 1]>, !tile.tile<16x20x16xf32, shared, [16, 16, 1]> into !tile.tile<16x16xf32, shared, [16, 1]> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    tile.yield %z : f32
  }
}
