// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Tiles that have nothing to do with one another need no barrier between them; a tile in the same place does.
// CHECK-LABEL: llvm.func @places
// CHECK: llvm.store
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.store
// CHECK: nvvm.barrier
// CHECK: llvm.store
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
tile.kernel @places required 0 workspace 0 threads 32 shared 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<8xf32, shared, [1]>
  %b = tile.alloc at 128 : !tile.tile<8xf32, shared, [1]>
  %c = tile.alloc at 16 : !tile.tile<8xf32, shared, [1]>
  tile.map into %a rows %n dims [] into !tile.tile<8xf32, shared, [1]> {
    %x = arith.constant 1.0 : f32
    tile.yield %x : f32
  }
  tile.map into %b rows %n dims [] into !tile.tile<8xf32, shared, [1]> {
    %x = arith.constant 1.0 : f32
    tile.yield %x : f32
  }
  tile.map into %c rows %n dims [] into !tile.tile<8xf32, shared, [1]> {
    %x = arith.constant 1.0 : f32
    tile.yield %x : f32
  }
}

// The last op of a loop's body comes before the first.
// CHECK-LABEL: llvm.func @loop
// CHECK: scf.for %{{.*}} : i64 {
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.store
// CHECK: nvvm.barrier
// CHECK: }
tile.kernel @loop required 0 workspace 0 threads 32 shared 4096 {
^bb0(%n: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %a = tile.alloc at 0 : !tile.tile<8xf32, shared, [1]>
  scf.for %i = %zero to %n step %one : i64 {
    tile.map %a into %a rows %one dims [array<i64: 0>] : !tile.tile<8xf32, shared, [1]> into !tile.tile<8xf32, shared, [1]> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      tile.yield %y : f32
    }
  }
}
