// RUN: recur-opt %s --split-input-file --chunk-reassociate | FileCheck %s

// Two value channels and three keys: the state is read first, and the triangle is solved with once.
// CHECK-LABEL: chunk.program @fused {} chunk 8 {
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.read %q, %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.map sub %v, %[[V1]] : tensor<8x2xf32>, tensor<8x2xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.solve %[[V0]], %[[V2]] : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "u" %[[V3]] : tensor<8x2xf32>
// CHECK: chunk.next %S, %S : tensor<2x3xf32>
chunk.program @fused {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %W = chunk.solve %L, %q : tensor<8x8xf32>, tensor<8x3xf32>
  %y = chunk.read %W, %S : tensor<8x3xf32>, tensor<2x3xf32>
  %V = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %U = chunk.map sub %V, %y : tensor<8x2xf32>, tensor<8x2xf32>
  chunk.output "u" %U : tensor<8x2xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}

// -----

// Five value channels and three keys: the other way round.
// CHECK-LABEL: chunk.program @wide {} chunk 8 {
// CHECK: %S = chunk.state "S" : tensor<5x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.apply %[[V0]], %q : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.read %[[V1]], %S : tensor<8x3xf32>, tensor<5x3xf32>
// CHECK: chunk.output "u" %[[V2]] : tensor<8x5xf32>
// CHECK: chunk.next %S, %S : tensor<5x3xf32>
chunk.program @wide {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<5x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %y = chunk.read %q, %S : tensor<8x3xf32>, tensor<5x3xf32>
  %U = chunk.apply %L, %y : tensor<8x8xf32>, tensor<8x5xf32>
  chunk.output "u" %U : tensor<8x5xf32>
  chunk.next %S, %S : tensor<5x3xf32>
}

// -----

// What is used elsewhere too is not made twice.
// CHECK-LABEL: chunk.program @shared {} chunk 8 {
// CHECK: %S = chunk.state "S" : tensor<2x3xf32>
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %q : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.read %[[V1]], %S : tensor<8x3xf32>, tensor<2x3xf32>
// CHECK: chunk.output "y" %[[V2]] : tensor<8x2xf32>
// CHECK: chunk.output "w" %[[V1]] : tensor<8x3xf32>
// CHECK: chunk.next %S, %S : tensor<2x3xf32>
chunk.program @shared {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %S = chunk.state "S" : tensor<2x3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %W = chunk.solve %L, %q : tensor<8x8xf32>, tensor<8x3xf32>
  %y = chunk.read %W, %S : tensor<8x3xf32>, tensor<2x3xf32>
  chunk.output "y" %y : tensor<8x2xf32>
  chunk.output "w" %W : tensor<8x3xf32>
  chunk.next %S, %S : tensor<2x3xf32>
}
