// RUN: recur-opt %s --split-input-file --chunk-split-state-free | FileCheck %s

// What no state enters, in one op.
// CHECK-LABEL: chunk.program @split {} chunk 8 {
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.state_free -> tensor<8x2xf32> {
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.apply %[[V1]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.yield %[[V2]] : tensor<8x2xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.map add %[[V3]], %[[V0]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
// CHECK: chunk.output "o" %[[V4]] : tensor<8x2xf32>
// CHECK: chunk.next %S, %[[V5]] : tensor<2x3xf32>
chunk.program @split {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %x = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %o = chunk.map add %x, %y : tensor<8x2xf32>, tensor<8x2xf32>
  %S1 = chunk.advance %S, %v, %k : tensor<2x3xf32>, tensor<8x2xf32>, tensor<8x3xf32>
  chunk.output "o" %o : tensor<8x2xf32>
  chunk.next %S, %S1 : tensor<2x3xf32>
}
