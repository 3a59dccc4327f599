// RUN: recur-opt %s --split-input-file --chunk-common-interactions | FileCheck %s

// The query is the key: the solve reads below the diagonal only, and one matrix is enough.
// CHECK-LABEL: chunk.program @tied {} chunk 8 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.map mul %b, %[[V0]] : tensor<8xf32>, tensor<8x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.solve %[[V1]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.apply %[[V0]], %[[V2]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "o" %[[V3]] : tensor<8x2xf32>
chunk.program @tied {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %L = chunk.map mul %b, %A : tensor<8xf32>, tensor<8x8xf32>
  %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %Aq = chunk.interaction %k, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %o = chunk.apply %Aq, %U : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %o : tensor<8x2xf32>
}

// -----

// A strict interaction that is applied as it is, or that decays otherwise, stays.
// CHECK-LABEL: chunk.program @kept {} chunk 8 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.apply %[[V0]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.interaction %k, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.solve %[[V2]], %[[V1]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V4:[a-z0-9_]+]] = chunk.interaction %k, %k strict decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V5:[a-z0-9_]+]] = chunk.solve %[[V4]], %[[V3]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "o" %[[V5]] : tensor<8x2xf32>
chunk.program @kept {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %Aq = chunk.interaction %k, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.solve %Aq, %x : tensor<8x8xf32>, tensor<8x2xf32>
  %D = chunk.interaction %k, %k strict decay log(%g : tensor<8xf32>) : tensor<8x3xf32>, tensor<8x3xf32>
  %z = chunk.solve %D, %y : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %z : tensor<8x2xf32>
}

// -----

// Equal ones.
// CHECK-LABEL: chunk.program @equal {} chunk 8 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.apply %[[V0]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.apply %[[V0]], %[[V1]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "o" %[[V2]] : tensor<8x2xf32>
chunk.program @equal {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %A = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %B = chunk.interaction %q, %k inclusive : tensor<8x3xf32>, tensor<8x3xf32>
  %x = chunk.apply %A, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %y = chunk.apply %B, %x : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %y : tensor<8x2xf32>
}
