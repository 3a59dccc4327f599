// RUN: recur-opt %s --convert-tile-to-nvvm | FileCheck %s

// Where data have 16 bits, functions that the hardware has no instruction for are made of its approximations, without a
// division: an exact one takes a call where it meets small numbers, as log1p of small ones does.
// CHECK-LABEL: llvm.func @rounded
// CHECK-NOT: arith.divf
// CHECK: llvm.nvvm.lg2.approx.ftz.f
// CHECK: llvm.nvvm.rcp.approx.ftz.f
// CHECK-NOT: arith.divf
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: llvm.nvvm.rcp.approx.ftz.f
// CHECK-NOT: arith.divf
// CHECK: llvm.return
tile.kernel @rounded required 1 workspace 0 threads 128 shared 8192 {
^bb0(%array: !tile.tile<?xbf16, global>, %n: i64):
  %a = tile.alloc at 0 : !tile.tile<64xf32, shared, [1]>
  tile.map %a into %a rows %n dims [array<i64: 0>] : !tile.tile<64xf32, shared, [1]> into !tile.tile<64xf32, shared, [1]> {
  ^bb0(%x: f32):
    %y = math.log1p %x : f32
    %z = math.tanh %y : f32
    tile.yield %z : f32
  }
}

// Where all are float32, they are as exact as on processors.
// CHECK-LABEL: llvm.func @exact
// CHECK-NOT: approx
// CHECK-COUNT-2: arith.divf
// CHECK-NOT: approx
// CHECK: llvm.return
tile.kernel @exact required 1 workspace 0 threads 128 shared 8192 {
^bb0(%array: !tile.tile<?xf32, global>, %n: i64):
  %a = tile.alloc at 0 : !tile.tile<64xf32, shared, [1]>
  tile.map %a into %a rows %n dims [array<i64: 0>] : !tile.tile<64xf32, shared, [1]> into !tile.tile<64xf32, shared, [1]> {
  ^bb0(%x: f32):
    %y = math.log1p %x : f32
    %z = math.tanh %y : f32
    tile.yield %z : f32
  }
}
