// RUN: recur-opt %s --convert-tile-to-llvm="has-bf16=true has-pairs=true has-amx=true" --canonicalize -split-input-file | FileCheck %s

// Tiles are configured before a product and released after it. A step of 32 inner indices multiplies two tiles of rows by
// two of pairs; the 4 pairs behind the only whole step are a pass with narrower tiles.
// CHECK-LABEL: llvm.func @product
// CHECK: %[[CONFIGURATION:.*]] = llvm.alloca {{.*}} {alignment = 64 : i64}
// CHECK: llvm.store %{{.*}}, %[[CONFIGURATION]]
// CHECK-NEXT: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[CONFIGURATION]])
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT: tdpbf16ps
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[CONFIGURATION]])
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT: tdpbf16ps
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
// CHECK-NEXT: llvm.return
tile.kernel @product required 0 workspace 65536 {
^bb0(%n: i64):
  %inner = arith.constant 40 : i64
  %a = tile.alloc at 0 : !tile.tile<32x40xbf16, local, [64, 1]>
  %b = tile.alloc at 4096 : !tile.tile<20x32x2xbf16, local, [64, 2, 1]>
  %c = tile.alloc at 16384 : !tile.tile<32x32xf32, local, [32, 1]>
  tile.product %a, %b into %c rows %n inner %inner : !tile.tile<32x40xbf16, local, [64, 1]>, !tile.tile<20x32x2xbf16, local, [64, 2, 1]> into !tile.tile<32x32xf32, local, [32, 1]>
}

// -----

// Rows differ in what they take of a step on the diagonal: it multiplies a copy of the right factor without what is no
// number, which is added to the rows that take it one by one.
// CHECK-LABEL: llvm.func @causal
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: arith.cmpi eq, %{{.*}} : vector<32xi16>
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: vector.reduction <or>, %{{.*}} : vector<32xi16> into i16
// CHECK: scf.if
// CHECK: llvm.intr.fma
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
tile.kernel @causal required 0 workspace 65536 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x32xbf16, local, [32, 1]>
  %b = tile.alloc at 4096 : !tile.tile<16x32x2xbf16, local, [64, 2, 1]>
  %c = tile.alloc at 16384 : !tile.tile<32x32xf32, local, [32, 1]>
  tile.product %a, %b into %c rows %n inner %n left_triangle [1, 1] : !tile.tile<32x32xbf16, local, [32, 1]>, !tile.tile<16x32x2xbf16, local, [64, 2, 1]> into !tile.tile<32x32xf32, local, [32, 1]>
}

// -----

// Pairs of rows are transposed as they are put side by side.
// CHECK-LABEL: llvm.func @transposed
// CHECK: vector.interleave %{{.*}}, %{{.*}} : vector<16xbf16> -> vector<32xbf16>
// CHECK: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
tile.kernel @transposed required 0 workspace 65536 {
^bb0(%n: i64):
  %a = tile.alloc at 0 : !tile.tile<32x16xf32, local, [16, 1]>
  %b = tile.alloc at 4096 : !tile.tile<16x32xbf16, local, [32, 1]>
  tile.transpose %a rows %n into %b : !tile.tile<32x16xf32, local, [16, 1]> into !tile.tile<16x32xbf16, local, [32, 1]>
}
