// RUN: recur-opt %s --convert-tile-to-llvm="lanes=16 registers=32 has-bf16=true has-pairs=true" | FileCheck %s

// Rows of one token each, in blocks of 8: a loop over the tokens before the block, then 8 steps of which each takes a
// row less, 36 products in all. In a chunk that ends within the block a row keeps its sum where a step is not its own.
// CHECK-LABEL: llvm.func @causal
// CHECK: scf.for
// CHECK: %[[BEFORE:.*]] = scf.for {{.*}} iter_args
// CHECK-COUNT-8: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: scf.if
// CHECK-COUNT-36: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: } else {
// CHECK: scf.for
// CHECK: %[[TAKES:.*]] = arith.cmpi slt
// CHECK: %[[NEXT:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SUM:arg[0-9]+]])
// CHECK: arith.select %[[TAKES]], %[[NEXT]], %[[SUM]] : vector<16xf32>
tile.kernel @causal required 0 workspace 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xf32, local, [16, 1]>
  %b = tile.alloc at 1024 : !tile.tile<16x16xf32, local, [16, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, local, [16, 1]>
  tile.product %a, %b into %c rows %n inner %n left_triangle [1, 1] : !tile.tile<16x16xf32, local, [16, 1]>, !tile.tile<16x16xf32, local, [16, 1]> into !tile.tile<16x16xf32, local, [16, 1]>
}

// In pairs: an even row takes half of its last pair, beside which the other half is made zero.
// CHECK-LABEL: llvm.func @pairs
// CHECK: scf.if
// CHECK: arith.andi %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-COUNT-19: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: llvm.call_intrinsic
// CHECK: } else {
tile.kernel @pairs required 0 workspace 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<16x16xbf16, local, [32, 1]>
  %b = tile.alloc at 1024 : !tile.tile<8x16x2xbf16, local, [32, 2, 1]>
  %c = tile.alloc at 2048 : !tile.tile<16x16xf32, local, [16, 1]>
  tile.product %a, %b into %c rows %n inner %n left_triangle [1, 1] : !tile.tile<16x16xbf16, local, [32, 1]>, !tile.tile<8x16x2xbf16, local, [32, 2, 1]> into !tile.tile<16x16xf32, local, [16, 1]>
}

// Three rows a token: a block of 8 may begin within one.
// CHECK-LABEL: llvm.func @unaligned
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK-NOT: scf.if
// CHECK: llvm.return
tile.kernel @unaligned required 0 workspace 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<48x16xf32, local, [16, 1]>
  %b = tile.alloc at 4096 : !tile.tile<16x16xf32, local, [16, 1]>
  %c = tile.alloc at 8192 : !tile.tile<48x16xf32, local, [16, 1]>
  tile.product %a, %b into %c rows %n inner %n left_triangle [3, 1] : !tile.tile<48x16xf32, local, [16, 1]>, !tile.tile<16x16xf32, local, [16, 1]> into !tile.tile<48x16xf32, local, [16, 1]>
}

// Transposed, a row takes its own token's and what is behind it: a block of 8 begins with its first row's.
// CHECK-LABEL: llvm.func @anticausal
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.muli %[[ROW]], %c2_i64{{.*}} : i64
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %{{.*}} iter_args
// CHECK-COUNT-8: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.return
tile.kernel @anticausal required 0 workspace 16384 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x16xf32, local, [16, 1]>
  %b = tile.alloc at 4096 : !tile.tile<32x16xf32, local, [16, 1]>
  %c = tile.alloc at 8192 : !tile.tile<16x16xf32, local, [16, 1]>
  tile.product transposed %a, %b into %c rows %n inner %n left_triangle [2, 1] : !tile.tile<32x16xf32, local, [16, 1]>, !tile.tile<32x16xf32, local, [16, 1]> into !tile.tile<16x16xf32, local, [16, 1]>
}
