// RUN: recur-opt %s --split-input-file --chunk-phases="outputs-in-chain precise-inverses" | FileCheck %s

// An inverse that the chain alone applies is left precise, and the interaction of queries rounded as ever.
// CHECK-LABEL: chunk.program @delta_early
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "[[NT:.*]]" precise %[[T]] : tensor<32x32xf32>
// CHECK: chunk.give "[[NA:.*]]" rounded %{{.*}} : tensor<32x32xf32>
// CHECK-LABEL: chunk.program @delta_chain
// CHECK-DAG: chunk.take "[[NT]]" precise triangle [1, 1] : tensor<32x32xf32>
// CHECK-DAG: chunk.take "[[NA]]" rounded triangle [1, 1] : tensor<32x32xf32>
chunk.program @delta {} chunk 32 {
  %q = chunk.input "q" : tensor<32x32xf32>
  %k = chunk.input "k" : tensor<32x32xf32>
  %v = chunk.input "v" : tensor<32x4xf32>
  %S = chunk.state "S" : tensor<4x32xf32>
  %L = chunk.interaction %k, %k strict : tensor<32x32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L : tensor<32x32xf32>
  %x = chunk.read %k, %S : tensor<32x32xf32>, tensor<4x32xf32>
  %y = chunk.map sub %v, %x : tensor<32x4xf32>, tensor<32x4xf32>
  %u = chunk.apply %T, %y : tensor<32x32xf32>, tensor<32x4xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<32x32xf32>, tensor<32x32xf32>
  %past = chunk.read %q, %S : tensor<32x32xf32>, tensor<4x32xf32>
  %present = chunk.apply %A, %u : tensor<32x32xf32>, tensor<32x4xf32>
  %o = chunk.map add %past, %present : tensor<32x4xf32>, tensor<32x4xf32>
  chunk.output "o" %o : tensor<32x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x32xf32>, tensor<32x4xf32>, tensor<32x32xf32>
  chunk.next %S, %S1 : tensor<4x32xf32>
}

// -----

// One with gains in its columns is rounded, and so is one of a single block of rows.
// CHECK-LABEL: chunk.program @gains_early
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "{{.*}}" rounded %[[T]] : tensor<32x32xf32>
// CHECK-LABEL: chunk.program @gains_chain
chunk.program @gains {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %v = chunk.input "v" : tensor<32x4xf32>
  %b = chunk.input "b" : tensor<32xf32>
  %S = chunk.state "S" : tensor<4x32xf32>
  %L = chunk.interaction %k, %k strict : tensor<32x32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L columns(%b : tensor<32xf32>) : tensor<32x32xf32>
  %x = chunk.read %k, %S : tensor<32x32xf32>, tensor<4x32xf32>
  %y = chunk.map sub %v, %x : tensor<32x4xf32>, tensor<32x4xf32>
  %u = chunk.apply %T, %y : tensor<32x32xf32>, tensor<32x4xf32>
  chunk.output "o" %u : tensor<32x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x32xf32>, tensor<32x4xf32>, tensor<32x32xf32>
  chunk.next %S, %S1 : tensor<4x32xf32>
}

// -----

// CHECK-LABEL: chunk.program @block_early
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "{{.*}}" rounded %[[T]] : tensor<16x16xf32>
// CHECK-LABEL: chunk.program @block_chain
chunk.program @block {} chunk 16 {
  %k = chunk.input "k" : tensor<16x16xf32>
  %v = chunk.input "v" : tensor<16x4xf32>
  %S = chunk.state "S" : tensor<4x16xf32>
  %L = chunk.interaction %k, %k strict : tensor<16x16xf32>, tensor<16x16xf32>
  %T = chunk.inverse %L : tensor<16x16xf32>
  %x = chunk.read %k, %S : tensor<16x16xf32>, tensor<4x16xf32>
  %y = chunk.map sub %v, %x : tensor<16x4xf32>, tensor<16x4xf32>
  %u = chunk.apply %T, %y : tensor<16x16xf32>, tensor<16x4xf32>
  chunk.output "o" %u : tensor<16x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x16xf32>, tensor<16x4xf32>, tensor<16x16xf32>
  chunk.next %S, %S1 : tensor<4x16xf32>
}

// -----

// Where writes decay so do their errors, and the inverse is rounded.
// CHECK-LABEL: chunk.program @decays_early
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "{{.*}}" rounded %[[T]] : tensor<32x32xf32>
// CHECK-LABEL: chunk.program @decays_chain
chunk.program @decays {} chunk 32 {
  %k = chunk.input "k" : tensor<32x32xf32>
  %v = chunk.input "v" : tensor<32x4xf32>
  %g = chunk.input "g" : tensor<32xf32>
  %S = chunk.state "S" : tensor<4x32xf32>
  %L = chunk.interaction %k, %k before decay log(%g : tensor<32xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L : tensor<32x32xf32>
  %x = chunk.read %k, %S : tensor<32x32xf32>, tensor<4x32xf32>
  %y = chunk.map sub %v, %x : tensor<32x4xf32>, tensor<32x4xf32>
  %u = chunk.apply %T, %y : tensor<32x32xf32>, tensor<32x4xf32>
  chunk.output "o" %u : tensor<32x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x32xf32>, tensor<32x4xf32>, tensor<32x32xf32>
  chunk.next %S, %S1 : tensor<4x32xf32>
}

// -----

// But those of a token that writes twice are left precise under decays too.
// CHECK-LABEL: chunk.program @steps_early
// CHECK: %[[T:.*]] = chunk.inverse
// CHECK: chunk.give "{{.*}}" precise %[[T]] : tensor<32x32xf32>
// CHECK-LABEL: chunk.program @steps_chain
chunk.program @steps {} chunk 16 {
  %k1 = chunk.input "k1" : tensor<16x32xf32>
  %k2 = chunk.input "k2" : tensor<16x32xf32>
  %k = chunk.interleave %k1, %k2 : tensor<16x32xf32>, tensor<16x32xf32>
  %v1 = chunk.input "v1" : tensor<16x4xf32>
  %v2 = chunk.input "v2" : tensor<16x4xf32>
  %v = chunk.interleave %v1, %v2 : tensor<16x4xf32>, tensor<16x4xf32>
  %g = chunk.input "g" : tensor<16xf32>
  %S = chunk.state "S" : tensor<4x32xf32>
  %L = chunk.interaction %k, %k points [0, 1] of [0, 1] decay log(%g : tensor<16xf32>) : tensor<32x32xf32>, tensor<32x32xf32>
  %T = chunk.inverse %L : tensor<32x32xf32>
  %x = chunk.read %k, %S : tensor<32x32xf32>, tensor<4x32xf32>
  %y = chunk.map sub %v, %x : tensor<32x4xf32>, tensor<32x4xf32>
  %u = chunk.apply %T, %y : tensor<32x32xf32>, tensor<32x4xf32>
  %q = chunk.input "q" : tensor<16x32xf32>
  %A = chunk.interaction %q, %k points [2] of [0, 1] decay log(%g : tensor<16xf32>) : tensor<16x32xf32>, tensor<32x32xf32>
  %o = chunk.apply %A, %u : tensor<16x32xf32>, tensor<32x4xf32>
  chunk.output "o" %o : tensor<16x4xf32>
  %S1 = chunk.advance %S, %u, %k : tensor<4x32xf32>, tensor<32x4xf32>, tensor<32x32xf32>
  chunk.next %S, %S1 : tensor<4x32xf32>
}
