// RUN: recur-opt %s --split-input-file --chunk-solve-form | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-solve-form=form=inverse | FileCheck %s --check-prefix=INVERSE
// RUN: recur-opt %s --split-input-file --chunk-solve-form=form=inverse --chunk-solve-form=form=solve | FileCheck %s --check-prefix=SOLVE

// One solve.
// CHECK-LABEL: chunk.program @one {} chunk 8 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "o" %[[V1]] : tensor<8x2xf32>
// INVERSE-LABEL: chunk.program @one {} chunk 8 {
// INVERSE: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// INVERSE: %[[V1:[a-z0-9_]+]] = chunk.inverse %[[V0]] : tensor<8x8xf32>
// INVERSE: %[[V2:[a-z0-9_]+]] = chunk.apply %[[V1]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// INVERSE: chunk.output "o" %[[V2]] : tensor<8x2xf32>
// SOLVE-LABEL: chunk.program @one {} chunk 8 {
// SOLVE: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// SOLVE: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// SOLVE: chunk.output "o" %[[V1]] : tensor<8x2xf32>
chunk.program @one {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %U : tensor<8x2xf32>
}

// -----

// Two with one matrix.
// CHECK-LABEL: chunk.program @two {} chunk 8 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.inverse %[[V0]] : tensor<8x8xf32>
// CHECK: %[[V2:[a-z0-9_]+]] = chunk.apply %[[V1]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[V3:[a-z0-9_]+]] = chunk.apply %[[V1]], %q : tensor<8x8xf32>, tensor<8x3xf32>
// CHECK: chunk.output "u" %[[V2]] : tensor<8x2xf32>
// CHECK: chunk.output "w" %[[V3]] : tensor<8x3xf32>
// INVERSE-LABEL: chunk.program @two {} chunk 8 {
// INVERSE: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// INVERSE: %[[V1:[a-z0-9_]+]] = chunk.inverse %[[V0]] : tensor<8x8xf32>
// INVERSE: %[[V2:[a-z0-9_]+]] = chunk.apply %[[V1]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// INVERSE: %[[V3:[a-z0-9_]+]] = chunk.apply %[[V1]], %q : tensor<8x8xf32>, tensor<8x3xf32>
// INVERSE: chunk.output "u" %[[V2]] : tensor<8x2xf32>
// INVERSE: chunk.output "w" %[[V3]] : tensor<8x3xf32>
// SOLVE-LABEL: chunk.program @two {} chunk 8 {
// SOLVE: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// SOLVE: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// SOLVE: %[[V2:[a-z0-9_]+]] = chunk.solve %[[V0]], %q : tensor<8x8xf32>, tensor<8x3xf32>
// SOLVE: chunk.output "u" %[[V1]] : tensor<8x2xf32>
// SOLVE: chunk.output "w" %[[V2]] : tensor<8x3xf32>
chunk.program @two {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %W = chunk.solve %L, %q : tensor<8x8xf32>, tensor<8x3xf32>
  chunk.output "u" %U : tensor<8x2xf32>
  chunk.output "w" %W : tensor<8x3xf32>
}

// -----

// Where the channels decay there is no one inverse.
// CHECK-LABEL: chunk.program @decayed {} chunk 8 {
// CHECK: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// CHECK: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %v strict decay log(%v : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: chunk.output "o" %[[V1]] : tensor<8x2xf32>
// INVERSE-LABEL: chunk.program @decayed {} chunk 8 {
// INVERSE: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// INVERSE: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %v strict decay log(%v : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
// INVERSE: chunk.output "o" %[[V1]] : tensor<8x2xf32>
// SOLVE-LABEL: chunk.program @decayed {} chunk 8 {
// SOLVE: %[[V0:[a-z0-9_]+]] = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
// SOLVE: %[[V1:[a-z0-9_]+]] = chunk.solve %[[V0]], %v strict decay log(%v : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
// SOLVE: chunk.output "o" %[[V1]] : tensor<8x2xf32>
chunk.program @decayed {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %q = chunk.input "q" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %b = chunk.input "b" : tensor<8xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %U = chunk.solve %L, %v strict decay log(%v : tensor<8x2xf32>) : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "o" %U : tensor<8x2xf32>
}

// -----

// There and back, with one inverse.
// CHECK-LABEL: chunk.program @back
// INVERSE-LABEL: chunk.program @back
// INVERSE: %[[T:.*]] = chunk.inverse
// INVERSE: chunk.apply %[[T]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// INVERSE: chunk.apply_transposed %[[T]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// SOLVE-LABEL: chunk.program @back
chunk.program @back {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %U = chunk.solve %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  %W = chunk.solve_transposed %L, %v : tensor<8x8xf32>, tensor<8x2xf32>
  chunk.output "u" %U : tensor<8x2xf32>
  chunk.output "w" %W : tensor<8x2xf32>
}
