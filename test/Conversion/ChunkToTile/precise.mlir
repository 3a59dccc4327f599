// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="threads=256" | FileCheck %s
// RUN: recur-opt %s --chunk-store=types=bf16 --chunk-choose-factors --convert-chunk-to-tile="has-pairs=true" | FileCheck %s --check-prefix=CORE
// RUN: recur-opt %s --convert-chunk-to-tile="threads=256" | FileCheck %s --check-prefix=CORE

// What a matrix of the tokens is applied to for a precise advance is two factors of bf16: the second is what rounding
// leaves of the first. So is what the advance writes, where such a matrix is applied to it. The state takes it rounded.
// CHECK: tile.kernel @precise required 1 workspace 0 threads 256 shared
// CHECK: arith.addf
// CHECK: tile.map %[[Y:[0-9]+]] into %[[YU:[0-9]+]] rows
// CHECK: tile.product %[[T:[0-9]+]], %[[YU]] into %[[U:[0-9]+]] rows %{{.*}} inner %{{.*}} left_triangle [1, 1]
// CHECK: tile.map %[[Y]], %[[YU]] into %[[YL:[0-9]+]] rows
// CHECK: arith.subf
// CHECK: tile.product %[[T]], %[[YL]] into %[[U]] rows %{{.*}} inner %{{.*}} plus %[[U]] left_triangle [1, 1]
// CHECK: tile.map %[[U]] into %[[UU:[0-9]+]] rows
// CHECK: tile.product %[[A:[0-9]+]], %[[UU]] into %[[O:[0-9]+]] rows %{{.*}} left_triangle [1, 1]
// CHECK: tile.map %[[U]], %[[UU]] into %[[UL:[0-9]+]] rows
// CHECK: arith.subf
// CHECK: tile.product %[[A]], %[[UL]] into %[[O]] rows %{{.*}} plus %[[O]] left_triangle [1, 1]
// CHECK: tile.product transposed %[[UU]], %
// CHECK-NOT: tile.product

// A core multiplies pairs as they come, and f32 is not rounded.
// CORE: tile.kernel @precise
// CORE-NOT: arith.subf
chunk.program @precise {} chunk 16 {
  %T = chunk.take "T" rounded triangle [1, 1] : tensor<16x16xf32>
  %A = chunk.take "A" rounded triangle [1, 1] : tensor<16x16xf32>
  %v = chunk.input "v" : tensor<16x64xf32>
  %k = chunk.take "k" rounded : tensor<16x16xf32>
  %d = chunk.take "d" : tensor<1xf32>
  %S = chunk.state "S" : tensor<64x16xf32>
  %x = chunk.read %k, %S : tensor<16x16xf32>, tensor<64x16xf32>
  %y = chunk.map add %v, %x : tensor<16x64xf32>, tensor<16x64xf32>
  %u = chunk.apply %T, %y : tensor<16x16xf32>, tensor<16x64xf32>
  %o = chunk.apply %A, %u : tensor<16x16xf32>, tensor<16x64xf32>
  chunk.output "o" %o : tensor<16x64xf32>
  %S1 = chunk.advance precise %S, %u, %k columns(%d : tensor<1xf32>) : tensor<64x16xf32>, tensor<16x64xf32>, tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<64x16xf32>
}
