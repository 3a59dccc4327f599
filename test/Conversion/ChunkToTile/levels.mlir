// RUN: recur-opt %s --to-tile="dtype=bf16 target=sm_90a" | FileCheck %s

// Both interactions come first, for they need nothing but what is loaded. Then the place of keys and queries is free, and
// a fourth CTA has room on a multiprocessor. Decays between tokens, up to each and of all are made of one running sum.
// CHECK-LABEL: tile.kernel @rule required 4 workspace 0 threads 128 shared 36224 gpu "sm_90a" {
// CHECK: scf.parallel
// CHECK-COUNT-4: tile.load
// CHECK-NOT: tile.load
// CHECK: tile.scan %{{.*}} all %[[SUMS:.*]] last %[[TOTAL:.*]] rows
// CHECK: tile.product %[[K:.*]], right_transposed %[[K]] into %[[KK:.*]] rows {{.*}} into <64x64xf32, registers, [64, 1]>
// CHECK-NOT: tile.scan
// CHECK: tile.product %{{.*}}, right_transposed %[[K]] into %[[QK:.*]] rows {{.*}} into <64x64xf32, registers, [64, 1]>
// CHECK: tile.map %[[SUMS]] into
// CHECK: math.exp2
// CHECK: tile.map %[[KK]], %[[SUMS]], %[[SUMS]] into
// CHECK: tile.map %[[TOTAL]] into
// CHECK: math.exp2
// CHECK: tile.map %[[QK]], %[[SUMS]], %[[SUMS]] into
// CHECK-NOT: tile.map
// CHECK: tile.invert %{{.*}} into %[[T:.*]] rows
// CHECK-COUNT-2: tile.store
// CHECK-NOT: tile.invert
// CHECK: tile.store %[[T]] rows
chunk.program @rule {} chunk 64 {
  %q = chunk.input "q" : tensor<64x128xf32>
  %k = chunk.input "k" : tensor<64x128xf32>
  %g = chunk.input "g" : tensor<64xf32>
  %b = chunk.input "b" : tensor<64xf32>
  %through = chunk.cumulative_decay through log(%g) : tensor<64xf32>
  chunk.give "through" %through : tensor<64xf32>
  %K = chunk.interaction %k, %k strict decay log(%g : tensor<64xf32>) : tensor<64x128xf32>, tensor<64x128xf32>
  %L = chunk.map mul %b, %K : tensor<64xf32>, tensor<64x64xf32>
  %T = chunk.inverse %L : tensor<64x64xf32>
  chunk.give "T" rounded %T : tensor<64x64xf32>
  %total = chunk.cumulative_decay total log(%g) : tensor<64xf32>
  chunk.give "total" %total : tensor<1xf32>
  %A = chunk.interaction %q, %k inclusive decay log(%g : tensor<64xf32>) : tensor<64x128xf32>, tensor<64x128xf32>
  chunk.give "A" rounded %A : tensor<64x64xf32>
}
