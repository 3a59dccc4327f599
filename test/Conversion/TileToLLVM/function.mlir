// RUN: recur-opt %s --convert-tile-to-llvm=lanes=8 -split-input-file -verify-diagnostics | FileCheck %s
// RUN: recur-opt %s --convert-tile-to-llvm='lanes=8 has-bf16' -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=BF16

// CHECK-LABEL: llvm.func @copies(%arg0: !llvm.ptr {llvm.noalias}, %arg1: i64, %arg2: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias})
// A row of 12 numbers is a vector and its rest, so that nothing beyond the row is touched.
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<8xi16>
// CHECK: arith.shli %{{.*}} : vector<8xi32>
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<4xi16>
// Extended and rounded by integers where there is no instruction for it.
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi16>
// BF16: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
tile.kernel @copies required 1 workspace 64 {
^bb0(%x: !tile.tile<?x12xbf16, global>, %y: !tile.tile<?x12xbf16, global>, %tokens: i64):
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = tile.alloc at 0 : !tile.tile<1x12xf32, local, [16, 1]>
  tile.load %x[%zero] rows %one into %t : !tile.tile<?x12xbf16, global> into !tile.tile<1x12xf32, local, [16, 1]>
  tile.store %t rows %one to %y[%zero] : !tile.tile<1x12xf32, local, [16, 1]> to !tile.tile<?x12xbf16, global>
}

// -----

tile.kernel @unplaced required 0 workspace 0 {
^bb0(%tokens: i64):
  // expected-error @below {{'tile.alloc' op has not been placed; choose an offset for it first}}
  %t = tile.alloc : !tile.tile<1x12xf32, local, [16, 1]>
}

// -----

tile.kernel @shared required 0 workspace 0 {
^bb0(%tokens: i64):
  // expected-error @below {{'tile.alloc' op cannot be lowered for a core: its tiles lie in 'local' memory, and this one in 'shared'}}
  %t = tile.alloc at 0 : !tile.tile<1x12xf32, shared, [16, 1]>
}
