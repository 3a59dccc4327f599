// RUN: recur-opt %s --convert-tile-to-llvm="lanes=16 registers=32 has-bf16=true" | FileCheck %s

// What is left of a row is moved in vectors of half as many lanes, and half of those, down to a number: of nine lanes
// LLVM cannot convert bfloat16.
// CHECK-LABEL: llvm.func @odd
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
// CHECK: llvm.load {{.*}} -> bf16
// CHECK-NOT: vector<9x
// CHECK: llvm.store {{.*}} : vector<8xbf16>
// CHECK: llvm.store {{.*}} : bf16
tile.kernel @odd required 2 workspace 16384 {
^bb0(%x: !tile.tile<?x9xbf16, global>, %y: !tile.tile<?x9xbf16, global>, %n: i64):
  %zero = arith.constant 0 : i64
  %a = tile.alloc at 0 : !tile.tile<16x9xf32, local, [16, 1]>
  tile.load %x[%zero] rows %n into %a : !tile.tile<?x9xbf16, global> into !tile.tile<16x9xf32, local, [16, 1]>
  tile.store %a rows %n to %y[%zero] : !tile.tile<16x9xf32, local, [16, 1]> to !tile.tile<?x9xbf16, global>
}
