// RUN: recur-opt %s --chunk-choose-factors=tf32 --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// Warps multiply by q and k as they read them from the stage: only what they have in registers is scaled.
// CHECK-LABEL: llvm.func @shared_factors
// CHECK: %[[SCALE:.*]] = arith.constant 1.00033689 : f32
// CHECK-COUNT-4: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK-COUNT-2: ld.shared.f32
// CHECK-NOT: arith.mulf
// CHECK: nvvm.mma.sync
// CHECK: ld.shared.v2.f32
// CHECK-NOT: arith.mulf
// CHECK: nvvm.mma.sync

// The warp that announces a chunk has scaled both in their places, once, and left v, which is added as it is.
// CHECK-COUNT-2: llvm.fmul %{{.*}} : vector<4xf32>
// CHECK-NOT: llvm.fmul
// CHECK: fence.proxy.async.shared::cta
// CHECK-NOT: llvm.fmul
// CHECK: llvm.return
chunk.program @shared_factors {} chunk 16 {
  %q = chunk.input "q" : tensor<16x32xf32>
  %k = chunk.input "k" : tensor<16x32xf32>
  %v = chunk.input "v" : tensor<16x64xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x32xf32>
  %x = chunk.read %q, %S : tensor<16x32xf32>, tensor<64x32xf32>
  %o = chunk.map add %v, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %S1 = chunk.advance %S, %v, %k columns(%d : tensor<1xf32>) : tensor<64x32xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  chunk.next %S, %S1 : tensor<64x32xf32>
  chunk.output "o" %o : tensor<16x64xf32>
}
