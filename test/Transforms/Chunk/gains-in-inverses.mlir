// RUN: recur-opt %s --split-input-file --chunk-gains-in-inverses --canonicalize | FileCheck %s
// RUN: recur-opt %s --split-input-file --chunk-gains-in-inverses --chunk-solve-form=form=solve --canonicalize | FileCheck %s --check-prefix=SOLVE

// All that is multiplied has the gain, also behind a decay and a sign.
// CHECK-LABEL: chunk.program @all
// CHECK: %[[T:.*]] = chunk.inverse %{{.*}} columns(%beta : tensor<8xf32>) : tensor<8x8xf32>
// CHECK: chunk.apply %[[T]], %v : tensor<8x8xf32>, tensor<8x2xf32>
// CHECK: %[[K:.*]] = chunk.map mul %g, %k : tensor<8xf32>, tensor<8x3xf32>
// CHECK: %[[N:.*]] = chunk.map neg %[[K]] : tensor<8x3xf32>
// CHECK: chunk.apply %[[T]], %[[N]] : tensor<8x8xf32>, tensor<8x3xf32>
// SOLVE-LABEL: chunk.program @all
// SOLVE: %[[V:.*]] = chunk.map mul %beta, %v : tensor<8xf32>, tensor<8x2xf32>
// SOLVE: chunk.solve %{{.*}}, %[[V]] : tensor<8x8xf32>, tensor<8x2xf32>
chunk.program @all {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %beta = chunk.input "beta" : tensor<8xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %a = chunk.map mul %beta, %v : tensor<8xf32>, tensor<8x2xf32>
  %U = chunk.apply %T, %a : tensor<8x8xf32>, tensor<8x2xf32>
  %b = chunk.map mul %k, %beta : tensor<8x3xf32>, tensor<8xf32>
  %c = chunk.map mul %g, %b : tensor<8xf32>, tensor<8x3xf32>
  %d = chunk.map neg %c : tensor<8x3xf32>
  %W = chunk.apply %T, %d : tensor<8x8xf32>, tensor<8x3xf32>
  chunk.output "u" %U : tensor<8x2xf32>
  chunk.output "w" %W : tensor<8x3xf32>
}

// -----

// What one of them lacks is no gain of all.
// CHECK-LABEL: chunk.program @some
// CHECK: chunk.inverse %{{.*}} : tensor<8x8xf32>
// CHECK: chunk.map mul %beta, %v : tensor<8xf32>, tensor<8x2xf32>
// SOLVE-LABEL: chunk.program @some
chunk.program @some {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x2xf32>
  %beta = chunk.input "beta" : tensor<8xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %a = chunk.map mul %beta, %v : tensor<8xf32>, tensor<8x2xf32>
  %U = chunk.apply %T, %a : tensor<8x8xf32>, tensor<8x2xf32>
  %W = chunk.apply %T, %k : tensor<8x8xf32>, tensor<8x3xf32>
  chunk.output "u" %U : tensor<8x2xf32>
  chunk.output "w" %W : tensor<8x3xf32>
}

// -----

// Nor is a gain of the channels, or a number of all tokens.
// CHECK-LABEL: chunk.program @channels
// CHECK: chunk.inverse %{{.*}} : tensor<8x8xf32>
// SOLVE-LABEL: chunk.program @channels
chunk.program @channels {} chunk 8 {
  %k = chunk.input "k" : tensor<8x3xf32>
  %v = chunk.input "v" : tensor<8x3xf32>
  %two = chunk.constant 2.0 : tensor<1xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  %T = chunk.inverse %L : tensor<8x8xf32>
  %a = chunk.map mul %k, %v : tensor<8x3xf32>, tensor<8x3xf32>
  %b = chunk.map mul %two, %a : tensor<1xf32>, tensor<8x3xf32>
  %U = chunk.apply %T, %b : tensor<8x8xf32>, tensor<8x3xf32>
  chunk.output "u" %U : tensor<8x3xf32>
}
