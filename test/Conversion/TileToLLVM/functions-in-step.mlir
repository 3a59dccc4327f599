// RUN: recur-opt %s --convert-tile-to-llvm="lanes=16 registers=32" | FileCheck %s
// RUN: recur-opt %s --convert-tile-to-llvm="lanes=8 registers=16" | FileCheck %s --check-prefix=NARROW

// As many vectors as a row has, up to eight, go through a function in step; what is left goes one by one.
// CHECK-LABEL: llvm.func @wide
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<128xf32>
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// NARROW-LABEL: llvm.func @wide
// NARROW: llvm.load %{{.*}} : !llvm.ptr -> vector<8xf32>
tile.kernel @wide required 0 workspace 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<2x140xf32, local, [160, 1]>
  tile.map %a into %a rows %n dims [array<i64: 0, 1>] : !tile.tile<2x140xf32, local, [160, 1]> into !tile.tile<2x140xf32, local, [160, 1]> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    tile.yield %y : f32
  }
}

// CHECK-LABEL: llvm.func @narrow
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<32xf32>
tile.kernel @narrow required 0 workspace 4096 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<2x40xf32, local, [48, 1]>
  tile.map %a into %a rows %n dims [array<i64: 0, 1>] : !tile.tile<2x40xf32, local, [48, 1]> into !tile.tile<2x40xf32, local, [48, 1]> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    tile.yield %y : f32
  }
}
