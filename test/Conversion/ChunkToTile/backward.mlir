// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --convert-chunk-to-tile | FileCheck %s --check-prefix=CORE

// A CTA goes over the chunks from the last to the first, with the state that was kept for each. Who looks ahead of the
// loop's end sees the first chunk again.
// CHECK-LABEL: tile.kernel @back required 1 workspace 0 threads 256
// CHECK: %[[LAST:.*]] = arith.subi %arg6, %c1_i64
// CHECK: %[[CHUNK:.*]] = arith.divsi %[[LAST]], %c32_i64
// CHECK: %[[BEGIN:.*]] = arith.muli %[[CHUNK]], %c32_i64
// CHECK: %[[BACK:.*]] = arith.subi %[[BEGIN]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.maxsi %[[BACK]], %c0_i64
// CHECK: %[[KEPT:.*]] = arith.divui %[[FIRST]], %c32_i64
// CHECK: tile.load %arg5[%[[KEPT]]] rows %c1_i64
// CHECK: tile.product transposed %{{.*}}, %{{.*}} into %{{.*}} left_triangle [1, 1] : <32x32xf32, shared
// CHECK: tile.store %{{.*}} to %arg3[%[[FIRST]]]
// CORE-LABEL: tile.kernel @back required 1
// CORE: arith.maxsi
chunk.program @back {} chunk 32 backward {
  %k = chunk.input "k" : tensor<32x32xf32>
  %d = chunk.input "cotangent.o" : tensor<32x32xf32>
  %S = chunk.kept "S" : tensor<32x32xf32>
  %dS = chunk.state "gradient.S" : tensor<32x32xf32>
  %A = chunk.interaction %k, %k inclusive : tensor<32x32xf32>, tensor<32x32xf32>
  %e = chunk.apply_transposed %A, %d : tensor<32x32xf32>, tensor<32x32xf32>
  %x = chunk.read %k, %dS : tensor<32x32xf32>, tensor<32x32xf32>
  %u = chunk.map add %e, %x : tensor<32x32xf32>, tensor<32x32xf32>
  %y = chunk.read left %u, %S : tensor<32x32xf32>, tensor<32x32xf32>
  %dS1 = chunk.advance %dS, %d, %k : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
  chunk.output "gradient.k" %y : tensor<32x32xf32>
  chunk.next %dS, %dS1 : tensor<32x32xf32>
}
