// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" --convert-tile-to-nvvm --cse | FileCheck %s

// A chain loads an input's rows of earlier tokens as its other rows: by the copy unit where the array has all of them. For a
// sequence's first chunks, and for one with fewer tokens, threads copy those that there are and put zeros for others, unless
// the caller gave rows: these are loaded number by number and rounded, and threads arrive when they have stored them.
// CHECK-LABEL: llvm.func @earlier
// CHECK: nvvm.mbarrier.expect_tx %{{.*}}, %c8192_i32
// CHECK-COUNT-4: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: cp.async.bulk.tensor
// CHECK-COUNT-8: nvvm.cp.async.shared.global {{.*}}, 16, cache = {{ *}}cg
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: nvvm.cp.async.mbarrier.arrive {{.*}}noinc = true
// CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.wait.all"
chunk.program @earlier {} chunk 16 {
  %q = chunk.input "q" : tensor<16x64xf32>
  %k = chunk.input "k" : tensor<16x64xf32>
  %v = chunk.input "v" : tensor<16x64xf32>
  %given = chunk.initial "k_last20" : tensor<20x64xf32>
  %old = chunk.input "k" back 20 behind %given : tensor<20x64xf32> : tensor<16x64xf32>
  %S = chunk.state "S" : tensor<64x64xf32>
  %r = chunk.read %q, %S : tensor<16x64xf32>, tensor<64x64xf32>
  chunk.output "o" %r : tensor<16x64xf32>
  %S0 = chunk.advance %S, %v, %k : tensor<64x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>
  %S1 = chunk.advance %S0, %v, %old : tensor<64x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>
  chunk.next %S, %S1 : tensor<64x64xf32>
}
