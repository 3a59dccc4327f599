// RUN: recur-opt %s --convert-tile-to-llvm --canonicalize --cse -split-input-file | FileCheck %s

// Two matrices are turned by an angle a row in one pass, which loads and stores each element once: the matrix that waited
// for its turn is in registers. What is stored for the caller in between stays behind.
// CHECK-LABEL: llvm.func @turn
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.subf
// CHECK-NOT: scf.for
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK-NOT: llvm.store
// CHECK: }
// CHECK: }
// CHECK: scf.for %{{.*}} = %c0_i64 to %c16_i64
// CHECK: llvm.return
tile.kernel @turn required 0 workspace 65536 {
^bb0(%array: !tile.tile<?x32xf32, global>, %n: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 16 : i64
  %a = tile.alloc at 0 : !tile.tile<16x32xf32, local, [32, 1]>
  %b = tile.alloc at 4096 : !tile.tile<16x32xf32, local, [32, 1]>
  %kept = tile.alloc at 8192 : !tile.tile<1x16x32xf32, local, [512, 32, 1]>
  %cos = tile.alloc at 12288 : !tile.tile<1x16xf32, local, [16, 1]>
  %sin = tile.alloc at 12352 : !tile.tile<1x16xf32, local, [16, 1]>
  %a1 = tile.view %a offset 0 : !tile.tile<16x32xf32, local, [32, 1]> to !tile.tile<1x16x32xf32, local, [512, 32, 1]>
  %b1 = tile.view %b offset 0 : !tile.tile<16x32xf32, local, [32, 1]> to !tile.tile<1x16x32xf32, local, [512, 32, 1]>
  tile.map %a1, %b1, %cos, %sin into %kept rows %one dims [array<i64: 0, 1, 2>, array<i64: 0, 1, 2>, array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<1x16x32xf32, local, [512, 32, 1]>, !tile.tile<1x16x32xf32, local, [512, 32, 1]>, !tile.tile<1x16xf32, local, [16, 1]>, !tile.tile<1x16xf32, local, [16, 1]> into !tile.tile<1x16x32xf32, local, [512, 32, 1]> {
  ^bb0(%x: f32, %y: f32, %c: f32, %s: f32):
    %cx = arith.mulf %c, %x : f32
    %sy = arith.mulf %s, %y : f32
    %r = arith.subf %cx, %sy : f32
    tile.yield %r : f32
  }
  tile.map %a1, %b1, %cos, %sin into %b1 rows %one dims [array<i64: 0, 1, 2>, array<i64: 0, 1, 2>, array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<1x16x32xf32, local, [512, 32, 1]>, !tile.tile<1x16x32xf32, local, [512, 32, 1]>, !tile.tile<1x16xf32, local, [16, 1]>, !tile.tile<1x16xf32, local, [16, 1]> into !tile.tile<1x16x32xf32, local, [512, 32, 1]> {
  ^bb0(%x: f32, %y: f32, %c: f32, %s: f32):
    %sx = arith.mulf %s, %x : f32
    %cy = arith.mulf %c, %y : f32
    %r = arith.addf %sx, %cy : f32
    tile.yield %r : f32
  }
  %o = tile.alloc at 16384 : !tile.tile<16x32xf32, local, [32, 1]>
  tile.store %o rows %rows to %array[%zero] : !tile.tile<16x32xf32, local, [32, 1]> to !tile.tile<?x32xf32, global>
  %turned = tile.view %kept offset 0 : !tile.tile<1x16x32xf32, local, [512, 32, 1]> to !tile.tile<16x32xf32, local, [32, 1]>
  tile.map %turned into %a rows %rows dims [array<i64: 0, 1>] : !tile.tile<16x32xf32, local, [32, 1]> into !tile.tile<16x32xf32, local, [32, 1]> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
}

// -----

// What only a map takes of a product is not stored: the map takes the sums.
// CHECK-LABEL: llvm.func @after_product
// CHECK: llvm.intr.fma
// CHECK-NOT: llvm.store
// CHECK-NOT: scf.for
// CHECK: arith.subf
// CHECK: llvm.store
// CHECK-NOT: scf.for
// CHECK: llvm.return
tile.kernel @after_product required 0 workspace 65536 {
^bb0(%n: i64):
  %inner = arith.constant 32 : i64
  %a = tile.alloc at 0 : !tile.tile<4x32xf32, local, [32, 1]>
  %b = tile.alloc at 4096 : !tile.tile<32x8xf32, local, [16, 1]>
  %sums = tile.alloc at 8192 : !tile.tile<4x8xf32, local, [16, 1]>
  %v = tile.alloc at 12288 : !tile.tile<4x8xf32, local, [16, 1]>
  tile.product %a, %b into %sums rows %n inner %inner : !tile.tile<4x32xf32, local, [32, 1]>, !tile.tile<32x8xf32, local, [16, 1]> into !tile.tile<4x8xf32, local, [16, 1]>
  tile.map %v, %sums into %v rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<4x8xf32, local, [16, 1]>, !tile.tile<4x8xf32, local, [16, 1]> into !tile.tile<4x8xf32, local, [16, 1]> {
  ^bb0(%x: f32, %s: f32):
    %r = arith.subf %x, %s : f32
    tile.yield %r : f32
  }
}

// -----

// The map writes where the product still reads: it comes behind it.
// CHECK-LABEL: llvm.func @over_a_factor
// CHECK: llvm.intr.fma
// CHECK: scf.for
// CHECK: arith.negf
// CHECK: llvm.return
tile.kernel @over_a_factor required 0 workspace 65536 {
^bb0(%n: i64):
  %inner = arith.constant 32 : i64
  %a = tile.alloc at 0 : !tile.tile<4x32xf32, local, [32, 1]>
  %b = tile.alloc at 4096 : !tile.tile<32x8xf32, local, [16, 1]>
  %sums = tile.alloc at 8192 : !tile.tile<4x8xf32, local, [16, 1]>
  %result = tile.alloc at 128 : !tile.tile<4x8xf32, local, [16, 1]>
  tile.product %a, %b into %sums rows %n inner %inner : !tile.tile<4x32xf32, local, [32, 1]>, !tile.tile<32x8xf32, local, [16, 1]> into !tile.tile<4x8xf32, local, [16, 1]>
  tile.map %sums into %result rows %n dims [array<i64: 0, 1>] : !tile.tile<4x8xf32, local, [16, 1]> into !tile.tile<4x8xf32, local, [16, 1]> {
  ^bb0(%s: f32):
    %r = arith.negf %s : f32
    tile.yield %r : f32
  }
}

// -----

// All rows of the second map take the first row of what the first one writes: two passes.
// CHECK-LABEL: llvm.func @first_row
// CHECK: arith.negf
// CHECK: llvm.store
// CHECK: }
// CHECK: scf.for
// CHECK: arith.mulf
tile.kernel @first_row required 0 workspace 65536 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<4x8xf32, local, [16, 1]>
  %b = tile.alloc at 4096 : !tile.tile<4x8xf32, local, [16, 1]>
  tile.map %a into %b rows %n dims [array<i64: 0, 1>] : !tile.tile<4x8xf32, local, [16, 1]> into !tile.tile<4x8xf32, local, [16, 1]> {
  ^bb0(%x: f32):
    %r = arith.negf %x : f32
    tile.yield %r : f32
  }
  %row = tile.view %b offset 0 : !tile.tile<4x8xf32, local, [16, 1]> to !tile.tile<1x8xf32, local, [16, 1]>
  tile.map %a, %row into %a rows %n dims [array<i64: 0, 1>, array<i64: 0, 1>] : !tile.tile<4x8xf32, local, [16, 1]>, !tile.tile<1x8xf32, local, [16, 1]> into !tile.tile<4x8xf32, local, [16, 1]> {
  ^bb0(%x: f32, %y: f32):
    %r = arith.mulf %x, %y : f32
    tile.yield %r : f32
  }
}
