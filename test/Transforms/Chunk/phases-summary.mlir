// RUN: recur-opt %s --split-input-file --chunk-phases --canonicalize | FileCheck %s

// What a segment makes of a state: map and offset go from chunk to chunk apart, each in a chain of its own.
// CHECK-LABEL: chunk.program @delta_summary_S_early {} chunk 8
// CHECK: %[[W:.*]] = chunk.apply
// CHECK: chunk.give "[[NW:.*]]"
// CHECK-LABEL: chunk.program @delta_summary_S_chain_S.map {} chunk 8
// CHECK: %[[S:.*]] = chunk.state "S.map" : tensor<3x3xf32>
// CHECK-NOT: chunk.state
// CHECK: chunk.next %[[S]]
// CHECK-LABEL: chunk.program @delta_summary_S_chain_S.offset {} chunk 8
// CHECK: %[[O:.*]] = chunk.state "S.offset" : tensor<2x3xf32>
// CHECK-NOT: chunk.state
// CHECK: chunk.next %[[O]]
// CHECK-NOT: _late
chunk.program @delta_summary_S {} chunk 8 summary_of "S" as right {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %S.map = chunk.state "S.map" : tensor<3x3xf32>
  %S.offset = chunk.state "S.offset" : tensor<2x3xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %T = chunk.inverse %A : tensor<8x8xf32>
  %U = chunk.apply %T, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %W = chunk.apply %T, %k : tensor<8x8xf32>, tensor<8x3xf32>
  %x = chunk.read %W, %S.offset : tensor<8x3xf32>, tensor<2x3xf32>
  %u = chunk.map sub %U, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S.offset, %u, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.next %S.offset, %S1 : tensor<2x3xf32>
  %y = chunk.read %W, %S.map : tensor<8x3xf32>, tensor<3x3xf32>
  %z = chunk.map neg %y : tensor<8x3xf32>
  %M1 = chunk.advance %S.map, %z, %k : tensor<3x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>
  chunk.next %S.map, %M1 : tensor<3x3xf32>
}

// -----

// What no state enters and a state becomes is left whole: it has no rows of tokens.
// CHECK-LABEL: chunk.program @held_early
// CHECK: chunk.give "[[N:.*]]" whole %{{.*}} : tensor<4xf32>
// CHECK-LABEL: chunk.program @held_chain
// CHECK: chunk.take "[[N]]" whole : tensor<4xf32>
chunk.program @held {} chunk 8 {
  %k = chunk.input "k" : tensor<8x4xf32>
  %r = chunk.map mul %k, %k : tensor<8x4xf32>, tensor<8x4xf32>
  %S = chunk.state "S" : tensor<4xf32>
  %l = chunk.last %r : tensor<8x4xf32>
  chunk.next %S, %l : tensor<4xf32>
}
