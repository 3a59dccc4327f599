// RUN: recur-opt %s --convert-tile-to-llvm="lanes=16 registers=32 has-bf16=true has-pairs=true" | FileCheck %s

// Two rows in one vector; zeros where the second one is not there.
// CHECK-LABEL: llvm.func @pairs
// CHECK: %[[MORE:.*]] = arith.cmpi slt
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: arith.select %[[MORE]], %{{.*}}, %{{.*}} : vector<16xbf16>
// CHECK: vector.shuffle {{.*}}[0, 16, 1, 17, {{.*}} : vector<16xbf16>, vector<16xbf16>
// Whole pairs are exchanged as they are, 4 bytes each.
// CHECK: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// A product takes half as many steps as it has inner indices, and one more for an odd one.
// CHECK: %[[ODD:.*]] = arith.addi %arg1, %{{.*}} : i64
// CHECK: %[[STEPS:.*]] = arith.divui %[[ODD]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[STEPS]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
tile.kernel @pairs required 0 workspace 16384 {
^bb0(%n: i64):
  %b = tile.alloc at 0 : !tile.tile<16x16xf32, local, [16, 1]>
  %p = tile.alloc at 1024 : !tile.tile<8x16x2xbf16, local, [32, 2, 1]>
  %a = tile.alloc at 2048 : !tile.tile<16x16xbf16, local, [32, 1]>
  %t = tile.alloc at 4096 : !tile.tile<8x16x2xbf16, local, [32, 2, 1]>
  %c = tile.alloc at 8192 : !tile.tile<16x16xf32, local, [16, 1]>
  tile.pair %b rows %n into %p : !tile.tile<16x16xf32, local, [16, 1]> into !tile.tile<8x16x2xbf16, local, [32, 2, 1]>
  tile.pair transposed %a rows %n into %t : !tile.tile<16x16xbf16, local, [32, 1]> into !tile.tile<8x16x2xbf16, local, [32, 2, 1]>
  tile.product transposed %t, %p into %c rows %n inner %n : !tile.tile<8x16x2xbf16, local, [32, 2, 1]>, !tile.tile<8x16x2xbf16, local, [32, 2, 1]> into !tile.tile<16x16xf32, local, [16, 1]>
}
