// RUN: recur-opt %s | recur-opt | FileCheck %s
// RUN: recur-opt %s --mlir-print-op-generic | recur-opt | FileCheck %s

// What a program's gradient is made of beside the program's own ops.
// CHECK-LABEL: chunk.program @gradient {} chunk 8 backward {
chunk.program @gradient {} chunk 8 backward {
  %d = chunk.input "d" : tensor<8x5xf32>
  %k = chunk.input "k" : tensor<8x3xf32>
  %g = chunk.input "g" : tensor<8xf32>
  %gk = chunk.input "gk" : tensor<8x3xf32>
  // CHECK: %S = chunk.kept "S" : tensor<5x3xf32>
  %S = chunk.kept "S" : tensor<5x3xf32>
  %A = chunk.state "A" : tensor<3xf32>
  %L = chunk.interaction %k, %k strict : tensor<8x3xf32>, tensor<8x3xf32>
  // CHECK: chunk.apply_transposed %{{.*}}, %d : tensor<8x8xf32>, tensor<8x5xf32>
  %a = chunk.apply_transposed %L, %d : tensor<8x8xf32>, tensor<8x5xf32>
  // CHECK: chunk.apply_transposed %{{.*}}, %k inclusive decay log(%gk : tensor<8x3xf32>) : tensor<8x8xf32>, tensor<8x3xf32>
  %b = chunk.apply_transposed %L, %k inclusive decay log(%gk : tensor<8x3xf32>) : tensor<8x8xf32>, tensor<8x3xf32>
  // CHECK: chunk.solve_transposed %{{.*}}, %d : tensor<8x8xf32>, tensor<8x5xf32>
  %c = chunk.solve_transposed %L, %d : tensor<8x8xf32>, tensor<8x5xf32>
  // CHECK: chunk.solve_transposed %{{.*}}, %k strict decay linear(%g : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x3xf32>
  %e = chunk.solve_transposed %L, %k strict decay linear(%g : tensor<8xf32>) : tensor<8x8xf32>, tensor<8x3xf32>
  // CHECK: chunk.decay_cotangent %{{.*}}, %k, %k before decay log(%gk : tensor<8x3xf32>) : tensor<8x8xf32>, tensor<8x3xf32>, tensor<8x3xf32>
  %dg = chunk.decay_cotangent %L, %k, %k before decay log(%gk : tensor<8x3xf32>) : tensor<8x8xf32>, tensor<8x3xf32>, tensor<8x3xf32>
  // CHECK: chunk.reverse_scan %A, %k decay linear(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
  %all, %first = chunk.reverse_scan %A, %k decay linear(%g : tensor<8xf32>) : tensor<3xf32>, tensor<8x3xf32>
  // CHECK: chunk.following %A, %k : tensor<3xf32>, tensor<8x3xf32>
  %later, %row = chunk.following %A, %k : tensor<3xf32>, tensor<8x3xf32>
  // CHECK: chunk.sum_tokens %k : tensor<8x3xf32>
  %sum = chunk.sum_tokens %k : tensor<8x3xf32>
  // CHECK: chunk.insert %g[1] of 4 : tensor<8xf32>
  %inserted = chunk.insert %g[1] of 4 : tensor<8xf32>
  // CHECK: chunk.token_loop reverse (%{{.*}} = %k : tensor<8x3xf32>) carry (%{{.*}} = %A : tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>) {
  %loop:2 = chunk.token_loop reverse (%k1 = %k : tensor<8x3xf32>) carry (%a1 = %A : tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>) {
    chunk.yield %a1, %k1 : tensor<1x3xf32>, tensor<1x3xf32>
  }
  chunk.next %A, %first : tensor<3xf32>
}
