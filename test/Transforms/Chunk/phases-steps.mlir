// RUN: recur-opt %s --chunk-phases=outputs-in-chain --canonicalize | FileCheck %s

// phase before it leaves none of them.
// CHECK-LABEL: chunk.program @steps_early {} chunk 8 {
// CHECK-NOT: chunk.give
// CHECK: chunk.give "1" rounded %{{.*}} : tensor<16x16xf32>
// CHECK-NOT: chunk.give
// CHECK: chunk.give "0" rounded %{{.*}} : tensor<8x16xf32>
// CHECK-NOT: chunk.give
// CHECK-LABEL: chunk.program @steps_chain {} chunk 8 {
// CHECK-DAG: %k = chunk.input "k" : tensor<8x2x16xf32>
// CHECK-DAG: %v = chunk.input "v" : tensor<8x2x4xf32>
// CHECK-DAG: %[[K:.*]] = chunk.interleave %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8x16xf32>
// CHECK: chunk.read %[[K]], %S
// CHECK: chunk.advance %S, %{{.*}}, %[[K]]
chunk.program @steps {} chunk 8 {
  %q = chunk.input "q" : tensor<8x16xf32>
  %k = chunk.input "k" : tensor<8x2x16xf32>
  %v = chunk.input "v" : tensor<8x2x4xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %k0 = chunk.extract %k[0] : tensor<8x2x16xf32>
  %k1 = chunk.extract %k[1] : tensor<8x2x16xf32>
  %ks = chunk.interleave %k0, %k1 : tensor<8x16xf32>, tensor<8x16xf32>
  %v0 = chunk.extract %v[0] : tensor<8x2x4xf32>
  %v1 = chunk.extract %v[1] : tensor<8x2x4xf32>
  %vs = chunk.interleave %v0, %v1 : tensor<8x4xf32>, tensor<8x4xf32>
  %x = chunk.read %ks, %S : tensor<16x16xf32>, tensor<4x16xf32>
  %L = chunk.interaction %ks, %ks points [0, 1] of [0, 1] : tensor<16x16xf32>, tensor<16x16xf32>
  %T = chunk.inverse %L : tensor<16x16xf32>
  %y = chunk.map sub %vs, %x : tensor<16x4xf32>, tensor<16x4xf32>
  %u = chunk.apply %T, %y : tensor<16x16xf32>, tensor<16x4xf32>
  %S1 = chunk.advance %S, %u, %ks : tensor<4x16xf32>, tensor<16x4xf32>, tensor<16x16xf32>
  %p = chunk.read %q, %S : tensor<8x16xf32>, tensor<4x16xf32>
  %A = chunk.interaction %q, %ks points [2] of [0, 1] : tensor<8x16xf32>, tensor<16x16xf32>
  %r = chunk.apply %A, %u : tensor<8x16xf32>, tensor<16x4xf32>
  %o = chunk.map add %p, %r : tensor<8x4xf32>, tensor<8x4xf32>
  chunk.output "o" %o : tensor<8x4xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}
